//! `tidewheel mail`: sends a letter by SMTP, as a step of a flow does it.
//!
//! When one is sent, and how often that is tried, is said by the flow.

use std::io::Read as _;
use std::net::IpAddr;
use std::path::PathBuf;
use std::time::Duration;

use anyhow::{Context as _, anyhow};
use lettre::message::{Mailbox, header::ContentType};
use lettre::transport::smtp::authentication::Credentials;
use lettre::transport::smtp::client::{Tls, TlsParameters};
use lettre::{Message, SmtpTransport, Transport as _};
use serde_json::json;

use crate::cli::Format;
use crate::error::{CommandError, ErrorKind};
use crate::ui::Ui;
use crate::value;

/// The longest letter.
const BODY_MAX: u64 = 10 << 20;

/// The variable with the password, unless another one is named.
const PASSWORD: &str = "TIDEWHEEL_MAIL_PASSWORD";

/// Send a letter by SMTP
///
/// The text is read from standard input, unless --text says it. It is for steps of flows: one attempt, and an
/// exit code; the step says what is tried again.
#[derive(Debug, clap::Args)]
#[command(after_help = "\
Examples:
  echo 'the backup is done' | tidewheel mail --server smtps://mail.example.org --from me@example.org \\
    --to you@example.org --subject Backup --user me
  tidewheel mail --server smtp://localhost:25 --from a@example.org --to b@example.org --subject Hi --text Hello

