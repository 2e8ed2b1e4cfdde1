//! What is not there: every use is an error, asking and replacing are not.

use serde_json::json;

use super::{context, engine, text, value};

#[test]
fn every_use_of_something_missing_is_an_error_with_its_whole_path() {
    for (source, path) in [
        ("{{ nope }}", "nope"),
        ("a {{ nope }} b", "nope"),
        ("{{ flows.fetch.nope }}", "flows.fetch.nope"),
        ("{{ flows.nope.total }}", "flows.nope.total"),
        ("{{ flows['no-pe'].total }}", "flows['no-pe'].total"),
        ("{{ flows.fetch.rows[3].id }}", "flows.fetch.rows[3].id"),
        ("{{ flows . nope\n . total }}", "flows . nope . total"),
        ("{{ 'a' ~ nope }}", "nope"),
        ("{{ nope + 1 }}", "nope"),
        ("{{ -nope }}", "nope"),
        ("{{ nope | upper }}", "nope"),
        ("{{ nope | length }}", "nope"),
        ("{{ nope | tojson }}", "nope"),
        ("{{ 'a' | replace('a', nope) }}", "nope"),
        ("{{ nope == 1 }}", "nope"),
        ("{{ 1 in nope }}", "nope"),
        ("{{ nope in [1] }}", "nope"),
        ("{{ nope and 1 }}", "nope"),
        ("{{ nope or 1 }}", "nope"),
        ("{{ not nope }}", "nope"),
        ("{{ nope is none }}", "nope"),
        ("{{ [1, nope] }}", "nope"),
        ("{{ {'a': nope} }}", "nope"),
        ("{{ numbers[nope] }}", "nope"),
        ("{{ nope[0:1] }}", "nope"),
        ("{{ nope.upper() }}", "nope"),
        ("{{ range(nope) }}", "nope"),
        ("{{ 1 if nope else 2 }}", "nope"),
        ("{{ 1 if nope }}", "nope"),
        ("{% if nope %}{% endif %}", "nope"),
        ("{% for x in nope %}{% endfor %}", "nope"),
        ("{% for x in numbers if nope %}{% endfor %}", "nope"),
        ("{% set x = nope %}{{ x }}", "nope"),
        ("{% set x = flows.nope %}{{ x.y }}", "x.y"),
        ("{% macro m(a) %}{{ a }}{% endmacro %}{{ m(flows.nope) }}", "flows.nope"),
        ("{% set a, b = nope %}", "nope"),
        ("{{ empty | first }}", "empty | first"),
        ("{{ empty | max }}", "empty | max"),
        ("{{ rows | map(attribute='nope') | list }}", "nope"),
        ("{{ rows | selectattr('nope') | list }}", "nope"),
        ("{{ rows | sort(attribute='nope') }}", "nope"),
        ("{{ rows | sum(attribute='nope') }}", "nope"),
        ("{{ rows | groupby('nope') }}", "nope"),
        ("{% for x in numbers %}{{ loop.previtem }}{% endfor %}", "loop.previtem"),
        ("{{ map | attr('nope') }}", "map | attr('nope')"),
    ] {
        let error = value(source).expect_err(source);
        assert_eq!(error.undefined.as_deref(), Some(path), "{source}: {error}");
        assert!(!error.is_limit, "{source}");
    }
}

#[test]
fn the_message_says_where_it_is_and_what_there_is() {
    let source = "x {{ flows.fetch.totl }}";
    let error = text(source).expect_err("a typing error");
    assert_eq!(error.message, "`flows.fetch.totl` is not there");
    assert_eq!(&source[error.range.expect("a place")], "flows.fetch.totl");
    assert_eq!(error.hint.as_deref(), Some("perhaps `total` is meant"));

    let error = text("{{ flows.other.x }}").expect_err("no such step");
    assert_eq!(error.message, "`flows.other.x` is not there");
    assert!(error.hint.is_some_and(|hint| hint.starts_with("`flows` has `fetch`")));

    let error = text("{{ n.x }}").expect_err("a number");
    assert_eq!(error.hint.as_deref(), Some("`n` is a number"));
}

