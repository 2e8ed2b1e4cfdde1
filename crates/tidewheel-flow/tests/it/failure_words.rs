//! What a failure means, for every combination of words: in a flow alone, and in the same flow called
//! by another.
//!
//! Single stories about failures are in `scenarios/`.

use std::collections::BTreeMap;
use std::time::Duration;

use crate::bench::{Deed, Stage, Start};
use tidewheel::TaskState;
use tidewheel::run::RunResult;

const WORDS: [Option<&str>; 4] = [None, Some("fail"), Some("skip"), Some("continue")];

/// One combination: the words of the flow, of `a`, which fails, and of `b`, which needs it.
#[derive(Debug, Clone, Copy)]
struct Words {
    of_flow: &'static str,
    of_a: Option<&'static str>,
    of_b: Option<&'static str>,
}

impl Words {
    fn all() -> impl Iterator<Item = Self> {
        let flows = ["fail", "skip", "continue"].into_iter();
        let two = |of_flow| {
            let of = move |of_a| WORDS.into_iter().map(move |of_b| Self { of_flow, of_a, of_b });
            WORDS.into_iter().flat_map(of)
        };
        flows.flat_map(two)
    }

    /// `c` needs `b`; `z` runs when `a` fails, and `y` needs it.
    fn flow(self) -> String {
        let word = |it: Option<&str>| it.map(|it| format!(", on_error: {it}")).unwrap_or_default();
        let (a, b) = (word(self.of_a), word(self.of_b));
        format!(
            "
runner: {{ on_error: {} }}
flow:
  - {{ name: a, run: a{a} }}
  - {{ name: b, run: b, depends_on: [a]{b} }}
  - {{ name: c, run: c, depends_on: [b] }}
  - {{ name: z, run: z }}
  - {{ name: y, run: y, depends_on: [z] }}
",
            self.of_flow
        )
    }

    /// How the steps end, and whether the failure is tolerated.
    fn expected(self) -> (BTreeMap<&'static str, TaskState>, bool) {
        use TaskState::{Failed, Skipped, Succeeded};
        // The more specific word counts: that of the dependent, of the step that failed, of the flow.
        let counts = self.of_b.or(self.of_a).unwrap_or(self.of_flow);
        let (b, y) = match counts {
            "continue" => (Succeeded, Succeeded),
            "skip" => (Skipped, Succeeded),
            _ => (Skipped, Skipped),
        };
        let is_tolerated = matches!(self.of_a, Some("skip" | "continue")) && counts != "fail";
        let states = [("a", Failed), ("b", b), ("c", b), ("y", y), ("z", Succeeded)];
        (BTreeMap::from(states), is_tolerated)
    }
}

fn stage(prefix: &str) -> Stage {
    let mut stage = Stage::new();
    stage.does(&format!("{prefix}a"), vec![Deed { ends: Deed::fails().ends, ..second(1) }]);
    stage.does(&format!("{prefix}z"), vec![second(2)]);
    stage
}

fn second(count: u64) -> Deed {
    Deed::takes(Duration::from_secs(count))
}

#[test]
fn every_combination_of_words_means_what_the_rule_says() {
    for words in Words::all() {
        let mut stage = stage("");
        stage.flow("flow.yaml", &words.flow());
        stage.start(&Start::default()).unwrap();
        let result = stage.finish().unwrap().result();
        let (expected, is_tolerated) = words.expected();
        let states = stage.states();
        let states: BTreeMap<&str, TaskState> =
            states.iter().map(|(name, state)| (name.as_str(), *state)).collect();
        assert_eq!(states, expected, "{words:?}");
        let expected = if is_tolerated { RunResult::Succeeded } else { RunResult::Failed };
        assert_eq!(result, expected, "{words:?}");
    }
}

#[test]
fn every_combination_of_words_means_the_same_in_a_called_flow() {
    for words in Words::all() {
        let mut stage = stage("call/");
        stage.flow("flow.yaml", "flow: [{ name: call, flow: child.yaml }]");
        stage.flow("child.yaml", &words.flow());
        stage.start(&Start::default()).unwrap();
        let result = stage.finish().unwrap().result();
        let (expected, is_tolerated) = words.expected();
        let states = stage.states();
        let inside =
            states.iter().filter_map(|(name, it)| Some((name.strip_prefix("call/")?, *it)));
        assert_eq!(inside.collect::<BTreeMap<_, _>>(), expected, "{words:?}");
        let call = if is_tolerated { TaskState::Succeeded } else { TaskState::Failed };
        assert_eq!(states["call"], call, "{words:?}");
        let expected = if is_tolerated { RunResult::Succeeded } else { RunResult::Failed };
        assert_eq!(result, expected, "{words:?}");
    }
}
