//! The commands that look after a data folder, and the workloads that use one.

use std::fs;
#[cfg(unix)]
use std::os::unix::fs::{MetadataExt as _, PermissionsExt as _};
#[cfg(unix)]
use std::os::unix::process::CommandExt as _;
use std::path::{Path, PathBuf};
use std::process::{Command, Output};

use crate::common;
use crate::common::Scratch;
use serde_json::{Value, json};
use tidewheel::store::RunFilter;
use tidewheel::store::sqlite::{DataFolder, Options};

fn tidewheel(arguments: &[&str], data: &Path) -> Output {
    Command::new(env!("CARGO_BIN_EXE_tidewheel"))
        .args(arguments)
        .arg("--data")
        .arg(data)
        .env_clear()
        .output()
        .unwrap()
}

#[track_caller]
fn json_of(output: &Output) -> Value {
    let error = String::from_utf8_lossy(&output.stderr);
    assert_eq!((&*error, output.status.code()), ("", Some(0)));
    serde_json::from_slice(&output.stdout).unwrap()
}

#[track_caller]
fn assert_refused(output: &Output, code: i32, words: &[&str]) {
    let error = String::from_utf8_lossy(&output.stderr);
    assert_eq!((output.status.code(), &*output.stdout), (Some(code), &b""[..]), "{error}");
    for word in words {
        assert!(error.contains(word), "{word} is not in: {error}");
    }
}

fn runs_in(data: &Path) -> usize {
    let folder = DataFolder::open(data, Options::default()).unwrap();
    let filter = RunFilter { limit: 10_000, ..RunFilter::default() };
    folder.reader().unwrap().runs(&filter).unwrap().len()
}

/// A folder in which forty tasks have ended.
fn used(scratch: &Scratch) -> PathBuf {
    let data = scratch.path("data");
    let arguments =
        ["bench", "sqlite", "--tasks", "40", "--in-flight", "4", "--durability", "process"];
    let measured = json_of(&tidewheel(&[&arguments[..], &["--format", "json"]].concat(), &data));
    assert_eq!(measured["n"], json!(40));
    assert!(measured["start_p99_us"].as_f64().unwrap() > 0.0);
    data
}

#[test]
fn a_backup_is_a_copy_that_can_be_restored_elsewhere() {
    let scratch = Scratch::new("data-backup");
    let data = used(&scratch);
    let all = runs_in(&data);
    let copy = scratch.path("copy.db");
    let copy_name = copy.to_str().unwrap();
    let made = json_of(&tidewheel(&["backup", copy_name, "--format", "json"], &data));
    assert_eq!(made["bytes"], json!(std::fs::metadata(&copy).unwrap().len()));
    assert_refused(&tidewheel(&["backup", copy_name], &data), 5, &["exists already"]);

    let elsewhere = scratch.path("elsewhere");
    let restored = tidewheel(&["restore", copy_name, "--format", "json"], &elsewhere);
    assert_eq!(json_of(&restored), json!({ "data": elsewhere.to_str().unwrap() }));
    assert_eq!(runs_in(&elsewhere), all);
    let again = tidewheel(&["restore", copy_name], &elsewhere);
    assert_refused(&again, 5, &["exists already", "--overwrite"]);
    json_of(&tidewheel(&["restore", copy_name, "--overwrite", "--format", "json"], &elsewhere));
}

#[test]
fn something_else_is_not_restored() {
    let scratch = Scratch::new("data-not-a-copy");
    let file = scratch.path("letter.txt");
    std::fs::write(&file, "dear reader").unwrap();
    let refused = tidewheel(&["restore", file.to_str().unwrap()], &scratch.path("data"));
    assert_refused(&refused, 6, &["letter.txt is not a database of tidewheel"]);
}

#[test]
fn what_ended_is_pruned_by_count() {
    let scratch = Scratch::new("data-prune");
    let data = used(&scratch);
    let all = runs_in(&data);
    let pruned = json_of(&tidewheel(&["prune", "--keep", "10", "--format", "json"], &data));
    assert_eq!(pruned["runs"], json!(all - 10));
    assert_eq!(runs_in(&data), 10);
    assert_refused(&tidewheel(&["prune"], &data), 2, &["nothing is said", "--older-than"]);
    assert_refused(&tidewheel(&["prune", "--older-than", "soon"], &data), 2, &["soon"]);
}

