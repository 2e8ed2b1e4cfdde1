//! Tokens: which there are, new ones, and those that end.
//!
//! How they are kept is in [`crate::identity`].

use std::time::Duration;

use axum::http::StatusCode;
use axum::response::Response;
use tidewheel::clock::wall_clock;
use tidewheel_client::api::{TokenList, TokenMade, TokenWish};
use tidewheel_client::desk::Reach;

use crate::door::{Call, document};
use crate::identity::{Token, TokenError, TokenPlan};
use crate::problem::Problem;
use crate::table::{Form, Gives, Permission, Route, Takes, Verb};

const DAY: Duration = Duration::from_secs(24 * 3600);

pub(super) const ROUTES: &[Route] = &[
    Route {
        name: "list-tokens",
        about: "Lists the tokens that are good, without what is secret of them.",
        verb: Verb::Get,
        path: "/api/v1/tokens",
        permission: Permission::Admin,
        query: None,
        takes: Takes::Nothing,
        gives: Gives::Document(Form::of::<TokenList>()),
        changes: false,
        answer: |call| Box::pin(list(call)),
    },
    Route {
        name: "make-token",
        about: "Makes a token, and shows it this one time.",
        verb: Verb::Post,
        path: "/api/v1/tokens",
        permission: Permission::Admin,
        query: None,
        takes: Takes::Document(Form::of::<TokenWish>(), 4096),
        gives: Gives::Document(Form::of::<TokenMade>()),
        changes: true,
        answer: |call| Box::pin(make(call)),
    },
    Route {
        name: "revoke-token",
        about: "Ends a token, with its sessions and its streams, by its id or its name.",
        verb: Verb::Delete,
        path: "/api/v1/tokens/{token}",
        permission: Permission::Admin,
        query: None,
        takes: Takes::Nothing,
        gives: Gives::Document(Form::of::<TokenList>()),
        changes: true,
        answer: |call| Box::pin(revoke(call)),
    },
];

impl From<TokenError> for Problem {
    fn from(error: TokenError) -> Self {
        let status = match &error {
            TokenError::Unknown(_) => StatusCode::NOT_FOUND,
            TokenError::Name | TokenError::Lasts | TokenError::Reach(_) => {
                StatusCode::UNPROCESSABLE_ENTITY
            }
            TokenError::TooMany => StatusCode::CONFLICT,
            TokenError::Io { .. } | TokenError::Damaged { .. } => StatusCode::INTERNAL_SERVER_ERROR,
        };
        Self::new(status, error.to_string())
    }
}

async fn list(call: Call) -> Result<Response, Problem> {
    let tokens = call.server.tokens.list(wall_clock())?;
    document(TokenList { version: None, tokens: tokens.iter().map(Token::line).collect() })
}

async fn make(call: Call) -> Result<Response, Problem> {
    let wish: TokenWish = call.document()?;
    let reach = match &wish.flows {
        Some(flows) => Reach::of(flows).map_err(|error| Problem::unfit(error.to_string()))?,
        None => Reach::all(),
    };
    let lasts = wish.days.map(|days| DAY.saturating_mul(days));
    let plan = TokenPlan { reach, lasts, ..TokenPlan::new(&wish.name, wish.role) };
    let made = call.server.tokens.make_as(&plan, wall_clock())?;
    call.object.add("token", &made.token.words());
    let secret = made.secret().to_owned();
    document(TokenMade { version: None, secret, token: made.token.line() })
}

async fn revoke(call: Call) -> Result<Response, Problem> {
    let revoked = call.server.tokens.revoke(call.param("token"))?;
    document(TokenList { version: None, tokens: vec![revoked.line()] })
}
