//! [`Publisher`]: what attempts of a process share: connections, pace, and the orders they work on.
//!
//! What one attempt does is in [`super::attempt`].

use std::collections::{BTreeMap, HashMap};
use std::sync::{Arc, Mutex, MutexGuard, OnceLock, PoisonError};
use std::time::Duration;

use tidewheel::clock::wall_clock;
use tidewheel::executor::http::HttpBuildError;
use tidewheel::{RunId, Timestamp};
use tidewheel_client::progress::Sayings;

use super::code::Codes;
use super::diary::Diary;
use super::order::{OrderedPackage, PublishOrder};
use super::sign::Signing;
use crate::discover::discover;
use crate::exchange::{Bucket, Client};
use crate::pack::{PackedSet, Workbench};
use crate::package::{Ecosystem, Package, PackageId};
use crate::plan::Pace;
use crate::settings::{Address, Surroundings, Target, is_of_this_machine, target_of};

/// What attempts of a process share.
#[derive(Debug)]
pub struct Publisher {
    around: Surroundings,
    /// The connections to registries.
    pub client: Arc<Client>,
    buckets: Mutex<BTreeMap<(String, bool), Bucket>>,
    works: Mutex<HashMap<RunId, Arc<Work>>>,
    /// Where packages are packed as they go out.
    pub(super) bench: Arc<Mutex<Option<Workbench>>>,
    /// Those that are signed now.
    pub(super) signing: Signing,
    /// Those who wait for a one-time code.
    pub(super) codes: Codes,
    pub(super) sayings: OnceLock<Arc<Sayings>>,
    /// What is done about each package, for its log.
    pub(super) diary: Diary,
    patience: OnceLock<Duration>,
}

/// A run that is worked on here.
#[derive(Debug)]
pub(super) struct Work {
    pub order: PublishOrder,
    /// As it was when the run was taken up.
    pub set: Arc<PackedSet>,
    pub packages: Vec<Package>,
    targets: Mutex<BTreeMap<PackageId, Target>>,
    /// Since when it is worked on here.
    pub began: Timestamp,
}

impl Work {
    /// Where a package goes, with the leave that is known now.
    pub fn target(&self, id: &PackageId) -> Option<Target> {
        self.targets().get(id).cloned()
    }

    /// What settings say now of leave; where packages go stays as it was.
    fn renew(&self, mut fresh: BTreeMap<PackageId, Target>) {
        for (id, target) in self.targets().iter_mut() {
            if let Some(fresh) = fresh.remove(id).filter(|it| it.address == target.address) {
                target.credentials = fresh.credentials;
            }
        }
    }

