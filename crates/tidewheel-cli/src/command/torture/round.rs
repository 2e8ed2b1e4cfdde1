//! [`Round`]: one data folder with its ledger, and the lives of victims on it; [`Life`]: one of them.
//!
//! Which faults a round goes through is the scenarios' business, what must hold at its end is in
//! `check`.

use std::fs::{self, File, OpenOptions};
use std::io;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, ExitStatus, Output, Stdio};
use std::time::{Duration, Instant};

use anyhow::{Context as _, anyhow};
use rustix::process::{Pid, Signal, kill_process};

use super::check::{self, Kind, Verdict, Violation};
use super::command::Settings;
use super::plan::Plan;
use super::victim::prefix_of;
use super::{flow, stored, table};

/// The variable by which everything that a victim starts is found again.
pub(super) const TAG: &str = "TIDEWHEEL_TORTURE";
/// The shard of whoever takes in the work of others.
const TAKER: &str = "taker";
/// How long a victim may take that is not hurt, with a small plan.
pub(super) const LIFE_MAX: Duration = Duration::from_secs(90);
/// And for each step of a large one.
const STEP_MAX: Duration = Duration::from_millis(5);
/// How long the processes of a killed victim may be seen.
const VANISH_MAX: Duration = Duration::from_secs(5);
const LOOK_PERIOD: Duration = Duration::from_millis(2);

/// One data folder, from its making to the check.
#[derive(Debug)]
pub(super) struct Round {
    settings: Settings,
    pub folder: PathBuf,
    tag: String,
    pub plan: Plan,
    /// How large the plan is, where that can be said.
    pub count: u32,
    pub slots: u32,
    pub threads: u32,
    /// How long each of the victim's own tasks takes.
    pub pause: Duration,
    /// The shards of others, whose work a victim takes in.
    pub left: Vec<&'static str>,
    pub faults: u64,
    violations: Vec<Violation>,
    begin: Instant,
}

impl Round {
    /// A fresh folder with this name.
    pub fn new(settings: &Settings, name: &str) -> anyhow::Result<Self> {
        let folder = settings.work.join(name);
        fs::create_dir_all(&folder)
            .with_context(|| format!("failed to make {}", folder.display()))?;
        // Others may torture on the same machine at the same time.
        let tag = format!("{}/{}/{name}", std::process::id(), settings.seed);
        Ok(Self {
            settings: settings.clone(),
            folder,
            tag,
            plan: Plan::Small,
            count: 0,
            slots: 4,
            threads: 1,
            pause: Duration::ZERO,
            left: Vec::new(),
            faults: 0,
            violations: Vec::new(),
            begin: Instant::now(),
        })
    }

    pub fn data(&self) -> PathBuf {
        self.folder.join("data")
    }

    pub fn ledger(&self) -> PathBuf {
        self.folder.join("ledger")
    }

    /// What victims have written so far.
    pub fn ledger_text(&self) -> anyhow::Result<String> {
        match fs::read(self.ledger()) {
            Ok(bytes) => Ok(String::from_utf8_lossy(&bytes).into_owned()),
            Err(error) if error.kind() == io::ErrorKind::NotFound => Ok(String::new()),
            Err(error) => Err(error).context("the ledger cannot be read"),
        }
    }

    /// How long a victim may take that is not hurt.
    pub fn life_max(&self) -> Duration {
        LIFE_MAX + STEP_MAX * self.count
    }

    /// Something that must hold does not.
    pub fn find(&mut self, kind: Kind, what: impl Into<String>) {
        self.violations.push(Violation { kind, what: what.into() });
    }

    /// A victim.
    pub fn start(&self) -> anyhow::Result<Life> {
        self.start_under(&[], &[])
    }

    /// The owner of one of the shards whose work others take in.
    pub fn start_owner(&self, shard: &str) -> anyhow::Result<Life> {
        let words = [format!("--shard={shard}"), format!("--prefix={}", prefix_of(shard))];
        self.start_victim(&[], &words)
    }

    /// A victim with more arguments, as the last words of another command.
    pub fn start_under(&self, before: &[String], more: &[&str]) -> anyhow::Result<Life> {
        let mut words: Vec<String> = more.iter().map(|word| (*word).to_owned()).collect();
        if !self.left.is_empty() {
            words.extend([format!("--shard={TAKER}"), format!("--prefix={}", prefix_of(TAKER))]);
            words.extend(self.left.iter().map(|shard| format!("--takes={shard}")));
        }
        self.start_victim(before, &words)
    }

