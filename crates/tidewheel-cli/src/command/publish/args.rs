//! What can be said about a publish on the command line.
//!
//! What it means is known in `tidewheel-publish`.

use std::collections::BTreeMap;
use std::path::PathBuf;
use std::time::Duration;

use anyhow::anyhow;
use tidewheel_publish::pack::Carried;
use tidewheel_publish::plan::{Pace, Rate};
use tidewheel_publish::prepare::{Provenance, Wish};
use tidewheel_publish::run::PublishOptions;

use crate::data::DataArgs;
use crate::error::CommandError;
use crate::value::span;

/// Show what would be published, and send nothing
///
/// Packs everything in a copy of the workspace and asks registries what is out. The digest names the plan:
/// `tidewheel publish --plan-hash DIGEST` carries out this one and no other.
#[derive(Debug, clap::Args)]
#[command(after_help = "\
Examples:
  tidewheel publish plan
  tidewheel publish plan --offline
  tidewheel publish plan --format json

Exit codes: 0 it could be carried out, 3 something is in the way, 8 somebody has to see to something first.")]
pub(crate) struct PublishArgs {
    #[command(flatten)]
    pub what: WhatArgs,

    /// Do not ask before anything is sent
    #[arg(long, short = 'y')]
    pub yes: bool,

    /// Show the plan and send nothing
    #[arg(long)]
    pub dry_run: bool,

    /// Do all of it with a registry of this machine, which ends with it: nothing leaves the machine, and nothing is
    /// left behind
    #[arg(long, conflicts_with_all = ["dry_run", "offline", "plan_hash"])]
    pub rehearse: bool,

    /// Carry out the plan with this digest, and no other
    #[arg(long, value_name = "DIGEST")]
    pub plan_hash: Option<String>,

    /// Pack each package when it is its turn, not all of them before the first is sent. What cannot be packed is then
    /// found out when others are out already
    #[arg(long, conflicts_with_all = ["pin_in_place", "rebuild", "rehearse", "packed", "wheels"])]
    pub stream: bool,

    /// Send what `tidewheel publish pack` has packed of this commit, here or on another machine, and pack nothing; may be
    /// given again: what several machines have packed becomes one
    #[arg(long, value_name = "FOLDER", conflicts_with_all = ["pin_in_place", "rebuild", "rehearse", "wheels"])]
    pub packed: Vec<PathBuf>,

    /// The digest that it has said; for several folders one for each, in their order
    #[arg(long, value_name = "DIGEST", requires = "packed")]
    pub packed_hash: Vec<String>,

    /// Show the plan with all files that are in what was packed, and their sizes
    #[arg(long)]
    pub files: bool,

    /// Ask no registry; what it would say is unknown
    #[arg(long)]
    pub offline: bool,

    /// Publish from a pipeline of a change that was only proposed
    #[arg(long)]
    pub allow_pull_request: bool,

    /// Do not ask registries whether tokens are good before anything is sent
    #[arg(long)]
    pub no_token_check: bool,

    /// A one-time code for registries of npm; without one it is asked for when one is wanted
    #[arg(long, value_name = "CODE")]
    pub otp: Option<String>,

    /// Wait so long for somebody to say a one-time code that a registry wants: on the page of a server, on the screens of
    /// `tidewheel tui`, or by `tidewheel approve RUN PACKAGE --code`; without it, it ends and can be run again
    #[arg(long, value_name = "TIME", default_value = "0s", value_parser = span)]
    pub code_within: Duration,

    /// It is an error if there is nothing to publish
    #[arg(long)]
    pub expect_changes: bool,

    #[command(flatten)]
    pub follow: FollowArgs,

    #[command(flatten)]
    pub pace: PaceArgs,

    #[command(flatten)]
    pub shown: ShownArgs,

    #[command(flatten)]
    pub data: DataArgs,
}

/// What is packed and published.
#[derive(Debug, Clone, clap::Args)]
pub(crate) struct WhatArgs {
    /// The folder of the workspace [default: the working folder]
    #[arg(value_name = "DIR")]
    pub folder: Option<PathBuf>,

    /// Only this package; may be given again
    #[arg(long, value_name = "PACKAGE")]
    pub only: Vec<String>,

