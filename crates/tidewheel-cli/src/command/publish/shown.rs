//! How a plan and a report look for people.
//!
//! What is in them is known in `tidewheel-publish`.

use std::fmt::Write as _;
use std::time::Duration;

use tidewheel_client::text::{bytes, count, harmless};
use tidewheel_publish::pack::InnerFile;
use tidewheel_publish::run::{Report, Verdict};
use tidewheel_publish::{PlanDocument, PlannedDocument};

use crate::table::Table;

/// Odd files of a package that are named; a folder of them is one mistake.
const ODD_MAX: usize = 5;

/// A plan: what is done about each package, how many are sent, how long that takes at least.
pub(super) fn plan_text(plan: &PlanDocument) -> String {
    let mut table = Table::new(["PACKAGE", "VERSION", "PLAN", "REGISTRY", "FILES", "SIZE"]);
    for it in &plan.packages {
        let registry = it.registry.as_deref().unwrap_or_default();
        let inside: usize = it.files.iter().map(|file| file.inside.files).sum();
        let size = it.files.iter().map(|file| file.bytes).sum();
        let (inside, size) = match it.files.is_empty() {
            true => (String::new(), String::new()),
            false => (inside.to_string(), bytes(size)),
        };
        table.row([&*it.package, &it.version, &it.why, registry, &inside, &size].map(harmless));
    }
    let mut text = table.to_string();
    for it in &plan.packages {
        text.push_str(&contents_text(it));
    }
    let _ = write!(text, "\n\n{} to upload", count(plan.uploads, "package"));
    if plan.wait_s > 0 {
        let wait = Duration::from_secs(plan.wait_s);
        let _ =
            write!(text, "; registries make it take at least {} min", wait.as_secs().div_ceil(60));
    }
    if let Some(commit) = &plan.commit {
        let _ = write!(text, "; commit {}", harmless(&commit[..commit.len().min(12)]));
    }
    let _ = write!(text, "\nplan {}", plan.digest);
    text
}

/// What looks odd in a package, and all that is in it if somebody wants to see that.
fn contents_text(package: &PlannedDocument) -> String {
    let mut text = String::new();
    for file in &package.files {
        let line = |it: &InnerFile| format!("{} ({})", harmless(&it.name), bytes(it.bytes));
        if let Some(contents) = &file.contents {
            let _ = write!(text, "\n\n{}", harmless(&file.name));
            for it in contents {
                let _ = write!(text, "\n  {}", line(it));
            }
        }
        if file.inside.odd.is_empty() {
            continue;
        }
        let shown: Vec<String> = file.inside.odd.iter().take(ODD_MAX).map(line).collect();
        let more = file.inside.odd.len() - shown.len();
        let more = if more == 0 { String::new() } else { format!(" and {more} more") };
        let _ = write!(
            text,
            "\n\n{} has in it what nobody may need who uses it: {}{more}",
            harmless(&file.name),
            shown.join(", ")
        );
    }
    text
}

/// A report: what became of each package, and what to do now.
pub(super) fn report_text(report: &Report) -> String {
    let mut table = Table::new(["PACKAGE", "VERSION", "RESULT", "REGISTRY"]);
    for it in &report.packages {
        table.row([&*it.package, &it.version, said(it.result), &it.registry].map(harmless));
    }
    let mut text = match report.packages.is_empty() {
        true => "there is nothing to publish".to_owned(),
        false => table.to_string(),
    };
    for it in &report.packages {
        if let Some(error) = &it.error {
            let code = it.code.map(|code| format!(" [{code}]")).unwrap_or_default();
            let _ = write!(
                text,
                "\n{} {}: {}{code}",
                harmless(&it.package),
                harmless(&it.version),
                harmless(error)
            );
        }
    }
    for it in &report.tags {
        let why = it.error.as_ref().map(|it| format!(": {it}")).unwrap_or_default();
        let _ = write!(text, "\ntag {} {}{}", harmless(&it.tag), it.state, harmless(&why));
    }
    let counts = [
        (report.published.len(), "published"),
        (report.done.len(), "out before"),
        (report.failed.len(), "failed"),
        (report.skipped.len(), "not begun"),
    ];
    let counts: Vec<String> = counts
        .iter()
        .filter(|(many, _)| *many > 0)
        .map(|(many, word)| format!("{many} {word}"))
        .collect();
    let is_nothing = report.verdict == Verdict::Done && report.published.is_empty();
    let nothing = if is_nothing { "nothing to publish, " } else { "" };
    let _ = write!(text, "\n\n{}: {nothing}{}", report.verdict.word(), counts.join(", "));
    text
}

/// A result in the words of people: programs know one that was not begun as skipped, as those of other runs.
fn said(result: &str) -> &str {
    if result == "skipped" { "not begun" } else { result }
}

/// What to do now, if there is something.
pub(super) fn advice(report: &Report) -> Option<String> {
    match (report.verdict, &report.go_on_at) {
        (Verdict::Done, _) => None,
        (Verdict::Blocked, _) if report.wants_code => Some(
            "a registry wants a one-time code: run `tidewheel publish --otp CODE`; it goes on where it is".to_owned(),
        ),
        (Verdict::Incomplete, Some(at)) => {
            Some(format!("run `tidewheel publish` again after {at}: it goes on where it is"))
        }
        (Verdict::Incomplete, None) => {
            Some("run `tidewheel publish` again: it goes on where it is".to_owned())
        }
        _ => Some(
            "see to what is said above, then run `tidewheel publish` again: it goes on where it is"
                .to_owned(),
        ),
    }
}
