//! What one attempt at a package does: look, upload what is missing, look again.
//!
//! Whatever was done before, here or elsewhere, by somebody who lives or has died: a look says what is left. Nothing
//! waits inside an attempt, so nobody's place is taken by one that cannot go on.

use std::fmt;
use std::sync::Arc;
use std::time::Duration;

use tidewheel::clock::wall_clock;
use tidewheel::executor::http::RETRY_AFTER_MAX;
use tidewheel::id::TaskId;
use tidewheel::store::{AttemptRecord, OutputRecord, OutputValue};
use tidewheel::task::Failure;
use tidewheel::{Attempt, Outcome, Timestamp};
use tidewheel_client::text::{bytes as in_bytes, span};

use super::journal::{End, Hook, Journal, Phase};
use super::order::{OrderedPackage, PublishOptions, ours};
use super::publisher::{Publisher, Work};
use crate::exchange::{Parcel, Said, Trouble};
use crate::pack::{PackedFile, PackedSet};
use crate::package::PackageId;
use crate::plan::Class;
use crate::registry::{Listed, Listing};
use crate::settings::{Credentials, Target};

/// The longest wait that nobody has asked for.
const BACK_OFF_MAX: Duration = Duration::from_secs(600);
/// What was uploaded so long ago and is still not seen is uploaded once more.
const LOST_AFTER: Duration = Duration::from_secs(1800);

/// How an attempt ended.
#[derive(Debug)]
pub(super) enum Ended {
    /// Those who resolve can have it.
    Visible,
    /// It is not time yet.
    Later(Duration, String),
    /// Another attempt may go better.
    Again(String, Option<Duration>),
    /// It will not go better by itself.
    Stopped(End, String, Option<Timestamp>),
}

impl fmt::Display for Ended {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Visible => f.write_str("those who resolve can have it"),
            Self::Later(wait, what) => write!(f, "{what}; goes on in {}", span(*wait)),
            Self::Again(what, None) => write!(f, "{what}; may be tried again"),
            Self::Again(what, Some(wait)) => {
                write!(f, "{what}; may be tried again in {}", span(*wait))
            }
            Self::Stopped(_, what, None) => write!(f, "ends here: {what}"),
            Self::Stopped(_, what, Some(until)) => {
                write!(f, "ends here: {what}; go on after {until}")
            }
        }
    }
}

impl Publisher {
    /// Makes one attempt at a package of a run.
    pub async fn attempt(&self, attempt: Attempt) -> Outcome {
        if let Some(sayings) = self.sayings.get() {
            sayings.begin(attempt.id(), attempt.number());
        }
        let payload = attempt.payload().unwrap_or_default();
        let work = match self.work(attempt.id().run, &payload) {
            Ok(work) => work,
            Err(error) => return failure(&error, true, None),
        };
        let task = attempt.task_name().unwrap_or_default();
        let Some(package) = work.order.package(&task) else {
            return failure("the run was started without this package", true, None);
        };
        let set = Arc::clone(&work.set);
        let (id, task) = (package.id(), attempt.id());
        let mut one = One { publisher: self, work: &work, package, id, task, set };
        let mut journal = Journal::load(&one.journal());
        let ended = match self.packed(&work, package).await {
            Ok(set) => {
                one.set = set;
                one.go(&mut journal).await
            }
            Err(ended) => ended,
        };
        let ended = one.within_patience(&journal, ended);
        one.conclude(&attempt, journal, ended)
    }
}

/// One package of a run.
pub(super) struct One<'a> {
    pub publisher: &'a Publisher,
    pub work: &'a Work,
    pub package: &'a OrderedPackage,
    pub id: PackageId,
    /// In whose log it is written what is done.
    pub task: TaskId,
    /// What was packed.
    pub set: Arc<PackedSet>,
}

