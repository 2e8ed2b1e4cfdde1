//! Text for people: tables, times, differences, and foreign text made harmless.

use std::borrow::Cow;
use std::collections::{BTreeMap, BTreeSet};
use std::fmt;
use std::time::Duration;

use tidewheel::{RunId, Timestamp, wall_clock};
use tidewheel_flow::is_hidden;

/// Rows whose columns stand under each other.
#[derive(Debug)]
pub(crate) struct Table<const N: usize> {
    rows: Vec<[String; N]>,
}

impl<const N: usize> Table<N> {
    pub fn new(heads: [&str; N]) -> Self {
        Self { rows: vec![heads.map(str::to_owned)] }
    }

    pub fn row(&mut self, cells: [String; N]) {
        self.rows.push(cells);
    }
}

impl<const N: usize> fmt::Display for Table<N> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let width = |column: usize| {
            let cells = self.rows.iter().map(|row| row[column].chars().count());
            cells.max().unwrap_or_default()
        };
        let widths: [usize; N] = std::array::from_fn(width);
        for (number, row) in self.rows.iter().enumerate() {
            if number > 0 {
                writeln!(f)?;
            }
            let mut line = String::new();
            for (cell, width) in row.iter().zip(widths) {
                line.push_str(cell);
                line.extend(std::iter::repeat_n(' ', width - cell.chars().count() + 2));
            }
            f.write_str(line.trim_end())?;
        }
        Ok(())
    }
}

/// As much of a run's id as tells it from others: the instant it was accepted at.
pub(crate) fn short_id(id: RunId) -> String {
    id.to_string().chars().take(SHORT_ID).collect()
}

/// Ids begin with the milliseconds at which they were made, in so many letters.
const SHORT_ID: usize = 13;

/// "1 step", "2 steps".
pub(crate) fn count(number: usize, one: &str) -> String {
    format!("{number} {one}{}", if number == 1 { "" } else { "s" })
}

/// Names of tasks, with elements of one step in their order and many of them as one: `e[0..2999]`.
pub(crate) fn task_list<'a>(names: impl IntoIterator<Item = &'a str>) -> String {
    let element = |name: &'a str| {
        let (step, number) = name.strip_suffix(']')?.rsplit_once('[')?;
        Some((step, number.parse::<u32>().ok()?))
    };
    let mut shown: Vec<String> = Vec::new();
    // Elements by step, and the place at which they are shown.
    let mut elements: BTreeMap<&str, (usize, BTreeSet<u32>)> = BTreeMap::new();
    for name in names {
        let Some((step, number)) = element(name) else {
            shown.push(harmless(name));
            continue;
        };
        let place = shown.len();
        let (_, numbers) = elements.entry(step).or_insert_with(|| (place, BTreeSet::new()));
        if numbers.is_empty() {
            shown.push(String::new());
        }
        numbers.insert(number);
    }
    for (step, (place, numbers)) in elements {
        let step = harmless(step);
        let span = |(first, last): (u32, u32)| match first == last {
            true => format!("{step}[{first}]"),
            false => format!("{step}[{first}..{last}]"),
        };
        shown[place] = at_most(spans(&numbers).into_iter().map(span).collect());
    }
    at_most(shown)
}

/// Longer lists help nobody.
const LISTED_MAX: usize = 20;

fn at_most(mut words: Vec<String>) -> String {
    let more = words.len().saturating_sub(LISTED_MAX);
    words.truncate(LISTED_MAX);
    if more > 0 {
        words.push(format!("{more} more"));
    }
    words.join(", ")
}

/// Numbers that follow each other, as first and last.
fn spans(numbers: &BTreeSet<u32>) -> Vec<(u32, u32)> {
    let mut spans: Vec<(u32, u32)> = Vec::new();
    for &number in numbers {
        match spans.last_mut() {
            Some((_, last)) if *last + 1 == number => *last = number,
            _ => spans.push((number, number)),
        }
    }
    spans
}

/// A name as an argument in a shell.
pub(crate) fn quoted(name: &str) -> String {
    let is_plain = |letter: char| letter.is_ascii_alphanumeric() || "-_.".contains(letter);
    if name.chars().all(is_plain) { name.to_owned() } else { format!("'{name}'") }
}

/// An amount of data, rounded.
pub(crate) fn bytes(count: u64) -> String {
    let units = [("GB", 1_000_000_000), ("MB", 1_000_000), ("kB", 1_000)];
    let unit = units.into_iter().find(|(_, size)| count >= *size);
    unit.map_or_else(|| format!("{count} bytes"), |(unit, size)| format!("{} {unit}", count / size))
}

/// A span of time in at most two units.
pub(crate) fn span(time: Duration) -> String {
    let seconds = time.as_secs();
    match seconds {
        0 if time.as_millis() < 1 => "0 s".to_owned(),
        0 => format!("{} ms", time.as_millis()),
        1..=59 => format!("{:.1} s", time.as_secs_f64()),
        60..=3_599 => format!("{} m {} s", seconds / 60, seconds % 60),
        3_600..=86_399 => format!("{} h {} m", seconds / 3_600, seconds % 3_600 / 60),
        _ => format!("{} d {} h", seconds / 86_400, seconds % 86_400 / 3_600),
    }
}

