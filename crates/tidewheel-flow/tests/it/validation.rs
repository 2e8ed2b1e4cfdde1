//! Problems of flow files: every code with its place and its words, and hostile files in bounded memory.

use std::collections::{BTreeMap, BTreeSet};
use std::io;
use std::path::{Path, PathBuf};

use serde_json::{Value, json};
use tidewheel_flow::{Disk, Loaded, ReadText, Style, load};
use tidewheel_testing::{limit_address_space, temp_folder};

/// A code, a file that has the problem, its line and column, and a part of the message or hint.
type Row = (&'static str, &'static str, (u32, u32), &'static str);

/// Errors that leave nothing else to complain about.
#[rustfmt::skip]
const ERRORS: &[Row] = &[
    ("bad-cron", "schedule: '61 * * * *'\n", (1, 12), "minute 61 is out of range 0-59"),
    ("bad-default", "params:\n  n: { type: int, default: x }\n", (2, 28), "not a whole number"),
    ("bad-jmespath", "flow:\n  - { name: a, run: x, output: [{ name: o, type: jmespath, value: 'a..b' }] }\n", (2, 70), "not `.`"),
    ("bad-name", "flow:\n  - { name: a/b, run: x }\n", (2, 13), "has no / [ ] { }"),
    ("bad-name", "flow:\n  - { name: '', run: x }\n", (2, 13), "not empty"),
    ("bad-name", "flow:\n  - { name: a, run: x, env: { 1A: x } }\n", (2, 31), "not starting with a digit"),
    ("bad-name", "params: { p: x }\nflow:\n  - { name: a, run: x, env: { LD_PRELOAD: '{{ params.p }}' } }\n", (3, 31), "decides what code runs"),
    ("bad-name", "flow:\n  - { name: a, run: x, foreach: { in: [1], as: flows } }\n", (2, 48), "name of an element"),
    ("bad-name", "queues: { default: { slots: 1 } }\nflow:\n  - { name: a, run: x }\n", (1, 11), "that of all flows"),
    ("bad-template", "flow:\n  - { name: a, argv: [echo, '{{ 1 + }}'] }\n", (2, 37), "a value is wanted here"),
    ("bad-template", "flow:\n  - { name: a, argv: [echo, '{{ 1 | uper }}'] }\n", (2, 37), "perhaps `upper` is meant"),
    ("bad-template", "flow:\n  - name: a\n    argv:\n      - echo\n      - |\n        first\n        {{ 1 | uper }}\n", (7, 16), "no filter `uper`"),
    ("bad-value", "flow:\n  - { name: a, run: x, timeout: soon }\n", (2, 33), "write it like 30s"),
    ("bad-value", "flow:\n  - { name: a, run: x, output_max: big }\n", (2, 36), "write it like 500, 64K"),
    ("bad-value", "limits: { l: often }\n", (1, 14), "write it like 10/1m"),
    ("bad-value", "schedule: { at: tomorrow }\n", (1, 17), "2030-01-31T08:00:00Z"),
    ("bad-value", "flow:\n  - { name: a, http: { url: 'http://x', accept_status: '99' } }\n", (2, 56), "from 100 to 599"),
    ("bad-value", "flow:\n  - { name: a, wait: { until: noon } }\n", (2, 31), "2030-01-31T08:00:00Z"),
    ("bad-value", "flow:\n  - name: a\n    source: { type: process, configuration: { command: \"echo 'x\" } }\n", (3, 56), "is not closed"),
    ("bad-zone", "schedule: { cron: '0 0 * * *', zone: Mars/Base }\n", (1, 38), "Mars/Base"),
    ("contradiction", "flow:\n  - { name: a, run: x, argv: [y] }\n", (2, 30), "make a step of each"),
    ("contradiction", "flow:\n  - { name: a, run: x, foreach: [1], matrix: { b: [1] } }\n", (2, 46), "either `foreach` or `matrix`"),
    ("contradiction", "flow:\n  - { name: a, http: { url: 'http://x', json: 1, body: x } }\n", (2, 56), "either `json` or `body`"),
    ("contradiction", "flow:\n  - { name: a, wait: { file: x, duration: 1s } }\n", (2, 22), "exactly one of duration"),
    ("contradiction", "flow:\n  - { name: a, run: x, retry: { attempts: 2, retries: 1 } }\n", (2, 31), "`attempts: 4` is `retries: 3`"),
    ("contradiction", "limits: { l: { units: 1, rate: 1/s } }\n", (1, 14), "exactly one of units"),
    ("contradiction", "schedule: { every: 1m, after: 2m }\n", (1, 11), "exactly one of cron"),
    ("contradiction", "secrets: { s: { env: A, file: b } }\n", (1, 15), "exactly one of env"),
    ("cycle", "flow:\n  - { name: a, run: x, depends_on: [c] }\n  - { name: b, run: x, depends_on: [a] }\n  - { name: c, run: x, depends_on: [b] }\n", (3, 13), "`b` → `c` → `a` → `b`"),
    ("cycle", "flow:\n  - { name: a, run: x, depends_on: [a] }\n", (2, 13), "waits for itself"),
    ("cycle", "sources: { s: { base: t }, t: { base: s } }\nflow:\n  - { name: a, source: s }\n", (1, 15), "in a circle"),
    ("cycle", "flow:\n  - { name: a, flow: bad.yaml }\n", (2, 22), "calls itself"),
    ("duplicate-output", "flow:\n  - { name: a, run: x, output: [{ name: o }], outputs: { o: '{{ stdout }}' } }\n", (2, 58), "two outputs called `o`"),
    ("duplicate-step", "flow:\n  - { name: a, run: x }\n  - { name: a, run: y }\n", (3, 13), "two steps called `a`"),
    ("may-be-missing", "flow:\n  - { name: b, run: x, when: '1 > 2', outputs: { x: '{{ stdout }}' } }\nfinally:\n  - { name: c, argv: [echo, '{{ flows.b.x }}'] }\n", (4, 33), "flows.b.x | default('…')"),
    ("missing-key", "flow:\n  - { run: x }\n", (2, 5), "a step needs `name`"),
    ("missing-key", "flow:\n  - { name: a, argv: [] }\n", (2, 22), "must name a program"),
    ("missing-key", "flow:\n  - { name: a, run: x, output: [{ name: o, type: jmespath }] }\n", (2, 33), "needs a `value`"),
    ("missing-key", "sources: { s: { configuration: { command: x } } }\nflow:\n  - { name: a, source: s }\n", (1, 15), "types: process, rest, http, env, file"),
    ("missing-key", "flow:\n  - { name: a, source: { type: process, configuration: { command: '' } } }\n", (2, 67), "must name a program"),
    ("missing-output", "flow:\n  - { name: build, run: x, outputs: { text: '{{ stdout }}' } }\n  - { name: b, argv: [echo, '{{ flows.build.txt }}'] }\n", (3, 33), "did you mean `text`?"),
    ("missing-output", "flow:\n  - { name: build, run: x }\n  - { name: b, argv: [echo, '{{ flows[\"build\"].txt }}'] }\n", (3, 33), "outputs: { txt: \"{{ stdout }}\" }"),
    ("missing-param", "flow:\n  - { name: a, flow: child.yaml }\n", (2, 22), "with: { n: … }"),
    ("missing-step", "flow:\n  - { name: build, run: x }\n  - { name: b, run: x, depends_on: [biuld] }\n", (3, 37), "did you mean `build`?"),
    ("missing-step", "flow:\n  - { name: build, run: x }\n  - { name: b, argv: [echo, '{{ flows.biuld.o }}'] }\n", (3, 33), "did you mean `build`?"),
    ("never-fits", "limits: { db: 2 }\nflow:\n  - { name: a, run: x, limits: { db: 3 } }\n", (3, 34), "takes 3 of `db`, there are 2"),
    ("no-work", "flow:\n  - { name: a }\n", (2, 13), "with one of run, argv, http, source, wait, flow"),
    ("out-of-range", "flow:\n  - { name: a, run: x, priority: 101 }\n", (2, 34), "from 0 to 100"),
    ("out-of-range", "flow:\n  - { name: a, run: x, retry: { factor: 0.5 } }\n", (2, 41), "from 1 to 1000"),
    ("template-in-shell", "params: { x: 1 }\nflow:\n  - { name: a, run: 'echo {{ params.x }}' }\n", (3, 27), "env: { VALUE: \"{{ params.x }}\" }"),
    ("template-in-shell", "params: { x: 1 }\nflow:\n  - { name: a, run: 'echo {% if params.x %}y{% endif %}' }\n", (3, 27), "\"$VALUE\""),
    ("template-in-shell", "params: { x: 1 }\nflow:\n  - { name: a, argv: [bash, -ec, 'echo {{ params.x }}'] }\n", (3, 34), "write \"$1\" there"),
    ("template-in-shell", "flow:\n  - { name: a, run: \"docker ps --format '{{.Names}}'\" }\n", (2, 42), "{% raw %}{{.Names}}{% endraw %}"),
    ("unknown-key", "flow:\n  - { name: a, run: x, dependson: [b] }\n", (2, 24), "did you mean `depends_on`?"),
    ("unknown-key", "flow:\n  - { name: a, source: { type: process, configuration: { command: x, zzz: y } } }\n", (2, 70), "known keys: command, pass_to"),
    ("unknown-limit", "limits: { database: 2 }\nflow:\n  - { name: a, run: x, limits: [databse] }\n", (3, 33), "did you mean `database`?"),
    ("unknown-name", "params: { x: 1 }\nflow:\n  - { name: a, argv: [echo, '{{ prams.x }}'] }\n", (3, 33), "did you mean `params`?"),
    ("unknown-name", "flow:\n  - { name: a, run: x, when: stdout }\n", (2, 30), "known here: flows, params"),
    ("unknown-param", "flow:\n  - { name: a, flow: child.yaml, with: { m: 1, n: 2 } }\n", (2, 42), "has no param `m`"),
    ("unknown-queue", "queues: { slow: { weight: 1 } }\nflow:\n  - { name: a, run: x, queue: slwo }\n", (3, 31), "did you mean `slow`?"),
    ("unknown-source", "sources: { users: { type: env, configuration: { vars: [A] } } }\nflow:\n  - { name: a, source: user }\n", (3, 24), "did you mean `users`?"),
    ("unknown-word", "flow:\n  - { name: a, run: x, on_error: contiue }\n", (2, 34), "did you mean `continue`?"),
    ("wrong-place", "flow:\n  - { name: a, run: x, depends_on: [tidy] }\nfinally:\n  - { name: tidy, run: x }\n", (2, 37), "which follows the run"),
    ("wrong-place", "env: { X: '{{ flows.a.o }}' }\nflow:\n  - { name: a, run: x, outputs: { o: '{{ stdout }}' } }\n", (1, 11), "the `env` of the steps that need it"),
    ("wrong-type", "flow: { name: a }\n", (1, 7), "must be a list"),
    ("wrong-type", "[1, 2]\n", (1, 1), "this is a list"),
    ("wrong-type", "flow:\n  - { name: a, run: [x] }\n", (2, 21), "`run` must be a text"),
    ("yaml-alias-in-itself", "params: { p: &a [*a] }\n", (1, 18), "inside of what it repeats"),
    ("yaml-behind-quote", "name: 'a' b\n", (1, 11), "quote all of the text, or none of it"),
    ("yaml-character", "name: @x\n", (1, 7), "quote the text"),
    ("yaml-colon", "name: a: b\n", (1, 8), "quote texts with a `: ` in them"),
    ("yaml-duplicate-key", "name: a\nflow: []\nname: b\n", (3, 1), "the key `name` is there twice"),
    ("yaml-empty-key", ": a\n", (1, 1), "a key is missing before `:`"),
    ("yaml-escape", "name: \"a\\qb\"\n", (1, 9), "`\\q` is no escape sequence"),
    ("yaml-indentation", "flow:\n  - name: a\n   run: x\n", (3, 4), "check how far this line is indented"),
    ("yaml-indentation", "flow: - a\n", (1, 7), "start it in a line of its own"),
    ("yaml-key-expected", "flow: []\nname\n", (2, 1), "write `key: value`"),
    ("yaml-key-not-text", "[a]: b\n", (1, 1), "a key must be a text"),
    ("yaml-merge", "<<: x\n", (1, 5), "`<<` merges mappings"),
    ("yaml-not-finite", "params: { n: -.inf }\n", (1, 14), "a number that JSON does not have"),
    ("yaml-number-too-large", "params: { n: 99999999999999999999 }\n", (1, 14), "quote it if it is meant as a text"),
    ("yaml-second-document", "flow: []\n---\nflow: []\n", (2, 1), "a file of its own"),
    ("yaml-syntax", "%YAML 1.2\n%YAML 1.2\n---\nflow: []\n", (2, 1), "this is not YAML"),
    ("yaml-tab", "flow:\n\t- a\n", (2, 1), "indent with spaces"),
    ("yaml-tag-mismatch", "name: !!int x\n", (1, 13), "not what its tag says"),
    ("yaml-tag-mismatch", "name: !!map x\n", (1, 7), "does not fit"),
    ("yaml-unclosed-bracket", "flow: [a\n", (1, 7), "no closing bracket"),
    ("yaml-colon", "flow: [a\nname: x\n", (2, 5), "close the bracket before the next key"),
    ("yaml-unclosed-quote", "name: 'a\nflow: []\n", (1, 7), "close it in the same line"),
    ("yaml-unknown-alias", "params: { p: *steps }\n", (1, 14), "nothing above is named `&steps`"),
    ("yaml-unknown-tag", "name: !secret x\n", (1, 7), "the tag `!secret` is not known"),
    ("yaml-wrong-bracket", "flow: [a}\n", (1, 7), "is closed by `}`"),
    ("yaml-wrong-bracket", "flow: []]\n", (1, 9), "this bracket closes nothing"),
];

#[rustfmt::skip]
const WARNINGS: &[Row] = &[
    ("stored-secret", "flow:\n  - { name: a, source: { type: env, configuration: { vars: [API_TOKEN] } }, output: [{ name: o }] }\n", (2, 85), "secrets: { token: { env: API_TOKEN } }"),
    ("not-repeated", "flow:\n  - { name: a, http: { url: 'http://x/', method: POST }, retry: 2 }\n", (2, 65), "only if it surely was not done"),
    ("deprecated", "flow:\n  - { name: a, run: x, output: [{ name: o, type: json }] }\n", (2, 50), "the old word for `type: raw`"),
    ("dynamic-reference", "params: { s: a }\nflow:\n  - { name: a, run: x }\n  - { name: b, argv: [echo, '{{ flows[params.s] }}'] }\n", (4, 33), "name the steps in `depends_on`"),
    ("insecure", "schedule: [{ name: s, webhook: { insecure: true } }]\nflow:\n  - { name: a, run: x }\n", (1, 32), "has it signed"),
    ("no-steps", "name: x\n", (1, 1), "a step needs a name"),
    ("no-effect", "sources:\n  s: { type: process, configuration: { command: date, shell: true } }\n", (2, 62), "use `run:`"),
    ("template-in-shell", "flow:\n  - name: a\n    source: { type: process, configuration: { command: [sh, -c, 'echo {{ input }}'], pass_to: template } }\n", (3, 56), "use `run:` with `env:`"),
    ("yaml-leading-zero", "params: { n: 012 }\n", (1, 14), "0o12 for an octal number"),
    ("yaml-trailing-zero", "params: { n: 3.10 }\n", (1, 14), "quote it"),
];

/// Codes without a row above: those of hostile files below, and those that no file brings about.
const ELSEWHERE: &[&str] = &[
    "too-large",
    "unreadable",
    "yaml-alias-expansion",
    "yaml-not-utf8",
    "yaml-text-too-long",
    "yaml-too-deep",
    "yaml-too-many-values",
    // A file is refused as `too-large` before it is read as YAML.
    "yaml-too-large",
];

/// Files by name.
struct Files<'a>(BTreeMap<&'a str, &'a [u8]>);

impl ReadText for Files<'_> {
    fn read(&self, path: &Path, _: u64) -> io::Result<Vec<u8>> {
        let bytes = path.to_str().and_then(|path| self.0.get(path));
        bytes.map(|bytes| bytes.to_vec()).ok_or_else(|| io::ErrorKind::NotFound.into())
    }
}

