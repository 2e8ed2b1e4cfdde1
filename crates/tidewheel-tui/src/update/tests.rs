//! Messages and what follows from them, without a terminal, a clock or anybody to ask.
//!
//! How it looks is tested with the views.
#![allow(clippy::unwrap_used, clippy::print_stdout, reason = "a test")]

use std::time::Duration;

use jiff::tz::TimeZone;
use ratatui::crossterm::event::{KeyCode, KeyEvent, KeyModifiers};
use tidewheel::Timestamp;
use tidewheel_client::api::{
    BackfillWish, FlowDetail, FlowSource, LogLines, LogStream, OneTimeCode, OrderLine,
    OrderPreview, Preview, RunList, RunState, Standing, StateWish, StepState, WaitingLine,
};

use super::{next_tick, update};
use crate::message::{
    Again, Answer, Effect, End, Hit, Message, Mouse, Question, Raised, Refused, Said, Wish, Written,
};
use crate::model::{Attached, Model, Part, RunsOf, Screen, Shown};
use crate::samples::{
    NOW, about, flow_detail, glance, lines, queue, runs, schedules, source, standing, upcoming,
};

pub(super) fn model() -> Model {
    Model::new("/srv/tide".to_owned(), Attached::Desk, NOW, TimeZone::UTC)
}

fn after(seconds: u64) -> Timestamp {
    NOW.after(Duration::from_secs(seconds))
}

pub(super) fn press(model: &mut Model, letter: char) -> Vec<Effect> {
    let now = model.now;
    update(model, now, Message::Key(KeyEvent::from(KeyCode::Char(letter))))
}

pub(super) fn key(model: &mut Model, code: KeyCode) -> Vec<Effect> {
    let now = model.now;
    update(model, now, Message::Key(KeyEvent::from(code)))
}

pub(super) fn answer(model: &mut Model, question: Question, answer: Answer) -> Vec<Effect> {
    let now = model.now;
    update(model, now, Message::Answered(question, Ok(answer), Duration::from_millis(5)))
}

fn done(said: Result<&str, &str>, run: Option<&str>) -> Message {
    let run = run.map(str::to_owned);
    let said = said.map(|text| Said { text: text.to_owned(), run });
    Message::Done(said.map_err(|why| why.to_owned().into()))
}

/// What a retry would do that runs so many steps again.
fn preview(count: usize) -> Preview {
    Preview {
        version: None,
        run_id: "r".to_owned(),
        run_again: (0..count).map(|step| format!("step{step}")).collect(),
        reused: vec!["fetch".to_owned()],
        passed_over: Vec::new(),
        changed_files: Vec::new(),
        digest: String::new(),
    }
}

/// A model that looks at a run.
pub(super) fn at_run() -> Model {
    let mut model = model();
    model.watch("0a2b3c4d5e6f7a8b9c0d1e2f3a");
    let question = model.question().unwrap();
    answer(&mut model, question, Answer::Run(Box::new(standing())));
    model
}

#[test]
fn what_is_looked_at_is_asked_for_once_at_a_time() {
    let mut model = model();
    let asked = update(&mut model, NOW, Message::Tick);
    assert_eq!(asked, [Effect::Ask(Question::Glance)]);
    assert_eq!(update(&mut model, NOW, Message::Changed), [], "it is being asked");
    let took = Duration::from_millis(200);
    let answered =
        Message::Answered(Question::Glance, Ok(Answer::Glance(Box::new(glance()))), took);
    assert_eq!(update(&mut model, NOW, answered), [], "who has much to tell gets some time");
    assert_eq!(next_tick(&model), took * 3);
    let later = NOW.after(took * 3);
    assert_eq!(update(&mut model, later, Message::Tick), [Effect::Ask(Question::Glance)]);
}

#[test]
fn nothing_is_asked_while_nothing_changes() {
    let mut model = model();
    update(&mut model, NOW, Message::Tick);
    answer(&mut model, Question::Glance, Answer::Glance(Box::new(glance())));
    assert_eq!(update(&mut model, after(60), Message::Tick), []);
    model.glance.as_mut().unwrap().now.clear();
    assert!(next_tick(&model) >= Duration::from_secs(10), "and nothing is drawn all the time");
}

#[test]
fn what_stands_beside_a_screen_is_brought_up_to_date_now_and_then() {
    let mut model = at_run();
    key(&mut model, KeyCode::Enter);
    let step = model.question().unwrap();
    let tick = |model: &mut Model, seconds| update(model, after(seconds), Message::Tick);
    answer(&mut model, step.clone(), Answer::Step(Box::default()));
    // How the run stands, of which the step is, and how many fail in all.
    let run = Question::Run(model.watched.as_ref().unwrap().run.clone());
    assert_eq!(tick(&mut model, 2), [Effect::Ask(run.clone())]);
    let over = Standing { state: RunState::Failed, ended_at: Some(NOW), ..standing() };
    answer(&mut model, run.clone(), Answer::Run(Box::new(over)));
    assert_eq!(model.run_state(), Some(RunState::Failed));
    assert_eq!(tick(&mut model, 3), [Effect::Ask(Question::Glance)]);
    answer(&mut model, Question::Glance, Answer::Glance(Box::new(glance())));
    assert_eq!(tick(&mut model, 60), [], "nothing has changed");
    assert!(next_tick(&model) >= Duration::from_secs(10));
    // However often something does, what is looked at comes first, and the others have their turn.
    let mut asked = Vec::new();
    for seconds in 61..73 {
        update(&mut model, after(seconds), Message::Changed);
        let Some(question) = model.asking.clone() else { continue };
        let told = match &question {
            Question::Run(_) => Answer::Run(Box::new(standing())),
            Question::Glance => Answer::Glance(Box::new(glance())),
            _ => Answer::Step(Box::default()),
        };
        answer(&mut model, question.clone(), told);
        asked.push(question);
    }
    let count = |question: &Question| asked.iter().filter(|it| *it == question).count();
    assert!(count(&step) >= 6 && (2..=4).contains(&count(&run)), "{asked:?}");
    assert_eq!(count(&Question::Glance), count(&run));
}

