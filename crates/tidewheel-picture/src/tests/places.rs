//! Where boxes and edges go.
//!
//! How they are written down is tried in [`super::formats`].

use super::samples::{assortment, diamond, of, random, release};
use crate::{Direction, Layout, Picture, Place, Point, Segment, Shape, State, SvgOptions};

const DIRECTIONS: [Direction; 2] = [Direction::Across, Direction::Down];

fn overlaps(one: &Place, other: &Place, gap: f64) -> bool {
    one.x < other.x + other.width + gap
        && other.x < one.x + one.width + gap
        && one.y < other.y + other.height + gap
        && other.y < one.y + one.height + gap
}

fn assert_sound(name: &str, picture: &Picture, layout: &Layout, direction: Direction) {
    assert_eq!(layout.places.len(), picture.vertices.len(), "{name}");
    for (index, place) in layout.places.iter().enumerate() {
        assert!(place.x >= 0.0 && place.y >= 0.0 && place.width > 0.0, "{name}: {place:?}");
        assert!(place.x + place.width <= layout.width + 0.5, "{name}: {place:?}");
        assert!(place.y + place.height <= layout.height + 0.5, "{name}: {place:?}");
        for other in &layout.places[index + 1..] {
            assert!(!overlaps(place, other, 10.0), "{name}: {place:?} {other:?}");
        }
    }
    for route in &layout.routes {
        let along = |point: Point| if direction == Direction::Across { point.x } else { point.y };
        let mut at = route.start;
        for segment in &route.segments {
            assert!(along(segment.end()) > along(at), "{name}: {route:?}");
            if let Segment::Line(end) = segment {
                let line =
                    Place { x: at.x, y: at.y, width: end.x - at.x, height: end.y - at.y, rank: 0 };
                let crossed = layout.places.iter().find(|place| overlaps(place, &line, -1.0));
                assert!(crossed.is_none(), "{name}: {line:?} {crossed:?}");
            }
            at = segment.end();
        }
    }
}

#[test]
fn boxes_do_not_overlap_and_edges_lead_forward_around_them() {
    for (name, picture) in assortment() {
        for direction in DIRECTIONS {
            assert_sound(&name, &picture, &picture.layout(direction), direction);
        }
    }
}

#[test]
fn edges_start_and_end_at_their_boxes() {
    let picture = random(60, 120, 15, 5);
    let layout = picture.layout(Direction::Across);
    for route in &layout.routes {
        let edge = picture.edges[route.edge];
        let (from, to) = (layout.places[edge.from], layout.places[edge.to]);
        assert_eq!(route.start.x, from.x + from.width);
        assert_eq!(route.end().x, to.x);
        assert!((route.start.y - from.y - from.height / 2.0).abs() <= 1.0, "{route:?}");
        assert!((route.end().y - to.y - to.height / 2.0).abs() <= 1.0, "{route:?}");
        assert!(route.has_head && !route.has_tail_head);
        assert!(from.rank < to.rank);
    }
}

#[test]
fn the_same_picture_gets_the_same_layout() {
    for (name, picture) in assortment() {
        assert_eq!(
            picture.layout(Direction::Across),
            picture.clone().layout(Direction::Across),
            "{name}"
        );
    }
}

#[test]
fn a_diamond_is_symmetric() {
    let picture = diamond();
    let places = picture.layout(Direction::Across).places;
    assert_eq!(places[0].y, places[3].y);
    assert_eq!(places[1].y + places[2].y, 2.0 * places[0].y);
    assert_eq!(places[1].x, places[2].x);
}

#[test]
fn the_critical_path_is_straight() {
    let picture = release();
    let layout = picture.layout(Direction::Across);
    for route in layout.routes.iter().filter(|route| route.is_critical) {
        assert_eq!(route.start.y, route.end().y, "{route:?}");
    }
}

#[test]
fn a_step_that_only_a_late_one_needs_stands_next_to_it() {
    let picture = of(&[("a", "b"), ("b", "c"), ("c", "d"), ("late", "d"), ("early", "late")]);
    let places = picture.layout(Direction::Across).places;
    let rank = |name: &str| {
        let index = picture.vertices.iter().position(|vertex| vertex.name == name);
        index.map(|index| places[index].rank)
    };
    assert_eq!((rank("early"), rank("late"), rank("d")), (Some(1), Some(2), Some(3)));
}

#[test]
fn edges_between_the_same_steps_are_drawn_once() {
    let mut picture = diamond();
    let edges = picture.edges.clone();
    picture.edges.extend(edges.iter().map(|edge| edge.inferred().critical()));
    let layout = picture.layout(Direction::Across);
    assert_eq!(layout.routes.len(), edges.len());
    assert!(layout.routes.iter().all(|route| route.is_critical && route.edge < edges.len()));
}

#[test]
fn edges_that_lead_nowhere_are_left_out() {
    let mut picture = diamond();
    picture.connect(0, 99);
    picture.connect(usize::MAX, 0);
    picture.connect(2, 2);
    assert_eq!(picture.layout(Direction::Across), diamond().layout(Direction::Across));
}

