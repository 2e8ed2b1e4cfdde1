//! What is said about files that are wrong: everything at once, and nothing that only follows.

use super::load_texts;
use crate::Span;
use crate::definition::{CommandLine, Work};

/// The code, the words that are pointed at, and the message and hint of each problem.
fn problems(text: &str) -> Vec<(&'static str, String, String)> {
    let loaded = load_texts(&[("f.yaml", text)]);
    let found = loaded.problems.iter().map(|problem| {
        let span = problem.span.expect("a place");
        let pointed_at = text[span.start as usize..span.end as usize].to_owned();
        let said = format!("{} | {}", problem.message, problem.hint.as_deref().unwrap_or_default());
        (problem.code, pointed_at, said)
    });
    found.collect()
}

/// The codes and what each points at.
fn places(text: &str) -> Vec<(&'static str, String)> {
    problems(text).into_iter().map(|(code, pointed_at, _)| (code, pointed_at)).collect()
}

fn shell_text(text: &str) -> String {
    let loaded = load_texts(&[("f.yaml", text)]);
    assert!(loaded.problems.is_empty(), "{:?}", loaded.problems);
    let flow = loaded.flow.expect("a flow");
    match &flow.steps[0].work {
        Work::Process(work) => match &work.command {
            CommandLine::Shell { text, .. } => text.clone(),
            CommandLine::Argv(words) => words.last().unwrap().as_value().unwrap().to_string(),
        },
        _ => panic!("no process"),
    }
}

#[test]
fn braces_of_other_languages_in_shell_text_come_with_the_way_to_write_them() {
    for (run, template) in [
        ("docker ps --format '{{.Names}}'", "{{.Names}}"),
        ("docker ps --format \"{{ .Names }}\" | wc -l", "{{ .Names }}"),
        ("echo ${{ github.ref }}", "{{ github.ref }}"),
    ] {
        let text = format!("flow:\n  - name: a\n    run: |\n      true\n      {run}\n");
        let found = problems(&text);
        let [(code, pointed_at, said)] = &found[..] else { panic!("{found:?}") };
        assert_eq!((*code, pointed_at.as_str()), ("template-in-shell", template));
        let literal = format!("{{% raw %}}{template}{{% endraw %}}");
        assert!(said.contains(&literal) && said.contains("env:"), "{said}");
        // What the hint says works.
        let fixed = text.replace(template, &literal);
        assert_eq!(shell_text(&fixed), format!("true\n{run}\n"));
    }
}

#[test]
fn values_in_shell_text_come_with_both_ways_out() {
    let text =
        "params: { a: 1, b: 2 }\nflow:\n  - { name: a, run: 'echo {{ params.a }} {{params.b}}' }\n";
    let found = problems(text);
    assert_eq!(found.len(), 2, "{found:?}");
    for (problem, name) in found.iter().zip(["params.a", "params.b"]) {
        assert!(
            problem.2.contains(&format!("env: {{ VALUE: \"{{{{ {name} }}}}\" }}")),
            "{problem:?}"
        );
        assert!(problem.2.contains("{% raw %}{{"), "{problem:?}");
    }
    let statement =
        "params: { a: 1 }\nflow:\n  - { name: a, run: 'echo {% if params.a %}x{% endif %}' }\n";
    let found = problems(statement);
    let [(_, pointed_at, said)] = &found[..] else { panic!("{found:?}") };
    assert_eq!(pointed_at, "{% if params.a %}");
    assert!(said.contains("env: { VALUE: \"{% if params.a %}…\" }"), "{said}");
}

#[test]
fn raw_text_is_shell_text_and_program_text() {
    assert_eq!(shell_text("flow: [{ name: a, run: 'echo ${#x} {a,b}' }]"), "echo ${#x} {a,b}");
    let argv = "flow: [{ name: a, argv: [sh, -c, 'x {% raw %}{{.Names}}{% endraw %}'] }]";
    assert_eq!(shell_text(argv), "\"x {{.Names}}\"");
    let open = places("flow: [{ name: a, run: 'x {% raw %}{{.Names}}' }]");
    assert_eq!(open, [("bad-template", "{% raw %}".to_owned())]);
    let found = problems("flow: [{ name: a, argv: [docker, ps, '--format={{.Names}}'] }]");
    assert!(found[0].2.contains("{% raw %}"), "{found:?}");
}

