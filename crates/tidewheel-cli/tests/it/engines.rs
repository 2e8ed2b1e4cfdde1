//! Which container engine is used, and what is said to it: by stand-ins that write down how they are called.
//!
//! Real containers are in `elsewhere`.

use std::fs;
use std::os::unix::fs::PermissionsExt as _;
use std::process::Output;

use crate::common::{Scratch, stderr};

const STEP: &str = "flow: [{ name: a, run: make, container: debian:13 }]";

/// A folder of programs that is all there is in `PATH`.
struct Engines {
    scratch: Scratch,
}

impl Engines {
    /// Stand-ins of these names. Each word of a call is a line in a file, with the name first and an empty line
    /// last; then `run` does what is given.
    fn new(name: &str, engines: &[&str], run: &str) -> Self {
        let scratch = Scratch::new(name);
        fs::create_dir_all(scratch.path("bin")).unwrap();
        let calls = scratch.path("calls");
        for engine in engines {
            let script = format!(
                "#!/bin/sh\n{{ printf '%s\\n' {engine} \"$@\"; printf '\\n'; }} >> '{}'\n\
                 case \"$1\" in run) {run} ;; esac\n",
                calls.display()
            );
            scratch.file(&format!("bin/{engine}"), &script);
            let path = scratch.path(&format!("bin/{engine}"));
            fs::set_permissions(path, fs::Permissions::from_mode(0o755)).unwrap();
        }
        Self { scratch }
    }

    fn run(&self, flow: &str, variables: &[(&str, &str)]) -> Output {
        let file = self.scratch.file("flow.yaml", flow);
        let mut command = self.scratch.command(&["run", &file]);
        command.env("PATH", self.scratch.path("bin")).env_remove("TIDEWHEEL_CONTAINER_ENGINE");
        command.envs(variables.iter().copied()).output().unwrap()
    }

    /// The words of each call.
    fn calls(&self) -> Vec<Vec<String>> {
        let text = fs::read_to_string(self.scratch.path("calls")).unwrap_or_default();
        let calls = text.split("\n\n").filter(|call| !call.is_empty());
        calls.map(|call| call.lines().map(str::to_owned).collect()).collect()
    }
}

#[test]
fn the_first_engine_that_is_there_is_used_unless_one_is_named() {
    let all = ["docker", "podman", "nerdctl"];
    let named = "flow: [{ name: a, run: make, container: { image: debian:13, engine: nerdctl } }]";
    let setting = [("TIDEWHEEL_CONTAINER_ENGINE", "podman")];
    for (engines, flow, variables, used) in [
        (&all[..], STEP, &[][..], "docker"),
        (&all[1..], STEP, &[], "podman"),
        (&all[2..], STEP, &[], "nerdctl"),
        (&all, STEP, &setting, "podman"),
        (&all, named, &setting, "nerdctl"),
    ] {
        let engines = Engines::new("engine-choice", engines, ":");
        let output = engines.run(flow, variables);
        assert_eq!(output.status.code(), Some(0), "{}", stderr(&output));
        let used_now: Vec<String> =
            engines.calls().into_iter().map(|call| call[0].clone()).collect();
        assert_eq!(used_now, [used], "{}", stderr(&output));
    }
    let none = Engines::new("engine-none", &[], ":");
    let output = none.run(STEP, &[]);
    assert_eq!(output.status.code(), Some(1));
    let error = "there is no container engine: none of docker, podman, nerdctl is in PATH";
    assert!(stderr(&output).contains(error), "{}", stderr(&output));
}

#[test]
fn every_engine_is_told_the_same_and_no_value_stands_on_its_command_line() {
    let flow = r#"
        params: { who: "$(touch pwned)" }
        flow:
          - name: a
            env: { WHO: "{{ params.who }}" }
            run: make "$WHO"
            container:
              image: debian:13
              mounts: [./src:/src:ro, cache:/cache]
              env: { STAGE: test }
              pull: never
              workdir: /src
              user: nobody
              network: none
              options: [--memory=1g]
        "#;
    for engine in ["docker", "podman", "nerdctl"] {
        let engines = Engines::new("engine-words", &[engine], ":");
        let output = engines.run(flow, &[]);
        assert_eq!(output.status.code(), Some(0), "{}", stderr(&output));
        let calls = engines.calls();
        let [call] = &calls[..] else { panic!("{calls:?}") };
        assert_eq!(call[..3], [engine, "run", "--rm"]);
        let source = engines.scratch.path("src");
        for word in [
            format!("--volume={}:/src:ro", source.display()),
            "--volume=cache:/cache".to_owned(),
            "--pull=never".to_owned(),
            "--workdir=/src".to_owned(),
            "--user=nobody".to_owned(),
            "--network=none".to_owned(),
            "--env=WHO".to_owned(),
            "--env=STAGE".to_owned(),
            "--memory=1g".to_owned(),
        ] {
            assert!(call.contains(&word), "{word}: {call:?}");
        }
        assert!(call.iter().any(|word| word.starts_with("--name=tidewheel-")), "{call:?}");
        let last = ["--entrypoint=/bin/sh", "debian:13", "-ec", "make \"$WHO\""];
        assert_eq!(call[call.len() - last.len()..], last);
        assert!(!call.iter().any(|word| word.contains("pwned")), "{call:?}");
    }
}

#[test]
fn every_engine_removes_what_a_timeout_leaves() {
    for engine in ["docker", "podman", "nerdctl"] {
        let engines = Engines::new("engine-timeout", &[engine], "exec /bin/sleep 600");
        let flow =
            "flow: [{ name: a, run: make, container: debian:13, timeout: 100ms, grace: 100ms }]";
        let output = engines.run(flow, &[]);
        assert_eq!(output.status.code(), Some(1), "{}", stderr(&output));
        let calls = engines.calls();
        let removes = calls.iter().find(|call| call[0] == engine && call[1] == "rm").unwrap();
        let name = removes.iter().find(|word| word.starts_with("tidewheel-")).unwrap();
        // The time may be over before the stand-in has written down that it was started.
        let started = calls[0].iter().find_map(|word| word.strip_prefix("--name="));
        assert!(started.is_none_or(|started| started == name), "{calls:?}");
    }
}
