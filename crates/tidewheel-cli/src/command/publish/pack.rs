//! `tidewheel publish pack`: everything that is published, packed into a folder that can be carried to where it is sent.
//!
//! What is packed and how is known in `tidewheel-publish`.

use std::path::PathBuf;

use serde::Serialize;
use tidewheel_client::text::{count, harmless};
use tidewheel_publish::pack::PackedFile;
use tidewheel_publish::prepare::pack_only;

use super::args::{ShownArgs, WhatArgs};
use super::graph::refused;
use super::place::Place;
use super::start::say_chore;
use crate::cli::Format;
use crate::data::DataArgs;
use crate::error::CommandError;
use crate::runtime::on_runtime;
use crate::table::Table;
use crate::ui::Ui;

/// Pack a workspace into a folder, to be sent from elsewhere
///
/// Asks no registry and needs no token. The folder has every file, and a list of them with their digests; the
/// digest of that list is said. `tidewheel publish --packed FOLDER --packed-hash DIGEST` sends just that, where
/// the same commit is checked out: one byte that is another one, and it is refused.
#[derive(Debug, clap::Args)]
#[command(after_help = "\
Examples:
  tidewheel publish pack --into packed
  tidewheel publish --packed packed --packed-hash DIGEST --yes

Exit codes: 0 packed, 3 something is in the way.

With --format json it prints { folder, digest, commit, packages }.")]
pub(crate) struct PackArgs {
    #[command(flatten)]
    what: WhatArgs,

    /// The folder; what is in it already of the same names is replaced
    #[arg(long, value_name = "FOLDER")]
    into: PathBuf,

    /// Say nothing but the result
    #[arg(long, short = 'q')]
    quiet: bool,

    #[command(flatten)]
    data: DataArgs,
}

/// What was packed, for programs.
#[derive(Debug, Serialize)]
struct PackedDocument<'a> {
    folder: &'a PathBuf,
    /// Of the list of all files.
    digest: &'a str,
    commit: Option<&'a str>,
    packages: Vec<PackageDocument<'a>>,
}

#[derive(Debug, Serialize)]
struct PackageDocument<'a> {
    package: &'a str,
    version: &'a str,
    files: &'a [PackedFile],
}

pub(super) fn pack(ui: &Ui, args: &PackArgs) -> Result<u8, CommandError> {
    let (folder, registry) = (args.what.folder.as_deref(), args.what.registry.as_ref());
    let place = Place::take(ui, "tidewheel publish pack", folder, registry, &args.data)?;
    let shown = ShownArgs { output: None, quiet: args.quiet, events: false };
    let packed = on_runtime(async {
        place.listen()?;
        let tell = |chore| say_chore(ui, &shown, chore);
        let packed = pack_only(&place.publisher, &args.what.wish(), &place.ours, &tell);
        if let Some(code) = place.is_packed() {
            return Ok(Err(code));
        }
        packed.map(Ok).map_err(|problems| refused(&problems))
    })?;
    let set = match packed {
        Ok(set) => set,
        Err(code) => return Ok(code),
    };
    let digest = set.carry_to(&args.into)?;
    match ui.format(Format::Human) {
        Format::Json => {
            let packages = set.packages.iter().map(|(package, packed)| PackageDocument {
                package,
                version: &packed.version,
                files: &packed.files,
            });
            ui.print_json(&PackedDocument {
                folder: &args.into,
                digest: &digest,
                commit: set.commit.as_deref(),
                packages: packages.collect(),
            })?;
        }
        Format::Human => {
            let folder = harmless(&args.into.display().to_string());
            let mut table = Table::new(["PACKAGE", "VERSION", "FILE", "BYTES"]);
            for (package, packed) in &set.packages {
                for file in &packed.files {
                    let size = file.bytes.to_string();
                    table.row([package, &packed.version, &file.name, &size].map(|it| harmless(it)));
                }
            }
            ui.print(&format!(
                "{table}\n\n{} packed into {folder}\npacked {digest}",
                count(set.packages.len(), "package")
            ))?;
            ui.note(&format!(
                "hint: tidewheel publish --packed {folder} --packed-hash {digest}  sends it, from here or elsewhere"
            ));
        }
    }
    Ok(0)
}
