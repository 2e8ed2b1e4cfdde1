//! The language itself: each line gives what Jinja gives.

use super::super::{Context, TemplateError};
use super::{engine, text};

fn assert_texts(cases: &[(&str, &str)]) {
    for (source, expected) in cases {
        assert_eq!(text(source).as_deref(), Ok(*expected), "{source}");
    }
}

#[test]
fn arithmetic_is_that_of_python() {
    assert_texts(&[
        ("{{ n + 1 }} {{ n - 10 }} {{ n * 2 }} {{ n / 2 }}", "8 -3 14 3.5"),
        ("{{ 7 // 2 }} {{ -7 // 2 }} {{ -7 // -2 }} {{ 7 // -2 }}", "3 -4 3 -4"),
        ("{{ -7 % 3 }} {{ 7 % -3 }} {{ -7 % -3 }} {{ 2.5 % 2 }}", "2 -2 -1 0.5"),
        ("{{ 2 ** 10 }} {{ 2 ** -1 }} {{ 2 ** 3 ** 2 }} {{ -2 ** 2 }}", "1024 0.5 64 4"),
        ("{{ 1 + 2 * 3 }} {{ (1 + 2) * 3 }} {{ 10 - 3 - 2 }}", "7 9 5"),
        ("{{ 'a' ~ 'b' * 2 }} {{ 1 ~ 2 * 3 }} {{ 'a' ~ 1 == 'a1' }}", "abb 16 true"),
        ("{{ 'ab' * 2 }} {{ 2 * 'ab' }} {{ [0] * 2 }} {{ 'ab' * -1 }}|", "abab abab [0, 0] |"),
        ("{{ [1] + [2] }} {{ 'a' + 'b' }}", "[1, 2] ab"),
        ("{{ 1_000 }} {{ 0x1F }} {{ 0b101 }} {{ 0o17 }} {{ 1.5e3 }}", "1000 31 5 15 1500.0"),
        ("{{ -n | abs }} {{ +n }} {{ --n }} {{ n-1 }}", "7 7 7 6"),
    ]);
}

#[test]
fn comparisons_and_logic_are_those_of_python() {
    assert_texts(&[
        ("{{ 1 < 2 < 3 }} {{ 1 < 3 < 2 }} {{ 2 == 2.0 }} {{ 'a' < 'b' }}", "true false true true"),
        ("{{ 'W' in name }} {{ 3 in numbers }} {{ 9 not in numbers }}", "true true true"),
        ("{{ 'a' in map }} {{ 'z' in map }}", "true false"),
        ("{{ [1, 2] == [1, 2] }} {{ {'a': 1} == {'a': 1.0} }} {{ [1] < [2] }}", "true true true"),
        ("{{ yes and n }} {{ nothing or 'x' }} {{ not yes }}", "7 x false"),
        ("{{ not yes or yes }} {{ 1 in [1] and 2 not in [1] }}", "true true"),
        ("{{ 'a' if yes else 'b' }} {{ 1 if nothing else 2 if empty else 3 }}", "a 3"),
    ]);
}

#[test]
fn members_and_slices_are_found() {
    assert_texts(&[
        ("{{ map.b }} {{ map['a'] }} {{ map.c[1] }} {{ map['c'][-1] }} {{ map.c.0 }}", "1 2 2 2 1"),
        ("{{ flows['fetch-all'].total }} {{ rows[0].in.d }}", "0 1"),
        ("{{ numbers[0] }} {{ numbers[-1] }} {{ name[0] }} {{ name[-1] }}", "3 3 H d"),
        ("{{ numbers[1:] }} {{ numbers[:-1] }} {{ numbers[::2] }}", "[1, 2, 3] [3, 1, 2] [3, 2]"),
        ("{{ numbers[::-1] }} {{ numbers[3:0:-1] }}", "[3, 2, 1, 3] [3, 2, 1]"),
        (
            "{{ name[1:4] }} {{ name[::-1] }} {{ name[-3:-1] }} {{ name[9:] }}",
            "ell dlroW olleH rl ld",
        ),
        ("{{ {'a': {'b': 1}}.a.b }} {{ [1, 2][1] }} {{ 'abc'[1] }}", "1 2 b"),
    ]);
}

