//! Pages for people: all that there is is on them, nothing of somebody else's becomes markup, and without a browser's
//! scripts they can be read.
//!
//! What a person does with them in a real browser is tried by `./test`.

use std::io::Read as _;

use crate::scene::{Answer, Scene, Wish};
use axum::http::StatusCode;
use flate2::read::GzDecoder;
use tidewheel_client::api::StartWish;
use tidewheel_client::house::Seen;
use tidewheel_server::Settings;
use tidewheel_server::identity::Role;
use tidewheel_server::table::{Gives, routes};

/// A flow with names that would do something if they were markup, and a step that asks.
const ODD: &str = r#"
name: odd
description: "<script>alert('description')</script>"
tags: ["<b>tag</b>"]
params: { "who": { default: "\"><svg onload=alert(2)>", description: "<i>who</i>" } }
schedule: [{ name: "<u>daily</u>", cron: '0 5 * * *', zone: Europe/Berlin }]
flow:
  - { name: "a <img src=x onerror=alert(3)>", wait: { approval: "<script>alert(4)</script>?", every: 10ms } }
  - { name: "b <script>", wait: 1ms, depends_on: ["a <img src=x onerror=alert(3)>"] }
"#;

fn text(answer: &Answer) -> String {
    String::from_utf8(answer.body.clone()).unwrap()
}

async fn look(scene: &Scene, token: &str, path: &str) -> String {
    let wish = Wish::new("GET", path).token(token).header("accept", "text/html");
    let answer = scene.send(wish).await;
    let page = text(&answer);
    assert_eq!(answer.status, StatusCode::OK, "{path}: {page}");
    let policy = answer.header("content-security-policy");
    assert!(policy.contains("script-src 'self'") && !policy.contains("unsafe"), "{path}: {policy}");
    page
}

/// Starts the flow, and waits until it asks.
async fn started(scene: &Scene, flow: &str) -> String {
    let mut happenings = scene.house.happenings(None);
    let wish = StartWish { flow: flow.to_owned(), ..StartWish::default() };
    let run = scene.house.start(wish).await.unwrap().run_id;
    while scene.house.desk().here(|desk| desk.approvals()).await.unwrap().approvals.is_empty() {
        assert!(matches!(happenings.next().await, Some(Seen::Happened(_))));
    }
    run
}

async fn odd() -> (Scene, String) {
    let scene = Scene::patient().await;
    std::fs::write(scene.path.join("flows/odd.yaml"), ODD).unwrap();
    scene.house.reload().await.unwrap();
    assert_eq!(scene.house.flows().await.broken, []);
    let run = started(&scene, "odd").await;
    (scene, run)
}

fn pages(run: &str) -> Vec<String> {
    let step = "a%20%3Cimg%20src=x%20onerror=alert(3)%3E";
    let schedule = "odd%2F%3Cu%3Edaily%3C%2Fu%3E";
    vec![
        "/".to_owned(),
        "/flows".to_owned(),
        "/flows/odd".to_owned(),
        "/flows/odd?tab=history".to_owned(),
        "/flows/odd?tab=schedule".to_owned(),
        "/flows/odd?tab=file".to_owned(),
        "/flows/odd/run".to_owned(),
        "/runs".to_owned(),
        format!("/runs/{run}"),
        format!("/runs/{run}?view=time"),
        format!("/runs/{run}?view=slots"),
        format!("/runs/{run}?view=list&q=a"),
        format!("/runs/{run}?view=list&from=0&part=true"),
        format!("/runs/{run}/log"),
        format!("/runs/{run}/steps/{step}"),
        format!("/runs/{run}/steps/{step}/log"),
        "/queues".to_owned(),
        "/schedules".to_owned(),
        format!("/schedules/{schedule}"),
        "/approvals".to_owned(),
        "/system".to_owned(),
        "/system?tab=store".to_owned(),
        "/system?tab=tokens".to_owned(),
        "/system?tab=audit".to_owned(),
        "/keys".to_owned(),
    ]
}

