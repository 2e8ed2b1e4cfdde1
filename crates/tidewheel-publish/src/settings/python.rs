//! Registries and tokens of Python: variables of uv and twine, an index of uv, `.pypirc`.
//!
//! A keyring is asked by its own command, where there is one.

use std::path::PathBuf;

use super::files::{lines, text, toml};
use super::leave::of_output;
use super::secret::Secret;
use super::surroundings::Surroundings;
use super::target::{Address, Credentials, Target, Wrong, with_slash};
use super::usual::{python_index, python_upload};

/// Who uses a token instead of a password.
const TOKEN_USER: &str = "__token__";

/// The registry of all packages.
pub(super) fn registry(around: &Surroundings) -> Result<Target, Wrong> {
    let indexes = indexes(around)?;
    let sections = sections(around)?;
    let wanted = around.registry.as_deref().or(around.variable("UV_PUBLISH_INDEX"));
    let index = match wanted {
        Some(name) => indexes.iter().find(|it| it.name == name),
        None => indexes.first(),
    };
    let section = match wanted {
        Some(name) => sections.iter().find(|it| it.name == name),
        None => sections.first(),
    };
    let upload = around
        .variable("UV_PUBLISH_URL")
        .or_else(|| around.variable("TWINE_REPOSITORY_URL"))
        .map(str::to_owned)
        .or_else(|| index.map(|it| it.upload.clone()))
        .or_else(|| section.and_then(|it| it.repository.clone()));
    // Without a word of anybody it is where the tools send files, and look for them.
    let is_usual =
        upload.is_none() && wanted.is_none_or(|name| section.is_some_and(|it| it.name == name));
    let upload = upload.or_else(|| python_upload(around).filter(|_| is_usual));
    let upload = upload.ok_or_else(|| {
        let what = "nobody says where its registry is".to_owned();
        (what, "name it: UV_PUBLISH_URL, publish-url of an index in [tool.uv], or repository in ~/.pypirc".to_owned())
    })?;
    let look = around.variable("UV_PUBLISH_CHECK_URL").map(str::to_owned);
    let look = look.or_else(|| index.map(|it| it.url.clone()));
    let look = look.or_else(|| python_index(around).filter(|_| is_usual)).ok_or_else(|| {
        let what = format!("nobody says where those look who install what is uploaded to {upload}");
        (
            what,
            "name its simple index: UV_PUBLISH_CHECK_URL, or url of the index in [tool.uv]"
                .to_owned(),
        )
    })?;
    let name = index.map(|it| it.name.clone()).or_else(|| Some(section?.name.clone()));
    let credentials = credentials(around, section, &upload);
    let address = Address {
        name: name.unwrap_or_else(|| upload.clone()),
        index: with_slash(&look),
        upload: Some(upload),
    };
    Ok(Target {
        address,
        credentials,
        credentials_hint: "UV_PUBLISH_TOKEN, or username and password in ~/.pypirc".to_owned(),
    })
}

fn credentials(
    around: &Surroundings,
    section: Option<&Section>,
    upload: &str,
) -> Option<Credentials> {
    let said = |name: &str| around.variable(name).map(str::to_owned);
    let basic = |user: String, password: &str| {
        Some(Credentials::Basic { user, password: Secret::new(password)? })
    };
    if let Some(token) = said("UV_PUBLISH_TOKEN") {
        return basic(TOKEN_USER.to_owned(), &token);
    }
    let password = said("UV_PUBLISH_PASSWORD").or_else(|| said("TWINE_PASSWORD"));
    let user = said("UV_PUBLISH_USERNAME").or_else(|| said("TWINE_USERNAME"));
    let user = user.or_else(|| section?.username.clone());
    let user = user.unwrap_or_else(|| TOKEN_USER.to_owned());
    let password = password.or_else(|| section?.password.clone());
    if let Some(password) = password {
        return basic(user, &password);
    }
    // Its answer is the password alone.
    let words = ["keyring", "get", upload, &user].map(str::to_owned);
    let password = of_output(around, &words, &[])?;
    Some(Credentials::Basic { user, password })
}

/// An index of uv that can be published to.
struct Index {
    name: String,
    url: String,
    upload: String,
}

fn indexes(around: &Surroundings) -> Result<Vec<Index>, Wrong> {
    let project = toml(&around.root.join("pyproject.toml"))?;
    let tool = project.as_ref().and_then(|it| it.get("tool")?.get("uv")?.get("index")?.as_array());
    let file = toml(&around.root.join("uv.toml"))?;
    let file = file.as_ref().and_then(|it| it.get("index")?.as_array());
    let all = file.into_iter().chain(tool).flatten();
    let read = |index: &toml::Value| {
        let text = |key: &str| index.get(key).and_then(toml::Value::as_str).map(str::to_owned);
        Some(Index {
            url: text("url")?,
            upload: text("publish-url")?,
            name: text("name").or_else(|| text("publish-url"))?,
        })
    };
    Ok(all.filter_map(read).collect())
}

/// A section of `.pypirc`.
#[derive(Default)]
struct Section {
    name: String,
    repository: Option<String>,
    username: Option<String>,
    password: Option<String>,
}

fn sections(around: &Surroundings) -> Result<Vec<Section>, Wrong> {
    let Some(path): Option<PathBuf> = around.home().map(|home| home.join(".pypirc")) else {
        return Ok(Vec::new());
    };
    let mut sections: Vec<Section> = Vec::new();
    for (name, key, value) in text(&path)?.map(|text| lines(&text, &['=', ':'])).unwrap_or_default()
    {
        if name.is_empty() || name == "distutils" {
            continue;
        }
        if sections.last().is_none_or(|last| last.name != name) {
            sections.push(Section { name, ..Section::default() });
        }
        let Some(section) = sections.last_mut() else { continue };
        match key.as_str() {
            "repository" => section.repository = Some(value),
            "username" => section.username = Some(value),
            "password" => section.password = Some(value),
            _ => {}
        }
    }
    Ok(sections)
}
