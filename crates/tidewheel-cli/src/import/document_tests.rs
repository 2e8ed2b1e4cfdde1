//! What is written reads back as it was.

use serde_json::{Map, Value as Json, json};

use super::*;

fn written(value: &Json) -> String {
    let Json::Object(_) = value else { panic!("a document is a mapping") };
    let Tree::Map(mapping) = Tree::from(value.clone()) else { panic!("it stays one") };
    write(&[], &mapping)
}

fn assert_reads_back(value: &Json) {
    let text = written(value);
    match tidewheel_client::files::parse_yaml(&text) {
        Ok(read) => assert_eq!(&read, value, "\n{text}"),
        Err(error) => panic!("{error}\n{text}"),
    }
}

#[test]
fn texts_are_quoted_only_where_they_must_be() {
    for (text, expected) in [
        ("backup", "backup"),
        ("/usr/bin/backup.sh --all", "/usr/bin/backup.sh --all"),
        ("-c", "-c"),
        ("--all", "--all"),
        ("30 2 * * *", "30 2 * * *"),
        ("*/5 * * * *", "\"*/5 * * * *\""),
        ("@hourly", "\"@hourly\""),
        ("", "\"\""),
        ("no", "\"no\""),
        ("Yes", "\"Yes\""),
        ("y", "\"y\""),
        ("null", "\"null\""),
        ("~", "\"~\""),
        (".inf", "\".inf\""),
        ("-.INF", "\"-.INF\""),
        ("12", "\"12\""),
        ("0x1F", "\"0x1F\""),
        ("0o17", "\"0o17\""),
        ("1_000", "\"1_000\""),
        ("1e3", "\"1e3\""),
        ("12:30:45", "\"12:30:45\""),
        ("2026-11-15", "\"2026-11-15\""),
        ("2026-11-15 10:00:00 Z", "\"2026-11-15 10:00:00 Z\""),
        ("<<", "\"<<\""),
        ("=", "\"=\""),
        ("---", "\"---\""),
        ("- a", "\"- a\""),
        ("a: b", "\"a: b\""),
        ("a:", "\"a:\""),
        ("a #b", "\"a #b\""),
        ("a#b", "a#b"),
        (" a", "\" a\""),
        ("{{ flows.a.b }}", "\"{{ flows.a.b }}\""),
        ("say \"no\"", "say \"no\""),
        ("\"no\"", "'\"no\"'"),
        ("'it''s' \"x\"", "'''it''''s'' \"x\"'"),
        ("tab\there", "\"tab\\there\""),
        ("\u{7}", "\"\\x07\""),
        ("\u{2028}", "\"\\u2028\""),
        ("Zürich", "Zürich"),
    ] {
        assert_eq!(written(&json!({ "a": text })), format!("a: {expected}\n"), "{text:?}");
        assert_reads_back(&json!({ "a": text, "b": [text], "c": [{ "d": text }] }));
        assert_reads_back(&json!({ text: text }));
    }
}

#[test]
fn lines_stand_as_they_are() {
    let value = json!({ "run": "one\n  two\n\nthree\n", "more": "a\nb" });
    let text = "run: |\n  one\n    two\n\n  three\n\nmore: |-\n  a\n  b\n";
    assert_eq!(written(&value), text);
    for text in [
        "  set in\nless\n",
        "\n",
        "\n\n",
        "\na",
        "a\n\n",
        "a\n\n\n",
        " \na",
        "a \n b ",
        "a\r\nb",
        "\ta\nb",
        "a\n\tb\n",
        "a\n ",
        "a\n \n",
        "# a\n# b\n",
        "--- a\n...\n",
        "a\n\u{85}b",
    ] {
        assert_reads_back(&json!({ "a": text, "b": [text, { "c": text, "d": 1 }], "z": 0 }));
    }
}

