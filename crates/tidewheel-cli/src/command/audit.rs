//! `tidewheel audit`: what was asked of a server to be changed, and whether that record is whole.
//!
//! How its rows hang together is the server's business.

use tidewheel_client::api::{AuditList, AuditVerified};
use tidewheel_client::text::{count, harmless};
use tidewheel_server::audit::{AuditError, AuditLog};

use crate::cli::Format;
use crate::data::{DataArgs, DeskArgs};
use crate::error::{CommandError, ErrorKind};
use crate::runtime::on_this_thread;
use crate::table::Table;
use crate::ui::Ui;

/// Read and verify the audit log of a server
#[derive(Debug, clap::Args)]
#[command(after_help = "\
Examples:
  tidewheel audit list
  tidewheel audit verify

Each row has the fingerprint of the one before: `verify` finds one that was changed, removed or moved.
Exit codes of verify: 0 all is as it was written, 5 it is not.")]
pub(crate) struct Args {
    #[command(subcommand)]
    what: What,
}

#[derive(Debug, clap::Subcommand)]
enum What {
    /// List its newest rows, newest first
    List(ListArgs),
    /// Find out whether a row was changed, removed or moved
    Verify(VerifyArgs),
}

#[derive(Debug, clap::Args)]
struct ListArgs {
    /// At most so many
    #[arg(long, short = 'n', value_name = "N", default_value_t = 20)]
    limit: u16,

    #[command(flatten)]
    data: DeskArgs,
}

#[derive(Debug, clap::Args)]
struct VerifyArgs {
    #[command(flatten)]
    data: DeskArgs,
}

pub(crate) fn run(ui: &Ui, args: &Args) -> Result<(), CommandError> {
    match &args.what {
        What::List(args) => list(ui, args),
        What::Verify(args) => verify(ui, args),
    }
}

fn open(ui: &Ui, data: &DataArgs) -> Result<AuditLog, CommandError> {
    let folder = data.open_existing(ui)?.path().join("server");
    AuditLog::open(&folder).map_err(audit_error)
}

fn list(ui: &Ui, args: &ListArgs) -> Result<(), CommandError> {
    let rows = match args.data.named()? {
        Some(server) => on_this_thread(async { Ok(server.audit(args.limit.into()).await?) })?.rows,
        None => {
            let log = open(ui, &args.data.data)?;
            log.newest(None, args.limit.into()).map_err(audit_error)?
        }
    };
    if ui.format(Format::Human) == Format::Json {
        return ui.print_json(&AuditList { version: None, rows });
    }
    if rows.is_empty() {
        return ui.print("nothing was asked to be changed");
    }
    let mut table = Table::new(["ROW", "AT", "WHO", "FROM", "WHAT", "OF WHAT", "STATUS"]);
    for row in rows {
        table.row([
            row.number.to_string(),
            row.at.to_string(),
            harmless(&row.actor),
            harmless(&row.address),
            harmless(&row.action),
            harmless(&row.object),
            row.result.to_string(),
        ]);
    }
    ui.print(&table.to_string())
}

fn verify(ui: &Ui, args: &VerifyArgs) -> Result<(), CommandError> {
    let rows = match args.data.named()? {
        Some(server) => on_this_thread(async { Ok(server.verify_audit().await?) })?.rows,
        None => open(ui, &args.data.data)?.verify().map_err(audit_error)?,
    };
    if ui.format(Format::Human) == Format::Json {
        return ui.print_json(&AuditVerified { version: None, rows });
    }
    let rows = usize::try_from(rows).unwrap_or(usize::MAX);
    ui.print(&format!("{}, all as they were written", count(rows, "row")))
}

/// An error of the audit log with its exit code.
pub(crate) fn audit_error(error: AuditError) -> CommandError {
    let kind = match &error {
        AuditError::Broken { .. } => ErrorKind::Conflict,
        _ => ErrorKind::Failed,
    };
    CommandError::new(kind, error)
}
