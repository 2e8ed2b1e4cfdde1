//! [`Listening`]: the sockets on which `tidewheel serve` answers.
//!
//! What is answered, and to whom, is the business of `tidewheel-server`.

use std::io;
use std::net::SocketAddr;
use std::path::Path;
use std::sync::Arc;

use anyhow::anyhow;
use tidewheel_client::house::House;
use tidewheel_server::{Listener, Server, Settings, Surroundings, check_address, serve};
use tokio::net::{TcpListener, UnixListener};
use tokio::sync::watch;
use tokio::task::JoinSet;

use crate::error::{CommandError, ErrorKind};
use crate::ui::Ui;

/// Where a server answers if nobody says.
const ADDRESS: &str = "127.0.0.1:8080";

/// How a server listens.
#[derive(Debug, clap::Args)]
pub(crate) struct ListenArgs {
    /// Where to answer over HTTP, or `off` [default: 127.0.0.1:8080]
    #[arg(long, value_name = "ADDRESS")]
    listen: Option<String>,

    /// A name under which the server may be asked, besides localhost; may be repeated
    #[arg(long, value_name = "NAME")]
    host: Vec<String>,

    /// A proxy that speaks TLS stands before the server
    #[arg(long)]
    behind_proxy: bool,

    /// Let whoever is on this machine read /flowtoy/RUN/status and /outputs without a token, for flowtoy's
    /// screen and page
    #[arg(long)]
    flowtoy_open: bool,
}

/// The sockets of a server.
pub(crate) struct Listening {
    server: Arc<Server>,
    address: Option<SocketAddr>,
    stop: watch::Sender<bool>,
    sockets: JoinSet<io::Result<()>>,
}

impl ListenArgs {
    /// The address, which is checked before anything is begun; `None`: no port.
    pub fn address(&self) -> Result<Option<SocketAddr>, CommandError> {
        let said = self.listen.as_deref().unwrap_or(ADDRESS);
        if said == "off" {
            return Ok(None);
        }
        let said = said.replace("localhost:", "127.0.0.1:");
        let address: SocketAddr = said.parse().map_err(|_| {
            let error = anyhow!("`{said}` is no address to listen on");
            CommandError::usage(error).hint("write an address and a port: 127.0.0.1:8080, or off")
        })?;
        let around = Surroundings { has_tls: false, is_behind_proxy: self.behind_proxy };
        check_address(address, around)
            .map_err(|error| CommandError::new(ErrorKind::Refused, error))?;
        Ok(Some(address))
    }

    fn settings(&self, ui: &Ui, address: Option<SocketAddr>) -> Settings {
        let mut settings = Settings::default();
        // Behind a proxy people know it by another name.
        settings.home = match (self.behind_proxy, self.host.first()) {
            (true, Some(host)) => Some(format!("https://{host}")),
            (true, None) => None,
            (false, _) => address.map(|address| format!("http://{address}")),
        };
        settings.hosts.clone_from(&self.host);
        settings.is_behind_proxy = self.behind_proxy;
        settings.flowtoy_is_open = self.flowtoy_open || ui.config().serve_flowtoy_open();
        settings
    }
}

impl Listening {
    /// Begins to answer: on the socket of the data folder, and at the address.
    pub fn begin(
        ui: &Ui,
        house: &House,
        data: &Path,
        args: &ListenArgs,
        port: Option<TcpListener>,
    ) -> Result<Self, CommandError> {
        let folder = data.join("server");
        let address = port.as_ref().and_then(|port| port.local_addr().ok());
        let server = Server::open(house.clone(), &folder, args.settings(ui, address))
            .map_err(|error| CommandError::new(ErrorKind::Failed, error))?;
        let (stop, stopped) = watch::channel(false);
        let mut listening = Self { server, address, stop, sockets: JoinSet::new() };
        if let Some(listener) = port {
            listening.serve(Listener::Tcp(listener), stopped.clone());
        }
        match own_socket(&folder.join("socket")) {
            Ok(socket) => listening.serve(Listener::Unix(socket), stopped),
            // A path may be too long for a socket. Then commands of this machine use files, as without a server.
            Err(error) => ui.warn(&format!("there is no socket in the data folder: {error}")),
        }
        Ok(listening)
    }

    /// Takes the port, before anything is begun that would have to be ended again if somebody has it.
    pub async fn take(address: Option<SocketAddr>) -> Result<Option<TcpListener>, CommandError> {
        let Some(address) = address else { return Ok(None) };
        TcpListener::bind(address).await.map(Some).map_err(|error| taken(address, error))
    }

    fn serve(&mut self, listener: Listener, mut stopped: watch::Receiver<bool>) {
        let stop = async move {
            // Gone is stopped.
            let _ = stopped.wait_for(|is_stopped| *is_stopped).await;
        };
        self.sockets.spawn(serve(listener, Arc::clone(&self.server), stop));
    }

    /// Says where it answers, with a link that logs its owner in.
    pub fn tell(&self, ui: &Ui) -> Result<(), CommandError> {
        let Some(address) = self.address else {
            ui.note(
                "listening on no port; `tidewheel runs` and `tidewheel schedule` show what it does",
            );
            return Ok(());
        };
        let path = self.server.login_path();
        let path = path.map_err(|error| CommandError::new(ErrorKind::Failed, error))?;
        ui.note(&format!("listening on http://{address}"));
        ui.note(&format!("to log in, within a minute: http://{address}{path}"));
        Ok(())
    }

    /// Takes nothing new in.
    pub fn drain(&self) {
        self.server.drain();
    }

    /// Stops to answer.
    pub async fn end(mut self) {
        let _ = self.stop.send(true);
        while self.sockets.join_next().await.is_some() {}
    }
}

/// The socket of a data folder, whose shard is ours: one that lies there is left over.
fn own_socket(path: &Path) -> io::Result<UnixListener> {
    use std::os::unix::fs::PermissionsExt as _;
    match std::fs::remove_file(path) {
        Err(error) if error.kind() != io::ErrorKind::NotFound => return Err(error),
        _ => {}
    }
    let socket = UnixListener::bind(path)?;
    std::fs::set_permissions(path, std::fs::Permissions::from_mode(0o600))?;
    Ok(socket)
}

fn taken(address: SocketAddr, error: io::Error) -> CommandError {
    let (kind, hint) = match error.kind() {
        io::ErrorKind::AddrInUse => {
            (ErrorKind::Conflict, "choose another port with --listen, or 0 for any that is free")
        }
        io::ErrorKind::PermissionDenied => {
            (ErrorKind::Refused, "choose a port above 1023 with --listen")
        }
        _ => (ErrorKind::Failed, "choose another address with --listen"),
    };
    CommandError::new(kind, anyhow!("cannot listen on {address}: {error}")).hint(hint)
}
