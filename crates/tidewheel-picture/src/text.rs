//! A picture for a terminal: a drawing of lines where it fits, else a list by level.
//!
//! The lines are drawn in [`super::lanes`].

use super::labels::{cut_to_columns, harmless};
use super::lanes::{Row, draw};
use super::letters::columns;
use super::model::{Picture, Shape, State, Vertex};
use super::ranks::levels;
use super::skeleton::Skeleton;

/// Larger parts are listed: nobody follows that many lines.
const DRAWN_MAX: usize = 400;
/// More letters fit on no line.
const LETTERS_MAX: usize = 400;
/// Narrower terminals get lines that are too long.
const WIDTH_MIN: usize = 24;
/// How many names follow `after:`.
const AFTER_MAX: usize = 6;

const RESET: &str = "\u{1b}[0m";
const BOLD: &str = "\u{1b}[1m";
const DIM: &str = "\u{1b}[2m";

impl Picture {
    /// The picture in lines of at most `width` columns, with or without colours.
    pub fn text(&self, width: usize, has_colours: bool) -> String {
        self.page(width, has_colours).0
    }

    /// The same without colours, line by line, each with the vertex that it is of, for whoever colours it anew.
    pub fn text_lines(&self, width: usize) -> Vec<TextLine> {
        let (text, begins) = self.page(width, false);
        let mut begins = begins.into_iter().peekable();
        let mut at = 0;
        let line = |line: &str| {
            let vertex = begins.next_if(|(begin, _)| *begin == at).map(|(_, vertex)| vertex);
            at += line.len() + 1;
            TextLine { text: line.to_owned(), vertex }
        };
        text.lines().map(line).collect()
    }

    /// The text, and where in it the line of which vertex begins.
    fn page(&self, width: usize, has_colours: bool) -> (String, Vec<(usize, usize)>) {
        let skeleton = Skeleton::new(self.vertices.len(), &self.edges);
        let width = width.max(WIDTH_MIN);
        let (out, begins) = (String::new(), Vec::new());
        let mut page = Page { picture: self, skeleton: &skeleton, width, has_colours, out, begins };
        if let Some(title) = &self.title {
            let title = cut_to_columns(&harmless(title, LETTERS_MAX), width);
            page.paint(BOLD, &title);
            page.out.push_str("\n\n");
        }
        let mut was_large = None;
        for component in skeleton.components() {
            let is_large = component.len() > 1;
            if was_large.is_some_and(|was_large| was_large || is_large) {
                page.out.push('\n');
            }
            page.write_component(&component);
            was_large = Some(is_large);
        }
        page.write_legend();
        (page.out, page.begins)
    }
}

/// A line of a picture.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct TextLine {
    /// What it says.
    pub text: String,
    /// The vertex that it is of, if it is of one.
    pub vertex: Option<usize>,
}

struct Page<'a> {
    picture: &'a Picture,
    skeleton: &'a Skeleton,
    width: usize,
    has_colours: bool,
    out: String,
    begins: Vec<(usize, usize)>,
}