    /// Not this package; may be given again
    #[arg(long, value_name = "PACKAGE")]
    pub except: Vec<String>,

    /// Only this package and all that need it; may be given again
    #[arg(long, value_name = "PACKAGE")]
    pub from: Vec<String>,

    /// The registry, of those that manifests and settings name
    #[arg(long, value_name = "NAME")]
    pub registry: Option<String>,

    /// Publish what is not committed, too
    #[arg(long)]
    pub allow_dirty: bool,

    /// Do not build crates from what was packed
    #[arg(long)]
    pub no_verify: bool,

    /// Pack the workspace where it is instead of a copy of it, with what packages need of each other pinned
    /// meanwhile; manifests are put back, whatever happens
    #[arg(long)]
    pub pin_in_place: bool,

    /// Publish a commit that is on no branch and has no tag
    #[arg(long)]
    pub allow_detached: bool,

    /// Pack files again that were packed and are not there any more, or not what they were; refused if something else
    /// comes of it than what was sent
    #[arg(long)]
    pub rebuild: bool,

    /// Publish the wheels and source distributions in this folder as they are, instead of building the packages they are of;
    /// may be given again
    #[arg(long, value_name = "FOLDER")]
    pub wheels: Vec<PathBuf>,
}

/// What follows once packages can be had.
#[derive(Debug, Clone, clap::Args)]
pub(crate) struct FollowArgs {
    /// Tag the commit when its packages are out: '{name}-v{version}', or 'v{version}' for all of them
    #[arg(long, value_name = "TEMPLATE")]
    pub tag: Option<String>,

    /// Push those tags there
    #[arg(long, value_name = "REMOTE", requires = "tag")]
    pub push_tags: Option<String>,

    /// A line for the shell, run once for each package that was uploaded and can be had
    #[arg(long, value_name = "COMMAND")]
    pub hook: Option<String>,

    /// A line for the shell that signs a statement about where a file was built, and writes it to standard output; it is sent
    /// with the file, for packages of npm and Python that do not say that they want none
    #[arg(long, value_name = "COMMAND", conflicts_with = "no_provenance")]
    pub signer: Option<String>,

    /// How many are signed at once
    #[arg(long, value_name = "N", default_value_t = 1, value_parser = clap::value_parser!(u32).range(1..))]
    pub signers: u32,

    /// Publish without statements, even if packages want them
    #[arg(long)]
    pub no_provenance: bool,

    /// Let each package of npm have its tag at once, not when all of them are out
    #[arg(long)]
    pub no_hold: bool,
}

/// How fast, how often, how long.
#[derive(Debug, Clone, clap::Args)]
pub(crate) struct PaceArgs {
    /// Packages at once
    #[arg(long, value_name = "N", default_value_t = 5, value_parser = clap::value_parser!(u32).range(1..))]
    pub concurrency: u32,

    /// How often a package is tried again; waiting for a registry uses none of it up
    #[arg(long, value_name = "N", default_value_t = 3)]
    pub max_retries: u32,

    /// Time before the first retry, at most; it doubles
    #[arg(long, value_name = "TIME", default_value = "1s", value_parser = span)]
    pub retry_base_delay: Duration,

    /// Time for one try at a package
    #[arg(long, value_name = "TIME", default_value = "600s", value_parser = span)]
    pub task_timeout: Duration,

    /// The longest time that is waited for registries; then it ends, and is run again later [default: none]
    #[arg(long, value_name = "TIME", value_parser = span)]
    pub max_wait: Option<Duration>,

    /// So many new crates at once, then one each TIME, instead of what is known of registries of crates: 5/10m
    #[arg(long, value_name = "N/TIME", value_parser = rate)]
    pub pace_new: Option<Rate>,

    /// The same for new versions of crates that their registry knows: 30/1m
    #[arg(long, value_name = "N/TIME", value_parser = rate)]
    pub pace_update: Option<Rate>,

    /// How long it may take until what was uploaded can be seen
    #[arg(long, value_name = "TIME", default_value = "10m", value_parser = span)]
    pub visible_within: Duration,

    /// How often it is looked for
    #[arg(long, value_name = "TIME", default_value = "1s", value_parser = span)]
    pub look_every: Duration,
}

