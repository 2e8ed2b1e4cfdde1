//! `tidewheel import`: flow files made from crontabs and from the flows of others.
//!
//! What becomes of what is in `crate::import`; here files are read and written.

use std::collections::BTreeMap;
use std::fs::{self, File};
use std::io::{self, IsTerminal as _, Read as _};
use std::path::{Path, PathBuf};
use std::sync::Arc;

use anyhow::{Context as _, anyhow};
use clap::Subcommand;
use serde_json::{Value as Json, json};
use tidewheel_client::files::FlowFiles;
use tidewheel_client::text::count;
use tidewheel_core::calendar::Zone;

use crate::cli::Format;
use crate::error::{CommandError, ErrorKind};
use crate::import::crontab::{self, ImportedFlow, Surroundings};
use crate::import::{Imported, Warning, dagu, flowtoy, github, machine};
use crate::output::write_atomically;
use crate::output::write_new;
use crate::ui::Ui;

/// Larger files are not read.
const BYTES_MAX: u64 = 16 << 20;

/// Make flow files from what you have
#[derive(Debug, clap::Args)]
pub(crate) struct Args {
    #[command(subcommand)]
    command: ImportCommand,
}

#[derive(Debug, Subcommand)]
enum ImportCommand {
    Crontab(CrontabArgs),
    Dagu(DaguArgs),
    Github(GithubArgs),
    Flowtoy(FlowtoyArgs),
}

/// Make a flow of every entry of a crontab
///
/// Schedules keep their meaning: the zone, days of month or days of week, and what happens to runs
/// that overlap or were missed. Variables, SHELL, HOME and input after % are kept as well. What a
/// flow cannot say, such as @reboot, becomes a comment in it and a warning.
#[derive(Debug, clap::Args)]
#[command(after_help = "\
Examples:
  crontab -l | tidewheel import crontab -o flows
  tidewheel import crontab /etc/crontab --system -o flows
  tidewheel import crontab saved.txt --zone Europe/Zurich

Without -o the flows are printed, with `---` between them.

With --format json it prints { flows: [{ name, line, schedule, valid, file or text }],
warnings: [{ line, message }] }.")]
struct CrontabArgs {
    /// The crontab; standard input if it is - or missing
    file: Option<PathBuf>,

    /// The folder for the flow files, which is made if need be; or a file ending in .yaml if there
    /// is only one entry
    #[arg(long, short = 'o', value_name = "PATH")]
    output: Option<PathBuf>,

    /// Entries have a column with the user, as in /etc/crontab
    #[arg(long)]
    system: bool,

    /// The zone of entries that no CRON_TZ stands above [default: TZ in the crontab, or that of
    /// this machine]
    #[arg(long, value_name = "ZONE", allow_hyphen_values = true)]
    zone: Option<String>,

    /// Replace files that are there
    #[arg(long)]
    force: bool,
}

/// Write a flow of flowtoy anew
///
/// Takes files of flowtoy 0.1.0 and 0.4.0; several are merged from left to right. Old forms are
/// brought up to date, what had no effect is left out, and comments say where Tidewheel differs.
#[derive(Debug, clap::Args)]
#[command(after_help = "\
Examples:
  tidewheel import flowtoy pipeline.yaml -o flow.yaml
  tidewheel import flowtoy base.yaml production.yaml

With --format json it prints { steps, file or text, valid, problems, warnings: [{ message }] }.")]
struct FlowtoyArgs {
    /// Files of flowtoy; - is standard input
    #[arg(required = true, value_name = "FILE")]
    files: Vec<PathBuf>,

    /// The flow file to make; it is printed if this is missing
    #[arg(long, short = 'o', value_name = "FILE")]
    output: Option<PathBuf>,

    /// Replace the file if it is there
    #[arg(long)]
    force: bool,
}

/// Make a flow of a flow of Dagu
///
/// Steps, params, variables, conditions, retries, handlers and schedules keep their meaning; flows in
/// the same file become groups. What has no equal becomes a comment at its place and a warning.
#[derive(Debug, clap::Args)]
#[command(after_help = "\
Examples:
  tidewheel import dagu etl.yaml -o flow.yaml
  tidewheel import dagu - < etl.yaml

With --format json it prints { steps, file or text, valid, problems, warnings: [{ message }] }.")]
struct DaguArgs {
    #[command(flatten)]
    one: OneFile,
}

/// Make a flow of a workflow of GitHub Actions
///
/// Jobs become groups of steps, with what they need, their conditions and matrices; expressions in
/// commands come in as variables. What has no equal, such as an action, becomes a comment at its place
/// and a warning; a step that would do nothing without it fails.
#[derive(Debug, clap::Args)]
#[command(after_help = "\
Examples:
  tidewheel import github .github/workflows/ci.yml -o ci.yaml