#[test]
fn trouble_with_what_stands_beside_a_screen_is_not_that_of_the_screen() {
    let mut model = at_run();
    model.want_now();
    let run = Question::Run(model.watched.as_ref().unwrap().run.clone());
    answer(&mut model, run.clone(), Answer::Run(Box::new(standing())));
    let refused = Message::Answered(Question::Glance, Err("no".to_owned()), Duration::ZERO);
    update(&mut model, NOW, refused);
    assert_eq!(model.trouble, None);
    assert_eq!(update(&mut model, after(3), Message::Tick), [Effect::Ask(Question::Glance)]);
}

#[test]
fn trouble_is_told_and_tried_again() {
    let mut model = model();
    update(&mut model, NOW, Message::Tick);
    let refused =
        Message::Answered(Question::Glance, Err("no \u{1b}[2J way".to_owned()), Duration::ZERO);
    assert_eq!(update(&mut model, NOW, refused), []);
    let trouble = model.trouble.clone().unwrap();
    assert!(trouble.contains("way") && !trouble.contains('\u{1b}'), "{trouble}");
    assert_eq!(update(&mut model, after(3), Message::Tick), [Effect::Ask(Question::Glance)]);
    answer(&mut model, Question::Glance, Answer::Glance(Box::new(glance())));
    assert_eq!(model.trouble, None);
}

#[test]
fn an_answer_that_comes_too_late_changes_nothing() {
    let mut model = at_run();
    key(&mut model, KeyCode::Enter);
    press(&mut model, 'l');
    let of = Written::default();
    let old = Question::Log { run: "x".to_owned(), step: "y".to_owned(), of, from: 1, count: 3 };
    answer(&mut model, old, Answer::Log(Box::new(lines(3))));
    assert!(model.reading.unwrap().log.lines.is_none());
}

#[test]
fn rows_lead_to_runs_and_steps_and_back() {
    let mut model = model();
    answer(&mut model, Question::Glance, Answer::Glance(Box::new(glance())));
    key(&mut model, KeyCode::Down);
    let effects = key(&mut model, KeyCode::Enter);
    assert_eq!(model.screen(), Screen::Run);
    let run = model.watched.as_ref().unwrap().run.clone();
    assert_eq!(effects, [Effect::Ask(Question::Run(run.clone()))]);
    answer(&mut model, Question::Run(run.clone()), Answer::Run(Box::new(standing())));
    key(&mut model, KeyCode::Down);
    let effects = key(&mut model, KeyCode::Enter);
    assert_eq!(model.screen(), Screen::Step);
    assert_eq!(effects, [Effect::Ask(Question::Step { run, step: "build".to_owned() })]);
    key(&mut model, KeyCode::Esc);
    key(&mut model, KeyCode::Esc);
    key(&mut model, KeyCode::Esc);
    assert_eq!(model.screens, [Screen::Overview], "there is nothing behind it");
}

#[test]
fn what_a_run_was_started_with_is_asked_where_it_is_looked_at() {
    let mut model = at_run();
    let run = model.watched.as_ref().unwrap().run.clone();
    (0..3).for_each(|_| drop(key(&mut model, KeyCode::Tab)));
    assert_eq!(model.watched.as_ref().unwrap().shown, Shown::About);
    assert_eq!(model.question(), Some(Question::About(run.clone())));
    assert_eq!(model.asking, model.question());
    answer(&mut model, Question::About(run.clone()), Answer::About(Box::new(about())));
    assert!(model.watched.as_ref().unwrap().about.is_some());
    // How it stands is said above it, and no step is selected that is not seen.
    assert_eq!(update(&mut model, after(2), Message::Tick), [Effect::Ask(Question::Run(run))]);
    press(&mut model, 'X');
    assert!(model.dialog.is_none());
    assert_eq!(press(&mut model, 'T'), []);
    key(&mut model, KeyCode::Enter);
    assert_eq!(model.screen(), Screen::Run);
    key(&mut model, KeyCode::Tab);
    assert_eq!(model.watched.as_ref().unwrap().shown, Shown::Steps);
    model.attached = Attached::Page;
    (0..3).for_each(|_| drop(key(&mut model, KeyCode::Tab)));
    assert_eq!(model.watched.as_ref().unwrap().shown, Shown::Steps, "a page does not say it");
}

#[test]
fn what_destroys_asks_first() {
    let mut model = at_run();
    let run = model.watched.as_ref().unwrap().run.clone();
    assert_eq!(press(&mut model, 'x'), []);
    let told = model.dialog.clone().unwrap().details;
    assert_eq!(
        told,
        ["2 running steps are stopped, 2 never started; what cleans up is still done"]
    );
    assert_eq!(press(&mut model, 'q'), [], "it wants an answer");
    assert_eq!(press(&mut model, 'n'), []);
    assert!(model.dialog.is_none());
    press(&mut model, 'x');
    assert_eq!(press(&mut model, 'y'), [Effect::Do(Wish::Cancel(run.clone()))]);
    assert_eq!(press(&mut model, 'p'), [Effect::Do(Wish::Pause(run.clone()))], "nothing is lost");
    assert_eq!(press(&mut model, 'r'), [Effect::Do(Wish::Resume(run))]);
}

#[test]
fn what_would_be_stopped_is_counted_in_words() {
    let mut model = at_run();
    let run = model.watched.as_ref().unwrap().run.clone();
    let mut one = standing();
    one.steps[2].state = StepState::Succeeded;
    one.steps[2].ended_at = Some(NOW);
    answer(&mut model, Question::Run(run), Answer::Run(Box::new(one)));
    press(&mut model, 'x');
    let told = model.dialog.clone().unwrap().details;
    assert_eq!(told, ["1 running step is stopped, 2 never started; what cleans up is still done"]);
}

