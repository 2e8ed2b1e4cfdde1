//! Files that were made to harm: they are refused at little cost.

use std::fmt::Write;

use super::*;

/// Numbers that look random and are the same each time.
struct Random(u64);

impl Random {
    fn next(&mut self, below: usize) -> usize {
        self.0 ^= self.0 << 13;
        self.0 ^= self.0 >> 7;
        self.0 ^= self.0 << 17;
        (self.0 % below as u64) as usize
    }
}

/// What may be worth putting together.
const FRAGMENTS: &[&str] = &[
    "a",
    "key",
    ": ",
    ":",
    "- ",
    "-",
    "\n",
    "\n  ",
    "\n    ",
    "\n\t",
    " ",
    "\t",
    "[",
    "]",
    "{",
    "}",
    ",",
    "\"",
    "'",
    "''",
    "\\",
    "\\x41",
    "\\u00e9",
    "\\ud83d\\ude00",
    "|",
    ">",
    "|2-\n",
    ">+\n",
    "&a ",
    "*a",
    "*b ",
    "<<: ",
    "!",
    "!!str ",
    "!!int ",
    "!x ",
    "? ",
    "#",
    " # c",
    "---\n",
    "...\n",
    "%YAML 1.2\n",
    "0644",
    "1e999",
    "0x",
    "~",
    "null",
    "true",
    "ä",
    "日本",
    "😀",
    "\u{301}",
    "\u{202e}",
    "\u{200b}",
    "\u{feff}",
    "\u{1b}[31m",
    "\0",
    "\u{85}",
    "\u{2028}",
    "\r\n",
    "\r",
    "@",
    "`",
    "%",
    "{{ x }}",
    "99999999999999999999",
];

/// Walks over everything that can be asked.
fn exercise(text: &str) {
    let read = read(text);
    let shown = read.shown();
    assert!(shown.chars().all(|c| c == '\n' || !c.is_control()), "{text:?}\n{shown}");
    assert!(!shown.contains(['\u{202e}', '\u{200b}', '\u{2028}']), "{text:?}\n{shown}");
    let _ = read.problems.to_json(&read.files);
    assert!(read.root.is_some() || read.problems.has_errors(), "{text:?}");
    if let Some(root) = &read.root {
        let _ = root.to_json();
        check_places(root, text);
        let _ = merge(root.clone(), root.clone());
    }
}

/// Every place is in the text and between letters, and those inside are in those outside of it.
fn check_places(node: &Node, text: &str) {
    assert!(text.get(node.span.range()).is_some(), "{text:?}: {node:?}");
    match &node.value {
        Value::Text(own) => {
            for (index, letter) in own.char_indices() {
                let span = own.span_of(index..index + letter.len_utf8());
                assert!(text.get(span.range()).is_some(), "{text:?} at {index}");
            }
        }
        Value::List(list) => list.iter().for_each(|node| check_places(node, text)),
        Value::Map(map) => {
            for entry in map {
                assert!(text.get(entry.key_span.range()).is_some(), "{text:?}");
                check_places(&entry.value, text);
            }
        }
        _ => {}
    }
}

#[test]
fn fragments_in_any_order_never_panic() {
    let mut random = Random(0x5eed_0001);
    for _ in 0..3_000 {
        let count = 1 + random.next(24);
        let text: String = (0..count).map(|_| FRAGMENTS[random.next(FRAGMENTS.len())]).collect();
        exercise(&text);
    }
}

#[test]
fn good_files_with_random_changes_never_panic() {
    let good = "name: release\ninputs:\n  tag: { type: text, default: \"v1\\t\" }\n\
                base: &base\n  retries: 3\nsteps:\n  build:\n    <<: *base\n    run: |\n\
                \x20     make ä\n        all\n\n  test:\n    after: [build]\n    run: >-\n\
                \x20     one\n      two\n    env: {A: 'it''s', B: \"x\\u00e9\"}\n";
    assert!(read(good).problems.is_empty());
    exercise(good);
    let mut random = Random(0x5eed_0002);
    for _ in 0..2_000 {
        let mut text: Vec<char> = good.chars().collect();
        for _ in 0..1 + random.next(4) {
            let place = random.next(text.len());
            match random.next(4) {
                0 => drop(text.remove(place)),
                1 => text.truncate(place + 1),
                _ => {
                    let fragment = FRAGMENTS[random.next(FRAGMENTS.len())];
                    text.splice(place..place, fragment.chars());
                }
            }
        }
        exercise(&text.into_iter().collect::<String>());
    }
}