#[test]
fn filters_on_texts_work() {
    assert_texts(&[
        ("{{ name | upper }} {{ name | lower }}", "HELLO WORLD hello world"),
        ("{{ 'hELLO wORLD-foo' | title }} {{ 'hELLO' | capitalize }}", "Hello World-Foo Hello"),
        ("{{ '  x ' | trim }}|{{ 'xxaxx' | trim('x') }}", "x|a"),
        (
            "{{ name | replace('o', '0') }} {{ name | replace('o', '0', 1) }}",
            "Hell0 W0rld Hell0 World",
        ),
        ("{{ numbers | join(',') }} {{ rows | join('-', attribute='k') }}", "3,1,2,3 x-y-x"),
        ("{{ 'a b' | split }} {{ 'a,b' | split(',') }}", "[\"a\", \"b\"] [\"a\", \"b\"]"),
        ("{{ '<a>&\"\\'' | e }}", "&lt;a&gt;&amp;&#34;&#39;"),
        (
            "{{ '/grü ß' | urlencode }} {{ {'a b': 'c&d'} | urlencode }}",
            "/gr%C3%BC%20%C3%9F a+b=c%26d",
        ),
        ("{{ 'a\\nb\\n\\nc' | indent(2) }}", "a\n  b\n\n  c"),
        ("{{ '%s-%05d|%-4s|%+.1f|%x' | format('a', 42, 'b', 2.25, 255) }}", "a-00042|b   |+2.2|ff"),
        (
            "{{ '%s of %s' % (1, 2) }} {{ '%(a)s' % {'a': 3} }} {{ '100%%' | format }}",
            "1 of 2 3 100%",
        ),
        ("{{ 'foo bar baz qux' | truncate(9) }}", "foo..."),
        ("{{ 5 | string ~ 'x' }} {{ [1] | string }}", "5x [1]"),
        ("{{ 'grüße' | b64encode }} {{ 'Z3LDvMOfZQ==' | b64decode }}", "Z3LDvMOfZQ== grüße"),
        ("{{ '' | b64encode }}|{{ 'YQ' | b64decode }}|{{ 'ab' | b64encode }}", "|a|YWI="),
    ]);
}

#[test]
fn filters_on_numbers_and_data_work() {
    assert_texts(&[
        (
            "{{ '42' | int }} {{ '4.7' | int }} {{ 'x' | int(3) }} {{ '0x1f' | int(base=16) }}",
            "42 4 3 31",
        ),
        (
            "{{ '3.5' | float }} {{ 'x' | float(1.5) }} {{ 3.9 | int }} {{ 5 | float }}",
            "3.5 1.5 3 5.0",
        ),
        (
            "{{ 2.5 | round }} {{ 3.5 | round }} {{ 2.567 | round(2) }} {{ 7 | round }}",
            "2.0 4.0 2.57 7",
        ),
        ("{{ 2.4 | round(0, 'ceil') }} {{ 2.56 | round(1, 'floor') }}", "3.0 2.5"),
        ("{{ 'yes' | bool }} {{ 'off' | bool }} {{ 0 | bool }}", "true false false"),
        (
            "{{ [1, 'a', none] | tojson }} {{ {'a': [1]} | tojson }}",
            "[1, \"a\", null] {\"a\": [1]}",
        ),
        ("{{ [1, {'a': 2}] | tojson(indent=2) }}", "[\n  1,\n  {\n    \"a\": 2\n  }\n]"),
        ("{{ ('{\"a\": [1, 2.5]}' | fromjson).a[1] }}", "2.5"),
    ]);
}

