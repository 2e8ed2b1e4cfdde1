//! The page about the interface has the routes that there are.
//!
//! What else it says is tried in the files beside.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};

use tidewheel_server::table::{Form, Gives, Route, Takes, headers_of, routes};

const BEGIN: &str = "--test it page:: -->\n";
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

/// The file with the example of each form, in the tests of the client: the name of a document is not that of its type.
const EXAMPLES: &[(&str, &str)] = &[
    ("AnswerWish", "wish-answer"),
    ("Answered", "answered"),
    ("ApprovalList", "approvals"),
    ("ArtifactList", "artifacts"),
    ("Asked", "asked"),
    ("Asker", "asker"),
    ("AttemptList", "attempts"),
    ("AuditList", "audit"),
    ("AuditVerified", "audit-verified"),
    ("BackfillWish", "wish-backfill"),
    ("CancelWish", "wish-cancel"),
    ("Delivered", "delivered"),
    ("Explained", "explained"),
    ("Figures", "figures"),
    ("FlowDetail", "flow"),
    ("FlowGrid", "grid"),
    ("FlowList", "flows"),
    ("FlowSource", "flow-source"),
    ("Glance", "glance"),
    ("GoneOn", "gone-on"),
    ("Happened", "happened"),
    ("Health", "health"),
    ("Ledger", "ledger"),
    ("LimitList", "limits"),
    ("LogErrorLine", "log-error"),
    ("LogFound", "log-found"),
    ("LogGrown", "log-grown"),
    ("LogLines", "log-lines"),
    ("LogList", "logs"),
    ("LoginLink", "login-link"),
    ("OrderPreview", "order"),
    ("Plan", "plan"),
    ("Preview", "preview"),
    ("PriorityChanged", "priority-changed"),
    ("PriorityWish", "wish-priority"),
    ("QueueList", "queues"),
    ("Reloaded", "reloaded"),
    ("ResumeWish", "wish-resume"),
    ("RetryWish", "wish-retry"),
    ("RunList", "runs"),
    ("RunResult", "result"),
    ("ScheduleAsked", "schedule-asked"),
    ("ScheduleList", "schedules"),
    ("Standing", "standing"),
    ("StartWish", "wish-start"),
    ("StartedRun", "started-run"),
    ("StepList", "steps"),
    ("StoreFigures", "store"),
    ("TokenList", "tokens"),
    ("TokenMade", "token-made"),
    ("TokenWish", "wish-token"),
    ("Upcoming", "upcoming"),
    ("WaitingLine", "line"),
];

const HEAD: &str = "# Bodies of the HTTP interface\n\n\
    One example of each document that is [sent or answered](http-api.md), from the tests of the contract. Over HTTP each has its `version` as well. In what is\n\
    sent, everything may be left out that has a default, and a word that is not known is refused; in what is answered, words may be added.\n\n\
    <!-- made from the table of routes and the tests of the client: TIDEWHEEL_BLESS=1 cargo test -p tidewheel-server --test it page:: -->\n";

fn example(form: &Form) -> String {
    let form = form.name();
    let known = EXAMPLES.iter().find(|(name, _)| *name == form);
    let (_, file) = known.unwrap_or_else(|| panic!("no example of {form}: name its file here"));
    let tests = Path::new(env!("CARGO_MANIFEST_DIR")).join("../tidewheel-client/tests");
    let folders = ["contract", "contract_house", "contract_logs"]
        .map(|it| tests.join(it).join(format!("{file}.json")));
    let path: &PathBuf = folders.iter().find(|path| path.exists()).expect(file);
    std::fs::read_to_string(path).unwrap()
}

fn forms_of(route: &Route) -> [Option<Form>; 2] {
    let sent = match route.takes {
        Takes::Document(form, _) | Takes::MaybeDocument(form, _) => Some(form),
        _ => None,
    };
    let answered = match route.gives {
        Gives::Document(form) | Gives::Events(form) => Some(form),
        _ => None,
    };
    // Anything at all has no example, and what has the form of another program is described by that.
    let is_ours = |form: &Form| form.name() != "Value" && !form.name().starts_with("Flowtoy");
    [sent, answered].map(|form| form.filter(is_ours))
}

#[test]
fn the_page_of_bodies_has_an_example_of_every_document() {
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../docs/reference/http-bodies.md");
    let mut page = HEAD.to_owned();
    for (place, title) in [(0, "What is sent"), (1, "What is answered")] {
        let mut found: BTreeMap<String, (Form, Vec<String>)> = BTreeMap::new();
        for route in routes() {
            if let Some(form) = forms_of(route)[place] {
                let (_, by) = found.entry(form.name()).or_insert_with(|| (form, Vec::new()));
                by.push(format!("`{} {}`", route.verb.word(), route.path));
            }
        }
        page += &format!("\n## {title}\n");
        for (name, (form, by)) in found {
            let of = if place == 0 { "To" } else { "By" };
            page += &format!("\n### {name}\n\n{of} {}.\n\n", by.join(", "));
            page += &format!("```json\n{}```\n", example(&form));
        }
    }
    page += "\n## Headers\n\n| Asked for by | Header | What |\n|---|---|---|\n";
    for route in routes() {
        for header in headers_of(route) {
            let (verb, path) = (route.verb.word(), route.path);
            page += &format!("| `{verb} {path}` | `{}` | {} |\n", header.name, header.about);
        }
    }
    if std::env::var_os("TIDEWHEEL_BLESS").is_some() {
        std::fs::write(&path, page).unwrap();
        return;
    }
    let written = std::fs::read_to_string(&path).unwrap_or_default();
    assert!(written == page, "TIDEWHEEL_BLESS=1 writes it anew");
}
