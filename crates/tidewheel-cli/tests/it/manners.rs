//! The command among others: signals that were ignored, owners that do not answer, limits of the system.
//!
//! What steps do is tried in the other files.

use std::io::{Read as _, Write as _};
use std::net::TcpListener;
use std::process::{Child, Command, Stdio};

use crate::common::{Scratch, read_until, skipped, stderr, stdout, wait_until};
use tidewheel_testing::Gate;

/// A step that runs until a file is there.
const HELD: &str = "
flow:
  - { name: a, run: 'touch started; while [ ! -e go ]; do sleep 0.02; done' }
  - { name: b, depends_on: [a], run: touch b }
";

/// The command by a shell that does something first.
fn after(scratch: &Scratch, first: &str, arguments: &[&str]) -> Command {
    let own = scratch.command(arguments);
    let mut command = Command::new("sh");
    command.args(["-c", &format!("{first}; exec \"$@\""), "sh"]);
    command.arg(own.get_program()).args(own.get_args()).current_dir(scratch.path(""));
    for (name, value) in own.get_envs() {
        match value {
            Some(value) => command.env(name, value),
            None => command.env_remove(name),
        };
    }
    command.stdin(Stdio::null()).stdout(Stdio::piped()).stderr(Stdio::piped());
    command
}

#[test]
fn an_ignored_hang_up_stays_ignored() {
    let scratch = Scratch::new("manners-nohup");
    let file = scratch.file("flow.yaml", HELD);
    let child = after(&scratch, "trap '' HUP INT", &["run", &file]).spawn().unwrap();
    scratch.wait_for("started");
    for signal in ["-HUP", "-INT"] {
        Command::new("kill").args([signal, &child.id().to_string()]).status().unwrap();
    }
    scratch.file("go", "");
    let output = child.wait_with_output().unwrap();
    assert_eq!(output.status.code(), Some(0), "{}", stderr(&output));
    assert!(scratch.path("b").exists());
}

/// As in the background of a script, while somebody interrupts what is in front.
#[test]
fn an_ignored_interrupt_does_not_end_a_server() {
    let scratch = Scratch::new("manners-serve");
    std::fs::create_dir(scratch.path("flows")).unwrap();
    let serve = ["serve", "--flows", "flows", "--listen", "off"];
    let mut child = after(&scratch, "trap '' INT", &serve).spawn().unwrap();
    let id = child.id().to_string();
    let send = |signal: &str| {
        assert!(Command::new("kill").args([signal, &id]).status().unwrap().success());
    };
    let said = child.stderr.as_mut().unwrap();
    read_until(said, "listening on no port");
    send("-INT");
    scratch.file("flows/a.yaml", "flow: [{ name: one, run: 'true' }]\n");
    send("-HUP");
    let heard = read_until(said, "a: a new version is in force");
    assert!(!heard.contains("stopping"), "{heard}");
    send("-TERM");
    assert_eq!(child.wait_with_output().unwrap().status.code(), Some(0));
}

#[test]
fn what_nobody_has_heard_is_said_to_be_asked() {
    let scratch = Scratch::new("manners-frozen");
    let file = scratch.file("flow.yaml", HELD);
    let running = scratch.start(&["run", &file]);
    scratch.wait_for("started");
    running.signal("STOP");
    let paused = scratch.run(&["pause", "last"]);
    assert_eq!(paused.status.code(), Some(5), "{}", stderr(&paused));
    assert!(stdout(&paused).contains("asked to be paused"), "{}", stdout(&paused));
    let resumed = scratch.run(&["resume", "last"]);
    assert_eq!(resumed.status.code(), Some(5), "{}", stderr(&resumed));
    assert!(stdout(&resumed).contains("asked to go on"), "{}", stdout(&resumed));
    assert_eq!(scratch.run(&["pause", "last"]).status.code(), Some(5));
    let explained = scratch.json(&["explain", "last"]);
    let why = explained["why"].as_str().unwrap();
    assert!(why.contains("does not answer"), "{explained}");
    running.signal("CONT");
    wait_until("the run is paused", || scratch.json(&["show", "last"])["state"] == "paused");
    // Awake, it is heard.
    let cancelled = scratch.json(&["cancel", "last"]);
    assert_eq!((&cancelled["asked"], &cancelled["heard"]), (&"cancelled".into(), &true.into()));
    drop(running.output());
    assert!(!scratch.path("b").exists());
}

