//! Forms that make a test depend on the speed of the machine, or on other processes; each has a replacement in
//! `tidewheel-testing`.
//!
//! The rules go by text. Tests of the page have rules of their own.

use super::assert_none;
use super::sources::{Source, sources};

/// The crate with the replacements.
const REPLACEMENTS: &str = "tidewheel-testing/";

/// A line of test code: its file, its number, and the statement that starts there.
struct Line<'s> {
    source: &'s Source,
    at: usize,
}

impl Line<'_> {
    fn text(&self) -> &str {
        &self.source.lines[self.at]
    }

    /// The statement that starts at this line, at most ten lines of it.
    fn statement(&self) -> String {
        let lines = &self.source.lines[self.at..];
        let last = lines.iter().position(|line| line.ends_with(';') || line.ends_with('{'));
        lines[..=last.unwrap_or(0).min(10)].concat()
    }

    /// Whether a comment gives the reason for an exception, on this line or right above.
    fn has_reason(&self, marker: &str) -> bool {
        let above = self.source.lines[..self.at].iter().rev();
        let comments = above.take_while(|line| line.trim_start().starts_with("//"));
        let marker = format!("// {marker}: ");
        comments.chain([&self.source.lines[self.at]]).any(|line| line.contains(&marker))
    }

    /// Whether the test around this line has a clock that only moves when everything waits.
    fn is_in_paused_time(&self) -> bool {
        let mut above = self.source.lines[..self.at].iter().rev();
        let is_test = |line: &str| line.starts_with("#[tokio::test") || line == "#[test]";
        let attribute = above.find(|line| is_test(line.trim_start()));
        attribute.is_some_and(|line| line.contains("start_paused"))
    }
}

/// Lists the lines of test code that `is_wrong` selects.
fn wrong_lines(is_wrong: impl Fn(&Line<'_>) -> bool) -> Vec<String> {
    let (mut lines, mut wrong) = (0, Vec::new());
    for source in &sources() {
        let mut exempt = [REPLACEMENTS, "/examples/", "/tidy/waits"].iter();
        if exempt.any(|part| source.path.contains(part)) {
            continue;
        }
        let start = if source.is_test { 0 } else { source.own_lines() };
        for at in start..source.lines.len() {
            let line = Line { source, at };
            lines += 1;
            if !line.text().trim_start().starts_with("//") && is_wrong(&line) {
                wrong.push(format!("{}:{}: {}", source.path, at + 1, line.text().trim()));
            }
        }
    }
    assert!(lines > 50_000, "only {lines} lines of tests were found");
    wrong
}

#[test]
fn tests_never_sleep_to_wait() {
    let found = wrong_lines(|line| {
        let text = line.text();
        let named = [concat!("thread::", "sleep("), concat!("time::", "sleep(")];
        let sleeps = named.iter().any(|form| text.contains(form))
            || (text.contains(" sleep(") && text.ends_with(".await;"));
        sleeps && !line.is_in_paused_time() && !line.has_reason("sleeps")
    });
    assert_none("wait_until or a channel instead, or the reason as `// sleeps: …`", found);
}

#[test]
fn tests_have_no_upper_bound_on_elapsed_time() {
    let found = wrong_lines(|line| {
        let text = line.text().trim_start();
        let is_assertion = text.starts_with("assert!(");
        let statement = if is_assertion { line.statement() } else { String::new() };
        let is_time = ["elapsed", "took"].iter().any(|it| statement.contains(it));
        is_time
            && !line.is_in_paused_time()
            && [" < ", " <= "].iter().any(|it| statement.contains(it))
            && !line.has_reason("elapsed")
    });
    assert_none("steps counted instead, or the reason as `// elapsed: …`", found);
}

#[test]
fn tests_press_keys_by_one_function() {
    let found = wrong_lines(|line| line.text().contains(concat!("send", "-keys")));
    assert_none("the terminal of tidewheel-testing instead", found);
}

#[test]
fn tests_keep_the_ports_they_use() {
    let found = wrong_lines(|line| {
        let statement = line.statement();
        line.text().contains("TcpListener::bind(") && statement.contains(".local_addr()")
    });
    assert_none("a listener that stays open, or ClosedPort, instead", found);
}

#[test]
fn tests_make_folders_with_unique_names() {
    let found = wrong_lines(|line| line.text().contains(concat!("temp", "_dir()")));
    assert_none("temp_folder instead", found);
}