#[test]
fn one_step_can_be_left_out_of_a_run_that_goes_on() {
    let mut model = at_run();
    let run = model.watched.as_ref().unwrap().run.clone();
    key(&mut model, KeyCode::Down);
    assert_eq!(press(&mut model, 'X'), []);
    let asked = model.dialog.clone().unwrap();
    assert!(asked.question.starts_with("End build of run "), "{}", asked.question);
    assert_eq!(
        asked.details[..3],
        [
            "what needs it is skipped, and all else goes on",
            "4 steps after it not ended yet:",
            "  test"
        ]
    );
    assert_eq!((asked.details.len(), &*asked.details[5]), (6, "  announce"));
    assert_eq!(press(&mut model, 'n'), []);
    press(&mut model, 'X');
    let step = "build".to_owned();
    assert_eq!(press(&mut model, 'y'), [Effect::Do(Wish::CancelStep { run, step })]);
}

#[test]
fn what_a_retry_would_do_is_told_first() {
    let mut model = at_run();
    let run = model.watched.as_ref().unwrap().run.clone();
    let again =
        |from: Option<&str>| Again { run: run.clone(), from: from.map(str::to_owned), shown: None };
    assert_eq!(press(&mut model, 't'), [Effect::Ask(Question::Preview(again(None)))]);
    assert!(model.dialog.is_none());
    key(&mut model, KeyCode::Down);
    let from = again(Some("build"));
    assert_eq!(press(&mut model, 'T'), [Effect::Ask(Question::Preview(from.clone()))]);
    answer(&mut model, Question::Preview(from.clone()), Answer::Preview(Box::new(preview(12))));
    let told = model.dialog.clone().unwrap().details;
    assert_eq!(told[0], "of run 0a2b3c4d5e6f7 of release");
    assert_eq!(told[1], "12 steps again, 1 reused as they are");
    assert_eq!((told.len(), told.last().unwrap().as_str()), (11, "  and 4 more"));
    assert_eq!(press(&mut model, 'y'), [Effect::Do(Wish::Retry(from))]);
    update(&mut model, NOW, done(Ok("begun"), Some("another")));
    assert_eq!(model.watched.as_ref().unwrap().run, "another", "what was started is looked at");
    let refused = Message::Answered(
        Question::Preview(again(None)),
        Err("it goes on".to_owned()),
        Duration::ZERO,
    );
    update(&mut model, NOW, refused);
    assert_eq!(model.note.as_ref().unwrap().text, "it goes on");
    assert_eq!(model.trouble, None, "what is looked at is known");
}

#[test]
fn a_retry_does_what_was_shown_and_is_shown_anew_if_that_would_be_something_else() {
    let mut model = at_run();
    let run = model.watched.as_ref().unwrap().run.clone();
    let again = |shown: Option<&str>| Again {
        run: run.clone(),
        from: None,
        shown: shown.map(str::to_owned),
    };
    let tell = |model: &mut Model, again: Again, digest: &str| {
        let preview = Preview { digest: digest.to_owned(), ..preview(2) };
        answer(model, Question::Preview(again), Answer::Preview(Box::new(preview)))
    };
    press(&mut model, 't');
    tell(&mut model, again(None), "first");
    assert_eq!(model.dialog.as_ref().unwrap().details[0], "2 steps again, 1 reused as they are");
    let first = again(Some("first"));
    assert_eq!(press(&mut model, 'y'), [Effect::Do(Wish::Retry(first.clone()))]);
    let refused = Refused { why: "it would not".to_owned(), anew: Some(first.clone()) };
    let effects = update(&mut model, NOW, Message::Done(Err(refused)));
    assert!(effects.contains(&Effect::Ask(Question::Preview(first.clone()))), "{effects:?}");
    assert_eq!(model.note.as_ref().unwrap().text, "it would not");
    tell(&mut model, first, "second");
    let told = model.dialog.clone().unwrap().details;
    assert!(told[0].starts_with("it was not done") && told[1].starts_with("2 steps"), "{told:?}");
    let second = Effect::Do(Wish::Retry(again(Some("second"))));
    assert_eq!(press(&mut model, 'y'), [second], "what was shown last");
}

#[test]
fn what_is_found_out_late_takes_no_key_from_what_is_typed_or_asked_by_then() {
    for first in ['/', 'x'] {
        let mut model = at_run();
        let [Effect::Ask(question)] = &press(&mut model, 't')[..] else { panic!("it asks") };
        press(&mut model, first);
        let (prompt, dialog) = (model.prompt.clone(), model.dialog.clone());
        answer(&mut model, question.clone(), Answer::Preview(Box::new(preview(2))));
        assert_eq!((model.prompt.clone(), model.dialog.clone()), (prompt, dialog));
        assert!(model.note.as_ref().unwrap().text.ends_with("press the key again"));
        // The yes is one to what is asked, or a letter.
        let run = model.watched.as_ref().unwrap().run.clone();
        let cancelled = vec![Effect::Do(Wish::Cancel(run))];
        assert_eq!(press(&mut model, 'y'), if first == 'x' { cancelled } else { Vec::new() });
    }
}

/// The order if `mail` went first.
fn order(line: &WaitingLine) -> OrderPreview {
    let lines: Vec<OrderLine> = line
        .waiting
        .iter()
        .map(|it| OrderLine {
            run_id: it.run_id.clone(),
            flow: it.flow.clone(),
            step: it.step.clone(),
            queue: it.queue.clone(),
            priority: if it.step == "mail" { 100 } else { it.priority },
            effective: it.effective,
            changed: it.step == "mail",
            expected_start_seconds: it.expected_start_seconds,
        })
        .collect();
    let (run_id, step) = (line.waiting[1].run_id.clone(), Some("mail".to_owned()));
    let (before, after) = (lines.clone(), lines.into_iter().rev().collect());
    OrderPreview { version: None, run_id, step, priority: 100, before, after, more: 4 }
}

