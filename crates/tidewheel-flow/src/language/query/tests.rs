//! Queries: what they find, and what they are refused for.

use serde_json::{Value, json};

use super::{Query, QueryError};

fn search(query: &str, value: &Value) -> Result<Value, QueryError> {
    Query::parse(query)?.search(value)
}

fn people() -> Value {
    json!({
        "people": [
            {"name": "Ann", "age": 30, "tags": ["a", "b"], "home": {"city": "Oslo"}},
            {"name": "Ben", "age": 20, "tags": ["c"], "home": {"city": "Rome"}},
            {"name": "Cem", "age": 25, "tags": [], "home": null},
        ],
        "ops": {"first": {"n": 1}, "second": {"n": 2}, "third": {"m": 3}},
        "nested": [[1, 2], [3, [4]], 5],
        "foo-bar": "quoted",
        "empty": [],
        "text": "grüße",
    })
}

#[test]
fn parts_are_found() {
    let value = people();
    for (query, expected) in [
        ("text", json!("grüße")),
        ("\"foo-bar\"", json!("quoted")),
        ("nothing.at.all", json!(null)),
        ("people[0].name", json!("Ann")),
        ("people[-1].name", json!("Cem")),
        ("people[7]", json!(null)),
        ("people[*].name", json!(["Ann", "Ben", "Cem"])),
        ("people[*].home.city", json!(["Oslo", "Rome"])),
        ("people[].tags[]", json!(["a", "b", "c"])),
        ("ops.*.n", json!([1, 2])),
        ("nested[]", json!([1, 2, 3, [4], 5])),
        ("nested[][]", json!([1, 2, 3, 4, 5])),
        ("people[:2].age", json!([30, 20])),
        ("people[::-1].age", json!([25, 20, 30])),
        ("people[?age > `20`].name", json!(["Ann", "Cem"])),
        ("people[?age > `20` && home].name", json!(["Ann"])),
        ("people[?name == 'Ben' || name == 'Cem'].age", json!([20, 25])),
        ("people[?!home].name", json!(["Cem"])),
        ("people[?contains(tags, 'c')] | [0].name", json!("Ben")),
        ("people[*].[name, age] | [0]", json!(["Ann", 30])),
        ("people[0].{who: name, where: home.city}", json!({"who": "Ann", "where": "Oslo"})),
        ("people | length(@)", json!(3)),
        ("nothing || 'default'", json!("default")),
        ("`[1, \"two\"]`", json!([1, "two"])),
        ("'it\\'s'", json!("it's")),
        ("@.text", json!("grüße")),
        ("*.first.n", json!([1])),
    ] {
        assert_eq!(search(query, &value), Ok(expected), "{query}");
    }
}

#[test]
fn functions_are_worked_out() {
    let value = people();
    for (query, expected) in [
        ("abs(`-3`)", json!(3)),
        ("avg(people[*].age)", json!(25.0)),
        ("avg(empty)", json!(null)),
        ("ceil(`1.2`)", json!(2)),
        ("floor(`-1.2`)", json!(-2)),
        ("contains(text, 'ü')", json!(true)),
        ("starts_with(text, 'gr')", json!(true)),
        ("ends_with(text, 'gr')", json!(false)),
        ("join(', ', people[*].name)", json!("Ann, Ben, Cem")),
        ("sort(keys(ops))", json!(["first", "second", "third"])),
        ("values(ops.first)", json!([1])),
        ("length(text)", json!(5)),
        ("length(ops)", json!(3)),
        ("map(&home.city, people)", json!(["Oslo", "Rome", null])),
        ("max(people[*].age)", json!(30)),
        ("min(people[*].name)", json!("Ann")),
        ("max_by(people, &age).name", json!("Ann")),
        ("min_by(people, &age).name", json!("Ben")),
        ("sort_by(people, &age)[*].name", json!(["Ben", "Cem", "Ann"])),
        ("sort(people[*].age)", json!([20, 25, 30])),
        ("reverse(people[*].age)", json!([25, 20, 30])),
        ("reverse(text)", json!("eßürg")),
        ("merge(ops.first, ops.third)", json!({"n": 1, "m": 3})),
        ("not_null(nothing, text)", json!("grüße")),
        ("sum(people[*].age)", json!(75)),
        ("sum(`[1, 0.5]`)", json!(1.5)),
        ("to_array(text)", json!(["grüße"])),
        ("to_number('12')", json!(12)),
        ("to_number('x')", json!(null)),
        ("to_string(ops.first)", json!("{\"n\":1}")),
        ("type(people)", json!("array")),
        ("`1` == `1.0`", json!(true)),
        ("'a' < 'b'", json!(null)),
    ] {
        assert_eq!(search(query, &value), Ok(expected), "{query}");
    }
}

