//! [`SourceFiles`]: the texts problems are found in, and [`Span`]s, which are places in them.
//!
//! How a place is shown is in [`super::render`].

use std::ops::Range;
use std::sync::{Arc, OnceLock};

/// What some editors put before the first letter of a file; it is no part of the text.
const BOM: char = '\u{feff}';

/// One of the files of a [`SourceFiles`].
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct FileId(u32);

/// A range of bytes in one file. An empty one is a place between two letters.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Span {
    /// The file.
    pub file: FileId,
    /// The first byte.
    pub start: u32,
    /// The byte after the last.
    pub end: u32,
}

impl Span {
    /// The bytes of `range` in `file`.
    pub fn new(file: FileId, range: Range<usize>) -> Self {
        let start = offset(range.start);
        Self { file, start, end: offset(range.end).max(start) }
    }

    /// From the start of this one to the end of `other`, which is in the same file.
    pub fn to(self, other: Self) -> Self {
        Self { end: self.end.max(other.end), ..self }
    }

    /// The range of bytes.
    pub fn range(self) -> Range<usize> {
        self.start as usize..self.end as usize
    }
}

/// Offsets are of files that a limit has kept far below 4 GiB.
fn offset(value: usize) -> u32 {
    u32::try_from(value).unwrap_or(u32::MAX)
}

/// A file as it was read.
#[derive(Debug)]
pub struct SourceFile {
    /// Its name as people gave it.
    pub name: Arc<str>,
    /// What is in it.
    pub text: Arc<str>,
    /// Where each line starts; found when the first place is asked for.
    line_starts: OnceLock<Box<[u32]>>,
}

impl SourceFile {
    /// The line and the column of a byte, both from 1, the column in characters.
    pub fn line_column(&self, offset: usize) -> (usize, usize) {
        let offset = self.floor(offset);
        let line = self.line_index(offset);
        let start = self.line_starts()[line] as usize;
        let before = self.text.get(start..offset).unwrap_or_default();
        let before = before.strip_prefix(BOM).filter(|_| start == 0).unwrap_or(before);
        (line + 1, before.chars().count() + 1)
    }

    /// The range of the line that holds a byte, without its end.
    pub(super) fn line_range(&self, offset: usize) -> Range<usize> {
        let line = self.line_index(self.floor(offset));
        let start = self.line_starts()[line] as usize;
        let end = self.line_starts().get(line + 1).map_or(self.text.len(), |next| *next as usize);
        let line = self.text.get(start..end).unwrap_or_default();
        if start == 0 && line.starts_with(BOM) {
            return BOM.len_utf8()..line.trim_end_matches(['\n', '\r']).len();
        }
        start..start + line.trim_end_matches(['\n', '\r']).len()
    }

    /// The byte itself, or the first of the character it is inside of.
    pub(super) fn floor(&self, offset: usize) -> usize {
        self.text.floor_char_boundary(offset)
    }

    fn line_index(&self, offset: usize) -> usize {
        // The first line starts at 0, so there is one before every offset.
        self.line_starts().partition_point(|start| *start as usize <= offset) - 1
    }

    fn line_starts(&self) -> &[u32] {
        self.line_starts.get_or_init(|| {
            let bytes = self.text.as_bytes();
            let ends = bytes.iter().enumerate().filter(|(index, byte)| match byte {
                b'\n' => true,
                b'\r' => bytes.get(index + 1) != Some(&b'\n'),
                _ => false,
            });
            std::iter::once(0).chain(ends.map(|(index, _)| offset(index + 1))).collect()
        })
    }
}

/// The files problems can point into.
#[derive(Debug, Default)]
pub struct SourceFiles(Vec<SourceFile>);

impl SourceFiles {
    /// None yet.
    pub fn new() -> Self {
        Self::default()
    }

    /// Adds a file under the name people know it by.
    pub fn push(&mut self, name: &str, text: Arc<str>) -> FileId {
        let id = FileId(offset(self.0.len()));
        self.0.push(SourceFile { name: name.into(), text, line_starts: OnceLock::new() });
        id
    }

    /// A file; nothing if it is one of other [`SourceFiles`].
    pub fn get(&self, file: FileId) -> Option<&SourceFile> {
        self.0.get(file.0 as usize)
    }

    /// All files in the order they were added.
    pub fn iter(&self) -> impl Iterator<Item = (FileId, &SourceFile)> {
        self.0.iter().enumerate().map(|(index, file)| (FileId(offset(index)), file))
    }

    /// The text of a place; nothing if there is no such place.
    pub fn text_of(&self, span: Span) -> Option<&str> {
        self.get(span.file)?.text.get(span.range())
    }

    /// The line and the column where `span` starts, both from 1, the column in characters.
    ///
    /// A span of a file that is not one of these is at the very start.
    pub fn line_column(&self, span: Span) -> (usize, usize) {
        self.get(span.file).map_or((1, 1), |file| file.line_column(span.start as usize))
    }
}