impl One<'_> {
    /// Writes into the log of the package.
    pub(super) fn tell(&self, what: impl fmt::Display) {
        self.publisher.diary.tell(self.task, what);
    }

    fn journal(&self) -> std::path::PathBuf {
        Journal::path(&self.work.order.packed, &self.id)
    }

    async fn go(&self, journal: &mut Journal) -> Ended {
        let mut target = match self.target() {
            Ok(target) => target,
            Err(ended) => return ended,
        };
        if let Some(ended) = self.wait_for_code(journal) {
            return ended;
        }
        let mut looked = self.look(&target).await;
        if let Err(Trouble::NotAllowed { .. }) = looked
            && let Some(fresh) = self.fresh(&target)
        {
            looked = self.look(&fresh).await;
            target = fresh;
        }
        let target = &target;
        match looked {
            Ok((Class::Done, _)) => Ended::Visible,
            Ok((class @ Class::Conflict { .. }, listing)) => {
                self.same_or_not(target, journal, class, listing).await
            }
            Ok((class, _)) if !class.is_upload() => self.not_ours(&class),
            Ok((_, listing)) => self.bring(target, journal, &listing).await,
            // What was uploaded is waited for, however its registry feels about it.
            Err(trouble) if journal.phase == Phase::Uploaded => {
                self.not_seen(journal, &trouble.to_string())
            }
            Err(trouble) => match journal.refused.clone() {
                Some(no) => self.settle(target, journal, no).await,
                None => self.in_trouble(trouble, journal),
            },
        }
    }

    /// Where it goes, if that is still where it was meant to go.
    fn target(&self) -> Result<Target, Ended> {
        let stopped = |what: String| Ended::Stopped(End::NotAllowed, what, None);
        let target = self.work.target(&self.id);
        let target =
            target.ok_or_else(|| stopped("nobody says any more where it goes".to_owned()))?;
        if target.address != self.package.address {
            let (then, now) = (&self.package.address.index, &target.address.index);
            return Err(stopped(format!(
                "it was planned to go to {then}, and settings now say {now}"
            )));
        }
        Ok(target)
    }

    /// The same with other leave, if settings have other leave now: that of before may have ended.
    fn fresh(&self, target: &Target) -> Option<Target> {
        let fresh = self.publisher.with_fresh_leave(self.work, &self.id, target);
        fresh.filter(|fresh| fresh.credentials != target.credentials)
    }

    /// What is out of it, held against what we have.
    async fn look(&self, target: &Target) -> Result<(Class, Listing), Trouble> {
        let (client, version) = (&self.publisher.client, &self.package.version);
        let listing = client.listing_of(target, &self.id, version).await?;
        let ours = self.set.digests(&self.id).unwrap_or_default();
        let class = Class::of(&self.id, &listing, version, &ours);
        self.tell(format_args!(
            "looked in {}: version {version} is {}",
            target.address.name,
            seen(&class)
        ));
        Ok((class, listing))
    }

    /// What was packed only now may be out as it was packed of another commit.
    async fn same_or_not(
        &self,
        target: &Target,
        journal: &mut Journal,
        class: Class,
        listing: Listing,
    ) -> Ended {
        let targets = [(self.id.clone(), target.clone())].into();
        let listings = [(self.id.clone(), listing)].into();
        match self.publisher.recognised(&self.set, &targets, &listings).await {
            Ok(Some(_)) => Ended::Visible,
            Ok(None) => self.not_ours(&class),
            Err((_, trouble)) => self.in_trouble(trouble, journal),
        }
    }

    /// Uploads what is missing, unless that was done and cannot be seen yet.
    async fn bring(&self, target: &Target, journal: &mut Journal, listing: &Listing) -> Ended {
        let now = wall_clock();
        // Whoever waits longer for what was taken does not want it sent again meanwhile.
        let lost_after = LOST_AFTER.max(self.work.order.options.visible_within);
        if journal.phase == Phase::Uploaded && journal.age(now) < lost_after {
            return self.not_seen(journal, "its registry has it");
        }
        if let Some(no) = journal.refused.clone() {
            return self.settle(target, journal, no).await;
        }
        let may_be_there = matches!(journal.phase, Phase::Uploading | Phase::Uploaded);
        if let Some(ended) = self.ask_before_sending(target, journal).await {
            return ended;
        }
        if let Some(ended) = self.sign(listing).await {
            return ended;
        }
        if let Err(wait) = self.publisher.may_upload(self.package, self.work.order.options.pace) {
            return Ended::Later(wait, "its registry takes only so many".to_owned());
        }
        journal.come_to(Phase::Uploading, now);
        journal.uploads += 1;
        journal.sent = true;
        journal.began.get_or_insert(now.as_micros());
        journal.is_open = true;
        if self.work.order.options.hook.is_some() {
            journal.hook = Hook::Due;
        }
        if let Err(error) = journal.store(&self.journal()) {
            return Ended::Again(
                format!("it cannot be written down that it is uploaded: {error}"),
                None,
            );
        }
        let sent = self.upload_by_leave(target, listing).await;
        journal.is_open = false;
        if let Err(trouble) = sent {
            return self.not_sent(target, journal, trouble, may_be_there).await;
        }
        journal.limited = 0;
        journal.come_to(Phase::Uploaded, wall_clock());
        match self.look(target).await {
            Ok((Class::Done, _)) => Ended::Visible,
            Ok((class, _)) if !class.is_upload() => self.not_ours(&class),
            _ => self.not_seen(journal, "its registry has it"),
        }
    }

    /// A registry that says no has taken nothing in, and the no stands: unless there was an upload before it whose end nobody
    /// saw, which may be what it says no for.
    async fn not_sent(
        &self,
        target: &Target,
        journal: &mut Journal,
        trouble: Trouble,
        may_be_there: bool,
    ) -> Ended {
        match trouble {
            Trouble::Passing { .. } => self.in_trouble(trouble, journal),
            trouble if !may_be_there => {
                journal.come_to(Phase::Packed, wall_clock());
                self.in_trouble(trouble, journal)
            }
            Trouble::Refused { what } => self.settle(target, journal, (End::Refused, what)).await,
            Trouble::NotAllowed { what } => {
                self.settle(target, journal, (End::NotAllowed, what)).await
            }
            trouble => self.in_trouble(trouble, journal),
        }
    }

    /// Its registry has said no, and what was sent before may be there. A registry that says what it has settles that; one
    /// that does not gets time to show it, and then the no stands.
    async fn settle(&self, target: &Target, journal: &mut Journal, no: (End, String)) -> Ended {
        let said = self.publisher.client.said(target, &self.id, &self.package.version).await;
        if let Ok(Said::Has(listed)) = &said
            && let Some(ended) = self.had(journal, listed)
        {
            return ended;
        }
        let options = &self.work.order.options;
        let is_over = journal.age(wall_clock()) >= options.visible_within;
        let (end, what) = no.clone();
        if is_over || matches!(said, Ok(Said::HasNot)) {
            journal.come_to(Phase::Packed, wall_clock());
            return Ended::Stopped(end, what, None);
        }
        journal.refused = Some(no);
        let what = format!("{what}; what was sent before that may be there, and not be seen yet");
        Ended::Later(options.look_every, what)
    }

    /// What is to be done about what its registry says that it has: nothing is sent.
    fn had(&self, journal: &mut Journal, listed: &Listed) -> Option<Ended> {
        let ours = self.set.digests(&self.id).unwrap_or_default();
        match Class::of_listed(listed, &ours) {
            Class::Done => {
                journal.come_to(Phase::Uploaded, wall_clock());
                Some(self.not_seen(journal, "its registry has it"))
            }
            class if !class.is_upload() => Some(self.not_ours(&class)),
            _ => None,
        }
    }

    /// An index may be late, and what is not in it may be there all the same: nothing is sent before its registry was asked
    /// for the content it has. One that says nothing of it gets time to show what somebody was sending who died.
    async fn ask_before_sending(&self, target: &Target, journal: &mut Journal) -> Option<Ended> {
        let is_left = journal.phase == Phase::Uploading && journal.is_open;
        let options = &self.work.order.options;
        let said = self.publisher.client.said(target, &self.id, &self.package.version).await;
        match said {
            Ok(Said::Has(listed)) => self.had(journal, &listed),
            Ok(Said::HasNot) => None,
            Ok(Said::Nothing) | Err(_) if !is_left => None,
            Ok(Said::Nothing) if journal.age(wall_clock()) >= options.visible_within => None,
            Ok(Said::Nothing) => {
                let what = "nobody saw the end of an upload; it may be there, and not be seen yet";
                Some(Ended::Later(options.look_every, what.to_owned()))
            }
            Err(trouble) => {
                let what = format!("nobody saw the end of an upload, and {trouble}");
                Some(Ended::Later(options.look_every, what))
            }
        }
    }

    /// Sends what is missing. A token may have ended while others were sent: what the settings say now is tried once.
    async fn upload_by_leave(&self, target: &Target, listing: &Listing) -> Result<(), Trouble> {
        let client = &self.publisher.client;
        let first = client.with_leave_for(target, &self.id).await?;
        let sent = self.upload(&first, listing).await;
        if !matches!(sent, Err(Trouble::NotAllowed { .. })) {
            return sent;
        }
        let Some(fresh) = self.publisher.with_fresh_leave(self.work, &self.id, target) else {
            return sent;
        };
        let fresh = client.with_leave_for(&fresh, &self.id).await?;
        match fresh.credentials != first.credentials {
            true => self.upload(&fresh, listing).await,
            false => sent,
        }
    }

    /// Sends the files that are not out.
    async fn upload(&self, target: &Target, listing: &Listing) -> Result<(), Trouble> {
        let refused = |what: String| Trouble::Refused { what };
        let packed = self.set.package(&self.id);
        let packed = packed.ok_or_else(|| refused("it was not packed".to_owned()))?;
        for file in self.missing(listing) {
            let bytes = self.set.content(&self.id, file);
            let bytes = bytes.map_err(|changed| refused(changed.to_string()))?;
            self.tell(format_args!(
                "uploads {}, {} (sha256 {})",
                file.name,
                in_bytes(file.bytes),
                file.sha256
            ));
            let parcel = Parcel {
                id: &self.id,
                version: &self.package.version,
                file: &file.name,
                bytes,
                metadata: &packed.metadata,
                statement: self.set.statement(&self.id, file).filter(|_| self.package.is_signed),
                // A token that is given for an upload moves no tag.
                is_held: self.work.order.holds() && !self.is_trusted(),
            };
            let sent = self.publisher.client.upload(target, parcel).await;
            match &sent {
                Ok(()) => self.tell(format_args!("its registry has taken {}", file.name)),
                Err(trouble) => self.tell(format_args!("its registry on {}: {trouble}", file.name)),
            }
            sent?;
        }
        Ok(())
    }

    /// The files that are not out.
    pub(super) fn missing<'a>(
        &'a self,
        listing: &'a Listing,
    ) -> impl Iterator<Item = &'a PackedFile> {
        let out = listing.version(self.id.ecosystem(), &self.package.version);
        let out = out.map(|listed| listed.files.as_slice()).unwrap_or_default();
        let is_out =
            move |file: &&PackedFile| out.iter().any(|it| it.name.as_ref() == Some(&file.name));
        let packed = self.set.package(&self.id).map(|it| it.files.as_slice());
        packed.unwrap_or_default().iter().filter(move |file| !is_out(file))
    }

    fn is_trusted(&self) -> bool {
        let target = self.work.target(&self.id);
        target.is_some_and(|it| it.credentials == Some(Credentials::Trusted))
    }

    fn not_ours(&self, class: &Class) -> Ended {
        Ended::Stopped(End::Conflict, format!("version {}: {class}", self.package.version), None)
    }

    /// It was uploaded, and those who resolve do not see it yet.
    fn not_seen(&self, journal: &Journal, what: &str) -> Ended {
        let options = &self.work.order.options;
        // One that was left, or is done again, looks for as long as one that has just begun.
        let age = journal.age(wall_clock()).min(wall_clock().since(self.work.began));
        if age >= options.visible_within {
            let what = format!(
                "{what}, and after {} s it cannot be seen where those look who resolve",
                age.as_secs()
            );
            return Ended::Stopped(End::Waiting, what, None);
        }
        Ended::Later(options.look_every, format!("{what}; it cannot be seen yet"))
    }

    fn in_trouble(&self, trouble: Trouble, journal: &mut Journal) -> Ended {
        match trouble {
            Trouble::Limited { wait, what } => {
                journal.limited += 1;
                let PublishOptions { retry_base_delay, pace, .. } = self.work.order.options;
                let back_off = || back_off(retry_base_delay, journal.limited, &self.id);
                let wait = wait.unwrap_or_else(back_off);
                self.publisher.hold_back(self.package, pace, wait);
                Ended::Later(wait, what)
            }
            Trouble::Passing { what, wait } => Ended::Again(what, wait),
            Trouble::NotAllowed { what } => Ended::Stopped(End::NotAllowed, what, None),
            Trouble::CodeWanted { what } => self.ask_for_code(journal, what),
            Trouble::Refused { what } => Ended::Stopped(End::Refused, what, None),
        }
    }

    /// Somebody is asked for a one-time code, if it is waited for one.
    fn ask_for_code(&self, journal: &mut Journal, what: String) -> Ended {
        if self.work.order.options.code_within.is_zero() {
            return Ended::Stopped(End::CodeWanted, what, None);
        }
        journal.code_since = Some(wall_clock().as_micros());
        self.wait_for_code(journal).unwrap_or(Ended::Later(Duration::ZERO, what))
    }

    /// What is to be done while a code is wanted that nobody has said: nothing is asked of its registry meanwhile.
    fn wait_for_code(&self, journal: &mut Journal) -> Option<Ended> {
        let since = Timestamp::from_micros(journal.code_since?);
        let stopped = |what: String| Some(Ended::Stopped(End::CodeWanted, what, None));
        if self.publisher.client.has_code() {
            journal.code_since = None;
            journal.codes += 1;
            return None;
        }
        let options = &self.work.order.options;
        if let Some(by) = self.publisher.codes.refused() {
            return stopped(format!("it wants a one-time code, and {by} says that there is none"));
        }
        let waited = wall_clock().since(since);
        if waited >= options.code_within {
            return stopped(format!(
                "it wants a one-time code, and nobody has said one within {} s",
                waited.as_secs()
            ));
        }
        let client = &self.publisher.client;
        match self.publisher.codes.listen(ours(&self.work.order.packed), client) {
            Ok(()) => {
                Some(Ended::Later(options.look_every, "a one-time code is wanted".to_owned()))
            }
            Err(error) => stopped(format!("nobody can be asked for a one-time code: {error}")),
        }
    }

    /// A wait that is longer than anybody wants ends it for now.
    fn within_patience(&self, journal: &Journal, ended: Ended) -> Ended {
        let (wait, what) = match &ended {
            Ended::Later(wait, what) | Ended::Again(what, Some(wait)) => (*wait, what),
            _ => return ended,
        };
        // It is not its registry that is waited for.
        if journal.code_since.is_some() {
            return ended;
        }
        let until = wall_clock() + wait;
        let is_too_long = |most| until > self.work.began + most;
        let most = self.publisher.patience().or(self.work.order.options.max_wait);
        if wait >= RETRY_AFTER_MAX || most.is_some_and(is_too_long) {
            return Ended::Stopped(End::Waiting, what.clone(), Some(until));
        }
        ended
    }

    /// Writes down how it ended, and tells the scheduler.
    fn conclude(&self, attempt: &Attempt, mut journal: Journal, ended: Ended) -> Outcome {
        let mut record = AttemptRecord::default();
        self.tell(&ended);
        match &ended {
            Ended::Visible => {
                journal.come_to(Phase::Visible, wall_clock());
                record.outputs = self.outputs(&journal);
            }
            Ended::Later(wait, what) => {
                journal.waited_ms += u64::try_from(wait.as_millis()).unwrap_or(u64::MAX);
                // That it is looked for again soon is not worth telling.
                let is_long = *wait > self.work.order.options.look_every;
                journal.until = is_long.then(|| (wall_clock() + *wait).as_micros());
                record.error = Some(what.clone());
            }
            Ended::Again(what, _) => {
                journal.retries += 1;
                (journal.end, journal.said) = (Some(End::Trouble), Some(what.clone()));
                record.error = Some(what.clone());
            }
            Ended::Stopped(end, what, until) => {
                journal.code_since = None;
                (journal.end, journal.said) = (Some(*end), Some(what.clone()));
                journal.until = until.map(Timestamp::as_micros);
                record.error = Some(what.clone());
            }
        }
        // The registry is asked again anyway; only what is told of it would be poorer.
        let _ = journal.store(&self.journal());
        attempt.record(record);
        match ended {
            Ended::Visible => Outcome::Succeeded,
            Ended::Later(wait, _) => Outcome::Postponed(wait),
            Ended::Again(what, wait) => failure(&what, false, wait),
            Ended::Stopped(_, what, Some(until)) => {
                failure(&format!("{what}; go on after {until}"), true, None)
            }
            Ended::Stopped(_, what, None) => failure(&what, true, None),
        }
    }

    /// What is left for people: the version, its digests, whether it was uploaded here.
    fn outputs(&self, journal: &Journal) -> Vec<OutputRecord> {
        let files = self.set.package(&self.id).map(|it| it.files.as_slice()).unwrap_or_default();
        let digests: Vec<&str> = files.iter().map(|file| file.sha256.as_str()).collect();
        let values = [
            ("version", serde_json::json!(self.package.version)),
            ("sha256", serde_json::json!(digests)),
            ("uploaded", serde_json::json!(journal.uploads > 0)),
        ];
        let output = |(name, value): (&str, serde_json::Value)| OutputRecord {
            name: name.to_owned(),
            value: OutputValue::Bytes(value.to_string().into_bytes()),
        };
        values.map(output).into()
    }
}

