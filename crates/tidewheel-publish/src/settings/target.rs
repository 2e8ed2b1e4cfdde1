//! [`Target`]: the registry that a package goes to, and by whose leave.
//!
//! Each ecosystem has its own files and variables for it, which are read in the files beside.

use super::secret::Secret;
use super::surroundings::Surroundings;
use super::{cargo, npm, python};
use crate::package::{Ecosystem, Package};
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

/// The registry that a package goes to.
///
/// # Errors
///
/// When the settings name none, or one that cannot be spoken to.
pub fn target_of(package: &Package, around: &Surroundings) -> Result<Target, Box<Problem>> {
    let target = match package.id.ecosystem() {
        Ecosystem::Cargo => cargo::target(package, around),
        Ecosystem::Npm => npm::target(package, around),
        Ecosystem::Python => python::target(package, around),
    };
    target.and_then(safe).map_err(|(what, hint)| {
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
    let Some(rest) = address.strip_prefix("http://") else {
        return address.starts_with("https://");
    };
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
