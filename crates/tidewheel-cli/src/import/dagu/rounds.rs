//! `repeat_policy` of Dagu: steps that are done again until something holds, or while it does.
//!
//! What is tried again because it failed is in `policy`.

use serde_json::{Map, Value as Json, json};

use super::policy::whole;
use super::step::test_of;
use super::values::text_of;
use super::whole::{Converter, seconds, take};
use crate::import::document::Mapping;
use crate::import::variables::asked;

/// As often as can be said.
const RETRIES_MAX: i64 = 1_000_000;

/// What a step says of being done again.
#[derive(Debug)]
struct Rounds {
    mode: Mode,
    condition: Option<String>,
    expected: Option<String>,
    codes: Vec<i64>,
    every: String,
    /// So many at most.
    most: Option<i64>,
    /// Whether there is more about them than is known here.
    is_more: bool,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Mode {
    Until,
    While,
}

impl Rounds {
    /// Nothing if what is said would never do it again.
    fn of(policy: &Json) -> Option<Self> {
        let mut left = policy.as_object()?.clone();
        let mut text = |key: &str| take(&mut left, key).map(|it| text_of(&it));
        let word = text("repeat").unwrap_or_default();
        let condition = text("condition").filter(|it| !it.is_empty());
        let expected = text("expected").filter(|it| !it.is_empty());
        let every =
            take(&mut left, "interval_sec").map_or_else(|| "1s".to_owned(), |it| seconds(&it));
        let codes = take(&mut left, "exit_code").map(codes).unwrap_or_default();
        let limit = take(&mut left, "limit").map(whole);
        let most = limit.as_ref().and_then(Json::as_i64).filter(|most| *most > 0);
        let is_told = condition.is_some() || !codes.is_empty();
        let mode = match word.as_str() {
            "until" => Mode::Until,
            "while" | "true" => Mode::While,
            // What is not said there follows from what is.
            "" | "false" if condition.is_some() && expected.is_some() => Mode::Until,
            "" | "false" if is_told => Mode::While,
            "" | "false" => return None,
            _ => Mode::Until,
        };
        let is_known = ["until", "while", "true", "", "false"].contains(&word.as_str());
        let is_number = limit.is_none_or(|limit| limit.is_i64());
        let is_more = !left.is_empty() || !is_known || !is_number;
        Some(Self { mode, condition, expected, codes, every, most, is_more })
    }

    /// What is expected, if it is known here what that means.
    fn expected_text(&self) -> Option<&str> {
        let expected = self.expected.as_deref()?;
        (!["re:", "num:"].iter().any(|kind| expected.starts_with(kind))).then_some(expected)
    }

    /// A condition over the value that a round leaves.
    fn over(&self, is_request: bool) -> Option<String> {
        let expected = self.expected_text()?;
        let text = json!(expected);
        let holds = match (is_request, serde_json::from_str::<Json>(expected)) {
            (false, _) => format!("(stdout | trim) == {text}"),
            // What an answer says is no text any more.
            (true, Ok(value)) => format!("data == {value}"),
            (true, Err(_)) => format!("data is string and (data | trim) == {text}"),
        };
        Some(match self.mode {
            Mode::Until => holds,
            Mode::While => format!("not ({holds})"),
        })
    }

    /// The rounds end with the last one, whatever it brought.
    fn or_last(&self, over: &str) -> String {
        match (self.most, over) {
            (None, over) => over.to_owned(),
            (Some(most), "false") => format!("round == {most}"),
            (Some(most), over) => format!("{over} or round == {most}"),
        }
    }
}

impl Converter {
    /// The line that says by an output that the rounds of a step are over, if a command tells it.
    pub(super) fn round_test(&self, step: &Mapping, map: &Map<String, Json>) -> Option<String> {
        let policy = map.get("repeat_policy").or_else(|| map.get("repeatPolicy"))?;
        let rounds = Rounds::of(policy)?;
        let condition = rounds.condition.as_ref()?;
        let name = step.text("name").unwrap_or_default();
        // What it leaves itself is not there yet.
        let is_own = |name_of: &str| self.values.outputs.get(name_of) == Some(&name);
        let is_number = rounds.expected.as_ref().is_some_and(|it| it.starts_with("num:"));
        if rounds.is_more || is_number || asked(condition).iter().any(|(it, _)| is_own(it)) {
            return None;
        }
        let test = test_of(condition, rounds.expected.as_deref());
        let sign = if rounds.mode == Mode::While { "! " } else { "" };
        // What it says is not what the step says.
        Some(format!("if {sign}{{ {test}; }} >&2; then echo done=1 >> \"$TIDEWHEEL_OUTPUT\"; fi"))
    }

