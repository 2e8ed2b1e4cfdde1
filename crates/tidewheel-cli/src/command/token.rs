//! `tidewheel token`: who may ask a server, by which role and for how long.
//!
//! How tokens are kept is the server's business.

use std::time::Duration;

use tidewheel::clock::wall_clock;
use tidewheel::store::sqlite::Durability;
use tidewheel_client::api::{AuditRow, Role, TokenLine, TokenList, TokenMade, TokenWish};
use tidewheel_client::desk::Reach;
use tidewheel_client::text::{ago, harmless};
use tidewheel_server::audit::AuditLog;
use tidewheel_server::identity::{Token, TokenError, TokenPlan, Tokens};

use crate::cli::Format;
use crate::command::audit::audit_error;
use crate::data::DeskArgs;
use crate::error::{CommandError, ErrorKind};
use crate::runtime::on_this_thread;
use crate::table::Table;
use crate::ui::Ui;

const DAY: Duration = Duration::from_secs(24 * 3600);

/// Make, list and revoke the tokens of a server
#[derive(Debug, clap::Args)]
#[command(after_help = "\
Examples:
  tidewheel token create laptop --role operator
  tidewheel token create dashboard --role viewer --days 365
  tidewheel token create backups --role operator --flow 'backup-*' --flow restore
  tidewheel token list
  tidewheel token revoke laptop
  tidewheel token list --server https://tide.example

A program sends a token as `Authorization: Bearer tidewheel_…`. It is shown once: only its fingerprint is
stored. A server that runs sees what is made and revoked within a second.")]
pub(crate) struct Args {
    #[command(subcommand)]
    what: What,
}

#[derive(Debug, clap::Subcommand)]
enum What {
    /// Make a token, and show it this one time
    Create(CreateArgs),
    /// List the tokens that are good
    List(ListArgs),
    /// End a token, with its sessions and streams
    Revoke(RevokeArgs),
}

#[derive(Debug, clap::Args)]
struct CreateArgs {
    /// Whose it is, or what for
    name: String,

    /// What it may do: viewer, operator, author or admin
    #[arg(long, value_name = "ROLE")]
    role: Role,

    /// A flow that it knows of, by name or by a pattern such as `backup-*`; may be repeated [default: all]
    #[arg(long = "flow", value_name = "NAME")]
    flows: Vec<String>,

    /// How many days it is good for [default: 90]
    #[arg(long, value_name = "N")]
    days: Option<u32>,

    #[command(flatten)]
    data: DeskArgs,
}

#[derive(Debug, clap::Args)]
struct ListArgs {
    #[command(flatten)]
    data: DeskArgs,
}

#[derive(Debug, clap::Args)]
struct RevokeArgs {
    /// Its id, or its name
    token: String,

    #[command(flatten)]
    data: DeskArgs,
}

pub(crate) fn run(ui: &Ui, args: &Args) -> Result<(), CommandError> {
    match &args.what {
        What::Create(args) => create(ui, args),
        What::List(args) => list(ui, args),
        What::Revoke(args) => revoke(ui, args),
    }
}

fn create(ui: &Ui, args: &CreateArgs) -> Result<(), CommandError> {
    let made = match args.data.named()? {
        Some(server) => {
            let (name, role, days) = (args.name.clone(), args.role, args.days);
            let flows = (!args.flows.is_empty()).then(|| args.flows.clone());
            let wish = TokenWish { version: None, name, role, days, flows };
            on_this_thread(async { Ok(server.make_token(&wish).await?) })?
        }
        None => make(ui, args)?,
    };
    if ui.format(Format::Human) == Format::Json {
        return ui.print_json(&made);
    }
    ui.print(&made.secret)?;
    let of = match args.flows.is_empty() {
        true => String::new(),
        false => format!(" of {}", harmless(&args.flows.join(", "))),
    };
    ui.note(&format!("a token for {}{of}; it is not shown again", args.role));
    Ok(())
}

