//! What happens to the screens and what follows: messages in, effects out.
//!
//! What a message changes is in [`crate::update`]; who answers questions is a [`crate::source::Source`].

use std::time::Duration;

use ratatui::crossterm::event::{KeyCode, KeyEvent};
use tidewheel_client::api::{
    AttemptList, BackfillWish, FlowDetail, FlowSource, Glance, Ledger, LimitList, LogLines,
    LogStream, OneTimeCode, OrderPreview, Preview, QueueList, RunList, RunResult, ScheduleList,
    Standing, StartWish, StepExplained, StepResult, Upcoming, WaitingLine,
};

use crate::keys::Action;
use crate::model::RunsOf;

/// Something happened.
#[derive(Debug)]
pub enum Message {
    /// A key was pressed.
    Key(KeyEvent),
    /// The mouse was used, on what was drawn there.
    Mouse(Mouse, Option<Hit>),
    /// Text was pasted.
    Pasted(String),
    /// The terminal has another size.
    Resized(u16, u16),
    /// Time has passed.
    Tick,
    /// What is shown may have changed.
    Changed,
    /// A question was answered, after so long.
    Answered(Question, Result<Answer, String>, Duration),
    /// A wish was taken up, or refused.
    Done(Result<Said, Refused>),
    /// A run that this process carries out has begun.
    Began(String),
    /// A run that this process carries out is over.
    Over(String),
}

/// What came of a wish.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Said {
    /// In words.
    pub text: String,
    /// The run that was started by it, which is looked at from now on.
    pub run: Option<String>,
}

/// Why a wish was refused.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Refused {
    /// In words.
    pub why: String,
    /// What is to be looked at anew: it is not what was shown any more.
    pub anew: Option<Again>,
}

impl From<String> for Refused {
    fn from(why: String) -> Self {
        Self { why, anew: None }
    }
}

/// What the mouse does.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Mouse {
    /// It is pressed.
    Press,
    /// Its wheel is turned away from the user.
    Up,
    /// Its wheel is turned towards the user.
    Down,
}

/// What is drawn at a place, for the mouse.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Hit {
    /// A row of the list.
    Row(usize),
    /// Something that can be done.
    Action(Action),
    /// What a key does.
    Key(KeyCode),
    /// Nothing, and nothing of what is below it.
    Nothing,
}

/// What follows.
#[derive(Debug, Clone, PartialEq)]
pub enum Effect {
    /// Ask this.
    Ask(Question),
    /// Have this done.
    Do(Wish),
    /// Stop this process, as Ctrl-Z does.
    Suspend,
    /// Leave.
    Quit,
    /// End what this process runs.
    End(End),
}

/// How runs of this process end.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum End {
    /// Running steps finish.
    Drain,
    /// They are ended.
    Kill,
}

/// What can be asked.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Question {
    /// What matters now.
    Glance,
    /// Which runs there are.
    Runs {
        /// Which of them.
        of: RunsOf,
        /// Those after this place in the list; else the newest.
        after: Option<String>,
    },
    /// How a run stands.
    Run(String),
    /// What a run was started with, by whom, and what it left.
    About(String),
    /// When steps of a run were tried.
    Attempts {
        /// The run.
        run: String,
        /// The steps, by their own names.
        steps: Vec<String>,
    },
    /// What is known of a step.
    Step {
        /// The run.
        run: String,
        /// The step.
        step: String,
    },
    /// Some lines of what a step wrote.
    Log {
        /// The run.
        run: String,
        /// The step.
        step: String,
        /// Which of its attempts and streams.
        of: Written,
        /// The first line, from 1; less than 0: counted from the end.
        from: i64,
        /// How many.
        count: u32,
    },
    /// Where something is found in what a step wrote.
    Find {
        /// The run.
        run: String,
        /// The step.
        step: String,
        /// Which of its attempts and streams.
        of: Written,
        /// What.
        text: String,
    },
    /// Who has the slots and who waits.
    Line,
    /// Schedules.
    Schedules,
    /// What a schedule will do and did.
    Schedule(String),
    /// What can be said when a flow is started.
    Flow(String),
    /// What the files of a flow say, and what is wrong with them.
    Source(String),
    /// Whether a step asks for an answer, which is to be this one.
    Asks {
        /// The run.
        run: String,
        /// The step.
        step: String,
        /// Yes or no.
        approved: bool,
    },
    /// What a retry would do.
    Preview(Again),
    /// What the order would be with another priority.
    Order(Raised),
    /// Which instants of the past would fire.
    Backfill(String, BackfillWish),
}

