//! [`Display`]: shows a run to whoever watches, on a terminal or as a log.
//!
//! On a terminal, a thread of its own has the model, the screen and the keyboard, so that neither a
//! slow terminal nor a key ever holds up the run, or its end.

use std::collections::VecDeque;
use std::io::{self, IsTerminal as _, Read as _, Write as _};
use std::os::unix::net::UnixStream;
use std::sync::mpsc::{self, Receiver, Sender};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::thread::{self, JoinHandle};
use std::time::{Duration, Instant};

use tidewheel::Timestamp;
use tidewheel_client::progress::Event;
use tidewheel_tui::inline::Inline;
use tidewheel_tui::input::Decoder;
use tidewheel_tui::keys::Action;
use tidewheel_tui::run::{
    Canvas, LOG_MAX, Level, Look, Model, Plain, eta, page, pressed, summary, view,
};
use tidewheel_tui::theme::Theme;

use super::events::Events;
use super::signals::Signals;
use super::terminal::{self, Grip, Typed};

/// Frames are at least so far apart.
const FRAME: Duration = Duration::from_millis(100);
/// How often times are brought up to date where nothing moves, and how often the time left is
/// judged.
const TICK: Duration = Duration::from_secs(1);
/// How long the end waits for a terminal that takes nothing.
const PATIENCE: Duration = Duration::from_millis(500);
/// Bytes of one sequence follow each other faster than this.
const ESCAPE: Duration = Duration::from_millis(50);

/// How a run is shown.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Options {
    /// When the run began.
    pub started: Instant,
    /// The same on the wall clock.
    pub since: Timestamp,
    /// How many steps run at once, for the time left.
    pub workers: usize,
    /// For whom. Only people for whom [`Level::Normal`] will do get a live view.
    pub shown: Shown,
}

/// For whom a run is shown.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Shown {
    /// For people, on standard error, with so much said.
    People(Level),
    /// For programs, on standard output, a line for each thing that happens.
    Programs,
}

impl From<Level> for Shown {
    fn from(level: Level) -> Self {
        Self::People(level)
    }
}

/// Shows a run, to people on standard error. When it is dropped, the terminal is as before, and below the
/// cursor's old place stands how the run went.
#[derive(Debug)]
pub(crate) struct Display {
    since: Timestamp,
    kind: Kind,
}

#[derive(Debug)]
enum Kind {
    Live(Live),
    Plain(Box<Mutex<Plain>>, Theme),
    Lines(Box<Mutex<Events>>),
}

impl Display {
    /// Shows nothing yet. On a terminal, `on_key` gets every key that means something, from
    /// another thread; those that only change what is shown have been obeyed already.
    ///
    /// The caller handles SIGINT, SIGTERM and SIGHUP, and drops this before the process ends.
    pub fn start(options: Options, on_key: impl FnMut(Action) + Send + 'static) -> Self {
        let look = Look::of_environment(io::stderr().is_terminal());
        let theme = Theme::new(look);
        let live = match options.shown {
            Shown::People(Level::Normal) if look.is_live => {
                Live::start(options, theme, Box::new(on_key)).ok()
            }
            _ => None,
        };
        let kind = match (live, options.shown) {
            (Some(live), _) => Kind::Live(live),
            (None, Shown::People(level)) => {
                Kind::Plain(Box::new(Mutex::new(Plain::new(level))), theme)
            }
            (None, Shown::Programs) => Kind::Lines(Box::default()),
        };
        Self { since: options.since, kind }
    }

    /// Whether what steps write is shown at all.
    pub fn shows_output(&self) -> bool {
        match &self.kind {
            Kind::Live(_) => true,
            Kind::Plain(plain, _) => {
                plain.lock().unwrap_or_else(PoisonError::into_inner).shows_output()
            }
            Kind::Lines(_) => true,
        }
    }

    /// Tells what happened, and when since the run began.
    pub fn tell(&self, now: Duration, event: Event) {
        match &self.kind {
            Kind::Live(live) => live.tell(now, event),
            Kind::Plain(plain, theme) => {
                let clock = clock(self.since.after(now));
                let mut plain = plain.lock().unwrap_or_else(PoisonError::into_inner);
                let lines = plain.tell(now, &clock, event);
                let text: String = lines.iter().map(|line| theme.paint(line) + "\n").collect();
                // Nobody has to listen.
                let _ = io::stderr().lock().write_all(text.as_bytes());
            }
            Kind::Lines(events) => {
                let line = events.lock().unwrap_or_else(PoisonError::into_inner).line(now, &event);
                let mut out = io::stdout().lock();
                // Whoever has left does not end the run.
                let _ = out.write_all(line.as_bytes()).and_then(|()| out.flush());
            }
        }
    }
}

/// The time of day.
fn clock(at: Timestamp) -> String {
    let at = jiff::Timestamp::from_microsecond(at.as_micros()).unwrap_or_default();
    at.to_zoned(jiff::tz::TimeZone::system()).strftime("%H:%M:%S").to_string()
}