fn codes(text: &str) -> Vec<&'static str> {
    problems(text).into_iter().map(|(code, ..)| code).collect()
}

/// A step that is wrong in some way, by line, and the codes of what is wrong with it. Around it are
/// steps that wait for it and use an output of it, which is not wrong.
#[test]
fn what_depends_on_a_broken_step_is_not_wrong() {
    let outputs = "outputs: { o: '{{ data }}' }";
    for (step, expected) in [
        (
            format!("{{ name: a, run: x, retry: {{ attempts: 2, retries: 1 }}, {outputs} }}"),
            "contradiction",
        ),
        (format!("{{ name: a, run: 'x {{{{ params.p }}}}', {outputs} }}"), "template-in-shell"),
        (format!("{{ name: a, run: [x], {outputs} }}"), "wrong-type"),
        (format!("{{ name: a, {outputs} }}"), "no-work"),
        (format!("{{ name: a, run: x, argv: [y], {outputs} }}"), "contradiction"),
        (format!("{{ name: a, argv: [], {outputs} }}"), "missing-key"),
        (format!("{{ name: a, source: nowhere, {outputs} }}"), "unknown-source"),
        (format!("{{ name: a, http: {{ method: GET }}, {outputs} }}"), "missing-key"),
        (
            format!("{{ name: a, http: {{ url: 'http://u', json: 1, body: x }}, {outputs} }}"),
            "contradiction",
        ),
        (format!("{{ name: a, wait: {{ file: x, duration: 1s }}, {outputs} }}"), "contradiction"),
        (
            format!(
                "{{ name: a, run: x, foreach: {{ as: it }}, env: {{ X: '{{{{ it }}}}' }}, {outputs} }}"
            ),
            "missing-key",
        ),
        (
            format!(
                "{{ name: a, run: x, foreach: [1], matrix: {{ b: [1] }}, env: {{ X: '{{{{ item }}}} {{{{ matrix.b }}}}' }}, {outputs} }}"
            ),
            "contradiction",
        ),
        ("{ name: a, run: x, outputs: o }".to_owned(), "wrong-type"),
        ("{ name: a, run: x, output: { name: o } }".to_owned(), "wrong-type"),
        (
            "{ name: a, run: x, output: [{ name: o, type: jmespath, value: '[' }] }".to_owned(),
            "bad-jmespath",
        ),
        ("{ name: a, run: x, output: [{ name: o, type: jmespath }] }".to_owned(), "missing-key"),
        ("{ name: a, run: x, output: [{ type: raw }] }".to_owned(), "missing-key"),
        ("{ name: a, run: x, outputs: { o: '{{ 1 + }}' } }".to_owned(), "bad-template"),
        ("{ name: a, flow: nowhere.yaml, with: { p: 1 } }".to_owned(), "unreadable"),
        (format!("{{ name: a, run: x }}\n  - {{ name: a, run: y, {outputs} }}"), "duplicate-step"),
        (format!("{{ name: a, run: x, {outputs} }}\n  - {{ name: a, run: y }}"), "duplicate-step"),
    ] {
        let text = format!(
            "params: {{ p: 1 }}\nflow:\n  - {step}\n  - {{ name: b, argv: [x, '{{{{ flows.a.o }}}}'], depends_on: a }}\n"
        );
        assert_eq!(codes(&text), [expected], "{step}");
    }
}

#[test]
fn what_names_something_broken_is_not_wrong() {
    let step = "{ name: a, run: x, limits: [l], resources: { r: 1 }, queue: q, env: { P: '{{ params.p }}', S: '{{ secrets.s }}', V: '{{ sources.v }}' } }";
    let good = [
        ("limits", "{ l: 1 }"),
        ("resources", "{ r: 1 }"),
        ("queues", "{ q: { weight: 1 } }"),
        ("params", "{ p: 1 }"),
        ("secrets", "{ s: { env: S } }"),
        ("sources", "{ v: { type: env, configuration: { vars: [A] } } }"),
    ];
    let file = |broken: &str, value: &str| {
        let said = good
            .map(|(key, good)| format!("{key}: {}\n", if key == broken { value } else { good }));
        format!("{}flow: [{step}]\n", said.concat())
    };
    assert_eq!(codes(&file("", "")), [""; 0]);
    for (key, value, code) in [
        ("limits", "{ l: often }", "bad-value"),
        ("limits", "{ l: 0 }", "out-of-range"),
        ("limits", "{ l: { units: 1, rate: 1/s } }", "contradiction"),
        ("limits", "[l]", "wrong-type"),
        ("resources", "{ r: many }", "wrong-type"),
        ("resources", "[r]", "wrong-type"),
        ("queues", "{ q: fast }", "wrong-type"),
        ("queues", "q", "wrong-type"),
        ("params", "[p]", "wrong-type"),
        ("secrets", "{ s: S }", "wrong-type"),
        ("secrets", "{ s: { env: A, file: b } }", "contradiction"),
        ("secrets", "[s]", "wrong-type"),
        ("sources", "[v]", "wrong-type"),
    ] {
        assert_eq!(codes(&file(key, value)), [code], "{key}: {value}");
    }
}

