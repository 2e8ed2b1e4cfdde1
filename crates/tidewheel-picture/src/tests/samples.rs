//! Graphs to draw.
//!
//! What is expected of them is in the tests themselves.

use crate::{Edge, Picture, Vertex};

/// Names that try to break out of every format.
pub(super) const HOSTILE: [&str; 12] = [
    "</svg><script>alert(1)</script>",
    "]]> --> <!-- <![CDATA[",
    "a\"b'c&d\\N;#%%{init}%%",
    "\u{1b}[31mred\u{7}\0\u{9b}",
    "\u{202e}gnp.exe\u{2066}",
    "日本語のステップ名前",
    "1. list",
    "`code` *strong* _soft_",
    "",
    "end",
    "new\nline\ttab\r\n",
    "zero\u{200b}width\u{feff} \u{e0041}tag \u{fffe}",
];

/// A picture of edges between named steps; a step without edges is followed by an empty name.
pub(super) fn of(edges: &[(&str, &str)]) -> Picture {
    let mut picture = Picture::new();
    for (from, to) in edges {
        let from = index(&mut picture, from);
        if !to.is_empty() {
            let to = index(&mut picture, to);
            picture.connect(from, to);
        }
    }
    picture
}

fn index(picture: &mut Picture, name: &str) -> usize {
    let known = picture.vertices.iter().position(|vertex| vertex.name == name);
    known.unwrap_or_else(|| picture.add(Vertex::new(name)))
}

/// Makes a path critical.
pub(super) fn mark_critical(picture: &mut Picture, path: &[&str]) {
    let path: Vec<usize> = path.iter().map(|name| index(picture, name)).collect();
    path.iter().for_each(|vertex| picture.vertices[*vertex].is_critical = true);
    for edge in &mut picture.edges {
        edge.is_critical |= path.windows(2).any(|pair| pair == [edge.from, edge.to]);
    }
}

pub(super) fn diamond() -> Picture {
    of(&[("build", "test"), ("build", "lint"), ("test", "publish"), ("lint", "publish")])
}

pub(super) fn release() -> Picture {
    let mut picture = of(&[
        ("checkout", "build"),
        ("checkout", "lint"),
        ("checkout", "fetch"),
        ("build", "unit"),
        ("build", "package"),
        ("fetch", "system"),
        ("build", "system"),
        ("unit", "approve"),
        ("system", "approve"),
        ("lint", "approve"),
        ("approve", "deploy"),
        ("package", "deploy"),
    ]);
    mark_critical(&mut picture, &["checkout", "build", "system", "approve", "deploy"]);
    picture
}

/// All hostile names, in a row and as one fan.
pub(super) fn hostile() -> Picture {
    let mut picture = Picture::new().titled(HOSTILE.join(" "));
    for (index, name) in HOSTILE.iter().enumerate() {
        let long = name.repeat(60);
        let vertex = Vertex::new(*name).detailed(long).explained(*name).grouped(HOSTILE[index % 3]);
        picture.add(vertex);
    }
    for to in 1..HOSTILE.len() {
        picture.connect(to - 1, to);
        picture.add_edge(Edge::new(0, to).inferred());
    }
    picture
}

/// A random graph; the same numbers give the same graph.
pub(super) fn random(vertices: usize, edges: usize, reach: usize, seed: u64) -> Picture {
    let mut picture = Picture::new();
    for index in 0..vertices {
        picture.add(Vertex::new(format!("s{index}")));
    }
    let mut state = seed.wrapping_mul(0x9e37_79b9_7f4a_7c15) | 1;
    let mut below = |bound: usize| {
        state ^= state << 13;
        state ^= state >> 7;
        state ^= state << 17;
        (state % bound as u64) as usize
    };
    for _ in 0..edges {
        let from = below(vertices);
        let to = from + 1 + below(reach);
        if to < vertices {
            picture.connect(from, to);
        }
    }
    picture
}

/// Some of everything, with their names.
pub(super) fn assortment() -> Vec<(String, Picture)> {
    let mut pictures = vec![
        ("nothing".to_owned(), Picture::new()),
        ("one".to_owned(), of(&[("one", "")])),
        ("diamond".to_owned(), diamond()),
        ("release".to_owned(), release()),
        ("hostile".to_owned(), hostile()),
        ("parts".to_owned(), of(&[("a", "b"), ("c", ""), ("d", "e"), ("d", "f"), ("g", "")])),
        ("cycle".to_owned(), of(&[("a", "b"), ("b", "c"), ("c", "a"), ("c", "d"), ("d", "d")])),
    ];
    for seed in 1..12 {
        let size = seed as usize * 9;
        pictures.push((format!("sparse {seed}"), random(size, size, 8, seed)));
        pictures.push((format!("dense {seed}"), random(size, size * 3, 20, seed)));
    }
    pictures
}