#[test]
fn a_default_replaces_what_is_missing_at_any_depth() {
    for (source, expected) in [
        ("{{ nope | default('x') }}", json!("x")),
        ("{{ flows.fetch.nope | default('x') }}", json!("x")),
        ("{{ flows.nope.total | default('x') }}", json!("x")),
        ("{{ flows.nope['a'].b[0].c | default(3) }}", json!(3)),
        ("{{ nope.a.b.c | d([1]) }}", json!([1])),
        ("{{ flows.fetch.total | default('x') }}", json!(12)),
        ("{{ nothing | default('x') }}", json!(null)),
        ("{{ nothing | default('x', true) }}", json!("x")),
        ("{{ nope | default }}", json!("")),
        ("{{ nope | default(flows.nope | default(1)) }}", json!(1)),
        ("{{ (flows.nope if yes else 1) | default(2) }}", json!(2)),
        ("{{ empty | first | default('none') }}", json!("none")),
        ("{{ rows | map(attribute='nope', default=0) | list }}", json!([0, 0, 0])),
        ("{% set x = flows.nope %}{{ x | default(5) }}", json!("5")),
        ("{{ map.get('nope') }}", json!(null)),
        ("{{ map.get('nope', 3) }}", json!(3)),
    ] {
        assert_eq!(value(source), Ok(expected), "{source}");
    }
}

#[test]
fn one_can_ask_whether_something_is_there_at_any_depth() {
    for (source, expected) in [
        ("{{ nope is defined }}", false),
        ("{{ nope is undefined }}", true),
        ("{{ nope is not defined }}", true),
        ("{{ flows.nope.total is defined }}", false),
        ("{{ flows.fetch.total is defined }}", true),
        ("{{ flows['nope']['x'][0] is defined }}", false),
        ("{{ nothing is defined }}", true),
        ("{{ flows.nope is defined and flows.nope.x > 1 }}", false),
        ("{{ 'nope' in flows }}", false),
        ("{{ 'fetch' in flows }}", true),
        ("{{ rows | selectattr('nope', 'defined') | list | length > 0 }}", false),
    ] {
        assert_eq!(value(source), Ok(json!(expected)), "{source}");
    }
}

#[test]
fn a_branch_that_is_not_taken_may_use_anything() {
    for (source, expected) in [
        ("{% if flows.nope is defined %}{{ flows.nope.x }}{% else %}-{% endif %}", "-"),
        ("{% if not yes %}{{ nope }}{% endif %}ok", "ok"),
        ("{{ 'a' if yes else nope }}", "a"),
        ("{{ yes or nope }}", "true"),
        ("{{ nothing and nope }}", ""),
        ("{% for x in empty %}{{ nope }}{% endfor %}", ""),
        ("{% macro unused() %}{{ nope }}{% endmacro %}", ""),
    ] {
        assert_eq!(text(source).as_deref(), Ok(expected), "{source}");
    }
}

#[test]
fn unknown_filters_tests_functions_and_methods_are_found_when_read() {
    let engine = engine();
    for (source, message, hint) in [
        ("{% if no %}{{ 1 | uper }}{% endif %}", "there is no filter `uper`", Some("upper")),
        ("{{ 1 is evn }}", "there is no test `evn`", Some("even")),
        ("{{ rnge(3) }}", "there is no function `rnge`", Some("range")),
        ("{{ 'a'.uppr() }}", "there is no method `uppr`", Some("upper")),
        ("{{ now() }}", "there is no function `now`", None),
        ("{{ lookup('file', '/etc/passwd') }}", "there is no function `lookup`", None),
        ("{{ 1 | sh }}", "there is no filter `sh`", None),
    ] {
        let error = engine.template(source).expect_err(source);
        assert_eq!(error.message, message);
        if let Some(hint) = hint {
            assert!(error.hint.is_some_and(|found| found.contains(hint)), "{source}");
        }
        assert!(error.range.is_some(), "{source}");
    }
}

#[test]
fn nothing_inside_the_engine_can_be_reached() {
    for source in [
        "{{ ''.__class__ }}",
        "{{ [].__class__.__mro__ }}",
        "{{ n.__init__.__globals__ }}",
        "{{ name.upper.__func__ }}",
        "{{ range.__globals__ }}",
        "{{ self }}",
        "{{ loop }}",
        "{{ namespace }}",
        "{{ name['__class__'] }}",
        "{{ map | attr('__class__') }}",
    ] {
        assert!(engine().template(source).and_then(|read| read.render(&context())).is_err());
    }
}