#[test]
fn a_cancel_that_waits_for_what_is_left_says_so() {
    let scratch = Scratch::new("manners-left");
    let file = scratch.file("flow.yaml", HELD);
    let running = scratch.start(&["run", &file]);
    scratch.wait_for("started");
    // The only child of any of its threads; steps are children of that.
    let threads = std::fs::read_dir(format!("/proc/{}/task", running.pid())).unwrap();
    let children = threads.map(|thread| thread.unwrap().path().join("children"));
    let spawner: String = children.map(|path| std::fs::read_to_string(path).unwrap()).collect();
    let spawner = spawner.trim().to_owned();
    let signal = |name: &str, pid: &str| {
        assert!(Command::new("kill").args([name, pid]).status().unwrap().success());
    };
    // It holds the shard of its dead owner for as long as it cannot go away.
    signal("-STOP", &spawner);
    running.signal("KILL");
    drop(running.output());
    let mut command = scratch.command(&["cancel", "last"]);
    let mut cancel = command.stdout(Stdio::piped()).stderr(Stdio::piped()).spawn().unwrap();
    let mut said = cancel.stderr.take().unwrap();
    read_until(&mut said, "until what it left behind has ended");
    signal("-CONT", &spawner);
    let output = cancel.wait_with_output().unwrap();
    assert_eq!(output.status.code(), Some(0), "{}", stdout(&output));
    assert_eq!(scratch.json(&["show", "last"])["state"], "cancelled");
}

#[test]
fn a_cancel_gives_each_step_the_time_it_asks_for() {
    let scratch = Scratch::new("manners-grace");
    // Without its own grace the step would have an hour, and the test would hang.
    let file = scratch.file(
        "flow.yaml",
        "
flow:
  - name: a
    grace: 200ms
    run: trap '' TERM; touch started; while true; do sleep 0.02; done
",
    );
    let mut command = scratch.command(&["run", &file]);
    command.env("TIDEWHEEL_PROCESS_GRACE", "1h").stdout(Stdio::null()).stderr(Stdio::null());
    let mut running = command.spawn().unwrap();
    scratch.wait_for("started");
    scratch.json(&["cancel", "last"]);
    assert_eq!(running.wait().unwrap().code(), Some(1));
    assert_eq!(scratch.json(&["show", "last"])["steps"]["a"]["state"], "cancelled");
}

#[test]
fn a_request_ends_as_soon_as_it_is_told_to() {
    let scratch = Scratch::new("manners-request");
    // It takes the request, and never answers.
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let address = listener.local_addr().unwrap();
    let file = scratch.file(
        "flow.yaml",
        &format!("flow: [{{ name: ask, http: {{ url: 'http://{address}/' }}, retry: 0 }}]"),
    );
    let mut command = scratch.command(&["run", &file]);
    command.env("TIDEWHEEL_HTTP_ALLOW_PRIVATE", "true");
    // A request that had this time would make the test hang.
    command.env("TIDEWHEEL_PROCESS_GRACE", "1h");
    command.stdout(Stdio::piped()).stderr(Stdio::piped());
    let running = command.spawn().unwrap();
    let (mut stream, _) = listener.accept().unwrap();
    let _ = stream.read(&mut [0; 1024]).unwrap();
    scratch.json(&["cancel", "last"]);
    let output = running.wait_with_output().unwrap();
    assert_eq!(output.status.code(), Some(1), "{}", stderr(&output));
    assert_eq!(scratch.json(&["show", "last"])["steps"]["ask"]["state"], "cancelled");
    let _ = stream.write_all(b"HTTP/1.1 204 No Content\r\n\r\n");
}

