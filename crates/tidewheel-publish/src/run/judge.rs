//! [`judge`]: what became of one package, from what its registry says now and what was noted of it here.
//!
//! Asking registries, and what it comes to as a whole, is in [`super::report`].

use tidewheel::TaskState;

use super::journal::{End, Journal, Phase};
use super::mishap::Mishap;
use super::report::Verdict;
use crate::plan::Class;

/// What is said of an upload whose end nobody saw.
const UNANSWERED: &str =
    "nobody knows what became of its upload: it was ended before it was answered";

/// What became of one package.
pub(super) struct Judged {
    pub result: &'static str,
    /// What it makes of the whole.
    pub worth: Verdict,
    pub code: Option<Mishap>,
    pub error: Option<String>,
}

impl Judged {
    fn out(result: &'static str) -> Self {
        Self { result, worth: Verdict::Done, code: None, error: None }
    }

    fn not(result: &'static str, worth: Verdict, code: Mishap, error: Option<String>) -> Self {
        Self { result, worth, code: Some(code), error }
    }
}

/// What became of a package: what its registry says now, and if it is not out, why.
pub(super) fn judge(
    class: &Result<Class, String>,
    was_out: bool,
    state: Option<TaskState>,
    journal: &Journal,
) -> Judged {
    match class {
        Ok(Class::Done) if was_out || journal.uploads == 0 => return Judged::out("done"),
        Ok(Class::Done) => return Judged::out("published"),
        Ok(Class::Out) if was_out => return Judged::out("done"),
        Ok(class) => {
            if let Some(code @ (Mishap::Conflict | Mishap::Yanked)) = Mishap::of(class) {
                return Judged::not("failed", Verdict::Blocked, code, Some(class.to_string()));
            }
        }
        Err(_) => {}
    }
    let asked = class.as_ref().err().map(|error| format!("its registry cannot be asked: {error}"));
    let begun =
        matches!(state, Some(TaskState::Failed | TaskState::Succeeded | TaskState::Unknown));
    match journal.end {
        None if !begun => on_its_way(journal, asked),
        None => {
            let (code, what) = match journal.is_open {
                true => (Mishap::Unanswered, UNANSWERED),
                false => (Mishap::Unseen, "it cannot be seen"),
            };
            let code = if asked.is_some() { Mishap::NotAsked } else { code };
            let error = asked.unwrap_or_else(|| what.to_owned());
            Judged::not("failed", Verdict::Incomplete, code, Some(error))
        }
        Some(end) => ended(end, journal.said.clone()),
    }
}

/// One that was ended by somebody before it came to an end of its own, or was never begun.
fn on_its_way(journal: &Journal, asked: Option<String>) -> Judged {
    match journal.phase {
        Phase::Uploaded => {
            let what = "its registry has it; it cannot be seen yet".to_owned();
            let error = asked.or(Some(what));
            Judged::not("waiting", Verdict::Incomplete, Mishap::Waiting, error)
        }
        Phase::Uploading if journal.is_open => {
            let error = Some(UNANSWERED.to_owned());
            Judged::not("failed", Verdict::Incomplete, Mishap::Unanswered, error)
        }
        _ => {
            let code = if asked.is_some() { Mishap::NotAsked } else { Mishap::NotBegun };
            Judged::not("skipped", Verdict::Incomplete, code, asked)
        }
    }
}

/// One that ended, and not well.
fn ended(end: End, said: Option<String>) -> Judged {
    let (result, worth, code) = match end {
        End::Waiting => ("waiting", Verdict::Incomplete, Mishap::Waiting),
        End::Trouble => ("failed", Verdict::Incomplete, Mishap::Trouble),
        End::Conflict => ("failed", Verdict::Blocked, Mishap::Conflict),
        End::NotAllowed => ("failed", Verdict::Blocked, Mishap::NotAllowed),
        End::CodeWanted => ("failed", Verdict::Blocked, Mishap::CodeWanted),
        End::NotPacked => ("failed", Verdict::Blocked, Mishap::NotPacked),
        End::Refused => ("failed", Verdict::Failed, Mishap::Refused),
    };
    Judged::not(result, worth, code, said)
}
