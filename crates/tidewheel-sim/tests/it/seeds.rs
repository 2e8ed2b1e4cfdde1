//! A few seeds of the simulated world, each played twice. `tidewheel-sim seeds 2000` plays many.

use tidewheel_sim::batch;

#[test]
fn seeds_keep_every_rule() {
    let summary = batch::run(0, 150, 2, true);
    let failures: Vec<String> = summary
        .failures
        .iter()
        .map(|(seed, failure)| {
            format!("{failure}\n  cargo run --release -p tidewheel-sim -- replay {seed} --trace")
        })
        .collect();
    assert!(failures.is_empty(), "{}", failures.join("\n"));
    assert_eq!(summary.seeds, 150);
}
