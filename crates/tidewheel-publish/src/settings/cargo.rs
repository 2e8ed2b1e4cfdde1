//! Registries and tokens of cargo: its configuration, its credentials, its variables.
//!
//! Registries of the older kind, which are git repositories, are not spoken to.

use std::path::PathBuf;

use super::files::{at, toml, value_at};
use super::leave::{Errand, of_output, of_provider};
use super::secret::Secret;
use super::surroundings::Surroundings;
use super::target::{Address, Credentials, Target, Wrong, with_slash};
use super::usual::crates_index;
use crate::package::{Package, Publicity};

/// The registry that packages go to which name none.
const USUAL: &str = "crates-io";

pub(super) fn target(package: &Package, around: &Surroundings) -> Result<Target, Wrong> {
    let files = Files::read(around)?;
    let name = files.chosen(package, around)?;
    let usual = || Some(format!("sparse+{}", crates_index(around).filter(|_| name == USUAL)?));
    let index = files.setting(around, &name, "index").or_else(usual).ok_or_else(|| {
        let what = format!("nobody says where the registry `{name}` is");
        let variable = variable(&name, "INDEX");
        (what, format!("name its index: [registries.{name}] index = \"sparse+https://…\" in .cargo/config.toml, or {variable}"))
    })?;
    let Some(address) = index.strip_prefix("sparse+") else {
        let what = format!("the registry `{name}` is a git repository");
        return Err((what, "name its sparse index: sparse+https://…".to_owned()));
    };
    let address = Address { index: with_slash(address), upload: None, name: name.clone() };
    let version = package.version.to_string();
    let errand =
        Errand { registry: &name, index: &index, name: package.id.name(), version: &version };
    let variable = variable(&name, "TOKEN");
    Ok(Target {
        address,
        credentials: files.token(around, &errand).map(Credentials::Token),
        credentials_hint: format!("`cargo login --registry {name}`, or {variable}"),
    })
}

/// The name of the registry that a crate goes to.
pub(super) fn name_of(package: &Package, around: &Surroundings) -> Result<String, Wrong> {
    Files::read(around)?.chosen(package, around)
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

    /// By whose leave: that of the provider of the registry, or of the first that knows it of all. Without one it is the
    /// token in a variable or a file.
    fn token(&self, around: &Surroundings, errand: &Errand<'_>) -> Option<Secret> {
        let plain =
            || self.setting(around, errand.registry, "token").as_deref().and_then(Secret::new);
        let providers = self.providers(around, errand.registry);
        if providers.is_empty() {
            return plain();
        }
        providers.iter().find_map(|words| match words.first()?.as_str() {
            "cargo:token" => plain(),
            "cargo:token-from-stdout" => {
                let variables = [
                    ("CARGO_REGISTRY_INDEX_URL", errand.index),
                    ("CARGO_REGISTRY_NAME_OPT", errand.registry),
                ];
                of_output(around, &words[1..], &variables)
            }
            // Those are inside cargo, and open to nobody else.
            inside if inside.starts_with("cargo:") => None,
            _ => of_provider(around, words, errand),
        })
    }

    /// The providers of a registry, the one that counts most first.
    fn providers(&self, around: &Surroundings, registry: &str) -> Vec<Vec<String>> {
        let split = |text: &str| text.split_whitespace().map(str::to_owned).collect::<Vec<_>>();
        let own = [variable(registry, "CREDENTIAL_PROVIDER")];
        let usual = (registry == USUAL).then(|| "CARGO_REGISTRY_CREDENTIAL_PROVIDER".to_owned());
        let said = own.into_iter().chain(usual).find_map(|name| around.variable(&name).map(split));
        let keys: [&[&str]; 2] = [
            &["registries", registry, "credential-provider"],
            &["registry", "credential-provider"],
        ];
        let keys = keys.into_iter().take(if registry == USUAL { 2 } else { 1 });
        let written = || keys.into_iter().find_map(|keys| self.words(keys));
        if let Some(words) = said.or_else(written) {
            return vec![self.meant(words)];
        }
        let global = "CARGO_REGISTRY_GLOBAL_CREDENTIAL_PROVIDERS";
        let all: Vec<String> = match around.variable(global) {
            Some(said) => split(said),
            None => self.words(&["registry", "global-credential-providers"]).unwrap_or_default(),
        };
        // The last counts most.
        all.iter().rev().map(|it| self.meant(split(it))).collect()
    }

    /// A text of words, or a list of them.
    fn words(&self, keys: &[&str]) -> Option<Vec<String>> {
        let found = self.0.iter().find_map(|table| value_at(table, keys))?;
        match found {
            toml::Value::String(text) => Some(text.split_whitespace().map(str::to_owned).collect()),
            toml::Value::Array(list) => {
                Some(list.iter().filter_map(|it| it.as_str().map(str::to_owned)).collect())
            }
            _ => None,
        }
    }

    /// A provider that was given another name.
    fn meant(&self, words: Vec<String>) -> Vec<String> {
        let alias = words.first().and_then(|it| self.words(&["credential-alias", it]));
        match alias {
            Some(alias) => alias.into_iter().chain(words.into_iter().skip(1)).collect(),
            None => words,
        }
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
