//! [`Listening`]: the sockets on which `tidewheel serve` answers.
//!
//! What is answered, and to whom, is the business of `tidewheel-server`.

use std::io;
use std::net::SocketAddr;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use anyhow::anyhow;
use tidewheel_client::house::House;
use tidewheel_client::text::harmless;
use tidewheel_server::{
    BasePath, Certificate, Listener, Server, Settings, Surroundings, check_address, serve,
};
use tokio::net::{TcpListener, UnixListener};
use tokio::sync::watch;
use tokio::task::JoinSet;

use crate::error::{CommandError, ErrorKind};
use crate::overseer::{HandedOver, handed_over};
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

    /// Want a token for /metrics on this machine too
    #[arg(long)]
    metrics_token: bool,

    /// The path below which it stands behind a proxy, such as /tidewheel [default: `serve.base_path`]
    #[arg(long, value_name = "PATH")]
    base_path: Option<String>,

    /// Speak TLS with the certificates of this file in PEM, its own first; read again on SIGHUP [default:
    /// `serve.tls_cert`]
    #[arg(long, value_name = "FILE")]
    tls_cert: Option<PathBuf>,

    /// The key of the certificate, in PEM [default: `serve.tls_key`]
    #[arg(long, value_name = "FILE")]
    tls_key: Option<PathBuf>,
}

/// Where a server is to answer: checked, before anything is begun.
pub(crate) struct Places {
    sockets: Vec<Place>,
    certificate: Option<Arc<Certificate>>,
}

enum Place {
    /// Still to be taken.
    Address(SocketAddr),
    /// Taken by somebody else, for us.
    HandedOver(HandedOver),
}

/// The sockets of a server.
pub(crate) struct Listening {
    server: Arc<Server>,
    /// Where it can be reached, with its scheme.
    urls: Vec<String>,
    certificate: Option<Arc<Certificate>>,
    stop: watch::Sender<bool>,
    sockets: JoinSet<io::Result<()>>,
}

impl ListenArgs {
    /// Where to answer: at the sockets that were handed over, or else at the address.
    pub fn places(&self, ui: &Ui) -> Result<Places, CommandError> {
        let certificate = self.certificate(ui)?;
        let around =
            Surroundings { has_tls: certificate.is_some(), is_behind_proxy: self.behind_proxy };
        let handed_over = handed_over().map_err(|error| {
            let error = anyhow!(error).context("the sockets that were handed over cannot be used");
            CommandError::usage(error)
        })?;
        if !handed_over.is_empty() && self.listen.is_some() {
            let error =
                anyhow!("sockets were handed over (LISTEN_FDS), and --listen says another place");
            return Err(CommandError::usage(error).hint("leave --listen out"));
        }
        let sockets: Vec<Place> = match handed_over.is_empty() {
            true => self.address()?.map(Place::Address).into_iter().collect(),
            false => handed_over.into_iter().map(Place::HandedOver).collect(),
        };
        for address in sockets.iter().filter_map(Place::address) {
            check_address(address, around)
                .map_err(|error| CommandError::new(ErrorKind::Refused, error))?;
        }
        Ok(Places { sockets, certificate })
    }

    /// The address that was said; `None`: no port.
    fn address(&self) -> Result<Option<SocketAddr>, CommandError> {
        let said = self.listen.as_deref().unwrap_or(ADDRESS);
        if said == "off" {
            return Ok(None);
        }
        let said = said.replace("localhost:", "127.0.0.1:");
        said.parse().map(Some).map_err(|_| {
            let error = anyhow!("`{said}` is no address to listen on");
            CommandError::usage(error).hint("write an address and a port: 127.0.0.1:8080, or off")
        })
    }

    fn certificate(&self, ui: &Ui) -> Result<Option<Arc<Certificate>>, CommandError> {
        let config = ui.config();
        let chain = self.tls_cert.clone().or_else(|| config.serve_tls_cert());
        let key = self.tls_key.clone().or_else(|| config.serve_tls_key());
        let (chain, key) = match (chain, key) {
            (Some(chain), Some(key)) => (chain, key),
            (None, None) => return Ok(None),
            _ => {
                let error =
                    anyhow!("a certificate and its key are needed, and only one of them is said");
                return Err(
                    CommandError::usage(error).hint("say --tls-cert FILE and --tls-key FILE")
                );
            }
        };
        let read = Certificate::read(&chain, &key);
        read.map(|it| Some(Arc::new(it))).map_err(CommandError::input)
    }

