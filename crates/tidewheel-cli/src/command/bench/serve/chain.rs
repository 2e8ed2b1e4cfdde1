//! A flow of steps in a chain, started over HTTP and by `run`: how much longer the first takes.
//!
//! Both are durable at `process`, and their rounds alternate.

use std::fmt::Write as _;
use std::process::Stdio;
use std::time::{Duration, Instant};

use anyhow::anyhow;

use super::child::Place;
use super::figure::Figure;
use super::start::{await_happening, hear};
use crate::command::bench::command::{Durable, ServeArgs};
use crate::command::bench::dag::failed;
use crate::error::CommandError;

/// Steps of the chain.
const STEPS: u32 = 40;

pub(super) fn measure(args: &ServeArgs) -> Result<Vec<Figure>, CommandError> {
    let place = Place::new("chain", None)?;
    place.flow("one", "flow: [{ name: one, run: 'true' }]\n")?;
    let mut text = "flow:\n".to_owned();
    for step in 0..STEPS {
        let after = step.checked_sub(1).map(|before| format!("depends_on: [s{before}], "));
        let _ = writeln!(text, "  - {{ name: s{step}, {}run: 'true' }}", after.unwrap_or_default());
    }
    let file = place.flow("chain", &text)?;
    let served = place.serve(Durable::Process)?;
    let happenings = hear(&served)?;
    let mut asking = served.asking()?;
    let (mut asked, mut run) = (Vec::new(), Vec::new());
    for _ in 0..args.rounds.div_ceil(10) {
        let began = Instant::now();
        let id = asking.start("chain")?;
        asked.push(await_happening(&happenings, &id, "run-ended")?.duration_since(began));
        let mut command = place.command();
        command.args(["run", "--quiet", "--durability", "process"]).arg(&file);
        command.arg("--data").arg(place.path.join("beside"));
        let began = Instant::now();
        let status = command.stdout(Stdio::null()).stderr(Stdio::null()).status();
        run.push(began.elapsed());
        if !status.is_ok_and(|status| status.success()) {
            return Err(failed(anyhow!("the flow did not run beside the server")));
        }
    }
    let (asked, run) = (median(asked), median(run));
    let about = format!("{STEPS} steps over HTTP {asked:.1} ms, by `run` {run:.1} ms");
    Ok(vec![Figure::at_most("chain_beyond_ms", about, (asked - run).max(0.0), 20.0)])
}

/// In milliseconds.
fn median(mut times: Vec<Duration>) -> f64 {
    times.sort_unstable();
    times.get(times.len() / 2).map_or(0.0, |time| time.as_secs_f64() * 1e3)
}
