//! The flows of a house, as documents.
//!
//! Which of their versions is in force is decided in [`super::catalogue`].

use std::collections::BTreeMap;
use std::sync::Arc;

use super::entry::{Broken, Version};
use super::house::House;
use crate::api::{BrokenFile, FlowDetail, FlowList, Plan, StartWish};
use crate::desk::DeskError;
use crate::files::Picture;
use crate::kind::FlowRun;
use crate::text::nearest;

impl House {
    /// The flows that it knows.
    pub async fn flows(&self) -> FlowList {
        let catalogue = self.inner.catalogue();
        let line = |version: &Arc<Version>| {
            version.line(catalogue.broken().any(|(broken, _)| broken == version.path))
        };
        let broken = |(path, broken): (&std::path::Path, &Arc<Broken>)| BrokenFile {
            file: path.display().to_string(),
            flow: broken.flow.clone(),
            in_force: catalogue.has_file(path),
            problems: broken.problems.clone(),
        };
        FlowList {
            version: None,
            flows: catalogue.flows().filter(|it| self.knows(it.name())).map(line).collect(),
            broken: catalogue
                .broken()
                .filter(|(_, broken)| self.reach.has(broken.flow.as_deref()))
                .map(broken)
                .collect(),
        }
    }

    /// One of them.
    ///
    /// # Errors
    ///
    /// When there is none of this name.
    pub async fn flow(&self, name: &str) -> Result<FlowDetail, DeskError> {
        let version = self.version(name)?;
        let catalogue = self.inner.catalogue();
        let broken = catalogue.broken().find(|(path, _)| *path == version.path);
        let problems = broken.map(|(_, broken)| broken.problems.clone());
        Ok(version.detail(problems))
    }

    /// What a run of a flow would do.
    ///
    /// # Errors
    ///
    /// When there is no such flow, a param is missing or wrong, or it makes no graph.
    pub async fn plan(&self, wish: &StartWish) -> Result<Plan, DeskError> {
        let (run, expected) = self.draft(wish).await?;
        run.plan(&expected)
    }

    /// The same as a picture.
    ///
    /// # Errors
    ///
    /// As for [`House::plan`].
    pub async fn picture(&self, wish: &StartWish) -> Result<Picture, DeskError> {
        let (run, expected) = self.draft(wish).await?;
        run.picture(&expected)
    }

    async fn draft(
        &self,
        wish: &StartWish,
    ) -> Result<(FlowRun, BTreeMap<String, std::time::Duration>), DeskError> {
        let version = self.version(&wish.flow)?;
        let order = version.order(&wish.params)?;
        let expected = self.expected(version.name()).await?;
        Ok((FlowRun::new(Arc::clone(&version.flow), order), expected))
    }

    /// Whether whoever asks may know of a flow.
    pub(super) fn knows(&self, flow: &str) -> bool {
        self.reach.has(Some(flow))
    }

    /// The version of a flow that is in force.
    pub(super) fn version(&self, name: &str) -> Result<Arc<Version>, DeskError> {
        let catalogue = self.inner.catalogue();
        if let Some(version) = catalogue.flow(name).filter(|_| self.knows(name)) {
            return Ok(Arc::clone(version));
        }
        let known = catalogue.flows().map(|it| it.name()).filter(|it| self.knows(it));
        let near = nearest(name, known).map(str::to_owned);
        let is_of = |broken: &&Broken| broken.flow.as_deref() == Some(name) && self.knows(name);
        let broken = catalogue.broken().map(|(_, broken)| &**broken).find(is_of);
        match broken {
            Some(broken) => Err(DeskError::Unrunnable {
                errors: broken.problems.as_array().map_or(1, Vec::len),
                problems: broken.problems.clone(),
            }),
            None => Err(DeskError::NoFlow { flow: name.to_owned(), near }),
        }
    }
}
