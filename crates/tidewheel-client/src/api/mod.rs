//! The one serialised contract: what surfaces and programs get, whoever asks and however.
//!
//! Fields are only ever added; a document whose meaning changes gets a new version. No rule is here: the
//! [desk](crate::desk) fills these in. How a document travels is the surface's business.

mod access;
mod answers;
mod artifacts;
mod attempts;
mod capacity;
mod document;
mod explained;
mod figures;
mod flows;
mod flowtoy;
mod glance;
mod grid;
mod happened;
mod line;
mod listed;
mod logs;
mod named;
mod order;
mod plan;
mod problem;
mod reading;
mod refusal;
mod result;
mod schedules;
mod standing;
mod states;
mod steps;
mod store;
pub(crate) mod times;
mod values;
mod wishes;

pub use access::{
    Asker, AuditList, AuditRow, AuditVerified, LoginLink, NoRole, Role, TokenLine, TokenList,
    TokenMade, TokenWish,
};
pub use answers::{Answered, Asked, GoneOn, Preview, StartedRun};
pub use artifacts::{ArtifactLine, ArtifactList};
pub use attempts::{AttemptLine, AttemptList};
pub use capacity::{LimitLine, LimitList, QueueLine, QueueList};
pub use document::Document;
pub use explained::{Explained, StepExplained};
pub use figures::{
    Figures, Health, HealthState, QueueFigures, SchedulerFigures, TimeBucket, TimeFigures,
};
pub use flows::{
    BrokenFile, FlowDetail, FlowFile, FlowLine, FlowList, FlowSource, ParamLine, Reloaded, StepLine,
};
pub use flowtoy::{FlowtoyOutputs, FlowtoyStatus, FlowtoyStep};
pub use glance::{ApprovalLine, ApprovalList, FlowGlance, Glance, PastRun, RunNow};
pub use grid::{FlowGrid, GridRun};
pub use happened::{Happened, What};
pub use line::{SlotHolder, WaitingLine, WaitingStep};
pub use listed::{RunLine, RunList};
pub use logs::{LogFile, LogList, LogStream, LogTurn, LogWanted, RequestEnd, StepLogs};
pub use named::Named;
pub use order::{OrderLine, OrderPreview, PriorityChanged};
pub use plan::{CacheState, NextFirings, Plan, PlannedCache, PlannedStep, UnknownSteps, Validated};
pub use problem::Problem;
pub use reading::{
    FoundSum, LinesWish, LogCut, LogErrorLine, LogFound, LogGrown, LogLine, LogLines, LogSpan,
    SearchWish,
};
pub use refusal::{FileChange, Refusal, RefusalKind, Refused};
pub use result::{OriginWord, RunOrigin, RunResult, StepResult};
pub use schedules::{
    Delivered, DeliveryFate, Ledger, LedgerFate, LedgerLine, ScheduleAsked, ScheduleLine,
    ScheduleList, ScheduleWord, Upcoming, UpcomingFiring,
};
pub use standing::{Standing, StepStanding};
pub use states::{RunState, StepState};
pub use steps::{AttemptSpan, StepList, StepRow, StepsOrder, StepsWish};
pub use store::StoreFigures;
pub use values::Values;
pub use wishes::{
    AnswerWish, BackfillWish, CancelWish, LedgerWish, ListWish, LogWish, OneTimeCode, PriorityWish,
    ResumeWish, RetryWish, StartWish, StateWish,
};
