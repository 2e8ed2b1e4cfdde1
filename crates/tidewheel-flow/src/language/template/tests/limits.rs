//! Attacks on memory, time and the stack.

use serde_json::json;

use super::super::{Context, Engine, Limits, TemplateError};
use super::template;

/// Renders an attack with a text of a megabyte and a list of numbers at hand.
fn attack(source: &str) -> Result<(), TemplateError> {
    attack_within(Limits::default(), source)
}

fn attack_within(limits: Limits, source: &str) -> Result<(), TemplateError> {
    let context = Context::new()
        .with("big", json!("x".repeat(1 << 20)))
        .with("big2", json!("x".repeat(1 << 20)))
        .with("rows", json!((0..20_000).rev().collect::<Vec<_>>()));
    Engine::new(limits).template(source)?.render(&context).map(|_| ())
}

fn assert_refused(sources: &[&str]) {
    for source in sources {
        let error = attack(source).expect_err(source);
        assert!(error.is_limit, "{source}: {error}");
    }
}

#[test]
fn growth_of_texts_and_lists_is_refused() {
    assert_refused(&[
        "{{ 'a' * 100000000 }}",
        "{{ 10**12 * 'a' }}",
        "{{ [1] * 10**8 }}",
        "{{ range(10**9) }}",
        "{{ range(0, -10**9, -1) | length }}",
        "{{ big * 9 }}",
        "{{ big ~ big ~ big ~ big ~ big ~ big ~ big ~ big ~ big }}",
        "{{ ('a' * 100000) | replace('a', 'b' * 10000) }}",
        "{{ ('a' * 100000) | replace('', 'b' * 10000) }}",
        "{{ ('a' * 100000).replace('a', 'b' * 10000) }}",
        "{{ (['a'] * 10000) | join('b' * 100000) }}",
        "{{ ('b' * 100000).join(['a'] * 10000) }}",
        "{{ '%1000000000d' | format(1) }}",
        "{{ '%.1000000000f' | format(1.0) }}",
        "{{ '%999999999s' % 'x' }}",
        "{{ '%99999999999999999999999s' % 'x' }}",
        "{{ 'a' | indent(10**12) }}",
        "{{ ('a\\n' * 100000) | indent(100000) }}",
        "{{ [1] | batch(10**12, 0) }}",
        "{{ [1] | slice(10**12) }}",
        "{{ '1'.zfill(10**12) }}",
        "{{ ('[' ~ '0,' * 500000 ~ '0]') | fromjson }}",
        "{{ big | list }}",
        "{{ ('x ' * 1000000).split() }}",
        "{{ ('x ' * 1000000) | split(' ') }}",
        "{{ big | replace('x', 'yyyyyyyyyyyyyyyyyyyy') }}",
        "{{ big }}{{ big }}",
        "{{ [big, big] }}",
        "{{ {'a': big, 'b': big} }}",
        "{{ [big] * 100 }}",
        "{{ big | e | e | e | e }}{{ big | urlencode | urlencode | urlencode }}",
        "{{ (big | upper) ~ (big | upper) ~ (big | upper) }}",
    ]);
}

#[test]
fn growth_in_loops_is_refused() {
    const START: &str = "{% set ns = namespace(s=";
    let doubling = |start: &str, next: &str, end: &str| {
        format!(
            "{START}{start}) %}}{{% for i in range(60) %}}{{% set ns.s = {next} %}}\
             {{% endfor %}}{end}"
        )
    };
    for source in [
        doubling("'aa'", "ns.s ~ ns.s", ""),
        doubling("'aa'", "ns.s + ns.s", ""),
        doubling("'aa'", "ns.s * 2", ""),
        doubling("'aa'", "'%s%s' % (ns.s, ns.s)", ""),
        doubling("'aa'", "[ns.s, ns.s] | join", ""),
        doubling("'aa'", "ns.s | replace('a', 'aa')", ""),
        doubling("'\"'", "ns.s | tojson", ""),
        doubling("[1]", "ns.s + ns.s", ""),
        doubling("[1]", "[ns.s, ns.s]", "{{ ns.s }}"),
        doubling("[1]", "[ns.s, ns.s]", "{{ ns.s == [1] or ns.s | string }}"),
        doubling("[1]", "[ns.s, ns.s]", "{% set t = [ns.s] %}{{ t[0] == ns.s }}"),
        doubling("[1]", "[ns.s, ns.s]", "{{ [ns.s, ns.s] | sort }}"),
        doubling("[1]", "{'a': ns.s, 'b': ns.s}", "{{ ns.s == ns.s }}"),
        doubling("[1]", "{'a': ns.s, 'b': ns.s}", "{{ ns.s | tojson | length }}"),
    ] {
        assert_refused(&[&source]);
    }
    assert_refused(&[
        "{% for a in range(50000) %}{% for b in range(50000) %}x{% endfor %}{% endfor %}",
        "{% for a in range(900) %}{% for b in range(900) %}{{ 'aaaaaaaaaaaa' }}{% endfor %}\
         {% endfor %}",
        "{% set x %}{% for i in range(90000) %}{{ big[:999] }}{% endfor %}{% endset %}",
        "{% filter upper %}{% for i in range(90000) %}{{ big[:999] }}{% endfor %}{% endfilter %}",
        "{% macro m(x) %}{{ x }}{{ x }}{% endmacro %}{% set ns = namespace(s='aaaa') %}\
         {% for i in range(40) %}{% set ns.s = m(ns.s) %}{% endfor %}",
    ]);
}

