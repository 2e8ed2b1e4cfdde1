//! [`Target`]: the registry that a package goes to, and by whose leave.
//!
//! Each ecosystem has its own files and variables for it, which are read in the files beside.

use super::identity::Identities;
use super::secret::Secret;
use super::surroundings::Surroundings;
use super::{cargo, npm, python};
use crate::package::{Ecosystem, Package, PackageId};
use crate::problem::{Code, Problem};

/// Where a registry is. It is part of the plan, and kept with a run.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, serde::Serialize, serde::Deserialize)]
pub struct Address {
    /// The name that the settings have for it, or its address if they have none.
    pub name: String,
    /// Where those who resolve look; ends with a slash.
    pub index: String,
    /// Where files are sent, if that is not found out from the index; ends with a slash where names follow.
    pub upload: Option<String>,
}

/// By whose leave something is uploaded.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Credentials {
    /// A token, as it is.
    Token(Secret),
    /// A token of a bearer.
    Bearer(Secret),
    /// A name and a password.
    Basic {
        /// Who.
        user: String,
        /// The password.
        password: Secret,
    },
    /// What the registry gives to a pipeline that it trusts, when it is needed.
    Trusted,
}

/// The registry that a package goes to.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Target {
    /// Where it is.
    pub address: Address,
    /// By whose leave, if there is any.
    pub credentials: Option<Credentials>,
    /// What to do if there is none.
    pub credentials_hint: String,
}

/// A registry of this machine that stands in for all of them.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Stage {
    /// Where it is, without a slash at the end.
    pub base: String,
    /// What uploads are let in by.
    pub token: Secret,
}

impl Stage {
    /// Where packages go that would go to the registry of this name.
    #[must_use]
    pub fn address(&self, ecosystem: Ecosystem, name: &str) -> Address {
        let base = format!("{}/{}", self.base, ecosystem.word());
        let (index, upload) = match ecosystem {
            Ecosystem::Cargo => (format!("{base}/index/"), None),
            Ecosystem::Npm => (format!("{base}/"), Some(format!("{base}/"))),
            Ecosystem::Python => (format!("{base}/simple/"), Some(format!("{base}/legacy/"))),
        };
        Address { name: name.to_owned(), index, upload }
    }

    fn target(&self, package: &Package, around: &Surroundings) -> Result<Target, Wrong> {
        let (ecosystem, token) = (package.id.ecosystem(), self.token.clone());
        let (name, credentials) = match ecosystem {
            Ecosystem::Cargo => (cargo::name_of(package, around)?, Credentials::Token(token)),
            Ecosystem::Npm => ("rehearsal".to_owned(), Credentials::Bearer(token)),
            Ecosystem::Python => {
                let user = "__token__".to_owned();
                ("rehearsal".to_owned(), Credentials::Basic { user, password: token })
            }
        };
        Ok(Target {
            address: self.address(ecosystem, &name),
            credentials: Some(credentials),
            credentials_hint: String::new(),
        })
    }
}

/// The registry that a package goes to.
///
/// # Errors
///
/// When the settings name none, or one that cannot be spoken to.
pub fn target_of(package: &Package, around: &Surroundings) -> Result<Target, Box<Problem>> {
    let target = match (&around.stage, package.id.ecosystem()) {
        (Some(stage), _) => stage.target(package, around),
        (None, Ecosystem::Cargo) => cargo::target(package, around),
        (None, Ecosystem::Npm) => npm::target(package, around),
        (None, Ecosystem::Python) => python::registry(around),
    };
    let is_trusted = || Identities::of_variables(around).of(package.id.ecosystem()).is_some();
    let trusting = |target: Target| match target.credentials {
        None if is_trusted() => Target { credentials: Some(Credentials::Trusted), ..target },
        _ => target,
    };
    target.map(trusting).and_then(safe).map_err(|(what, hint)| {
        Box::new(Problem {
            code: Code::Registry,
            package: Some(package.id.clone()),
            file: package.manifest.clone(),
            line: None,
            what: format!("{}: {what}", package.id),
            hint: Some(hint),
        })
    })
}

/// Where a package is looked for that is not of the workspace, if its tool does not know that better.
pub(crate) fn elsewhere(id: &PackageId, around: &Surroundings) -> Option<Target> {
    let target = match id.ecosystem() {
        Ecosystem::Cargo => return None,
        Ecosystem::Npm => npm::registry_of(id.name(), None, around),
        Ecosystem::Python => python::registry(around),
    };
    target.and_then(safe).ok()
}

/// What is wrong, and what to do.
pub(super) type Wrong = (String, String);

/// A token that travels in the clear is everybody's.
fn safe(target: Target) -> Result<Target, Wrong> {
    let addresses = [Some(&target.address.index), target.address.upload.as_ref()];
    for address in addresses.into_iter().flatten() {
        if target.credentials.is_some() && !is_safe(address) {
            let what = format!("the registry at {address} would be sent a token in the clear");
            return Err((what, "use its https address".to_owned()));
        }
    }
    Ok(target)
}

/// Whether what is sent there is seen by nobody else: it is encrypted, or does not leave the machine.
pub(crate) fn is_safe(address: &str) -> bool {
    address.starts_with("https://") || is_of_this_machine(address)
}

/// Whether an address is on this machine.
pub(crate) fn is_of_this_machine(address: &str) -> bool {
    let rest = address.strip_prefix("http://").or_else(|| address.strip_prefix("https://"));
    let Some(rest) = rest else { return false };
    let authority = rest.split(['/', '?', '#']).next().unwrap_or_default();
    let authority = authority.rsplit_once('@').map_or(authority, |(_, host)| host);
    let host = match authority.strip_prefix('[') {
        Some(v6) => v6.split(']').next().unwrap_or_default(),
        None => authority.split(':').next().unwrap_or_default(),
    };
    host == "localhost" || host.parse::<std::net::IpAddr>().is_ok_and(|it| it.is_loopback())
}

/// An address with a slash at its end.
pub(super) fn with_slash(address: &str) -> String {
    format!("{}/", address.trim_end_matches('/'))
}
