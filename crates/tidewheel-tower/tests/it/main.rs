//! Tests of `tidewheel-tower`, in one program: each is linked once.

mod admission;
mod axum;
