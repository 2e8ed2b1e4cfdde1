//! Our end of the spawner's socket: sends requests and gives each attempt what is reported of it.
//!
//! What an attempt does with that is in `run.rs`; when a spawner is started is in `client.rs`.

use std::collections::{HashMap, VecDeque};
use std::io;
use std::os::fd::{AsFd, OwnedFd};
use std::os::unix::net::UnixStream;
use std::pin::Pin;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::task::{Context, Poll, Waker};
use std::time::Duration;

use tidewheel_core::id::AttemptId;
use tokio::io::{AsyncRead as _, Interest, ReadBuf};
use tokio::net::unix::pipe::Receiver;

use super::spawner::{Reaped, Spawner, Started};
use super::survivors::end_survivors;
use super::wire::{self, Frames, HELLO, Refusal, Report, Request};

/// A spawner says hello within this time, or is none. It takes milliseconds; a machine that is short of memory may take
/// many seconds to start a program.
const HELLO_WITHIN: Duration = Duration::from_secs(60);

/// A spawner that runs, seen from our side.
#[derive(Debug)]
pub(super) struct Connection {
    socket: UnixStream,
    outgoing: Mutex<Outgoing>,
    places: Mutex<Places>,
}

#[derive(Debug, Default)]
struct Outgoing {
    letters: VecDeque<Letter>,
    /// Wakes the task that sends what could not be sent at once.
    waker: Option<Waker>,
}

#[derive(Debug)]
struct Letter {
    bytes: Vec<u8>,
    sent: usize,
    descriptors: Vec<OwnedFd>,
}

#[derive(Debug, Default)]
struct Places {
    running: HashMap<u64, Place>,
    last_key: u64,
    is_lost: bool,
}

/// What is known of one attempt.
#[derive(Debug)]
struct Place {
    attempt: AttemptId,
    is_started: bool,
    ending: Option<Ending>,
    waker: Option<Waker>,
    is_abandoned: bool,
}

/// How it came to an end, as far as the spawner knows.
#[derive(Debug)]
pub(super) enum Ending {
    Exited { pid: u32, code: i32, signal: i32 },
    Refused(Refusal),
    Lost,
}

/// What there is to know about an attempt now.
#[derive(Debug)]
pub(super) enum News {
    Nothing,
    Started,
    Ended(Ending),
}

impl Connection {
    /// Connects to the spawner that was started ahead, or starts one.
    pub(super) async fn open(
        spawner: &Spawner,
        mark: Arc<str>,
        grace: Duration,
    ) -> io::Result<Arc<Self>> {
        if let Some(ahead) = spawner.take_ahead()
            && let Ok(connection) = Self::greet(ahead, Arc::clone(&mark), grace).await
        {
            return Ok(connection);
        }
        // None, or one that was ended before it could say hello: a stray signal may have met it at its very start.
        Self::greet(spawner.launch()?, mark, grace).await
    }

    /// Hears the hello of a spawner, and leaves a task behind that listens to it.
    async fn greet(started: Started, mark: Arc<str>, grace: Duration) -> io::Result<Arc<Self>> {
        let Started { mut child, requests: socket, reports } = started;
        let mut incoming = Incoming::new(reports)?;
        let mut frames = Frames::default();
        let hello = tokio::time::timeout(HELLO_WITHIN, hear_hello(&mut incoming, &mut frames));
        let heard = hello
            .await
            .unwrap_or(Err(not_a_spawner(io::ErrorKind::TimedOut, "it did not say hello in time")));
        if let Err(error) = heard {
            child.kill();
            return Err(error);
        }
        let watched = Some(socket.try_clone()?);
        let connection =
            Arc::new(Self { socket, outgoing: Mutex::default(), places: Mutex::default() });
        let listener = Listener {
            connection: Arc::clone(&connection),
            incoming,
            frames,
            watched,
            writable: None,
            _child: child,
        };
        tokio::spawn(listener.listen(mark, grace));
        Ok(connection)
    }

    pub(super) fn is_lost(&self) -> bool {
        self.places().is_lost
    }