#[tokio::test]
async fn every_page_is_there_and_nothing_of_somebody_elses_becomes_markup() {
    let (scene, run) = odd().await;
    let token = scene.token(Role::Admin);
    let pages = pages(&run);
    for path in &pages {
        let page = look(&scene, &token, path).await;
        for wrong in [
            "<script>alert",
            "<img src=x",
            "<svg onload",
            "<i>who",
            "<u>daily",
            "<b>tag",
            " style=",
        ] {
            assert!(!page.contains(wrong), "{path} has {wrong}");
        }
        let modules = usize::from(!path.contains("part=true"));
        assert_eq!(page.matches("<b class=\"count\">1</b>").count(), modules, "{path}: one asks");
        assert_eq!(page.matches("<script").count(), modules, "{path}: only our own module");
        assert!(!page.contains("onclick") && !page.contains("javascript:"), "{path}");
    }
    // Each page was tried.
    let known = routes().filter(|route| matches!(route.gives, Gives::Page));
    assert_eq!(known.count(), 17, "a new page belongs into this list");
}

#[tokio::test]
async fn a_page_is_compressed_for_those_who_can_unpack_it() {
    let (scene, _) = odd().await;
    let token = scene.token(Role::Viewer);
    let plain = look(&scene, &token, "/flows").await;
    let wish = Wish::new("GET", "/flows").token(&token).header("accept", "text/html");
    let answer = scene.send(wish.header("accept-encoding", "br, gzip")).await;
    assert_eq!(
        (answer.header("content-encoding"), answer.header("vary")),
        ("gzip", "Accept-Encoding")
    );
    assert!(answer.body.len() * 2 < plain.len(), "{} of {}", answer.body.len(), plain.len());
    let mut page = String::new();
    GzDecoder::new(&*answer.body).read_to_string(&mut page).unwrap();
    assert_eq!(page.lines().count(), plain.lines().count());
}

#[tokio::test]
async fn what_matters_is_on_the_first_page() {
    let (scene, run) = odd().await;
    let token = scene.token(Role::Operator);
    let page = look(&scene, &token, "/").await;
    assert!(page.contains("<b>1</b> <span>approval</span>"), "{page}");
    assert!(page.contains(&format!("data-answer=\"yes\" data-run=\"{run}\"")), "{page}");
    assert!(page.contains("&#60;script&#62;alert(4)&#60;/script&#62;?"), "{page}");
    let page = look(&scene, &scene.token(Role::Viewer), "/").await;
    assert!(!page.contains("data-answer"), "who only looks is not offered what they may not do");
    assert!(page.contains("tidewheel approve"), "and without scripts the command is there");
}

/// The parts of a page that come anew while somebody looks at it: what is in none of them stays as it was.
fn parts(page: &str) -> Vec<&str> {
    let tags = page.split('<').filter(|tag| tag.split('>').next().unwrap().contains(" data-part"));
    tags.filter_map(|tag| tag.split(" id=\"").nth(1)?.split('"').next()).collect()
}

#[tokio::test]
async fn what_comes_later_has_its_place_on_the_page_from_the_beginning() {
    let (scene, asking) = odd().await;
    let ended = scene.run().await;
    let token = scene.token(Role::Viewer);
    for view in ["graph", "time", "slots", "list"] {
        let of = async |run: &str| look(&scene, &token, &format!("/runs/{run}?view={view}")).await;
        let (live, over) = (of(&asking).await, of(&ended).await);
        assert_eq!(parts(&live), parts(&over), "{view}");
        for part in ["panel", "p-files", "p-head", "p-strip"] {
            assert!(parts(&over).contains(&part), "{view}: {part}");
        }
        let own = match view {
            "time" | "slots" => "p-gantt",
            "list" => "p-list",
            // It keeps its place while it comes anew.
            _ => continue,
        };
        assert!(parts(&live).contains(&own), "{view}");
    }
    let queues = look(&scene, &token, "/queues").await;
    assert!(parts(&queues).contains(&"p-limits"), "{queues}");
    let before = look(&scene, &token, "/flows/odd").await;
    let broken = ODD.replace("wait: 1ms", "wait: soon");
    std::fs::write(scene.path.join("flows/odd.yaml"), broken).unwrap();
    scene.house.reload().await.unwrap();
    let after = look(&scene, &token, "/flows/odd").await;
    assert!(after.contains("Its file says something else by now"), "{after}");
    assert_eq!(parts(&before), parts(&after));
}

