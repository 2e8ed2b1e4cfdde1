//! Publishing without the command: plan, run, census and going on are values and functions that any program can use.
//!
//! What they do in every case is tested through the command, in `tidewheel-cli`.

use std::collections::BTreeMap;
use std::fs;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use crate::registry::{Fault, Faults, Protocol, Registry, What};
use tidewheel::store::sqlite::{DataFolder, Options};
use tidewheel_client::desk::LocalDesk;
use tidewheel_client::kind::Startable as _;
use tidewheel_client::session::{Session, SessionOptions, Takeover};
use tidewheel_publish::plan::Class;
use tidewheel_publish::prepare::{Prepared, Wish, folder_of, prepare};
use tidewheel_publish::run::{
    PublishOptions, PublishRun, Publisher, Report, Verdict, WorkspaceLock,
};
use tidewheel_publish::settings::Surroundings;
use tidewheel_testing::{TempDir, temp_folder};

/// A package of npm alone, its registry, and what a program that publishes it has.
struct Program {
    folder: TempDir,
    registry: Registry,
}

impl Program {
    fn new() -> Self {
        let folder = temp_folder("library");
        fs::create_dir_all(folder.path().join("ws/a")).unwrap();
        let registry = Registry::start(Protocol::Npm);
        let (url, port, token) = (registry.index_url(), registry.port(), registry.token());
        let settings = format!("registry={url}\n//127.0.0.1:{port}/:_authToken={token}\n");
        let write =
            |name: &str, text: &str| fs::write(folder.path().join("ws").join(name), text).unwrap();
        write(".npmrc", &settings);
        write("package.json", r#"{ "private": true, "workspaces": ["*"] }"#);
        write("a/package.json", r#"{ "name": "a", "version": "1.0.0" }"#);
        Self { folder, registry }
    }

    fn root(&self) -> PathBuf {
        self.folder.path().join("ws")
    }

    fn publisher(&self) -> Arc<Publisher> {
        let home = self.folder.path().display().to_string();
        let path = std::env::var("PATH").unwrap();
        let variables = [("HOME".to_owned(), home), ("PATH".to_owned(), path)];
        Publisher::new(Surroundings::of(&self.root(), variables)).unwrap()
    }

    fn data(&self) -> DataFolder {
        DataFolder::open(self.folder.path().join("data"), Options::default()).unwrap()
    }

    fn ours(&self) -> PathBuf {
        folder_of(&self.folder.path().join("data"), &self.root())
    }

    fn lock(&self) -> WorkspaceLock {
        WorkspaceLock::take(&self.root(), &self.ours(), "a program").unwrap()
    }
}

async fn planned(publisher: &Publisher, ours: &Path) -> Prepared {
    prepare(publisher, &Wish::default(), ours, &|_| ()).await.unwrap()
}

/// Carries a plan out to its end, and asks the registry what came of it.
async fn carried_out(program: &Program, publisher: &Arc<Publisher>, prepared: &Prepared) -> Report {
    let options = PublishOptions { retries: 0, ..PublishOptions::default() };
    let order = prepared.order(options).of(program.root(), None);
    let run = PublishRun::new(order.clone(), Arc::clone(publisher), program.lock());
    let session =
        Session::open_inline(program.data(), &Takeover::Fresh, SessionOptions::new(4)).unwrap();
    run.prepare(&session);
    let started = session.start(&run, BTreeMap::new()).await.unwrap();
    started.run.report().await.unwrap();
    let desk = LocalDesk::open(program.data()).unwrap();
    let view = desk.show(&started.run.id().to_string()).unwrap();
    let report = Report::new(publisher, &order, Some(&view.detail)).await;
    session.close().await;
    report
}

#[tokio::test(flavor = "multi_thread")]
async fn a_program_plans_publishes_goes_on_and_asks_what_is_out() {
    let program = Program::new();
    let publisher = program.publisher();
    let prepared = planned(&publisher, &program.ours()).await;
    let classes: Vec<&Class> = prepared.plan.packages.iter().map(|it| &it.class).collect();
    assert_eq!(classes, [&Class::New]);
    assert_eq!(prepared.document().digest, prepared.plan.digest);
    // Something goes wrong: it is a value, too.
    program.registry.script(Faults::none().on(What::Upload, "a", Fault::Refused(500, "no")));
    let report = carried_out(&program, &publisher, &prepared).await;
    assert_eq!((report.verdict, report.verdict.exit_code()), (Verdict::Incomplete, 7));
    // The same again finishes it.
    let again = planned(&publisher, &program.ours()).await;
    let report = carried_out(&program, &publisher, &again).await;
    assert_eq!((report.verdict, report.published), (Verdict::Done, vec!["npm:a".to_owned()]));
    // What is out is said by the registry, whoever asks.
    let later = program.publisher();
    let plan = planned(&later, &program.ours()).await.plan;
    assert_eq!(plan.packages[0].class, Class::Done);
}
