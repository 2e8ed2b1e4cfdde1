//! Steps whose programs run elsewhere: in containers by a real podman, and on another host by a real sshd, both
//! of this machine. The image is made here of a busybox; no registry is asked.

use std::fs;
use std::fs::File;
use std::io::Read as _;
use std::net::{TcpListener, TcpStream};
use std::os::fd::OwnedFd;
use std::os::unix::fs::PermissionsExt as _;
use std::path::Path;
use std::process::{Command, Output, Stdio};

use crate::common::{Scratch, is_alive, skipped, stderr, stdout, wait_until};
use serde_json::{Value, json};

const SECRET: &str = "s3cr3t-value-of-the-test";
const IMAGE: &str = "localhost/tidewheel-test:1";

/// A podman with a storage of its own.
struct Podman {
    scratch: Scratch,
}

impl Podman {
    /// `None`, and said, where it cannot run.
    fn new(name: &str) -> Option<Self> {
        let scratch = Scratch::new(name);
        let storage = scratch.path("storage");
        let text = format!(
            "[storage]\ndriver = \"vfs\"\ngraphroot = \"{0}/graph\"\nrunroot = \"{0}/run\"\n",
            storage.display()
        );
        scratch.file("storage.conf", &text);
        let podman = Self { scratch };
        match podman.set_up() {
            Ok(()) => Some(podman),
            Err(why) => {
                skipped(name, &format!("containers cannot run here: {why}"));
                None
            }
        }
    }

    fn set_up(&self) -> Result<(), String> {
        let root = self.scratch.path("image");
        let busybox = ["/bin/busybox", "/usr/bin/busybox"];
        let busybox =
            busybox.iter().find(|it| Path::new(it).exists()).ok_or("there is no busybox")?;
        fs::create_dir_all(root.join("bin")).unwrap();
        fs::create_dir_all(root.join("tmp")).unwrap();
        fs::copy(busybox, root.join("bin/busybox")).unwrap();
        for name in ["sh", "cat", "echo", "sleep", "touch", "env", "pwd", "printf"] {
            std::os::unix::fs::symlink("busybox", root.join("bin").join(name)).unwrap();
        }
        let image = self.scratch.path("image.tar");
        let mut tar = Command::new("tar");
        let packed = tar.arg("-C").arg(&root).arg("-cf").arg(&image).arg(".").status();
        assert!(packed.unwrap().success());
        let mut why = String::new();
        // The usual runtime, and one for machines with few descriptors or old control groups.
        for engine in ["", "[engine]\nruntime = \"runc\"\n"] {
            let limits = "default_ulimits = [\"nofile=1024:1024\", \"nproc=1024:1024\"]";
            let text = format!("[containers]\nnetns = \"none\"\n{limits}\n{engine}");
            self.scratch.file("containers.conf", &text);
            let imported = self.podman(&["import", image.to_str().unwrap(), IMAGE])?;
            let ran = self.podman(&["run", "--rm", IMAGE, "/bin/echo", "hello"])?;
            if imported.status.success() && stdout(&ran) == "hello\n" {
                return Ok(());
            }
            why = stderr(&imported) + &stderr(&ran);
        }
        Err(why.trim().to_owned())
    }

    fn podman(&self, arguments: &[&str]) -> Result<Output, String> {
        let mut command = Command::new("podman");
        command.args(arguments).envs(self.variables()).stdin(Stdio::null());
        command.output().map_err(|error| format!("podman: {error}"))
    }

