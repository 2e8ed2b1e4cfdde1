//! The settings of the command: what can be set, where, and which word wins.
//!
//! A flag wins over a variable of the environment, that over the project's file, that over the
//! user's, and that over the default. [`Config`] holds what won, and where it came from.
//!
//! What a setting does is decided by the command that asks for it; the library reads none of this.

mod environment;
mod file;
mod layers;
mod places;
mod setting;
mod show;
#[cfg(test)]
mod tests;
mod value;

pub(crate) use layers::Config;
pub(crate) use places::{Place, Surroundings, places, user_folder};
pub(crate) use setting::Setting;
pub(crate) use show::{as_json, as_text};
pub(crate) use value::Value;
