//! [`Scene`]: a workspace that is packed already, a registry for tests, and publishes of it in this process.
//!
//! No tool packs anything here: what is packed is written as `tidewheel publish pack` would carry it. Publishes with the
//! real tools, by the command, are in `tidewheel-cli`.

use std::collections::BTreeMap;
use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;
use std::sync::Arc;
use std::time::Duration;

use serde_json::{Value as Json, json};
use sha1::Sha1;
use sha2::{Digest as _, Sha256, Sha512};
use tidewheel::store::sqlite::{DataFolder, Options};
use tidewheel_client::desk::LocalDesk;
use tidewheel_client::kind::Startable as _;
use tidewheel_client::session::{Session, SessionOptions, Takeover};
use tidewheel_publish::pack::{Carried, Inside, PackedFile, PackedPackage, PackedSet};
use tidewheel_publish::prepare::{Prepared, Wish, folder_of, prepare};
use tidewheel_publish::run::{
    PublishOptions, PublishOrder, PublishRun, Publisher, Report, Reported, WorkspaceLock,
};
use tidewheel_publish::settings::Surroundings;
use tidewheel_publish::{Ecosystem, PackageId, Problem};
use tidewheel_testing::{TempDir, patience, temp_folder};

use crate::registry::{Faults, Protocol, Registry, Request, Upload, What};

/// A package of a [`Scene`].
#[derive(Debug, Clone)]
struct Sample {
    name: String,
    version: String,
    /// Packages of the same scene, with the versions that will do.
    needs: Vec<(String, String)>,
    /// Further manifest entries: lines of TOML, or fields of JSON.
    more: String,
    /// How many bytes its files have at least.
    bytes: usize,
}

/// A workspace that is packed already, and its registry.
pub struct Scene {
    folder: TempDir,
    pub registry: Arc<Registry>,
    samples: Vec<Sample>,
    variables: BTreeMap<String, String>,
}

impl Scene {
    /// Packages in version 1.0.0, each with those that it needs.
    pub fn new(protocol: Protocol, packages: &[(&str, &[&str])]) -> Self {
        let range = if protocol == Protocol::Python { ">=1" } else { "^1.0.0" };
        let sample = |(name, needs): &(&str, &[&str])| Sample {
            name: (*name).to_owned(),
            version: "1.0.0".to_owned(),
            needs: needs.iter().map(|needed| ((*needed).to_owned(), range.to_owned())).collect(),
            more: String::new(),
            bytes: 0,
        };
        let registry = Arc::new(Registry::start(protocol));
        let mut scene = Self {
            folder: temp_folder("scene"),
            variables: BTreeMap::new(),
            samples: packages.iter().map(sample).collect(),
            registry,
        };
        for folder in ["ws", "home", "data"] {
            fs::create_dir(scene.path(folder)).unwrap();
        }
        let token = scene.registry.token().to_owned();
        let (index, upload) = (scene.registry.index_url(), scene.registry.upload_url());
        scene.set("HOME", &scene.path("home").display().to_string());
        scene.set("PATH", &std::env::var("PATH").unwrap());
        match protocol {
            Protocol::Cargo => {
                scene.set("CARGO_REGISTRIES_OURS_TOKEN", &token);
                scene.file(
                    ".cargo/config.toml",
                    &format!("[registries.ours]\nindex = \"{index}\"\n"),
                );
            }
            Protocol::Npm => {
                scene.set("NPM_TOKEN", &token);
                let port = scene.registry.port();
                let settings =
                    format!("registry={index}\n//127.0.0.1:{port}/:_authToken=${{NPM_TOKEN}}\n");
                scene.file(".npmrc", &settings);
            }
            Protocol::Python => {
                scene.set("UV_PUBLISH_URL", &upload);
                scene.set("UV_PUBLISH_CHECK_URL", &index);
                scene.set("UV_PUBLISH_TOKEN", &token);
            }
        }
        scene.write();
        scene
    }

    /// `c` needs `b`, which needs `a`.
    pub fn chain(protocol: Protocol) -> Self {
        Self::new(protocol, &[("a", &[]), ("b", &["a"]), ("c", &["b"])])
    }

