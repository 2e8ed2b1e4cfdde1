//! From the [`Draft`] to the tree: follows aliases and merge keys, gives types, checks keys.
//!
//! How large the tree becomes was counted in [`super::draft`], so nothing has to be counted here,
//! and how deep it is, so calling itself is safe.

use std::collections::HashSet;

use granit_parser::ScalarStyle;

use crate::language::problem::{Problem, Problems, Span, quote};

use super::align::align;
use super::draft::{Draft, Part, PartId, Shape};
use super::map::{Entry, Map, repeated};
use super::node::{Node, Value};
use super::scalar::{Scalar, Wanted, has_leading_zero, has_trailing_zero, scalar};
use super::syntax;
use super::text::Text;

/// The tree of what is written.
pub(super) fn expand(draft: &Draft<'_>, problems: &mut Problems) -> Node {
    let mut expansion = Expansion { draft, problems };
    let empty = Node { value: Value::Map(Map::default()), span: Span::new(draft.file, 0..0) };
    let Some(root) = draft.root else { return empty };
    let is_missing = matches!(
        &draft.parts[root].shape,
        Shape::Scalar { text, style: ScalarStyle::Plain, wanted: Wanted::Any } if text.is_empty()
    );
    if is_missing { empty } else { expansion.node(root) }
}

struct Expansion<'d, 'p> {
    draft: &'d Draft<'d>,
    problems: &'p mut Problems,
}

/// A key as it was written.
struct Key {
    name: String,
    span: Span,
    is_merge: bool,
}