    fn start_victim(&self, before: &[String], more: &[String]) -> anyhow::Result<Life> {
        let mut words = before.to_vec();
        let program = self.settings.program.to_string_lossy().into_owned();
        let (data, ledger) = (self.data(), self.ledger());
        let plan = [
            "--plan".to_owned(),
            self.plan.word().to_owned(),
            format!("--count={}", self.count),
            format!("--slots={}", self.slots),
            format!("--threads={}", self.threads),
            format!("--pause-ms={}", self.pause.as_millis()),
            format!("--durability={}", self.settings.durability.word()),
        ];
        words.extend([program, "torture-victim".to_owned()]);
        words.extend(plan);
        words.extend_from_slice(more);
        let text = |path: PathBuf| path.to_string_lossy().into_owned();
        words.extend(["--data".to_owned(), text(data), "--ledger".to_owned(), text(ledger)]);
        self.launch(&words)
    }

    /// The program itself with these arguments, as a victim and as the last words of another command.
    pub fn start_command(&self, before: &[&str], arguments: &[&str]) -> anyhow::Result<Life> {
        let mut words: Vec<String> = before.iter().map(|word| (*word).to_owned()).collect();
        words.push(self.settings.program.to_string_lossy().into_owned());
        words.extend(arguments.iter().map(|word| (*word).to_owned()));
        self.launch(&words)
    }

    /// What the program says to a question about the folder; it is no victim.
    pub fn ask(&self, arguments: &[&str]) -> anyhow::Result<Output> {
        let mut command = Command::new(&self.settings.program);
        command.args(arguments).arg("--data").arg(self.data()).env(TAG, &self.tag);
        command.stdin(Stdio::null()).output().context("a question cannot be asked")
    }

    /// Something that must end with one of these codes.
    pub fn expect_command(&mut self, arguments: &[&str], codes: &[i32]) -> anyhow::Result<()> {
        let output = self.ask(arguments)?;
        if !output.status.code().is_some_and(|code| codes.contains(&code)) {
            let said = String::from_utf8_lossy(&output.stderr).into_owned();
            let what = format!("`{}` ended with {}: {said}", arguments.join(" "), output.status);
            self.find(Kind::Broken, what);
        }
        Ok(())
    }

    /// What marks everything that victims of this round start.
    pub fn tag(&self) -> &str {
        &self.tag
    }

    pub fn durability(&self) -> &'static str {
        self.settings.durability.word()
    }

    fn launch(&self, words: &[String]) -> anyhow::Result<Life> {
        let (first, rest) = words.split_first().context("a victim has a program")?;
        let said =
            OpenOptions::new().append(true).create(true).open(self.folder.join("victim.err"));
        let mut command = Command::new(first);
        command.args(rest).env(TAG, &self.tag).stdin(Stdio::null()).stdout(Stdio::null());
        command.stderr(said.map_or(Stdio::null(), |file: File| Stdio::from(file)));
        let child = command.spawn().with_context(|| format!("failed to start {first}"))?;
        Ok(Life { child, status: None })
    }

    /// Lets a victim live until it has done everything.
    pub fn finish(&mut self) -> anyhow::Result<()> {
        let life = self.start()?;
        self.see_out(life)
    }

    /// Waits for a victim that nobody hurts any more to do everything.
    pub fn see_out(&mut self, mut life: Life) -> anyhow::Result<()> {
        let most = self.life_max();
        match life.wait(most)? {
            Some(status) if status.success() => {}
            Some(status) => {
                let said = self.last_words();
                self.find(
                    Kind::Broken,
                    format!("a victim that was let be ended with {status}: {said}"),
                );
            }
            None => {
                let what = format!("a victim was not done after {} s", most.as_secs());
                self.find(Kind::Lost, what);
                life.kill()?;
            }
        }
        Ok(())
    }

    /// Everything a killed victim started must be gone soon.
    pub fn expect_vanished(&mut self) {
        let begin = Instant::now();
        let mut clean_looks = 0;
        // Once is not enough: what is just becoming another program shows no environment.
        while clean_looks < 2 {
            let left = self.left();
            clean_looks = if left.is_empty() { clean_looks + 1 } else { 0 };
            if begin.elapsed() > VANISH_MAX {
                let what = format!("{} s after the kill: {left:?}", VANISH_MAX.as_secs());
                self.find(Kind::Broken, what);
                return;
            }
            std::thread::sleep(LOOK_PERIOD);
        }
    }

    /// Processes of this round that live.
    pub fn left(&self) -> Vec<table::Seen> {
        table::tagged(TAG, &self.tag)
    }

    /// What the newest victim said before it ended.
    pub fn last_words(&self) -> String {
        let text = fs::read_to_string(self.folder.join("victim.err")).unwrap_or_default();
        text.lines().last().unwrap_or("nothing was said").to_owned()
    }

    /// The end: everything is looked at. The folder stays if something is wrong.
    pub fn judge(mut self) -> Judged {
        self.expect_vanished();
        let mut verdict = self.verdict().unwrap_or_else(|error| Verdict {
            violations: vec![Violation { kind: Kind::Broken, what: format!("{error:#}") }],
            ..Verdict::default()
        });
        verdict.violations.splice(0..0, self.violations);
        if verdict.violations.is_empty() && !self.settings.keep {
            // Left behind, it is only a folder among temporary ones.
            let _ = fs::remove_dir_all(&self.folder);
        }
        let seconds = self.begin.elapsed().as_secs_f64();
        Judged { verdict, faults: self.faults, folder: self.folder, seconds }
    }

    fn verdict(&self) -> anyhow::Result<Verdict> {
        if self.plan == Plan::Ended {
            let mut stored = stored::read(&self.data())?;
            stored.left = self.left().into_iter().map(|seen| seen.command).collect();
            return Ok(flow::check_ended(&self.ledger_text()?, &stored));
        }
        if self.plan == Plan::Flow {
            let stored = flow::read(&self.data(), self.left())?;
            return Ok(flow::check(&self.ledger_text()?, &stored));
        }
        let shards = self.left.iter().copied().chain([TAKER]);
        let prefixes: Vec<String> = match self.left.is_empty() {
            true => vec![String::new()],
            false => shards.map(prefix_of).collect(),
        };
        let works = prefixes.iter().flat_map(|prefix| self.plan.works_named(self.count, prefix));
        let names: Vec<String> = works.map(|work| work.name).collect();
        let mut stored = stored::read(&self.data())?;
        stored.left = self.left().into_iter().map(|seen| seen.command).collect();
        Ok(check::check(&self.ledger_text()?, &stored, &names))
    }
}

