//! What is shown in the same way everywhere: states, instants, spans, names.
//!
//! Everything here is fit to stand in a page: text that comes from elsewhere is escaped.

use std::fmt::{self, Display, Write as _};
use std::time::Duration;

use askama::filters::{Html, HtmlSafe, escape};
use tidewheel::Timestamp;
use tidewheel_client::api::{RunState, StepState};
use tidewheel_client::text;

/// Markup that was made here.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub(crate) struct Markup(pub String);

impl Display for Markup {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0)
    }
}

impl HtmlSafe for Markup {}

/// Text with everything escaped that would mean something in a page.
pub(crate) fn escaped(text: &str) -> String {
    escape(text, Html).map_or_else(|_| String::new(), |text| text.to_string())
}

/// A name of somebody else's: what cannot be seen in it is shown, and its direction stays inside.
pub(crate) fn named(name: &str) -> Markup {
    Markup(format!("<bdi>{}</bdi>", escaped(&text::name(name))))
}

/// A sentence of the scheduler: what it quotes is a name of somebody's.
pub(crate) fn quoting(sentence: &str) -> Markup {
    let mut out = String::new();
    // What stands between two marks is quoted; a last one alone is a letter.
    let parts: Vec<&str> = sentence.split('`').collect();
    for (place, part) in parts.iter().enumerate() {
        let part = escaped(&text::name(part));
        match (place % 2 == 1, place + 1 == parts.len()) {
            (true, false) => _ = write!(out, "<code>{part}</code>"),
            (true, true) => _ = write!(out, "`{part}"),
            (false, _) => out.push_str(&part),
        }
    }
    Markup(out)
}

/// Part of an address.
pub(crate) fn in_address(part: &str) -> String {
    let mut out = String::with_capacity(part.len());
    for byte in part.bytes() {
        match byte {
            b'A'..=b'Z' | b'a'..=b'z' | b'0'..=b'9' | b'-' | b'_' | b'.' | b'~' => {
                out.push(byte.into())
            }
            _ => _ = write!(out, "%{byte:02X}"),
        }
    }
    out
}

/// The address of a run.
pub(crate) fn run_address(run: &str) -> String {
    format!("/runs/{}", in_address(run))
}

/// The address of a step of a run.
pub(crate) fn step_address(run: &str, step: &str) -> String {
    format!("{}/steps/{}", run_address(run), in_address(step))
}

/// The mark of a state: a shape and the word beside it.
pub(crate) fn mark(word: &str) -> Markup {
    Markup(format!("{}<span class=\"word\">{word}</span>", lone_mark(word).0))
}

/// The shape alone, where the word is said elsewhere.
pub(crate) fn lone_mark(word: &str) -> Markup {
    Markup(format!(
        "<svg class=\"mark is-{word}\" aria-hidden=\"true\"><use href=\"#m-{word}\"></use></svg>"
    ))
}

pub(crate) fn run_mark(state: RunState) -> Markup {
    mark(state.word())
}

pub(crate) fn step_mark(state: StepState) -> Markup {
    mark(state.word())
}

/// An instant: in UTC, until a script says it in the time zone of whoever looks.
pub(crate) fn moment(at: Timestamp) -> Markup {
    let text = at.to_string();
    let (day, time) = (text.get(..10).unwrap_or_default(), text.get(11..19).unwrap_or_default());
    Markup(format!("<time datetime=\"{text}\">{day} {time} UTC</time>"))
}

/// How long ago an instant was, or how far away it is; a script goes on counting.
pub(crate) fn away(at: Timestamp, now: Timestamp) -> Markup {
    let words = match at > now {
        true => format!("in {}", text::span(at.since(now))),
        false => format!("{} ago", text::span(now.since(at))),
    };
    Markup(format!("<time datetime=\"{at}\" data-away>{words}</time>"))
}

