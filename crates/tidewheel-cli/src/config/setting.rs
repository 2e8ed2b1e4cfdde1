//! The one table of settings: what is accepted, what `tidewheel config show` prints and the page
//! `docs/reference/configuration.md` all come from it.
//!
//! How a value is read is in [`super::value`].

use std::time::Duration;

use tidewheel_client::text::nearest;

/// The settings, in the order of [`SETTINGS`].
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Setting {
    Data,
    Format,
    Color,
    RunMaxWorkers,
    RunDurability,
    RunLogLevel,
    RunQuiet,
    SchedulerEnabled,
    SchedulerMaxConcurrency,
    SchedulerMaxQueueSize,
    SchedulerStarvationTimeout,
    ServeFlows,
    ServeGrace,
    ServeFlowtoyOpen,
    ServeMetricsToken,
    ServeBasePath,
    ServeTlsCert,
    ServeTlsKey,
    OtlpEndpoint,
    ProcessGrace,
    ProcessOutputMax,
    ContainerEngine,
    HttpAllowPrivate,
    RetentionAge,
    RetentionRuns,
    RetentionBytes,
}

/// What is known of a setting.
#[derive(Debug)]
pub(crate) struct Definition {
    pub setting: Setting,
    /// Its name in files: the section and the setting, with a dot between.
    pub key: &'static str,
    pub kind: Kind,
    pub off: Off,
    pub otherwise: Otherwise,
    /// Its name in the environment.
    pub variable: &'static str,
    /// The flag that wins over it, of the commands that have one.
    pub flag: Option<&'static str>,
    /// What it means, in one sentence.
    pub description: &'static str,
}

/// Which values a setting has.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Kind {
    Path,
    /// Whoever uses it says what it has to be.
    Text,
    Bool,
    Count {
        min: u64,
        max: u64,
    },
    Duration {
        min: Duration,
        max: Duration,
    },
    Size {
        min: u64,
        max: u64,
    },
    Choice(&'static [&'static str]),
}

/// How a setting is switched off, over whatever is said further down.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Off {
    /// It cannot be.
    Never,
    /// By `off`.
    Word,
    /// By `off` or 0.
    WordOrZero,
}

