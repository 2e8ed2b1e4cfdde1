//! [`Draft`]: what is written in a file, aliases not followed yet.
//!
//! Here everything is counted, so that a file which becomes too much is refused before any of it
//! has been built. The tree itself grows in [`super::expand`].

use std::borrow::Cow;
use std::collections::HashMap;
use std::ops::Range;

use granit_parser::{Event, Parser, ScalarStyle, Span as ParserSpan, StructureStyle, Tag};

use crate::language::problem::{FileId, Problem, Problems, Span, quote};

use super::limits::Limits;
use super::scalar::{Wanted, is_non_specific};
use super::syntax::{self, Surroundings};

/// What is written in a file.
pub(super) struct Draft<'a> {
    pub(super) file: FileId,
    pub(super) text: &'a str,
    pub(super) parts: Vec<Part<'a>>,
    /// The outermost part; nothing in an empty file.
    pub(super) root: Option<PartId>,
}

/// Index of a part. Parts come behind what is inside of them.
pub(super) type PartId = usize;

/// Something that is written, and where.
pub(super) struct Part<'a> {
    pub(super) shape: Shape<'a>,
    pub(super) start: u32,
    pub(super) end: u32,
}

/// What is written.
pub(super) enum Shape<'a> {
    Scalar {
        text: Cow<'a, str>,
        style: ScalarStyle,
        wanted: Wanted,
    },
    List(Vec<PartId>),
    /// Keys and values.
    Map(Vec<(PartId, PartId)>),
    Alias(PartId),
    /// An alias of nothing.
    Unknown,
}

/// The file is not read further; its problem has been told.
struct Refused;

impl<'a> Draft<'a> {
    /// Takes in a file that is not too large.
    pub(super) fn read(
        file: FileId,
        text: &'a str,
        limits: &'a Limits,
        problems: &mut Problems,
    ) -> Option<Self> {
        // About as many as there are in files that people write.
        let parts = Vec::with_capacity((text.len() / 16).min(limits.nodes_max));
        let draft = Self { file, text, parts, root: None };
        let mut reader = Reader {
            draft,
            limits,
            problems,
            open: Vec::new(),
            anchors: HashMap::new(),
            nodes: 0,
            bytes: 0,
            last: 0..0,
        };
        let mut options = granit_parser::options! {
            emit_unresolved_aliases: true,
            flow_nesting_limit: limits.depth(),
            block_nesting_limit: limits.depth(),
        };
        options.set_emit_comments(false);
        let mut parser = Parser::new_from_str_with_options(text, options);
        while let Some(next) = parser.next_event() {
            match next {
                Ok((Event::StreamEnd, _)) => break,
                Ok((Event::DocumentStart(..), span)) if reader.draft.root.is_some() => {
                    reader.second_document(&span);
                    break;
                }
                Ok((event, span)) => reader.event(event, &span).ok()?,
                Err(error) => {
                    let problem = syntax::problem(&error, &reader.surroundings());
                    reader.problems.push(problem);
                    return None;
                }
            }
        }
        Some(reader.draft)
    }
}

struct Reader<'a, 'p> {
    draft: Draft<'a>,
    limits: &'a Limits,
    problems: &'p mut Problems,
    /// Lists and mappings that have not ended, the innermost last.
    open: Vec<Open>,
    /// What has been named so far, under the number of its name; not what has not ended.
    anchors: HashMap<usize, Anchor>,
    /// Values so far, with what aliases repeat.
    nodes: usize,
    /// Bytes of texts so far, with what aliases repeat.
    bytes: usize,
    /// The last scalar that was read.
    last: Range<usize>,
}

/// Something that can be repeated by its name, and what that adds.
#[derive(Clone, Copy)]
struct Anchor {
    part: PartId,
    nodes: usize,
    bytes: usize,
    height: usize,
}

/// A list or a mapping that has not ended.
struct Open {
    content: Content,
    start: usize,
    /// The end of what was read last inside of it.
    end: usize,
    in_brackets: bool,
    anchor: usize,
    /// The counts before it.
    nodes: usize,
    bytes: usize,
    /// Lists and mappings inside each other in it, itself included.
    height: usize,
}

enum Content {
    List(Vec<PartId>),
    Map { entries: Vec<(PartId, PartId)>, key: Option<PartId> },
}

