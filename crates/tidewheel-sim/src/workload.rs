//! What the world asks for: random queues, limits, runs, submissions and schedules.
//!
//! When it asks, and what it does to them afterwards, is in [`crate::world`].

use std::sync::Arc;
use std::time::Duration;

use tidewheel_core::calendar::{Cron, Zone};
use tidewheel_core::graph::Graph;
use tidewheel_core::id::AttemptId;
use tidewheel_core::policy::{
    Backoff, BreakerSpec, Factor, Jitter, OnError, OnSkip, Priority, Rate, Retry, Shape,
};
use tidewheel_core::schedule::{Anchor, Misfire, Overlap, ScheduleSpec, Span, Trigger};
use tidewheel_core::spec::{
    Addition, Attachment, Config, Definition, LimitSpec, OnStop, OnceKey, Profile, QueueSpec,
    RunOptions, RunOrder, RunSpec, TaskSpec,
};
use tidewheel_core::time::Timestamp;

use crate::random::Random;

/// Queues besides the default one.
pub const QUEUES: [&str; 2] = ["alpha", "beta"];
/// Limits counted in units, each of [`UNITS`].
pub const UNIT_LIMITS: [&str; 2] = ["memory", "database"];
/// Units of each of [`UNIT_LIMITS`].
pub const UNITS: u32 = 4;
/// A limit on starts per time.
pub const RATE_LIMIT: &str = "calls";
/// A circuit breaker.
pub const BREAKER: &str = "service";
/// An expression that names a time of day which some nights do not have.
pub const NIGHTLY: &str = "30 2 * * *";
/// Keys of tasks that run one at a time.
pub const KEYS: [&str; 3] = ["red", "green", "blue"];
/// A queue that only runs bring along.
pub const BROUGHT_QUEUE: &str = "lane";
/// A limit that only runs bring along.
pub const BROUGHT_LIMIT: &str = "borrowed";
/// Who shares queues fairly.
const PARTIES: [&str; 3] = ["one", "another", "a third"];

/// The scheduler's settings.
pub fn config(random: &mut Random) -> Config {
    Config {
        slots: if random.percent(80) { Some(random.between(1, 8) as u32) } else { None },
        starvation_timeout: match random.below(4) {
            0 => None,
            1 => Some(Duration::from_secs(6)),
            _ => Some(Duration::from_secs(30)),
        },
        lost_attempts_max: random.between(0, 4) as u32,
        once_kept: Config::default().once_kept,
        seed: random.number(),
        notices: random.percent(50),
    }
}

/// A queue's settings.
pub fn queue(random: &mut Random) -> QueueSpec {
    QueueSpec {
        weight: random.between(1, 5) as u32,
        slots: random.percent(50).then(|| random.between(1, 4) as u32),
        rate: random.percent(30).then(|| rate(random)),
        waiting_max: random.percent(30).then(|| random.between(2, 8) as u32),
        preempt: random.percent(25),
    }
}

fn rate(random: &mut Random) -> Rate {
    let count = random.between(1, 5) as u32;
    let per = random.millis(200, 2_000);
    Rate::new(count, per).expect("count and period are not zero")
}

/// Every limit the world uses.
pub fn limits(random: &mut Random) -> Vec<(Arc<str>, LimitSpec)> {
    let mut limits: Vec<(Arc<str>, LimitSpec)> =
        UNIT_LIMITS.iter().map(|name| (Arc::from(*name), LimitSpec::Units(UNITS))).collect();
    limits.push((RATE_LIMIT.into(), LimitSpec::Rate(rate(random))));
    let spec = BreakerSpec::new(random.between(1, 3) as u32, random.millis(500, 8_000));
    let breaker = if spec.failures_max == 1 { spec.fail_fast() } else { spec };
    limits.push((BREAKER.into(), LimitSpec::Breaker(breaker)));
    limits
}

fn word(random: &mut Random) -> OnError {
    *random.pick(&[OnError::Continue, OnError::Skip, OnError::Fail])
}