    fn variables(&self) -> [(&'static str, String); 2] {
        let path = |name: &str| self.scratch.path(name).to_str().unwrap().to_owned();
        [
            ("CONTAINERS_CONF", path("containers.conf")),
            ("CONTAINERS_STORAGE_CONF", path("storage.conf")),
        ]
    }

    /// The program, with all that the engine needs.
    fn command(&self, arguments: &[&str]) -> Command {
        let mut command = self.scratch.command(arguments);
        command.envs(self.variables()).env("TIDEWHEEL_CONTAINER_ENGINE", "podman");
        command
    }

    /// All containers that there are.
    fn containers(&self) -> String {
        stdout(&self.podman(&["ps", "--all", "--format", "{{.Names}}"]).unwrap())
    }
}

impl Drop for Podman {
    fn drop(&mut self) {
        let _ = self.podman(&["rm", "--force", "--all"]);
    }
}

fn outputs(output: &Output) -> Value {
    assert_eq!(output.status.code(), Some(0), "{}", stderr(output));
    serde_json::from_slice(&output.stdout).unwrap()
}

#[test]
fn what_a_client_that_failed_itself_may_have_made_is_removed() {
    let scratch = Scratch::new("client-failed");
    let text = "#!/bin/sh\necho \"$@\" >>\"$0.log\"\n[ \"$1\" != run ] || exit 125\n";
    let engine = scratch.file("engine", text);
    fs::set_permissions(&engine, fs::Permissions::from_mode(0o755)).unwrap();
    let flow = "flow: [{ name: a, container: { image: box, engine: ENGINE }, run: x }]";
    let file = scratch.file("flow.yaml", &flow.replace("ENGINE", &engine));
    let output = scratch.command(&["run", &file]).output().unwrap();
    assert_eq!(output.status.code(), Some(1), "{}", stderr(&output));
    let log = fs::read_to_string(scratch.path("engine.log")).unwrap();
    let asked: Vec<_> = log.lines().map(|line| line.split(' ').next().unwrap()).collect();
    assert_eq!(asked, ["run", "kill", "rm"], "{log}");
    assert!(log.contains("rm --force --volumes tidewheel-"), "{log}");
}

#[test]
fn a_program_runs_in_a_container() {
    let Some(podman) = Podman::new("container") else { return };
    podman.scratch.file("token", SECRET);
    podman.scratch.file("here.txt", "from here");
    let file = podman.scratch.file(
        "flow.yaml",
        &format!(
            r#"
secrets: {{ token: {{ file: token }} }}
params: {{ nasty: "'; touch /work/pwned; $(touch /work/pwned) '" }}
flow:
  - name: shell
    container: {{ image: "{IMAGE}", mounts: [".:/work"], workdir: /work, env: {{ EXTRA: "{{{{ 1 + 1 }}}}" }} }}
    env: {{ NASTY: "{{{{ params.nasty }}}}", TOKEN: "{{{{ secrets.token }}}}", PATH: "/bin:/odd" }}
    stdin: given
    run: |
      echo "$TOKEN" >&2
      echo "$(pwd) $EXTRA $NASTY $PATH $(cat) $(cat here.txt) $TIDEWHEEL_STEP"
      echo "written=yes" >>"$TIDEWHEEL_OUTPUT"
      echo kept >"$TIDEWHEEL_RUN_DIR/file"
    outputs: {{ said: "{{{{ stdout | trim }}}}" }}
  - name: wrote
    container: "{IMAGE}"
    run: echo written=yes >"$TIDEWHEEL_OUTPUT"
    outputs: [written]
  - name: argv
    container: {{ image: "{IMAGE}", pull: never, user: "1000", options: ["--hostname=box"] }}
    argv: [/bin/printf, "[%s]", "{{{{ params.nasty }}}}"]
    outputs: {{ said: "{{{{ stdout }}}}" }}
  - name: code
    container: "{IMAGE}"
    run: exit 7
    on_error: continue
  - name: no-image
    container: {{ image: localhost/tidewheel-none:1, pull: never }}
    run: "true"
    on_error: continue
"#
        ),
    );
    let output = podman.command(&["run", &file, "--outputs", "--format", "json"]).output().unwrap();
    let told = stdout(&output) + &stderr(&output);
    let outputs = outputs(&output);
    let nasty = "'; touch /work/pwned; $(touch /work/pwned) '";
    let said = format!("/work 2 {nasty} /bin:/odd given from here shell");
    assert_eq!(outputs["shell"]["said"], json!(said));
    assert_eq!(outputs["wrote"]["written"], json!("yes"));
    assert_eq!(outputs["argv"]["said"], json!(format!("[{nasty}]")));
    assert!(!podman.scratch.path("pwned").exists());
    assert!(!told.contains(SECRET), "{told}");
    let shown = podman.command(&["show", "last", "--format", "json"]).output().unwrap();
    let shown: Value = serde_json::from_slice(&shown.stdout).unwrap();
    let error = |step: &str| shown["steps"][step]["error"].as_str().unwrap_or_default().to_owned();
    assert!(error("code").contains("exit code 7"), "{shown}");
    assert!(error("no-image").contains("exit code 125"), "{shown}");
    let logs = podman.command(&["logs", "last", "shell"]).output().unwrap();
    assert_eq!(stderr(&logs), "***\n");
    assert_eq!(podman.containers(), "");
    assert_eq!(fs::read_dir(podman.scratch.data().join("containers")).unwrap().count(), 0);
}

#[test]
fn the_example_with_a_container_runs() {
    let Some(podman) = Podman::new("container-example") else { return };
    let example = concat!(env!("CARGO_MANIFEST_DIR"), "/../../examples/flows/container.yaml");
    let image = format!("image={IMAGE}");
    let command = ["run", example, "--param", &image, "--outputs", "--format", "json"];
    let outputs = outputs(&podman.command(&command).output().unwrap());
    assert_eq!(outputs["report"]["total"], json!("7"));
    let kept = podman.command(&["artifacts", "last", "--get", "report.txt"]).output().unwrap();
    assert_eq!(stdout(&kept), "Stock of container: 7\n", "{}", stderr(&kept));
    assert_eq!(podman.containers(), "");
}

#[test]
fn a_container_ends_with_its_attempt_and_its_secrets_are_on_no_command_line() {
    let Some(podman) = Podman::new("container-stop") else { return };
    podman.scratch.file("token", SECRET);
    let file = podman.scratch.file(
        "flow.yaml",
        &format!(
            r#"
secrets: {{ token: {{ file: token }} }}
flow:
  - name: long
    container: {{ image: "{IMAGE}", mounts: [".:/work"], env: {{ TOKEN: "{{{{ secrets.token }}}}" }} }}
    run: trap '' TERM; touch /work/began; while true; do sleep 1; done
    grace: 1s
"#
        ),
    );
    let mut running = podman.command(&["run", &file]).stderr(Stdio::piped()).spawn().unwrap();
    podman.scratch.wait_for("began");
    assert!(podman.containers().starts_with("tidewheel-"), "{}", podman.containers());
    assert_eq!(commands_with(SECRET), Vec::<String>::new());
    let cancelled = podman.command(&["cancel", "last"]).output().unwrap();
    assert!(cancelled.status.success(), "{}", stderr(&cancelled));
    assert!(!running.wait().unwrap().success());
    assert_eq!(podman.containers(), "");
}

#[test]
fn a_container_of_a_process_that_was_killed_is_removed_before_anything_goes_on() {
    let Some(podman) = Podman::new("container-crash") else { return };
    let file = podman.scratch.file(
        "flow.yaml",
        &format!(
            r#"
flow:
  - name: long
    container: {{ image: "{IMAGE}", mounts: [".:/work"] }}
    run: |
      if [ -e /work/began ]; then exit 0; fi
      touch /work/began
      while true; do sleep 1; done
"#
        ),
    );
    let mut running = podman.command(&["run", &file]).stderr(Stdio::null()).spawn().unwrap();
    podman.scratch.wait_for("began");
    running.kill().unwrap();
    running.wait().unwrap();
    let first = podman.containers();
    assert!(first.starts_with("tidewheel-"), "{first}");
    let resumed = podman.command(&["resume", "last"]).output().unwrap();
    assert_eq!(resumed.status.code(), Some(0), "{}", stderr(&resumed));
    assert_eq!(podman.containers(), "");
    assert_eq!(fs::read_dir(podman.scratch.data().join("containers")).unwrap().count(), 0);
}

#[test]
fn without_an_engine_the_error_says_what_to_do() {
    let scratch = Scratch::new("no-engine");
    let file = scratch.file("flow.yaml", "flow: [{ name: a, container: x, run: 'true' }]\n");
    let output = scratch.command(&["run", &file]).env("PATH", "/nowhere").output().unwrap();
    assert_eq!(output.status.code(), Some(1));
    let told = stderr(&output);
    assert!(told.contains("none of docker, podman, nerdctl is in PATH; install one"), "{told}");
}

/// Command lines of this machine that hold a text.
fn commands_with(text: &str) -> Vec<String> {
    let folders = fs::read_dir("/proc").unwrap().filter_map(|entry| Some(entry.ok()?.path()));
    let lines = folders.filter_map(|folder| fs::read(folder.join("cmdline")).ok());
    let lines = lines.map(|line| String::from_utf8_lossy(&line).replace('\0', " "));
    lines.filter(|line| line.contains(text)).collect()
}

/// A server of OpenSSH for the user of the test.
///
/// The test listens, and starts a server for each connection as inetd does. So no port is freed for another process to
/// take.
struct Sshd {
    scratch: Scratch,
    port: u16,
}

impl Sshd {
    /// `None`, and said, where it cannot run.
    fn start(name: &str) -> Option<Self> {
        let scratch = Scratch::new(name);
        match Self::try_start(&scratch) {
            Ok(port) => Some(Self { scratch, port }),
            Err(why) => {
                skipped(name, &format!("there is no server of OpenSSH here: {why}"));
                None
            }
        }
    }