    /// A number for an attempt that is about to be sent; `None` if the spawner is lost.
    pub(super) fn enter(&self, attempt: AttemptId) -> Option<u64> {
        let mut places = self.places();
        if places.is_lost {
            return None;
        }
        places.last_key += 1;
        let key = places.last_key;
        let place =
            Place { attempt, is_started: false, ending: None, waker: None, is_abandoned: false };
        places.running.insert(key, place);
        Some(key)
    }

    /// What is new about an attempt; wakes the task when there is more.
    pub(super) fn news(&self, key: u64, context: &Context<'_>) -> News {
        let mut places = self.places();
        let Some(place) = places.running.get_mut(&key) else { return News::Ended(Ending::Lost) };
        if let Some(ending) = place.ending.take() {
            places.running.remove(&key);
            return News::Ended(ending);
        }
        match &mut place.waker {
            Some(waker) => waker.clone_from(context.waker()),
            none => *none = Some(context.waker().clone()),
        }
        if place.is_started { News::Started } else { News::Nothing }
    }

    /// Nobody waits for the attempt any more: its tree is ended.
    pub(super) fn abandon(&self, key: u64) {
        let mut places = self.places();
        let Some(place) = places.running.get_mut(&key) else { return };
        if place.ending.is_some() {
            places.running.remove(&key);
            return;
        }
        place.is_abandoned = true;
        drop(places);
        self.send(&Request::Kill { key }, Vec::new());
    }

    /// Sends a request now, or leaves it to the listener. If the spawner is lost, that is seen
    /// when listening.
    pub(super) fn send(&self, request: &Request<'_>, descriptors: Vec<OwnedFd>) {
        let mut outgoing = lock(&self.outgoing);
        outgoing.letters.push_back(Letter { bytes: request.encode(), sent: 0, descriptors });
        if outgoing.letters.len() == 1 {
            let _ = outgoing.flush(&self.socket);
        }
        if !outgoing.letters.is_empty()
            && let Some(waker) = outgoing.waker.take()
        {
            waker.wake();
        }
    }

    /// Lets the spawner end everything and exit.
    pub(super) fn close(&self) {
        let _ = rustix::net::shutdown(&self.socket, rustix::net::Shutdown::Both);
    }

    fn places(&self) -> MutexGuard<'_, Places> {
        lock(&self.places)
    }

    fn report(&self, report: Report) {
        let (key, ending) = match report {
            Report::Hello(_) => return,
            Report::Started { key, .. } => (key, None),
            Report::Refused { key, refusal } => (key, Some(Ending::Refused(refusal))),
            Report::Exited { key, pid, code, signal } => {
                (key, Some(Ending::Exited { pid, code, signal }))
            }
        };
        let mut places = self.places();
        let Some(place) = places.running.get_mut(&key) else { return };
        let waker = place.waker.take();
        match ending {
            None => place.is_started = true,
            Some(_) if place.is_abandoned => drop(places.running.remove(&key)),
            ending => place.ending = ending,
        }
        drop(places);
        if let Some(waker) = waker {
            waker.wake();
        }
    }

    /// From now on no attempt can be sent here. Gives those that run.
    fn lose(&self) -> Vec<AttemptId> {
        let mut places = self.places();
        places.is_lost = true;
        places.running.values().map(|place| place.attempt).collect()
    }

    fn tell_lost(&self) {
        let mut places = self.places();
        places.is_lost = true;
        places.running.retain(|_, place| !place.is_abandoned);
        let mut wakers = Vec::new();
        for place in places.running.values_mut() {
            place.ending.get_or_insert(Ending::Lost);
            wakers.extend(place.waker.take());
        }
        drop(places);
        wakers.into_iter().for_each(Waker::wake);
    }
}

impl Outgoing {
    fn flush(&mut self, socket: &UnixStream) -> io::Result<()> {
        while let Some(letter) = self.letters.front_mut() {
            let descriptors: Vec<_> = letter.descriptors.iter().map(AsFd::as_fd).collect();
            let sent = wire::send(socket, &letter.bytes[letter.sent..], &descriptors)?;
            // They went with the first byte.
            letter.descriptors.clear();
            letter.sent += sent;
            if letter.sent == letter.bytes.len() {
                self.letters.pop_front();
            }
        }
        Ok(())
    }
}

/// What comes from the spawner.
struct Incoming {
    reports: Receiver,
    buffer: Vec<u8>,
}

