//! Every key of a flow file: its kind, and what it is for.
//!
//! How a value is checked against its kind is in `shape`, what is made of it in `decode`.

use crate::definition::shape::{Key, Kind, Shape};

const fn key(name: &'static str, kind: Kind, about: &'static str) -> Key {
    Key { name, kind, is_required: false, about }
}

const fn required(name: &'static str, kind: Kind, about: &'static str) -> Key {
    Key { name, kind, is_required: true, about }
}

const COUNT: Kind = Kind::Integer { min: 1, max: 1_000_000 };
const ON_SKIP: Kind = Kind::Choice(&["skip", "continue"]);
const ON_ERROR: Kind = Kind::Choice(&["fail", "skip", "continue"]);
const WORDS: Kind = Kind::List(&Kind::Template);
const VARIABLES: Kind = Kind::Map(&Kind::Either(&[Kind::Template]));
const STEPS: Kind = Kind::List(&Kind::Object(&STEP));

/// The whole file.
pub(crate) static FLOW: Shape = Shape {
    name: "a flow",
    about: "Steps, what they wait for, and how they are run.",
    keys: &[
        key("name", Kind::Text, "The name of the flow. The name of the file unless given."),
        key("description", Kind::Text, "What the flow is for."),
        key("tags", Kind::List(&Kind::Text), "Words to find it by."),
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
        key("sources", Kind::Map(&Kind::Object(&SOURCE)), "Work that several steps do, by name."),
        key("flow", STEPS, "The steps. Their order in the file does not matter."),
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
            Kind::Many(&Kind::Either(&[Kind::Text, Kind::Object(&SCHEDULE)])),
            "When a server runs the flow by itself: a cron expression, or more.",
        ),
        key("on_success", STEPS, "Steps that follow a run in which everything went well."),
        key("on_failure", STEPS, "Steps that follow a run that failed."),
        key("finally", STEPS, "Steps that follow every run, however it ended."),
    ],
};

