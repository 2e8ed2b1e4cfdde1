//! [`RemoteFollow`]: a run that goes on at a server, told as it happens.
//!
//! The event stream of the server says that something happened; what it was is found by a look at the run. How one look
//! is told after another is in [`crate::progress`].

use std::collections::HashMap;
use std::sync::Arc;
use std::time::Duration;

use tidewheel::Timestamp;
use tidewheel::clock::wall_clock;
use tokio::sync::{Notify, mpsc};
use tokio::task::JoinHandle;
use tokio::time::{Instant, sleep, timeout};

use super::bell::{AGAIN, ring};
use super::remote::RemoteDesk;
use crate::api::{
    CancelWish, LogStream, LogWanted, RefusalKind, RunState, Standing, StepStanding, StepState,
};
use crate::desk::DeskError;
use crate::progress::{Event, Standings, Teller};

/// Looks are at least so far apart.
const PAUSE: Duration = Duration::from_millis(100);

/// How often it is looked although nothing is told: a server that has only a desk tells nothing.
const EVERY: Duration = Duration::from_secs(2);

/// The same while steps run whose output is shown.
const EVERY_WRITING: Duration = Duration::from_millis(300);

/// How long a server that cannot be reached is waited for.
const PATIENCE: Duration = Duration::from_secs(60);

/// Pieces that are read of what an ended step wrote; the rest is in its log.
const PIECES_MAX: usize = 8;

/// Looks that nobody has taken in yet.
const LOOKS_MAX: usize = 4;

/// Follows a run of a server to its end.
///
/// It is begun, asked for the [next](RemoteFollow::next) thing that happens until there is none, and
/// [finished](RemoteFollow::finish), as a [`Follow`](crate::progress::Follow) is.
#[derive(Debug)]
pub struct RemoteFollow {
    desk: Arc<RemoteDesk>,
    run: String,
    since: Timestamp,
    standings: Standings,
    first: Option<Standing>,
    news: Option<mpsc::Receiver<News>>,
    tasks: Vec<JoinHandle<()>>,
    lost: Option<String>,
}

/// What comes from the server.
#[derive(Debug)]
enum News {
    /// How it stands, and what steps wrote since the last look.
    Stands(Box<Standing>, Vec<(usize, String)>),
    /// It cannot be reached for now; `None`: it can again.
    Trouble(Option<String>),
    /// Nobody can say any more how it goes on.
    Lost(String),
}

impl RemoteFollow {
    /// Begins to follow a run.
    ///
    /// # Errors
    ///
    /// When there is no such run, or the server cannot be asked.
    pub async fn begin(desk: Arc<RemoteDesk>, run: &str) -> Result<Self, DeskError> {
        let first = desk.standing(run).await?;
        Ok(Self {
            run: first.run_id.clone(),
            since: first.accepted_at,
            standings: Standings::default(),
            first: Some(first),
            news: None,
            tasks: Vec::new(),
            lost: None,
            desk,
        })
    }

    /// The run's identity.
    #[must_use]
    pub fn run_id(&self) -> &str {
        &self.run
    }

    /// When the run was accepted.
    #[must_use]
    pub fn since(&self) -> Timestamp {
        self.since
    }

    /// Listens to the server from now on, with or without what steps write.
    pub fn listen(&mut self, shows_output: bool) {
        let (to, news) = mpsc::channel(LOOKS_MAX);
        let bell = Arc::<Notify>::default();
        let (desk, run) = (Arc::clone(&self.desk), self.run.clone());
        let ringing = ring(Arc::clone(&desk), Some(run.clone()), Arc::clone(&bell));
        self.tasks.push(tokio::spawn(ringing));
        let looks = Looks { desk, run, bell, to, shows_output, written: HashMap::new() };
        self.tasks.push(tokio::spawn(looks.keep_looking()));
        self.news = Some(news);
    }

