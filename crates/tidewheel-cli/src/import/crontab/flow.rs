//! One entry of a crontab on its way to a flow file.
//!
//! What cannot be said in a flow file becomes a comment in it, and a warning.

use serde_json::json;
use tidewheel_core::calendar::Zone;

use super::command::split_input;
use super::line::Entry;
use super::schedule::When;
use super::{ImportedFlow, Surroundings};
use crate::import::Warning;
use crate::import::document::{Element, Mapping, Tree, write};
use crate::import::text::{as_shell_text, as_template};

/// The shell of cron unless it is told otherwise. That of flows stops at the first command that fails.
const SHELL_DEFAULT: &str = "/bin/sh";

/// Whether a text may have commands of which one can fail and another still come. What `&&`, `||` and
/// pipes connect is one.
fn has_several_commands(text: &str) -> bool {
    let rest = text.replace("&&", "").replace(">&", "");
    rest.contains([';', '&', '\n'])
}

/// A flow file that is not written yet.
#[derive(Debug)]
pub(super) struct Draft {
    name: String,
    line: usize,
    original: String,
    description: Option<String>,
    when: Timing,
    env: Vec<(String, String)>,
    shell: Option<String>,
    home: Option<String>,
    command: String,
    input: Option<String>,
    /// Comments for the top of the file.
    pub remarks: Vec<String>,
    pub warnings: Vec<Warning>,
}

/// When it runs, in the words of a flow file.
#[derive(Debug)]
struct Timing {
    /// The key and its value; none if it cannot be said.
    trigger: Option<(&'static str, String)>,
    zone: String,
    /// Whether somebody said the zone, so that a variable does not change it.
    is_zone_said: bool,
    jitter: Option<String>,
    /// Whether two runs may go on at once.
    is_single: bool,
}

impl Draft {
    pub fn new(
        name: String,
        line: usize,
        original: &str,
        entry: &Entry,
        surroundings: &Surroundings,
    ) -> Self {
        let (command, input) = split_input(&entry.command);
        let mut draft = Self {
            name,
            line,
            original: original.trim().to_owned(),
            description: None,
            when: Timing {
                trigger: None,
                zone: surroundings.zone.clone().unwrap_or(surroundings.zone_here.clone()),
                is_zone_said: surroundings.zone.is_some(),
                jitter: None,
                is_single: false,
            },
            env: Vec::new(),
            shell: None,
            home: surroundings.home.clone(),
            command,
            input,
            remarks: Vec::new(),
            warnings: Vec::new(),
        };
        draft.schedule(&entry.when);
        draft.flags(&entry.flags);
        match &entry.user {
            Some(user) => draft.user(user, surroundings),
            None if draft.command.starts_with("root ") => draft.warn(
                "the command begins with `root`; for crontabs with a column for users say --system",
            ),
            None => {}
        }
        draft
    }

    /// Comments above an entry say what it is for.
    pub fn describe(&mut self, comments: &[String]) {
        let text = comments.join("\n");
        let text = text.trim();
        if !text.is_empty() {
            self.description = Some(text.to_owned());
        }
    }

    /// Variables in force.
    pub fn variables(&mut self, variables: &[(String, String)]) {
        // The zone of the schedule is said by CRON_TZ, and where there is none, by TZ.
        for (name, value) in variables.iter().filter(|(name, _)| name == "CRON_TZ") {
            self.zone(name, value);
            self.when.is_zone_said = true;
        }
        for (name, value) in variables {
            self.variable(name, value);
        }
    }

    fn variable(&mut self, name: &str, value: &str) {
        match name {
            "CRON_TZ" => {}
            "TZ" => {
                if !self.when.is_zone_said {
                    self.zone(name, value);
                }
                self.env.push((name.to_owned(), value.to_owned()));
            }
            "SHELL" => self.shell = Some(value.to_owned()).filter(|it| it != SHELL_DEFAULT),
            "HOME" => {
                self.home = Some(value.to_owned());
                self.env.push((name.to_owned(), value.to_owned()));
            }
            "MAILTO" if value.is_empty() => {}
            "MAILTO" => self.remarks.push(format!(
                "cron mailed what it writes to {value}. For mail on failure, add steps to \
                 `on_failure`."
            )),
            "MAILFROM" | "CONTENT_TYPE" | "CONTENT_TRANSFER_ENCODING" => {
                self.remarks.push(format!("cron sent mail with {name}={value}"));
            }
            "RANDOM_DELAY" => match value.parse::<u32>() {
                Ok(0) => {}
                Ok(minutes) => self.when.jitter = Some(format!("{minutes}m")),
                Err(_) => self.lose(format!("`RANDOM_DELAY={value}` is no number of minutes")),
            },
            "LOGNAME" | "USER" => self.lose(format!("`{name}={value}` has no effect in cron")),
            name if is_variable(name) && !value.contains('\0') => {
                self.env.push((name.to_owned(), value.to_owned()));
            }
            name => self.lose(format!("`{name}` is no name of a variable; it was `{value}`")),
        }
    }

    fn zone(&mut self, name: &str, value: &str) {
        let wanted = value.trim_start_matches(':');
        match Zone::named(wanted) {
            Ok(zone) => self.when.zone = zone.name().to_owned(),
            Err(error) => {
                let zone = &self.when.zone;
                self.lose(format!("`{name}={value}`: {error}; {zone} is used instead"));
                return;
            }
        }
        if name == "TZ" {
            self.warn(
                "TZ is taken as the zone of the schedule, too; some cron programs use it for the \
                 command only (then say --zone)",
            );
        }
    }