#[test]
fn a_broken_step_hides_none_of_its_other_problems() {
    let text = "\
flow:
  - run: [x]
    when: nope
    env: { A: '{{ flows.missing.o }}', 1B: x }
    retry: { attempts: 1, retries: 1, factor: 0.5 }
    limits: [unknown]
    depends_on: [gone]
    output: [{ name: o, type: jmespath, value: '[' }]
  - { name: b, flow: nowhere.yaml, with: { x: '{{ 1 + }}' }, when: nope }
  - { name: c, http: { headers: { A: '{{ nope }}' }, json: '{{ nope }}', body: '{{ nope }}', accept_status: x } }
  - { name: d, wait: { until: noon, file: '{{ nope }}' }, stdin: '{{ nope }}' }
  - { name: e, run: 'x {{ params.a }}', argv: ['{{ nope }}'] }
  - { name: f, source: { type: process, configuration: { cwd: '{{ nope }}' } } }
schedule: { cron: '61 * * * *', zone: Mars, at: then }
";
    let found = load_texts(&[("f.yaml", text)]);
    let line = |span: Span| text[..span.start as usize].lines().count();
    let lines: Vec<(usize, &str)> =
        found.problems.iter().filter_map(|it| Some((line(it.span?), it.code))).collect();
    let expected = [
        // The name.
        (2, "missing-key"),
        (2, "wrong-type"),
        (3, "unknown-name"),
        (4, "missing-step"),
        (4, "bad-name"),
        (5, "contradiction"),
        (5, "out-of-range"),
        // The limits of the flow that could not be read are not known.
        (7, "missing-step"),
        (8, "bad-jmespath"),
        (9, "unreadable"),
        (9, "bad-template"),
        (9, "unknown-name"),
        // The URL.
        (10, "missing-key"),
        (10, "unknown-name"),
        (10, "unknown-name"),
        (10, "contradiction"),
        (10, "unknown-name"),
        (10, "bad-value"),
        (11, "contradiction"),
        (11, "bad-value"),
        (11, "unknown-name"),
        (11, "contradiction"),
        (11, "unknown-name"),
        (12, "template-in-shell"),
        (12, "contradiction"),
        (12, "unknown-name"),
        // The command.
        (13, "missing-key"),
        (13, "unknown-name"),
        (14, "contradiction"),
        (14, "bad-cron"),
        (14, "bad-zone"),
        (14, "bad-value"),
    ];
    assert_eq!(lines, expected, "{:#?}", found.problems);
}

#[test]
fn a_file_that_is_missing_makes_nothing_else_wrong() {
    let text =
        "flow: [{ name: a, argv: [x, '{{ params.p }} {{ flows.b.o }}'], limits: l, queue: q }]";
    let texts = std::collections::BTreeMap::from([("f.yaml".into(), text.into())]);
    let loaded = crate::load(&["f.yaml".into(), "more.yaml".into()], &texts);
    let found: Vec<&str> = loaded.problems.iter().map(|problem| problem.code).collect();
    assert_eq!(found, ["unreadable"]);
}