In a flow:
  - name: mail
    argv: [tidewheel, mail, --server, smtps://mail.example.org, --from, me@example.org,
           --to, you@example.org, --subject, \"{{ params.text }}\", --user, me]
    env: { TIDEWHEEL_MAIL_PASSWORD: \"{{ secrets.mail }}\" }
    retry: { attempts: 5, delay: 1m }

`smtps://` is TLS from the first byte (port 465), `smtp://` with STARTTLS (587), which must be there. Only a server on
this machine may be spoken to without.

Exit codes: 0 the server has taken it, 1 it has not, but may later, 2 an address or option is wrong, 6 the server refuses
it for good, or it is not safe to ask.")]
pub(crate) struct Args {
    /// The server: smtps://HOST[:PORT] or smtp://HOST[:PORT]
    #[arg(long, value_name = "URL")]
    server: String,

    /// Who sends it
    #[arg(long, value_name = "ADDRESS")]
    from: String,

    /// To whom; may be said several times
    #[arg(long, value_name = "ADDRESS", required = true)]
    to: Vec<String>,

    /// What it is about
    #[arg(long, value_name = "TEXT")]
    subject: String,

    /// What it says [default: standard input]
    #[arg(long, value_name = "TEXT")]
    text: Option<String>,

    /// Who logs in at the server
    #[arg(long, value_name = "NAME")]
    user: Option<String>,

    /// The file with the password [default: the variable TIDEWHEEL_MAIL_PASSWORD]
    #[arg(long, value_name = "FILE", requires = "user")]
    password_file: Option<PathBuf>,

    /// How long the server may take for each answer [default: 30s]
    #[arg(long, value_name = "TIME", value_parser = value::span)]
    timeout: Option<Duration>,
}

pub(crate) fn run(ui: &Ui, args: &Args) -> Result<(), CommandError> {
    let server = Server::parse(&args.server)?;
    let letter = letter(args)?;
    let timeout = args.timeout.unwrap_or(Duration::from_secs(30));
    let mut transport = SmtpTransport::builder_dangerous(&server.host)
        .port(server.port)
        .tls(server.tls()?)
        .timeout(Some(timeout));
    if let Some(user) = &args.user {
        transport = transport.credentials(Credentials::new(user.clone(), password(args)?));
    }
    let answer = transport.build().send(&letter).map_err(|error| {
        // Who logs in wrongly, or sends to nobody, does so the next time as well.
        let kind = if error.is_permanent() { ErrorKind::Refused } else { ErrorKind::Failed };
        let text = format!("{} does not take it", args.server);
        CommandError::new(kind, anyhow::Error::new(error).context(text))
    })?;
    if ui.format(Format::Human) == Format::Json {
        let answer: Vec<&str> = answer.message().collect();
        return ui.print_json(&json!({ "to": args.to, "answer": answer }));
    }
    ui.note(&format!("sent to {}", args.to.join(", ")));
    Ok(())
}

/// The letter, checked.
fn letter(args: &Args) -> Result<Message, CommandError> {
    let mut letter = Message::builder().from(mailbox(&args.from)?).subject(one_line(&args.subject));
    for to in &args.to {
        letter = letter.to(mailbox(to)?);
    }
    let text = match &args.text {
        Some(text) => text.clone(),
        None => read_text()?,
    };
    let letter = letter.header(ContentType::TEXT_PLAIN).body(text);
    letter.map_err(|error| CommandError::new(ErrorKind::Usage, error))
}

fn mailbox(text: &str) -> Result<Mailbox, CommandError> {
    text.parse().map_err(|error| {
        let error = anyhow::Error::new(error).context(format!("`{text}` is no address"));
        CommandError::new(ErrorKind::Usage, error)
    })
}

/// A subject is a line; what comes from elsewhere may be more.
fn one_line(text: &str) -> String {
    text.split(char::is_control).collect::<Vec<_>>().join(" ")
}

fn read_text() -> Result<String, CommandError> {
    let mut text = Vec::new();
    let read = std::io::stdin().lock().take(BODY_MAX + 1).read_to_end(&mut text);
    read.context("standard input cannot be read").map_err(CommandError::input)?;
    if text.len() as u64 > BODY_MAX {
        return Err(CommandError::input(anyhow!("a letter has at most 10 MiB")));
    }
    Ok(String::from_utf8_lossy(&text).into_owned())
}

fn password(args: &Args) -> Result<String, CommandError> {
    let text = match &args.password_file {
        Some(path) => {
            let text = std::fs::read_to_string(path);
            let text = text.with_context(|| format!("{} cannot be read", path.display()));
            text.map_err(CommandError::input)?
        }
        None => std::env::var(PASSWORD).unwrap_or_default(),
    };
    let text = text.trim_end_matches(['\n', '\r']);
    if text.is_empty() {
        let error = anyhow!("there is no password for --user");
        let hint = format!("set {PASSWORD}, or say --password-file FILE");
        return Err(CommandError::new(ErrorKind::Usage, error).hint(hint));
    }
    Ok(text.to_owned())
}

/// Where the server is, and how it is spoken to.
#[derive(Debug, PartialEq, Eq)]
struct Server {
    host: String,
    port: u16,
    is_wrapped: bool,
}

impl Server {
    fn parse(url: &str) -> Result<Self, CommandError> {
        let wrong = || {
            let error = anyhow!("`{url}` is no server for mail");
            let hint = "write smtps://HOST or smtp://HOST, with :PORT if need be";
            CommandError::new(ErrorKind::Usage, error).hint(hint)
        };
        let (scheme, rest) = url.split_once("://").ok_or_else(wrong)?;
        let is_wrapped = match scheme {
            "smtps" => true,
            "smtp" => false,
            _ => return Err(wrong()),
        };
        let rest = rest.strip_suffix('/').unwrap_or(rest);
        let is_whole = rest.ends_with(']') || !rest.contains(':');
        let (host, port) = match rest.rsplit_once(':').filter(|_| !is_whole) {
            Some((host, port)) => (host, port.parse().map_err(|_| wrong())?),
            None => (rest, if is_wrapped { 465 } else { 587 }),
        };
        let host = host.trim_start_matches('[').trim_end_matches(']');
        let is_host = !host.is_empty() && !host.contains(['/', '@', '?', '#', ' ']);
        is_host.then(|| Self { host: host.to_owned(), port, is_wrapped }).ok_or_else(wrong)
    }

    /// Passwords and letters go through TLS, unless they do not leave this machine.
    fn tls(&self) -> Result<Tls, CommandError> {
        let is_here = self.host == "localhost"
            || self.host.parse::<IpAddr>().is_ok_and(|address| address.is_loopback());
        if !self.is_wrapped && is_here {
            return Ok(Tls::None);
        }
        let parameters = TlsParameters::new(self.host.clone())
            .map_err(|error| CommandError::new(ErrorKind::Failed, error))?;
        Ok(match self.is_wrapped {
            true => Tls::Wrapper(parameters),
            false => Tls::Required(parameters),
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn servers_are_read_with_their_ports() {
        let server =
            |host: &str, port, is_wrapped| Server { host: host.to_owned(), port, is_wrapped };
        for (url, expected) in [
            ("smtps://mail.example.org", server("mail.example.org", 465, true)),
            ("smtp://mail.example.org/", server("mail.example.org", 587, false)),
            ("smtp://localhost:2525", server("localhost", 2525, false)),
            ("smtps://[::1]:465", server("::1", 465, true)),
            ("smtps://[::1]", server("::1", 465, true)),
        ] {
            assert_eq!(Server::parse(url).ok(), Some(expected), "{url}");
        }
        for wrong in
            ["mail.example.org", "http://x", "smtp://", "smtp://x:y", "smtp://a@b", "smtp://a/b"]
        {
            assert!(Server::parse(wrong).is_err(), "{wrong}");
        }
    }

    #[test]
    fn only_this_machine_is_spoken_to_without_tls() {
        let tls = |url: &str| Server::parse(url).ok().map(|server| server.tls().ok());
        assert!(matches!(tls("smtp://localhost:25"), Some(Some(Tls::None))));
        assert!(matches!(tls("smtp://127.0.0.1"), Some(Some(Tls::None))));
        assert!(matches!(tls("smtps://localhost"), Some(Some(Tls::Wrapper(_)))));
        assert!(matches!(tls("smtp://127.0.0.1.example.org"), Some(Some(Tls::Required(_)))));
    }

    #[test]
    fn a_subject_is_one_line() {
        assert_eq!(one_line("failed\r\nBcc: all@example.org"), "failed  Bcc: all@example.org");
    }
}
