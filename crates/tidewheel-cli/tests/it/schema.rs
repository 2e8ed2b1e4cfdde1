//! The schema for editors refuses what `validate` refuses, as far as a schema can say it, and nothing else.

use std::collections::BTreeMap;
use std::path::PathBuf;
use std::sync::Arc;

use jsonschema::Validator;
use tidewheel_client::files::{FlowFiles, parse_yaml};

/// Steps that are right.
const RIGHT_STEPS: [&str; 58] = [
    "{ name: a, run: make }",
    "{ name: 7, run: make }",
    "{ name: true, argv: [make, 3, true, null] }",
    "{ name: a b.c-d, run: make }",
    "{ name: a, run: make, argv: }",
    "{ name: a, run: make, description: , tags: , env: , timeout: , retry: , on_error: , foreach: }",
    "{ name: a, run: make, on_error: SKIP, on_skip: Continue }",
    "{ name: a, run: make, priority: High }",
    "{ name: a, run: make, priority: 100 }",
    "{ name: a, run: make, timeout: 90 }",
    "{ name: a, run: make, timeout: 1.5 }",
    "{ name: a, run: make, timeout: ' 1h 30m ' }",
    "{ name: a, run: make, timeout: 1.5 HOURS }",
    "{ name: a, run: make, timeout: 1h30m5s }",
    "{ name: a, run: make, timeout: '250' }",
    "{ name: a, run: make, timeout: { attempt: 10m, step: 2 weeks } }",
    "{ name: a, run: make, output_max: 64MiB, capture_max: 2048 }",
    "{ name: a, run: make, output_max: 10 kb }",
    "{ name: a, run: make, retry: 3 }",
    "{ name: a, run: make, retry: { attempts: 3, factor: 1.5, backoff: Fixed, on: [Failed] } }",
    "{ name: a, run: make, retry: { retries: 3, codes: 75, not_codes: [1, 2], when: code == 75 } }",
    "{ name: a, run: make, repeat: { until: round == 3, every: 1s, max: 5 } }",
    "{ name: a, run: make, when: true }",
    "{ name: a, run: make, shell: BASH }",
    "{ name: a, run: make, shell: [bash, -c] }",
    "{ name: a, run: make, skip_codes: 78 }",
    "{ name: a, run: make, env: { A: 1, B: , C: true, D: '{{ run.id }}' } }",
    "{ name: a, run: make, foreach: [1, 2], label: 'n{{ item }}', parallel: 1 }",
    "{ name: a, run: make, foreach: { in: '{{ [1, 2] }}', as: host, max: 5 } }",
    "{ name: a, run: make, matrix: { os: [a, b], include: [{ os: c }], exclude: [{ os: a }] }, parallel: 2 }",
    "{ name: a, run: make, outputs: [x, y] }",
    "{ name: a, run: make, outputs: { x: '{{ stdout }}', y: 3, z: } }",
    "{ name: a, run: make, output: [{ name: x, type: JMESPath, value: stdout }, { name: y }] }",
    "{ name: a, run: make, artifacts: [dist, { path: '*.log', optional: true }] }",
    "{ name: a, run: make, cache: true }",
    "{ name: a, run: make, cache: { inputs: [a.c], outputs: [a.o], key: } }",
    "{ name: a, run: make, rlimits: { cpu_time: 1m, memory: 1G, open_files: 64 } }",
    "{ name: a, run: make, container: debian:13 }",
    "{ name: a, run: make, container: { image: debian:13, mounts: .:/work, pull: Never, engine: } }",
    "{ name: a, run: make, ssh: web1 }",
    "{ name: a, run: make, ssh: { host: web1, port: 2222, options: { ConnectTimeout: 5 } } }",
    "{ name: a, http: 'https://example.org/' }",
    "{ name: a, http: { url: 'https://example.org/', accept_status: [404, 200-299], json: { a: [1] } } }",
    "{ name: a, wait: 5s }",
    "{ name: a, wait: 0.5 }",
    "{ name: a, wait: { file: a.csv, every: 10s } }",
    "{ name: a, wait: { duration: , file: a.csv } }",
    "{ name: a, wait: { approval: Ship it? } }",
    "{ name: a, wait: { approval: true } }",
    "{ name: a, wait: { run: test -f x } }",
    "{ name: a, sequence: true, steps: [{ name: b, run: make }, { name: c, wait: 1s }] }",
    "{ name: a, source: env }",
    "{ name: a, source: { type: ENV } }",
    "{ name: a, source: { type: process, configuration: { command: make all, pass_to: STDIN, timeout: 5 } } }",
    "{ name: a, source: { type: rest, configuration: { url: 'http://localhost/', input_mode: Body } }, input: 3 }",
    "{ name: a, source: { type: file, configuration: { path: a.txt, max_bytes: 1M } } }",
    "{ name: a, source: { base: known, override: { configuration: { command: [b], timeout: } } } }",
    "{ name: a, source: { base: known, override: { type: file, configuration: { path: a.txt } } } }",
];

