//! [`Bell`]: rings when something happens at a server.
//!
//! What it was is found by a look; how a run is followed is in [`super::follow`].

use std::sync::Arc;
use std::time::Duration;

use tokio::sync::Notify;
use tokio::task::JoinHandle;
use tokio::time::sleep;

use super::remote::RemoteDesk;
use crate::desk::DeskError;

/// When a server that cannot be reached is tried again.
pub(super) const AGAIN: Duration = Duration::from_secs(1);

/// How long a server that tells may say nothing before somebody looks anyway.
const SILENCE: Duration = Duration::from_secs(30);

/// Rings when something happens at a server. It listens until it is dropped.
#[derive(Debug)]
pub struct Bell {
    bell: Arc<Notify>,
    ringing: JoinHandle<()>,
}

impl Bell {
    /// Listens to a server from now on.
    pub(crate) fn of(desk: Arc<RemoteDesk>) -> Self {
        let bell = Arc::<Notify>::default();
        let ringing = tokio::spawn(ring(desk, None, Arc::clone(&bell)));
        Self { bell, ringing }
    }

    /// Waits until it rings. What rang while nobody waited counts as once.
    pub(crate) async fn rung(&self) {
        self.bell.notified().await;
    }

    /// How long silence means that nothing has happened: not at all where the server tells nothing.
    pub(crate) fn silence(&self) -> Duration {
        if self.ringing.is_finished() { Duration::ZERO } else { SILENCE }
    }
}

impl Drop for Bell {
    fn drop(&mut self) {
        self.ringing.abort();
    }
}

/// Rings when something happens to a run, or at all, as long as the server tells of it.
pub(super) async fn ring(desk: Arc<RemoteDesk>, run: Option<String>, bell: Arc<Notify>) {
    loop {
        match desk.events(run.as_deref()).await {
            Ok(mut events) => {
                // Something may have happened before anybody listened.
                bell.notify_one();
                while let Ok(Some(piece)) = events.next().await {
                    // A line that only says that nothing happens is no news.
                    if !piece.starts_with(b":") {
                        bell.notify_one();
                    }
                }
                // It tells nothing more: whoever looks finds out why.
                bell.notify_one();
            }
            // It tells nothing, or not to us.
            Err(DeskError::Server { status, .. }) if status < 500 => return,
            Err(_) => {}
        }
        sleep(AGAIN).await;
    }
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used, reason = "a test")]

    use std::io::{Read as _, Write as _};
    use std::net::TcpListener;
    use std::sync::mpsc;

    use super::*;
    use crate::remote::ServerAddress;

    /// A server that dies tells nobody. Who listens to it looks at once, and not when it has been silent for long.
    #[tokio::test]
    async fn a_server_that_is_gone_rings_once_more() {
        let listener = TcpListener::bind("127.0.0.1:0").unwrap();
        let address = format!("http://{}", listener.local_addr().unwrap());
        let (die, death) = mpsc::channel::<()>();
        let server = std::thread::spawn(move || {
            let (mut connection, _) = listener.accept().unwrap();
            drop(listener);
            assert!(connection.read(&mut [0; 1024]).unwrap() > 0);
            let head = "HTTP/1.1 200 OK\r\ncontent-type: text/event-stream\r\n\r\n";
            connection.write_all(head.as_bytes()).unwrap();
            death.recv().unwrap();
        });
        let desk = RemoteDesk::new(&ServerAddress::Url(address), None).unwrap();
        let bell = Bell::of(Arc::new(desk));
        bell.rung().await;
        die.send(()).unwrap();
        bell.rung().await;
        server.join().unwrap();
    }
}
