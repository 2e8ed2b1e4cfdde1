//! A picture as SVG: one file without scripts or references, for light and dark ground.
//!
//! Every step is a group with `data-step` and the classes `state-…` and `shape-…`, so that a page
//! can change its look while a run goes on. Colours are in [`super::svg_style`].

use std::collections::BTreeMap;
use std::fmt::{self, Display, Write};

use super::collapse::state_counts;
use super::labels::{cut_to_breadth, harmless};
use super::layout::{DETAIL_SIZE, Direction, LAMP_ROOM, Layout, PADDING, Place, name_size};
use super::letters::is_hidden;
use super::model::{EdgeKind, Picture, Shape, State, Vertex};
use super::route::{Point, Route, Segment};
use super::svg_shapes::{write_lamp, write_outline};
use super::svg_style::{ROOT_CLASS, style_sheet};

const MARGIN: f64 = 24.0;
/// What a title takes above the picture.
const HEADING: f64 = 36.0;
/// How long an arrow head is, and half of how broad.
const HEAD: (f64, f64) = (7.0, 3.8);
/// How many letters of a name or a tooltip are shown when a pointer rests on a step.
const TOOLTIP_MAX: usize = 600;

/// How an SVG picture is made.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[non_exhaustive]
pub struct SvgOptions {
    /// Which way time runs.
    pub direction: Direction,
    /// With more vertices than this, groups and crowded ranks are drawn as one vertex each.
    pub vertices_max: usize,
    /// Whether a page will change the states: every step then has a lamp with all marks, of which
    /// the class `state-…` of the step shows one.
    pub is_live: bool,
    /// Whether the style sheet is part of the document. A page whose policy forbids styles in the
    /// document serves [`style_sheet`] as a file instead.
    pub has_style: bool,
}

impl Default for SvgOptions {
    fn default() -> Self {
        Self { direction: Direction::Across, vertices_max: 1_500, is_live: false, has_style: true }
    }
}

impl SvgOptions {
    /// The same options with another direction.
    pub fn direction(mut self, direction: Direction) -> Self {
        self.direction = direction;
        self
    }

    /// The same options with another number of vertices.
    pub fn vertices_max(mut self, vertices_max: usize) -> Self {
        self.vertices_max = vertices_max;
        self
    }

    /// The same options, for a page that serves [`style_sheet`] itself.
    pub fn without_style(mut self) -> Self {
        self.has_style = false;
        self
    }

    /// The same options, for a page that changes states.
    pub fn live(mut self) -> Self {
        self.is_live = true;
        self
    }
}

impl Picture {
    /// The picture as an SVG document.
    pub fn svg(&self, options: &SvgOptions) -> String {
        let shown = self.collapsed(options.vertices_max);
        let layout = shown.layout_for(options);
        let mut out = String::with_capacity(4_000 + shown.vertices.len() * 500);
        Drawing { picture: &shown, layout: &layout, options }
            .write(&mut out, self)
            .expect("writing to a string cannot fail");
        out
    }

    fn layout_for(&self, options: &SvgOptions) -> Layout {
        if !options.is_live || self.has_states() || self.vertices.is_empty() {
            return self.layout(options.direction);
        }
        // Lamps need room, also when nobody has a state yet.
        let mut waiting = self.clone();
        waiting.vertices[0].state = Some(State::Pending);
        waiting.layout(options.direction)
    }
}

struct Drawing<'a> {
    picture: &'a Picture,
    layout: &'a Layout,
    options: &'a SvgOptions,
}

