//! The keys of a step, and of how it is treated.
//!
//! Those of its work are in `work`.

use super::common::{COUNT, ON_ERROR, ON_SKIP, VARIABLES, WORDS, key, required};
use super::work::{CONTAINER, HTTP, OUTPUT, REMOTE, SOURCE, WAIT};
use crate::definition::shape::{Kind, Shape};

const SHELL: Kind = Kind::Either(&[Kind::Choice(&["sh", "bash"]), Kind::List(&Kind::Text)]);
const INHERIT: Kind = Kind::List(&Kind::Text);
const RETRIES: Kind =
    Kind::Either(&[Kind::Integer { min: 0, max: 1_000_000 }, Kind::Object(&RETRY)]);
const TIMEOUTS: Kind = Kind::Either(&[Kind::Duration, Kind::Object(&TIMEOUT)]);
const CODES: Kind = Kind::Many(&Kind::Integer { min: 1, max: 599 });
const LIMITS: Kind = Kind::Either(&[Kind::Map(&COUNT), Kind::Many(&Kind::Text)]);

/// A step.
pub(crate) static STEP: Shape = Shape {
    name: "a step",
    about: "One thing to be done. It says what with exactly one of run, argv, http, source, wait, flow and steps.",
    keys: &[
        required("name", Kind::Name, "The name of the step; unique in the flow."),
        key("description", Kind::Text, "What the step is for."),
        key("tags", Kind::List(&Kind::Text), "Words to find it by in the JSON of a run."),
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
        key("shell", SHELL, "The shell for `run:`: a word, or a program with its arguments."),
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
            "Waits: for a time, an instant, a file, a command that succeeds, an address that answers, or somebody's approval.",
        ),
        key(
            "flow",
            Kind::Text,
            "The file of another flow, whose steps are run as part of this one.",
        ),
        key("with", Kind::Map(&Kind::Any), "The params of the flow that is called."),
        key(
            "steps",
            Kind::List(&Kind::Object(&STEP)),
            "Steps of its own: a group, which is treated as one.",
        ),
        key(
            "sequence",
            Kind::Bool,
            "Runs the steps of a group one after another, as they are written.",
        ),
        key("input", Kind::Any, "What the source is given. Templates are rendered at any depth."),
        key(
            "output",
            Kind::List(&Kind::Object(&OUTPUT)),
            "The values the step leaves for others, one by one.",
        ),
        key(
            "outputs",
            Kind::Either(&[Kind::Map(&Kind::Any), Kind::List(&Kind::Name)]),
            "The values the step leaves for others, as templates over stdout, stderr, output, code, json, data; a list names those that it writes to `$TIDEWHEEL_OUTPUT`.",
        ),
        key(
            "depends_on",
            Kind::Many(&Kind::Either(&[Kind::Name, Kind::Object(&DEPENDENCY)])),
            "Steps that must have ended before, and how.",
        ),
        key(
            "skip_codes",
            Kind::Many(&Kind::Integer { min: 1, max: 255 }),
            "Exit codes by which its process says that there is nothing to do: the step is skipped.",
        ),
        key("env", VARIABLES, "Variables for its process."),
        key("inherit", INHERIT, "Variables its process gets from ours, such as `AWS_*`."),
        key("cwd", Kind::Template, "The folder it runs in. That of the flow's file unless given."),
        key("stdin", Kind::Any, "What its process reads. Lists and mappings are given as JSON."),
        key(
            "container",
            Kind::Either(&[Kind::Text, Kind::Object(&CONTAINER)]),
            "Runs its program in a container; a bare text is the image.",
        ),
        key(
            "ssh",
            Kind::Either(&[Kind::Text, Kind::Object(&REMOTE)]),
            "Runs its program on another host; a bare text is the host.",
        ),
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
            "Runs once for each combination of these values, known as `matrix.name`; `include` and `exclude` change which there are.",
        ),
        key(
            "label",
            Kind::Template,
            "What each element is called, with templates over it: `test[stable-linux]`. Its number unless given.",
        ),
        key(
            "parallel",
            COUNT,
            "How many elements at once, of `foreach` and `matrix`. As many as the run allows unless given.",
        ),
        key("retry", RETRIES, "Attempts beyond the first, or more about them."),
        key(
            "repeat",
            Kind::Object(&REPEAT),
            "Does it again and again until something holds; between two rounds it holds no slot.",
        ),
        key("timeout", TIMEOUTS, "Time for one attempt, or more."),
        key(
            "priority",
            Kind::Either(&[
                Kind::Integer { min: 0, max: 100 },
                Kind::Choice(&["critical", "high", "normal", "low", "background"]),
            ]),
            "0 to 100, higher goes first.",
        ),
        key("queue", Kind::Text, "The queue it waits in."),
        key("limits", LIMITS, "Named limits it counts against, with units if more than one."),
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
        key(
            "artifacts",
            Kind::Many(&Kind::Either(&[Kind::Template, Kind::Object(&ARTIFACT)])),
            "Files it makes that stay with the run; * ? ** and [] stand for many.",
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
        key(
            "grace",
            Kind::Duration,
            "Time to stop by itself before it is killed. That of the configuration unless given, and for what a process of ours that died has left.",
        ),
        key("output_max", Kind::Size, "How much of what it writes is kept."),
        key(
            "capture_max",
            Kind::Size,
            "How much of what it writes can become outputs, up to 256 MiB. 1 MiB unless given.",
        ),
        key("rlimits", Kind::Object(&RLIMITS), "What its process may use at most."),
    ],
};

