//! Secrets from the generator of the operating system, their fingerprints, and comparisons that take the same time
//! whatever is compared.
//!
//! Who has which secret is in the files beside.

use std::fmt::Write as _;
use std::io;

use rustix::rand::{GetRandomFlags, getrandom};
use sha2::{Digest as _, Sha256};
use subtle::ConstantTimeEq as _;

/// So many random bytes, in hexadecimal.
pub(crate) fn secret(bytes: usize) -> io::Result<String> {
    let mut random = vec![0_u8; bytes];
    let mut filled = 0;
    // The system may give less than was asked for.
    while filled < bytes {
        filled += getrandom(&mut random[filled..], GetRandomFlags::empty())?;
    }
    Ok(hex(&random))
}

/// What is stored of a secret.
pub(crate) fn fingerprint(secret: &str) -> String {
    hex(&Sha256::digest(secret.as_bytes()))
}

/// Whether two texts are the same, found out in a time that depends on their lengths alone.
pub(crate) fn is_same(one: &str, other: &str) -> bool {
    one.as_bytes().ct_eq(other.as_bytes()).into()
}

pub(crate) fn hex(bytes: &[u8]) -> String {
    bytes.iter().fold(String::with_capacity(bytes.len() * 2), |mut text, byte| {
        // Writing to a text cannot fail.
        let _ = write!(text, "{byte:02x}");
        text
    })
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used, reason = "a test")]

    use super::*;

    #[test]
    fn secrets_are_long_and_never_the_same() {
        let (one, other) = (secret(32).unwrap(), secret(32).unwrap());
        assert_eq!((one.len(), other.len()), (64, 64));
        assert_ne!(one, other);
    }

    #[test]
    fn fingerprints_are_those_of_everybody() {
        // printf abc | sha256sum
        let known = "ba7816bf8f01cfea414140de5dae2223b00361a396177a9cb410ff61f20015ad";
        assert_eq!(fingerprint("abc"), known);
        assert!(is_same("abc", "abc") && !is_same("abc", "abd") && !is_same("abc", "ab"));
    }
}