#[test]
fn another_priority_shows_the_order_first() {
    let mut model = model();
    press(&mut model, '3');
    let line = queue();
    let told = Answer::Line(Box::new((line.clone(), None)));
    answer(&mut model, Question::Line, told);
    assert_eq!(press(&mut model, '+'), [], "what runs waits for nothing");
    assert!(model.dialog.is_none());
    key(&mut model, KeyCode::End);
    press(&mut model, '+');
    let run = line.waiting[1].run_id.clone();
    let raised = Raised { run, step: "mail".to_owned(), priority: 100 };
    assert_eq!(press(&mut model, 'c'), [Effect::Ask(Question::Order(raised.clone()))]);
    let order = Answer::Order(Box::new(order(&line)));
    answer(&mut model, Question::Order(raised.clone()), order);
    let told = model.dialog.clone().unwrap().details;
    assert_eq!(told[0], "  1  mail (100, was 2)");
    assert_eq!((told.len(), told[2].as_str()), (3, "     and 4 more"));
    assert!(told[1].starts_with("  2  index (70, was 1, in 12"), "{told:?}");
    assert_eq!(press(&mut model, 'y'), [Effect::Do(Wish::Raise(raised))]);
}

#[test]
fn a_step_that_asks_is_answered_with_a_note() {
    let mut model = at_run();
    let run = model.watched.as_ref().unwrap().run.clone();
    let wish = |approved, note: Option<&str>| Wish::Answer {
        run: run.clone(),
        step: "approve".to_owned(),
        approved,
        note: note.map(str::to_owned),
        code: None,
    };
    press(&mut model, 'y');
    assert_eq!(key(&mut model, KeyCode::Enter), [Effect::Do(wish(true, None))]);
    update(&mut model, NOW, done(Ok("approved"), None));
    press(&mut model, 'n');
    for letter in "nxt".chars() {
        assert_eq!(press(&mut model, letter), [], "letters are letters here");
    }
    key(&mut model, KeyCode::Left);
    press(&mut model, 'e');
    key(&mut model, KeyCode::Left);
    key(&mut model, KeyCode::Left);
    key(&mut model, KeyCode::Backspace);
    press(&mut model, 'N');
    key(&mut model, KeyCode::End);
    "zz".chars().for_each(|letter| drop(press(&mut model, letter)));
    key(&mut model, KeyCode::Left);
    key(&mut model, KeyCode::Delete);
    key(&mut model, KeyCode::Delete);
    key(&mut model, KeyCode::Backspace);
    let wish = wish(false, Some("Nxet"));
    assert_eq!(key(&mut model, KeyCode::Enter), [Effect::Do(wish)], "typed where the caret was");
    assert_eq!(key(&mut model, KeyCode::Enter), [], "it is on its way already");
}

/// Has it found out whether the step that is looked at asks, as a run stands.
fn tell_whether_it_asks(model: &mut Model, effects: Vec<Effect>, now: Standing) -> String {
    let [Effect::Ask(question @ Question::Asks { step, .. })] = effects.as_slice() else {
        panic!("{effects:?}");
    };
    answer(model, question.clone(), Answer::Run(Box::new(now)));
    step.clone()
}

#[test]
fn no_is_said_at_the_details_of_a_step_and_in_its_log_by_its_name() {
    let mut model = at_run();
    (0..4).for_each(|_| drop(key(&mut model, KeyCode::Down)));
    key(&mut model, KeyCode::Enter);
    assert_eq!(model.screen(), Screen::Step);
    let asked = press(&mut model, 'n');
    tell_whether_it_asks(&mut model, asked, standing());
    let asked = model.form.take().unwrap().title;
    assert!(asked.starts_with("Say no to approve of run "), "{asked}");
    press(&mut model, 'l');
    assert_eq!(model.screen(), Screen::Log);
    press(&mut model, 'n');
    assert!(model.form.is_none(), "there it is the next place where something was found");
    press(&mut model, ':');
    "reject".chars().for_each(|letter| drop(press(&mut model, letter)));
    let asked = key(&mut model, KeyCode::Enter);
    assert_eq!(tell_whether_it_asks(&mut model, asked, standing()), "approve");
    assert!(model.form.is_some());
}

#[test]
fn a_yes_is_for_the_step_that_is_looked_at_as_it_stands_now() {
    let mut model = at_run();
    key(&mut model, KeyCode::Enter);
    let looked_at = model.reading.as_ref().unwrap().step.clone();
    assert_ne!(looked_at, "approve");
    // Another step of the run asks.
    let asked = press(&mut model, 'y');
    assert_eq!(tell_whether_it_asks(&mut model, asked, standing()), looked_at);
    assert!(model.form.is_none());
    let note = model.note.take().unwrap().text;
    assert_eq!(note, format!("{looked_at} does not ask for an answer"));
    // It began to ask while it was looked at, and wants a code.
    let mut now = standing();
    let step = now.steps.iter_mut().find(|step| step.name == looked_at).unwrap();
    (step.state, step.asks, step.wants_code) = (StepState::Running, true, true);
    let asked = press(&mut model, 'y');
    tell_whether_it_asks(&mut model, asked, now);
    let form = model.form.as_ref().unwrap();
    assert!(form.title.starts_with(&format!("Say yes to {looked_at} of run ")), "{}", form.title);
    assert!(form.fields[0].is_secret);
}

#[test]
fn a_code_is_typed_unseen_and_said_with_the_yes() {
    let mut model = model();
    let mut asking = glance();
    asking.approvals[0].wants_code = true;
    let (run, step) = (asking.approvals[0].run_id.clone(), asking.approvals[0].step.clone());
    answer(&mut model, Question::Glance, Answer::Glance(Box::new(asking)));
    press(&mut model, 'y');
    "123456".chars().for_each(|letter| drop(press(&mut model, letter)));
    let field = &model.form.as_ref().unwrap().fields[0];
    assert_eq!((field.param.name.as_str(), field.is_secret), ("code", true));
    let code = OneTimeCode::new("123456");
    let wish = Wish::Answer { run, step, approved: true, note: None, code };
    assert!(!format!("{wish:?}").contains("123456"), "{wish:?}");
    assert_eq!(key(&mut model, KeyCode::Enter), [Effect::Do(wish)]);
    update(&mut model, NOW, done(Ok("approved"), None));
    // A no needs none, and may have a note.
    press(&mut model, 'n');
    assert_eq!(model.form.as_ref().unwrap().fields[0].param.name, "note");
}

