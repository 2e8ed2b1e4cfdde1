//! Input of a terminal: [`Decoder`] finds keys, the mouse and pasted text in bytes, and `Input` reads these bytes.
//!
//! What a key does is in [`crate::keys`].

mod decoder;
mod reader;

pub use decoder::Decoder;
pub(crate) use reader::Input;
