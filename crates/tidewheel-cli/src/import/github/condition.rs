//! `if`: for which ends of those before it something is done, in the words of `depends_on`, `always` and `when`.
//!
//! What expressions mean is in `expression`.

use serde_json::{Value as Json, json};

use super::expression::{Condition, condition};
use super::values::key_of;
use super::whole::Converter;
use crate::import::document::Mapping;

/// What comes before a step or a job.
#[derive(Debug)]
pub(super) struct Before<'a> {
    /// What it waits for; the steps of a job are a sequence, and say none of it.
    pub needs: &'a [String],
    /// Those whose ends it may ask for.
    pub all: &'a [String],
    /// Those whose failure is one for others.
    pub failing: &'a [String],
    /// Whether something that is not done keeps others from being done, as a job does.
    pub is_job: bool,
}

impl Converter {
    /// What must hold, and what must have become of those before. Gives back whether it may be skipped.
    pub(super) fn condition(
        &mut self,
        step: &mut Mapping,
        said: Option<Json>,
        before: &Before<'_>,
        place: &str,
    ) -> bool {
        let text = match &said {
            None | Some(Json::Null) => {
                before.wait(step);
                return false;
            }
            Some(Json::String(text)) => text.clone(),
            Some(other) => other.to_string(),
        };
        let names = |name: &str| self.names_here.template(name);
        let Condition { succeeded, failed, skipped, cancelled } = condition(&text, &names);
        // Nobody asks of a step whether those before it were skipped.
        let skipped = if before.is_job { skipped } else { succeeded.clone() };
        match (succeeded, failed, skipped, cancelled) {
            (Ok(succeeded), Ok(failed), Ok(skipped), Ok(cancelled)) => {
                self.note_secrets(&text);
                let is_always = [&failed, &skipped, &cancelled].iter().all(|it| **it == succeeded);
                if is_always {
                    before.wait(step);
                    if succeeded != "false" {
                        step.add("always", Json::Bool(true));
                    }
                    when(step, &succeeded);
                    return succeeded != "true";
                }
                if cancelled != "false" {
                    let note = format!("`if: {text}` after a cancel; see `finally`");
                    self.remarks.lose(place, note);
                }
                self.chosen(step, before, [&succeeded, &failed, &skipped])
            }
            (Err(unknown), ..)
            | (_, Err(unknown), ..)
            | (_, _, Err(unknown), _)
            | (.., Err(unknown)) => {
                self.remarks.lose(place, format!("`{unknown}` in `if: {text}`, so it is not done"));
                before.wait(step);
                step.add("when", Json::Bool(false));
                true
            }
        }
    }

    /// Something that is done for some of the ends: all succeeded, one failed, none failed and one was skipped.
    fn chosen(
        &mut self,
        step: &mut Mapping,
        before: &Before<'_>,
        [succeeded, failed, skipped]: [&str; 3],
    ) -> bool {
        let no = "false";
        match (succeeded, failed, skipped) {
            _ if before.all.is_empty() => when(step, succeeded),
            (_, "false", "false") => {
                before.wait(step);
                when(step, succeeded);
            }
            (_, "false", _) if skipped == succeeded => {
                if before.is_job {
                    step.add("depends_on", before.none_failed());
                }
                when(step, succeeded);
            }
            ("false", _, "false") if before.failing.is_empty() => {
                self.remarks.say("Nothing before it can fail.");
                before.wait(step);
                when(step, no);
            }
            ("false", _, "false") => {
                let is_strict = before.needs.iter().all(|name| before.failing.contains(name));
                let any = match before.needs.is_empty() || !is_strict {
                    true => before.failing,
                    // What was not done because something failed before has failed for others.
                    false => before.needs,
                };
                step.add("depends_on", json!({ "any": any, "when": "failed" }));
                when(step, failed);
                return true;
            }
            _ => {
                let all = states(before.all);
                let else_said = either(&format!("'skipped' in {all}"), skipped, succeeded);
                let is_failed = match before.failing.is_empty() {
                    true => no.to_owned(),
                    false => format!("'failed' in {}", states(before.failing)),
                };
                let said = either(&is_failed, failed, &else_said);
                step.add("depends_on", before.ended(&said));
                when(step, &said);
            }
        }
        step.has("when")
    }
}

impl Before<'_> {
    fn wait(&self, step: &mut Mapping) {
        if !self.needs.is_empty() {
            step.add("depends_on", json!(self.needs));
        }
    }

    /// All have ended, of those too that a condition asks for; in a sequence the last one is else enough.
    fn ended(&self, said: &str) -> Json {
        let names: Vec<&String> = match (self.is_job, said.contains("steps")) {
            (false, false) if !said.contains("flows") => self.all.iter().rev().take(1).collect(),
            (true, false) => self.needs.iter().collect(),
            _ => self.all.iter().collect(),
        };
        of(&names, &json!("ended"))
    }

    /// Of those that it needs none failed whose failure counts.
    fn none_failed(&self) -> Json {
        let counts = |name: &&String| self.failing.contains(name);
        let (strict, tolerated): (Vec<&String>, Vec<&String>) = self.needs.iter().partition(counts);
        let strictly = of(&strict, &json!(["succeeded", "skipped"]));
        let ended = of(&tolerated, &json!("ended"));
        match (strict.is_empty(), tolerated.is_empty()) {
            (false, true) => strictly,
            (true, _) => ended,
            (false, false) => json!([strictly, ended]),
        }
    }
}

/// All of these ended so.
fn of(names: &[&String], when: &Json) -> Json {
    match names {
        [one] => json!({ "step": one, "when": when }),
        all => json!({ "all": all, "when": when }),
    }
}

fn when(step: &mut Mapping, text: &str) {
    match text {
        "true" => {}
        "false" => step.add("when", Json::Bool(false)),
        text => step.add("when", text),
    }
}

/// The state of a step.
pub(super) fn state_of(name: &str) -> String {
    format!("steps{}.state", key_of(name))
}

/// The states of steps, as a list.
pub(super) fn states(names: &[String]) -> String {
    let states: Vec<String> = names.iter().map(|name| state_of(name)).collect();
    format!("[{}]", states.join(", "))
}

/// One expression if a condition holds, else another, as short as can be.
fn either(condition: &str, yes: &str, no: &str) -> String {
    match (condition, yes, no) {
        (_, yes, no) if yes == no => yes.to_owned(),
        ("false", ..) => no.to_owned(),
        (_, "true", "false") => condition.to_owned(),
        (_, "true", no) => format!("{condition} or {}", one(no)),
        (_, "false", "true") => format!("not ({condition})"),
        (_, "false", no) => format!("not ({condition}) and ({no})"),
        (_, yes, "false") => format!("{condition} and ({yes})"),
        (_, yes, "true") => format!("not ({condition}) or {}", one(yes)),
        (_, yes, no) => format!("({yes}) if {condition} else ({no})"),
    }
}

/// A choice in brackets, as it binds less than anything else.
fn one(text: &str) -> String {
    match text.contains(" if ") {
        true => format!("({text})"),
        false => text.to_owned(),
    }
}
