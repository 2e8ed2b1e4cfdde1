//! [`PlanDocument`]: a plan as programs read it. Fields are only ever added.
//!
//! How people are shown a plan is the business of surfaces.

use crate::pack::{InnerFile, Inside};
use crate::plan::{Class, Planned};
use crate::preflight::may_be_signed;
use crate::prepare::Prepared;
use crate::run::PublishOrder;

/// A plan as programs read it.
#[derive(Debug, Clone, PartialEq, Eq, serde::Serialize)]
pub struct PlanDocument {
    /// A digest of all of it: another one means another plan.
    pub digest: String,
    /// The commit that it is of, if nothing is changed.
    pub commit: Option<String>,
    /// How long it takes at least, because registries take only so many.
    pub wait_s: u64,
    /// How many packages are uploaded.
    pub uploads: usize,
    /// Packages, each after those it needs; private ones last.
    pub packages: Vec<PlannedDocument>,
}

/// What is to be done about one package.
#[derive(Debug, Clone, PartialEq, Eq, serde::Serialize)]
pub struct PlannedDocument {
    /// The package.
    pub package: String,
    /// Its version.
    pub version: String,
    /// `done`, `update`, `new`, `partial`, `out`, `conflict`, `yanked`, `private`, `blocked`, `unknown`.
    pub class: &'static str,
    /// The class with its facts, for people.
    pub why: String,
    /// What must be resolvable before.
    pub after: Vec<String>,
    /// Where it goes: the name of the registry.
    pub registry: Option<String>,
    /// Where its registry is.
    pub index: Option<String>,
    /// What was packed.
    pub files: Vec<FileDocument>,
}

/// A file that was packed.
#[derive(Debug, Clone, PartialEq, Eq, serde::Serialize)]
pub struct FileDocument {
    /// Its name.
    pub name: String,
    /// How many bytes it has.
    pub bytes: u64,
    /// Of its content.
    pub sha256: String,
    /// What is in it: how much, and what looks as if somebody had left it there.
    pub inside: Inside,
    /// All files in it, if somebody wants to see them.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub contents: Option<Vec<InnerFile>>,
}

impl Prepared {
    /// The plan as programs read it.
    #[must_use]
    pub fn document(&self) -> PlanDocument {
        let packages = self.plan.packages.iter().map(|planned| {
            let target = self.targets.get(&planned.id);
            let packed = self.set.package(&planned.id).map(|it| it.files.as_slice());
            let files = packed.unwrap_or_default().iter().map(|file| FileDocument {
                name: file.name.clone(),
                bytes: file.bytes,
                sha256: file.sha256.clone(),
                inside: file.inside.clone(),
                contents: None,
            });
            PlannedDocument {
                package: planned.id.to_string(),
                version: planned.version.to_string(),
                class: planned.class.word(),
                why: self.why(planned),
                after: planned.after.iter().map(ToString::to_string).collect(),
                registry: target.map(|target| target.address.name.clone()),
                index: target.map(|target| target.address.index.clone()),
                files: files.collect(),
            }
        });
        PlanDocument {
            digest: self.plan.digest.clone(),
            commit: self.set.commit.clone(),
            wait_s: self.plan.wait.as_secs(),
            uploads: self.plan.uploads().count(),
            packages: packages.collect(),
        }
    }

    /// The class of a package with its facts.
    fn why(&self, planned: &Planned) -> String {
        match planned.class == Class::Done && self.set.is_of_another_commit(&planned.id) {
            true => format!("{}: same contents, of another commit", planned.class),
            false => planned.class.to_string(),
        }
    }

    /// The same with all files that are in what was packed.
    #[must_use]
    pub fn document_with_contents(&self) -> PlanDocument {
        let mut document = self.document();
        for (planned, shown) in self.plan.packages.iter().zip(&mut document.packages) {
            let packed = self.set.package(&planned.id).map(|it| it.files.as_slice());
            for (file, shown) in packed.unwrap_or_default().iter().zip(&mut shown.files) {
                shown.contents = self.set.inside(&planned.id, file).ok();
            }
        }
        document
    }

    /// The order to carry the plan out.
    #[must_use]
    pub fn order(&self, options: crate::run::PublishOptions) -> PublishOrder {
        let is_signing = options.signer.is_some();
        PublishOrder::new(&self.plan, &self.set, |id| self.targets.get(id).cloned(), options)
            .signed(|id| is_signing && self.workspace.package(id).is_some_and(may_be_signed))
    }
}
