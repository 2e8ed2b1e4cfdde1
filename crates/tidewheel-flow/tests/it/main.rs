//! Tests of `tidewheel-flow`, in one program: each is linked once.

mod bench;
mod called_flows;
mod failure_words;
mod flowtoy;
mod host;
mod scenarios;
mod validation;
