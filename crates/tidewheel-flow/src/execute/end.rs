//! How one attempt at a step ended: what it brought, or why it failed.
//!
//! Every kind of work has the same envelope, so that outputs are taken from all in one way.

use std::time::Duration;

use serde::de::IgnoredAny;
use serde_json::{Map, Value as Json};
use tidewheel::Outcome;
use tidewheel::store::AttemptRecord;
use tidewheel::task::Failure;

use super::secrets::Secrets;
use crate::compile::CompileError;
use crate::definition::ElementsError;
use crate::language::problem::quote;
use crate::language::tree::RenderError;

/// What an attempt that succeeded brought.
#[derive(Debug, Default)]
pub(super) struct Success {
    /// The exit code, or the status.
    pub code: Option<i32>,
    /// What outputs are taken from.
    pub data: Json,
    /// What it left in the file for outputs.
    pub written: Map<String, Json>,
    /// Headers of an answer.
    pub headers: Map<String, Json>,
    /// What a store keeps of it, without outputs.
    pub record: AttemptRecord,
}

impl Success {
    /// If a template needs the `json` of a process that wrote none, or of an answer that is none: what
    /// is there instead.
    pub fn without_json(&self, error: &RenderError, secrets: &Secrets) -> Option<Trouble> {
        let undefined = error.error.undefined.as_deref()?;
        let is_json = undefined.split(['.', '[']).next() == Some("json");
        if let Json::String(text) = &self.data
            && is_json
        {
            let (place, start) = (&error.place, quote(&secrets.mask(text.trim())));
            return Some(Trouble::permanent(format!(
                "{place}: the answer is text and not JSON, so there is no `{undefined}`; it begins \
                 with {start}. For text use `{{{{ data }}}}`"
            )));
        }
        let stdout = self.data.get("stdout").and_then(Json::as_str).filter(|_| is_json)?;
        let wrong = serde_json::from_str::<IgnoredAny>(stdout).err()?;
        let place = &error.place;
        if stdout.trim().is_empty() {
            let text = format!("{place}: standard output is empty, so there is no `json`");
            return Some(Trouble::permanent(text));
        }
        let start = quote(&secrets.mask(stdout.trim()));
        Some(Trouble::permanent(format!(
            "{place}: standard output is not JSON (line {}, column {}), so there is no `json`; it \
             begins with {start}. For text use `{{{{ stdout }}}}`, or an output of `type: raw`",
            wrong.line(),
            wrong.column()
        )))
    }
}

/// Why an attempt is not a success.
#[derive(Debug)]
pub(super) struct Trouble {
    pub outcome: Outcome,
    pub record: Box<AttemptRecord>,
    /// Whether another side, or a program, was asked and said no.
    pub was_answered: bool,
    /// If another attempt must not follow, whatever is said of retries: what the message does not say
    /// of it yet.
    pub not_again: Option<String>,
}

impl Trouble {
    /// It failed, and another attempt would end the same way.
    pub fn permanent(message: impl Into<String>) -> Self {
        Self::failed(message, true)
    }

    /// It failed.
    pub fn passing(message: impl Into<String>) -> Self {
        Self::failed(message, false)
    }

    fn failed(message: impl Into<String>, permanent: bool) -> Self {
        let message = message.into().into();
        let failure = Failure { message, permanent, ..Failure::default() };
        Self::of(Outcome::Failed(Box::new(failure)))
    }

    pub fn of(outcome: Outcome) -> Self {
        Self { outcome, record: Box::default(), was_answered: false, not_again: None }
    }

    /// What went wrong, if something did.
    pub fn message(&self) -> Option<String> {
        match &self.outcome {
            Outcome::Failed(failure) => Some(failure.message.to_string()),
            _ => None,
        }
    }

    /// It is not time yet.
    pub fn postponed(wait: Duration) -> Self {
        Self::of(Outcome::Postponed(wait))
    }

    /// Its condition does not hold.
    pub fn skipped() -> Self {
        Self::of(Outcome::Skipped)
    }

    pub fn with_record(mut self, record: AttemptRecord) -> Self {
        *self.record = record;
        self
    }
}

impl From<RenderError> for Trouble {
    fn from(error: RenderError) -> Self {
        Self::permanent(error.to_string())
    }
}

impl From<ElementsError> for Trouble {
    fn from(error: ElementsError) -> Self {
        Self::permanent(error.to_string())
    }
}

impl From<CompileError> for Trouble {
    fn from(error: CompileError) -> Self {
        Self::permanent(error.to_string())
    }
}

#[cfg(test)]
mod tests {
    use std::sync::Arc;

    use serde_json::json;

    use super::*;
    use crate::language::template::{Context, Engine, Limits};

    /// What is said of a template that finds nothing in a result.
    fn said_of(success: &Success, template: &str) -> Option<String> {
        let template = Engine::new(Limits::default()).template(template).unwrap();
        let error = template.render(&Context::new()).expect_err("nothing is there");
        let error = RenderError { place: Arc::from("outputs.x"), error: Box::new(error) };
        let trouble = success.without_json(&error, &Secrets::default())?;
        let Outcome::Failed(failure) = trouble.outcome else { panic!("not failed") };
        Some(failure.message.to_string())
    }

    #[test]
    fn an_answer_that_is_no_json_is_shown_where_json_was_wanted() {
        let success =
            Success { code: Some(200), data: json!("<html>sorry</html>"), ..Success::default() };
        let said = |template: &str| said_of(&success, template);
        let text = said("{{ json.a }}").unwrap();
        assert!(text.starts_with("outputs.x: the answer is text and not JSON"), "{text}");
        assert!(text.contains("it begins with `<html>sorry</html>`"), "{text}");
        assert_eq!(said("{{ other }}"), None);
    }

    #[test]
    fn output_that_is_no_json_is_shown_where_json_was_wanted() {
        let said = |stdout: &str, template: &str| {
            let success = Success { data: json!({ "stdout": stdout }), ..Success::default() };
            said_of(&success, template)
        };
        let text = said("{\"a\": 1}\nWarning: \u{1b}[1mold\n", "{{ json.a }}").unwrap();
        assert!(text.starts_with("outputs.x: standard output is not JSON (line 2, column 1)"));
        assert!(text.contains("begins with `{\"a\": 1}\\nWarning: \\u{1b}[1mold`"), "{text}");
        assert!(
            text.ends_with("For text use `{{ stdout }}`, or an output of `type: raw`"),
            "{text}"
        );
        let long = said(&"x".repeat(1_000_000), "{{ json }}").unwrap();
        assert!(long.len() < 300, "{long}");
        assert!(said(" \n", "{{ json['a'] }}").unwrap().contains("is empty"));
        // Another name is missing, or there is JSON without such a key.
        assert_eq!(said("text", "{{ other }}"), None);
        assert_eq!(said("{}", "{{ json.a }}"), None);
    }
}