#[test]
fn work_without_result_is_refused() {
    let looped = |body: &str| format!("{{% for i in range(20000) %}}{body}{{% endfor %}}");
    for body in [
        "{% if big == big2 %}{% endif %}",
        "{% if big < big2 %}{% endif %}",
        "{% if 'zzz' in big %}{% endif %}",
        "{% set x = big | length %}",
        "{% set x = big[-1] %}",
        "{% set x = big | last %}",
        "{% set x = big[::-1] %}",
        "{% set x = big.count('zz') %}",
        "{% set x = big.find('zz') %}",
        "{% set x = big is lower %}",
        "{% set x = big | int(0) %}",
        "{% set x = big | wordcount %}",
        "{% set x = big | trim('y' * 100) %}",
        "{% set x = rows | sort %}",
        "{% set x = rows | unique %}",
        "{% set x = rows | sum %}",
        "{% set x = rows | max %}",
        "{% set x = 99999 in rows %}",
        "{% set x = rows == rows %}",
        "{% set x = rows | select('odd') %}",
        "{% set x = rows | map('string') %}",
        "{% set x = rows[1:] %}",
        "{% for r in rows %}{% endfor %}",
        "{% for r in big %}{% endfor %}",
    ] {
        // Fewer than usual, for the sake of slow builds.
        let limits = Limits { operations_max: 100_000, ..Limits::default() };
        let error = attack_within(limits, &looped(body)).expect_err(body);
        assert!(error.is_limit, "{body}: {error}");
    }
    assert_refused(&["{{ range(50000) | unique }}", "{% for i in range(10**30) %}{% endfor %}"]);
}

#[test]
fn endless_recursion_is_refused() {
    assert_refused(&[
        "{% macro m() %}{{ m() }}{% endmacro %}{{ m() }}",
        "{% macro m(n) %}{{ m(n + 1) }}{{ m(n + 1) }}{% endmacro %}{{ m(0) }}",
        "{% macro m(n) %}{% if n < 20 %}{{ m(n + 1) }}{{ m(n + 1) }}{% endif %}{% endmacro %}\
         {{ m(0) }}",
        "{% macro a() %}{{ b() }}{% endmacro %}{% macro b() %}{{ a() }}{% endmacro %}{{ a() }}",
        "{% macro m() %}{% call m() %}{{ m() }}{% endcall %}{% endmacro %}{{ m() }}",
        "{% macro m() %}{% if 1 %}{% for x in [1] %}{% set y %}{{ [dict(a=m())] }}{% endset %}\
         {% endfor %}{% endif %}{% endmacro %}{{ m() }}",
        "{% for x in [1] recursive %}{{ loop([1]) }}{% endfor %}",
    ]);
}

#[test]
fn values_cannot_nest_without_end_or_hold_themselves() {
    let nested = |next: &str| {
        format!(
            "{{% set ns = namespace(s=[1]) %}}{{% for i in range(5000) %}}\
             {{% set ns.s = {next} %}}{{% endfor %}}"
        )
    };
    for next in
        ["[ns.s]", "{'a': ns.s}", "dict(a=ns.s)", "(ns.s,)", "ns.s | batch(1)", "ns.s | slice(1)"]
    {
        assert_refused(&[&nested(next)]);
    }
    for source in [
        "{% set ns = namespace() %}{% set ns.s = ns %}",
        "{% set ns = namespace() %}{% set ns.s = [ns] %}",
        "{% set ns = namespace() %}{% set ns.s = {'a': ns} %}",
        "{% set ns = namespace() %}{{ namespace(a=ns) }}",
        "{% set ns = namespace() %}{{ dict(a=ns) }}",
        "{% set ns = namespace() %}{{ [1] | map('default', ns) }}",
        "{% set ns = namespace() %}{% for x in [1] %}{% set ns.s = loop %}{% endfor %}",
        "{% macro m() %}{% endmacro %}{% set ns = namespace() %}{% set ns.s = m %}",
        "{% macro m() %}{% endmacro %}{% set other = m %}",
        "{% macro m() %}{% endmacro %}{{ m }}",
        "{% macro m(f) %}{{ f() }}{% endmacro %}{{ m(m) }}",
    ] {
        assert!(attack(source).is_err(), "{source}");
    }
}