/// Loads the first files as one flow; the others can be called by it.
fn load_files(files: &[(&str, &str)], count: usize) -> Loaded {
    let paths: Vec<PathBuf> = files[..count].iter().map(|(name, _)| name.into()).collect();
    load(&paths, &Files(files.iter().map(|(name, text)| (*name, text.as_bytes())).collect()))
}

/// Loads a file that may call another one.
fn load_bad(text: &str) -> Loaded {
    let child = "params: { n: { type: int } }\nflow: [{ name: x, run: x }]\n";
    load_files(&[("bad.yaml", text), ("child.yaml", child)], 1)
}

fn problems(loaded: &Loaded) -> Vec<Value> {
    loaded.problems.to_json(&loaded.files).as_array().unwrap().clone()
}

fn rendered(loaded: &Loaded) -> String {
    loaded.problems.render(&loaded.files, Style::Plain, 100)
}

fn check(rows: &[Row], severity: &str, is_valid: bool) {
    for (code, text, (line, column), said) in rows {
        let loaded = load_bad(text);
        assert_eq!(loaded.runnable().is_some(), is_valid, "{text}");
        let found = problems(&loaded);
        assert_eq!(found.len(), 1, "{text}{found:#?}");
        let problem = &found[0];
        let words = ["code", "severity", "file"].map(|name| problem[name].as_str().unwrap());
        assert_eq!(words, [code, severity, "bad.yaml"], "{text}{problem:#}");
        assert_eq!(
            (&problem["line"], &problem["column"]),
            (&json!(line), &json!(column)),
            "{text}"
        );
        let texts = ["message", "label", "hint"];
        let is_said = |name: &str| problem[name].as_str().is_some_and(|text| text.contains(said));
        assert!(texts.into_iter().any(is_said), "{said}: {problem:#}");

        let human = rendered(&loaded);
        let start = format!("{severity}[{code}]: ");
        assert!(human.starts_with(&start), "{human}");
        assert!(human.contains(&format!("--> bad.yaml:{line}:{column}\n")), "{human}");
        assert!(human.contains(said), "{said}: {human}");
        let shown = text.split('\n').nth(*line as usize - 1).unwrap();
        // Long lines are cut, tabs widened; the start of others is there as it is.
        if shown.len() < 60 && !shown.contains('\t') {
            assert!(human.contains(&format!("{line} | {shown}\n")), "{human}");
        }
        assert!(
            human.lines().any(|line| line.trim_start().starts_with("| ") && line.contains('^'))
        );
    }
}

