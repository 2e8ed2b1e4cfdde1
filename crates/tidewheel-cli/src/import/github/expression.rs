//! Expressions of GitHub Actions as ours: `&&` is `and`, `contains(a, b)` is `b in a`.
//!
//! What names stand for is asked of whoever knows the workflow.

/// An expression of ours, and what it says of the states of others.
#[derive(Debug, Default, PartialEq, Eq)]
pub(super) struct Translated {
    pub text: String,
    /// It is to be done whatever became of the others.
    pub is_always: bool,
    /// It is to be done if something failed.
    pub is_failure: bool,
    /// It says nothing but these.
    pub is_plain: bool,
}

#[derive(Debug, Clone, PartialEq, Eq)]
enum Token {
    Text(String),
    Number(String),
    Name(String),
    Sign(&'static str),
}

const SIGNS: [&str; 12] = ["&&", "||", "==", "!=", "<=", ">=", "<", ">", "!", "(", ")", ","];
/// How names end that say how something ended.
pub(super) const STATE_KEYS: [&str; 3] = [".result", ".outcome", ".conclusion"];
/// The words for states there, and here.
const STATES: [(&str, &str); 2] = [("success", "succeeded"), ("failure", "failed")];

/// Translates an expression; `names` says what a name stands for. The error is what has no equal.
pub(super) fn translate(
    text: &str,
    names: &dyn Fn(&str) -> Result<String, String>,
) -> Result<Translated, String> {
    let text = text.trim();
    let text = text.strip_prefix("${{").and_then(|it| it.strip_suffix("}}")).unwrap_or(text);
    let tokens = tokens(text)?;
    let asks_state = tokens.iter().any(|token| {
        matches!(token, Token::Name(name) if STATE_KEYS.iter().any(|end| name.ends_with(end)))
    });
    let translated = Translated { is_plain: true, ..Translated::default() };
    let mut reader = Reader { tokens, at: 0, names, asks_state, translated };
    let text = reader.any()?;
    match reader.tokens.get(reader.at) {
        None => Ok(Translated { text, ..reader.translated }),
        Some(_) => Err(text),
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
    tokens: Vec<Token>,
    at: usize,
    names: &'a dyn Fn(&str) -> Result<String, String>,
    /// Whether texts in it are words for states.
    asks_state: bool,
    translated: Translated,
}

impl Reader<'_> {
    fn accept(&mut self, sign: &str) -> bool {
        let is_there =
            matches!(self.tokens.get(self.at), Some(Token::Sign(found)) if *found == sign);
        self.at += usize::from(is_there);
        is_there
    }

    fn any(&mut self) -> Result<String, String> {
        let mut text = self.all()?;
        while self.accept("||") {
            text = format!("{text} or {}", self.all()?);
        }
        Ok(text)
    }

    fn all(&mut self) -> Result<String, String> {
        let mut text = self.comparison()?;
        while self.accept("&&") {
            let right = self.comparison()?;
            text = match (text.as_str(), right.as_str()) {
                ("true", _) => right,
                (_, "true") => text,
                _ => format!("{text} and {right}"),
            };
        }
        Ok(text)
    }

    fn comparison(&mut self) -> Result<String, String> {
        let text = self.one()?;
        for sign in ["==", "!=", "<=", ">=", "<", ">"] {
            if self.accept(sign) {
                return Ok(format!("{text} {sign} {}", self.one()?));
            }
        }
        Ok(text)
    }

    fn one(&mut self) -> Result<String, String> {
        if self.accept("!") {
            return Ok(format!("not {}", self.one()?));
        }
        if self.accept("(") {
            let text = self.any()?;
            self.accept(")");
            return Ok(format!("({text})"));
        }
        let token = self.tokens.get(self.at).cloned().ok_or("an expression without an end")?;
        self.at += 1;
        match token {
            Token::Text(text) => {
                self.translated.is_plain = false;
                let state = STATES.iter().find(|(there, _)| self.asks_state && *there == text);
                let text = state.map_or(text.as_str(), |(_, here)| here);
                Ok(quoted(text))
            }
            Token::Number(number) => Ok(number),
            Token::Name(name) if self.accept("(") => self.function(&name),
            Token::Name(name) => {
                self.translated.is_plain = false;
                match name.as_str() {
                    "true" | "false" | "null" => Ok(name),
                    _ => (self.names)(&name),
                }
            }
            Token::Sign(sign) => Err(sign.to_owned()),
        }
    }

    fn function(&mut self, name: &str) -> Result<String, String> {
        let mut arguments = Vec::new();
        while !self.accept(")") {
            if self.at >= self.tokens.len() {
                return Err(format!("{name}("));
            }
            arguments.push(self.any()?);
            self.accept(",");
        }
        match (name.to_ascii_lowercase().as_str(), &arguments[..]) {
            ("success", []) => Ok("true".to_owned()),
            ("always", []) => {
                self.translated.is_always = true;
                Ok("true".to_owned())
            }
            ("failure", []) => {
                self.translated.is_failure = true;
                Ok("true".to_owned())
            }
            ("contains", [all, one]) => Ok(format!("({one} in {all})")),
            ("startswith", [text, start]) => Ok(format!("({text}).startswith({start})")),
            ("endswith", [text, end]) => Ok(format!("({text}).endswith({end})")),
            ("tojson", [value]) => Ok(format!("({value} | tojson)")),
            ("fromjson", [value]) => Ok(format!("({value} | fromjson)")),
            ("join", [list]) => Ok(format!("({list} | join(','))")),
            ("join", [list, between]) => Ok(format!("({list} | join({between}))")),
            _ => Err(format!("{name}({})", arguments.join(", "))),
        }
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
        let said = |text: &str| translate(text, &names).map(|it| it.text);
        for (there, here) in [
            (
                "${{ matrix.os == 'linux' && !matrix.slow }}",
                "matrix.os == 'linux' and not matrix.slow",
            ),
            ("contains(inputs.x, 'it''s')", "('it\\'s' in inputs.x)"),
            ("startsWith(a.b, 'x') || (a.c > 3)", "(a.b).startswith('x') or (a.c > 3)"),
            ("success() && needs.a.result == 'success'", "needs.a.result == 'succeeded'"),
            ("fromJSON(a.b)", "(a.b | fromjson)"),
        ] {
            assert_eq!(said(there).as_deref(), Ok(here), "{there}");
        }
        assert_eq!(said("github.ref == 'x'"), Err("github.ref".to_owned()));
        assert_eq!(said("hashFiles('a')"), Err("hashFiles('a')".to_owned()));
        for wrong in ["'open", "a ==", "f(", "%"] {
            assert!(said(wrong).is_err(), "{wrong}");
        }
        let always = translate("always()", &names).unwrap();
        assert!(always.is_always && always.is_plain && always.text == "true");
        let both = translate("failure() && a.b", &names).unwrap();
        assert!(both.is_failure && !both.is_plain && both.text == "a.b");
    }
}