#[test]
fn unreadable_queries_say_where() {
    for (query, offset) in [
        ("", 0),
        ("a.", 2),
        ("a[", 2),
        ("a b", 2),
        ("a..b", 2),
        ("a[?b", 4),
        ("{a: b", 5),
        ("{}", 1),
        ("'open", 0),
        ("'it''s'", 4),
        ("`{`", 0),
        ("nope(a)", 0),
        ("x.length(a, b)", 2),
        ("sum(a,)", 6),
        ("a # b", 2),
        ("a[::0]", 1),
        ("\"a\"(b)", 0),
    ] {
        let error = Query::parse(query).expect_err(query);
        assert_eq!(error.offset, Some(offset), "{query}: {error}");
    }
}

#[test]
fn functions_refuse_values_of_other_types() {
    for query in [
        "sum(text)",
        "join(',', nested)",
        "keys(text)",
        "max(nested)",
        "sort_by(people, &home)",
        "sort_by(people, age)",
        "length(`1`)",
        "abs('x')",
        "max_by(people, &tags)",
    ] {
        let error = search(query, &people()).expect_err(query);
        assert!(error.offset.is_some(), "{query}");
    }
}

#[test]
fn the_order_of_keys_is_kept_as_the_query_writes_it() {
    let found = search("ops.{z: first.n, a: second.n}", &people()).expect("a map");
    let keys: Vec<&String> = found.as_object().expect("a map").keys().collect();
    let is_sorted = serde_json::from_str::<Value>("{\"b\":1,\"a\":1}")
        .is_ok_and(|value| value.to_string().starts_with("{\"a\""));
    // Only where serde_json was built to keep any order.
    assert_eq!(keys, if is_sorted { ["a", "z"] } else { ["z", "a"] });
}

#[test]
fn integers_stay_exact() {
    let value = json!({"big": 9_007_199_254_740_993_u64, "list": [u64::MAX, 1]});
    assert_eq!(search("big", &value), Ok(json!(9_007_199_254_740_993_u64)));
    assert_eq!(search("max(list)", &value), Ok(json!(u64::MAX)));
    assert_eq!(search("big == `9007199254740992`", &value), Ok(json!(false)));
}

#[test]
fn what_would_exhaust_stack_or_memory_is_refused() {
    let value = json!({"a": vec![1; 1_000]});
    let doubled = format!("a{}", " | [@, @] | []".repeat(40));
    let quoted = format!("a{}", " | to_string([@])".repeat(40));
    for query in [
        "(".repeat(5_000),
        "!".repeat(5_000),
        "&".repeat(5_000),
        "[".repeat(5_000),
        "{a:".repeat(5_000),
        "a[?".repeat(5_000),
        "abs(".repeat(4_000),
        format!("a{}", ".a".repeat(5_000)),
        format!("a{}", "[0]".repeat(5_000)),
        format!("a{}", "[]".repeat(5_000)),
        format!("a{}", "||a".repeat(5_000)),
        format!("a{}", "|a".repeat(5_000)),
        "x".repeat(20_000),
        doubled,
        quoted,
        format!("a{}", " | [@, @]".repeat(40)),
    ] {
        assert!(search(&query, &value).is_err(), "{}", query.get(..60).unwrap_or(&query));
    }
    let rows = json!(vec![vec![0; 1_000]; 1_000]);
    assert!(search("[*][?contains(`[1]`, @)] | [*][?@ == `0`]", &rows).is_err());
}

/// The deepest queries that are read, on half of the stack that runtimes give their threads.
#[test]
fn the_deepest_queries_fit_on_a_small_stack() {
    let deepest = |opening: &str, middle: &str, closing: &str| {
        let text = |depth: usize| [&opening.repeat(depth), middle, &closing.repeat(depth)].concat();
        let depth = (1..=300).rev().find(|depth| Query::parse(&text(*depth)).is_ok());
        text(depth.expect("some depth is read"))
    };
    let work = move || {
        let value = json!({"a": [{"a": 1}], "b": 2});
        for query in [
            deepest("(", "a", ")"),
            deepest("!", "a", ""),
            deepest("[", "a", "]"),
            deepest("{a: ", "a", "}"),
            deepest("a[?", "b", "]"),
            deepest("not_null(", "a", ")"),
            deepest("", "a", "[*].a"),
            deepest("", "a", ".a"),
            deepest("", "a", " || b"),
        ] {
            Query::parse(&query).expect("read before").search(&value).expect("nothing is wrong");
        }
    };
    let thread = std::thread::Builder::new().stack_size(1024 * 1024).spawn(work);
    thread.expect("a thread").join().expect("the stack is large enough");
}
