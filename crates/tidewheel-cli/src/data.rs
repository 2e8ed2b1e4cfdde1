//! Which data folder a command uses, or which server, and what its errors mean for the user.
//!
//! What is in a data folder is the library's business; how servers are found is in [`crate::server`].

use std::path::{Path, PathBuf};
use std::sync::Arc;

use anyhow::anyhow;
use tidewheel::store::sqlite::{DataFolder, Durability, FolderError, Options};
use tidewheel_client::desk::{Desk, DeskError, LocalDesk};
use tidewheel_client::remote::RemoteDesk;
use tidewheel_publish::run::Publishes;

use crate::error::{CommandError, ErrorKind};
use crate::runtime::on_this_thread;
use crate::server;
use crate::ui::Ui;

/// The flag of every command that uses a data folder.
#[derive(Debug, clap::Args)]
pub(crate) struct DataArgs {
    /// The data folder [default: $TIDEWHEEL_DATA, or tidewheel in the user's data folder]
    #[arg(long, value_name = "DIR")]
    data: Option<PathBuf>,

    /// Use a data folder on a network file system; two machines that use it at once destroy it
    #[arg(long)]
    allow_network_fs: bool,
}

/// The flags of commands that ask at a desk, which may be that of a server.
#[derive(Debug, clap::Args)]
pub(crate) struct DeskArgs {
    /// Ask a server instead of a data folder; its token is in $TIDEWHEEL_TOKEN, or kept by `tidewheel login`
    #[arg(long, value_name = "URL", conflicts_with_all = ["data", "allow_network_fs"])]
    server: Option<String>,

    #[command(flatten)]
    pub data: DataArgs,
}

impl DeskArgs {
    /// The server that was named, if one was.
    pub fn named(&self) -> Result<Option<Arc<RemoteDesk>>, CommandError> {
        self.server.as_deref().map(server::at_url).transpose()
    }

    /// The server that was named, or else the one that has the data folder, if there is one: what is wished for is done by
    /// it, so that its limits hold and it is written down who wanted what.
    pub fn owner(&self, ui: &Ui) -> Result<Option<Arc<RemoteDesk>>, CommandError> {
        match self.named()? {
            Some(server) => Ok(Some(server)),
            None => server::of_folder(&self.data.path(ui)?),
        }
    }

    /// The same where nobody else can do it.
    pub fn server(&self, ui: &Ui) -> Result<Arc<RemoteDesk>, CommandError> {
        let folder = self.data.path(ui)?;
        self.owner(ui)?.ok_or_else(|| no_server(&folder))
    }

    /// Wishes for something at the desk of the server, or of a folder that must be there and that no server has.
    pub fn at_owner<T>(
        &self,
        ui: &Ui,
        ask: impl AsyncFnOnce(Desk) -> Result<T, CommandError>,
    ) -> Result<T, CommandError> {
        match self.owner(ui)? {
            Some(server) => on_this_thread(ask(server.into())),
            None => self.data.at_desk(ui, ask),
        }
    }

    /// Whether there is somebody to ask.
    pub fn is_there(&self, ui: &Ui) -> Result<bool, CommandError> {
        Ok(self.server.is_some() || self.data.is_there(ui)?)
    }

    /// Asks at the desk of the server, or of a folder that must be there.
    pub fn at_desk<T>(
        &self,
        ui: &Ui,
        ask: impl AsyncFnOnce(Desk) -> Result<T, CommandError>,
    ) -> Result<T, CommandError> {
        match self.named()? {
            Some(server) => on_this_thread(ask(server.into())),
            None => self.data.at_desk(ui, ask),
        }
    }
}

impl DataArgs {
    /// Where the folder is, whether it exists or not.
    pub fn path(&self, ui: &Ui) -> Result<PathBuf, CommandError> {
        if let Some(path) = self.data.clone().or_else(|| ui.config().data()) {
            return Ok(path);
        }
        DataFolder::default_path().ok_or_else(|| {
            let error = anyhow!("there is no home folder to keep data in");
            CommandError::usage(error).hint("say where with --data DIR")
        })
    }

    /// Whether there is a folder, or one was asked for by name.
    pub fn is_there(&self, ui: &Ui) -> Result<bool, CommandError> {
        Ok(self.data.is_some() || self.path(ui)?.join("tidewheel.db").exists())
    }

    /// Opens a folder that must be there.
    pub fn open_existing(&self, ui: &Ui) -> Result<DataFolder, CommandError> {
        self.check_existing(ui)?;
        self.open_with_options(ui, Options::default())
    }

    /// Asks at the desk of a folder that must be there.
    pub fn at_desk<T>(
        &self,
        ui: &Ui,
        ask: impl AsyncFnOnce(Desk) -> Result<T, CommandError>,
    ) -> Result<T, CommandError> {
        let desk = local_desk(self.open_existing(ui)?)?;
        on_this_thread(ask(desk.into()))
    }

    /// Opens a folder that must be there, to write to it.
    pub fn open_with(&self, ui: &Ui, durability: Durability) -> Result<DataFolder, CommandError> {
        self.check_existing(ui)?;
        self.open(ui, durability)
    }

    /// Opens a folder, and makes it if it is not there.
    pub fn open(&self, ui: &Ui, durability: Durability) -> Result<DataFolder, CommandError> {
        self.open_with_options(ui, Options::default().durability(durability))
    }

    fn check_existing(&self, ui: &Ui) -> Result<(), CommandError> {
        let path = self.path(ui)?;
        if path.join("tidewheel.db").exists() {
            return Ok(());
        }
        let error = anyhow!("there is no data folder at {}", path.display());
        Err(CommandError::new(ErrorKind::NotFound, error).hint("say where it is with --data DIR"))
    }

    fn open_with_options(&self, ui: &Ui, mut options: Options) -> Result<DataFolder, CommandError> {
        let path = self.path(ui)?;
        options.allow_network_fs = self.allow_network_fs;
        let folder =
            DataFolder::open(&path, options).map_err(|error| folder_error(error, &path))?;
        if let Some(parent) = folder.open_parent() {
            let parent = parent.display();
            ui.warn(&format!("{parent}, above the data folder, can be written by others"));
        }
        if let Some(kind) = folder.network_file_system() {
            let path = path.display();
            ui.warn(&format!("{path} is on {kind}: two machines that use it at once destroy it"));
        }
        Ok(folder)
    }
}

/// The desk of a folder, which knows publishes beside flows.
pub(crate) fn local_desk(folder: DataFolder) -> Result<LocalDesk, DeskError> {
    Ok(LocalDesk::open(folder)?.knowing(Publishes))
}

/// That no server has a data folder.
pub(crate) fn no_server(folder: &Path) -> CommandError {
    DeskError::NoServer { folder: folder.to_owned() }.into()
}

/// An error of a folder with its exit code and what to do about it.
pub(crate) fn folder_error(error: FolderError, path: &Path) -> CommandError {
    DeskError::folder(error, path).into()
}