    /// The chain of each protocol.
    pub fn chains() -> [Self; 3] {
        [Protocol::Cargo, Protocol::Npm, Protocol::Python].map(Self::chain)
    }

    /// Gives a package another version, and commits it.
    pub fn set_version(&mut self, name: &str, version: &str) {
        self.sample(name).version = version.to_owned();
        self.write();
    }

    /// Gives a package other versions of what it needs.
    pub fn set_range(&mut self, name: &str, range: &str) {
        self.sample(name).needs.iter_mut().for_each(|(_, own)| range.clone_into(own));
        self.write();
    }

    /// Writes more into the manifest of a package.
    pub fn set_more(&mut self, name: &str, more: &str) {
        self.sample(name).more = more.to_owned();
        self.write();
    }

    /// Makes the files of a package this large.
    pub fn set_bytes(&mut self, name: &str, bytes: usize) {
        self.sample(name).bytes = bytes;
        self.pack();
    }

    fn sample(&mut self, name: &str) -> &mut Sample {
        self.samples.iter_mut().find(|it| it.name == name).unwrap()
    }

    /// Sets a variable that publishes find around them.
    pub fn set(&mut self, name: &str, value: &str) {
        self.variables.insert(name.to_owned(), value.to_owned());
    }

    pub fn unset(&mut self, name: &str) {
        self.variables.remove(name);
    }

    pub fn path(&self, name: &str) -> PathBuf {
        self.folder.path().join(name)
    }

    /// Writes a file of the workspace.
    pub fn file(&self, name: &str, text: &str) {
        let path = self.path("ws").join(name);
        fs::create_dir_all(path.parent().unwrap()).unwrap();
        fs::write(path, text).unwrap();
    }

    pub fn git(&self, arguments: &[&str]) -> String {
        let own = ["-c", "user.name=n", "-c", "user.email=e@e.example"];
        let mut git = Command::new("git");
        git.args(own).args(arguments).current_dir(self.path("ws"));
        let output = git.env("HOME", self.path("home")).output().unwrap();
        assert!(output.status.success(), "{git:?}: {output:?}");
        String::from_utf8(output.stdout).unwrap().trim().to_owned()
    }

    /// Commits the workspace, and packs it.
    pub fn commit(&self) {
        for arguments in
            [&["init", "-q"][..], &["add", "."], &["commit", "-q", "--allow-empty", "-m", "m"]]
        {
            self.git(arguments);
        }
        self.pack();
    }

    /// Writes the manifests, and commits and packs them.
    fn write(&self) {
        let members: Vec<String> =
            self.samples.iter().map(|it| format!("\"{}\"", it.name)).collect();
        let members = members.join(", ");
        match self.registry.protocol() {
            Protocol::Cargo => {
                let text = format!("[workspace]\nresolver = \"3\"\nmembers = [{members}]\n");
                self.file("Cargo.toml", &text);
            }
            Protocol::Npm => {
                let text = format!("{{ \"private\": true, \"workspaces\": [{members}] }}");
                self.file("package.json", &text);
            }
            Protocol::Python => {
                let text = format!("[tool.uv.workspace]\nmembers = [{members}]\n");
                self.file("pyproject.toml", &text);
            }
        }
        for sample in &self.samples {
            self.write_manifest(sample);
        }
        self.commit();
    }

    fn write_manifest(&self, sample: &Sample) {
        let Sample { name, version, needs, more, .. } = sample;
        match self.registry.protocol() {
            Protocol::Cargo => {
                let need = |(needed, range): &(String, String)| {
                    format!(
                        "{needed} = {{ path = \"../{needed}\", version = \"{range}\", registry = \"ours\" }}\n"
                    )
                };
                let needs: String = needs.iter().map(need).collect();
                let manifest = format!(
                    "[package]\nname = \"{name}\"\nversion = \"{version}\"\nedition = \"2024\"\n\
                     publish = [\"ours\"]\n[dependencies]\n{needs}{more}"
                );
                self.file(&format!("{name}/Cargo.toml"), &manifest);
                self.file(&format!("{name}/src/lib.rs"), "");
            }
            Protocol::Npm => {
                let mut manifest = manifest(sample);
                let more: Json = serde_json::from_str(&format!("{{ {more} }}")).unwrap();
                manifest.as_object_mut().unwrap().extend(more.as_object().unwrap().clone());
                self.file(&format!("{name}/package.json"), &manifest.to_string());
            }
            Protocol::Python => {
                let needs: Vec<String> =
                    needs.iter().map(|(needed, range)| format!("\"{needed}{range}\"")).collect();
                let manifest = format!(
                    "[project]\nname = \"{name}\"\nversion = \"{version}\"\ndependencies = [{}]\n{more}",
                    needs.join(", ")
                );
                self.file(&format!("{name}/pyproject.toml"), &manifest);
            }
        }
    }