With --format json it prints { steps, file or text, valid, problems, warnings: [{ message }] }.")]
struct GithubArgs {
    #[command(flatten)]
    one: OneFile,
}

/// One file in, one out.
#[derive(Debug, clap::Args)]
struct OneFile {
    /// The file; - is standard input
    file: PathBuf,

    /// The flow file to make; it is printed if this is missing
    #[arg(long, short = 'o', value_name = "FILE")]
    output: Option<PathBuf>,

    /// Replace the file if it is there
    #[arg(long)]
    force: bool,
}

pub(crate) fn run(ui: &Ui, args: &Args) -> Result<u8, CommandError> {
    match &args.command {
        ImportCommand::Crontab(args) => import_crontab(ui, args),
        ImportCommand::Dagu(args) => {
            import_one(ui, &args.one, |text| dagu::import(documents(text)?))
        }
        ImportCommand::Github(args) => {
            import_one(ui, &args.one, |text| github::import(parse(text)?))
        }
        ImportCommand::Flowtoy(args) => import_flowtoy(ui, args),
    }
}

fn parse(text: &str) -> Result<Json, String> {
    tidewheel_client::files::parse_yaml(text).map_err(|error| error.to_string())
}

/// The documents of a file, between lines of three dashes.
fn documents(text: &str) -> Result<Vec<Json>, String> {
    let mut documents = vec![String::new()];
    for line in text.lines() {
        match line.trim_end() == "---" {
            true => documents.push(String::new()),
            false => documents.iter_mut().last().into_iter().for_each(|it| {
                it.push_str(line);
                it.push('\n');
            }),
        }
    }
    documents.iter().map(|text| parse(text)).collect()
}

fn import_one(
    ui: &Ui,
    args: &OneFile,
    convert: impl FnOnce(&str) -> Result<Imported, String>,
) -> Result<u8, CommandError> {
    let (text, lossy) = read(&args.file)?;
    let mut imported = convert(&text).map_err(|error| {
        CommandError::input(anyhow!("{} cannot be imported: {error}", args.file.display()))
    })?;
    imported.warnings.splice(0..0, lossy);
    hand_out(ui, &imported, args.output.as_deref(), args.force)
}

/// Writes or prints a flow, and says what was lost and whether it can be run.
fn hand_out(
    ui: &Ui,
    imported: &Imported,
    path: Option<&Path>,
    is_forced: bool,
) -> Result<u8, CommandError> {
    if let Some(path) = path {
        write_all([(path, imported.text.as_str())].into_iter(), is_forced)?;
    }
    let checked = checked(path, &imported.text);
    if ui.format(Format::Human) == Format::Json {
        let validated = checked.validated(false);
        let mut value = json!({
            "steps": imported.steps,
            "valid": validated.valid,
            "problems": validated.problems,
            "warnings": to_json(&imported.warnings),
        });
        say_where(&mut value, path, &imported.text);
        ui.print(&value.to_string())?;
        return Ok(0);
    }
    match path {
        Some(path) => {
            ui.print(&format!("{}: {}", path.display(), count(imported.steps, "step")))?
        }
        None => ui.print(&imported.text)?,
    }
    warn(ui, &imported.warnings);
    say_problems(ui, &checked);
    Ok(0)
}

/// What was written, read as any other flow file: with the files that it calls, if it is on the disk.
fn checked(path: Option<&Path>, text: &str) -> FlowFiles {
    match path {
        Some(path) => FlowFiles::read(&[path.to_owned()]),
        None => {
            let path = PathBuf::from("flow.yaml");
            let texts = BTreeMap::from([(path.clone(), Arc::from(text))]);
            FlowFiles::of_texts(&[path], &texts)
        }
    }
}

/// Says what is left to be mended, or to be thought about.
fn say_problems(ui: &Ui, checked: &FlowFiles) {
    if checked.has_problems() {
        ui.warn(match checked.runnable() {
            Ok(_) => "what was written can be run as it is, but look at this:",
            Err(_) => "what was written cannot be run as it is:",
        });
        ui.note(checked.problems(false, 100).trim_end());
    }
}

