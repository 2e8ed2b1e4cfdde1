//! [`Place`]: a workspace that nobody else publishes now, with what is kept of it.
//!
//! What is planned and done there is in `start`.

use std::fs;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU8, Ordering};

use tidewheel::store::sqlite::{DataFolder, Durability};
use tidewheel_client::desk::{LocalDesk, RunView};
use tidewheel_publish::pack::{PinError, Pins, pins_folder};
use tidewheel_publish::prepare::folder_of;
use tidewheel_publish::run::{LockError, Publisher, WorkspaceLock};
use tidewheel_publish::settings::{Secret, Stage, Surroundings};

use super::graph::workspace_root;
use crate::data::{DataArgs, local_desk};
use crate::error::{CommandError, ErrorKind};
use crate::ui::Ui;
use crate::watch::{Signals, Wish};

/// The file with the newest run of a workspace.
pub(super) const LAST: &str = "last-run";

/// A workspace that nobody else publishes now.
pub(super) struct Place {
    pub root: PathBuf,
    pub folder: DataFolder,
    /// What is kept of the workspace in the data folder.
    pub ours: PathBuf,
    pub publisher: Arc<Publisher>,
    pub lock: WorkspaceLock,
    heard: Arc<HeardSignals>,
}

/// What signals mean before there is a run, and which one came.
#[derive(Debug, Default)]
struct HeardSignals {
    number: AtomicU8,
    is_packing: AtomicBool,
    /// There is a run, which hears them itself.
    is_over: AtomicBool,
}

impl Place {
    /// `command`: what it is taken for, in words that whoever comes second is told: arguments may be secrets.
    pub fn take(
        ui: &Ui,
        command: &str,
        named: Option<&Path>,
        registry: Option<&String>,
        data: &DataArgs,
    ) -> Result<Self, CommandError> {
        let folder = data.open(ui, Durability::Process)?;
        Self::take_in(ui, command, named, registry, folder, None)
    }

    /// The same in this data folder, and with a registry that stands in for all of them.
    pub fn take_in(
        ui: &Ui,
        command: &str,
        named: Option<&Path>,
        registry: Option<&String>,
        folder: DataFolder,
        stage: Option<Stage>,
    ) -> Result<Self, CommandError> {
        let root = workspace_root(ui, named)?;
        let data = std::path::absolute(folder.path())?;
        let ours = folder_of(&data, &root);
        let lock = WorkspaceLock::take(&root, &ours, command).map_err(|error| {
            let kind = match error {
                LockError::Held { .. } => ErrorKind::Conflict,
                _ => ErrorKind::Refused,
            };
            CommandError::new(kind, error)
                .hint("wait until it has ended, or cancel it: see `tidewheel runs`")
        })?;
        let mut around = Surroundings::here(&root);
        around.registry = registry.cloned();
        around.stage = stage;
        put_back(ui, &around, &ours)?;
        let publisher = Publisher::new(around).map_err(CommandError::usage)?;
        Ok(Self { root, folder, ours, publisher, lock, heard: Arc::default() })
    }

    /// A one-time code that somebody has.
    pub fn say_code(&mut self, code: Option<&str>) -> Result<(), CommandError> {
        let Some(code) = code else { return Ok(()) };
        let mut around = self.publisher.around().clone();
        around.code = Secret::new(code);
        self.publisher = Publisher::new(around).map_err(CommandError::usage)?;
        Ok(())
    }

    /// From now on a signal ends what packs, so that what it has pinned is put back before the process ends; later it ends
    /// the process, as signals do.
    pub fn listen(&self) -> Result<(), CommandError> {
        let mut signals = Signals::new()?;
        let (stop, heard) = (self.publisher.around().stop.clone(), Arc::clone(&self.heard));
        heard.is_packing.store(true, Ordering::SeqCst);
        tokio::spawn(async move {
            while !heard.is_over.load(Ordering::SeqCst) {
                let Wish::End(number) = signals.next().await else { continue };
                heard.number.store(number, Ordering::SeqCst);
                match heard.is_packing.load(Ordering::SeqCst) {
                    true => stop.say(),
                    false if heard.is_over.load(Ordering::SeqCst) => return,
                    false => std::process::exit(128 + i32::from(number)),
                }
            }
        });
        Ok(())
    }

    /// Everything is packed. The signal that has ended it, if one has, as the exit code that says so.
    pub fn is_packed(&self) -> Option<u8> {
        self.heard.is_packing.store(false, Ordering::SeqCst);
        let number = self.heard.number.load(Ordering::SeqCst);
        (number != 0).then_some(128 + number)
    }

    /// There is a run now, which hears signals itself.
    pub fn is_begun(&self) {
        self.heard.is_over.store(true, Ordering::SeqCst);
    }

    pub fn desk(&self) -> Result<LocalDesk, CommandError> {
        Ok(local_desk(self.folder.clone())?)
    }

    /// The newest run of the workspace, if there is one.
    pub fn last(&self, desk: &LocalDesk) -> Option<RunView> {
        let id = fs::read_to_string(self.ours.join(LAST)).ok()?;
        desk.show(id.trim()).ok()
    }
}

/// What comes of something, or the exit code of the signal that has ended it.
pub(super) async fn unless_ended<T>(
    doing: impl Future<Output = T>,
) -> Result<Result<T, u8>, CommandError> {
    let mut signals = Signals::new()?;
    tokio::select! {
        done = doing => Ok(Ok(done)),
        code = ended(&mut signals) => Ok(Err(code)),
    }
}

/// From now on a signal ends the process, as signals do: there is nothing to clean up.
pub(super) fn end_by_signals() -> Result<(), CommandError> {
    let mut signals = Signals::new()?;
    tokio::spawn(async move {
        let code = ended(&mut signals).await;
        std::process::exit(i32::from(code));
    });
    Ok(())
}

/// The exit code of the signal that ends it.
async fn ended(signals: &mut Signals) -> u8 {
    loop {
        if let Wish::End(number) = signals.next().await {
            return 128 + number;
        }
    }
}

/// Puts manifests back that a publish has left pinned whose process died.
fn put_back(ui: &Ui, around: &Surroundings, ours: &Path) -> Result<(), CommandError> {
    let left = Pins::put_back_left(&pins_folder(around, ours)).map_err(|error| {
        let hint = match &error {
            PinError::Edited { kept, .. } => format!(
                "take over what is yours, then remove {}: the file counts as it is then",
                kept.display()
            ),
            _ => "see to that file: what it was before is kept".to_owned(),
        };
        CommandError::new(ErrorKind::Conflict, error).hint(hint)
    })?;
    for file in left {
        ui.note(&format!("{} was left pinned; it is as it was again", file.display()));
    }
    Ok(())
}
