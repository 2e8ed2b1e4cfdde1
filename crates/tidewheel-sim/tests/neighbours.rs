//! Seeds of the world in which several processes share limits.

use tidewheel_sim::neighbours::{self, Played};

#[test]
fn shared_units_are_never_used_twice_and_all_come_back() {
    let mut sum = Played::default();
    for seed in 0..300 {
        let played = neighbours::play(seed);
        assert_eq!(played.failure, None, "seed {seed}");
        sum.attempts += played.attempts;
        sum.waits += played.waits;
        sum.kills += played.kills;
        sum.recoveries += played.recoveries;
    }
    // Each of these must have happened, or nothing is shown.
    assert!(sum.attempts > 3_000 && sum.waits > 300, "{sum:?}");
    assert!(sum.kills > 50 && sum.recoveries > 50, "{sum:?}");
}

#[test]
fn a_seed_plays_the_same_way_again() {
    assert_eq!(neighbours::play(7), neighbours::play(7));
}