#[test]
fn the_layout_is_that_of_a_file_written_by_hand() {
    let mut step = Mapping::new();
    step.add_with(vec!["Why it is here.".into()], "name", "build");
    step.add_with(vec!["flowtoy did it otherwise.".into()], "run", "make");
    step.add("depends_on", json!(["a", "b: c"]));
    let mut other = Mapping::new();
    other.add("name", "test");
    let mut root = Mapping::new();
    root.add("name", "nightly");
    root.add("env", json!({ "A": "1" }));
    root.add("flow", vec![Element::from(Tree::from(step)), Element::from(Tree::from(other))]);
    assert_eq!(
        write(&["Imported.".into()], &root),
        "# Imported.\n\nname: nightly\n\nenv:\n  A: \"1\"\n\nflow:\n  # Why it is here.\n  \
         - name: build\n    # flowtoy did it otherwise.\n    run: make\n    \
         depends_on: [a, \"b: c\"]\n\n  - name: test\n"
    );
}

#[test]
fn comments_end_where_their_line_ends() {
    let mut root = Mapping::new();
    let comment = format!("{} \u{85}name: x\nflow: []", "word ".repeat(40));
    root.add_with(vec![comment, "  kept ".to_owned() + &"x".repeat(200)], "name", "a");
    let text = write(&["a\rb: c".to_owned()], &root);
    assert_eq!(tidewheel_client::files::parse_yaml(&text), Ok(json!({ "name": "a" })));
    assert!(text.lines().all(|line| line.chars().count() <= 98 || line.contains("xxx")), "{text}");
}

/// Numbers that only depend on the seed.
struct Chance(u64);

impl Chance {
    fn below(&mut self, bound: usize) -> usize {
        self.0 = self.0.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let mut mixed = self.0;
        mixed = (mixed ^ (mixed >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        mixed = (mixed ^ (mixed >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        ((mixed ^ (mixed >> 31)) % bound as u64) as usize
    }

    fn text(&mut self) -> String {
        const PARTS: [&str; 62] = [
            " ",
            " ",
            "\n",
            "\n",
            "\t",
            "\r",
            ":",
            ": ",
            "#",
            " #",
            "-",
            "- ",
            "--",
            "---",
            "...",
            "?",
            "? ",
            ",",
            "[",
            "]",
            "{",
            "}",
            "{{",
            "}}",
            "&",
            "*",
            "!",
            "|",
            ">",
            "'",
            "\"",
            "%",
            "@",
            "`",
            "\\",
            "\\n",
            "~",
            "null",
            "true",
            "No",
            "on",
            "y",
            "0",
            "1",
            "7",
            ".5",
            "e",
            "0x",
            "_",
            "+",
            "=",
            "<<",
            "a",
            "b",
            "word",
            "é",
            "\u{1f600}",
            "\u{85}",
            "\u{feff}",
            "\u{0}",
            "\u{7f}",
            "\u{2029}",
        ];
        (0..self.below(7)).map(|_| PARTS[self.below(PARTS.len())]).collect()
    }

    fn value(&mut self, depth: usize) -> Json {
        match self.below(if depth == 0 { 8 } else { 11 }) {
            0 => Json::Null,
            1 => json!(self.below(2) == 0),
            2 => json!(self.below(1 << 40) as i64 - (1 << 39)),
            3 => json!((self.below(2000) as f64 - 1000.0) * 10f64.powi(self.below(60) as i32 - 30)),
            4..=7 => json!(self.text()),
            8 => (0..self.below(4)).map(|_| self.value(depth - 1)).collect(),
            _ => Json::Object(self.map(depth - 1)),
        }
    }

    fn map(&mut self, depth: usize) -> Map<String, Json> {
        (0..self.below(5)).map(|_| (self.text(), self.value(depth))).collect()
    }
}

#[test]
fn whatever_is_written_reads_back_equal() {
    for seed in 0..4_000 {
        let mut chance = Chance(seed);
        assert_reads_back(&Json::Object(chance.map(4)));
    }
}