/// What holds where nobody says anything.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Otherwise {
    /// This value, written as in the environment.
    Value(&'static str),
    /// No value; what that comes to, in words.
    Words(&'static str),
}

const SECOND: Duration = Duration::from_secs(1);
const DAY: Duration = Duration::from_secs(86_400);
const CENTURY: Duration = Duration::from_secs(36_500 * 86_400);
const TEBIBYTE: u64 = 1 << 40;

/// All of them. Whoever adds one adds it to [`Setting`] at the same place.
pub(crate) static SETTINGS: [Definition; 26] = [
    Definition {
        setting: Setting::Data,
        key: "data",
        kind: Kind::Path,
        off: Off::Never,
        otherwise: Otherwise::Words("tidewheel in the user's data folder"),
        variable: "TIDEWHEEL_DATA",
        flag: Some("--data"),
        description: "The data folder.",
    },
    Definition {
        setting: Setting::Format,
        key: "format",
        kind: Kind::Choice(&["human", "json"]),
        off: Off::Never,
        otherwise: Otherwise::Words("human; simulate: json, graph: text"),
        variable: "TIDEWHEEL_FORMAT",
        flag: Some("--format"),
        description: "How results are written: for people, or one JSON value for programs.",
    },
    Definition {
        setting: Setting::Color,
        key: "color",
        kind: Kind::Choice(&["auto", "always", "never"]),
        off: Off::Never,
        otherwise: Otherwise::Value("auto"),
        variable: "TIDEWHEEL_COLOR",
        flag: None,
        description: "Whether text for people is coloured; `auto`: if a terminal shows it.",
    },
    Definition {
        setting: Setting::RunMaxWorkers,
        key: "run.max_workers",
        kind: Kind::Count { min: 1, max: 100_000 },
        off: Off::Never,
        otherwise: Otherwise::Words("what the flow says, or 4"),
        variable: "TIDEWHEEL_RUN_MAX_WORKERS",
        flag: Some("--max-workers"),
        description: "Steps of a run at once.",
    },
    Definition {
        setting: Setting::RunDurability,
        key: "run.durability",
        kind: Kind::Choice(&["process", "power"]),
        off: Off::Never,
        otherwise: Otherwise::Value("process"),
        variable: "TIDEWHEEL_RUN_DURABILITY",
        flag: Some("--durability"),
        description: "What a stored decision survives: the death of our process, or also a power \
                      failure.",
    },
    Definition {
        setting: Setting::RunLogLevel,
        key: "run.log_level",
        kind: Kind::Choice(&["error", "warn", "info", "debug"]),
        off: Off::Never,
        otherwise: Otherwise::Words("info; with JSON: warn"),
        variable: "TIDEWHEEL_RUN_LOG_LEVEL",
        flag: Some("--log-level"),
        description: "How much is said while a flow runs.",
    },
    Definition {
        setting: Setting::RunQuiet,
        key: "run.quiet",
        kind: Kind::Bool,
        off: Off::Never,
        otherwise: Otherwise::Value("false"),
        variable: "TIDEWHEEL_RUN_QUIET",
        flag: Some("--quiet"),
        description: "Whether nothing is said but the result.",
    },
    Definition {
        setting: Setting::SchedulerEnabled,
        key: "scheduler.enabled",
        kind: Kind::Bool,
        off: Off::Never,
        otherwise: Otherwise::Value("true"),
        variable: "TIDEWHEEL_SCHEDULER_ENABLED",
        flag: None,
        description: "Whether futures in our own process are bounded by \
                      `scheduler.max_concurrency`; processes always are.",
    },
    Definition {
        setting: Setting::SchedulerMaxConcurrency,
        key: "scheduler.max_concurrency",
        kind: Kind::Count { min: 1, max: 1_000_000 },
        off: Off::Never,
        otherwise: Otherwise::Words("no bound"),
        variable: "TIDEWHEEL_SCHEDULER_MAX_CONCURRENCY",
        flag: None,
        description: "Tasks at once, of all runs and queues together; of a server 16, if nothing is said.",
    },
    Definition {
        setting: Setting::SchedulerMaxQueueSize,
        key: "scheduler.max_queue_size",
        kind: Kind::Count { min: 0, max: 1_000_000_000 },
        off: Off::WordOrZero,
        otherwise: Otherwise::Words("no bound"),
        variable: "TIDEWHEEL_SCHEDULER_MAX_QUEUE_SIZE",
        flag: None,
        description: "Tasks of the queue `default` that a server lets wait; a run over it is refused. 0: \
                      no bound.",
    },
    Definition {
        setting: Setting::SchedulerStarvationTimeout,
        key: "scheduler.starvation_timeout",
        kind: Kind::Duration { min: Duration::from_millis(1), max: CENTURY },
        off: Off::WordOrZero,
        otherwise: Otherwise::Value("30s"),
        variable: "TIDEWHEEL_SCHEDULER_STARVATION_TIMEOUT",
        flag: None,
        description: "The time in which waiting adds 60 points to a priority; `off`: no ageing.",
    },
    Definition {
        setting: Setting::ServeFlows,
        key: "serve.flows",
        kind: Kind::Path,
        off: Off::Never,
        otherwise: Otherwise::Words("none"),
        variable: "TIDEWHEEL_SERVE_FLOWS",
        flag: Some("--flows"),
        description: "The folder whose flow files a server serves.",
    },
    Definition {
        setting: Setting::ServeGrace,
        key: "serve.grace",
        kind: Kind::Duration { min: Duration::ZERO, max: DAY },
        off: Off::Never,
        otherwise: Otherwise::Value("30s"),
        variable: "TIDEWHEEL_SERVE_GRACE",
        flag: Some("--grace"),
        description: "How long a server that is told to stop lets steps finish.",
    },
    Definition {
        setting: Setting::ServeFlowtoyOpen,
        key: "serve.flowtoy_open",
        kind: Kind::Bool,
        off: Off::Never,
        otherwise: Otherwise::Value("false"),
        variable: "TIDEWHEEL_SERVE_FLOWTOY_OPEN",
        flag: Some("--flowtoy-open"),
        description: "Whether whoever is on the same machine may read `/flowtoy/…` of a server without a token.",
    },
    Definition {
        setting: Setting::ServeMetricsToken,
        key: "serve.metrics_token",
        kind: Kind::Bool,
        off: Off::Never,
        otherwise: Otherwise::Value("false"),
        variable: "TIDEWHEEL_SERVE_METRICS_TOKEN",
        flag: Some("--metrics-token"),
        description: "Whether `/metrics` of a server needs a token on the same machine too.",
    },
    Definition {
        setting: Setting::ServeBasePath,
        key: "serve.base_path",
        kind: Kind::Text,
        off: Off::Never,
        otherwise: Otherwise::Words("none"),
        variable: "TIDEWHEEL_SERVE_BASE_PATH",
        flag: Some("--base-path"),
        description: "The path below which a server stands behind a proxy, such as `/tidewheel`.",
    },
    Definition {
        setting: Setting::ServeTlsCert,
        key: "serve.tls_cert",
        kind: Kind::Path,
        off: Off::Never,
        otherwise: Otherwise::Words("none"),
        variable: "TIDEWHEEL_SERVE_TLS_CERT",
        flag: Some("--tls-cert"),
        description: "The certificates with which a server speaks TLS itself, its own first, in PEM.",
    },
    Definition {
        setting: Setting::ServeTlsKey,
        key: "serve.tls_key",
        kind: Kind::Path,
        off: Off::Never,
        otherwise: Otherwise::Words("none"),
        variable: "TIDEWHEEL_SERVE_TLS_KEY",
        flag: Some("--tls-key"),
        description: "The key of the certificate, in PEM.",
    },
    Definition {
        setting: Setting::OtlpEndpoint,
        key: "otlp.endpoint",
        kind: Kind::Text,
        off: Off::Never,
        otherwise: Otherwise::Words("none"),
        variable: "TIDEWHEEL_OTLP_ENDPOINT",
        flag: None,
        description: "The collector to which a server sends traces by OTLP over HTTP, such as `http://127.0.0.1:4318`.",
    },
    Definition {
        setting: Setting::ProcessGrace,
        key: "process.grace",
        kind: Kind::Duration { min: Duration::ZERO, max: DAY },
        off: Off::Never,
        otherwise: Otherwise::Value("10s"),
        variable: "TIDEWHEEL_PROCESS_GRACE",
        flag: None,
        description: "How long a process has from TERM to KILL.",
    },
    Definition {
        setting: Setting::ProcessOutputMax,
        key: "process.output_max",
        kind: Kind::Size { min: 0, max: TEBIBYTE },
        off: Off::Never,
        otherwise: Otherwise::Value("64MiB"),
        variable: "TIDEWHEEL_PROCESS_OUTPUT_MAX",
        flag: None,
        description: "How much of each stream of a process is kept.",
    },
    Definition {
        setting: Setting::ContainerEngine,
        key: "container.engine",
        kind: Kind::Choice(&["auto", "docker", "podman", "nerdctl"]),
        off: Off::Never,
        otherwise: Otherwise::Value("auto"),
        variable: "TIDEWHEEL_CONTAINER_ENGINE",
        flag: None,
        description: "What makes containers of steps; `auto`: the first of docker, podman and nerdctl that is there.",
    },
    Definition {
        setting: Setting::HttpAllowPrivate,
        key: "http.allow_private",
        kind: Kind::Bool,
        off: Off::Never,
        otherwise: Otherwise::Value("true"),
        variable: "TIDEWHEEL_HTTP_ALLOW_PRIVATE",
        flag: None,
        description: "Whether requests may go to addresses that are not public.",
    },
    Definition {
        setting: Setting::RetentionAge,
        key: "retention.age",
        kind: Kind::Duration { min: SECOND, max: CENTURY },
        off: Off::Word,
        otherwise: Otherwise::Words("any age"),
        variable: "TIDEWHEEL_RETENTION_AGE",
        flag: Some("--older-than"),
        description: "What ended longer ago is removed by pruning.",
    },
    Definition {
        setting: Setting::RetentionRuns,
        key: "retention.runs",
        kind: Kind::Count { min: 1, max: 1_000_000_000_000 },
        off: Off::Word,
        otherwise: Otherwise::Words("any number"),
        variable: "TIDEWHEEL_RETENTION_RUNS",
        flag: Some("--keep"),
        description: "How many runs pruning keeps, the newest.",
    },
    Definition {
        setting: Setting::RetentionBytes,
        key: "retention.bytes",
        kind: Kind::Size { min: 1, max: 1024 * TEBIBYTE },
        off: Off::Word,
        otherwise: Otherwise::Words("any amount"),
        variable: "TIDEWHEEL_RETENTION_BYTES",
        flag: Some("--bytes"),
        description: "How much of logs and outputs pruning keeps, those of the newest runs.",
    },
];

impl Setting {
    pub fn definition(self) -> &'static Definition {
        &SETTINGS[self as usize]
    }
}

