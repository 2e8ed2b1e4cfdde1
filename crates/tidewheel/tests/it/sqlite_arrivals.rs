//! What has arrived for schedules: each key once, each with an instant of its own, also after the folder was left.

use tidewheel::Timestamp;
use tidewheel::store::sqlite::{DataFolder, Options};
use tidewheel_testing::temp_folder;

const NOON: Timestamp = Timestamp::from_micros(1_000_000);

fn brought(keys: &[&str]) -> Vec<(String, Vec<u8>)> {
    keys.iter().map(|key| ((*key).to_owned(), key.as_bytes().to_vec())).collect()
}

#[test]
fn what_arrives_is_kept_once_and_has_an_instant_of_its_own() {
    let scratch = temp_folder("arrivals");
    let open = || DataFolder::open(scratch.path().join("data"), Options::default()).unwrap();
    let folder = open();
    let kept = folder.keep_arrivals("in", NOON, &brought(&["a", "b"])).unwrap();
    let instants: Vec<i64> = kept.iter().map(|kept| kept.arrival.nominal.as_micros()).collect();
    assert_eq!(instants, [1_000_000, 1_000_001]);
    assert!(kept.iter().all(|kept| kept.is_new));
    drop(folder);

    let folder = open();
    let later = Timestamp::from_micros(5_000_000);
    let kept = folder.keep_arrivals("in", later, &brought(&["b", "c"])).unwrap();
    let again: Vec<(bool, i64)> =
        kept.iter().map(|kept| (kept.is_new, kept.arrival.nominal.as_micros())).collect();
    assert_eq!(again, [(false, 1_000_001), (true, 5_000_000)], "what is known stays as it was");
    // A clock that is set back names no instant twice.
    let kept = folder.keep_arrivals("in", NOON, &brought(&["d"])).unwrap();
    assert_eq!(kept[0].arrival.nominal.as_micros(), 5_000_001);
    let kept = folder.keep_arrivals("out", NOON, &brought(&["a"])).unwrap();
    assert!(kept[0].is_new && kept[0].arrival.nominal == NOON, "another schedule");

    let reader = folder.reader().unwrap();
    assert_eq!(reader.arrival("in", NOON).unwrap().unwrap().content, b"a");
    assert_eq!(reader.arrival("in", Timestamp::from_micros(7)).unwrap(), None);
    folder.forget_arrivals("in", &["a".to_owned(), "nothing".to_owned()]).unwrap();
    let left: Vec<String> = reader.arrivals("in").unwrap().into_iter().map(|it| it.0).collect();
    assert_eq!(left, ["b", "c", "d"]);
    assert_eq!(reader.arrivals("out").unwrap().len(), 1);
    folder.settle_arrivals("in", later).unwrap();
    folder.forget_arrivals_before("in", Timestamp::from_micros(9_000_000)).unwrap();
    let waiting = reader.waiting_arrivals("in").unwrap();
    assert_eq!(waiting, [("d".to_owned(), Timestamp::from_micros(5_000_001))], "what waits stays");
    assert_eq!(reader.arrivals("in").unwrap(), waiting);
}
