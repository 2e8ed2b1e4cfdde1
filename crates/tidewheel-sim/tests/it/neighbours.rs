//! Seeds of the world in which several processes share limits and concurrency groups.

use tidewheel_sim::neighbours::{self, Played};

#[test]
fn what_is_shared_is_never_used_twice_and_all_comes_back() {
    let mut sum = Played::default();
    for seed in 0..200 {
        let played = neighbours::play(seed);
        assert_eq!(played.failure, None, "seed {seed}");
        sum.attempts += played.attempts;
        sum.waits += played.waits;
        sum.kills += played.kills;
        sum.recoveries += played.recoveries;
        sum.replaced += played.replaced;
        sum.refused += played.refused;
    }
    // Each of these must have happened, or nothing is shown.
    assert!(sum.attempts > 3_000 && sum.waits > 300, "{sum:?}");
    assert!(sum.kills > 50 && sum.recoveries > 15 && sum.replaced > 50, "{sum:?}");
    assert!(sum.refused > 50, "{sum:?}");
}

#[test]
fn a_seed_plays_the_same_way_again() {
    assert_eq!(neighbours::play(7), neighbours::play(7));
}
