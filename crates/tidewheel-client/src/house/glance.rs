//! What matters now in a house, and who stands in line in it.
//!
//! What is stored of runs is put together at the [desk](crate::desk).

use std::sync::Arc;

use tidewheel::explain::Hold;
use tidewheel::id::TaskId;
use tidewheel::observe::{InLine, UnderWay};

use super::entry::Version;
use super::house::House;
use super::setting::names;
use crate::api::{FlowFile, FlowSource, Glance, SlotHolder, WaitingLine, WaitingStep};
use crate::desk::{DeskError, HELD_BY, KnownFlow, Reach, blocking};
use crate::text::harmless;

/// Steps in line that are looked at for those of some flows.
const LINE_MAX: usize = 10_000;

/// A file that is larger is no flow.
const FILE_MAX: u64 = 4 << 20;

impl House {
    /// What matters now.
    ///
    /// # Errors
    ///
    /// When the folder cannot be read.
    pub async fn glance(&self) -> Result<Glance, DeskError> {
        let at = self.inner.session.wheel.wall_clock();
        let known: Vec<KnownFlow> = {
            let catalogue = self.inner.catalogue();
            let flows = catalogue.flows().filter(|it| self.knows(it.name()));
            let flow = |it: &Arc<Version>| KnownFlow {
                name: it.name().to_owned(),
                schedules: names(&it.flow),
                is_outdated: catalogue.broken().any(|(broken, _)| broken == it.path),
            };
            flows.map(flow).collect()
        };
        let schedules = self.schedules().await?.schedules;
        let stored = self.desk().here(move |desk| desk.glance_at(at, known, schedules)).await?;
        let waiting = match self.reach.is_all() {
            true => self.overview().total.queued,
            false => self.line(LINE_MAX).await?.waiting.len() as u64,
        };
        Ok(Glance { waiting, ..stored })
    }

    /// Who has the slots and who waits for one, at most so many of each.
    ///
    /// # Errors
    ///
    /// When nothing more can be asked.
    pub async fn line(&self, max: usize) -> Result<WaitingLine, DeskError> {
        let wheel = self.inner.session.wheel.clone();
        let slots = self.overview().slots;
        // Who may not know of all does not learn how many there are: so many are looked at.
        let looked = if self.reach.is_all() { max } else { max.max(LINE_MAX) };
        let line = blocking(move || wheel.line(looked)).await?;
        let knows = |flow: &Option<Arc<str>>| self.reach.has(flow.as_deref());
        let is_expected = |it: &&InLine| it.expected_start.is_some() && knows(&it.run);
        let expected: Vec<TaskId> =
            line.waiting.iter().filter(is_expected).map(|it| it.facts.task).collect();
        let unforeseen = self.desk().here(move |desk| desk.unforeseen(&expected)).await?;
        let waiting = |it: &InLine| waiting(it, unforeseen.contains(&it.facts.task), &self.reach);
        Ok(WaitingLine {
            version: None,
            slots,
            holders: line.running.iter().filter(|it| knows(&it.run)).map(holder).collect(),
            waiting: line.waiting.iter().filter(|it| knows(&it.run)).map(waiting).collect(),
            more: if self.reach.is_all() { line.more } else { 0 },
        })
    }

    /// The files that a flow was read from, and what is wrong with them.
    ///
    /// # Errors
    ///
    /// When there is no such flow.
    pub async fn source(&self, name: &str) -> Result<FlowSource, DeskError> {
        let version = self.version(name)?;
        let broken = {
            let catalogue = self.inner.catalogue();
            let broken = catalogue.broken().find(|(path, _)| *path == version.path);
            broken.map(|(_, broken)| broken.problems.clone())
        };
        let path = version.path.clone();
        let outdated = match broken {
            Some(_) => blocking(move || read(&path)).await?,
            None => None,
        };
        Ok(FlowSource {
            version: None,
            flow: name.to_owned(),
            fingerprint: version.fingerprint.clone(),
            files: version.files(),
            outdated,
            problems: broken.unwrap_or_else(|| version.warnings.clone()),
        })
    }
}

/// What a file says now, if it is one.
fn read(path: &std::path::Path) -> Option<FlowFile> {
    let about = std::fs::metadata(path).ok()?;
    if !about.is_file() || about.len() > FILE_MAX {
        return None;
    }
    let text = String::from_utf8_lossy(&std::fs::read(path).ok()?).into_owned();
    Some(FlowFile { path: path.display().to_string(), text })
}

fn holder(it: &UnderWay) -> SlotHolder {
    SlotHolder {
        run_id: it.task.run.to_string(),
        flow: it.run.as_deref().map(str::to_owned),
        step: it.name.to_string(),
        attempt: it.attempt,
        seconds: it.elapsed.as_secs_f64(),
    }
}

fn waiting(it: &InLine, is_unforeseen: bool, reach: &Reach) -> WaitingStep {
    let expected = it.expected_start.filter(|_| !is_unforeseen);
    let place = it.facts.place.as_ref();
    let holds = it.facts.holds.iter();
    let said = |hold: &Hold| match reach.is_all() {
        true => harmless(&hold.to_string()),
        // Who holds it may be outside.
        false => harmless(hold.to_string().split(HELD_BY).next().unwrap_or_default()),
    };
    let why: Vec<String> = holds.map(said).collect();
    WaitingStep {
        run_id: it.facts.task.run.to_string(),
        flow: it.run.as_deref().map(str::to_owned),
        step: it.facts.name.to_string(),
        queue: place.map(|place| place.queue.to_string()).unwrap_or_default(),
        priority: place.map_or(0, |place| place.priority),
        effective: place.map_or(0, |place| place.effective),
        waited_seconds: place.map_or(0.0, |place| place.waited.as_secs_f64()),
        why,
        expected_start_seconds: expected.map(|it| it.as_secs_f64()),
        unpassed_in_seconds: place.and_then(|place| place.unpassed_in).map(|it| it.as_secs_f64()),
    }
}
