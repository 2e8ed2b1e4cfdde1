//! Servers as arguments: which one is meant, and with which token it is asked.
//!
//! What may be asked of one is the client's business; tokens that are kept are in [`crate::credentials`].

use std::path::Path;
use std::sync::Arc;

use tidewheel_client::remote::{RemoteDesk, RemoteError, ServerAddress};

use crate::credentials::Credentials;
use crate::error::{CommandError, ErrorKind};

/// The variable with the token: arguments can be seen by everybody.
const TOKEN: &str = "TIDEWHEEL_TOKEN";

/// The server at an address, with the token of the variable, or else the one that is kept for it.
pub(crate) fn at_url(url: &str) -> Result<Arc<RemoteDesk>, CommandError> {
    let said = std::env::var(TOKEN).ok().filter(|token| !token.is_empty());
    let token = match said {
        Some(token) => Some(token),
        None => Credentials::of_this_user()?.and_then(|known| known.token(url).map(str::to_owned)),
    };
    desk(&ServerAddress::Url(url.to_owned()), token.as_deref())
}

/// The server at an address, with this token.
pub(crate) fn with_token(url: &str, token: &str) -> Result<Arc<RemoteDesk>, CommandError> {
    desk(&ServerAddress::Url(url.to_owned()), Some(token))
}

/// The server that has a data folder, if one does and it is ours.
pub(crate) fn of_folder(folder: &Path) -> Result<Option<Arc<RemoteDesk>>, CommandError> {
    let socket = folder.join("server").join("socket");
    match is_ours(&socket) && std::os::unix::net::UnixStream::connect(&socket).is_ok() {
        true => desk(&ServerAddress::Socket(socket), None).map(Some),
        // What lies there is left over, or somebody else's: then files are used, as without a server.
        false => Ok(None),
    }
}

/// Whether whoever listens there takes us for its owner.
fn is_ours(socket: &Path) -> bool {
    use std::os::unix::fs::MetadataExt as _;
    let owner = socket.symlink_metadata().map(|file| file.uid()).ok();
    owner == Some(rustix::process::geteuid().as_raw())
}

fn desk(address: &ServerAddress, token: Option<&str>) -> Result<Arc<RemoteDesk>, CommandError> {
    let desk = RemoteDesk::new(address, token).map_err(|error| match error {
        RemoteError::InTheClear(_) => CommandError::new(ErrorKind::Refused, error),
        error => CommandError::usage(error),
    })?;
    Ok(Arc::new(desk))
}
