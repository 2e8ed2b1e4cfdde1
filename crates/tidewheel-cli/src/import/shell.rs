//! Where expressions `${{ … }}` stand in a text for a shell, and what is written there instead.
//!
//! What they stand for is known where the text comes from.

use std::ops::Range;

/// Programs that read such texts.
pub(super) const SHELLS: [&str; 5] = ["sh", "bash", "zsh", "dash", "ksh"];

/// The name of a program without its folder.
pub(super) fn base_name(program: &str) -> &str {
    program.rsplit('/').next().unwrap_or(program)
}

/// A text in which something else stands for each expression, so that the shell fills it in.
///
/// `value` says what: a variable, as between quotes. Where a shell fills in nothing, what is around it is
/// opened for it.
pub(super) fn filled(text: &str, value: &mut dyn FnMut(&str) -> String) -> String {
    let scanned = Scanner::new(text).scan();
    let mut edits: Vec<(Range<usize>, String)> = Vec::new();
    for found in &scanned.found {
        let inside = text[found.range.start + 3..found.range.end - 2].trim();
        let instead = match found.place {
            Place::Open | Place::Document(_) => value(inside),
            Place::Literal => format!("'\"{}\"'", value(inside)),
            Place::Comment => inside.to_owned(),
        };
        edits.push((found.range.clone(), instead));
    }
    for (document, number) in scanned.documents.iter().zip(0..) {
        let is_here = |found: &&Found| found.place == Place::Document(number);
        let inside: Vec<&Found> = scanned.found.iter().filter(is_here).collect();
        if document.is_literal && !inside.is_empty() {
            edits.extend(opened(text, document, &inside));
        }
    }
    edits.sort_by_key(|(range, _)| (range.start, range.end));
    let (mut written, mut at) = (String::new(), 0);
    for (range, instead) in edits {
        written.push_str(&text[at..range.start]);
        written.push_str(&instead);
        at = range.end;
    }
    written.push_str(&text[at..]);
    written
}

/// What makes of a here-document in which nothing is filled in one that says the same, and in which it is.
fn opened(text: &str, document: &Document, inside: &[&Found]) -> Vec<(Range<usize>, String)> {
    let letter = |it: char| if it.is_ascii_alphanumeric() { it } else { '_' };
    let word: String = document.word.chars().map(letter).collect();
    let mut edits = vec![(document.token.clone(), word.clone())];
    edits.extend(document.end.clone().map(|end| (end, word)));
    for (place, _) in text[document.body.clone()].match_indices(['\\', '$', '`']) {
        let place = document.body.start + place;
        if !inside.iter().any(|found| found.range.contains(&place)) {
            edits.push((place..place, "\\".to_owned()));
        }
    }
    edits
}

#[derive(Debug, Default)]
struct Scanned {
    found: Vec<Found>,
    documents: Vec<Document>,
}

/// An expression.
#[derive(Debug)]
struct Found {
    range: Range<usize>,
    place: Place,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Place {
    /// Where the shell fills in variables.
    Open,
    /// Between quotes where it does not.
    Literal,
    Comment,
    /// In the here-document of this number.
    Document(usize),
}

/// A here-document.
#[derive(Debug)]
struct Document {
    word: String,
    /// The word as it is written, with its quotes.
    token: Range<usize>,
    body: Range<usize>,
    /// The word behind the body.
    end: Option<Range<usize>>,
    /// Whether nothing is filled in.
    is_literal: bool,
    has_tabs: bool,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Inside {
    Literal,
    Quotes,
    Command,
    Ticks,
}

struct Scanner<'a> {
    text: &'a str,
    at: usize,
    inside: Vec<Inside>,
    /// How many here-documents have their bodies.
    read: usize,
    scanned: Scanned,
}

impl<'a> Scanner<'a> {
    fn new(text: &'a str) -> Self {
        Self { text, at: 0, inside: Vec::new(), read: 0, scanned: Scanned::default() }
    }

    fn scan(mut self) -> Scanned {
        while let Some(letter) = self.rest().chars().next() {
            if let Some(length) = expression(self.rest()) {
                let is_literal = self.inside.last() == Some(&Inside::Literal);
                let place = if is_literal { Place::Literal } else { Place::Open };
                self.found(length, place);
                continue;
            }
            self.letter(letter);
        }
        self.scanned
    }

    fn rest(&self) -> &'a str {
        &self.text[self.at..]
    }

    fn found(&mut self, length: usize, place: Place) {
        self.scanned.found.push(Found { range: self.at..self.at + length, place });
        self.at += length;
    }

    /// Reads one letter that is outside of expressions.
    fn letter(&mut self, letter: char) {
        let rest = self.rest();
        let top = self.inside.last().copied();
        let mut length = letter.len_utf8();
        match (top, letter) {
            (Some(Inside::Literal), '\'')
            | (Some(Inside::Quotes), '"')
            | (Some(Inside::Ticks), '`')
            | (Some(Inside::Command), ')') => {
                self.inside.pop();
            }
            (Some(Inside::Literal), _) => {}
            (_, '\\') => length += rest[1..].chars().next().map_or(0, char::len_utf8),
            (_, '"') => self.inside.push(Inside::Quotes),
            (_, '`') => self.inside.push(Inside::Ticks),
            (_, '$') if rest.starts_with("$(") => {
                self.inside.push(Inside::Command);
                length = 2;
            }
            (Some(Inside::Quotes), _) => {}
            (_, '\'') => self.inside.push(Inside::Literal),
            (Some(Inside::Command), '(') => self.inside.push(Inside::Command),
            (_, '#') if self.is_word_start() => return self.comment(),
            (_, '<') if rest.starts_with("<<<") => length = 3,
            (_, '<') if rest.starts_with("<<") => return self.opening(),
            (_, '\n') if self.read < self.scanned.documents.len() => {
                self.at += 1;
                return self.bodies();
            }
            _ => {}
        }
        self.at += length;
    }

