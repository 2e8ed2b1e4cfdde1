//! Pools: what several schedulers share, and the one rule by which they get it.
//!
//! A shared limit is a pool of units, a concurrency group one of places for runs. Each scheduler that uses it has *claims* there: what it holds,
//! and what it waits for. Who lives, and how claims are kept so that all see the same, is a store's
//! business; it lets [`settle`] decide, one caller at a time.

use crate::spec::Busy;

/// What one owner has of a pool, or waits for.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Claim {
    /// Its place in the line: who came first has the lower one.
    pub place: u64,
    /// Whose it is.
    pub owner: u128,
    /// Units.
    pub units: u32,
    /// Whether the owner has them; else it waits for them.
    pub is_held: bool,
}

/// What the owner has of a pool and asks for is now this. Whether it gets what it asks for, all of it.
///
/// `claims` are those of all owners that live, and are brought up to date for this one. `fresh` is a
/// place behind all others. What was asked for before and is asked for still keeps its place in the
/// line, whatever its units are now.
pub fn settle(
    claims: &mut Vec<Claim>,
    owner: u128,
    (held, asked): (u32, u32),
    max: u32,
    fresh: u64,
) -> bool {
    let place = |is_held: bool| {
        let mut own = claims.iter().filter(|claim| claim.owner == owner);
        own.find(|claim| claim.is_held == is_held).map_or(fresh, |claim| claim.place)
    };
    let (place_held, place_asked) = (place(true), place(false));
    claims.retain(|claim| claim.owner != owner);
    let wish = Claim { place: place_asked, owner, units: asked, is_held: false };
    if held > 0 {
        claims.push(Claim { place: place_held, owner, units: held, is_held: true });
    }
    if asked == 0 {
        return false;
    }
    let is_served = is_served(claims, wish, max);
    match claims.iter_mut().find(|claim| claim.owner == owner).filter(|_| is_served) {
        Some(own) => own.units = own.units.saturating_add(asked),
        None => claims.push(Claim { is_held: is_served, ..wish }),
    }
    is_served
}

/// Whether a claim that waits gets its units now. First come, first served: what is held and what
/// others wait for longer must leave room for it. So nobody waits for ever who needs many units while
/// others take few.
#[must_use]
pub fn is_served(claims: &[Claim], wish: Claim, max: u32) -> bool {
    let is_before = |claim: &&Claim| claim.is_held || claim.place < wish.place;
    let taken = claims.iter().filter(is_before).map(|claim| u64::from(claim.units)).sum::<u64>();
    taken + u64::from(wish.units) <= u64::from(max)
}

/// How far a run that asks for a place has come.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Stage {
    /// It asks for the first time, and its word says what it does.
    New,
    /// It was let into the line, and waits there or asks again because its process died.
    InLine,
    /// It had a place, and asks again because its process died.
    Begun,
}

/// How a run stands in its concurrency group.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum PlaceVerdict {
    /// It has a place.
    Placed,
    /// It waits for one.
    Waits,
    /// It waits for one, and the owners of these claims are to make room for it.
    Replaces(Vec<u128>),
    /// It gets none, because a newer one waits in its stead.
    Replaced,
    /// It gets none, because there is none.
    Refused,
}

