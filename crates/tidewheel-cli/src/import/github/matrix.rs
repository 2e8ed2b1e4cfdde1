//! [`Matrix`]: what is known of the elements of a job.
//!
//! It is written in `group`.

use std::collections::BTreeSet;

use serde_json::Value as Json;

use super::values::key_of;

/// The elements of a job.
#[derive(Debug, Default)]
pub(super) enum Matrix {
    /// There is but one.
    #[default]
    None,
    /// Nobody knows them here.
    Unknown,
    Known {
        axes: BTreeSet<String>,
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
                let is_axis = |key: &&String| !["include", "exclude"].contains(&key.as_str());
                Self::Known {
                    axes: matrix.keys().filter(is_axis).cloned().collect(),
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
        match axes.contains(key) {
            true if !has_include && path.is_empty() => Some(value),
            false if !has_include => Some("''".to_owned()),
            _ => Some(format!("({value} | default(''))")),
        }
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
        if !axes.iter().all(names) || *has_include && include.is_empty() {
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
