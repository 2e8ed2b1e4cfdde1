//! The keys of a file, and of what it says for all of its steps.
//!
//! Those of steps are in `step`.

use super::common::{COUNT, ON_ERROR, ON_SKIP, VARIABLES, key, required};
use super::step::{DEFAULTS, STEP};
use super::work::SOURCE;
use crate::definition::shape::{Kind, Shape};

const STEPS: Kind = Kind::List(&Kind::Object(&STEP));

/// The whole file.
pub(crate) static FLOW: Shape = Shape {
    name: "a flow",
    about: "Steps, what they wait for, and how they are run.",
    keys: &[
        key("name", Kind::Text, "The name of the flow. The name of the file unless given."),
        key("description", Kind::Text, "What the flow is for."),
        key(
            "tags",
            Kind::List(&Kind::Text),
            "Words to find its runs by, with `tidewheel runs --tag`.",
        ),
        key(
            "params",
            Kind::Map(&Kind::Either(&[Kind::Object(&PARAM), Kind::Any])),
            "What can be said when a run is started, as `--param name=value`; a bare value is the default.",
        ),
        key(
            "secrets",
            Kind::Map(&Kind::Object(&SECRET)),
            "Values that are fetched when a run starts, never stored, and masked in all output.",
        ),
        key("env", VARIABLES, "Variables for the processes of all steps."),
        key(
            "env_file",
            Kind::Many(&Kind::Text),
            "Files with more of them, a `NAME=value` a line, read when a run starts.",
        ),
        key("defaults", Kind::Object(&DEFAULTS), "What counts for steps that say nothing else."),
        key("sources", Kind::Map(&Kind::Object(&SOURCE)), "Work that several steps do, by name."),
        key(
            "flow",
            STEPS,
            "The steps. Their order in the file does not matter, unless `sequence` says so.",
        ),
        key(
            "sequence",
            Kind::Bool,
            "Runs the steps of each list one after another, as they are written.",
        ),
        key("runner", Kind::Object(&RUNNER), "How the flow as a whole is run."),
        key(
            "limits",
            Kind::Map(&Kind::Either(&[COUNT, Kind::Rate, Kind::Object(&LIMIT)])),
            "Named caps that steps share: a number of units, or a rate such as `10/1m`.",
        ),
        key(
            "resources",
            Kind::Map(&COUNT),
            "How much there is of each resource that steps take a part of.",
        ),
        key(
            "concurrency",
            Kind::Either(&[Kind::Text, Kind::Object(&CONCURRENCY)]),
            "The group of its runs of which only so many go on at once: a name, or more.",
        ),
        key("queues", Kind::Map(&Kind::Object(&QUEUE)), "Lanes that share the slots by weight."),
        key(
            "schedule",
            Kind::Many(&Kind::Either(&[Kind::Cron, Kind::Object(&SCHEDULE)])),
            "When a server runs the flow by itself: a cron expression, or more.",
        ),
        key(
            "notify",
            Kind::Many(&Kind::Name),
            "Flows that hear what becomes of its runs and schedules, by the `events` of their schedules.",
        ),
        key("on_success", STEPS, "Steps that follow a run in which everything went well."),
        key("on_failure", STEPS, "Steps that follow a run that failed."),
        key("finally", STEPS, "Steps that follow every run, however it ended."),
        key("x-*", Kind::Any, "Not read: a home for anchors."),
    ],
};

pub(crate) static PARAM: Shape = Shape {
    name: "a param",
    about: "Something that can be said when a run is started.",
    keys: &[
        key(
            "type",
            Kind::Choice(&["text", "string", "int", "number", "bool", "list", "map", "any"]),
            "What kind of value it is. Taken from the default unless given.",
        ),
        key("default", Kind::Any, "Its value when nothing is said. Without it, it must be said."),
        key("choices", Kind::List(&Kind::Any), "The only values it may have."),
        key("description", Kind::Text, "What it is for."),
        key("min", Kind::Number { min: i64::MIN, max: i64::MAX }, "The least a number may be."),
        key("max", Kind::Number { min: i64::MIN, max: i64::MAX }, "The most a number may be."),
        key(
            "pattern",
            Kind::Text,
            "A text must match this whole, with * and ? standing for anything.",
        ),
    ],
};

