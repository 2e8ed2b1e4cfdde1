//! Small packages of each ecosystem, and the settings that official clients publish them with.
//!
//! Where they are published is for tests to say.

use std::path::Path;
use std::process::Command;

use crate::tools::{Scratch, cargo, succeed, tool};

/// A workspace of two crates in `work`, the second of which needs the first under another name, and settings of cargo's
/// by which the registry of this index is `local`.
pub fn crates(scratch: &Scratch, index: &str) {
    scratch.file(
        "cargo-home/config.toml",
        &format!(
            "[registries.local]\nindex = \"{index}\"\n[registry]\ndefault = \"local\"\n\
             global-credential-providers = [\"cargo:token\"]\n"
        ),
    );
    let manifest = |name: &str, needs: &str| {
        format!(
            "[package]\nname = \"{name}\"\nversion = \"0.1.0\"\nedition = \"2024\"\nlicense = \"MIT\"\n\
             description = \"One of the tests\"\nrepository = \"https://example.invalid\"\n\
             publish = [\"local\"]\n{needs}"
        )
    };
    scratch.file("work/Cargo.toml", "[workspace]\nresolver = \"3\"\nmembers = [\"*\"]\n");
    let first = manifest("tw-first", "[features]\ndefault = [\"loud\"]\nloud = []\n");
    scratch.file("work/first/Cargo.toml", &first);
    scratch.file("work/first/src/lib.rs", "pub fn word() -> &'static str { \"first\" }\n");
    let needs = "[dependencies.one]\npackage = \"tw-first\"\nversion = \"0.1.0\"\npath = \"../first\"\n\
                 registry = \"local\"\n";
    scratch.file("work/second/Cargo.toml", &manifest("tw-second", needs));
    let code = "pub fn words() -> String { format!(\"{} second\", one::word()) }\n";
    scratch.file("work/second/src/lib.rs", code);
}

/// Somebody in `user` who needs the second of these crates, and what they say when they run.
pub fn crate_user(scratch: &Scratch) -> Command {
    let user = "[package]\nname = \"user\"\nversion = \"0.1.0\"\nedition = \"2024\"\n[workspace]\n\
                [dependencies]\ntw-second = { version = \"0.1\", registry = \"local\" }\n";
    scratch.file("user/Cargo.toml", user);
    scratch.file("user/src/main.rs", "fn main() { println!(\"{}\", tw_second::words()) }\n");
    let mut command = scratch.command(cargo(), "user");
    command.args(["run", "--quiet"]);
    command
}

/// Cargo in a folder, with a token for `local`.
pub fn cargo_with(scratch: &Scratch, token: &str, folder: &str, arguments: &[&str]) -> Command {
    let mut command = scratch.command(cargo(), folder);
    command.args(arguments).env("CARGO_REGISTRIES_LOCAL_TOKEN", token);
    command
}

/// A package of npm's.
pub fn npm_package(scratch: &Scratch, folder: &str, name: &str, version: &str, needs: &str) {
    let manifest = format!(
        r#"{{ "name": "{name}", "version": "{version}", "main": "index.js", "dependencies": {{ {needs} }} }}"#
    );
    scratch.file(&format!("{folder}/package.json"), &manifest);
    scratch.file(&format!("{folder}/index.js"), "module.exports = 'here';\n");
}

/// Settings of npm's by which the registry at this port is the one.
pub fn npm_settings(scratch: &Scratch, port: u16, token: &str) {
    let settings = format!(
        "registry=http://127.0.0.1:{port}/\n//127.0.0.1:{port}/:_authToken={token}\n\
         audit=false\nfund=false\n"
    );
    scratch.file("npmrc", &settings);
}

/// Makes a wheel and a source distribution as build tools do, with what Python brings along.
const MAKE: &str = r#"
import io, sys, tarfile, zipfile
name, version, folder = sys.argv[1:]
about = f"Metadata-Version: 2.1\nName: {name}\nVersion: {version}\nRequires-Python: >=3.8\n"
info = f"{name}-{version}.dist-info"
with zipfile.ZipFile(f"{folder}/{name}-{version}-py3-none-any.whl", "w") as wheel:
    wheel.writestr(f"{name}.py", "WORD = 'here'\n")
    wheel.writestr(f"{info}/METADATA", about)
    wheel.writestr(f"{info}/WHEEL", "Wheel-Version: 1.0\nGenerator: tests\nRoot-Is-Purelib: true\nTag: py3-none-any\n")
    wheel.writestr(f"{info}/RECORD", f"{name}.py,,\n{info}/METADATA,,\n{info}/WHEEL,,\n{info}/RECORD,,\n")
with tarfile.open(f"{folder}/{name}-{version}.tar.gz", "w:gz") as source:
    for file, text in [("PKG-INFO", about), (f"{name}.py", "WORD = 'here'\n")]:
        entry = tarfile.TarInfo(f"{name}-{version}/{file}")
        entry.size = len(text)
        source.addfile(entry, io.BytesIO(text.encode()))
"#;

/// Python in the folder, if there is one.
pub fn python(scratch: &Scratch, arguments: &[&str]) -> Option<Command> {
    let program = tool("TIDEWHEEL_PYTHON", "python3")?;
    let mut command = scratch.command(program, "");
    command.args(arguments);
    Some(command)
}

/// The wheel and the source distribution of `tw_first` 1.0.0, if there is a Python to make them.
pub fn distributions(scratch: &Scratch) -> Option<[String; 2]> {
    std::fs::create_dir_all(scratch.path("dist")).unwrap();
    let folder = scratch.path("dist").to_str().unwrap().to_owned();
    succeed(&mut python(scratch, &["-c", MAKE, "tw_first", "1.0.0", &folder])?);
    let kinds = ["-py3-none-any.whl", ".tar.gz"];
    Some(kinds.map(|kind| format!("{folder}/tw_first-1.0.0{kind}")))
}

/// Twine, about to upload files to a registry.
pub fn twine(
    scratch: &Scratch,
    program: &Path,
    url: &str,
    (user, password): (&str, &str),
    files: &[String],
) -> Command {
    let mut command = scratch.command(program, "");
    command.args(["upload", "--non-interactive", "--disable-progress-bar"]);
    command.args(["--repository-url", url, "-u", user, "-p", password]).args(files);
    command
}

/// Pip, about to install something from an index into a folder.
pub fn pip(scratch: &Scratch, index: &str, folder: &str, wanted: &str) -> Command {
    let arguments = ["-m", "pip", "install", "--no-cache-dir", "--index-url", index, "--target"];
    let mut command = python(scratch, &arguments).expect("there is a Python");
    command.arg(scratch.path(folder)).arg(wanted);
    command
}
