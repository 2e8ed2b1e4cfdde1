//! Steps whose program runs in a container, by whichever engine is there.
//!
//! The engine's client is a process like any other. What it started elsewhere is removed here, when the client was
//! ended before it could do that itself, and after a crash of ours.

use std::collections::BTreeMap;
use std::ffi::{OsStr, OsString};
use std::fs;
use std::io::{self, Write};
use std::os::unix::fs::PermissionsExt;
use std::path::{Path, PathBuf};
use std::process::{Command, Output, Stdio};
use std::thread;
use std::time::{Duration, Instant};

use tidewheel::Attempt;
use tidewheel::executor::process::{
    ProcessCommand, ProcessEnd, ProcessError, ProcessStatus, Stdin,
};
use tidewheel::file::{make_private_file, make_private_folder};
use tidewheel::id::AttemptId;

use super::context::Position;
use super::elsewhere::{Carried, inner_words};
use super::end::Trouble;
use super::runner::FlowRunner;
use super::world::World;
use crate::definition::{Container, Pull};
use crate::language::problem::quote;
use crate::language::template::Context;

/// The engines that are looked for, in this order.
const ENGINES: [&str; 3] = ["docker", "podman", "nerdctl"];

/// What clients of engines read from our environment.
const CLIENT_VARIABLES: [&str; 10] = [
    "DOCKER_*",
    "CONTAINER_*",
    "CONTAINERS_*",
    "CONTAINERD_*",
    "NERDCTL_*",
    "REGISTRY_AUTH_FILE",
    "XDG_RUNTIME_DIR",
    "XDG_CONFIG_HOME",
    "XDG_DATA_HOME",
    "DBUS_SESSION_BUS_ADDRESS",
];

/// What clients of all engines exit with when they fail themselves.
const CLIENT_FAILED: i32 = 125;

/// How long removing a container may take: it is killed, and its layers are taken away.
const REMOVAL_MAX: Duration = Duration::from_secs(60);

/// A container that may be there.
#[derive(Debug)]
pub(super) struct LeftContainer {
    engine: PathBuf,
    name: String,
    /// The file that says so, for whoever comes after a crash.
    marker: Option<PathBuf>,
}

impl FlowRunner {
    /// The command that runs another one in a container.
    pub(super) fn in_container(
        &self,
        container: &Container,
        command: ProcessCommand,
        position: &Position,
        context: &Context,
        attempt: &Attempt,
    ) -> Result<Carried, Trouble> {
        let engine = self.engine(container)?;
        let name = name_of(attempt.attempt_id());
        let inherited = self.inherited_names(position);
        let mut variables = self.for_the_program(&command);
        for (name, tree) in &container.env {
            variables.insert(name.into(), tree.render_text(context)?.into());
        }
        let mut words: Vec<OsString> = vec![engine.clone().into(), "run".into(), "--rm".into()];
        words.push(option("name", &name));
        for (label, value) in labels(attempt.attempt_id()) {
            words.push(option("label", format!("tidewheel.{label}={value}")));
        }
        words.extend(said_options(container, context)?);
        let folder = self.folder_of(position, context)?;
        for tree in &container.mounts {
            words.push(option("volume", mount(&tree.render_text(context)?, &folder)?));
        }
        words.extend(shared_places(&variables)?);
        let mut for_client = BTreeMap::new();
        for (name, value) in &variables {
            words.push(option("env", self.env_word(name, value, &mut for_client)?));
        }
        // These the client has already.
        for name in inherited.iter().map(String::as_str).chain(["TIDEWHEEL_TASK_INDEX"]) {
            words.push(option("env", name));
        }
        if !matches!(command.parts().stdin, Stdin::Null) {
            words.push("--interactive".into());
        }
        words.extend(container.options.iter().map(OsString::from));
        let image = container.image.render_text(context)?;
        if image.trim().is_empty() || image.starts_with('-') {
            let image = quote(&self.secrets.mask(&image));
            return Err(Trouble::permanent(format!("container.image: {image} is no image")));
        }
        // The program of the step runs, whatever the image would start by itself.
        let mut program = inner_words(&command).into_iter();
        words.push(option("entrypoint", program.next().unwrap_or_default()));
        words.push(image.into());
        words.extend(program);
        let names: Vec<String> =
            CLIENT_VARIABLES.iter().map(|name| (*name).to_owned()).chain(inherited).collect();
        let marker = self.mark_container(attempt.attempt_id(), &engine)?;
        Ok(Carried {
            command: command.carried_by(words, for_client).inherit_also(names),
            container: Some(LeftContainer { engine, name, marker }),
        })
    }

