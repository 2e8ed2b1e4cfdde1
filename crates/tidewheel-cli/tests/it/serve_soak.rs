//! A server that is killed again and again while schedules fire: the ledger against what was done.
//!
//! `./test` has a small one; `./test soak` goes on for half an hour with two hundred schedules.

use std::collections::BTreeMap;
use std::io::{BufRead as _, BufReader};
use std::process::{Child, Command, Stdio};
use std::sync::mpsc::{self, Receiver};
use std::time::{Duration, Instant};

use crate::common::Scratch;
use serde_json::Value;
use tidewheel_testing::patience;

/// What a soak consists of.
struct Soak {
    schedules: u32,
    /// The period of the first schedule, and by how much each is longer than the one before.
    period_ms: (u32, u32),
    kills: u32,
    /// How long each server lives: so many firings more of each schedule, or this time.
    life: Life,
}

enum Life {
    Firings(usize),
    Time(Duration),
}

impl Soak {
    fn period_ms(&self, number: u32) -> u32 {
        self.period_ms.0 + self.period_ms.1 * number
    }

    fn write(&self, scratch: &Scratch) {
        std::fs::create_dir_all(scratch.path("flows")).unwrap();
        for number in 0..self.schedules {
            let period = self.period_ms(number);
            let text = format!(
                "schedule: {{ every: {period}ms, misfire: all, overlap: queue-all }}\n\
                 flow: [{{ name: one, argv: [sh, -c, 'echo \"$1\" >> fired-{number}', x, \
                 '{{{{ run.scheduled_at }}}}'] }}]\n"
            );
            scratch.file(&format!("flows/f{number}.yaml"), &text);
        }
    }

    fn run(&self, scratch: &Scratch) {
        self.write(scratch);
        for _ in 0..self.kills {
            let server = Server::start(scratch);
            match self.life {
                Life::Firings(more) => server.until_fired(self.schedules, more),
                // The kill is what is tried, and it may come at any time.
                Life::Time(time) => server.until_over(time),
            }
            assert_eq!(server.end("KILL"), None);
        }
        // The last one has the time to do what is left.
        let server = Server::start(scratch);
        for number in 0..self.schedules {
            scratch.json(&["schedule", "pause", &format!("f{number}")]);
        }
        server.until_quiet(scratch);
        assert_eq!(server.end("TERM"), Some(0));
        let (mut firings, mut attempts) = (0, 0);
        for number in 0..self.schedules {
            let (fired, done) = self.compare(scratch, number);
            (firings, attempts) = (firings + fired, attempts + done);
        }
        let Self { schedules, kills, .. } = self;
        eprintln!("{schedules} schedules, {kills} kills: {firings} firings by {attempts} attempts");
    }

    /// The ledger has every instant once, all of them have run, and what was done is what it says: how many firings, and how
    /// many attempts at them.
    fn compare(&self, scratch: &Scratch, number: u32) -> (usize, usize) {
        let name = format!("f{number}");
        let ledger = scratch.json(&["schedule", "ledger", &name, "--limit", "1000000"]);
        let ledger = ledger["firings"].as_array().unwrap();
        let done = scratch.read(&format!("flows/fired-{number}"));
        let mut times: BTreeMap<&str, u32> = BTreeMap::new();
        for line in done.lines() {
            *times.entry(line).or_default() += 1;
        }
        let mut nominals = Vec::new();
        for line in ledger {
            assert_eq!(line["fate"], "ran", "{name}: {line}");
            assert_eq!(line["state"], "succeeded", "{name}: {line}");
            let nominal = line["nominal"].as_str().unwrap();
            // An attempt that died with its server is made again; the firing is the same.
            assert!(times.contains_key(nominal), "{name}: {nominal} was not done");
            nominals.push(nominal.parse::<tidewheel::Timestamp>().unwrap().as_micros());
        }
        assert_eq!(times.len(), nominals.len(), "{name}: all that was done is in the ledger");
        nominals.sort_unstable();
        let period = i64::from(self.period_ms(number)) * 1000;
        for pair in nominals.windows(2) {
            assert_eq!(pair[1] - pair[0], period, "{name}: none is missing, none comes twice");
        }
        (nominals.len(), done.lines().count())
    }
}

