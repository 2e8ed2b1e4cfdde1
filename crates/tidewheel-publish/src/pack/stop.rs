//! [`Stop`]: a word from outside that packing is to end, and the tools that end with it.
//!
//! Who says it, and why, is the business of surfaces: a signal, as a rule.

use std::collections::BTreeMap;
use std::io::{self, Read};
use std::process::{Command, Output, Stdio};
use std::sync::mpsc::{Sender, channel};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::thread::{self, JoinHandle};

/// A word that packing is to end. Its clones are the same word.
#[derive(Debug, Clone, Default)]
pub struct Stop(Arc<Mutex<Said>>);

#[derive(Debug, Default)]
struct Said {
    is_said: bool,
    /// Whoever waits for a tool now, by its process.
    waiting: BTreeMap<u32, Sender<Heard>>,
}

/// What somebody who waits for a tool hears.
enum Heard {
    /// One of its streams has ended.
    StreamEnded,
    Stop,
}

impl Stop {
    /// Says it: tools that run are ended, and no other one is started.
    pub fn say(&self) {
        let mut said = self.lock();
        said.is_said = true;
        for waiting in said.waiting.values() {
            // Whoever has ended meanwhile does not hear it.
            let _ = waiting.send(Heard::Stop);
        }
    }

    /// Whether it was said.
    #[must_use]
    pub fn is_said(&self) -> bool {
        self.lock().is_said
    }

    /// Runs a tool to its end, or to the word. What it writes is read meanwhile.
    pub(super) fn run(&self, command: &mut Command) -> io::Result<Output> {
        let stopped = || io::Error::new(io::ErrorKind::Interrupted, "it was stopped");
        let (tell, hear) = channel();
        let mut said = self.lock();
        if said.is_said {
            return Err(stopped());
        }
        let mut child = command.stdout(Stdio::piped()).stderr(Stdio::piped()).spawn()?;
        said.waiting.insert(child.id(), tell.clone());
        drop(said);
        let stdout = child.stdout.take().map(|it| reader(it, tell.clone()));
        let stderr = child.stderr.take().map(|it| reader(it, tell));
        let mut is_stopped = false;
        for _ in 0..2 {
            if let Ok(Heard::Stop) = hear.recv() {
                is_stopped = true;
                // It may have ended by itself.
                let _ = child.kill();
                break;
            }
        }
        let status = child.wait();
        self.lock().waiting.remove(&child.id());
        if is_stopped {
            return Err(stopped());
        }
        let read = |it: Option<JoinHandle<Vec<u8>>>| it.and_then(|it| it.join().ok());
        let (stdout, stderr) = (read(stdout), read(stderr));
        let (stdout, stderr) = (stdout.unwrap_or_default(), stderr.unwrap_or_default());
        Ok(Output { status: status?, stdout, stderr })
    }

    fn lock(&self) -> MutexGuard<'_, Said> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// Reads a stream to its end, and says when that was.
fn reader(mut stream: impl Read + Send + 'static, tell: Sender<Heard>) -> JoinHandle<Vec<u8>> {
    thread::spawn(move || {
        let mut bytes = Vec::new();
        // What was read until then counts.
        let _ = stream.read_to_end(&mut bytes);
        let _ = tell.send(Heard::StreamEnded);
        bytes
    })
}

#[cfg(all(test, unix))]
mod tests {
    use tidewheel_testing::{temp_folder, wait_until};

    use super::*;

    fn sh(script: &str) -> Command {
        let mut command = Command::new("sh");
        command.args(["-c", script]).stdin(Stdio::null());
        command
    }

    #[test]
    fn a_tool_runs_to_its_end_or_to_the_word() {
        let stop = Stop::default();
        let output = stop.run(&mut sh("echo out; echo err >&2; exit 3")).unwrap();
        assert_eq!(
            (output.status.code(), &output.stdout[..], &output.stderr[..]),
            (Some(3), &b"out\n"[..], &b"err\n"[..])
        );
        // More than a pipe holds.
        let output =
            stop.run(&mut sh("head -c 300000 /dev/zero; head -c 300000 /dev/zero >&2")).unwrap();
        assert_eq!((output.stdout.len(), output.stderr.len()), (300_000, 300_000));
        let folder = temp_folder("stop");
        let (told, saying) = (folder.path().join("told"), stop.clone());
        let mark = told.clone();
        let said = thread::spawn(move || {
            wait_until("the tool has started", || mark.exists());
            saying.say();
        });
        let error =
            stop.run(&mut sh(&format!("touch {}; exec sleep 1000", told.display()))).unwrap_err();
        assert_eq!(error.kind(), io::ErrorKind::Interrupted);
        said.join().unwrap();
        assert!(stop.run(&mut sh("exit 0")).is_err(), "no other one is started");
    }
}