#[test]
fn every_error_has_its_place_and_its_words() {
    check(ERRORS, "error", false);
}

#[test]
fn warnings_do_not_keep_a_flow_from_being_run() {
    check(WARNINGS, "warning", true);
}

#[test]
fn every_code_is_tested() {
    let mut codes = BTreeSet::new();
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("src");
    collect(&folder, &mut codes);
    let tested = ERRORS.iter().chain(WARNINGS).map(|row| row.0).chain(ELSEWHERE.iter().copied());
    let tested: BTreeSet<String> = tested.map(str::to_owned).collect();
    assert!(codes.len() > 50, "{codes:?}");
    assert_eq!(codes, tested);
}

/// The codes in the sources of a folder, their tests left out.
fn collect(folder: &Path, codes: &mut BTreeSet<String>) {
    for entry in std::fs::read_dir(folder).unwrap() {
        let path = entry.unwrap().path();
        if path.file_name().unwrap().to_str().unwrap().starts_with("tests") {
            continue;
        }
        if path.is_dir() {
            collect(&path, codes);
            continue;
        }
        let text = std::fs::read_to_string(&path).unwrap();
        for start in ["Problem::error(", "Problem::warning("] {
            for rest in text.split(start).skip(1) {
                if let Some(rest) = rest.trim_start().strip_prefix('"') {
                    codes.insert(rest.split('"').next().unwrap().to_owned());
                }
            }
        }
    }
}