#[test]
fn filters_on_lists_and_maps_work() {
    assert_texts(&[
        (
            "{{ name | length }} {{ numbers | length }} {{ map | count }} {{ 'ü' | length }}",
            "11 4 3 1",
        ),
        ("{{ numbers | sort }} {{ numbers | sort(reverse=true) }}", "[1, 2, 3, 3] [3, 3, 2, 1]"),
        ("{{ words | sort | join(' ') }}", "Alice bob carol"),
        ("{{ rows | sort(attribute='in.d') | map(attribute='v') | list }}", "[3, 1, 2]"),
        ("{{ numbers | unique | list }} {{ ['a', 'A'] | unique | list }}", "[3, 1, 2] [\"a\"]"),
        (
            "{{ numbers | first }} {{ numbers | last }} {{ numbers | min }} {{ numbers | max }}",
            "3 3 1 3",
        ),
        ("{{ numbers | sum }} {{ rows | sum(attribute='v', start=10) }}", "9 16"),
        (
            "{{ numbers | reverse | list }} {{ 'abc' | reverse }} {{ 'ab' | list }}",
            "[3, 2, 1, 3] cba [\"a\", \"b\"]",
        ),
        (
            "{{ numbers | select('odd') | list }} {{ numbers | reject('>', 2) | list }}",
            "[3, 1, 3] [1, 2]",
        ),
        ("{{ rows | selectattr('v', 'gt', 1) | map(attribute='k') | list }}", "[\"y\", \"x\"]"),
        ("{{ rows | rejectattr('k', 'equalto', 'x') | list | length }}", "1"),
        ("{{ words | map('upper') | join('+') }}", "BOB+ALICE+CAROL"),
        (
            "{{ numbers | batch(3, 0) | list }} {{ numbers | slice(3) | list }}",
            "[[3, 1, 2], [3, 0, 0]] [[3, 1], [2], [3]]",
        ),
        (
            "{{ map | dictsort | map('first') | list }} {{ {'a': 1} | items | list }}",
            "[\"a\", \"b\", \"c\"] [[\"a\", 1]]",
        ),
        (
            "{% for k, group in rows | groupby('k') %}{{ k }}{{ group | length }} {% endfor %}",
            "x2 y1 ",
        ),
        (
            "{% for group in rows | groupby('k') %}{{ group.grouper }}{{ group.list | length }}\
             {% endfor %}",
            "x2y1",
        ),
    ]);
}

#[test]
fn tests_work() {
    for test in [
        "1 is odd",
        "2 is even",
        "9 is divisibleby 3",
        "9 is divisibleby(3)",
        "nothing is none",
        "n is not none",
        "name is string",
        "n is number",
        "map is mapping",
        "numbers is iterable",
        "yes is boolean",
        "n is integer",
        "pi is float",
        "yes is true",
        "'a' is lower",
        "'A' is upper",
        "1 is in [1, 2]",
        "1 is eq 1",
        "2 is gt 1",
        "'ab' is startingwith 'a'",
        "1 is odd and 2 is even",
        "1 is not even or nope",
    ] {
        assert_eq!(text(&format!("{{{{ {test} }}}}")).as_deref(), Ok("true"), "{test}");
    }
}

#[test]
fn methods_of_python_work() {
    assert_texts(&[
        ("{{ name.upper() }} {{ ' x '.strip() }}| {{ 'xa'.lstrip('x') }}", "HELLO WORLD x| a"),
        ("{{ 'a,b,c'.split(',', 1) }} {{ ' a  b '.split() }}", "[\"a\", \"b,c\"] [\"a\", \"b\"]"),
        (
            "{{ name.startswith('He') }} {{ name.endswith('x') }} {{ name.find('W') }}",
            "true false 6",
        ),
        (
            "{{ name.replace('l', 'L', 1) }} {{ name.count('l') }} {{ '5'.zfill(3) }}",
            "HeLlo World 3 005",
        ),
        (
            "{{ '-'.join(['a', 'b']) }} {{ '12'.isdigit() }} {{ 'abc'.removeprefix('a') }}",
            "a-b true bc",
        ),
        ("{{ map.get('a') }} {{ map.get('z', 'd') }}", "2 d"),
        ("{% for k, v in {'x': 1, 'y': 2}.items() %}{{ k }}{{ v }}{% endfor %}", "x1y2"),
        ("{{ {'x': 1}.keys() }} {{ {'x': 1}.values() }}", "[\"x\"] [1]"),
        ("{{ numbers.index(1) }} {{ numbers.count(3) }}", "1 2"),
    ]);
}

