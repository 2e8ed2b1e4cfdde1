//! Work of another kind than flows: made known to the desk, started, retried and taken over.
//!
//! What the desk does for kinds that nobody knows is in `desk.rs`.

use std::collections::BTreeMap;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

use crate::scene::Scene;
use tidewheel::store::RunDetail;
use tidewheel::task::Failure;
use tidewheel::{Attempt, Graph, Outcome, Run, TaskState};
use tidewheel_client::api::{Refusal, RefusalKind, RetryWish, RunState};
use tidewheel_client::desk::{DeskError, LocalDesk, Resumption, RunView};
use tidewheel_client::kind::{Definition, Doing, Kind, Retry, Startable};
use tidewheel_client::progress::{Event, Follow};
use tidewheel_client::session::{Session, SessionOptions, Takeover};

const LETTER: &str = "letter";

/// Letters: written, then sent. What is kept with a run is to whom.
#[derive(Debug)]
struct Letters;

#[derive(Debug)]
struct Letter {
    to: String,
    is_written: bool,
}

impl Definition for Letter {
    fn has_clean_up(&self) -> bool {
        true
    }
}

fn read(run: &RunDetail) -> Result<Letter, DeskError> {
    if run.payload_kind.as_deref() != Some(LETTER) {
        return Err(DeskError::UnknownKind { run: run.summary.id });
    }
    let to = String::from_utf8_lossy(run.payload.as_deref().unwrap_or_default()).into_owned();
    let is_written = run.tasks.first().is_some_and(|it| it.state == TaskState::Succeeded);
    Ok(Letter { to, is_written })
}

impl Kind for Letters {
    fn word(&self) -> &'static str {
        LETTER
    }

    fn read(&self, run: &RunDetail) -> Result<Arc<dyn Definition>, DeskError> {
        Ok(Arc::new(read(run)?))
    }

    fn retry(&self, past: &RunView, _: &RetryWish) -> Result<Retry, DeskError> {
        let letter = read(&past.detail)?;
        if letter.to == "nobody" {
            return Err(DeskError::OfKind(Box::new(Refusal {
                kind: RefusalKind::Usage,
                exit_code: None,
                message: "nobody reads letters".to_owned(),
                hints: vec!["write to somebody".to_owned()],
                position: None,
                problems: None,
                changes: Vec::new(),
            })));
        }
        let reused = letter.is_written.then(|| "write".to_owned());
        Ok(Retry {
            run_again: vec!["send".to_owned()],
            reused: reused.into_iter().collect(),
            passed_over: Vec::new(),
            run: Box::new(letter),
            files: None,
            changed_files: Vec::new(),
        })
    }

    fn check_resume(&self, _: &RunView, _: bool) -> Result<(), DeskError> {
        Ok(())
    }

    fn resume(&self, past: &RunView) -> Result<Box<dyn Startable>, DeskError> {
        Ok(Box::new(read(&past.detail)?))
    }
}

static IS_OPEN: AtomicBool = AtomicBool::new(false);

/// The post office may be closed.
async fn carry_out(attempt: Attempt) -> Outcome {
    let is_sending = attempt.task_name().as_deref() == Some("send");
    if !is_sending || IS_OPEN.load(Ordering::Relaxed) {
        return Outcome::Succeeded;
    }
    Outcome::Failed(Box::new(Failure {
        message: "closed".into(),
        permanent: true,
        ..Failure::default()
    }))
}

impl Startable for Letter {
    fn name(&self) -> &str {
        "letters"
    }

    fn workers(&self) -> u32 {
        1
    }

    fn definition(&self) -> Arc<dyn Definition> {
        Arc::new(Letter { to: self.to.clone(), is_written: self.is_written })
    }

    fn start<'a>(
        &'a self,
        session: &'a Session,
        _: &'a BTreeMap<String, Duration>,
    ) -> Doing<'a, Run> {
        let graph = Graph::from_edges([("write", "send")]).expect("it has no cycle");
        let done = self.is_written.then_some("write");
        let run = session.wheel.run(graph, |task| carry_out(task.as_attempt()));
        let run = run.name("letters").already_done(done).kind(LETTER);
        let run = run.payload(self.to.as_bytes()).start();
        Box::pin(async move { Ok(run?) })
    }
}

fn desk(scene: &Scene) -> LocalDesk {
    scene.desk().knowing(Letters)
}

fn session(scene: &Scene, takeover: Takeover) -> Session {
    let options = SessionOptions::new(2).adopt(LETTER, carry_out);
    scene.runtime.block_on(Session::open(scene.folder(), takeover, options)).unwrap()
}

#[test]
fn a_kind_of_its_own_is_retried_resumed_and_followed_like_flows() {
    let scene = Scene::new();
    let letter = Letter { to: "you".to_owned(), is_written: false };
    // Closed: the second task fails.
    scene.finish(&letter);
    let view = desk(&scene).show("last").unwrap();
    assert_eq!(view.state(), RunState::Failed);
    assert!(view.definition.has_clean_up());
    IS_OPEN.store(true, Ordering::Relaxed);
    let (id, retry) = desk(&scene).retry("last", &RetryWish::default()).unwrap();
    let preview = retry.preview(id);
    assert_eq!(
        (&preview.run_again[..], &preview.reused[..]),
        (&["send".to_owned()][..], &["write".to_owned()][..])
    );
    scene.finish(&*retry.run);
    assert_eq!(desk(&scene).show("last").unwrap().state(), RunState::Succeeded);

    // One that was left before anything of it was done.
    let run = scene.abandon(|session, runtime| {
        session.wheel.pause();
        runtime.block_on(letter.start(session, &BTreeMap::new())).unwrap().id()
    });
    let run = run.to_string();
    let desk = desk(&scene);
    let Resumption::Here { view, run: of } = desk.resume(&run, false).unwrap() else {
        panic!("nobody runs it")
    };
    let shard = view.detail.summary.shard.clone().unwrap();
    let session = session(&scene, Takeover::Shard(shard));
    let since = tidewheel::clock::wall_clock();
    let taken = session.take_over(&view.detail, &*of, 1, BTreeMap::new(), since);
    let started = scene.runtime.block_on(taken).unwrap().unwrap();
    // The wheel was paused, which outlives it.
    session.wheel.resume();
    let mut told: Vec<(Duration, Event)> = Vec::new();
    scene.runtime.block_on(async {
        let mut follow = Follow::begin(&session, started, &mut told);
        while follow.next(&mut told).await {}
        follow.finish(&mut told).await;
        session.close().await;
    });
    let ends = told.iter().filter(|(_, event)| matches!(event, Event::StepEnded { .. })).count();
    assert_eq!(ends, 2, "{told:?}");
    assert_eq!(desk.show(&run).unwrap().state(), RunState::Succeeded);
}

#[test]
fn what_a_kind_refuses_is_said_in_its_own_words() {
    let scene = Scene::new();
    scene.finish(&Letter { to: "nobody".to_owned(), is_written: false });
    let error = desk(&scene).retry("last", &RetryWish::default()).unwrap_err();
    let refusal = error.refusal();
    assert_eq!(
        (error.kind(), refusal.message.as_str()),
        (RefusalKind::Usage, "nobody reads letters")
    );
    assert_eq!(refusal.hints, ["write to somebody"]);
}
