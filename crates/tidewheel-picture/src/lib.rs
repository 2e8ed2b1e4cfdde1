//! Pictures of a graph of steps: as SVG, for a terminal, for Graphviz, Mermaid and programs.
//!
//! A [`Picture`] is made from names and edges alone; how it is made from a flow or a run is the
//! business of those who have one. Nothing here reads files, asks for the time or prints.
//!
//! ```
//! use tidewheel_picture::{Picture, SvgOptions, Vertex};
//!
//! let mut picture = Picture::new().titled("release");
//! let build = picture.add(Vertex::new("build").detailed("cargo · ~40 s"));
//! let test = picture.add(Vertex::new("test"));
//! picture.connect(build, test);
//! assert_eq!(
//!     picture.text(80, false),
//!     "release\n\n○  build  cargo · ~40 s\n│\n○  test\n",
//! );
//! assert!(picture.svg(&SvgOptions::default()).starts_with("<svg"));
//! ```
#![forbid(unsafe_code)]

mod align;
mod arms;
mod collapse;
mod dot;
mod json;
mod labels;
mod lanes;
mod layers;
mod layout;
pub mod letters;
mod mermaid;
mod model;
mod ranks;
mod relax;
mod route;
mod skeleton;
mod svg;
mod svg_shapes;
mod svg_style;
mod text;

#[cfg(test)]
mod tests;

pub use layout::{Direction, Layout, Place};
pub use model::{Edge, EdgeKind, Picture, Shape, State, Vertex};
pub use route::{Point, Route, Segment};
pub use svg::SvgOptions;
pub use svg_style::style_sheet;
pub use text::TextLine;
