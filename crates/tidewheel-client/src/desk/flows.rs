//! Flows where no house keeps them: they are known by their runs, and read from the files of the newest one.
//!
//! What a house knows of flows is in [`crate::house`]; who carries out a run is a [workshop](crate::session::Workshop).

use tidewheel::store::{RunFilter, RunKind};
use tidewheel_flow::FlowOrder;

use super::desk::Desk;
use super::error::DeskError;
use super::local::LocalDesk;
use crate::api::{FlowDetail, FlowFile, FlowSource, StartWish};
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

    /// The files of a flow, and what is wrong with them.
    ///
    /// # Errors
    ///
    /// When there is no such flow.
    pub async fn source(&self, name: &str) -> Result<FlowSource, DeskError> {
        if let Some(there) = self.there() {
            return there.source(name).await;
        }
        let name = name.to_owned();
        self.here(move |desk| desk.source(&name)).await
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

    /// The files of a flow of which there was a run, as they are now, and what is wrong with them. Where they cannot be run, no
    /// other version is in force.
    ///
    /// # Errors
    ///
    /// When there was no run of this name, or it was not one of a flow.
    pub fn source(&self, name: &str) -> Result<FlowSource, DeskError> {
        let order = self.order(name)?;
        let (fingerprint, path) = (order.fingerprint(), order.paths.first().cloned());
        let (fingerprint, files, outdated, problems) = match Version::anew(order) {
            Ok(now) => (now.fingerprint.clone(), now.files(), None, now.warnings.clone()),
            Err(DeskError::Problems(read)) => {
                let path = path.unwrap_or_default();
                let text = read.loaded.texts.get(&path).map(|text| text.to_string());
                let text = text.unwrap_or_default();
                let now = FlowFile { path: path.display().to_string(), text };
                (fingerprint, Vec::new(), Some(now), read.validated(false).problems)
            }
            Err(error) => return Err(error),
        };
        let flow = name.to_owned();
        Ok(FlowSource { version: None, flow, fingerprint, files, outdated, problems })
    }

    fn version(&self, name: &str) -> Result<Version, DeskError> {
        Version::anew(self.order(name)?)
    }

    /// What the newest run of a flow was started with.
    fn order(&self, name: &str) -> Result<FlowOrder, DeskError> {
        let filter = RunFilter {
            name: Some(name.to_owned()),
            kind: Some(RunKind::Run),
            limit: 1,
            ..RunFilter::default()
        };
        let newest = self.runs_within(&filter)?.pop();
        let newest = newest.map(|newest| self.run_within(newest.id)).transpose()?.flatten();
        let newest = newest.ok_or(DeskError::NoFlow { flow: name.to_owned(), near: None })?;
        Ok(FlowOrder::of_run(&newest)?)
    }
}
