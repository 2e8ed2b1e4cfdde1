//! The keys of what steps do, and of what comes out.
//!
//! Those of the steps themselves are in `step`.

use super::common::{VARIABLES, WORDS, key, required};
use crate::definition::shape::{Kind, Shape};

const SOURCE_TYPE: Kind = Kind::Choice(&["process", "rest", "http", "env", "file"]);

pub(crate) static SOURCE: Shape = Shape {
    name: "a source",
    about: "Work to be done: a type with its configuration, or another source with changes.",
    keys: &[
        key("type", SOURCE_TYPE, "What kind of work it is."),
        key("configuration", Kind::Map(&Kind::Any), "What the type wants to know."),
        key("base", Kind::Text, "The source to start from."),
        key(
            "override",
            Kind::Object(&OVERRIDE),
            "What differs from it; merged key by key, unless the type is another.",
        ),
    ],
};

pub(crate) static OVERRIDE: Shape = Shape {
    name: "an override",
    about: "What differs from the source that another is based on.",
    keys: &[
        key(
            "type",
            SOURCE_TYPE,
            "Another kind of work; nothing of the other's configuration counts then.",
        ),
        key("configuration", Kind::Map(&Kind::Any), "What the type wants to know."),
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
            "What the Idempotency-Key stands for. `step`, the same for all attempts, unless given.",
        ),
        key(
            "repeatable",
            Kind::Bool,
            "Whether it may be sent again although it may have been done. POST and PATCH may not unless given.",
        ),
        key("insecure_tls", Kind::Bool, "Takes any certificate."),
    ],
};

/// `container:` of a step.
pub(crate) static CONTAINER: Shape = Shape {
    name: "a container",
    about: "A container that is made for each attempt and removed after it.",
    keys: &[
        required("image", Kind::Template, "The image it is made from."),
        key(
            "mounts",
            Kind::Many(&Kind::Template),
            "Folders it sees, as `here:/there` or `here:/there:ro`; paths here start at the folder of the step, a name without a slash is a volume of the engine. None unless given.",
        ),
        key("env", VARIABLES, "Variables for the program in it, beside those of the step."),
        key(
            "pull",
            Kind::Choice(&["missing", "always", "never"]),
            "When the image is fetched. `missing` unless given.",
        ),
        key("workdir", Kind::Template, "The folder in it where the program runs."),
        key("user", Kind::Template, "The user in it."),
        key("network", Kind::Template, "Its network, such as `none` or `host`."),
        key(
            "engine",
            Kind::Text,
            "The program that makes it: docker, podman or nerdctl. The first of them that is there unless given.",
        ),
        key(
            "options",
            Kind::List(&Kind::Text),
            "More options for the engine's `run`, each one word, such as `--memory=1g`.",
        ),
    ],
};

/// `ssh:` of a step.
pub(crate) static REMOTE: Shape = Shape {
    name: "a remote host",
    about: "Another host, spoken to by OpenSSH.",
    keys: &[
        required("host", Kind::Template, "Its name or address, or what ssh_config calls it."),
        key("user", Kind::Template, "The user there."),
        key("port", Kind::Integer { min: 1, max: 65_535 }, "Its port."),
        key(
            "identity",
            Kind::Template,
            "The file of the key; relative paths start at the folder of the step.",
        ),
        key(
            "workdir",
            Kind::Template,
            "The folder there where the program runs. That of the user unless given.",
        ),
        key(
            "options",
            Kind::Map(&Kind::Name),
            "Options by name, as in ssh_config, such as `ConnectTimeout: 5`.",
        ),
    ],
};

/// The configuration of `type: env`.
pub(crate) static ENV: Shape = Shape {
    name: "an env source",
    about: "Variables of our own environment.",
    keys: &[key("vars", Kind::List(&Kind::Text), "Their names. One that is not set is null.")],
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
    about: "Exactly one of duration, until, file, run, http and approval.",
    keys: &[
        key("duration", Kind::Duration, "So long."),
        key("until", Kind::Template, "Until this instant, such as 2030-01-31T08:00:00Z."),
        key("file", Kind::Template, "Until this file is there."),
        key(
            "run",
            Kind::Text,
            "Until this text for the shell succeeds; surrounded as one in `run:`.",
        ),
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