/// What is written where.
#[derive(Debug, Clone, clap::Args)]
pub(crate) struct ShownArgs {
    /// Write the report to this file: JSON, or Markdown if its name ends with .md
    #[arg(long, short = 'o', value_name = "FILE")]
    pub output: Option<PathBuf>,

    /// Say nothing but the result
    #[arg(long, short = 'q')]
    pub quiet: bool,

    /// For programs: a JSON object a line on standard output, as it goes on: what is begun, the plan, what happens to
    /// packages, and the report as the last one
    #[arg(long)]
    pub events: bool,
}

impl PublishArgs {
    /// What is wanted, if it makes sense.
    pub fn wish(&self) -> Result<Wish, CommandError> {
        let (folders, digests) = (self.packed.len(), self.packed_hash.len());
        if digests != 0 && digests != folders {
            let error = anyhow!("--packed was given {folders} times, and --packed-hash {digests}");
            let hint = "give one digest for each folder, in their order, or none";
            return Err(CommandError::usage(error).hint(hint));
        }
        let digests = self.packed_hash.iter().cloned().map(Some).chain(std::iter::repeat(None));
        let carried = self.packed.iter().cloned().zip(digests);
        Ok(Wish {
            offline: self.offline,
            tag: self.follow.tag.clone(),
            allow_pull_request: self.allow_pull_request,
            check_tokens: !self.no_token_check,
            packed: carried.map(|(folder, digest)| Carried { folder, digest }).collect(),
            stream: self.stream,
            provenance: self.follow.provenance(),
            pace: self.pace.pace(),
            ..self.what.wish()
        })
    }

    /// What is said of what is published and of what follows, by its flag: a run that was left is gone on with as it was
    /// started, and whoever says something else should know.
    pub fn asked(&self) -> BTreeMap<String, Vec<String>> {
        let (what, follow) = (&self.what, &self.follow);
        let one = |said: &Option<String>| said.iter().cloned().collect::<Vec<_>>();
        let set = |is_said: bool| is_said.then(|| "yes".to_owned()).into_iter().collect();
        let folders = |folders: &[PathBuf]| {
            let absolute = folders.iter().map(|it| std::path::absolute(it).unwrap_or(it.clone()));
            absolute.map(|it| it.display().to_string()).collect()
        };
        let said = [
            ("--only", what.only.clone()),
            ("--except", what.except.clone()),
            ("--from", what.from.clone()),
            ("--registry", one(&what.registry)),
            ("--packed", folders(&self.packed)),
            ("--wheels", folders(&what.wheels)),
            ("--stream", set(self.stream)),
            ("--tag", one(&follow.tag)),
            ("--push-tags", one(&follow.push_tags)),
            ("--hook", one(&follow.hook)),
            ("--signer", one(&follow.signer)),
            ("--no-provenance", set(follow.no_provenance)),
            ("--no-hold", set(follow.no_hold)),
        ];
        let said = said.into_iter().filter(|(_, values)| !values.is_empty());
        said.map(|(flag, values)| (flag.to_owned(), values)).collect()
    }

    pub fn options(&self) -> PublishOptions {
        let FollowArgs { tag, push_tags, hook, signer, signers, no_hold, .. } = self.follow.clone();
        PublishOptions {
            tag,
            push_tags,
            hook,
            signer,
            signers,
            holds_tags: !no_hold,
            streams: self.stream,
            verifies: !self.what.no_verify,
            code_within: self.code_within,
            ..self.pace.options()
        }
    }
}

impl FollowArgs {
    fn provenance(&self) -> Provenance {
        match (&self.signer, self.no_provenance) {
            (_, true) => Provenance::Without,
            (Some(_), false) => Provenance::Signed,
            (None, false) => Provenance::Unsaid,
        }
    }
}

impl WhatArgs {
    pub fn wish(&self) -> Wish {
        Wish {
            allow_dirty: self.allow_dirty,
            allow_detached: self.allow_detached,
            verify: !self.no_verify,
            pin_in_place: self.pin_in_place,
            rebuild: self.rebuild,
            only: self.only.clone(),
            except: self.except.clone(),
            from: self.from.clone(),
            wheels: self.wheels.clone(),
            ..Wish::default()
        }
    }
}

impl PaceArgs {
    fn pace(&self) -> Pace {
        Pace { new: self.pace_new, update: self.pace_update }
    }