#[test]
fn an_edge_that_closes_a_cycle_has_its_head_at_the_start() {
    let layout = of(&[("a", "b"), ("b", "c"), ("c", "a")]).layout(Direction::Across);
    let heads: Vec<(bool, bool)> =
        layout.routes.iter().map(|route| (route.has_head, route.has_tail_head)).collect();
    assert_eq!(heads.iter().filter(|heads| **heads == (false, true)).count(), 1);
    assert_eq!(heads.len(), 3);
}

#[test]
fn dense_graphs_stay_compact() {
    let layout = random(200, 340, 40, 3).layout(Direction::Across);
    let rank_max = layout.places.iter().map(|place| place.rank).max().unwrap_or(0);
    let fullest = (0..=rank_max)
        .map(|rank| layout.places.iter().filter(|place| place.rank == rank).count())
        .max()
        .unwrap_or(0);
    assert!(layout.height < fullest as f64 * 54.0 * 3.0, "{} for {fullest}", layout.height);
}

#[test]
fn large_graphs_are_laid_out_with_bounded_effort() {
    // A long chain with far-reaching edges would need millions of bends.
    let mut tangled = random(2_000, 4_000, 2_000, 1);
    (1..2_000).for_each(|to| tangled.connect(to - 1, to));
    assert_eq!(tangled.layout(Direction::Across).places.len(), 2_000);
    let broad = random(10_000, 12_000, 10_000, 2);
    assert_eq!(broad.layout(Direction::Across).places.len(), 10_000);
}

#[test]
fn crowded_ranks_keep_what_matters_and_count_the_rest() {
    let mut picture = Picture::new();
    let root = picture.add(crate::Vertex::new("root"));
    for index in 0..500 {
        let mut vertex = crate::Vertex::new(format!("s{index}"));
        vertex.state = Some(if index == 400 { State::Failed } else { State::Succeeded });
        let vertex = picture.add(vertex);
        picture.connect(root, vertex);
    }
    let shown = picture.collapsed(21);
    assert_eq!(shown.vertices.len(), 21);
    assert!(shown.vertices.iter().any(|vertex| vertex.name == "s400"));
    let more = shown.vertices.last().expect("there are vertices");
    assert_eq!((more.name.as_str(), more.shape), ("… 481 more", Shape::More));
    assert_eq!(more.detail.as_deref(), Some("481 succeeded"));
    assert_eq!(more.state, Some(State::Succeeded));
}

#[test]
fn groups_become_one_vertex_each_before_anything_is_left_out() {
    let mut picture = random(300, 600, 30, 4);
    for (index, vertex) in picture.vertices.iter_mut().enumerate() {
        vertex.group = Some(format!("stage {}", index / 50));
    }
    let shown = picture.collapsed(100);
    assert_eq!(shown.vertices.len(), 6);
    assert_eq!(shown.vertices[0].name, "stage 0");
    assert_eq!(shown.vertices[0].detail.as_deref(), Some("50 steps"));
}

#[test]
fn what_failed_runs_or_decided_is_drawn_beside_its_group() {
    let mut picture = Picture::new();
    let begin = picture.add(crate::Vertex::new("begin"));
    for index in 0..500 {
        let state = match index {
            217 => State::Failed,
            300..310 => State::Running,
            _ => State::Succeeded,
        };
        let vertex = crate::Vertex::new(format!("each[{index}]")).grouped("each").in_state(state);
        let vertex = picture.add(vertex);
        picture.connect(begin, vertex);
    }
    let names = |picture: &Picture| -> Vec<String> {
        picture.collapsed(100).vertices.iter().map(|vertex| vertex.name.clone()).collect()
    };
    let kept = ["begin", "each", "each[217]", "each[300]", "each[301]", "each[302]"];
    assert_eq!(names(&picture), kept);
    // One that decided how long it took is, before others that run.
    picture.vertices[1 + 42].is_critical = true;
    let kept = ["begin", "each", "each[42]", "each[217]", "each[300]", "each[301]"];
    assert_eq!(names(&picture), kept);
    // Where one of them stands between others of its group, that would be a circle.
    picture.connect(1, 218);
    picture.connect(218, 3);
    assert_eq!(names(&picture), ["begin", "each"]);
}

#[test]
fn no_picture_has_many_more_vertices_than_allowed() {
    let mut chain = random(5_000, 0, 1, 1);
    (1..5_000).for_each(|to| chain.connect(to - 1, to));
    for picture in [chain, random(5_000, 9_000, 400, 3), random(5_000, 0, 1, 3)] {
        for vertices_max in [0, 2, 40, 1_000] {
            let count = picture.collapsed(vertices_max).vertices.len();
            assert!(count <= vertices_max.max(2), "{count} for {vertices_max}");
        }
        let svg = picture.svg(&SvgOptions::default().vertices_max(200));
        assert!(svg.matches("<g class=\"step").count() <= 200);
    }
}