#[test]
fn a_flow_is_started_with_its_params() {
    let mut model = model();
    answer(&mut model, Question::Glance, Answer::Glance(Box::new(glance())));
    press(&mut model, 'G');
    let name = glance().flows[2].name.clone();
    assert_eq!(press(&mut model, 's'), [Effect::Ask(Question::Flow(name.clone()))]);
    answer(&mut model, Question::Flow(name), Answer::Flow(Box::new(flow_detail())));
    // What must be said is missed at its field, as `tidewheel run` would.
    assert_eq!(key(&mut model, KeyCode::Enter), []);
    let fields = |model: &Model| model.form.clone().unwrap().fields;
    assert_eq!(fields(&model)[0].error.as_deref(), Some("the flow needs the param `version`"));
    for letter in "1.4".chars() {
        press(&mut model, letter);
    }
    assert_eq!(fields(&model)[0].error, None);
    key(&mut model, KeyCode::Tab);
    key(&mut model, KeyCode::Right);
    assert_eq!(fields(&model)[1].text, "production", "the next choice");
    key(&mut model, KeyCode::Tab);
    update(&mut model, NOW, Message::Pasted("0\n\u{1b}".to_owned()));
    assert_eq!(key(&mut model, KeyCode::Enter), [], "50 is too many");
    assert_eq!(fields(&model)[2].error.as_deref(), Some("must be at most 20"));
    key(&mut model, KeyCode::Backspace);
    let effects = key(&mut model, KeyCode::Enter);
    let [Effect::Do(Wish::Start(wish))] = &effects[..] else { panic!("{effects:?}") };
    let said: Vec<(&str, String)> =
        wish.params.iter().map(|(name, value)| (name.as_str(), value.to_string())).collect();
    assert_eq!(
        said,
        [("environment", "\"production\"".to_owned()), ("version", "\"1.4\"".to_owned())],
        "what is as by default is not said"
    );
    update(&mut model, NOW, done(Err("too \u{1b}[2J many wait"), None));
    let refused = model.form.as_ref().unwrap().refused.clone().unwrap();
    assert!(refused.contains("many wait") && !refused.contains('\u{1b}'), "{refused}");
    key(&mut model, KeyCode::Enter);
    update(&mut model, NOW, done(Ok("begun"), Some("a-run")));
    assert_eq!((model.form.is_none(), model.screen()), (true, Screen::Run));
}

#[test]
fn a_flow_without_params_is_asked_about() {
    let mut model = model();
    let flow = FlowDetail { params: Vec::new(), ..flow_detail() };
    answer(&mut model, Question::Flow("x".to_owned()), Answer::Flow(Box::new(flow)));
    assert!(model.dialog.as_ref().unwrap().question.starts_with("Start release"));
    let effects = press(&mut model, 'y');
    assert!(matches!(&effects[..], [Effect::Do(Wish::Start(_)), ..]), "{effects:?}");
}

#[test]
fn instants_of_a_schedule_are_found_and_lead_to_their_runs() {
    let mut model = model();
    press(&mut model, '4');
    answer(&mut model, Question::Schedules, Answer::Schedules(schedules()));
    key(&mut model, KeyCode::Enter);
    let question = model.question().unwrap();
    answer(&mut model, question, Answer::Schedule(Box::new(upcoming())));
    assert_eq!(model.shown_ledger().len(), 3);
    press(&mut model, '/');
    "skipped".chars().for_each(|letter| drop(press(&mut model, letter)));
    key(&mut model, KeyCode::Enter);
    assert_eq!(model.shown_ledger(), [2]);
    key(&mut model, KeyCode::Enter);
    assert_eq!(model.screen(), Screen::Schedule);
    assert_eq!(model.note.as_ref().unwrap().text, "no run was made for this instant");
    key(&mut model, KeyCode::Esc);
    press(&mut model, 'g');
    key(&mut model, KeyCode::Enter);
    assert_eq!(model.screen(), Screen::Run);
    let run = upcoming().1.firings[0].run_id.clone();
    assert_eq!(Some(model.watched.as_ref().unwrap().run.clone()), run);
    key(&mut model, KeyCode::Esc);
    assert_eq!(model.screen(), Screen::Schedule);
}

#[test]
fn schedules_are_paused_resumed_and_run_now() {
    let mut model = model();
    press(&mut model, '4');
    answer(&mut model, Question::Schedules, Answer::Schedules(schedules()));
    let name = || "nightly".to_owned();
    assert_eq!(press(&mut model, 'p'), [Effect::Do(Wish::PauseSchedule(name()))]);
    assert_eq!(press(&mut model, 'r'), [Effect::Do(Wish::ResumeSchedule(name()))]);
    press(&mut model, '!');
    assert_eq!(press(&mut model, 'y'), [Effect::Do(Wish::Fire(name()))]);
    press(&mut model, 'b');
    key(&mut model, KeyCode::Tab);
    press(&mut model, '7');
    assert_eq!(key(&mut model, KeyCode::Enter), []);
    let form = model.form.as_mut().unwrap();
    assert_eq!(form.fields[1].error.as_deref(), Some("this is no instant; write 2026-11-17 14:00"));
    form.fields[1].put("2026-11-17 14:00");
    key(&mut model, KeyCode::BackTab);
    key(&mut model, KeyCode::Right);
    let from = Some(NOW);
    let wish = BackfillWish { from, missed: false, ..BackfillWish::default() };
    let look = Question::Backfill(name(), wish.clone());
    assert_eq!(key(&mut model, KeyCode::Enter), [Effect::Ask(look.clone())]);
    let refused = Err("these are more than 100 instants".to_owned());
    update(&mut model, NOW, Message::Answered(look.clone(), refused, Duration::ZERO));
    let form = model.form.as_ref().unwrap();
    assert_eq!(form.refused.as_deref(), Some("these are more than 100 instants"));
    key(&mut model, KeyCode::Enter);
    answer(&mut model, look, Answer::Backfill(Box::new(upcoming().0)));
    let dialog = model.dialog.as_ref().unwrap();
    let count = upcoming().0.next.len();
    assert!(dialog.question.starts_with(&format!("Fire {count} instants of ")), "{dialog:?}");
    assert_eq!(dialog.details.len(), count);
    let wish = BackfillWish { max: Some(count as u32), ..wish };
    let fired = Wish::Backfill(upcoming().0.schedule, wish);
    assert_eq!(press(&mut model, 'y'), [Effect::Do(fired)]);
    update(&mut model, NOW, done(Ok("backfilled"), None));
    model.ask_at = model.now;
    model.asking = None;
    assert_eq!(key(&mut model, KeyCode::Enter), [Effect::Ask(Question::Schedule(name()))]);
    answer(&mut model, Question::Schedule(name()), Answer::Schedule(Box::new(upcoming())));
    assert!(model.schedule.is_some());
}