    pub(super) fn repeat(
        &mut self,
        step: &mut Mapping,
        policy: Json,
        is_tested: bool,
        place: &str,
    ) {
        let Some(rounds) = Rounds::of(&policy) else { return };
        let is_flow = step.has("flow") || step.has("steps");
        let is_done = match &rounds.condition {
            _ if rounds.is_more || is_flow => false,
            Some(_) => self.repeat_by_condition(step, &rounds, is_tested),
            None if !rounds.codes.is_empty() || rounds.mode == Mode::Until => {
                repeat_by_code(step, &rounds)
            }
            None => {
                step.add("repeat", repeated(&rounds, "false"));
                true
            }
        };
        if !is_done {
            self.remarks.lose(place, format!(
                "`repeat_policy: {policy}`, so it is done once; see `repeat` and `wait: {{ run, every }}`"
            ));
        }
    }

    /// Rounds that end by what a command says, or by what the step leaves.
    fn repeat_by_condition(
        &mut self,
        step: &mut Mapping,
        rounds: &Rounds,
        is_tested: bool,
    ) -> bool {
        let condition = rounds.condition.as_deref().unwrap_or_default();
        let name = condition.trim_start_matches("${").trim_start_matches('$').trim_end_matches('}');
        let is_own = self.values.outputs.get(name) == step.text("name").as_ref();
        let over = match is_tested {
            true => Some("output.done is defined".to_owned()),
            false => is_own.then(|| rounds.over(step.has("http"))).flatten(),
        };
        let Some(over) = over else { return false };
        self.remarks.say("A round that fails is the last one; there it is done again.");
        step.add("repeat", repeated(rounds, &over));
        true
    }
}

fn repeated(rounds: &Rounds, over: &str) -> Json {
    json!({ "until": rounds.or_last(over), "every": rounds.every })
}

/// Rounds that exit codes end: until it succeeds, or while it fails with some of them.
fn repeat_by_code(step: &mut Mapping, rounds: &Rounds) -> bool {
    let only = match rounds.mode {
        Mode::Until if rounds.codes.is_empty() || rounds.codes == [0] => None,
        Mode::While if !rounds.codes.contains(&0) => Some(&rounds.codes),
        _ => return false,
    };
    if step.has("retry") {
        return false;
    }
    // A command that is only to succeed is waited for; nothing else is known of one.
    let is_wait = only.is_none()
        && rounds.most.is_none()
        && step.has("run")
        && !["outputs", "container", "ssh"].iter().any(|key| step.has(key));
    if is_wait && let Some(text) = step.text("run") {
        step.remove("run");
        step.add("wait", json!({ "run": text, "every": rounds.every }));
        return true;
    }
    let mut retry = Mapping::new();
    retry.add("retries", json!(rounds.most.map_or(RETRIES_MAX, |most| most - 1)));
    retry.add("delay", rounds.every.as_str());
    retry.add("backoff", "fixed");
    retry.add("jitter", "none");
    if let Some(codes) = only {
        retry.add("codes", json!(codes));
    }
    step.add("retry", retry);
    true
}

/// Exit codes, in any of their forms.
fn codes(value: Json) -> Vec<i64> {
    match value {
        Json::Array(values) => values.into_iter().map(whole).filter_map(|it| it.as_i64()).collect(),
        one => whole(one).as_i64().into_iter().collect(),
    }
}