/// What a person presses to change something.
const CHANGING: [&str; 9] = [
    " data-answer=",
    " data-retry=",
    " data-skip=",
    " data-cancel=",
    " data-do=",
    " data-priority=",
    " data-backfill=",
    " data-remove=",
    " data-bulk=",
];

#[tokio::test]
async fn who_only_looks_is_offered_nothing_that_they_may_not_do() {
    let (scene, asking) = odd().await;
    let ended = scene.run().await;
    let mut all = pages(&asking);
    all.extend([
        format!("/runs/{asking}?step=a%20%3Cimg%20src=x%20onerror=alert(3)%3E"),
        format!("/runs/{ended}"),
        format!("/runs/{ended}/steps/read"),
    ]);
    let offered = async |role: Role| {
        let token = scene.token(role);
        let mut found = Vec::new();
        for path in &all {
            let page = look(&scene, &token, path).await;
            let has = CHANGING.into_iter().filter(|it| page.contains(it));
            found.extend(has.map(|it| (path.clone(), it)));
        }
        found
    };
    assert_eq!(offered(Role::Viewer).await, []);
    let offered = offered(Role::Operator).await;
    let is_on = |path: &str, what: &str| {
        offered.iter().any(|(known, it)| known.ends_with(path) && it.contains(what))
    };
    assert!(is_on("alert(3)%3E", "data-answer") && is_on("/steps/read", "data-retry"));
    let page = look(&scene, &scene.token(Role::Viewer), &all[14]).await;
    assert!(page.contains("To answer needs the role operator"), "{page}");
}

#[tokio::test]
async fn the_audit_log_can_be_read_to_its_beginning() {
    let scene = Scene::patient().await;
    let token = scene.token(Role::Admin);
    for _ in 0..120 {
        let wish = Wish::new("POST", "/api/v1/runs/nothing/pause").token(&token);
        assert_eq!(scene.send(wish).await.status, StatusCode::NOT_FOUND);
    }
    let numbers = |page: &str| -> Vec<u64> {
        let cells = page.split("<td class=\"number no dim\">").skip(1);
        cells.map(|it| it.split('<').next().unwrap().parse().unwrap()).collect()
    };
    let newest = look(&scene, &token, "/system?tab=audit").await;
    let older = newest.split("<a class=\"button\" href=\"").nth(1).unwrap();
    let older = older.split('"').next().unwrap().replace("&#38;", "&");
    assert_eq!(older, "/system?tab=audit&before=21");
    let oldest = look(&scene, &token, &older).await;
    assert_eq!(numbers(&newest), (21..=120).rev().collect::<Vec<u64>>());
    assert_eq!(numbers(&oldest), (1..=20).rev().collect::<Vec<u64>>());
    assert!(!oldest.contains("Older rows"), "{oldest}");
}

#[tokio::test]
async fn what_is_wrong_with_a_file_stands_at_its_line_beside_what_is_in_force() {
    let (scene, _) = odd().await;
    let token = scene.token(Role::Viewer);
    let fine = look(&scene, &token, "/flows/odd?tab=file").await;
    assert!(!fine.contains("source-line wrong"), "{fine}");
    let broken = ODD.replace("wait: 1ms", "wait: soon");
    let line = 1 + broken.lines().position(|line| line.contains("wait: soon")).unwrap();
    std::fs::write(scene.path.join("flows/odd.yaml"), broken).unwrap();
    scene.house.reload().await.unwrap();
    let page = look(&scene, &token, "/flows/odd?tab=file").await;
    assert!(page.contains("as it is now: it cannot be run"), "{page}");
    assert!(page.contains("the version in force"), "{page}");
    let wrong: Vec<&str> = page.split("<span class=\"source-line wrong\" id=\"L").skip(1).collect();
    assert_eq!(wrong.len(), 1, "only what is wrong, and not in what is in force: {page}");
    assert!(wrong[0].starts_with(&format!("{line}\"")), "{}", wrong[0]);
    let problem = wrong[0].split("<span class=\"problem\">").nth(1).unwrap();
    assert!(problem.starts_with("<b class=\"error\">") && problem.contains("soon"), "{problem}");
    let flows = look(&scene, &token, "/flows").await;
    assert!(flows.contains("file has problems") && flows.contains(&format!("line {line}, ")));
}