/// When something is expected to come. What has not come by then may at any moment; a script goes on counting.
pub(crate) fn expected(at: Timestamp, now: Timestamp) -> Markup {
    let words = match at > now {
        true => format!("in {}", text::span(at.since(now))),
        false => "any moment now".to_owned(),
    };
    Markup(format!("<time datetime=\"{at}\" data-away data-expected>{words}</time>"))
}

/// How long something has been going on; a script goes on counting.
pub(crate) fn going_on(since: Timestamp, now: Timestamp) -> Markup {
    Markup(format!("<time datetime=\"{since}\" data-since>{}</time>", text::span(now.since(since))))
}

/// How long something took.
pub(crate) fn took(time: Duration) -> String {
    text::span(time)
}

/// So many of something.
pub(crate) fn count(number: usize, word: &str) -> String {
    text::count(number, word)
}

/// A size for people.
pub(crate) fn bytes(size: u64) -> String {
    match size {
        0..1_000 => format!("{size} B"),
        1_000..1_000_000 => format!("{:.1} kB", size as f64 / 1e3),
        1_000_000..1_000_000_000 => format!("{:.1} MB", size as f64 / 1e6),
        _ => format!("{:.2} GB", size as f64 / 1e9),
    }
}

/// A command that does the same, to be copied.
pub(crate) fn command(text: &str) -> Markup {
    Markup(format!("<code class=\"command\" tabindex=\"0\">{}</code>", escaped(text)))
}

/// The command that runs a flow of the server.
pub(crate) fn run_command(flow: &str) -> String {
    format!("tidewheel run {}", argument(flow))
}

/// An argument of a shell.
pub(crate) fn argument(text: &str) -> String {
    let is_plain = |letter: char| letter.is_ascii_alphanumeric() || "-_./:=@%+,".contains(letter);
    match !text.is_empty() && text.chars().all(is_plain) {
        true => text.to_owned(),
        false => format!("'{}'", text.replace('\'', "'\\''")),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn nothing_of_somebody_elses_becomes_markup() {
        let name = named("<script>alert(1)</script>\u{202e}\u{1b}[31m\"'&").0;
        assert!(
            !name.contains("<script") && !name.contains('\u{202e}') && !name.contains('\u{1b}')
        );
        assert!(!name.trim_start_matches("<bdi>").contains(['"', '\'']), "{name}");
        assert_eq!(in_address("a/b c?d#e%f\"<é"), "a%2Fb%20c%3Fd%23e%25f%22%3C%C3%A9");
        assert_eq!(command("x '<y>'").0.matches('<').count(), 2);
    }

    #[test]
    fn what_was_expected_earlier_may_come_at_any_moment() {
        let now = Timestamp::from_micros(1_000_000_000);
        let words = |at| expected(at, now).0.split(['>', '<']).nth(2).unwrap().to_owned();
        assert_eq!(words(now.after(Duration::from_secs(90))), "in 1 m 30 s");
        assert_eq!(words(now), "any moment now");
        assert_eq!(words(now.before(Duration::from_millis(175))), "any moment now");
    }

    #[test]
    fn what_a_sentence_quotes_is_shown_as_a_name() {
        let shown = |text: &str| quoting(text).0;
        assert_eq!(
            shown("held by `a<b>` and `c`"),
            "held by <code>a&#60;b&#62;</code> and <code>c</code>"
        );
        assert_eq!(shown("a ` alone"), "a ` alone");
        assert_eq!(shown("`x`"), "<code>x</code>");
    }

    #[test]
    fn arguments_are_quoted_where_a_shell_would_do_something_else() {
        assert_eq!(argument("build[3]"), "'build[3]'");
        assert_eq!(argument("it's"), "'it'\\''s'");
        assert_eq!((argument("a-b.c"), argument("")), ("a-b.c".to_owned(), "''".to_owned()));
    }

    #[test]
    fn sizes_are_for_people() {
        let sizes = [0, 999, 1_500, 2_000_000, 3_210_000_000].map(bytes);
        assert_eq!(sizes, ["0 B", "999 B", "1.5 kB", "2.0 MB", "3.21 GB"]);
    }
}