    fn try_start(scratch: &Scratch) -> Result<u16, String> {
        let sshd = Path::new("/usr/sbin/sshd");
        if !sshd.exists() || !Path::new("/usr/bin/ssh").exists() {
            return Err("sshd or ssh is missing".to_owned());
        }
        // The server changes into it before it knows who comes. Without the right to make it there is none.
        let _ = fs::create_dir("/run/sshd");
        let path = |name: &str| scratch.path(name).to_str().unwrap().to_owned();
        for key in ["host", "key"] {
            let mut keygen = Command::new("ssh-keygen");
            keygen.args(["-q", "-t", "ed25519", "-N", "", "-f", &path(key)]);
            let made = keygen.status().map_err(|error| error.to_string())?;
            assert!(made.success());
        }
        let listener = TcpListener::bind("127.0.0.1:0").unwrap();
        let port = listener.local_addr().unwrap().port();
        let config = format!(
            "HostKey {}\nAuthorizedKeysFile {}\nStrictModes no\n\
             UsePAM no\nPidFile none\nPasswordAuthentication no\nSetEnv HOME={}\n",
            path("host"),
            path("key.pub"),
            // Start-up files of the user that runs the tests must have no effect.
            path(""),
        );
        let config = scratch.file("sshd_config", &config);
        let host = scratch.read("host.pub");
        scratch.file("known", &format!("[127.0.0.1]:{port} {host}"));
        let checked = Command::new(sshd).args(["-t", "-f", &config]).output();
        let checked = checked.map_err(|error| error.to_string())?;
        if !checked.status.success() {
            return Err(stderr(&checked).trim().to_owned());
        }
        let log = scratch.path("sshd.log");
        // The thread ends with the process of the test.
        std::thread::spawn(move || {
            for stream in listener.incoming() {
                let stream = OwnedFd::from(stream.unwrap());
                let log = File::options().create(true).append(true).open(&log).unwrap();
                let mut server = Command::new(sshd);
                server.args(["-i", "-e", "-f", &config]).stderr(log);
                server.stdin(stream.try_clone().unwrap()).stdout(stream);
                let mut server = server.spawn().unwrap();
                std::thread::spawn(move || server.wait());
            }
        });
        let mut banner = [0; 4];
        let mut stream = TcpStream::connect(("127.0.0.1", port)).unwrap();
        match stream.read_exact(&mut banner) {
            Ok(()) if &banner == b"SSH-" => Ok(port),
            _ => Err(scratch.read("sshd.log").trim().to_owned()),
        }
    }

