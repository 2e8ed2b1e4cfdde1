//! [`Report`]: what a publish came to. Registries are asked once more; what they say counts, and nothing else.
//!
//! How it is shown is the business of surfaces.

use std::collections::BTreeMap;
use std::fmt::Write as _;

use tidewheel::Timestamp;
use tidewheel::clock::wall_clock;
use tidewheel::store::RunDetail;

use super::follow::Tagged;
use super::journal::{End, Journal, Phase};
use super::judge::{Judged, judge};
use super::mishap::Mishap;
use super::order::{PublishOrder, Stuck};
use super::publisher::Publisher;
use super::unmet::UnmetNeed;
use crate::exchange::census;
use crate::pack::PackedSet;
use crate::package::PackageId;
use crate::plan::Class;
use crate::registry::Listing;

/// How often what was seen once is looked for again.
const LOOKS_AGAIN: u32 = 10;

/// What a publish came to.
#[derive(Debug, Clone, PartialEq, Eq, serde::Serialize)]
pub struct Report {
    /// The run, if there was something to do.
    pub run_id: Option<String>,
    /// The digest of the plan.
    pub plan: String,
    /// The commit that was published, if it was one.
    pub commit: Option<String>,
    /// What it comes to as a whole.
    pub verdict: Verdict,
    /// Packages that were uploaded and can be had.
    pub published: Vec<String>,
    /// Packages that were out before.
    pub done: Vec<String>,
    /// Packages that are not out, for a reason of their own.
    pub failed: Vec<String>,
    /// Packages that were not begun, because of others or because somebody cancelled.
    pub skipped: Vec<String>,
    /// From when on it makes sense to go on, if that is known.
    pub go_on_at: Option<String>,
    /// Whether a registry wants a one-time code.
    pub wants_code: bool,
    /// Who asked for it.
    pub actor: String,
    /// When this was found out.
    pub at: String,
    /// Needs of packages that are out, for which nothing is out that will do.
    pub unmet: Vec<UnmetNeed>,
    /// Tags of git.
    pub tags: Vec<Tagged>,
    /// All of them.
    pub packages: Vec<Reported>,
}

/// What a publish comes to as a whole.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, serde::Serialize)]
#[serde(rename_all = "kebab-case")]
pub enum Verdict {
    /// All is out.
    Done,
    /// Not all is out; run again it goes on.
    Incomplete,
    /// Somebody has to see to something first: a conflict, a token.
    Blocked,
    /// A registry does not want what it was sent.
    Failed,
}

impl Verdict {
    /// The exit code of a command that ends so.
    #[must_use]
    pub fn exit_code(self) -> u8 {
        match self {
            Self::Done => 0,
            Self::Failed => 1,
            Self::Incomplete => 7,
            Self::Blocked => 8,
        }
    }

    /// The word for it.
    #[must_use]
    pub fn word(self) -> &'static str {
        match self {
            Self::Done => "done",
            Self::Incomplete => "incomplete",
            Self::Blocked => "blocked",
            Self::Failed => "failed",
        }
    }
}

/// What became of one package.
#[derive(Debug, Clone, PartialEq, Eq, serde::Serialize)]
pub struct Reported {
    /// The package.
    pub package: String,
    /// Its version.
    pub version: String,
    /// `published`, `done`, `failed`, `skipped`, `waiting`, `blocked`.
    pub result: &'static str,
    /// Of each of its files.
    pub sha256: Vec<String>,
    /// Where it went.
    pub registry: String,
    /// Uploads that were begun.
    pub uploads: u32,
    /// When the first of them was.
    pub began_at: Option<String>,
    /// When it was first seen where those look who resolve.
    pub seen_at: Option<String>,
    /// How often its registry had trouble with it, so that it was tried again.
    pub retries: u32,
    /// How long was waited for its registry.
    pub waited_ms: u64,
    /// What is wrong with it.
    pub error: Option<String>,
    /// The same as a word that does not change.
    pub code: Option<Mishap>,
}

impl Reported {
    fn stuck(Stuck { package, version, why, code }: &Stuck) -> Self {
        Self {
            package: package.clone(),
            version: version.clone(),
            result: "blocked",
            sha256: Vec::new(),
            registry: String::new(),
            uploads: 0,
            began_at: None,
            seen_at: None,
            retries: 0,
            waited_ms: 0,
            error: Some(why.clone()),
            code: *code,
        }
    }
}

