//! Collecting the body of an answer within its limits, inflating it where it is packed.
//!
//! What the bytes mean is in [`super::end`].

use std::io::{self, Write};

use flate2::write::MultiGzDecoder;

/// How much more an inflated body may be than what was received, once it is large.
pub(super) const RATIO_MAX: u64 = 100;
/// Small bodies may inflate as they like.
const RATIO_FREE: u64 = 1024 * 1024;

/// Why a body is not taken any further.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
pub(super) enum BodyError {
    #[error("the body is larger than {0} bytes")]
    TooLarge(u64),
    #[error("the body inflates to more than {RATIO_MAX} times what was received")]
    TooDense,
    #[error("the gzip data is broken or cut short")]
    Corrupt,
}

/// A body on its way in.
pub(super) enum Intake {
    Plain(Bounded),
    Gzip(Box<MultiGzDecoder<Bounded>>),
}

impl Intake {
    pub(super) fn new(gzip: bool, body_max: u64) -> Self {
        let bounded = Bounded { bytes: Vec::new(), body_max, received: 0 };
        if gzip { Self::Gzip(Box::new(MultiGzDecoder::new(bounded))) } else { Self::Plain(bounded) }
    }

    /// Takes what was received. What is over a limit is not kept, nor inflated.
    pub(super) fn take(&mut self, chunk: &[u8]) -> Result<(), BodyError> {
        let count = chunk.len() as u64;
        match self {
            Self::Plain(bounded) => {
                // Not packed, so it cannot be denser than what was received.
                bounded.received += count;
                bounded.write_all(chunk)
            }
            Self::Gzip(decoder) => {
                decoder.get_mut().received += count;
                decoder.write_all(chunk)
            }
        }
        .map_err(body_error)
    }

    /// The whole body, after the last chunk.
    pub(super) fn finish(self) -> Result<Vec<u8>, BodyError> {
        match self {
            Self::Plain(bounded) => Ok(bounded.bytes),
            // Answers without a body may still name the encoding it would have.
            Self::Gzip(decoder) if decoder.get_ref().received == 0 => Ok(Vec::new()),
            Self::Gzip(decoder) => {
                decoder.finish().map(|bounded| bounded.bytes).map_err(body_error)
            }
        }
    }

    /// What there is so far, for an excerpt.
    pub(super) fn into_bytes(self) -> Vec<u8> {
        match self {
            Self::Plain(bounded) => bounded.bytes,
            Self::Gzip(mut decoder) => {
                // Bytes wait in the decoder until it is flushed; half a body is good enough here.
                let _ = decoder.flush();
                std::mem::take(&mut decoder.get_mut().bytes)
            }
        }
    }
}

/// A buffer that refuses more than it may hold.
pub(super) struct Bounded {
    bytes: Vec<u8>,
    body_max: u64,
    received: u64,
}

impl Write for Bounded {
    fn write(&mut self, more: &[u8]) -> io::Result<usize> {
        let size = (self.bytes.len() + more.len()) as u64;
        if size > self.body_max {
            let room = usize::try_from(self.body_max).unwrap_or(usize::MAX) - self.bytes.len();
            self.bytes.extend_from_slice(&more[..room.min(more.len())]);
            return Err(io::Error::other(BodyError::TooLarge(self.body_max)));
        }
        if size > RATIO_FREE && size / RATIO_MAX > self.received {
            return Err(io::Error::other(BodyError::TooDense));
        }
        self.bytes.extend_from_slice(more);
        Ok(more.len())
    }

    fn flush(&mut self) -> io::Result<()> {
        Ok(())
    }
}

fn body_error(error: io::Error) -> BodyError {
    let inner = error.get_ref().and_then(|inner| inner.downcast_ref::<BodyError>());
    inner.copied().unwrap_or(BodyError::Corrupt)
}