/// How a run stands that asks for a place among so many. `claims` are those of all others that live.
///
/// A word is about the run that arrives, like that of a schedule about the instant: who was let into the
/// line stays there, whoever finds an older place in it later. Only `queue-newest` hears of those
/// that arrive after it, as long as it has not begun.
#[must_use]
pub fn stand(claims: &[Claim], wish: Claim, max: u32, busy: Busy, stage: Stage) -> PlaceVerdict {
    if is_served(claims, wish, max) {
        return PlaceVerdict::Placed;
    }
    // Whose turn has come only has to look, and is as good as placed.
    let waits = |claim: &&Claim| !claim.is_held && !is_served(claims, **claim, max);
    let mut waiting = claims.iter().filter(waits);
    match (stage, busy) {
        (Stage::New | Stage::InLine, Busy::QueueNewest)
            if waiting.any(|claim| claim.place > wish.place) =>
        {
            PlaceVerdict::Replaced
        }
        (Stage::InLine | Stage::Begun, _) => PlaceVerdict::Waits,
        (Stage::New, Busy::QueueAll | Busy::QueueNewest) => PlaceVerdict::Waits,
        (Stage::New, Busy::QueueOne) if waiting.next().is_none() => PlaceVerdict::Waits,
        (Stage::New, Busy::QueueOne | Busy::Skip) => PlaceVerdict::Refused,
        (Stage::New, Busy::Cancel) => PlaceVerdict::Replaces(in_the_way(claims, wish, max)),
    }
}

/// The oldest claims without which there would be room.
fn in_the_way(claims: &[Claim], wish: Claim, max: u32) -> Vec<u128> {
    let mut before: Vec<Claim> = claims.to_vec();
    before.retain(|claim| claim.is_held || claim.place < wish.place);
    before.sort_by_key(|claim| claim.place);
    let mut way = Vec::new();
    while !before.is_empty() && !is_served(&before, wish, max) {
        way.push(before.remove(0).owner);
    }
    way
}

#[cfg(test)]
mod tests {
    use super::*;

    fn claim(place: u64, is_held: bool) -> Claim {
        Claim { place, owner: u128::from(place), units: 1, is_held }
    }

    #[test]
    fn a_run_finds_a_place_or_does_as_its_word_says() {
        let (held, wish) = ([claim(1, true)], claim(2, false));
        for busy in Busy::ALL {
            assert_eq!(stand(&[], wish, 1, busy, Stage::New), PlaceVerdict::Placed, "{busy:?}");
            assert_eq!(stand(&held, wish, 2, busy, Stage::New), PlaceVerdict::Placed, "{busy:?}");
            assert_eq!(stand(&held, wish, 1, busy, Stage::Begun), PlaceVerdict::Waits, "{busy:?}");
        }
        let verdict = |busy| stand(&held, wish, 1, busy, Stage::New);
        assert_eq!(verdict(Busy::QueueAll), PlaceVerdict::Waits);
        assert_eq!(verdict(Busy::QueueOne), PlaceVerdict::Waits);
        assert_eq!(verdict(Busy::QueueNewest), PlaceVerdict::Waits);
        assert_eq!(verdict(Busy::Skip), PlaceVerdict::Refused);
        assert_eq!(verdict(Busy::Cancel), PlaceVerdict::Replaces(vec![1]));
    }

    #[test]
    fn only_the_first_or_the_newest_waits_and_only_who_is_in_the_way_is_cancelled() {
        let line = [claim(1, true), claim(2, true), claim(4, false)];
        let verdict = |place, busy, stage| stand(&line, claim(place, false), 2, busy, stage);
        let (newest, cancel) = (Busy::QueueNewest, Busy::Cancel);
        assert_eq!(verdict(3, newest, Stage::InLine), PlaceVerdict::Replaced);
        assert_eq!(verdict(5, newest, Stage::New), PlaceVerdict::Waits);
        assert_eq!(verdict(5, Busy::QueueOne, Stage::New), PlaceVerdict::Refused);
        let first = PlaceVerdict::Replaces(vec![1]);
        assert_eq!(verdict(3, cancel, Stage::New), first);
        let all = PlaceVerdict::Replaces(vec![1, 2]);
        assert_eq!(verdict(5, cancel, Stage::New), all);
    }