#[test]
fn typing_narrows_a_list_and_escape_brings_all_back() {
    let mut model = at_run();
    press(&mut model, '/');
    for letter in "TEST".chars() {
        press(&mut model, letter);
    }
    let shown = |model: &Model| model.watched.as_ref().unwrap().shown().len();
    assert_eq!(shown(&model), 2, "whatever the case");
    key(&mut model, KeyCode::Enter);
    assert_eq!((shown(&model), model.prompt.is_none()), (2, true), "it stays so");
    key(&mut model, KeyCode::Esc);
    assert_eq!(shown(&model), 7);
    assert_eq!(model.screen(), Screen::Run, "the first escape was for that");
    press(&mut model, '/');
    update(&mut model, NOW, Message::Pasted("dep\u{1b}loy\n".to_owned()));
    assert_eq!(model.watched.as_ref().unwrap().list.filter, "deploy");
}

#[test]
fn older_runs_are_asked_for_when_somebody_gets_there_and_a_state_of_all_runs() {
    let mut model = model();
    press(&mut model, '2');
    let newest = Question::Runs { of: RunsOf::default(), after: None };
    assert_eq!(model.question(), Some(newest.clone()));
    let told = RunList { next: Some("4".to_owned()), ..runs() };
    answer(&mut model, newest.clone(), Answer::Runs(told));
    model.ask_at = model.now;
    let older = Question::Runs { of: RunsOf::default(), after: Some("4".to_owned()) };
    assert_eq!(key(&mut model, KeyCode::Down), [Effect::Ask(older.clone())]);
    assert_eq!(key(&mut model, KeyCode::Down), [], "it is being asked");
    answer(&mut model, older, Answer::Runs(RunList { runs: Vec::new(), ..runs() }));
    model.ask_at = model.now;
    // The newest may not be those any more.
    assert_eq!(key(&mut model, KeyCode::Down), [Effect::Ask(newest.clone())]);
    answer(&mut model, newest.clone(), Answer::Runs(runs()));
    press(&mut model, '/');
    let mut effects = Vec::new();
    "failed".chars().for_each(|letter| effects.extend(press(&mut model, letter)));
    let of = RunsOf { state: Some(StateWish::Failed), ..RunsOf::default() };
    let failed = Question::Runs { of, after: None };
    assert_eq!(effects, [Effect::Ask(failed.clone())], "once, when it is a state");
    answer(&mut model, failed, Answer::Runs(runs()));
    assert_eq!(model.shown_runs().len(), runs().runs.len(), "those that the desk has chosen");
    key(&mut model, KeyCode::Enter);
    assert_eq!(key(&mut model, KeyCode::Esc), [Effect::Ask(newest)]);
}

#[test]
fn a_command_does_what_its_key_does_and_a_wrong_one_is_explained() {
    let mut model = at_run();
    press(&mut model, ':');
    for letter in "qeues".chars() {
        press(&mut model, letter);
    }
    key(&mut model, KeyCode::Enter);
    let said = model.note.clone().unwrap().text;
    assert_eq!(said, "no command `qeues` here: did you mean `queues`?");
    press(&mut model, ':');
    for letter in "queues".chars() {
        press(&mut model, letter);
    }
    assert_eq!(key(&mut model, KeyCode::Enter), [Effect::Ask(Question::Line)]);
    assert_eq!(model.screen(), Screen::Queues);
    update(&mut model, after(60), Message::Tick);
    assert_eq!(model.note, None, "what is said passes");
}

#[test]
fn the_views_of_a_run_keep_the_selected_step() {
    let mut model = at_run();
    key(&mut model, KeyCode::Down);
    key(&mut model, KeyCode::Down);
    let selected = |model: &Model| model.watched.as_ref().unwrap().selected();
    let step = selected(&model);
    for shown in [Shown::Graph, Shown::Time, Shown::About, Shown::Steps] {
        key(&mut model, KeyCode::Tab);
        assert_eq!(model.watched.as_ref().unwrap().shown, shown);
        let seen = step.filter(|_| shown != Shown::About);
        assert_eq!(selected(&model), seen, "{shown:?}");
    }
    press(&mut model, 'f');
    let watched = model.watched.as_ref().unwrap();
    assert_eq!((watched.part, watched.shown()), (Part::Failed, vec![3]));
    press(&mut model, 'f');
    assert_eq!(model.watched.as_ref().unwrap().part, Part::All, "the same key leads back");
}

#[test]
fn a_log_is_followed_scrolled_and_searched() {
    let mut model = at_run();
    press(&mut model, 'l');
    let room = model.log_room().rows;
    let question = model.question().unwrap();
    assert!(matches!(question, Question::Log { from, .. } if from == -(room as i64)));
    answer(&mut model, question, Answer::Log(Box::new(lines(500))));
    key(&mut model, KeyCode::Up);
    let log = |model: &Model| model.reading.as_ref().unwrap().log.clone();
    assert!(!log(&model).is_following, "whoever reads older lines wants them to stay");
    assert_eq!(log(&model).top, (500 - room as u64, 0));
    press(&mut model, 'G');
    assert!(log(&model).is_following);
    press(&mut model, '/');
    press(&mut model, 'x');
    key(&mut model, KeyCode::Enter);
    let question = model.question().unwrap();
    assert!(matches!(&question, Question::Find { text, .. } if text == "x"));
    answer(&mut model, question, Answer::Found(vec![40, 90, 495]));
    assert!(!log(&model).is_following);
    press(&mut model, 'n');
    press(&mut model, 'n');
    let ((top, _), hit) = (log(&model).top, log(&model).hit);
    assert!((top..top + room as u64).contains(&[40, 90, 495][hit]), "{top} {hit}");
}

