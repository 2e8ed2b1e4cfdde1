//! Whole crontabs: what becomes of their entries, and that each flow file can be read.

use std::collections::BTreeMap;

use serde_json::{Value as Json, json};

use super::table::Imported;
use super::*;
use crate::import::Warning;

fn surroundings() -> Surroundings {
    Surroundings {
        zone_here: "Europe/Zurich".to_owned(),
        home: Some("/home/ann".to_owned()),
        homes: BTreeMap::from([("root".to_owned(), "/root".to_owned())]),
        ..Surroundings::default()
    }
}

/// The flows as values, with what is the same in all of them taken away.
fn flows(imported: &Imported) -> Vec<Json> {
    imported
        .flows
        .iter()
        .map(|flow| match tidewheel_client::files::parse_yaml(&flow.text) {
            Ok(value) => value,
            Err(error) => panic!("{error}\n{}", flow.text),
        })
        .collect()
}

fn only(text: &str) -> (Json, String, Vec<String>) {
    let imported = import(text, &surroundings());
    let [flow] = &flows(&imported)[..] else { panic!("{text}: not one flow") };
    let warnings = imported.warnings.iter().map(Warning::to_string).collect();
    (flow.clone(), imported.flows[0].text.clone(), warnings)
}

#[test]
fn an_entry_is_a_flow_with_one_step() {
    let text = "# Nightly backup\n# of everything\n30 2 * * * /usr/local/bin/backup.sh --all\n";
    let imported = import(text, &surroundings());
    assert_eq!(imported.warnings, []);
    assert_eq!(imported.flows[0].schedule.as_deref(), Some("30 2 * * * (Europe/Zurich)"));
    assert_eq!(
        imported.flows[0].text,
        "\
# Line 3 of a crontab:
#   30 2 * * * /usr/local/bin/backup.sh --all

name: backup

description: |-
  Nightly backup
  of everything

schedule:
  cron: 30 2 * * *
  zone: Europe/Zurich
  # As cron has it: a run that is not over yet holds up nothing. Without this line, the next one
  # would be skipped.
  overlap: allow
  # As cron has it: what was missed is not made up for. Without this line, the newest of it would
  # be.
  misfire: skip

flow:
  - name: backup
    run: /usr/local/bin/backup.sh --all
    # The home folder, where cron ran it.
    cwd: /home/ann
"
    );
}

#[test]
fn variables_hold_for_what_follows_them() {
    let text = "A=1\n* * * * * a\nA=2\nB=' x '\n* * * * * b >x 2>&1 && c | d\nSHELL=/bin/bash\n* * * * * c\n\
                SHELL=/bin/sh\n* * * * * a; b\n";
    let imported = import(text, &surroundings());
    let flows = flows(&imported);
    assert_eq!(flows[0]["env"], json!({ "A": "1" }));
    assert_eq!(flows[1]["env"], json!({ "A": "2", "B": " x " }));
    assert_eq!(flows[1]["flow"][0]["shell"], Json::Null);
    assert_eq!(flows[2]["flow"][0]["shell"], json!(["/bin/bash", "-c"]));
    // One that goes on after a failure still does.
    assert_eq!(flows[3]["flow"][0]["shell"], json!(["/bin/sh", "-c"]));
}

#[test]
fn the_zone_is_that_of_cron_tz_or_tz_or_the_machine() {
    let zone = |text: &str, asked: Option<&str>| {
        let asked = asked.map(str::to_owned);
        let imported = import(text, &Surroundings { zone: asked, ..surroundings() });
        flows(&imported)[0]["schedule"]["zone"].as_str().unwrap().to_owned()
    };
    assert_eq!(zone("* * * * * a", None), "Europe/Zurich");
    assert_eq!(zone("* * * * * a", Some("Asia/Tokyo")), "Asia/Tokyo");
    assert_eq!(
        zone("CRON_TZ=America/New_York\n* * * * * a", Some("Asia/Tokyo")),
        "America/New_York"
    );
    assert_eq!(zone("TZ=America/New_York\n* * * * * a", None), "America/New_York");
    assert_eq!(zone("TZ=America/New_York\n* * * * * a", Some("Asia/Tokyo")), "Asia/Tokyo");
    assert_eq!(zone("TZ=Asia/Tokyo\nCRON_TZ=UTC\n* * * * * a", None), "UTC");
    let (flow, _, warnings) = only("CRON_TZ=Mars/Olympus\n* * * * * a");
    assert_eq!(flow["schedule"]["zone"], "Europe/Zurich");
    assert!(warnings[0].contains("Mars/Olympus"), "{warnings:?}");
}

