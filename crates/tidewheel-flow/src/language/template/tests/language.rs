//! The language itself: what Jinja has gives what Jinja gives.
//!
//! The cases that are compared with Jinja2 are in `tests/jinja/cases.json` of this crate.

use serde_json::Value;

use super::super::{Context, TemplateError};
use super::{engine, text, values};

fn assert_texts(cases: &[(&str, &str)]) {
    for (source, expected) in cases {
        assert_eq!(text(source).as_deref(), Ok(*expected), "{source}");
    }
}

#[test]
fn what_jinja_does_not_have_works() {
    assert_texts(&[
        ("{{ 'a b' | split }} {{ 'a,b' | split(',') }}", "[\"a\", \"b\"] [\"a\", \"b\"]"),
        ("{{ 'grüße' | b64encode }} {{ 'Z3LDvMOfZQ==' | b64decode }}", "Z3LDvMOfZQ== grüße"),
        ("{{ '' | b64encode }}|{{ 'YQ' | b64decode }}|{{ 'ab' | b64encode }}", "|a|YWI="),
        ("{{ 'yes' | bool }} {{ 'off' | bool }} {{ 0 | bool }}", "true false false"),
        ("{{ ('{\"a\": [1, 2.5]}' | fromjson).a[1] }}", "2.5"),
        ("{{ 'ab' is startingwith 'a' }}", "true"),
    ]);
}

/// Every line of the table that `./test` compares with Jinja2 itself.
#[test]
fn the_kept_table_holds() {
    let table = include_str!("../../../../tests/jinja/cases.json");
    let table: Value = serde_json::from_str(table).expect("the table is JSON");
    assert_eq!(table["context"], values(), "the table is filled in with what the tests are");
    let groups = table["groups"].as_object().expect("groups");
    let cases = groups.values().flat_map(|cases| cases.as_array().expect("a list"));
    let mut faults = Vec::new();
    let mut count = 0;
    for case in cases {
        count += 1;
        let (source, expected) = (case[0].as_str().expect("a template"), case[1].as_str());
        let found = text(source);
        if found.as_deref().ok() != expected {
            faults.push(format!("{source}\n  gives {found:?}\n  not {expected:?}"));
        }
    }
    assert!(count > 150, "only {count} cases");
    assert!(faults.is_empty(), "{}", faults.join("\n"));
}

#[test]
fn unreadable_templates_say_where_and_why() {
    for (source, at, message) in [
        ("{{ n", "{{", "this has no end: `}}` is missing"),
        ("{{ (n }}", "}", "`)` is wanted here, not `}`"),
        ("{{ [1, 2", "[", "this has no end: `]` is missing"),
        ("{{ n n }}", "n", "`}}` or an operator is wanted here, not `n`"),
        ("{{ }}", "}}", "a value is wanted here, not `}}`"),
        ("{{ 'abc }}", "'", "this text has no end"),
        ("{{ 1 + }}", "}}", "a value is wanted here, not `}}`"),
        ("{{ a ? b }}", "?", "`?` means nothing here"),
        ("{# abc", "{#", "this comment has no end"),
        ("{% if n %}", "if", "`if` has no end"),
        ("{% if n %}{% endfor %}", "endfor", "`endif` is wanted here, not `endfor`"),
        ("{% endif %}", "endif", "`endif` has nothing to belong to"),
        ("{% for x numbers %}", "numbers", "`in` is wanted here, not `numbers`"),
        ("{% fr x in y %}", "fr", "there is no statement `fr`"),
        ("{% break %}", "break", "`break` is not in a loop"),
        (
            "{% include 'a' %}",
            "include",
            "`include` is not possible here: a template cannot use others",
        ),
        (
            "{% import 'a' as b %}",
            "import",
            "`import` is not possible here: a template cannot use others",
        ),
        (
            "{% extends 'a' %}",
            "extends",
            "`extends` is not possible here: a template cannot use others",
        ),
        ("{% raw %}", "{% raw %}", "`raw` has no end"),
    ] {
        let error = engine().template(source).expect_err(source);
        assert_eq!(error.message, message, "{source}");
        assert_eq!(&source[error.range.expect("a place")], at, "{source}");
    }
}

#[test]
fn faults_while_rendering_say_where_and_why() {
    for (source, at, message) in [
        ("{{ n + 'a' }}", "n + 'a'", "`+` does not work with a number and a text"),
        ("{{ 1 < 'a' }}", "1 < 'a'", "a number and a text have no order"),
        ("{{ 1 + (2 / 0) }}", "2 / 0", "a division by zero"),
        ("{{ n | join }}", "join", "the filter `join`: a list is needed here, not a number"),
        ("{{ 'x' | int }}", "int", "the filter `int`: the text is no number"),
        ("{{ n.upper() }}", "n.upper()", "a number has no method `upper`"),
        ("{% for x in n %}{% endfor %}", "n", "a list is needed here, not a number"),
        ("{{ 'a' | upper(1) }}", "upper(1)", "the filter `upper`: it takes no arguments"),
        ("{{ 'a' | trim(foo=1) }}", "trim(foo=1)", "the filter `trim`: it has no argument `foo`"),
        (
            "{{ '{' | fromjson }}",
            "fromjson",
            "the filter `fromjson`: the text is no JSON: \
             EOF while parsing an object at line 1 column 1",
        ),
        ("{% set a, b = [1] %}", ", b", "2 names for 1 values"),
    ] {
        let error: TemplateError = text(source).expect_err(source);
        assert_eq!(error.message, message, "{source}");
        assert_eq!(&source[error.range.expect("a place")], at, "{source}");
    }
}

#[test]
fn any_text_can_be_read_or_refused_without_a_panic() {
    // A small generator of nonsense from the pieces of the language.
    const PIECES: [&str; 40] = [
        "{{", "}}", "{%", "%}", "{#", "#}", "-", " ", "if", "else", "endif", "for", "in", "endfor",
        "set", "=", "a", ".b", "[0]", "[", "]", "(", ")", "{", "}", "'x'", "\"", "\\", "|",
        "upper", "is", "defined", "1", "2.5", "~", ",", ":", "ü", "raw", "endraw",
    ];
    let mut seed = 0x2545_f491_4f6c_dd1d_u64;
    for _ in 0..20_000 {
        let mut source = String::new();
        for _ in 0..12 {
            seed ^= seed << 13;
            seed ^= seed >> 7;
            seed ^= seed << 17;
            source.push_str(PIECES[(seed % 40) as usize]);
        }
        for read in [engine().template(&source), engine().expression(&source)] {
            match read {
                Ok(template) => {
                    let _ = template.render(&Context::new());
                    let ranges = template.references().iter().map(|found| found.range.clone());
                    ranges.for_each(|range| assert!(source.get(range).is_some(), "{source}"));
                }
                Err(error) => {
                    assert!(
                        error.range.is_none_or(|range| source.get(range).is_some()),
                        "{source}"
                    );
                }
            }
        }
    }
}
