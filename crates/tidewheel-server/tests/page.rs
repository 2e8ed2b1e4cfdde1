//! The page about the interface has the routes that there are.
//!
//! What else it says is tried in the files beside.
#![allow(clippy::unwrap_used, reason = "what is missing fails the test")]

use std::path::Path;

use tidewheel_server::table::{Gives, routes};

const BEGIN: &str = "--test page -->\n";
const END: &str = "<!-- end -->";

#[test]
fn the_page_about_the_interface_has_every_route() {
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../docs/reference/http-api.md");
    let page = std::fs::read_to_string(&path).unwrap();
    let mut table = "\n| Asked for by | Who | What |\n|---|---|---|\n".to_owned();
    let described = routes().filter(|route| !matches!(route.gives, Gives::Page));
    for route in described {
        let (verb, who) = (route.verb.word(), format!("{:?}", route.permission).to_lowercase());
        table += &format!("| `{verb} {}` | {who} | {} |\n", route.path, route.about);
    }
    table += "\n";
    let from = page.find(BEGIN).unwrap() + BEGIN.len();
    let to = page.find(END).unwrap();
    if std::env::var_os("TIDEWHEEL_BLESS").is_some() {
        let page = format!("{}{table}{}", &page[..from], &page[to..]);
        std::fs::write(&path, page).unwrap();
        return;
    }
    assert_eq!(&page[from..to], table, "TIDEWHEEL_BLESS=1 writes it anew");
}
