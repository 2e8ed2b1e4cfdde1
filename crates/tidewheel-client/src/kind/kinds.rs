//! [`Kinds`]: the kinds of work that are known, and what each of them can do.
//!
//! What flows do is in [`super::flow`].

use std::collections::BTreeMap;
use std::fmt;
use std::pin::Pin;
use std::sync::Arc;
use std::time::Duration;

use tidewheel::store::RunDetail;
use tidewheel::{Run, RunId};

use super::definition::{Definition, Unknown};
use super::flow::Flows;
use crate::api::{OneTimeCode, RetryWish};
use crate::desk::{DeskError, RunView};
use crate::files::FlowFiles;
use crate::session::{Session, SessionOptions};

/// One kind of work.
pub trait Kind: fmt::Debug + Send + Sync {
    /// The word for it.
    fn word(&self) -> &'static str;

    /// What a run was started with.
    ///
    /// # Errors
    ///
    /// Says why it is not of this kind, or cannot be understood any more.
    fn read(&self, run: &RunDetail) -> Result<Arc<dyn Definition>, DeskError>;

    /// Words to find a run by, from its payload, which is of this kind.
    fn tags(&self, _payload: &[u8]) -> Vec<String> {
        Vec::new()
    }

    /// Whether a task of a run may [ask](Definition::asks) somebody, from its payload, which is of this kind. It is asked of
    /// thousands of runs: a yes only means that somebody has to look.
    fn may_ask(&self, _payload: &[u8]) -> bool {
        true
    }

    /// Hands a one-time code on to whoever carries out a run, for a task that [wants](Definition::wants_code) one; or tells
    /// them that somebody says no. It is kept nowhere.
    ///
    /// # Errors
    ///
    /// When nobody waits for it.
    fn hand_code(
        &self,
        _run: &RunDetail,
        step: &str,
        _by: &str,
        _code: Option<&OneTimeCode>,
    ) -> Result<(), DeskError> {
        Err(DeskError::AsksNobody { step: step.to_owned(), asking: Vec::new() })
    }

    /// What is to be done to make a run that has ended again.
    ///
    /// # Errors
    ///
    /// When it cannot be made again as it is wished.
    fn retry(&self, past: &RunView, wish: &RetryWish) -> Result<Retry, DeskError>;

    /// Finds out whether a run that nobody runs any more can go on here, before it is taken over.
    ///
    /// # Errors
    ///
    /// When what it was started with is not what there is now, unless it is to go on as it was started.
    fn check_resume(&self, past: &RunView, is_as_started: bool) -> Result<(), DeskError>;

    /// The run of what was asked for then, to be taken over.
    ///
    /// # Errors
    ///
    /// When it cannot be understood any more.
    fn resume(&self, past: &RunView) -> Result<Box<dyn Startable>, DeskError>;
}

/// A run that is to be made again.
#[derive(Debug)]
pub struct Retry {
    /// Tasks that are run again.
    pub run_again: Vec<String>,
    /// Tasks whose results are used as they were left.
    pub reused: Vec<String>,
    /// Tasks that count as done and leave nothing.
    pub passed_over: Vec<String>,
    /// The new run.
    pub run: Box<dyn Startable>,
    /// The files as they were read now, if they were: they may have warnings.
    pub files: Option<FlowFiles>,
    /// Files that say something else now, where they are used as they were then.
    pub changed_files: Vec<String>,
}

/// A run that is made again by another.
#[derive(Debug, Clone)]
pub struct MadeAgain {
    /// Its identity.
    pub run: String,
    /// The identity of the run that one with this payload makes again, if it does.
    pub read: fn(&[u8]) -> Option<String>,
}

/// Something that is done while others have their turn.
pub type Doing<'a, T> = Pin<Box<dyn Future<Output = Result<T, DeskError>> + Send + 'a>>;

/// A run that can be started, or taken over.
pub trait Startable: fmt::Debug + Send + Sync {
    /// The name of what is run, by which times of earlier runs are known.
    fn name(&self) -> &str;

    /// Tasks at once.
    fn workers(&self) -> u32;

    /// What is known of its tasks.
    fn definition(&self) -> Arc<dyn Definition>;

    /// The run that it makes again, if it does.
    fn makes_again(&self) -> Option<MadeAgain> {
        None
    }

    /// Sets off what it will need and what takes its time, while the session that is set up so is opened.
    fn set_off(&self, _options: &SessionOptions) {}

    /// Makes itself known to its session.
    fn prepare(&self, _session: &Session) {}

    /// Makes sure that it does not lack what would only let it fail, before it is taken over; the error says
    /// what it lacks.
    fn check(&self) -> Doing<'_, ()> {
        Box::pin(async { Ok(()) })
    }

    /// Hands on what was found out when it was checked, to a session that will take this run over.
    fn hand_over(&self, _run: RunId, _options: &mut SessionOptions) {}

    /// Starts it, or says why it is refused. `expected` says how long its tasks took before.
    fn start<'a>(
        &'a self,
        session: &'a Session,
        expected: &'a BTreeMap<String, Duration>,
    ) -> Doing<'a, Run>;
}

/// The kinds of work that are known. Flows always are.
#[derive(Debug, Clone)]
pub struct Kinds(Vec<Arc<dyn Kind>>);

impl Kinds {
    /// Makes one more kind known.
    #[must_use]
    pub fn with(mut self, kind: impl Kind + 'static) -> Self {
        self.0.push(Arc::new(kind));
        self
    }

    /// What is known of a run, whatever it is.
    #[must_use]
    pub fn definition_of(&self, run: &RunDetail) -> Arc<dyn Definition> {
        let known = self.0.iter().find_map(|kind| kind.read(run).ok());
        known.unwrap_or_else(|| Arc::new(Unknown))
    }

    /// Words to find a run by.
    #[must_use]
    pub fn tags_of(&self, kind: Option<&str>, payload: &[u8]) -> Vec<String> {
        let known = self.0.iter().find(|it| Some(it.word()) == kind);
        known.map(|kind| kind.tags(payload)).unwrap_or_default()
    }

    /// Whether a task of a run may ask somebody.
    #[must_use]
    pub fn may_ask(&self, kind: Option<&str>, payload: &[u8]) -> bool {
        let known = self.0.iter().find(|it| Some(it.word()) == kind);
        known.is_some_and(|kind| kind.may_ask(payload))
    }

    /// The kind that a run is of.
    ///
    /// # Errors
    ///
    /// When nobody knows its kind: what flows say of it.
    pub fn kind_of(&self, run: &RunDetail) -> Result<&Arc<dyn Kind>, DeskError> {
        let mut first = None;
        for kind in &self.0 {
            match kind.read(run) {
                Ok(_) => return Ok(kind),
                Err(error) => first = first.or(Some(error)),
            }
        }
        Err(first.unwrap_or(DeskError::UnknownKind { run: run.summary.id }))
    }
}

impl Default for Kinds {
    fn default() -> Self {
        Self(vec![Arc::new(Flows)])
    }
}