#[test]
fn attempts_and_streams_of_a_log_are_looked_at_one_by_one() {
    let mut model = at_run();
    press(&mut model, 'l');
    let of = |model: &Model| model.reading.as_ref().unwrap().log.of;
    let tell = |model: &mut Model, attempt: u32| {
        let told = LogLines { attempt, attempts: Some(3), ..lines(20) };
        answer(model, model.question().unwrap(), Answer::Log(Box::new(told)));
    };
    tell(&mut model, 3);
    press(&mut model, 'g');
    for (attempt, said) in [(Some(2), None), (Some(1), None), (Some(1), Some("first"))] {
        press(&mut model, '[');
        assert_eq!(of(&model).attempt, attempt);
        assert!(model.reading.as_ref().unwrap().log.is_following || said.is_some(), "from its end");
        let note = model.note.take().map(|note| note.text);
        assert_eq!(note.is_some(), said.is_some(), "{note:?}");
        tell(&mut model, attempt.unwrap());
    }
    let asked = model.question().unwrap();
    assert!(matches!(asked, Question::Log { of, .. } if of.attempt == Some(1)), "{asked:?}");
    press(&mut model, ']');
    press(&mut model, ']');
    assert_eq!(of(&model).attempt, None, "the newest, whichever that will be");
    tell(&mut model, 3);
    press(&mut model, ']');
    assert_eq!(model.note.as_ref().unwrap().text, "this is the newest attempt");
    for stream in [Some(LogStream::Stdout), Some(LogStream::Stderr), None] {
        press(&mut model, 'o');
        assert_eq!(of(&model), Written { attempt: None, stream });
    }
    // What was searched for is searched for there as well.
    press(&mut model, '/');
    press(&mut model, 'x');
    key(&mut model, KeyCode::Enter);
    let question = model.question().unwrap();
    answer(&mut model, question, Answer::Found(vec![4]));
    press(&mut model, 'o');
    let stream = Some(LogStream::Stdout);
    let asked = model.question().unwrap();
    assert!(matches!(asked, Question::Find { of, .. } if of.stream == stream), "{asked:?}");
}

#[test]
fn the_mouse_selects_opens_and_scrolls() {
    let mut model = at_run();
    let now = model.now;
    update(&mut model, now, Message::Mouse(Mouse::Press, Some(Hit::Row(2))));
    assert_eq!(model.watched.as_ref().unwrap().list.cursor, 2);
    update(&mut model, now, Message::Mouse(Mouse::Down, None));
    assert_eq!(model.watched.as_ref().unwrap().list.cursor, 5);
    update(&mut model, now, Message::Mouse(Mouse::Press, Some(Hit::Row(5))));
    assert_eq!(model.screen(), Screen::Step);
    let hit = Some(Hit::Action(crate::keys::Action::Queues));
    update(&mut model, now, Message::Mouse(Mouse::Press, hit));
    assert_eq!(model.screen(), Screen::Queues);
}

#[test]
fn leaving_ends_what_runs_here_only_when_that_is_meant() {
    let mut model = model();
    assert!(press(&mut model, 'q').contains(&Effect::Quit), "nothing runs here");
    update(&mut model, NOW, Message::Began("0a2b3c4d5e6f7a8b9c0d1e2f3a".to_owned()));
    let asked = press(&mut model, 'q');
    assert!(!asked.contains(&Effect::Quit) && model.dialog.is_some());
    assert_eq!(press(&mut model, 'n'), []);
    let interrupt = || Message::Key(KeyEvent::new(KeyCode::Char('c'), KeyModifiers::CONTROL));
    assert_eq!(update(&mut model, NOW, interrupt()), [Effect::End(End::Drain)]);
    assert_eq!(update(&mut model, NOW, interrupt()), [Effect::End(End::Kill)]);
    let over = Message::Over("0a2b3c4d5e6f7a8b9c0d1e2f3a".to_owned());
    assert!(update(&mut model, NOW, over).contains(&Effect::Quit));
}

/// Whoever wants to leave while something ends is asked how, and it may have ended before they say so.
#[test]
fn what_has_ended_need_not_be_asked_about() {
    let (one, other) = ("0a2b3c4d5e6f7a8b9c0d1e2f3a", "1a2b3c4d5e6f7a8b9c0d1e2f3a");
    let mut model = model();
    for run in [one, other] {
        update(&mut model, NOW, Message::Began(run.to_owned()));
    }
    press(&mut model, 'q');
    assert!(!update(&mut model, NOW, Message::Over(one.to_owned())).contains(&Effect::Quit));
    assert!(model.dialog.is_some(), "the other one goes on");
    assert!(update(&mut model, NOW, Message::Over(other.to_owned())).contains(&Effect::Quit));
}

#[test]
fn what_ran_here_stays_on_the_screen_when_it_is_over() {
    let mut model = model();
    update(&mut model, NOW, Message::Began("0a2b3c4d5e6f7a8b9c0d1e2f3a".to_owned()));
    let over = Message::Over("0a2b3c4d5e6f7a8b9c0d1e2f3a".to_owned());
    assert!(!update(&mut model, NOW, over).contains(&Effect::Quit));
    assert_eq!(press(&mut model, 'q'), [Effect::Quit]);
}