/// The setting with this key.
pub(super) fn by_key(key: &str) -> Option<&'static Definition> {
    SETTINGS.iter().find(|definition| definition.key == key)
}

/// The settings of a section, if there is one of this name.
pub(super) fn of_section(name: &str) -> impl Iterator<Item = &'static Definition> {
    SETTINGS.iter().filter(move |definition| section(definition.key) == Some(name))
}

/// The section somebody meant.
pub(super) fn nearest_section(wanted: &str) -> Option<&'static str> {
    let sections = SETTINGS.iter().filter_map(|definition| section(definition.key));
    is_short(wanted).then(|| nearest(wanted, sections)).flatten()
}

/// The setting somebody meant by a key, or by a variable behind its prefix; the section may be
/// missing.
pub(super) fn nearest_setting(wanted: &str) -> Option<&'static Definition> {
    if !is_short(wanted) {
        return None;
    }
    let wanted = wanted.replace('.', "_");
    let whole = SETTINGS.each_ref().map(|definition| definition.key.replace('.', "_"));
    let last = SETTINGS.each_ref().map(|definition| last_word(definition.key));
    let place = match nearest(&wanted, whole.iter().map(String::as_str)) {
        Some(found) => whole.iter().position(|key| key == found),
        None => {
            let found = nearest(&wanted, last)?;
            last.iter().position(|word| *word == found)
        }
    };
    place.map(|place| &SETTINGS[place])
}

/// Whether a name is short enough to be compared with all the others.
fn is_short(name: &str) -> bool {
    name.len() <= 100
}

fn section(key: &'static str) -> Option<&'static str> {
    key.split_once('.').map(|(section, _)| section)
}

fn last_word(key: &'static str) -> &'static str {
    key.split_once('.').map_or(key, |(_, word)| word)
}
