//! The registries that tools use if nobody names one: the tools themselves are asked, each in its own way.
//!
//! No address is built in here, and asking speaks to nobody: a tool that would have to is sent where nobody listens, and says
//! whom it wanted.

use super::surroundings::Surroundings;
use crate::pack::run_tool;

/// An address of this machine at which nobody listens.
const NOBODY: &str = "http://127.0.0.1:9";
/// A crate that needs another one, so that cargo has to look for it.
const CRATE: &str =
    "[package]\nname = \"a\"\nversion = \"0.0.0\"\nedition = \"2021\"\n[dependencies]\nb = \"1\"\n";

/// The index that cargo uses.
pub(super) fn crates_index(around: &Surroundings) -> Option<String> {
    around.once("usual cargo", || {
        let folder = std::env::temp_dir().join(format!("tidewheel-usual-{}", std::process::id()));
        let said = ask_cargo(around, &folder);
        let _ = std::fs::remove_dir_all(&folder);
        said
    })
}

/// What cargo says when it cannot get what it looks for.
fn ask_cargo(around: &Surroundings, folder: &std::path::Path) -> Option<String> {
    std::fs::create_dir_all(folder.join("src")).ok()?;
    std::fs::write(folder.join("Cargo.toml"), CRATE).ok()?;
    std::fs::write(folder.join("src/lib.rs"), "").ok()?;
    // Without anybody's settings: a mirror that somebody reads from is not where crates are sent.
    let home = folder.join("home").display().to_string();
    let around = around
        .with("CARGO_HOME", &home)
        .with("CARGO_HTTP_PROXY", NOBODY)
        .with("CARGO_NET_RETRY", "0");
    let cargo = around.variable("CARGO").unwrap_or("cargo");
    let arguments = ["generate-lockfile", "--color", "never"].map(str::to_owned);
    let said = run_tool(&around, folder, cargo, &arguments).err()?;
    address_in(&said, |address| address.ends_with("/config.json"))?
        .strip_suffix("config.json")
        .map(str::to_owned)
}

/// The registry that npm uses.
pub(super) fn npm_registry(around: &Surroundings) -> Option<String> {
    around.once("usual npm", || {
        let arguments = ["config", "get", "registry", "--loglevel=error"].map(str::to_owned);
        let said = run_tool(around, &around.root, "npm", &arguments).ok()?;
        address_in(&said, |_| true)
    })
}

/// Where twine or uv send files.
pub(super) fn python_upload(around: &Surroundings) -> Option<String> {
    around.once("usual upload", || {
        let twine = "import twine.utils as it; print(it.DEFAULT_REPOSITORY)";
        ask_python(around, twine).or_else(|| ask_uv(around, &["publish"], "--publish-url"))
    })
}

/// Where pip or uv look.
pub(super) fn python_index(around: &Surroundings) -> Option<String> {
    around.once("usual index", || {
        let pip = "from pip._internal.models.index import PyPI as it; print(it.simple_url)";
        ask_python(around, pip).or_else(|| ask_uv(around, &["pip", "install"], "--default-index"))
    })
}

fn ask_python(around: &Surroundings, program: &str) -> Option<String> {
    let arguments = ["-c", program].map(str::to_owned);
    let said = run_tool(around, &around.root, "python3", &arguments).ok()?;
    address_in(&said, |_| true)
}

/// What uv says of one of its options.
fn ask_uv(around: &Surroundings, command: &[&str], option: &str) -> Option<String> {
    let arguments: Vec<String> =
        command.iter().chain(&["--help", "--color", "never"]).map(|it| (*it).to_owned()).collect();
    let said = run_tool(around, &around.root, "uv", &arguments).ok()?;
    address_in(said.split_once(option)?.1, |_| true)
}

/// The first address in a text that will do.
fn address_in(text: &str, will_do: impl Fn(&str) -> bool) -> Option<String> {
    let ends = |sign: char| sign.is_whitespace() || "`'\"<>()[],".contains(sign);
    let starts = text.match_indices("https://").map(|(at, _)| &text[at..]);
    let all = starts.map(|rest| rest.split(ends).next().unwrap_or_default());
    all.map(|it| it.trim_end_matches('.')).find(|it| will_do(it)).map(str::to_owned)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_address_is_found_wherever_it_stands() {
        let said =
            "failed to download from `https://index.example/config.json`\n[7] Could not connect";
        let config = |address: &str| address.ends_with("/config.json");
        assert_eq!(address_in(said, config).as_deref(), Some("https://index.example/config.json"));
        assert_eq!(
            address_in("(see https://a.example. Or <https://b.example/up/>)", |_| true).as_deref(),
            Some("https://a.example")
        );
        assert_eq!(address_in("http://a.example undefined", |_| true), None);
    }

    /// Cargo has one, whatever it is; it is asked without anybody's settings, and nobody else is.
    #[test]
    fn cargo_says_which_index_it_uses() {
        let root = tidewheel_testing::temp_folder("usual");
        let mut around = Surroundings::here(root.path());
        around = around.with("CARGO_NET_OFFLINE", "false");
        let said = crates_index(&around).expect("cargo says it");
        assert!(said.starts_with("https://") && said.ends_with('/'), "{said}");
        // It was asked once.
        let deaf = around.with("PATH", "").with("CARGO", "/nobody");
        assert_eq!(crates_index(&deaf), Some(said));
    }
}