#[test]
fn all_problems_come_at_once_in_the_order_of_the_file() {
    let text = "\
name: [x]
flow:
  - { name: a, run: 'echo {{ params.x }}', tiemout: 3s }
  - { name: b, run: x, depends_on: [nope], priority: 300 }
  - { name: b, argv: ['{{ 1 + }}'], output: [{ name: o, type: jmespath, value: '[' }] }
  - { name: c, run: x, depends_on: [c] }
schedule: 'x'
";
    let loaded = load_bad(text);
    let found: Vec<(u64, u64, String)> = problems(&loaded)
        .iter()
        .map(|problem| {
            let number = |name: &str| problem[name].as_u64().unwrap();
            (number("line"), number("column"), problem["code"].as_str().unwrap().to_owned())
        })
        .collect();
    assert!(found.is_sorted_by_key(|(line, column, _)| (*line, *column)), "{found:?}");
    let codes: Vec<(u64, &str)> = found.iter().map(|(line, _, code)| (*line, &**code)).collect();
    let expected = [
        (1, "wrong-type"),
        (3, "template-in-shell"),
        (3, "unknown-key"),
        (4, "missing-step"),
        (4, "out-of-range"),
        (5, "duplicate-step"),
        (5, "bad-template"),
        (5, "bad-jmespath"),
        (6, "cycle"),
        (7, "bad-cron"),
    ];
    assert_eq!(codes, expected);
    let human = rendered(&loaded);
    let titles: Vec<&str> =
        human.lines().filter_map(|line| line.strip_prefix("error[")?.split(']').next()).collect();
    assert_eq!(titles, expected.map(|(_, code)| code));
}

