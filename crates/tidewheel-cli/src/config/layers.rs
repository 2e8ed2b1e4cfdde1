//! [`Config`]: the settings laid over each other, each with where it came from.
//!
//! What each source says is read in [`super::file`] and [`super::environment`].

use std::fmt;
use std::path::PathBuf;
use std::time::Duration;

use clap::{ColorChoice, ValueEnum};
use tidewheel::store::sqlite::DataFolder;
use tidewheel_client::text::harmless;

use super::places::{Surroundings, places};
use super::setting::{Definition, Otherwise, SETTINGS, Setting};
use super::value::Value;
use super::{environment, file};
use crate::cli::WideFormat;
use crate::error::CommandError;

/// The settings, each with the value that won and where that came from.
#[derive(Debug)]
pub(crate) struct Config {
    /// In the order of [`SETTINGS`].
    laid: Vec<Laid>,
}

#[derive(Debug)]
struct Laid {
    value: Option<Value>,
    origin: Origin,
}

/// Where a value came from.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum Origin {
    /// Nobody said anything.
    Default,
    File {
        path: PathBuf,
        line: usize,
    },
    /// The variable of this name.
    Environment(&'static str),
    /// This flag, where the setting has one by name.
    Flag(Option<&'static str>),
}

impl Origin {
    /// The word in JSON.
    pub fn kind(&self) -> &'static str {
        match self {
            Self::Default => "default",
            Self::File { .. } => "file",
            Self::Environment(_) => "environment",
            Self::Flag(_) => "flag",
        }
    }

    /// The place itself, where there is one.
    pub fn place(&self) -> Option<String> {
        match self {
            Self::Default => None,
            Self::File { path, line } => Some(format!("{}:{line}", path.display())),
            Self::Environment(variable) => Some((*variable).to_owned()),
            Self::Flag(flag) => flag.map(str::to_owned),
        }
    }
}

/// For people.
impl fmt::Display for Origin {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self.place() {
            Some(place) => f.write_str(&harmless(&place)),
            None => f.write_str(self.kind()),
        }
    }
}

/// What holds when nobody says anything.
impl Default for Config {
    fn default() -> Self {
        Self { laid: SETTINGS.iter().map(default).collect() }
    }
}

impl Config {
    /// The settings of this process, and what people should know about its variables.
    pub fn load() -> Result<(Self, Vec<String>), CommandError> {
        let (mut config, warnings) = Self::load_from(&Surroundings::of_this_process())?;
        if let (None, Some(path)) = (config.data(), DataFolder::default_path()) {
            config.lay(Setting::Data, Value::Path(path), Origin::Default);
        }
        Ok((config, warnings))
    }

    /// The settings in these surroundings. Reads files, and nothing else of the process.
    pub fn load_from(around: &Surroundings) -> Result<(Self, Vec<String>), CommandError> {
        let mut config = Self::default();
        let places = places(around);
        for place in places.iter().rev().filter(|place| place.must_be_read()) {
            for entry in file::read(place, around.home.as_deref())? {
                let origin = Origin::File { path: place.path.clone(), line: entry.line };
                config.lay(entry.setting, entry.value, origin);
            }
        }
        for (setting, value) in environment::values(around)? {
            config.lay(setting, value, Origin::Environment(setting.definition().variable));
        }
        Ok((config, environment::warnings(around)))
    }

    /// Puts a flag of the command line on top. One that was not given changes nothing.
    ///
    /// # Panics
    ///
    /// If the value is of another kind than the setting.
    pub fn set_flag(&mut self, setting: Setting, value: impl Into<Option<Value>>) {
        let Some(value) = value.into() else { return };
        let definition = setting.definition();
        assert!(definition.is_of_kind(&value), "{value:?} for {}", definition.key);
        self.lay(setting, value, Origin::Flag(definition.flag));
    }

    /// All settings, with their values and where these came from.
    pub fn settings(&self) -> impl Iterator<Item = (&'static Definition, Option<&Value>, &Origin)> {
        let laid = self.laid.iter().map(|laid| (laid.value.as_ref(), &laid.origin));
        SETTINGS.iter().zip(laid).map(|(definition, (value, origin))| (definition, value, origin))
    }

    fn lay(&mut self, setting: Setting, value: Value, origin: Origin) {
        self.laid[setting as usize] = Laid { value: Some(value), origin };
    }

    fn value(&self, setting: Setting) -> Option<&Value> {
        self.laid[setting as usize].value.as_ref()
    }

    fn count(&self, setting: Setting) -> Option<u64> {
        match self.value(setting) {
            Some(Value::Count(number) | Value::Size(number)) => Some(*number),
            _ => None,
        }
    }

    fn duration(&self, setting: Setting) -> Option<Duration> {
        match self.value(setting) {
            Some(Value::Duration(time)) => Some(*time),
            _ => None,
        }
    }

    fn is_set(&self, setting: Setting) -> bool {
        self.value(setting) == Some(&Value::Bool(true))
    }

    /// The choice, as the type whose words are those of the setting.
    fn choice<W: ValueEnum>(&self, setting: Setting) -> Option<W> {
        match self.value(setting) {
            Some(Value::Word(word)) => W::from_str(word, false).ok(),
            _ => None,
        }
    }
}

/// The settings one by one. What is switched off is `None`, as is what nobody said.
impl Config {
    /// The data folder; `None` where the user has no home.
    pub fn data(&self) -> Option<PathBuf> {
        match self.value(Setting::Data) {
            Some(Value::Path(path)) => Some(path.clone()),
            _ => None,
        }
    }

