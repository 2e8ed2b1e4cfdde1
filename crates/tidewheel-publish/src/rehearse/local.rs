//! [`LocalRegistry`]: a registry on a free port of loopback that keeps what it is given in memory, until it is dropped.
//!
//! What is asked and answered in each language is in the files beside.

use std::io;
use std::net::TcpStream;
use std::sync::{Arc, Mutex, PoisonError};

use super::http::{Answer, Connection, Head};
use super::listen::{Listening, Port};
use super::protocol::{Asked, Protocol, What};
use super::shelf::Shelf;
use super::{cargo, npm, python};
use crate::package::Ecosystem;
use crate::settings::{Secret, Stage};

/// A registry of this machine, for crates, packages of npm and Python's.
#[derive(Debug)]
pub struct LocalRegistry {
    shared: Arc<Shared>,
    _listening: Listening,
}

#[derive(Debug)]
struct Shared {
    base: String,
    token: String,
    /// One for each language.
    shelves: Mutex<[Shelf; 3]>,
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
            token: format!("rehearsal-{}-{}", std::process::id(), address.port()),
            shelves: Mutex::default(),
        });
        let serving = Arc::clone(&shared);
        Ok(Self { shared, _listening: port.serve(move |stream| serving.serve(stream)) })
    }

    /// Where packages go in its stead.
    ///
    /// # Panics
    ///
    /// Never: its token is not empty.
    #[must_use]
    pub fn stage(&self) -> Stage {
        let token = Secret::new(&self.shared.token);
        Stage { base: self.shared.base.clone(), token: token.expect("it is not empty") }
    }
}

/// The language of a path, which begins with its word, and where its shelf is.
fn protocol_of(head: &Head) -> Option<(Protocol, usize, &'static str)> {
    let all = [
        (Protocol::Cargo, 0, Ecosystem::Cargo.word()),
        (Protocol::Npm, 1, Ecosystem::Npm.word()),
        (Protocol::Python, 2, Ecosystem::Python.word()),
    ];
    let first = head.parts().into_iter().next()?;
    all.into_iter().find(|(_, _, word)| *word == first)
}

impl Shared {
    fn serve(&self, stream: TcpStream) {
        let mut connection = Connection::new(stream);
        while let Some(mut head) = connection.head() {
            if connection.invite(&head).is_err() {
                return;
            }
            let Some(body) = connection.body(&head) else { return };
            let answer = match protocol_of(&head) {
                Some((protocol, shelf, word)) => {
                    head.path = head.path[word.len() + 1..].to_owned();
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
        let mut shelves = self.shelves.lock().unwrap_or_else(PoisonError::into_inner);
        let shelf = &mut shelves[shelf];
        if asked.what == What::Upload {
            return match protocol.delivery(head, body) {
                Ok(delivery) => protocol.brought(protocol.keep(shelf, &delivery), &delivery),
                Err(answer) => answer,
            };
        }
        let base = format!("{}/{word}", self.base);
        match protocol {
            Protocol::Cargo => cargo::answer(shelf, &base, false, head),
            Protocol::Npm => npm::answer(shelf, &base, head, body),
            Protocol::Python => python::answer(shelf, &base, true, head),
        }
    }
}