#[test]
fn problems_of_several_files_name_their_own() {
    let loaded = load_files(
        &[
            (
                "one.yaml",
                "flow:\n  - { name: a, run: x, prioritty: 1 }\nrunner: { max_workers: 0 }\n",
            ),
            ("two.yaml", "# more\nrunner: { on_error: maybe }\n"),
            ("three.yaml", "finally:\n  - { name: z, flow: child.yaml }\n"),
            ("child.yaml", "flow: [{ name: x }]\n"),
        ],
        3,
    );
    let place = |problem: &Value| {
        format!("{}:{} {}", problem["file"], problem["line"], problem["code"]).replace('"', "")
    };
    let places: Vec<String> = problems(&loaded).iter().map(place).collect();
    let expected = [
        "one.yaml:2 unknown-key",
        "one.yaml:3 out-of-range",
        "two.yaml:2 unknown-word",
        "child.yaml:1 no-work",
    ];
    assert_eq!(places, expected);
    let missing = load(&[PathBuf::from("nowhere.yaml")], &Disk);
    let human = rendered(&missing);
    assert!(human.contains("error[unreadable]: nowhere.yaml: cannot be read"), "{human}");
}

/// Returns the codes of all errors.
fn errors(text: &str) -> Vec<String> {
    let found = problems(&load_bad(text)).into_iter().filter(|it| it["severity"] == "error");
    found.map(|problem| problem["code"].as_str().unwrap().to_owned()).collect()
}