#[test]
fn steps_that_find_no_descriptors_wait_for_them() {
    for (limit, is_raised) in [("ulimit -S -n 64", true), ("ulimit -n 64", false)] {
        let scratch = Scratch::new("manners-descriptors");
        let gate = Gate::new(&scratch.path("gate"));
        let text = format!("    run: ulimit -n >> limits; {}\n", gate.wait());
        let child = sixty(&scratch, &text, limit);
        let started = || std::fs::read_to_string(scratch.path("limits")).unwrap_or_default();
        if is_raised {
            wait_until("all run at once", || started().lines().count() == 60);
        } else {
            wait_until("one waits for descriptors", || has_waited(&scratch));
        }
        gate.open();
        let output = child.wait_with_output().unwrap();
        assert_eq!(output.status.code(), Some(0), "{}", stderr(&output));
        // Children have the soft limit as it was.
        assert!(started().lines().all(|limit| limit == "64"), "{}", started());
    }
}

/// Starts a flow with one step for each of sixty elements, by a shell with less than they need.
fn sixty(scratch: &Scratch, step: &str, limit: &str) -> Child {
    let elements: Vec<String> = (0..60).map(|number| number.to_string()).collect();
    let elements = elements.join(", ");
    let text = format!("flow:\n  - name: each\n    foreach: [{elements}]\n{step}");
    let file = scratch.file("flow.yaml", &text);
    let arguments = ["run", &file, "--max-workers", "60", "--format", "json"];
    after(scratch, limit, &arguments).spawn().unwrap()
}

/// Whether a step of the run was put off for want of something.
fn has_waited(scratch: &Scratch) -> bool {
    let shown = scratch.run(&["show", "last", "--format", "json"]);
    let shown: serde_json::Value = serde_json::from_slice(&shown.stdout).unwrap_or_default();
    let steps = shown["steps"].as_object();
    steps.is_some_and(|steps| steps.values().any(|step| step["attempts"].as_u64() > Some(1)))
}

#[test]
fn what_steps_wrote_without_descriptors_is_whole() {
    let scratch = Scratch::new("manners-words");
    let gate = Gate::new(&scratch.path("gate"));
    // Each wants a file in memory for its input, two pipes, a log, and its outputs read.
    let step = format!(
        "    stdin: 'words {{{{ item }}}}'
    run: |
      cat; echo
      echo \"got=$TIDEWHEEL_STEP\" >> \"$TIDEWHEEL_OUTPUT\"
      {}
    outputs: [got]
",
        gate.wait()
    );
    let child = sixty(&scratch, &step, "ulimit -n 64");
    wait_until("one waits for descriptors", || has_waited(&scratch));
    gate.open();
    let output = child.wait_with_output().unwrap();
    assert_eq!(output.status.code(), Some(0), "{}", stderr(&output));
    assert!(!stderr(&output).contains("could not be kept"), "{}", stderr(&output));
    let run = scratch.json(&["show", "last"])["run_id"].as_str().unwrap().to_owned();
    let logs = std::fs::read_dir(scratch.data().join("logs").join(run)).unwrap();
    let logs = logs.map(|log| std::fs::read_to_string(log.unwrap().path()).unwrap());
    let mut logs: Vec<String> = logs.collect();
    logs.sort_unstable();
    let mut words: Vec<String> = (0..60).map(|number| format!("words {number}\n")).collect();
    words.sort_unstable();
    assert_eq!(logs, words);
}

/// The system counts the processes of a user, and those of root without end.
#[test]
fn steps_that_find_no_number_for_a_process_wait_for_one() {
    const NOBODY_ELSE: u32 = 54_321;
    let test = "steps_that_find_no_number_for_a_process_wait_for_one";
    let scratch = Scratch::new("manners-numbers");
    let gate = Gate::new(&scratch.path("gate"));
    let user = NOBODY_ELSE.to_string();
    let as_user = ["--reuid", &user, "--regid", &user, "--clear-groups", "--"];
    if std::os::unix::fs::chown(scratch.path(""), Some(NOBODY_ELSE), Some(NOBODY_ELSE)).is_err() {
        return skipped(test, "only root may become a user with few processes");
    }
    let program = scratch.command(&[]).get_program().to_owned();
    let tried = Command::new("setpriv").args(as_user).arg(program).arg("--version").output();
    if !tried.is_ok_and(|tried| tried.status.success()) {
        return skipped(test, "there is no setpriv, or nobody else may run the program");
    }
    let first =
        format!("ulimit -u 32 2>&- || ulimit -p 32; set -- setpriv {} \"$@\"", as_user.join(" "));
    let child = sixty(&scratch, &format!("    argv: [sh, -c, '{}']\n", gate.wait()), &first);
    wait_until("one waits for the number of a process", || has_waited(&scratch));
    gate.open();
    let output = child.wait_with_output().unwrap();
    assert_eq!(output.status.code(), Some(0), "{}", stderr(&output));
    let result: serde_json::Value = serde_json::from_slice(&output.stdout).unwrap();
    let steps = result["steps"].as_object().unwrap();
    let waited = steps.values().filter(|step| step["attempts"].as_u64() > Some(1)).count();
    assert!(waited > 0, "there were enough for all of them: {result}");
}

