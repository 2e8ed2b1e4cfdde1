//! Flows of flowtoy, 0.1.0 and 0.4.0: written anew, with comments where Tidewheel differs.
//!
//! A flow file of flowtoy is a flow file of ours already; what is done here is to bring old forms
//! up to date, to leave out what never had an effect, and to say what will be different. `source`
//! knows about sources, `step` about steps.

mod keys;
mod source;
mod step;
mod whole;

#[cfg(test)]
mod tests;

pub(crate) use whole::import;
