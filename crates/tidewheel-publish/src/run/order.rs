//! [`PublishOrder`]: what a publish was started with, kept with its run.
//!
//! Files are beside it, in the folder that it names; tokens are nowhere.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};
use std::time::Duration;

use tidewheel::store::RunDetail;

use super::journal::Journal;
use super::kind::PUBLISH_KIND;
use super::mishap::Mishap;
use crate::pack::PackedSet;
use crate::package::{Ecosystem, PackageId};
use crate::plan::{Class, Pace, Plan, Planned};
use crate::settings::{Address, Target};

/// The form of what is kept; another one is not understood.
const FORM: u32 = 1;

/// What a publish was started with.
#[derive(Debug, Clone, PartialEq, Eq, serde::Serialize, serde::Deserialize)]
pub struct PublishOrder {
    form: u32,
    /// The folder of the workspace.
    pub root: PathBuf,
    /// The folder with what was packed.
    pub packed: PathBuf,
    /// The commit that it was packed from, if it was one.
    pub commit: Option<String>,
    /// The digest of the plan that somebody has agreed to: this one, or one of which this is left.
    pub plan: String,
    /// What was said of what is published and of what follows, in the words of a surface. Whoever goes on says the same, or
    /// nothing.
    #[serde(default)]
    pub asked: BTreeMap<String, Vec<String>>,
    /// Who asked for it.
    #[serde(default)]
    pub actor: String,
    /// The registry that was asked for by name.
    pub registry: Option<String>,
    /// How it is done.
    pub options: PublishOptions,
    /// What is published, each after what it needs.
    pub packages: Vec<OrderedPackage>,
    /// What is not, because something is in its way: it is not all out without these.
    #[serde(default)]
    pub stuck: Vec<Stuck>,
}

/// A package that could not be begun.
#[derive(Debug, Clone, PartialEq, Eq, serde::Serialize, serde::Deserialize)]
pub struct Stuck {
    /// Which one.
    pub package: String,
    /// Its version.
    pub version: String,
    /// Why.
    pub why: String,
    /// The same as a word that does not change.
    pub code: Option<Mishap>,
}

impl Stuck {
    fn of(planned: &Planned) -> Self {
        Self {
            package: planned.id.to_string(),
            version: planned.version.to_string(),
            why: planned.class.to_string(),
            code: Mishap::of(&planned.class),
        }
    }
}

/// How packages are published.
#[derive(Debug, Clone, PartialEq, Eq, serde::Serialize, serde::Deserialize)]
#[serde(default)]
pub struct PublishOptions {
    /// Packages at once.
    pub concurrency: u32,
    /// How often one is tried again.
    pub retries: u32,
    /// Time before the first of these, at most.
    pub retry_base_delay: Duration,
    /// Time for one try.
    pub timeout: Duration,
    /// The longest time that is waited for registries; `None`: as long as they want.
    pub max_wait: Option<Duration>,
    /// How fast registries of crates take packages, where that is not what is known of them.
    pub pace: Pace,
    /// How long it may take until what was uploaded can be seen.
    pub visible_within: Duration,
    /// How often somebody looks whether it can.
    pub look_every: Duration,
    /// How long somebody may take to say a one-time code that a registry wants; none: it ends without one.
    pub code_within: Duration,
    /// The tag of git for what can be had, with `{name}` and `{version}` for those; one without a name is for all of them.
    pub tag: Option<String>,
    /// Where tags are pushed to.
    pub push_tags: Option<String>,
    /// A line for the shell, run once for each package that was uploaded and can be had.
    pub hook: Option<String>,
    /// A line for the shell that makes a statement about a file that is sent, for packages that want one.
    pub signer: Option<String>,
    /// How many are signed at once.
    pub signers: u32,
    /// Several packages of npm get their tags when all of them are out, not before.
    pub holds_tags: bool,
    /// Each package is packed when it is its turn, not all of them before the first is sent.
    pub streams: bool,
    /// Crates that are packed then are built from what was packed.
    pub verifies: bool,
}