#[test]
fn statements_work() {
    assert_texts(&[
        ("{% if n > 9 %}a{% elif n > 5 %}b{% else %}c{% endif %}", "b"),
        ("{% for x in numbers %}{{ x }}{% if not loop.last %},{% endif %}{% endfor %}", "3,1,2,3"),
        (
            "{% for x in [5] %}{{ loop.index }}{{ loop.index0 }}{{ loop.revindex }}\
             {{ loop.first }}{{ loop.length }}{% endfor %}",
            "101true1",
        ),
        ("{% for x in empty %}x{% else %}none{% endfor %}", "none"),
        ("{% for x in numbers if x > 2 %}{{ loop.index }}:{{ x }} {% endfor %}", "1:3 2:3 "),
        ("{% for a, (b, c) in [(1, (2, 3))] %}{{ a }}{{ b }}{{ c }}{% endfor %}", "123"),
        ("{% for x in numbers %}{{ loop.cycle('a', 'b') }}{% endfor %}", "abab"),
        ("{% for r in rows %}{{ loop.changed(r.k) }} {% endfor %}", "true true true "),
        (
            "{% for x in numbers %}{% if x == 1 %}{% continue %}{% endif %}{% if loop.last %}\
             {% break %}{% endif %}{{ x }}{% endfor %}",
            "32",
        ),
        (
            "{% for x in tree recursive %}{{ loop.depth }}{{ x.n }}\
             {% if x.c %}({{ loop(x.c) }}){% endif %}{% endfor %}",
            "1a(2b)1d",
        ),
        (
            "{{ range(3) }} {{ range(2, 8, 2) }} {{ range(5, 0, -2) }}",
            "[0, 1, 2] [2, 4, 6] [5, 3, 1]",
        ),
        (
            "{% set a = 5 %}{{ a }}{% set a = a + 1 %}{{ a }}{% set b, c = 1, 2 %}{{ b }}{{ c }}",
            "5612",
        ),
        (
            "{% set x %}a{{ n }}{% endset %}[{{ x }}]{% set y | upper %}abc{% endset %}{{ y }}",
            "[a7]ABC",
        ),
        (
            "{% set q = 1 %}{% for i in [1, 2] %}{% set q = q + 1 %}{{ q }}{% endfor %}{{ q }}",
            "221",
        ),
        (
            "{% set s = namespace(x=0) %}{% for i in numbers %}{% set s.x = s.x + i %}\
             {% endfor %}{{ s.x }}",
            "9",
        ),
        ("{% with a = 1, b = 2 %}{{ a + b }}{% endwith %}{{ a is defined }}", "3false"),
        ("{% filter upper | replace('A', 'b') %}a{{ name }}{% endfilter %}", "bHELLO WORLD"),
        ("{% do numbers | length %}x", "x"),
        ("{% raw %}{{ n }} {% if %}{% endraw %}{# {{ n }} #}", "{{ n }} {% if %}"),
        ("{{ '{{' }}{{ '%}' }}{{ \"a'b\" }}{{ 'a\\'b' }}{{ '\\u00fc\\x41\\n' }}", "{{%}a'ba'büA\n"),
        ("{{ dict(a=1, b=2) | length }} {{ dict({'x': 1}, y=2).y }}", "2 2"),
    ]);
}

#[test]
fn macros_work() {
    assert_texts(&[
        (
            "{% macro m(a, b=2) %}<{{ a }}{{ b }}>{% endmacro %}{{ m(1) }}{{ m(1, 3) }}\
             {{ m(1, b=4) }}",
            "<12><13><14>",
        ),
        (
            "{% macro f(n) %}{% if n <= 1 %}1{% else %}{{ n * (f(n - 1) | int) }}{% endif %}\
             {% endmacro %}{{ f(5) }}",
            "120",
        ),
        (
            "{% macro box(t) %}[{{ t }}:{{ caller() }}]{% endmacro %}{% call box('T') %}{{ n }}\
             {% endcall %}",
            "[T:7]",
        ),
        (
            "{% macro each(l) %}{% for x in l %}{{ caller(x) }}{% endfor %}{% endmacro %}\
             {% call(v) each(numbers) %}({{ v }}{{ n }}){% endcall %}",
            "(37)(17)(27)(37)",
        ),
        (
            "{% set o = 1 %}{% macro m() %}{{ o }}{% endmacro %}{{ m() }}{% set o = 2 %}{{ m() }}",
            "12",
        ),
        ("{% macro a() %}{% macro b() %}in{% endmacro %}{{ b() }}{% endmacro %}{{ a() }}", "in"),
    ]);
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
