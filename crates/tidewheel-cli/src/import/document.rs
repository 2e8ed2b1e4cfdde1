//! A YAML document to be written: values in the order they should stand, with comments at their
//! places.
//!
//! How a single value is written is in `scalar`; nothing here knows what the document says.

use serde_json::Value as Json;

use super::scalar;

/// Lists of plain values stay in one line up to this width.
const LINE_MAX: usize = 72;
/// Comments are broken before this column.
const COMMENT_COLUMN_MAX: usize = 98;
/// What one level is moved to the right.
const INDENT: usize = 2;

/// A value with everything in it.
#[derive(Debug, Clone, PartialEq)]
pub(crate) enum Tree {
    /// A text, a number, a truth value or nothing.
    Scalar(Json),
    List(Vec<Element>),
    Map(Mapping),
}

/// One element of a list.
#[derive(Debug, Clone, PartialEq)]
pub(crate) struct Element {
    pub comments: Vec<String>,
    pub value: Tree,
}

/// Keys with values, in order.
#[derive(Debug, Clone, Default, PartialEq)]
pub(crate) struct Mapping {
    entries: Vec<Entry>,
}

#[derive(Debug, Clone, PartialEq)]
struct Entry {
    comments: Vec<String>,
    key: String,
    value: Tree,
}

impl Mapping {
    pub fn new() -> Self {
        Self::default()
    }

    pub fn is_empty(&self) -> bool {
        self.entries.is_empty()
    }

    /// Whether a key is there.
    pub fn has(&self, key: &str) -> bool {
        self.entries.iter().any(|entry| entry.key == key)
    }

    /// The text under a key.
    pub fn text(&self, key: &str) -> Option<String> {
        let entry = self.entries.iter().find(|entry| entry.key == key)?;
        match &entry.value {
            Tree::Scalar(Json::String(text)) => Some(text.clone()),
            _ => None,
        }
    }

    /// Takes a key away.
    pub fn remove(&mut self, key: &str) {
        self.entries.retain(|entry| entry.key != key);
    }

    /// Adds a key.
    pub fn add(&mut self, key: &str, value: impl Into<Tree>) {
        self.add_with(Vec::new(), key, value);
    }

    /// Adds a key with comments above it.
    pub fn add_with(&mut self, comments: Vec<String>, key: &str, value: impl Into<Tree>) {
        self.entries.push(Entry { comments, key: key.to_owned(), value: value.into() });
    }
}

impl From<Json> for Tree {
    fn from(value: Json) -> Self {
        match value {
            Json::Array(values) => {
                let element = |value| Element { comments: Vec::new(), value: Self::from(value) };
                Self::List(values.into_iter().map(element).collect())
            }
            Json::Object(map) => {
                let mut mapping = Mapping::new();
                for (key, value) in map {
                    mapping.add(&key, value);
                }
                Self::Map(mapping)
            }
            scalar => Self::Scalar(scalar),
        }
    }
}

impl From<&str> for Tree {
    fn from(text: &str) -> Self {
        Self::Scalar(Json::from(text))
    }
}

impl From<Mapping> for Tree {
    fn from(mapping: Mapping) -> Self {
        Self::Map(mapping)
    }
}

impl From<Vec<Element>> for Tree {
    fn from(elements: Vec<Element>) -> Self {
        Self::List(elements)
    }
}

impl From<Tree> for Element {
    fn from(value: Tree) -> Self {
        Self { comments: Vec::new(), value }
    }
}

/// The document as text, with comments at its top.
pub(crate) fn write(header: &[String], root: &Mapping) -> String {
    let mut writer = Writer { text: String::new() };
    writer.comments(header, 0);
    if root.is_empty() {
        writer.text.push_str("{}\n");
        return writer.text;
    }
    let mut was_long = false;
    for (entry, place) in root.entries.iter().zip(0..) {
        let is_long = is_long(&entry.value);
        if (place == 0 && !header.is_empty()) || (place > 0 && (is_long || was_long)) {
            writer.text.push('\n');
        }
        was_long = is_long;
        writer.entry(entry, 0, is_long);
    }
    writer.text
}

/// Whether a value takes several lines.
fn is_long(value: &Tree) -> bool {
    match value {
        Tree::Scalar(value) => value.as_str().is_some_and(|text| text.contains('\n')),
        Tree::List(elements) => one_line(elements).is_none(),
        Tree::Map(mapping) => !mapping.is_empty(),
    }
}

struct Writer {
    text: String,
}

impl Writer {
    fn mapping(&mut self, mapping: &Mapping, indent: usize) {
        for entry in &mapping.entries {
            self.entry(entry, indent, false);
        }
    }

