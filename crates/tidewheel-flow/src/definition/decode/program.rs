//! Command lines as programs read them: which word is a program text, and which could be an option.
//!
//! What is said about values in such places is in `process`.

use crate::language::tree::Tree;

/// Programs that run a text, and the letter of the option before it.
const INTERPRETERS: [(&str, char); 14] = [
    ("sh", 'c'),
    ("bash", 'c'),
    ("dash", 'c'),
    ("zsh", 'c'),
    ("ksh", 'c'),
    ("ash", 'c'),
    ("fish", 'c'),
    ("busybox", 'c'),
    ("python", 'c'),
    ("python3", 'c'),
    ("perl", 'e'),
    ("ruby", 'e'),
    ("node", 'e'),
    ("php", 'r'),
];

/// The same options in words.
const LONG: [(char, &str); 3] = [('c', "--command"), ('e', "--eval"), ('e', "--print")];
/// Options of `ssh` that a value follows.
const SSH_OPTIONS: [char; 20] = [
    'B', 'b', 'c', 'D', 'E', 'e', 'F', 'I', 'i', 'J', 'L', 'l', 'm', 'O', 'o', 'p', 'Q', 'R', 'S',
    'W',
];

/// How a command runs a program text, if it does.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Script {
    /// The text is the word at this place.
    Word(usize),
    /// The text is the word after the last.
    Next,
    /// The text is what it reads.
    Stdin,
}

/// Finds the program text of a shell or the like. It need not come first: programs start programs.
pub(super) fn script_of(words: &[Tree]) -> Option<Script> {
    let word = |tree: &Tree| match tree {
        Tree::Value(value) => value.as_str().map(str::to_owned),
        // The start of a template may be an option.
        Tree::Text(leaf) => Some(leaf.template.literal_start().to_owned()),
        _ => None,
    };
    let letter_of = |tree: &Tree| {
        let program = word(tree).filter(|_| tree.as_value().is_some())?;
        let name = program.rsplit('/').next()?.to_owned();
        INTERPRETERS.iter().find(|(known, _)| *known == name).map(|(_, letter)| *letter)
    };
    if let Some(place) = far_text(words) {
        return Some(Script::Word(place));
    }
    let (place, letter) =
        words.iter().enumerate().find_map(|(place, tree)| Some((place, letter_of(tree)?)))?;
    let is_option = |tree: &Tree| word(tree).is_some_and(|word| word.starts_with('-'));
    let takes_text = |tree: &Tree| {
        let option = word(tree).unwrap_or_default();
        let is_long = LONG.iter().any(|(of, long)| *of == letter && option.starts_with(long));
        let is_short = option.starts_with('-') && !option.starts_with("--");
        is_long || is_short && option[1..].contains(letter)
    };
    let rest = || words.iter().enumerate().skip(place + 1);
    if let Some((option, tree)) = rest().find(|(_, tree)| takes_text(tree)) {
        // `-c{{ … }}`: the option and the text are one word.
        if tree.as_value().is_none() {
            return Some(Script::Word(option));
        }
        let text = words.iter().enumerate().skip(option + 1).find(|(_, tree)| !is_option(tree));
        return Some(text.map_or(Script::Next, |(place, _)| Script::Word(place)));
    }
    let has_file = rest().any(|(_, tree)| !is_option(tree));
    (!has_file).then_some(Script::Stdin)
}

/// The first value among the words that `ssh` makes a text for the shell on the other side of.
fn far_text(words: &[Tree]) -> Option<usize> {
    let constant = |place: usize| words.get(place)?.as_value()?.as_str();
    let is_ssh =
        |place: &usize| constant(*place).is_some_and(|it| it.rsplit('/').next() == Some("ssh"));
    let mut place = (0..words.len()).find(is_ssh)? + 1;
    while let Some(option) = constant(place).filter(|word| word.starts_with('-')) {
        // `-p 22`, and `-p22` in one word.
        let takes_next = option.len() == 2 && option.ends_with(SSH_OPTIONS);
        place += if takes_next { 2 } else { 1 };
    }
    // The host comes before it.
    (place + 1..words.len()).find(|place| is_template(&words[*place]))
}

/// Whether a command hands its words over to a shell on another machine.
pub(super) fn goes_far(words: &[Tree]) -> bool {
    far_text(words).is_some()
}

pub(super) fn is_template(tree: &Tree) -> bool {
    tree.as_value().is_none()
}

/// Which arguments would be options if their values began with a dash: neither those behind a `--`
/// nor those of a program text.
pub(super) fn guarded(words: &[Tree]) -> Vec<usize> {
    let constant =
        |tree: &Tree| tree.as_value().and_then(|value| value.as_str().map(str::to_owned));
    let is_operand = |tree: &Tree| constant(tree).is_some_and(|word| !word.starts_with('-'));
    let marked = words.iter().position(|tree| constant(tree).as_deref() == Some("--"));
    // [sh, -c, 'text', name, argument]: what follows the name is for the text.
    let of_text = match script_of(words) {
        Some(Script::Word(text)) if words.get(text + 1).is_some_and(is_operand) => Some(text + 2),
        _ => None,
    };
    let begins_with_value = |tree: &Tree| match tree {
        Tree::Text(leaf) => leaf.template.literal_start().is_empty(),
        Tree::Value(_) => false,
        Tree::List(_) | Tree::Map(_) => false,
    };
    let end = marked.into_iter().chain(of_text).min().unwrap_or(usize::MAX);
    let places = (1..words.len()).filter(|place| begins_with_value(&words[*place]));
    // Behind the last comes the input.
    places.chain([words.len()]).filter(|place| *place < end).collect()
}
