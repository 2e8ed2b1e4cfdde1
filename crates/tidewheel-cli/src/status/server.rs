//! [`StatusServer`]: the socket, its connections and what they may take up.
//!
//! A connection carries one request and has a deadline, so that readers who stall, on purpose or
//! not, are gone soon. What a request gets is in [`super::site`].

use std::collections::VecDeque;
use std::convert::Infallible;
use std::io::{Error, ErrorKind};
use std::net::{Ipv4Addr, SocketAddr};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

use hyper::Request;
use hyper::body::Incoming;
use hyper::server::conn::http1;
use hyper::service::service_fn;
use hyper_util::rt::{TokioIo, TokioTimer};
use hyper_util::server::graceful::{GracefulShutdown, Watcher};
use tokio::net::{TcpListener, TcpStream};
use tokio::sync::oneshot;
use tokio::task::{AbortHandle, JoinHandle, JoinSet};
use tokio::time::{sleep, timeout};

use super::site::Site;
use super::source::StatusSource;

/// More wait to be accepted, unless one of these has not asked for anything yet.
pub(super) const CONNECTIONS_MAX: usize = 32;
const TIMEOUTS: Timeouts =
    Timeouts { connection: Duration::from_secs(10), head: Duration::from_secs(5) };
/// Cookies count, and those of every server on this machine's name arrive here.
const HEAD_BYTES_MAX: usize = 32 * 1024;
const HEADERS_MAX: usize = 64;
/// How long answers under way may take when the server stops.
const STOP_GRACE: Duration = Duration::from_millis(500);
/// How long to leave the socket alone when no connection can be accepted, as without descriptors.
const ACCEPT_PAUSE: Duration = Duration::from_millis(100);

/// How long a client may take.
#[derive(Clone, Copy)]
pub(super) struct Timeouts {
    /// From accepting a connection to its end.
    pub connection: Duration,
    /// From accepting it to the end of the headers of its request.
    pub head: Duration,
}

/// Serves the state of a run on the loopback interface until it is stopped or dropped.
///
/// Everybody on this machine can read it: there is no token that flowtoy's readers could send.
pub(crate) struct StatusServer {
    address: SocketAddr,
    site: Arc<Site>,
    stop: oneshot::Sender<Duration>,
    serving: JoinHandle<()>,
}

/// A port that is ours, before there is anything to be served: nobody has to start a run to learn
/// that the port is taken.
#[derive(Debug)]
pub(crate) struct StatusPort {
    listener: std::net::TcpListener,
}

impl StatusPort {
    /// Takes a port; 0 is any free one.
    pub fn take(port: u16) -> Result<Self, Error> {
        let address = SocketAddr::from((Ipv4Addr::LOCALHOST, port));
        let listener =
            std::net::TcpListener::bind(address).map_err(|error| refused(address, error))?;
        listener.set_nonblocking(true)?;
        Ok(Self { listener })
    }
}

impl StatusServer {
    /// Starts to serve.
    pub async fn start(port: StatusPort, source: Arc<dyn StatusSource>) -> Result<Self, Error> {
        Self::start_with(port, source, TIMEOUTS).await
    }

    /// Starts to serve with other timeouts.
    pub(super) async fn start_with(
        port: StatusPort,
        source: Arc<dyn StatusSource>,
        timeouts: Timeouts,
    ) -> Result<Self, Error> {
        let listener = TcpListener::from_std(port.listener)?;
        let address = listener.local_addr()?;
        let site = Arc::new(Site::new(address.port(), source));
        let (stop, stopped) = oneshot::channel();
        let serving = tokio::spawn(serve(listener, Arc::clone(&site), stopped, timeouts));
        Ok(Self { address, site, stop, serving })
    }

    /// Where it listens.
    pub fn address(&self) -> SocketAddr {
        self.address
    }

    /// Waits until a reader who polled has seen the end of the run, which is there to be seen; no longer than so.
    pub async fn linger(&self, most: Duration) {
        let _ = timeout(most, self.site.end_seen()).await;
    }