/// Steps that are wrong, by the code that says so.
const WRONG_STEPS: [(&str, &str); 62] = [
    ("no-work", "{ name: a }"),
    ("no-work", "{ name: a, run: }"),
    ("contradiction", "{ name: a, run: make, argv: [make] }"),
    ("contradiction", "{ name: a, wait: 5s, steps: [{ name: b, run: make }] }"),
    ("missing-key", "{ run: make }"),
    ("bad-name", "{ name: , run: make }"),
    ("bad-name", "{ name: ' ', run: make }"),
    ("bad-name", "{ name: a/b, run: make }"),
    ("bad-name", "{ name: 'a[1]', run: make }"),
    ("bad-name", "{ name: ' a', run: make }"),
    ("unknown-key", "{ name: a, run: make, retries: 3 }"),
    ("wrong-type", "{ name: a, run: [make] }"),
    ("wrong-type", "{ name: a, argv: make }"),
    ("missing-key", "{ name: a, argv: [] }"),
    ("wrong-type", "{ name: a, run: make, always: 1 }"),
    ("unknown-word", "{ name: a, run: make, on_error: explode }"),
    ("unknown-word", "{ name: a, run: make, priority: urgent }"),
    ("out-of-range", "{ name: a, run: make, priority: 101 }"),
    ("unknown-word", "{ name: a, run: make, shell: fish }"),
    ("bad-value", "{ name: a, run: make, timeout: ten minutes }"),
    ("bad-value", "{ name: a, run: make, timeout: 5 fortnights }"),
    ("bad-value", "{ name: a, run: make, timeout: 1h 30 }"),
    ("bad-value", "{ name: a, run: make, timeout: -1 }"),
    ("bad-value", "{ name: a, run: make, timeout: '' }"),
    ("bad-value", "{ name: a, run: make, timeout: { attempt: soon } }"),
    ("bad-value", "{ name: a, run: make, output_max: 1.5G }"),
    ("bad-value", "{ name: a, run: make, output_max: 3x }"),
    ("out-of-range", "{ name: a, run: make, retry: -1 }"),
    ("contradiction", "{ name: a, run: make, retry: { attempts: 3, retries: 2 } }"),
    ("out-of-range", "{ name: a, run: make, retry: { factor: 0.5 } }"),
    ("wrong-type", "{ name: a, run: make, retry: { factor: much } }"),
    ("unknown-word", "{ name: a, run: make, retry: { on: [panicked] } }"),
    ("missing-key", "{ name: a, run: make, repeat: { every: 1s } }"),
    ("missing-key", "{ name: a, run: make, foreach: { as: x } }"),
    ("contradiction", "{ name: a, run: make, foreach: [1], matrix: { os: [a] } }"),
    ("contradiction", "{ name: a, run: make, label: x }"),
    ("contradiction", "{ name: a, run: make, parallel: 2 }"),
    ("out-of-range", "{ name: a, run: make, foreach: [1], parallel: 0 }"),
    ("contradiction", "{ name: a, run: make, sequence: true }"),
    ("missing-key", "{ name: a, steps: [] }"),
    ("no-work", "{ name: a, steps: [{ name: b }] }"),
    ("contradiction", "{ name: a, run: make, container: debian:13, ssh: web1 }"),
    ("missing-key", "{ name: a, run: make, container: { mounts: .:/work } }"),
    ("missing-key", "{ name: a, run: make, container: { image: } }"),
    ("missing-key", "{ name: a, http: { method: POST } }"),
    ("contradiction", "{ name: a, http: { url: 'http://localhost/', json: 1, body: x } }"),
    ("contradiction", "{ name: a, wait: { every: 1s } }"),
    ("contradiction", "{ name: a, wait: { file: } }"),
    ("contradiction", "{ name: a, wait: { file: x, duration: 1s } }"),
    ("contradiction", "{ name: a, run: make, depends_on: { when: failed } }"),
    ("unknown-word", "{ name: a, run: make, depends_on: { step: b, when: broken } }"),
    ("missing-key", "{ name: a, source: { configuration: { command: a } } }"),
    ("unknown-word", "{ name: a, source: { type: proces, configuration: { command: a } } }"),
    ("missing-key", "{ name: a, source: { type: process } }"),
    (
        "unknown-key",
        "{ name: a, source: { type: process, configuration: { command: a, url: b } } }",
    ),
    ("unknown-key", "{ name: a, source: { type: Env, configuration: { command: a } } }"),
    ("wrong-type", "{ name: a, source: { type: rest, configuration: { url: [a] } } }"),
    ("contradiction", "{ name: a, source: { type: env, override: { type: env } } }"),
    ("contradiction", "{ name: a, source: { base: known, configuration: { command: b } } }"),
    (
        "unknown-key",
        "{ name: a, source: { base: known, override: { configuraton: { command: b } } } }",
    ),
    (
        "unknown-key",
        "{ name: a, source: { base: known, override: { configuration: { comand: b } } } }",
    ),
    ("unknown-word", "{ name: a, source: { base: known, override: { type: proces } } }"),
];