pub(crate) static SECRET: Shape = Shape {
    name: "a secret",
    about: "Where a secret comes from: exactly one of env, file and command.",
    keys: &[
        key("env", Kind::Text, "The variable of our own environment."),
        key("file", Kind::Text, "The file; a line end at its end does not count."),
        key("command", Kind::List(&Kind::Text), "The program that prints it."),
        key(
            "inherit",
            Kind::List(&Kind::Text),
            "Variables that program gets from ours, such as `VAULT_*`.",
        ),
        key("optional", Kind::Bool, "Whether it may be missing or empty; it is empty then."),
    ],
};

pub(crate) static RUNNER: Shape = Shape {
    name: "a runner",
    about: "How a flow as a whole is run.",
    keys: &[
        key(
            "max_workers",
            Kind::Integer { min: 1, max: 100_000 },
            "Steps at once. 4 unless given.",
        ),
        key(
            "on_error",
            ON_ERROR,
            "What a failure means where no step has a word. `fail` unless given.",
        ),
        key(
            "on_skip",
            ON_SKIP,
            "What becomes of steps that need one which its condition skips, where no step has a word. \
             `skip` unless given.",
        ),
        key(
            "on_stop",
            Kind::Choice(&["finish", "cancel"]),
            "What becomes of running steps when a failure stops the run. `finish` unless given.",
        ),
        key("timeout", Kind::Duration, "Time for the whole run."),
        key(
            "order",
            Kind::Choice(&["critical-path", "deadline", "fifo"]),
            "Which of the steps that could start goes first.",
        ),
    ],
};

pub(crate) static LIMIT: Shape = Shape {
    name: "a limit",
    about: "A cap that steps share: exactly one of units, rate and breaker.",
    keys: &[
        key("units", COUNT, "At most so many at once."),
        key(
            "shared",
            Kind::Bool,
            "Whether the units are those of all runs in the data folder, whatever process runs them.",
        ),
        key("rate", Kind::Rate, "At most so many starts per time."),
        key("burst", COUNT, "How many may start at once under a rate."),
        key("breaker", Kind::Object(&BREAKER), "Closed for a time after failures in a row."),
    ],
};

pub(crate) static BREAKER: Shape = Shape {
    name: "a breaker",
    about: "When it opens, and for how long.",
    keys: &[
        required("failures", COUNT, "Failures in a row after which nothing starts."),
        required("reset_after", Kind::Duration, "After this, one attempt is let through."),
    ],
};

pub(crate) static CONCURRENCY: Shape = Shape {
    name: "a concurrency group",
    about: "Of all runs in the data folder that name it, only so many go on at once.",
    keys: &[
        required("group", Kind::Template, "Its name. It may use params."),
        key("max", COUNT, "How many go on at once. 1 unless given."),
        key(
            "busy",
            Kind::Choice(&["queue-all", "queue-one", "queue-newest", "skip", "cancel"]),
            "What a run does that finds so many going on. `queue-all` unless given.",
        ),
    ],
};

pub(crate) static QUEUE: Shape = Shape {
    name: "a queue",
    about: "A lane that shares the slots with others.",
    keys: &[
        key("weight", COUNT, "Its share against other queues."),
        key("slots", COUNT, "Steps of it at once."),
        key("rate", Kind::Rate, "Starts per time."),
        key(
            "waiting_max",
            COUNT,
            "Steps that may be accepted and not started; a run over it is refused.",
        ),
    ],
};

