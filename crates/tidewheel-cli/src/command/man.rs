//! `tidewheel man`: our manual pages, made of what `--help` says.
//!
//! Nothing is written here that `--help` does not say.

use std::fs;
use std::path::{Path, PathBuf};

use anyhow::Context as _;
use clap_mangen::Man;
use serde_json::json;

use crate::cli::Format;
use crate::error::{CommandError, ErrorKind};
use crate::output::write_atomically;
use crate::ui::Ui;

/// Print the manual page, or write one for every command
#[derive(Debug, clap::Args)]
#[command(after_help = "\
Examples:
  tidewheel man | man -l -
  tidewheel man --dir ~/.local/share/man/man1

With --dir and --format json it prints { \"pages\": [FILE, ...] }.")]
pub(crate) struct Args {
    /// Write a page for each command into this folder, which is made if need be
    #[arg(long, value_name = "DIR")]
    dir: Option<PathBuf>,
}

/// `command` is the whole command line.
pub(crate) fn run(ui: &Ui, args: &Args, command: clap::Command) -> Result<u8, CommandError> {
    let Some(folder) = &args.dir else {
        ui.print(&page(command)?.text)?;
        return Ok(0);
    };
    let pages = write_pages(folder, command)?;
    match ui.format(Format::Human) {
        Format::Json => ui.print(&json!({ "pages": pages }).to_string())?,
        Format::Human => ui.print(&format!("{} pages in {}", pages.len(), folder.display()))?,
    }
    Ok(0)
}

fn write_pages(folder: &Path, command: clap::Command) -> Result<Vec<String>, CommandError> {
    fs::create_dir_all(folder)
        .with_context(|| format!("{} cannot be made", folder.display()))
        .map_err(|error| CommandError::new(ErrorKind::Failed, error))?;
    let mut names = Vec::new();
    for page in pages(command)? {
        write_atomically(&folder.join(&page.name), &page.text)?;
        names.push(page.name);
    }
    Ok(names)
}

/// A manual page.
struct Page {
    /// The name of its file.
    name: String,
    text: String,
}

/// The pages of a command and of all commands below it, without those that are hidden.
fn pages(command: clap::Command) -> Result<Vec<Page>, CommandError> {
    // There is no sense in a page about `help` for each command.
    let mut command = command.disable_help_subcommand(true);
    command.build();
    let mut pages = Vec::new();
    let mut left = vec![command];
    while let Some(command) = left.pop() {
        left.extend(command.get_subcommands().filter(|it| !it.is_hide_set()).cloned());
        pages.push(page(command)?);
    }
    pages.sort_by(|one, other| one.name.cmp(&other.name));
    Ok(pages)
}

fn page(command: clap::Command) -> Result<Page, CommandError> {
    let man = Man::new(command).manual("Tidewheel");
    let mut text = Vec::new();
    man.render(&mut text)?;
    let text = String::from_utf8_lossy(&text).into_owned();
    Ok(Page { name: man.get_filename(), text })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn command() -> clap::Command {
        let next = clap::Command::new("next").about("Says when");
        let schedule = clap::Command::new("schedule").about("Asks").subcommand(next);
        let hidden = clap::Command::new("secret").hide(true);
        clap::Command::new("tidewheel").subcommand(schedule).subcommand(hidden)
    }

    #[test]
    fn every_command_has_a_page_except_hidden_ones() {
        let pages = pages(command()).unwrap();
        let names: Vec<&str> = pages.iter().map(|page| page.name.as_str()).collect();
        assert_eq!(names, ["tidewheel-schedule-next.1", "tidewheel-schedule.1", "tidewheel.1"]);
        assert!(pages[0].text.contains("Says when"), "{}", pages[0].text);
    }

    #[test]
    fn the_main_page_names_the_commands() {
        let page = page(command()).unwrap();
        assert!(page.text.contains("schedule") && !page.text.contains("secret"), "{}", page.text);
    }
}
