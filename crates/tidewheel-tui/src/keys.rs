//! One table of keys: what each does, where, and by which command. Help, the line at the bottom and `:` are made of it.
//!
//! What an action changes is in [`crate::update`].

use ratatui::crossterm::event::{KeyCode, KeyEvent, KeyModifiers};

use crate::model::Screen;

/// Something that can be done.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[expect(missing_docs, reason = "the table below says what each does")]
pub enum Action {
    Up,
    Down,
    PageUp,
    PageDown,
    Top,
    Bottom,
    Open,
    Back,
    Overview,
    Runs,
    Queues,
    Schedules,
    Views,
    All,
    Window,
    Failed,
    Log,
    Follow,
    Wrap,
    Older,
    Newer,
    Stream,
    Left,
    Right,
    Search,
    NextHit,
    LastHit,
    Pause,
    Resume,
    Cancel,
    CancelStep,
    Retry,
    RetryFrom,
    Approve,
    Reject,
    Start,
    Flow,
    Priority,
    Fire,
    Backfill,
    Command,
    Help,
    Suspend,
    Quit,
}

/// A key, or several, and what they do.
#[derive(Debug)]
pub struct Binding {
    /// What is done.
    pub action: Action,
    /// The keys as they are shown.
    pub shown: &'static str,
    /// The keys.
    keys: &'static [(KeyModifiers, KeyCode)],
    /// The command behind `:`.
    pub command: &'static str,
    /// What it does, in a few words.
    pub words: &'static str,
    /// Where; nowhere said: everywhere.
    pub screens: &'static [Screen],
    /// Whether the line at the bottom reminds of it.
    pub is_reminded: bool,
}

const N: KeyModifiers = KeyModifiers::NONE;
const CTRL: KeyModifiers = KeyModifiers::CONTROL;

const fn letter(letter: char) -> (KeyModifiers, KeyCode) {
    (N, KeyCode::Char(letter))
}

macro_rules! bindings {
    ($($action:ident $shown:literal [$($key:expr),*] $command:literal $words:literal $screens:expr, $reminded:literal;)*) => {
        &[$(Binding {
            action: Action::$action,
            shown: $shown,
            keys: &[$($key),*],
            command: $command,
            words: $words,
            screens: $screens,
            is_reminded: $reminded,
        }),*]
    };
}

use Screen as S;

/// In a log, arrows move sideways.
const BUT_LOG: &[Screen] =
    &[S::Overview, S::Runs, S::Run, S::Step, S::Queues, S::Schedules, S::Schedule, S::Flow];

