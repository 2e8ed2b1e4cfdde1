//! Programs that give tokens: cargo's credential providers, the helpers of pnpm, the keyring of Python's tools.
//!
//! Which of them is asked is in the files of the ecosystems. What they say is kept in memory alone, and asked again when a
//! registry does not take it any more.

use std::io::{BufRead as _, BufReader, Write as _};
use std::process::{Command, Stdio};

use serde_json::{Value as Json, json};

use super::secret::Secret;
use super::surroundings::Surroundings;

/// For what a provider of cargo is asked.
pub(super) struct Errand<'a> {
    /// The name of the registry.
    pub registry: &'a str,
    /// Its index, as cargo writes it.
    pub index: &'a str,
    /// The crate.
    pub name: &'a str,
    /// Its version.
    pub version: &'a str,
}

/// The first word of standard output of a program that gives a token.
pub(super) fn of_output(
    around: &Surroundings,
    words: &[String],
    variables: &[(&str, &str)],
) -> Option<Secret> {
    let key = format!("leave {}", words.join("\0"));
    let said = around.once(&key, || {
        let output = command(around, words)?.envs(variables.iter().copied()).output().ok()?;
        let text = String::from_utf8(output.stdout).ok().filter(|_| output.status.success())?;
        text.lines().next().map(|line| line.trim().to_owned())
    });
    Secret::new(&said?)
}

/// What a provider of cargo says, in the language that both speak: one line of JSON each.
pub(super) fn of_provider(
    around: &Surroundings,
    words: &[String],
    errand: &Errand<'_>,
) -> Option<Secret> {
    let key = format!("leave {} {}", errand.registry, words.join("\0"));
    let said = around.once(&key, || converse(around, words, errand));
    Secret::new(&said?)
}

fn converse(around: &Surroundings, words: &[String], errand: &Errand<'_>) -> Option<String> {
    let (program, arguments) = words.split_first()?;
    let words = [program.clone(), "--cargo-plugin".to_owned()];
    let mut child = command(around, &words)?.stdin(Stdio::piped()).spawn().ok()?;
    let request = json!({
        "v": 1,
        "registry": { "index-url": errand.index, "name": errand.registry },
        "kind": "get", "operation": "publish",
        "name": errand.name, "vers": errand.version, "cksum": "",
        "args": arguments,
    });
    let mut lines = BufReader::new(child.stdout.take()?).lines();
    let answered = (|| {
        let hello: Json = serde_json::from_str(&lines.next()?.ok()?).ok()?;
        hello.get("v")?.as_array()?.contains(&json!(1)).then_some(())?;
        writeln!(child.stdin.take()?, "{request}").ok()?;
        let answer: Json = serde_json::from_str(&lines.next()?.ok()?).ok()?;
        Some(answer.get("Ok")?.get("token")?.as_str()?.to_owned())
    })();
    // It has said all, or is not one that says anything.
    let _ = child.kill();
    let _ = child.wait();
    answered
}

/// A program with all that is around it: whoever gives tokens may need secrets of its own.
fn command(around: &Surroundings, words: &[String]) -> Option<Command> {
    let (program, arguments) = words.split_first()?;
    let mut command = Command::new(program);
    command.args(arguments).current_dir(&around.root).env_clear().envs(around.variables());
    command.stdin(Stdio::null()).stdout(Stdio::piped()).stderr(Stdio::null());
    Some(command)
}