#[test]
fn params_that_are_not_there_are_found() {
    let text = "params: { known: 1 }\nflow:\n  - { name: a, argv: [echo, '{{ params.knwon }}'] }\n  - { name: b, when: secrets.nope, run: x }\n";
    let loaded = load_bad(text);
    assert!(loaded.runnable().is_none());
    assert_eq!(problems(&loaded).len(), 2, "{:#?}", problems(&loaded));
}

#[test]
fn sources_that_nobody_uses_are_checked_too() {
    let text = "sources:\n  s: { type: process, configuration: { comand: [x], timeout: soon } }\n  c: { base: c }\nflow: []\n";
    assert!(!errors(text).is_empty());
}

#[test]
fn variables_that_load_no_code_may_have_values() {
    let text = "params: { e: dev }\nflow:\n  - { name: a, run: x, env: { ENVIRONMENT: '{{ params.e }}', ENV_NAME: '{{ params.e }}' } }\n";
    assert_eq!(errors(text), [""; 0]);
}

#[test]
fn variables_that_load_code_have_no_values() {
    for variable in [
        "LD_PRELOAD: '{% if params.e %}x{% endif %}'",
        "PATH: '{{ params.e }}'",
        "IFS: '{{ params.e }}'",
        "HOME: '{{ params.e }}'",
        "PYTHONPATH: '{{ params.e }}'",
        "GIT_SSH_COMMAND: '{{ params.e }}'",
        "https_proxy: '{{ params.e }}'",
    ] {
        let text = format!(
            "params: {{ e: dev }}\nflow:\n  - {{ name: a, run: x, env: {{ {variable} }} }}\n"
        );
        assert!(!errors(&text).is_empty(), "{variable}");
    }
}

// Hostile files. Each is loaded with half a GiB of address space; a test that takes too long is ended by its runner.

const ADDRESS_SPACE: u64 = 512 << 20;

/// Checks that a file is refused with this code, in a few lines.
#[track_caller]
fn refused(code: &str, bytes: &[u8]) -> String {
    limit_address_space(ADDRESS_SPACE);
    check_refused(code, &load(&["bad.yaml".into()], &Files([("bad.yaml", bytes)].into())))
}

#[track_caller]
fn check_refused(code: &str, loaded: &Loaded) -> String {
    assert!(loaded.runnable().is_none());
    let error = rendered(loaded);
    let start: String = error.chars().take(300).collect();
    assert!(error.contains(&format!("error[{code}]: ")), "{code}: {start}");
    // Two hundred problems of a few lines are the most that is shown.
    assert!(error.len() < 200_000, "{} bytes", error.len());
    let longest = error.lines().map(|line| line.chars().count()).max();
    assert!(longest < Some(1_200), "a line of {longest:?}");
    assert_clean(&error);
    // JSON has control characters as escapes.
    let json = loaded.problems.to_json(&loaded.files).to_string();
    assert!(!json.chars().any(char::is_control), "{json:?}");
    error
}

/// Checks that no character of a text does anything to a terminal.
#[track_caller]
fn assert_clean(text: &str) {
    let is_bad = |letter: &char| {
        letter.is_control() && *letter != '\n'
            || matches!(letter, '\u{200b}'..='\u{200f}' | '\u{202a}'..='\u{202e}' | '\u{2066}'..='\u{2069}')
    };
    let bad: Vec<char> = text.chars().filter(is_bad).collect();
    assert!(bad.is_empty(), "{bad:?} in {text:?}");
}

#[test]
fn aliases_that_repeat_each_other_are_refused() {
    let mut text = "a0: &a0 [x, x, x, x, x, x, x, x, x, x]\n".to_owned();
    for level in 1..30 {
        let before = format!("*a{}", level - 1);
        text += &format!("a{level}: &a{level} [{}]\n", [before.as_str(); 10].join(", "));
    }
    let error = refused("yaml-alias-expansion", text.as_bytes());
    assert!(error.contains("the file becomes too much here"), "{error}");
    let mut text = "a0: &a0 { k: v }\n".to_owned();
    for level in 1..60 {
        let before = level - 1;
        text +=
            &format!("a{level}: &a{level} {{ x: *a{before}, y: *a{before}, <<: *a{before} }}\n");
    }
    refused("yaml-alias-expansion", text.as_bytes());
    let mut text = format!("a0: &a0 {}\n", "x".repeat(500_000));
    text += &format!("tags: [{}]\n", ["*a0"; 100].join(", "));
    refused("yaml-alias-expansion", text.as_bytes());
}