    fn schedule(&mut self, when: &When) {
        match when {
            When::Cron { expression, remarks } => {
                for remark in remarks {
                    self.lose(remark.clone());
                }
                self.when.trigger = Some(("cron", expression.clone()));
            }
            When::After(seconds) => self.when.trigger = Some(("after", format!("{seconds}s"))),
            When::Reboot => {
                let name = &self.name;
                self.remarks.push(format!(
                    "It has no schedule: cron ran it when the machine started (@reboot). Let the \
                     system's start run\n  tidewheel run {name}.yaml"
                ));
                self.warn("@reboot is no schedule; the flow has none");
            }
            When::Unknown { text, why } => {
                self.remarks.push(format!("It has no schedule: `{text}` cannot be said ({why})."));
                self.warn(format!("`{text}` cannot be said, the flow has no schedule: {why}"));
            }
        }
    }

    fn flags(&mut self, flags: &[String]) {
        for flag in flags {
            // `-s` asks for one at a time, the others are about logs and mail.
            self.when.is_single |= flag.contains('s');
            self.remarks.push(format!("It had the flag `{flag}`."));
        }
    }

    fn user(&mut self, user: &str, surroundings: &Surroundings) {
        let account = user.split([':', '/']).next().unwrap_or(user);
        self.home = surroundings.homes.get(account).cloned();
        self.remarks.push(format!(
            "cron ran it as the user {user}; here it runs as whoever runs `tidewheel`."
        ));
        self.warn(format!("runs as whoever runs tidewheel, not as the user {user}"));
        if self.home.is_none() {
            self.lose(format!("the home folder of {account}, where cron ran it, is not known"));
        }
    }

    fn warn(&mut self, text: impl Into<String>) {
        self.warnings.push(Warning { line: Some(self.line), text: text.into() });
    }

    /// Something does not find its way into the flow.
    fn lose(&mut self, text: String) {
        self.remarks.push(format!("Note: {text}."));
        self.warn(text);
    }

    /// The flow file.
    pub fn write(&self) -> ImportedFlow {
        let mut header = vec![format!("Line {} of a crontab:\n  {}", self.line, self.original)];
        header.extend(self.remarks.iter().cloned());
        let mut root = Mapping::new();
        root.add("name", self.name.as_str());
        if let Some(description) = &self.description {
            root.add("description", description.as_str());
        }
        if let Some((key, value)) = &self.when.trigger {
            root.add("schedule", self.when.mapping(key, value));
        }
        if !self.env.is_empty() {
            let mut env = Mapping::new();
            for (name, value) in &self.env {
                env.add(name, as_template(value).as_str());
            }
            root.add("env", env);
        }
        root.add("flow", vec![Element::from(Tree::from(self.step()))]);
        let shown = |(key, value): &(&str, String)| match *key {
            "cron" => format!("{value} ({})", self.when.zone),
            _ => format!("{value} after each run"),
        };
        ImportedFlow {
            name: self.name.clone(),
            line: self.line,
            schedule: self.when.trigger.as_ref().map(shown),
            text: write(&header, &root),
        }
    }

    fn step(&self) -> Mapping {
        let mut step = Mapping::new();
        step.add("name", self.name.as_str());
        // A line may have only what its command should read; a shell does nothing then.
        let command = if self.command.trim().is_empty() { ":" } else { &self.command };
        step.add("run", as_shell_text(command).as_str());
        match &self.shell {
            Some(shell) => step.add("shell", json!([shell, "-c"])),
            None if has_several_commands(command) => {
                let why = "Goes on after a command that fails, as cron's shell does.";
                step.add_with(vec![why.to_owned()], "shell", json!([SHELL_DEFAULT, "-c"]));
            }
            None => {}
        }
        if let Some(input) = self.input.as_ref().filter(|input| !input.is_empty()) {
            step.add("stdin", as_template(input).as_str());
        }
        if let Some(home) = &self.home {
            let why = "The home folder, where cron ran it.";
            step.add_with(vec![why.to_owned()], "cwd", as_template(home).as_str());
        }
        step
    }
}

impl Timing {
    fn mapping(&self, key: &str, value: &str) -> Mapping {
        let mut schedule = Mapping::new();
        schedule.add(key, value);
        if let Some(jitter) = &self.jitter {
            schedule.add("jitter", jitter.as_str());
        }
        if key != "cron" {
            return schedule;
        }
        schedule.add("zone", self.zone.as_str());
        if !self.is_single {
            let why = "As cron has it: a run that is not over yet holds up nothing. Without this \
                       line, the next one would be skipped.";
            schedule.add_with(vec![why.to_owned()], "overlap", "allow");
        }
        let why = "As cron has it: what was missed is not made up for. Without this line, the \
                   newest of it would be.";
        schedule.add_with(vec![why.to_owned()], "misfire", "skip");
        schedule
    }
}

fn is_variable(name: &str) -> bool {
    let is_letter = |letter: char| letter.is_ascii_alphanumeric() || letter == '_';
    name.chars().all(is_letter) && !name.starts_with(|letter: char| letter.is_ascii_digit())
}