    /// How a variable is handed to the client: by its name, since everybody sees a command line. What
    /// the client itself would obey stands there all the same, unless it is a secret.
    fn env_word(
        &self,
        name: &OsStr,
        value: &OsString,
        for_client: &mut BTreeMap<OsString, OsString>,
    ) -> Result<OsString, Trouble> {
        if !is_obeyed(&name.to_string_lossy()) {
            for_client.insert(name.to_owned(), value.clone());
            return Ok(name.to_owned());
        }
        if let Some(secret) = self.secrets.found_in(&value.to_string_lossy()) {
            let name = name.to_string_lossy();
            return Err(Trouble::permanent(format!(
                "env.{name}: it holds the secret `{secret}`, and this name means something to the container \
                 engine too, so that it would have to stand on a command line; give it another name"
            )));
        }
        let mut word = name.to_owned();
        word.push("=");
        word.push(value);
        Ok(word)
    }

    fn engine(&self, container: &Container) -> Result<PathBuf, Trouble> {
        let chosen = container.engine.as_deref().or(self.means.engine.as_deref());
        let path = self.means.world.variables().into_iter().find(|(name, _)| name == "PATH");
        let path = path.map(|(_, value)| value).unwrap_or_default();
        let found = match chosen {
            Some(name) if name.contains('/') => Some(PathBuf::from(name)),
            Some(name) => program_in(&path, name),
            None => ENGINES.iter().find_map(|name| program_in(&path, name)),
        };
        found.ok_or_else(|| {
            Trouble::permanent(match chosen {
                Some(name) => format!("the container engine {} is not in PATH", quote(name)),
                None => format!(
                    "there is no container engine: none of {} is in PATH; install one, or say which \
                     with the setting `container.engine`",
                    ENGINES.join(", ")
                ),
            })
        })
    }

    /// Notes that a container may be there, before it is.
    fn mark_container(
        &self,
        attempt: AttemptId,
        engine: &Path,
    ) -> Result<Option<PathBuf>, Trouble> {
        let Some(folder) = &self.means.containers else { return Ok(None) };
        let marker = folder.join(name_of(attempt));
        let mark = || {
            make_private_folder(folder)?;
            let mut file = make_private_file(&marker)?;
            file.write_all(engine.as_os_str().as_encoded_bytes())
        };
        mark().map_err(|error| Trouble::passing(format!("{}: {error}", marker.display())))?;
        Ok(Some(marker))
    }
}

impl LeftContainer {
    /// Sees to it that it is gone once its client has ended; a warning if that cannot be done.
    pub async fn follow(
        self,
        end: &Result<ProcessEnd, ProcessError>,
        world: &dyn World,
    ) -> Option<String> {
        let is_gone = match end {
            // The client has removed it, unless it failed itself: it may have made one by then.
            Ok(end) => {
                let code = match end.status {
                    ProcessStatus::Exited(code) => Some(code),
                    ProcessStatus::Signalled { .. } => None,
                };
                !end.was_stopped && code.is_some_and(|code| code != CLIENT_FAILED)
            }
            Err(
                ProcessError::Descriptors { .. }
                | ProcessError::NotStarted { .. }
                | ProcessError::SpawnerNotStarted { .. },
            ) => true,
            Err(_) => false,
        };
        match is_gone {
            true => {
                self.unmark();
                None
            }
            false => self.remove(world).await,
        }
    }

    fn unmark(self) {
        if let Some(marker) = self.marker {
            let _ = fs::remove_file(marker);
        }
    }

    async fn remove(self, world: &dyn World) -> Option<String> {
        let ask = async |words: Vec<OsString>| {
            let command = ProcessCommand::argv(words).inherit_also(CLIENT_VARIABLES).unlogged();
            world.ask(&command, REMOVAL_MAX).await
        };
        // It had its time; some engines would grant it more.
        let _ = ask(killing(&self.engine, &self.name)).await;
        let why = match ask(removal(&self.engine, &self.name)).await {
            Ok(end) if end.status.is_success() || is_missing(&end.tail) => None,
            Ok(end) if end.was_stopped => {
                Some(format!("its engine did not answer within {} s", REMOVAL_MAX.as_secs()))
            }
            Ok(end) => Some(format!("{}: {}", end.status, end.tail.trim())),
            Err(error) => Some(error.to_string()),
        };
        let name = self.name.clone();
        if why.is_none() {
            self.unmark();
        }
        why.map(|why| format!("its container {name} could not be removed: {why}"))
    }
}