    fn is_word_start(&self) -> bool {
        let before = self.text[..self.at].chars().next_back();
        before.is_none_or(|letter| letter.is_whitespace() || ";&|()".contains(letter))
    }

    fn comment(&mut self) {
        let end = self.rest().find('\n').map_or(self.text.len(), |length| self.at + length);
        self.passage(end, Place::Comment);
    }

    /// Everything up to `end`, in which only expressions count.
    fn passage(&mut self, end: usize, place: Place) {
        while self.at < end {
            match expression(self.rest()) {
                Some(length) => self.found(length, place),
                None => self.at += self.rest().chars().next().map_or(1, char::len_utf8),
            }
        }
    }

    /// `<<EOF`, `<<-EOF`, `<<'EOF'`.
    fn opening(&mut self) {
        self.at += 2;
        let has_tabs = self.rest().starts_with('-');
        self.at += usize::from(has_tabs);
        self.at += self.rest().len() - self.rest().trim_start_matches([' ', '\t']).len();
        let start = self.at;
        let (mut word, mut quote, mut is_literal) = (String::new(), None, false);
        for letter in self.rest().chars() {
            match (quote, letter) {
                (Some(open), letter) if letter == open => quote = None,
                (None, '\'' | '"') => {
                    quote = Some(letter);
                    is_literal = true;
                }
                (None, '\\') => is_literal = true,
                (_, '\n') => break,
                (None, letter) if letter.is_whitespace() || ";&|<>()".contains(letter) => break,
                (_, letter) => word.push(letter),
            }
            self.at += letter.len_utf8();
        }
        // A shift of bits is none.
        if word.starts_with(|letter: char| letter.is_alphabetic() || letter == '_') {
            let token = start..self.at;
            let (body, end) = (0..0, None);
            self.scanned.documents.push(Document { word, token, body, end, is_literal, has_tabs });
        }
    }

    /// The bodies of the here-documents that were opened in the line before.
    fn bodies(&mut self) {
        while self.read < self.scanned.documents.len() {
            let number = self.read;
            let start = self.at;
            let (body, end, after) = self.body(&self.scanned.documents[number]);
            self.passage(body, Place::Document(number));
            let document = &mut self.scanned.documents[number];
            document.body = start..body;
            document.end = end;
            self.at = after;
            self.read += 1;
        }
    }

    /// Where a body that begins here ends, the word behind it, and where it goes on.
    fn body(&self, document: &Document) -> (usize, Option<Range<usize>>, usize) {
        let mut at = self.at;
        for line in self.rest().split_inclusive('\n') {
            let plain = line.trim_end_matches('\n');
            let tabs = if document.has_tabs {
                plain.len() - plain.trim_start_matches('\t').len()
            } else {
                0
            };
            if plain[tabs..] == document.word {
                return (at, Some(at + tabs..at + plain.len()), at + line.len());
            }
            at += line.len();
        }
        (at, None, at)
    }
}

/// How long the expression is that a text begins with.
fn expression(text: &str) -> Option<usize> {
    text.strip_prefix("${{")?.find("}}").map(|length| length + 5)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn written(text: &str) -> String {
        filled(text, &mut |expression| format!("${{{}}}", expression.to_uppercase()))
    }

    #[test]
    fn values_come_in_where_a_shell_fills_them_in() {
        for (text, expected) in [
            ("echo ${{ a }} \"it's ${{ a }}\"", "echo ${A} \"it's ${A}\""),
            ("echo 'x ${{ a }}'", "echo 'x '\"${A}\"''"),
            (
                "echo \"$(echo 'x ${{ a }}')\" '${{ b }}'",
                "echo \"$(echo 'x '\"${A}\"'')\" ''\"${B}\"''",
            ),
            (
                "# don't ${{ a }}\necho ${{ a }} x#'y${{ a }}'",
                "# don't a\necho ${A} x#'y'\"${A}\"''",
            ),
            (
                "echo \\' ${{ a }} ${#x} $((1 << 2)) ${{ b }}",
                "echo \\' ${A} ${#x} $((1 << 2)) ${B}",
            ),
        ] {
            assert_eq!(written(text), expected);
        }
    }

    /// In a here-document quotes stand for themselves, and between those of its word nothing is filled in.
    #[test]
    fn here_documents_are_opened_for_values() {
        for (text, expected) in [
            (
                "cat <<EOF\nit's ${{ a }}\nEOF\necho '${{ a }}'",
                "cat <<EOF\nit's ${A}\nEOF\necho ''\"${A}\"''",
            ),
            (
                "cat <<'EOF' > f\n$HOME `x` \\n ${{ a }}\nEOF\necho ${{ a }}",
                "cat <<EOF > f\n\\$HOME \\`x\\` \\\\n ${A}\nEOF\necho ${A}",
            ),
            (
                "cat <<-\"END IT\"; echo\n\t$X ${{ a }}\n\tEND IT\n",
                "cat <<-END_IT; echo\n\t\\$X ${A}\n\tEND_IT\n",
            ),
            ("cat <<'A' - <<B\n$X\nA\n${{ b }}\nB\n", "cat <<'A' - <<B\n$X\nA\n${B}\nB\n"),
            ("cat <<\\EOF\n${{ a }}", "cat <<EOF\n${A}"),
            ("cat <<< '${{ a }}'", "cat <<< ''\"${A}\"''"),
        ] {
            assert_eq!(written(text), expected);
        }
    }
}
