//! One-time codes that registries want, handed by whoever has one to the process that carries a publish out.
//!
//! They go over a socket in the private folder of the workspace, from memory to memory: a code is kept nowhere, and nobody
//! but its registry is shown it. The socket is there while a code is wanted.

use std::fs::{self, File, Permissions};
use std::io::{self, Read as _, Write as _};
use std::os::fd::AsRawFd as _;
use std::os::unix::fs::PermissionsExt as _;
use std::os::unix::net::UnixStream;
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use tokio::io::{AsyncReadExt as _, AsyncWriteExt as _};
use tokio::net::UnixListener;
use tokio::task::AbortHandle;

use crate::exchange::Client;
use crate::settings::Secret;

/// The name of the socket.
const SOCKET: &str = "code";
/// How long one side waits for the other.
const PATIENCE: Duration = Duration::from_secs(5);
/// Bytes of what is handed.
const HANDED_MAX: u64 = 4096;
/// What is said to whoever has handed one.
const TAKEN: &[u8] = b"taken";

/// What is handed.
#[derive(serde::Serialize, serde::Deserialize)]
struct HandedCode<'a> {
    by: &'a str,
    /// The code; nothing if somebody says that there is none.
    code: Option<&'a str>,
}

/// Those who wait for a code here.
#[derive(Debug, Default)]
pub(super) struct Codes {
    /// Who has said that there is none.
    refused: Arc<Mutex<Option<String>>>,
    listening: Mutex<Option<Listening>>,
}

#[derive(Debug)]
struct Listening {
    task: AbortHandle,
    path: PathBuf,
}

impl Drop for Listening {
    fn drop(&mut self) {
        self.task.abort();
        // Whoever waits next makes another one.
        let _ = fs::remove_file(&self.path);
    }
}

impl Codes {
    /// Waits for a code in a folder of ours, from now on; it is used for what is sent next.
    pub fn listen(&self, folder: &Path, client: &Arc<Client>) -> io::Result<()> {
        let mut listening = self.listening.lock().unwrap_or_else(PoisonError::into_inner);
        if listening.is_some() {
            return Ok(());
        }
        let path = folder.join(SOCKET);
        // Of a process that died: whoever publishes is alone.
        let _ = fs::remove_file(&path);
        let opened = File::open(folder)?;
        let listener = UnixListener::bind(inside(&opened))?;
        fs::set_permissions(&path, Permissions::from_mode(0o600))?;
        let (client, refused) = (Arc::clone(client), Arc::clone(&self.refused));
        let task = tokio::spawn(async move {
            while let Ok((stream, _)) = listener.accept().await {
                // One that says nothing is waited for no longer than the others can wait.
                let _ = tokio::time::timeout(PATIENCE, take(stream, &client, &refused)).await;
            }
        });
        *listening = Some(Listening { task: task.abort_handle(), path });
        Ok(())
    }

    /// Who has said that there is no code, if somebody has.
    pub fn refused(&self) -> Option<String> {
        self.refused.lock().unwrap_or_else(PoisonError::into_inner).clone()
    }
}

async fn take(
    mut stream: tokio::net::UnixStream,
    client: &Client,
    refused: &Mutex<Option<String>>,
) -> Option<()> {
    let mut text = String::new();
    (&mut stream).take(HANDED_MAX).read_to_string(&mut text).await.ok()?;
    let handed: HandedCode<'_> = serde_json::from_str(&text).ok()?;
    match handed.code {
        Some(code) => client.use_code(Secret::new(code)?),
        None => {
            let mut refused = refused.lock().unwrap_or_else(PoisonError::into_inner);
            *refused = Some(handed.by.to_owned());
        }
    }
    stream.write_all(TAKEN).await.ok()
}

/// Hands a code to whoever waits for one in a folder of ours, or that there is none.
///
/// # Errors
///
/// When nobody waits there.
pub(super) fn hand(folder: &Path, by: &str, code: Option<&str>) -> io::Result<()> {
    let opened = File::open(folder)?;
    let mut stream = UnixStream::connect(inside(&opened))?;
    stream.set_read_timeout(Some(PATIENCE))?;
    stream.set_write_timeout(Some(PATIENCE))?;
    stream.write_all(&serde_json::to_vec(&HandedCode { by, code })?)?;
    stream.shutdown(std::net::Shutdown::Write)?;
    let mut answer = Vec::new();
    stream.read_to_end(&mut answer)?;
    if answer == TAKEN { Ok(()) } else { Err(io::Error::other("it was not taken")) }
}

/// The socket in a folder, by a short name: the kernel takes no long ones.
fn inside(folder: &File) -> PathBuf {
    PathBuf::from(format!("/proc/self/fd/{}/{SOCKET}", folder.as_raw_fd()))
}

#[cfg(test)]
mod tests {
    use tidewheel_testing::temp_folder;

    use super::*;
    use crate::settings::Surroundings;

    #[tokio::test]
    async fn a_code_is_handed_to_whoever_waits_and_to_nobody_else() {
        // Longer than the address of a socket may be.
        let temp = temp_folder("code");
        let folder = temp.path().join("x".repeat(120));
        fs::create_dir(&folder).unwrap();
        assert!(hand(&folder, "me", Some("123456")).is_err(), "nobody waits");
        let client = Arc::new(Client::new(&Surroundings::of(&folder, [])).unwrap());
        let codes = Codes::default();
        codes.listen(&folder, &client).unwrap();
        codes.listen(&folder, &client).unwrap();
        let mode = fs::metadata(folder.join(SOCKET)).unwrap().permissions().mode();
        assert_eq!(mode & 0o777, 0o600);
        let handed = |code: Option<&'static str>| {
            let folder = folder.clone();
            tokio::task::spawn_blocking(move || hand(&folder, "me", code))
        };
        assert!(!client.has_code());
        handed(Some("123456")).await.unwrap().unwrap();
        assert!(client.has_code() && codes.refused().is_none());
        handed(None).await.unwrap().unwrap();
        assert_eq!(codes.refused().as_deref(), Some("me"));
        drop(codes);
        assert!(hand(&folder, "me", Some("123456")).is_err());
        assert_eq!(fs::read_dir(&folder).unwrap().count(), 0, "something is left");
    }
}
