//! [`show`]: the loop around model, update and view.
//!
//! Nothing is decided here: messages go in, effects are carried out.

use std::io;
use std::sync::Arc;
use std::time::{Duration, Instant};

use ratatui::crossterm::event::{Event, MouseButton, MouseEventKind};
use tidewheel::clock::wall_clock;
use tokio::signal::unix::{Signal, SignalKind, signal};
use tokio::sync::mpsc::{self, UnboundedReceiver, UnboundedSender};
use tokio::time::sleep;

use crate::input::Input;
use crate::message::{Effect, End, Message, Mouse};
use crate::model::Model;
use crate::source::Source;
use crate::status::Counts;
use crate::terminal::Held;
use crate::theme::Theme;
use crate::update::{next_tick, update};
use crate::view::{Hits, view};

/// How this process is spoken to that carries out runs beside the screens.
pub struct Beside {
    /// What happens to them.
    pub messages: UnboundedReceiver<Message>,
    /// How they are to end.
    pub ends: UnboundedSender<End>,
}

/// What is waited for.
struct Ears {
    input: Input,
    messages: UnboundedReceiver<Message>,
    beside: Option<Beside>,
    resize: Signal,
    stop: Signal,
    resumption: Signal,
    terminate: Signal,
    hang_up: Signal,
    interrupt: Signal,
}

/// Something was heard.
enum Heard {
    Input(Event),
    Message(Message),
    Resize,
    Stop,
    Resumption,
    Leave,
}

/// Shows the screens until somebody leaves; gives the model as it was then.
///
/// # Errors
///
/// When the terminal cannot be taken, or is gone.
pub async fn show(
    mut model: Model,
    source: Arc<dyn Source>,
    theme: Theme,
    beside: Option<Beside>,
) -> io::Result<Model> {
    let (to, messages) = mpsc::unbounded_channel();
    let listening = listen(&source, &to);
    // Before the size is asked for, so that no change of it is missed.
    let mut ears = Ears::listen(messages, beside)?;
    let mut held = Held::take()?;
    model.size = held.size()?;
    let mut counts = Counts::from_environment();
    let mut hits = Hits::default();
    let mut effects = update(&mut model, wall_clock(), Message::Tick);
    'show: loop {
        for effect in std::mem::take(&mut effects) {
            counts.sent(&effect);
            match effect {
                Effect::Quit => break 'show,
                Effect::Suspend => held.stop()?,
                Effect::End(end) => ears.end(end),
                other => carry_out(other, &source, &to),
            }
        }
        let mut heard = ears.take();
        if heard.is_none() {
            let early = held.early();
            if early.is_none() {
                held.draw(counts.next_line(&model), |buffer| hits = view(&model, theme, buffer))?;
            }
            heard = tokio::select! {
                // It is time for the next frame. Keys are obeyed before.
                () = sleep(early.unwrap_or_default()), if early.is_some() => None,
                // The terminal has taken the last one.
                taken = held.taken() => taken.map(|()| None)?,
                heard = ears.wait(next_tick(&model)) => Some(heard),
            };
        }
        while let Some(one) = heard.take() {
            let message = match one {
                Heard::Message(message) => Some(counts.received(message)),
                Heard::Input(event) => translated(counts.input(event), &hits),
                Heard::Resize => Some(resized(&held)?),
                Heard::Stop => {
                    held.stop()?;
                    None
                }
                Heard::Resumption => {
                    held.again()?;
                    Some(resized(&held)?)
                }
                Heard::Leave => break 'show,
            };
            if let Some(message) = message {
                effects.extend(update(&mut model, wall_clock(), message));
            }
            // All that has happened is taken in before anything is drawn.
            if effects.is_empty() {
                heard = ears.take();
            }
        }
    }
    listening.abort();
    Ok(model)
}

fn resized(held: &Held) -> io::Result<Message> {
    let (width, height) = held.size()?;
    Ok(Message::Resized(width, height))
}

