//! `tidewheel publish --rehearse`: a whole publish to a registry of this machine, of which nothing is left.
//!
//! What is published and how is in `start`; what the registry does is known in `tidewheel-publish`.

use std::path::PathBuf;

use anyhow::anyhow;
use tidewheel::store::sqlite::{DataFolder, Durability, Options};
use tidewheel_publish::rehearse::{LocalRegistry, forget, resolve};
use tidewheel_publish::settings::{Stage, Surroundings};

use super::args::PublishArgs;
use super::place::Place;
use super::start::rehearsed;
use crate::data::folder_error;
use crate::error::{CommandError, ErrorKind};
use crate::runtime::on_runtime;
use crate::ui::Ui;

/// A folder that is gone when this is dropped.
struct Scratch(PathBuf);

impl Drop for Scratch {
    fn drop(&mut self) {
        // What cannot be removed takes room, and nothing else.
        let _ = std::fs::remove_dir_all(&self.0);
    }
}

/// A registry that no tool remembers when this is dropped.
struct Remembered(Surroundings, Stage);

impl Drop for Remembered {
    fn drop(&mut self) {
        forget(&self.0, &self.1);
    }
}

pub(super) fn rehearse(ui: &Ui, args: &PublishArgs) -> Result<u8, CommandError> {
    let name = format!("tidewheel-rehearsal-{}", std::process::id());
    let scratch = Scratch(std::env::temp_dir().join(name));
    let data = scratch.0.join("data");
    tidewheel::file::make_private_folder(&data)?;
    let mut options = Options::default();
    options.durability = Durability::Process;
    let folder = DataFolder::open(&data, options).map_err(|error| folder_error(error, &data))?;
    let registry = LocalRegistry::start()?;
    let stage = registry.stage();
    let (named, wanted) = (args.what.folder.as_deref(), args.what.registry.as_ref());
    let command = "tidewheel publish --rehearse";
    let place = Place::take_in(ui, command, named, wanted, folder, Some(stage.clone()))?;
    let around = place.publisher.around().clone();
    let _remembered = Remembered(around.clone(), stage.clone());
    on_runtime(async {
        let (ended, order) = rehearsed(ui, args, place).await?;
        let Some(order) = order.filter(|_| ended == 0) else { return Ok(ended) };
        registry.look_beyond(&around);
        ui.note("resolving every package from the registry of the rehearsal");
        resolve(&around, &stage, &order, &scratch.0.join("user")).map_err(|what| {
            let error = anyhow!("what was published cannot be resolved: {what}");
            CommandError::new(ErrorKind::Failed, error)
                .hint("nothing has left this machine; see to it before you publish")
        })?;
        ui.note("rehearsed: everything went out and can be resolved; nothing is left of it");
        Ok(0)
    })
}