    /// How results are written; without it, as the command does by itself.
    pub fn format(&self) -> Option<WideFormat> {
        self.choice(Setting::Format)
    }

    /// Whether text for people is coloured. `NO_COLOR` is not looked at here.
    pub fn color(&self) -> ColorChoice {
        self.choice(Setting::Color).unwrap_or_default()
    }

    /// Steps of a run at once; without it, as the flow says.
    pub fn run_max_workers(&self) -> Option<u32> {
        self.count(Setting::RunMaxWorkers).map(saturated)
    }

    /// What a stored decision survives, in the words `process` and `power`.
    pub fn run_durability<W: ValueEnum>(&self) -> Option<W> {
        self.choice(Setting::RunDurability)
    }

    /// How much is said while a flow runs, in the words `error`, `warn`, `info` and `debug`.
    pub fn run_log_level<W: ValueEnum>(&self) -> Option<W> {
        self.choice(Setting::RunLogLevel)
    }

    /// Whether nothing is said but the result.
    pub fn run_quiet(&self) -> bool {
        self.is_set(Setting::RunQuiet)
    }

    /// Whether futures in our own process are bounded by
    /// [`scheduler_max_concurrency`](Self::scheduler_max_concurrency). Processes always are.
    pub fn scheduler_enabled(&self) -> bool {
        self.is_set(Setting::SchedulerEnabled)
    }

    /// Tasks at once, of all runs and queues together; without it there is no bound.
    pub fn scheduler_max_concurrency(&self) -> Option<u32> {
        self.count(Setting::SchedulerMaxConcurrency).map(saturated)
    }

    /// Tasks of the queue `default` that may wait; without it there is no bound.
    pub fn scheduler_max_queue_size(&self) -> Option<u32> {
        self.count(Setting::SchedulerMaxQueueSize).map(saturated).filter(|most| *most > 0)
    }

    /// The folder whose flow files a server serves.
    pub fn serve_flows(&self) -> Option<PathBuf> {
        self.path(Setting::ServeFlows)
    }

    /// The path below which a server stands behind a proxy.
    pub fn serve_base_path(&self) -> Option<String> {
        self.text(Setting::ServeBasePath)
    }

    /// The certificates with which a server speaks TLS itself.
    pub fn serve_tls_cert(&self) -> Option<PathBuf> {
        self.path(Setting::ServeTlsCert)
    }

    /// The key of the first of them.
    pub fn serve_tls_key(&self) -> Option<PathBuf> {
        self.path(Setting::ServeTlsKey)
    }

    /// The collector to which a server sends traces.
    pub fn otlp_endpoint(&self) -> Option<String> {
        self.text(Setting::OtlpEndpoint)
    }

    fn path(&self, setting: Setting) -> Option<PathBuf> {
        match self.value(setting) {
            Some(Value::Path(path)) => Some(path.clone()),
            _ => None,
        }
    }

    fn text(&self, setting: Setting) -> Option<String> {
        match self.value(setting) {
            Some(Value::Word(text)) => Some(text.clone()),
            _ => None,
        }
    }

    /// How long a server that is told to stop lets steps finish.
    pub fn serve_grace(&self) -> Duration {
        self.duration(Setting::ServeGrace).unwrap_or_default()
    }

    /// Whether whoever is on the same machine may read what flowtoy's screen and page show without a token.
    pub fn serve_flowtoy_open(&self) -> bool {
        self.is_set(Setting::ServeFlowtoyOpen)
    }

    /// Whether whoever is on the same machine needs a token for the figures of a server too.
    pub fn serve_metrics_token(&self) -> bool {
        self.is_set(Setting::ServeMetricsToken)
    }

    /// The time in which waiting adds 60 points to a priority. `None`: no ageing.
    pub fn scheduler_starvation_timeout(&self) -> Option<Duration> {
        self.duration(Setting::SchedulerStarvationTimeout)
    }

    /// How long a process has from TERM to KILL.
    pub fn process_grace(&self) -> Duration {
        self.duration(Setting::ProcessGrace).unwrap_or_default()
    }

    /// How many bytes of each stream of a process are kept.
    pub fn process_output_max(&self) -> u64 {
        self.count(Setting::ProcessOutputMax).unwrap_or_default()
    }

    /// What makes containers of steps, if not the first engine that is there.
    pub fn container_engine(&self) -> Option<String> {
        match self.value(Setting::ContainerEngine) {
            Some(Value::Word(word)) if *word != "auto" => Some((*word).to_owned()),
            _ => None,
        }
    }

    /// Whether requests may go to addresses that are not public.
    pub fn http_allow_private(&self) -> bool {
        self.is_set(Setting::HttpAllowPrivate)
    }

    /// What ended longer ago is removed by pruning.
    pub fn retention_age(&self) -> Option<Duration> {
        self.duration(Setting::RetentionAge)
    }

    /// How many runs pruning keeps.
    pub fn retention_runs(&self) -> Option<u64> {
        self.count(Setting::RetentionRuns)
    }

    /// How many bytes of logs and outputs pruning keeps.
    pub fn retention_bytes(&self) -> Option<u64> {
        self.count(Setting::RetentionBytes)
    }
}

fn saturated(count: u64) -> u32 {
    u32::try_from(count).unwrap_or(u32::MAX)
}

fn default(definition: &Definition) -> Laid {
    let value = match definition.otherwise {
        Otherwise::Value(text) => {
            Some(definition.read(text).expect("a default is a value; a test reads them all"))
        }
        Otherwise::Words(_) => None,
    };
    Laid { value, origin: Origin::Default }
}
