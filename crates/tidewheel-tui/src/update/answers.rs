//! Answers, taken in.
//!
//! What comes too late, for something that is not looked at any more, changes nothing.

use std::time::Duration;

use tidewheel_client::text::sentence;

use super::ask::{answer_if_asked, ask_again, ask_to_backfill, ask_to_raise, ask_to_start};
use super::update::{redraw, refused, stale_if_untold};
use crate::message::{Answer, Question};
use crate::model::{BESIDE, Model, Screen};
use crate::run::Tone;

/// Questions are at least so far apart.
const PAUSE: Duration = Duration::from_millis(100);

/// The same after one that could not be answered.
const PAUSE_AFTER_TROUBLE: Duration = Duration::from_secs(2);

/// Takes in what was answered, after so long.
pub(super) fn answered(
    model: &mut Model,
    question: &Question,
    answer: Result<Answer, String>,
    took: Duration,
) {
    use Question::{Asks, Backfill, Flow, Order, Preview};
    if matches!(question, Asks { .. } | Flow(_) | Preview(_) | Order(_) | Backfill(..)) {
        return beforehand(model, question, answer);
    }
    if model.asking.as_ref() == Some(question) {
        model.asking = None;
    }
    let is_asked = model.question().as_ref() == Some(question);
    let is_beside =
        (0..BESIDE).any(|number| model.question_beside(number).as_ref() == Some(question));
    // Whoever has much to tell is not asked all the time.
    model.ask_at = model.now.after(PAUSE.max(took * 3));
    let answer = match answer {
        Ok(answer) => answer,
        Err(why) => {
            // What is looked at is asked for next, and has the same trouble.
            if is_asked || !is_beside {
                model.trouble = Some(sentence(&why));
            }
            model.ask_at = model.now.after(PAUSE_AFTER_TROUBLE);
            model.is_stale = true;
            return;
        }
    };
    if is_asked {
        model.trouble = None;
    }
    // What is looked at has become something else meanwhile.
    model.is_stale |= !is_asked && !is_beside;
    let changed = match question {
        Question::Glance => Screen::Overview,
        Question::Runs { .. } => Screen::Runs,
        Question::Run(_) => Screen::Run,
        Question::Line => Screen::Queues,
        Question::Schedules => Screen::Schedules,
        Question::Schedule(_) => Screen::Schedule,
        Question::Source(_) => Screen::Flow,
        // Steps and logs have no rows that could be selected.
        _ => Screen::Step,
    };
    model.keeping(changed, |model| take_in(model, question, answer, is_asked));
}

/// Takes in what was told.
fn take_in(model: &mut Model, question: &Question, answer: Answer, is_asked: bool) {
    match answer {
        Answer::Glance(glance) => model.glance = Some(*glance),
        Answer::Runs(told) => {
            let Question::Runs { of, after } = question else { return };
            // What was typed meanwhile is asked next.
            if *of == model.runs_meant || model.runs.is_none() {
                model.take_in_runs(of.clone(), after.is_some(), told);
            }
        }
        Answer::Run(standing) => {
            let Some(watched) = &mut model.watched else { return };
            // A page has one run, whatever it is called.
            let is_meant = matches!(question, Question::Run(run) if *run == watched.run);
            if is_meant {
                watched.look(&standing, model.now);
                redraw(model);
                stale_if_untold(model);
            }
        }
        Answer::About(about) => {
            let Some(watched) = &mut model.watched else { return };
            if watched.run == about.run_id {
                watched.about = Some(about);
            }
        }
        Answer::Attempts(told) => {
            let Some(watched) = &mut model.watched else { return };
            if let Question::Attempts { run, steps } = question
                && *run == watched.run
            {
                watched.take_in(steps, &told);
                stale_if_untold(model);
            }
        }
        Answer::Line(told) => {
            let (line, capacity) = *told;
            (model.line, model.line_at) = (Some(line), model.now);
            model.capacity = capacity;
        }
        Answer::Schedules(schedules) => model.schedules = Some(schedules),
        Answer::Source(source) => {
            let looked = model.looked_flow.as_mut().filter(|it| it.name == source.flow);
            looked.into_iter().for_each(|it| it.take_in(&source));
        }
        Answer::Schedule(told) if is_asked => model.schedule = Some(*told),
        answer if is_asked => of_step(model, answer),
        _ => {}
    }
}

/// What is answered before something is done, which is not what is looked at.
fn beforehand(model: &mut Model, question: &Question, answer: Result<Answer, String>) {
    match (question, answer) {
        // Whoever has left the form does not want it any more.
        (Question::Backfill(..), _) if model.form.is_none() => {}
        (Question::Backfill(_, wish), Ok(Answer::Backfill(instants))) => {
            ask_to_backfill(model, wish.clone(), &instants);
        }
        (Question::Backfill(..), Err(why)) => refused(model, &why),
        _ if is_busy(model) => {
            model.say(Tone::Doubtful, "something else was asked by then; press the key again");
        }
        (Question::Flow(_), Ok(Answer::Flow(flow))) => ask_to_start(model, &flow),
        (Question::Asks { run, step, approved }, Ok(Answer::Run(standing))) => {
            answer_if_asked(model, run, step, *approved, &standing);
        }
        (Question::Preview(again), Ok(Answer::Preview(preview))) => {
            ask_again(model, again.clone(), &preview);
        }
        (Question::Order(raised), Ok(Answer::Order(preview))) => {
            ask_to_raise(model, raised.clone(), &preview);
        }
        (_, Err(why)) => refused(model, &why),
        _ => {}
    }
}

/// Whether something else is typed or asked by now: its next key must not be taken for an answer to this.
fn is_busy(model: &Model) -> bool {
    model.dialog.is_some() || model.form.is_some() || model.prompt.is_some()
}

/// What is answered about the step that is looked at.
fn of_step(model: &mut Model, answer: Answer) {
    let room = model.log_room();
    let Some(reading) = &mut model.reading else { return };
    match answer {
        Answer::Step(known) => reading.known = Some(*known),
        Answer::Log(lines) => {
            let asked = reading.question(room);
            reading.log.take_in(*lines, room);
            // What is found may be further down in its line than was asked for.
            model.is_stale |= reading.question(room) != asked;
        }
        Answer::Found(hits) => {
            // The first one at or below what is shown.
            let (top, _) = reading.log.top;
            reading.log.hit = hits.iter().position(|hit| *hit >= top).unwrap_or_default();
            let first = hits.get(reading.log.hit).copied();
            reading.log.hits = Some(hits);
            if let Some(line) = first {
                reading.log.show(line, room);
            }
            model.is_stale = true;
        }
        _ => {}
    }
}