#[test]
fn the_home_folder_is_where_it_runs() {
    let (flow, ..) = only("HOME=/srv\n* * * * * a");
    assert_eq!((&flow["flow"][0]["cwd"], &flow["env"]["HOME"]), (&json!("/srv"), &json!("/srv")));
    let nobody = Surroundings { home: None, ..surroundings() };
    assert_eq!(flows(&import("* * * * * a", &nobody))[0]["flow"][0]["cwd"], Json::Null);
}

#[test]
fn percent_signs_make_standard_input() {
    let (flow, ..) = only("0 9 * * 1 mail -s \"Week \\%\" ann%Hello,%%It is 100\\% Monday {{.}}");
    assert_eq!(flow["flow"][0]["run"], "mail -s \"Week %\" ann");
    assert_eq!(flow["flow"][0]["stdin"], "Hello,\n\nIt is 100% Monday {{ '{{' }}.}}\n");
}

#[test]
fn braces_do_not_become_templates() {
    let (flow, ..) = only("A={{ x }}\n* * * * * docker ps --format '{{.Names}}'");
    assert_eq!(flow["env"]["A"], "{{ '{{' }} x }}");
    let command = "{% raw %}docker ps --format '{{.Names}}'{% endraw %}";
    assert_eq!(flow["flow"][0]["run"], command);
}

#[test]
fn what_cannot_be_said_is_a_comment_and_a_warning() {
    for (text, comment, warning) in [
        ("@reboot /sbin/warm-up", "tidewheel run warm-up.yaml", "line 1: @reboot"),
        ("61 * * * * a", "minute 61 is out of range", "line 1: `61 * * * *`"),
        ("0 0 31 2 * a", "no date matches", "line 1: `0 0 31 2 *`"),
        ("0 22-6 * * * a", "runs backwards", "line 1: `0 22-6 * * *`"),
        ("0~30 * * * * a", "is any value", "line 1: minute `0~30`"),
        ("MAILTO=ops@example.org\n* * * * * a", "to ops@example.org", ""),
        ("LOGNAME=bob\n* * * * * a", "LOGNAME=bob", "line 2: `LOGNAME=bob`"),
        ("my-var=1\n* * * * * a", "`my-var`", "line 2: `my-var`"),
        ("* * * * * -n a", "the flag `-n`", ""),
        ("nonsense\n* * * * * a", "#   nonsense", "line 1: this is no entry"),
        ("* * * * * a\n* * * *", "#   * * * *", "line 2: this is no entry"),
        ("* * * * * root a", "root a", "line 1: the command begins with `root`"),
        ("#0 1 * * * off\n* * * * * a", "Line 2", "line 1: this is an entry that is commented out"),
    ] {
        let (_, written, warnings) = only(text);
        assert!(written.contains(comment), "{text}:\n{written}");
        let is_there = warnings.iter().any(|it| it.starts_with(warning));
        assert_eq!(is_there, !warning.is_empty(), "{text}: {warnings:?}");
    }
}

#[test]
fn a_system_crontab_has_users() {
    let text = "\
SHELL=/bin/sh
# An entry looks like this:
# .---------------- minute (0 - 59)
# |  .------------- hour (0 - 23)
# |  |
# *  *  *  *  * user-name command to be executed
17 *\t* * *\troot\tcd / && run-parts --report /etc/cron.hourly
25 6\t* * *\tbob\ttest -x /usr/sbin/anacron || { cd / && run-parts --report /etc/cron.daily; }
";
    let imported = import(text, &Surroundings { is_system: true, ..surroundings() });
    let flows = flows(&imported);
    assert_eq!(flows[0]["name"], "run-parts");
    assert_eq!(flows[0]["description"], Json::Null);
    assert_eq!(flows[0]["flow"][0]["run"], "cd / && run-parts --report /etc/cron.hourly");
    assert_eq!(flows[0]["flow"][0]["cwd"], "/root");
    assert_eq!(flows[0]["flow"][0].get("shell"), None);
    assert_eq!(flows[1]["name"], "run-parts-2");
    assert_eq!(flows[1]["flow"][0]["cwd"], Json::Null);
    let warnings: Vec<String> = imported.warnings.iter().map(Warning::to_string).collect();
    assert_eq!(warnings.len(), 3, "{warnings:?}");
}