#[test]
fn a_status_page_can_only_be_looked_at() {
    let mut model = at_run();
    model.attached = Attached::Page;
    for letter in ['p', 'x', 't', 'T', 'y', 'l', '3'] {
        assert_eq!(press(&mut model, letter), [], "{letter}");
        assert!(model.dialog.is_none() && model.note.take().is_some(), "{letter}");
    }
    assert_eq!(model.screen(), Screen::Run);
    key(&mut model, KeyCode::Enter);
    for keys in
        [vec![KeyCode::Char('F')], vec![KeyCode::Tab], vec![KeyCode::Char('/'), KeyCode::Enter]]
    {
        keys.iter().for_each(|code| drop(key(&mut model, *code)));
        assert_eq!(model.screen(), Screen::Step, "{keys:?}");
        assert_eq!(model.note.take().unwrap().text, "a status page has no logs");
    }
}

#[test]
fn whoever_wants_the_end_of_a_log_is_led_there() {
    let mut model = at_run();
    key(&mut model, KeyCode::Enter);
    let is_following = |model: &Model| model.reading.as_ref().unwrap().log.is_following;
    press(&mut model, 'F');
    assert!(model.screen() == Screen::Log && is_following(&model));
    press(&mut model, 'F');
    assert!(!is_following(&model));
    key(&mut model, KeyCode::Tab);
    press(&mut model, 'F');
    assert!(model.screen() == Screen::Log && is_following(&model));
}

#[test]
fn a_run_that_has_ended_is_neither_paused_nor_resumed() {
    let mut model = at_run();
    let run = model.watched.as_ref().unwrap().run.clone();
    let over = Standing { state: RunState::Failed, ended_at: Some(NOW), ..standing() };
    answer(&mut model, Question::Run(run), Answer::Run(Box::new(over)));
    for letter in ['p', 'r'] {
        assert_eq!(press(&mut model, letter), []);
        let note = model.note.take().unwrap().text;
        assert_eq!(note, "it has ended already; `t` runs again what did not succeed");
    }
}

#[test]
fn a_schedule_that_is_late_is_steered_where_that_is_told() {
    let mut model = model();
    answer(&mut model, Question::Glance, Answer::Glance(Box::new(glance())));
    for letter in ['!', 'b'] {
        assert_eq!(press(&mut model, letter), []);
        let note = model.note.take().unwrap().text;
        assert_eq!(note, "select the schedule that is to fire");
    }
    key(&mut model, KeyCode::Down);
    key(&mut model, KeyCode::Down);
    let late = glance().late[0].name.clone();
    assert_eq!(press(&mut model, 'p'), [Effect::Do(Wish::PauseSchedule(late.clone()))]);
    press(&mut model, '!');
    assert_eq!(press(&mut model, 'y'), [Effect::Do(Wish::Fire(late))]);
    press(&mut model, 'b');
    assert!(model.form.take().unwrap().title.contains("hourly-sync"));
}

#[test]
fn the_help_is_scrolled_as_far_as_it_goes_and_back_at_once() {
    let mut model = at_run();
    press(&mut model, '?');
    key(&mut model, KeyCode::End);
    let last = model.help.unwrap();
    key(&mut model, KeyCode::PageDown);
    assert_eq!(model.help, Some(last));
    key(&mut model, KeyCode::Up);
    assert_eq!(model.help, Some(last - 1));
    // Where there is more room, less is below it.
    key(&mut model, KeyCode::End);
    let resized = Message::Resized(80, 30);
    update(&mut model, NOW, resized);
    key(&mut model, KeyCode::Up);
    assert_eq!(model.help, Some(last - 7));
}

#[test]
fn the_flow_of_whatever_is_selected_is_looked_at_and_started() {
    const ENTER: KeyCode = KeyCode::Enter;
    const C: fn(char) -> KeyCode = KeyCode::Char;
    // A schedule that is late and a flow on the first screen, then runs, a run, a step of it, and a schedule.
    let ways: [(&[KeyCode], &str); 7] = [
        (&[KeyCode::Down, KeyCode::Down], "hourly-sync"),
        (&[KeyCode::End], "report \u{202e}x"),
        (&[C('2'), KeyCode::Down], "nightly"),
        (&[ENTER], "release"),
        (&[ENTER, ENTER], "release"),
        (&[C('4')], "nightly"),
        (&[C('4'), ENTER], "nightly"),
    ];
    for (keys, flow) in ways {
        let mut model = model();
        answer(&mut model, Question::Glance, Answer::Glance(Box::new(glance())));
        for code in keys {
            key(&mut model, *code);
            let told = match model.question() {
                Some(Question::Runs { .. }) => Answer::Runs(runs()),
                Some(Question::Run(_)) => Answer::Run(Box::new(standing())),
                Some(Question::Schedules) => Answer::Schedules(schedules()),
                _ => continue,
            };
            let question = model.question().unwrap();
            answer(&mut model, question, told);
        }
        let before = model.screens.clone();
        press(&mut model, 'd');
        assert_eq!(model.screen(), Screen::Flow, "{keys:?}");
        assert_eq!(model.question(), Some(Question::Source(flow.to_owned())), "{keys:?}");
        assert_eq!(press(&mut model, 's'), [Effect::Ask(Question::Flow(flow.to_owned()))]);
        key(&mut model, KeyCode::Esc);
        assert_eq!(model.screens, before, "{keys:?}");
    }
    let mut page = Model { attached: Attached::Page, ..at_run() };
    press(&mut page, 'd');
    assert_eq!(page.screen(), Screen::Run, "it says nothing of flows");
}

#[test]
fn what_is_told_of_the_files_of_another_flow_is_not_shown() {
    let mut model = model();
    answer(&mut model, Question::Glance, Answer::Glance(Box::new(glance())));
    key(&mut model, KeyCode::End);
    press(&mut model, 'd');
    let asked = Question::Source("nightly".to_owned());
    answer(&mut model, asked, Answer::Source(Box::new(source())));
    assert_eq!(model.looked_flow.as_ref().unwrap().rows, None);
    let own = model.question().unwrap();
    let flow = model.looked_flow.as_ref().unwrap().name.clone();
    answer(&mut model, own, Answer::Source(Box::new(FlowSource { flow, ..source() })));
    assert!(model.looked_flow.as_ref().unwrap().rows.is_some());
}
