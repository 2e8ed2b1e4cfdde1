//! `tidewheel simulate`: reads a problem, has it played, prints the schedule.
//!
//! The playing is in `crate::simulate`.

use std::io::Read as _;
use std::path::PathBuf;

use anyhow::anyhow;

use crate::cli::Format;
use crate::error::CommandError;
use crate::simulate::{Order, Problem, draw};
use crate::ui::Ui;

/// Run a graph with known durations on a virtual clock and print the schedule
///
/// The graph is played through the real scheduler: what it prints is what `tidewheel` would do if
/// every task took exactly as long as declared. Nothing is executed.
#[derive(Debug, clap::Args)]
#[command(after_help = "\
Input:
  { \"tasks\": [
      { \"name\": \"build\", \"duration\": 40 },
      { \"name\": \"test\", \"duration\": 12.5, \"after\": [\"build\"], \"resources\": { \"cpu\": 2 } } ],
    \"capacity\": { \"cpu\": 4 } }

  Durations are seconds. A task may also have a \"priority\" (0 to 100; counts with --order priority)
  and a \"deadline\" (seconds from the start; counts with --order edf, and before the longest path
  with critical-path).

Output (unless --format human, which draws it):
  { \"makespan\": 52.5, \"slots\": 4, \"order\": \"critical-path\",
    \"tasks\": [ { \"name\": \"build\", \"start\": 0, \"end\": 40, \"slot\": 1 }, ... ] }

Examples:
  tidewheel simulate build.json --slots 4
  tidewheel simulate build.json --slots 4 --format human
  generate-graph | tidewheel simulate - --slots 16 --order fifo")]
pub(crate) struct Args {
    /// The file with the graph, or - for standard input
    graph: PathBuf,

    /// How many tasks may run at once [default: any number]
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u32).range(1..))]
    slots: Option<u32>,

    /// Which ready task goes first
    #[arg(long, value_name = "ORDER", default_value = "critical-path")]
    order: Order,
}

pub(crate) fn run(ui: &Ui, args: &Args) -> Result<(), CommandError> {
    let (text, source) = read(args)?;
    let problem = Problem::from_json(&text, &source)?;
    let graph = problem.graph()?;
    let plan = problem.run_graph(graph.clone(), args.slots, args.order)?;
    match ui.format(Format::Json) {
        Format::Json => ui.print(&plan.to_json(&problem)),
        Format::Human => ui.print(&draw(&plan, &problem, &graph, ui.width(), ui.is_colourful())),
    }
}

fn read(args: &Args) -> Result<(String, String), CommandError> {
    let is_standard_input = args.graph.as_os_str() == "-";
    let source =
        if is_standard_input { "<stdin>".to_owned() } else { args.graph.display().to_string() };
    let mut bytes = Vec::new();
    let read = if is_standard_input {
        std::io::stdin().lock().read_to_end(&mut bytes).map(drop)
    } else {
        std::fs::read(&args.graph).map(|content| bytes = content)
    };
    read.map_err(|error| {
        CommandError::input(anyhow!(error).context(format!("failed to read {source}")))
            .hint("name a JSON file, or - for standard input")
    })?;
    let text = String::from_utf8(bytes).map_err(|error| {
        let position = error.utf8_error().valid_up_to();
        CommandError::input(anyhow!("{source} is not UTF-8 text (byte {position})"))
            .position(position)
            .hint("the input is JSON, which is always UTF-8")
    })?;
    Ok((text, source))
}