/// What counts for the steps of a file that say nothing else.
pub(crate) static DEFAULTS: Shape = Shape {
    name: "defaults",
    about: "What counts for each step of the file that does not say it itself.",
    keys: &[
        key("shell", SHELL, "The shell for `run:`."),
        key("cwd", Kind::Template, "The folder steps run in, from that of the flow's file."),
        key("inherit", INHERIT, "Variables that processes get from ours."),
        key("retry", RETRIES, "Attempts beyond the first, of processes and requests."),
        key("timeout", TIMEOUTS, "Time for one attempt, of processes and requests."),
        key("on_error", ON_ERROR, "The word of each step for its failure."),
        key("limits", LIMITS, "Named limits that processes and requests count against."),
    ],
};

pub(crate) static DEPENDENCY: Shape = Shape {
    name: "a dependency",
    about: "Steps that are waited for, and how they must have ended: exactly one of step, all and any.",
    keys: &[
        key("step", Kind::Name, "The step."),
        key("all", Kind::List(&Kind::Name), "Several steps, of which all must have ended so."),
        key(
            "any",
            Kind::List(&Kind::Name),
            "Several steps, of which one is enough, and not waited for more.",
        ),
        key(
            "when",
            Kind::Many(&Kind::Choice(&["succeeded", "failed", "skipped", "cancelled", "ended"])),
            "How it must have ended; else this step is skipped.",
        ),
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
            Kind::Number { min: 1, max: 1000 },
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
        key(
            "codes",
            CODES,
            "Only failures with one of these exit codes, or statuses of an answer, are.",
        ),
        key("not_codes", CODES, "Failures with one of these are not."),
        key(
            "when",
            Kind::Expression,
            "Only if this holds; it knows `error`, `code` and `attempt` of the failure.",
        ),
    ],
};

pub(crate) static REPEAT: Shape = Shape {
    name: "a repeat",
    about: "Until when a step that succeeds is done again, and how often.",
    keys: &[
        required(
            "until",
            Kind::Expression,
            "What must hold; it knows what `outputs` know of the result, and `round`, counted from 1.",
        ),
        key("every", Kind::Duration, "The wait between two rounds. 1s unless given."),
        key("max", COUNT, "Rounds at most; the step fails if it does not hold after them."),
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

pub(crate) static ARTIFACT: Shape = Shape {
    name: "an artifact",
    about: "Files that stay with the run.",
    keys: &[
        required(
            "path",
            Kind::Template,
            "Where, from the folder of the step, or from `$TIDEWHEEL_RUN_DIR/`; a folder is all that is in it.",
        ),
        key("optional", Kind::Bool, "Whether there may be none."),
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
