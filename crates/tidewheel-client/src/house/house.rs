//! [`House`]: a session that lasts, and everything around it that has to last as long.
//!
//! What it does with flows, runs and schedules is in the files beside.

use std::collections::HashMap;
use std::fmt;
use std::path::Path;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError, Weak};
use std::time::{Duration, Instant};

use tidewheel::store::sqlite::{DataFolder, Retention};
use tidewheel::{Rejection, Shutdown};
use tidewheel_flow::Arrivals;
use tokio::task::AbortHandle;

use super::arriving_files::FilesSeen;
use super::asking::Asking;
use super::beside::{Beside, tell_beside};
use super::catalogue::{Catalogue, Changes};
use super::events::Listeners;
use super::happenings::Ring;
use super::hooks::HookSecrets;
use super::look::{Look, When};
use super::options::HouseOptions;
use super::setting::{Wanted, schedule_of, stored_versions};
use crate::api::{Reloaded, What};
use crate::desk::{Desk, DeskError, LocalDesk, Reach, blocking};
use crate::session::{Session, Takeover};

/// The shard that a house has. Each `tidewheel run` beside it has one of its own.
pub(super) const SHARD: &str = "default";

/// How many looks at files it takes until it is looked for news that nobody told: of runs beside the house.
const HEAR_EVERY: u64 = 10;

/// How often what is kept no longer is removed.
const PRUNE_EVERY: Duration = Duration::from_secs(600);

/// One wheel on a data folder that lasts, with a catalogue of flows whose schedules are live. Clones are the same
/// house.
///
/// What it takes and gives are documents of [`crate::api`]. What may be asked about runs is asked at its
/// [desk](House::desk), as in any data folder.
///
/// ```
/// # #[tokio::main(flavor = "current_thread")]
/// # async fn main() -> Result<(), Box<dyn std::error::Error>> {
/// # let path = std::env::temp_dir().join(format!("tidewheel-house-{}", std::process::id()));
/// # std::fs::create_dir_all(path.join("flows"))?;
/// use tidewheel::store::sqlite::{DataFolder, Options};
/// use tidewheel_client::api::StartWish;
/// use tidewheel_client::house::{House, HouseOptions};
///
/// std::fs::write(path.join("flows/pause.yaml"), "flow: [{ name: pause, wait: 10ms }]")?;
/// let mut options = HouseOptions::new();
/// options.flows = Some(path.join("flows"));
/// let folder = DataFolder::open(path.join("data"), Options::default())?;
/// let house = House::open(folder, options).await?;
/// let wish = StartWish { flow: "pause".to_owned(), ..StartWish::default() };
/// let started = house.start(wish).await?;
/// assert!(started.created);
/// house.close(std::time::Duration::from_secs(10)).await;
/// # std::fs::remove_dir_all(path)?;
/// # Ok(())
/// # }
/// ```
#[derive(Clone)]
pub struct House {
    pub(super) inner: Arc<Inner>,
    desk: Desk,
    /// Of which flows whoever asks may know.
    pub(super) reach: Reach,
}

pub(super) struct Inner {
    pub session: Session,
    pub desk: Desk,
    /// Which flows there are.
    pub catalogue: Arc<Mutex<Catalogue>>,
    /// What of their schedules could be set.
    wanted: Mutex<Wanted>,
    /// Their files; whoever has it is the only one who looks.
    look: tokio::sync::Mutex<Look>,
    pub ring: Arc<Ring>,
    /// How many steps ask somebody.
    pub asking: Asking,
    /// Whoever has it keeps what has arrived and tells it.
    pub arriving: tokio::sync::Mutex<()>,
    /// Files that schedules fire for; whoever has it is the only one who looks.
    pub files: tokio::sync::Mutex<FilesSeen>,
    /// Flows that hear news of others.
    listeners: Mutex<Listeners>,
    hook_secrets: Mutex<HookSecrets>,
    /// When old deliveries of each hook were last forgotten.
    forgotten: Mutex<HashMap<String, Instant>>,
    is_ending: AtomicBool,
    tasks: Mutex<Vec<AbortHandle>>,
}