    #[test]
    fn who_is_in_the_line_stays_there_when_an_older_run_comes_back() {
        // The first was killed and asks again: its place is before that of the one that waits.
        let line = [claim(1, false), claim(2, true)];
        for busy in [Busy::QueueAll, Busy::QueueOne, Busy::QueueNewest] {
            let verdict = stand(&line, claim(3, false), 1, busy, Stage::InLine);
            assert_eq!(verdict, PlaceVerdict::Waits, "{busy:?}");
        }
        let next = stand(&line, claim(4, false), 1, Busy::QueueOne, Stage::New);
        assert_eq!(next, PlaceVerdict::Refused, "two wait");
    }

    #[test]
    fn whose_turn_has_come_does_not_wait_although_it_has_not_looked() {
        let verdict = |line: &[Claim], place, stage| {
            stand(line, claim(place, false), 1, Busy::QueueOne, stage)
        };
        // The one that had the place has left, and nobody has looked since.
        let line = [claim(2, false)];
        assert_eq!(verdict(&[], 2, Stage::InLine), PlaceVerdict::Placed);
        assert_eq!(verdict(&line, 3, Stage::New), PlaceVerdict::Waits, "it is the first that does");
        let line = [claim(2, false), claim(3, false)];
        assert_eq!(verdict(&line, 4, Stage::New), PlaceVerdict::Refused, "now one waits");
    }

    fn held(claims: &[Claim], owner: u128) -> u32 {
        let own = claims.iter().filter(|claim| claim.owner == owner && claim.is_held);
        own.map(|claim| claim.units).sum()
    }

    #[test]
    fn units_are_given_while_there_are_any() {
        let mut claims = Vec::new();
        assert!(settle(&mut claims, 1, (0, 1), 2, 1));
        assert!(settle(&mut claims, 2, (0, 1), 2, 2));
        assert!(!settle(&mut claims, 3, (0, 1), 2, 3));
        assert!(!settle(&mut claims, 3, (0, 1), 2, 4), "asking again changes nothing");
        assert!(!settle(&mut claims, 1, (0, 0), 2, 5), "it only gives back");
        assert!(settle(&mut claims, 3, (0, 1), 2, 6));
        assert_eq!([held(&claims, 1), held(&claims, 2), held(&claims, 3)], [0, 1, 1]);
    }

    #[test]
    fn who_gives_back_and_asks_again_goes_to_the_end_of_the_line() {
        let mut claims = Vec::new();
        assert!(settle(&mut claims, 1, (0, 1), 1, 1));
        assert!(!settle(&mut claims, 2, (0, 1), 1, 2));
        assert!(!settle(&mut claims, 1, (0, 1), 1, 3), "the other one has waited");
        assert!(settle(&mut claims, 2, (0, 1), 1, 4));
    }

    #[test]
    fn a_wide_claim_is_not_overtaken() {
        let mut claims = Vec::new();
        assert!(settle(&mut claims, 1, (0, 1), 2, 1));
        assert!(!settle(&mut claims, 2, (0, 2), 2, 2));
        assert!(!settle(&mut claims, 3, (0, 1), 2, 3), "there is a unit, but it is the wide one's");
        assert!(!settle(&mut claims, 1, (0, 0), 2, 4));
        assert!(settle(&mut claims, 2, (0, 2), 2, 5));
    }

    #[test]
    fn a_wish_that_changes_keeps_its_place_and_one_that_is_taken_back_loses_it() {
        let mut claims = Vec::new();
        assert!(settle(&mut claims, 1, (0, 2), 2, 1));
        assert!(!settle(&mut claims, 2, (0, 2), 2, 2));
        assert!(!settle(&mut claims, 3, (0, 1), 2, 3));
        assert!(!settle(&mut claims, 2, (0, 1), 2, 4));
        assert!(!settle(&mut claims, 1, (1, 0), 2, 5), "it gives one of two back");
        assert!(!settle(&mut claims, 3, (0, 1), 2, 6), "it came after");
        assert!(!settle(&mut claims, 2, (0, 0), 2, 7));
        assert!(settle(&mut claims, 3, (0, 1), 2, 8));
    }
}
