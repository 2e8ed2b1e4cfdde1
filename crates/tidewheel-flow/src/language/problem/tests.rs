//! What people and machines get to see of problems.

use serde_json::json;
use tidewheel_picture::letters::is_hidden;

use super::list::KEPT_MAX;
use super::*;

fn one(text: &str, range: std::ops::Range<usize>) -> (SourceFiles, Problem) {
    let mut files = SourceFiles::new();
    let file = files.push("flow.yaml", text.into());
    let problem = Problem::error("some-code", "something is wrong").at(Span::new(file, range));
    (files, problem)
}

fn shown(files: &SourceFiles, problem: Problem, width: usize) -> String {
    let mut problems = Problems::new();
    problems.push(problem);
    problems.render(files, Style::Plain, width)
}

/// The line of the file and the line with the carets.
fn lines(text: &str, part: &str, width: usize) -> (String, String) {
    let start = text.find(part).unwrap();
    let (files, problem) = one(text, start..start + part.len());
    let shown = shown(&files, problem, width);
    let lines: Vec<&str> = shown.lines().collect();
    assert!(lines.iter().all(|line| line.chars().count() <= width), "{shown}");
    let source = |line: &str| line.split_once('|').unwrap().1.get(1..).unwrap_or("").to_owned();
    (source(lines[3]), source(lines[4]))
}

#[test]
fn a_problem_shows_its_line_and_what_belongs_to_it() {
    let text = "name: x\nsteps:\n  stpes: []\n";
    let (files, problem) = one(text, 17..22);
    let file = problem.span.unwrap().file;
    let problem =
        problem.label("here").see(Span::new(file, 8..13), "like this").hint("do it right");
    let expected = "\
error[some-code]: something is wrong
 --> flow.yaml:3:3
  |
3 |   stpes: []
  |   ^^^^^ here
  |
 ::: flow.yaml:2:1
  |
2 | steps:
  | ----- like this
  |
  = help: do it right

";
    assert_eq!(shown(&files, problem, 80), expected);
}

#[test]
fn a_problem_without_a_place_has_its_message_and_its_hint() {
    let problem = Problem::warning("no-steps", "there are no steps").hint("add one");
    let expected = "warning[no-steps]: there are no steps\n = help: add one\n\n";
    assert_eq!(shown(&SourceFiles::new(), problem.clone(), 80), expected);
    assert_eq!(problem.about("a\u{1b}b").message, "a\\u{1b}b: there are no steps");
}

#[test]
fn carets_are_below_what_they_mean() {
    assert_eq!(lines("a: größe X y", "X", 80).1, "         ^");
    assert_eq!(lines("a: 日本 XY", "XY", 80), ("a: 日本 XY".into(), "        ^^".into()));
    assert_eq!(lines("a: 日本", "日本", 80).1, "   ^^^^");
    assert_eq!(lines("\ta:\tX", "X", 80), ("    a:    X".into(), "          ^".into()));
    assert_eq!(lines("e\u{301}: X", "X", 80).1, "   ^");
    assert_eq!(lines("a: \u{1b}[1mX", "X", 80), ("a: \\u{1b}[1mX".into(), "            ^".into()));
    assert_eq!(lines("a\u{202e}b: X", "X", 80).0, "a\\u{202e}b: X");
    assert_eq!(lines("a\u{200b}b: X", "\u{200b}", 80).1, " ^^^^^^^^");
}

#[test]
fn a_place_of_several_lines_shows_the_first() {
    let (source, carets) = lines("a:\r\n  b: 1\r\n  c: 2\r\n", "b: 1\r\n  c", 80);
    assert_eq!((source.as_str(), carets.as_str()), ("  b: 1", "  ^^^^"));
}

#[test]
fn places_at_and_behind_the_end_are_shown_at_the_end() {
    let (files, problem) = one("abc\n", 3..3);
    assert!(shown(&files, problem, 80).contains("1 | abc\n  |    ^\n"));
    let (files, problem) = one("abc", 900..1000);
    assert!(shown(&files, problem, 80).contains("1 | abc\n  |    ^\n"));
    let (files, problem) = one("", 0..0);
    assert!(shown(&files, problem, 80).contains("1 |\n  | ^\n"));
    let (files, problem) = one("ä", 1..2);
    assert!(shown(&files, problem, 80).contains("1 | ä\n  | ^\n"));
}

#[test]
fn long_lines_are_cut_around_the_place() {
    let filler = "abcdefghi ".repeat(50);
    let (source, carets) = lines(&format!("{filler}XYZ {filler}"), "XYZ", 60);
    assert!(source.starts_with("...") && source.ends_with("..."), "{source}");
    assert_eq!(carets.find('^'), source.find("XYZ"));
    assert_eq!(carets.trim(), "^^^");
    let (source, _) = lines(&format!("XYZ {filler}"), "XYZ", 60);
    assert!(source.starts_with("XYZ ") && source.ends_with("..."), "{source}");
    let (source, carets) = lines(&format!("{filler}XYZ"), "XYZ", 60);
    assert!(source.starts_with("...") && source.ends_with("XYZ"), "{source}");
    assert_eq!(carets.find('^'), source.find("XYZ"));
    let (source, carets) = lines(&format!("k: {filler}"), filler.trim(), 60);
    assert!(source.ends_with("...") && carets.len() < source.len(), "{source}");
    let (source, _) = lines(&format!("{}X", "日".repeat(300)), "X", 60);
    assert!(source.starts_with("...日") && source.ends_with("日X"), "{source}");
}