/// An option and its value, as one word: a value is no option itself.
fn option(name: &str, value: impl AsRef<OsStr>) -> OsString {
    let mut word = OsString::from(format!("--{name}="));
    word.push(value);
    word
}

/// What a container says about itself.
fn said_options(container: &Container, context: &Context) -> Result<Vec<OsString>, Trouble> {
    let mut words: Vec<OsString> =
        container.pull.iter().map(|pull| option("pull", pull.word())).collect();
    let said = [
        ("workdir", &container.workdir),
        ("user", &container.user),
        ("network", &container.network),
    ];
    for (name, tree) in said {
        if let Some(tree) = tree {
            words.push(option(name, tree.render_text(context)?));
        }
    }
    Ok(words)
}

/// What it keeps and writes for others is at the same place there.
fn shared_places(variables: &BTreeMap<OsString, OsString>) -> Result<Vec<OsString>, Trouble> {
    let names = ["TIDEWHEEL_RUN_DIR", "TIDEWHEEL_OUTPUT"].map(OsStr::new);
    let mut words = Vec::new();
    for path in names.into_iter().filter_map(|name| variables.get(name)) {
        make_file(Path::new(path)).map_err(|error| Trouble::passing(error.to_string()))?;
        let mut mount = path.clone();
        mount.push(":");
        mount.push(path);
        words.push(option("volume", mount));
    }
    Ok(words)
}

/// Runs a program that may hang, and ends it then.
fn output_of(words: &[OsString], patience: Duration) -> io::Result<Output> {
    const LOOK: Duration = Duration::from_millis(20);
    let mut command = Command::new(&words[0]);
    command.args(&words[1..]).stdin(Stdio::null()).stdout(Stdio::null()).stderr(Stdio::piped());
    let mut child = command.spawn()?;
    let begin = Instant::now();
    while child.try_wait()?.is_none() {
        if begin.elapsed() >= patience {
            child.kill()?;
            child.wait()?;
            let text = format!("it did not answer within {} s", patience.as_secs());
            return Err(io::Error::new(io::ErrorKind::TimedOut, text));
        }
        thread::sleep(LOOK);
    }
    child.wait_with_output()
}

/// Removes what is left of containers of attempts that were under way when their owner died. It blocks.
///
/// # Errors
///
/// What cannot be removed, and what to do.
pub fn remove_containers(folder: &Path, attempts: &[AttemptId]) -> Result<(), io::Error> {
    for attempt in attempts {
        let name = name_of(*attempt);
        let marker = folder.join(&name);
        let Ok(engine) = fs::read_to_string(&marker) else { continue };
        let _ = output_of(&killing(Path::new(&engine), &name), REMOVAL_MAX);
        let ended = output_of(&removal(Path::new(&engine), &name), REMOVAL_MAX);
        let why = match ended {
            Ok(output) if output.status.success() => None,
            Ok(output) => {
                let said = String::from_utf8_lossy(&output.stderr).into_owned();
                (!is_missing(&said)).then_some(said)
            }
            Err(error) => Some(error.to_string()),
        };
        if let Some(why) = why {
            return Err(io::Error::other(format!(
                "the container {name} of a step that was interrupted cannot be removed by {engine}: {}; \
                 remove it, then the file {}",
                why.trim(),
                marker.display()
            )));
        }
        fs::remove_file(&marker)?;
    }
    Ok(())
}

fn killing(engine: &Path, name: &str) -> Vec<OsString> {
    vec![engine.into(), "kill".into(), name.into()]
}

fn removal(engine: &Path, name: &str) -> Vec<OsString> {
    vec![engine.into(), "rm".into(), "--force".into(), "--volumes".into(), name.into()]
}

/// Whether an engine says that there is no such container. Some say so with success, some do not.
fn is_missing(said: &str) -> bool {
    said.to_ascii_lowercase().contains("no such container")
}

/// The same for all who look for it, and for no other attempt.
fn name_of(attempt: AttemptId) -> String {
    format!("tidewheel-{}-{}-{}", attempt.task.run, attempt.task.index, attempt.number)
}

