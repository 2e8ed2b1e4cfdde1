//! The registry for tests, used by those who know best what one is: cargo, npm, pip and twine.
//!
//! What goes wrong on purpose is tested in `registry_faults`. A tool that is not there is said.

use crate::registry::{Asked, Protocol, Registry, What};
use crate::samples::{
    cargo_with, crate_user, crates, distributions, npm_package, npm_settings, pip, python, twine,
};
use crate::tools::{Scratch, cargo, fail, succeed, tool};
use tidewheel_testing::skipped;

#[test]
fn cargo_publishes_to_it_builds_from_it_and_yanks() {
    let (scratch, registry) = (Scratch::new("with-cargo"), Registry::start(Protocol::Cargo));
    crates(&scratch, &registry.index_url());
    let run = |folder: &str, arguments: &[&str]| {
        cargo_with(&scratch, registry.token(), folder, arguments)
    };
    succeed(&mut run("work", &["publish", "--workspace", "--registry", "local", "--no-verify"]));
    let files: Vec<String> = registry.census().into_iter().map(|it| it.2).collect();
    assert_eq!(files, ["tw-first-0.1.0.crate", "tw-second-0.1.0.crate"]);
    registry.assert_nothing_twice();
    // What is kept is what cargo packs, whenever it does.
    let pack = ["package", "-p", "tw-first", "--no-verify", "--registry", "local"];
    succeed(&mut run("work", &pack));
    let packed = std::fs::read(scratch.path("target/package/tw-first-0.1.0.crate")).unwrap();
    assert_eq!(registry.packages()["tw-first"].versions[0].files[0].bytes, packed);
    assert_eq!(succeed(&mut crate_user(&scratch)), "first second\n");
    // The same version again is refused, by the client that looks first.
    let again = ["publish", "-p", "tw-first", "--registry", "local", "--no-verify"];
    let told = fail(&mut run("work", &again));
    assert!(told.contains("already exists"), "{told}");
    succeed(&mut run("user", &["yank", "tw-second@0.1.0", "--registry", "local"]));
    assert!(registry.packages()["tw-second"].versions[0].is_yanked);
    std::fs::remove_file(scratch.path("user/Cargo.lock")).unwrap();
    let told = fail(scratch.command(cargo(), "user").arg("generate-lockfile"));
    assert!(told.contains("yanked"), "{told}");
}

#[test]
fn cargo_is_told_why_it_may_not() {
    let (scratch, registry) = (Scratch::new("cargo-token"), Registry::start(Protocol::Cargo));
    crates(&scratch, &registry.index_url());
    let publish = ["publish", "-p", "tw-first", "--registry", "local", "--no-verify"];
    let told = fail(&mut cargo_with(&scratch, "other", "work", &publish));
    assert!(told.contains("this action requires authentication"), "{told}");
    assert!(registry.packages().is_empty());
    // With a token for everything, what is read wants it too.
    registry.be_private();
    succeed(&mut cargo_with(&scratch, registry.token(), "work", &publish));
    let looks = registry.requests().into_iter().filter(|it| it.asked.what == What::Look);
    let shown = looks.filter(|it| it.header("authorization") == Some(registry.token()));
    assert!(shown.count() > 0);
}

#[test]
fn npm_publishes_to_it_installs_from_it_tags_and_deprecates() {
    let Some(npm) = tool("TIDEWHEEL_NPM", "npm") else {
        return skipped("npm_publishes_to_it_installs_from_it_tags_and_deprecates", "no npm");
    };
    let (scratch, registry) = (Scratch::new("with-npm"), Registry::start(Protocol::Npm));
    npm_settings(&scratch, registry.port(), registry.token());
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
    let upload = Asked::new(What::Upload, Some("second".to_owned()));
    assert_eq!(registry.requests().iter().filter(|it| it.asked == upload).count(), 1);
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
    npm_settings(&scratch, registry.port(), "other");
    let told = fail(scratch.command(&npm, "first").arg("publish"));
    assert!(told.contains("E401"), "{told}");
    assert!(registry.packages().is_empty());
}

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
        succeed(&mut pip(&scratch, &registry.index_url(), folder, "Tw.First==1.0.0"));
        assert!(scratch.path(folder).join("tw_first.py").exists());
        registry.be_html_only();
    }
    registry.yank("tw-first", "1.0.0");
    fail(&mut pip(&scratch, &registry.index_url(), "yanked", "tw-first"));
}

#[test]
fn twine_uploads_to_it() {
    let Some(program) = tool("TIDEWHEEL_TWINE", "twine") else {
        return skipped("registry_clients::twine_uploads_to_it", "no twine");
    };
    let (scratch, registry) = (Scratch::new("with-twine"), Registry::start(Protocol::Python));
    let files = distributions(&scratch).expect("twine came with Python");
    let upload = |password| {
        twine(&scratch, &program, &registry.upload_url(), ("__token__", password), &files)
    };
    fail(&mut upload("other"));
    succeed(&mut upload(registry.token()));
    let kept: Vec<String> = registry.census().into_iter().map(|it| it.2).collect();
    assert_eq!(kept, ["tw_first-1.0.0-py3-none-any.whl", "tw_first-1.0.0.tar.gz"]);
    registry.assert_nothing_twice();
}