    fn entry(&mut self, entry: &Entry, indent: usize, is_outermost: bool) {
        self.comments(&entry.comments, indent);
        self.blanks(indent);
        self.pair(entry, indent, is_outermost);
    }

    /// A key with its value, after the blanks.
    fn pair(&mut self, entry: &Entry, indent: usize, is_outermost: bool) {
        self.text.push_str(&scalar::key(&entry.key));
        self.text.push(':');
        match &entry.value {
            Tree::Map(mapping) if !mapping.is_empty() => {
                self.text.push('\n');
                self.mapping(mapping, indent + INDENT);
            }
            Tree::List(elements) if one_line(elements).is_none() => {
                self.text.push('\n');
                self.list(elements, indent + INDENT, is_outermost);
            }
            value => {
                self.text.push(' ');
                self.short(value, indent);
            }
        }
    }

    fn list(&mut self, elements: &[Element], indent: usize, is_outermost: bool) {
        for (element, place) in elements.iter().zip(0..) {
            let is_map = matches!(&element.value, Tree::Map(mapping) if !mapping.is_empty());
            if is_outermost && is_map && place > 0 {
                self.text.push('\n');
            }
            self.comments(&element.comments, indent);
            self.element(&element.value, indent);
        }
    }

    fn element(&mut self, value: &Tree, indent: usize) {
        match value {
            Tree::Map(mapping) if !mapping.is_empty() => {
                let (first, rest) = mapping.entries.split_at(1);
                // A comment cannot stand between the dash and the first key.
                self.comments(&first[0].comments, indent);
                self.blanks(indent);
                self.text.push_str("- ");
                self.pair(&first[0], indent + INDENT, false);
                for entry in rest {
                    self.entry(entry, indent + INDENT, false);
                }
            }
            Tree::List(elements) if one_line(elements).is_none() => {
                self.blanks(indent);
                self.text.push_str("-\n");
                self.list(elements, indent + INDENT, false);
            }
            value => {
                self.blanks(indent);
                self.text.push_str("- ");
                self.short(value, indent);
            }
        }
    }

    /// A value that begins in the line it belongs to.
    fn short(&mut self, value: &Tree, indent: usize) {
        match value {
            Tree::Scalar(value) => self.text.push_str(&scalar::block(value, indent + INDENT)),
            Tree::List(elements) => {
                let line = one_line(elements).unwrap_or_default();
                self.text.push_str(&line);
            }
            Tree::Map(_) => self.text.push_str("{}"),
        }
        self.text.push('\n');
    }

    fn comments(&mut self, comments: &[String], indent: usize) {
        for comment in comments {
            for line in comment.lines() {
                for part in broken(&printable(line), COMMENT_COLUMN_MAX.saturating_sub(indent + 2))
                {
                    self.blanks(indent);
                    self.text.push('#');
                    if !part.is_empty() {
                        self.text.push(' ');
                        self.text.push_str(&part);
                    }
                    self.text.push('\n');
                }
            }
        }
    }

    fn blanks(&mut self, count: usize) {
        self.text.extend(std::iter::repeat_n(' ', count));
    }
}

/// A list in brackets, if it fits in a line.
fn one_line(elements: &[Element]) -> Option<String> {
    let mut parts = Vec::with_capacity(elements.len());
    for element in elements {
        match &element.value {
            Tree::Scalar(value) if element.comments.is_empty() => {
                parts.push(scalar::inline(value)?)
            }
            _ => return None,
        }
    }
    let line = format!("[{}]", parts.join(", "));
    (line.chars().count() <= LINE_MAX).then_some(line)
}

/// A line of a comment in which nothing can end it.
fn printable(line: &str) -> String {
    let letter = |letter: char| match letter {
        '\t' => ' ',
        letter if scalar::is_printable(letter) => letter,
        _ => '\u{fffd}',
    };
    line.trim_end().chars().map(letter).collect()
}

/// A line of a comment in parts that are short enough. What is set in, such as a quoted line, stays
/// as it is; what continues a point of a list is set in.
fn broken(line: &str, width: usize) -> Vec<String> {
    if line.chars().count() <= width || line.starts_with(' ') {
        return vec![line.to_owned()];
    }
    let mut parts = Vec::new();
    let mut part = String::new();
    for word in line.split(' ') {
        if !part.is_empty() && part.chars().count() + 1 + word.chars().count() > width {
            parts.push(std::mem::take(&mut part));
            if line.starts_with("- ") {
                part.push(' ');
            }
        }
        if !part.is_empty() {
            part.push(' ');
        }
        part.push_str(word);
    }
    parts.push(part);
    parts
}

#[cfg(test)]
#[path = "document_tests.rs"]
mod tests;