    /// Accepts nobody any more and lets answers under way out, for half a second at most.
    pub async fn stop(self) {
        self.stop_within(STOP_GRACE).await;
    }

    pub(super) async fn stop_within(self, grace: Duration) {
        // Serving can only be over already when the runtime is, and then there is nothing to wait
        // for.
        let _ = self.stop.send(grace);
        let _ = self.serving.await;
    }
}

fn refused(address: SocketAddr, error: Error) -> Error {
    let why = match error.kind() {
        ErrorKind::AddrInUse => "the port is in use; choose another one, or 0 for any free one",
        ErrorKind::PermissionDenied => "the port is reserved; choose one above 1023",
        _ => return Error::new(error.kind(), format!("cannot listen on {address}: {error}")),
    };
    Error::new(error.kind(), format!("cannot listen on {address}: {why}"))
}

async fn serve(
    listener: TcpListener,
    site: Arc<Site>,
    mut stopped: oneshot::Receiver<Duration>,
    timeouts: Timeouts,
) {
    let graceful = GracefulShutdown::new();
    let mut connections = JoinSet::new();
    let mut waiting: VecDeque<Waiting> = VecDeque::new();
    let grace = loop {
        tokio::select! {
            // Dropped instead of stopped: no grace.
            grace = &mut stopped => break grace.unwrap_or_default(),
            Some(_) = connections.join_next() => waiting.retain(Waiting::is_open),
            accepted = listener.accept(), if may_accept(connections.len(), &waiting) => match accepted {
                Ok((stream, _)) => {
                    if connections.len() >= CONNECTIONS_MAX {
                        make_room(&mut waiting);
                    }
                    let has_asked = Arc::<AtomicBool>::default();
                    let site = Arc::clone(&site);
                    let attended =
                        attend(stream, site, graceful.watcher(), Arc::clone(&has_asked), timeouts);
                    let connection = connections.spawn(attended);
                    waiting.push_back(Waiting { connection, has_asked });
                }
                Err(_) => sleep(ACCEPT_PAUSE).await,
            }
        }
    };
    drop(listener);
    // Connections that are still there after it end with their set.
    let _ = timeout(grace, graceful.shutdown()).await;
}

/// A connection, and whether its request has come.
struct Waiting {
    connection: AbortHandle,
    has_asked: Arc<AtomicBool>,
}

impl Waiting {
    fn is_open(&self) -> bool {
        !self.connection.is_finished()
    }

    fn is_silent(&self) -> bool {
        self.is_open() && !self.has_asked.load(Ordering::Relaxed)
    }
}

/// Whether one more connection finds a place: a free one, or that of one that has not asked for anything.
fn may_accept(connections: usize, waiting: &VecDeque<Waiting>) -> bool {
    connections < CONNECTIONS_MAX || waiting.iter().any(Waiting::is_silent)
}

/// Ends the connection that has been silent for longest: readers on this machine ask at once.
fn make_room(waiting: &mut VecDeque<Waiting>) {
    if let Some(place) = waiting.iter().position(Waiting::is_silent)
        && let Some(oldest) = waiting.remove(place)
    {
        oldest.connection.abort();
    }
}

/// Answers the one request of a connection.
async fn attend(
    stream: TcpStream,
    site: Arc<Site>,
    watcher: Watcher,
    has_asked: Arc<AtomicBool>,
    timeouts: Timeouts,
) {
    let service = service_fn(|request: Request<Incoming>| {
        has_asked.store(true, Ordering::Relaxed);
        let site = Arc::clone(&site);
        async move { Ok::<_, Infallible>(site.answer(&request.into_parts().0).await) }
    });
    let connection = http1::Builder::new()
        .timer(TokioTimer::new())
        .header_read_timeout(timeouts.head)
        .max_header_size(HEAD_BYTES_MAX)
        .max_headers(HEADERS_MAX)
        .keep_alive(false)
        .serve_connection(TokioIo::new(stream), service);
    // Readers who break off, stall or send what is not HTTP are their own problem.
    let _ = timeout(timeouts.connection, watcher.watch(connection)).await;
}
