//! Nothing that `tidewheel publish` starts speaks to anybody but the registry that settings name, which is on this machine: every
//! connection and every datagram of it and of the tools that it starts is looked at.
//!
//! That what it is told of proxies counts is in `publish_cargo.rs`.
#![cfg(target_os = "linux")]

use std::fs;
use std::process::{Command, Output, Stdio};

use crate::publishing::Scene;
use tidewheel_testing::skipped;

/// Runs a command with all that it starts, and gives where they wanted to. Nothing if nobody may look.
fn addresses(test: &str, scene: &Scene, command: &Command) -> Option<(Output, Vec<String>)> {
    let mut may = Command::new("strace");
    may.args(["-f", "--seccomp-bpf", "-e", "trace=connect", "true"]).stderr(Stdio::null());
    if !may.status().is_ok_and(|status| status.success()) {
        skipped(&format!("publish_loopback::{test}"), "needs strace, and leave to trace");
        return None;
    }
    let traced = scene.path("traced");
    let mut strace = scene.program("strace");
    strace.args(["-f", "-qq", "--seccomp-bpf", "-s", "0", "-e"]);
    strace.arg("trace=connect,sendto,sendmsg,sendmmsg").arg("-o").arg(&traced);
    strace.arg(command.get_program()).args(command.get_args());
    for (name, value) in command.get_envs() {
        match value {
            Some(value) => strace.env(name, value),
            None => strace.env_remove(name),
        };
    }
    // Whatever may be asked of a network is asked.
    let output = strace.env("CARGO_NET_OFFLINE", "false").output().unwrap();
    let text = fs::read_to_string(traced).unwrap();
    let of_networks = text.lines().filter(|line| line.contains("sa_family=AF_INET"));
    Some((output, of_networks.map(str::to_owned).collect()))
}

/// All of it is on this machine, and the registry was spoken to.
#[track_caller]
fn assert_here(output: &Output, addresses: &[String], port: Option<u16>) {
    let said = String::from_utf8_lossy(&output.stderr);
    assert_eq!(output.status.code(), Some(0), "{said}");
    let is_here = |line: &&String| {
        line.contains("inet_addr(\"127.") || line.contains("inet_pton(AF_INET6, \"::1\"")
    };
    let elsewhere: Vec<&String> = addresses.iter().filter(|line| !is_here(line)).collect();
    assert!(elsewhere.is_empty(), "{elsewhere:#?}");
    let port = port.map_or("inet_addr".to_owned(), |port| format!("htons({port})"));
    assert!(addresses.iter().any(|line| line.contains(&port)), "nobody was spoken to");
}

#[test]
fn a_publish_of_crates_speaks_to_its_registry_alone() {
    let scene = Scene::chain("loopback-cargo");
    let command = scene.publish(&[]);
    let Some((output, all)) = addresses("crates", &scene, &command) else { return };
    assert_here(&output, &all, Some(scene.registry.port()));
}

#[test]
fn a_publish_of_npm_speaks_to_its_registry_alone() {
    let scene = Scene::npm("loopback-npm");
    if scene.program("npm").arg("--version").output().is_err() {
        return skipped("publish_loopback::npm", "npm is not there");
    }
    let command = scene.publish(&[]);
    let Some((output, all)) = addresses("npm", &scene, &command) else { return };
    assert_here(&output, &all, Some(scene.registry.port()));
}

#[test]
fn a_publish_of_python_speaks_to_its_registry_alone() {
    let scene = Scene::python("loopback-python");
    let has_tomllib = Command::new("python3").args(["-c", "import tomllib"]).output();
    if !has_tomllib.is_ok_and(|output| output.status.success()) {
        return skipped("publish_loopback::python", "python3 with tomllib is not there");
    }
    let command = scene.publish(&[]);
    let Some((output, all)) = addresses("python", &scene, &command) else { return };
    assert_here(&output, &all, Some(scene.registry.port()));
}

#[test]
fn a_rehearsal_speaks_to_nobody_outside() {
    let scene = Scene::chain("loopback-rehearsal");
    if scene.program("npm").arg("--version").output().is_ok() {
        let registry = format!("registry={}/\n", scene.registry.url());
        scene.file(".npmrc", &registry);
        scene.file("package.json", r#"{ "private": true, "workspaces": ["n"] }"#);
        scene.file("n/package.json", r#"{ "name": "n", "version": "1.0.0" }"#);
        scene.commit();
    }
    let command = scene.publish(&["--rehearse"]);
    let Some((output, all)) = addresses("rehearsal", &scene, &command) else { return };
    assert_here(&output, &all, None);
    assert!(scene.registry.requests().iter().all(|it| it.method == "GET"), "something was sent");
}
