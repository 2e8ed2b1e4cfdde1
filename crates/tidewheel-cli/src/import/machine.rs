//! What an import asks the machine it runs on: its zone, and the home folders of its users.
//!
//! Everything else in an import is text in and text out.

use std::collections::BTreeMap;
use std::fs;
use std::path::{Component, Path};

use tidewheel_core::calendar::Zone;

/// Where nothing else is known.
const ZONE_DEFAULT: &str = "UTC";

/// Whether the entries of this file have a column for users, as those of the system do.
pub(crate) fn is_system_crontab(path: &Path) -> bool {
    path == Path::new("/etc/crontab") || path.starts_with("/etc/cron.d")
}

/// The zone of this machine, by which its cron goes.
pub(crate) fn zone() -> String {
    let link = fs::read_link("/etc/localtime").ok();
    let text = fs::read_to_string("/etc/timezone").ok();
    first_known([
        std::env::var("TZ").ok(),
        link.as_deref().and_then(zone_of_link),
        text.map(|text| text.trim().to_owned()),
    ])
}

fn first_known(names: [Option<String>; 3]) -> String {
    let known = |name: String| {
        let name = name.trim_start_matches(':');
        (!name.is_empty()).then(|| Zone::named(name).ok()).flatten()
    };
    let zone = names.into_iter().flatten().find_map(known);
    zone.map_or_else(|| ZONE_DEFAULT.to_owned(), |zone| zone.name().to_owned())
}

/// `Europe/Zurich`, of a link to `/usr/share/zoneinfo/Europe/Zurich`.
fn zone_of_link(link: &Path) -> Option<String> {
    let mut parts = link.components();
    parts.find(|part| *part == Component::Normal("zoneinfo".as_ref()))?;
    parts.as_path().to_str().map(str::to_owned)
}

/// Home folders by user.
pub(crate) fn homes() -> BTreeMap<String, String> {
    homes_in(&fs::read_to_string("/etc/passwd").unwrap_or_default())
}

fn homes_in(text: &str) -> BTreeMap<String, String> {
    let home = |line: &str| {
        let fields: Vec<&str> = line.split(':').collect();
        let (name, home) = (fields.first()?, fields.get(5)?);
        home.starts_with('/').then(|| ((*name).to_owned(), (*home).to_owned()))
    };
    text.lines().filter_map(home).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_zone_is_the_first_that_is_known() {
        let zone = |names: [&str; 3]| first_known(names.map(|name| Some(name.to_owned())));
        assert_eq!(zone([":Asia/Tokyo", "UTC", ""]), "Asia/Tokyo");
        assert_eq!(zone(["", "Mars/Olympus", "Europe/Zurich"]), "Europe/Zurich");
        assert_eq!(first_known([None, None, None]), "UTC");
    }

    #[test]
    fn a_link_names_the_zone() {
        for (link, zone) in [
            ("/usr/share/zoneinfo/Europe/Zurich", Some("Europe/Zurich")),
            ("../usr/share/zoneinfo/UTC", Some("UTC")),
            ("/etc/elsewhere", None),
        ] {
            assert_eq!(zone_of_link(Path::new(link)).as_deref(), zone);
        }
    }

    #[test]
    fn homes_are_found_by_user() {
        let homes = homes_in("root:x:0:0:root:/root:/bin/sh\nbad line\nx:x:1:1::nowhere:\n");
        assert_eq!(homes, BTreeMap::from([("root".to_owned(), "/root".to_owned())]));
    }

    #[test]
    fn crontabs_of_the_system_are_known_by_their_place() {
        for (path, expected) in [
            ("/etc/crontab", true),
            ("/etc/cron.d/backup", true),
            ("/etc/crontab.old", false),
            ("-", false),
        ] {
            assert_eq!(is_system_crontab(Path::new(path)), expected);
        }
    }
}
