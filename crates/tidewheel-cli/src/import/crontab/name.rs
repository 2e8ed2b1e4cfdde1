//! A name for a flow, made of the command it runs: short, clean, and not taken yet.
//!
//! Where the file goes is not decided here.

use std::collections::BTreeSet;

use crate::import::step_names::take;

/// Longer names are cut.
const LENGTH_MAX: usize = 40;
/// Programs that only run another one.
const WRAPPERS: [&str; 21] = [
    "then",
    "do",
    "else",
    "while",
    "sudo",
    "doas",
    "nice",
    "ionice",
    "nohup",
    "env",
    "exec",
    "time",
    "timeout",
    "flock",
    "chronic",
    "setsid",
    "chrt",
    "command",
    "eval",
    "cronic",
    "systemd-cat",
];
/// Programs whose first argument says what is run.
const INTERPRETERS: [&str; 12] = [
    "sh", "bash", "dash", "zsh", "ksh", "python", "python2", "python3", "perl", "ruby", "php",
    "node",
];
/// Programs that say little about what an entry is for when another follows them.
const PREPARATIONS: [&str; 11] =
    ["cd", "test", "[", "[[", "export", "source", ".", "umask", "sleep", "set", "if"];
/// Endings of files that say in what language they are written.
const ENDINGS: [&str; 9] = [".sh", ".bash", ".py", ".pl", ".rb", ".php", ".js", ".cron", ".exe"];

/// The names that are taken.
#[derive(Debug, Default)]
pub(super) struct Names {
    taken: BTreeSet<String>,
}

impl Names {
    /// A name for the flow that runs `command`, from a line of the crontab.
    pub fn of_command(&mut self, command: &str, line: usize) -> String {
        let base = match base_name(command) {
            name if name.is_empty() => format!("line-{line}"),
            name => name,
        };
        take(&mut self.taken, base)
    }
}

fn base_name(command: &str) -> String {
    let parts = command.split(['|', ';', '&', '%', '(', ')', '{', '}', '<', '>', '\n']);
    let mut fallback = String::new();
    for part in parts {
        let mut words = part.split_whitespace().map(|word| word.trim_matches(['"', '\'', '`']));
        let Some(program) = program(&mut words) else { continue };
        let name = part_name(program, words);
        if name.is_empty() {
            continue;
        }
        if !PREPARATIONS.contains(&program) {
            return name;
        }
        if fallback.is_empty() {
            fallback = name;
        }
    }
    fallback
}

/// The first word that is a program worth naming.
fn program<'a>(words: &mut impl Iterator<Item = &'a str>) -> Option<&'a str> {
    let mut is_wrapped = false;
    for word in words {
        let is_variable = word.split_once('=').is_some_and(|(name, _)| !name.contains('/'));
        let is_option = word.starts_with('-') || word == "!";
        // Such as the time of `timeout 30s` or the file of `flock /run/lock`.
        let is_argument = is_wrapped
            && (word.starts_with(|letter: char| letter.is_ascii_digit()) || word.contains("lock"));
        if is_variable || is_option || is_argument {
            continue;
        }
        if !WRAPPERS.contains(&file_name(word)) {
            return Some(word);
        }
        is_wrapped = true;
    }
    None
}

/// A name made of a program and what it is told to do.
fn part_name<'a>(program: &str, words: impl Iterator<Item = &'a str>) -> String {
    let mut name = clean(file_name(program));
    let is_interpreter = INTERPRETERS.contains(&file_name(program));
    let mut told = words.filter(|word| !word.starts_with('-'));
    let Some(first) = told.next() else { return cut(name) };
    if is_interpreter {
        let script = clean(file_name(first));
        return if script.is_empty() { cut(name) } else { cut(script) };
    }
    let is_word = |word: &str| {
        word.chars().all(|letter| letter.is_ascii_alphabetic() || "-_:".contains(letter))
    };
    if is_word(first) && !PREPARATIONS.contains(&program) && !program.contains('.') {
        name.push('-');
        name.push_str(&clean(first));
    }
    cut(name)
}

fn file_name(word: &str) -> &str {
    word.trim_end_matches('/').rsplit('/').next().unwrap_or(word)
}

/// Small letters, digits, and a dash for everything between.
fn clean(word: &str) -> String {
    let lower = word.to_lowercase();
    let ending = ENDINGS.iter().find_map(|ending| lower.strip_suffix(ending));
    let mut name = String::new();
    for letter in ending.unwrap_or(&lower).chars() {
        if letter.is_ascii_alphanumeric() {
            name.push(letter);
        } else if !name.is_empty() && !name.ends_with('-') {
            name.push('-');
        }
    }
    name.trim_end_matches('-').to_owned()
}

fn cut(mut name: String) -> String {
    name.truncate(LENGTH_MAX);
    name.trim_end_matches('-').to_owned()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_say_what_is_run() {
        for (command, name) in [
            ("/usr/local/bin/backup.sh --all > /dev/null 2>&1", "backup"),
            ("cd / && run-parts --report /etc/cron.hourly", "run-parts"),
            ("test -x /usr/sbin/anacron || { cd / && run-parts /etc/cron.daily; }", "run-parts"),
            ("[ -x /usr/bin/certbot ] && certbot -q renew", "certbot-renew"),
            ("python3 /srv/app/manage.py clearsessions", "manage"),
            ("/usr/bin/php -q /var/www/cron.php", "cron"),
            ("FOO=1 nice -n 19 ionice -c3 rsync -a /a /b", "rsync"),
            ("timeout 30s curl -fsS https://example.org/ping", "curl"),
            ("flock -n /run/x.lock docker system prune -f", "docker-system"),
            ("sh -c 'echo hi'", "echo"),
            ("./Monthly Report.pl", "monthly"),
            ("\"/opt/my tool/run\"", "my"),
            ("if [ -x /usr/bin/x ]; then /usr/bin/x --all; fi", "x"),
            ("sleep 20; while true; do poll; done", "true"),
            ("cd /srv", "cd"),
            ("MAILTO=x mail -s hi ops%body", "mail-hi"),
            ("$HOME/bin/sync-all", "sync-all"),
            ("({", ""),
            ("日本", ""),
        ] {
            assert_eq!(base_name(command), name, "{command}");
        }
    }

    #[test]
    fn names_are_unique_and_never_empty() {
        let mut names = Names::default();
        let given: Vec<String> = ["a", "a", "a-2", "a", "(", "("]
            .iter()
            .zip(1..)
            .map(|(it, line)| names.of_command(it, line))
            .collect();
        assert_eq!(given, ["a", "a-2", "a-2-2", "a-3", "line-5", "line-6"]);
        assert!(names.of_command(&"x".repeat(300), 1).len() <= LENGTH_MAX);
    }
}