impl Page<'_> {
    fn write_component(&mut self, component: &[usize]) {
        let drawing = match component.len() {
            0..=DRAWN_MAX => draw(self.skeleton, component, self.width / 4),
            _ => None,
        };
        match drawing {
            Some(rows) => self.write_drawing(&rows),
            None => self.write_list(component),
        }
    }

    fn write_drawing(&mut self, rows: &[Row]) {
        let drawn = rows.iter().map(|row| row.characters('○').len()).max().unwrap_or(0);
        let vertices = rows.iter().filter_map(|row| row.vertex);
        let names = self.name_columns(vertices, self.width.saturating_sub(drawn + 2));
        for row in rows {
            let marker = row.vertex.map_or(' ', |vertex| marker(&self.picture.vertices[vertex]));
            let characters = row.characters(marker);
            self.begins.extend(row.vertex.map(|vertex| (self.out.len(), vertex)));
            let step = row.vertex.map(|_| row.column * 2);
            for (at, character) in characters.iter().enumerate() {
                let text = character.to_string();
                match row.vertex {
                    Some(vertex) if step == Some(at) => {
                        self.paint(colour(&self.picture.vertices[vertex]), &text);
                    }
                    _ if *character == ' ' => self.out.push(' '),
                    _ => self.paint(DIM, &text),
                }
            }
            if let Some(vertex) = row.vertex {
                self.pad(drawn - characters.len() + 2);
                let room = self.width.saturating_sub(drawn + 2);
                let detail = self.picture.vertices[vertex].detail.as_deref();
                self.write_name(vertex, names, room, detail);
            }
            self.end_line();
        }
    }

    /// How many columns names get: as many as they need, or most of the room.
    fn name_columns(&self, vertices: impl Iterator<Item = usize>, room: usize) -> usize {
        let (mut needed, mut has_details) = (0, false);
        for vertex in vertices {
            let vertex = &self.picture.vertices[vertex];
            needed = needed.max(columns(&harmless(&vertex.name, LETTERS_MAX)));
            has_details |= vertex.detail.is_some();
        }
        needed.min(if has_details && room > 30 { room * 2 / 3 } else { room })
    }

    fn write_name(&mut self, vertex: usize, names: usize, room: usize, note: Option<&str>) {
        let vertex = &self.picture.vertices[vertex];
        let name = cut_to_columns(&harmless(&vertex.name, LETTERS_MAX), names);
        let look = if vertex.is_critical { BOLD } else { "" };
        self.paint(look, name.trim_end());
        let room = room.saturating_sub(names + 2);
        let note = note.map(|note| harmless(note.trim(), LETTERS_MAX)).unwrap_or_default();
        if note.is_empty() || room < 4 {
            return;
        }
        self.pad(names - columns(name.trim_end()) + 2);
        self.paint(DIM, cut_to_columns(&note, room).trim_end());
    }

    fn write_list(&mut self, component: &[usize]) {
        let levels = levels(self.skeleton);
        let mut sorted = component.to_vec();
        sorted.sort_by_key(|vertex| (levels[*vertex], *vertex));
        let room = self.width.saturating_sub(5);
        let names = self.name_columns(sorted.iter().copied(), room).min((room * 2 / 5).max(12));
        for level in sorted.chunk_by(|one, other| levels[*one] == levels[*other]) {
            let number = level.first().map_or(0, |vertex| levels[*vertex] + 1);
            self.paint(DIM, &format!("level {number}"));
            self.out.push('\n');
            for vertex in level {
                self.begins.push((self.out.len(), *vertex));
                self.out.push_str("  ");
                let step = &self.picture.vertices[*vertex];
                self.paint(colour(step), &marker(step).to_string());
                self.out.push_str("  ");
                let note = self.after(*vertex);
                self.write_name(*vertex, names, room, note.as_deref());
                self.end_line();
            }
        }
    }

    /// `after: build, test`; none where nothing is waited for.
    fn after(&self, vertex: usize) -> Option<String> {
        let count = self.skeleton.above[vertex].len();
        let sources = self.skeleton.sources_of(vertex).take(AFTER_MAX);
        let names: Vec<String> =
            sources.map(|source| harmless(&self.picture.vertices[source].name, 40)).collect();
        let more = match count.saturating_sub(AFTER_MAX) {
            0 => String::new(),
            more => format!(" and {more} more"),
        };
        (count > 0).then(|| format!("after: {}{more}", names.join(", ")))
    }

    /// Explains what is not plain, if there is any.
    fn write_legend(&mut self) {
        let mut words = Vec::new();
        for shape in Shape::ALL {
            let shows = |one: &Vertex| {
                one.shape == shape && marker(one) == shape_marker(shape, one.is_critical)
            };
            if matches!(shape, Shape::Step | Shape::More) {
                continue;
            }
            if let Some(vertex) = self.picture.vertices.iter().find(|one| shows(one)) {
                words.push(format!("{} {}", marker(vertex), shape.word().replace('-', " ")));
            }
        }
        if self.picture.edges.iter().any(|edge| edge.is_critical) {
            words.push("━ critical path".to_owned());
        }
        if !words.is_empty() {
            let line = cut_to_columns(&words.join("   "), self.width);
            self.out.push('\n');
            self.paint(DIM, &line);
            self.out.push('\n');
        }
    }

    fn paint(&mut self, look: &str, text: &str) {
        if self.has_colours && !look.is_empty() && !text.trim().is_empty() {
            self.out.push_str(look);
            self.out.push_str(text);
            self.out.push_str(RESET);
        } else {
            self.out.push_str(text);
        }
    }

    /// Ends the line without blanks at its end, as after a step without a name.
    fn end_line(&mut self) {
        self.out.truncate(self.out.trim_end_matches(' ').len());
        self.out.push('\n');
    }

    fn pad(&mut self, count: usize) {
        self.out.extend(std::iter::repeat_n(' ', count));
    }
}

/// The character that stands for a step: how far it has come, or of which kind it is.
fn marker(vertex: &Vertex) -> char {
    match vertex.state {
        None | Some(State::Pending) => shape_marker(vertex.shape, vertex.is_critical),
        Some(State::Running) => '▶',
        Some(State::Succeeded) => '✓',
        Some(State::Failed) => '✗',
        Some(State::Skipped) => '–',
        Some(State::Cancelled) => '⊘',
        Some(State::Unknown) => '?',
    }
}

fn shape_marker(shape: Shape, is_critical: bool) -> char {
    let (light, heavy) = match shape {
        Shape::Step => ('○', '●'),
        Shape::Wait => ('◇', '◆'),
        Shape::FanOut => ('◎', '◉'),
        Shape::ChildFlow => ('□', '■'),
        Shape::CleanUp => ('▽', '▼'),
        Shape::More => ('…', '…'),
    };
    if is_critical { heavy } else { light }
}

fn colour(vertex: &Vertex) -> &'static str {
    match vertex.state {
        None if vertex.is_critical => BOLD,
        None => "",
        Some(State::Pending | State::Skipped) => DIM,
        Some(State::Running) => "\u{1b}[34;1m",
        Some(State::Succeeded) => "\u{1b}[32m",
        Some(State::Failed) => "\u{1b}[31;1m",
        Some(State::Cancelled) => "\u{1b}[33m",
        Some(State::Unknown) => "\u{1b}[35m",
    }
}
