//! What is said about files that are wrong.

use super::*;
use crate::language::problem::Severity;

fn found(text: &str) -> Vec<String> {
    read(text).found()
}

#[test]
fn what_is_no_yaml_is_told_with_its_place() {
    for (text, expected) in [
        ("a:\n\tb: 1\n", "yaml-tab@2:1"),
        ("a: x\n\ty: z\n", "yaml-tab@2:1"),
        ("a: |\n\tx\n", "yaml-tab@2:1"),
        ("a:\n  - b\n \t- c\n", "yaml-tab@3:2"),
        ("a: \"open\nb: 2\nc: 3\n", "yaml-unclosed-quote@1:4"),
        ("a:\n  b: 'x\n", "yaml-unclosed-quote@2:6"),
        ("a: 1 # it's\nb: 'x\n", "yaml-unclosed-quote@2:4"),
        ("- \"x", "yaml-unclosed-quote@1:3"),
        ("{\"a\":1, b: [c, \"d]}\n", "yaml-unclosed-quote@1:16"),
        ("a: \"x\n  b: \"y\"\n", "yaml-behind-quote@2:7"),
        ("a: 'b' c\n", "yaml-behind-quote@1:8"),
        ("a: [1, 2\n", "yaml-unclosed-bracket@1:4"),
        ("a: {b: 1\n", "yaml-unclosed-bracket@1:4"),
        ("a: [1}", "yaml-wrong-bracket@1:4"),
        ("a: ]", "yaml-wrong-bracket@1:4"),
        ("a: [1, 2\nb: 3\n", "yaml-colon@2:2"),
        ("a: b: c\n", "yaml-colon@1:5"),
        ("a: 1\n b: 2\n", "yaml-colon@2:3"),
        ("a:1\nb: 2\n", "yaml-colon@2:2"),
        ("a: 1\nword\nb: 2\n", "yaml-key-expected@2:1"),
        ("a:\n   b: 1\n  c: 2\n", "yaml-indentation@3:3"),
        ("- a\nb: 1\n", "yaml-indentation@2:1"),
        ("a: - b\n", "yaml-indentation@1:4"),
        ("a: [x]y\n", "yaml-indentation@1:7"),
        ("a: @x\n", "yaml-character@1:4"),
        ("a: `x`\n", "yaml-character@1:4"),
        ("a: x\n\u{1b}[31m: 2\n", "yaml-character@2:1"),
        ("a: \"x \\q\"\n", "yaml-escape@1:7"),
        ("a: \"x \\x4\"\n", "yaml-escape@1:7"),
        ("a: 'C:\\x'\nb: \"C:\\dir\"\n", "yaml-escape@2:7"),
        ("a: *\n", "yaml-syntax@1:4"),
    ] {
        let read = read(text);
        assert_eq!(read.found(), [expected], "{text:?}\n{}", read.shown());
        assert!(read.root.is_none(), "{text:?}");
    }
}

#[test]
fn what_is_wrong_in_one_place_leaves_the_rest() {
    for (text, expected) in [
        ("a: *none\nb: 1\n", "yaml-unknown-alias@1:4"),
        ("a: &x [1, *x]\nb: 1\n", "yaml-alias-in-itself@1:11"),
        ("a: !secret x\nb: 1\n", "yaml-unknown-tag@1:4"),
        ("a: !!binary x\nb: 1\n", "yaml-unknown-tag@1:4"),
        ("a: !!set {x}\nb: 1\n", "yaml-unknown-tag@1:4"),
        ("a: !!int x\nb: 1\n", "yaml-tag-mismatch@1:10"),
        ("a: !!seq {}\nb: 1\n", "yaml-tag-mismatch@1:4"),
        ("a: !!map x\nb: 1\n", "yaml-tag-mismatch@1:4"),
        ("a: 9223372036854775808\nb: 1\n", "yaml-number-too-large@1:4"),
        ("? [1]\n: 2\nb: 1\n", "yaml-key-not-text@1:3"),
        ("{? {x: y} : 2, b: 1}\n", "yaml-key-not-text@1:4"),
        ("a: &x [1]\n*x : 2\nb: 1\n", "yaml-key-not-text@2:1"),
        (": 2\nb: 1\n", "yaml-empty-key@1:1"),
        ("<<: 1\nb: 1\n", "yaml-merge@1:5"),
        ("<<: [{c: 1}, x]\nb: 1\n", "yaml-merge@1:14"),
        ("<<:\nb: 1\n", "yaml-merge@1:3"),
        ("\tb: 1\n", "yaml-tab@1:1"),
        ("b: 1\n---\nc: 2\n", "yaml-second-document@2:1"),
        ("b: 1\n...\nc: 2\n", "yaml-second-document@3:1"),
    ] {
        let read = read(text);
        assert_eq!(read.found(), [expected], "{text:?}\n{}", read.shown());
        assert!(read.problems.has_errors());
        assert_eq!(read.root.unwrap().to_json()["b"], 1, "{text:?}");
    }
}

