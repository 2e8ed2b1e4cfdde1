//! [`Chunks`]: an answer that comes in pieces.
//!
//! Where the pieces come from is known to whoever sends them.

use std::io;
use std::pin::Pin;
use std::task::{Context, Poll};

use hyper::body::{Body, Bytes, Frame};
use tokio::sync::mpsc;

/// A body made of what comes through a channel. An error breaks the answer off.
pub(crate) struct Chunks {
    from: mpsc::Receiver<io::Result<Bytes>>,
    first: Option<io::Result<Bytes>>,
}

impl Chunks {
    pub fn new(from: mpsc::Receiver<io::Result<Bytes>>) -> Self {
        Self { from, first: None }
    }

    /// Waits for the first piece, or for the end.
    pub async fn first(&mut self) {
        if self.first.is_none() {
            self.first = self.from.recv().await;
        }
    }

    /// Whether there is no first piece, after it was waited for.
    pub fn is_over(&self) -> bool {
        self.first.is_none()
    }

    /// Whether the first piece is an error.
    pub fn is_broken(&self) -> bool {
        matches!(self.first, Some(Err(_)))
    }
}

impl Body for Chunks {
    type Data = Bytes;
    type Error = io::Error;

    fn poll_frame(
        mut self: Pin<&mut Self>,
        context: &mut Context<'_>,
    ) -> Poll<Option<io::Result<Frame<Bytes>>>> {
        let next = match self.first.take() {
            Some(first) => Poll::Ready(Some(first)),
            None => self.from.poll_recv(context),
        };
        next.map(|piece| piece.map(|piece| piece.map(Frame::data)))
    }
}
