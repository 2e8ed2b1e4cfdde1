//! Params as people fill them in, field by field: what a field says of itself, and what is wrong with what was typed.
//!
//! The rules are those of `tidewheel-flow`, which hold for every run.

use serde_json::Value as Json;
use tidewheel_flow::{Param, ParamError, ParamKind, parse_param};

use crate::api::ParamLine;

/// What a field for this param says of itself.
pub(crate) fn param_line(param: &Param) -> ParamLine {
    ParamLine {
        name: param.name.clone(),
        kind: param.kind.word().to_owned(),
        required: param.default.is_none(),
        default: param.default.clone(),
        choices: param.choices.clone(),
        description: param.description.clone(),
        min: param.min,
        max: param.max,
        pattern: param.pattern.clone(),
    }
}

impl ParamLine {
    /// What a field shows before anybody has typed: the default, as it would be typed.
    #[must_use]
    pub fn shown(&self) -> String {
        match &self.default {
            None => String::new(),
            Some(Json::String(text)) => text.clone(),
            Some(other) => other.to_string(),
        }
    }

    /// The value that was typed; `None`: nothing is said, and the default holds.
    ///
    /// # Errors
    ///
    /// Says what is wrong with it, as `tidewheel run` would.
    pub fn typed(&self, text: &str) -> Result<Option<Json>, String> {
        if !self.required && text == self.shown() {
            return Ok(None);
        }
        let param = self.param();
        // An empty text is a text where there is another by default; of no other kind is it a value.
        if text.is_empty() && (self.required || param.kind != ParamKind::Text) {
            let missing = ParamError::Missing { name: self.name.clone() };
            return if self.required { Err(missing.to_string()) } else { Ok(None) };
        }
        parse_param(&param, text).map(Some).map_err(|error| match error {
            // Whoever sees the field knows which it is.
            ParamError::Unfit { why, .. } => why,
            other => other.to_string(),
        })
    }

    fn param(&self) -> Param {
        use ParamKind::{Any, Bool, Int, List, Map, Number, Text};
        let kinds = [Text, Int, Number, Bool, List, Map];
        let kind = kinds.into_iter().find(|kind| kind.word() == self.kind).unwrap_or(Any);
        let mut param = Param::new(self.name.as_str(), kind);
        param.choices.clone_from(&self.choices);
        (param.min, param.max) = (self.min, self.max);
        param.pattern.clone_from(&self.pattern);
        param
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    fn line(kind: &str, default: Option<Json>) -> ParamLine {
        ParamLine {
            name: "size".to_owned(),
            kind: kind.to_owned(),
            required: default.is_none(),
            default,
            choices: Vec::new(),
            description: None,
            min: None,
            max: None,
            pattern: None,
        }
    }

    #[test]
    fn what_is_typed_is_read_as_the_kind_of_the_param() {
        assert_eq!(line("int", None).typed("3"), Ok(Some(json!(3))));
        assert_eq!(line("bool", None).typed("yes"), Ok(Some(json!(true))));
        assert_eq!(line("list", None).typed("[1, 2]"), Ok(Some(json!([1, 2]))));
        assert_eq!(line("text", None).typed("3"), Ok(Some(json!("3"))));
        assert_eq!(line("any", None).typed("{\"a\": 1}"), Ok(Some(json!({ "a": 1 }))));
    }

    #[test]
    fn what_is_left_as_it_was_says_nothing() {
        let size = line("int", Some(json!(5)));
        assert_eq!(size.shown(), "5");
        assert_eq!((size.typed("5"), size.typed("")), (Ok(None), Ok(None)));
        let word = line("text", Some(json!("a b")));
        assert_eq!(word.shown(), "a b");
        assert_eq!((word.typed("a b"), word.typed("")), (Ok(None), Ok(Some(json!("")))));
    }

    #[test]
    fn what_is_wrong_is_said_as_for_a_run() {
        let mut size = line("int", None);
        assert_eq!(size.typed(""), Err("the flow needs the param `size`".to_owned()));
        assert_eq!(size.typed("x"), Err("`x` is not a whole number".to_owned()));
        size.max = Some(9.0);
        assert_eq!(size.typed("10"), Err("must be at most 9".to_owned()));
        let mut word = line("text", Some(json!("a")));
        word.choices = vec![json!("a"), json!("b")];
        assert_eq!(word.typed("c"), Err("must be one of a, b".to_owned()));
    }
}
