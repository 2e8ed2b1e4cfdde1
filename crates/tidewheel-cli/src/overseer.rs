//! [`Overseer`]: what started this process and looks after it, as systemd does: the sockets it hands over, and what it is told.
//!
//! Both are by variables of the environment, and where they are missing nothing is done. What is served is in `listening`.

use std::ffi::OsString;
use std::io;
use std::net::TcpListener;
use std::os::linux::net::SocketAddrExt as _;
use std::os::unix::ffi::OsStrExt as _;
use std::os::unix::net::{SocketAddr, UnixDatagram, UnixListener};
use std::time::Duration;

use listenfd::ListenFd;
use rustix::time::{ClockId, clock_gettime};

/// Who looks after this process, if anybody does.
#[derive(Debug, Default)]
pub(crate) struct Overseer {
    socket: Option<OsString>,
    /// How long it may hear nothing.
    patience: Option<Duration>,
}

/// A socket that was handed over.
#[derive(Debug)]
pub(crate) enum HandedOver {
    Tcp(TcpListener),
    Unix(UnixListener),
}

/// What an overseer is told.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum News<'a> {
    /// It serves; in words, what.
    Ready(&'a str),
    /// It reads its files again, and will say when it is ready.
    Reloading,
    /// It comes to its end.
    Stopping,
    /// It still does what it is there for.
    Alive,
}

impl Overseer {
    /// The one that the environment tells of.
    pub fn from_environment() -> Self {
        let number =
            |name: &str| std::env::var(name).ok().and_then(|text| text.parse::<u64>().ok());
        // It may be meant for whoever started us.
        let is_ours = number("WATCHDOG_PID").is_none_or(|it| it == u64::from(std::process::id()));
        let patience = number("WATCHDOG_USEC").filter(|micros| *micros > 0 && is_ours);
        Self {
            socket: std::env::var_os("NOTIFY_SOCKET").filter(|path| !path.is_empty()),
            patience: patience.map(Duration::from_micros),
        }
    }

    /// How often it wants to hear that this process is alive, if it does.
    pub fn every(&self) -> Option<Duration> {
        self.patience.filter(|_| self.socket.is_some()).map(|patience| patience / 2)
    }

    /// Tells it something. Whoever cannot be told is not there any more.
    pub fn tell(&self, news: News<'_>) {
        let _ = self.send(&news.text());
    }

    fn send(&self, text: &str) -> io::Result<()> {
        let Some(path) = &self.socket else { return Ok(()) };
        let address = match path.as_bytes() {
            [b'@', name @ ..] => SocketAddr::from_abstract_name(name)?,
            _ => SocketAddr::from_pathname(path)?,
        };
        UnixDatagram::unbound()?.send_to_addr(text.as_bytes(), &address).map(drop)
    }
}

impl News<'_> {
    fn text(self) -> String {
        match self {
            Self::Ready(status) => format!("READY=1\nSTATUS={}\n", status.replace('\n', " ")),
            Self::Reloading => {
                let now = clock_gettime(ClockId::Monotonic);
                let micros = now.tv_sec * 1_000_000 + now.tv_nsec / 1_000;
                format!("RELOADING=1\nMONOTONIC_USEC={micros}\n")
            }
            Self::Stopping => "STOPPING=1\n".to_owned(),
            Self::Alive => "WATCHDOG=1\n".to_owned(),
        }
    }
}

/// The sockets that were handed over to this process, in their order.
pub(crate) fn handed_over() -> io::Result<Vec<HandedOver>> {
    let mut given = ListenFd::from_env();
    let mut sockets = Vec::new();
    for place in 0..given.len() {
        // One that is not of the network is of a folder; anything else nobody can listen on.
        match given.take_tcp_listener(place) {
            Ok(Some(socket)) => {
                socket.set_nonblocking(true)?;
                sockets.push(HandedOver::Tcp(socket));
            }
            Ok(None) => {}
            Err(_) => {
                if let Some(socket) = given.take_unix_listener(place)? {
                    socket.set_nonblocking(true)?;
                    sockets.push(HandedOver::Unix(socket));
                }
            }
        }
    }
    Ok(sockets)
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used, reason = "a test")]

    use tidewheel_testing::temp_folder;

    use super::*;

    #[test]
    fn it_is_told_where_it_listens() {
        let folder = temp_folder("overseer");
        let path = folder.path().join("notify");
        let heard = UnixDatagram::bind(&path).unwrap();
        let patience = Some(Duration::from_secs(10));
        let overseer = Overseer { socket: Some(path.clone().into_os_string()), patience };
        assert_eq!(overseer.every(), Some(Duration::from_secs(5)));
        let hear = |news| {
            overseer.tell(news);
            let mut text = [0; 200];
            let length = heard.recv(&mut text).unwrap();
            String::from_utf8(text[..length].to_vec()).unwrap()
        };
        assert_eq!(hear(News::Ready("two\nflows")), "READY=1\nSTATUS=two flows\n");
        assert!(hear(News::Reloading).starts_with("RELOADING=1\nMONOTONIC_USEC="));
        assert_eq!(hear(News::Stopping), "STOPPING=1\n");
        assert_eq!(hear(News::Alive), "WATCHDOG=1\n");
        std::fs::remove_file(path).unwrap();
        // Nobody is there any more, and nothing comes of it.
        overseer.tell(News::Alive);
        Overseer::default().tell(News::Alive);
        assert_eq!(Overseer { socket: None, patience }.every(), None);
    }

    #[test]
    fn names_that_are_no_paths_are_found() {
        let name = format!("tidewheel-overseer-{}", std::process::id());
        let address = SocketAddr::from_abstract_name(name.as_bytes()).unwrap();
        let heard = UnixDatagram::bind_addr(&address).unwrap();
        let overseer = Overseer { socket: Some(format!("@{name}").into()), patience: None };
        overseer.tell(News::Alive);
        let mut text = [0; 20];
        assert_eq!(heard.recv(&mut text).unwrap(), "WATCHDOG=1\n".len());
    }
}
