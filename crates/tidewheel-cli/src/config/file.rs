//! One configuration file: read with bounds, checked against the table of settings, every value
//! with its line.
//!
//! Which files are read is decided in [`super::places()`].

use std::fs::{self, File};
use std::io::{self, Read as _};
use std::ops::Range;
use std::path::{Path, PathBuf};

use anyhow::anyhow;
use tidewheel_client::text::harmless;
use toml::Spanned;
use toml::de::{DeString, DeTable, DeValue};

use super::places::{Place, Role};
use super::setting::{
    Definition, Kind, Setting, by_key, nearest_section, nearest_setting, of_section,
};
use super::value::{Value, shortened};
use crate::error::{CommandError, ErrorKind};

/// The most a file may have.
const BYTES_MAX: u64 = 1 << 20;
/// Columns of a line shown around the culprit.
const EXCERPT_WIDTH: usize = 72;
/// Further problems whose lines are named.
const OTHERS_MAX: usize = 10;

/// A value with the line it stands in.
#[derive(Debug)]
pub(super) struct Entry {
    pub setting: Setting,
    pub value: Value,
    pub line: usize,
}

/// Reads a file.
pub(super) fn read(place: &Place, home: Option<&Path>) -> Result<Vec<Entry>, CommandError> {
    let path = &place.path;
    let bytes = read_bytes(place).map_err(|error| {
        let is_missing = error.kind() == io::ErrorKind::NotFound;
        let kind = if is_missing { ErrorKind::NotFound } else { ErrorKind::Input };
        let error = anyhow!(error).context(format!("failed to read {}", name(path)));
        let error = CommandError::new(kind, error);
        match place.role {
            Role::Named => error.hint(format!("{} names it", super::places::CONFIG)),
            Role::Project | Role::User => error,
        }
    })?;
    if bytes.len() as u64 > BYTES_MAX {
        let error = anyhow!("{} has more than {BYTES_MAX} bytes", name(path));
        return Err(CommandError::input(error));
    }
    let text = str::from_utf8(&bytes).map_err(|error| {
        let position = error.valid_up_to();
        let line = line_of(&bytes, position);
        let error = anyhow!("{}:{line}: it is not UTF-8 text", name(path));
        CommandError::input(error).position(position)
    })?;
    let base = path.parent().unwrap_or(Path::new(""));
    let mut reading = Reading { text, base, home, entries: Vec::new(), problems: Vec::new() };
    match DeTable::parse(text) {
        Ok(table) => reading.table(table.get_ref()),
        Err(error) => {
            reading.problems.push((error.span(), Fault::Syntax(error.message().to_owned())));
        }
    }
    reading.finish(path)
}

fn read_bytes(place: &Place) -> io::Result<Vec<u8>> {
    // Whatever was named is read, be it a pipe. A pipe that was merely found could block for ever.
    if place.role != Role::Named && !fs::metadata(&place.path)?.is_file() {
        return Err(io::Error::other("it is not a file"));
    }
    let mut bytes = Vec::new();
    File::open(&place.path)?.take(BYTES_MAX + 1).read_to_end(&mut bytes)?;
    Ok(bytes)
}

/// A file on the way from text to values.
struct Reading<'a> {
    text: &'a str,
    /// What relative paths begin at.
    base: &'a Path,
    home: Option<&'a Path>,
    entries: Vec<Entry>,
    /// What is wrong, and where if that is known.
    problems: Vec<(Option<Range<usize>>, Fault)>,
}

/// What is wrong in a file.
enum Fault {
    /// It is no TOML; how the parser says it.
    Syntax(String),
    UnknownSetting(String),
    UnknownSection(String),
    /// There is a section of this name, and it is used as a setting.
    SectionAsSetting(String),
    /// What was written, if it is a text.
    WrongValue(&'static Definition, Option<String>),
}

impl Fault {
    /// What is said about it, and what can be done.
    fn words(&self) -> (String, Option<String>) {
        let did_you_mean = |meant: Option<&str>| meant.map(|it| format!("did you mean `{it}`?"));
        let all = || Some("`TIDEWHEEL_CONFIG=/dev/null tidewheel config show` lists them".into());
        match self {
            Self::Syntax(message) => (harmless(message), None),
            Self::UnknownSetting(key) => {
                let meant = nearest_setting(key).map(|definition| definition.key);
                let message = format!("there is no setting `{}`", shortened(key));
                (message, did_you_mean(meant).or_else(all))
            }
            Self::UnknownSection(name) => {
                let message = format!("there is no section `{}`", shortened(name));
                (message, did_you_mean(nearest_section(name)).or_else(all))
            }
            Self::SectionAsSetting(name) => {
                let example = of_section(name).next();
                let hint =
                    example.map(|it| format!("its settings have names such as `{}`", it.key));
                (format!("`{name}` is a section"), hint)
            }
            Self::WrongValue(definition, text) => {
                let meant = text.as_deref().and_then(|text| definition.nearest_word(text));
                let message = format!("`{}` should be {}", definition.key, definition.expected());
                (message, did_you_mean(meant))
            }
        }
    }
}

impl Reading<'_> {
    /// Takes in a whole file: settings, and sections of them.
    fn table(&mut self, table: &DeTable<'_>) {
        for (key, content) in table {
            let name = key.get_ref().as_ref();
            if of_section(name).next().is_some() {
                self.section(key, content);
            } else {
                self.setting(name, None, key, content);
            }
        }
    }