impl House {
    /// Opens a house: takes the shard `default` of the folder and goes on with its runs, reads the files, and sets
    /// the schedules of their flows. Files that cannot be run keep nobody out: they are told, as
    /// [`FlowList::broken`](crate::api::FlowList::broken).
    ///
    /// # Errors
    ///
    /// When somebody else has the shard, or the folders cannot be used.
    pub async fn open(folder: DataFolder, options: HouseOptions) -> Result<Self, DeskError> {
        let HouseOptions { flows, files, look: period, beside, retention, kinds, .. } = options;
        let mut options = options.session;
        let at = tidewheel::clock::wall_clock();
        let opened = {
            let folder = folder.clone();
            blocking(move || {
                let desk = LocalDesk::open(folder)?.of_kinds(kinds);
                let stored = desk.stored_schedules(SHARD, false)?;
                let mut look = Look::new(flows.as_deref(), &files).map_err(DeskError::System)?;
                look.look(When::Now, at).map_err(|error| not_read(flows.as_deref(), error))?;
                let mut catalogue = Catalogue::of_stored(stored_versions(&stored));
                catalogue.update(&look.read());
                Ok::<_, DeskError>((desk, look, catalogue))
            })
        };
        let (desk, look, catalogue) = opened.await??;
        let catalogue = Arc::new(Mutex::new(catalogue));
        let known = Arc::clone(&catalogue);
        options.in_force = Some(Arc::new(move |schedule: &str| {
            known.lock().unwrap_or_else(PoisonError::into_inner).flow_of(schedule).cloned()
        }));
        let takeover = Takeover::Shard(SHARD.to_owned());
        let session = Session::open(folder, takeover, options).await;
        let session = session.map_err(|error| match error {
            DeskError::Held(error) => DeskError::Served(error),
            error => error,
        })?;
        let ring = Ring::new(session.wheel.wall_clock());
        let desk = Desk::from(desk.beside(&session.wheel));
        let house = Self {
            desk: desk.clone(),
            reach: Reach::all(),
            inner: Arc::new(Inner {
                desk,
                catalogue,
                wanted: Mutex::default(),
                look: tokio::sync::Mutex::new(look),
                ring: Arc::clone(&ring),
                asking: Asking::default(),
                arriving: tokio::sync::Mutex::default(),
                files: tokio::sync::Mutex::default(),
                listeners: Mutex::default(),
                hook_secrets: Mutex::default(),
                forgotten: Mutex::default(),
                is_ending: AtomicBool::new(false),
                tasks: Mutex::default(),
                session,
            }),
        };
        let fill = Arc::clone(&ring).fill(house.inner.session.wheel.notices());
        house.keep(tokio::spawn(fill).abort_handle());
        if let Some(every) = beside {
            house.look_beside(ring, every).await?;
        }
        let happenings = house.happenings(None);
        house.set_schedules().await?;
        house.catch_up().await?;
        let hearing = Self::hear(Arc::downgrade(&house.inner), happenings);
        house.keep(tokio::spawn(hearing).abort_handle());
        house.tidy_up(period, retention);
        Ok(house)
    }

    /// Looks at the files from time to time, and removes what is too old.
    fn tidy_up(&self, period: Option<Duration>, retention: Retention) {
        if let Some(period) = period {
            let watching = watch(Arc::downgrade(&self.inner), period);
            self.keep(tokio::spawn(watching).abort_handle());
        }
        if retention != Retention::default() {
            let folder = self.inner.session.folder.clone();
            self.keep(tokio::spawn(prune(folder, retention)).abort_handle());
        }
    }

    /// Tells what others do in the folder from now on.
    async fn look_beside(&self, ring: Arc<Ring>, every: Duration) -> Result<(), DeskError> {
        let folder = self.folder().clone();
        let looked = folder.clone();
        let open =
            move || Beside::open(&looked).map_err(|error| DeskError::folder(error, looked.path()));
        let telling = tell_beside(blocking(open).await??, folder, ring, every);
        self.keep(tokio::spawn(telling).abort_handle());
        Ok(())
    }

