//! [`Matrix`]: what is known of the elements of a job.
//!
//! It is written in `group`.

use std::collections::{BTreeMap, BTreeSet};

use serde_json::Value as Json;

use super::values::{key_of, pieces, text_of};

/// The elements of a job.
#[derive(Debug, Default)]
pub(super) enum Matrix {
    /// There is but one.
    #[default]
    None,
    /// Nobody knows them here.
    Unknown,
    Known {
        axes: BTreeMap<String, Json>,
        include: Vec<Json>,
        /// Whether values may be missing in some of them.
        has_include: bool,
    },
}

impl Matrix {
    pub fn of(strategy: Option<&Json>) -> Self {
        match strategy.and_then(|it| it.get("matrix")) {
            None | Some(Json::Null) => Self::None,
            Some(Json::Object(matrix)) => {
                let mut axes: BTreeMap<String, Json> = matrix.clone().into_iter().collect();
                axes.retain(|key, _| !["include", "exclude"].contains(&key.as_str()));
                Self::Known {
                    axes,
                    include: matrix
                        .get("include")
                        .and_then(Json::as_array)
                        .cloned()
                        .unwrap_or_default(),
                    has_include: matrix.contains_key("include"),
                }
            }
            Some(_) => Self::Unknown,
        }
    }

    pub fn is_known(&self) -> bool {
        matches!(self, Self::Known { .. })
    }

    /// A value of the element, if there can be one. There what is missing is empty.
    pub fn template(&self, key: &str, path: &[&str]) -> Option<String> {
        let (axes, has_include) = match self {
            Self::None => return Some("''".to_owned()),
            Self::Unknown => return None,
            Self::Known { axes, has_include, .. } => (axes, *has_include),
        };
        if key == "*" || path.contains(&"*") {
            return None;
        }
        let path: String = path.iter().map(|key| key_of(key)).collect();
        let value = format!("matrix{}{path}", key_of(key));
        match axes.contains_key(key) {
            true if !has_include && path.is_empty() => Some(value),
            false if !has_include => Some("''".to_owned()),
            _ => Some(format!("({value} | default(''))")),
        }
    }

    /// What stands before the names of elements that would be numbers otherwise, as names here cannot: the
    /// word for the first value in them.
    pub fn word_before(&self, name: &str) -> Option<String> {
        let mut first = None;
        for (is_expression, piece) in pieces(name) {
            match is_expression {
                false if piece.contains(|it: char| !it.is_ascii_digit() && !it.is_whitespace()) => {
                    return None;
                }
                false => {}
                true if self.is_worded(piece) => return None,
                true => first = first.or(piece.split('.').nth(1)),
            }
        }
        let is_letter = |it: char| it.is_alphanumeric() || "_-".contains(it);
        let word: String = first?.chars().take_while(|it| is_letter(*it)).collect();
        Some(format!("{word}-"))
    }

    /// Whether what an expression stands for is more than a number in every element.
    fn is_worded(&self, expression: &str) -> bool {
        let Self::Known { axes, include, has_include } = self else { return false };
        let Some(key) = expression.strip_prefix("matrix.") else { return false };
        let is_word = |value: &Json| match value {
            Json::Array(_) | Json::Object(_) => false,
            value => {
                text_of(value).contains(|it: char| !it.is_ascii_digit() && !it.is_whitespace())
            }
        };
        let values = match axes.get(key) {
            Some(Json::Array(values)) => values.as_slice(),
            None if axes.is_empty() => &[],
            _ => return false,
        };
        // An entry that says another value of an axis is an element of its own.
        let said = |entry: &Json| match entry.get(key) {
            Some(value) => is_word(value),
            None => !axes.is_empty() && !axes.keys().any(|axis| entry.get(axis).is_some()),
        };
        let is_list = !has_include || !include.is_empty();
        is_list && values.iter().all(is_word) && include.iter().all(said)
    }