/// Tells when something may have changed.
fn listen(source: &Arc<dyn Source>, to: &UnboundedSender<Message>) -> tokio::task::JoinHandle<()> {
    let (to, news) = (to.clone(), source.news());
    tokio::spawn(async move {
        let Ok(mut news) = news else { return };
        loop {
            news.next().await;
            if to.send(Message::Changed).is_err() {
                return;
            }
        }
    })
}

fn carry_out(effect: Effect, source: &Arc<dyn Source>, to: &UnboundedSender<Message>) {
    let to = to.clone();
    match effect {
        Effect::Ask(question) => {
            let (began, answer) = (Instant::now(), source.ask(question.clone()));
            tokio::spawn(async move {
                let answer = answer.await;
                // Nobody waits for it when they have left.
                let _ = to.send(Message::Answered(question, answer, began.elapsed()));
            });
        }
        Effect::Do(wish) => {
            let done = source.wish(wish);
            tokio::spawn(async move {
                let _ = to.send(Message::Done(done.await));
            });
        }
        Effect::Suspend | Effect::Quit | Effect::End(_) => {}
    }
}

fn translated(event: Event, hits: &Hits) -> Option<Message> {
    Some(match event {
        Event::Key(key) => Message::Key(key),
        Event::Paste(text) => Message::Pasted(text),
        Event::Mouse(mouse) => {
            let kind = match mouse.kind {
                MouseEventKind::Down(MouseButton::Left) => Mouse::Press,
                MouseEventKind::ScrollUp => Mouse::Up,
                MouseEventKind::ScrollDown => Mouse::Down,
                _ => return None,
            };
            Message::Mouse(kind, hits.at(mouse.column, mouse.row))
        }
        // Changes of size are a signal.
        Event::Resize(..) | Event::FocusGained | Event::FocusLost => return None,
    })
}

impl Ears {
    fn listen(messages: UnboundedReceiver<Message>, beside: Option<Beside>) -> io::Result<Self> {
        Ok(Self {
            input: Input::of_stdin()?,
            messages,
            beside,
            resize: signal(SignalKind::window_change())?,
            stop: signal(SignalKind::from_raw(signal_hook::consts::SIGTSTP))?,
            resumption: signal(SignalKind::from_raw(signal_hook::consts::SIGCONT))?,
            terminate: signal(SignalKind::terminate())?,
            hang_up: signal(SignalKind::hangup())?,
            interrupt: signal(SignalKind::interrupt())?,
        })
    }

    /// Has the runs of this process end.
    fn end(&self, end: End) {
        // Nobody listens when they are over.
        let _ = self.beside.as_ref().map(|beside| beside.ends.send(end));
    }

    /// What has been heard already.
    fn take(&mut self) -> Option<Heard> {
        match self.input.take() {
            Ok(Some(event)) => return Some(Heard::Input(event)),
            Ok(None) => {}
            Err(_) => return Some(Heard::Leave),
        }
        if let Ok(message) = self.messages.try_recv() {
            return Some(Heard::Message(message));
        }
        let beside = self.beside.as_mut().and_then(|beside| beside.messages.try_recv().ok());
        beside.map(Heard::Message)
    }

    /// Waits until something is heard, at most so long.
    async fn wait(&mut self, most: Duration) -> Heard {
        let beside = async {
            match &mut self.beside {
                Some(beside) => match beside.messages.recv().await {
                    Some(message) => message,
                    None => std::future::pending().await,
                },
                None => std::future::pending().await,
            }
        };
        tokio::select! {
            // Where it cannot be read, the terminal is gone.
            event = self.input.next() => event.map_or(Heard::Leave, Heard::Input),
            _ = self.resize.recv() => Heard::Resize,
            Some(message) = self.messages.recv() => Heard::Message(message),
            message = beside => Heard::Message(message),
            _ = self.stop.recv() => Heard::Stop,
            _ = self.resumption.recv() => Heard::Resumption,
            _ = self.terminate.recv() => Heard::Leave,
            _ = self.hang_up.recv() => Heard::Leave,
            _ = self.interrupt.recv() => Heard::Leave,
            () = sleep(most) => Heard::Message(Message::Tick),
        }
    }
}
