//! Values for params: of the right kind, one of the choices, within bounds.
//!
//! What a flow says about its params is in `definition`.

use std::collections::BTreeMap;

use serde_json::Value as Json;

use crate::definition::{Flow, Param, ParamKind};
use crate::language::problem::nearest;

/// Why the params of a run cannot be used.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum ParamError {
    /// There is none of this name.
    #[error("the flow has no param `{name}`")]
    Unknown {
        /// The name.
        name: String,
        /// The name that may be meant.
        near: Option<String>,
    },
    /// One that has no default was not said.
    #[error("the flow needs the param `{name}`")]
    Missing {
        /// The name.
        name: String,
    },
    /// The value does not fit.
    #[error("param `{name}`: {why}")]
    Unfit {
        /// The name.
        name: String,
        /// Why.
        why: String,
    },
    /// Several of these, all that there are.
    #[error("{}", .0.iter().map(ToString::to_string).collect::<Vec<_>>().join("; "))]
    Several(Vec<Self>),
}

impl ParamError {
    /// All that is wrong, one by one.
    #[must_use]
    pub fn into_all(self) -> Vec<Self> {
        match self {
            Self::Several(all) => all,
            one => vec![one],
        }
    }

    /// All of these as one; none if there are none.
    #[must_use]
    pub fn of(mut all: Vec<Self>) -> Option<Self> {
        match all.len() {
            0 | 1 => all.pop(),
            _ => Some(Self::Several(all)),
        }
    }
}

/// Reads a value from a command line, where everything is text, as the kind the param has.
///
/// # Errors
///
/// When it cannot be read as that.
pub fn parse_param(param: &Param, text: &str) -> Result<Json, ParamError> {
    let unfit = |why: String| ParamError::Unfit { name: param.name.clone(), why };
    let value = match param.kind {
        ParamKind::Text => Json::String(text.to_owned()),
        ParamKind::Bool => match text.to_ascii_lowercase().as_str() {
            "true" | "yes" | "on" | "1" => Json::Bool(true),
            "false" | "no" | "off" | "0" => Json::Bool(false),
            _ => return Err(unfit(format!("`{text}` is neither true nor false"))),
        },
        ParamKind::Int | ParamKind::Number | ParamKind::List | ParamKind::Map => {
            let value: Json = serde_json::from_str(text)
                .map_err(|_| unfit(format!("`{text}` is not {}", in_words(param.kind))))?;
            // The message has the number as it was said, not as it was read.
            if param.kind == ParamKind::Int && value.is_f64() {
                let is_sign_or_digit = |byte: u8| byte == b'-' || byte.is_ascii_digit();
                return Err(unfit(match text.trim().bytes().all(is_sign_or_digit) {
                    true => format!("`{text}` is too large: a whole number has at most 64 bits"),
                    false => format!("`{text}` is not {}", in_words(param.kind)),
                }));
            }
            value
        }
        // Whatever looks like JSON is meant as JSON.
        ParamKind::Any => {
            serde_json::from_str(text).unwrap_or_else(|_| Json::String(text.to_owned()))
        }
    };
    fits(param, &value).map_err(unfit)?;
    Ok(value)
}

/// All params of a run: what was said, over the defaults.
///
/// # Errors
///
/// When something unknown was said, something needed was not, or a value does not fit.
pub fn resolve_params(
    flow: &Flow,
    said: BTreeMap<String, Json>,
) -> Result<BTreeMap<String, Json>, ParamError> {
    let (values, mut wrong) = checked(flow, said);
    let named = |param: &Param, error: &ParamError| match error {
        ParamError::Unfit { name, .. } => *name == param.name,
        _ => false,
    };
    let is_missing = |param: &&Param, wrong: &[ParamError]| {
        !values.contains_key(&param.name) && !wrong.iter().any(|error| named(param, error))
    };
    let missing: Vec<String> = flow
        .params
        .iter()
        .filter(|param| is_missing(param, &wrong))
        .map(|param| param.name.clone())
        .collect();
    wrong.extend(missing.into_iter().map(|name| ParamError::Missing { name }));
    ParamError::of(wrong).map_or(Ok(values), Err)
}

/// The params of which a value is known: what was said, over the defaults. Enough for a plan.
///
/// # Errors
///
/// When something unknown was said, or a value does not fit.
pub fn known_params(
    flow: &Flow,
    said: BTreeMap<String, Json>,
) -> Result<BTreeMap<String, Json>, ParamError> {
    let (values, wrong) = checked(flow, said);
    ParamError::of(wrong).map_or(Ok(values), Err)
}

/// The values that fit, and everything that is wrong with what was said.
fn checked(
    flow: &Flow,
    mut said: BTreeMap<String, Json>,
) -> (BTreeMap<String, Json>, Vec<ParamError>) {
    let (mut values, mut wrong) = (BTreeMap::new(), Vec::new());
    for param in &flow.params {
        let Some(value) = said.remove(&param.name).or_else(|| param.default.clone()) else {
            continue;
        };
        match fits(param, &value) {
            Ok(()) => {
                values.insert(param.name.clone(), value);
            }
            Err(why) => wrong.push(ParamError::Unfit { name: param.name.clone(), why }),
        }
    }
    for name in said.into_keys() {
        let names = flow.params.iter().map(|param| param.name.as_str());
        let near = nearest(&name, names).map(str::to_owned);
        wrong.push(ParamError::Unknown { name, near });
    }
    (values, wrong)
}

