//! Three weeks of all schedules, a day a cell: what fires, what fired and what became of it.
//!
//! Each firing stands on its day in the time zone of its schedule. When something fires is decided by the scheduler.

use std::collections::BTreeMap;
use std::ops::Range;

use tidewheel::Timestamp;
use tidewheel_client::desk::ScheduleDays;
use tidewheel_client::text::sentence;

use super::link::Link;
use super::schedules::fate;
use super::words::run_address;

/// The weeks that are shown: the last one, this one, the next one.
const WEEKS: i64 = 3;

/// What is shown of a day.
const LINES_MAX: usize = 6;

const DAY_MICROS: i64 = 86_400_000_000;

/// States by how much somebody should look at them.
const WORST_FIRST: [&str; 10] = [
    "failed",
    "unknown",
    "missed",
    "interrupted",
    "cancelled",
    "paused",
    "running",
    "waiting",
    "skipped",
    "succeeded",
];

/// A day of the calendar.
#[derive(Debug)]
pub(super) struct Day {
    /// As in `2026-11-19`.
    pub day: String,
    pub is_today: bool,
    /// Whether the clocks of a schedule that fires on it change.
    pub has_change: bool,
    pub firings: Vec<Firings>,
    /// Those that are not shown.
    pub more: usize,
}

/// What one schedule does on a day: what comes, or what was.
#[derive(Debug)]
pub(super) struct Firings {
    pub time: String,
    /// The shape, and what it means.
    pub mark: &'static str,
    pub word: &'static str,
    pub link: Link,
    /// All of it in words.
    pub said: String,
    pub count: u64,
    /// Whether there are more than are known here.
    pub is_cut: bool,
}

/// The weeks around an instant. Of each schedule at most `firings_max` are known that come, and as many that were.
pub(super) fn weeks(all: &[ScheduleDays], firings_max: usize, now: Timestamp) -> Vec<Vec<Day>> {
    let mut found: BTreeMap<String, (bool, Vec<Firings>)> = BTreeMap::new();
    for schedule in all {
        coming(schedule, &mut found);
        past(schedule, firings_max, &mut found);
    }
    let today = now.as_micros().div_euclid(DAY_MICROS);
    // The first day that anybody counted from was a Thursday.
    let monday = today - (today + 3).rem_euclid(7) - 7;
    let day = |place: i64| {
        let number = monday + place;
        let day = Timestamp::from_micros(number * DAY_MICROS).to_string();
        let day = day.get(..10).unwrap_or_default().to_owned();
        let (has_change, mut firings) = found.remove(&day).unwrap_or_default();
        firings.sort_by(|one, other| (&one.time, &one.said).cmp(&(&other.time, &other.said)));
        let more = firings.len().saturating_sub(LINES_MAX);
        firings.truncate(LINES_MAX);
        Day { day, is_today: number == today, has_change, firings, more }
    };
    let mut days: Vec<Day> = (0..WEEKS * 7).map(day).collect();
    let mut weeks = Vec::new();
    while !days.is_empty() {
        let rest = days.split_off(days.len().min(7));
        weeks.push(std::mem::replace(&mut days, rest));
    }
    weeks
}

/// The day and the time of an instant such as `Thu 2026-11-19 02:00:00 +01:00`.
fn parts(local: &str) -> (String, String) {
    let part = |range: Range<usize>| local.get(range).unwrap_or_default().to_owned();
    (part(4..14), part(15..20))
}

fn coming(schedule: &ScheduleDays, found: &mut BTreeMap<String, (bool, Vec<Firings>)>) {
    let mut days: BTreeMap<String, Firings> = BTreeMap::new();
    for firing in &schedule.next {
        let (day, time) = parts(&firing.local);
        found.entry(day.clone()).or_default().0 |= firing.clock_change;
        let line = days.entry(day).or_insert_with(|| Firings {
            time,
            mark: "coming",
            word: "comes",
            link: Link::of_schedule(&schedule.schedule),
            said: said(schedule, "comes", &firing.local, None),
            count: 0,
            is_cut: false,
        });
        line.count += 1;
    }
    if let Some(mut last) = days.last_entry() {
        last.get_mut().is_cut = schedule.comes_more;
    }
    for (day, line) in days {
        found.entry(day).or_default().1.push(line);
    }
}