impl Incoming {
    fn new(reports: OwnedFd) -> io::Result<Self> {
        let reports = Receiver::from_owned_fd_unchecked(reports)?;
        Ok(Self { reports, buffer: vec![0; 16 << 10] })
    }

    /// Takes in what there is. False at the end of it.
    fn poll(&mut self, context: &mut Context<'_>, frames: &mut Frames) -> Poll<io::Result<bool>> {
        let mut buffer = ReadBuf::new(&mut self.buffer);
        std::task::ready!(Pin::new(&mut self.reports).poll_read(context, &mut buffer))?;
        frames.extend(buffer.filled());
        Poll::Ready(Ok(!buffer.filled().is_empty()))
    }
}

/// The task that listens to the spawner.
struct Listener {
    connection: Arc<Connection>,
    incoming: Incoming,
    frames: Frames,
    /// A second descriptor of the socket, kept for when it is to be watched: by then there may be none left, and
    /// without it the spawner would be given up with all that runs.
    watched: Option<UnixStream>,
    /// The socket, watched while something could not be sent at once. At other times each request that
    /// the spawner takes in would wake us for nothing.
    writable: Option<tokio::net::UnixStream>,
    _child: Reaped,
}

impl Listener {
    async fn listen(mut self, mark: Arc<str>, grace: Duration) {
        let _ = std::future::poll_fn(|context| self.poll(context)).await;
        let attempts = self.connection.lose();
        if !attempts.is_empty() {
            let ended =
                tokio::task::spawn_blocking(move || end_survivors(&mark, Some(&attempts), grace));
            // Whatever could not be ended now is ended at the next start; see its promises.
            let _ = ended.await;
        }
        self.connection.tell_lost();
    }

    fn poll(&mut self, context: &mut Context<'_>) -> Poll<io::Result<()>> {
        while let Poll::Ready(more) = self.incoming.poll(context, &mut self.frames)? {
            if !more {
                return Poll::Ready(Ok(()));
            }
            while let Some(frame) = self.frames.next()? {
                self.connection.report(Report::decode(frame)?);
            }
        }
        self.poll_send(context)
    }

    fn poll_send(&mut self, context: &mut Context<'_>) -> Poll<io::Result<()>> {
        let connection = &self.connection;
        let mut outgoing = lock(&connection.outgoing);
        outgoing.waker = Some(context.waker().clone());
        while !outgoing.letters.is_empty() {
            let writable = match &self.writable {
                Some(writable) => writable,
                None => {
                    let socket = match self.watched.take() {
                        Some(socket) => socket,
                        None => connection.socket.try_clone()?,
                    };
                    self.writable.insert(tokio::net::UnixStream::from_std(socket)?)
                }
            };
            std::task::ready!(writable.poll_write_ready(context))?;
            match writable.try_io(Interest::WRITABLE, || outgoing.flush(&connection.socket)) {
                Err(error) if error.kind() == io::ErrorKind::WouldBlock => {}
                flushed => flushed?,
            }
        }
        if let Some(writable) = self.writable.take() {
            self.watched = Some(writable.into_std()?);
        }
        Poll::Pending
    }
}

/// The task may also be dropped with its runtime; then nobody is told any more.
impl Drop for Listener {
    fn drop(&mut self) {
        self.connection.close();
        self.connection.tell_lost();
    }
}

async fn hear_hello(incoming: &mut Incoming, frames: &mut Frames) -> io::Result<()> {
    loop {
        let other = |why| not_a_spawner(io::ErrorKind::InvalidData, why);
        if let Some(frame) = frames.next().map_err(|_| other("it said something else"))? {
            return match Report::decode(frame) {
                Ok(Report::Hello(text)) if text == HELLO => Ok(()),
                Ok(Report::Hello(_)) => Err(other("it is of another version")),
                _ => Err(other("it said something else")),
            };
        }
        if !std::future::poll_fn(|context| incoming.poll(context, frames)).await? {
            let kind = io::ErrorKind::UnexpectedEof;
            return Err(not_a_spawner(kind, "it ended without a hello"));
        }
    }
}

fn not_a_spawner(kind: io::ErrorKind, why: &str) -> io::Error {
    let text = format!(
        "the program does not serve as spawner ({why}); its main must begin with serve_if_spawner()"
    );
    io::Error::new(kind, text)
}

fn lock<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}
