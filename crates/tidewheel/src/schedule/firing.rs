//! [`Firing`]: what the owner of a schedule knows when a run is to be made, and [`Backfill`]: which
//! firings somebody asks for.
//!
//! How a schedule is set and steered is in `schedule`.

use std::fmt;
use std::sync::Arc;

use tidewheel_core::decision::MakeRun;
use tidewheel_core::graph::Graph;
use tidewheel_core::id::{RunId, ScheduleId};
use tidewheel_core::input::Rejection;
use tidewheel_core::schedule::{Origin, Overlap, Span};
use tidewheel_core::time::Timestamp;

use crate::driver::{BoxFuture, Maker, Shared, Until};
use crate::error::BoxError;
use crate::output::TaskOutput;
use crate::run::{RunBuilder, Task};
use crate::wheel::Tidewheel;

/// An instant that has fired, and whose run is to be made.
///
/// Making one may take its time and be done again after a restart, so it should only look things up.
/// The run is accepted once, however often it is made.
pub struct Firing {
    shared: Arc<Shared>,
    wanted: MakeRun,
    name: Option<Arc<str>>,
    payload: Option<Arc<[u8]>>,
}

impl Firing {
    pub(crate) fn new(shared: &Arc<Shared>, wanted: MakeRun) -> Self {
        let state = shared.lock();
        let spec = state.engine.scheduler().schedule_spec(wanted.schedule);
        let (name, payload) =
            spec.map_or((None, None), |spec| (spec.name.clone(), spec.payload.clone()));
        Self { shared: Arc::clone(shared), wanted, name, payload }
    }

    /// The schedule.
    #[must_use]
    pub fn schedule(&self) -> ScheduleId {
        self.wanted.id
    }

    /// What the schedule is called.
    #[must_use]
    pub fn name(&self) -> Option<&str> {
        self.name.as_deref()
    }

    /// The instant the trigger named, without jitter or lateness.
    #[must_use]
    pub fn nominal(&self) -> Timestamp {
        self.wanted.nominal
    }

    /// Whether the trigger named it or somebody asked for it.
    #[must_use]
    pub fn origin(&self) -> Origin {
        self.wanted.origin
    }

    /// The identity that the run will have. It follows from the firing.
    #[must_use]
    pub fn run_id(&self) -> RunId {
        self.wanted.run
    }

    /// The payload of the schedule.
    #[must_use]
    pub fn payload(&self) -> Option<&Arc<[u8]>> {
        self.payload.as_ref()
    }

    /// The wheel.
    #[must_use]
    pub fn wheel(&self) -> Tidewheel {
        Tidewheel::from_shared(Arc::clone(&self.shared))
    }

    /// A run of a graph, as [`Tidewheel::run`] makes one. It is to be returned, not started.
    pub fn run<F, R>(&self, graph: impl Into<Arc<Graph>>, code: F) -> RunBuilder<F>
    where
        F: Fn(Task) -> R + Send + Sync + 'static,
        R: Future + Send + 'static,
        R::Output: TaskOutput,
    {
        RunBuilder::new(Arc::clone(&self.shared), Until::Later, graph.into(), code)
    }
}

impl fmt::Debug for Firing {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Firing").field("wanted", &self.wanted).finish_non_exhaustive()
    }
}

/// A run that was made for a firing; any [`RunBuilder`] becomes one.
pub struct MadeRun(Box<dyn FnOnce(MakeRun) -> BoxFuture<Result<(), Rejection>> + Send>);

impl MadeRun {
    pub(crate) async fn submit(self, wanted: MakeRun) -> Result<(), Rejection> {
        (self.0)(wanted).await
    }
}

impl<F, R> From<RunBuilder<F>> for MadeRun
where
    F: Fn(Task) -> R + Send + Sync + 'static,
    R: Future + Send + 'static,
    R::Output: TaskOutput,
{
    fn from(builder: RunBuilder<F>) -> Self {
        Self(Box::new(move |wanted| {
            // Others are told of its limits without blocking the thread of this task.
            Box::pin(async move { builder.announce().await?.start_firing(wanted).map(drop) })
        }))
    }
}

impl fmt::Debug for MadeRun {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("MadeRun").finish_non_exhaustive()
    }
}

/// Code that makes runs, without its types.
pub(crate) fn maker<F, R, B, E>(make: F) -> Arc<Maker>
where
    F: Fn(Firing) -> R + Send + Sync + 'static,
    R: Future<Output = Result<B, E>> + Send + 'static,
    B: Into<MadeRun>,
    E: Into<BoxError>,
{
    Arc::new(move |firing| {
        let made = make(firing);
        Box::pin(async move { made.await.map(Into::into).map_err(Into::into) })
    })
}

/// Instants of the past that a schedule is asked to fire, whether it missed them or not.
///
/// Each is a firing of its own in the ledger, beside what became of the instant before. Which
/// instants were missed the ledger tells: [`crate::store::ScheduleSummary::missed`].
#[derive(Debug, Clone)]
#[must_use = "nothing is fired before `ScheduleHandle::backfill`"]
pub struct Backfill {
    pub(crate) instants: Vec<Timestamp>,
    pub(crate) span: Option<Span>,
    pub(crate) max: u32,
    pub(crate) overlap: Option<Overlap>,
    pub(crate) asked_for: Option<u64>,
}

/// Instants of a span that are fired, unless something else is said.
const MAX_DEFAULT: u32 = 100;

impl Backfill {
    /// These instants.
    pub fn at(instants: impl IntoIterator<Item = Timestamp>) -> Self {
        let instants = instants.into_iter().collect();
        Self { instants, span: None, max: u32::MAX, overlap: None, asked_for: None }
    }

    /// The instants of the trigger in here that are decided, whether they fired or not. If there are
    /// more than 100 ([`Backfill::max`]), nothing is fired.
    pub fn between(span: Span) -> Self {
        Self { span: Some(span), max: MAX_DEFAULT, ..Self::at([]) }
    }

    /// Refuses to fire more than so many.
    pub fn max(mut self, max: u32) -> Self {
        self.max = max;
        self
    }

    /// The overlap policy among them and with what runs. Without it that of the schedule holds, and
    /// by [`Overlap::Skip`] all but the first are skipped: say [`Overlap::QueueAll`] to have them run
    /// one after the other.
    pub fn overlap(mut self, overlap: Overlap) -> Self {
        self.overlap = Some(overlap);
        self
    }

    /// Only if no more firings were asked for than this: what [`crate::schedule::Counters::asked_for`] said when
    /// somebody looked at what was missed. So two who look at once do not both fire it.
    pub fn if_asked_for(mut self, firings: u64) -> Self {
        self.asked_for = Some(firings);
        self
    }
}
