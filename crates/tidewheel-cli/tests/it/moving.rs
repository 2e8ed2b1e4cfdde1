//! The page for those who come from elsewhere: what each row of its tables names is there.
//!
//! `moving/rows.txt` has a flow for each row, by the words of its first column; rows that are about the
//! command have none. What importers make of files of others is in `import`.

use std::collections::{BTreeMap, BTreeSet};
use std::path::{Path, PathBuf};
use std::sync::Arc;

use crate::common::Scratch;
use tidewheel_client::files::FlowFiles;

const ROWS: &str = include_str!("../moving/rows.txt");
/// What stands above the columns.
const TITLES: [&str; 8] =
    ["You know it as", "Airflow", "Dagu", "GitHub Actions", "Argo", "make", "Snakemake", "cron"];

/// The rows with their flows.
fn rows() -> Vec<(&'static str, &'static str)> {
    let rows = ROWS.split("=== ").skip(1).map(|row| row.split_once('\n').unwrap());
    rows.collect()
}

#[test]
fn every_row_of_the_page_has_a_flow_that_can_be_run() {
    let page = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../docs/guide/moving.md");
    let page = std::fs::read_to_string(page).unwrap();
    let cells = page.lines().filter_map(|line| line.strip_prefix("| ")?.split(" | ").next());
    let cells: BTreeSet<&str> = cells.filter(|cell| !TITLES.contains(cell)).collect();
    let known: BTreeSet<&str> = rows().iter().map(|(cell, _)| *cell).collect();
    assert_eq!(cells, known);
    let path = PathBuf::from("flow.yaml");
    let other = "params: { x: 0 }\nflow: [{ name: o, run: ':' }]";
    for (cell, flow) in rows().into_iter().filter(|(_, flow)| !flow.is_empty()) {
        let texts = BTreeMap::from([
            (path.clone(), Arc::from(flow)),
            (PathBuf::from("other.yaml"), Arc::from(other)),
        ]);
        let loaded = FlowFiles::of_texts(std::slice::from_ref(&path), &texts);
        assert!(loaded.runnable().is_ok(), "{cell}\n{flow}\n{}", loaded.problems(false, 100));
    }
}

/// What fails in a matrix ends nothing else, and is a failure all the same.
#[test]
fn elements_go_on_after_a_failure_that_counts() {
    let scratch = Scratch::new("moving-fail-fast");
    let rows: BTreeMap<&str, &str> = rows().into_iter().collect();
    scratch.file("flow.yaml", rows["`strategy.fail-fast: false`"]);
    assert_eq!(scratch.run(&["run", "flow.yaml"]).status.code(), Some(1));
    assert!(scratch.path("l").exists() && scratch.path("m").exists());
}
