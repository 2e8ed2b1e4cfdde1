//! [`ReservedPort`]: a free port for a program that takes only a number.

use std::net::{Ipv4Addr, SocketAddrV4};
use std::os::fd::OwnedFd;

use rustix::net::sockopt::set_socket_reuseaddr;
use rustix::net::{AddressFamily, SocketType, bind, getsockname, socket};

/// A loopback port on which one other program can listen, for as long as the value lives.
///
/// The port stays bound without listening, so the kernel gives it to no one who asks for any free port. Servers set
/// `SO_REUSEADDR`, and Linux lets such a socket listen beside one that has it too and does not listen.
#[derive(Debug)]
pub struct ReservedPort {
    // Keeps the port bound.
    _socket: OwnedFd,
    number: u16,
}

impl ReservedPort {
    /// Binds a free port.
    #[expect(clippy::new_without_default, reason = "it takes a port of the machine")]
    pub fn new() -> Self {
        let socket = socket(AddressFamily::INET, SocketType::STREAM, None).unwrap();
        // Bound before the option is set: the kernel must not share a port that another test has reserved.
        bind(&socket, &SocketAddrV4::new(Ipv4Addr::LOCALHOST, 0)).unwrap();
        set_socket_reuseaddr(&socket, true).unwrap();
        let address = SocketAddrV4::try_from(getsockname(&socket).unwrap()).unwrap();
        Self { _socket: socket, number: address.port() }
    }

    /// Returns the number of the port.
    pub fn number(&self) -> u16 {
        self.number
    }
}

#[cfg(test)]
mod tests {
    use std::io::ErrorKind;
    use std::net::{Ipv4Addr, TcpListener, TcpStream};

    use super::ReservedPort;

    #[test]
    fn reserved_port_is_listened_on_by_one_program_and_given_to_no_other() {
        let port = ReservedPort::new();
        let address = (Ipv4Addr::LOCALHOST, port.number());
        assert_eq!(TcpStream::connect(address).unwrap_err().kind(), ErrorKind::ConnectionRefused);
        // The listener of the standard library sets SO_REUSEADDR, as servers do.
        let server = TcpListener::bind(address).unwrap();
        assert_eq!(TcpListener::bind(address).unwrap_err().kind(), ErrorKind::AddrInUse);
        TcpStream::connect(address).unwrap();
        drop(server);
        let others: Vec<TcpListener> =
            (0..200).map(|_| TcpListener::bind((Ipv4Addr::LOCALHOST, 0)).unwrap()).collect();
        assert!(others.iter().all(|it| it.local_addr().unwrap().port() != port.number()));
    }
}