#[test]
fn what_nests_too_deeply_is_refused() {
    let count = 100_000;
    for text in [
        format!("flow: {}", "[".repeat(count)),
        format!("flow: {}{}", "[".repeat(count), "]".repeat(count)),
        format!("flow: {}", "{ a: ".repeat(count)),
        "- ".repeat(count),
        "? ".repeat(count),
    ] {
        refused("yaml-too-deep", text.as_bytes());
    }
}

#[test]
fn very_long_names_are_refused_and_shown_in_part() {
    let long = "n".repeat(500_000);
    for (code, text) in [
        ("bad-name", format!("flow:\n  - {{ name: {long}, run: x }}\n")),
        ("missing-step", format!("flow:\n  - {{ name: a, run: x, depends_on: {long} }}\n")),
        ("unknown-source", format!("flow:\n  - {{ name: a, source: {long} }}\n")),
        ("unknown-key", format!("flow:\n  - {{ name: a, run: x, ? {long} : 1 }}\n")),
        ("unknown-word", format!("flow:\n  - {{ name: a, run: x, on_error: {long} }}\n")),
    ] {
        refused(code, text.as_bytes());
    }
}

#[test]
fn control_characters_never_reach_the_terminal() {
    let evil = r"x\e[31m\a\x9b2J\u202e\u200b\r\n\0";
    for (code, text) in [
        ("bad-name", format!("flow:\n  - {{ name: \"{evil}\", run: x }}\n")),
        ("missing-step", format!("flow:\n  - {{ name: a, run: x, depends_on: [\"{evil}\"] }}\n")),
        ("unknown-key", format!("flow:\n  - {{ name: a, run: x, \"{evil}\": 1 }}\n")),
        ("unknown-source", format!("flow:\n  - {{ name: a, source: \"{evil}\" }}\n")),
        ("bad-value", format!("flow:\n  - {{ name: a, run: x, timeout: \"{evil}\" }}\n")),
        ("bad-default", format!("params: {{ n: {{ type: int, default: \"{evil}\" }} }}\n")),
        ("bad-zone", format!("schedule: {{ cron: '* * * * *', zone: \"{evil}\" }}\n")),
        ("bad-cron", format!("schedule: \"{evil}\"\n")),
        ("bad-template", format!("flow:\n  - {{ name: a, argv: [\"{{{{ {evil} }}}}\"] }}\n")),
        (
            "bad-jmespath",
            format!(
                "flow:\n  - {{ name: a, run: x, output: [{{ name: o, type: jmespath, value: \"{evil}\" }}] }}\n"
            ),
        ),
        ("unreadable", format!("flow:\n  - {{ name: a, flow: \"{evil}\" }}\n")),
        (
            "cycle",
            "flow:\n  - { name: \"a\\u0301\", run: x, depends_on: [\"a\\u0301\"] }\n".to_owned(),
        ),
        ("yaml-character", "flow: [{ name: a\x1b[31mb, run: x }]\n".to_owned()),
        ("yaml-character", "flow: [{ name: a\0b, run: x }]\n".to_owned()),
    ] {
        refused(code, text.as_bytes());
    }
}

#[test]
fn what_is_not_text_is_refused() {
    let error = refused("yaml-not-utf8", b"flow:\n  - { name: a\xff\xfe, run: x }\n");
    assert!(error.contains("0xff in line 2"), "{error}");
    let utf16: Vec<u8> = "\u{feff}flow: []".encode_utf16().flat_map(u16::to_le_bytes).collect();
    let error = refused("yaml-not-utf8", &utf16);
    assert!(error.contains("looks like UTF-16"), "{error}");
    let random: Vec<u8> =
        (0..100_000_u32).map(|it| (it.wrapping_mul(2_654_435_761) >> 24) as u8).collect();
    refused("yaml-not-utf8", &random);
}