fn retry(random: &mut Random) -> Retry {
    let shape = match random.below(4) {
        0 => Shape::Fixed,
        1 => Shape::Linear,
        2 => Shape::Exponential { factor: Factor::DOUBLE },
        _ => Shape::Decorrelated,
    };
    let jitter = match random.below(3) {
        0 => Jitter::None,
        1 => Jitter::Full,
        _ => Jitter::Equal,
    };
    let backoff = Backoff { shape, base: random.millis(10, 2_000), cap: Duration::from_secs(10) };
    Retry { retries: random.between(1, 3) as u32, backoff, jitter, ..Retry::default() }
}

/// How a task is treated.
pub fn profile(random: &mut Random) -> Profile {
    let mut profile = Profile {
        priority: Priority::new(*random.pick(&[0, 20, 50, 50, 80, 100])),
        ..Profile::default()
    };
    if random.percent(30) {
        profile.queue = Some(Arc::from(*random.pick(&QUEUES)));
    }
    if random.percent(40) {
        profile.retry = retry(random);
    }
    if random.percent(40) {
        profile.attempt_timeout = Some(random.millis(500, 20_000));
    }
    if random.percent(10) {
        profile.task_timeout = Some(random.millis(1_000, 60_000));
    }
    if random.percent(10) {
        profile.start_delay = random.millis(10, 5_000);
    }
    if random.percent(25) {
        profile.on_error = Some(word(random));
    }
    if random.percent(10) {
        profile.on_dependency_error = Some(word(random));
    }
    if random.percent(15) {
        profile.on_skip = Some(*random.pick(&[OnSkip::Skip, OnSkip::Continue]));
    }
    if random.percent(20) {
        profile.fair_by = Some(Arc::from(*random.pick(&PARTIES)));
    }
    profile.always = random.percent(6);
    profile.at_most_once = random.percent(8);
    for name in UNIT_LIMITS {
        if random.percent(15) {
            profile.limits.push((name.into(), random.between(1, u64::from(UNITS)) as u32));
        }
    }
    for name in [RATE_LIMIT, BREAKER] {
        if random.percent(8) {
            profile.limits.push((name.into(), 1));
        }
    }
    profile
}

/// A key, sometimes.
pub fn key(random: &mut Random) -> Option<Arc<str>> {
    random.percent(12).then(|| Arc::from(*random.pick(&KEYS)))
}

/// A graph of a few tasks.
pub fn graph(random: &mut Random, tasks_max: u64) -> Graph {
    let tasks = random.between(0, tasks_max) as u32;
    let density = *random.pick(&[5, 15, 30, 60]);
    let mut edges = Vec::new();
    for after in 1..tasks {
        for before in 0..after {
            if random.percent(density) && after - before <= 6 {
                edges.push((before, after));
            }
        }
    }
    let graph = Graph::numbered(tasks, edges).expect("edges point forward");
    if random.percent(50) {
        let mut random = random.fork();
        let estimates: Vec<Duration> = (0..tasks).map(|_| random.millis(0, 5_000)).collect();
        graph.with_estimates(|index| estimates[index as usize])
    } else {
        graph
    }
}

