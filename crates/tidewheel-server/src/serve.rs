//! [`serve`]: a server on a socket, until it is told to stop.
//!
//! What is answered is in [`crate::door`] and behind it. Which address it is, is checked by
//! [`check_address`](crate::check_address) before a socket is made.

use std::convert::Infallible;
use std::future::ready;
use std::io;
use std::sync::Arc;
use std::time::Duration;

use axum::Router;
use axum::body::Body;
use axum::extract::Request;
use axum::response::Response;
use hyper::body::Incoming;
use hyper::server::conn::http1;
use hyper::service::service_fn;
use hyper_util::rt::{TokioIo, TokioTimer};
use hyper_util::server::graceful::{GracefulShutdown, Watcher};
use hyper_util::service::TowerToHyperService;
use tokio::io::{AsyncRead, AsyncWrite};
use tokio::net::TcpListener;
use tokio::sync::Semaphore;
use tokio::time::{MissedTickBehavior, interval, sleep, timeout};

use crate::door::Peer;
use crate::server::{Closing, Server};
use crate::tls::Certificate;

/// How long to leave the socket alone when no connection can be accepted, as without descriptors.
const ACCEPT_PAUSE: Duration = Duration::from_millis(100);

/// How often the audit log is flushed to the disk.
const FLUSH: Duration = Duration::from_secs(1);

/// Cookies count, and those of every server on this machine's name arrive here.
const HEAD_BYTES_MAX: usize = 32 << 10;

/// More headers than this nobody needs.
const HEADERS_MAX: usize = 64;

/// Where a server listens.
#[derive(Debug)]
#[non_exhaustive]
pub enum Listener {
    /// A socket of the network.
    Tcp(TcpListener),
    /// The same, with TLS.
    Tls(TcpListener, Arc<Certificate>),
    /// A socket in a folder. Whoever connects must be the user who serves.
    #[cfg(unix)]
    Unix(tokio::net::UnixListener),
}

/// Answers whoever connects until `stop` is there. Then nothing new is taken in, streams end, and answers under way have
/// [`stop_grace`](crate::Limits::stop_grace) to come to their end.
///
/// # Errors
///
/// When what was written down cannot be flushed to the disk.
pub async fn serve(
    listener: Listener,
    server: Arc<Server>,
    stop: impl Future<Output = ()>,
) -> io::Result<()> {
    let serving = Serving {
        router: server.router(),
        graceful: GracefulShutdown::new(),
        room: Arc::new(Semaphore::new(server.settings.limits.connections_max)),
        server: Arc::clone(&server),
    };
    let flushing = tokio::spawn(keep_flushing(Arc::clone(&server)));
    tokio::select! {
        () = stop => {}
        never = serving.accept(&listener) => match never {},
    }
    drop(listener);
    server.close(Closing::Now);
    // Connections that are still there after it are left to end with the runtime.
    let _ = timeout(server.settings.limits.stop_grace, serving.graceful.shutdown()).await;
    flushing.abort();
    let flushed = tokio::task::spawn_blocking(move || server.audit.flush()).await;
    flushed.map_err(io::Error::other)?.map_err(io::Error::other)
}

/// What is done every second: what was written down is flushed, and it is looked how things go.
async fn keep_flushing(server: Arc<Server>) {
    let mut ticks = interval(FLUSH);
    ticks.set_missed_tick_behavior(MissedTickBehavior::Delay);
    loop {
        ticks.tick().await;
        server.look();
        if !server.audit.is_dirty() {
            continue;
        }
        let server = Arc::clone(&server);
        // What cannot be flushed now is tried again with the next entry, and at the end.
        let _ = tokio::task::spawn_blocking(move || server.audit.flush()).await;
    }
}

struct Serving {
    router: Router,
    graceful: GracefulShutdown,
    /// Room for more connections.
    room: Arc<Semaphore>,
    server: Arc<Server>,
}

impl Serving {
    async fn accept(&self, listener: &Listener) -> Infallible {
        loop {
            // It is never closed.
            let Ok(room) = Arc::clone(&self.room).acquire_owned().await else {
                std::future::pending().await
            };
            let accepted = match listener {
                Listener::Tcp(listener) => listener.accept().await.map(|(stream, address)| {
                    // An answer is written at once: there is nothing to be waited for.
                    let _ = stream.set_nodelay(true);
                    self.attend(ready(Some(stream)), Peer::Address(address.ip()), room);
                }),
                Listener::Tls(listener, certificate) => {
                    listener.accept().await.map(|(stream, address)| {
                        let _ = stream.set_nodelay(true);
                        // Greeting takes a while, and others are not to wait for it.
                        let greeting = certificate.acceptor().accept(stream);
                        let most = self.server.settings.limits.head_time;
                        let stream = async move { timeout(most, greeting).await.ok()?.ok() };
                        self.attend(stream, Peer::Address(address.ip()), room);
                    })
                }
                #[cfg(unix)]
                Listener::Unix(listener) => listener.accept().await.map(|(stream, _)| {
                    // Others are hung up on, whatever the mode of the socket says.
                    if is_owner(&stream) {
                        self.attend(ready(Some(stream)), Peer::Owner, room);
                    }
                }),
            };
            if accepted.is_err() {
                sleep(ACCEPT_PAUSE).await;
            }
        }
    }

    /// Answers what comes on a connection, once it is there.
    fn attend<S: AsyncRead + AsyncWrite + Unpin + Send + 'static>(
        &self,
        stream: impl Future<Output = Option<S>> + Send + 'static,
        peer: Peer,
        room: tokio::sync::OwnedSemaphorePermit,
    ) {
        let service = TowerToHyperService::new(self.router.clone());
        let answer = service_fn(move |request: hyper::Request<Incoming>| {
            let service = service.clone();
            async move {
                let mut request: Request = request.map(Body::new);
                request.extensions_mut().insert(peer);
                let answered: Result<Response, Infallible> =
                    hyper::service::Service::call(&service, request).await;
                answered
            }
        });
        let head_time = self.server.settings.limits.head_time;
        let watcher: Watcher = self.graceful.watcher();
        tokio::spawn(async move {
            if let Some(stream) = stream.await {
                let connection = http1::Builder::new()
                    .timer(TokioTimer::new())
                    .header_read_timeout(head_time)
                    .max_buf_size(HEAD_BYTES_MAX)
                    .max_headers(HEADERS_MAX)
                    .serve_connection(TokioIo::new(stream), answer);
                // A connection that breaks off is the business of whoever is at its other end.
                let _ = watcher.watch(connection).await;
            }
            drop(room);
        });
    }
}

/// Whether the other end belongs to the user who serves.
#[cfg(unix)]
fn is_owner(stream: &tokio::net::UnixStream) -> bool {
    let own = rustix::process::geteuid().as_raw();
    stream.peer_cred().is_ok_and(|other| other.uid() == own)
}
