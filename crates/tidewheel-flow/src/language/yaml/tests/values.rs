//! What a file becomes.

use serde_json::json;

use super::*;

#[test]
fn scalars_lists_and_mappings_are_read_in_order() {
    let text = "b: 1\na: [x, 'y', \"z\", 1.5, true, ~]\n? c\n: - d\n  - e:\n";
    assert_eq!(
        json(text),
        json!({"b": 1, "a": ["x", "y", "z", 1.5, true, null], "c": ["d", {"e": null}]})
    );
    let root = good(text);
    assert_eq!(root.as_map().unwrap().keys().collect::<Vec<_>>(), ["b", "a", "c"]);
}

#[test]
fn words_of_yaml_one_one_stay_texts() {
    let text = "[no, yes, on, off, y, n, 1_000, 12:30:45, 2026-01-01, 0b1]";
    let texts: Vec<String> =
        good(text).as_list().unwrap().iter().map(|n| n.as_str().unwrap().to_owned()).collect();
    assert_eq!(texts[..4], ["no", "yes", "on", "off"]);
    assert_eq!(texts.len(), 10);
}

#[test]
fn quotes_and_tags_decide_about_types() {
    assert_eq!(
        json("['12', !!str 12, !!int '12', !!float 3, !!str, ! 12, !!null '', !!bool 'true']"),
        json!(["12", "12", 12, 3.0, "", "12", null, true])
    );
    assert_eq!(
        json("a: !!map {b: !!seq [1]}\nc: !<tag:yaml.org,2002:str> 3"),
        json!({"a": {"b": [1]}, "c": "3"})
    );
}

#[test]
fn keys_that_are_no_texts_are_taken_as_written() {
    let text = "1: a\n0x10: b\ntrue: c\n1.50: d\nnull: e\n~: f\n'': g\n007: h\n";
    let root = good(text);
    let keys: Vec<&str> = root.as_map().unwrap().keys().collect();
    assert_eq!(keys, ["1", "0x10", "true", "1.50", "null", "~", "", "007"]);
}

#[test]
fn an_empty_file_is_an_empty_mapping() {
    for text in ["", "\n\n", "# only a comment\n", "---\n", "---\n...\n", "\u{feff}", "\r\n"] {
        assert_eq!(json(text), json!({}), "{text:?}");
    }
    assert_eq!(json("~"), json!(null));
    assert_eq!(json("[]"), json!([]));
    assert_eq!(json("word"), json!("word"));
}

#[test]
fn aliases_repeat_what_they_name() {
    let text = "a: &x {b: [1, &y two]}\nc: *x\nd: [*y, *y]\n*y : key\n&x e: 3\nf: *x\n";
    assert_eq!(
        json(text),
        json!({
            "a": {"b": [1, "two"]}, "c": {"b": [1, "two"]}, "d": ["two", "two"],
            "two": "key", "e": 3, "f": "e",
        })
    );
}

#[test]
fn merge_keys_bring_along_what_is_not_there() {
    let text = "base: &base {a: 1, b: 2}\nmore: &more {b: 3, c: 4}\n\
                one: {z: 0, <<: *base, b: 9}\n\
                two:\n  <<: [*more, *base]\n  c: 5\n\
                three: {<<: {k: v}, '<<': 1}\n";
    let root = good(text);
    let json = root.to_json();
    assert_eq!(json["one"], json!({"z": 0, "a": 1, "b": 9}));
    assert_eq!(json["three"], json!({"k": "v", "<<": 1}));
    assert_eq!(json["two"], json!({"a": 1, "b": 3, "c": 5}));
    let map = root.as_map().unwrap();
    let keys = |name| map.get(name).unwrap().as_map().unwrap().keys().collect::<Vec<_>>();
    assert_eq!(keys("one"), ["z", "a", "b"]);
    assert_eq!(keys("two"), ["b", "a", "c"]);
    assert_eq!(keys("base"), ["a", "b"]);
}

#[test]
fn a_merge_of_a_merge_follows_both() {
    let text = "a: &a {x: 1}\nb: &b {<<: *a, y: 2}\nc: {<<: *b, z: 3}\n";
    assert_eq!(json(text)["c"], json!({"x": 1, "y": 2, "z": 3}));
}