/// A run.
pub fn run(random: &mut Random) -> RunSpec {
    let graph = Arc::new(graph(random, 12));
    let tasks = graph.len();
    let options = RunOptions {
        queue: if random.percent(25) {
            Arc::from(*random.pick(&QUEUES))
        } else {
            RunOptions::default().queue
        },
        slots: random.percent(60).then(|| random.between(1, 4) as u32),
        timeout: random.percent(8).then(|| random.millis(5_000, 120_000)),
        on_error: *random.pick(&[OnError::Skip, OnError::Skip, OnError::Fail, OnError::Continue]),
        on_skip: *random.pick(&[OnSkip::Continue, OnSkip::Skip]),
        on_stop: if random.percent(70) {
            OnStop::Finish
        } else {
            OnStop::Cancel { grace: random.millis(0, 2_000) }
        },
        order: *random.pick(&[
            RunOrder::CriticalPath,
            RunOrder::CriticalPath,
            RunOrder::Fifo,
            RunOrder::Deadline,
        ]),
        keep_open: random.percent(10),
        paused: random.percent(8),
        ..RunOptions::default()
    };
    let mut spec = RunSpec::new(graph, options, profile(random));
    spec.attachment = attachment(random).unwrap_or_default();
    if random.percent(80) {
        let kinds = random.between(1, 4);
        spec.profiles = (0..kinds).map(|_| Arc::new(profile(random))).collect();
        spec.profile_of = (0..tasks).map(|_| random.below(kinds) as u16).collect();
    }
    if random.percent(35) {
        crate::workload_groups::group(random, &mut spec);
    }
    if random.percent(25) {
        bring(random, &mut spec);
    }
    for index in 0..tasks {
        if random.percent(8) {
            spec.deadlines.insert(index, random.millis(500, 60_000));
        }
        if let Some(key) = key(random) {
            spec.keys.insert(index, key);
        }
        if random.percent(3) {
            spec.already_done.push(index);
        }
    }
    spec
}

/// Has a run bring a queue and a limit along, of few kinds, so that some say the same; now and then it asks for more
/// than it brings, and for what nobody has.
fn bring(random: &mut Random, spec: &mut RunSpec) {
    let units = random.between(1, 3) as u32;
    let limit = match random.below(4) {
        0 => LimitSpec::Rate(Rate::new(2, Duration::from_secs(1)).expect("neither is zero")),
        _ => LimitSpec::Units(units),
    };
    spec.defines.push(Definition::Limit { name: BROUGHT_LIMIT.into(), spec: limit });
    let brings_queue = random.percent(50);
    if brings_queue {
        let slots = Some(random.between(1, 2) as u32);
        let waiting_max = random.percent(30).then_some(4);
        let queue = QueueSpec { slots, waiting_max, ..QueueSpec::default() };
        spec.defines.push(Definition::Queue { name: BROUGHT_QUEUE.into(), spec: queue });
    }
    for profile in &mut spec.profiles {
        let profile = Arc::make_mut(profile);
        if random.percent(60) {
            let most = if random.percent(8) { units + 1 } else { units };
            profile.limits.push((BROUGHT_LIMIT.into(), random.between(1, u64::from(most)) as u32));
        }
        if random.percent(30) && (brings_queue || random.percent(10)) {
            profile.queue = Some(BROUGHT_QUEUE.into());
        }
    }
}

/// What travels with work: often nothing, sometimes a name that was perhaps used before.
pub fn attachment(random: &mut Random) -> Option<Attachment> {
    random.percent(25).then(|| {
        let key = format!("name {}", random.below(12));
        let body = [random.below(5).min(1) as u8];
        Attachment {
            payload: Some(Arc::from(&body[..])),
            kind: None,
            once: Some(OnceKey::new(&key, &body)),
        }
    })
}

/// Tasks to be added to a run that has `tasks` tasks, of which some are blocked. Some name each other,
/// and now and then two have the same name.
pub fn addition(
    random: &mut Random,
    mut names: Vec<String>,
    tasks: u32,
    blocked: &[u32],
) -> Addition {
    if names.len() > 1 && random.percent(15) {
        names[1] = names[0].clone();
    }
    let count = names.len() as u64;
    let task = |name| {
        let mut task = task(random, name, tasks, blocked);
        if random.percent(20) {
            task.after.push(Addition::FIRST + random.below(count) as u32);
        }
        if random.percent(20) {
            task.before.push(Addition::FIRST + random.below(count) as u32);
        }
        task
    };
    let tasks = names.into_iter().map(task).collect();
    Addition { tasks, passes_over_known: random.percent(50) }
}

