//! Expressions of GitHub Actions as ours: `&&` is `and`, `contains(a, b)` is `b in a`.
//!
//! What names stand for is asked of whoever knows the workflow.

/// How those before something ended, which the functions for it tell.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Status {
    Succeeded,
    Failed,
    Skipped,
    Cancelled,
}

/// A condition, for each way in which those before ended. The error is what has no equal.
#[derive(Debug, PartialEq, Eq)]
pub(super) struct Condition {
    pub succeeded: Result<String, String>,
    pub failed: Result<String, String>,
    /// None of them failed, and some were not done.
    pub skipped: Result<String, String>,
    pub cancelled: Result<String, String>,
}

/// A part of an expression.
#[derive(Debug, Clone, PartialEq, Eq)]
enum Value {
    Known(String),
    /// Something in it has no equal.
    Unknown(String),
}

#[derive(Debug, Clone, PartialEq, Eq)]
enum Token {
    Text(String),
    Number(String),
    Name(String),
    Sign(&'static str),
}

const SIGNS: [&str; 12] = ["&&", "||", "==", "!=", "<=", ">=", "<", ">", "!", "(", ")", ","];
/// The functions that tell how those before ended.
const FUNCTIONS: [&str; 4] = ["success", "failure", "cancelled", "always"];
/// How names end that say how something ended.
pub(super) const STATE_KEYS: [&str; 3] = [".result", ".outcome", ".conclusion"];
/// The words for states there, and here.
const STATES: [(&str, &str); 2] = [("success", "succeeded"), ("failure", "failed")];

/// What a name stands for; the error is the name.
type Meaning<'a> = &'a dyn Fn(&str) -> Result<String, String>;

/// Translates an expression; `names` says what a name stands for. The error is what has no equal.
pub(super) fn translate(text: &str, names: Meaning<'_>) -> Result<String, String> {
    translated(&tokens(inside(text))?, names, None)
}

/// Translates a condition. One that says nothing of how others ended holds only if they succeeded.
pub(super) fn condition(text: &str, names: Meaning<'_>) -> Condition {
    let tokens = match tokens(inside(text)) {
        Ok(tokens) => tokens,
        Err(text) => {
            let no = || Err(text.clone());
            return Condition { succeeded: no(), failed: no(), skipped: no(), cancelled: no() };
        }
    };
    let asks = tokens.windows(2).any(|pair| match pair {
        [Token::Name(name), Token::Sign("(")] => FUNCTIONS.contains(&name.to_lowercase().as_str()),
        _ => false,
    });
    let of = |status: Status| match asks || status == Status::Succeeded {
        true => translated(&tokens, names, Some(status)),
        false => Ok("false".to_owned()),
    };
    Condition {
        succeeded: of(Status::Succeeded),
        failed: of(Status::Failed),
        skipped: of(Status::Skipped),
        cancelled: of(Status::Cancelled),
    }
}

fn inside(text: &str) -> &str {
    let text = text.trim();
    text.strip_prefix("${{").and_then(|it| it.strip_suffix("}}")).unwrap_or(text)
}

fn translated(
    tokens: &[Token],
    names: Meaning<'_>,
    status: Option<Status>,
) -> Result<String, String> {
    let asks_state = tokens.iter().any(|token| {
        matches!(token, Token::Name(name) if STATE_KEYS.iter().any(|end| name.ends_with(end)))
    });
    let mut reader = Reader { tokens, at: 0, names, asks_state, status };
    match (reader.any()?, reader.tokens.get(reader.at)) {
        (Value::Known(text), None) => Ok(text),
        (Value::Unknown(text) | Value::Known(text), _) => Err(text),
    }
}

fn tokens(text: &str) -> Result<Vec<Token>, String> {
    let mut tokens = Vec::new();
    let mut rest = text.trim_start();
    while let Some(first) = rest.chars().next() {
        let length = if first == '\'' {
            let mut end = 1;
            let mut inside = String::new();
            loop {
                let letter = rest[end..].chars().next().ok_or_else(|| text.to_owned())?;
                end += letter.len_utf8();
                match (letter, rest[end..].starts_with('\'')) {
                    ('\'', true) => end += 1,
                    ('\'', false) => break,
                    _ => {}
                }
                inside.push(letter);
            }
            tokens.push(Token::Text(inside));
            end
        } else if let Some(sign) = SIGNS.iter().find(|sign| rest.starts_with(**sign)) {
            tokens.push(Token::Sign(sign));
            sign.len()
        } else {
            let is_part = |letter: char| letter.is_alphanumeric() || "_-.*[]'".contains(letter);
            let length = rest.find(|letter| !is_part(letter)).unwrap_or(rest.len());
            let word = rest[..length].to_owned();
            tokens.push(match first.is_ascii_digit() || first == '-' {
                true => Token::Number(word),
                false => Token::Name(word),
            });
            length
        };
        if length == 0 {
            return Err(text.to_owned());
        }
        rest = rest[length..].trim_start();
    }
    Ok(tokens)
}

struct Reader<'a> {
    tokens: &'a [Token],
    at: usize,
    names: Meaning<'a>,
    /// Whether texts in it are words for states.
    asks_state: bool,
    /// How those before ended, where that can be asked.
    status: Option<Status>,
}