#[test]
fn a_system_that_gives_nothing_is_told_of() {
    let scratch = Scratch::new("manners-poor");
    let file = scratch.file("flow.yaml", HELD);
    let output = after(&scratch, "ulimit -n 9", &["run", &file]).output().unwrap();
    let text = stderr(&output);
    assert!(!text.contains("panicked") && output.status.code() != Some(70), "{text}");
    assert!(text.contains("error: "), "{text}");
}

#[test]
fn who_lost_a_run_to_another_process_says_how_it_ended() {
    let scratch = Scratch::new("manners-locks");
    let work = "echo begun >> begun; while [ ! -e go ]; do sleep 0.02; done";
    let file = scratch.file("flow.yaml", &format!("flow: [{{ name: a, run: '{work}' }}]"));
    let begun = |times: usize| {
        wait_until("it has begun so often", || {
            let begun = std::fs::read_to_string(scratch.path("begun")).unwrap_or_default();
            begun.lines().count() == times
        });
    };
    let first = scratch.start(&["run", &file]);
    begun(1);
    // Without its lock it is nobody's run, for all that others can see.
    std::fs::remove_dir_all(scratch.data().join("locks")).unwrap();
    let second = scratch.start(&["resume", "last"]);
    begun(2);
    scratch.file("go", "");
    let (first, second) = (first.output(), second.output());
    assert_eq!((first.status.code(), second.status.code()), (Some(0), Some(0)));
    let told = stderr(&first);
    assert!(told.contains("has ended elsewhere: succeeded"), "{told}");
}

#[test]
fn a_log_that_cannot_be_written_is_told_everywhere() {
    let scratch = Scratch::new("manners-log");
    let logs = scratch.data().join("logs");
    // Where there is a file, there can be no folder, whoever asks for it.
    let file = scratch.file(
        "flow.yaml",
        &format!(
            "flow: [{{ name: break, run: 'rm -r {0} && touch {0}' }}, \
             {{ name: a, depends_on: [break], run: echo words }}]",
            logs.display()
        ),
    );
    let output = scratch.run(&["run", &file]);
    assert_eq!(output.status.code(), Some(0), "{}", stderr(&output));
    std::fs::remove_file(&logs).unwrap();
    let told = "its standard output could not be kept";
    assert!(stderr(&output).contains(told), "{}", stderr(&output));
    assert!(stdout(&scratch.run(&["show", "last"])).contains(told));
    assert!(stderr(&scratch.run(&["logs", "last", "a"])).contains(told));
    let shown = scratch.json(&["show", "last"]);
    assert!(shown["steps"]["a"]["warnings"][0].as_str().unwrap().contains(told), "{shown}");
}