/// How long ago something was.
pub(crate) fn ago(at: Timestamp) -> String {
    match wall_clock().since(at) {
        time if time < Duration::from_secs(2) => "just now".to_owned(),
        time => format!("{} ago", span(Duration::from_secs(time.as_secs()))),
    }
}

/// How far away something is.
pub(crate) fn until(at: Timestamp) -> String {
    match at.since(wall_clock()) {
        time if time.is_zero() => "now".to_owned(),
        time => format!("in {}", span(time)),
    }
}

/// Foreign text in one line, without anything a terminal would obey: colours are left out, everything
/// else is shown for what it is.
pub(crate) fn harmless(text: &str) -> String {
    let text = without_colours(text);
    let mut shown = String::with_capacity(text.len());
    for letter in text.trim_end().chars() {
        match letter {
            '\n' | '\t' => shown.push(' '),
            letter if is_hidden(letter) => shown.extend(letter.escape_unicode()),
            letter => shown.push(letter),
        }
    }
    shown
}

/// Text without the sequences that only colour it.
fn without_colours(text: &str) -> Cow<'_, str> {
    const BEGIN: &str = "\u{1b}[";
    if !text.contains(BEGIN) {
        return Cow::Borrowed(text);
    }
    let mut parts = text.split(BEGIN);
    let mut clean = parts.next().unwrap_or_default().to_owned();
    for part in parts {
        match part.trim_start_matches(|it: char| it.is_ascii_digit() || it == ';').strip_prefix('m')
        {
            Some(rest) => clean.push_str(rest),
            None => {
                clean.push_str(BEGIN);
                clean.push_str(part);
            }
        }
    }
    Cow::Owned(clean)
}

/// Lines around a change that help to find it.
const CONTEXT: usize = 2;

/// The lines in which two texts differ: those that are gone with `-`, those that are new with `+`.
pub(crate) fn difference(before: &str, now: &str) -> String {
    let (old, new): (Vec<&str>, Vec<&str>) = (before.lines().collect(), now.lines().collect());
    let same_start = old.iter().zip(&new).take_while(|(a, b)| a == b).count();
    let rest = old.len().min(new.len()) - same_start;
    let same_end =
        old.iter().rev().zip(new.iter().rev()).take(rest).take_while(|(a, b)| a == b).count();
    let mut text = String::new();
    let mut line = |mark: char, line: &str| text.push_str(&format!("{mark} {}\n", harmless(line)));
    for kept in &old[same_start.saturating_sub(CONTEXT)..same_start] {
        line(' ', kept);
    }
    for gone in &old[same_start..old.len() - same_end] {
        line('-', gone);
    }
    for added in &new[same_start..new.len() - same_end] {
        line('+', added);
    }
    let after = old.len() - same_end;
    for kept in &old[after..(after + CONTEXT).min(old.len())] {
        line(' ', kept);
    }
    text
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn columns_stand_under_each_other() {
        let mut table = Table::new(["A", "LONG"]);
        table.row(["wide".to_owned(), "x".to_owned()]);
        assert_eq!(table.to_string(), "A     LONG\nwide  x");
    }

    #[test]
    fn elements_are_listed_in_their_order_and_many_as_one() {
        let names: Vec<String> = (0..3_000).map(|number| format!("e[{number}]")).collect();
        let mut sorted: Vec<&str> = names.iter().map(String::as_str).collect();
        sorted.sort_unstable();
        sorted.insert(0, "first");
        sorted.extend(["e", "d[2]/push", "f[7]"]);
        assert_eq!(task_list(sorted), "first, e[0..2999], e, d[2]/push, f[7]");
        assert_eq!(task_list(["e[10]", "e[2]", "e[3]"]), "e[2..3], e[10]");
        let many: Vec<String> = (0..30).map(|number| format!("s{number}")).collect();
        assert!(task_list(many.iter().map(String::as_str)).ends_with("s19, 10 more"));
        assert_eq!(task_list([]), "");
    }

    #[test]
    fn spans_have_at_most_two_units() {
        for (millis, text) in [
            (0, "0 s"),
            (250, "250 ms"),
            (1_500, "1.5 s"),
            (61_000, "1 m 1 s"),
            (3_660_000, "1 h 1 m"),
            (90_000_000, "1 d 1 h"),
        ] {
            assert_eq!(span(Duration::from_millis(millis)), text);
        }
    }

    #[test]
    fn a_difference_shows_what_changed_and_a_little_around_it() {
        let before = "a\nb\nc\nd\ne\n";
        assert_eq!(difference(before, "a\nb\nX\nd\ne\n"), "  a\n  b\n- c\n+ X\n  d\n  e\n");
        assert_eq!(difference("a\n", "a\nb\n"), "  a\n+ b\n");
        assert_eq!(difference(before, before), "  d\n  e\n");
    }

    #[test]
    fn foreign_text_cannot_command_a_terminal() {
        assert_eq!(harmless("a\u{1b}[31mb\u{1b}[0m \u{1b}[1;38;5;9mc\u{1b}[m\n"), "ab c");
        assert_eq!(harmless("a\u{1b}[2Jb\u{1b}[31\n"), "a\\u{1b}[2Jb\\u{1b}[31");
        assert_eq!(harmless("a\nb"), "a b");
        assert_eq!(harmless("\u{202e}x"), "\\u{202e}x");
    }
}