/// The keys of `tidewheel run` (p r q a w f l) mean the same here.
pub const BINDINGS: &[Binding] = bindings! {
    Open "Enter" [(N, KeyCode::Enter), (N, KeyCode::Right)] "open" "open what is selected" &[S::Overview, S::Runs, S::Run, S::Queues, S::Schedules, S::Schedule], true;
    Back "Esc" [(N, KeyCode::Esc), (N, KeyCode::Left), (N, KeyCode::Backspace)] "back" "go back, or show all again" BUT_LOG, true;
    Back "Esc" [(N, KeyCode::Esc), (N, KeyCode::Backspace)] "back" "go back" &[S::Log], true;
    Views "Tab" [(N, KeyCode::Tab), letter('v')] "view" "steps, graph, time, what it is; details, log" &[S::Run, S::Step, S::Log], true;
    Pause "p" [letter('p')] "pause" "start nothing more for now" &[S::Overview, S::Runs, S::Run, S::Step, S::Log, S::Schedules, S::Schedule], true;
    Resume "r" [letter('r')] "resume" "go on" &[S::Overview, S::Runs, S::Run, S::Step, S::Log, S::Schedules, S::Schedule], true;
    Cancel "x" [letter('x')] "cancel" "end the run" &[S::Overview, S::Runs, S::Run, S::Step, S::Log], true;
    CancelStep "X" [letter('X')] "skip" "end the step without the run; what needs it is skipped" &[S::Run, S::Step, S::Log], false;
    Retry "t" [letter('t')] "retry" "run again what did not succeed" &[S::Overview, S::Runs, S::Run, S::Step, S::Log], true;
    RetryFrom "T" [letter('T')] "retry-from" "run again the step and all that comes after it" &[S::Run, S::Step, S::Log], true;
    Approve "y" [letter('y')] "approve" "say yes to a step that asks" &[S::Overview, S::Run, S::Step, S::Log], true;
    Reject "n" [letter('n')] "reject" "say no to it" &[S::Overview, S::Run, S::Step], true;
    // There the key is that of the next hit.
    Reject ":reject" [] "reject" "say no to a step that asks" &[S::Log], false;
    Start "s" [letter('s')] "start" "start the flow" &[S::Overview, S::Runs, S::Flow], true;
    Priority "+" [letter('+')] "priority" "another priority, once its order is shown" &[S::Queues], true;
    Fire "!" [letter('!')] "fire" "run the schedule now" &[S::Overview, S::Schedules, S::Schedule], true;
    Backfill "b" [letter('b')] "backfill" "fire instants of the past" &[S::Overview, S::Schedules, S::Schedule], true;
    All "a" [letter('a')] "all" "all steps" &[S::Run], false;
    Window "w" [letter('w')] "window" "the steps that matter now" &[S::Run], false;
    Failed "f" [letter('f')] "failed" "failed steps" &[S::Run], true;
    Log "l" [letter('l')] "log" "what the step wrote" &[S::Run, S::Step, S::Log], true;
    Follow "F" [letter('F')] "follow" "keep at the end of the log" &[S::Step, S::Log], true;
    // As on the page, but large: the small one is that of `tidewheel run`.
    Wrap "W" [letter('W')] "wrap" "wrap long lines; the small w is for steps" &[S::Log], true;
    Older "[" [letter('[')] "older" "the attempt before" &[S::Log], true;
    Newer "]" [letter(']')] "newer" "the attempt after it" &[S::Log], false;
    Stream "o" [letter('o')] "stream" "only what went to standard output, or to standard error" &[S::Log], true;
    Left "←" [(N, KeyCode::Left)] "left" "to the beginning of long lines" &[S::Log], false;
    Right "→" [(N, KeyCode::Right)] "right" "to the rest of long lines" &[S::Log], false;
    Search "/" [letter('/')] "search" "only what contains a text; in logs, find it" &[], true;
    Flow "d" [letter('d')] "flow" "its definition: files, what is wrong there, last runs" &[S::Overview, S::Runs, S::Run, S::Step, S::Log, S::Queues, S::Schedules, S::Schedule], true;
    NextHit "n" [letter('n')] "next" "the next place where it was found" &[S::Log], false;
    LastHit "N" [letter('N')] "previous" "the one before" &[S::Log], false;
    Up "↑ k" [(N, KeyCode::Up), letter('k')] "up" "a row up" &[], false;
    Down "↓ j" [(N, KeyCode::Down), letter('j')] "down" "a row down" &[], false;
    PageUp "PgUp ^B" [(N, KeyCode::PageUp), (CTRL, KeyCode::Char('b'))] "page-up" "a page up" &[], false;
    PageDown "PgDn ^F" [(N, KeyCode::PageDown), (CTRL, KeyCode::Char('f')), letter(' ')] "page-down" "a page down" &[], false;
    Top "Home g" [(N, KeyCode::Home), letter('g')] "top" "to the first row" &[], false;
    Bottom "End G" [(N, KeyCode::End), letter('G')] "bottom" "to the last row" &[], false;
    Overview "1" [letter('1')] "overview" "what matters now" &[], false;
    Runs "2" [letter('2')] "runs" "all runs, the newest first" &[], false;
    Queues "3" [letter('3')] "queues" "who has slots and who waits" &[], false;
    Schedules "4" [letter('4')] "schedules" "what runs by itself" &[], false;
    Command ":" [letter(':')] "command" "do something by its name" &[], false;
    Help "?" [letter('?')] "help" "these keys" &[], true;
    Suspend "^Z" [(CTRL, KeyCode::Char('z'))] "suspend" "back to the shell; fg returns" &[], false;
    Quit "q" [letter('q')] "quit" "leave" &[], true;
};