impl Default for PublishOptions {
    fn default() -> Self {
        Self {
            concurrency: 5,
            retries: 3,
            retry_base_delay: Duration::from_secs(1),
            timeout: Duration::from_secs(600),
            max_wait: None,
            pace: Pace::default(),
            visible_within: Duration::from_secs(600),
            look_every: Duration::from_secs(1),
            code_within: Duration::ZERO,
            tag: None,
            push_tags: None,
            hook: None,
            signer: None,
            signers: 1,
            holds_tags: true,
            streams: false,
            verifies: true,
        }
    }
}

/// One package of an order.
#[derive(Debug, Clone, PartialEq, Eq, serde::Serialize, serde::Deserialize)]
pub struct OrderedPackage {
    ecosystem: String,
    name: String,
    /// Its version.
    pub version: String,
    /// Where it goes.
    pub address: Address,
    /// What must be resolvable before, by the names of tasks.
    pub after: Vec<String>,
    /// Whether its registry has never seen it.
    pub is_new: bool,
    /// Whether it was out before anything began.
    pub is_out: bool,
    /// Whether it was out before, and nothing says that it is of this commit: that one gets no tag for it.
    #[serde(default)]
    pub is_earlier: bool,
    /// Whether it goes out with a statement about where it was built.
    #[serde(default)]
    pub is_signed: bool,
    /// Of its files, in hexadecimal digits; none if it was not packed yet.
    #[serde(default)]
    pub sha256: Vec<String>,
}

impl OrderedPackage {
    /// Which package it is.
    #[must_use]
    pub fn id(&self) -> PackageId {
        let ecosystem = Ecosystem::of_word(&self.ecosystem);
        PackageId::new(ecosystem.unwrap_or(Ecosystem::Cargo), &self.name)
    }

    /// Whether this is what is left to be done about it: the same content to the same place, unless it is out by now.
    fn leaves(&self, now: &Self) -> bool {
        // Files of Python's come one by one, so that the first of a new package make it a known one.
        let is_begun = self.is_new && !now.is_new && self.ecosystem == Ecosystem::Python.word();
        let is_left = self.is_new == now.is_new || is_begun;
        let is_content = self.sha256 == now.sha256 || self.sha256.is_empty();
        let is_same = self.id() == now.id()
            && self.version == now.version
            && self.address == now.address
            && self.after == now.after;
        is_same && is_content && (now.is_out || (!self.is_out && is_left))
    }
}

impl PublishOrder {
    /// The order of a plan: what it uploads, and what is out and others need. What is in the way of some keeps these
    /// out, and all that needs them.
    #[must_use]
    pub fn new(
        plan: &Plan,
        set: &PackedSet,
        target: impl Fn(&PackageId) -> Option<Target>,
        options: PublishOptions,
    ) -> Self {
        let can_go = |class: &Class| class.can_be_had();
        let planned: Vec<_> = plan.packages.iter().filter(|it| can_go(&it.class)).collect();
        let is_planned = |id: &PackageId| planned.iter().any(|it| it.id == *id);
        let streams = options.streams;
        let packages = planned.iter().filter_map(|planned| {
            let after = planned.after.iter().filter(|id| is_planned(id));
            let packed = set.package(&planned.id);
            let version = packed.map(|it| it.version.clone());
            let files = packed.map(|it| it.files.as_slice()).unwrap_or_default();
            Some(OrderedPackage {
                ecosystem: planned.id.ecosystem().word().to_owned(),
                name: planned.id.name().to_owned(),
                version: version.unwrap_or_else(|| planned.version.to_string()),
                address: target(&planned.id)?.address,
                after: after.map(ToString::to_string).collect(),
                is_new: planned.class == Class::New,
                // What was not packed yet is compared when it is.
                is_out: match streams {
                    true => planned.class == Class::Done,
                    false => !planned.class.is_upload(),
                },
                is_earlier: is_earlier(set, &planned.id, &planned.class),
                is_signed: false,
                sha256: files.iter().map(|file| file.sha256.clone()).collect(),
            })
        });
        Self {
            form: FORM,
            root: PathBuf::new(),
            packed: set.folder.clone(),
            commit: set.commit.clone(),
            plan: plan.digest.clone(),
            asked: BTreeMap::new(),
            actor: actor(),
            registry: None,
            options,
            packages: packages.collect(),
            stuck: plan.stuck().map(Stuck::of).collect(),
        }
    }