    fn settings(
        &self,
        ui: &Ui,
        has_tls: bool,
        home: Option<String>,
    ) -> Result<Settings, CommandError> {
        let mut settings = Settings::default();
        // Behind a proxy people know it by another name.
        settings.home = match (self.behind_proxy, self.host.first()) {
            (true, Some(host)) => Some(format!("https://{host}")),
            (true, None) => None,
            (false, _) => home,
        };
        settings.hosts.clone_from(&self.host);
        settings.is_behind_proxy = self.behind_proxy;
        settings.has_tls = has_tls;
        settings.metrics_need_token = self.metrics_token || ui.config().serve_metrics_token();
        settings.flowtoy_is_open = self.flowtoy_open || ui.config().serve_flowtoy_open();
        let base = self.base_path.clone().or_else(|| ui.config().serve_base_path());
        let base: Result<BasePath, _> = base.unwrap_or_default().parse();
        settings.base_path = base.map_err(|error| CommandError::usage(anyhow!(error)))?;
        Ok(settings)
    }
}

impl Place {
    fn address(&self) -> Option<SocketAddr> {
        match self {
            Self::Address(address) => Some(*address),
            Self::HandedOver(HandedOver::Tcp(socket)) => socket.local_addr().ok(),
            Self::HandedOver(HandedOver::Unix(_)) => None,
        }
    }
}

impl Places {
    /// Takes the ports, before anything is begun that would have to be ended again if somebody has one of them.
    pub async fn take(self) -> Result<Taken, CommandError> {
        let Self { sockets, certificate } = self;
        let mut listeners = Vec::new();
        for socket in sockets {
            let listener = match socket {
                Place::Address(address) => {
                    TcpListener::bind(address).await.map_err(|error| taken(address, error))?
                }
                Place::HandedOver(HandedOver::Tcp(socket)) => {
                    TcpListener::from_std(socket).map_err(CommandError::system)?
                }
                Place::HandedOver(HandedOver::Unix(socket)) => {
                    let socket = UnixListener::from_std(socket).map_err(CommandError::system)?;
                    listeners.push(Listener::Unix(socket));
                    continue;
                }
            };
            listeners.push(match &certificate {
                Some(certificate) => Listener::Tls(listener, Arc::clone(certificate)),
                None => Listener::Tcp(listener),
            });
        }
        Ok(Taken { listeners, certificate })
    }
}

/// Sockets that are ours.
pub(crate) struct Taken {
    listeners: Vec<Listener>,
    certificate: Option<Arc<Certificate>>,
}

impl Listening {
    /// Begins to answer: on the socket of the data folder, and on those that were taken.
    pub fn begin(
        ui: &Ui,
        house: &House,
        data: &Path,
        args: &ListenArgs,
        Taken { listeners, certificate }: Taken,
    ) -> Result<Self, CommandError> {
        let folder = data.join("server");
        let home = listeners.iter().find_map(|it| url_of(it, args.host.first()));
        let settings = args.settings(ui, certificate.is_some(), home)?;
        let server = Server::open(house.clone(), &folder, settings)
            .map_err(|error| CommandError::new(ErrorKind::Failed, error))?;
        let (stop, stopped) = watch::channel(false);
        let (urls, sockets) = (Vec::new(), JoinSet::new());
        let mut listening = Self { server, urls, certificate, stop, sockets };
        for listener in listeners {
            listening.urls.extend(url_of(&listener, args.host.first()));
            listening.serve(listener, stopped.clone());
        }
        match own_socket(&folder.join("socket")) {
            Ok(socket) => listening.serve(Listener::Unix(socket), stopped),
            // A path may be too long for a socket. Then commands of this machine use files, as without a server.
            Err(error) => ui.warn(&format!("there is no socket in the data folder: {error}")),
        }
        Ok(listening)
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
        let Some(first) = self.urls.first() else {
            ui.note(
                "listening on no port; `tidewheel runs` and `tidewheel schedule` show what it does",
            );
            return Ok(());
        };
        let path = self.server.login_path();
        let path = path.map_err(|error| CommandError::new(ErrorKind::Failed, error))?;
        for url in &self.urls {
            ui.note(&format!("listening on {url}"));
        }
        ui.note(&format!("to log in, within a minute: {first}{path}"));
        Ok(())
    }

    /// Reads the certificate again, if there is one; what is wrong with it is told, and the one before stays in force.
    pub fn reload(&self, ui: &Ui) {
        match self.certificate.as_ref().map(|certificate| certificate.reload()) {
            None => {}
            Some(Ok(())) => ui.note("read the certificate again"),
            Some(Err(error)) => {
                let error = harmless(&format!("{:#}", anyhow!(error)));
                ui.warn(&format!("{error}; the certificate that was read before stays in force"));
            }
        }
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

/// Where a socket is reached: by its name where it has a certificate, which is that of a name.
fn url_of(listener: &Listener, host: Option<&String>) -> Option<String> {
    let (scheme, address) = match listener {
        Listener::Tcp(listener) => ("http", listener.local_addr().ok()?),
        Listener::Tls(listener, _) => ("https", listener.local_addr().ok()?),
        _ => return None,
    };
    match host.filter(|_| scheme == "https") {
        Some(host) => Some(format!("{scheme}://{host}:{}", address.port())),
        None => Some(format!("{scheme}://{address}")),
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
