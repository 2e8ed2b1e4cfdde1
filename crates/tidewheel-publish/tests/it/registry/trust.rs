//! Trusted publishing, as tests have it: a pipeline that says what it is, and a registry that gives tokens for it.
//!
//! Nothing is signed: what a pipeline says is a sentence with the audience in it.

use std::collections::BTreeSet;

use serde_json::{Value as Json, json};

use super::http::{Answer, Connection, Head, decoded};
use super::listen::{Listening, Port};
use super::protocol::Protocol;

/// What asks a pipeline what it is, as its own variable has it.
const ASKING: &str = "ask-7f3a-canary";

/// A pipeline that says what it is to whoever asks with its token.
pub struct Pipeline(Listening);

impl Pipeline {
    pub fn start() -> Self {
        let serve = |stream| {
            let mut connection = Connection::new(stream);
            while let Some(head) = connection.head() {
                let answer = said(&head);
                if connection.send(&answer.bytes(&head.method)).is_err() {
                    return;
                }
            }
        };
        Self(Port::take().unwrap().serve(serve))
    }

    /// The variables that its jobs have.
    pub fn variables(&self) -> [(&'static str, String); 2] {
        let url = format!("http://{}/identity?api-version=2.0", self.0.address());
        [
            ("ACTIONS_ID_TOKEN_REQUEST_URL", url),
            ("ACTIONS_ID_TOKEN_REQUEST_TOKEN", ASKING.to_owned()),
        ]
    }
}

fn said(head: &Head) -> Answer {
    let is_asked = head.header("authorization") == Some(&format!("Bearer {ASKING}"));
    let audience = head.query.split('&').find_map(|it| it.strip_prefix("audience="));
    match audience.filter(|_| is_asked) {
        Some(audience) => Answer::json(200, &json!({ "value": identity(&decoded(audience)) })),
        None => Answer::json(401, &json!({ "message": "no" })),
    }
}

fn identity(audience: &str) -> String {
    format!("identity-for-{audience}-canary")
}

/// The tokens that a registry has given to pipelines.
#[derive(Debug, Default)]
pub struct Given {
    pub count: usize,
    /// Those that are good.
    good: BTreeSet<String>,
    /// Each is good for one upload.
    pub once: bool,
}

impl Given {
    /// Whether somebody shows one of them, which may be the last time.
    pub fn is_good(&mut self, protocol: Protocol, head: &Head) -> bool {
        let shown = self.good.iter().find(|token| protocol.is_authorised(head, token)).cloned();
        if let Some(shown) = shown.as_ref().filter(|_| self.once) {
            self.good.remove(shown);
        }
        shown.is_some()
    }

    /// What is answered to a pipeline, if it is one that asks. `knows` says which packages there are.
    pub fn answer(
        &mut self,
        protocol: Protocol,
        head: &Head,
        body: &[u8],
        knows: impl Fn(&str) -> bool,
    ) -> Option<Answer> {
        let parts = head.parts();
        let parts: Vec<&str> = parts.iter().map(String::as_str).collect();
        let told: Json = serde_json::from_slice(body).unwrap_or_default();
        let text = |key: &str| told[key].as_str().unwrap_or_default().to_owned();
        let (said, audience) = match (protocol, head.method.as_str(), &parts[..]) {
            (Protocol::Python, "GET", ["_", "oidc", "audience"]) => {
                return Some(Answer::json(200, &json!({ "audience": "tests" })));
            }
            (Protocol::Python, "POST", ["_", "oidc", "mint-token"]) => (text("token"), "tests"),
            (Protocol::Cargo, "POST", ["api", "v1", "trusted_publishing", "tokens"]) => {
                (text("jwt"), "127.0.0.1")
            }
            (
                Protocol::Npm,
                "POST",
                ["-", "npm", "v1", "oidc", "token", "exchange", "package", name @ ..],
            ) => {
                if !knows(&name.join("/")) {
                    let why = "OIDC token exchange error - package not found";
                    return Some(Answer::json(404, &json!({ "message": why })));
                }
                let shown = head.header("authorization").unwrap_or_default();
                (shown.trim_start_matches("Bearer ").to_owned(), "npm:127.0.0.1")
            }
            _ => return None,
        };
        if said != identity(audience) {
            return Some(Answer::json(401, &json!({ "error": "this pipeline is not trusted" })));
        }
        self.count += 1;
        let token = format!("given-{}-canary", self.count);
        self.good.insert(token.clone());
        Some(Answer::json(201, &json!({ "token": token })))
    }
}
