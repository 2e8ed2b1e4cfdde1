//! Requests: `http:` and sources of the types `rest` and `http`.
//!
//! What an answer means is decided by the executor and the scheduler.

use reqwest::{Method, Url};
use serde_json::Value as Json;

use super::{Decoder, fields};
use crate::definition::{HttpBody, HttpWork, Idempotency, InputMode, Work};
use crate::language::problem::{Problem, quote};
use crate::language::tree::{Tree, text_of};
use crate::language::yaml::{Map, Node, Value};

impl Decoder<'_> {
    /// `http:`: a URL, or everything about a request.
    pub(super) fn http(&mut self, node: &Node) -> Option<HttpWork> {
        match &node.value {
            Value::Map(map) => Some(self.request(map, "http")),
            Value::Text(_) => {
                let mut map = Map::default();
                map.insert("url".to_owned(), node.span, node.clone());
                Some(self.request(&map, "http"))
            }
            _ => None,
        }
    }

    pub(super) fn request(&mut self, map: &Map, place: &str) -> HttpWork {
        // No line end can be sent in these.
        let (url, method, content_type, headers) = self.without_line_end(|decoder| {
            let headers = decoder.pairs(map, "headers", place);
            let mut tree =
                |key: &str| map.get(key).map(|it| decoder.tree(it, format_args!("{place}.{key}")));
            (tree("url"), tree("method"), tree("content_type"), headers)
        });
        let url = url.unwrap_or(Tree::Value(Json::Null));
        let mut tree =
            |key: &str| map.get(key).map(|it| self.tree(it, format_args!("{place}.{key}")));
        let body = match (tree("json"), tree("body")) {
            (Some(json), _) => HttpBody::Json(json),
            (None, Some(text)) => HttpBody::Text { text, content_type },
            (None, None) => HttpBody::None,
        };
        if let (Some(_), Some(node)) = (map.get("json"), map.get("body")) {
            let text = "a request has either `json` or `body`";
            self.problems.push(Problem::error("contradiction", text).at(node.span));
        }
        self.check_target(map, &url, method.as_ref());
        let parameter = || fields::owned(map, "param_name").unwrap_or_else(|| "id".to_owned());
        let input_mode = match fields::word(map, "input_mode").as_deref() {
            Some("parameter") => InputMode::Parameter(parameter()),
            Some("body") => InputMode::Body,
            _ => InputMode::None,
        };
        let idempotency = match fields::word(map, "idempotency").as_deref() {
            Some("attempt") => Some(Idempotency::Attempt),
            Some("step") => Some(Idempotency::Step),
            Some("none") => Some(Idempotency::None),
            _ => None,
        };
        HttpWork {
            url,
            method,
            headers,
            query: self.pairs(map, "query", place),
            body,
            input_mode,
            total_timeout: fields::duration(map, "timeout"),
            read_timeout: fields::duration(map, "read_timeout"),
            accept_status: self.statuses(map),
            redirects: fields::count(map, "redirects"),
            bytes_max: fields::size(map, "max_bytes"),
            idempotency,
            repeatable: fields::boolean(map, "repeatable"),
            accepts_any_certificate: fields::boolean(map, "insecure_tls").unwrap_or_default(),
            takes_any_json: false,
        }
    }

    /// Whoever asks for another try of what is not safe to repeat should know what that comes to.
    pub(super) fn check_repeated(&mut self, said: &Map, work: &Work) {
        let Work::Http(request) = work else { return };
        let asks = said.get("retry").filter(|node| !node.is_null());
        let Some(node) = asks.filter(|node| !matches!(node.value, Value::Int(0))) else { return };
        if request.repeatable.is_some() || request.is_repeatable() {
            return;
        }
        let text = "this request is tried again only if it surely was not done: its method is not safe \
                    to repeat";
        let problem = Problem::warning("not-repeated", text).at(node.span);
        let hint = "say `repeatable: true` in the request if doing it twice is as good as once, or \
                    `repeatable: false` if this is meant";
        self.problems.push(problem.hint(hint));
    }

    /// A request that could never be sent, as far as it is known before.
    fn check_target(&mut self, map: &Map, url: &Tree, method: Option<&Tree>) {
        let said = |key: &str| map.get(key).filter(|node| !node.is_null());
        if let (Some(node), Some(url)) = (said("url"), url.as_value())
            && let Some(problem) = bad_url(&text_of(url))
        {
            self.problems.push(problem.at(node.span));
        }
        if let (Some(node), Some(method)) = (said("method"), method.and_then(Tree::as_value)) {
            let method = text_of(method);
            if Method::from_bytes(method.as_bytes()).is_err() {
                let text = format!("{} is no method, such as GET or POST", quote(&method));
                self.problems.push(Problem::error("bad-value", text).at(node.span));
            }
        }
    }

    fn pairs(&mut self, map: &Map, key: &str, place: &str) -> Vec<(String, Tree)> {
        let Some(map) = fields::mapping(map, key) else { return Vec::new() };
        map.iter()
            .map(|entry| {
                let tree = self.tree(&entry.value, format_args!("{place}.{key}.{}", entry.key));
                (entry.key.clone(), tree)
            })
            .collect()
    }

    fn statuses(&mut self, map: &Map) -> Vec<(u16, u16)> {
        let mut ranges = Vec::new();
        for node in fields::many(map, "accept_status") {
            let range = match &node.value {
                Value::Int(status) => u16::try_from(*status).ok().map(|status| (status, status)),
                Value::Text(text) => status_range(text.as_str()),
                _ => None,
            };
            match range {
                Some(range) => ranges.push(range),
                None => {
                    let text = "a status is a number from 100 to 599, or two such as 200-299";
                    self.problems.push(Problem::error("bad-value", text).at(node.span));
                }
            }
        }
        ranges
    }
}

/// What is wrong with a URL, if something is.
fn bad_url(text: &str) -> Option<Problem> {
    let shown = quote(text);
    let (said, hint) = match Url::parse(text) {
        Ok(url) if matches!(url.scheme(), "http" | "https") => return None,
        Ok(url) if text.contains("://") => {
            (format!("the URL {shown} is of `{}`", url.scheme()), "only http and https are spoken")
        }
        Err(error) if text.contains("://") => {
            (format!("the URL {shown} cannot be read: {error}"), "write http://host/path")
        }
        _ => (
            format!("the URL {shown} does not begin with http:// or https://"),
            "write the whole of it: http://host/path",
        ),
    };
    Some(Problem::error("bad-value", said).hint(hint))
}

fn status_range(text: &str) -> Option<(u16, u16)> {
    let (from, to) = text.split_once('-').unwrap_or((text, text));
    let range = (from.trim().parse().ok()?, to.trim().parse().ok()?);
    (100 <= range.0 && range.0 <= range.1 && range.1 <= 599).then_some(range)
}