#[test]
fn random_letters_never_panic() {
    let mut random = Random(0x5eed_0003);
    for _ in 0..3_000 {
        let letters = (0..random.next(40)).filter_map(|_| match random.next(3) {
            0 => char::from_u32(random.next(0x11_0000) as u32),
            1 => char::from_u32(random.next(0x20) as u32),
            _ => char::from_u32(0x20 + random.next(0x60) as u32),
        });
        let text: String = letters.collect();
        exercise(&text);
    }
}

#[test]
fn deep_files_are_refused() {
    let blocks: String = (0..500).map(|depth| format!("{}a:\n", " ".repeat(depth))).collect();
    for text in [
        "[".repeat(100_000),
        "{a: ".repeat(100_000),
        "- ".repeat(100_000),
        "? ".repeat(100_000),
        "[{".repeat(50_000),
        blocks,
    ] {
        let read = read(&text);
        assert_eq!(read.problems.iter().next().unwrap().code, "yaml-too-deep", "{}", read.shown());
        assert!(read.root.is_none());
    }
    let just = format!("{}{}", "[".repeat(64), "]".repeat(64));
    assert!(read(&just).root.is_some());
}

#[test]
fn depth_behind_aliases_counts() {
    let half = |inner: &str| format!("{}{inner}{}", "[".repeat(40), "]".repeat(40));
    let text = format!("a: &a {}\nb: {}\n", half("1"), half("*a"));
    assert_eq!(read(&text).found()[0].split('@').next(), Some("yaml-too-deep"));
}

#[test]
fn an_alias_bomb_is_refused_before_it_is_built() {
    let mut text = "a0: &a0 [x, x, x, x, x, x, x, x, x, x]\n".to_owned();
    for level in 1..60 {
        let alias = format!("*a{}, ", level - 1);
        writeln!(text, "a{level}: &a{level} [{}]", alias.repeat(10)).unwrap();
    }
    let read = read(&text);
    assert_eq!(read.found().len(), 1, "{}", read.shown());
    assert!(read.found()[0].starts_with("yaml-alias-expansion@6:"), "{:?}", read.found());
    assert!(read.root.is_none());
}

#[test]
fn a_large_text_is_not_repeated_without_end() {
    let text = format!("a: &a {}\nb: [{}]\n", "x".repeat(1_000_000), "*a, ".repeat(1000));
    let read = read(&text);
    assert!(read.found()[0].starts_with("yaml-alias-expansion@2:"), "{:?}", read.found());
}

#[test]
fn merge_keys_count_as_what_they_repeat() {
    let mut text = "a0: &a0 {k: 1, l: 2, m: 3}\n".to_owned();
    for level in 1..60 {
        let before = level - 1;
        writeln!(
            text,
            "a{level}: &a{level} {{<<: [*a{before}, *a{before}], x{level}: *a{before}}}"
        )
        .unwrap();
    }
    assert!(read(&text).found()[0].starts_with("yaml-alias-expansion@"));
}

#[test]
fn large_files_and_texts_are_refused_at_once() {
    let limits =
        Limits { bytes_max: 1000, scalar_bytes_max: 100, nodes_max: 50, ..Limits::default() };
    let code = |text: &str| read_with(text, &limits).problems.iter().next().map(|p| p.code);
    assert_eq!(code(&"a".repeat(1001)), Some("yaml-too-large"));
    assert_eq!(code(&"a".repeat(101)), Some("yaml-text-too-long"));
    assert_eq!(code(&"- a\n".repeat(50)), Some("yaml-too-many-values"));
    assert_eq!(code(&"- a\n".repeat(49)), None);
    let huge = "a: b\n".repeat(20_000_000);
    assert_eq!(read(&huge).problems.iter().next().unwrap().code, "yaml-too-large");
}

#[test]
fn large_hostile_files_stay_bounded() {
    let size = 1 << 16;
    for fragment in [
        "a", " ", "\t", "\n", "-\n", "- a\n", "&a ", "*a ", "!x ", "\"", "'", "\\", "#", "# c\n",
        ": ", "? ", "a: ", "a,", "[],", "{},", "---\n", "%A\n", "a\n", "a \n", " \n", "\r", "|\n",
        ">\n ", "\u{301}", "\u{1b}", "日",
    ] {
        let body = fragment.repeat(size / fragment.len());
        for (before, after) in [
            ("", ""),
            ("[", "]"),
            ("a: '", "'"),
            ("a: \"", "\""),
            ("a: >\n  x", "y"),
            ("a: |\n  ", ""),
            ("a: b", ""),
        ] {
            let text = format!("{before}{body}{after}");
            let read = read(&text);
            assert!(read.shown().len() < 500_000);
        }
    }
}