/// As a process does that was started with a umask that takes everything away.
#[cfg(unix)]
#[test]
fn a_folder_is_its_owners_whatever_the_umask() {
    const NOBODY: u32 = 65_534;

    let scratch = Scratch::new("umask");
    let text = "flow:\n  - name: a\n    run: echo well\n    cwd: /\n";
    let flow = scratch.file("flow.yaml", text);
    // To root everything is allowed, whatever the mode.
    let is_root = fs::metadata("/proc/self").is_ok_and(|found| found.uid() == 0);
    if is_root {
        std::os::unix::fs::chown(scratch.path(""), Some(NOBODY), Some(NOBODY)).unwrap();
    }
    for umask in ["277", "777"] {
        let data = scratch.path(umask).join("above").join("data");
        let run = |words: &[&str]| {
            let text = format!("umask {umask}; exec \"$@\"");
            let mut shell = Command::new("sh");
            shell.args(["-c", &text, "sh", env!("CARGO_BIN_EXE_tidewheel")]);
            shell.args(words).arg("--data").arg(&data).current_dir("/").env_clear();
            if is_root {
                shell.uid(NOBODY).gid(NOBODY);
            }
            shell.output().unwrap()
        };
        let output = run(&["run", &flow]);
        assert!(output.status.success(), "{output:?}");
        let output = run(&["logs", "last"]);
        assert_eq!(String::from_utf8_lossy(&output.stdout).trim_end(), "a | well", "{output:?}");
        let mode = |path: PathBuf| fs::metadata(path).unwrap().permissions().mode() & 0o777;
        let folders = [data.clone(), data.join("locks"), data.join("logs"), scratch.path(umask)];
        assert_eq!(folders.map(mode), [0o700; 4]);
        let files = [data.join("tidewheel.db"), data.join("locks").join(".open")];
        assert_eq!(files.map(mode), [0o600; 2]);
    }
}

#[test]
fn what_cannot_be_pruned_is_told_and_the_rest_is_gone() {
    let scratch = Scratch::new("stuck");
    let data = used(&scratch);
    let runs = runs_in(&data);
    let folder = DataFolder::open(&data, Options::default()).unwrap();
    let newest = folder.reader().unwrap().runs(&RunFilter::default()).unwrap()[0].id;
    fs::create_dir_all(folder.logs_dir().join(newest.to_string()).join("strange")).unwrap();
    drop(folder);
    let output = tidewheel(&["prune", "--keep", "0"], &data);
    let error = String::from_utf8_lossy(&output.stderr);
    assert_eq!(output.status.code(), Some(1));
    assert!(error.contains("cannot remove") && error.contains("strange"), "{error}");
    let removed = format!("removed {runs} runs");
    assert!(String::from_utf8_lossy(&output.stdout).starts_with(&removed), "{output:?}");
    assert_eq!(runs_in(&data), 0);
}

#[cfg(unix)]
#[test]
fn whichever_page_is_damaged_a_run_ends_well_or_says_that_the_database_is_damaged() {
    let scratch = Scratch::new("damaged");
    let file = scratch.file("flow.yaml", "flow: [{ name: a, run: 'true' }]");
    let data = scratch.data();
    assert_eq!(tidewheel(&["run", &file, "--durability", "process"], &data).status.code(), Some(0));
    // A backup has all of it in one file.
    let backup = scratch.path("backup.db");
    let output = tidewheel(&["backup", backup.to_str().unwrap()], &data);
    assert_eq!(output.status.code(), Some(0), "{output:?}");
    let whole = fs::read(&backup).unwrap();
    let page = usize::from(u16::from_be_bytes([whole[16], whole[17]]));
    let mut refused = 0;
    for number in 1..whole.len() / page {
        let copy = scratch.path(&format!("page-{number}"));
        fs::create_dir(&copy).unwrap();
        let mut bytes = whole.clone();
        bytes[number * page..][..page].fill(0xa5);
        fs::write(copy.join("tidewheel.db"), bytes).unwrap();
        for name in ["tidewheel.db", ""] {
            let mode = if name.is_empty() { 0o700 } else { 0o600 };
            fs::set_permissions(copy.join(name), fs::Permissions::from_mode(mode)).unwrap();
        }
        let output = tidewheel(&["run", &file, "--durability", "process"], &copy);
        let said = String::from_utf8_lossy(&output.stderr);
        match output.status.code() {
            Some(0) => {}
            Some(1 | 6) => {
                refused += 1;
                assert!(said.contains("damaged") && said.contains("restore"), "{number}: {said}");
                assert!(!said.contains("panicked"), "{number}: {said}");
                // Nobody goes on with what is in a damaged database.
                let hint = said.lines().find(|line| line.starts_with("hint: tidewheel resume"));
                assert!(
                    hint.is_none_or(|it| it.ends_with("once that is mended")),
                    "{number}: {said}"
                );
            }
            other => panic!("page {number}: {other:?}, {said}"),
        }
    }
    assert!(refused > 5, "only {refused} pages matter");
}