fn import_crontab(ui: &Ui, args: &CrontabArgs) -> Result<u8, CommandError> {
    let file = args.file.as_deref().unwrap_or(Path::new("-"));
    if args.file.is_none() && io::stdin().is_terminal() {
        return Err(CommandError::usage(anyhow!("there is no crontab to read"))
            .hint("crontab -l | tidewheel import crontab"));
    }
    let surroundings = surroundings(args, file)?;
    let (text, lossy) = read(file)?;
    let mut imported = crontab::import(&text, &surroundings);
    imported.warnings.splice(0..0, lossy);
    let flows = &imported.flows;
    if flows.is_empty() && !imported.warnings.is_empty() {
        warn(ui, &imported.warnings);
        return Err(CommandError::input(anyhow!("nothing in it could be made a flow")));
    }
    let paths = match &args.output {
        Some(output) => Some(paths(output, flows)?),
        None => None,
    };
    if let Some(paths) = &paths {
        let texts = flows.iter().map(|flow| flow.text.as_str());
        write_all(paths.iter().map(PathBuf::as_path).zip(texts), args.force)?;
    }
    if ui.format(Format::Human) == Format::Json {
        let entry = |(place, flow): (usize, &ImportedFlow)| {
            let path = paths.as_ref().map(|paths| paths[place].as_path());
            let valid = checked(path, &flow.text).validated(false).valid;
            let mut value = json!({
                "name": flow.name, "line": flow.line, "schedule": flow.schedule, "valid": valid,
            });
            say_where(&mut value, path, &flow.text);
            value
        };
        let entries: Vec<Json> = flows.iter().enumerate().map(entry).collect();
        let value = json!({ "flows": entries, "warnings": to_json(&imported.warnings) });
        ui.print(&value.to_string())?;
        return Ok(0);
    }
    match &paths {
        _ if flows.is_empty() => ui.note("the crontab has no entries"),
        Some(paths) => ui.print(&table(flows, paths))?,
        None => ui.print(&joined(flows))?,
    }
    warn(ui, &imported.warnings);
    for (flow, place) in flows.iter().zip(0..) {
        let path = paths.as_ref().map(|paths: &Vec<PathBuf>| paths[place].as_path());
        say_problems(ui, &checked(path, &flow.text));
    }
    Ok(0)
}

fn surroundings(args: &CrontabArgs, file: &Path) -> Result<Surroundings, CommandError> {
    let is_system = args.system || machine::is_system_crontab(file);
    let zone = match &args.zone {
        Some(name) => Some(Zone::named(name).map_err(|error| {
            CommandError::input(error).hint("name a zone as in Europe/Zurich, or UTC")
        })?),
        None => None,
    };
    Ok(Surroundings {
        is_system,
        zone: zone.map(|zone| zone.name().to_owned()),
        zone_here: machine::zone(),
        home: std::env::var("HOME").ok().filter(|home| !home.is_empty()),
        homes: if is_system { machine::homes() } else { Default::default() },
    })
}

/// Where each flow is written.
fn paths(output: &Path, flows: &[ImportedFlow]) -> Result<Vec<PathBuf>, CommandError> {
    let is_yaml = output.extension().is_some_and(|ending| ending == "yaml" || ending == "yml");
    if is_yaml && !output.is_dir() {
        if flows.len() == 1 {
            return Ok(vec![output.to_owned()]);
        }
        let error = anyhow!("{} flows do not fit into {}", flows.len(), output.display());
        return Err(CommandError::usage(error).hint("name a folder: -o flows"));
    }
    fs::create_dir_all(output)
        .with_context(|| format!("{} cannot be made", output.display()))
        .map_err(|error| CommandError::new(ErrorKind::Failed, error))?;
    Ok(flows.iter().map(|flow| output.join(format!("{}.yaml", flow.name))).collect())
}

/// Writes files: all of them, or none because one is in the way.
fn write_all<'a>(
    files: impl Iterator<Item = (&'a Path, &'a str)> + Clone,
    is_forced: bool,
) -> Result<(), CommandError> {
    let taken = |path: &Path| {
        let error = anyhow!("{} is already there", path.display());
        CommandError::new(ErrorKind::Conflict, error).hint("say --force to replace such files")
    };
    if is_forced {
        return files.clone().try_for_each(|(path, text)| write_atomically(path, text));
    }
    if let Some((path, _)) = files.clone().find(|(path, _)| path.symlink_metadata().is_ok()) {
        return Err(taken(path));
    }
    for (path, text) in files {
        if !write_new(path, text)? {
            return Err(taken(path));
        }
    }
    Ok(())
}

/// What was written, a line for each.
fn table(flows: &[ImportedFlow], paths: &[PathBuf]) -> String {
    let names: Vec<String> = paths.iter().map(|path| path.display().to_string()).collect();
    let width = names.iter().map(|name| name.chars().count()).max().unwrap_or_default();
    let lines = names.iter().zip(flows).map(|(name, flow)| {
        format!("{name:width$}  {}\n", flow.schedule.as_deref().unwrap_or("no schedule"))
    });
    lines.collect()
}

/// All flows in one text.
fn joined(flows: &[ImportedFlow]) -> String {
    let documents: Vec<&str> = flows.iter().map(|flow| flow.text.as_str()).collect();
    documents.join("---\n")
}

