//! The workload `serve`: what a server of this very program takes, beside the bounds that it is to keep.
//!
//! Each figure has a file. The server is a process of its own, asked over HTTP on the loopback interface with a token, as anybody
//! would; how that is done is in `child` and `asking`.

mod asking;
mod chain;
mod child;
mod due;
mod figure;
mod idle;
mod lists;
mod measure;
mod start;
mod submit;

pub(super) use measure::measure;