/// The thread that draws, seen from outside.
#[derive(Debug)]
struct Live {
    queue: Arc<Mutex<Queue>>,
    waker: UnixStream,
    thread: Option<JoinHandle<()>>,
    ended: Receiver<()>,
}

/// What the thread has not seen yet.
#[derive(Debug, Default)]
struct Queue {
    events: Vec<(Duration, Event)>,
    /// Only the latest: nobody reads more in a tenth of a second.
    output: VecDeque<(Duration, Event)>,
    is_closed: bool,
}

impl Live {
    fn start(options: Options, theme: Theme, on_key: OnKey) -> io::Result<Self> {
        let (wake, waker) = UnixStream::pair()?;
        wake.set_nonblocking(true)?;
        waker.set_nonblocking(true)?;
        let queue = Arc::new(Mutex::new(Queue::default()));
        let (sender, ended) = mpsc::channel();
        terminal::release_on_panic();
        let artist = Artist {
            options,
            queue: Arc::clone(&queue),
            signals: Signals::listen(&waker)?,
            wake,
            on_key,
            model: Model::default(),
            frame: Inline::new(theme),
            theme,
            decoder: Decoder::default(),
            read_at: options.started,
            is_known: false,
            is_stale: false,
            is_deaf: false,
            has_keys: false,
            drawn_at: None,
            eta: None,
            eta_at: None,
            _ended: sender,
        };
        let thread =
            thread::Builder::new().name("tidewheel-live".to_owned()).spawn(|| artist.work())?;
        Ok(Self { queue, waker, thread: Some(thread), ended })
    }

    fn tell(&self, now: Duration, event: Event) {
        let mut queue = lock(&self.queue);
        // While there is something to fetch, the thread is awake or about to be.
        let is_first = queue.events.is_empty() && queue.output.is_empty();
        if matches!(event, Event::StepOutput { .. }) {
            if queue.output.len() == LOG_MAX {
                queue.output.pop_front();
            }
            queue.output.push_back((now, event));
        } else {
            queue.events.push((now, event));
        }
        drop(queue);
        if is_first {
            self.wake();
        }
    }

    fn wake(&self) {
        // If it is full, then there is enough to wake up.
        let _ = (&self.waker).write(&[0]);
    }
}

impl Drop for Live {
    fn drop(&mut self) {
        lock(&self.queue).is_closed = true;
        self.wake();
        // The sender is dropped with the artist; nothing is ever sent.
        let is_stuck =
            self.ended.recv_timeout(PATIENCE * 2) == Err(mpsc::RecvTimeoutError::Timeout);
        match self.thread.take() {
            Some(thread) if !is_stuck => drop(thread.join()),
            _ => {}
        }
        terminal::release();
    }
}

fn lock(queue: &Mutex<Queue>) -> MutexGuard<'_, Queue> {
    queue.lock().unwrap_or_else(PoisonError::into_inner)
}

type OnKey = Box<dyn FnMut(Action) + Send>;

/// The thread that draws, seen from inside.
struct Artist {
    options: Options,
    queue: Arc<Mutex<Queue>>,
    signals: Signals,
    wake: UnixStream,
    on_key: OnKey,
    model: Model,
    frame: Inline,
    theme: Theme,
    decoder: Decoder,
    /// When keys were read last.
    read_at: Instant,
    /// There is a run to show.
    is_known: bool,
    /// Something has happened since the last frame.
    is_stale: bool,
    /// The terminal is gone.
    is_deaf: bool,
    has_keys: bool,
    drawn_at: Option<Instant>,
    eta: Option<Duration>,
    eta_at: Option<Instant>,
    _ended: Sender<()>,
}

impl Artist {
    fn work(mut self) {
        loop {
            let is_closed = self.fetch();
            self.obey_signals();
            if is_closed {
                break;
            }
            let timeout = self.draw_if_due();
            let typed = terminal::wait(&self.wake, self.has_keys, timeout);
            self.empty_wake();
            match typed {
                Ok(Typed::Nothing) => {}
                Ok(Typed::Something) => self.read_keys(),
                Ok(Typed::Gone) | Err(_) => self.be_deaf(),
            }
        }
        self.finish();
    }

    /// Takes in what happened. Says whether nothing more will.
    fn fetch(&mut self) -> bool {
        let mut queue = lock(&self.queue);
        let events = std::mem::take(&mut queue.events);
        let output = std::mem::take(&mut queue.output);
        let is_closed = queue.is_closed;
        drop(queue);
        self.is_stale |= !events.is_empty() || !output.is_empty();
        // Output last, as it may be of steps that were just added.
        for (now, event) in events.into_iter().chain(output) {
            self.is_known |= matches!(event, Event::RunStarted { .. });
            if matches!(event, Event::Resumed | Event::Draining | Event::Killing) {
                self.eta_at = None;
            }
            self.model.update(now, event);
        }
        is_closed
    }