    /// The whole of a house.
    pub(super) fn of(inner: Arc<Inner>) -> Self {
        Self { desk: inner.desk.clone(), reach: Reach::all(), inner }
    }

    /// The same house for somebody who knows of these flows only: what is outside is not there.
    ///
    /// # Errors
    ///
    /// Never where the house is open.
    pub fn within(&self, reach: &Reach) -> Result<Self, DeskError> {
        let desk = self.desk.within(reach)?;
        Ok(Self { inner: Arc::clone(&self.inner), desk, reach: reach.clone() })
    }

    /// Where questions about runs are asked, and wishes said.
    #[must_use]
    pub fn desk(&self) -> &Desk {
        &self.desk
    }

    /// The data folder.
    #[must_use]
    pub fn folder(&self) -> &DataFolder {
        &self.inner.session.folder
    }

    /// Whether it accepts nothing more because it is about to end.
    #[must_use]
    pub fn is_ending(&self) -> bool {
        self.inner.is_ending.load(Ordering::Acquire)
    }

    /// Why nothing can be stored for now; `None` when all is well.
    #[must_use]
    pub fn trouble(&self) -> Option<Arc<str>> {
        self.inner.session.wheel.trouble()
    }

    /// The figures of the wheel and of each queue.
    #[must_use]
    pub fn overview(&self) -> super::Overview {
        self.inner.session.wheel.stats()
    }

    /// Reads all files again that have changed, at once.
    ///
    /// # Errors
    ///
    /// When the folder cannot be read: then nothing has changed.
    pub async fn reload(&self) -> Result<Reloaded, DeskError> {
        self.look(When::Now).await
    }

    async fn look(&self, when: When) -> Result<Reloaded, DeskError> {
        if self.is_ending() {
            return Err(DeskError::Rejected(Rejection::ShuttingDown));
        }
        let inner = Arc::clone(&self.inner);
        let at = inner.session.wheel.wall_clock();
        let looked = blocking(move || {
            let mut look = inner.look.blocking_lock();
            match look.look(when, at) {
                Ok(true) => Ok(Some(inner.catalogue().update(&look.read()))),
                Ok(false) => Ok(None),
                Err(error) => Err(DeskError::System(error)),
            }
        });
        let changes = looked.await??.unwrap_or_default();
        if changes.is_empty() {
            return Ok(Reloaded::default());
        }
        self.set_schedules().await?;
        self.tell(&changes);
        let shown = |path: &std::path::PathBuf| path.display().to_string();
        Ok(Reloaded {
            version: None,
            broken: changes.broken.iter().map(shown).collect(),
            added: changes.added,
            changed: changes.changed,
            removed: changes.removed,
            refused: self.refused(),
        })
    }

    /// Sets the schedules of all flows in force.
    async fn set_schedules(&self) -> Result<(), DeskError> {
        let inner = &self.inner;
        let mut wanted = Wanted::of(&inner.catalogue());
        self.check_hooks(&mut wanted).await;
        self.note_listeners();
        self.leave_behind(wanted.new_outside(&inner.session.wheel)).await?;
        let ended = inner.desk.here(|desk| desk.stored_schedules(SHARD, true)).await?;
        wanted.set(&inner.session.wheel, &inner.session.maker, &ended);
        inner.session.wheel.stored().await?;
        *inner.wanted() = wanted;
        self.tell_waiting().await
    }

    /// Refuses webhooks whose secrets cannot be had: nobody could sign for them.
    async fn check_hooks(&self, wanted: &mut Wanted) {
        let flows: Vec<_> =
            self.inner.catalogue().flows().map(|version| Arc::clone(&version.flow)).collect();
        for flow in flows {
            for name in super::setting::names(&flow) {
                let schedule = schedule_of(&flow, &name);
                let Some(Arrivals::Webhook(webhook)) = schedule.and_then(|it| it.arrivals.as_ref())
                else {
                    continue;
                };
                if let Err(error) = self.hook_secrets(&name, &flow, webhook).await {
                    wanted.specs.remove(&name);
                    wanted.refused.insert(name, error.to_string());
                }
            }
        }
    }

