//! Cuts a query into tokens.
//!
//! What they mean together is in [`super::parser`].

use serde_json::Value;

use super::QueryError;

#[derive(Debug, Clone, PartialEq)]
pub(super) enum Token {
    Name(String),
    /// A name in double quotes, which cannot be that of a function.
    QuotedName(String),
    Number(i64),
    Literal(Value),
    Sign(&'static str),
    End,
}

/// Longer signs first, so that `[?` is not read as two.
const SIGNS: [&str; 23] = [
    "[?", "[]", "&&", "||", "==", "!=", "<=", ">=", "[", "]", "{", "}", "(", ")", ".", ",", ":",
    "*", "@", "&", "|", "!", "<",
];

/// All tokens with the bytes they begin at; the last is the end.
pub(super) fn tokens(text: &str) -> Result<Vec<(Token, usize)>, QueryError> {
    let mut tokens = Vec::new();
    let mut at = 0;
    while let Some(first) = text[at..].chars().next() {
        let rest = &text[at..];
        let (token, length) = match first {
            ' ' | '\t' | '\r' | '\n' => {
                at += 1;
                continue;
            }
            'a'..='z' | 'A'..='Z' | '_' => {
                let is_end = |letter: char| letter != '_' && !letter.is_ascii_alphanumeric();
                let length = rest.find(is_end).unwrap_or(rest.len());
                (Token::Name(rest[..length].to_owned()), length)
            }
            '0'..='9' | '-' => number(rest).map_err(|error| error.at(at))?,
            '"' => {
                let length = quoted(rest, '"').map_err(|error| error.at(at))?;
                let name = serde_json::from_str(&rest[..length])
                    .map_err(|_| QueryError::new("this name in quotes is no JSON").at(at))?;
                (Token::QuotedName(name), length)
            }
            '\'' => {
                let length = quoted(rest, '\'').map_err(|error| error.at(at))?;
                let text = rest[1..length - 1].replace("\\'", "'");
                (Token::Literal(Value::String(text)), length)
            }
            '`' => {
                let length = quoted(rest, '`').map_err(|error| error.at(at))?;
                let json = rest[1..length - 1].replace("\\`", "`");
                let value = serde_json::from_str(json.trim()).map_err(|_| {
                    QueryError::new("this literal is no JSON; a text is written 'so' or `\"so\"`")
                        .at(at)
                })?;
                (Token::Literal(value), length)
            }
            '>' if !rest.starts_with(">=") => (Token::Sign(">"), 1),
            other => {
                let Some(sign) = SIGNS.into_iter().find(|sign| rest.starts_with(sign)) else {
                    let message = format!("`{}` means nothing here", other.escape_debug());
                    return Err(QueryError::new(message).at(at));
                };
                (Token::Sign(sign), sign.len())
            }
        };
        tokens.push((token, at));
        at += length;
    }
    tokens.push((Token::End, text.len()));
    Ok(tokens)
}

fn number(rest: &str) -> Result<(Token, usize), QueryError> {
    let digits = &rest[usize::from(rest.starts_with('-'))..];
    let count = digits.bytes().take_while(u8::is_ascii_digit).count();
    let length = rest.len() - digits.len() + count;
    rest[..length]
        .parse()
        .map(|number| (Token::Number(number), length))
        .map_err(|_| QueryError::new("this is no number"))
}

/// How long a text in quotes is, quotes included.
fn quoted(rest: &str, quote: char) -> Result<usize, QueryError> {
    let mut is_escaped = false;
    for (at, letter) in rest.char_indices().skip(1) {
        match letter {
            _ if is_escaped => is_escaped = false,
            '\\' => is_escaped = true,
            letter if letter == quote => return Ok(at + 1),
            _ => {}
        }
    }
    Err(QueryError::new(format!("this has no end: `{quote}` is missing")))
}
