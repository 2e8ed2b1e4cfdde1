//! Texts of others as texts of a flow file.
//!
//! How scalars are quoted in YAML is in `scalar`.

/// What begins a template.
const OPENINGS: [&str; 3] = ["{{", "{%", "{#"];
/// What begins one in a text for the shell.
const SHELL_OPENINGS: [&str; 2] = ["{{", "{%"];

/// A text that a template renders as `text` itself, whatever braces are in it.
pub(super) fn as_template(text: &str) -> String {
    with_openings(text, &OPENINGS, |braces| format!("{{{{ '{braces}' }}}}"))
}

/// A text that `run:` takes as `text` itself, whatever braces are in it.
pub(super) fn as_shell_text(text: &str) -> String {
    let raw = |text: &str| format!("{{% raw %}}{text}{{% endraw %}}");
    match opening(text, &SHELL_OPENINGS) {
        None => text.to_owned(),
        Some(_) if text.contains("endraw") => with_openings(text, &SHELL_OPENINGS, raw),
        Some(_) => raw(text),
    }
}

/// Whether something in the text would be read as a template.
pub(super) fn has_template(text: &str) -> bool {
    opening(text, &OPENINGS).is_some()
}

/// The text with something else in the place of each opening.
fn with_openings(text: &str, openings: &[&str], instead: impl Fn(&str) -> String) -> String {
    let mut written = String::with_capacity(text.len());
    let mut rest = text;
    while let Some(start) = opening(rest, openings) {
        let (before, after) = rest.split_at(start);
        let (braces, after) = after.split_at(2);
        written.push_str(before);
        written.push_str(&instead(braces));
        rest = after;
    }
    written.push_str(rest);
    written
}

fn opening(text: &str, openings: &[&str]) -> Option<usize> {
    openings.iter().filter_map(|braces| text.find(braces)).min()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn braces_stand_for_themselves() {
        for (text, expected) in [
            ("plain { } text", "plain { } text"),
            ("{{.Names}}", "{{ '{{' }}.Names}}"),
            ("{{{%", "{{ '{{' }}{{ '{%' }}"),
            ("${#list}", "${{ '{#' }}list}"),
        ] {
            assert_eq!(as_template(text), expected);
            assert_eq!(has_template(text), text != expected);
        }
    }

    #[test]
    fn braces_in_a_command_stand_for_themselves() {
        for (text, expected) in [
            ("echo ${#list} { a; }", "echo ${#list} { a; }"),
            ("ps '{{.Names}}'", "{% raw %}ps '{{.Names}}'{% endraw %}"),
            ("{{ endraw", "{% raw %}{{{% endraw %} endraw"),
        ] {
            assert_eq!(as_shell_text(text), expected);
        }
    }
}