impl Reader<'_> {
    fn accept(&mut self, sign: &str) -> bool {
        let is_there =
            matches!(self.tokens.get(self.at), Some(Token::Sign(found)) if *found == sign);
        self.at += usize::from(is_there);
        is_there
    }

    fn any(&mut self) -> Result<Value, String> {
        let mut value = self.all()?;
        while self.accept("||") {
            value = joined(value, self.all()?, "or", ("true", "false"));
        }
        Ok(value)
    }

    fn all(&mut self) -> Result<Value, String> {
        let mut value = self.comparison()?;
        while self.accept("&&") {
            value = joined(value, self.comparison()?, "and", ("false", "true"));
        }
        Ok(value)
    }

    fn comparison(&mut self) -> Result<Value, String> {
        let value = self.one()?;
        for sign in ["==", "!=", "<=", ">=", "<", ">"] {
            if self.accept(sign) {
                let right = self.one()?;
                return Ok(match (value, right) {
                    (Value::Known(left), Value::Known(right)) => {
                        known(format!("{left} {sign} {right}"))
                    }
                    (Value::Unknown(name), _) | (_, Value::Unknown(name)) => Value::Unknown(name),
                });
            }
        }
        Ok(value)
    }

    fn one(&mut self) -> Result<Value, String> {
        if self.accept("!") {
            return Ok(match self.one()? {
                Value::Known(text) => known(match text.as_str() {
                    "true" => "false".to_owned(),
                    "false" => "true".to_owned(),
                    _ => format!("not {text}"),
                }),
                unknown => unknown,
            });
        }
        if self.accept("(") {
            let value = self.any()?;
            self.accept(")");
            return Ok(match value {
                Value::Known(text) if !["true", "false"].contains(&text.as_str()) => {
                    known(format!("({text})"))
                }
                other => other,
            });
        }
        let token = self.tokens.get(self.at).cloned().ok_or("an expression without an end")?;
        self.at += 1;
        match token {
            Token::Text(text) => {
                let state = STATES.iter().find(|(there, _)| self.asks_state && *there == text);
                let text = state.map_or(text.as_str(), |(_, here)| here);
                Ok(known(quoted(text)))
            }
            Token::Number(number) => Ok(known(number)),
            Token::Name(name) if self.accept("(") => self.function(&name),
            Token::Name(name) => Ok(match name.as_str() {
                "true" | "false" | "null" => known(name),
                _ => (self.names)(&name).map_or_else(Value::Unknown, known),
            }),
            Token::Sign(sign) => Err(sign.to_owned()),
        }
    }

    fn function(&mut self, name: &str) -> Result<Value, String> {
        let mut arguments = Vec::new();
        let mut unknown = None;
        while !self.accept(")") {
            if self.at >= self.tokens.len() {
                return Err(format!("{name}("));
            }
            match self.any()? {
                Value::Known(text) => arguments.push(text),
                Value::Unknown(name) => unknown = unknown.or(Some(name)),
            }
            self.accept(",");
        }
        if let Some(name) = unknown {
            return Ok(Value::Unknown(name));
        }
        let as_it_stands = format!("{name}({})", arguments.join(", "));
        let function = name.to_ascii_lowercase();
        Ok(match (function.as_str(), &arguments[..]) {
            ("always", []) => known("true".to_owned()),
            ("success" | "failure" | "cancelled", []) => match self.status {
                Some(status) => known((status.function() == function).to_string()),
                None => Value::Unknown(as_it_stands),
            },
            // Nobody knows here the words that scripts expect.
            ("tojson" | "join", _) if self.asks_state => Value::Unknown(as_it_stands),
            ("contains", [all, one]) => known(format!("({one} in {all})")),
            ("startswith", [text, start]) => known(format!("({text}).startswith({start})")),
            ("endswith", [text, end]) => known(format!("({text}).endswith({end})")),
            ("tojson", [value]) => known(format!("({value} | tojson)")),
            ("fromjson", [value]) => known(format!("({value} | fromjson)")),
            ("join", [list]) => known(format!("({list} | join(','))")),
            ("join", [list, between]) => known(format!("({list} | join({between}))")),
            _ => Value::Unknown(as_it_stands),
        })
    }
}