    fn targets(&self) -> MutexGuard<'_, BTreeMap<PackageId, Target>> {
        self.targets.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Publisher {
    /// With the settings of these surroundings.
    ///
    /// # Errors
    ///
    /// When a proxy makes no sense.
    pub fn new(around: Surroundings) -> Result<Arc<Self>, HttpBuildError> {
        Ok(Arc::new(Self {
            client: Arc::new(Client::new(&around)?),
            around,
            buckets: Mutex::default(),
            works: Mutex::default(),
            bench: Arc::default(),
            signing: Signing::default(),
            codes: Codes::default(),
            sayings: OnceLock::new(),
            diary: Diary::default(),
            patience: OnceLock::new(),
        }))
    }

    /// Waits for registries no longer than this, whatever a run was started with. The first word counts.
    pub fn wait_at_most(&self, most: Duration) {
        // Whoever was first has said it.
        let _ = self.patience.set(most);
    }

    pub(super) fn patience(&self) -> Option<Duration> {
        self.patience.get().copied()
    }

    /// The settings it works with.
    #[must_use]
    pub fn around(&self) -> &Surroundings {
        &self.around
    }

    /// What a run was started with, from what is kept with it. Tokens are read when they are needed.
    pub(super) fn work(&self, run: RunId, payload: &[u8]) -> Result<Arc<Work>, String> {
        if let Some(work) = self.works().get(&run) {
            return Ok(Arc::clone(work));
        }
        let order = PublishOrder::read(payload);
        let order = order.ok_or("what the run was started with cannot be understood here")?;
        let set = PackedSet::load(&order.packed).ok_or_else(|| {
            format!("what was packed is not in {} any more; publish again", order.packed.display())
        })?;
        let packages = discover(&order.root).packages;
        let (set, targets) = (Arc::new(set), Mutex::new(self.targets_of(&order, &packages)));
        let work = Arc::new(Work { order, set, packages, targets, began: wall_clock() });
        Ok(Arc::clone(self.works().entry(run).or_insert(work)))
    }

    /// Where a package goes, with leave that is read and asked for once more where what it had is not good any more. Whoever
    /// comes later has it from the start.
    pub(super) fn with_fresh_leave(
        &self,
        work: &Work,
        id: &PackageId,
        had: &Target,
    ) -> Option<Target> {
        if work.target(id)?.credentials == had.credentials {
            self.around.forget_leave();
            self.client.forget_trust(had, id);
            work.renew(self.targets(&work.order));
        }
        work.target(id)
    }

    /// Where the packages of an order go, as the settings say now.
    pub(super) fn targets(&self, order: &PublishOrder) -> BTreeMap<PackageId, Target> {
        self.targets_of(order, &discover(&order.root).packages)
    }

    /// Where other packages of its workspace are, of those that are wanted.
    pub(super) fn other_targets(
        &self,
        order: &PublishOrder,
        is_wanted: impl Fn(&PackageId) -> bool,
    ) -> BTreeMap<PackageId, Target> {
        let packages = discover(&order.root).packages;
        let is_other = |it: &Package| order.package(&it.id.to_string()).is_none();
        let others = packages.iter().filter(|it| it.is_public() && is_other(it));
        self.located(order, others.filter(|it| is_wanted(&it.id)))
    }

    fn targets_of(
        &self,
        order: &PublishOrder,
        packages: &[Package],
    ) -> BTreeMap<PackageId, Target> {
        let is_ours = |package: &&Package| order.package(&package.id.to_string()).is_some();
        self.located(order, packages.iter().filter(is_ours))
    }

    fn located<'a>(
        &self,
        order: &PublishOrder,
        packages: impl Iterator<Item = &'a Package>,
    ) -> BTreeMap<PackageId, Target> {
        let mut around = self.around.clone();
        around.registry.clone_from(&order.registry);
        packages
            .filter_map(|package| Some((package.id.clone(), target_of(package, &around).ok()?)))
            .collect()
    }

    fn works(&self) -> MutexGuard<'_, HashMap<RunId, Arc<Work>>> {
        self.works.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Takes the right to upload one package now, or says how long its registry takes none.
    pub(super) fn may_upload(&self, package: &OrderedPackage, said: Pace) -> Result<(), Duration> {
        self.with_bucket(package, package.is_new, said, |bucket| bucket.take(wall_clock()))
    }

    /// A registry has said that it takes none for so long, be it new or not.
    pub(super) fn hold_back(&self, package: &OrderedPackage, said: Pace, wait: Duration) {
        for is_new in [true, false] {
            self.with_bucket(package, is_new, said, |bucket| bucket.close(wall_clock(), wait));
        }
    }

    fn with_bucket<T>(
        &self,
        package: &OrderedPackage,
        is_new: bool,
        said: Pace,
        ask: impl FnOnce(&mut Bucket) -> T,
    ) -> T {
        let mut buckets = self.buckets.lock().unwrap_or_else(PoisonError::into_inner);
        let key = (package.address.index.clone(), is_new);
        let fresh = || {
            let pace = pace_of(package.id().ecosystem(), &package.address, said);
            let rate = if is_new { pace.new } else { pace.update };
            rate.map_or_else(Bucket::unlimited, Bucket::new)
        };
        ask(buckets.entry(key).or_insert_with(fresh))
    }
}

/// How fast a registry takes packages, as far as it is known; what is said of registries of crates counts for all of them.
pub(crate) fn pace_of(ecosystem: Ecosystem, registry: &Address, said: Pace) -> Pace {
    let known = match registry.name.as_str() {
        "crates-io" if !is_of_this_machine(&registry.index) => Pace::of_public_crates(),
        _ => Pace::default(),
    };
    match ecosystem {
        Ecosystem::Cargo => known.unless_said(said),
        Ecosystem::Npm | Ecosystem::Python => Pace::default(),
    }
}
