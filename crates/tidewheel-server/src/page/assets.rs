//! The style sheet, the modules and the pictures of the page, which are in the program.
//!
//! They are asked for under a folder that is named after what is in them, so that browsers may keep them for ever and
//! modules of one version only ever find each other.

use std::sync::OnceLock;

use axum::http::HeaderValue;
use axum::http::header::{CACHE_CONTROL, CONTENT_TYPE};
use axum::response::{IntoResponse as _, Response};
use sha2::{Digest as _, Sha256};
use tidewheel_client::files::style_sheet;

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

const ASSETS: [Asset; 13] = [
    ("style.css", CSS, include_str!("../../page/style.css")),
    ("icon.svg", SVG, include_str!("../../page/icon.svg")),
    ("main.js", SCRIPT, include_str!("../../page/main.js")),
    ("live.js", SCRIPT, include_str!("../../page/live.js")),
    ("parts.js", SCRIPT, include_str!("../../page/parts.js")),
    ("acts.js", SCRIPT, include_str!("../../page/acts.js")),
    ("keys.js", SCRIPT, include_str!("../../page/keys.js")),
    ("palette.js", SCRIPT, include_str!("../../page/palette.js")),
    ("run.js", SCRIPT, include_str!("../../page/run.js")),
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
    let (kind, text) = match call.param("file") {
        PICTURE => (CSS, picture()),
        name => {
            let found = ASSETS.iter().find(|(known, ..)| *known == name);
            found.map(|(_, kind, text)| (*kind, *text)).ok_or_else(Problem::nothing)?
        }
    };
    let mut response = text.into_response();
    let headers = response.headers_mut();
    headers.insert(CONTENT_TYPE, HeaderValue::from_static(kind));
    let for_ever = HeaderValue::from_static("public, max-age=31536000, immutable");
    headers.insert(CACHE_CONTROL, for_ever);
    Ok(response)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_page_is_small() {
        let sum = |kind: &str| -> usize {
            ASSETS.iter().filter(|(_, known, _)| *known == kind).map(|(.., text)| text.len()).sum()
        };
        let (styles, scripts) = (sum(CSS) + picture().len(), sum(SCRIPT));
        assert!(styles <= 32_000, "style sheets have {styles} bytes");
        assert!(scripts <= 64_000, "modules have {scripts} bytes");
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
}
