//! `tidewheel publish explain`: what the words mean that stand behind what is in the way, and what exit codes mean.
//!
//! The words and what they mean are known in `tidewheel-publish`.

use anyhow::anyhow;
use serde_json::json;
use tidewheel_client::text::harmless;
use tidewheel_publish::Code;
use tidewheel_publish::run::Mishap;

use crate::cli::Format;
use crate::error::{CommandError, ErrorKind};
use crate::ui::Ui;

/// What the exit codes of a publish mean, and what can be done about it.
const EXIT_CODES: [(&str, &str); 8] = [
    (
        "0",
        "All packages are out, with the contents that were packed, and what follows was done. A plan \
         says so when nothing is in the way.",
    ),
    (
        "1",
        "A registry has read a package and does not want it. It is not tried again by itself: the \
         report has its words. What does not need that package is out.",
    ),
    (
        "3",
        "Something was in the way before anything began: nothing was sent. Each thing is told with its \
         file, a word in brackets that `publish explain` knows, and what to do.",
    ),
    (
        "5",
        "Somebody else publishes this workspace, the plan is another one than `--plan-hash` says, or a \
         run that was left was started otherwise. This command has sent nothing.",
    ),
    (
        "7",
        "Not all is out yet, and nobody has to see to anything: run the same command again, after the \
         time that the report says if it says one. It goes on where it is; nothing is sent twice.",
    ),
    (
        "8",
        "Somebody has to see to something first: a version that is out with another content, a token, \
         a one-time code. The report says what; then run the same command again.",
    ),
    (
        "130",
        "Ctrl-C has ended it. What was under way was waited for, unless it was pressed again, and \
         nothing more was begun. Run the same command again: it goes on where it is.",
    ),
    (
        "143",
        "SIGTERM has ended it, as Ctrl-C would. Run the same command again: it goes on where it is.",
    ),
];

/// Say what a word in brackets means that stands behind something in the way or behind what became of a package, or what an exit
/// code means
#[derive(Debug, clap::Args)]
#[command(after_help = "\
Examples:
  tidewheel publish explain development-cycle
  tidewheel publish explain 7
  tidewheel publish explain

Exit codes: 0 said, 4 there is no such word.

With --format json it prints a list of { code, explanation }.")]
pub(crate) struct ExplainArgs {
    /// The word, or the exit code; all of them without one
    code: Option<String>,
}

pub(super) fn explain(ui: &Ui, args: &ExplainArgs) -> Result<u8, CommandError> {
    let before = Code::ALL.into_iter().map(|it| (it.word(), it.explanation()));
    let on_the_way = Mishap::ALL.into_iter().map(|it| (it.word(), it.explanation()));
    let all = before.chain(on_the_way).chain(EXIT_CODES);
    let is_wanted = |word: &str| args.code.as_ref().is_none_or(|wanted| word == wanted);
    let codes: Vec<_> = all.clone().filter(|(word, _)| is_wanted(word)).collect();
    if codes.is_empty() {
        let word = harmless(args.code.as_deref().unwrap_or_default());
        let known: Vec<&str> = all.map(|(word, _)| word).collect();
        let error = anyhow!("nothing is called `{word}`");
        let hint = format!("there are {}", known.join(", "));
        return Err(CommandError::new(ErrorKind::NotFound, error).hint(hint));
    }
    match ui.format(Format::Human) {
        Format::Json => {
            let all = codes
                .iter()
                .map(|(word, explanation)| json!({ "code": word, "explanation": explanation }));
            ui.print_json(&all.collect::<Vec<_>>())?;
        }
        Format::Human => {
            let all = codes.iter().map(|(word, explanation)| format!("{word}: {explanation}"));
            ui.print(&all.collect::<Vec<_>>().join("\n\n"))?;
        }
    }
    Ok(0)
}