/// What files say beside their steps, and is right.
const RIGHT_PARTS: [&str; 23] = [
    "name: , description: , tags: [a]",
    "x-anchors: { a: 1 }",
    "params: { a: , b: 3, c: [1], d: { type: Int, default: 3, min: 1, max: 9.5 }, e: { choices: [x] } }",
    "secrets: { a: { env: A }, b: { file: b.txt, optional: true }, c: { command: [pass, c], inherit: [HOME] } }",
    "env_file: a.env",
    "env_file: [a.env, b.env]",
    "defaults: { shell: bash, retry: 2, timeout: 10m, on_error: Skip, limits: l }, limits: { l: 1 }",
    "runner: { max_workers: 3, on_error: CONTINUE, on_stop: Cancel, timeout: 1h, order: FIFO }",
    "limits: { a: 3, b: 10/1m, c: 5/s, d: { units: 3, shared: true }, e: { rate: 1/s, burst: 3 } }",
    "limits: { a: { breaker: { failures: 3, reset_after: 1m } } }",
    "limits: { a: { units: 3, rate: } }",
    "concurrency: deploy",
    "concurrency: { group: 'deploy-{{ params.a }}', max: 2, busy: Skip }, params: { a: 1 }",
    "queues: { slow: { weight: 2, slots: 1, rate: 10/1m } }",
    "schedule: 0 3 * * *",
    "schedule: '@daily'",
    "schedule: [{ cron: '*/5 9-17 * * mon-FRI', zone: Europe/Zurich }, { every: 1h, jitter: 5m, cron: }]",
    "schedule: { webhook: { secret: [a, b], signature: github } }, secrets: { a: { env: A }, b: { env: B } }",
    "schedule: { files: 'in/*.csv', params: { x: '{{ file.path }}' } }, params: { x: { type: text } }",
    "schedule: { events: { on: [failure, deadline], of: db-*, deadline: 1h } }, notify: [alert, other]",
    "schedule: { at: '2030-01-31T08:00:00Z', overlap: Queue-One, misfire: ALL, params: { x: 1 } }, params: { x: 1 }",
    "schedule: 0 0 L-3W * ?",
    "finally: [{ name: z, run: make }], on_success: , on_failure: []",
];

