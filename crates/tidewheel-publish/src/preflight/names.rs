//! Names and versions, which become parts of addresses and arguments: nothing may be in them that means something there.
//!
//! What registries think of a name is theirs to say.

use crate::package::{Ecosystem, Package, Version};
use crate::problem::{Code, Problem};

/// What is odd about the name or the version of a package.
pub(crate) fn odd(package: &Package) -> Option<Problem> {
    let name = package.id.name();
    let plain = |text: &str, signs: &str| {
        !text.is_empty()
            && !text.starts_with(['.', '-'])
            && text.chars().all(|it| it.is_ascii_alphanumeric() || signs.contains(it))
    };
    let is_name = match package.id.ecosystem() {
        Ecosystem::Cargo => plain(name, "-_"),
        Ecosystem::Python => plain(name, "-_."),
        Ecosystem::Npm => match name.strip_prefix('@').and_then(|rest| rest.split_once('/')) {
            Some((scope, name)) => plain(scope, "-_.~") && plain(name, "-_.~"),
            None => plain(name, "-_.~"),
        },
    };
    let is_version = match &package.version {
        Version::Written(version) => plain(version, ".+-_!"),
        Version::Built => true,
    };
    let what = match (is_name, is_version) {
        (true, true) => return None,
        (false, _) => format!("`{name}` is no name of a package"),
        (true, false) => format!("`{}` is no version", package.version),
    };
    Some(Problem {
        code: Code::Manifest,
        package: Some(package.id.clone()),
        file: package.manifest.clone(),
        line: None,
        what,
        hint: None,
    })
}
