//! What type comes out, and how values stand in a text.

use serde_json::json;

use super::super::{Context, Engine, Limits, ShellText};
use super::{context, engine, template, text, value};

#[test]
fn a_lone_expression_keeps_its_type() {
    for (source, expected) in [
        ("{{ 2 }}", json!(2)),
        ("{{ n }}", json!(7)),
        ("  {{ n }}\n", json!(7)),
        ("{{- n -}}", json!(7)),
        ("{# why #}{{ n }}", json!(7)),
        ("{{ pi }}", json!(3.5)),
        ("{{ n / 7 }}", json!(1.0)),
        ("{{ yes }}", json!(true)),
        ("{{ nothing }}", json!(null)),
        ("{{ numbers }}", json!([3, 1, 2, 3])),
        ("{{ map }}", json!({"b": 1, "a": 2, "c": [1, 2]})),
        ("{{ (1, 'a') }}", json!([1, "a"])),
        ("{{ '5' }}", json!("5")),
        ("{{ 'a' if not yes }}", json!(null)),
        ("{{ n }}{{ n }}", json!("77")),
        ("{{ n }}.", json!("7.")),
        ("{% if yes %}{{ n }}{% endif %}", json!("7")),
        ("no braces", json!("no braces")),
        ("", json!("")),
    ] {
        assert_eq!(value(source), Ok(expected), "{source}");
    }
}

#[test]
fn in_a_text_values_are_written_for_other_programs() {
    for (source, expected) in [
        ("<{{ nothing }}>", "<>"),
        ("<{{ yes }} {{ not yes }}>", "<true false>"),
        ("<{{ numbers }}>", "<[3, 1, 2, 3]>"),
        ("<{{ [nothing, 'a\"b'] }}>", "<[null, \"a\\\"b\"]>"),
        ("<{{ map }}>", "<{\"b\": 1, \"a\": 2, \"c\": [1, 2]}>"),
        ("{{ 1.0 }} {{ 1e3 }} {{ 0.1 + 0.2 }}", "1.0 1000.0 0.30000000000000004"),
        ("{{ nothing ~ yes ~ [1] }}", "true[1]"),
        ("{{ '-v' if yes }}{{ '-q' if nothing }}", "-v"),
    ] {
        let expected = if is_order_kept() { expected.to_owned() } else { sorted(expected) };
        assert_eq!(text(source), Ok(expected), "{source}");
    }
}

/// Whether serde_json was built to keep the order of keys.
fn is_order_kept() -> bool {
    json!({"b": 1, "a": 2}).to_string().starts_with("{\"b\"")
}

fn sorted(expected: &str) -> String {
    expected.replace("\"b\": 1, \"a\": 2", "\"a\": 2, \"b\": 1")
}

#[test]
fn the_order_of_keys_is_kept() {
    let rendered = text("{% for k in {'z': 1, 'a': 2} %}{{ k }}{% endfor %}");
    assert_eq!(rendered.as_deref(), Ok("za"));
    let rendered = text("{{ {'z': 1, 'b': {'y': 1, 'x': 2}} | tojson }}");
    assert_eq!(rendered.as_deref(), Ok("{\"z\": 1, \"b\": {\"y\": 1, \"x\": 2}}"));
}

#[test]
fn large_numbers_survive() {
    let numbers = [json!(u64::MAX), json!(i64::MIN), json!(9_007_199_254_740_993_i64), json!(1e-9)];
    for number in numbers {
        let context = Context::new().with("n", &number);
        assert_eq!(template("{{ n }}").render(&context), Ok(number.clone()));
        assert_eq!(template("x{{ n }}").render(&context), Ok(json!(format!("x{number}"))));
    }
    assert_eq!(value("{{ 9007199254740993 + 2 }}"), Ok(json!(9_007_199_254_740_995_i64)));
    assert_eq!(text("{{ 10 ** 30 }}").as_deref(), Ok("1000000000000000000000000000000"));
    // A JSON number would have to round it.
    let error = value("{{ 10 ** 30 }}").expect_err("too large");
    assert!(error.message.contains("digits"), "{error}");
}

#[test]
fn what_is_not_a_number_is_an_error() {
    for source in ["{{ 1 / 0 }}", "{{ 1 % 0 }}", "{{ 1.0 // 0 }}", "{{ 1e300 * 1e300 }}"] {
        assert!(value(source).is_err(), "{source}");
    }
}

#[test]
fn text_with_nothing_to_fill_in_is_constant() {
    for source in ["", "plain", "a { b } c", "}} %} #}", "{ {x} }", "tail {", "\n x \n"] {
        let literal = template(source);
        assert_eq!(literal.constant().as_deref(), Some(source));
        assert_eq!(literal.render_text(&Context::new()).as_deref(), Ok(source));
        assert!(literal.references().is_empty());
    }
    for (source, constant) in [
        ("a{# c #}b", Some("ab")),
        ("{% raw %}{{ n }}{% endraw %}!", Some("{{ n }}!")),
        ("{{ 1 }}", None),
        ("{% set a = 1 %}", None),
    ] {
        assert_eq!(template(source).constant().as_deref(), constant, "{source}");
    }
}