/// A server, and what it tells of itself.
struct Server {
    child: Child,
    told: Receiver<Value>,
}

impl Server {
    fn start(scratch: &Scratch) -> Self {
        let arguments = ["serve", "--flows", "flows", "--listen", "off", "--format", "json"];
        let mut command = scratch.command(&arguments);
        let mut child = command.stdout(Stdio::piped()).stderr(Stdio::piped()).spawn().unwrap();
        let (events, told) = mpsc::channel();
        let lines = BufReader::new(child.stdout.take().unwrap()).lines();
        // Nobody listens once it is killed.
        std::thread::spawn(move || {
            for line in lines.map_while(Result::ok) {
                let _ = events.send(serde_json::from_str(&line).unwrap());
            }
        });
        let mut said = BufReader::new(child.stderr.take().unwrap());
        let mut line = String::new();
        while !line.contains("listening on no port") {
            line.clear();
            assert_ne!(said.read_line(&mut line).unwrap(), 0, "it has ended");
        }
        // What it says from now on is told as well; it must not wait for a reader.
        std::thread::spawn(move || std::io::copy(&mut said, &mut std::io::sink()));
        Self { child, told }
    }

    /// The next thing that happens.
    fn next(&self) -> Value {
        self.told.recv_timeout(patience()).expect("something happens")
    }

    /// Waits until each schedule has fired so many times.
    fn until_fired(&self, schedules: u32, times: usize) {
        let mut fired: BTreeMap<String, usize> = BTreeMap::new();
        while fired.values().filter(|count| **count >= times).count() < schedules as usize {
            let event = self.next();
            if event["what"] == "schedule-fired" {
                *fired.entry(event["schedule"].as_str().unwrap().to_owned()).or_default() += 1;
            }
        }
    }

    /// Listens for so long.
    fn until_over(&self, time: Duration) {
        let end = Instant::now() + time;
        while let Some(left) = end.checked_duration_since(Instant::now()) {
            // Nothing may happen for a while.
            let _ = self.told.recv_timeout(left);
        }
    }

    /// Waits until nothing of any schedule runs: looks whenever a run has ended.
    fn until_quiet(&self, scratch: &Scratch) {
        let is_quiet =
            |it: &Value| it["running"] == 0 && it["waiting"] == 0 && it["state"] == "paused";
        while !schedules(scratch).iter().all(is_quiet) {
            while self.next()["what"] != "run-ended" {}
        }
    }

    /// Sends a signal; its exit code.
    fn end(mut self, signal: &str) -> Option<i32> {
        let pid = self.child.id().to_string();
        let sent = Command::new("kill").args([&format!("-{signal}"), &pid]).status().unwrap();
        assert!(sent.success());
        self.child.wait().unwrap().code()
    }
}

impl Drop for Server {
    fn drop(&mut self) {
        // It has ended, or the test has failed.
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

fn schedules(scratch: &Scratch) -> Vec<Value> {
    scratch.json(&["schedule", "list"])["schedules"].as_array().unwrap().clone()
}

#[test]
fn no_firing_is_lost_or_doubled_however_often_the_server_is_killed() {
    let scratch = Scratch::new("serve-kill");
    let soak = Soak { schedules: 4, period_ms: (300, 70), kills: 5, life: Life::Firings(2) };
    soak.run(&scratch);
}

/// The whole of it. `TIDEWHEEL_SOAK_KILLS` says how often the server is killed, once a minute.
#[test]
#[ignore = "it takes half an hour: ./test soak"]
fn two_hundred_schedules_for_half_an_hour() {
    let scratch = Scratch::new("serve-soak");
    let kills = std::env::var("TIDEWHEEL_SOAK_KILLS").ok().and_then(|it| it.parse().ok());
    let soak = Soak {
        schedules: 200,
        period_ms: (5_000, 100),
        kills: kills.unwrap_or(30),
        life: Life::Time(Duration::from_secs(60)),
    };
    soak.run(&scratch);
}