/// What a look has shown, for those who read a log.
fn seen(class: &Class) -> String {
    match class {
        Class::New | Class::Update => "not out".to_owned(),
        Class::Done => "out, as it was packed".to_owned(),
        other => other.to_string(),
    }
}

fn failure(message: &str, permanent: bool, retry_after: Option<Duration>) -> Outcome {
    let message = message.into();
    Outcome::Failed(Box::new(Failure { message, permanent, retry_after, ..Failure::default() }))
}

/// How long to wait where nobody says: longer each time, and not as long as others.
fn back_off(base: Duration, times: u32, id: &PackageId) -> Duration {
    let most = base.saturating_mul(2 << times.min(12)).min(BACK_OFF_MAX);
    let spread = id
        .name()
        .bytes()
        .fold(times, |sum, byte| sum.wrapping_mul(31).wrapping_add(u32::from(byte)))
        % 512;
    most / 2 + most / 1024 * spread
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::package::Ecosystem;

    #[test]
    fn waits_that_nobody_asked_for_grow_up_to_ten_minutes_and_differ() {
        let id = |name| PackageId::new(Ecosystem::Cargo, name);
        let second = Duration::from_secs(1);
        let waits: Vec<Duration> = (1..20).map(|times| back_off(second, times, &id("a"))).collect();
        assert!(waits[0] >= Duration::from_secs(2) && waits[0] <= Duration::from_secs(4));
        assert!(waits.iter().all(|wait| *wait <= BACK_OFF_MAX), "{waits:?}");
        assert!(waits[18] >= BACK_OFF_MAX / 2);
        assert_ne!(back_off(second, 3, &id("a")), back_off(second, 3, &id("b")));
    }
}
