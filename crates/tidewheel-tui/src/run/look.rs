//! What the environment says about how output should look.
//!
//! It is read here once; everything else is told.

use std::env;

/// How output looks on one stream.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Look {
    /// Lines can be drawn again in place.
    pub is_live: bool,
    /// Colours are welcome.
    pub is_colourful: bool,
    /// More than ASCII can be shown.
    pub is_unicode: bool,
}

impl Look {
    /// How output looks on a stream, by the variables of this process.
    pub fn of_environment(is_terminal: bool) -> Self {
        Self::new(is_terminal, |name| env::var_os(name)?.into_string().ok())
    }

    /// The same by other variables.
    pub fn new(is_terminal: bool, variable: impl Fn(&str) -> Option<String>) -> Self {
        let set = |name: &str| variable(name).filter(|value| !value.is_empty());
        let is_able = is_terminal && set("TERM").is_some_and(|term| term != "dumb");
        let is_refused = set("NO_COLOR").is_some() || variable("CLICOLOR").as_deref() == Some("0");
        let is_forced = set("CLICOLOR_FORCE").is_some_and(|value| value != "0");
        let locale = set("LC_ALL").or_else(|| set("LC_CTYPE")).or_else(|| set("LANG"));
        let charset = locale.unwrap_or_default().to_ascii_lowercase();
        Self {
            is_live: is_able,
            is_colourful: set("NO_COLOR").is_none() && (is_forced || (is_able && !is_refused)),
            is_unicode: (charset.contains("utf-8") || charset.contains("utf8"))
                && variable("TERM").as_deref() != Some("dumb"),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn look(is_terminal: bool, variables: &[(&str, &str)]) -> (bool, bool, bool) {
        let look = Look::new(is_terminal, |name| {
            let found = variables.iter().find(|(key, _)| *key == name);
            found.map(|(_, value)| (*value).to_owned())
        });
        (look.is_live, look.is_colourful, look.is_unicode)
    }

    #[test]
    fn a_terminal_is_live_and_colourful_unless_it_is_dumb() {
        assert_eq!(look(true, &[("TERM", "xterm"), ("LANG", "C.UTF-8")]), (true, true, true));
        assert_eq!(look(true, &[("TERM", "dumb"), ("LANG", "C.UTF-8")]), (false, false, false));
        assert_eq!(look(true, &[("LANG", "C.UTF-8")]), (false, false, true));
        assert_eq!(look(false, &[("TERM", "xterm"), ("LANG", "C.UTF-8")]), (false, false, true));
    }

    #[test]
    fn colours_are_refused_and_forced_by_the_usual_variables() {
        let with = |name, value| look(true, &[("TERM", "xterm"), (name, value)]).1;
        assert!(!with("NO_COLOR", "1"));
        assert!(with("NO_COLOR", ""));
        assert!(!with("CLICOLOR", "0"));
        assert!(with("CLICOLOR", "1"));
        assert!(look(false, &[("CLICOLOR_FORCE", "1")]).1);
        assert!(look(false, &[("CLICOLOR_FORCE", "1"), ("CLICOLOR", "0")]).1);
        assert!(!look(false, &[("CLICOLOR_FORCE", "0")]).1);
        assert!(!look(false, &[("CLICOLOR_FORCE", "1"), ("NO_COLOR", "1")]).1);
    }

    #[test]
    fn the_most_specific_locale_decides() {
        let with = |variables| look(true, variables).2;
        assert!(with(&[("LANG", "de_DE.utf8")]));
        assert!(!with(&[("LANG", "de_DE.utf8"), ("LC_ALL", "C")]));
        assert!(with(&[("LANG", "C"), ("LC_CTYPE", "C.UTF-8")]));
        assert!(with(&[("LANG", "C.UTF-8"), ("LC_ALL", "")]));
        assert!(!with(&[]));
    }
}
