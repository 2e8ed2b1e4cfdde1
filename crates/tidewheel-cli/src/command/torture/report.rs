//! [`Outcome`]: what a scenario came to; and all of them together, for people and for programs.
//!
//! What counts as lost or doubled is in `check`.

use serde::{Deserialize, Serialize};

/// What one scenario came to. Fields are only ever added.
#[derive(Debug, Default, Serialize, Deserialize)]
pub(super) struct Outcome {
    pub scenario: String,
    /// Why it was not run.
    pub skipped: Option<String>,
    pub faults: u64,
    /// Data folders that were made and checked.
    pub rounds: u64,
    pub runs: u64,
    pub attempts: u64,
    pub lost: u64,
    pub doubled: u64,
    pub broken: u64,
    pub seconds: f64,
    /// What else was measured, in words.
    pub notes: Vec<String>,
    pub failures: Vec<Failure>,
}

/// A violation, and how to see it again.
#[derive(Debug, Serialize, Deserialize)]
pub(super) struct Failure {
    pub kind: String,
    pub what: String,
    pub folder: String,
    pub repeat: String,
}

/// All scenarios. Fields are only ever added.
#[derive(Debug, Serialize, Deserialize)]
pub(super) struct Report {
    pub seed: u64,
    pub durability: String,
    pub faults: u64,
    pub runs: u64,
    pub attempts: u64,
    pub lost: u64,
    pub doubled: u64,
    pub broken: u64,
    pub seconds: f64,
    pub scenarios: Vec<Outcome>,
}

impl Report {
    pub fn new(seed: u64, durability: &str, scenarios: Vec<Outcome>) -> Self {
        let sum = |of: fn(&Outcome) -> u64| scenarios.iter().map(of).sum();
        Self {
            seed,
            durability: durability.to_owned(),
            faults: sum(|outcome| outcome.faults),
            runs: sum(|outcome| outcome.runs),
            attempts: sum(|outcome| outcome.attempts),
            lost: sum(|outcome| outcome.lost),
            doubled: sum(|outcome| outcome.doubled),
            broken: sum(|outcome| outcome.broken),
            seconds: scenarios.iter().map(|outcome| outcome.seconds).sum(),
            scenarios,
        }
    }

    pub fn is_clean(&self) -> bool {
        self.lost + self.doubled + self.broken == 0
    }

    /// The one line that says it all.
    pub fn line(&self) -> String {
        let broken = match self.broken {
            0 => String::new(),
            broken => format!(", {} broken", thousands(broken)),
        };
        format!(
            "torture: {} faults injected, {} runs checked, {} attempts, {} lost, {} doubled{broken}",
            thousands(self.faults),
            thousands(self.runs),
            thousands(self.attempts),
            thousands(self.lost),
            thousands(self.doubled),
        )
    }

    /// A table, what was found, and the line.
    pub fn text(&self) -> String {
        let mut text = format!(
            "{:<10}{:>8}{:>8}{:>9}{:>10}{:>6}{:>9}{:>8}{:>10}\n",
            "scenario",
            "faults",
            "rounds",
            "runs",
            "attempts",
            "lost",
            "doubled",
            "broken",
            "seconds"
        );
        for outcome in &self.scenarios {
            if let Some(why) = &outcome.skipped {
                text.push_str(&format!("{:<10}skipped: {why}\n", outcome.scenario));
                continue;
            }
            text.push_str(&format!(
                "{:<10}{:>8}{:>8}{:>9}{:>10}{:>6}{:>9}{:>8}{:>10.1}\n",
                outcome.scenario,
                thousands(outcome.faults),
                thousands(outcome.rounds),
                thousands(outcome.runs),
                thousands(outcome.attempts),
                thousands(outcome.lost),
                thousands(outcome.doubled),
                thousands(outcome.broken),
                outcome.seconds,
            ));
        }
        for outcome in &self.scenarios {
            for note in &outcome.notes {
                text.push_str(&format!("{}: {note}\n", outcome.scenario));
            }
        }
        for failure in self.scenarios.iter().flat_map(|outcome| &outcome.failures) {
            let Failure { kind, what, folder, repeat } = failure;
            text.push_str(&format!("{kind}: {what}\n  in {folder}\n  again: {repeat}\n"));
        }
        text.push_str(&self.line());
        text.push('\n');
        text
    }
}

/// A number with a comma after each three digits.
fn thousands(number: u64) -> String {
    let digits = number.to_string();
    let mut text = String::new();
    for (place, digit) in digits.chars().enumerate() {
        if place > 0 && (digits.len() - place).is_multiple_of(3) {
            text.push(',');
        }
        text.push(digit);
    }
    text
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_line_sums_up_and_names_what_is_broken() {
        let outcome = |lost, broken| Outcome {
            scenario: "kill".to_owned(),
            faults: 1_206,
            runs: 48,
            attempts: 6_172,
            lost,
            broken,
            ..Outcome::default()
        };
        let clean = Report::new(7, "power", vec![outcome(0, 0), outcome(0, 0)]);
        let line =
            "torture: 2,412 faults injected, 96 runs checked, 12,344 attempts, 0 lost, 0 doubled";
        assert_eq!(clean.line(), line);
        assert!(clean.is_clean());
        let bad = Report::new(7, "power", vec![outcome(1, 2)]);
        assert!(bad.line().ends_with("1 lost, 0 doubled, 2 broken"));
        assert!(!bad.is_clean());
    }
}