    /// How a step says this host.
    fn host(&self) -> String {
        let known = self.scratch.path("known");
        format!(
            "{{ host: 127.0.0.1, port: {}, identity: key, workdir: {}, options: {{ UserKnownHostsFile: {} }} }}",
            self.port,
            self.scratch.path("").display(),
            known.display()
        )
    }
}

#[test]
fn a_program_runs_on_another_host_and_values_stay_values() {
    let Some(sshd) = Sshd::start("ssh") else { return };
    sshd.scratch.file("token", SECRET);
    let host = sshd.host();
    let file = sshd.scratch.file(
        "flow.yaml",
        &format!(
            r#"
secrets: {{ token: {{ file: token }} }}
params: {{ nasty: "'; touch pwned; $(touch pwned) \\ \"`touch pwned`" }}
flow:
  - name: shell
    ssh: {host}
    env: {{ NASTY: "{{{{ params.nasty }}}}", TOKEN: "{{{{ secrets.token }}}}" }}
    stdin: "given\n"
    run: |
      echo "$TOKEN" >&2
      printf '%s|%s|%s|%s' "$NASTY" "$(cat)" "$TIDEWHEEL_STEP" "$(pwd)"
    outputs: {{ said: "{{{{ stdout }}}}" }}
  - name: argv
    ssh: {host}
    argv: [printf, "[%s]", "{{{{ params.nasty }}}}", "a b", ""]
    outputs: {{ said: "{{{{ stdout }}}}" }}
  - {{ name: code, ssh: {host}, run: "false; exit 8", on_error: continue }}
  - {{ name: stranger, ssh: {{ host: 127.0.0.1, port: {0}, identity: key, options: {{ UserKnownHostsFile: /dev/null }} }}, run: touch pwned, on_error: continue }}
  - {{ name: option, ssh: {{ host: "{{{{ '-oProxyCommand=touch pwned' }}}}" }}, run: "true", on_error: continue }}
"#,
            sshd.port
        ),
    );
    let output = sshd.scratch.run(&["run", &file, "--outputs", "--format", "json"]);
    let told = stdout(&output) + &stderr(&output);
    let outputs = outputs(&output);
    let nasty = "'; touch pwned; $(touch pwned) \\ \"`touch pwned`";
    let folder = fs::canonicalize(sshd.scratch.path("")).unwrap();
    let said = format!("{nasty}|given|shell|{}", folder.display());
    assert_eq!(outputs["shell"]["said"], json!(said));
    assert_eq!(outputs["argv"]["said"], json!(format!("[{nasty}][a b][]")));
    assert!(!sshd.scratch.path("pwned").exists());
    assert!(!told.contains(SECRET), "{told}");
    let shown = sshd.scratch.json(&["show", "last"]);
    let error = |step: &str| shown["steps"][step]["error"].as_str().unwrap_or_default().to_owned();
    assert!(error("code").contains("exit code 1"), "{shown}");
    assert!(error("stranger").contains("Host key verification failed"), "{shown}");
    assert!(error("option").contains("ssh.host: `-oProxyCommand=touch pwned` is none"), "{shown}");
    assert_eq!(stderr(&sshd.scratch.run(&["logs", "last", "shell"])), "***\n");
}

#[test]
fn what_runs_on_another_host_ends_with_its_attempt() {
    let Some(sshd) = Sshd::start("ssh-stop") else { return };
    sshd.scratch.file("token", SECRET);
    let host = sshd.host();
    let file = sshd.scratch.file(
        "flow.yaml",
        &format!(
            r#"
secrets: {{ token: {{ file: token }} }}
flow:
  - name: long
    ssh: {host}
    env: {{ TOKEN: "{{{{ secrets.token }}}}" }}
    grace: 1s
    run: |
      ( trap '' TERM; echo $$ >deaf.part; mv deaf.part deaf; while true; do sleep 1; done ) &
      echo $$ >main.part; mv main.part main
      sleep 600
"#
        ),
    );
    let running = sshd.scratch.start(&["run", &file]);
    for name in ["deaf", "main"] {
        sshd.scratch.wait_for(name);
    }
    let main: u32 = sshd.scratch.read("main").trim().parse().unwrap();
    assert!(is_alive(&main.to_string()));
    let group = move || processes_of(main);
    assert!(group() > 2);
    assert_eq!(commands_with(SECRET), Vec::<String>::new());
    running.signal("KILL");
    drop(running.output());
    wait_until("nothing is left there", || group() == 0);
}

/// How many processes of a session there are.
fn processes_of(session: u32) -> usize {
    let folders = fs::read_dir("/proc").unwrap().filter_map(|entry| Some(entry.ok()?.path()));
    let stats = folders.filter_map(|folder| fs::read_to_string(folder.join("stat")).ok());
    let is_of = |stat: &String| {
        // Behind the name, which may hold anything: state, parent, group, session.
        let rest = stat.rsplit_once(") ").map_or("", |(_, rest)| rest);
        rest.split(' ').nth(3) == Some(session.to_string().as_str()) && !rest.starts_with('Z')
    };
    stats.filter(is_of).count()
}
