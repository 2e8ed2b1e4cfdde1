//! What a person or a program may ask of Tidewheel and do with it, once for all surfaces.
//!
//! [`text`] makes foreign text fit to be shown. How anything looks on a surface (colours, tables,
//! screens, pages) and how it is asked for (arguments, routes, keys) is the surface's business.
#![forbid(unsafe_code)]

pub mod text;
