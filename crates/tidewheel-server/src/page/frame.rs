//! [`Frame`]: what is around every page, and how a page is answered.
//!
//! What is inside is in the files beside.

use askama::Template;
use axum::http::HeaderMap;
use axum::http::header::{CONTENT_SECURITY_POLICY, CONTENT_TYPE, COOKIE};
use axum::response::{IntoResponse as _, Response};
use tidewheel_client::api::Role;

use super::assets;
use crate::door::Call;
use crate::problem::Problem;
use crate::server::{Closing, Server};

/// What pages may do: run our modules, use our styles, ask us. Text becomes markup in one place only.
const POLICY: &str = "default-src 'none'; script-src 'self'; style-src 'self'; img-src 'self'; connect-src 'self'; \
                      form-action 'self'; base-uri 'none'; frame-ancestors 'none'; \
                      require-trusted-types-for 'script'; trusted-types fragment";

/// What is around a page.
pub(crate) struct Frame {
    /// The path below which the server stands.
    pub base: String,
    /// The folder of assets.
    pub assets: String,
    /// `light` or `dark`, if somebody said.
    pub theme: Option<&'static str>,
    /// The id of the newest event: what comes later is not on the page yet.
    pub at: String,
    /// Who looks.
    pub who: Option<(String, Role)>,
    /// Whether the server comes to an end.
    pub is_draining: bool,
    /// What page it is, by the word of its entry.
    pub here: &'static str,
    /// Steps that ask.
    pub approvals: usize,
}

impl Frame {
    /// The frame of a page for whoever asks.
    pub fn of(call: &Call, here: &'static str) -> Self {
        let who = call.who.as_ref().map(|who| (who.name.clone(), who.role));
        let (at, approvals) = (call.at.clone(), call.asking);
        Self { who, here, at, approvals, ..Self::plain(&call.server, &call.headers) }
    }

    /// The frame of a page for nobody in particular.
    pub fn plain(server: &Server, headers: &HeaderMap) -> Self {
        Self {
            base: server.settings.base_path.as_str().to_owned(),
            assets: format!("/assets/{}", assets::version()),
            theme: theme(headers),
            at: newest(server),
            who: None,
            is_draining: *server.closing().borrow() != Closing::No,
            here: "",
            approvals: 0,
        }
    }

    /// Whether whoever looks may start and end what is there.
    pub fn may_operate(&self) -> bool {
        self.role().is_some_and(|role| role >= Role::Operator)
    }

    /// Whether whoever looks may make tokens and read the audit log.
    pub fn may_administer(&self) -> bool {
        self.role().is_some_and(|role| role >= Role::Admin)
    }

    fn role(&self) -> Option<Role> {
        self.who.as_ref().map(|(_, role)| *role)
    }

    /// The entries of the bar: word, address, title, key.
    pub fn entries(&self) -> [(&'static str, &'static str, &'static str, &'static str); 7] {
        [
            ("overview", "/", "Overview", "o"),
            ("flows", "/flows", "Flows", "f"),
            ("runs", "/runs", "Runs", "r"),
            ("queues", "/queues", "Queues", "q"),
            ("schedules", "/schedules", "Schedules", "s"),
            ("approvals", "/approvals", "Approvals", "a"),
            ("system", "/system", "System", "y"),
        ]
    }
}

/// The id of the newest event.
pub(super) fn newest(server: &Server) -> String {
    server.house().map(|house| house.newest_event()).unwrap_or_default()
}

/// How many steps ask somebody. A data folder alone is not watched, so that nothing could be kept of it.
pub(super) async fn asking(call: &Call) -> usize {
    match call.server.house() {
        Ok(house) => house.asking().await,
        Err(_) => 0,
    }
}

/// The theme that somebody chose.
fn theme(headers: &HeaderMap) -> Option<&'static str> {
    let cookies = headers.get_all(COOKIE).iter().filter_map(|line| line.to_str().ok());
    let mut pairs =
        cookies.flat_map(|line| line.split(';')).filter_map(|it| it.trim().split_once('='));
    match pairs.find(|(name, _)| *name == "tidewheel-theme")?.1 {
        "light" => Some("light"),
        "dark" => Some("dark"),
        _ => None,
    }
}

/// Attributes that lead somewhere on this server, as they stand in every page.
const LEADING: [&str; 4] = [" href=\"", " action=\"", " src=\"", " data-src=\""];

/// A page as an answer.
pub(crate) fn page(template: &impl Template) -> Result<Response, Problem> {
    let text = template.render();
    let text =
        text.map_err(|error| Problem::failed(format!("the page cannot be made: {error}")))?;
    let text = below_base(text);
    let headers = [(CONTENT_TYPE, "text/html; charset=utf-8"), (CONTENT_SECURITY_POLICY, POLICY)];
    Ok((headers, text).into_response())
}

/// Pages are made as if the server stood at the top. Where their frame says that it does not, what leads somewhere gets its
/// path. In text of others quotes are escaped, so only attributes of our own look like these.
fn below_base(page: String) -> String {
    let said = page.split_once(" data-base=\"").and_then(|(_, rest)| rest.split_once('"'));
    let base = said.map(|(base, _)| base.to_owned()).unwrap_or_default();
    if base.is_empty() {
        return page;
    }
    LEADING.iter().fold(page, |page, leading| {
        page.replace(&format!("{leading}/"), &format!("{leading}{base}/"))
    })
}

/// A route of a page, which everybody may see who may look.
macro_rules! page_route {
    ($name:literal, $path:literal, $about:literal, $query:expr, $answer:expr) => {
        $crate::table::Route {
            name: $name,
            about: $about,
            verb: $crate::table::Verb::Get,
            path: $path,
            permission: $crate::table::Permission::Viewer,
            query: $query,
            takes: $crate::table::Takes::Nothing,
            gives: $crate::table::Gives::Page,
            changes: false,
            answer: |mut call| {
                Box::pin(async move {
                    call.at = $crate::page::frame::newest(&call.server);
                    call.asking = $crate::page::frame::asking(&call).await;
                    $answer(call).await
                })
            },
        }
    };
}

pub(super) use page_route;

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_leads_somewhere_stands_below_the_base() {
        let page = "<html data-base=\"/tools\"><a href=\"/runs\">x href=&#34;/</a><img src=\"/a\"><a href=\"#m\">";
        let below = "<html data-base=\"/tools\"><a href=\"/tools/runs\">x href=&#34;/</a><img src=\"/tools/a\"><a href=\"#m\">";
        assert_eq!(below_base(page.to_owned()), below);
        assert_eq!(
            below_base("<html data-base=\"\"><a href=\"/x\">".to_owned()),
            "<html data-base=\"\"><a href=\"/x\">"
        );
    }
}