impl<'d> Expansion<'d, '_> {
    fn node(&mut self, id: PartId) -> Node {
        let draft = self.draft;
        let part = &draft.parts[id];
        let span = self.span(part);
        let value = match &part.shape {
            Shape::Scalar { text, style, wanted } => self.scalar(text, *style, *wanted, part),
            Shape::List(list) => Value::List(list.iter().map(|id| self.node(*id)).collect()),
            Shape::Map(entries) => match self.bare_template(entries, span) {
                Some(template) => Value::Text(template),
                None => Value::Map(self.map(entries)),
            },
            Shape::Alias(target) => self.node(*target).value,
            Shape::Unknown => Value::Null,
        };
        let is_block = matches!(
            part.shape,
            Shape::Scalar { style: ScalarStyle::Literal | ScalarStyle::Folded, .. }
        );
        Node { value, span: if is_block { self.without_end(span) } else { span } }
    }

    fn span(&self, part: &Part<'_>) -> Span {
        Span { file: self.draft.file, start: part.start, end: part.end }
    }

    /// A block without the line breaks behind it.
    fn without_end(&self, span: Span) -> Span {
        let letters = self.draft.text.get(span.range()).unwrap_or_default().trim_end().len();
        let start = span.range().start;
        Span::new(span.file, start..start + letters)
    }

    fn scalar(&mut self, text: &str, style: ScalarStyle, wanted: Wanted, part: &Part<'_>) -> Value {
        let span = self.span(part);
        match scalar(text, style, wanted) {
            Scalar::Null => Value::Null,
            Scalar::Bool(value) => Value::Bool(value),
            Scalar::Int(value) => {
                if has_leading_zero(text) {
                    self.problems.push(leading_zero(text, value).at(span));
                }
                Value::Int(value)
            }
            Scalar::Float(value) => {
                if wanted == Wanted::Any && has_trailing_zero(text) {
                    self.problems.push(trailing_zero(text, value).at(span));
                }
                if !value.is_finite() {
                    self.problems.push(not_finite(text).at(span));
                }
                Value::Float(value)
            }
            Scalar::TooLarge => {
                self.problems.push(too_large(text).at(span));
                Value::Int(if text.starts_with('-') { i64::MIN } else { i64::MAX })
            }
            Scalar::Mismatch => {
                let message = format!("{} is not what its tag says", quote(text));
                self.problems.push(Problem::error("yaml-tag-mismatch", message).at(span));
                Value::Text(Text::new(text, span))
            }
            Scalar::Text => {
                let range = span.range();
                let pieces = align(self.draft.text, range.start, range.end, style, text);
                Value::Text(Text::written(text, span, pieces))
            }
        }
    }

    /// A template without quotes, which YAML reads as a mapping in a mapping. It is told, and then
    /// taken for what it is meant to be, so that nothing else is wrong because of it.
    fn bare_template(&mut self, written: &[(PartId, PartId)], span: Span) -> Option<Text> {
        let [(key, _)] = written else { return None };
        let part = &self.draft.parts[*key];
        let text = self.draft.text.get(span.range())?;
        if !matches!(part.shape, Shape::Map(_)) || !text.starts_with("{{") || !text.ends_with("}}")
        {
            return None;
        }
        self.problems.push(syntax::key_not_text(self.draft.text, self.span(part)));
        Some(Text::new(text, span))
    }

    fn map(&mut self, written: &[(PartId, PartId)]) -> Map {
        let mut entries = Vec::with_capacity(written.len());
        let mut merge: Option<(usize, Entry)> = None;
        for (key, value) in written {
            let Some(key) = self.key(*key) else { continue };
            let value = self.node(*value);
            let entry = Entry { key: key.name, key_span: key.span, value };
            match &merge {
                _ if !key.is_merge => entries.push(entry),
                Some((_, first)) => {
                    let problem = duplicate(first, &entry);
                    self.problems.push(problem.hint("merge several with a list: `<<: [*a, *b]`"));
                }
                None => merge = Some((entries.len(), entry)),
            }
        }
        for (first, again) in repeated(&entries) {
            self.problems.push(duplicate(&entries[first], &entries[again]));
        }
        match merge {
            Some((place, merge)) => self.with_merged(entries, place, merge.value),
            None => Map::new(entries),
        }
    }

    fn key(&mut self, id: PartId) -> Option<Key> {
        let draft = self.draft;
        let part = &draft.parts[id];
        let span = self.span(part);
        let written = match &part.shape {
            Shape::Alias(target) => &draft.parts[*target].shape,
            shape => shape,
        };
        match written {
            Shape::Scalar { text, style, wanted } => {
                if text.is_empty() && *style == ScalarStyle::Plain {
                    let problem = Problem::error("yaml-empty-key", "a key is missing before `:`");
                    self.problems.push(problem.at(span));
                    return None;
                }
                let is_plain = *style == ScalarStyle::Plain && *wanted == Wanted::Any;
                let is_merge = is_plain && text == "<<";
                Some(Key { name: text.to_string(), span, is_merge })
            }
            Shape::Unknown => None,
            Shape::List(_) | Shape::Map(_) | Shape::Alias(_) => {
                self.problems.push(syntax::key_not_text(draft.text, span));
                None
            }
        }
    }

    /// The entries with those that a merge key before the one at `place` brings along.
    fn with_merged(&mut self, mut entries: Vec<Entry>, place: usize, merge: Node) -> Map {
        let mut known: HashSet<String> = entries.iter().map(|entry| entry.key.clone()).collect();
        let behind = entries.split_off(place);
        let sources = match merge.value {
            Value::List(list) => list,
            value => vec![Node { value, span: merge.span }],
        };
        for source in sources {
            match source.value {
                Value::Map(map) => {
                    let new = map.into_entries().into_iter();
                    entries.extend(new.filter(|entry| known.insert(entry.key.clone())));
                }
                _ => {
                    let message = format!("`<<` merges mappings, but this is {}", source.kind());
                    let problem = Problem::error("yaml-merge", message).at(source.span);
                    self.problems.push(problem.hint("quote the key if it is meant as a name"));
                }
            }
        }
        entries.extend(behind);
        Map::new(entries)
    }
}

fn duplicate(first: &Entry, again: &Entry) -> Problem {
    let message = format!("the key {} is there twice", quote(&again.key));
    Problem::error("yaml-duplicate-key", message)
        .at(again.key_span)
        .label("again here")
        .see(first.key_span, "first here")
}

fn leading_zero(text: &str, value: i64) -> Problem {
    let message = format!("{} is read as the number {value}", quote(text));
    let digits = text.trim_start_matches(['-', '+', '0']);
    let problem = Problem::warning("yaml-leading-zero", message);
    if digits.is_empty() || digits.contains(['8', '9']) {
        problem.hint("quote it if it is meant as a text")
    } else {
        problem.hint(format!(
            "quote it if it is meant as a text, write 0o{digits} for an octal number"
        ))
    }
}

fn trailing_zero(text: &str, value: f64) -> Problem {
    let message = format!("{} is read as the number {value:?}", quote(text));
    Problem::warning("yaml-trailing-zero", message).hint("quote it if it is meant as a text")
}

fn not_finite(text: &str) -> Problem {
    let message = format!("{} is a number that JSON does not have", quote(text));
    Problem::error("yaml-not-finite", message).hint("quote it if it is meant as a text")
}

fn too_large(text: &str) -> Problem {
    let message = format!("the number {} is too large for 64 bits", quote(text));
    Problem::error("yaml-number-too-large", message).hint("quote it if it is meant as a text")
}