impl Drawing<'_> {
    fn write(&self, out: &mut String, whole: &Picture) -> fmt::Result {
        let heading = if self.picture.title.is_some() { HEADING } else { 0.0 };
        let width = (self.layout.width + 2.0 * MARGIN).max(160.0).ceil();
        let height = (self.layout.height + 2.0 * MARGIN + heading).ceil();
        write!(out, r#"<svg xmlns="http://www.w3.org/2000/svg" class="{ROOT_CLASS}" role="img""#)?;
        let size = (Number(width), Number(height));
        writeln!(out, r#" width="{0}" height="{1}" viewBox="0 0 {0} {1}">"#, size.0, size.1)?;
        let title = self.picture.title.as_deref().unwrap_or("Steps");
        writeln!(out, "<title>{}</title>", Escaped(&harmless(title, TOOLTIP_MAX)))?;
        writeln!(out, "<desc>{}</desc>", Escaped(&description(whole)))?;
        if self.options.has_style {
            writeln!(out, "<style>\n{}</style>", style_sheet())?;
        }
        writeln!(out, r#"<rect class="ground" width="100%" height="100%"/>"#)?;
        if let Some(title) = &self.picture.title {
            let room = (width - 2.0 * MARGIN) * 1000.0 / 16.5;
            let title = cut_to_breadth(&harmless(title, TOOLTIP_MAX), room as usize);
            let title = Escaped(&title);
            writeln!(
                out,
                r#"<text class="heading" x="{MARGIN}" y="{}">{title}</text>"#,
                MARGIN + 13.0
            )?;
        }
        let top = Number(MARGIN + heading);
        writeln!(out, r#"<g transform="translate({MARGIN} {top})">"#)?;
        self.write_edges(out)?;
        for (vertex, place) in self.picture.vertices.iter().zip(&self.layout.places) {
            self.write_vertex(out, vertex, place)?;
        }
        writeln!(out, "</g>\n</svg>")
    }

    /// Critical edges come last, on top of the others; so do their heads.
    fn write_edges(&self, out: &mut String) -> fmt::Result {
        let mut heads: BTreeMap<(bool, i64, i64, bool), Point> = BTreeMap::new();
        let mut routes: Vec<&Route> = self.layout.routes.iter().collect();
        routes.sort_by_key(|route| route.is_critical);
        for route in routes {
            self.write_edge(out, route)?;
            let tail = route.has_tail_head.then_some((route.start, true));
            let head = route.has_head.then_some((route.end(), false));
            for (at, is_backward) in tail.into_iter().chain(head) {
                let key = ((at.x * 4.0) as i64, (at.y * 4.0) as i64);
                // Of heads at the same place one is enough, and a critical one hides the others.
                if route.is_critical {
                    heads.remove(&(false, key.0, key.1, is_backward));
                }
                heads.insert((route.is_critical, key.0, key.1, is_backward), at);
            }
        }
        for ((is_critical, _, _, is_backward), at) in heads {
            self.write_head(out, at, is_critical, is_backward)?;
        }
        Ok(())
    }

    fn write_edge(&self, out: &mut String, route: &Route) -> fmt::Result {
        let edge = self.picture.edges[route.edge];
        out.push_str(r#"<path class="edge"#);
        if edge.kind == EdgeKind::Inferred {
            out.push_str(" inferred");
        }
        if route.is_critical {
            out.push_str(" critical");
        }
        write!(out, r#"" data-from="{}" data-to="{}" d=""#, edge.from, edge.to)?;
        write_way(out, route, self.along(HEAD.0 - 1.5))?;
        out.push_str("\"/>\n");
        Ok(())
    }

    /// A step along the ranks.
    fn along(&self, by: f64) -> Point {
        match self.options.direction {
            Direction::Across => Point { x: by, y: 0.0 },
            Direction::Down => Point { x: 0.0, y: by },
        }
    }

    fn write_head(
        &self,
        out: &mut String,
        tip: Point,
        is_critical: bool,
        is_backward: bool,
    ) -> fmt::Result {
        let sign = if is_backward { 1.0 } else { -1.0 };
        let base = self.along(sign * HEAD.0);
        let tip = tip.shifted(self.along(sign * 1.0));
        let critical = if is_critical { " critical" } else { "" };
        // The other axis is the one along the ranks, turned.
        let side = self.along(HEAD.1).turned();
        writeln!(
            out,
            r#"<path class="head{critical}" d="M{} {}l{} {}l{} {}z"/>"#,
            Number(tip.x),
            Number(tip.y),
            Number(base.x + side.x),
            Number(base.y + side.y),
            Number(-2.0 * side.x),
            Number(-2.0 * side.y),
        )
    }

    fn write_vertex(&self, out: &mut String, vertex: &Vertex, place: &Place) -> fmt::Result {
        let state = vertex.state.or(self.options.is_live.then_some(State::Pending));
        write!(out, r#"<g class="step shape-{}"#, vertex.shape.word())?;
        if let Some(state) = state {
            write!(out, " state-{}", state.word())?;
        }
        out.push_str(if vertex.is_critical { r#" critical""# } else { r#"""# });
        // What stands for several is no step, and a page opens it otherwise.
        let word = if vertex.shape == Shape::More { "more" } else { "step" };
        write!(out, r#" data-{word}="{}""#, Escaped(&vertex.name))?;
        if let Some(group) = &vertex.group {
            write!(out, r#" data-group="{}""#, Escaped(group))?;
        }
        writeln!(out, r#" transform="translate({} {})">"#, Number(place.x), Number(place.y))?;
        writeln!(out, "<title>{}</title>", Escaped(&tooltip(vertex)))?;
        write_outline(out, vertex.shape, place)?;
        let has_lamps = self.options.is_live || self.picture.has_states();
        let mut left = PADDING;
        if has_lamps {
            let (x, y) = (PADDING + 6.0, place.height / 2.0);
            match state {
                Some(_) if self.options.is_live => write_lamp(out, &State::ALL, x, y)?,
                Some(state) => write_lamp(out, &[state], x, y)?,
                None => {}
            }
            left += LAMP_ROOM;
        }
        write_texts(out, vertex, place, left)?;
        writeln!(out, "</g>")
    }
}

fn write_texts(out: &mut String, vertex: &Vertex, place: &Place, left: f64) -> fmt::Result {
    let room = place.width - left - PADDING + 1.0;
    let fitted = |text: &str, size: f64| {
        cut_to_breadth(&harmless(text, TOOLTIP_MAX), (room * 1000.0 / size) as usize)
    };
    let name = fitted(&vertex.name, name_size(vertex));
    let middle = place.height / 2.0;
    let base = middle + if vertex.detail.is_some() { -3.0 } else { 4.5 };
    let (x, name) = (Number(left), Escaped(&name));
    writeln!(out, r#"<text class="name" x="{x}" y="{}">{name}</text>"#, Number(base))?;
    if let Some(detail) = &vertex.detail {
        let detail = fitted(detail, DETAIL_SIZE);
        let (base, detail) = (Number(middle + 13.0), Escaped(&detail));
        writeln!(out, r#"<text class="detail" x="{x}" y="{base}">{detail}</text>"#)?;
    }
    Ok(())
}

/// The commands of a path, which ends (or starts) a little early where a head takes over.
fn write_way(out: &mut String, route: &Route, trim: Point) -> fmt::Result {
    let back = Point { x: -trim.x, y: -trim.y };
    let start = if route.has_tail_head { route.start.shifted(trim) } else { route.start };
    write!(out, "M{} {}", Number(start.x), Number(start.y))?;
    for (index, segment) in route.segments.iter().enumerate() {
        let is_last = index + 1 == route.segments.len();
        let by = if is_last && route.has_head { back } else { Point { x: 0.0, y: 0.0 } };
        match segment {
            Segment::Line(end) => {
                let end = end.shifted(by);
                write!(out, "L{} {}", Number(end.x), Number(end.y))?;
            }
            Segment::Curve(first, second, end) => {
                let (second, end) = (second.shifted(by), end.shifted(by));
                out.push('C');
                for (index, point) in [*first, second, end].into_iter().enumerate() {
                    let gap = if index == 0 { "" } else { " " };
                    write!(out, "{gap}{} {}", Number(point.x), Number(point.y))?;
                }
            }
        }
    }
    Ok(())
}

/// What a reader who sees nothing is told.
fn description(picture: &Picture) -> String {
    let (steps, edges) = (picture.vertices.len(), picture.edges.len());
    let mut text = format!("{steps} steps, {edges} dependencies.");
    if let Some(counts) = state_counts(picture.vertices.iter().filter_map(|one| one.state)) {
        text.push_str(&format!(" {counts}."));
    }
    let critical = picture.vertices.iter().filter(|vertex| vertex.is_critical);
    let names: Vec<String> = critical.take(20).map(|one| harmless(&one.name, 60)).collect();
    if !names.is_empty() {
        text.push_str(&format!(" Critical path: {}.", names.join(", ")));
    }
    text
}

fn tooltip(vertex: &Vertex) -> String {
    let mut text = harmless(&vertex.name, TOOLTIP_MAX);
    if let Some(state) = vertex.state {
        text.push_str(&format!(" ({})", state.word()));
    }
    for more in [&vertex.group, &vertex.detail, &vertex.tooltip].into_iter().flatten() {
        text.push('\n');
        text.push_str(&harmless(more, TOOLTIP_MAX));
    }
    text
}

/// A number without digits that nobody sees.
pub(super) struct Number(pub(super) f64);

impl Display for Number {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let tenths = (self.0 * 10.0).round() as i64;
        let sign = if tenths < 0 { "-" } else { "" };
        let (whole, rest) = (tenths.abs() / 10, tenths.abs() % 10);
        match rest {
            0 => write!(f, "{sign}{whole}"),
            _ => write!(f, "{sign}{whole}.{rest}"),
        }
    }
}

/// Text that stays text within elements and attributes.
struct Escaped<'a>(&'a str);

impl Display for Escaped<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        for letter in self.0.chars() {
            match letter {
                '&' => f.write_str("&amp;")?,
                '<' => f.write_str("&lt;")?,
                '>' => f.write_str("&gt;")?,
                '"' => f.write_str("&quot;")?,
                '\'' => f.write_str("&#39;")?,
                '\t' | '\n' | '\r' => write!(f, "&#{};", u32::from(letter))?,
                // XML has no way to say these, not even escaped.
                '\0'..='\u{1f}' | '\u{fffe}' | '\u{ffff}' => f.write_char('\u{fffd}')?,
                // Allowed, but no reader of the source should be misled.
                _ if is_hidden(letter) => write!(f, "&#{};", u32::from(letter))?,
                _ => f.write_char(letter)?,
            }
        }
        Ok(())
    }
}
