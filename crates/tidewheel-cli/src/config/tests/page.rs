//! The table of settings is sound, and the page about it says the same.

use std::collections::BTreeSet;
use std::fs;

use super::scene::Scene;
use crate::config::as_text;
use crate::config::setting::{Kind, Off, Otherwise, SETTINGS};

#[test]
fn the_table_is_sound() {
    let mut names = BTreeSet::new();
    for (place, definition) in SETTINGS.iter().enumerate() {
        let key = definition.key;
        assert_eq!(definition.setting as usize, place, "{key}");
        assert_eq!(definition.setting.definition().key, key);
        let variable = format!("TIDEWHEEL_{}", key.replace('.', "_").to_uppercase());
        assert_eq!(definition.variable, variable);
        assert!(names.insert(key) && names.insert(definition.variable), "{key} is there twice");
        assert!(
            definition.flag.is_none_or(|flag| names.insert(flag)),
            "{key}: its flag is another's"
        );
        assert!(key.matches('.').count() <= 1, "{key}: sections have no sections");
        assert!(definition.description.ends_with('.'), "{key}");
        if let Otherwise::Value(text) = definition.otherwise {
            let value = definition.read(text).unwrap();
            assert_eq!(value.to_toml().trim_matches('"'), text, "{key}: not as it is shown");
        }
        if let Kind::Choice(words) = definition.kind {
            assert!(words.len() >= 2, "{key}");
        }
    }
}

const HEAD: &str = "
| Setting | Value | Default | Variable | Flag | Means |
|---|---|---|---|---|---|
";

/// The table of settings as the page has it.
fn table() -> String {
    let mut text = HEAD.to_owned();
    for definition in &SETTINGS {
        let value = match (definition.kind, definition.off) {
            (Kind::Choice(words), _) => format!("`{}`", words.join("`, `")),
            (Kind::Path, _) => "path".to_owned(),
            (Kind::Bool, _) => "true or false".to_owned(),
            (_, off) => {
                let expected = definition.expected();
                let bounds = expected.split(", ").next().unwrap_or_default();
                let bounds = bounds.trim_start_matches("a ");
                match off {
                    Off::Never => bounds.to_owned(),
                    Off::Word => format!("{bounds}, or `off`"),
                    Off::WordOrZero => format!("{bounds}, or 0 or `off`"),
                }
            }
        };
        let default = match definition.otherwise {
            Otherwise::Value(text) => format!("`{text}`"),
            Otherwise::Words(text) => text.to_owned(),
        };
        let flag = definition.flag.map(|flag| format!("`{flag}` ")).unwrap_or_default();
        text.push_str(&format!(
            "| `{}` | {value} | {default} | `{}` | {flag}| {} |\n",
            definition.key, definition.variable, definition.description
        ));
    }
    text.push('\n');
    text
}

/// The page with what is generated put between the marks.
fn with_generated(page: &str, mark: &str, content: &str) -> String {
    let start = format!("<!-- generated: {mark} -->\n");
    let (head, rest) = page.split_once(&start).expect("the page has the start marker");
    let (_, tail) = rest.split_once("<!-- end -->").expect("the page has the end marker");
    format!("{head}{start}{content}<!-- end -->{tail}")
}

#[test]
fn the_page_has_the_settings_of_the_table() {
    let path = concat!(env!("CARGO_MANIFEST_DIR"), "/../../docs/reference/configuration.md");
    let page = fs::read_to_string(path).unwrap();
    let shown = as_text(&Scene::new().load(), false);
    let written = with_generated(&page, "settings", &table());
    let written = with_generated(&written, "defaults", &format!("\n```toml\n{shown}```\n\n"));
    if std::env::var_os("TIDEWHEEL_BLESS").is_some_and(|value| value == "1") {
        fs::write(path, written).unwrap();
        return;
    }
    assert_eq!(page, written, "run the test with TIDEWHEEL_BLESS=1 to rewrite {path}");
}
