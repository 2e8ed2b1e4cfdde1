//! Where files are looked for.

use std::fs;

use clap::ColorChoice;

use super::scene::Scene;
use crate::config::places::Role;
use crate::config::{Config, Place, Surroundings, places};
use crate::error::ErrorKind;

#[test]
fn the_project_is_looked_for_upward_to_the_repository() {
    let workers = |scene: &Scene| scene.load().run_max_workers();
    let scene = Scene::new().project("run.max_workers = 2\n").inside("project/below");
    assert_eq!(workers(&scene), Some(2));
    let scene = scene.file("project/below/tidewheel.toml", "run.max_workers = 3\n");
    assert_eq!(workers(&scene), Some(3), "the nearest");
    let scene = scene.file("project/below/deep/.git", "gitdir: elsewhere\n");
    let scene = scene.inside("project/below/deep");
    assert_eq!(workers(&scene), None, "a repository is a world of its own");
    let place = places(&scene.around).remove(0);
    let path = scene.root.join("project/below/deep/tidewheel.toml");
    assert_eq!(place, Place { role: Role::Project, path, exists: false });
    let scene = scene.file("project/below/deep/tidewheel.toml", "run.max_workers = 4\n");
    assert_eq!(workers(&scene), Some(4), "the file beside .git counts");
}

#[cfg(unix)]
#[test]
fn the_search_ends_before_a_folder_that_everybody_can_write() {
    use std::os::unix::fs::PermissionsExt as _;
    let scene = Scene::new().project("run.max_workers = 2\n");
    let everybody = fs::Permissions::from_mode(0o1777);
    fs::set_permissions(scene.root.join("project"), everybody).unwrap();
    assert_eq!(scene.load().run_max_workers(), Some(2), "one is in it on purpose");
    let scene = scene.inside("project/below");
    assert_eq!(scene.load().run_max_workers(), None);
}

#[test]
fn a_named_file_replaces_both_files() {
    let scene = Scene::new()
        .project("run.max_workers = 2\n")
        .user("run.quiet = true\n")
        .file("project/other.toml", "color = \"never\"\n")
        .variable("TIDEWHEEL_CONFIG", "other.toml");
    let config = scene.load();
    assert_eq!((config.run_max_workers(), config.run_quiet()), (None, false));
    assert_eq!(config.color(), ColorChoice::Never);
    let path = scene.root.join("project/other.toml");
    assert_eq!(places(&scene.around), [Place { role: Role::Named, path, exists: true }]);
}

#[test]
fn a_named_file_must_be_there() {
    let scene = Scene::new().variable("TIDEWHEEL_CONFIG", "other.toml");
    let error = scene.error();
    assert_eq!(error.kind, ErrorKind::NotFound);
    assert_eq!(error.hints, ["TIDEWHEEL_CONFIG names it"]);
    assert!(scene.message().starts_with("failed to read project/other.toml: "));
}

#[cfg(unix)]
#[test]
fn the_null_device_stands_for_no_file() {
    let scene = Scene::new().project("nonsense").variable("TIDEWHEEL_CONFIG", "/dev/null");
    assert!(scene.load().settings().all(|(_, _, origin)| origin.kind() == "default"));
}

#[test]
fn the_file_of_the_user_is_where_the_desktop_says() {
    let scene = Scene::new().user("run.max_workers = 1\n");
    let scene = scene.file("elsewhere/tidewheel/config.toml", "run.max_workers = 2\n");
    let elsewhere = scene.root.join("elsewhere");
    let scene = scene.variable("XDG_CONFIG_HOME", elsewhere);
    assert_eq!(scene.load().run_max_workers(), Some(2));
    let scene = Scene::new().user("run.max_workers = 1\n").variable("XDG_CONFIG_HOME", "relative");
    assert_eq!(scene.load().run_max_workers(), Some(1), "a relative one does not count");
}

#[test]
fn without_a_home_and_a_folder_there_are_no_files() {
    let around = Surroundings::default();
    assert_eq!(places(&around), []);
    Config::load_from(&around).unwrap();
}
