//! [`View`]: the server as whoever asks sees it.
//!
//! What is outside the reach of their token is not there. Whether they may ask at all is decided in [`super::pass`].

use std::ops::Deref;
use std::sync::Arc;

use tidewheel_client::desk::{Desk, Reach};
use tidewheel_client::house::House;

use crate::identity::Identity;
use crate::problem::Problem;
use crate::server::{Served, Server};

/// A server, with the desk and the house of whoever asks in the place of its own.
pub(crate) struct View {
    server: Arc<Server>,
    /// What is served to somebody who knows of some flows only.
    narrowed: Option<Served>,
}

impl View {
    /// The server as somebody sees it; nobody in particular sees all that everybody may.
    pub fn new(server: &Arc<Server>, who: Option<&Identity>) -> Result<Self, Problem> {
        let narrow = |reach: &Reach| server.served.within(reach);
        let reach = who.map(|who| &who.reach).filter(|reach| !reach.is_all());
        let narrowed = reach.map(narrow).transpose()?;
        Ok(Self { server: Arc::clone(server), narrowed })
    }

    /// Where questions about runs are asked, and wishes said.
    pub fn desk(&self) -> &Desk {
        self.served().desk()
    }

    /// The house, if one is served.
    pub fn house(&self) -> Result<&House, Problem> {
        self.served().house()
    }

    /// The house, as long as it takes something new in.
    pub fn open_house(&self) -> Result<&House, Problem> {
        self.server.open_house()?;
        self.house()
    }

    fn served(&self) -> &Served {
        self.narrowed.as_ref().unwrap_or(&self.server.served)
    }
}

impl Deref for View {
    type Target = Arc<Server>;

    fn deref(&self) -> &Arc<Server> {
        &self.server
    }
}
