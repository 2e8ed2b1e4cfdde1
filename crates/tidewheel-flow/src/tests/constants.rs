//! Values without templates that can never work are refused before anything runs.

use super::load_texts;

/// What is said of a file, and of one that it can call: code, message and hint.
fn said(text: &str) -> Vec<String> {
    let child = "
name: child
params: { n: { type: int, min: 1, max: 3 }, w: { default: v1, pattern: 'v*' }, c: { default: a, choices: [a, b] } }
flow:
  - { name: check, run: x, outputs: { ok: '{{ stdout }}' } }
  - { name: inner, flow: leaf.yaml }
";
    let leaf = "name: leaf\nflow: [{ name: last, run: x, outputs: { out: '{{ stdout }}' } }]";
    let texts = [("f.yaml", text), ("child.yaml", child), ("leaf.yaml", leaf)];
    let loaded = load_texts(&texts);
    let said = loaded.problems.iter().map(|problem| {
        format!("{}: {} | {}", problem.code, problem.message, problem.hint.as_deref().unwrap_or(""))
    });
    said.collect()
}

/// That one thing is wrong with a step, and that it is said in these words.
fn assert_refused(step: &str, words: &[&str]) {
    let found = said(&format!("params: {{ p: 1 }}\nflow:\n  - {{ name: a, {step} }}\n"));
    let [only] = &found[..] else { panic!("{step}: {found:#?}") };
    for word in words {
        assert!(only.contains(word), "{step}: `{word}` is not in {only}");
    }
}

fn assert_accepted(step: &str) {
    let found = said(&format!("params: {{ p: 1 }}\nflow:\n  - {{ name: a, {step} }}\n"));
    assert_eq!(found, [""; 0], "{step}");
}

#[test]
fn what_is_done_for_each_is_a_list() {
    let words = ["wrong-type", "must be a list", "[a, b, c]"];
    assert_refused("run: x, foreach: 'a b c'", &words);
    assert_refused("run: x, foreach: { in: 'a b c' }", &words);
    assert_refused("run: x, matrix: { v: 'a b c' }", &["`matrix.v` must be a list"]);
    assert_accepted("run: x, foreach: '{{ [1, 2] }}'");
    assert_accepted("run: x, foreach: [a, '{{ params.p }}']");
}

#[test]
fn elements_that_stand_in_the_file_are_told_apart() {
    let matrix = "matrix: { os: [linux, mac] }";
    let words = ["bad-value", "two elements are called `same`", "{{ index }}"];
    assert_refused(&format!("run: x, {matrix}, label: same"), &words);
    let group = format!("steps: [{{ name: b, run: x, {matrix}, label: same }}]");
    assert_refused(&group, &words);
    let words = ["a label needs a letter", "n{{ index }}"];
    assert_refused("run: x, foreach: [1], label: '{{ item }}'", &words);
    // What the hints say helps.
    assert_accepted(&format!("run: x, {matrix}, label: '{{{{ index }}}}-same'"));
    assert_accepted("run: x, foreach: [1], label: 'n{{ index }}'");
    assert_accepted(&format!("run: x, {matrix}, label: '{{{{ matrix.os }}}}'"));
}

/// Whoever starts a run may say other params, so these are no errors.
#[test]
fn elements_that_only_defaults_make_alike_are_told() {
    let with = |params: &str, step: &str| {
        let text = format!("params: {{ {params} }}\nflow: [{{ name: a, run: x, {step} }}]");
        let loaded = load_texts(&[("f.yaml", &text)]);
        let told = loaded.problems.iter().map(|problem| {
            assert_eq!(problem.severity, crate::Severity::Warning, "{problem:?}");
            problem.message.clone()
        });
        told.collect::<Vec<_>>()
    };
    let list = "foreach: [a, '{{ params.p }}'], label: '{{ item }}'";
    let told = with("p: a", list);
    assert_eq!(told, ["`label`: with the defaults of the params two elements are called `a`"]);
    let told = with("p: 1", "foreach: [a, b], label: '{{ params.p }}'");
    assert!(told[0].ends_with("element 0 is called `1`: a label needs a letter"), "{told:?}");
    let told =
        with("p: [a, a], q: x", "foreach: '{{ params.p }}', label: '{{ params.q }}{{ item }}'");
    assert!(told[0].ends_with("two elements are called `xa`"), "{told:?}");
    assert_eq!(with("p: b", list), [""; 0]);
    // What has no default is known when a run is started.
    assert_eq!(with("p: { type: text }", list), [""; 0]);
    let group = format!(
        "flow: [{{ name: g, steps: [{{ name: a, run: x, {list} }}] }}]\nparams: {{ p: a }}"
    );
    assert_eq!(said(&group).len(), 1);
}

#[test]
fn labels_are_told_beside_other_problems() {
    let found = said(
        "flow: [{ name: a, run: x, foreach: [1], label: '{{ item }}' }, { name: b, run: x, retires: 1 }]",
    );
    assert!(found.len() == 2 && found.iter().any(|it| it.contains("needs a letter")), "{found:#?}");
    // What only follows is not told.
    let found = said("flow: [{ name: a, run: x, foreach: 'a b', label: '{{ item }}' }]");
    assert!(found.len() == 1 && found[0].starts_with("wrong-type"), "{found:#?}");
    let found = said("flow: [{ name: a, run: x, foreach: ['{{ itm }}'], label: '{{ item }}' }]");
    assert_eq!(found.len(), 1, "{found:#?}");
}