    fn obey_signals(&mut self) {
        if self.signals.take_quit() {
            self.let_go();
            self.signals.quit_now();
        }
        if self.signals.take_stop() && terminal::can_stop() {
            self.let_go();
            self.signals.stop_now();
            self.is_stale = true;
        }
        if self.signals.take_resumption() {
            // Whoever was in the foreground meanwhile may have written and changed settings.
            self.frame.forget();
            terminal::hold_again();
            self.is_stale = true;
        }
        self.is_stale |= self.signals.take_resize();
    }

    /// Leaves the terminal as if there had been no frame.
    fn let_go(&mut self) {
        if !self.is_deaf && terminal::hold() != Grip::Refused {
            let erase = self.frame.erase(terminal::size().0);
            self.write(&erase, PATIENCE);
        }
        self.frame.forget();
        self.has_keys = false;
        terminal::release();
    }

    /// Draws a frame if it is time, and says how long nothing needs to be done.
    fn draw_if_due(&mut self) -> Option<Duration> {
        if !self.is_known || self.is_deaf {
            return None;
        }
        let pause = if self.is_stale || self.model.is_moving() { FRAME } else { TICK };
        let due = self.drawn_at.map(|at| at + pause);
        let now = Instant::now();
        if let Some(due) = due
            && due > now
        {
            return Some(due - now);
        }
        self.drawn_at = Some(now);
        self.is_stale = false;
        self.draw(now);
        Some(if self.model.is_moving() { FRAME } else { TICK })
    }

    fn draw(&mut self, now: Instant) {
        match terminal::hold() {
            Grip::Refused => {
                self.has_keys = false;
                self.frame.forget();
                return;
            }
            Grip::Taken { has_keys } => {
                self.has_keys = has_keys;
                self.frame.forget();
            }
            Grip::Kept { has_keys } => self.has_keys = has_keys,
        }
        // A terminal that takes nothing now gets a later frame instead.
        if !terminal::is_writable() {
            self.is_stale = true;
            return;
        }
        if self.eta_at.is_none_or(|at| now.duration_since(at) >= TICK) {
            self.eta = eta(&self.model, self.options.workers, self.now());
            self.eta_at = Some(now);
        }
        let (width, height) = terminal::size();
        let canvas = Canvas {
            width,
            // The cursor rests in the last row.
            height: height.saturating_sub(1),
            now: self.now(),
            eta: self.eta,
            has_keys: self.has_keys,
            signs: self.theme.signs,
        };
        let bytes = self.frame.replace(&view(&self.model, &canvas), (width, height));
        self.write(&bytes, PATIENCE);
    }

    fn read_keys(&mut self) {
        // Reading in the background would stop us.
        let Grip::Kept { .. } = terminal::hold() else { return };
        let mut buffer = [0; 256];
        let count = match terminal::read(&mut buffer) {
            Ok(count) => count,
            Err(_) => return self.be_deaf(),
        };
        let now = Instant::now();
        if now.duration_since(self.read_at) > ESCAPE {
            self.decoder.settle();
        }
        self.read_at = now;
        let page = isize::try_from(page(terminal::size().1)).unwrap_or(isize::MAX);
        for &byte in &buffer[..count] {
            if let Some(key) = self.decoder.push(byte).as_ref().and_then(pressed) {
                self.model.press(key, page);
                self.is_stale = true;
                (self.on_key)(key);
            }
        }
    }

    /// Shows how it went, in place of the frame.
    fn finish(&mut self) {
        if !self.is_known || self.is_deaf {
            return;
        }
        let (width, _) = terminal::size();
        let mut bytes = Vec::new();
        if terminal::hold() == Grip::Refused {
            self.frame.forget();
            if !terminal::allows_background_writes() {
                return;
            }
            // Below the prompt of a shell.
            bytes.extend(b"\r\n");
        }
        bytes.extend(self.frame.erase(width));
        let lines = summary(&self.model, width, self.now(), self.theme.signs);
        bytes.extend(self.frame.lasting(&lines));
        self.write(&bytes, PATIENCE);
    }

    fn write(&mut self, bytes: &[u8], patience: Duration) {
        match terminal::write(bytes, patience) {
            Ok(true) => {}
            // What the screen shows is unknown now; the next frame stands below it.
            Ok(false) => {
                self.frame.forget();
                self.is_stale = true;
            }
            Err(_) => self.be_deaf(),
        }
    }

    fn be_deaf(&mut self) {
        self.is_deaf = true;
        self.has_keys = false;
    }

    fn empty_wake(&mut self) {
        let mut buffer = [0; 64];
        while matches!((&self.wake).read(&mut buffer), Ok(count) if count > 0) {}
    }

    fn now(&self) -> Duration {
        self.options.started.elapsed()
    }
}
