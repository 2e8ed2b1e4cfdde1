//! [`Peer`]: where a request comes from.
//!
//! Who it is that asks is found out in [`super::identify`].

use std::fmt;
use std::net::{IpAddr, SocketAddr};

use axum::extract::ConnectInfo;
use axum::http::Extensions;

/// Where a request comes from. Whoever mounts the router in an application puts one into each request's
/// extensions, or lets axum put its `ConnectInfo<SocketAddr>` there.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Peer {
    /// From the socket of the data folder, whose other end belongs to the user who serves.
    Owner,
    /// From this address.
    Address(IpAddr),
    /// Nobody knows.
    Unknown,
}

impl Peer {
    pub(crate) fn of(extensions: &Extensions) -> Self {
        let known = extensions.get::<Self>().copied();
        let info = || extensions.get::<ConnectInfo<SocketAddr>>();
        known.or_else(|| info().map(|info| Self::Address(info.0.ip()))).unwrap_or(Self::Unknown)
    }

    /// Whether it is on this machine.
    pub(crate) fn is_here(self) -> bool {
        match self {
            Self::Owner => true,
            Self::Address(address) => address.to_canonical().is_loopback(),
            Self::Unknown => false,
        }
    }
}

impl fmt::Display for Peer {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Owner => f.write_str("socket"),
            Self::Address(address) => address.fmt(f),
            Self::Unknown => f.write_str("unknown"),
        }
    }
}