impl Status {
    /// The function that says so.
    fn function(self) -> &'static str {
        match self {
            Self::Succeeded => "success",
            Self::Failed => "failure",
            Self::Skipped => "",
            Self::Cancelled => "cancelled",
        }
    }
}

fn known(text: String) -> Value {
    Value::Known(text)
}

/// Two values with a word between them. What decides it alone does, known or not.
fn joined(left: Value, right: Value, word: &str, (decides, is_idle): (&str, &str)) -> Value {
    let is = |value: &Value, text: &str| matches!(value, Value::Known(it) if it == text);
    match (left, right) {
        (left, right) if is(&left, decides) || is(&right, decides) => known(decides.to_owned()),
        (left, right) if is(&left, is_idle) => right,
        (left, right) if is(&right, is_idle) => left,
        (Value::Known(left), Value::Known(right)) => known(format!("{left} {word} {right}")),
        (Value::Unknown(name), _) | (_, Value::Unknown(name)) => Value::Unknown(name),
    }
}

pub(super) fn quoted(text: &str) -> String {
    format!("'{}'", text.replace('\\', "\\\\").replace('\'', "\\'"))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn operators_and_functions_are_translated() {
        let names = |name: &str| match name {
            "github.ref" => Err(name.to_owned()),
            name => Ok(name.to_owned()),
        };
        let said = |text: &str| translate(text, &names);
        for (there, here) in [
            (
                "${{ matrix.os == 'linux' && !matrix.slow }}",
                "matrix.os == 'linux' and not matrix.slow",
            ),
            ("contains(inputs.x, 'it''s')", "('it\\'s' in inputs.x)"),
            ("startsWith(a.b, 'x') || (a.c > 3)", "(a.b).startswith('x') or (a.c > 3)"),
            ("a.b && needs.a.result == 'success'", "a.b and needs.a.result == 'succeeded'"),
            ("fromJSON(a.b)", "(a.b | fromjson)"),
        ] {
            assert_eq!(said(there).as_deref(), Ok(here), "{there}");
        }
        assert_eq!(said("github.ref == 'x'"), Err("github.ref".to_owned()));
        assert_eq!(said("hashFiles('a')"), Err("hashFiles('a')".to_owned()));
        for wrong in ["'open", "a ==", "f(", "%"] {
            assert!(said(wrong).is_err(), "{wrong}");
        }
        assert_eq!(said("failure() && a.b"), Err("failure()".to_owned()), "it is no value");
        assert_eq!(said("always() || github.ref"), Ok("true".to_owned()));
    }

    #[test]
    fn conditions_say_for_which_ends_they_hold() {
        let names = |name: &str| match name {
            "github.ref" => Err(name.to_owned()),
            name => Ok(name.to_owned()),
        };
        for (text, expected) in [
            ("a.b", ["a.b", "false", "false", "false"]),
            ("success()", ["true", "false", "false", "false"]),
            ("failure() && a.b", ["false", "a.b", "false", "false"]),
            ("always()", ["true"; 4]),
            ("success() || failure()", ["true", "true", "false", "false"]),
            ("${{ !cancelled() }}", ["true", "true", "true", "false"]),
            ("!failure() && !cancelled()", ["true", "false", "true", "false"]),
            ("!(failure() || cancelled()) && a.b", ["a.b", "false", "a.b", "false"]),
            ("cancelled()", ["false", "false", "false", "true"]),
            ("failure() || a.b", ["a.b", "true", "a.b", "a.b"]),
            ("github.ref == 'x' || always()", ["true"; 4]),
        ] {
            let it = condition(text, &names);
            let found = [it.succeeded, it.failed, it.skipped, it.cancelled];
            assert_eq!(found, expected.map(|text| Ok(text.to_owned())), "{text}");
        }
        let half = condition("github.ref && failure()", &names);
        assert_eq!(half.succeeded, Ok("false".to_owned()));
        assert_eq!(half.failed, Err("github.ref".to_owned()));
        assert_eq!(condition("'open", &names).succeeded, Err("'open".to_owned()));
    }
}