    /// The same, of this workspace.
    #[must_use]
    pub fn of(mut self, root: PathBuf, registry: Option<String>) -> Self {
        (self.root, self.registry) = (root, registry);
        self
    }

    /// The same with statements about these packages.
    #[must_use]
    pub fn signed(mut self, is_signed: impl Fn(&PackageId) -> bool) -> Self {
        for package in &mut self.packages {
            package.is_signed = is_signed(&package.id());
        }
        self
    }

    /// The same, by somebody who has said this.
    #[must_use]
    pub fn asked(mut self, asked: BTreeMap<String, Vec<String>>) -> Self {
        self.asked = asked;
        self
    }

    /// Whether another order is what is left of this one: the same packages of the same tree for the same registries, of
    /// which more is out by now, and nothing else is different.
    #[must_use]
    pub fn leaves(&self, now: &Self) -> bool {
        let pairs = || self.packages.iter().zip(&now.packages);
        self.packed == now.packed
            && self.stuck == now.stuck
            && self.packages.len() == now.packages.len()
            && pairs().all(|(then, now)| then.leaves(now))
    }

    /// As it is kept.
    #[must_use]
    pub fn to_bytes(&self) -> Vec<u8> {
        serde_json::to_vec(self).unwrap_or_default()
    }

    /// From what was kept; `None` if it cannot be understood here.
    #[must_use]
    pub fn read(bytes: &[u8]) -> Option<Self> {
        serde_json::from_slice(bytes).ok().filter(|order: &Self| order.form == FORM)
    }

    /// What a run was started with; `None` if it is no publish, or one that cannot be understood here.
    #[must_use]
    pub fn of_run(run: &RunDetail) -> Option<Self> {
        let is_ours = run.payload_kind.as_deref() == Some(PUBLISH_KIND);
        run.payload.as_deref().filter(|_| is_ours).and_then(Self::read)
    }

    /// Whether packages of npm are uploaded under a holding tag first: one alone need not be, and one that goes without
    /// others that cannot be begun is not alone.
    pub(super) fn holds(&self) -> bool {
        let all = self.packages.iter().map(OrderedPackage::id);
        let all = all.chain(self.stuck().map(|(id, _)| id));
        self.options.holds_tags && all.filter(|id| id.ecosystem() == Ecosystem::Npm).count() > 1
    }

    /// The packages that could not be begun, with their versions.
    pub(super) fn stuck(&self) -> impl Iterator<Item = (PackageId, &str)> {
        let stuck = self.stuck.iter();
        stuck.filter_map(|it| Some((PackageId::parse(&it.package)?, it.version.as_str())))
    }

    /// Whether there is nothing to do.
    #[must_use]
    pub fn is_out(&self) -> bool {
        self.packages.iter().all(|it| it.is_out)
    }

    /// The package of a task.
    #[must_use]
    pub fn package(&self, task: &str) -> Option<&OrderedPackage> {
        self.packages.iter().find(|package| package.id().to_string() == task)
    }
}

/// Whether a package is out, and neither sent from this tree nor known to be of its commit, as a crate is that has the same
/// digest: in it cargo has written which one it was.
fn is_earlier(set: &PackedSet, id: &PackageId, class: &Class) -> bool {
    let is_of_this_commit = *class == Class::Done
        && id.ecosystem() == Ecosystem::Cargo
        && !set.is_of_another_commit(id);
    let was_sent = || Journal::load(&Journal::path(&set.folder, id)).sent;
    !class.is_upload() && !is_of_this_commit && !was_sent()
}

/// The folder of what is kept of a workspace: its sets are two levels below it.
pub(super) fn ours(packed: &Path) -> &Path {
    packed.ancestors().nth(2).unwrap_or(packed)
}

/// Who uses this process, and where.
fn actor() -> String {
    let user = ["USER", "LOGNAME", "USERNAME"].iter().find_map(|name| std::env::var(name).ok());
    format!("{}@{}", user.unwrap_or_else(|| "somebody".to_owned()), super::lock::host())
}