    fn tell(&self, changes: &Changes) {
        let at = self.inner.session.wheel.wall_clock();
        let named = [
            (What::FlowChanged, &changes.added),
            (What::FlowChanged, &changes.changed),
            (What::FlowRemoved, &changes.removed),
        ];
        for (what, names) in named {
            for name in names {
                self.inner.ring.tell(at, what, |told| told.flow = Some(name.clone()));
            }
        }
        let catalogue = self.inner.catalogue();
        for (path, broken) in catalogue.broken() {
            if changes.broken.iter().any(|news| news == path) {
                let error = format!("{} cannot be run: {}", path.display(), broken.first());
                self.inner.ring.tell(at, What::FlowBroken, |told| {
                    (told.flow, told.error) = (broken.flow.clone(), Some(error));
                });
            }
        }
    }

    /// Accepts nothing more, lets what runs finish for as long as `patience`, then stops it. What is left goes on when
    /// the house is opened again.
    pub async fn close(&self, patience: Duration) {
        self.inner.is_ending.store(true, Ordering::Release);
        let Session { wheel, flows, .. } = &self.inner.session;
        let finish = wheel.shutdown(Shutdown::persist());
        if tokio::time::timeout(patience, finish).await.is_err() {
            wheel.shutdown(Shutdown::persist().after(Duration::ZERO)).await;
        }
        flows.settled().await;
        for task in std::mem::take(&mut *self.inner.tasks()) {
            task.abort();
        }
        self.inner.ring.end();
    }

    fn keep(&self, task: AbortHandle) {
        self.inner.tasks().push(task);
    }
}

impl Inner {
    pub fn catalogue(&self) -> MutexGuard<'_, Catalogue> {
        self.catalogue.lock().unwrap_or_else(PoisonError::into_inner)
    }

    pub fn wanted(&self) -> MutexGuard<'_, Wanted> {
        self.wanted.lock().unwrap_or_else(PoisonError::into_inner)
    }

    pub fn listeners(&self) -> MutexGuard<'_, Listeners> {
        self.listeners.lock().unwrap_or_else(PoisonError::into_inner)
    }

    pub fn hook_secrets(&self) -> MutexGuard<'_, HookSecrets> {
        self.hook_secrets.lock().unwrap_or_else(PoisonError::into_inner)
    }

    pub fn forgotten(&self) -> MutexGuard<'_, HashMap<String, Instant>> {
        self.forgotten.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn tasks(&self) -> MutexGuard<'_, Vec<AbortHandle>> {
        self.tasks.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Drop for Inner {
    fn drop(&mut self) {
        for task in std::mem::take(&mut *self.tasks()) {
            task.abort();
        }
    }
}

/// Looks at files, and from time to time for news, as long as there is a house. What cannot be read now is read the
/// next time.
async fn watch(house: Weak<Inner>, period: Duration) {
    for look in 1_u64.. {
        tokio::time::sleep(period).await;
        let Some(house) = house.upgrade().map(House::of) else { return };
        let _ = house.look(When::Settled).await;
        let _ = house.look_for_files().await;
        if look.is_multiple_of(HEAR_EVERY) {
            let _ = house.look_for_overdue().await;
            let _ = house.catch_up_with_runs().await;
        }
    }
}

/// Removes what is kept no longer, again and again.
async fn prune(folder: DataFolder, retention: Retention) {
    loop {
        let folder = folder.clone();
        // What could not be removed now is tried again the next time.
        let _ = blocking(move || folder.prune(retention)).await;
        tokio::time::sleep(PRUNE_EVERY).await;
    }
}

fn not_read(folder: Option<&Path>, error: std::io::Error) -> DeskError {
    let path = folder.map(Path::to_owned).unwrap_or_default();
    DeskError::FlowsNotRead { path, error }
}

impl fmt::Debug for House {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("House").field("session", &self.inner.session).finish_non_exhaustive()
    }
}