#[test]
fn what_is_deep_or_long_to_read_is_refused() {
    let repeat = |part: &str, count: usize| part.repeat(count);
    for source in [
        format!("{{{{ {}1 }}}}", repeat("not ", 4_000)),
        format!("{{{{ {}1 }}}}", repeat("- ", 8_000)),
        format!("{{{{ {}1 }}}}", repeat("-", 8_000)),
        format!("{{{{ 1{} }}}}", repeat("+1", 8_000)),
        format!("{{{{ 1{} }}}}", repeat("**1", 6_000)),
        format!("{{{{ 1{} }}}}", repeat("~1", 8_000)),
        format!("{{{{ a{} }}}}", repeat(".a", 8_000)),
        format!("{{{{ a{} }}}}", repeat("[0]", 6_000)),
        format!("{{{{ a{} }}}}", repeat("[:]", 6_000)),
        format!("{{{{ a{} }}}}", repeat("|e", 8_000)),
        format!("{{{{ a{} }}}}", repeat(" is none", 8_000)),
        format!("{{{{ 'a'{} }}}}", repeat(".upper()", 7_000)),
        format!("{{{{ {}1{} }}}}", repeat("(", 8_000), repeat(")", 8_000)),
        format!("{{{{ {}1{} }}}}", repeat("[", 8_000), repeat("]", 8_000)),
        format!("{{{{ {}1{} }}}}", repeat("{1:", 4_000), repeat("}", 4_000)),
        format!("{{{{ {}1{} }}}}", repeat("dict(a=", 7_000), repeat(")", 7_000)),
        format!("{{{{ {}1{} }}}}", repeat("1|default(", 5_000), repeat(")", 5_000)),
        format!("{{{{ {}1{} }}}}", repeat("1 if (", 6_000), repeat(") else 1", 6_000)),
        format!("{{{{ {}1 }}}}", repeat("1 if 1 else ", 5_000)),
        format!("{{{{ 1{} }}}}", repeat(" if 1", 10_000)),
        format!("{{{{ 1{} }}}}", repeat(" and 1", 10_000)),
        format!("{{{{ 1{} }}}}", repeat(" or 1", 10_000)),
        repeat("{% if 1 %}", 6_000),
        repeat("{% for x in y %}", 4_000),
        repeat("{% macro m() %}", 4_000),
        repeat("{% with %}", 6_000),
        repeat("{% set x %}", 5_000),
        repeat("{% call m() %}", 4_000),
        format!("{{% for {}x{} in y %}}", repeat("(", 8_000), repeat(")", 8_000)),
        repeat("x", 70_000),
    ] {
        let shown = &source[..source.len().min(40)];
        let error = attack(&source).expect_err(shown);
        assert!(error.is_limit || shown.starts_with("{% for ("), "{shown}: {error}");
    }
    // Long without being deep is fine.
    let branches = repeat("{% elif n == 2 %}b", 2_000);
    let source = format!("{{% if n == 1 %}}a{branches}{{% else %}}c{{% endif %}}");
    let context = Context::new().with("n", json!(3));
    assert_eq!(template(&source).render_text(&context).as_deref(), Ok("c"));
    let source = format!("{{{{ [{}] | sum }}}}", repeat("1, ", 10_000));
    assert_eq!(template(&source).render(&context), Ok(json!(10_000)));
}

#[test]
fn ordinary_work_on_large_data_is_possible() {
    for source in [
        "{% for r in rows %}{{ r }},{% endfor %}",
        "{{ rows | sort | first }}",
        "{{ rows | map('string') | join(',') | length }}",
        "{{ rows | tojson | length }}",
        "{{ rows | select('odd') | list | length }}",
        "{{ big | upper | length }}",
        "{{ big | length }}",
        "{{ big[:100] }}",
        "{{ big[-100:] }}",
        "{% for i in range(20000) %}{% if i is odd %}{{ i }}{% endif %}{% endfor %}",
        "{% set ns = namespace(n=0) %}{% for r in rows %}{% set ns.n = ns.n + r %}{% endfor %}\
         {{ ns.n }}",
    ] {
        assert_eq!(attack(source), Ok(()), "{source}");
    }
}

#[test]
fn limits_can_be_set() {
    let engine = Engine::new(Limits {
        source_bytes_max: 100,
        output_bytes_max: 10,
        operations_max: 1_000,
        ..Limits::default()
    });
    assert!(engine.template(&"x".repeat(101)).is_err_and(|error| error.is_limit));
    let render = |source: &str| {
        engine.template(source).and_then(|template| template.render_text(&Context::new()))
    };
    assert!(render("{{ 'a' * 11 }}").is_err_and(|error| error.is_limit));
    assert_eq!(render("{{ 'a' * 10 }}").as_deref(), Ok("aaaaaaaaaa"));
    assert!(render("{% for i in range(1000) %}{% endfor %}").is_err_and(|error| error.is_limit));
}