#[test]
fn carets_point_at_the_word() {
    for (text, code, word) in [
        ("flow: [{ name: a, run: x, limits: [db] }]", "unknown-limit", "db"),
        ("flow: [{ name: a, run: x, limits: db }]", "unknown-limit", "db"),
        ("flow: [{ name: a, run: x, limits: { db: 2 } }]", "unknown-limit", "db"),
        ("flow: [{ name: a, run: x, resources: { gpu: 2 } }]", "unknown-limit", "gpu"),
        ("flow: [{ name: a, flow: gone.yaml }]", "unreadable", "gone.yaml"),
        ("flow: [{ name: a, run: x, queue: slow }]", "unknown-queue", "slow"),
        ("limits: { db: 1 }\nflow: [{ name: a, run: x, limits: { db: 2 } }]", "never-fits", "db"),
        (
            "flow: [{ name: a, run: x, outputs: { o: 1 }, output: [{ name: o }] }]",
            "duplicate-output",
            "o",
        ),
    ] {
        assert_eq!(places(text), [(code, word.to_owned())], "{text}");
    }
}

#[test]
fn one_mistake_is_one_problem() {
    let after = "\n  - { name: b, run: x, depends_on: a }";
    for (step, code, word, hint) in [
        ("{ name: a, runn: echo }", "unknown-key", "runn", "did you mean `run`?"),
        ("{ name: a, script: echo }", "unknown-key", "script", "did you mean `run`?"),
        // What it is called is known all the same.
        ("{ nme: a, run: echo }", "unknown-key", "nme", "did you mean `name`?"),
        ("{ name: a, argv: echo hi }", "wrong-type", "echo hi", "`run` takes"),
        ("{ name: a, run: [echo, hi] }", "wrong-type", "[echo, hi]", "`argv` takes"),
        (
            "{ name: a, run: x, env: { X: {{ params.y }} } }",
            "yaml-key-not-text",
            "{ params.y }",
            "quote",
        ),
        ("{ name: a, argv: [x, {{ params.y }}] }", "yaml-key-not-text", "{ params.y }", "quote"),
        (
            "{ name: a, source: { type: process, configuration: { cmd: x } } }",
            "unknown-key",
            "cmd",
            "`command`",
        ),
        (
            "{ name: a, source: { type: process, configuration: { command: 1 } } }",
            "wrong-type",
            "1",
            "",
        ),
        (
            "{ name: a, source: { type: process, configuration: { command: ~ } } }",
            "missing-key",
            "~",
            "",
        ),
        ("{ name: a, http: { url: ~ } }", "missing-key", "~", ""),
    ] {
        let text = format!("params: {{ y: 1 }}\nflow:\n  - {step}{after}\n");
        let found = problems(&text);
        let [(found_code, pointed_at, said)] = &found[..] else { panic!("{step}: {found:#?}") };
        assert_eq!((*found_code, pointed_at.trim()), (code, word), "{step}");
        assert!(said.contains(hint), "{step}: {said}");
    }
}

#[test]
fn words_of_other_programs_are_answered_with_ours() {
    for (text, hint) in [
        (
            "flow: [{ name: a, run: x, trigger_rule: all_done }]",
            "depends_on: { all: [a, b], when: ended }",
        ),
        (
            "defaults: { env: { A: b } }\nflow: [{ name: a, run: x }]",
            "at the top of the file:  env:",
        ),
        (
            "flow: [{ name: b, run: x }, { name: a, run: x, depends_on: { step: b, when: success } }]",
            "did you mean `succeeded`?",
        ),
        (
            "flow: [{ name: b, run: x }, { name: a, run: x, depends_on: { all: [b], when: done } }]",
            "did you mean `ended`?",
        ),
    ] {
        let found = problems(text);
        let [(_, _, said)] = &found[..] else { panic!("{text}: {found:#?}") };
        assert!(said.contains(hint), "{text}: {said}");
    }
}

#[test]
fn a_template_without_quotes_is_checked_as_one() {
    let text = "params: { y: 1 }\nflow: [{ name: a, run: x, env: { X: {{ params.z }} } }]";
    assert_eq!(codes(text), ["unknown-name", "yaml-key-not-text"]);
    let text = "flow: [{ name: a, run: x, env: { {a: b}: c } }]";
    assert_eq!(codes(text), ["yaml-key-not-text"]);
}

