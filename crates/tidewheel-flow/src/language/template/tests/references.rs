//! Which names a template uses.

use super::engine;

/// Path, default and dynamics of every reference: `a.b`, `a.b?`, `a.b*`, and `~` for perhaps local.
fn references(source: &str) -> Vec<String> {
    let template = engine().template(source).unwrap_or_else(|error| panic!("{source}: {error}"));
    let mut found = Vec::new();
    for reference in template.references() {
        let written = &source[reference.range.clone()];
        assert!(written.starts_with(&reference.path[0]), "{source}: {written}");
        let mut shown = reference.path.join(".");
        shown.extend(reference.has_default.then_some('?'));
        shown.extend(reference.is_dynamic.then_some('*'));
        shown.extend(reference.may_be_local.then_some('~'));
        found.push(shown);
    }
    found
}

#[test]
fn paths_are_found_in_every_spelling() {
    for (source, expected) in [
        ("{{ flows.fetch.total }}", "flows.fetch.total"),
        ("{{ flows['fetch-all'].total }}", "flows.fetch-all.total"),
        ("{{ flows[\"a\"][\"b\"] }}", "flows.a.b"),
        ("{{ flows . a\n.b }}", "flows.a.b"),
        ("{{ flows.a.rows[0].x }}", "flows.a.rows.0.x"),
        ("{{ flows.a.rows[-1] }}", "flows.a.rows.-1"),
        ("{{ flows.a.rows.0 }}", "flows.a.rows.0"),
        ("{{ (flows).a }}", "flows.a"),
        ("{{ flows['a' 'b'] }}", "flows.ab"),
        ("{{ flows['\\u0061'] }}", "flows.a"),
        ("{{ flows }}", "flows"),
        ("{{ flows | tojson }}", "flows"),
        ("{{ flows.a.items() }}", "flows.a"),
        ("{{ flows.a.text.upper().strip() }}", "flows.a.text"),
        ("{{ flows.get('a') }}", "flows.a?"),
        ("{{ flows.get('a').total }}", "flows.a?"),
        ("{{ flows.get(name) }}", "flows* name"),
        ("{{ flows[name] }}", "name flows*"),
        ("{{ flows[name].total }}", "name flows*"),
        ("{{ flows.a[params.key].x }}", "params.key flows.a*"),
        ("{{ flows['a' ~ n].x }}", "n flows*"),
        ("{{ flows[flows.a.name].x }}", "flows.a.name flows*"),
        ("{{ flows.a[1:] }}", "flows.a"),
        ("{{ {'x': flows.a}.x }}", "flows.a"),
        ("{{ [flows.a, flows.b][0] }}", "flows.a flows.b"),
        ("{{ (flows.a if params.x else flows.b).c }}", "params.x flows.a flows.b"),
        ("{{ 'flows.a' }} flows.b {# flows.c #}{% raw %}{{ flows.d }}{% endraw %}", ""),
    ] {
        assert_eq!(references(source).join(" "), expected, "{source}");
    }
}

#[test]
fn every_part_of_an_expression_is_looked_through() {
    for source in [
        "{{ a.x + 1 }}",
        "{{ 1 ~ a.x }}",
        "{{ 1 if a.x }}",
        "{{ 1 if 0 else a.x }}",
        "{{ a.x if 1 }}",
        "{{ not a.x }}",
        "{{ -a.x }}",
        "{{ 1 < 2 < a.x }}",
        "{{ 1 in a.x }}",
        "{{ 1 and a.x }}",
        "{{ 1 or a.x }}",
        "{{ [1, [a.x]] }}",
        "{{ {'k': a.x} }}",
        "{{ {a.x: 1} }}",
        "{{ 1 | default(a.x) }}",
        "{{ 'x' | replace('y', new=a.x) }}",
        "{{ 1 is divisibleby a.x }}",
        "{{ 1 is in(a.x) }}",
        "{{ 'x'.replace('y', a.x) }}",
        "{{ range(a.x) }}",
        "{{ dict(k=a.x) }}",
        "{{ 'x'[a.x:] }}",
        "{{ 'x'[::a.x] }}",
        "{{ 'x'[a.x] }}",
        "{% if a.x %}{% endif %}",
        "{% if 0 %}{% elif a.x %}{% endif %}",
        "{% if 0 %}{% else %}{{ a.x }}{% endif %}",
        "{% for i in a.x %}{% endfor %}",
        "{% for i in [1] if a.x %}{% endfor %}",
        "{% for i in [] %}{% else %}{{ a.x }}{% endfor %}",
        "{% set y = a.x %}",
        "{% set y %}{{ a.x }}{% endset %}",
        "{% set y | replace('a', a.x) %}{% endset %}",
        "{% with y = a.x %}{% endwith %}",
        "{% with %}{{ a.x }}{% endwith %}",
        "{% filter replace('a', a.x) %}{% endfilter %}",
        "{% filter upper %}{{ a.x }}{% endfilter %}",
        "{% macro m() %}{{ a.x }}{% endmacro %}",
        "{% macro m(p=a.x) %}{% endmacro %}",
        "{% macro m(p) %}{% endmacro %}{{ m(a.x) }}",
        "{% macro m() %}{% endmacro %}{% call m() %}{{ a.x }}{% endcall %}",
        "{% do [a.x] | length %}",
        "{% set n = namespace(y=a.x) %}{% set n.y = 1 %}",
        "{% set n = namespace() %}{% set n.y = a.x %}",
    ] {
        assert_eq!(references(source), ["a.x"], "{source}");
    }
}