    /// Whether no two elements get the same name by this.
    pub fn tells_apart(&self, name: &str) -> bool {
        let Self::Known { axes, include, has_include } = self else { return true };
        let names = |key: &String| {
            name.match_indices(&format!("matrix.{key}")).any(|(at, found)| {
                let after = name[at + found.len()..].chars().next();
                after.is_none_or(|it| !it.is_alphanumeric() && !"_-.".contains(it))
            })
        };
        if !axes.keys().all(names) || *has_include && include.is_empty() {
            return false;
        }
        let of_entry = |entry: &Json| -> Vec<String> {
            let pairs = entry.as_object().into_iter().flatten();
            let named = pairs.filter(|(key, _)| names(key));
            let mut told: Vec<String> =
                named.map(|(key, value)| format!("{key}={value}")).collect();
            told.sort();
            told
        };
        let told: BTreeSet<Vec<String>> = include.iter().map(of_entry).collect();
        told.len() == include.len()
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    fn matrix(matrix: Json) -> Matrix {
        Matrix::of(Some(&json!({ "matrix": matrix })))
    }

    #[test]
    fn values_that_may_be_missing_are_empty() {
        let plain = matrix(json!({ "os": ["a"], "it": [{ "x": 1 }] }));
        assert_eq!(plain.template("os", &[]).as_deref(), Some("matrix.os"));
        assert_eq!(plain.template("it", &["x"]).as_deref(), Some("(matrix.it.x | default(''))"));
        assert_eq!(plain.template("other", &[]).as_deref(), Some("''"));
        assert_eq!(plain.template("it", &["*"]), None);
        let more = matrix(json!({ "os": ["a"], "include": [{ "b": 1 }] }));
        assert_eq!(more.template("b", &[]).as_deref(), Some("(matrix.b | default(''))"));
        assert_eq!(Matrix::of(None).template("os", &[]).as_deref(), Some("''"));
        assert_eq!(matrix(json!("${{ x }}")).template("os", &[]), None);
    }

    #[test]
    fn a_name_that_would_be_a_number_gets_a_word() {
        for (axes, name, expected) in [
            (json!({ "node": [18, 20] }), "${{ matrix.node }}", Some("node-")),
            (json!({ "node": ["18", "x"] }), "${{ matrix.node }}", Some("node-")),
            (json!({ "node": "${{ x }}" }), "${{ matrix.node }}", Some("node-")),
            (json!({ "node": [18] }), "3 ${{ matrix.node }}", Some("node-")),
            (json!({ "node": [18] }), "On ${{ matrix.node }}", None),
            (json!({ "node": ["18.x", 1.5, "lts"] }), "${{ matrix.node }}", None),
            (json!({ "os": ["a"], "node": [18] }), "${{ matrix.os }} ${{ matrix.node }}", None),
            (json!({ "os": ["a"], "include": [{ "b": 1 }] }), "${{ matrix.os }}", None),
            (json!({ "os": ["a"], "include": [{ "os": 3 }] }), "${{ matrix.os }}", Some("os-")),
            (json!({ "include": [{ "b": 1 }] }), "${{ matrix.b }}", Some("b-")),
            (json!({ "include": [{ "b": "x" }, { "b": "y" }] }), "${{ matrix.b }}", None),
            (json!({ "include": [{ "b": "x" }, { "c": "y" }] }), "${{ matrix.b }}", Some("b-")),
            (json!({ "node": [18] }), "${{ inputs.level }}", Some("level-")),
        ] {
            assert_eq!(
                matrix(axes.clone()).word_before(name).as_deref(),
                expected,
                "{axes} {name}"
            );
        }
    }

    #[test]
    fn names_tell_elements_apart_if_they_name_all_axes() {
        for (axes, name, expected) in [
            (json!({ "os": [], "v": [] }), "${{ matrix.os }} ${{ matrix.v }}", true),
            (json!({ "os": [], "v": [] }), "${{ matrix.os }} ${{ matrix.version }}", false),
            (json!({ "include": [{ "a": 1 }, { "a": 2 }] }), "${{ matrix.a }}", true),
            (json!({ "include": [{ "a": 1 }, { "a": 1, "b": 2 }] }), "${{ matrix.a }}", false),
            (json!({ "os": [], "include": [{ "os": 1, "b": 2 }] }), "${{ matrix.os }}", true),
            (json!({ "os": [], "include": "${{ x }}" }), "${{ matrix.os }}", false),
        ] {
            assert_eq!(matrix(axes.clone()).tells_apart(name), expected, "{axes} {name}");
        }
    }
}
