//! Tests of `tidewheel-client`, in one program: each is linked once.

mod contract;
mod contract_house;
mod contract_logs;
mod desk;
mod follow;
mod house;
mod kinds;
mod news;
mod outside;
mod runtimes;
mod scene;
mod shown;
mod traces;
mod written;
