//! [`decode`]: the bytes of a file as text.
//!
//! How large a file may be is checked before, by whoever reads it.

use crate::language::problem::Problem;

/// The text of a file.
///
/// # Errors
///
/// If it is not UTF-8: the line of the first byte that is not. The problem has no place, as there
/// is no text it could be in; [`Problem::about`] adds the name of the file.
pub fn decode(bytes: &[u8]) -> Result<&str, Box<Problem>> {
    std::str::from_utf8(bytes).map_err(|error| {
        let offset = error.valid_up_to();
        let good = &bytes[..offset];
        let line = good.iter().filter(|byte| **byte == b'\n').count() + 1;
        let byte = bytes.get(offset).copied().unwrap_or_default();
        let what = match bytes {
            [0xff, 0xfe, ..] | [0xfe, 0xff, ..] => "not UTF-8, but looks like UTF-16".to_owned(),
            _ => format!("not UTF-8: the first wrong byte is 0x{byte:02x} in line {line}"),
        };
        Box::new(Problem::error("yaml-not-utf8", what).hint("save the file as UTF-8"))
    })
}
