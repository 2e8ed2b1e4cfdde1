//! [`Port`]: a free port of loopback, at which connections are served, each by a thread of its own.
//!
//! What is said over them is not known here.

use std::io;
use std::net::{SocketAddr, TcpListener, TcpStream};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::thread;

/// A free port of loopback.
#[derive(Debug)]
pub struct Port {
    listener: TcpListener,
    address: SocketAddr,
}

/// A port at which connections are served, until this is dropped. Those that are open then go on to their end.
#[derive(Debug)]
pub struct Listening {
    address: SocketAddr,
    is_over: Arc<AtomicBool>,
}

impl Port {
    /// Takes one.
    ///
    /// # Errors
    ///
    /// When none can be had.
    pub fn take() -> io::Result<Self> {
        let listener = TcpListener::bind("127.0.0.1:0")?;
        let address = listener.local_addr()?;
        Ok(Self { listener, address })
    }

    /// Where it is.
    #[must_use]
    pub fn address(&self) -> SocketAddr {
        self.address
    }

    /// Serves whoever connects from now on.
    pub fn serve(self, serve: impl Fn(TcpStream) + Send + Sync + 'static) -> Listening {
        let Self { listener, address } = self;
        let is_over = Arc::new(AtomicBool::new(false));
        let (serve, ends) = (Arc::new(serve), Arc::clone(&is_over));
        thread::spawn(move || {
            for stream in listener.incoming().map_while(Result::ok) {
                if ends.load(Ordering::SeqCst) {
                    return;
                }
                let serve = Arc::clone(&serve);
                // Answers are small, and somebody waits for each.
                let _ = stream.set_nodelay(true);
                thread::spawn(move || serve(stream));
            }
        });
        Listening { address, is_over }
    }
}

impl Listening {
    /// Where it is.
    #[must_use]
    pub fn address(&self) -> SocketAddr {
        self.address
    }
}

impl Drop for Listening {
    fn drop(&mut self) {
        self.is_over.store(true, Ordering::SeqCst);
        // Whoever waits for connections gets one, and leaves.
        let _ = TcpStream::connect(self.address);
    }
}
