//! What is looked at before anything is sent, beside the packages themselves: the checkout, names, lock files, tags, and
//! whether there is leave to upload.
//!
//! What is wrong between packages is found by their [workspace](crate::Workspace), what is wrong with what was packed when
//! it is [packed](crate::pack).

mod checkout;
mod leave;
mod locks;
mod names;
mod needs;
mod provenance;

pub(crate) use checkout::{about_checkout, wrong_tags};
pub(crate) use leave::about_leave;
pub(crate) use locks::stale_locks;
pub(crate) use names::odd;
pub(crate) use needs::unmet_needs;
pub(crate) use provenance::{about_provenance, may_be_signed};