/// Which part of what a step wrote.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct Written {
    /// This attempt; else the newest, whichever that is.
    pub attempt: Option<u32>,
    /// This stream; else both.
    pub stream: Option<LogStream>,
}

/// A step that waits, and the priority that it is to have.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Raised {
    /// The run.
    pub run: String,
    /// The step.
    pub step: String,
    /// The priority.
    pub priority: u8,
}

/// A run that is to be made again.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Again {
    /// The run.
    pub run: String,
    /// The step from which on everything is run again, if not only what did not succeed is.
    pub from: Option<String>,
    /// The digest of what was shown: nothing else is done. Of a question: that of what was shown before and does not hold any more.
    pub shown: Option<String>,
}

/// What is answered.
#[derive(Debug)]
pub enum Answer {
    /// What matters now.
    Glance(Box<Glance>),
    /// Runs.
    Runs(RunList),
    /// How a run stands.
    Run(Box<Standing>),
    /// What a run was started with, by whom, and what it left; without its steps.
    About(Box<RunResult>),
    /// When steps were tried, of those for which that is known.
    Attempts(Vec<AttemptList>),
    /// What is known of a step.
    Step(Box<StepKnown>),
    /// Lines.
    Log(Box<LogLines>),
    /// The numbers of lines in which something was found.
    Found(Vec<u64>),
    /// Who has the slots and who waits; queues and limits where there is a server.
    Line(Box<(WaitingLine, Option<(QueueList, LimitList)>)>),
    /// Schedules.
    Schedules(ScheduleList),
    /// What a schedule will do and did.
    Schedule(Box<(Upcoming, Ledger)>),
    /// A flow.
    Flow(Box<FlowDetail>),
    /// Its files.
    Source(Box<FlowSource>),
    /// What a retry would do.
    Preview(Box<Preview>),
    /// What the order would be.
    Order(Box<OrderPreview>),
    /// Which instants of the past would fire.
    Backfill(Box<Upcoming>),
}

/// What is known of a step. Nothing where that cannot be found out.
#[derive(Debug, Clone, Default)]
pub struct StepKnown {
    /// What it came to.
    pub result: Option<StepResult>,
    /// Why it is where it is.
    pub explained: Option<StepExplained>,
    /// Its attempts.
    pub attempts: Option<AttemptList>,
}

/// What can be wished for.
#[derive(Debug, Clone, PartialEq)]
pub enum Wish {
    /// Start nothing more of a run for now.
    Pause(String),
    /// Go on with it.
    Resume(String),
    /// End it.
    Cancel(String),
    /// End one step of it.
    CancelStep {
        /// The run.
        run: String,
        /// The step.
        step: String,
    },
    /// Run again what did not succeed in it.
    Retry(Again),
    /// Give a step another priority.
    Raise(Raised),
    /// Answer a step that asks.
    Answer {
        /// The run.
        run: String,
        /// The step.
        step: String,
        /// Yes or no.
        approved: bool,
        /// What else is said.
        note: Option<String>,
        /// The one-time code, if it wants one.
        code: Option<OneTimeCode>,
    },
    /// Start a flow.
    Start(StartWish),
    /// Fire a schedule no more for now.
    PauseSchedule(String),
    /// Fire it again.
    ResumeSchedule(String),
    /// Fire it once, now.
    Fire(String),
    /// Fire instants of the past.
    Backfill(String, BackfillWish),
}
