//! [`resolve`]: somebody who has never seen the workspace finds everything that was published, by the packages' own tools.
//!
//! Nothing is installed or built. Tools are told of the registry by variables: whoever lists processes sees no address.

use std::fs;
use std::path::Path;

use crate::pack::run_tool;
use crate::package::Ecosystem;
use crate::run::PublishOrder;
use crate::settings::{Stage, Surroundings};

/// Lets each tool resolve all packages of an order from the registry of a rehearsal, in a folder of its own.
///
/// # Errors
///
/// What a tool says that cannot.
pub fn resolve(
    around: &Surroundings,
    stage: &Stage,
    order: &PublishOrder,
    folder: &Path,
) -> Result<(), String> {
    for ecosystem in Ecosystem::ALL {
        let all = order.packages.iter().filter(|it| it.id().ecosystem() == ecosystem);
        let all: Vec<(String, &str)> =
            all.map(|it| (it.id().name().to_owned(), it.version.as_str())).collect();
        if all.is_empty() {
            continue;
        }
        let folder = folder.join(ecosystem.word());
        fs::create_dir_all(folder.join("src")).map_err(|error| error.to_string())?;
        // Whoever has never seen the workspace has no settings of its user either. Cargo's compilers are there.
        let elsewhere = around.with("HOME", &folder.display().to_string());
        match ecosystem {
            Ecosystem::Cargo => by_cargo(around, stage, &all, &folder),
            Ecosystem::Npm => by_npm(&elsewhere, stage, &all, &folder),
            Ecosystem::Python => by_pip(&elsewhere, stage, &all, &folder),
        }?;
    }
    Ok(())
}

fn write(path: &Path, text: &str) -> Result<(), String> {
    fs::write(path, text).map_err(|error| format!("{}: {error}", path.display()))
}

fn by_cargo(
    around: &Surroundings,
    stage: &Stage,
    all: &[(String, &str)],
    folder: &Path,
) -> Result<(), String> {
    let needs = all.iter().map(|(name, version)| {
        format!("{name} = {{ version = \"={version}\", registry = \"rehearsal\" }}\n")
    });
    let needs: String = needs.collect();
    let manifest = format!(
        "[package]\nname = \"rehearsal\"\nversion = \"0.0.0\"\nedition = \"2021\"\n[workspace]\n[dependencies]\n{needs}"
    );
    write(&folder.join("Cargo.toml"), &manifest)?;
    write(&folder.join("src/lib.rs"), "")?;
    let index = stage.address(Ecosystem::Cargo, "rehearsal").index;
    let arguments = ["generate-lockfile", "--color", "never"].map(str::to_owned);
    // The registry is on this machine, whatever else cannot be reached.
    let around = around.with("CARGO_NET_OFFLINE", "false");
    let around = around.with("CARGO_REGISTRIES_REHEARSAL_INDEX", &format!("sparse+{index}"));
    let cargo = around.variable("CARGO").unwrap_or("cargo").to_owned();
    run_tool(&around, folder, &cargo, &arguments).map(drop)
}

fn by_npm(
    around: &Surroundings,
    stage: &Stage,
    all: &[(String, &str)],
    folder: &Path,
) -> Result<(), String> {
    let needs: serde_json::Map<String, serde_json::Value> =
        all.iter().map(|(name, version)| (name.clone(), (*version).into())).collect();
    let manifest = serde_json::json!({
        "name": "rehearsal", "version": "0.0.0", "private": true, "dependencies": needs
    });
    write(&folder.join("package.json"), &manifest.to_string())?;
    let registry = stage.address(Ecosystem::Npm, "rehearsal").index;
    let cache = folder.join("cache").display().to_string();
    let arguments =
        ["install", "--package-lock-only", "--ignore-scripts", "--no-audit", "--no-fund"];
    let mut arguments: Vec<String> = arguments.map(str::to_owned).into();
    arguments.push(format!("--cache={cache}"));
    let around = around.with("npm_config_registry", &registry);
    let around = around.with("NPM_CONFIG_REGISTRY", &registry);
    run_tool(&around, folder, "npm", &arguments).map(drop)
}

fn by_pip(
    around: &Surroundings,
    stage: &Stage,
    all: &[(String, &str)],
    folder: &Path,
) -> Result<(), String> {
    let index = stage.address(Ecosystem::Python, "rehearsal").index;
    let arguments = [
        "-m",
        "pip",
        "install",
        "--dry-run",
        "--ignore-installed",
        "--no-cache-dir",
        "--no-build-isolation",
    ];
    let mut arguments: Vec<String> = arguments.map(str::to_owned).into();
    arguments.push("--disable-pip-version-check".to_owned());
    arguments.extend(all.iter().map(|(name, version)| format!("{name}=={version}")));
    let around = around.with("PIP_INDEX_URL", &index);
    // Debian's pip refuses to install into its Python. A dry run installs nothing.
    let around = around.with("PIP_BREAK_SYSTEM_PACKAGES", "1");
    run_tool(&around, folder, "python3", &arguments).map(drop)
}