    /// Waits until something happens and tells it; false when the run is over, or nobody can say any more. It may be
    /// given up at any time.
    pub async fn next(&mut self, teller: &mut dyn Teller) -> bool {
        if let Some(first) = self.first.take() {
            self.standings.look(&first, teller);
            return !self.standings.is_over();
        }
        let Some(news) = &mut self.news else { return false };
        match news.recv().await {
            Some(News::Stands(standing, written)) => {
                self.tell(&standing, written, teller);
                !self.standings.is_over()
            }
            Some(News::Trouble(trouble)) => {
                let now = wall_clock().since(self.since);
                teller.tell(
                    now,
                    match trouble {
                        Some(why) => {
                            Event::RunWaiting { why: format!("waiting for the server: {why}") }
                        }
                        None => Event::RunGoesOn,
                    },
                );
                true
            }
            Some(News::Lost(why)) => {
                self.lost = Some(why);
                false
            }
            None => false,
        }
    }

    /// Tells what is new of a run; what a step wrote comes before its end.
    fn tell(
        &mut self,
        standing: &Standing,
        mut written: Vec<(usize, String)>,
        teller: &mut dyn Teller,
    ) {
        let mut told: Vec<(Duration, Event)> = Vec::new();
        self.standings.look(standing, &mut told);
        for (at, event) in told {
            if let Event::StepEnded { step: ended, .. } = event {
                for (step, line) in written.extract_if(.., |(step, _)| *step == ended) {
                    teller.tell(at, Event::StepOutput { step, line });
                }
            }
            teller.tell(at, event);
        }
        let now = wall_clock().since(self.since);
        for (step, line) in written {
            teller.tell(now, Event::StepOutput { step, line });
        }
    }

    /// Wants the run to be paused. What comes of it is seen.
    pub fn pause(&self) {
        let (desk, run) = (Arc::clone(&self.desk), self.run.clone());
        tokio::spawn(async move { desk.pause(&run).await });
    }

    /// Wants it to go on.
    pub fn resume(&self) {
        let (desk, run) = (Arc::clone(&self.desk), self.run.clone());
        tokio::spawn(async move { desk.go_on(&run).await });
    }

    /// Wants it to end.
    pub fn cancel(&self, wish: CancelWish) {
        let (desk, run) = (Arc::clone(&self.desk), self.run.clone());
        tokio::spawn(async move { desk.cancel(&run, &wish).await });
    }

    /// Why nobody can say how the run ended, if that is so.
    #[must_use]
    pub fn finish(mut self) -> Option<String> {
        self.lost.take()
    }
}

impl Drop for RemoteFollow {
    fn drop(&mut self) {
        for task in &self.tasks {
            task.abort();
        }
    }
}

/// Who looks at the run.
struct Looks {
    desk: Arc<RemoteDesk>,
    run: String,
    bell: Arc<Notify>,
    to: mpsc::Sender<News>,
    shows_output: bool,
    /// How far what attempts write was read, and what came after the last line end.
    written: HashMap<(usize, u32, LogStream), (u64, Vec<u8>)>,
}

impl Looks {
    async fn keep_looking(mut self) {
        let mut gone_since: Option<Instant> = None;
        loop {
            let began = Instant::now();
            let every = match self.desk.standing(&self.run).await {
                Ok(standing) => {
                    if gone_since.take().is_some() && !self.send(News::Trouble(None)).await {
                        return;
                    }
                    let (is_over, writes) = (has_ended(&standing), self.is_written(&standing));
                    let written = self.read(&standing).await;
                    if !self.send(News::Stands(Box::new(standing), written)).await || is_over {
                        return;
                    }
                    if writes { EVERY_WRITING } else { EVERY }
                }
                Err(error) if may_pass(&error) => {
                    let why = error.to_string();
                    let since = *gone_since.get_or_insert(began);
                    if since.elapsed() > PATIENCE {
                        self.send(News::Lost(why)).await;
                        return;
                    }
                    if since == began && !self.send(News::Trouble(Some(why))).await {
                        return;
                    }
                    sleep(AGAIN).await;
                    continue;
                }
                Err(error) => {
                    self.send(News::Lost(error.to_string())).await;
                    return;
                }
            };
            // A large run takes the server its time: it is not asked all the time.
            sleep(PAUSE.max(began.elapsed() * 3)).await;
            let _ = timeout(every, self.bell.notified()).await;
        }
    }