#[test]
fn comments_belong_to_the_entry_right_below() {
    let text = "# m h  dom mon dow   command\n# One\n* * * * * a\n* * * * * b\n# Lost\n\n\
                * * * * * c\n# Of the variable\nA=1\n* * * * * d\n";
    let imported = import(text, &surroundings());
    let found: Vec<Json> =
        flows(&imported).iter().map(|flow| flow["description"].clone()).collect();
    assert_eq!(found, [json!("One"), Json::Null, Json::Null, Json::Null]);
}

#[test]
fn schedules_beyond_cron_are_kept() {
    let (flow, ..) = only("@600 poll");
    assert_eq!(flow["schedule"], json!({ "after": "600s" }));
    let (flow, ..) = only("RANDOM_DELAY=15\n@daily a");
    assert_eq!(
        (&flow["schedule"]["cron"], &flow["schedule"]["jitter"]),
        (&json!("@daily"), &json!("15m"))
    );
    let (flow, ..) = only("* * * * * -s a");
    assert_eq!(flow["schedule"]["overlap"], Json::Null);
}

/// Odd lines, as they are found in the wild. None may be lost, and each flow must be sound.
const ODD: [&str; 33] = [
    "*/10 * * * * [ $(date +\\%u) -eq 1 ] && echo \"it's \\\"Monday\\\"\"",
    "0 0 * * 0 /bin/sh -c 'for i in 1 2; do echo $i; done'",
    "5 4 * * sun echo \"run at 5 after 4 every Sunday\"",
    "0,30 */2 1-7,15 jan,FEB 1-5 a",
    "  \t 0  5 * *\t1   tar -zcf /var/backups/home.tgz /home/  ",
    "* * * * * : # nothing",
    "* * * * * #",
    "* * * * * echo tab\there",
    "* * * * * echo 'yes: no' # comment: here",
    "* * * * * - a",
    "* * * * * null",
    "* * * * * 12",
    "* * * * * !!",
    "* * * * * echo 日本語 ✓",
    "* * * * * echo \\",
    "* * * * * %",
    "* * * * * %only input",
    "* * * * * a %%% b",
    "@yearly @notanickname",
    "@monthly\techo a",
    "@every_minute a",
    "@5 a",
    "@ a",
    "@midnight X=1 Y='2 3' a",
    "* * * * * a & b & c",
    "00 08 * * * a",
    "*/7 */3 */2 */5 */2 a",
    "0-59/1 0-23 1-31 1-12 0-7 a",
    "* * * * * { a; }",
    "* * * * * {% raw %} {# x #} ${#y} {{",
    "* * * * * {% endraw %} {{",
    "59 23 31 12 5 /very/long/path/to/a/program/with-a-name-that-goes-on-and-on-and-on-and-on.sh",
    "* * * * * echo \u{7f}\u{1b}[1m",
];

#[test]
fn no_odd_line_is_lost() {
    let crontab = ODD.join("\n");
    let imported = import(&crontab, &surroundings());
    assert_eq!(imported.flows.len(), ODD.len());
    let mut names = std::collections::BTreeSet::new();
    for (flow, line) in imported.flows.iter().zip(ODD) {
        assert!(names.insert(&flow.name), "{line}");
        let path = std::path::PathBuf::from(format!("{}.yaml", flow.name));
        let texts = BTreeMap::from([(path.clone(), std::sync::Arc::from(flow.text.as_str()))]);
        let loaded = tidewheel_client::files::FlowFiles::of_texts(&[path], &texts);
        assert!(
            loaded.runnable().is_ok(),
            "{line}\n{}\n{}",
            flow.text,
            loaded.problems(false, 100)
        );
    }
}

#[test]
fn an_empty_crontab_has_no_flows() {
    for text in ["", "\n\n", "# nothing here\n", "MAILTO=root\n"] {
        assert!(import(text, &surroundings()).flows.is_empty(), "{text:?}");
    }
}

#[test]
fn tabs_in_a_line_are_blanks_in_its_comment() {
    let imported = import("*/5 * * * *\techo\thi\n", &Surroundings::default());
    assert!(
        imported.flows[0].text.contains("#   */5 * * * * echo hi\n"),
        "{}",
        imported.flows[0].text
    );
}
