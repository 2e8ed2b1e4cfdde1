//! Registries and tokens of cargo: its configuration, its credentials, its variables.
//!
//! Registries of the older kind, which are git repositories, are not spoken to, and programs that give tokens are not
//! started.

use std::path::PathBuf;

use super::files::{at, toml};
use super::secret::Secret;
use super::surroundings::Surroundings;
use super::target::{Address, Credentials, Target, Wrong, with_slash};
use crate::package::{Package, Publicity};

/// The registry that packages go to which name none.
const USUAL: &str = "crates-io";

pub(super) fn target(package: &Package, around: &Surroundings) -> Result<Target, Wrong> {
    let files = Files::read(around)?;
    let name = files.chosen(package, around)?;
    let index = files.setting(around, &name, "index").ok_or_else(|| {
        let what = format!("nobody says where the registry `{name}` is");
        let variable = variable(&name, "INDEX");
        (what, format!("name its index: [registries.{name}] index = \"sparse+https://…\" in .cargo/config.toml, or {variable}"))
    })?;
    let Some(index) = index.strip_prefix("sparse+") else {
        let what = format!("the registry `{name}` is a git repository");
        return Err((what, "name its sparse index: sparse+https://…".to_owned()));
    };
    let token = files.setting(around, &name, "token").as_deref().and_then(Secret::new);
    let address = Address { index: with_slash(index), upload: None, name: name.clone() };
    let variable = variable(&name, "TOKEN");
    Ok(Target {
        address,
        credentials: token.map(Credentials::Token),
        credentials_hint: format!("`cargo login --registry {name}`, or {variable}"),
    })
}

/// The variable of a registry.
fn variable(registry: &str, key: &str) -> String {
    let registry = registry.to_uppercase().replace(['-', '.'], "_");
    format!("CARGO_REGISTRIES_{registry}_{key}")
}

/// What cargo's files say, the one that counts most first.
struct Files(Vec<toml::Table>);

impl Files {
    fn read(around: &Surroundings) -> Result<Self, Wrong> {
        let mut paths: Vec<PathBuf> = around.nearest(".cargo/config.toml").collect();
        paths.extend(around.nearest(".cargo/config"));
        let home = around.variable("CARGO_HOME").map(PathBuf::from);
        if let Some(home) = home.or_else(|| Some(around.home()?.join(".cargo"))) {
            let names = ["config.toml", "config", "credentials.toml", "credentials"];
            paths.extend(names.map(|name| home.join(name)));
        }
        let tables: Result<Vec<_>, Wrong> = paths.iter().map(|path| toml(path)).collect();
        Ok(Self(tables?.into_iter().flatten().collect()))
    }

    fn text(&self, keys: &[&str]) -> Option<String> {
        self.0.iter().find_map(|table| at(table, keys)).map(str::to_owned)
    }

    /// What is said of a registry: its variable counts first.
    fn setting(&self, around: &Surroundings, registry: &str, key: &str) -> Option<String> {
        let own = variable(registry, &key.to_uppercase());
        let usual = (registry == USUAL && key == "token").then_some("CARGO_REGISTRY_TOKEN");
        let said = around.variable(&own).or_else(|| around.variable(usual?));
        said.map(str::to_owned)
            .or_else(|| self.text(&["registries", registry, key]))
            .or_else(|| usual.and_then(|_| self.text(&["registry", key])))
    }

    /// The name of the registry that a package goes to.
    fn chosen(&self, package: &Package, around: &Surroundings) -> Result<String, Wrong> {
        let allowed = match &package.publicity {
            Publicity::Public { registries } => registries.as_slice(),
            Publicity::Private { .. } => &[],
        };
        let default = || {
            around
                .variable("CARGO_REGISTRY_DEFAULT")
                .map(str::to_owned)
                .or_else(|| self.text(&["registry", "default"]))
        };
        let wanted = around.registry.clone().or_else(default);
        match (allowed, wanted) {
            ([], wanted) => Ok(wanted.unwrap_or_else(|| USUAL.to_owned())),
            (allowed, Some(wanted)) if allowed.contains(&wanted) => Ok(wanted),
            ([only], _) if around.registry.is_none() => Ok(only.clone()),
            (allowed, wanted) => {
                let allowed = allowed.join("`, `");
                let what = match wanted {
                    Some(wanted) => format!("it goes to `{allowed}`, not to `{wanted}`"),
                    None => format!("it may go to several registries: `{allowed}`"),
                };
                Err((what, "choose one of them with --registry NAME".to_owned()))
            }
        }
    }
}
