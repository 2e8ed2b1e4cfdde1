//! Where the boxes of a picture go and how the edges run between them.
//!
//! Ranks, the order within them and the places across them are worked out in [`super::ranks`],
//! [`super::layers`] and [`super::align`]; here they become coordinates, and the parts that are
//! not connected are put side by side. Everything is worked out as if ranks went from left to
//! right, and turned at the end where they go downwards.

use super::align::centres;
use super::labels::{breadth, harmless};
use super::layers::Layers;
use super::model::{Picture, Vertex};
use super::ranks::ranks;
use super::relax::relax;
use super::route::{Point, Route};
use super::skeleton::Skeleton;

/// The font size of names.
const NAME_SIZE: f64 = 13.0;
/// The font size of the second line.
pub(super) const DETAIL_SIZE: f64 = 11.0;
/// What a box leaves free on either side of its text.
pub(super) const PADDING: f64 = 14.0;
/// What the lamp of a state needs on the left of the text.
pub(super) const LAMP_ROOM: f64 = 22.0;

const BREADTH_MIN: f64 = 88.0;
const BREADTH_MAX: f64 = 236.0;
const HEIGHT_PLAIN: f64 = 36.0;
const HEIGHT_DETAILED: f64 = 50.0;
/// Between parts that are not connected.
const COMPONENT_GAP: f64 = 28.0;
/// How many times the room of the fullest rank is too much.
const SPREAD_MAX: f64 = 2.0;
/// More letters do not fit into a box anyhow.
const LETTERS_MAX: usize = 200;

/// Which way time runs.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum Direction {
    /// From left to right.
    #[default]
    Across,
    /// From top to bottom.
    Down,
}

/// Where everything goes. Made by [`Picture::layout`].
#[derive(Debug, Clone, PartialEq)]
pub struct Layout {
    /// How wide everything together is.
    pub width: f64,
    /// How high everything together is.
    pub height: f64,
    /// The box of each vertex, in their order.
    pub places: Vec<Place>,
    /// The ways of the edges. Edges between the same two vertices share one.
    pub routes: Vec<Route>,
}

/// The box of a vertex.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Place {
    /// Its left side.
    pub x: f64,
    /// Its upper side.
    pub y: f64,
    /// How wide it is.
    pub width: f64,
    /// How high it is.
    pub height: f64,
    /// How far along it stands, counted from 0 within its connected part.
    pub rank: usize,
}

impl Picture {
    /// Places all vertices and edges. The same picture always gets the same layout.
    ///
    /// Vertices are never left out, however many there are; [`Picture::collapsed`] does that.
    pub fn layout(&self, direction: Direction) -> Layout {
        let skeleton = Skeleton::new(self.vertices.len(), &self.edges);
        let ranks = ranks(&skeleton);
        let sizes = Sizes::new(self, direction);
        let mut parts = Vec::new();
        for component in skeleton.components() {
            parts.push(Part::new(&skeleton, &ranks, &component, &sizes));
        }
        let mut layout = pack(parts, self.vertices.len(), direction);
        for place in &mut layout.places {
            place.x = rounded(place.x);
            place.y = rounded(place.y);
        }
        layout
    }
}

/// How large boxes are and how far they are apart.
struct Sizes {
    direction: Direction,
    widths: Vec<f64>,
    height: f64,
    /// How wide vertices without any edges are: all alike, so that they stand in columns.
    lonely_width: f64,
}

impl Sizes {
    fn new(picture: &Picture, direction: Direction) -> Self {
        let lamp = if picture.has_states() { LAMP_ROOM } else { 0.0 };
        let widths: Vec<f64> =
            picture.vertices.iter().map(|vertex| width_of(vertex, lamp)).collect();
        let is_detailed = picture.vertices.iter().any(|vertex| vertex.detail.is_some());
        let mut is_lonely = vec![true; widths.len()];
        for edge in &picture.edges {
            for end in [edge.from, edge.to] {
                if let Some(is_lonely) = is_lonely.get_mut(end) {
                    *is_lonely = false;
                }
            }
        }
        let lonely_widths = widths.iter().zip(&is_lonely).filter(|(_, is_lonely)| **is_lonely);
        let lonely_width = lonely_widths.map(|(width, _)| *width).fold(0.0, f64::max);
        let height = if is_detailed { HEIGHT_DETAILED } else { HEIGHT_PLAIN };
        Self { direction, widths, height, lonely_width }
    }

    /// The size of a vertex across the ranks.
    fn breadth(&self, vertex: usize) -> f64 {
        match self.direction {
            Direction::Across => self.height,
            Direction::Down => self.widths[vertex],
        }
    }

