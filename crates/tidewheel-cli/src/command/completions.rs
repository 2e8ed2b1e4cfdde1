//! `tidewheel completions`: what a shell needs to complete our command lines.
//!
//! Which words there are is said where the commands are declared.

use clap_complete::{Shell, generate};

use crate::error::CommandError;
use crate::ui::Ui;

/// Print completions for a shell
#[derive(Debug, clap::Args)]
#[command(after_help = "\
Examples:
  tidewheel completions bash > /etc/bash_completion.d/tidewheel
  tidewheel completions zsh > ~/.zfunc/_tidewheel
  tidewheel completions fish > ~/.config/fish/completions/tidewheel.fish
  tidewheel completions elvish >> ~/.config/elvish/rc.elv
  tidewheel completions powershell >> $PROFILE

For zsh, the folder must be among those of $fpath before compinit runs.")]
pub(crate) struct Args {
    /// The shell
    shell: Shell,
}

/// `command` is the whole command line.
pub(crate) fn run(ui: &Ui, args: &Args, mut command: clap::Command) -> Result<u8, CommandError> {
    ui.print(&script(args.shell, &mut command))?;
    Ok(0)
}

fn script(shell: Shell, command: &mut clap::Command) -> String {
    let name = command.get_name().to_owned();
    let mut script = Vec::new();
    generate(shell, command, name, &mut script);
    String::from_utf8_lossy(&script).into_owned()
}

#[cfg(test)]
mod tests {
    use clap::ValueEnum as _;

    use super::*;

    #[test]
    fn every_shell_has_a_script_that_knows_the_commands() {
        for shell in Shell::value_variants() {
            let part = clap::Command::new("mend").about("Mends things");
            let mut command = clap::Command::new("tidewheel").subcommand(part);
            let script = script(*shell, &mut command);
            assert!(script.contains("tidewheel") && script.contains("mend"), "{shell}: {script}");
        }
    }
}
