//! The workload `flow`: what it costs to run flow files with this very program.
//!
//! Programs are started from nothing and waited for, so everything counts that somebody waits for at
//! a prompt. Figures are medians; rounds of what stands beside each other alternate.

use std::fmt::Write as _;
use std::io;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::time::{Duration, Instant};

use anyhow::{Context as _, anyhow};
use clap::{Args as _, FromArgMatches as _};
use serde_json::{Value as Json, json};
use tidewheel_client::files::FlowFiles;

use super::command::FlowArgs;
use super::dag::failed;
use super::measurement::{MEBI, peak_memory, rounded, thousands};
use crate::cli::Format;
use crate::command::run;
use crate::error::CommandError;
use crate::ui::Ui;

pub(super) fn measure(ui: &Ui, args: &FlowArgs) -> Result<(), CommandError> {
    if let Some(file) = &args.within {
        return run_within(ui, file);
    }
    let bench = Bench::new(args)?;
    let cold = bench.cold_start()?;
    let chain = bench.chain()?;
    let check = bench.check()?;
    let many = bench.many()?;
    match ui.format(Format::Human) {
        Format::Json => ui.print(&as_json(args, &cold, &chain, &check, &many).to_string()),
        Format::Human => ui.print(&as_text(args, &cold, &chain, &check, &many)),
    }
}

/// A flow of one step, from nothing to its end.
struct ColdStart {
    time: Duration,
    /// Make on the same command, if there is one.
    make: Option<Duration>,
}

/// Steps that wait for each other.
struct Chain {
    time: Duration,
    /// The same shells from a plain loop.
    floor: Duration,
}

/// A file that is read and checked.
struct Check {
    time: Duration,
    lines: usize,
}

/// Steps that wait for nothing.
struct Many {
    time: Duration,
    peak_memory: u64,
}

struct Bench<'a> {
    args: &'a FlowArgs,
    program: PathBuf,
    folder: Folder,
}

impl<'a> Bench<'a> {
    fn new(args: &'a FlowArgs) -> Result<Self, CommandError> {
        let program = std::env::current_exe().map_err(|error| failed(error.into()))?;
        Ok(Self { args, program, folder: Folder::new()? })
    }

    fn cold_start(&self) -> Result<ColdStart, CommandError> {
        self.folder.write("Makefile", "all:\n\t@echo hello\n")?;
        let file = self.folder.write("one.yaml", "flow: [{ name: say, run: echo hello }]\n")?;
        // The first run makes the data folder.
        timed(&mut self.run(&file))?;
        let has_make = timed(&mut self.make()).is_ok();
        let (mut own, mut make) = (Vec::new(), Vec::new());
        for _ in 0..self.args.rounds {
            own.push(timed(&mut self.run(&file))?);
            if has_make {
                make.push(timed(&mut self.make())?);
            }
        }
        Ok(ColdStart { time: median(own), make: has_make.then(|| median(make)) })
    }

    fn chain(&self) -> Result<Chain, CommandError> {
        let mut text = "flow:\n".to_owned();
        for step in 0..self.args.chain {
            let after = step.checked_sub(1).map(|before| format!("depends_on: [s{before}], "));
            let after = after.unwrap_or_default();
            let _ = writeln!(text, "  - {{ name: s{step}, {after}run: 'true' }}");
        }
        let file = self.folder.write("chain.yaml", &text)?;
        let (mut own, mut floor) = (Vec::new(), Vec::new());
        for _ in 0..self.args.rounds {
            own.push(timed(&mut self.run(&file))?);
            let started = Instant::now();
            for _ in 0..self.args.chain {
                timed(Command::new("sh").args(["-c", "true"]))?;
            }
            floor.push(started.elapsed());
        }
        Ok(Chain { time: median(own), floor: median(floor) })
    }

    fn check(&self) -> Result<Check, CommandError> {
        let mut text = "params: { target: staging }\nflow:\n".to_owned();
        for step in 0..self.args.check {
            let before = step.saturating_sub(1);
            let after = if step == 0 { String::new() } else { format!("s{before}") };
            let _ = write!(
                text,
                "  - name: s{step}
    description: Step {step} of many
    depends_on: [{after}]
    run: echo \"$TARGET\"
    env: {{ TARGET: '{{{{ params.target }}}}' }}
"
            );
        }
        let file = self.folder.write("check.yaml", &text)?;
        let mut times = Vec::new();
        for _ in 0..self.args.rounds {
            let started = Instant::now();
            let loaded = FlowFiles::read(std::slice::from_ref(&file));
            times.push(started.elapsed());
            if loaded.runnable().is_err() {
                return Err(failed(anyhow!("the flow that was made is wrong")));
            }
        }
        Ok(Check { time: median(times), lines: text.lines().count() })
    }

    fn many(&self) -> Result<Many, CommandError> {
        let mut text = "flow:\n".to_owned();
        for step in 0..self.args.steps {
            let _ = writeln!(text, "  - {{ name: s{step}, run: 'true' }}");
        }
        let file = self.folder.write("many.yaml", &text)?;
        let mut command = Command::new(&self.program);
        command.args(["bench", "flow", "--within"]).arg(&file).stdin(Stdio::null());
        let output = command.output().map_err(|error| failed(error.into()))?;
        let told: Option<Json> = serde_json::from_slice(&output.stdout).ok();
        let told = told.filter(|_| output.status.success()).ok_or_else(|| {
            failed(anyhow!("the run failed: {}", String::from_utf8_lossy(&output.stderr)))
        })?;
        Ok(Many {
            time: Duration::from_secs_f64(told["seconds"].as_f64().unwrap_or_default()),
            peak_memory: told["peak_memory"].as_u64().unwrap_or_default(),
        })
    }