impl Binding {
    /// Whether it holds on a screen.
    #[must_use]
    pub fn is_on(&self, screen: Screen) -> bool {
        self.screens.is_empty() || self.screens.contains(&screen)
    }
}

/// What a key does on a screen.
#[must_use]
pub fn action(screen: Screen, key: KeyEvent) -> Option<Action> {
    // Capital letters come with a modifier from some terminals and without one from others.
    let modifiers = key.modifiers - KeyModifiers::SHIFT;
    let is =
        |binding: &&Binding| binding.is_on(screen) && binding.keys.contains(&(modifiers, key.code));
    BINDINGS.iter().find(is).map(|binding| binding.action)
}

/// What a command does on a screen: its name, or the beginning of only one.
#[must_use]
pub fn command(screen: Screen, word: &str) -> Option<Action> {
    let here = || BINDINGS.iter().filter(|binding| binding.is_on(screen));
    if let Some(exact) = here().find(|binding| binding.command == word) {
        return Some(exact.action);
    }
    let mut likely = here().filter(|binding| !word.is_empty() && binding.command.starts_with(word));
    match (likely.next(), likely.next()) {
        (Some(one), None) => Some(one.action),
        _ => None,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_key_does_one_thing_on_a_screen_and_so_does_a_command() {
        for screen in Screen::ALL {
            let here: Vec<&Binding> = BINDINGS.iter().filter(|it| it.is_on(screen)).collect();
            for (index, one) in here.iter().enumerate() {
                for other in &here[..index] {
                    assert_ne!(one.command, other.command, "{screen:?}");
                    let both = one.keys.iter().find(|key| other.keys.contains(key));
                    assert_eq!(both, None, "{screen:?}: {:?}, {:?}", one.action, other.action);
                }
            }
        }
    }

    #[test]
    fn the_keys_of_a_watched_run_mean_the_same() {
        let pressed = |letter| action(Screen::Run, KeyEvent::from(KeyCode::Char(letter)));
        let all = ['p', 'r', 'q', 'a', 'w', 'f', 'l'].map(pressed);
        use Action::*;
        assert_eq!(all, [Pause, Resume, Quit, All, Window, Failed, Log].map(Some));
    }

    #[test]
    fn no_is_said_where_yes_is_and_the_next_hit_is_a_matter_of_logs() {
        let pressed = |screen, letter| action(screen, KeyEvent::from(KeyCode::Char(letter)));
        for screen in Screen::ALL {
            let said = [command(screen, "approve"), command(screen, "reject")];
            assert_eq!(said[0].is_some(), said[1].is_some(), "{screen:?}");
        }
        assert_eq!(pressed(Screen::Step, 'n'), Some(Action::Reject));
        assert_eq!(pressed(Screen::Step, 'N'), None);
        assert_eq!(pressed(Screen::Log, 'n'), Some(Action::NextHit));
        assert_eq!(pressed(Screen::Log, 'N'), Some(Action::LastHit));
    }

    #[test]
    fn whatever_is_looked_at_escape_leads_back() {
        for screen in Screen::ALL {
            let pressed = |code| action(screen, KeyEvent::from(code));
            assert_eq!(pressed(KeyCode::Esc), Some(Action::Back), "{screen:?}");
            let left = if screen == Screen::Log { Action::Left } else { Action::Back };
            assert_eq!(pressed(KeyCode::Left), Some(left), "{screen:?}");
        }
    }

    #[test]
    fn a_command_may_be_shortened_while_it_is_clear() {
        assert_eq!(command(Screen::Run, "canc"), Some(Action::Cancel));
        assert_eq!(command(Screen::Run, "re"), None, "resume, retry or reject");
        assert_eq!(command(Screen::Queues, "cancel"), None, "there is no run");
        assert_eq!(command(Screen::Run, ""), None);
    }
}
