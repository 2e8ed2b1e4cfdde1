//! What pictures promise, whatever the graph.
//!
//! Pictures that are tried with are made in [`samples`].

mod drawing;
mod formats;
mod letters;
mod places;
mod samples;
