//! Tests of `tidewheel-publish`, in one program: each is linked once.

mod library;
mod peers;
mod registry;
mod registry_clients;
mod registry_faults;
mod registry_peers;
mod rehearsal;
mod samples;
mod tools;