    /// Packs every package as it is now: what is in a file says which version of which package it is.
    pub fn pack(&self) {
        let folder = self.path("carried");
        // What git says of the folder of a package stands for what is in it.
        let names = self.samples.iter().map(|it| format!("HEAD:{}", it.name));
        let asked: Vec<String> =
            ["HEAD", "HEAD^{tree}"].map(str::to_owned).into_iter().chain(names).collect();
        let asked: Vec<&str> = asked.iter().map(String::as_str).collect();
        let said = self.git(&[&["rev-parse"], &asked[..]].concat());
        let said: Vec<&str> = said.lines().collect();
        let set = PackedSet {
            tree: said[1].to_owned(),
            commit: Some(said[0].to_owned()),
            packages: BTreeMap::new(),
            folder: folder.clone(),
        };
        let packages = self.samples.iter().zip(&said[2..]).map(|(sample, tree)| {
            let id = self.id(&sample.name);
            let names = files(self.registry.protocol(), sample);
            let files = names.iter().map(|name| {
                let content = content(sample, name, tree);
                let path = set.path(&id, name);
                fs::create_dir_all(path.parent().unwrap()).unwrap();
                fs::write(path, &content).unwrap();
                packed_file(name, &content)
            });
            let files = files.collect();
            let metadata = self.metadata(sample, &names);
            (id.to_string(), PackedPackage { version: sample.version.clone(), files, metadata })
        });
        let set = PackedSet { packages: packages.collect(), ..set.clone() };
        fs::write(folder.join("packed.json"), serde_json::to_vec(&set).unwrap()).unwrap();
    }

    fn metadata(&self, sample: &Sample, files: &[String]) -> Json {
        let Sample { name, version, needs, more, .. } = sample;
        match self.registry.protocol() {
            Protocol::Cargo => {
                let need = |(needed, range): &(String, String)| {
                    json!({ "name": needed, "version_req": range, "kind": "normal", "features": [],
                        "optional": false, "default_features": true, "target": null, "registry": null })
                };
                let deps: Vec<Json> = needs.iter().map(need).collect();
                json!({ "name": name, "vers": version, "deps": deps, "features": {} })
            }
            Protocol::Npm => {
                let more: Json = serde_json::from_str(&format!("{{ {more} }}")).unwrap();
                let mut manifest = manifest(sample);
                manifest.as_object_mut().unwrap().extend(more.as_object().unwrap().clone());
                json!({ "manifest": manifest, "tag": "latest", "access": null })
            }
            Protocol::Python => {
                let needs: Vec<String> =
                    needs.iter().map(|(needed, range)| format!("{needed}{range}")).collect();
                let about = json!({ "name": name, "version": version, "metadata_version": "2.1", "requires_dist": needs });
                files.iter().map(|file| (file.clone(), about.clone())).collect()
            }
        }
    }

    /// How a package is written.
    pub fn id(&self, name: &str) -> PackageId {
        let ecosystem = match self.registry.protocol() {
            Protocol::Cargo => Ecosystem::Cargo,
            Protocol::Npm => Ecosystem::Npm,
            Protocol::Python => Ecosystem::Python,
        };
        PackageId::new(ecosystem, name)
    }

    /// Returns the package names as reports print them.
    pub fn ids(&self, names: &[&str]) -> Vec<String> {
        names.iter().map(|name| self.id(name).to_string()).collect()
    }

