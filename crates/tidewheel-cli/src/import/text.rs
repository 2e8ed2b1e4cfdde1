//! Texts of others as texts of a flow file.

/// A text that a template renders as `text` itself, whatever braces are in it.
pub(super) fn as_template(text: &str) -> String {
    let mut template = String::with_capacity(text.len());
    let mut rest = text;
    while let Some(start) = opening(rest) {
        let (before, after) = rest.split_at(start);
        let (braces, after) = after.split_at(2);
        template.push_str(before);
        template.push_str(&format!("{{{{ '{braces}' }}}}"));
        rest = after;
    }
    template.push_str(rest);
    template
}

/// Whether something in the text would be read as a template.
pub(super) fn has_template(text: &str) -> bool {
    opening(text).is_some()
}

fn opening(text: &str) -> Option<usize> {
    ["{{", "{%", "{#"].iter().filter_map(|braces| text.find(braces)).min()
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
}
