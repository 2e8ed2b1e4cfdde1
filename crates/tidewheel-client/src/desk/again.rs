//! Retry and resume: going on with runs that failed, were paused, or whose process died.
//!
//! What is run again, and whether a run may go on here, is found out by its [kind](crate::kind::Kind).

use sha2::{Digest as _, Sha256};
use tidewheel::RunId;
use tidewheel::store::RunCommand;
use tidewheel::store::sqlite::FolderError;

use super::error::DeskError;
use super::local::LocalDesk;
use super::steer::PATIENCE;
use super::view::RunView;
use crate::api::{GoneOn, Preview, RetryWish};
use crate::kind::{Retry, Startable};

/// What becomes of a run that is to go on.
#[derive(Debug)]
pub enum Resumption {
    /// There is nothing to do here: it goes on where it runs, or has succeeded.
    Elsewhere(GoneOn),
    /// Nobody runs it, so it is taken over here: see [`crate::session::Session::take_over`].
    Here {
        /// The run as it was left.
        view: Box<RunView>,
        /// What it is a run of.
        run: Box<dyn Startable>,
    },
}

impl LocalDesk {
    /// What is to be done to run again what did not succeed in a run.
    ///
    /// # Errors
    ///
    /// When there is no such run, it has not ended, it cannot be made again so, or it would be made again otherwise than
    /// a preview has shown.
    pub fn retry(&self, word: &str, wish: &RetryWish) -> Result<(RunId, Retry), DeskError> {
        let view = self.show(word)?;
        let summary = &view.detail.summary;
        if summary.is_live {
            let is_abandoned = view.is_abandoned;
            return Err(DeskError::NotEnded { run: summary.id, is_abandoned });
        }
        let retry = self.kinds.kind_of(&view.detail)?.retry(&view, wish)?;
        if wish.preview.as_ref().is_some_and(|shown| *shown != retry.digest(summary.id)) {
            return Err(DeskError::OtherPreview(summary.id));
        }
        Ok((summary.id, retry))
    }

    /// What a retry would do.
    ///
    /// # Errors
    ///
    /// As for [`LocalDesk::retry`].
    pub fn preview(&self, word: &str, wish: &RetryWish) -> Result<Preview, DeskError> {
        // What was shown before does not matter to whoever looks again.
        let wish = RetryWish { preview: None, ..wish.clone() };
        let (id, retry) = self.retry(word, &wish)?;
        Ok(retry.preview(id))
    }

    /// Goes on with a run where it runs.
    ///
    /// # Errors
    ///
    /// When there is no such run, it has ended without success, or nobody runs it.
    pub fn go_on(&self, word: &str) -> Result<GoneOn, DeskError> {
        match self.resume(word, true)? {
            Resumption::Elsewhere(gone_on) => Ok(gone_on),
            Resumption::Here { view, .. } => {
                Err(DeskError::Abandoned { run: view.detail.summary.id })
            }
        }
    }

    /// Goes on with a run: one that is paused where it runs, one that nobody runs here. With
    /// `is_as_started` its files may have changed.
    ///
    /// # Errors
    ///
    /// When there is no such run, it has ended, or it cannot go on as it was started.
    pub fn resume(&self, word: &str, is_as_started: bool) -> Result<Resumption, DeskError> {
        let view = self.show(word)?;
        let summary = &view.detail.summary;
        let gone_on = |state: &str| {
            let (run_id, state) = (summary.id.to_string(), state.to_owned());
            Resumption::Elsewhere(GoneOn { version: None, run_id, state, taken_over: false })
        };
        if !summary.is_live {
            return match view.has_succeeded() {
                true => Ok(gone_on("succeeded")),
                false => Err(DeskError::Ended { run: summary.id, state: view.state() }),
            };
        }
        if !view.is_abandoned {
            let heard = self.folder.send_and_wait(summary.id, RunCommand::Resume, PATIENCE);
            let heard = heard.map_err(|error| self.failed(error))?;
            return Ok(gone_on(if heard { "resumed" } else { "asked" }));
        }
        let kind = self.kinds.kind_of(&view.detail)?;
        kind.check_resume(&view, is_as_started)?;
        let run = kind.resume(&view)?;
        Ok(Resumption::Here { run, view: Box::new(view) })
    }

    /// Tells a run that is about to be taken over to go on. Commands are followed in their order, so that one
    /// to pause it that nobody has followed yet does not win.
    ///
    /// # Errors
    ///
    /// When the folder cannot be written.
    pub fn unpause(&self, run: RunId) -> Result<(), DeskError> {
        match self.folder.send(run, RunCommand::Resume) {
            Ok(()) | Err(FolderError::AlreadyEnded { .. }) => Ok(()),
            Err(error) => Err(self.failed(error)),
        }
    }
}

impl Retry {
    /// What it would do, as a document.
    #[must_use]
    pub fn preview(&self, run: RunId) -> Preview {
        Preview {
            version: None,
            run_id: run.to_string(),
            run_again: self.run_again.clone(),
            reused: self.reused.clone(),
            passed_over: self.passed_over.clone(),
            changed_files: self.changed_files.clone(),
            digest: self.digest(run),
        }
    }

    /// What it would do, in few letters.
    fn digest(&self, run: RunId) -> String {
        let mut hash = Sha256::new();
        // Nothing is said twice the same way: each text has its length before it.
        let mut say = |text: &str| {
            hash.update((text.len() as u64).to_le_bytes());
            hash.update(text);
        };
        say(&run.to_string());
        for list in [&self.run_again, &self.reused, &self.passed_over, &self.changed_files] {
            say(&list.len().to_string());
            list.iter().for_each(|text| say(text));
        }
        for (path, text) in self.files.iter().flat_map(|files| &files.loaded.texts) {
            say(&path.to_string_lossy());
            say(text);
        }
        hash.finalize().iter().take(16).map(|byte| format!("{byte:02x}")).collect()
    }
}
