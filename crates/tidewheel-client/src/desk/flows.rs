//! Flows where no house keeps them: they are known by their runs, and read from the files of the newest one.
//!
//! What a house knows of flows is in [`crate::house`]; who carries out a run is a [workshop](crate::session::Workshop).

use tidewheel::store::{RunFilter, RunKind};
use tidewheel_flow::FlowOrder;

use super::desk::Desk;
use super::error::DeskError;
use super::local::LocalDesk;
use crate::api::{FlowDetail, StartWish};
use crate::house::Version;
use crate::kind::FlowRun;

impl Desk {
    /// A flow, as far as it matters to whoever wants to run it.
    ///
    /// # Errors
    ///
    /// When there is no such flow, or its files cannot be run.
    pub async fn flow(&self, name: &str) -> Result<FlowDetail, DeskError> {
        if let Some(there) = self.there() {
            return there.flow(name).await;
        }
        let name = name.to_owned();
        self.here(move |desk| desk.flow(&name)).await
    }
}

impl LocalDesk {
    /// A flow of which there was a run, as its files are now.
    ///
    /// # Errors
    ///
    /// When there was no run of this name, it was not one of a flow, or the files cannot be run.
    pub fn flow(&self, name: &str) -> Result<FlowDetail, DeskError> {
        Ok(self.version(name)?.detail(None))
    }

    /// A run of such a flow, to be started.
    ///
    /// # Errors
    ///
    /// As for [`LocalDesk::flow`], and when a param is missing or wrong.
    pub fn run_of(&self, wish: StartWish) -> Result<FlowRun, DeskError> {
        self.version(&wish.flow)?.run(wish)
    }

    fn version(&self, name: &str) -> Result<Version, DeskError> {
        let filter = RunFilter {
            name: Some(name.to_owned()),
            kind: Some(RunKind::Run),
            limit: 1,
            ..RunFilter::default()
        };
        let newest = self.runs_within(&filter)?.pop();
        let newest = newest.map(|newest| self.run_within(newest.id)).transpose()?.flatten();
        let newest = newest.ok_or(DeskError::NoFlow { flow: name.to_owned(), near: None })?;
        Version::anew(FlowOrder::of_run(&newest)?)
    }
}