#[tokio::test]
async fn a_page_comes_anew_when_the_next_schedule_is_late_unless_it_fires() {
    let (scene, _) = odd().await;
    let token = scene.token(Role::Viewer);
    let line = scene.house.schedules().await.unwrap().schedules.into_iter();
    let due = line.filter_map(|it| it.late_from()).min().unwrap();
    for path in ["/", "/schedules", "/schedules/odd%2F%3Cu%3Edaily%3C%2Fu%3E"] {
        let page = look(&scene, &token, path).await;
        assert!(page.contains(&format!("data-due=\"{due}\"")), "{path}: {due} {page}");
    }
}

#[tokio::test]
async fn of_very_many_flows_the_first_page_has_some() {
    let scene = Scene::patient().await;
    for place in 0..130 {
        let flow = format!("flow: [{{ name: one, run: 'echo {place}' }}]\n");
        std::fs::write(scene.path.join(format!("flows/f{place}.yaml")), flow).unwrap();
    }
    scene.house.reload().await.unwrap();
    let all = scene.house.flows().await.flows.len();
    let page = look(&scene, &scene.token(Role::Viewer), "/").await;
    assert_eq!(page.matches("<tr data-row").count(), 120);
    assert!(page.contains(&format!("{} more flows", all - 120)), "{page}");
}

#[tokio::test]
async fn a_form_that_says_nothing_of_a_state_means_any() {
    let (scene, run) = odd().await;
    let token = scene.token(Role::Viewer);
    let page = look(&scene, &token, "/runs?state=&flow=&tag=").await;
    assert!(page.contains(&format!("id=\"r-{run}\"")), "{page}");
    assert!(page.contains("<option value=\"\" selected>Any state"), "{page}");
    let page = look(&scene, &token, "/runs?state=waiting").await;
    assert!(page.contains("<option value=\"waiting\" selected>"), "{page}");
    assert!(page.contains("No run matches"), "{page}");
    let wish = Wish::new("GET", "/runs?state=nothing").token(&token).header("accept", "text/html");
    assert_eq!(scene.send(wish).await.status, StatusCode::UNPROCESSABLE_ENTITY);
}

#[tokio::test]
async fn a_step_that_waits_says_why() {
    let (scene, run) = odd().await;
    let token = scene.token(Role::Viewer);
    let page = look(&scene, &token, &format!("/runs/{run}?step=b%20%3Cscript%3E")).await;
    assert!(page.contains("it waits for a &#60;img"), "{page}");
    let list = look(&scene, &token, &format!("/runs/{run}?view=list")).await;
    assert_eq!(list.matches("role=\"row\" data-row").count(), 2, "{list}");
    let part = look(&scene, &token, &format!("/runs/{run}?view=list&from=0&part=true")).await;
    assert_eq!(part.matches("role=\"row\" data-row").count(), 2, "{part}");
    assert!(!part.contains("data-letters") && !part.contains("id=\"panel\""), "{part}");
}

#[tokio::test]
async fn whoever_is_not_known_is_told_how_to_log_in_and_nothing_else() {
    let (scene, run) = odd().await;
    for path in pages(&run) {
        let answer = scene.send(Wish::new("GET", &path).header("accept", "text/html")).await;
        assert_eq!(answer.status, StatusCode::UNAUTHORIZED, "{path}");
        let page = text(&answer);
        assert!(page.contains("tidewheel login") && !page.contains("odd"), "{path}: {page}");
    }
}

#[tokio::test]
async fn what_is_not_there_is_said_on_a_page() {
    let scene = Scene::patient().await;
    let token = scene.token(Role::Viewer);
    for path in ["/runs/nothing", "/flows/nothing", "/schedules/nothing", "/nothing"] {
        let wish = Wish::new("GET", path).token(&token).header("accept", "text/html");
        let answer = scene.send(wish).await;
        assert_eq!(answer.status, StatusCode::NOT_FOUND, "{path}");
        let page = text(&answer);
        assert!(
            page.starts_with("<!doctype html>") && page.contains("Not found"),
            "{path}: {page}"
        );
    }
    let answer = scene.send(Wish::new("GET", "/nothing").token(&token)).await;
    assert_eq!(
        answer.header("content-type"),
        "application/problem+json",
        "programs get a document"
    );
    let wish = Wish::new("GET", &format!("/runs?flow={}", "a".repeat(9))).token(&token);
    let page = text(&scene.send(wish).await);
    assert!(page.contains("No run matches"), "filtered away is not empty: {page}");
}