    pub fn options(&self) -> PublishOptions {
        PublishOptions {
            concurrency: self.concurrency,
            retries: self.max_retries,
            retry_base_delay: self.retry_base_delay,
            timeout: self.task_timeout,
            max_wait: self.max_wait,
            pace: self.pace(),
            visible_within: self.visible_within,
            look_every: self.look_every,
            ..PublishOptions::default()
        }
    }
}

/// `5/10m`: five at once, then one each ten minutes.
fn rate(text: &str) -> Result<Rate, String> {
    let (burst, every) = text.split_once('/').ok_or("say how many and how often, as in 5/10m")?;
    let burst = burst.parse().ok().filter(|burst| *burst > 0);
    let burst = burst.ok_or_else(|| format!("`{text}` begins with no number of packages"))?;
    Ok(Rate { burst, every: span(every)? })
}

#[cfg(test)]
mod tests {
    use clap::Parser as _;

    use super::*;

    #[derive(clap::Parser)]
    struct Line {
        #[command(flatten)]
        args: PublishArgs,
    }

    fn parsed(flags: &[&str]) -> Result<PublishArgs, clap::Error> {
        Line::try_parse_from([&["publish"], flags].concat()).map(|line| line.args)
    }

    #[test]
    fn flags_become_options_of_the_run() {
        let said = [
            ["--task-timeout", "2s"],
            ["--max-retries", "7"],
            ["--max-wait", "10s"],
            ["--visible-within", "50ms"],
            ["--look-every", "20ms"],
            ["--retry-base-delay", "30ms"],
            ["--concurrency", "8"],
            ["--pace-new", "1/10m"],
            ["--pace-update", "2/1s"],
            ["--code-within", "1m"],
            ["--tag", "v{version}"],
            ["--push-tags", "origin"],
            ["--hook", "true"],
            ["--signer", "sign"],
        ];
        let args = parsed(&said.concat()).unwrap();
        let rate = |burst, seconds| Some(Rate { burst, every: Duration::from_secs(seconds) });
        let text = |word: &str| Some(word.to_owned());
        let expected = PublishOptions {
            timeout: Duration::from_secs(2),
            retries: 7,
            max_wait: Some(Duration::from_secs(10)),
            visible_within: Duration::from_millis(50),
            look_every: Duration::from_millis(20),
            retry_base_delay: Duration::from_millis(30),
            concurrency: 8,
            pace: Pace { new: rate(1, 600), update: rate(2, 1) },
            code_within: Duration::from_secs(60),
            tag: text("v{version}"),
            push_tags: text("origin"),
            hook: text("true"),
            signer: text("sign"),
            ..PublishOptions::default()
        };
        assert_eq!(args.options(), expected);
        assert_eq!(parsed(&[]).unwrap().options(), PublishOptions::default());
    }

    #[test]
    fn flags_say_what_is_wished() {
        let flags = ["--only", "a", "--except", "b", "--from", "c", "--tag", "v{version}"];
        let flags = [&flags[..], &["--offline", "--no-verify", "--no-token-check"]].concat();
        let allowed = ["--allow-dirty", "--allow-detached", "--allow-pull-request"];
        let wish = parsed(&[&flags[..], &allowed].concat()).unwrap().wish().unwrap();
        assert_eq!((wish.only, wish.except, wish.from), (one("a"), one("b"), one("c")));
        assert_eq!(wish.tag.as_deref(), Some("v{version}"));
        assert!(wish.offline && !wish.verify && !wish.check_tokens);
        assert!(wish.allow_dirty && wish.allow_detached && wish.allow_pull_request);
        let provenance = |flags: &[&str]| parsed(flags).unwrap().wish().unwrap().provenance;
        assert_eq!(provenance(&[]), Provenance::Unsaid);
        assert_eq!(provenance(&["--signer", "sign"]), Provenance::Signed);
        assert_eq!(provenance(&["--no-provenance"]), Provenance::Without);
    }

    fn one(name: &str) -> Vec<String> {
        vec![name.to_owned()]
    }

    #[test]
    fn paces_that_make_no_sense_are_refused() {
        for wrong in ["0/1s", "1", "x/1s", "1/soon"] {
            assert!(parsed(&["--pace-update", wrong]).is_err(), "{wrong}");
        }
    }
}
