//! `tidewheel login`: a link that logs a browser in, or a token that is kept for a server.
//!
//! What a link is good for, and who may have one, is decided by the server.

use std::io::{self, IsTerminal as _, Read as _};
use std::process::{Command, Stdio};

use anyhow::anyhow;
use serde_json::json;
use tidewheel_client::api::{Asker, LoginLink};
use tidewheel_client::text::harmless;

use crate::cli::Format;
use crate::credentials::Credentials;
use crate::data::DataArgs;
use crate::error::{CommandError, ErrorKind};
use crate::runtime::on_this_thread;
use crate::server;
use crate::ui::Ui;

/// More is no token.
const TOKEN_MAX: u64 = 4096;

/// Log in to a server: a browser by a link, this command by a token
///
/// Without --token it prints a link that logs a browser in, once and within a minute, and opens it where there is a
/// browser to be seen: of the server that has the data folder, or of the one at URL. With --token it reads
/// a token from standard input and keeps it for URL, so that --server URL finds it.
#[derive(Debug, clap::Args)]
#[command(after_help = "\
Examples:
  tidewheel login
  tidewheel login https://tide.example --token < token.txt
  tidewheel runs --server https://tide.example
  tidewheel login https://tide.example --forget

Tokens are kept in tidewheel/credentials.json of the user's configuration folder, which nobody else can
read; $TIDEWHEEL_TOKEN goes before it. With --format json it prints { url, seconds }, or { server, name, role }.

Exit codes: 4 no server has the data folder, 6 the server does not know the token.")]
pub(crate) struct Args {
    /// The address of the server [default: the one that has the data folder]
    url: Option<String>,

    /// Read a token from standard input, and keep it for this server
    #[arg(long, requires = "url")]
    token: bool,

    /// Keep no token for this server any more
    #[arg(long, requires = "url", conflicts_with = "token")]
    forget: bool,

    /// Only print the link
    #[arg(long)]
    no_open: bool,

    #[command(flatten)]
    data: DataArgs,
}

pub(crate) fn run(ui: &Ui, args: &Args) -> Result<(), CommandError> {
    match &args.url {
        Some(url) if args.token => keep(ui, url),
        Some(url) if args.forget => forget(ui, url),
        _ => link(ui, args),
    }
}

fn keep(ui: &Ui, url: &str) -> Result<(), CommandError> {
    if io::stdin().is_terminal() {
        ui.note("paste the token, then Enter and Ctrl-D");
    }
    let mut token = String::new();
    io::stdin().take(TOKEN_MAX).read_to_string(&mut token).map_err(CommandError::input)?;
    let token = token.trim();
    if token.is_empty() {
        let error = CommandError::usage(anyhow!("there is no token on standard input"));
        return Err(error.hint("tidewheel token create NAME --role operator  makes one"));
    }
    let desk = server::with_token(url, token)?;
    // One that is not good is not kept.
    let Asker { name, role, .. } = on_this_thread(async { Ok(desk.me().await?) })?;
    let mut kept = credentials()?;
    kept.keep(url, token)?;
    if ui.format(Format::Human) == Format::Json {
        return ui.print_json(&json!({ "server": url, "name": name, "role": role }));
    }
    ui.print(&format!("{}: logged in as {}, {role}", harmless(url), harmless(&name)))?;
    ui.note(&format!("the token is in {}", kept.path().display()));
    Ok(())
}

fn forget(ui: &Ui, url: &str) -> Result<(), CommandError> {
    if !credentials()?.forget(url)? {
        let error = anyhow!("no token is kept for {}", harmless(url));
        return Err(CommandError::new(ErrorKind::NotFound, error));
    }
    if ui.format(Format::Human) == Format::Json {
        return ui.print_json(&json!({ "server": url }));
    }
    ui.print(&format!("{}: forgotten", harmless(url)))?;
    ui.note("the token is still good: `tidewheel token revoke` ends it");
    Ok(())
}

fn credentials() -> Result<Credentials, CommandError> {
    Credentials::of_this_user()?.ok_or_else(|| {
        let error = anyhow!("there is no home folder to keep tokens in");
        CommandError::usage(error).hint("say the token in $TIDEWHEEL_TOKEN")
    })
}

fn link(ui: &Ui, args: &Args) -> Result<(), CommandError> {
    let desk = match &args.url {
        Some(url) => server::at_url(url)?,
        None => {
            let folder = args.data.path(ui)?;
            server::of_folder(&folder)?.ok_or_else(|| crate::data::no_server(&folder))?
        }
    };
    let LoginLink { path, seconds, url, .. } =
        on_this_thread(async { Ok(desk.login_link().await?) })?;
    let said = args.url.as_ref().map(|base| format!("{}{path}", base.trim_end_matches('/')));
    let Some(url) = said.or(url) else {
        let error = anyhow!("the server listens on no port, so no browser reaches it");
        return Err(CommandError::new(ErrorKind::Conflict, error).hint("start it with --listen"));
    };
    if ui.format(Format::Human) == Format::Json {
        return ui.print_json(&json!({ "url": url, "seconds": seconds }));
    }
    ui.print(&url)?;
    ui.note(&format!("it logs a browser in once, within {seconds} seconds"));
    if !args.no_open && io::stdout().is_terminal() {
        open(&url);
    }
    Ok(())
}

/// Opens a link where there is a browser to be seen. Whoever has none has the link.
fn open(url: &str) {
    let has_screen =
        ["DISPLAY", "WAYLAND_DISPLAY"].iter().any(|name| std::env::var_os(name).is_some());
    let browser = std::env::var_os("BROWSER").filter(|name| !name.is_empty());
    let program = browser.or_else(|| has_screen.then(|| "xdg-open".into()));
    if let Some(program) = program {
        let quiet = (Stdio::null(), Stdio::null(), Stdio::null());
        let mut command = Command::new(program);
        command.arg(url).stdin(quiet.0).stdout(quiet.1).stderr(quiet.2);
        // It is not waited for: a browser lasts.
        let _ = command.spawn();
    }
}
