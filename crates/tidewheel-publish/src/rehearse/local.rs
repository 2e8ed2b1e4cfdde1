//! [`LocalRegistry`]: a registry on a free port of loopback that keeps what it is given in memory, until it is dropped.
//!
//! What is asked and answered in each language is in the files beside.

use std::hash::{BuildHasher as _, Hasher as _, RandomState};
use std::io;
use std::net::TcpStream;
use std::sync::{Arc, Mutex, OnceLock, PoisonError};

use super::beyond::Beyond;
use super::http::{Answer, Connection, Head};
use super::listen::{Listening, Port};
use super::protocol::{Asked, Protocol, What};
use super::shelf::Shelf;
use super::{cargo, npm, python};
use crate::package::Ecosystem;
use crate::settings::{Secret, Stage, Surroundings};

/// A registry of this machine, for crates, packages of npm and Python's.
#[derive(Debug)]
pub struct LocalRegistry {
    shared: Arc<Shared>,
    _listening: Listening,
}

#[derive(Debug)]
struct Shared {
    base: String,
    /// What paths begin with. Others on this machine do not know it: they have no business here.
    key: String,
    token: String,
    /// One for each language.
    shelves: Mutex<[Shelf; 3]>,
    /// Where others have what is not here.
    beyond: OnceLock<Beyond>,
}

impl LocalRegistry {
    /// Starts one.
    ///
    /// # Errors
    ///
    /// When no port can be had.
    pub fn start() -> io::Result<Self> {
        let port = Port::take()?;
        let address = port.address();
        let shared = Arc::new(Shared {
            base: format!("http://{address}"),
            key: format!("/{}", secret_word()),
            token: format!("rehearsal-{}", secret_word()),
            shelves: Mutex::default(),
            beyond: OnceLock::new(),
        });
        let serving = Arc::clone(&shared);
        Ok(Self { shared, _listening: port.serve(move |stream| serving.serve(stream)) })
    }

    /// Everything is here that is published. What packages need of others is from now on looked up where settings say that
    /// it is.
    pub fn look_beyond(&self, around: &Surroundings) {
        // Whoever was first has said the same.
        let _ = self.shared.beyond.set(Beyond::of(around));
    }

    /// Where packages go in its stead.
    ///
    /// # Panics
    ///
    /// Never: its token is not empty.
    #[must_use]
    pub fn stage(&self) -> Stage {
        let token = Secret::new(&self.shared.token);
        let token = token.expect("it is not empty");
        Stage { base: format!("{}{}", self.shared.base, self.shared.key), token }
    }
}

/// A word that nobody can guess: keys of hash maps come from the system's randomness.
fn secret_word() -> String {
    let random = || RandomState::new().build_hasher().finish();
    format!("{:016x}{:016x}", random(), random())
}

/// The language of a path, which begins with its word, where its shelf is, and what is asked there.
fn protocol_of(path: &str) -> Option<(Protocol, usize, &'static str, &str)> {
    let all = [
        (Protocol::Cargo, 0, Ecosystem::Cargo.word()),
        (Protocol::Npm, 1, Ecosystem::Npm.word()),
        (Protocol::Python, 2, Ecosystem::Python.word()),
    ];
    all.into_iter().find_map(|(protocol, shelf, word)| {
        let rest = path.strip_prefix('/')?.strip_prefix(word)?;
        rest.starts_with('/').then_some((protocol, shelf, word, rest))
    })
}

impl Shared {
    fn serve(&self, stream: TcpStream) {
        let mut connection = Connection::new(stream);
        while let Some(mut head) = connection.head() {
            if connection.invite(&head).is_err() {
                return;
            }
            let Some(body) = connection.body(&head) else { return };
            let place = head.path.strip_prefix(&self.key).and_then(protocol_of);
            let place =
                place.map(|(protocol, shelf, word, path)| (protocol, shelf, word, path.to_owned()));
            let answer = match place {
                Some((protocol, shelf, word, path)) => {
                    head.path = path;
                    self.answer(protocol, shelf, word, &head, &body)
                }
                None => Answer::not_found(),
            };
            if connection.send(&answer.bytes(&head.method)).is_err() || head.is_last() {
                return;
            }
        }
    }

    fn answer(
        &self,
        protocol: Protocol,
        shelf: usize,
        word: &str,
        head: &Head,
        body: &[u8],
    ) -> Answer {
        let asked = Asked::of(protocol, head).with_body(protocol, head, body);
        let is_reading = matches!(asked.what, What::Look | What::Download | What::Other);
        if !is_reading && !protocol.is_authorised(head, &self.token) {
            return protocol.unauthorised();
        }
        let base = format!("{}{}/{word}", self.base, self.key);
        let answer = self.own_answer(protocol, shelf, &base, &asked, head, body);
        let beyond = self.beyond.get().filter(|_| answer.status == 404);
        beyond.and_then(|beyond| beyond.answer(protocol, head, &asked)).unwrap_or(answer)
    }

    /// The answer from what was brought.
    fn own_answer(
        &self,
        protocol: Protocol,
        shelf: usize,
        base: &str,
        asked: &Asked,
        head: &Head,
        body: &[u8],
    ) -> Answer {
        let mut shelves = self.shelves.lock().unwrap_or_else(PoisonError::into_inner);
        let shelf = &mut shelves[shelf];
        if asked.what == What::Upload {
            return match protocol.delivery(head, body) {
                Ok(delivery) => protocol.brought(protocol.keep(shelf, &delivery), &delivery),
                Err(answer) => answer,
            };
        }
        match protocol {
            Protocol::Cargo => cargo::answer(shelf, base, false, head),
            Protocol::Npm => npm::answer(shelf, base, head, body),
            Protocol::Python => python::answer(shelf, base, true, head),
        }
    }
}