#[tokio::test]
async fn assets_are_kept_for_ever_under_the_name_of_their_contents() {
    let scene = Scene::patient().await;
    let page = look(&scene, &scene.token(Role::Viewer), "/").await;
    let mut found: Vec<&str> =
        page.split("\"/assets/").skip(1).filter_map(|it| it.split('"').next()).collect();
    found.dedup();
    assert!(found.len() >= 4, "{found:?}");
    for name in found {
        let answer = scene.send(Wish::new("GET", &format!("/assets/{name}"))).await;
        assert_eq!(answer.status, StatusCode::OK, "{name}");
        assert!(answer.header("cache-control").contains("immutable"), "{name}");
        let file = name.split('/').nth(1).unwrap();
        let answer = scene.send(Wish::new("GET", &format!("/assets/000000000000/{file}"))).await;
        assert_eq!(answer.status, StatusCode::NOT_FOUND, "another version of {name}");
    }
}

#[tokio::test]
async fn a_server_can_be_without_pages() {
    let mut settings = Settings::default();
    settings.is_without_pages = true;
    let scene = Scene::with(settings).await;
    let token = scene.token(Role::Admin);
    for path in ["/", "/runs", "/login?code=00"] {
        let answer = scene.send(Wish::new("GET", path).token(&token)).await;
        assert!(answer.status.is_client_error(), "{path}: {}", answer.status);
    }
    let answer = scene.send(Wish::new("GET", "/api/v1/glance").token(&token)).await;
    assert_eq!(answer.status, StatusCode::OK);
}

#[tokio::test]
async fn the_documents_behind_the_pages_are_there_for_programs() {
    let (scene, run) = odd().await;
    let token = scene.token(Role::Viewer);
    let get = async |path: &str| {
        let answer = scene.send(Wish::new("GET", path).token(&token)).await;
        assert_eq!(answer.status, StatusCode::OK, "{path}: {}", text(&answer));
        answer
    };
    assert_eq!(get("/api/v1/glance").await.json()["approvals"][0]["run_id"], run);
    assert_eq!(
        get("/api/v1/approvals").await.json()["approvals"][0]["step"],
        "a <img src=x onerror=alert(3)>"
    );
    assert_eq!(get("/api/v1/line").await.json()["waiting"], serde_json::json!([]));
    assert_eq!(get("/api/v1/store").await.json()["live"], 1);
    let source = get("/api/v1/flows/odd/source").await.json();
    assert_eq!(source["files"][0]["text"], ODD);
    let steps = get(&format!("/api/v1/runs/{run}/steps?limit=1&from=1")).await.json();
    // The first looks now and then whether somebody has answered.
    assert!(matches!(steps["letters"].as_str(), Some("PP" | "RP")), "{steps}");
    assert_eq!(steps["total"], 2);
    assert_eq!(steps["steps"][0]["place"], 1);
    let grid = get("/api/v1/flows/odd/grid?runs=5").await.json();
    assert_eq!(grid["steps"].as_array().map(Vec::len), Some(2), "{grid}");
    assert_eq!(grid["runs"][0]["run_id"], run);
    assert!(matches!(grid["runs"][0]["letters"].as_str(), Some("PP" | "RP")), "{grid}");
    let explained = get(&format!("/api/v1/runs/{run}/explain")).await.json();
    let asks = |step: &serde_json::Value| step["asks"] == true || step["state"] == "running";
    assert!(asks(&explained["steps"][0]) && !asks(&explained["steps"][1]), "{explained}");
    let picture = get(&format!("/api/v1/runs/{run}/picture")).await;
    assert_eq!(picture.header("content-type"), "image/svg+xml");
    assert!(text(&picture).starts_with("<svg") && !text(&picture).contains("<img"));
}