#[cfg(target_os = "linux")]
#[test]
fn a_new_database_is_flushed_as_a_whole_not_at_each_step_of_its_making() {
    let scratch = Scratch::new("flushes");
    let traced = scratch.path("traced");
    let file = scratch.file("flow.yaml", "flow: [{ name: a, run: 'true' }]");
    let mut strace = Command::new("strace");
    strace.args(["-f", "-qq", "-y", "-e", "trace=fsync,fdatasync", "-o"]).arg(&traced);
    strace.arg(env!("CARGO_BIN_EXE_tidewheel")).args(["run", &file, "-q", "--data"]);
    let Ok(output) = strace.arg(scratch.data()).output() else {
        common::skipped("data::a_new_database_is_flushed_as_a_whole", "needs strace");
        return;
    };
    assert!(output.status.success(), "{output:?}");
    let traced = fs::read_to_string(traced).unwrap();
    let of_new = traced.lines().filter(|line| line.contains("tidewheel.db.new")).count();
    assert_eq!(of_new, 1, "{traced}");
}

/// A small disk of its own, if this may mount one.
#[cfg(target_os = "linux")]
struct Disk(PathBuf);

#[cfg(target_os = "linux")]
impl Disk {
    fn mount(path: &Path) -> Option<Self> {
        fs::create_dir_all(path).unwrap();
        let mut mount = Command::new("mount");
        mount.args(["-t", "tmpfs", "-o", "size=3m", "tmpfs"]).arg(path);
        let is_there = mount.output().is_ok_and(|output| output.status.success());
        is_there.then(|| Self(path.to_owned()))
    }

    fn protect(&self) {
        let mut mount = Command::new("mount");
        assert!(mount.args(["-o", "remount,ro"]).arg(&self.0).status().unwrap().success());
    }
}

#[cfg(target_os = "linux")]
impl Drop for Disk {
    fn drop(&mut self) {
        let _ = Command::new("umount").arg(&self.0).status();
    }
}

#[cfg(target_os = "linux")]
#[test]
fn a_full_disk_can_be_read_and_pruned_and_a_protected_one_be_read() {
    let scratch = Scratch::new("full-disk");
    let Some(disk) = Disk::mount(&scratch.path("disk")) else {
        common::skipped("data::a_full_disk_can_be_read_and_pruned", "needs the right to mount");
        return;
    };
    let text = "flow:\n  - name: a\n    run: head -c 60000 /dev/zero\n";
    let (flow, data) = (scratch.file("flow.yaml", text), disk.0.join("data"));
    for _ in 0..4 {
        assert_eq!(tidewheel(&["run", &flow], &data).status.code(), Some(0));
    }
    let fill = disk.0.join("fill");
    // Until the last byte.
    for size in [65_536, 1] {
        let mut file = fs::OpenOptions::new().create(true).append(true).open(&fill).unwrap();
        while std::io::Write::write_all(&mut file, &vec![0; size]).is_ok() {}
    }
    assert!(tidewheel(&["runs"], &data).status.success());
    let refused = tidewheel(&["run", &flow], &data);
    let error = String::from_utf8_lossy(&refused.stderr);
    assert_eq!(
        (refused.status.code(), error.contains("the disk is full")),
        (Some(1), true),
        "{error}"
    );
    let pruned = json_of(&tidewheel(&["prune", "--keep", "1", "--format", "json"], &data));
    assert_eq!((&pruned["runs"], &pruned["files"]), (&json!(3), &json!(3)));
    fs::remove_file(fill).unwrap();
    disk.protect();
    for words in [&["runs"][..], &["show", "last"], &["logs", "last"], &["explain", "last"]] {
        let output = tidewheel(words, &data);
        assert!(output.status.success(), "{words:?}: {output:?}");
    }
    let refused = tidewheel(&["prune", "--keep", "0"], &data);
    assert_refused(&refused, 1, &["the store is not available: the database cannot be"]);
}