#[test]
fn params_of_called_flows_fit() {
    let call = |with: &str| format!("flow: child.yaml, with: {{ {with} }}");
    assert_refused(&call("n: many"), &["bad-value", "param `n` of flow `child`", "a whole number"]);
    assert_refused(&call("n: 0"), &["must be at least 1"]);
    assert_refused(&call("n: 4"), &["must be at most 3"]);
    assert_refused(&call("n: ~"), &["`null` is not a whole number"]);
    assert_refused(&call("n: 1, w: x"), &["does not look like `v*`"]);
    assert_refused(&call("n: 1, c: z"), &["must be one of a, b"]);
    assert_accepted(&call("n: '{{ params.p }}', w: v2, c: b"));
}

#[test]
fn requests_have_somewhere_to_go() {
    for url in ["localhost:8080/x", "/x", "example.org", "?q=1"] {
        let words = ["bad-value", url, "does not begin with http:// or https://"];
        assert_refused(&format!("http: '{url}'"), &words);
        assert_refused(&format!("wait: {{ http: {{ url: '{url}' }} }}"), &words);
        let source = format!("source: {{ type: rest, configuration: {{ url: '{url}' }} }}");
        assert_refused(&source, &words);
    }
    assert_refused(
        "http: 'ftp://example.org/x'",
        &["`ftp://example.org/x`", "only http and https"],
    );
    assert_refused("http: 'http://'", &["cannot be read"]);
    assert_refused("http: { url: 'http://x', method: 'GE T' }", &["`GE T` is no method"]);
    assert_accepted("http: { url: 'HTTPS://example.org', method: get }");
    assert_accepted("http: { url: '{{ params.p }}/x', method: '{{ params.p }} x' }");
}

#[test]
fn programs_have_a_name() {
    assert_refused("run: ''", &["missing-key", "`run` has no command"]);
    assert_refused("run: ' '", &["`run` has no command"]);
    assert_refused("argv: ['']", &["missing-key", "`argv` must name a program"]);
    assert_refused("argv: [~, x]", &["`argv` must name a program"]);
    let source = "source: { type: process, configuration: { command: [''] } }";
    assert_refused(source, &["`command` must name a program"]);
    assert_accepted("argv: ['{{ params.p }}', '']");
}

#[test]
fn names_in_called_flows_and_of_the_run_are_known() {
    let use_of = |template: &str| {
        format!(
            "flow:\n  - {{ name: c, flow: child.yaml, with: {{ n: 1 }} }}\n  \
             - {{ name: each, flow: child.yaml, with: {{ n: 1 }}, foreach: [1] }}\n  \
             - {{ name: a, argv: [x, '{{{{ {template} }}}}'] }}\n"
        )
    };
    for (template, words) in [
        ("flows.c.check.zz", "missing-output: step `check` has no output `zz` | its outputs: ok"),
        (
            "flows.c.chek",
            "missing-output: step `c` calls flow `child`, which has no step `chek` | did you mean `check`?",
        ),
        (
            "flows.c.inner.last.ou",
            "missing-output: step `last` has no output `ou` | did you mean `out`?",
        ),
        (
            "flows.c.inner.none",
            "missing-output: step `inner` calls flow `leaf`, which has no step `none` | its steps: last",
        ),
        (
            "flows.each.chek",
            "missing-output: step `each` calls flow `child`, which has no step `chek` | did you mean `check`?",
        ),
        ("run.idd", "unknown-name: `run` has no `idd` | did you mean `run.id`?"),
        (
            "run.colour",
            "unknown-name: `run` has no `colour` | it has id, flow, step, attempt, folder, started_at, scheduled_at",
        ),
    ] {
        assert_eq!(said(&use_of(template)), [words], "{template}");
    }
    for template in [
        "flows.c.check.ok",
        "flows.c.check",
        "flows.c.inner.last.out",
        "flows.c.check.zz | default(1)",
        "flows.each.check[0].ok",
        "run.id ~ run.flow ~ run.step ~ run.attempt ~ run.folder",
    ] {
        assert_eq!(said(&use_of(template)), [""; 0], "{template}");
    }
}

#[test]
fn texts_that_are_taken_as_they_stand_have_no_templates() {
    assert_refused(
        "foreach: [1], wait: { approval: 'go {{ item }}?' }",
        &["wrong-place", "`approval` is taken as it stands"],
    );
    assert_refused("run: x, key: '{{ params.p }}'", &["wrong-place", "`key` is taken"]);
    assert_accepted("run: x, key: 'a {b}'");
    assert_accepted("wait: { approval: true }");
}

#[test]
fn of_an_answer_nothing_is_known_that_only_programs_have() {
    let words =
        "unknown-name: there is no `stdout` here | known here: data, json, status, code, headers, ";
    for rest in ["outputs: { x: '{{ stdout }}' }", "repeat: { until: \"'x' in stdout\" }"] {
        let told = said(&format!("flow: [{{ name: a, http: 'http://x', {rest} }}]"));
        assert_eq!(told.len(), 1, "{told:?}");
        assert!(told[0].starts_with(words) || rest.starts_with("repeat"), "{told:?}");
        assert!(told[0].starts_with("unknown-name: there is no `stdout` here"), "{told:?}");
    }
    assert_eq!(
        said("flow: [{ name: a, http: 'http://x', outputs: { x: '{{ json.a }}' } }]"),
        [""; 0]
    );
}

#[test]
fn a_list_that_cannot_be_read_is_told_once() {
    let words = "bad-template: there is no filter `from_json` | perhaps `fromjson` is meant";
    for list in ["foreach: '{{ [] | from_json }}'", "matrix: { a: '{{ [] | from_json }}' }"] {
        assert_eq!(said(&format!("flow: [{{ name: a, {list}, run: x }}]")), [words], "{list}");
    }
    let text = said("flow: [{ name: a, foreach: 'b c', run: x }]");
    assert!(text[0].ends_with("| write a list: [b, c]"), "{text:?}");
}