impl Report {
    /// What a run came to, by a census of its registries.
    pub async fn new(publisher: &Publisher, order: &PublishOrder, run: Option<&RunDetail>) -> Self {
        let set = PackedSet::load(&order.packed);
        let mut seen = look(publisher, order, set.as_ref()).await;
        let listings = std::mem::take(&mut seen.listings);
        let mut packages = Vec::new();
        let mut verdict = Verdict::Done;
        let mut until: Option<i64> = None;
        let mut wants_code = false;
        for package in &order.packages {
            let id = package.id();
            let journal = Journal::load(&Journal::path(&order.packed, &id));
            let class = seen.classes.remove(&id);
            let class = class.unwrap_or_else(|| Err("nobody says where it goes".to_owned()));
            let task =
                run.and_then(|run| run.tasks.iter().find(|task| task.name == id.to_string()));
            let state = task.map(|task| task.state);
            let Judged { result, worth, code, error } =
                judge(&class, package.is_out, state, &journal);
            verdict = verdict.max(worth);
            wants_code |= worth == Verdict::Blocked && journal.end == Some(End::CodeWanted);
            until = until.max(journal.until.filter(|_| result == "waiting"));
            let files = set.as_ref().and_then(|set| set.package(&id)).map(|it| it.files.as_slice());
            packages.push(Reported {
                package: id.to_string(),
                version: package.version.clone(),
                result,
                sha256: files.unwrap_or_default().iter().map(|file| file.sha256.clone()).collect(),
                registry: package.address.name.clone(),
                uploads: journal.uploads,
                began_at: journal.began.map(instant),
                seen_at: (journal.phase == Phase::Visible).then(|| instant(journal.since)),
                retries: journal.retries,
                waited_ms: journal.waited_ms,
                error,
                code,
            });
        }
        packages.extend(order.stuck.iter().map(Reported::stuck));
        verdict =
            verdict.max(if order.stuck.is_empty() { Verdict::Done } else { Verdict::Blocked });
        let those = |results: &[&str]| -> Vec<String> {
            let found = packages.iter().filter(|it| results.contains(&it.result));
            found.map(|it| it.package.clone()).collect()
        };
        let mut report = Self {
            run_id: run.map(|run| run.summary.id.to_string()),
            plan: order.plan.clone(),
            commit: order.commit.clone(),
            verdict,
            published: those(&["published"]),
            done: those(&["done"]),
            failed: those(&["failed", "waiting"]),
            skipped: those(&["skipped", "blocked"]),
            go_on_at: until.map(instant),
            wants_code,
            actor: order.actor.clone(),
            at: wall_clock().to_string(),
            unmet: Vec::new(),
            tags: Vec::new(),
            packages,
        };
        if let Some(set) = &set {
            report.check_needs(publisher, order, set, listings).await;
        }
        report
    }

    /// The same for people who read it later, in Markdown.
    #[must_use]
    pub fn to_markdown(&self) -> String {
        let mut text = format!("# Published: {}\n\n", self.verdict.word());
        if let Some(run) = &self.run_id {
            let _ = writeln!(text, "- run `{run}`");
        }
        if let Some(commit) = &self.commit {
            let _ = writeln!(text, "- commit `{commit}`");
        }
        let _ = writeln!(text, "- plan `{}`, by {}, at {}", self.plan, self.actor, self.at);
        for it in &self.tags {
            let error = it.error.as_ref().map(|it| format!(": {it}")).unwrap_or_default();
            let _ = writeln!(text, "- tag `{}` {}{error}", it.tag, it.state);
        }
        if let Some(at) = &self.go_on_at {
            let _ = writeln!(text, "- go on after {at}");
        }
        text.push_str("\n| Package | Version | Result | Registry | Uploads | Retries | Waited | Seen | SHA-256 |\n|---|---|---|---|---|---|---|---|---|\n");
        for it in &self.packages {
            let digests: Vec<&str> =
                it.sha256.iter().map(|digest| &digest[..digest.len().min(12)]).collect();
            let cells = [
                it.package.as_str(),
                &it.version,
                it.result,
                &it.registry,
                &it.uploads.to_string(),
                &it.retries.to_string(),
                &format!("{} s", it.waited_ms / 1000),
                it.seen_at.as_deref().unwrap_or_default(),
                &digests.join(" "),
            ];
            let cells = cells.map(|cell| cell.replace('|', "\\|").replace('\n', " "));
            let _ = writeln!(text, "| {} |", cells.join(" | "));
        }
        let wrong = self.packages.iter().filter_map(|it| Some((it, it.error.as_ref()?)));
        for (number, (it, error)) in wrong.enumerate() {
            let before = if number == 0 { "\n" } else { "" };
            let code = it.code.map(|code| format!(" (`{code}`)")).unwrap_or_default();
            let _ = writeln!(
                text,
                "{before}- **{}** {}: {}{code}",
                it.package,
                it.version,
                error.replace('\n', " ")
            );
        }
        text
    }
}

fn instant(micros: i64) -> String {
    Timestamp::from_micros(micros).to_string()
}

/// What registries say of the packages of an order.
#[derive(Default)]
struct SeenPackages {
    classes: BTreeMap<PackageId, Result<Class, String>>,
    listings: BTreeMap<PackageId, Listing>,
}

/// What is out of an order. Registries that are several machines may not be of one mind yet: what was seen once and is not
/// seen now is looked for a few times more.
async fn look(
    publisher: &Publisher,
    order: &PublishOrder,
    set: Option<&PackedSet>,
) -> SeenPackages {
    let mut targets = publisher.targets(order);
    let mut seen = SeenPackages::default();
    let version_of = |id: &PackageId| Some(order.package(&id.to_string())?.version.clone());
    for round in 0..=LOOKS_AGAIN {
        for (id, listing) in census(&publisher.client, &targets, version_of).await {
            let ours = set.and_then(|set| set.digests(&id)).unwrap_or_default();
            let version = order.package(&id.to_string()).map_or("", |package| &package.version);
            let class = listing.as_ref().map(|listing| Class::of(&id, listing, version, &ours));
            seen.classes.insert(id.clone(), class.map_err(Clone::clone));
            seen.listings.extend(listing.ok().map(|listing| (id, listing)));
        }
        let was_seen = |id: &PackageId| {
            Journal::load(&Journal::path(&order.packed, id)).phase == Phase::Visible
        };
        let is_seen =
            |id: &PackageId| seen.classes.get(id).is_some_and(|it| *it == Ok(Class::Done));
        targets.retain(|id, _| was_seen(id) && !is_seen(id));
        if targets.is_empty() || round == LOOKS_AGAIN {
            break;
        }
        tokio::time::sleep(order.options.look_every).await;
    }
    seen
}