pub(crate) fn kind_of(value: &Json) -> ParamKind {
    match value {
        Json::Null => ParamKind::Any,
        Json::Bool(_) => ParamKind::Bool,
        Json::Number(number) if number.is_f64() => ParamKind::Number,
        Json::Number(_) => ParamKind::Int,
        Json::String(_) => ParamKind::Text,
        Json::Array(_) => ParamKind::List,
        Json::Object(_) => ParamKind::Map,
    }
}

/// Whether a value may be that of a param; if not, why.
pub(crate) fn fits(param: &Param, value: &Json) -> Result<(), String> {
    let is_right = match param.kind {
        ParamKind::Text => value.is_string(),
        ParamKind::Int => value.is_i64() || value.is_u64(),
        ParamKind::Number => value.is_number(),
        ParamKind::Bool => value.is_boolean(),
        ParamKind::List => value.is_array(),
        ParamKind::Map => value.is_object(),
        ParamKind::Any => true,
    };
    if !is_right {
        return Err(format!("`{value}` is not {}", in_words(param.kind)));
    }
    if !param.choices.is_empty() && !param.choices.contains(value) {
        let choices: Vec<String> =
            param.choices.iter().map(crate::language::tree::text_of).collect();
        return Err(format!("must be one of {}", choices.join(", ")));
    }
    if let Some(number) = value.as_f64() {
        if param.min.is_some_and(|min| number < min) {
            return Err(format!("must be at least {}", param.min.unwrap_or_default()));
        }
        if param.max.is_some_and(|max| number > max) {
            return Err(format!("must be at most {}", param.max.unwrap_or_default()));
        }
    }
    if let (Some(pattern), Some(text)) = (&param.pattern, value.as_str())
        && !matches(pattern.as_bytes(), text.as_bytes())
    {
        return Err(format!("`{text}` does not look like `{pattern}`"));
    }
    Ok(())
}

const fn in_words(kind: ParamKind) -> &'static str {
    match kind {
        ParamKind::Text => "a text",
        ParamKind::Int => "a whole number",
        ParamKind::Number => "a number",
        ParamKind::Bool => "true or false",
        ParamKind::List => "a list as JSON, such as [1, 2]",
        ParamKind::Map => "a mapping as JSON, such as {\"a\": 1}",
        ParamKind::Any => "a value",
    }
}

/// Whether a text matches a pattern in which `*` stands for anything and `?` for one byte.
fn matches(pattern: &[u8], text: &[u8]) -> bool {
    // The place of the last star, and how much it has swallowed so far: at most one way back.
    let (mut p, mut t, mut star) = (0, 0, None);
    while t < text.len() {
        match pattern.get(p) {
            Some(b'*') => {
                star = Some((p, t));
                p += 1;
            }
            Some(letter) if *letter == b'?' || *letter == text[t] => {
                p += 1;
                t += 1;
            }
            _ => match star {
                Some((place, swallowed)) => {
                    star = Some((place, swallowed + 1));
                    p = place + 1;
                    t = swallowed + 1;
                }
                None => return false,
            },
        }
    }
    pattern[p..].iter().all(|letter| *letter == b'*')
}

#[cfg(test)]
mod tests {
    use super::*;

    fn param(kind: ParamKind) -> Param {
        Param::new("p", kind)
    }

    #[test]
    fn texts_of_a_command_line_become_what_the_param_is() {
        use serde_json::json;
        for (kind, text, value) in [
            (ParamKind::Text, "42", json!("42")),
            (ParamKind::Int, "42", json!(42)),
            (ParamKind::Number, "1.5", json!(1.5)),
            (ParamKind::Bool, "Yes", json!(true)),
            (ParamKind::List, "[1, \"a\"]", json!([1, "a"])),
            (ParamKind::Map, "{\"a\": null}", json!({ "a": null })),
            (ParamKind::Any, "x", json!("x")),
            (ParamKind::Any, "[1]", json!([1])),
        ] {
            assert_eq!(parse_param(&param(kind), text), Ok(value), "{text}");
        }
        for (kind, text) in [
            (ParamKind::Int, "1.5"),
            (ParamKind::Int, "x"),
            (ParamKind::Bool, "maybe"),
            (ParamKind::List, "{}"),
        ] {
            assert!(parse_param(&param(kind), text).is_err(), "{text}");
        }
    }

    #[test]
    fn numbers_that_do_not_fit_are_shown_as_they_were_said() {
        let said = |text| parse_param(&param(ParamKind::Int), text).unwrap_err().to_string();
        let large = "99999999999999999999";
        let words =
            format!("param `p`: `{large}` is too large: a whole number has at most 64 bits");
        assert_eq!(said(large), words);
        assert!(said("-99999999999999999999").contains("`-99999999999999999999` is too large"));
        assert_eq!(said("1e3"), "param `p`: `1e3` is not a whole number");
        assert!(parse_param(&param(ParamKind::Number), large).is_ok());
    }

    #[test]
    fn bounds_choices_and_patterns_hold() {
        let bounded = Param { min: Some(1.0), max: Some(3.0), ..param(ParamKind::Int) };
        assert!(parse_param(&bounded, "2").is_ok());
        assert!(parse_param(&bounded, "0").is_err() && parse_param(&bounded, "4").is_err());
        let choice = Param { choices: vec!["a".into(), "b".into()], ..param(ParamKind::Text) };
        assert!(parse_param(&choice, "a").is_ok() && parse_param(&choice, "c").is_err());
        let pattern = Param { pattern: Some("v*.?".to_owned()), ..param(ParamKind::Text) };
        for (text, fits) in [("v1.2", true), ("v10.20.3", true), ("1.2", false), ("v1.22", false)] {
            assert_eq!(parse_param(&pattern, text).is_ok(), fits, "{text}");
        }
    }
}
