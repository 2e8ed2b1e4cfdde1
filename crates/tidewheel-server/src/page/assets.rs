//! The style sheet, the modules and the pictures of the page, which are in the program.
//!
//! They are asked for under a folder that is named after what is in them, so that browsers may keep them for ever and
//! modules of one version only ever find each other.

use std::sync::OnceLock;

use axum::http::HeaderValue;
use axum::http::header::{CACHE_CONTROL, CONTENT_ENCODING, CONTENT_TYPE, VARY};
use axum::response::{IntoResponse as _, Response};
use flate2::Compression;
use sha2::{Digest as _, Sha256};
use tidewheel_client::files::style_sheet;

use super::packed::{compressed, takes_gzip};
use crate::door::Call;
use crate::problem::Problem;
use crate::table::{Gives, Permission, Route, Takes, Verb};

const CSS: &str = "text/css; charset=utf-8";
const SCRIPT: &str = "text/javascript; charset=utf-8";
const SVG: &str = "image/svg+xml";

/// The style sheet of pictures, which is made by whoever draws them.
const PICTURE: &str = "picture.css";

/// A file of the page: its name, its type, and what is in it.
type Asset = (&'static str, &'static str, &'static str);

const ASSETS: [Asset; 17] = [
    ("style.css", CSS, include_str!("../../page/style.css")),
    ("icon.svg", SVG, include_str!("../../page/icon.svg")),
    ("main.js", SCRIPT, include_str!("../../page/main.js")),
    ("updates.js", SCRIPT, include_str!("../../page/updates.js")),
    ("live.js", SCRIPT, include_str!("../../page/live.js")),
    ("parts.js", SCRIPT, include_str!("../../page/parts.js")),
    ("acts.js", SCRIPT, include_str!("../../page/acts.js")),
    ("keys.js", SCRIPT, include_str!("../../page/keys.js")),
    ("palette.js", SCRIPT, include_str!("../../page/palette.js")),
    ("runs.js", SCRIPT, include_str!("../../page/runs.js")),
    ("run.js", SCRIPT, include_str!("../../page/run.js")),
    ("picture.js", SCRIPT, include_str!("../../page/picture.js")),
    ("priority.js", SCRIPT, include_str!("../../page/priority.js")),
    ("form.js", SCRIPT, include_str!("../../page/form.js")),
    ("log.css", CSS, include_str!("../../page/log.css")),
    ("log.js", SCRIPT, include_str!("../../page/log.js")),
    ("times.js", SCRIPT, include_str!("../../page/times.js")),
];

pub(super) const ROUTES: &[Route] = &[Route {
    name: "page-asset",
    about: "A style sheet, a module or a picture of the page.",
    verb: Verb::Get,
    path: "/assets/{version}/{file}",
    permission: Permission::Public,
    query: None,
    takes: Takes::Nothing,
    gives: Gives::Page,
    changes: false,
    answer: |call| Box::pin(asset(call)),
}];

/// The fingerprint of all of them.
pub(super) fn version() -> &'static str {
    static VERSION: OnceLock<String> = OnceLock::new();
    VERSION.get_or_init(|| {
        let mut hash = Sha256::new();
        for (name, _, text) in ASSETS {
            hash.update(name);
            hash.update(text);
        }
        hash.update(picture());
        hash.finalize().iter().take(6).map(|byte| format!("{byte:02x}")).collect()
    })
}

fn picture() -> &'static str {
    static PICTURE: OnceLock<String> = OnceLock::new();
    PICTURE.get_or_init(style_sheet)
}

async fn asset(call: Call) -> Result<Response, Problem> {
    if call.param("version") != version() {
        return Err(Problem::nothing());
    }
    let name = call.param("file");
    let found = packed().iter().find(|it| it.name == name).ok_or_else(Problem::nothing)?;
    let is_small = takes_gzip(&call.headers);
    let mut response = match is_small {
        true => found.small.as_slice().into_response(),
        false => found.text.as_str().into_response(),
    };
    let headers = response.headers_mut();
    headers.insert(CONTENT_TYPE, HeaderValue::from_static(found.kind));
    headers.insert(VARY, HeaderValue::from_static("Accept-Encoding"));
    if is_small {
        headers.insert(CONTENT_ENCODING, HeaderValue::from_static("gzip"));
    }
    let for_ever = HeaderValue::from_static("public, max-age=31536000, immutable");
    headers.insert(CACHE_CONTROL, for_ever);
    Ok(response)
}

/// A file of the page as it is sent.
struct Packed {
    name: &'static str,
    kind: &'static str,
    text: String,
    /// The same, compressed.
    small: Vec<u8>,
}

/// All of them, compressed once.
fn packed() -> &'static [Packed] {
    static PACKED: OnceLock<Vec<Packed>> = OnceLock::new();
    PACKED.get_or_init(|| {
        let all = ASSETS.into_iter().chain([(PICTURE, CSS, picture())]);
        let small = |text: &str| compressed(text.as_bytes(), Compression::best());
        let packed = |(name, kind, text)| {
            let text = if kind == SCRIPT { without_comments(text) } else { String::from(text) };
            Packed { name, kind, small: small(&text), text }
        };
        all.map(packed).collect()
    })
}

/// A module without the lines that only say something to whoever reads its source.
fn without_comments(text: &str) -> String {
    let is_comment =
        |line: &str| line.starts_with("//") || (line.starts_with("/**") && line.ends_with("*/"));
    text.lines().filter(|line| !is_comment(line.trim())).map(|line| format!("{line}\n")).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_page_is_small() {
        let sum = |kind: &str| -> usize {
            packed().iter().filter(|it| it.kind == kind).map(|it| it.text.len()).sum()
        };
        let (styles, scripts) = (sum(CSS), sum(SCRIPT));
        assert!(styles <= 34_000, "style sheets have {styles} bytes");
        assert!(scripts <= 76_000, "modules have {scripts} bytes");
    }

    #[test]
    fn all_of_it_is_small_when_it_is_sent() {
        let sum: usize = packed().iter().map(|it| it.small.len()).sum();
        assert!(sum <= 38_000, "compressed they have {sum} bytes");
        for it in packed() {
            assert!(it.small.starts_with(&[0x1f, 0x8b]) && it.small.len() < it.text.len());
        }
    }

    #[test]
    fn modules_ask_for_nothing_from_elsewhere() {
        for (name, _, text) in ASSETS {
            for foreign in
                ["http://", "https://", "//cdn", "eval(", "innerHTML", "insertAdjacentHTML"]
            {
                let is_namespace =
                    foreign == "http://" && text.contains("http://www.w3.org/2000/svg");
                assert!(is_namespace || !text.contains(foreign), "{name} has {foreign}");
            }
        }
    }

    #[test]
    fn what_a_module_says_to_its_readers_is_not_sent() {
        let text =
            "// One.\nimport 'x';\n/** Two. */\nconst a = 'http://b'; // three\n  // Four.\n";
        assert_eq!(without_comments(text), "import 'x';\nconst a = 'http://b'; // three\n");
        for it in packed().iter().filter(|it| it.kind == SCRIPT) {
            assert!(!it.text.starts_with("//") && it.text.contains(';'), "{}", it.name);
        }
    }
}
