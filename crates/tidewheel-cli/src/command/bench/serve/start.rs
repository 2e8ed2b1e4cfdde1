//! From asking for a run over HTTP to its first attempt, on a server that has nothing else to do.
//!
//! The attempt is told on a stream of events, so the way back counts as well.

use std::fs::File;
use std::io::Write as _;
use std::path::Path;
use std::sync::mpsc;
use std::thread;
use std::time::{Duration, Instant};

use anyhow::anyhow;

use super::asking::Heard;
use super::child::{Place, Served};
use super::figure::Figure;
use crate::command::bench::command::{Durable, ServeArgs};
use crate::command::bench::dag::failed;
use crate::error::CommandError;

/// Longer than a run of one step takes on any machine.
const PATIENCE: Duration = Duration::from_secs(30);

pub(super) fn measure(args: &ServeArgs) -> Result<Vec<Figure>, CommandError> {
    let place = Place::new("start", None)?;
    place.flow("one", "flow: [{ name: one, run: 'true' }]\n")?;
    let served = place.serve(Durable::Power)?;
    let happenings = hear(&served)?;
    let mut asking = served.asking()?;
    let (mut times, mut disk) = (Vec::new(), Vec::new());
    let mut floor = Floor::new(&place.path)?;
    // The first is slower, since nobody has started a process yet.
    for _ in 0..=args.rounds {
        disk.push(floor.flush()?);
        let asked = Instant::now();
        let run = asking.start("one")?;
        let started = await_happening(&happenings, &run, "step-started")?;
        times.push(started.duration_since(asked));
        await_happening(&happenings, &run, "run-ended")?;
    }
    times.remove(0);
    times.sort_unstable();
    disk.sort_unstable();
    let about = format!(
        "from asking for a run to its start, half of {}; p99 {:.1} ms; a flush of the disk alone takes {:.1} ms",
        times.len(),
        share_of(&times, 0.99),
        share_of(&disk, 0.5)
    );
    Ok(vec![Figure::at_most("start_p50_ms", about, share_of(&times, 0.5), 3.0)])
}

/// The time below which this share of all is, which are sorted, in milliseconds.
fn share_of(times: &[Duration], share: f64) -> f64 {
    times[((times.len() - 1) as f64 * share) as usize].as_secs_f64() * 1e3
}

/// What nobody is faster than who keeps what was accepted: a page that is written and flushed, on the same disk and in turns.
struct Floor(File);

impl Floor {
    fn new(folder: &Path) -> Result<Self, CommandError> {
        let file = File::create(folder.join("floor"));
        file.map(Self).map_err(|error| failed(error.into()))
    }

    fn flush(&mut self) -> Result<Duration, CommandError> {
        let began = Instant::now();
        let flushed = self.0.write_all(&[0; 4096]).and_then(|()| self.0.sync_data());
        flushed.map(|()| began.elapsed()).map_err(|error| failed(error.into()))
    }
}

/// What happens at a server, from now on.
pub(super) fn hear(served: &Served) -> Result<mpsc::Receiver<Heard>, CommandError> {
    let asking = served.asking()?;
    let (told, happenings) = mpsc::channel();
    thread::spawn(move || asking.listen(|heard| told.send(heard).is_ok()));
    // A stream that is open tells of the next run; one that is not, of none.
    let mut asking = served.asking()?;
    let run = asking.start("one")?;
    await_happening(&happenings, &run, "run-ended")?;
    Ok(happenings)
}

/// Waits until something happens to a run; when it was heard of.
pub(super) fn await_happening(
    happenings: &mpsc::Receiver<Heard>,
    run: &str,
    what: &str,
) -> Result<Instant, CommandError> {
    loop {
        let heard = happenings.recv_timeout(PATIENCE);
        let heard = heard.map_err(|_| failed(anyhow!("{what} of a run was not told")))?;
        if heard.run == run && heard.what == what {
            return Ok(heard.at);
        }
    }
}
