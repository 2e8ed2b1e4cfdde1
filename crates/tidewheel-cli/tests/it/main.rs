//! Tests of `tidewheel-cli`, in one program: each is linked once.
#![allow(clippy::unwrap_used, clippy::print_stdout, clippy::print_stderr, reason = "tests")]

mod at_server;
mod binary;
mod browser;
mod common;
mod constellation;
mod data;
mod deploy;
mod docs;
mod elsewhere;
mod engines;
mod flow_again;
mod flow_calls;
mod flow_files;
mod flow_shape;
mod flow_trust;
mod flowtoy_files;
mod import;
mod listen;
mod make_manners;
mod manners;
mod moving;
mod notify;
#[allow(dead_code, reason = "the tests of `tidewheel-publish` use the rest")]
#[path = "../../../tidewheel-publish/tests/it/peers/mod.rs"]
mod peers;
mod priority;
mod publish;
mod publish_agreed;
mod publish_beside;
mod publish_cargo;
mod publish_code;
mod publish_events;
mod publish_follow;
mod publish_loopback;
mod publish_npm;
mod publish_ourselves;
mod publish_pack;
mod publish_peers;
mod publish_pins;
mod publish_python;
mod publish_refused;
mod publish_rehearsed;
mod publish_skip;
mod publish_sweep;
mod publish_wheels;
mod publishing;
#[path = "../../../tidewheel-publish/tests/it/registry/mod.rs"]
mod registry;
mod requests;
mod run;
mod run_groups;
#[allow(dead_code, reason = "the tests of `tidewheel-publish` use the rest")]
#[path = "../../../tidewheel-publish/tests/it/samples/mod.rs"]
mod samples;
mod schema;
mod screens;
mod serve;
mod serve_secrets;
mod serve_soak;
mod shared_limits;
mod shown;
mod standard_graphs;
mod terminal;
#[allow(dead_code, reason = "the tests of `tidewheel-publish` use the rest")]
#[path = "../../../tidewheel-publish/tests/it/tools/mod.rs"]
mod tools;
mod torture;
mod tui;
mod tui_slow;
mod validation;