    async fn send(&self, news: News) -> bool {
        self.to.send(news).await.is_ok()
    }

    /// Whether steps may write something that is shown.
    fn is_written(&self, run: &Standing) -> bool {
        self.shows_output && run.steps.iter().any(|step| step.state == StepState::Running)
    }

    /// New lines of what steps write, by step.
    async fn read(&mut self, run: &Standing) -> Vec<(usize, String)> {
        let mut lines = Vec::new();
        if !self.shows_output {
            return lines;
        }
        for (index, step) in run.steps.iter().enumerate() {
            let is_known = self
                .written
                .keys()
                .any(|(known, attempt, _)| *known == index && *attempt == step.attempt);
            // Those that ended before are not read again.
            let is_read = step.state == StepState::Running || (is_known && step.state.has_ended());
            let is_new = !is_known && step.state.has_ended() && step.started_at.is_some();
            if step.attempt > 0 && (is_read || is_new) {
                self.read_step(index, step, &mut lines).await;
            }
        }
        lines
    }

    async fn read_step(
        &mut self,
        index: usize,
        step: &StepStanding,
        lines: &mut Vec<(usize, String)>,
    ) {
        let has_ended = step.state.has_ended();
        for stream in LogStream::ALL {
            let key = (index, step.attempt, stream);
            let (mut from, mut rest) = self.written.remove(&key).unwrap_or_default();
            if from == u64::MAX {
                self.written.insert(key, (from, rest));
                continue;
            }
            for _ in 0..if has_ended { PIECES_MAX } else { 1 } {
                let wanted = LogWanted {
                    version: None,
                    run_id: self.run.clone(),
                    task: u32::try_from(index).unwrap_or(u32::MAX),
                    attempt: step.attempt,
                    stream,
                    from,
                };
                // What cannot be read now is read at the next look, or in the log.
                let piece = self.desk.log(&wanted).await.unwrap_or_default();
                if piece.is_empty() {
                    break;
                }
                from += piece.len() as u64;
                rest.extend(piece);
            }
            lines.extend(whole_lines(&mut rest, has_ended).map(|line| (index, line)));
            let from = if has_ended { u64::MAX } else { from };
            self.written.insert(key, (from, rest));
        }
    }
}

/// Takes the lines out of bytes; with the last one, whether it has an end or not.
fn whole_lines(bytes: &mut Vec<u8>, with_rest: bool) -> impl Iterator<Item = String> + use<> {
    let end = bytes.iter().rposition(|byte| *byte == b'\n').map_or(0, |place| place + 1);
    let end = if with_rest { bytes.len() } else { end };
    let rest = bytes.split_off(end);
    let text = String::from_utf8_lossy(&std::mem::replace(bytes, rest)).into_owned();
    text.lines().map(str::to_owned).collect::<Vec<_>>().into_iter()
}

fn has_ended(run: &Standing) -> bool {
    use RunState::{Interrupted, Paused, Running, Waiting};
    !matches!(run.state, Running | Waiting | Paused | Interrupted)
}

/// Whether it is worth asking again.
fn may_pass(error: &DeskError) -> bool {
    match error {
        DeskError::Unreachable { .. } => true,
        DeskError::Server { status, .. } => *status == 429 || *status >= 500,
        error => error.kind() == RefusalKind::Failed,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn lines_are_taken_whole_and_the_last_one_at_the_end() {
        let mut bytes = b"one\ntwo\nbeg".to_vec();
        assert_eq!(whole_lines(&mut bytes, false).collect::<Vec<_>>(), ["one", "two"]);
        bytes.extend(b"un");
        assert_eq!(whole_lines(&mut bytes, false).count(), 0);
        assert_eq!(whole_lines(&mut bytes, true).collect::<Vec<_>>(), ["begun"]);
        assert_eq!(whole_lines(&mut bytes, true).count(), 0);
    }
}