fn past(
    schedule: &ScheduleDays,
    firings_max: usize,
    found: &mut BTreeMap<String, (bool, Vec<Firings>)>,
) {
    let worth = |mark: &str| WORST_FIRST.iter().position(|it| *it == mark);
    let mut days: BTreeMap<String, Firings> = BTreeMap::new();
    for (local, line) in &schedule.past {
        let ((day, time), (mark, word)) = (parts(local), fate(line));
        let link = match &line.run_id {
            Some(run) => Link::of(run_address(run), &schedule.schedule),
            None => Link::of_schedule(&schedule.schedule),
        };
        let this = Firings {
            time,
            mark,
            word,
            link,
            said: said(schedule, word, local, line.why.as_deref()),
            count: line.count,
            is_cut: false,
        };
        match days.get_mut(&day) {
            None => _ = days.insert(day, this),
            // What is worst of them is shown, and of those that are alike the newest.
            Some(known) if worth(this.mark) < worth(known.mark) => {
                *known = Firings { count: known.count + this.count, ..this };
            }
            Some(known) => known.count += this.count,
        }
    }
    if schedule.past.len() >= firings_max
        && let Some(mut first) = days.first_entry()
    {
        first.get_mut().is_cut = true;
    }
    for (day, line) in days {
        found.entry(day).or_default().1.push(line);
    }
}

fn said(schedule: &ScheduleDays, word: &str, local: &str, why: Option<&str>) -> String {
    let why = why.map(|why| format!(", {}", sentence(why))).unwrap_or_default();
    let ScheduleDays { schedule, zone, .. } = schedule;
    format!("{} {word}, {local} {zone}{why}", sentence(schedule))
}

#[cfg(test)]
mod tests {
    use tidewheel_client::api::{LedgerFate, LedgerLine, RunState, UpcomingFiring};

    use super::*;

    fn came(local: &str, state: RunState) -> (String, LedgerLine) {
        let line = LedgerLine {
            nominal: Timestamp::UNIX_EPOCH,
            last: None,
            count: 1,
            origin: "trigger".to_owned(),
            fate: LedgerFate::Ran,
            why: None,
            run_id: Some(format!("{state}-1")),
            state: Some(state),
        };
        (local.to_owned(), line)
    }

    fn comes(local: &str) -> UpcomingFiring {
        UpcomingFiring { at: Timestamp::UNIX_EPOCH, local: local.to_owned(), clock_change: false }
    }

    #[test]
    fn every_day_has_what_comes_and_the_worst_of_what_was() {
        let schedule = ScheduleDays {
            schedule: "backup/hourly".to_owned(),
            zone: "Europe/Berlin".to_owned(),
            next: vec![
                comes("Wed 2026-11-18 23:00:00 +01:00"),
                comes("Thu 2026-11-19 00:00:00 +01:00"),
            ],
            comes_more: true,
            past: vec![
                came("Wed 2026-11-18 22:00:00 +01:00", RunState::Succeeded),
                came("Wed 2026-11-18 21:00:00 +01:00", RunState::Failed),
                came("Wed 2026-11-18 20:00:00 +01:00", RunState::Failed),
            ],
        };
        // In UTC it is still Wednesday.
        let now = "2026-11-18T21:30:00Z".parse().unwrap();
        let weeks = weeks(&[schedule], 21, now);
        assert_eq!(weeks.iter().map(Vec::len).collect::<Vec<_>>(), [7, 7, 7]);
        assert_eq!((&*weeks[0][0].day, &*weeks[2][6].day), ("2026-11-09", "2026-11-29"));
        let today = &weeks[1][2];
        assert!(today.is_today && today.day == "2026-11-18");
        let lines: Vec<_> =
            today.firings.iter().map(|it| (&*it.time, it.word, it.count, it.is_cut)).collect();
        assert_eq!(lines, [("21:00", "failed", 3, false), ("23:00", "comes", 1, false)]);
        assert_eq!(today.firings[0].link.to, "/runs/failed-1");
        assert!(today.firings[0].said.contains("21:00:00 +01:00 Europe/Berlin"));
        assert!(weeks[1][3].firings[0].is_cut, "and so on");
        assert!(weeks[0].iter().all(|day| day.firings.is_empty()));
    }

    #[test]
    fn of_a_crowded_day_the_first_are_shown() {
        let schedule = |place: usize| ScheduleDays {
            schedule: format!("s{place}"),
            zone: "UTC".to_owned(),
            next: vec![comes("Wed 2026-11-18 23:00:00 +00:00")],
            comes_more: false,
            past: Vec::new(),
        };
        let all: Vec<_> = (0..9).map(schedule).collect();
        let weeks = weeks(&all, 21, "2026-11-18T21:30:00Z".parse().unwrap());
        assert_eq!((weeks[1][2].firings.len(), weeks[1][2].more), (LINES_MAX, 3));
    }
}