    /// This program on a flow file.
    fn run(&self, file: &Path) -> Command {
        let mut command = Command::new(&self.program);
        command.args(["run", "--quiet", "--durability", "process"]).arg(file);
        command.arg("--data").arg(self.folder.data());
        command
    }

    fn make(&self) -> Command {
        let mut command = Command::new("make");
        command.arg("-C").arg(&self.folder.0);
        command
    }
}

/// Runs a flow in this process, as `tidewheel run` does, and tells how much memory that took.
fn run_within(ui: &Ui, file: &Path) -> Result<(), CommandError> {
    let data = file.with_file_name("data");
    let arguments = ["run", "--quiet", "--durability", "process", "--data"].map(Into::into);
    let arguments = arguments.into_iter().chain([data.into_os_string(), file.into()]);
    let matches = run::Args::augment_args(clap::Command::new("run")).get_matches_from(arguments);
    let args = run::Args::from_arg_matches(&matches).map_err(CommandError::internal)?;
    let started = Instant::now();
    if run::run(ui, &args)? != 0 {
        return Err(failed(anyhow!("a step failed")));
    }
    let seconds = started.elapsed().as_secs_f64();
    ui.print(&json!({ "seconds": seconds, "peak_memory": peak_memory() }).to_string())
}

/// How long a program takes, from nothing to its end.
fn timed(command: &mut Command) -> Result<Duration, CommandError> {
    command.stdin(Stdio::null()).stdout(Stdio::null());
    let started = Instant::now();
    let status = command.status().with_context(|| format!("{command:?}")).map_err(failed)?;
    let time = started.elapsed();
    match status.success() {
        true => Ok(time),
        false => Err(failed(anyhow!("{command:?}: {status}"))),
    }
}

fn median(mut times: Vec<Duration>) -> Duration {
    times.sort_unstable();
    times.get(times.len() / 2).copied().unwrap_or_default()
}

/// Beyond what the shells themselves take.
fn beyond(chain: &Chain) -> Duration {
    chain.time.saturating_sub(chain.floor)
}

fn as_json(args: &FlowArgs, cold: &ColdStart, chain: &Chain, check: &Check, many: &Many) -> Json {
    let millis = |time: Duration| rounded(time.as_secs_f64() * 1e3, 3);
    let (seconds, steps) = (many.time.as_secs_f64().max(1e-9), f64::from(args.steps));
    json!({
        "workload": "flow",
        "peer": "tidewheel",
        "version": env!("CARGO_PKG_VERSION"),
        "variant": format!("{} rounds", args.rounds),
        "n": args.steps,
        "seconds": rounded(seconds, 6),
        "per_task_us": rounded(seconds / steps * 1e6, 4),
        "tasks_per_s": rounded(steps / seconds, 1),
        "peak_rss_mb": rounded(many.peak_memory as f64 / MEBI, 1),
        "cold_start_ms": millis(cold.time),
        "make_ms": cold.make.map(millis),
        "chain_steps": args.chain,
        "chain_ms": millis(chain.time),
        "chain_beyond_ms": millis(beyond(chain)),
        "check_steps": args.check,
        "check_lines": check.lines,
        "check_ms": millis(check.time),
    })
}

fn as_text(args: &FlowArgs, cold: &ColdStart, chain: &Chain, check: &Check, many: &Many) -> String {
    let millis = |time: Duration| format!("{:.1} ms", time.as_secs_f64() * 1e3);
    let make = cold.make.map(|make| format!(", make {}", millis(make)));
    let (steps, memory) = (u64::from(args.steps), many.peak_memory as f64 / MEBI);
    let rows = [
        ("one step".to_owned(), format!("{}{}", millis(cold.time), make.unwrap_or_default())),
        (
            format!("chain of {}", args.chain),
            format!("{}, {} beyond its shells", millis(chain.time), millis(beyond(chain))),
        ),
        (
            format!("checking {}", thousands(u64::from(args.check))),
            format!("{}, {} lines", millis(check.time), thousands(check.lines as u64)),
        ),
        (
            format!("{} steps", thousands(steps)),
            format!("{:.2} s, {memory:.1} MiB", many.time.as_secs_f64()),
        ),
    ];
    let mut text = format!("flow, medians of {} rounds\n", args.rounds);
    for (label, figure) in rows {
        let _ = writeln!(text, "  {label:18}{figure}");
    }
    text
}

/// A folder for what is made here, which goes with it.
struct Folder(PathBuf);

impl Folder {
    fn new() -> Result<Self, CommandError> {
        let name = format!("tidewheel-bench-flow-{}", std::process::id());
        let path = std::env::temp_dir().join(name);
        std::fs::create_dir(&path).map_err(|error| unwritten(&path, error))?;
        Ok(Self(path))
    }

    fn data(&self) -> PathBuf {
        self.0.join("data")
    }

    fn write(&self, name: &str, text: &str) -> Result<PathBuf, CommandError> {
        let path = self.0.join(name);
        std::fs::write(&path, text).map_err(|error| unwritten(&path, error))?;
        Ok(path)
    }
}

fn unwritten(path: &Path, error: io::Error) -> CommandError {
    failed(anyhow!(error).context(format!("{} cannot be written", path.display())))
}

impl Drop for Folder {
    fn drop(&mut self) {
        // Left behind, it is only a folder among temporary ones.
        let _ = std::fs::remove_dir_all(&self.0);
    }
}
