//! [`Form`]: fields that are filled in before something is done, such as the params of a flow.
//!
//! What a field may hold is known to the client; what becomes of a filled form is a [`Wish`].

use std::collections::BTreeMap;

use jiff::civil::DateTime;
use jiff::tz::TimeZone;
use serde_json::Value as Json;
use tidewheel::Timestamp;
use tidewheel_client::api::{BackfillWish, FlowDetail, OneTimeCode, ParamLine, StartWish};
use tidewheel_client::text::{name, sentence};

use crate::message::{Effect, Question, Wish};

/// What is typed into a field may have so many letters.
const TYPED_MAX: usize = 4000;

/// Fields that are filled in.
#[derive(Debug, Clone, PartialEq)]
pub struct Form {
    /// What is to be done.
    pub title: String,
    /// What it is about, in some words; may be empty.
    pub says: String,
    /// What the key does that ends it.
    pub yes: &'static str,
    /// The fields; never empty.
    pub fields: Vec<Field>,
    /// The one that is typed into.
    pub cursor: usize,
    /// Why it was refused, if it was.
    pub refused: Option<String>,
    /// Whether it is on its way.
    pub is_sent: bool,
    what: What,
}

/// What a form is for.
#[derive(Debug, Clone, PartialEq, Eq)]
enum What {
    Start { flow: String, fingerprint: String },
    Answer { run: String, step: String, approved: bool },
    Backfill { schedule: String },
}

/// A field.
#[derive(Debug, Clone, PartialEq)]
pub struct Field {
    /// What may be typed.
    pub param: ParamLine,
    /// What is typed.
    pub text: String,
    /// How many of its letters stand before the place where one is typed.
    pub caret: usize,
    /// What is wrong with it.
    pub error: Option<String>,
    /// Whether nobody is shown what is typed.
    pub is_secret: bool,
}

impl Form {
    /// What is said when a flow is started; `None` where there is nothing to say.
    #[must_use]
    pub fn start(flow: &FlowDetail) -> Option<Self> {
        let fields: Vec<Field> = flow.params.iter().cloned().map(Field::new).collect();
        let line = &flow.flow;
        let says = line.description.as_deref().map(sentence);
        let what = What::Start { flow: line.name.clone(), fingerprint: line.fingerprint.clone() };
        let title = format!("Start {}", name(&line.name));
        let says = says.unwrap_or_else(|| name(&line.file));
        (!fields.is_empty()).then(|| Self::of(title, says, "start it", fields, what))
    }

    /// What is said to a step that asks.
    #[must_use]
    pub fn answer(
        title: String,
        run: String,
        step: String,
        approved: bool,
        wants_code: bool,
    ) -> Self {
        let yes = if approved { "say yes" } else { "say no" };
        let is_code = approved && wants_code;
        let field = match is_code {
            true => param("code", "text", Json::from(""), "the one-time code; it is kept nowhere"),
            false => param("note", "text", Json::from(""), "who reads of it later sees this"),
        };
        let field = Field { is_secret: is_code, ..Field::new(field) };
        Self::of(title, String::new(), yes, vec![field], What::Answer { run, step, approved })
    }

    /// Which instants of the past are to fire.
    #[must_use]
    pub fn backfill(schedule: String) -> Self {
        let title = format!("Fire instants of the past of {}", name(&schedule));
        let instant = "a time of day or a day, as 2026-11-17 14:00";
        let fields = vec![
            param("missed", "bool", Json::from(true), "only those that did not run"),
            param("from", "text", Json::from(""), instant),
            param("until", "text", Json::from(""), "the same; nothing: until now"),
            param("at once", "bool", Json::from(false), "beside each other, instead of one by one"),
        ];
        let fields = fields.into_iter().map(Field::new).collect();
        Self::of(title, String::new(), "look at them", fields, What::Backfill { schedule })
    }

    fn of(title: String, says: String, yes: &'static str, fields: Vec<Field>, what: What) -> Self {
        Self { title, says, yes, fields, cursor: 0, refused: None, is_sent: false, what }
    }

    /// Goes to another field.
    pub fn step(&mut self, by: isize) {
        let count = self.fields.len() as isize;
        self.cursor = (self.cursor as isize + by).rem_euclid(count.max(1)) as usize;
    }

    /// The field that is typed into.
    pub fn field(&mut self) -> Option<&mut Field> {
        self.fields.get_mut(self.cursor)
    }