    /// Something else under the name of a file of this package.
    pub fn put_other(&self, name: &str) {
        let sample = self.samples.iter().find(|it| it.name == name).unwrap();
        let file = &files(self.registry.protocol(), sample)[0];
        self.registry.put(name, &sample.version, file, b"something else");
    }

    /// Returns a new publisher, as each publishing process has its own.
    pub fn publisher(&self) -> Arc<Publisher> {
        Publisher::new(self.surroundings()).unwrap()
    }

    pub fn surroundings(&self) -> Surroundings {
        Surroundings::of(&self.path("ws"), self.variables.clone())
    }

    /// Returns the folder with the stored state of the workspace.
    pub fn ours(&self) -> PathBuf {
        folder_of(&self.path("data"), &self.path("ws"))
    }

    fn data(&self) -> DataFolder {
        DataFolder::open(self.path("data"), Options::default()).unwrap()
    }

    /// Returns a request to publish the packed packages.
    pub fn wish(&self) -> Wish {
        let carried = Carried { folder: self.path("carried"), digest: None };
        Wish { packed: vec![carried], check_tokens: true, ..Wish::default() }
    }

    pub async fn plan(&self, wish: Wish) -> Result<Prepared, Vec<Problem>> {
        prepare(&self.publisher(), &wish, &self.ours(), &|_| ()).await
    }

    /// Publishes all packages with a new publisher and short intervals.
    pub async fn publish(&self) -> Report {
        self.publish_with(options()).await
    }

    #[track_caller]
    pub fn publish_with(&self, options: PublishOptions) -> impl Future<Output = Report> {
        let at = std::panic::Location::caller();
        async move {
            let published = self.try_publish(self.wish(), options).await;
            published.unwrap_or_else(|problems| panic!("{at}: {}", words(&problems)))
        }
    }

    /// Publishes, or returns the problems found before the first upload.
    pub async fn try_publish(
        &self,
        wish: Wish,
        options: PublishOptions,
    ) -> Result<Report, Vec<Problem>> {
        let publisher = self.publisher();
        let prepared = prepare(&publisher, &wish, &self.ours(), &|_| ()).await?;
        let order = prepared.order(options).of(self.path("ws"), None);
        Ok(self.carry_out(&publisher, order).await)
    }

    /// Runs an order to its end, and returns a report checked against the registry.
    pub async fn carry_out(&self, publisher: &Arc<Publisher>, order: PublishOrder) -> Report {
        let mut report = match order.is_out() {
            true => Report::new(publisher, &order, None).await,
            false => self.run(publisher, &order).await,
        };
        report.follow_up(publisher, &order).await;
        report
    }

    async fn run(&self, publisher: &Arc<Publisher>, order: &PublishOrder) -> Report {
        let lock = WorkspaceLock::take(&self.path("ws"), &self.ours(), "a test").unwrap();
        let run = PublishRun::new(order.clone(), Arc::clone(publisher), lock);
        let options = SessionOptions::new(order.options.concurrency);
        let session = Session::open_inline(self.data(), &Takeover::Fresh, options).unwrap();
        run.prepare(&session);
        let started = session.start(&run, BTreeMap::new()).await.unwrap();
        started.run.report().await.unwrap();
        let desk = LocalDesk::open(self.data()).unwrap();
        let view = desk.show(&started.run.id().to_string()).unwrap();
        let report = Report::new(publisher, order, Some(&view.detail)).await;
        session.close().await;
        report
    }

    /// Waits until the registry was asked or sent this.
    #[track_caller]
    pub fn until(
        &self,
        is_so: impl Fn(&[Request], &[Upload]) -> bool + Send + 'static,
    ) -> impl Future<Output = ()> {
        let (registry, at) = (Arc::clone(&self.registry), std::panic::Location::caller());
        async move {
            let waiting =
                tokio::task::spawn_blocking(move || registry.wait_until(patience(), is_so));
            assert!(waiting.await.unwrap(), "{at}: the registry was not asked");
        }
    }

    /// The requests of this kind about a package.
    pub fn requests(&self, what: What, name: &str) -> Vec<Request> {
        let all = self.registry.requests().into_iter();
        all.filter(|it| is_about(it, what, name)).collect()
    }

