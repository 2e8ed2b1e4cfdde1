//! What is selected while other rows come and go: keys are about what was seen, or about nothing.
//!
//! What else keys do is tested beside this.
#![allow(clippy::unwrap_used, reason = "a test")]

use ratatui::crossterm::event::KeyCode;
use tidewheel_client::api::{Glance, PastRun, RunLine, RunList, RunState};
use tidewheel_client::text::columns;

use super::tests::{answer, at_run, key, model, press};
use crate::message::{Answer, Effect, Message, Question, Wish};
use crate::model::{Model, Row, RunsOf};
use crate::samples::{NOW, glance, queue, runs, schedules, standing, upcoming};
use crate::update::update;

fn tell_runs(model: &mut Model, list: RunList) {
    answer(model, Question::Runs { of: RunsOf::default(), after: None }, Answer::Runs(list));
}

fn tell_glance(model: &mut Model, glance: Glance) {
    answer(model, Question::Glance, Answer::Glance(Box::new(glance)));
}

/// Runs that all go on.
fn going_on() -> RunList {
    let mut list = runs();
    list.runs.iter_mut().for_each(|run| run.state = RunState::Running);
    list
}

/// The same, and one in front of them that has just begun.
fn one_more() -> RunList {
    let mut list = going_on();
    let new = RunLine { run_id: "f".repeat(26), ..list.runs[0].clone() };
    list.runs.insert(0, new);
    list
}

fn wishes(effects: Vec<Effect>) -> Vec<Wish> {
    let wish = |effect| if let Effect::Do(wish) = effect { Some(wish) } else { None };
    effects.into_iter().filter_map(wish).collect()
}

#[test]
fn a_run_stays_selected_when_others_begin() {
    let mut model = model();
    press(&mut model, '2');
    tell_runs(&mut model, going_on());
    key(&mut model, KeyCode::Down);
    key(&mut model, KeyCode::Down);
    let selected = runs().runs[2].run_id.clone();
    tell_runs(&mut model, one_more());
    assert_eq!(model.runs_list.cursor, 3);
    assert_eq!(wishes(press(&mut model, 'p')), [Wish::Pause(selected)]);
    // What nobody has chosen but everybody sees, too.
    press(&mut model, 'g');
    let mut newer = one_more();
    newer.runs.insert(0, RunLine { run_id: "e".repeat(26), ..newer.runs[0].clone() });
    tell_runs(&mut model, newer);
    assert_eq!(wishes(press(&mut model, 'p')), [Wish::Pause("f".repeat(26))]);
}

#[test]
fn a_key_for_what_is_gone_is_about_nothing_else() {
    let mut model = model();
    press(&mut model, '2');
    tell_runs(&mut model, going_on());
    key(&mut model, KeyCode::Down);
    let mut without = going_on();
    without.runs.remove(1);
    let nearest = without.runs[1].run_id.clone();
    tell_runs(&mut model, without.clone());
    assert_eq!(wishes(press(&mut model, 'p')), []);
    let note = model.note.take().unwrap().text;
    assert_eq!(note, "what was selected is gone; once more is about what is selected now");
    assert_eq!(wishes(press(&mut model, 'p')), [Wish::Pause(nearest)], "it has been said");
    // Whoever moves has looked.
    tell_runs(&mut model, going_on());
    without.runs.remove(1);
    tell_runs(&mut model, without);
    key(&mut model, KeyCode::Up);
    assert_eq!(wishes(press(&mut model, 'p')).len(), 1);
}

#[test]
fn rows_of_the_first_screen_stay_selected_and_questions_name_the_flow() {
    let mut model = model();
    tell_glance(&mut model, glance());
    for _ in 0..3 {
        key(&mut model, KeyCode::Down);
    }
    let run = glance().now[0].run.run_id.clone();
    let mut busier = glance();
    let mut other = busier.now[0].clone();
    other.run.run_id = "f".repeat(26);
    other.run.flow = Some("another".to_owned());
    busier.now.insert(0, other);
    busier.approvals.clear();
    tell_glance(&mut model, busier.clone());
    press(&mut model, 'x');
    let asked = model.dialog.take().unwrap();
    assert!(asked.question.ends_with(" of release?"), "{}", asked.question);
    assert_eq!(asked.answers[0].2, [Effect::Do(Wish::Cancel(run))]);
    // However long its name is, all of the question can be read on a small terminal.
    busier.now[1].run.flow = Some("long-".repeat(50));
    for past in busier.flows.iter_mut().flat_map(|flow| &mut flow.runs) {
        past.run_id = "e".repeat(26);
    }
    tell_glance(&mut model, busier);
    press(&mut model, 'x');
    let question = model.dialog.take().unwrap().question;
    assert!(columns(&question) <= 76 && question.ends_with("…?"), "{question}");
}

#[test]
fn a_flow_stays_selected_and_a_newer_run_of_it_is_told_before_a_key_is_about_that() {
    let mut model = model();
    tell_glance(&mut model, glance());
    press(&mut model, 'G');
    let name = glance().flows[2].name.clone();
    let mut busier = glance();
    busier.flows.swap(0, 2);
    tell_glance(&mut model, busier.clone());
    assert_eq!(model.flow(), Some(&*name));
    let new =
        PastRun { run_id: "f".repeat(26), state: RunState::Running, accepted_at: NOW, took: None };
    busier.flows[0].runs.push(new);
    tell_glance(&mut model, busier);
    assert_eq!(wishes(press(&mut model, 'p')), []);
    assert!(model.note.take().unwrap().text.starts_with("the flow has a newer run now"));
    assert_eq!(wishes(press(&mut model, 'p')), [Wish::Pause("f".repeat(26))]);
    // What is opened is seen.
    let mut newest = glance();
    newest.flows.swap(0, 2);
    tell_glance(&mut model, newest);
    key(&mut model, KeyCode::Enter);
    assert_eq!(model.watched.as_ref().unwrap().run, glance().flows[2].runs.last().unwrap().run_id);
}

