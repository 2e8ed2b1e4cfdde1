//! Text that wants to be more than text: templates, paths, statements of a database. It is kept and shown as it came.
//!
//! Markup is tried in `pages`, names that lead to files in `permissions`.

use crate::scene::{Scene, Wish, filled};
use axum::http::StatusCode;
use serde_json::json;
use tidewheel_client::api::{RunState, StartWish};
use tidewheel_client::house::Seen;
use tidewheel_server::identity::Role;
use tidewheel_server::table::{Gives, Route, Verb, routes};

/// A flow that leaves what it was told, and what it found.
const SAYS: &str = "
name: says
params: { what: { type: text } }
sources: { data: { type: file, configuration: { path: data.json } } }
flow:
  - { name: say, source: data, outputs: { found: '{{ json.value }}', said: '{{ params.what }}' } }
";

/// What somewhere is reckoned, read from a file or run. Each that is reckoned has the number 5929 in it.
const TEXTS: [&str; 12] = [
    "{{ 77 * 77 }}",
    "{{ params.what }}{{ 77 * 77 }}",
    "{% if true %}{{ 77 * 77 }}{% endif %}",
    "${77*77} #{77*77} <%= 77*77 %>",
    "{{ secrets.hook }}",
    "@/etc/passwd",
    "file:///etc/passwd",
    "|/bin/cat /etc/passwd",
    "!include /etc/passwd",
    "~/.profile",
    "$(cat /etc/passwd)",
    "`cat /etc/passwd`",
];

/// So many statements are tried.
const STATEMENTS: usize = 200;

/// How somebody tries to get out of the text they are in.
const ENDS: [&str; 20] = [
    "",
    "'",
    "\"",
    "`",
    "')",
    "'))",
    "1",
    "-1",
    "%27",
    "\\'",
    "1)",
    "a' ",
    "[",
    "];",
    "';",
    "\";",
    "/*",
    "--",
    "x\u{2019}",
    "\n",
];

/// And what they want to have done then.
const WISHES: [&str; 10] = [
    " OR 1=1--",
    " UNION SELECT payload FROM live_runs--",
    "; DROP TABLE runs;--",
    " OR randomblob(1000000000)",
    "||(SELECT sql FROM sqlite_schema)||",
    " AND 1=(SELECT COUNT(*) FROM runs)--",
    "; ATTACH DATABASE 'x.db' AS x;--",
    "; PRAGMA writable_schema=1;--",
    " LIMIT 1000000--",
    " ORDER BY load_extension('x')--",
];

#[tokio::test]
async fn what_is_sent_or_found_is_text_whatever_it_looks_like() {
    let scene = Scene::patient().await;
    let token = scene.token(Role::Admin);
    std::fs::write(scene.path.join("flows/says.yaml"), SAYS).unwrap();
    scene.house.reload().await.unwrap();
    for text in TEXTS {
        let data = json!({ "value": text }).to_string();
        std::fs::write(scene.path.join("flows/data.json"), data).unwrap();
        let run = say(&scene, text).await;
        let get = |path: String| scene.send(Wish::new("GET", &path).token(&token));
        let shown = get(format!("/api/v1/runs/{run}")).await.json();
        let left = &shown["steps"]["say"]["outputs"];
        assert_eq!((&left["found"], &left["said"]), (&json!(text), &json!(text)), "{shown}");
        assert_eq!(shown["tags"], json!([text]));
        let mut seen = 0;
        for route in routes().filter(|route| matches!(route.gives, Gives::Page)) {
            let path = route.path.replace("{step}", "say").replace("{flow}", "says");
            let page = get(filled(&path, &run)).await;
            let page = String::from_utf8_lossy(&page.body).into_owned();
            assert!(!page.contains("5929") && !page.contains("root:"), "{path}: {text}");
            seen += usize::from(page.contains(&escaped(text)));
        }
        assert!(seen > 0, "no page shows {text}");
    }
}

/// Runs the flow with this text; its id.
async fn say(scene: &Scene, text: &str) -> String {
    let mut happenings = scene.house.happenings(None);
    let mut wish = StartWish { flow: "says".to_owned(), ..StartWish::default() };
    wish.params.insert("what".to_owned(), json!(text));
    wish.tags.push(text.to_owned());
    let run = scene.house.start(wish).await.unwrap().run_id;
    while scene.house.desk().show(&run).await.unwrap().state == RunState::Running {
        assert!(matches!(happenings.next().await, Some(Seen::Happened(_))));
    }
    run
}

/// As it stands in a page.
fn escaped(text: &str) -> String {
    let signs = [('&', "&#38;"), ('<', "&#60;"), ('>', "&#62;"), ('"', "&#34;"), ('\'', "&#39;")];
    signs.iter().fold(text.to_owned(), |text, (sign, code)| text.replace(*sign, code))
}

#[tokio::test]
async fn no_word_of_a_query_becomes_part_of_a_statement() {
    let scene = Scene::patient().await;
    let run = scene.run().await;
    let token = scene.token(Role::Admin);
    let statements: Vec<String> =
        ENDS.iter().flat_map(|end| WISHES.map(|wish| format!("{end}{wish}"))).collect();
    assert_eq!(statements.len(), STATEMENTS);
    let mut tried = 0;
    for route in routes().filter(|route| route.verb == Verb::Get && route.query.is_some()) {
        let path = route.path.replace("{step}", "read").replace("{flow}", "reads");
        let path = filled(&path.replace("{schedule}", "asks%2Fasks-daily"), "last");
        for word in words(route) {
            for statement in &statements {
                let path = format!("{path}?{word}={}", encoded(statement));
                let answer = scene.send(Wish::new("GET", &path).token(&token)).await;
                let text = String::from_utf8_lossy(&answer.body);
                assert!(!answer.status.is_server_error(), "{path}: {text}");
                let is_foreign = ["CREATE TABLE", "sqlite_", "syntax error", "no such column"]
                    .into_iter()
                    .find(|sign| text.contains(sign) && !statement.contains(sign));
                assert_eq!(is_foreign, None, "{path}: {text}");
                tried += 1;
            }
        }
    }
    assert!(tried > 20 * STATEMENTS, "only {tried}");
    let list = scene.send(Wish::new("GET", "/api/v1/runs").token(&token)).await;
    assert_eq!(list.status, StatusCode::OK);
    assert_eq!(list.json()["runs"].as_array().unwrap().len(), 1, "nothing is gone");
    assert_eq!(list.json()["runs"][0]["run_id"], run);
}

/// The words that a route knows behind the question mark.
fn words(route: &Route) -> Vec<String> {
    let schemas = route.query.unwrap().schemas();
    let own = serde_json::to_value(&schemas[0].1).unwrap();
    own["properties"].as_object().unwrap().keys().cloned().collect()
}

fn encoded(text: &str) -> String {
    text.bytes().map(|byte| format!("%{byte:02x}")).collect()
}