#[test]
fn huge_and_deep_templates_are_refused() {
    let template = |text: String| format!("flow:\n  - {{ name: a, argv: [echo, \"{text}\"] }}\n");
    for text in [
        "{{ 1 }}".repeat(100_000),
        format!("{{{{ {}1{} }}}}", "(".repeat(20_000), ")".repeat(20_000)),
        format!("{{{{ {}{} }}}}", "[".repeat(20_000), "]".repeat(20_000)),
        format!("{{{{ {}1 }}}}", "not ".repeat(15_000)),
        format!("{{{{ {}1 }}}}", "-".repeat(60_000)),
        format!("{{{{ {}1 }}}}", "1+".repeat(30_000)),
        format!("{{{{ {}1 }}}}", "1**".repeat(20_000)),
        format!("{{{{ {}1 }}}}", "1 if 1 else ".repeat(5_000)),
        format!("{{{{ flows{} }}}}", ".a".repeat(20_000)),
        format!("{{{{ 1{} }}}}", "|abs".repeat(15_000)),
        format!("{}{}", "{% if 1 %}".repeat(2_500), "{% endif %}".repeat(2_500)),
        format!("{}{}", "{% for x in [1] %}".repeat(2_000), "{% endfor %}".repeat(2_000)),
        "{{".repeat(10_000),
    ] {
        refused("bad-template", template(text).as_bytes());
    }
    let query = |text: String| {
        format!(
            "flow:\n  - {{ name: a, run: x, output: [{{ name: o, type: jmespath, value: '{text}' }}] }}\n"
        )
    };
    for text in [
        format!("{}a{}", "(".repeat(7_000), ")".repeat(7_000)),
        format!("{}a{}", "[".repeat(7_000), "]".repeat(7_000)),
        format!("{}a", "!".repeat(16_000)),
        format!("a{}", ".a".repeat(8_000)),
        format!("a{}{}", "[?a".repeat(4_000), "]".repeat(4_000)),
        format!("`{}`", "[".repeat(16_000)),
        "a|".repeat(100_000),
    ] {
        refused("bad-jmespath", query(text).as_bytes());
    }
}

#[test]
fn tens_of_thousands_of_mistakes_are_found_in_bounded_time() {
    let steps: String =
        (0..30_000).map(|it| format!("- {{ name: s{it}, run: x, depends_on: z{it} }}\n")).collect();
    let error = refused("missing-step", format!("flow:\n{steps}").as_bytes());
    assert!(error.contains("29800 more"), "{error}");
}

#[test]
fn what_is_too_large_is_refused() {
    limit_address_space(ADDRESS_SPACE);
    let folder = temp_folder("hostile-large");
    let large = folder.path().join("bad.yaml");
    std::fs::File::create(&large).unwrap().set_len(100 << 20).unwrap();
    for path in [large, PathBuf::from("/dev/zero")] {
        let error = check_refused("too-large", &load(std::slice::from_ref(&path), &Disk));
        assert!(error.contains(&format!("{}: larger than 4 MiB", path.display())), "{error}");
    }
    let steps: String = (0..200_000).map(|it| format!("- {{ name: s{it}, run: x }}\n")).collect();
    refused("too-large", format!("flow:\n{steps}").as_bytes());
    // So many that fit into the bytes, but are too many values.
    let steps: String = (0..110_000).map(|it| format!("- {{name: s{it}}}\n")).collect();
    refused("yaml-too-many-values", format!("flow:\n{steps}").as_bytes());
    let long = format!("name: {}\n", "x".repeat(2 << 20));
    refused("yaml-text-too-long", long.as_bytes());
}

#[test]
fn tens_of_thousands_of_steps_are_checked() {
    limit_address_space(ADDRESS_SPACE);
    let chain: String = (1..30_000)
        .map(|it| format!("- {{ name: s{it}, run: x, depends_on: s{} }}\n", it - 1))
        .collect();
    let loaded = load_bad(&format!("flow:\n{chain}- {{ name: s0, run: x }}\n"));
    assert_eq!(loaded.runnable().unwrap().steps.len(), 30_000);
    let circle = format!("flow:\n{chain}- {{ name: s0, run: x, depends_on: s29999 }}\n");
    refused("cycle", circle.as_bytes());
    refused("yaml-duplicate-key", "name: x\n".repeat(20_000).as_bytes());
}

#[test]
fn tens_of_thousands_of_variables_are_read_in_bounded_time() {
    limit_address_space(ADDRESS_SPACE);
    let variables: Vec<String> = (0..100_000).map(|it| format!("V{it}: 1")).collect();
    let text = format!("flow:\n- {{ name: a, run: x, env: {{ {} }} }}\n", variables.join(", "));
    assert!(load_bad(&text).runnable().is_some());
}

#[test]
fn flows_that_multiply_are_refused() {
    limit_address_space(ADDRESS_SPACE);
    let mut files: Vec<(String, String)> = (0..7)
        .map(|level| {
            let steps: String = (0..10)
                .map(|it| format!("  - {{ name: s{it}, flow: f{}.yaml }}\n", level + 1))
                .collect();
            (format!("f{level}.yaml"), format!("flow:\n{steps}"))
        })
        .collect();
    files.push(("f7.yaml".to_owned(), "flow: [{ name: x, run: 'true' }]\n".to_owned()));
    let files: Vec<(&str, &str)> = files.iter().map(|(name, text)| (&**name, &**text)).collect();
    assert!(load_files(&files, 1).runnable().is_none());
}
