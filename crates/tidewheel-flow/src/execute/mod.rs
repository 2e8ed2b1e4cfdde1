//! Carries out the tasks of a flow's run: renders what a step says, has it done, keeps what it
//! leaves.
//!
//! One attempt in, one outcome out. When an attempt is made, and what follows from its outcome, is
//! decided by the scheduler.

mod artifacts;
mod cache;
mod container;
mod context;
mod elsewhere;
mod end;
mod env_file;
mod file;
mod forecast;
mod gather;
mod http;
mod means;
mod outputs;
mod process;
mod remote;
mod retry;
mod run_folder;
mod runner;
mod secrets;
mod states;
mod wait;
mod world;
mod written;

pub use artifacts::{Artifact, TaskArtifacts};
pub use container::remove_containers;
pub use env_file::{EnvFileError, EnvFiles};
pub use forecast::CacheForecast;
pub use means::{Answers, Means, Progress};
pub(crate) use outputs::FlowsLookup;
pub use outputs::Outputs;
pub(crate) use run_folder::Earlier;
pub use runner::FlowRunner;
pub use secrets::{SecretError, Secrets};
pub use states::Trace;
pub use world::{Pending, ThisMachine, World};