/// A step.
pub(crate) static STEP: Shape = Shape {
    name: "a step",
    about: "One thing to be done. It says what with exactly one of run, argv, http, source, wait and flow.",
    keys: &[
        required("name", Kind::Name, "The name of the step; unique in the flow."),
        key("description", Kind::Text, "What the step is for."),
        key("tags", Kind::List(&Kind::Text), "Words to find it by."),
        key(
            "run",
            Kind::Text,
            "A text for the shell. Values come in through `env:`, never as text.",
        ),
        key("argv", WORDS, "A program and its arguments, started without a shell."),
        key(
            "allow_options",
            Kind::Bool,
            "Lets values in `argv` begin with a dash, so that the program takes them for options.",
        ),
        key("shell", Kind::List(&Kind::Text), "The shell for `run:`, such as [bash, -euc]."),
        key(
            "http",
            Kind::Either(&[Kind::Text, Kind::Object(&HTTP)]),
            "A request; a bare text is its URL.",
        ),
        key(
            "source",
            Kind::Either(&[Kind::Text, Kind::Object(&SOURCE)]),
            "The name of a source, or a source of its own.",
        ),
        key(
            "wait",
            Kind::Either(&[Kind::Duration, Kind::Object(&WAIT)]),
            "Waits: for a time, an instant, a file, an address that answers, or somebody's approval.",
        ),
        key(
            "flow",
            Kind::Text,
            "The file of another flow, whose steps are run as part of this one.",
        ),
        key("with", Kind::Map(&Kind::Any), "The params of the flow that is called."),
        key("input", Kind::Any, "What the source is given. Templates are rendered at any depth."),
        key(
            "output",
            Kind::List(&Kind::Object(&OUTPUT)),
            "The values the step leaves for others, one by one.",
        ),
        key(
            "outputs",
            Kind::Map(&Kind::Any),
            "The values the step leaves for others, as templates over stdout, stderr, code, json, data.",
        ),
        key("depends_on", Kind::Many(&Kind::Name), "Steps that must have ended before."),
        key("env", VARIABLES, "Variables for its process."),
        key(
            "inherit",
            Kind::List(&Kind::Text),
            "Variables its process gets from ours, such as `AWS_*`.",
        ),
        key("cwd", Kind::Template, "The folder it runs in. That of the flow's file unless given."),
        key("stdin", Kind::Any, "What its process reads. Lists and mappings are given as JSON."),
        key(
            "when",
            Kind::Expression,
            "Runs only if this holds; else it is skipped, and by `on_skip` what needs it.",
        ),
        key(
            "foreach",
            Kind::Either(&[Kind::Text, Kind::List(&Kind::Any), Kind::Object(&FOREACH)]),
            "Runs once for each element of a list, side by side, and gathers the outputs in lists.",
        ),
        key(
            "matrix",
            Kind::Map(&Kind::Either(&[Kind::List(&Kind::Any), Kind::Text])),
            "Runs once for each combination of these values, known as `matrix.name`.",
        ),
        key(
            "retry",
            Kind::Either(&[Kind::Integer { min: 0, max: 1_000_000 }, Kind::Object(&RETRY)]),
            "Attempts beyond the first, or more about them.",
        ),
        key(
            "timeout",
            Kind::Either(&[Kind::Duration, Kind::Object(&TIMEOUT)]),
            "Time for one attempt, or more.",
        ),
        key(
            "priority",
            Kind::Either(&[
                Kind::Integer { min: 0, max: 100 },
                Kind::Choice(&["critical", "high", "normal", "low", "background"]),
            ]),
            "0 to 100, higher goes first.",
        ),
        key("queue", Kind::Text, "The queue it waits in."),
        key(
            "limits",
            Kind::Either(&[Kind::Map(&COUNT), Kind::Many(&Kind::Text)]),
            "Named limits it counts against, with units if more than one.",
        ),
        key("resources", Kind::Map(&COUNT), "How much it takes of each resource while it runs."),
        key(
            "deadline",
            Kind::Duration,
            "When it should have ended, from the start of the run; the earliest goes first.",
        ),
        key(
            "estimate",
            Kind::Duration,
            "How long it is expected to take, until past runs say better.",
        ),
        key(
            "cache",
            Kind::Either(&[Kind::Bool, Kind::Object(&CACHE)]),
            "Skips the work when nothing it depends on has changed.",
        ),
        key("on_error", ON_ERROR, "What its failure means, and the failure of what it needs."),
        key("on_dependency_error", ON_ERROR, "What the failure of something it needs means."),
        key(
            "on_skip",
            ON_SKIP,
            "What it means for others that its condition skips it, and for it that one it needs was skipped so.",
        ),
        key("always", Kind::Bool, "Runs whatever became of the others (clean-up)."),
        key(
            "at_most_once",
            Kind::Bool,
            "Is never tried again when nobody knows whether it took effect.",
        ),
        key("key", Kind::Text, "Steps of one key run one at a time, in order. No template."),
        key("grace", Kind::Duration, "Time to stop by itself before it is killed."),
        key("output_max", Kind::Size, "How much of what it writes is kept."),
        key("rlimits", Kind::Object(&RLIMITS), "What its process may use at most."),
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
        key(
            "min",
            Kind::Either(&[Kind::Integer { min: i64::MIN, max: i64::MAX }, Kind::Any]),
            "The least a number may be.",
        ),
        key(
            "max",
            Kind::Either(&[Kind::Integer { min: i64::MIN, max: i64::MAX }, Kind::Any]),
            "The most a number may be.",
        ),
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

pub(crate) static SOURCE: Shape = Shape {
    name: "a source",
    about: "Work to be done: a type with its configuration, or another source with changes.",
    keys: &[
        key(
            "type",
            Kind::Choice(&["process", "rest", "http", "env", "file"]),
            "What kind of work it is.",
        ),
        key("configuration", Kind::Map(&Kind::Any), "What the type wants to know."),
        key("base", Kind::Text, "The source to start from."),
        key("override", Kind::Map(&Kind::Any), "What differs from it; merged key by key."),
    ],
};

/// The configuration of `type: process`.
pub(crate) static PROCESS: Shape = Shape {
    name: "a process source",
    about: "A program that is started without a shell.",
    keys: &[
        required(
            "command",
            Kind::Either(&[Kind::Text, WORDS]),
            "The program and its arguments; a text is split as a shell would, and no shell runs it.",
        ),
        key(
            "pass_to",
            Kind::Choice(&["arg", "stdin", "template"]),
            "How it gets the step's input. `arg` unless given.",
        ),
        key("timeout", Kind::Duration, "Time for one attempt."),
        key(
            "template_strict",
            Kind::Bool,
            "Whether a name that is not there is an error. It is unless given.",
        ),
        key("log_full_command", Kind::Bool, "Whether the whole command may be shown."),
        key(
            "redact_args",
            Kind::List(&Kind::Integer { min: 0, max: 100_000 }),
            "Arguments that are never shown, by position.",
        ),
        key(
            "redact_patterns",
            Kind::List(&Kind::Text),
            "Arguments that hold one of these are never shown.",
        ),
        key("shell", Kind::Bool, "Has no effect: no shell runs the command."),
        key("cwd", Kind::Template, "The folder it runs in."),
        key("env", VARIABLES, "Variables for its process."),
        key("inherit", Kind::List(&Kind::Text), "Variables it gets from ours."),
    ],
};

/// The configuration of `type: rest` and `type: http`, and of `http:` in a step.
pub(crate) static HTTP: Shape = Shape {
    name: "a request",
    about: "An HTTP request; success is a status from 200 to 299 unless said otherwise.",
    keys: &[
        required("url", Kind::Template, "Where it goes."),
        key("method", Kind::Template, "GET unless given."),
        key("headers", Kind::Map(&Kind::Template), "Headers."),
        key("query", Kind::Map(&Kind::Any), "What is added to the query; a list repeats the name."),
        key("json", Kind::Any, "A body as JSON."),
        key("body", Kind::Template, "A body as text."),
        key("content_type", Kind::Template, "The type of that text."),
        key(
            "input_mode",
            Kind::Choice(&["none", "parameter", "body"]),
            "How it gets the step's input.",
        ),
        key("param_name", Kind::Text, "The name of the parameter. `id` unless given."),
        key("timeout", Kind::Duration, "Time for the whole exchange."),
        key("read_timeout", Kind::Duration, "The longest silence."),
        key(
            "accept_status",
            Kind::Many(&Kind::Either(&[Kind::Integer { min: 100, max: 599 }, Kind::Text])),
            "Statuses that count as success: 404, or 200-299.",
        ),
        key("redirects", Kind::Integer { min: 0, max: 50 }, "Redirects followed at most."),
        key("max_bytes", Kind::Size, "The largest answer."),
        key(
            "idempotency",
            Kind::Choice(&["attempt", "step", "none"]),
            "What the Idempotency-Key stands for.",
        ),
        key("insecure_tls", Kind::Bool, "Takes any certificate."),
    ],
};

/// The configuration of `type: env`.
pub(crate) static ENV: Shape = Shape {
    name: "an env source",
    about: "Variables of our own environment.",
    keys: &[required("vars", Kind::List(&Kind::Text), "Their names. One that is not set is null.")],
};

/// The configuration of `type: file`.
pub(crate) static FILE: Shape = Shape {
    name: "a file source",
    about: "What a file holds.",
    keys: &[
        required(
            "path",
            Kind::Template,
            "The file; relative paths start at the folder of the step.",
        ),
        key(
            "format",
            Kind::Choice(&["text", "json", "yaml", "lines"]),
            "How it is read. By its ending unless given.",
        ),
        key("max_bytes", Kind::Size, "The largest file. 1 MiB unless given."),
        key("optional", Kind::Bool, "Whether it may be missing; the data is null then."),
    ],
};

pub(crate) static OUTPUT: Shape = Shape {
    name: "an output",
    about: "A value that a step leaves for others.",
    keys: &[
        required("name", Kind::Name, "Its name."),
        key(
            "type",
            Kind::Choice(&["raw", "json", "jmespath"]),
            "How it is taken from the data. `raw`, which is all of it, unless given.",
        ),
        key("value", Kind::Text, "The JMESPath expression."),
        key("description", Kind::Text, "What it is."),
    ],
};

pub(crate) static WAIT: Shape = Shape {
    name: "a wait",
    about: "Exactly one of duration, until, file, http and approval.",
    keys: &[
        key("duration", Kind::Duration, "So long."),
        key("until", Kind::Template, "Until this instant, such as 2030-01-31T08:00:00Z."),
        key("file", Kind::Template, "Until this file is there."),
        key(
            "http",
            Kind::Either(&[Kind::Text, Kind::Object(&HTTP)]),
            "Until this request succeeds.",
        ),
        key(
            "approval",
            Kind::Either(&[Kind::Bool, Kind::Text]),
            "Until somebody says `tidewheel approve`; a text is the question, as it stands.",
        ),
        key("every", Kind::Duration, "How often it is looked. Every second unless given."),
    ],
};

pub(crate) static FOREACH: Shape = Shape {
    name: "a foreach",
    about: "A list, and how its elements are run.",
    keys: &[
        required(
            "in",
            Kind::Either(&[Kind::Text, Kind::List(&Kind::Any)]),
            "The list, or a template that gives one.",
        ),
        key("as", Kind::Text, "The name of the element in templates. `item` unless given."),
        key("parallel", COUNT, "How many at once. As many as the run allows unless given."),
        key(
            "max",
            Kind::Integer { min: 1, max: 100_000 },
            "How long the list may be. 10,000 unless given.",
        ),
    ],
};

pub(crate) static RETRY: Shape = Shape {
    name: "a retry",
    about: "How often and when a failed attempt is followed by another.",
    keys: &[
        key("attempts", COUNT, "Attempts in all."),
        key("retries", Kind::Integer { min: 0, max: 1_000_000 }, "Attempts beyond the first."),
        key("delay", Kind::Duration, "The first wait. 1s unless given."),
        key("max_delay", Kind::Duration, "The longest wait. 60s unless given."),
        key(
            "backoff",
            Kind::Choice(&["fixed", "linear", "exponential", "decorrelated"]),
            "How waits grow. `exponential` unless given.",
        ),
        key(
            "factor",
            Kind::Either(&[Kind::Integer { min: 1, max: 1000 }, Kind::Any]),
            "What each wait is multiplied by. 2 unless given.",
        ),
        key(
            "jitter",
            Kind::Choice(&["none", "full", "equal", "additive"]),
            "How waits are spread by chance. `full` unless given.",
        ),
        key(
            "on",
            Kind::List(&Kind::Choice(&["failed", "timed-out", "permanent"])),
            "Which ends are worth another attempt. `failed` and `timed-out` unless given.",
        ),
    ],
};

pub(crate) static TIMEOUT: Shape = Shape {
    name: "a timeout",
    about: "How long things may take.",
    keys: &[
        key("attempt", Kind::Duration, "Time for one attempt."),
        key("step", Kind::Duration, "Time for all attempts and the waits between."),
    ],
};

pub(crate) static CACHE: Shape = Shape {
    name: "a cache",
    about: "What the work depends on and what it makes. The command, its variables and its input always count.",
    keys: &[
        key(
            "inputs",
            Kind::List(&Kind::Template),
            "Files it reads; a folder is all that is in it; * ? ** and [] stand for many.",
        ),
        key(
            "outputs",
            Kind::List(&Kind::Template),
            "Files it makes; without one of them the step fails.",
        ),
        key("key", Kind::Template, "Anything else it depends on."),
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
            Kind::Choice(&["queue-all", "queue-one", "skip", "cancel"]),
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
    ],
};

pub(crate) static SCHEDULE: Shape = Shape {
    name: "a schedule",
    about: "When the flow is run: exactly one of cron, every, after and at.",
    keys: &[
        key("cron", Kind::Text, "A cron expression."),
        key(
            "zone",
            Kind::Text,
            "Where its times of day are read, such as Europe/Zurich. UTC unless given.",
        ),
        key("every", Kind::Duration, "At a fixed rate."),
        key("after", Kind::Duration, "So long after the end of the run before."),
        key("at", Kind::Text, "Once, at this instant."),
        key(
            "overlap",
            Kind::Choice(&["skip", "queue-one", "queue-all", "cancel", "allow"]),
            "What happens while the run before still runs. `skip` unless given.",
        ),
        key(
            "misfire",
            Kind::Choice(&["skip", "latest", "all"]),
            "What happens to instants that were missed. `latest` unless given.",
        ),
        key("jitter", Kind::Duration, "Spreads the start by up to this much."),
        key("params", Kind::Map(&Kind::Any), "The params of these runs."),
    ],
};

pub(crate) static RLIMITS: Shape = Shape {
    name: "limits of a process",
    about: "What a process may use at most. What cannot be enforced is refused.",
    keys: &[
        key("cpu_time", Kind::Duration, "Time on processors."),
        key("memory", Kind::Size, "Memory of one process."),
        key("processes", COUNT, "Processes of the user."),
        key("open_files", COUNT, "Open files of one process."),
        key("file_size", Kind::Size, "The largest file it writes."),
    ],
};
