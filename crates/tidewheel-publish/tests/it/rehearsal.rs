//! The registry of a rehearsal, asked by hand: who may ask it, and what it looks up elsewhere.
//!
//! Whole rehearsals are in `publish_rehearsed` and `publish_follow` of the command.

use std::io::{Read as _, Write as _};
use std::net::TcpStream;

use crate::registry::{Protocol, Registry};
use tidewheel_publish::Ecosystem;
use tidewheel_publish::rehearse::LocalRegistry;
use tidewheel_publish::settings::Surroundings;
use tidewheel_testing::temp_folder;

/// The status of the answer at an address, and the answer.
fn get(address: &str) -> (u16, String) {
    let (host, path) = address.strip_prefix("http://").unwrap().split_once('/').unwrap();
    let mut stream = TcpStream::connect(host).unwrap();
    let ask = format!("GET /{path} HTTP/1.1\r\nhost: {host}\r\nconnection: close\r\n\r\n");
    stream.write_all(ask.as_bytes()).unwrap();
    let mut text = String::new();
    stream.read_to_string(&mut text).unwrap();
    (text.split(' ').nth(1).unwrap().parse().unwrap(), text)
}

#[test]
fn what_is_elsewhere_is_looked_up_for_those_who_rehearse_once_everything_is_there() {
    let elsewhere = Registry::start(Protocol::Npm);
    elsewhere.put("outside", "1.0.0", "outside-1.0.0.tgz", b"something");
    elsewhere.be_private();
    let root = temp_folder("rehearsal");
    let (port, token) = (elsewhere.port(), elsewhere.token());
    let settings =
        format!("registry={}\n//127.0.0.1:{port}/:_authToken={token}\n", elsewhere.index_url());
    std::fs::write(root.path().join(".npmrc"), settings).unwrap();

    let local = LocalRegistry::start().unwrap();
    let index = local.stage().address(Ecosystem::Npm, "rehearsal").index;
    let outside = format!("{index}outside");
    // What is not there yet is new: nobody else is asked for it.
    assert_eq!(get(&outside).0, 404);
    assert_eq!(elsewhere.requests_count(), 0);
    local.look_beyond(&Surroundings::of(root.path(), []));
    let (status, said) = get(&outside);
    assert!(status == 200 && said.contains("outside-1.0.0.tgz"), "{said}");
    assert_eq!(get(&format!("{index}nobody")).0, 404);
    // Others on this machine do not read by somebody's leave, and nobody is shown it.
    let host = &index[..index[7..].find('/').unwrap() + 7];
    assert_eq!(get(&format!("{host}/npm/outside")).0, 404);
    assert!(!said.contains(token));
}