pub(crate) static SCHEDULE: Shape = Shape {
    name: "a schedule",
    about: "When the flow is run: exactly one of cron, every, after, at, webhook, files and events.",
    keys: &[
        key("name", Kind::Name, "What it is called among the schedules of the flow."),
        key("cron", Kind::Cron, "When, by the calendar."),
        key(
            "zone",
            Kind::Text,
            "Where its times of day are read, such as Europe/Zurich. UTC unless given.",
        ),
        key("every", Kind::Duration, "At a fixed rate."),
        key("after", Kind::Duration, "So long after the end of the run before."),
        key("at", Kind::Text, "Once, at this instant."),
        key(
            "webhook",
            Kind::Object(&WEBHOOK),
            "Each time that somebody delivers something to `/hooks/NAME` of a server, signed.",
        ),
        key(
            "files",
            Kind::Text,
            "Each time that a file is there that this fits, with `*`, `**`, `?` and `[…]`, seen from the folder of \
             the flow file.",
        ),
        key(
            "events",
            Kind::Object(&EVENTS),
            "Each time that there is such news of other flows: for notifications.",
        ),
        key(
            "overlap",
            Kind::Choice(&["skip", "queue-one", "queue-newest", "queue-all", "cancel", "allow"]),
            "What happens while the run before still runs. `skip` unless given; `allow` with webhook, files and events.",
        ),
        key(
            "misfire",
            Kind::Choice(&["skip", "latest", "all"]),
            "What happens to instants that were missed. `latest` unless given.",
        ),
        key(
            "misfire_grace",
            Kind::Duration,
            "How late an instant may be and still count as in time. One minute unless given.",
        ),
        key("jitter", Kind::Duration, "Spreads the start by up to this much."),
        key("from", Kind::Text, "No instant before this one counts."),
        key("until", Kind::Text, "No instant at or after this one counts."),
        key("exclude", Kind::Many(&Kind::Object(&EXCLUSION)), "Instants in here do not fire."),
        key("times", COUNT, "It ends after so many firings."),
        key(
            "backoff",
            Kind::Duration,
            "After a run that failed nothing fires for so long; it doubles with each failure in a row.",
        ),
        key("backoff_max", Kind::Duration, "The longest such wait. One hour unless given."),
        key(
            "params",
            Kind::Map(&Kind::Any),
            "The params of these runs. With webhook, files and events they may use what arrived: `webhook.body`, \
             `file.path`, `event.text`.",
        ),
    ],
};

pub(crate) static EVENTS: Shape = Shape {
    name: "events",
    about: "Which news of other flows it is run for.",
    keys: &[
        required(
            "on",
            Kind::Many(&Kind::Choice(&["failure", "success", "late", "deadline"])),
            "Which: that a run failed, or succeeded, that a firing came late or was missed, or that a run is not \
             over in time.",
        ),
        key(
            "of",
            Kind::Many(&Kind::Text),
            "Of which flows: names, in which `*` and `?` stand for anything. All unless given; those that name this \
             one in `notify` in any case.",
        ),
        key("late", Kind::Duration, "From when on a firing is late. One minute unless given."),
        key(
            "deadline",
            Kind::Duration,
            "When a run should have ended, from when it was accepted. Needed with `on: deadline`.",
        ),
    ],
};

pub(crate) static WEBHOOK: Shape = Shape {
    name: "a webhook",
    about: "Who may deliver: whoever signs with the secret.",
    keys: &[
        key(
            "secret",
            Kind::Many(&Kind::Name),
            "The secret of the flow that deliveries are signed with; two while one takes the place of the other. Needed, unless \
             it is `insecure`.",
        ),
        key(
            "insecure",
            Kind::Bool,
            "Whether whoever is on the machine of the server can deliver without a signature, and nobody else at all.",
        ),
        key(
            "signature",
            Kind::Choice(&["standard", "github"]),
            "How they are signed: as the Standard Webhooks say, or over the body alone as forges do. `standard` \
             unless given.",
        ),
        key(
            "tolerance",
            Kind::Duration,
            "How far the time of a delivery may be from ours, from 1s to 1h. Five minutes unless given.",
        ),
    ],
};

pub(crate) static EXCLUSION: Shape = Shape {
    name: "an exclusion",
    about: "A time in which a schedule does not fire.",
    keys: &[
        required("from", Kind::Text, "Its first instant, such as 2026-12-24T00:00:00Z."),
        required("until", Kind::Text, "The first instant after it."),
    ],
};