    /// What follows from what was filled in; if something is wrong with it, that is told at its field.
    pub fn filled(&mut self, zone: &TimeZone) -> Option<Effect> {
        self.refused = None;
        let mut values = BTreeMap::new();
        for field in &mut self.fields {
            match field.param.typed(&field.text) {
                Ok(value) => values.extend(value.map(|value| (field.param.name.clone(), value))),
                Err(why) => field.error = Some(why),
            }
        }
        let instants = matches!(self.what, What::Backfill { .. });
        let mut at = |place: usize| -> Option<Timestamp> {
            let field = self.fields.get_mut(place).filter(|_| instants)?;
            match instant(&field.text, zone) {
                Ok(at) => at,
                Err(why) => {
                    field.error = Some(why);
                    None
                }
            }
        };
        let (from, until) = (at(1), at(2));
        if let Some(wrong) = self.fields.iter().position(|field| field.error.is_some()) {
            self.cursor = wrong;
            return None;
        }
        let is_on = |name: &str| values.get(name) == Some(&Json::from(true));
        Some(match &self.what {
            What::Start { flow, fingerprint } => Effect::Do(Wish::Start(StartWish {
                flow: flow.clone(),
                // What was seen is what is started.
                fingerprint: Some(fingerprint.clone()),
                params: values,
                ..StartWish::default()
            })),
            What::Answer { run, step, approved } => {
                let field = self.fields.first();
                let code = field.filter(|it| it.is_secret);
                let code = code.and_then(|it| OneTimeCode::new(&it.text));
                let note = field.filter(|it| !it.is_secret && !it.text.is_empty());
                let note = note.map(|it| it.text.clone());
                let (run, step, approved) = (run.clone(), step.clone(), *approved);
                Effect::Do(Wish::Answer { run, step, approved, note, code })
            }
            What::Backfill { schedule } => {
                let missed = self.fields.first().is_some_and(|it| it.is_on());
                let at_once = is_on("at once");
                let wish = BackfillWish { from, until, missed, at_once, ..BackfillWish::default() };
                Effect::Ask(Question::Backfill(schedule.clone(), wish))
            }
        })
    }
}

impl Field {
    fn new(param: ParamLine) -> Self {
        let text = param.shown();
        Self { caret: text.chars().count(), param, text, error: None, is_secret: false }
    }

    /// The values it may have, if they are known.
    #[must_use]
    pub fn choices(&self) -> Vec<String> {
        let text = |value: &Json| match value {
            Json::String(text) => text.clone(),
            other => other.to_string(),
        };
        match self.param.kind.as_str() {
            _ if !self.param.choices.is_empty() => self.param.choices.iter().map(text).collect(),
            "bool" => vec!["true".to_owned(), "false".to_owned()],
            _ => Vec::new(),
        }
    }

    fn is_on(&self) -> bool {
        self.param.typed(&self.text).is_ok_and(|value| {
            value.or_else(|| self.param.default.clone()) == Some(Json::from(true))
        })
    }

    /// Takes the next of the values it may have, or the one before. Where they are not known, the caret moves.
    pub fn turn(&mut self, by: isize) {
        let choices = self.choices();
        if choices.is_empty() {
            self.caret = self.caret.saturating_add_signed(by).min(self.text.chars().count());
            return;
        }
        let count = choices.len() as isize;
        let at = choices.iter().position(|choice| *choice == self.text);
        let next = at.map_or(0, |at| (at as isize + by).rem_euclid(count));
        self.put(&choices[next as usize]);
    }

    /// Holds this text from now on.
    pub fn put(&mut self, text: &str) {
        self.text = text.to_owned();
        self.caret = text.chars().count();
        self.error = None;
    }

    /// Takes in a letter.
    pub fn push(&mut self, letter: char) {
        if self.text.chars().count() < TYPED_MAX {
            self.text.insert(self.place(self.caret), letter);
            self.caret += 1;
            self.error = None;
        }
    }

    /// Removes the letter before the caret.
    pub fn pop(&mut self) {
        if self.caret > 0 {
            self.caret -= 1;
            self.text.remove(self.place(self.caret));
            self.error = None;
        }
    }

    /// Removes the letter behind the caret.
    pub fn pop_next(&mut self) {
        if self.caret < self.text.chars().count() {
            self.text.remove(self.place(self.caret));
            self.error = None;
        }
    }

    /// Where a letter is, in bytes.
    fn place(&self, letter: usize) -> usize {
        self.text.char_indices().nth(letter).map_or(self.text.len(), |(at, _)| at)
    }
}

fn param(name: &str, kind: &str, default: Json, description: &str) -> ParamLine {
    ParamLine {
        name: name.to_owned(),
        kind: kind.to_owned(),
        required: false,
        default: Some(default),
        choices: Vec::new(),
        description: Some(description.to_owned()),
        min: None,
        max: None,
        pattern: None,
    }
}

/// An instant as people write it, in their zone.
fn instant(text: &str, zone: &TimeZone) -> Result<Option<Timestamp>, String> {
    let text = text.trim();
    if text.is_empty() {
        return Ok(None);
    }
    let at = text.parse::<jiff::Timestamp>().ok().or_else(|| {
        let local = text.parse::<DateTime>().ok()?;
        local.to_zoned(zone.clone()).ok().map(|at| at.timestamp())
    });
    match at {
        Some(at) => Ok(Some(Timestamp::from_micros(at.as_microsecond()))),
        None => Err("this is no instant; write 2026-11-17 14:00".to_owned()),
    }
}
