//! A server that is killed again and again while schedules fire: the ledger against what was done.
//!
//! `./test` has a small one; `./test soak` goes on for half an hour with two hundred schedules.
#![allow(clippy::unwrap_used, reason = "what is missing fails the test")]

mod common;

use std::collections::BTreeMap;
use std::time::{Duration, Instant};

use common::{Heard, Scratch, wait_until};
use serde_json::Value;

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
        let mut wanted = 0;
        for _ in 0..self.kills {
            let server = serve(scratch);
            match self.life {
                Life::Firings(more) => {
                    wanted += more;
                    wait_until("more firings", || {
                        let fired = schedules(scratch);
                        fired.iter().all(|it| it["fired"].as_u64().unwrap() as usize >= wanted)
                    });
                }
                // The kill is what is tried, and it may come at any time.
                Life::Time(time) => {
                    let end = Instant::now() + time;
                    wait_until_long("its time is over", || Instant::now() >= end);
                }
            }
            server.signal("KILL");
            assert_eq!(server.ended().0, None);
        }
        // The last one has the time to do what is left.
        let server = serve(scratch);
        for number in 0..self.schedules {
            scratch.json(&["schedule", "pause", &format!("f{number}")]);
        }
        wait_until_long("nothing runs", || {
            let is_quiet =
                |it: &Value| it["running"] == 0 && it["waiting"] == 0 && it["state"] == "paused";
            schedules(scratch).iter().all(is_quiet)
        });
        server.signal("TERM");
        assert_eq!(server.ended().0, Some(0));
        for number in 0..self.schedules {
            self.compare(scratch, number);
        }
    }

    /// The ledger has every instant once, all of them have run, and what was done is what it says.
    fn compare(&self, scratch: &Scratch, number: u32) {
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
    }
}

fn serve(scratch: &Scratch) -> Heard {
    let server = scratch.start_heard(&["serve", "--flows", "flows", "--listen", "off"]);
    server.wait_for("listening on no port");
    server
}

fn schedules(scratch: &Scratch) -> Vec<Value> {
    scratch.json(&["schedule", "list"])["schedules"].as_array().unwrap().clone()
}

/// Looks once in a while, for as long as it takes.
fn wait_until_long(what: &str, holds: impl Fn() -> bool) {
    let start = Instant::now();
    while !holds() {
        assert!(start.elapsed() < Duration::from_secs(600), "never: {what}");
        std::thread::sleep(Duration::from_millis(50));
    }
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