fn import_flowtoy(ui: &Ui, args: &FlowtoyArgs) -> Result<u8, CommandError> {
    let mut files = Vec::with_capacity(args.files.len());
    let mut warnings = Vec::new();
    for path in &args.files {
        let (text, lossy) = read(path)?;
        warnings.extend(lossy);
        let shown = path.display().to_string();
        let value = tidewheel_client::files::parse_yaml(&text)
            .map_err(|error| CommandError::input(anyhow!("{shown} cannot be read: {error}")))?;
        files.push((shown, value));
    }
    let imported = flowtoy::import(files).map_err(|error| CommandError::input(anyhow!(error)))?;
    warnings.extend(imported.warnings.iter().cloned());
    let imported = Imported { warnings, ..imported };
    hand_out(ui, &imported, args.output.as_deref(), args.force)
}

/// Reads a file, or standard input for `-`. What is no text is replaced, with a warning.
fn read(path: &Path) -> Result<(String, Option<Warning>), CommandError> {
    let mut bytes = Vec::new();
    let limit = BYTES_MAX + 1;
    let result = match path == Path::new("-") {
        true => io::stdin().lock().take(limit).read_to_end(&mut bytes),
        false => File::open(path).and_then(|file| file.take(limit).read_to_end(&mut bytes)),
    };
    let shown = path.display();
    result.map_err(|error| {
        let kind = match error.kind() {
            io::ErrorKind::NotFound => ErrorKind::NotFound,
            _ => ErrorKind::Input,
        };
        CommandError::new(
            kind,
            anyhow::Error::new(error).context(format!("{shown} cannot be read")),
        )
    })?;
    if bytes.len() as u64 > BYTES_MAX {
        let error = anyhow!("{shown} is larger than {} MiB", BYTES_MAX >> 20);
        return Err(CommandError::input(error));
    }
    Ok(match String::from_utf8(bytes) {
        Ok(text) => (text, None),
        Err(error) => {
            let text = String::from_utf8_lossy(error.as_bytes()).into_owned();
            let before = &error.as_bytes()[..error.utf8_error().valid_up_to()];
            let line = 1 + before.iter().filter(|byte| **byte == b'\n').count();
            let warning = "has bytes that are no UTF-8; they were replaced".to_owned();
            (text, Some(Warning { line: Some(line), text: warning }))
        }
    })
}

fn warn(ui: &Ui, warnings: &[Warning]) {
    for warning in warnings {
        ui.warn(&warning.to_string());
    }
}

fn say_where(value: &mut Json, path: Option<&Path>, text: &str) {
    match path {
        Some(path) => value["file"] = path.display().to_string().into(),
        None => value["text"] = text.into(),
    }
}

fn to_json(warnings: &[Warning]) -> Json {
    let one = |warning: &Warning| json!({ "line": warning.line, "message": warning.text });
    warnings.iter().map(one).collect()
}

#[cfg(test)]
mod tests {
    use tidewheel_testing::temp_folder;

    use super::*;

    fn flow(name: &str) -> ImportedFlow {
        ImportedFlow {
            name: name.to_owned(),
            line: 1,
            schedule: Some("@daily (UTC)".to_owned()),
            text: format!("name: {name}\n"),
        }
    }

    #[test]
    fn a_folder_takes_many_flows_and_a_file_one() {
        let (one, two) = ([flow("a")], [flow("a"), flow("b")]);
        let temp = temp_folder("import-paths");
        let folder = temp.path().join("new");
        assert_eq!(paths(&folder, &two).unwrap(), [folder.join("a.yaml"), folder.join("b.yaml")]);
        let file = folder.join("x.yml");
        assert_eq!(paths(&file, &one).unwrap(), std::slice::from_ref(&file));
        assert_eq!(paths(&file, &two).unwrap_err().exit_code(), 2);
    }

    #[test]
    fn nothing_is_written_when_one_file_is_in_the_way() {
        let temp = temp_folder("import-conflict");
        let folder = temp.path();
        let (a, b) = (folder.join("a.yaml"), folder.join("b.yaml"));
        fs::write(&b, "mine").unwrap();
        let files = [(a.as_path(), "new"), (b.as_path(), "new")];
        assert_eq!(write_all(files.into_iter(), false).unwrap_err().exit_code(), 5);
        assert!(!a.exists());
        assert_eq!(fs::read_to_string(&b).unwrap(), "mine");
        write_all(files.into_iter(), true).unwrap();
        assert_eq!(fs::read_to_string(&b).unwrap(), "new");
    }

    #[test]
    fn flows_are_printed_as_documents_and_listed_as_lines() {
        let flows = [flow("a"), ImportedFlow { schedule: None, ..flow("bb") }];
        assert_eq!(joined(&flows), "name: a\n---\nname: bb\n");
        let paths = [PathBuf::from("a.yaml"), PathBuf::from("bb.yaml")];
        assert_eq!(table(&flows, &paths), "a.yaml   @daily (UTC)\nbb.yaml  no schedule\n");
    }
}
