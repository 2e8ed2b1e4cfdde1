//! The registry for tests, used by those who know best what one is: cargo, npm, pip and twine.
//!
//! What goes wrong on purpose is tested in `registry_faults`. A tool that is not there is said.
#![allow(clippy::unwrap_used, reason = "what goes wrong fails the test")]

mod registry;
mod tools;

use std::process::Command;

use registry::{Asked, Protocol, Registry, What};
use tools::{Scratch, cargo, fail, skipped, succeed, tool};

/// A workspace of two crates, the second of which needs the first under another name, and cargo's settings.
fn crates(scratch: &Scratch, registry: &Registry) {
    let index = registry.index_url();
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

fn with_token(scratch: &Scratch, registry: &Registry, folder: &str, arguments: &[&str]) -> Command {
    let mut command = scratch.command(cargo(), folder);
    command.args(arguments).env("CARGO_REGISTRIES_LOCAL_TOKEN", registry.token());
    command
}

#[test]
fn cargo_publishes_to_it_builds_from_it_and_yanks() {
    let (scratch, registry) = (Scratch::new("with-cargo"), Registry::start(Protocol::Cargo));
    crates(&scratch, &registry);
    let publish = ["publish", "--workspace", "--registry", "local", "--no-verify"];
    succeed(&mut with_token(&scratch, &registry, "work", &publish));
    let files: Vec<String> = registry.census().into_iter().map(|it| it.2).collect();
    assert_eq!(files, ["tw-first-0.1.0.crate", "tw-second-0.1.0.crate"]);
    registry.assert_nothing_twice();
    // What is kept is what cargo packs, whenever it does.
    let pack = ["package", "-p", "tw-first", "--no-verify", "--registry", "local"];
    succeed(&mut with_token(&scratch, &registry, "work", &pack));
    let packed = std::fs::read(scratch.path("target/package/tw-first-0.1.0.crate")).unwrap();
    assert_eq!(registry.packages()["tw-first"].versions[0].files[0].bytes, packed);
    // Somebody else builds with it.
    let user = "[package]\nname = \"user\"\nversion = \"0.1.0\"\nedition = \"2024\"\n[workspace]\n\
                [dependencies]\ntw-second = { version = \"0.1\", registry = \"local\" }\n";
    scratch.file("user/Cargo.toml", user);
    scratch.file("user/src/main.rs", "fn main() { println!(\"{}\", tw_second::words()) }\n");
    let told = succeed(scratch.command(cargo(), "user").args(["run", "--quiet"]));
    assert_eq!(told, "first second\n");
    // The same version again is refused, by the client that looks first.
    let again = ["publish", "-p", "tw-first", "--registry", "local", "--no-verify"];
    let told = fail(&mut with_token(&scratch, &registry, "work", &again));
    assert!(told.contains("already exists"), "{told}");
    let yank = ["yank", "tw-second@0.1.0", "--registry", "local"];
    succeed(&mut with_token(&scratch, &registry, "user", &yank));
    assert!(registry.packages()["tw-second"].versions[0].is_yanked);
    std::fs::remove_file(scratch.path("user/Cargo.lock")).unwrap();
    let told = fail(scratch.command(cargo(), "user").arg("generate-lockfile"));
    assert!(told.contains("yanked"), "{told}");
}

#[test]
fn cargo_is_told_why_it_may_not() {
    let (scratch, registry) = (Scratch::new("cargo-token"), Registry::start(Protocol::Cargo));
    crates(&scratch, &registry);
    let publish = ["publish", "-p", "tw-first", "--registry", "local", "--no-verify"];
    let mut command = with_token(&scratch, &registry, "work", &publish);
    let told = fail(command.env("CARGO_REGISTRIES_LOCAL_TOKEN", "other"));
    assert!(told.contains("this action requires authentication"), "{told}");
    assert!(registry.packages().is_empty());
    // With a token for everything, what is read wants it too.
    registry.be_private();
    succeed(&mut with_token(&scratch, &registry, "work", &publish));
    let looks = registry.requests().into_iter().filter(|it| it.asked.what == What::Look);
    let shown = looks.filter(|it| it.header("authorization") == Some(registry.token()));
    assert!(shown.count() > 0);
}

/// A package of npm's.
fn npm_package(scratch: &Scratch, folder: &str, name: &str, version: &str, needs: &str) {
    let manifest = format!(
        r#"{{ "name": "{name}", "version": "{version}", "main": "index.js", "dependencies": {{ {needs} }} }}"#
    );
    scratch.file(&format!("{folder}/package.json"), &manifest);
    scratch.file(&format!("{folder}/index.js"), "module.exports = 'here';\n");
}

fn npm_settings(scratch: &Scratch, registry: &Registry, token: &str) {
    let port = registry.port();
    let settings = format!(
        "registry={}\n//127.0.0.1:{port}/:_authToken={token}\naudit=false\nfund=false\n",
        registry.index_url()
    );
    scratch.file("npmrc", &settings);
}

#[test]
fn npm_publishes_to_it_installs_from_it_tags_and_deprecates() {
    let Some(npm) = tool("TIDEWHEEL_NPM", "npm") else {
        return skipped("npm_publishes_to_it_installs_from_it_tags_and_deprecates", "no npm");
    };
    let (scratch, registry) = (Scratch::new("with-npm"), Registry::start(Protocol::Npm));
    npm_settings(&scratch, &registry, registry.token());
    npm_package(&scratch, "first", "@tw/first", "1.0.0", "");
    npm_package(&scratch, "second", "second", "1.0.0", r#""@tw/first": "^1.0.0""#);
    let run = |folder: &str, arguments: &[&str]| {
        succeed(scratch.command(&npm, folder).args(arguments));
    };
    run("first", &["publish", "--access", "public"]);
    run("second", &["publish", "--tag", "next"]);
    let packages = registry.packages();
    assert_eq!(packages["@tw/first"].tags["latest"], "1.0.0");
    assert_eq!(packages["second"].tags["next"], "1.0.0");
    registry.assert_nothing_twice();
    let sent = &registry.uploads()[1].sha256;
    let kept = registry.census().into_iter().find(|it| it.0 == "second").unwrap();
    assert_eq!(kept.3, *sent);
    let uploads = |name: &str| Asked::new(What::Upload, Some(name.to_owned()));
    let count = registry.requests().iter().filter(|it| it.asked == uploads("second")).count();
    assert_eq!(count, 1);
    scratch.file("user/package.json", r#"{ "name": "user", "version": "0.0.0" }"#);
    run("user", &["install", "second@next"]);
    assert!(scratch.path("user/node_modules/@tw/first/index.js").exists());
    run("second", &["dist-tag", "add", "second@1.0.0", "latest"]);
    assert_eq!(registry.packages()["second"].tags["latest"], "1.0.0");
    run("second", &["deprecate", "second@1.0.0", "taken back"]);
    let told = &registry.packages()["second"].versions[0].told["deprecated"];
    assert_eq!(told, "taken back");
    let told = fail(scratch.command(&npm, "second").arg("publish"));
    assert!(told.contains("previously published"), "{told}");
}

#[test]
fn npm_is_told_why_it_may_not() {
    let Some(npm) = tool("TIDEWHEEL_NPM", "npm") else {
        return skipped("npm_is_told_why_it_may_not", "no npm");
    };
    let (scratch, registry) = (Scratch::new("npm-token"), Registry::start(Protocol::Npm));
    npm_package(&scratch, "first", "first", "1.0.0", "");
    npm_settings(&scratch, &registry, "other");
    let told = fail(scratch.command(&npm, "first").arg("publish"));
    assert!(told.contains("E401"), "{told}");
    assert!(registry.packages().is_empty());
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
    entry = tarfile.TarInfo(f"{name}-{version}/PKG-INFO")
    entry.size = len(about)
    source.addfile(entry, io.BytesIO(about.encode()))
"#;

/// Sends a file as the form that registries of Python's expect.
const SEND: &str = r#"
import base64, hashlib, sys, urllib.error, urllib.request
url, token, name, version, path = sys.argv[1:]
content = open(path, "rb").read()
fields = {":action": "file_upload", "protocol_version": "1", "name": name, "version": version,
          "requires_python": ">=3.8", "sha256_digest": hashlib.sha256(content).hexdigest()}
body = b""
for key, value in fields.items():
    body += f'--x\r\nContent-Disposition: form-data; name="{key}"\r\n\r\n{value}\r\n'.encode()
body += f'--x\r\nContent-Disposition: form-data; name="content"; filename="{path.split("/")[-1]}"\r\n\r\n'.encode()
body += content + b"\r\n--x--\r\n"
request = urllib.request.Request(url, body, {"Content-Type": "multipart/form-data; boundary=x"})
request.add_header("Authorization", "Basic " + base64.b64encode(f"__token__:{token}".encode()).decode())
try:
    print(urllib.request.urlopen(request).status)
except urllib.error.HTTPError as error:
    print(error.code, error.read().decode())
"#;

fn python(scratch: &Scratch, arguments: &[&str]) -> Option<Command> {
    let program = tool("TIDEWHEEL_PYTHON", "python3")?;
    let mut command = scratch.command(program, "");
    command.args(arguments);
    Some(command)
}

fn distributions(scratch: &Scratch) -> Option<[String; 2]> {
    std::fs::create_dir_all(scratch.path("dist")).unwrap();
    let folder = scratch.path("dist").to_str().unwrap().to_owned();
    succeed(&mut python(scratch, &["-c", MAKE, "tw_first", "1.0.0", &folder])?);
    let kinds = ["-py3-none-any.whl", ".tar.gz"];
    Some(kinds.map(|kind| format!("{folder}/tw_first-1.0.0{kind}")))
}

#[test]
fn pip_installs_from_it_by_both_forms_of_its_index() {
    let test = "pip_installs_from_it_by_both_forms_of_its_index";
    let (scratch, registry) = (Scratch::new("with-pip"), Registry::start(Protocol::Python));
    let Some([wheel, source]) = distributions(&scratch) else { return skipped(test, "no python3") };
    let send = |path: &str, token: &str| {
        let url = registry.upload_url();
        let arguments = ["-c", SEND, &url, token, "tw_first", "1.0.0", path];
        succeed(&mut python(&scratch, &arguments).unwrap())
    };
    assert!(send(&wheel, "other").starts_with("403"));
    assert_eq!(send(&wheel, registry.token()), "200\n");
    assert_eq!(send(&source, registry.token()), "200\n");
    assert_eq!(registry.census().len(), 2);
    registry.assert_nothing_twice();
    // The same file again is nothing new, another one under its name is refused.
    assert_eq!(send(&wheel, registry.token()), "200\n");
    std::fs::write(&wheel, "another").unwrap();
    assert!(send(&wheel, registry.token()).starts_with("400 File already exists"));
    if !python(&scratch, &["-m", "pip", "--version"]).unwrap().output().unwrap().status.success() {
        return skipped(test, "no pip");
    }
    for folder in ["by-json", "by-html"] {
        let target = scratch.path(folder);
        let (index, target) = (registry.index_url(), target.to_str().unwrap());
        let arguments = ["-m", "pip", "install", "--index-url", &index, "--target", target];
        let mut pip = python(&scratch, &arguments).unwrap();
        succeed(pip.args(["--no-cache-dir", "Tw.First==1.0.0"]));
        assert!(scratch.path(folder).join("tw_first.py").exists());
        registry.be_html_only();
    }
    registry.yank("tw-first", "1.0.0");
    let (index, target) = (registry.index_url(), scratch.path("yanked"));
    let arguments = ["-m", "pip", "install", "--no-cache-dir", "--index-url", &index, "--target"];
    let mut pip = python(&scratch, &arguments).unwrap();
    fail(pip.arg(target).arg("tw-first"));
}

#[test]
fn twine_uploads_to_it() {
    let Some(twine) = tool("TIDEWHEEL_TWINE", "twine") else {
        return skipped("twine_uploads_to_it", "no twine");
    };
    let (scratch, registry) = (Scratch::new("with-twine"), Registry::start(Protocol::Python));
    let Some(files) = distributions(&scratch) else {
        return skipped("twine_uploads_to_it", "no python3");
    };
    let upload = |password: &str| {
        let mut command = scratch.command(&twine, "");
        command.args(["upload", "--non-interactive", "--disable-progress-bar"]);
        command.args(["--repository-url", &registry.upload_url(), "-u", "__token__"]);
        command.args(["-p", password]).args(&files);
        command
    };
    fail(&mut upload("other"));
    succeed(&mut upload(registry.token()));
    let kept: Vec<String> = registry.census().into_iter().map(|it| it.2).collect();
    assert_eq!(kept, ["tw_first-1.0.0-py3-none-any.whl", "tw_first-1.0.0.tar.gz"]);
    registry.assert_nothing_twice();
}