#[test]
fn a_key_that_is_there_twice_is_shown_in_both_places() {
    let read = read("a: 1\nb: 2\na: 3\n");
    assert_eq!(read.found(), ["yaml-duplicate-key@3:1"]);
    let shown = read.shown();
    assert!(shown.contains("--> flow.yaml:3:1") && shown.contains("::: flow.yaml:1:1"), "{shown}");
    assert_eq!(read.root.unwrap().to_json()["a"], 1);
    assert_eq!(found("{a: 1, 'a': 2, \"\\x61\": 3}").len(), 2);
    assert_eq!(found("1: x\n'1': y\n"), ["yaml-duplicate-key@2:1"]);
    let many: String = (0..40).map(|n| format!("k{}: {n}\n", n % 39)).collect();
    assert_eq!(found(&many), ["yaml-duplicate-key@40:1"]);
    assert_eq!(found("a: &a {x: 1}\nb: {<<: *a, <<: *a}\n"), ["yaml-duplicate-key@2:13"]);
}

#[test]
fn what_an_alias_repeats_is_wrong_only_once() {
    assert_eq!(found("a: &x {k: 1, k: 2}\nb: *x\nc: *x\n"), ["yaml-duplicate-key@1:14"]);
}

#[test]
fn an_unquoted_template_is_recognised() {
    let read = read("a: {{ inputs.name }}\n");
    assert_eq!(read.found(), ["yaml-key-not-text@1:5"]);
    assert!(read.shown().contains("quote texts that start with a template"), "{}", read.shown());
}

#[test]
fn the_bracket_that_was_forgotten_is_shown() {
    let shown = read("a: [1, 2\nb: 3\n").shown();
    assert!(
        shown.contains("::: flow.yaml:1:4") && shown.contains("has not been closed"),
        "{shown}"
    );
}

#[test]
fn a_space_that_was_forgotten_is_named() {
    let shown = read("name:x\nb: 2\n").shown();
    assert!(shown.contains("write a space behind the `:` of `name`"), "{shown}");
}

#[test]
fn a_number_with_a_zero_before_it_is_a_warning() {
    let read = read("mode: 0644\nzip: 01809\n0644: fine\nquoted: '0644'\n");
    assert_eq!(read.found(), ["yaml-leading-zero@1:7", "yaml-leading-zero@2:6"]);
    assert!(read.problems.iter().all(|problem| problem.severity == Severity::Warning));
    assert!(read.shown().contains("write 0o644 for an octal number"));
    assert_eq!(read.root.unwrap().to_json()["mode"], 644);
}

#[test]
fn a_number_that_json_does_not_have_is_refused() {
    let read = read("a: .inf\nb: [-.INF, .nan]\nc: '.inf'\n");
    let found = ["yaml-not-finite@1:4", "yaml-not-finite@2:5", "yaml-not-finite@2:12"];
    assert_eq!(read.found(), found);
}

#[test]
fn bytes_that_are_no_text_are_told_with_their_line() {
    assert_eq!(decode("a: ä\n".as_bytes()), Ok("a: ä\n"));
    let message = |bytes: &[u8]| decode(bytes).unwrap_err().about("flow.yaml").message;
    let bad = message(b"a: 1\nb: \xc3\xa4 \xff\xfe x\nc: 3\n");
    assert_eq!(bad, "flow.yaml: not UTF-8: the first wrong byte is 0xff in line 2");
    assert!(message(b"\xff\xfea\0:\0").contains("UTF-16"));
    assert!(message(b"a: \xc3").contains("0xc3 in line 1"));
}
