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

#[cfg(test)]
mod tests {
    use std::path::PathBuf;

    use super::*;
    use crate::package::{PackageId, Publicity};

    /// What means something to a shell, in an address, in a path, to a command line, or to a terminal.
    const INJECTIONS: [&str; 18] = [
        "",
        "a;reboot",
        "$(reboot)",
        "`reboot`",
        "a b",
        "a&b",
        "a|b",
        "a\nb",
        "a\0b",
        "-rf",
        "--registry=evil",
        "../../etc/passwd",
        "/etc/passwd",
        "a/../b",
        "a?b#c",
        "a%2e%2e",
        "a\u{1b}[2J",
        "\u{202e}a",
    ];

    fn package(ecosystem: Ecosystem, name: &str, version: &str) -> Package {
        Package {
            id: PackageId::new(ecosystem, name),
            version: Version::Written(version.to_owned()),
            manifest: PathBuf::from("manifest"),
            publicity: Publicity::Public { registries: Vec::new() },
            needs: Vec::new(),
            provenance: None,
        }
    }

    #[test]
    fn what_means_something_to_a_shell_an_address_or_a_path_is_no_name_and_no_version() {
        for ecosystem in [Ecosystem::Cargo, Ecosystem::Npm, Ecosystem::Python] {
            for text in INJECTIONS {
                let named = odd(&package(ecosystem, text, "1.0.0"));
                assert!(
                    named.is_some_and(|it| it.code == Code::Manifest),
                    "{ecosystem:?} {text:?}"
                );
                let versioned = odd(&package(ecosystem, "a", text));
                assert!(versioned.is_some(), "{ecosystem:?} 1.0.0 as {text:?}");
            }
            assert_eq!(odd(&package(ecosystem, "a-b_c", "1.0.0-rc.1+b")), None, "{ecosystem:?}");
        }
        assert_eq!(odd(&package(Ecosystem::Npm, "@us/core", "1.0.0")), None);
        assert!(odd(&package(Ecosystem::Npm, "@us/../core", "1.0.0")).is_some());
    }
}
