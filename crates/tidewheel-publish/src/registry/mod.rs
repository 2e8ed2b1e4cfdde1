//! What registries say of packages: which versions are out, and with which contents.
//!
//! Only their answers are understood here; asking them, and how often, is not done here.

mod cargo;
mod hash;
mod listing;
mod npm;
mod page;
mod pep440;
mod python;
mod range;
#[cfg(test)]
mod tests;

pub use cargo::{download_url, index_path, read_index, read_version};
pub use hash::{Algorithm, Digest};
pub use listing::{Listed, ListedFile, Listing, Unreadable};
pub use npm::{document_path, read_document, read_manifest};
pub use python::{project_path, read_project};
pub use range::satisfies;