    fn section(&mut self, key: &Spanned<DeString<'_>>, content: &Spanned<DeValue<'_>>) {
        let name = key.get_ref().as_ref();
        let DeValue::Table(table) = content.get_ref() else {
            self.problem(key.span(), Fault::SectionAsSetting(name.to_owned()));
            return;
        };
        for (word, content) in table {
            self.setting(word.get_ref(), Some(name), word, content);
        }
    }

    fn setting(
        &mut self,
        word: &str,
        section: Option<&str>,
        key: &Spanned<DeString<'_>>,
        content: &Spanned<DeValue<'_>>,
    ) {
        let whole = section.map_or_else(|| word.to_owned(), |section| format!("{section}.{word}"));
        // A dot within quotes does not begin a section.
        let known = by_key(&whole).filter(|_| !word.contains('.'));
        let Some(definition) = known else {
            let is_section = section.is_none() && content.get_ref().is_table();
            let fault = if is_section { Fault::UnknownSection } else { Fault::UnknownSetting };
            self.problem(key.span(), fault(whole));
            return;
        };
        match self.value(definition, content.get_ref()) {
            Some(value) => {
                let line = line_of(self.text.as_bytes(), key.span().start);
                self.entries.push(Entry { setting: definition.setting, value, line });
            }
            None => {
                let text = content.get_ref().as_str().map(str::to_owned);
                self.problem(content.span(), Fault::WrongValue(definition, text));
            }
        }
    }

    fn problem(&mut self, span: Range<usize>, fault: Fault) {
        self.problems.push((Some(span), fault));
    }

    fn value(&self, definition: &Definition, content: &DeValue<'_>) -> Option<Value> {
        match content {
            DeValue::String(text) if definition.kind == Kind::Path => {
                definition.read(text).and_then(|_| self.path(text)).map(Value::Path)
            }
            DeValue::String(text) => definition.read(text),
            DeValue::Integer(number) => {
                let number = u64::from_str_radix(number.as_str(), number.radix()).ok()?;
                definition.read_number(number)
            }
            DeValue::Boolean(is_set) => definition.checked(Value::Bool(*is_set)),
            DeValue::Float(_) | DeValue::Datetime(_) | DeValue::Array(_) | DeValue::Table(_) => {
                None
            }
        }
    }

    /// A path of a file begins at the folder of the file, or with `~` at home.
    fn path(&self, text: &str) -> Option<PathBuf> {
        match text.strip_prefix('~') {
            Some("") => self.home.map(Path::to_owned),
            Some(below) if below.starts_with('/') => {
                self.home.map(|home| home.join(below.trim_start_matches('/')))
            }
            _ => Some(self.base.join(text)),
        }
    }

    /// What was read, or what is wrong: the first problem whole, of others the lines.
    fn finish(mut self, path: &Path) -> Result<Vec<Entry>, CommandError> {
        self.problems.sort_by_key(|(span, _)| span.as_ref().map(|span| span.start));
        let Some(((span, fault), others)) = self.problems.split_first() else {
            return Ok(self.entries);
        };
        let (message, hint) = fault.words();
        let line = span.as_ref().map(|span| format!(":{}", self.line(span))).unwrap_or_default();
        let mut error = CommandError::input(anyhow!("{}{line}: {message}", name(path)));
        if let Some(span) = span {
            error = error.position(span.start).excerpt(excerpt(self.text, span));
        }
        for hint in hint.into_iter().chain(self.others(others)) {
            error = error.hint(hint);
        }
        Err(error)
    }

    /// Where the other problems are.
    fn others(&self, problems: &[(Option<Range<usize>>, Fault)]) -> Option<String> {
        let spans = problems.iter().take(OTHERS_MAX).filter_map(|(span, _)| span.as_ref());
        let mut lines: Vec<String> = spans.map(|span| self.line(span).to_string()).collect();
        lines.dedup();
        let word = if lines.len() == 1 { "line" } else { "lines" };
        let more = match problems.len().saturating_sub(OTHERS_MAX) {
            0 => String::new(),
            more => format!(" and {more} more places"),
        };
        (!lines.is_empty()).then(|| format!("see also {word} {}{more}", lines.join(", ")))
    }

    fn line(&self, span: &Range<usize>) -> usize {
        line_of(self.text.as_bytes(), span.start)
    }
}

fn line_of(text: &[u8], position: usize) -> usize {
    let before = &text[..position.min(text.len())];
    1 + before.iter().filter(|byte| **byte == b'\n').count()
}

/// The line in which a span begins, with marks under it.
fn excerpt(text: &str, span: &Range<usize>) -> String {
    let at = text.floor_char_boundary(span.start);
    let line_start = text[..at].rfind('\n').map_or(0, |end| end + 1);
    let line_end = text[at..].find('\n').map_or(text.len(), |length| at + length);
    let start = text.floor_char_boundary(at.saturating_sub(EXCERPT_WIDTH / 2)).max(line_start);
    let end = text.floor_char_boundary((start + EXCERPT_WIDTH).min(line_end));
    let marked_end = text.floor_char_boundary(span.end).clamp(at, end.max(at));
    let shown: String = text[start..end.max(start)].chars().map(plain).collect();
    let before = text[start..at].chars().count();
    let marks = text[at..marked_end].chars().count().max(1);
    format!("{shown}\n{}{}", " ".repeat(before), "^".repeat(marks))
}

/// The letter, or a space for one that a terminal would obey or that takes no column, so that marks
/// stay where they belong.
fn plain(letter: char) -> char {
    let is_harmless = harmless(letter.encode_utf8(&mut [0; 4])).chars().eq([letter]);
    if is_harmless && letter != '\u{feff}' { letter } else { ' ' }
}

fn name(path: &Path) -> String {
    harmless(&path.to_string_lossy())
}
