//! [`BasePath`]: the path below which a server stands, where a proxy has others beside it.
//!
//! It is pure. Which links are made with it is said where they are made.

use std::fmt;
use std::str::FromStr;

use axum::http::Uri;
use axum::http::uri::PathAndQuery;

/// The path below which a server stands: empty, or `/tidewheel`, without a slash at its end.
///
/// ```
/// use tidewheel_server::BasePath;
///
/// let base: BasePath = "/tools/tidewheel/".parse()?;
/// assert_eq!(base.as_str(), "/tools/tidewheel");
/// assert!("tidewheel".parse::<BasePath>().is_err());
/// # Ok::<_, tidewheel_server::NotABasePath>(())
/// ```
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct BasePath(String);

/// Why a text is no base path.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("`{0}` is no path: write it as /tidewheel, of letters, digits, `-`, `.`, `_` and `~`")]
pub struct NotABasePath(String);

impl BasePath {
    /// As it stands before a path of the server.
    #[must_use]
    pub fn as_str(&self) -> &str {
        &self.0
    }

    /// Whether the server stands at the top.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.0.is_empty()
    }

    /// What is asked for below it; `None`: it is not below it.
    pub(crate) fn below(&self, uri: &Uri) -> Option<Uri> {
        let rest = uri.path().strip_prefix(&self.0)?;
        let path = match rest {
            "" => "/",
            rest if rest.starts_with('/') => rest,
            _ => return None,
        };
        let whole = match uri.query() {
            Some(query) => format!("{path}?{query}"),
            None => path.to_owned(),
        };
        let mut parts = uri.clone().into_parts();
        parts.path_and_query = Some(PathAndQuery::from_maybe_shared(whole.into_bytes()).ok()?);
        Uri::from_parts(parts).ok()
    }
}

impl FromStr for BasePath {
    type Err = NotABasePath;

    fn from_str(text: &str) -> Result<Self, NotABasePath> {
        let path = text.strip_suffix('/').unwrap_or(text);
        let is_plain = |letter: char| letter.is_ascii_alphanumeric() || "-._~".contains(letter);
        let is_name = |part: &str| {
            !part.is_empty() && part != "." && part != ".." && part.chars().all(is_plain)
        };
        let is_path = path.strip_prefix('/').is_some_and(|names| names.split('/').all(is_name));
        match path.is_empty() || is_path {
            true => Ok(Self(path.to_owned())),
            false => Err(NotABasePath(text.to_owned())),
        }
    }
}

impl fmt::Display for BasePath {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0)
    }
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used, reason = "a test")]

    use super::*;

    #[test]
    fn a_base_path_is_made_of_plain_names() {
        for (text, path) in [("", ""), ("/", ""), ("/a", "/a"), ("/a/", "/a"), ("/a/b-1", "/a/b-1")]
        {
            assert_eq!(text.parse::<BasePath>().unwrap().as_str(), path);
        }
        for text in ["a", "//", "/a//b", "/a/../b", "/.", "/a b", "/a?b", "/a%2f", "/é", "http://a"]
        {
            assert!(text.parse::<BasePath>().is_err(), "{text}");
        }
    }

    #[test]
    fn what_is_below_it_is_asked_for_as_if_it_were_not_there() {
        let base: BasePath = "/tide".parse().unwrap();
        let below = |uri: &str| base.below(&uri.parse().unwrap()).map(|uri| uri.to_string());
        assert_eq!(below("/tide/api/v1/runs?limit=1").unwrap(), "/api/v1/runs?limit=1");
        assert_eq!(below("/tide").unwrap(), "/");
        assert_eq!(below("/tide/").unwrap(), "/");
        assert_eq!(below("/tide?x").unwrap(), "/?x");
        assert_eq!(below("/tide/a%2fb").unwrap(), "/a%2fb");
        assert_eq!(below("http://localhost/tide/x").unwrap(), "http://localhost/x");
        assert_eq!((below("/tides/x"), below("/x/tide"), below("/Tide/x")), (None, None, None));
    }
}