/// And what is wrong, by the code that says so.
const WRONG_PARTS: [(&str, &str); 30] = [
    ("unknown-key", "stesp: []"),
    ("wrong-type", "name: 3"),
    ("wrong-type", "tags: a"),
    ("wrong-type", "params: [a]"),
    ("unknown-key", "params: { a: { defualt: 3 } }"),
    ("unknown-word", "params: { a: { type: float } }"),
    ("wrong-type", "params: { a: { default: 3, min: low } }"),
    ("contradiction", "secrets: { a: { optional: true } }"),
    ("contradiction", "secrets: { a: { env: } }"),
    ("contradiction", "secrets: { a: { env: A, file: b } }"),
    ("unknown-key", "defaults: { run: make }"),
    ("out-of-range", "runner: { max_workers: 0 }"),
    ("wrong-type", "runner: { max_workers: '3' }"),
    ("bad-value", "runner: { timeout: never }"),
    ("bad-value", "limits: { a: 10 }, queues: { b: { rate: 10/fortnight } }"),
    ("bad-value", "limits: { a: ten/1m }"),
    ("contradiction", "limits: { a: { units: } }"),
    ("contradiction", "limits: { a: { units: 3, rate: 1/s } }"),
    ("contradiction", "limits: { a: { rate: 1/s, shared: true } }"),
    ("missing-key", "limits: { a: { breaker: { failures: 3 } } }"),
    ("missing-key", "concurrency: { max: 2 }"),
    ("bad-cron", "schedule: every day"),
    ("bad-cron", "schedule: '@fortnightly'"),
    ("bad-cron", "schedule: '@reboot'"),
    ("contradiction", "schedule: { cron: '0 3 * * *', every: 1h }"),
    ("contradiction", "schedule: { cron: }"),
    ("unknown-word", "schedule: { every: 1h, overlap: wait }"),
    ("contradiction", "schedule: { files: '*', events: { on: failure } }"),
    ("missing-key", "schedule: { webhook: { signature: github } }"),
    ("unknown-word", "schedule: { events: { on: trouble } }"),
];

/// Returns what `tidewheel schema` prints; `docs` reads it from there.
fn schema() -> Validator {
    let schema = tidewheel_client::files::schema();
    jsonschema::draft202012::meta::validate(&schema).unwrap();
    jsonschema::validator_for(&schema).unwrap()
}

fn of_step(step: &str) -> String {
    format!(
        "{{ sources: {{ known: {{ type: process, configuration: {{ command: a }} }} }}, flow: [{step}] }}"
    )
}

fn of_part(part: &str) -> String {
    format!("{{ {part}, flow: [{{ name: a, run: make }}] }}")
}

/// The codes of errors that `validate` finds.
fn codes(text: &str) -> Vec<String> {
    let name = PathBuf::from("flow.yaml");
    let files = BTreeMap::from([(name.clone(), Arc::from(text))]);
    let problems = FlowFiles::of_texts(&[name], &files).validated(false).problems;
    let errors = problems.as_array().unwrap().iter().filter(|it| it["severity"] == "error");
    errors.map(|problem| problem["code"].as_str().unwrap().to_owned()).collect()
}

fn complaints(schema: &Validator, text: &str) -> Vec<String> {
    let flow = parse_yaml(text).unwrap();
    schema.iter_errors(&flow).map(|error| error.to_string()).collect()
}

#[test]
fn editors_take_what_validate_takes() {
    let schema = schema();
    let steps = RIGHT_STEPS.iter().map(|step| of_step(step));
    let mut wrong = Vec::new();
    for text in steps.chain(RIGHT_PARTS.iter().map(|part| of_part(part))) {
        let (codes, complaints) = (codes(&text), complaints(&schema, &text));
        if !codes.is_empty() || !complaints.is_empty() {
            wrong.push(format!("{text}: validate {codes:?}, schema {complaints:?}"));
        }
    }
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
}

#[test]
fn editors_refuse_what_validate_refuses() {
    let schema = schema();
    let steps = WRONG_STEPS.iter().map(|(code, step)| (code, of_step(step)));
    let parts = WRONG_PARTS.iter().map(|(code, part)| (code, of_part(part)));
    let mut wrong = Vec::new();
    for (code, text) in steps.chain(parts) {
        let (codes, complaints) = (codes(&text), complaints(&schema, &text));
        if !codes.iter().any(|found| found == code) || complaints.is_empty() {
            wrong.push(format!("{text}: validate {codes:?}, schema {complaints:?}"));
        }
    }
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
}
