//! Tests of `tidewheel-tui`, in one program: each is linked once.

mod crash;
mod crossterm;
mod input;
