//! [`ClosedPort`]: a port on which nothing listens, for as long as the test needs it. [`ReservedPort`]: one on which a
//! program of the test may listen, and no other.
//!
//! A server of the test itself needs neither: it keeps its listener, on port 0.

use std::net::{Ipv4Addr, SocketAddr, SocketAddrV4};
use std::os::fd::OwnedFd;

use rustix::net::sockopt::set_socket_reuseaddr;
use rustix::net::{AddressFamily, SocketType, bind, getsockname, socket};

/// A loopback port that is bound but does not listen: connections are refused, and no other process can take it.
#[derive(Debug)]
pub struct ClosedPort {
    // Keeps the port bound.
    _socket: OwnedFd,
    address: SocketAddr,
}

impl ClosedPort {
    /// Binds a free port.
    #[expect(clippy::new_without_default, reason = "it takes a port of the machine")]
    pub fn new() -> Self {
        let socket = socket(AddressFamily::INET, SocketType::STREAM, None).unwrap();
        bind(&socket, &SocketAddrV4::new(Ipv4Addr::LOCALHOST, 0)).unwrap();
        let address = SocketAddr::try_from(getsockname(&socket).unwrap()).unwrap();
        Self { _socket: socket, address }
    }

    /// Returns the address that refuses connections.
    pub fn address(&self) -> SocketAddr {
        self.address
    }
}

/// A loopback port for a program that must be given a number, and cannot be given a listener.
///
/// The port stays bound here. The kernel gives it to no socket that wants any port; a program that binds this number with
/// `SO_REUSEADDR`, as servers do, may still listen on it.
#[derive(Debug)]
pub struct ReservedPort {
    // Keeps the port bound.
    _socket: OwnedFd,
    address: SocketAddr,
}

impl ReservedPort {
    /// Binds a free port.
    #[expect(clippy::new_without_default, reason = "it takes a port of the machine")]
    pub fn new() -> Self {
        let socket = socket(AddressFamily::INET, SocketType::STREAM, None).unwrap();
        set_socket_reuseaddr(&socket, true).unwrap();
        bind(&socket, &SocketAddrV4::new(Ipv4Addr::LOCALHOST, 0)).unwrap();
        let address = SocketAddr::try_from(getsockname(&socket).unwrap()).unwrap();
        Self { _socket: socket, address }
    }

    /// Returns the address to listen on.
    pub fn address(&self) -> SocketAddr {
        self.address
    }
}

#[cfg(test)]
mod tests {
    use std::io::ErrorKind;
    use std::net::{TcpListener, TcpStream};

    use super::{ClosedPort, ReservedPort};

    #[test]
    fn reserved_port_can_be_listened_on_once() {
        let port = ReservedPort::new();
        let refused = TcpStream::connect(port.address()).unwrap_err();
        assert_eq!(refused.kind(), ErrorKind::ConnectionRefused);
        // Listeners of the standard library set `SO_REUSEADDR`.
        let listener = TcpListener::bind(port.address()).unwrap();
        assert_eq!(TcpListener::bind(port.address()).unwrap_err().kind(), ErrorKind::AddrInUse);
        drop(listener);
        TcpListener::bind(port.address()).unwrap();
    }

    #[test]
    fn closed_port_refuses_connections_and_stays_taken() {
        let port = ClosedPort::new();
        let error = TcpStream::connect(port.address()).unwrap_err();
        assert_eq!(error.kind(), ErrorKind::ConnectionRefused);
        let error = TcpListener::bind(port.address()).unwrap_err();
        assert_eq!(error.kind(), ErrorKind::AddrInUse);
    }
}