#[test]
fn what_is_odd_about_an_answer_is_in_the_result() {
    let scratch = Scratch::new("manners-warnings");
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let address = listener.local_addr().unwrap();
    let request = format!("{{ url: 'http://{address}/', insecure_tls: true }}");
    let file = scratch.file("flow.yaml", &format!("flow: [{{ name: ask, http: {request} }}]"));
    let mut command = scratch.command(&["run", &file, "--format", "json"]);
    command.env("TIDEWHEEL_HTTP_ALLOW_PRIVATE", "true");
    command.stdout(Stdio::piped()).stderr(Stdio::piped());
    let running = command.spawn().unwrap();
    let (mut stream, _) = listener.accept().unwrap();
    let _ = stream.read(&mut [0; 1024]).unwrap();
    let head = "HTTP/1.1 200 OK\r\nContent-Type: application/json\r\nContent-Length: 4\r\n\r\n";
    stream.write_all(format!("{head}oops").as_bytes()).unwrap();
    let output = running.wait_with_output().unwrap();
    assert_eq!(output.status.code(), Some(0), "{}", stderr(&output));
    let result: serde_json::Value = serde_json::from_slice(&output.stdout).unwrap();
    let shown = scratch.json(&["show", "last"]);
    for result in [result, shown] {
        let warnings = result["steps"]["ask"]["warnings"].to_string();
        assert!(warnings.contains("JSON") && warnings.contains("certificate"), "{result}");
    }
}

#[test]
fn one_step_is_ended_what_needs_it_is_skipped_and_the_others_go_on() {
    let scratch = Scratch::new("manners-one-step");
    let flow = "
name: fork
flow:
  - { name: slow, run: 'touch begun; sleep 600' }
  - { name: never, run: 'touch never', depends_on: [slow] }
  - { name: hold, run: 'touch held; while [ ! -e go ]; do sleep 0.02; done' }
  - { name: free, run: 'touch free', depends_on: [hold] }
";
    let file = scratch.file("flow.yaml", flow);
    let running = scratch.start(&["run", &file]);
    scratch.wait_for("begun");
    scratch.wait_for("held");
    let asked = scratch.json(&["cancel", "last", "slow"]);
    assert_eq!((&asked["step"], &asked["heard"]), (&"slow".into(), &true.into()), "{asked}");
    for (step, code) in [("slow", 5), ("nobody", 4)] {
        wait_until("it has ended", || {
            scratch.run(&["cancel", "last", step]).status.code() == Some(code)
        });
    }
    let both = scratch.run(&["cancel", "last", "hold", "--everything"]);
    assert_eq!(both.status.code(), Some(2), "{}", stderr(&both));
    scratch.file("go", "");
    running.output();
    assert!(scratch.path("free").exists() && !scratch.path("never").exists());
    let shown = stdout(&scratch.run(&["show", "last"]));
    assert!(shown.contains("cancelled") && shown.contains("skipped"), "{shown}");
}

/// Programs that read documents get documents, whatever steps write.
#[test]
fn every_byte_that_a_step_writes_leaves_documents_readable() {
    let scratch = Scratch::new("manners-bytes");
    let mut bytes: Vec<u8> = (0..=255).collect();
    // Signs that steer a terminal, as text in UTF-8.
    bytes.extend("\u{9b}31m\u{9d}0;x\u{9c}\u{85}".as_bytes());
    std::fs::write(scratch.path("bytes"), bytes).unwrap();
    let text = "
flow:
  - { name: keep, run: 'cat bytes; cat bytes >&2', outputs: { kept: '{{ stdout }}', said: '{{ stderr }}' } }
  - { name: fail, run: 'cat bytes; cat bytes >&2; exit 3' }
";
    let file = scratch.file("flow.yaml", text);
    let ran = scratch.run(&["run", &file, "--format", "json"]);
    assert_eq!(ran.status.code(), Some(1), "{}", stderr(&ran));
    let asked = [
        &["show", "last"][..],
        &["runs"],
        &["logs", "last"],
        &["explain", "last"],
        &["artifacts", "last"],
    ];
    let answers = asked.map(|words| scratch.run(&[words, &["--format", "json"]].concat()));
    for (words, output) in asked.iter().zip(&answers).chain([(&&["run"][..], &ran)]) {
        let text = std::str::from_utf8(&output.stdout).unwrap();
        assert!(!text.is_empty(), "{words:?}: {}", stderr(output));
        let is_document = |line: &str| serde_json::from_str::<serde_json::Value>(line).is_ok();
        assert!(is_document(text) || text.lines().all(is_document), "{words:?}: {text}");
        // A terminal that shows it obeys nothing.
        let obeyed = |letter: char| letter.is_control() && letter != '\n';
        assert!(!text.contains(obeyed), "{words:?}: {text}");
    }
}