#[test]
fn names_are_there_and_are_no_templates() {
    for step in ["name:\n    run: x", "name: ''\n    run: x", "name: '  '\n    run: x"] {
        let found = problems(&format!("flow:\n  - {step}\n"));
        let [(code, _, said)] = &found[..] else { panic!("{step}: {found:?}") };
        assert_eq!(
            (*code, said.as_str()),
            ("bad-name", "`name` must be a text that is not empty | "),
            "{step}"
        );
    }
    let found = problems("flow: [{ name: [a], run: x }]");
    assert_eq!(found[0].2, "`name` must be a text | ");
    let found = problems("flow: [{ name: \"a\\u0007b\", run: x }]");
    assert!(found[0].2.contains("control characters"), "{found:?}");
    assert_eq!(codes("flow: [{ name: a, run: x, output: [{ name: }] }]"), ["bad-name"]);
    assert_eq!(codes("flow: [{ name: a, run: x, depends_on: [~] }]"), ["bad-name"]);
    assert_eq!(
        codes("flow: [{ name: 1, run: x }, { name: true, run: x, depends_on: 1 }]"),
        [""; 0]
    );
}

#[test]
fn of_several_files_the_last_name_counts() {
    let name = |first: &str, last: &str| {
        let texts = [("one.yaml", first), ("two.yaml", last)];
        let texts = texts.map(|(path, text)| (path.into(), format!("{text}\nflow: []").into()));
        let texts = std::collections::BTreeMap::from(texts);
        let loaded = crate::load(&["one.yaml".into(), "two.yaml".into()], &texts);
        loaded.flow.expect("a flow").name.clone()
    };
    assert_eq!(name("name: a", "name: b"), "b");
    assert_eq!(name("name: a", ""), "a");
    assert_eq!(name("", ""), "one");
}

#[test]
fn numbers_as_names_are_those_that_yaml_reads() {
    let text = "flow: [{ name: 1.0, run: x }, { name: 1.50, run: x }, { name: 0x10, run: x }, { name: '007', run: x, depends_on: [1.5, 16] }]";
    let loaded = load_texts(&[("f.yaml", text)]);
    assert!(!loaded.problems.has_errors(), "{:?}", loaded.problems);
    let flow = loaded.flow.as_ref().expect("a flow");
    assert_eq!(&*flow.names, ["1.0", "1.5", "16", "007"]);
    // Runs that are repeated go by the same names.
    let order = crate::FlowOrder::new(&loaded, vec!["f.yaml".into()], [].into(), 1);
    let defined = order.definitions();
    assert!(flow.names.iter().all(|name| defined.contains_key(name)), "{defined:?}");
}

#[test]
fn numbers_that_lose_a_zero_are_told() {
    let text = "flow: [{ name: a, run: x, matrix: { py: [3.10, 3.9, 3.0, '3.20', 007] } }]";
    let found = problems(text);
    let said: Vec<&str> =
        found.iter().map(|(.., said)| said.split(" | ").next().unwrap()).collect();
    assert_eq!(said, ["`3.10` is read as the number 3.1", "`007` is read as the number 7"]);
    assert_eq!(places(text)[0], ("yaml-trailing-zero", "3.10".to_owned()));
}

/// The places of arguments that must not begin with a dash.
fn guarded(step: &str) -> Vec<usize> {
    let text = format!("params: {{ p: x }}\nflow: [{{ name: a, {step} }}]");
    let loaded = load_texts(&[("f.yaml", &text)]);
    assert!(loaded.problems.is_empty(), "{:?}", loaded.problems);
    match &loaded.flow.unwrap().steps[0].work {
        Work::Process(work) => work.guarded.clone(),
        _ => panic!("no process"),
    }
}

#[test]
fn values_that_could_be_options_are_guarded() {
    let value = "'{{ params.p }}'";
    for (argv, expected) in [
        (format!("[rm, {value}]"), vec![1, 2]),
        (format!("[{value}, a]"), vec![2]),
        ("[rm, '--file={{ params.p }}', '{% if params.p %}-x{% endif %}']".to_owned(), vec![2, 3]),
        (format!("[grep, {value}, --, {value}]"), vec![1]),
        (format!("[sh, -c, 'echo \"$1\"', sh, {value}]"), vec![]),
        (format!("[perl, -e, 'print', {value}]"), vec![3, 4]),
        ("[ls, -l]".to_owned(), vec![2]),
    ] {
        assert_eq!(guarded(&format!("argv: {argv}")), expected, "{argv}");
        assert_eq!(guarded(&format!("argv: {argv}, allow_options: true")), [0; 0], "{argv}");
    }
    let source = "source: { type: process, configuration: { command: [rm], pass_to: arg } }, input: '{{ params.p }}'";
    assert_eq!(guarded(source), [0; 0]);
}