/// What a round came to.
#[derive(Debug)]
pub(super) struct Judged {
    pub verdict: Verdict,
    pub faults: u64,
    pub folder: PathBuf,
    pub seconds: f64,
}

/// A victim's life, or that of whoever watches over it.
#[derive(Debug)]
pub(super) struct Life {
    child: Child,
    status: Option<ExitStatus>,
}

impl Life {
    /// A helper of ours, which says nothing.
    pub fn start(words: &[&str]) -> anyhow::Result<Self> {
        let (first, rest) = words.split_first().context("a helper has a program")?;
        let mut command = Command::new(first);
        command.args(rest).stdin(Stdio::null()).stdout(Stdio::null()).stderr(Stdio::null());
        let child = command.spawn().with_context(|| format!("failed to start {first}"))?;
        Ok(Self { child, status: None })
    }

    pub fn pid(&self) -> u32 {
        self.child.id()
    }

    /// Waits for its end, at most so long.
    pub fn wait(&mut self, most: Duration) -> anyhow::Result<Option<ExitStatus>> {
        self.wait_or(most, || Ok(false))
    }

    /// Waits for its end or until something is so.
    pub fn wait_or(
        &mut self,
        most: Duration,
        mut is_so: impl FnMut() -> anyhow::Result<bool>,
    ) -> anyhow::Result<Option<ExitStatus>> {
        let begin = Instant::now();
        loop {
            if self.status.is_none() {
                self.status = self.child.try_wait().context("a victim cannot be waited for")?;
            }
            if self.status.is_some() || begin.elapsed() > most || is_so()? {
                return Ok(self.status);
            }
            std::thread::sleep(LOOK_PERIOD);
        }
    }

    /// Ends it by force; false if it had ended before.
    pub fn kill(&mut self) -> anyhow::Result<bool> {
        if self.status.is_some() || self.wait(Duration::ZERO)?.is_some() {
            return Ok(false);
        }
        self.child.kill().context("a victim cannot be killed")?;
        self.status = Some(self.child.wait().context("a victim cannot be waited for")?);
        Ok(true)
    }

    pub fn signal(&self, signal: Signal) -> anyhow::Result<()> {
        // Not waited for yet, so the number is still its own.
        send(self.child.id() as i32, signal)
    }

    /// Stops it where it is, and waits until it is.
    pub fn freeze(&self) -> anyhow::Result<()> {
        const MOST: Duration = Duration::from_secs(30);
        self.signal(Signal::STOP)?;
        let begin = Instant::now();
        while table::state_of(self.pid() as i32) != Some('T') {
            if begin.elapsed() > MOST {
                return Err(anyhow!("a victim did not stop within {} s", MOST.as_secs()));
            }
            std::thread::sleep(LOOK_PERIOD);
        }
        Ok(())
    }
}

impl Drop for Life {
    fn drop(&mut self) {
        if self.status.is_none() {
            // It ends with us at the latest.
            let _ = self.child.kill();
            let _ = self.child.wait();
        }
    }
}

pub(super) fn send(pid: i32, signal: Signal) -> anyhow::Result<()> {
    let pid = Pid::from_raw(pid).ok_or_else(|| anyhow!("{pid} is no process"))?;
    kill_process(pid, signal).context("a signal cannot be sent")
}

/// How large a file is; nothing if it is not there.
pub(super) fn size_of(path: &Path) -> u64 {
    fs::metadata(path).map_or(0, |metadata| metadata.len())
}