#[test]
fn a_step_in_line_stays_selected_when_another_gets_in_front() {
    let mut model = model();
    press(&mut model, '3');
    let tell = |model: &mut Model, line| {
        answer(model, Question::Line, Answer::Line(Box::new((line, None))));
    };
    tell(&mut model, queue());
    press(&mut model, 'G');
    let mut line = queue();
    line.waiting.swap(0, 1);
    line.holders.remove(0);
    tell(&mut model, line.clone());
    assert_eq!(model.waiting_step().unwrap().step, "mail");
    // What has got a slot is still what is selected, and has no place in line to be changed.
    let mail = line.waiting.remove(0);
    let mut holder = line.holders[0].clone();
    (holder.run_id, holder.step) = (mail.run_id, mail.step);
    line.holders.insert(0, holder);
    tell(&mut model, line);
    assert_eq!(model.line_list.cursor, 0);
    press(&mut model, '+');
    assert!(model.dialog.is_none());
}

#[test]
fn a_step_stays_selected_among_those_that_matter_or_failed() {
    let mut model = at_run();
    press(&mut model, 'f');
    let selected = |model: &Model| {
        let watched = model.watched.as_ref().unwrap();
        watched.selected().map(|step| watched.names[step].to_string())
    };
    assert_eq!(selected(&model).as_deref(), Some("test-slow"));
    let mut worse = standing();
    worse.steps[0].state = tidewheel_client::api::StepState::Failed;
    worse.steps[2].state = tidewheel_client::api::StepState::Failed;
    let question = Question::Run(worse.run_id.clone());
    answer(&mut model, question.clone(), Answer::Run(Box::new(worse)));
    assert_eq!(selected(&model).as_deref(), Some("test-slow"));
    press(&mut model, 'f');
    press(&mut model, 'w');
    key(&mut model, KeyCode::Down);
    let before = selected(&model);
    let mut further = standing();
    further.steps[6].state = tidewheel_client::api::StepState::Running;
    further.steps[6].started_at = Some(NOW);
    answer(&mut model, question, Answer::Run(Box::new(further)));
    assert_eq!(selected(&model), before);
}

#[test]
fn schedules_and_their_instants_stay_selected() {
    let mut model = model();
    press(&mut model, '4');
    answer(&mut model, Question::Schedules, Answer::Schedules(schedules()));
    let mut more = schedules();
    let mut first = more.schedules[0].clone();
    first.name = "another".to_owned();
    more.schedules.insert(0, first);
    answer(&mut model, Question::Schedules, Answer::Schedules(more));
    assert_eq!(wishes(press(&mut model, 'p')), [Wish::PauseSchedule("nightly".to_owned())]);
    key(&mut model, KeyCode::Enter);
    let question = Question::Schedule("nightly".to_owned());
    answer(&mut model, question.clone(), Answer::Schedule(Box::new(upcoming())));
    key(&mut model, KeyCode::Down);
    let mut later = upcoming();
    let mut newest = later.1.firings[0].clone();
    newest.nominal = NOW;
    later.1.firings.insert(0, newest);
    answer(&mut model, question.clone(), Answer::Schedule(Box::new(later)));
    assert_eq!(model.ledger_list.cursor, 2);
    // Of another schedule it begins at the newest.
    key(&mut model, KeyCode::Esc);
    press(&mut model, 'G');
    key(&mut model, KeyCode::Enter);
    assert_eq!(model.ledger_list.cursor, 0);
}

#[test]
fn a_drawing_of_another_width_has_the_same_step_selected() {
    let mut model = at_run();
    key(&mut model, KeyCode::Tab);
    press(&mut model, 'G');
    let selected = |model: &Model| model.watched.as_ref().unwrap().selected();
    let step = selected(&model);
    for width in [24, 200, 80] {
        update(&mut model, NOW, Message::Resized(width, 24));
        assert_eq!(selected(&model), step, "{width}");
    }
}

#[test]
fn a_run_that_asks_is_answered_wherever_its_row_is() {
    let mut model = model();
    let mut asking = glance();
    asking.approvals[0].run_id.clone_from(&asking.now[0].run.run_id);
    let (asks, others) = (asking.approvals.len() + asking.failing.len(), asking.late.len());
    let step = asking.approvals[0].step.clone();
    let failing = asking.failing[0].run_id.clone();
    tell_glance(&mut model, asking);
    press(&mut model, 'g');
    key(&mut model, KeyCode::Down);
    assert_eq!(model.run(), Some(failing.as_str()));
    press(&mut model, 'y');
    assert!(model.form.is_none(), "that one asks nothing");
    (1..asks + others).for_each(|_| drop(key(&mut model, KeyCode::Down)));
    assert!(matches!(model.row(), Some(Row::Runs(0))), "{:?}", model.row());
    press(&mut model, 'y');
    assert!(model.form.unwrap().title.starts_with(&format!("Say yes to {step} of run ")));
}