#[test]
fn lines_of_megabytes_cost_what_is_shown() {
    let marks = format!("a{}X{}", "\u{301}".repeat(500_000), "\u{1b}".repeat(500_000));
    let start = marks.find('X').unwrap();
    let (files, problem) = one(&marks, start..marks.len());
    let mut problems = Problems::new();
    for offset in 0..KEPT_MAX {
        let span = Span::new(problem.span.unwrap().file, start + offset..marks.len());
        problems.push(problem.clone().at(span));
    }
    assert!(problems.render(&files, Style::Plain, 100).len() < 200 * 1000);
}

#[test]
fn nothing_a_file_says_reaches_the_terminal_raw() {
    let evil = "\u{1b}[2J\r\u{8}\u{9b}31m\u{202e}\u{2066}\u{200f}\u{feff}\0\u{7f}\u{e0041}";
    let mut files = SourceFiles::new();
    let file = files.push(&format!("fl{evil}ow.yaml"), format!("k: {evil}\n").into());
    let problem = Problem::error("code", format!("found {}", quote(evil)))
        .at(Span::new(file, 3..5))
        .label(evil)
        .hint(format!("a{evil}\nb"))
        .see(Span::new(file, 0..1), evil);
    let mut problems = Problems::new();
    problems.push(problem);
    let plain = problems.render(&files, Style::Plain, 80);
    let hidden = |letter: char| letter != '\n' && is_hidden(letter);
    assert!(!plain.contains(hidden), "{plain}");
    let colour = problems.render(&files, Style::Colour, 80);
    let bare = colour.replace("\x1b[0m", "");
    let bare = ["1;31", "1;33", "1;34", "1;36", "1"]
        .iter()
        .fold(bare, |text, code| text.replace(&format!("\x1b[{code}m"), ""));
    assert_eq!(bare, plain);
}

#[test]
fn quotes_are_short() {
    assert_eq!(quote("steps"), "`steps`");
    assert_eq!(quote("a\nb\t"), "`a\\nb\\t`");
    let long = quote(&"ä".repeat(1_000_000));
    assert_eq!(long.chars().count(), 62);
    assert!(long.ends_with("…`"));
    assert!(Problem::error("code", "x".repeat(1_000_000)).message.len() < 2_000);
}

#[test]
fn problems_are_sorted_by_place_and_told_once() {
    let mut files = SourceFiles::new();
    let (first, second) = (files.push("a", "text\n".into()), files.push("b", "text\n".into()));
    let mut problems = Problems::new();
    let problem = |message: &str, file, start| {
        Problem::error("code", message).at(Span::new(file, start..start + 1))
    };
    problems.push(problem("five", second, 0));
    problems.push(problem("three", first, 2));
    problems.push(problem("four", first, 2));
    problems.push(problem("two", first, 1));
    problems.push(problem("three", first, 2));
    problems.push(Problem::warning("code", "one"));
    let messages: Vec<&str> = problems.iter().map(|problem| problem.message.as_str()).collect();
    assert_eq!(messages, ["one", "two", "three", "four", "five"]);
    assert_eq!((problems.errors(), problems.warnings(), problems.omitted()), (4, 1, 0));
}

#[test]
fn errors_are_kept_before_warnings_and_all_are_counted() {
    let mut files = SourceFiles::new();
    let file = files.push("a", "x".repeat(1000).into());
    let mut problems = Problems::new();
    for start in 0..KEPT_MAX + 50 {
        problems.push(Problem::warning("code", "w").at(Span::new(file, start..start)));
    }
    assert!(!problems.has_errors() && problems.omitted() == 50);
    for start in 0..3 {
        problems.push(Problem::error("code", "e").at(Span::new(file, start + 500..start + 500)));
    }
    assert!(problems.has_errors());
    assert_eq!(problems.iter().count(), KEPT_MAX);
    assert_eq!(problems.iter().filter(|p| p.severity == Severity::Error).count(), 3);
    assert!(problems.render(&files, Style::Plain, 80).ends_with("... and 53 more, not shown\n"));
    let mut all = Problems::new();
    all.append(problems.clone());
    all.append(Problems::new());
    assert_eq!((all.errors(), all.len(), all.omitted()), (3, problems.len(), 53));
}

#[test]
fn machines_get_places_in_lines_and_characters() {
    let text = "\u{feff}ä: 1\r\nb: größe\rc: 3\n";
    let mut files = SourceFiles::new();
    let file = files.push("dir/flow.yaml", text.into());
    let start = text.find("größe").unwrap();
    let mut problems = Problems::new();
    problems.push(
        Problem::error("code", "message")
            .at(Span::new(file, start..start + "größe\rc".len()))
            .hint("hint")
            .see(Span::new(file, 3..5), "there"),
    );
    problems.push(Problem::warning("other", "nowhere"));
    assert_eq!(
        problems.to_json(&files),
        json!([
            {
                "file": null, "line": null, "column": null, "end_line": null, "end_column": null,
                "severity": "warning", "code": "other", "message": "nowhere",
                "label": null, "hint": null, "related": [],
            },
            {
                "file": "dir/flow.yaml", "line": 2, "column": 4, "end_line": 3, "end_column": 2,
                "severity": "error", "code": "code", "message": "message",
                "label": null, "hint": "hint",
                "related": [{
                    "file": "dir/flow.yaml", "line": 1, "column": 1, "end_line": 1,
                    "end_column": 2, "message": "there",
                }],
            },
        ])
    );
}