    /// Which packages were brought, in order.
    pub fn brought(&self) -> Vec<String> {
        self.registry.uploads().into_iter().map(|upload| upload.package).collect()
    }

    /// Nothing goes wrong any more.
    pub fn heal(&self) {
        self.registry.script(Faults::none());
    }

    /// All that is kept of publishes, with its contents.
    pub fn kept(&self) -> BTreeMap<PathBuf, Vec<u8>> {
        let mut found = BTreeMap::new();
        let mut open = vec![self.path("data")];
        while let Some(at) = open.pop() {
            for entry in fs::read_dir(at).unwrap().map(Result::unwrap) {
                let kind = entry.file_type().unwrap();
                if kind.is_dir() {
                    open.push(entry.path());
                } else if kind.is_file() {
                    found.insert(entry.path(), fs::read(entry.path()).unwrap());
                }
            }
        }
        found
    }
}

/// Whether a request is of this kind and about this package.
pub fn is_about(it: &Request, what: What, name: &str) -> bool {
    it.asked.what == what && it.asked.package.as_deref() == Some(name)
}

/// Returns options with retry and poll intervals of 10 ms.
pub fn options() -> PublishOptions {
    let soon = Duration::from_millis(10);
    PublishOptions { retry_base_delay: soon, look_every: soon, ..PublishOptions::default() }
}

/// Returns the entry of a package in a report.
#[track_caller]
pub fn of<'a>(report: &'a Report, id: &str) -> &'a Reported {
    let found = report.packages.iter().find(|it| it.package == id);
    found.unwrap_or_else(|| panic!("{id} is not in {report:#?}"))
}

/// Formats problems as the command prints them, one line each, with their codes.
pub fn words(problems: &[Problem]) -> String {
    let line = |it: &Problem| format!("{it} [{}]", it.code.word());
    problems.iter().map(line).collect::<Vec<_>>().join("\n")
}

/// Returns the formatted problems of a result that must be an error.
#[track_caller]
pub fn refused<T>(result: Result<T, Vec<Problem>>) -> String {
    words(&result.err().expect("something is in the way"))
}

fn manifest(sample: &Sample) -> Json {
    let needs: BTreeMap<&str, &str> =
        sample.needs.iter().map(|(needed, range)| (&**needed, &**range)).collect();
    json!({ "name": sample.name, "version": sample.version, "dependencies": needs })
}

/// The names of the files of a package.
fn files(protocol: Protocol, Sample { name, version, .. }: &Sample) -> Vec<String> {
    match protocol {
        Protocol::Cargo => vec![format!("{name}-{version}.crate")],
        Protocol::Npm => vec![format!("{name}-{version}.tgz")],
        Protocol::Python => {
            vec![format!("{name}-{version}-py3-none-any.whl"), format!("{name}-{version}.tar.gz")]
        }
    }
}

/// Returns the contents of a package file, with the first bytes of an archive.
fn content(sample: &Sample, file: &str, tree: &str) -> Vec<u8> {
    let mut content = [b"\x1f\x8b", format!("{file} {tree}").as_bytes()].concat();
    content.resize(content.len().max(sample.bytes), b'.');
    content
}

fn packed_file(name: &str, content: &[u8]) -> PackedFile {
    let hex = |bytes: &[u8]| bytes.iter().map(|byte| format!("{byte:02x}")).collect::<String>();
    PackedFile {
        name: name.to_owned(),
        bytes: content.len() as u64,
        sha256: hex(&Sha256::digest(content)),
        sha512: hex(&Sha512::digest(content)),
        sha1: hex(&Sha1::digest(content)),
        inside: Inside::default(),
        out_as: None,
    }
}

/// Whether a text is in something that is kept.
pub fn is_kept(scene: &Scene, text: &str) -> Option<PathBuf> {
    let is_in = |content: &[u8]| content.windows(text.len()).any(|part| part == text.as_bytes());
    let found = scene.kept().into_iter().find(|(_, content)| is_in(content));
    found.map(|(path, _): (PathBuf, _)| Path::new(&path).to_owned())
}
