//! Where a server may listen: on this machine, or elsewhere if somebody sees to it that nobody reads along.
//!
//! It is pure: the socket is made by whoever serves.

use std::net::SocketAddr;

/// What stands around a server.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct Surroundings {
    /// Whether it speaks TLS itself.
    pub has_tls: bool,
    /// Whether somebody stands before it who does.
    pub is_behind_proxy: bool,
}

/// Why a server does not listen there.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error(
    "{address} can be reached from other machines, and tokens would pass in the clear: listen on 127.0.0.1, speak TLS \
     with --tls-cert and --tls-key, or say --behind-proxy if a proxy that speaks it stands before"
)]
pub struct NotSafe {
    /// The address.
    pub address: SocketAddr,
}

/// Whether a server may listen on an address.
///
/// ```
/// use tidewheel_server::{Surroundings, check_address};
///
/// let alone = Surroundings::default();
/// assert!(check_address(([127, 0, 0, 1], 8080).into(), alone).is_ok());
/// let error = check_address(([0, 0, 0, 0], 8080).into(), alone).unwrap_err();
/// assert!(error.to_string().starts_with("0.0.0.0:8080 can be reached from other machines"));
/// ```
///
/// # Errors
///
/// When what is sent there could be read on the way.
pub fn check_address(address: SocketAddr, around: Surroundings) -> Result<(), NotSafe> {
    let is_loopback = address.ip().to_canonical().is_loopback();
    match is_loopback || around.has_tls || around.is_behind_proxy {
        true => Ok(()),
        false => Err(NotSafe { address }),
    }
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used, reason = "a test")]

    use super::*;

    #[test]
    fn only_this_machine_is_safe_by_itself() {
        let here = ["127.0.0.1:0", "127.9.9.9:80", "[::1]:8080", "[::ffff:127.0.0.1]:1"];
        let elsewhere = [
            "0.0.0.0:80",
            "[::]:80",
            "10.0.0.1:80",
            "192.168.1.1:80",
            "[fe80::1]:80",
            "1.1.1.1:80",
            "[::ffff:10.0.0.1]:80",
        ];
        let none = Surroundings::default();
        let tls = Surroundings { has_tls: true, ..none };
        let proxy = Surroundings { is_behind_proxy: true, ..none };
        for address in here {
            assert_eq!(check_address(address.parse().unwrap(), none), Ok(()), "{address}");
        }
        for address in elsewhere {
            let address = address.parse().unwrap();
            assert_eq!(check_address(address, none), Err(NotSafe { address }));
            assert_eq!(check_address(address, tls), Ok(()));
            assert_eq!(check_address(address, proxy), Ok(()));
        }
    }
}
