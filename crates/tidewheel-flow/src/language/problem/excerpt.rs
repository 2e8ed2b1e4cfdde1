//! [`Excerpt`]: the part of one line that is shown, and where the carets go.
//!
//! A line may be megabytes long and full of escape sequences: only what is shown is looked at.

use tidewheel_picture::letters::{columns_of, is_hidden};

use super::clean;

/// Stands for what was cut off.
const CUT: &str = "...";

/// How many columns a tab takes.
const TAB_COLUMNS: usize = 4;

/// A part of a line, safe to show.
#[derive(Debug, PartialEq, Eq)]
pub(super) struct Excerpt {
    /// What is shown of the line.
    pub(super) text: String,
    /// Columns before the first caret.
    pub(super) indent: usize,
    /// How many carets.
    pub(super) carets: usize,
}

impl Excerpt {
    /// The surroundings of `start..end` in `line`, in about `columns` columns.
    ///
    /// Both are bytes of the line and boundaries of characters.
    pub(super) fn new(line: &str, start: usize, end: usize, columns: usize) -> Self {
        let (before, rest) = line.split_at_checked(start).unwrap_or((line, ""));
        let (marked, after) =
            rest.split_at_checked(end.saturating_sub(start)).unwrap_or((rest, ""));
        // Some of the surroundings stay visible even if all of the line is marked.
        let marked_room = columns.saturating_sub(2 * CUT.len()).max(1);
        let middle = fitting(marked.chars(), marked_room);
        let cut_inside = middle.bytes < marked.len();
        let cut_columns = |is_cut: bool| if is_cut { CUT.len() } else { 0 };
        let room = columns.saturating_sub(middle.columns + cut_columns(cut_inside));
        let wanted_before = fitting(before.chars().rev(), room + 1).columns;
        let wanted_after = fitting(after.chars(), room + 1).columns;
        let room_before = if wanted_before + wanted_after <= room {
            room
        } else {
            room.saturating_sub(wanted_after).max(room / 2)
        };
        let head = part(before.chars().rev(), before.len(), room_before);
        let head_columns = head.columns + cut_columns(head.bytes < before.len());
        let room_after = room.saturating_sub(head_columns);
        let tail =
            if cut_inside { Fit::default() } else { part(after.chars(), after.len(), room_after) };

        let mut text = String::new();
        if head.bytes < before.len() {
            text.push_str(CUT);
        }
        let mut indent = text.len();
        for letter in before[before.len() - head.bytes..].chars() {
            indent += show(&mut text, letter);
        }
        let mut carets = 0;
        for letter in marked[..middle.bytes].chars() {
            carets += show(&mut text, letter);
        }
        for letter in after[..tail.bytes].chars() {
            show(&mut text, letter);
        }
        if cut_inside || tail.bytes < after.len() {
            text.push_str(CUT);
        }
        Self { text, indent, carets: carets.max(1) }
    }
}

/// How much of a text fits.
#[derive(Debug, Clone, Copy, Default)]
struct Fit {
    bytes: usize,
    columns: usize,
}

/// What fits into `room`; if that is not all, what fits beside the sign that something is cut.
fn part(letters: impl Iterator<Item = char> + Clone, length: usize, room: usize) -> Fit {
    let all = fitting(letters.clone(), room);
    if all.bytes == length { all } else { fitting(letters, room.saturating_sub(CUT.len())) }
}

/// The letters from the first on that fit into `room` columns.
fn fitting(letters: impl Iterator<Item = char>, room: usize) -> Fit {
    let mut fit = Fit::default();
    for letter in letters {
        // Marks without a width of their own count too, or a million of them would fit.
        let columns = width(letter).max(1);
        if fit.columns + columns > room {
            break;
        }
        fit.columns += columns;
        fit.bytes += letter.len_utf8();
    }
    fit
}

fn width(letter: char) -> usize {
    match letter {
        '\t' => TAB_COLUMNS,
        _ if is_hidden(letter) => show(&mut String::new(), letter),
        _ => columns_of(letter),
    }
}

/// Adds a letter as it is shown, and says how many columns it takes.
fn show(text: &mut String, letter: char) -> usize {
    match letter {
        '\t' => {
            text.push_str("    ");
            TAB_COLUMNS
        }
        _ if is_hidden(letter) => {
            let length = text.len();
            clean::push(text, letter);
            text.len() - length
        }
        _ => {
            text.push(letter);
            columns_of(letter)
        }
    }
}
