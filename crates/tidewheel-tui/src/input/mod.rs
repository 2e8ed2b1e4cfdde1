//! Input of a terminal: [`Decoder`] finds keys, the mouse and pasted text in bytes, and `Input` reads these bytes.
//!
//! [`crate::keys`] maps keys to actions.

mod decoder;
mod reader;

pub use decoder::Decoder;
pub(crate) use reader::Input;
