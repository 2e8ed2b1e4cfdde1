//! Steps whose program runs on another host, by OpenSSH.
//!
//! The far side is told what to do by a text on its standard input, in which every value stands in quotes: none is
//! ever read as program text, and none stands on a command line, here or there. Behind the text comes what the
//! program itself reads.

use std::ffi::OsString;
use std::os::unix::ffi::OsStrExt;
use std::path::Path;
use std::sync::Arc;
use std::time::Duration;

use tidewheel::executor::process::{ProcessCommand, Stdin};

use super::context::Position;
use super::elsewhere::{Carried, inner_words};
use super::end::Trouble;
use super::runner::FlowRunner;
use crate::definition::Remote;
use crate::language::problem::quote;
use crate::language::template::Context;
use crate::language::words::quoted;

/// What ssh reads from our environment beside the usual.
const CLIENT_VARIABLES: [&str; 2] = ["SSH_AUTH_SOCK", "XDG_RUNTIME_DIR"];

/// What cannot be said otherwise: nobody is there to be asked, and a connection is not shared, because what runs
/// on a shared one does not end with us.
const FIXED: [&str; 5] = [
    "BatchMode=yes",
    "ControlMaster=no",
    "ControlPath=none",
    "RequestTTY=no",
    "ClearAllForwardings=yes",
];

/// What a step can say otherwise.
const USUAL: [&str; 4] = [
    "StrictHostKeyChecking=yes",
    "ConnectTimeout=10",
    "ServerAliveInterval=15",
    "ServerAliveCountMax=4",
];

/// How long the far side has from TERM to KILL where nothing is said.
const GRACE: Duration = Duration::from_secs(10);

impl FlowRunner {
    /// The command that runs another one on another host.
    pub(super) fn on_host(
        &self,
        remote: &Remote,
        command: ProcessCommand,
        position: &Position,
        context: &Context,
    ) -> Result<Carried, Trouble> {
        let mut words: Vec<OsString> = ["ssh", "-T", "-a", "-x"].map(OsString::from).to_vec();
        let said = remote.options.iter().map(|(name, value)| format!("{name}={value}"));
        let fixed = FIXED.iter().map(|it| (*it).to_owned());
        // Of two that say the same thing the first counts.
        for option in fixed.chain(said).chain(USUAL.iter().map(|it| (*it).to_owned())) {
            words.extend(["-o".into(), option.into()]);
        }
        if let Some(port) = remote.port {
            words.extend(["-p".into(), port.to_string().into()]);
        }
        if let Some(tree) = &remote.identity {
            let key = self.folder_of(position, context)?.join(tree.render_text(context)?);
            words.extend(["-o".into(), "IdentitiesOnly=yes".into(), "-i".into(), key.into()]);
        }
        if let Some(tree) = &remote.user {
            words.extend(["-l".into(), plain("user", tree.render_text(context)?)?.into()]);
        }
        let host = plain("host", remote.host.render_text(context)?)?;
        let workdir = match &remote.workdir {
            Some(tree) => Some(tree.render_text(context)?),
            None => None,
        };
        let grace = position.step.surroundings.grace.unwrap_or(GRACE);
        let script = self.script(&command, position, workdir.as_deref(), grace)?;
        words.extend(["--".into(), host.into(), start(script.len()).into()]);
        let mut read = script;
        if let Stdin::Bytes(bytes) = command.parts().stdin {
            read.extend_from_slice(bytes);
        }
        let carried = command.carried_by(words, Default::default());
        let carried = carried.inherit_also(CLIENT_VARIABLES).stdin(Stdin::Bytes(Arc::from(read)));
        Ok(Carried { command: carried, container: None })
    }

