//! Where the values of a file are.

use super::*;
use crate::language::problem::Span;
use crate::language::yaml::text::Text;

/// The source of a value, found by keys and indexes.
fn written<'a>(text: &'a str, root: &Node, path: &[&str]) -> &'a str {
    &text[find(root, path).span.range()]
}

fn find<'n>(root: &'n Node, path: &[&str]) -> &'n Node {
    path.iter().fold(root, |node, key| match &node.value {
        Value::Map(map) => map.get(key).unwrap(),
        Value::List(list) => &list[key.parse::<usize>().unwrap()],
        _ => panic!("{key}"),
    })
}

#[test]
fn every_value_knows_its_source() {
    let text = "# c\nä: 'größe' # c\nlist:\n  - x: [1, {é: \"q\"}]  \n    y: 2\n\n  - last # c\n\n\
                map: {a: b}\nempty:\nend: 日本\n";
    let root = good(text);
    assert_eq!(written(text, &root, &["ä"]), "'größe'");
    assert_eq!(written(text, &root, &["list", "0", "x"]), "[1, {é: \"q\"}]");
    assert_eq!(written(text, &root, &["list", "0", "x", "1", "é"]), "\"q\"");
    assert_eq!(written(text, &root, &["list", "0"]), "x: [1, {é: \"q\"}]  \n    y: 2");
    assert!(written(text, &root, &["list"]).ends_with("- last"));
    assert_eq!(written(text, &root, &["map"]), "{a: b}");
    assert_eq!(written(text, &root, &["empty"]), "");
    assert_eq!(written(text, &root, &["end"]), "日本");
    assert!(written(text, &root, &[]).starts_with("ä:"));
    for entry in root.as_map().unwrap() {
        assert_eq!(&text[entry.key_span.range()], &*entry.key);
    }
}

#[test]
fn aliases_are_where_they_are_written_and_their_content_where_it_is() {
    let text = "a: &n {b: word}\nc: *n\nd: {<<: *n}\n";
    let root = good(text);
    assert_eq!(written(text, &root, &["c"]), "*n");
    assert_eq!(written(text, &root, &["c", "b"]), "word");
    assert_eq!(find(&root, &["c", "b"]).span, find(&root, &["a", "b"]).span);
    assert_eq!(find(&root, &["d", "b"]).span, find(&root, &["a", "b"]).span);
}

/// Where `part` of the text under `key` is, as it is written in the file.
fn part_of<'a>(text: &'a str, key: &str, part: &str) -> &'a str {
    let root = good(text);
    let value = find(&root, &[key]).as_text().unwrap();
    let start = value.find(part).unwrap();
    &text[value.span_of(start..start + part.len()).range()]
}

#[test]
fn parts_of_plain_and_quoted_texts_are_found() {
    assert_eq!(part_of("k: größe {x} ende", "k", "{x}"), "{x}");
    assert_eq!(part_of("k: 'it''s {x} ''y'''", "k", "{x}"), "{x}");
    assert_eq!(part_of("k: 'it''s {x} ''y'''", "k", "'s {"), "''s {");
    assert_eq!(part_of("k: \"a\\u00e9\\t\\x41 {x}\\n\"", "k", "{x}"), "{x}");
    assert_eq!(part_of("k: \"a\\u00e9\\t\\x41 {x}\\n\"", "k", "é"), "\\u00e9");
    assert_eq!(part_of("k: \"\\ud83d\\ude00 \\U0001f600 {x}\"", "k", "{x}"), "{x}");
    assert_eq!(part_of("k: \"a\\\n   b {x}\"", "k", "{x}"), "{x}");
    assert_eq!(part_of("k: one\n  two\n\n\n  three {x}\n  four", "k", "three {x}"), "three {x}");
    assert_eq!(part_of("k: 'one  \n  two {x}'", "k", "e t"), "e  \n  t");
}

#[test]
fn parts_of_blocks_are_found() {
    let block = "k: |\n\n    line ä one\n      {x} deeper\n\n    {y} end\n\nz: 1\n";
    assert_eq!(part_of(block, "k", "{x}"), "{x}");
    assert_eq!(part_of(block, "k", "  {x}"), "  {x}");
    assert_eq!(part_of(block, "k", "{y} end"), "{y} end");
    assert_eq!(part_of(&block.replace('\n', "\r\n"), "k", "{y} end"), "{y} end");
    assert_eq!(part_of("k: |2-\n    a\n   {x}", "k", "{x}"), "{x}");
    let folded = "k: >\n  one\n  two {x}\n\n    deeper {y}\n  back  \n  {z}\n";
    for part in ["two {x}", "{y}", "back", "{z}"] {
        assert_eq!(part_of(folded, "k", part), part);
    }
    assert_eq!(written(folded, &good(folded), &["k"]), &folded[7..folded.len() - 1]);
}

#[test]
fn ranges_outside_of_a_text_end_with_it() {
    let root = good("k: |\n  ab\n  cd\n");
    let text = find(&root, &["k"]).as_text().unwrap();
    assert_eq!(text.span_of(0..2).range(), 7..9);
    assert_eq!(text.span_of(4..4).range(), 13..13);
    assert_eq!(text.span_of(4..999).range().start, 13);
    assert_eq!(text.span_of(999..9999).end, text.span().end);
    let blank = good(">+\n\n  \n#");
    assert!(blank.as_text().unwrap().span_of(1..2).end <= 7);
    let no_end = good("|\nab\ncd");
    assert_eq!(no_end.as_text().unwrap().span_of(5..6).range(), 7..7);
    let made = Text::new("made", text.span());
    assert_eq!(made.span_of(1..2), text.span());
}

#[test]
fn every_letter_of_a_text_is_found_where_it_is_written() {
    let blocks = ["|", ">", "|-", ">-", "|+", ">+"];
    let bodies =
        ["a b\n  c\n", "a\n\n  b\n c d\n\n\n", "ä  ö\nü\n", "\n\nx\n y\n\nz", "a \nb\t\nc"];
    let mut checked = 0;
    for body in bodies {
        for style in blocks {
            let indented: String = body
                .lines()
                .map(|line| match line {
                    "" => "\n".to_owned(),
                    line => format!("   {line}\n"),
                })
                .collect();
            checked += check_letters(&format!("k: {style}\n{indented}"));
            checked += check_letters(&format!("k: {style}\r\n{}", indented.replace('\n', "\r\n")));
        }
        let lines = body.trim().replace('\n', "\n  ");
        checked += check_letters(&format!("k: {lines}\n"));
        checked += check_letters(&format!("k: '{lines}'\n"));
        checked += check_letters(&format!("k: \"{lines}\"\n"));
    }
    assert!(checked > 200);
}

fn check_letters(source: &str) -> usize {
    let root = good(source);
    let text = find(&root, &["k"]).as_text().unwrap();
    let letters = text.char_indices().filter(|(_, letter)| !letter.is_whitespace());
    let mut count = 0;
    for (index, letter) in letters {
        let span: Span = text.span_of(index..index + letter.len_utf8());
        assert_eq!(source[span.range()], letter.to_string(), "{source:?} at {index}");
        count += 1;
    }
    count
}