#[test]
fn a_quoted_merge_key_is_a_name() {
    assert_eq!(json("{'<<': 1}"), json!({"<<": 1}));
}

#[test]
fn other_line_ends_and_a_byte_order_mark_change_nothing() {
    let text = "\u{feff}a: |\n  one\n  two\nb: 'x\n\n  y'\n";
    let expected = json!({"a": "one\ntwo\n", "b": "x\ny"});
    assert_eq!(json(text), expected);
    assert_eq!(json(&text.replace('\n', "\r\n")), expected);
    assert_eq!(json(&text.replace('\n', "\r")), expected);
}

#[test]
fn kinds_are_words_for_messages() {
    let root = good("[~, true, 1, 1.5, a, [], {}]");
    let kinds: Vec<&str> = root.as_list().unwrap().iter().map(Node::kind).collect();
    assert_eq!(
        kinds,
        ["null", "a boolean", "a whole number", "a number", "a text", "a list", "a mapping"]
    );
    assert_eq!(root.kind(), "a list");
}

#[test]
fn infinities_are_numbers_that_json_lacks() {
    // That they are there is told; see `wrong`.
    let root = read("[.inf, -.INF, .nan]").root.unwrap();
    assert!(root.as_list().unwrap().iter().all(|node| !node.as_float().unwrap().is_finite()));
    assert_eq!(root.to_json(), json!([null, null, null]));
}

#[test]
fn keys_of_large_mappings_are_found() {
    let text: String = (0..1000).map(|n| format!("key{}: {n}\n", n * 7919 % 1000)).collect();
    let root = good(&text);
    let map = root.as_map().unwrap();
    assert_eq!(map.len(), 1000);
    for n in 0..1000 {
        let entry = map.entry(&format!("key{}", n * 7919 % 1000)).unwrap();
        assert_eq!(entry.value.as_int(), Some(n));
    }
    assert!(map.get("key1000").is_none() && map.get("").is_none());
}

#[test]
fn keys_are_added_behind_or_replaced_in_place() {
    let value = good("x");
    let mut map = Map::default();
    for n in 0..60 {
        map.insert(format!("k{}", n * 37 % 60), value.span, value.clone());
        assert_eq!(map.len(), n + 1);
        assert!((0..=n).all(|n| map.position(&format!("k{}", n * 37 % 60)) == Some(n)));
    }
    map.insert("k37".to_owned(), value.span, Node::text("y", value.span));
    assert_eq!((map.len(), map.position("k37")), (60, Some(1)));
    assert_eq!(map.get("k37").and_then(Node::as_str), Some("y"));
    assert!(map.get("k60").is_none());
}

#[test]
fn one_tree_is_laid_over_another_key_by_key() {
    let base = good("a: 1\nb: {x: 1, y: [1, 2]}\nc: text\nd: {k: v}\n");
    let over = good("b: {y: [3], z: 4}\nc:\nd: 5\ne: new\n");
    let (below, above) = (base.clone(), over.clone());
    let merged = merge(base, over);
    assert_eq!(
        merged.to_json(),
        json!({"a": 1, "b": {"x": 1, "y": [3], "z": 4}, "c": null, "d": 5, "e": "new"})
    );
    let map = merged.as_map().unwrap();
    assert_eq!(map.keys().collect::<Vec<_>>(), ["a", "b", "c", "d", "e"]);
    let value = |node: &Node, key: &str| node.as_map().unwrap().get(key).unwrap().clone();
    assert_eq!(value(&merged, "a"), value(&below, "a"));
    assert_eq!(value(&merged, "d"), value(&above, "d"));
    assert_eq!(value(&value(&merged, "b"), "x").span, value(&value(&below, "b"), "x").span);
    assert_eq!(value(&value(&merged, "b"), "y").span, value(&value(&above, "b"), "y").span);
    assert_eq!(
        map.entry("b").unwrap().key_span,
        above.as_map().unwrap().entry("b").unwrap().key_span
    );
}

#[test]
fn what_is_no_mapping_is_replaced_whole() {
    assert_eq!(merge(good("[1, 2]"), good("[3]")).to_json(), json!([3]));
    assert_eq!(merge(good("{a: 1}"), good("~")).to_json(), json!(null));
    assert_eq!(merge(good("1"), good("{a: 1}")).to_json(), json!({"a": 1}));
}