    /// What the far side is told. It is one command, so that half of it is none.
    fn script(
        &self,
        command: &ProcessCommand,
        position: &Position,
        workdir: Option<&str>,
        grace: Duration,
    ) -> Result<Vec<u8>, Trouble> {
        let mut script = b"{\n".to_vec();
        let mut export = |name: &[u8], value: &[u8]| {
            script.extend([b"export ", name, b"=", &*quoted(value), b"\n"].concat());
        };
        for name in self.inherited_names(position) {
            let found = self.means.world.variables().into_iter().find(|(own, _)| *own == *name);
            // Names with other letters are none to a shell.
            if let Some((_, value)) = found.filter(|_| is_name(name.as_bytes())) {
                export(name.as_bytes(), value.as_bytes());
            }
        }
        for (name, value) in self.for_the_program(command) {
            // These are folders of this machine.
            if name != "TIDEWHEEL_RUN_DIR" && name != "TIDEWHEEL_OUTPUT" && is_name(name.as_bytes())
            {
                export(name.as_bytes(), value.as_bytes());
            }
        }
        script.extend(watch(grace).into_bytes());
        if let Some(workdir) = workdir {
            script.extend([b"cd ".as_slice(), &quoted_path(workdir), b" || exit\n"].concat());
        }
        script.extend(b"exec");
        for word in inner_words(command) {
            script.extend([b" ".as_slice(), &quoted(word.as_bytes())].concat());
        }
        script.extend(b"\n}\n");
        match script.contains(&0) {
            true => Err(Trouble::permanent("a value holds a zero byte, which no shell can take")),
            false => Ok(script),
        }
    }
}

/// What starts the far side, in whatever shell the user there has: it reads the script, byte by byte so as to
/// leave the rest to the program, and runs it.
fn start(length: usize) -> String {
    format!("exec /bin/sh -c 's=$(dd bs=1 count={length} 2>/dev/null) && eval \"$s\"'")
}

/// A watch that ends all that the step started there once its program has ended, or the connection has: the
/// server by itself leaves it running.
fn watch(grace: Duration) -> String {
    let grace = grace.as_secs().max(1);
    format!(
        "tidewheel_of=$PPID; kill -0 \"$tidewheel_of\" 2>/dev/null || tidewheel_of=$$\n\
         ( trap '' HUP INT TERM\n\
         while kill -0 $$ && kill -0 \"$tidewheel_of\"; do sleep 1; done\n\
         left=1; kill -0 $$ && left={grace}\n\
         kill -TERM -$$ || kill -TERM $$\n\
         sleep $left; kill -KILL -$$ || kill -KILL $$\n\
         ) </dev/null >/dev/null 2>&1 &\n"
    )
}

/// A folder there; one that begins with a dash is no option.
fn quoted_path(path: &str) -> Vec<u8> {
    match Path::new(path).is_absolute() || path.starts_with('.') {
        true => quoted(path.as_bytes()),
        false => quoted(format!("./{path}").as_bytes()),
    }
}

/// A word that ssh takes for nothing but what it is.
fn plain(key: &str, text: String) -> Result<String, Trouble> {
    let is_plain = |letter: char| letter.is_alphanumeric() || "@.:_-%[]".contains(letter);
    match !text.is_empty() && !text.starts_with('-') && text.chars().all(is_plain) {
        true => Ok(text),
        false => Err(Trouble::permanent(format!("ssh.{key}: {} is none", quote(&text)))),
    }
}

fn is_name(name: &[u8]) -> bool {
    let is_letter = |byte: &u8| byte.is_ascii_alphanumeric() || *byte == b'_';
    name.iter().all(is_letter) && name.first().is_some_and(|first| !first.is_ascii_digit())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn hosts_and_users_are_plain_words() {
        for good in ["host", "user@host.example", "10.0.0.1", "[::1]", "web-1_a"] {
            assert!(plain("host", good.to_owned()).is_ok(), "{good}");
        }
        for bad in ["", "-oProxyCommand=x", "a b", "a;b", "$(id)", "a\nb", "a`b"] {
            assert!(plain("host", bad.to_owned()).is_err(), "{bad}");
        }
    }
}