#[test]
fn names_of_the_template_itself_are_not_references() {
    for source in [
        "{% for a in [1] %}{{ a.x }}{{ loop.index }}{% endfor %}",
        "{% for a in [1] if a.x %}{% endfor %}",
        "{% for a, (b, c) in [1] %}{{ a }}{{ b }}{{ c }}{% endfor %}",
        "{% set a = 1 %}{{ a.x }}",
        "{% set a, b = 1, 2 %}{{ a }}{{ b }}",
        "{% set a %}1{% endset %}{{ a }}",
        "{% with a = 1 %}{{ a }}{% endwith %}",
        "{% macro m(a) %}{{ a }}{{ caller() }}{{ m(a) }}{% endmacro %}{{ m(1) }}",
        "{% macro m() %}{% endmacro %}{% call(a) m() %}{{ a }}{% endcall %}",
        "{% if 1 %}{% set a = 1 %}{% else %}{% set a = 2 %}{% endif %}{{ a }}",
        "{% set a = namespace() %}{% set a.x = 1 %}{{ a.x }}",
        "{{ range(3) }}",
    ] {
        assert_eq!(references(source), Vec::<String>::new(), "{source}");
    }
}

#[test]
fn names_count_where_the_template_has_not_bound_them_yet_or_any_more() {
    for (source, expected) in [
        ("{{ a }}{% set a = 1 %}{{ a }}", "a"),
        ("{% for a in a.list %}{{ a }}{% endfor %}{{ a.y }}", "a.list a.y"),
        ("{% for x in [1] %}{% set a = 1 %}{{ a }}{% endfor %}{{ a }}", "a"),
        ("{% for x in [] %}{% else %}{{ x }}{% endfor %}", "x"),
        ("{% with a = a.x %}{{ a }}{% endwith %}{{ a }}", "a.x a"),
        ("{% macro m(a) %}{{ a }}{% endmacro %}{{ a }}", "a"),
        ("{% set a = a.x %}{{ a }}", "a.x"),
        ("{% if c %}{% set a = 1 %}{% endif %}{{ a.x }}", "c a.x~"),
        ("{% if c %}{% set a = 1 %}{{ a }}{% else %}{{ a.y }}{% endif %}", "c a.y"),
        ("{% if c %}{% set a = 1 %}{% elif d %}{% set a = 1 %}{% endif %}{{ a }}", "c d a~"),
        ("{% set a = 0 %}{% if c %}{% set a = 1 %}{% endif %}{{ a }}", "c"),
        ("{% set all = flows %}{{ all.a.b }}", "flows"),
        ("{{ loop.index }}", "loop.index"),
    ] {
        assert_eq!(references(source).join(" "), expected, "{source}");
    }
}

#[test]
fn defaults_and_questions_are_marked() {
    for (source, expected) in [
        ("{{ flows.a.x | default(1) }}", "flows.a.x?"),
        ("{{ flows.a.x | d(1) | upper }}", "flows.a.x?"),
        ("{{ flows.a.x is defined }}", "flows.a.x?"),
        ("{{ flows.a.x is not undefined }}", "flows.a.x?"),
        ("{% if flows.a is defined %}{{ flows.a.x }}{% endif %}", "flows.a? flows.a.x"),
        ("{{ flows.a.x | upper | default(1) }}", "flows.a.x"),
        ("{{ (flows.a if c else flows.b) | default(1) }}", "c flows.a? flows.b?"),
        ("{{ flows[k].x | default(1) }}", "k flows?*"),
        ("{{ flows.a.x is none }}", "flows.a.x"),
    ] {
        assert_eq!(references(source).join(" "), expected, "{source}");
    }
}

#[test]
fn ranges_are_the_bytes_of_the_path() {
    let source = "ü {{ 1 + flows [ 'a' ] . b | upper }} {{ flows[k].c }}";
    let template = engine().template(source).expect("a template");
    let written: Vec<&str> =
        template.references().iter().map(|found| &source[found.range.clone()]).collect();
    assert_eq!(written, ["flows [ 'a' ] . b", "k", "flows"]);
}

#[test]
fn expressions_without_braces_have_references_too() {
    let source = "flows.a.n > 3 and flows['b'] is defined";
    let expression = engine().expression(source).expect("an expression");
    let paths: Vec<String> =
        expression.references().iter().map(|found| found.path.join(".")).collect();
    assert_eq!(paths, ["flows.a.n", "flows.b"]);
    assert_eq!(&source[expression.references()[1].range.clone()], "flows['b']");
}