    /// The size of the vertices of one rank along the ranks; all of a rank are alike.
    fn depth(&self, vertices: impl Iterator<Item = usize>) -> f64 {
        match self.direction {
            Direction::Across => vertices.map(|vertex| self.widths[vertex]).fold(0.0, f64::max),
            Direction::Down => self.height,
        }
    }

    /// What is left free between two cells; edges may run nearer to each other than boxes.
    fn gap(&self, vertices: [Option<usize>; 2]) -> f64 {
        let (boxes, mixed, edges) = match self.direction {
            Direction::Across => (18.0, 16.0, 12.0),
            Direction::Down => (26.0, 20.0, 14.0),
        };
        match vertices {
            [Some(_), Some(_)] => boxes,
            [None, None] => edges,
            _ => mixed,
        }
    }

    /// What is left free between two ranks; the farther edges go to the side, the more.
    fn rank_gap(&self, farthest: f64) -> f64 {
        match self.direction {
            Direction::Across => (40.0 + farthest * 0.14).min(130.0),
            Direction::Down => (34.0 + farthest * 0.06).min(110.0),
        }
    }
}

fn width_of(vertex: &Vertex, lamp: f64) -> f64 {
    let name = breadth(&harmless(&vertex.name, LETTERS_MAX)) as f64 * name_size(vertex) / 1000.0;
    let detail = vertex.detail.as_deref().unwrap_or("");
    let detail = breadth(&harmless(detail, LETTERS_MAX)) as f64 * DETAIL_SIZE / 1000.0;
    (name.max(detail) + 2.0 * PADDING + lamp).clamp(BREADTH_MIN + lamp, BREADTH_MAX + lamp).ceil()
}

/// The font size by which a name is measured: critical ones are bold, which is wider.
pub(super) fn name_size(vertex: &Vertex) -> f64 {
    if vertex.is_critical { NAME_SIZE * 1.1 } else { NAME_SIZE }
}

/// One connected part, placed on its own; ranks go to the right.
struct Part {
    places: Vec<(usize, Place)>,
    routes: Vec<Route>,
    depth: f64,
    breadth: f64,
}

impl Part {
    fn new(skeleton: &Skeleton, ranks: &[usize], component: &[usize], sizes: &Sizes) -> Self {
        if let [vertex] = component {
            return Self::lonely(*vertex, sizes);
        }
        let layers = Layers::new(skeleton, ranks, component);
        let half = |cell: usize| layers.vertices[cell].map_or(0.0, |v| sizes.breadth(v) / 2.0);
        let distance = |left: usize, right: usize| {
            let gap = sizes.gap([layers.vertices[left], layers.vertices[right]]);
            half(left) + half(right) + gap
        };
        let mut centres = centres(&layers, &distance);
        if is_too_spread(&layers, &centres, &distance) {
            relax(&layers, &mut centres, &distance);
        }
        let top = (0..centres.len()).map(|cell| centres[cell] - half(cell));
        let top = top.fold(f64::INFINITY, f64::min);
        centres.iter_mut().for_each(|centre| *centre = rounded(*centre - top));
        let columns = Columns::new(&layers, &centres, sizes);
        let mut places = Vec::with_capacity(component.len());
        for (rank, row) in layers.rows.iter().enumerate() {
            for cell in row {
                let Some(vertex) = layers.vertices[*cell] else { continue };
                let place = Place {
                    x: columns.starts[rank],
                    y: centres[*cell] - half(*cell),
                    width: columns.ends[rank] - columns.starts[rank],
                    height: sizes.breadth(vertex),
                    rank,
                };
                places.push((vertex, place));
            }
        }
        let bottom = (0..centres.len()).map(|cell| centres[cell] + half(cell)).fold(0.0, f64::max);
        Self {
            places,
            routes: routes(skeleton, &layers, &centres, &columns),
            depth: columns.ends.last().copied().unwrap_or(0.0),
            breadth: bottom,
        }
    }

    fn lonely(vertex: usize, sizes: &Sizes) -> Self {
        let (width, height) = (sizes.lonely_width, sizes.height);
        let (depth, breadth) = match sizes.direction {
            Direction::Across => (width, height),
            Direction::Down => (height, width),
        };
        let place = Place { x: 0.0, y: 0.0, width: depth, height: breadth, rank: 0 };
        Self { places: vec![(vertex, place)], routes: Vec::new(), depth, breadth }
    }
}