/// Makes a token in the files of a data folder.
fn make(ui: &Ui, args: &CreateArgs) -> Result<TokenMade, CommandError> {
    let folder = args.data.data.open(ui, Durability::Power)?.path().join("server");
    let lasts = args.days.map(|days| DAY.saturating_mul(days));
    let tokens = Tokens::open(&folder).map_err(token_error)?;
    let reach = match args.flows.is_empty() {
        true => Reach::all(),
        false => Reach::of(&args.flows).map_err(|it| CommandError::new(ErrorKind::Usage, it))?,
    };
    let plan = TokenPlan { reach, lasts, ..TokenPlan::new(&args.name, args.role) };
    let made = tokens.make_as(&plan, wall_clock()).map_err(token_error)?;
    note(&folder, "make-token", &made.token)?;
    let secret = made.secret().to_owned();
    Ok(TokenMade { version: None, secret, token: made.token.line() })
}

fn list(ui: &Ui, args: &ListArgs) -> Result<(), CommandError> {
    let list = match args.data.named()? {
        Some(server) => on_this_thread(async { Ok(server.tokens().await?) })?,
        None => {
            let folder = args.data.data.open_existing(ui)?.path().join("server");
            let tokens = Tokens::open(&folder).and_then(|tokens| tokens.list(wall_clock()));
            let tokens = tokens.map_err(token_error)?.iter().map(Token::line).collect();
            TokenList { version: None, tokens }
        }
    };
    if ui.format(Format::Human) == Format::Json {
        return ui.print_json(&list);
    }
    let tokens: Vec<TokenLine> = list.tokens;
    if tokens.is_empty() {
        return ui.print("no tokens");
    }
    let mut table = Table::new(["ID", "NAME", "ROLE", "FLOWS", "MADE", "ENDS", "USED"]);
    for token in tokens {
        table.row([
            token.id,
            token.name,
            token.role.to_string(),
            token.flows.map_or_else(|| "all".to_owned(), |flows| flows.join(" ")),
            ago(token.made_at),
            token.expires_at.to_string(),
            token.used_at.map_or_else(|| "-".to_owned(), ago),
        ]);
    }
    ui.print(&table.to_string())
}

fn revoke(ui: &Ui, args: &RevokeArgs) -> Result<(), CommandError> {
    let revoked = match args.data.named()? {
        Some(server) => on_this_thread(async { Ok(server.revoke_token(&args.token).await?) })?,
        None => {
            let folder = args.data.data.open_existing(ui)?.path().join("server");
            let tokens = Tokens::open(&folder).map_err(token_error)?;
            let revoked = tokens.revoke(&args.token).map_err(token_error)?;
            note(&folder, "revoke-token", &revoked)?;
            TokenList { version: None, tokens: vec![revoked.line()] }
        }
    };
    if ui.format(Format::Human) == Format::Json {
        return ui.print_json(&revoked);
    }
    let ended = |token: &TokenLine| {
        format!("token {} ({}) has ended", harmless(&token.id), harmless(&token.name))
    };
    ui.print(&revoked.tokens.iter().map(ended).collect::<Vec<_>>().join("\n"))
}

/// Writes down what was done, as a server would.
fn note(folder: &std::path::Path, action: &str, token: &Token) -> Result<(), CommandError> {
    let entry = AuditRow {
        address: "command".to_owned(),
        object: format!("token {}", token.words()),
        ..AuditRow::unwritten(wall_clock(), "owner", action, 200)
    };
    AuditLog::open(folder).and_then(|log| log.add(&entry)).map_err(audit_error)
}

fn token_error(error: TokenError) -> CommandError {
    let kind = match &error {
        TokenError::Name | TokenError::Lasts | TokenError::Reach(_) => ErrorKind::Usage,
        TokenError::Unknown(_) => ErrorKind::NotFound,
        TokenError::TooMany => ErrorKind::Conflict,
        _ => ErrorKind::Failed,
    };
    CommandError::new(kind, error)
}
