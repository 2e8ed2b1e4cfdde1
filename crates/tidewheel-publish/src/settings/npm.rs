//! Registries and tokens of npm: `.npmrc` of the workspace and of its user, and npm's variables.
//!
//! Npm's own file belongs to its installation: what it says is asked of npm itself.

use std::path::PathBuf;

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;

use super::files::{lines, text};
use super::leave::of_output;
use super::secret::Secret;
use super::surroundings::Surroundings;
use super::target::{Address, Credentials, Target, Wrong, with_slash};
use super::usual::npm_registry;
use crate::package::{Package, Publicity};

/// The program that gives a token, as pnpm has it.
const TOKEN_PROGRAM: &str = "tokenHelper";

pub(super) fn target(package: &Package, around: &Surroundings) -> Result<Target, Wrong> {
    let own = match &package.publicity {
        Publicity::Public { registries } => registries.first().cloned(),
        Publicity::Private { .. } => None,
    };
    registry_of(package.id.name(), own, around)
}

/// The registry of a package of this name, which may have one of its own.
pub(super) fn registry_of(
    name: &str,
    own: Option<String>,
    around: &Surroundings,
) -> Result<Target, Wrong> {
    let settings = Npmrc::read(around)?;
    let scope = name.split_once('/').map(|(scope, _)| format!("{scope}:registry"));
    let registry = own
        .or_else(|| scope.and_then(|key| settings.text(&key)))
        .or_else(|| settings.text("registry"))
        .or_else(|| npm_registry(around))
        .ok_or_else(|| {
            let what = "nobody says where its registry is".to_owned();
            (what, "name it: registry=https://… in .npmrc, or npm_config_registry".to_owned())
        })?;
    let index = with_slash(&registry);
    let credentials = settings.credentials(&index, around);
    let place = index.split_once(':').map_or(index.as_str(), |(_, rest)| rest);
    let hint = format!("`npm login --registry {registry}`, or {place}:_authToken=… in .npmrc");
    let address = Address { name: registry, upload: Some(index.clone()), index };
    Ok(Target { address, credentials, credentials_hint: hint })
}

/// Keys and values, the one that counts most first.
struct Npmrc(Vec<(String, String)>);

impl Npmrc {
    fn read(around: &Surroundings) -> Result<Self, Wrong> {
        let mut paths = vec![around.root.join(".npmrc")];
        let user =
            around.variable("NPM_CONFIG_USERCONFIG").or(around.variable("npm_config_userconfig"));
        paths.extend(user.map(PathBuf::from).or_else(|| Some(around.home()?.join(".npmrc"))));
        let mut found = Vec::new();
        for name in ["npm_config_registry", "NPM_CONFIG_REGISTRY"] {
            let said = around.variable(name).map(|value| ("registry".to_owned(), value.to_owned()));
            found.extend(said);
        }
        for (number, path) in paths.into_iter().enumerate() {
            let said = text(&path)?.map(|text| lines(&text, &['='])).unwrap_or_default();
            // Which program is started is for whoever runs it to say, not for a workspace.
            let may = |key: &str| number > 0 || !key.ends_with(TOKEN_PROGRAM);
            let said = said.into_iter().filter(|(section, key, _)| section.is_empty() && may(key));
            found.extend(said.map(|(_, key, value)| (key, expanded(&value, around))));
        }
        Ok(Self(found))
    }

    fn text(&self, key: &str) -> Option<String> {
        let said = self.0.iter().find(|(own, _)| own == key);
        said.map(|(_, value)| value.clone()).filter(|value| !value.is_empty())
    }

    /// By whose leave, for a registry: what is said of its address, or of the nearest one above it.
    fn credentials(&self, index: &str, around: &Surroundings) -> Option<Credentials> {
        let mut place = index.split_once(':')?.1.to_owned();
        loop {
            if let Some(found) = self.credentials_at(&place, around) {
                return Some(found);
            }
            // `//host/a/b/` becomes `//host/a/`, down to `//host/`.
            let above = place.trim_end_matches('/').rfind('/').filter(|at| *at > 1)?;
            place.truncate(above + 1);
        }
    }

    fn credentials_at(&self, place: &str, around: &Surroundings) -> Option<Credentials> {
        let said = |key: &str| {
            let bare = place.trim_end_matches('/');
            self.text(&format!("{place}:{key}")).or_else(|| self.text(&format!("{bare}:{key}")))
        };
        let decoded = |text: &str| String::from_utf8(STANDARD.decode(text).ok()?).ok();
        // A variable that is not there is no token, although npm would send its name.
        let token = said("_authToken").filter(|it| !it.starts_with("${"));
        if let Some(token) = token.as_deref().and_then(Secret::new) {
            return Some(Credentials::Bearer(token));
        }
        if let Some(program) = said(TOKEN_PROGRAM) {
            let token = of_output(around, &[program], &[])?;
            let bare = token.reveal().strip_prefix("Bearer ").and_then(Secret::new);
            return Some(Credentials::Bearer(bare.unwrap_or(token)));
        }
        let (user, password) = match said("_auth").and_then(|text| decoded(&text)) {
            Some(both) => {
                both.split_once(':').map(|(user, it)| (user.to_owned(), it.to_owned()))?
            }
            None => (said("username")?, decoded(&said("_password")?)?),
        };
        Some(Credentials::Basic { user, password: Secret::new(&password)? })
    }
}

/// A value with variables for `${NAME}`. One that is not there stays as it is written, as npm has it; with a `?` it is
/// empty.
fn expanded(value: &str, around: &Surroundings) -> String {
    let mut text = String::new();
    let mut rest = value;
    while let Some((before, after)) = rest.split_once("${") {
        let Some((name, behind)) = after.split_once('}') else { break };
        text.push_str(before);
        match (around.variable(name.trim_end_matches('?')), name.ends_with('?')) {
            (Some(value), _) => text.push_str(value),
            (None, true) => {}
            (None, false) => text.push_str(&format!("${{{name}}}")),
        }
        rest = behind;
    }
    text + rest
}
