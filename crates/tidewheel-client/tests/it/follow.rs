//! The example that follows a run, with a flow that needs no processes.
//!
//! What is told of a run is tried in the client itself.

#[path = "../../examples/follow.rs"]
#[allow(dead_code, reason = "its `main` is for people")]
mod example;

use std::collections::BTreeMap;
use std::time::Duration;

use crate::scene::Scene;
use tidewheel::Shutdown;
use tidewheel_client::api::RunState;
use tidewheel_client::progress::{EndState, Event, Follow};
use tidewheel_client::session::Takeover;

#[test]
fn the_example_tells_a_run_from_its_beginning_to_its_end() {
    let scene = Scene::new();
    let flow =
        "flow: [{ name: first, wait: 20ms }, { name: second, depends_on: [first], wait: 1ms }]\n";
    let file = scene.write("flow.yaml", flow);
    let mut told = Vec::new();
    let data = scene.path.join("data");
    let show = |it: tidewheel_client::progress::Told| {
        assert_eq!(it.version, Some(1));
        told.push(it.event);
    };
    let state = scene.runtime.block_on(example::follow(&data, &file, show)).unwrap();
    assert_eq!(state, RunState::Succeeded);
    assert!(matches!(&told[0], Event::RunStarted { steps, .. } if steps.len() == 2));
    let last = told.last().unwrap();
    assert_eq!(*last, Event::RunEnded { state: EndState::Succeeded });
    for step in 0..2 {
        let of = |event: &&Event| match event {
            Event::StepStarted { step: it, .. } | Event::StepEnded { step: it, .. } => *it == step,
            _ => false,
        };
        let of: Vec<&Event> = told.iter().filter(of).collect();
        assert!(
            matches!(of[..], [Event::StepStarted { attempt: 1, .. }, Event::StepEnded { .. }]),
            "{of:?}"
        );
    }
}

#[test]
fn a_run_that_does_not_come_to_its_end_here_says_why() {
    let scene = Scene::new();
    let file =
        scene.write("flow.yaml", "flow: [{ name: ask, wait: { approval: 'now?', every: 1s } }]\n");
    let run = scene.order(&file, &[]);
    let session = scene.session(Takeover::Fresh);
    let lost = scene.runtime.block_on(async {
        let started = session.start(&run, BTreeMap::new()).await.unwrap();
        let mut told: Vec<(Duration, Event)> = Vec::new();
        let mut follow = Follow::begin(&session, started, &mut told);
        session.wheel.shutdown(Shutdown::persist()).await;
        while follow.next(&mut told).await {}
        follow.finish(&mut told).await
    });
    assert_eq!(lost.as_deref(), Some("the scheduler was shut down"));
}