#[test]
fn a_folder_that_is_not_there_is_told_and_not_made() {
    let scratch = Scratch::new("data-missing");
    let data = scratch.path("nowhere");
    let copy = scratch.path("copy.db");
    let refused = tidewheel(&["backup", copy.to_str().unwrap()], &data);
    assert_refused(&refused, 4, &["there is no data folder at", "--data"]);
    assert!(!data.exists());
}

#[test]
fn processes_are_measured_beside_a_plain_loop() {
    let scratch = Scratch::new("data-processes");
    let data = scratch.path("data");
    let arguments = ["bench", "process", "--tasks", "30", "--slots", "3", "--format", "json"];
    let measured = json_of(&tidewheel(&arguments, &data));
    assert_eq!((&measured["n"], &measured["slots"]), (&json!(30), &json!(3.0)));
    assert!(measured["ratio"].as_f64().unwrap() > 0.0);
    let folder = DataFolder::open(&data, Options::default()).unwrap();
    let runs = folder.reader().unwrap().runs(&RunFilter::default()).unwrap();
    assert_eq!((runs.len(), runs[0].tasks, runs[0].failed), (1, 30, 0));
    let arguments = ["bench", "process", "--tasks", "3", "--program", "/bin/false"];
    assert_refused(&tidewheel(&arguments, &data), 1, &["exit code 1"]);
}

#[test]
fn flows_are_measured_beside_make() {
    let scratch = Scratch::new("data-flows");
    let mut arguments = vec!["bench", "flow", "--rounds", "1", "--chain", "2"];
    arguments.extend(["--check", "3", "--steps", "4"]);
    let measured = scratch.json(&arguments);
    assert_eq!((&measured["workload"], &measured["n"]), (&json!("flow"), &json!(4)));
    assert_eq!((&measured["chain_steps"], &measured["check_steps"]), (&json!(2), &json!(3)));
    for figure in ["cold_start_ms", "chain_ms", "check_ms", "seconds", "peak_rss_mb"] {
        assert!(measured[figure].as_f64().unwrap() > 0.0, "{figure}: {measured}");
    }
    // Where there is no make, there is no figure of it.
    assert!(measured["make_ms"].is_null() || measured["make_ms"].as_f64().unwrap() > 0.0);
    let text = common::stdout(&scratch.run(&arguments));
    assert!(text.contains("one step") && text.contains("chain of 2"), "{text}");
    // Flows that are measured are not kept.
    assert!(!scratch.data().exists());
}

#[test]
fn a_server_is_measured_beside_its_bounds() {
    let scratch = Scratch::new("data-serve");
    let mut arguments = vec!["bench", "serve", "--only", "start,submit,lists,idle,chain"];
    arguments.extend(["--rounds", "2", "--seconds", "1", "--runs", "30"]);
    let measured = scratch.json(&arguments);
    let figures = measured["figures"].as_array().unwrap();
    let names: Vec<&str> = figures.iter().filter_map(|figure| figure["name"].as_str()).collect();
    assert_eq!(
        names,
        [
            "start_p50_ms",
            "submit_per_second",
            "first_list_ms",
            "slowest_list_ms",
            "idle_mb",
            "idle_cpu_percent",
            "chain_beyond_ms"
        ]
    );
    for figure in figures {
        let number = |key: &str| figure[key].as_f64().unwrap();
        assert!(number("bound") > 0.0 && number("value") >= 0.0, "{figure}");
        assert_eq!(figure["holds"], number("ratio") <= 1.0, "{figure}");
    }
    // What is measured is not kept.
    assert!(!scratch.data().exists());
}