/// What an attempt may find out that there is to do: tasks behind its own, before some that wait for it.
pub fn expansion(random: &mut Random, attempt: AttemptId, successors: &[u32]) -> Addition {
    let own = attempt.task.index;
    let count = random.between(1, 4) as u32;
    let task = |place: u32| {
        let name = format!("late {own} {} {place} {count}", attempt.number);
        let mut task = task(random, name, 0, &[]);
        task.after.extend(random.percent(70).then_some(own));
        task.after.extend((place > 0 && random.percent(30)).then(|| Addition::FIRST + place - 1));
        task.before.extend(successors.iter().copied().filter(|_| random.percent(60)));
        task
    };
    Addition { tasks: (0..count).map(task).collect(), passes_over_known: random.percent(50) }
}

/// A task to be added to a run that has `tasks` tasks, of which some are blocked.
fn task(random: &mut Random, name: String, tasks: u32, blocked: &[u32]) -> TaskSpec {
    let count = random.below(3);
    let after = if tasks == 0 {
        Vec::new()
    } else {
        (0..count).map(|_| random.below(u64::from(tasks)) as u32).collect()
    };
    let mut before = Vec::new();
    if tasks > 0 && random.percent(60) {
        for _ in 0..random.between(1, 3) {
            let any = random.below(u64::from(tasks)) as u32;
            let is_wise = !blocked.is_empty() && random.percent(85);
            before.push(if is_wise { *random.pick(blocked) } else { any });
        }
    }
    TaskSpec {
        name: name.into(),
        after,
        before,
        condition: None,
        membership: tidewheel_core::group::Membership::default(),
        profile: Arc::new(profile(random)),
        estimate: random.percent(30).then(|| random.millis(1, 4_000)),
        key: key(random),
        deadline: random.percent(10).then(|| random.millis(500, 60_000)),
        payload: None,
    }
}

/// An overlap policy.
pub fn overlap(random: &mut Random) -> Overlap {
    *random.pick(&[
        Overlap::Skip,
        Overlap::QueueOne,
        Overlap::QueueNewest,
        Overlap::QueueAll { max: 2 },
        Overlap::Cancel,
        Overlap::Allow,
    ])
}

/// A schedule.
pub fn schedule(random: &mut Random, wall: Timestamp) -> ScheduleSpec {
    let start = Anchor::After(random.millis(0, 5_000));
    let trigger = match random.below(12) {
        0 => Trigger::Once(start),
        1 => Trigger::at(wall.after(random.millis(1_000, 30_000))),
        2..=4 => Trigger::FixedRate { period: random.millis(1_500, 60_000) / 3, start },
        5..=6 => Trigger::FixedDelay { delay: random.millis(500, 20_000), start },
        7 => Trigger::Custom,
        _ => {
            let text = *random.pick(&["*/7 * * * * *", "* * * * *", NIGHTLY, "*/20 * * * *"]);
            let zone = *random.pick(&["UTC", "Europe/Zurich", "America/New_York"]);
            let cron = Cron::parse(text).expect("the expression is valid");
            Trigger::calendar(cron, Zone::named(zone).expect("the zone is known"))
        }
    };
    let mut spec = ScheduleSpec::new(trigger);
    spec.overlap = overlap(random);
    spec.misfire = *random.pick(&[Misfire::Skip, Misfire::Latest, Misfire::All { max: 3 }]);
    if random.percent(50) {
        spec.misfire_grace = random.millis(0, 5_000);
    }
    if random.percent(25) {
        spec.jitter = random.millis(1, 3_000);
    }
    if random.percent(15) {
        let from = wall.after(random.millis(1_000, 60_000));
        spec.exclusions.push(Span::new(from, from.after(random.millis(1_000, 60_000))));
    }
    if random.percent(10) {
        let from = wall.after(random.millis(1_000, 30_000));
        spec.window = Some(Span::new(from, from.after(random.millis(10_000, 600_000))));
    }
    if random.percent(15) {
        spec.max_firings = Some(random.between(1, 5));
    } else if spec.overlap == Overlap::Allow {
        // Firings that do not wait for each other would pile up without end.
        spec.max_firings = Some(random.between(5, 25));
    }
    if random.percent(30) {
        spec.backoff = Some(retry(random));
    }
    spec
}
