//! Publishes the packages of a workspace to their registries: in order, and always finished.
//!
//! [`discover`] finds the [`Package`]s of a workspace and what each needs of the others, from what their own tools
//! say; a [`Workspace`] knows in which order they can go, and what keeps them from it: each [`Problem`] with its
//! place and what to do. Held against what [registries](registry) list and what was packed it becomes a [`Plan`](plan::Plan).
//!
//! When anything is started, tried again or paused is decided by the scheduler, as for every other run; how it looks
//! is the business of surfaces.
#![forbid(unsafe_code)]

pub mod discover;
mod document;
pub mod exchange;
pub mod pack;
mod package;
mod picture;
pub mod plan;
mod preflight;
pub mod prepare;
mod problem;
pub mod registry;
pub mod rehearse;
pub mod run;
pub mod settings;
mod workspace;

pub use document::{FileDocument, PlanDocument, PlannedDocument};
pub use package::{Ecosystem, Need, NeedKind, Package, PackageId, Publicity, Version};
pub use problem::{Code, Problem};
pub use workspace::Workspace;