impl<'a> Reader<'a, '_> {
    fn event(&mut self, event: Event<'a>, span: &ParserSpan) -> Result<(), Refused> {
        match event {
            Event::Scalar(text, style, anchor, tag) => {
                self.scalar(text, style, anchor, tag.as_deref(), span)
            }
            Event::SequenceStart(style, anchor, tag) => {
                self.check_tag("seq", tag.as_deref(), span);
                self.open(Content::List(Vec::new()), style, anchor, span)
            }
            Event::MappingStart(style, anchor, tag) => {
                self.check_tag("map", tag.as_deref(), span);
                let content = Content::Map { entries: Vec::new(), key: None };
                self.open(content, style, anchor, span)
            }
            Event::SequenceEnd | Event::MappingEnd => {
                self.close(range(span));
                Ok(())
            }
            Event::Alias(anchor) => self.alias(anchor, range(span)),
            Event::UnresolvedAlias(name) => self.unknown_alias(&name, range(span)),
            _ => Ok(()),
        }
    }

    fn scalar(
        &mut self,
        text: Cow<'a, str>,
        style: ScalarStyle,
        anchor: usize,
        tag: Option<&Tag>,
        span: &ParserSpan,
    ) -> Result<(), Refused> {
        let mut written = range(span);
        if matches!(style, ScalarStyle::Literal | ScalarStyle::Folded) && text.is_empty() {
            // The parser places it where the next thing starts.
            written = self.last.end..self.last.end;
        }
        if text.len() > self.limits.scalar_bytes_max {
            let limit = self.limits.scalar_bytes_max;
            let message =
                format!("this text has {} bytes; no more than {limit} are read", text.len());
            return self.refuse(Problem::error("yaml-text-too-long", message), written);
        }
        let wanted = self.wanted(tag, span);
        // The parser writes `~` for what is not there.
        let is_missing = style == ScalarStyle::Plain && written.is_empty();
        let text = if is_missing { Cow::Borrowed("") } else { text };
        let bytes = text.len();
        self.last = written.clone();
        let part = self.add(Shape::Scalar { text, style, wanted }, written.clone());
        let nodes = usize::from(!self.expects_key());
        if anchor != 0 {
            self.anchors.insert(anchor, Anchor { part, nodes: 1, bytes, height: 0 });
        }
        self.attach(part, written, nodes, bytes, 0)
    }

    fn open(
        &mut self,
        content: Content,
        style: StructureStyle,
        anchor: usize,
        span: &ParserSpan,
    ) -> Result<(), Refused> {
        let Range { start, end } = range(span);
        if self.open.len() >= self.limits.depth() {
            return self.refuse(syntax::too_deep(self.limits.depth()), start..end);
        }
        let in_brackets = style == StructureStyle::Flow;
        if !in_brackets {
            self.check_tabs(start);
        }
        let (nodes, bytes) = (self.nodes, self.bytes);
        self.count(1, 0, start..end, false)?;
        let height = 1;
        self.open.push(Open { content, start, end, in_brackets, anchor, nodes, bytes, height });
        Ok(())
    }

    fn close(&mut self, end: Range<usize>) {
        let Some(open) = self.open.pop() else { return };
        let shape = match open.content {
            Content::List(list) => Shape::List(list),
            Content::Map { entries, .. } => Shape::Map(entries),
        };
        // What has no bracket ends somewhere before the next thing.
        let end = if open.in_brackets { end.end } else { open.end };
        let written = open.start..end.max(open.start);
        let part = self.add(shape, written.clone());
        if open.anchor != 0 {
            let (nodes, bytes) = (self.nodes - open.nodes, self.bytes - open.bytes);
            let anchor = Anchor { part, nodes, bytes, height: open.height };
            self.anchors.insert(open.anchor, anchor);
        }
        self.place(part, written, open.height);
    }

    fn alias(&mut self, anchor: usize, written: Range<usize>) -> Result<(), Refused> {
        let Some(anchor) = self.anchors.get(&anchor).copied() else {
            let problem =
                Problem::error("yaml-alias-in-itself", "this alias is inside of what it repeats");
            let span = Span::new(self.draft.file, written.clone());
            self.problems.push(problem.at(span));
            let part = self.add(Shape::Unknown, written.clone());
            return self.attach(part, written, 1, 0, 0);
        };
        if self.open.len() + anchor.height > self.limits.depth() {
            return self.refuse(syntax::too_deep(self.limits.depth()), written);
        }
        self.count(anchor.nodes, anchor.bytes, written.clone(), true)?;
        let part = self.add(Shape::Alias(anchor.part), written.clone());
        self.place(part, written, anchor.height);
        Ok(())
    }

    fn unknown_alias(&mut self, name: &str, written: Range<usize>) -> Result<(), Refused> {
        let message = format!("nothing above is named {}", quote(&format!("&{name}")));
        let problem = Problem::error("yaml-unknown-alias", message)
            .hint("an alias repeats a value that was named before it, as in `base: &name value`");
        self.problems.push(problem.at(Span::new(self.draft.file, written.clone())));
        let part = self.add(Shape::Unknown, written.clone());
        self.attach(part, written, 1, 0, 0)
    }

    /// Counts what a part is worth and puts it where it belongs.
    fn attach(
        &mut self,
        part: PartId,
        written: Range<usize>,
        nodes: usize,
        bytes: usize,
        height: usize,
    ) -> Result<(), Refused> {
        self.count(nodes, bytes, written.clone(), false)?;
        self.place(part, written, height);
        Ok(())
    }

    fn add(&mut self, shape: Shape<'a>, written: Range<usize>) -> PartId {
        let Span { start, end, .. } = Span::new(self.draft.file, written);
        self.draft.parts.push(Part { shape, start, end });
        self.draft.parts.len() - 1
    }

    fn place(&mut self, part: PartId, written: Range<usize>, height: usize) {
        let Some(open) = self.open.last_mut() else {
            self.draft.root = Some(part);
            return;
        };
        open.height = open.height.max(height + 1);
        // A block ends with its last letter, not with the line behind it.
        let letters = self.draft.text.get(written.clone()).unwrap_or_default().trim_end().len();
        open.end = open.end.max(written.start + letters);
        match &mut open.content {
            Content::List(list) => list.push(part),
            Content::Map { entries, key } => match key.take() {
                Some(key) => entries.push((key, part)),
                None => *key = Some(part),
            },
        }
    }

    fn count(
        &mut self,
        nodes: usize,
        bytes: usize,
        written: Range<usize>,
        is_alias: bool,
    ) -> Result<(), Refused> {
        self.nodes = self.nodes.saturating_add(nodes);
        self.bytes = self.bytes.saturating_add(bytes);
        let Limits { nodes_max, text_bytes_max, .. } = *self.limits;
        if self.nodes <= nodes_max && self.bytes <= text_bytes_max {
            return Ok(());
        }
        let much = if self.nodes > nodes_max {
            format!("more than {nodes_max} values")
        } else {
            format!("more than {text_bytes_max} bytes of text")
        };
        let problem = if is_alias {
            Problem::error("yaml-alias-expansion", format!("aliases repeat too much: {much}"))
                .label("the file becomes too much here")
        } else {
            Problem::error("yaml-too-many-values", format!("the file has {much}"))
        };
        self.refuse(problem, written)
    }

    fn refuse(&mut self, problem: Problem, written: Range<usize>) -> Result<(), Refused> {
        self.problems.push(problem.at(Span::new(self.draft.file, written)));
        Err(Refused)
    }

    fn expects_key(&self) -> bool {
        self.open.last().is_some_and(|open| matches!(open.content, Content::Map { key: None, .. }))
    }

    /// What the tag of a scalar asks for.
    fn wanted(&mut self, tag: Option<&Tag>, span: &ParserSpan) -> Wanted {
        let Some(tag) = tag else { return Wanted::Any };
        Wanted::of(tag).unwrap_or_else(|| {
            self.wrong_tag(tag, "a scalar", span);
            Wanted::Any
        })
    }

    fn check_tag(&mut self, own: &str, tag: Option<&Tag>, span: &ParserSpan) {
        let Some(tag) = tag else { return };
        if tag.core_suffix() != Some(own) && !is_non_specific(tag) {
            let kind = if own == "seq" { "a list" } else { "a mapping" };
            self.wrong_tag(tag, kind, span);
        }
    }

    fn wrong_tag(&mut self, tag: &Tag, kind: &str, span: &ParserSpan) {
        let name = quote(&tag.original());
        let problem = if tag.is_yaml_core_schema() {
            Problem::error("yaml-tag-mismatch", format!("the tag {name} does not fit {kind}"))
        } else {
            Problem::error("yaml-unknown-tag", format!("the tag {name} is not known"))
                .hint("quote the text if it is not meant to be a tag")
        };
        let place = span.tag_span().unwrap_or(*span);
        self.problems.push(problem.at(Span::new(self.draft.file, range(&place))));
    }

    /// The parser lets tabs before the first key of a file pass.
    fn check_tabs(&mut self, start: usize) {
        let before = self.draft.text.get(..start).unwrap_or_default().as_bytes();
        let blanks = before.iter().rev().take_while(|byte| matches!(byte, b' ' | b'\t')).count();
        let indent = start - blanks..start;
        let starts_line =
            matches!(before.get(..indent.start).and_then(<[u8]>::last), None | Some(b'\n' | b'\r'));
        if let Some(tab) = before[indent.clone()].iter().position(|byte| *byte == b'\t')
            && starts_line
        {
            let tab = indent.start + tab;
            self.problems.push(syntax::tab().at(Span::new(self.draft.file, tab..tab + 1)));
        }
    }

    fn second_document(&mut self, span: &ParserSpan) {
        let problem =
            Problem::error("yaml-second-document", "there is a second document in this file")
                .hint("put every document into a file of its own; `---` starts a new one");
        self.problems.push(problem.at(Span::new(self.draft.file, range(span))));
    }

    fn surroundings(&self) -> Surroundings<'_> {
        let bracket = self.open.iter().rev().find(|open| open.in_brackets).map(|open| open.start);
        let Draft { file, text, .. } = self.draft;
        Surroundings {
            file,
            text,
            last: self.last.clone(),
            bracket,
            depth_max: self.limits.depth(),
        }
    }
}

/// The bytes of a place that the parser gives.
fn range(span: &ParserSpan) -> Range<usize> {
    let range = span.byte_range().unwrap_or(0..0);
    range.start..range.end.max(range.start)
}
