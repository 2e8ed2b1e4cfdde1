//! What a server takes that has nothing to do: memory, and time on processors.
//!
//! Its own processes count with it, and what they share counts once.

use std::thread::sleep;
use std::time::Duration;

use super::child::Place;
use super::figure::Figure;
use super::start::hear;
use crate::command::bench::command::{Durable, ServeArgs};
use crate::error::CommandError;

/// Flows with a schedule each, which does not fire meanwhile.
const FLOWS: u32 = 20;

/// Until what a beginning leaves behind is done.
const SETTLE: Duration = Duration::from_secs(3);

pub(super) fn measure(args: &ServeArgs) -> Result<Vec<Figure>, CommandError> {
    let place = Place::new("idle", None)?;
    place.flow("one", "flow: [{ name: one, run: 'true' }]\n")?;
    for number in 0..FLOWS {
        let text = "schedule: { cron: '0 0 29 2 *' }\nflow: [{ name: one, run: 'true' }]\n";
        place.flow(&format!("f{number}"), text)?;
    }
    let served = place.serve(Durable::Power)?;
    // It has run something, and somebody listens.
    let _happenings = hear(&served)?;
    sleep(SETTLE);
    let before = served.usage()?;
    let time = Duration::from_secs(args.seconds);
    sleep(time);
    let after = served.usage()?;
    let busy = after.busy.saturating_sub(before.busy);
    let share = busy.as_secs_f64() / time.as_secs_f64() * 100.0;
    let about = format!("held with {FLOWS} schedules, an event stream open");
    let memory = Figure::at_most("idle_mb", about, after.memory as f64 / 1e6, 30.0);
    let about = format!("of a processor over {} s", args.seconds);
    Ok(vec![memory, Figure::at_most("idle_cpu_percent", about, share, 0.5)])
}
