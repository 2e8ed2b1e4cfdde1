//! The way of an edge across the picture, as lines and curves.
//!
//! Between which boxes it leads and which bends it passes is decided in [`super::layout`].

/// A place in a picture; `y` grows downwards.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Point {
    /// From the left.
    pub x: f64,
    /// From the top.
    pub y: f64,
}

impl Point {
    /// The point with its coordinates exchanged.
    pub(super) fn turned(self) -> Self {
        Self { x: self.y, y: self.x }
    }

    pub(super) fn shifted(self, by: Self) -> Self {
        Self { x: self.x + by.x, y: self.y + by.y }
    }
}

/// A part of a route; it starts where the part before it ends.
#[derive(Debug, Clone, Copy, PartialEq)]
pub enum Segment {
    /// Straight to a point.
    Line(Point),
    /// A cubic curve by two control points to a point.
    Curve(Point, Point, Point),
}

impl Segment {
    /// Where the part ends.
    pub fn end(&self) -> Point {
        match self {
            Self::Line(end) | Self::Curve(_, _, end) => *end,
        }
    }

    pub(super) fn map(self, change: &dyn Fn(Point) -> Point) -> Self {
        match self {
            Self::Line(end) => Self::Line(change(end)),
            Self::Curve(first, second, end) => {
                Self::Curve(change(first), change(second), change(end))
            }
        }
    }
}

/// The way of an edge from the border of one box to that of another.
#[derive(Debug, Clone, PartialEq)]
pub struct Route {
    /// Index of the edge in the picture.
    pub edge: usize,
    /// Where it starts.
    pub start: Point,
    /// How it goes on.
    pub segments: Vec<Segment>,
    /// Whether it is critical, or one of the edges between the same vertices is.
    pub is_critical: bool,
    /// Whether an arrow head belongs at the end.
    pub has_head: bool,
    /// Whether an arrow head belongs at the start: the edge would have closed a cycle.
    pub has_tail_head: bool,
}

impl Route {
    /// Where it ends.
    pub fn end(&self) -> Point {
        self.segments.last().map_or(self.start, Segment::end)
    }

    /// A straight line on; lines that go on in the same direction become one.
    pub(super) fn line_to(&mut self, end: Point) {
        let from = self.end();
        if from == end {
            return;
        }
        if from.y == end.y
            && let Some(Segment::Line(last)) = self.segments.last_mut()
            && last.y == end.y
        {
            *last = end;
            return;
        }
        self.segments.push(Segment::Line(end));
    }

    /// A curve that leaves and arrives along the ranks.
    pub(super) fn bend_to(&mut self, end: Point) {
        let from = self.end();
        if (from.y - end.y).abs() < 0.5 {
            return self.line_to(Point { x: end.x, y: from.y });
        }
        let middle = f64::midpoint(from.x, end.x);
        self.segments.push(Segment::Curve(
            Point { x: middle, y: from.y },
            Point { x: middle, y: end.y },
            end,
        ));
    }

    pub(super) fn map(&mut self, change: &dyn Fn(Point) -> Point) {
        self.start = change(self.start);
        self.segments.iter_mut().for_each(|segment| *segment = segment.map(change));
    }
}