/// Whether a part takes much more room across than its fullest rank needs.
fn is_too_spread(layers: &Layers, centres: &[f64], distance: &dyn Fn(usize, usize) -> f64) -> bool {
    let needed = |row: &Vec<usize>| row.windows(2).map(|pair| distance(pair[0], pair[1])).sum();
    let needed = layers.rows.iter().map(needed).fold(0.0, f64::max);
    let first = centres.iter().copied().fold(f64::INFINITY, f64::min);
    let last = centres.iter().copied().fold(f64::NEG_INFINITY, f64::max);
    last - first > SPREAD_MAX * needed
}

/// Where each rank starts and ends.
struct Columns {
    starts: Vec<f64>,
    ends: Vec<f64>,
}

impl Columns {
    fn new(layers: &Layers, centres: &[f64], sizes: &Sizes) -> Self {
        let mut columns = Self { starts: Vec::new(), ends: Vec::new() };
        let mut at = 0.0;
        for row in &layers.rows {
            let depth = sizes.depth(row.iter().filter_map(|cell| layers.vertices[*cell]));
            columns.starts.push(at);
            columns.ends.push(at + depth);
            let aside = row.iter().flat_map(|cell| {
                layers.below[*cell].iter().map(|other| (centres[*other] - centres[*cell]).abs())
            });
            at += depth + sizes.rank_gap(aside.fold(0.0, f64::max)).round();
        }
        columns
    }
}

fn routes(skeleton: &Skeleton, layers: &Layers, centres: &[f64], columns: &Columns) -> Vec<Route> {
    let mut routes = Vec::with_capacity(layers.chains.len());
    for chain in &layers.chains {
        let link = skeleton.links[chain.link];
        let first = chain.cells[0];
        let mut route = Route {
            edge: link.edge,
            start: Point { x: columns.ends[layers.ranks[first]], y: centres[first] },
            segments: Vec::new(),
            is_critical: link.is_critical,
            has_head: link.is_forward,
            has_tail_head: link.is_backward,
        };
        for cell in &chain.cells[1..] {
            let rank = layers.ranks[*cell];
            route.bend_to(Point { x: columns.starts[rank], y: centres[*cell] });
            if layers.vertices[*cell].is_none() {
                let y = route.end().y;
                route.line_to(Point { x: columns.ends[rank], y });
            }
        }
        routes.push(route);
    }
    routes
}

/// Puts parts onto shelves, each as deep as the deepest part or as makes a pleasant whole.
fn pack(parts: Vec<Part>, count: usize, direction: Direction) -> Layout {
    let area: f64 = parts
        .iter()
        .map(|part| (part.depth + COMPONENT_GAP) * (part.breadth + COMPONENT_GAP))
        .sum();
    let ratio = if direction == Direction::Across { 1.8 } else { 0.6 };
    let deepest = parts.iter().map(|part| part.depth).fold(0.0, f64::max);
    let shelf = deepest.max((area * ratio).sqrt());
    let nowhere = Place { x: 0.0, y: 0.0, width: 0.0, height: 0.0, rank: 0 };
    let mut layout =
        Layout { width: 0.0, height: 0.0, places: vec![nowhere; count], routes: Vec::new() };
    let (mut x, mut y, mut breadth) = (0.0, 0.0, 0.0_f64);
    let mut was_lonely = false;
    for part in parts {
        // Vertices without edges stand below everything else.
        let is_first_lonely =
            part.routes.is_empty() && !std::mem::replace(&mut was_lonely, part.routes.is_empty());
        if x > 0.0 && (is_first_lonely || x + part.depth > shelf) {
            y += breadth + COMPONENT_GAP;
            (x, breadth) = (0.0, 0.0);
        }
        layout.width = layout.width.max(x + part.depth);
        layout.height = layout.height.max(y + part.breadth);
        for (vertex, place) in part.places {
            layout.places[vertex] = Place { x: place.x + x, y: place.y + y, ..place };
        }
        for mut route in part.routes {
            route.map(&|point| point.shifted(Point { x, y }));
            layout.routes.push(route);
        }
        x += part.depth + COMPONENT_GAP;
        breadth = breadth.max(part.breadth);
    }
    if direction == Direction::Down { turned(layout) } else { layout }
}

/// The layout with ranks from top to bottom.
fn turned(mut layout: Layout) -> Layout {
    for place in &mut layout.places {
        *place = Place {
            x: place.y,
            y: place.x,
            width: place.height,
            height: place.width,
            rank: place.rank,
        };
    }
    layout.routes.iter_mut().for_each(|route| route.map(&Point::turned));
    Layout { width: layout.height, height: layout.width, ..layout }
}

/// To half a unit, which keeps lines sharp and numbers short.
fn rounded(value: f64) -> f64 {
    (value * 2.0).round() / 2.0
}
