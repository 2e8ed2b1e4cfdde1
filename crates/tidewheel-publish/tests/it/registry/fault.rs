//! [`Faults`]: what goes wrong, at which requests; written down, or drawn from a seed.
//!
//! How a fault looks on the wire is in `serve`.

use super::protocol::{Asked, What};
use super::random::Random;

/// What goes wrong with one request.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Fault {
    /// Too many requests; nothing is done.
    TooMany(RetryAfter),
    /// It is not there for anybody now; nothing is done.
    Busy(RetryAfter),
    /// This status and text; nothing is done.
    Refused(u16, &'static str),
    /// It is done, and answered with this status all the same.
    DoneThenRefused(u16),
    /// The same, and the next so many looks do not see it.
    HiddenThenRefused(u16, u32),
    /// The connection is cut when so many thousandths of the body have been read; nothing is done. None means: as soon
    /// as it is known which package it is for.
    CutWhileReading(u16),
    /// All has been read and nothing is done; then the connection is cut.
    CutBeforeDoing,
    /// It is done; then the connection is cut without an answer.
    CutAfterDoing,
    /// It is done, and the connection is cut in the middle of the answer.
    CutWhileAnswering,
    /// It is done, and answered once the test releases it.
    Held,
    /// It is done or not, and never answered; the connection stays open until the client leaves.
    Silent { is_done: bool },
    /// It is read a thousand bytes a second, and not done.
    Dripping,
    /// It is done, and its answer comes byte by byte and has no end; the client leaves.
    Endless,
    /// It is done and answered, and the next so many looks do not see it.
    Hidden(u32),
    /// It is done and never answered, and no look ever sees it: the index is late, and the client is killed meanwhile.
    Lost,
    /// It is done and answered, and of the next so many looks every second does not see it.
    Flickering(u32),
    /// Something else is kept than what was sent.
    OtherContent,
    /// Somebody else brings another content under the same name, a moment before.
    Taken,
    /// The token is not good, or not any more.
    Unauthorised,
    /// A one-time code is wanted beside the token (npm).
    CodeWanted,
    /// The answer says that all is well and is not what it should be.
    Garbled,
}

/// How somebody who asks too often is told when to come again.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum RetryAfter {
    Seconds(u64),
    /// So many seconds from now, as a date in the header.
    Date(i64),
    /// So many seconds from now, as a date in the sentence alone.
    Sentence(i64),
    Missing,
    /// Anything: words, negative numbers, a thousand years.
    Text(&'static str),
}

/// Which requests go wrong, and how. Each rule is used up; what no rule is about goes well.
#[derive(Debug, Clone, Default)]
pub struct Faults {
    rules: Vec<Rule>,
}

#[derive(Debug, Clone)]
struct Rule {
    what: What,
    /// As it is on the shelf; `None` for all of them.
    package: Option<String>,
    skipped: u32,
    times: u32,
    fault: Fault,
}

impl Faults {
    pub fn none() -> Self {
        Self::default()
    }

    /// The next request of this kind for this package goes wrong so.
    #[must_use]
    pub fn on(mut self, what: What, package: &str, fault: Fault) -> Self {
        let package = Some(package.to_owned());
        self.rules.push(Rule { what, package, skipped: 0, times: 1, fault });
        self
    }

    /// The next request of this kind goes wrong so, whatever package it is for.
    #[must_use]
    pub fn on_any(mut self, what: What, fault: Fault) -> Self {
        self.rules.push(Rule { what, package: None, skipped: 0, times: 1, fault });
        self
    }

    /// The last rule is for so many requests.
    #[must_use]
    pub fn times(mut self, times: u32) -> Self {
        self.rules.last_mut().expect("there is a rule").times = times;
        self
    }

    #[must_use]
    pub fn always(self) -> Self {
        self.times(u32::MAX)
    }

    /// The last rule is for requests after so many others that it could have been for.
    #[must_use]
    pub fn after(mut self, requests: u32) -> Self {
        self.rules.last_mut().expect("there is a rule").skipped = requests;
        self
    }

    /// Faults that pass, drawn from a seed: whoever tries again often enough is served in the end. Some of them are a no,
    /// after which somebody has to run it again.
    pub fn random(seed: u64, packages: &[&str]) -> Self {
        let mut random = Random::new(seed);
        let mut faults = Self::none();
        for package in packages {
            while random.percent(40) {
                faults = faults.on(What::Upload, package, upload_fault(&mut random));
            }
            if random.percent(30) {
                let times = random.below(2) as u32 + 1;
                let fault = look_fault(&mut random);
                let after = random.below(4) as u32;
                faults = faults.on(What::Look, package, fault).times(times).after(after);
            }
        }
        faults
    }

    /// Whether every rule has been used up.
    pub fn is_over(&self) -> bool {
        self.rules.iter().all(|rule| rule.times == 0 || rule.times == u32::MAX)
    }

    /// What goes wrong with this request.
    pub(super) fn take(&mut self, asked: &Asked) -> Option<Fault> {
        let is_about = |rule: &Rule| {
            let is_package = rule.package.is_none() || rule.package == asked.package;
            rule.what == asked.what && is_package && rule.times > 0
        };
        for rule in self.rules.iter_mut().filter(|rule| is_about(rule)) {
            if rule.skipped > 0 {
                rule.skipped -= 1;
                continue;
            }
            if rule.times != u32::MAX {
                rule.times -= 1;
            }
            return Some(rule.fault.clone());
        }
        None
    }
}

/// What cannot be waited for: it is as if nothing had been said.
const NO_TIMES: [&str; 4] = ["soon", "-5", "", "Thu, 01 Jan 1970 00:00:00 GMT"];

fn retry_after(random: &mut Random) -> RetryAfter {
    match random.below(6) {
        0 => RetryAfter::Seconds(0),
        1 => RetryAfter::Seconds(1),
        2 => RetryAfter::Date(1),
        3 => RetryAfter::Sentence(1),
        4 => RetryAfter::Missing,
        _ => RetryAfter::Text(NO_TIMES[random.below(4) as usize]),
    }
}

fn upload_fault(random: &mut Random) -> Fault {
    let status = *random.pick(&[500, 502, 503, 504]);
    match random.below(14) {
        0 | 1 => Fault::TooMany(retry_after(random)),
        2 => Fault::Refused(status, "try again"),
        3 => Fault::DoneThenRefused(status),
        4 => Fault::CutWhileReading(random.below(1001) as u16),
        5 => Fault::CutBeforeDoing,
        6 => Fault::CutAfterDoing,
        7 => Fault::CutWhileAnswering,
        8 => Fault::Hidden(random.below(5) as u32 + 1),
        9 => Fault::HiddenThenRefused(status, random.below(8) as u32 + 1),
        10 => Fault::Refused(409, "another change is under way"),
        11 => Fault::Refused(*random.pick(&[400, 404, 422]), "it is a reserved name"),
        12 => Fault::Unauthorised,
        _ => Fault::Flickering(random.below(5) as u32 + 1),
    }
}

fn look_fault(random: &mut Random) -> Fault {
    match random.below(6) {
        0 => Fault::TooMany(retry_after(random)),
        1 | 2 => Fault::Refused(*random.pick(&[500, 502, 503, 504]), "try again"),
        3 => Fault::CutBeforeDoing,
        4 => Fault::CutWhileAnswering,
        _ => Fault::Garbled,
    }
}