fn labels(attempt: AttemptId) -> [(&'static str, String); 3] {
    [
        ("run", attempt.task.run.to_string()),
        ("task", attempt.task.to_string()),
        ("attempt", attempt.to_string()),
    ]
}

/// Whether clients of engines look at a variable of this name themselves.
fn is_obeyed(name: &str) -> bool {
    let starts = [
        "LD_",
        "XDG_",
        "DOCKER_",
        "CONTAINER",
        "NERDCTL_",
        "BUILDAH_",
        "PODMAN_",
        "CNI_",
        "STORAGE_",
        "REGISTRY_",
        "SSH_",
        "SSL_",
        "GO",
        "DBUS_",
        "_",
        "LISTEN_",
        "NOTIFY_",
    ];
    let whole = ["PATH", "HOME", "TMPDIR", "USER", "LOGNAME", "SHELL"];
    starts.iter().any(|start| name.starts_with(start))
        || whole.contains(&name)
        || name.to_ascii_uppercase().ends_with("_PROXY")
}

/// `here:there[:options]` with the folder here as a whole path; a name without a slash is a volume.
fn mount(text: &str, folder: &Path) -> Result<OsString, Trouble> {
    let parts: Vec<&str> = text.split(':').collect();
    let (here, rest) = match parts[..] {
        [here, there] => (here, there.to_owned()),
        [here, there, options] => (here, format!("{there}:{options}")),
        _ => ("", String::new()),
    };
    if here.is_empty() || !rest.starts_with('/') {
        return Err(Trouble::permanent(format!(
            "container.mounts: {} is not of the form  folder:/folder/there  or  folder:/folder/there:ro",
            quote(text)
        )));
    }
    let mut mount = match here.contains('/') || here.starts_with('.') {
        true => normal(&folder.join(here)).into_os_string(),
        false => here.into(),
    };
    mount.push(":");
    mount.push(rest);
    Ok(mount)
}

/// A path without `.` in it, which engines take for a part of its name.
fn normal(path: &Path) -> PathBuf {
    path.components().filter(|part| !matches!(part, std::path::Component::CurDir)).collect()
}

/// Makes an empty file, where there is nothing: only what is there can be mounted.
fn make_file(path: &Path) -> io::Result<()> {
    match path.exists() {
        true => Ok(()),
        false => fs::write(path, ""),
    }
}

fn program_in(path: &OsStr, name: &str) -> Option<PathBuf> {
    let mut places = std::env::split_paths(path).filter(|folder| folder.is_absolute());
    places.find_map(|folder| {
        let program = folder.join(name);
        let is_program = fs::metadata(&program)
            .is_ok_and(|it| it.is_file() && it.permissions().mode() & 0o111 != 0);
        is_program.then_some(program)
    })
}

impl Pull {
    pub const fn word(self) -> &'static str {
        match self {
            Self::Missing => "missing",
            Self::Always => "always",
            Self::Never => "never",
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn mounted(text: &str) -> Option<String> {
        mount(text, Path::new("/flows")).ok().map(|it| it.into_string().unwrap())
    }

    #[test]
    fn folders_are_mounted_from_where_the_step_is() {
        let some = |text: &str| Some(text.to_owned());
        assert_eq!(mounted(".:/work"), some("/flows:/work"));
        assert_eq!(mounted("./data:/data:ro"), some("/flows/data:/data:ro"));
        assert_eq!(mounted("/etc/x:/x"), some("/etc/x:/x"));
        assert_eq!(mounted("cache:/root/.cache"), some("cache:/root/.cache"));
        for bad in ["", "/work", ":/work", ".:work", "a:/b:c:d", "/a:"] {
            assert_eq!(mounted(bad), None, "{bad}");
        }
    }

    #[test]
    fn an_engine_that_hangs_is_ended() {
        let words = ["sleep", "1000"].map(OsString::from);
        let error = output_of(&words, Duration::from_millis(30)).unwrap_err();
        assert_eq!(error.kind(), io::ErrorKind::TimedOut);
    }

    #[test]
    fn names_that_engines_obey_are_known() {
        for name in ["PATH", "LD_PRELOAD", "DOCKER_HOST", "CONTAINERS_CONF", "https_proxy", "HOME"]
        {
            assert!(is_obeyed(name), "{name}");
        }
        for name in ["TOKEN", "TIDEWHEEL_STEP", "PGPASSWORD", "LANG", "PATHS"] {
            assert!(!is_obeyed(name), "{name}");
        }
    }
}