#[test]
fn shell_text_has_no_templates_but_can_have_braces() {
    let parse = |source| ShellText::parse(source).expect(source);
    for (source, expected) in [
        ("echo ${#list} { a; } {x,y}", "echo ${#list} { a; } {x,y}"),
        ("f '{% raw %}{{.Names}}{% endraw %}' ${#x}", "f '{{.Names}}' ${#x}"),
        ("${% raw %}{{ a }}{% endraw %} {%- raw %}{%s}{% endraw -%} b", "${{ a }}{%s}b"),
        ("{% raw %}{{{% endraw %}{% raw %}{%{% endraw %}", "{{{%"),
        ("{", "{"),
    ] {
        let text = parse(source);
        assert_eq!((text.text.as_str(), text.templates.len()), (expected, 0), "{source}");
    }
    for (source, found) in [
        ("a {{ x }} b", &["{{ x }}"][..]),
        ("{{.Names}}\n{{ b\nc", &["{{.Names}}", "{{ b"]),
        ("{% raw %}{{ a }}{% endraw %}{% if b %}", &["{% if b %}"]),
        ("{{", &["{{"]),
    ] {
        let templates = parse(source).templates.into_iter();
        assert_eq!(templates.map(|range| &source[range]).collect::<Vec<_>>(), found, "{source}");
    }
    assert!(ShellText::parse("{% raw %} x").expect_err("no end").message.contains("no end"));
}

#[test]
fn lines_and_spaces_stay_as_written() {
    assert_eq!(text("{{ n }}\n").as_deref(), Ok("7\n"));
    assert_eq!(text("\n a {{ n }}\t\n\n").as_deref(), Ok("\n a 7\t\n\n"));
    assert_eq!(text("a\n{% if yes %}\nb\n{% endif %}\nc\n").as_deref(), Ok("a\n\nb\n\nc\n"));
    assert_eq!(text("a \n{%- if yes -%}\n b \n{%- endif %}\nc").as_deref(), Ok("ab\nc"));
    assert_eq!(text("<b>&'\"{{ '<i>' }}").as_deref(), Ok("<b>&'\"<i>"));
}

#[test]
fn an_expression_needs_no_braces() {
    let engine = engine();
    for (source, expected) in [
        ("n > 3", json!(true)),
        ("  flows.fetch.total + 1 ", json!(13)),
        ("{{ n > 3 }}", json!(true)),
        ("\n{{ numbers | length }}\n", json!(4)),
        ("{'a': n}", json!({"a": 7})),
        ("n", json!(7)),
        ("'x' if n in numbers else 'y'", json!("y")),
    ] {
        let expression = engine.expression(source).expect(source);
        assert!(expression.is_lone_expression());
        assert_eq!(expression.render(&context()), Ok(expected), "{source}");
    }
    for source in ["", "n >", "n }}", "{{ n }} and {{ n }}", "{% if n %}1{% endif %}", "a b", "n;"]
    {
        assert!(engine.expression(source).is_err(), "{source}");
    }
}

#[test]
fn conditions_are_true_as_in_jinja() {
    let engine = engine();
    for (source, expected) in [
        ("n", true),
        ("n - 7", false),
        ("nothing", false),
        ("empty", false),
        ("''", false),
        ("'false'", true),
        ("flows", true),
        ("{}", false),
    ] {
        let expression = engine.expression(source).expect(source);
        assert_eq!(expression.is_true(&context()), Ok(expected), "{source}");
    }
}

#[test]
fn what_comes_out_is_not_read_as_a_template_again() {
    let context = Context::new().with("evil", json!("{{ 1 + 1 }}{% for %}"));
    let rendered = template("<{{ evil }}|{{ evil | upper }}>").render_text(&context);
    assert_eq!(rendered.as_deref(), Ok("<{{ 1 + 1 }}{% for %}|{{ 1 + 1 }}{% FOR %}>"));
}

#[test]
fn functions_of_the_embedder_take_and_give_json() {
    let engine = Engine::new(Limits::default()).with_function("query", |given| {
        given.first().and_then(|value| value.get("x")).cloned().ok_or_else(|| "no x".to_owned())
    });
    let template = engine.template("{{ query({'x': [1, n]}) }}").expect("a template");
    assert_eq!(template.render(&context()), Ok(json!([1, 7])));
    assert!(template.references().iter().all(|reference| reference.path != ["query"]));
    let template = engine.template("{{ query({}) }}").expect("a template");
    let error = template.render(&context()).expect_err("no x");
    assert_eq!(error.message, "`query`: no x");
}