#[test]
fn what_has_no_effect_is_refused() {
    let call = "
flow:
  - { name: call, flow: child.yaml, retry: 2, key: k, limits: [db], when: 'true', on_error: continue }
";
    let loaded = load_texts(&[
        ("flow.yaml", call),
        ("child.yaml", "limits: { db: 1 }\nflow: [{ name: a, run: x, limits: [db] }]\n"),
    ]);
    let problems: Vec<String> =
        loaded.problems.iter().map(|problem| problem.message.clone()).collect();
    assert_eq!(
        problems,
        [
            "`key` has no effect on a step that calls a flow",
            "`limits` has no effect on a step that calls a flow"
        ]
    );
    let others = "
flow:
  - { name: a, http: { url: 'http://localhost/' }, stdin: abc, retry: 2 }
  - { name: b, wait: { file: x }, env: { A: 1 }, timeout: 1s, cwd: / }
  - { name: c, run: x, stdin: abc, env: { A: 1 } }
";
    assert_eq!(
        places(others),
        [("contradiction", "abc".to_owned()), ("contradiction", "{ A: 1 }".to_owned())]
    );
}

#[test]
fn what_cannot_be_elsewhere_is_refused() {
    let text = "
flow:
  - { name: both, container: x, ssh: y, run: 'true' }
  - { name: bounded, container: x, rlimits: { memory: 1MiB }, run: 'true' }
  - { name: short, container: { image: x, options: [-m=1g] }, run: 'true' }
  - { name: missing, container: { mounts: ['.:/work'] }, run: 'true' }
  - { name: typo, ssh: { hots: y }, run: 'true' }
  - { name: option, ssh: { host: y, options: { 'Proxy Command': z } }, run: 'true' }
  - { name: asks, http: 'http://localhost/', container: x }
";
    let found = places(text);
    let is = |code: &str, at: &str| found.iter().any(|it| it.0 == code && it.1.contains(at));
    assert!(is("contradiction", "y"), "{found:?}");
    assert!(is("contradiction", "memory: 1MiB"), "{found:?}");
    assert!(is("bad-value", "-m=1g"), "{found:?}");
    assert!(is("missing-key", "mounts"), "{found:?}");
    assert!(is("unknown-key", "hots"), "{found:?}");
    assert!(is("bad-name", "'Proxy Command'"), "{found:?}");
    let asks = problems(text).into_iter().find(|it| it.2.contains("sends a request"));
    assert!(asks.is_some_and(|it| it.2.starts_with("`container` has no effect")), "{found:?}");
}

#[test]
fn what_another_host_cannot_leave_here_is_refused() {
    let steps = [
        ("outputs: [a, b]", "[a, b]"),
        ("outputs: { a: '{{ output.a }}', b: '{{ stdout }}' }", "output.a"),
        ("repeat: { until: 'output.done' }", "output.done"),
        ("artifacts: [report.txt]", "[report.txt]"),
        ("artifacts: $TIDEWHEEL_RUN_DIR/x", "$TIDEWHEEL_RUN_DIR/x"),
    ];
    for (said, at) in steps {
        let there = format!("flow: [{{ name: a, ssh: web, run: x, {said} }}]");
        let found = problems(&there);
        let [(code, pointed_at, words)] = &found[..] else { panic!("{said}: {found:?}") };
        assert_eq!((*code, pointed_at.as_str()), ("contradiction", at));
        let hint =
            if said.contains("artifacts") { "with a step of this machine" } else { "`stdout`" };
        assert!(words.contains("on another host") && words.contains(hint), "{words}");
        for here in [there.replace("ssh: web, ", ""), there.replace("ssh: web", "container: box")] {
            assert_eq!(codes(&here), [""; 0], "{here}");
        }
    }
    let looks = "flow: [{ name: a, ssh: web, wait: { run: x }, outputs: [a] }]";
    assert_eq!(codes(looks), ["contradiction"]);
    let printed = "flow: [{ name: a, ssh: web, run: x, outputs: { a: '{{ stdout }}' } }]";
    assert_eq!(codes(printed), [""; 0]);
}
