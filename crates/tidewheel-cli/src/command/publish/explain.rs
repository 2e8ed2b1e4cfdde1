//! `tidewheel publish explain`: what the words mean that stand behind what is in the way.
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

/// Say what a word in brackets means that stands behind something in the way, or behind what became of a package
#[derive(Debug, clap::Args)]
#[command(after_help = "\
Examples:
  tidewheel publish explain development-cycle
  tidewheel publish explain

Exit codes: 0 said, 4 there is no such word.

With --format json it prints a list of { code, explanation }.")]
pub(crate) struct ExplainArgs {
    /// The word; all of them without one
    code: Option<String>,
}

pub(super) fn explain(ui: &Ui, args: &ExplainArgs) -> Result<u8, CommandError> {
    let before = Code::ALL.into_iter().map(|it| (it.word(), it.explanation()));
    let all = before.chain(Mishap::ALL.into_iter().map(|it| (it.word(), it.explanation())));
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
