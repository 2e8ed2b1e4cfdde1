//! Cuts a template into texts and the tokens between its braces.
//!
//! What the tokens mean together is in [`super::parser`].

use std::ops::Range;

use super::error::TemplateError;

/// One piece of a template.
#[derive(Debug, Clone, PartialEq)]
pub(super) enum Token<'a> {
    /// Text between the braces, without the white space that `-` takes away.
    Raw(&'a str),
    /// `{{`
    PrintStart,
    /// `}}`
    PrintEnd,
    /// `{%`
    BlockStart,
    /// `%}`
    BlockEnd,
    Name(&'a str),
    Integer(i128),
    Float(f64),
    Text(String),
    /// An operator or a bracket.
    Sign(&'static str),
}

/// A token and the bytes it stands at.
pub(super) type Located<'a> = (Token<'a>, Range<usize>);

/// Longer signs first, so that `**` is not read as two.
const SIGNS: [&str; 28] = [
    "**", "//", "==", "!=", "<=", ">=", ".", "|", "(", ")", ",", "[", "]", "=", "{", "}", "+", "-",
    "*", "/", "%", "~", ":", "<", ">", ";", "!", "&",
];

/// The sign that a text begins with.
fn sign_at(text: &str) -> Option<&'static str> {
    let text = text.as_bytes();
    let begins = |sign: &&str| match *sign.as_bytes() {
        [one] => text[0] == one,
        [one, two] => text[0] == one && text.get(1) == Some(&two),
        _ => false,
    };
    SIGNS.into_iter().find(begins)
}

/// Whether a text has anything to fill in. A comment alone makes no template: it may mean something to others.
pub fn has_syntax(text: &str) -> bool {
    text.contains("{{") || text.contains("{%")
}

/// The tokens of a whole template.
pub(super) fn template(source: &str) -> Result<Vec<Located<'_>>, TemplateError> {
    let mut lexer = Lexer::new(source);
    while lexer.at < source.len() {
        lexer.outside()?;
    }
    Ok(lexer.tokens)
}

/// The tokens of an expression that is written without braces.
pub(super) fn expression(source: &str) -> Result<Vec<Located<'_>>, TemplateError> {
    let mut lexer = Lexer::new(source);
    loop {
        lexer.skip_space();
        if lexer.at == source.len() {
            return Ok(lexer.tokens);
        }
        lexer.token()?;
    }
}

pub(super) struct Lexer<'a> {
    source: &'a str,
    pub(super) at: usize,
    pub(super) tokens: Vec<Located<'a>>,
    /// Whether the last closing brace takes away the white space behind it.
    trims: bool,
}

impl<'a> Lexer<'a> {
    pub(super) fn new(source: &'a str) -> Self {
        Self { source, at: 0, tokens: Vec::new(), trims: false }
    }

    pub(super) fn rest(&self) -> &'a str {
        &self.source[self.at..]
    }

    fn skip_space(&mut self) {
        self.at += self.rest().len() - self.rest().trim_start().len();
    }

    /// Takes text up to the next opening brace, and what that brace opens.
    fn outside(&mut self) -> Result<(), TemplateError> {
        let start = self.at;
        let opening = opening(self.source, start).unwrap_or(self.source.len());
        self.at = opening;
        let sign = self.rest().as_bytes().get(1).copied();
        let control = self.rest().as_bytes().get(2).copied();
        self.raw(start..opening, control == Some(b'-'));
        let Some(sign) = sign else { return Ok(()) };
        self.at += 2;
        if matches!(control, Some(b'-' | b'+')) {
            self.at += 1;
        }
        match sign {
            b'#' => self.comment(opening),
            b'{' => self.inside(opening, Token::PrintStart, "}}"),
            _ if self.verbatim(opening)? => Ok(()),
            _ => self.inside(opening, Token::BlockStart, "%}"),
        }
    }

    /// Takes text as it stands.
    pub(super) fn raw(&mut self, range: Range<usize>, trims_end: bool) {
        let mut raw = &self.source[range.clone()];
        if std::mem::take(&mut self.trims) {
            raw = raw.trim_start();
        }
        if trims_end {
            raw = raw.trim_end();
        }
        if !raw.is_empty() {
            self.tokens.push((Token::Raw(raw), range));
        }
    }

    fn comment(&mut self, opening: usize) -> Result<(), TemplateError> {
        let Some(length) = self.rest().find("#}") else {
            return Err(TemplateError::new("this comment has no end")
                .with_hint("close it with `#}`")
                .at(&(opening..opening + 2)));
        };
        self.trims = self.rest()[..length].ends_with('-');
        self.at += length + 2;
        Ok(())
    }

    /// Takes `{% raw %}…{% endraw %}`, if that is what stands here.
    pub(super) fn verbatim(&mut self, opening: usize) -> Result<bool, TemplateError> {
        let Some((length, trims_start)) = tag(self.rest(), "raw") else { return Ok(false) };
        let start = self.at + length;
        let mut from = start;
        while let Some(found) = self.source[from..].find("{%").map(|found| from + found) {
            let after = &self.source[found + 2..];
            let unsigned = after.strip_prefix(['-', '+']).unwrap_or(after);
            if let Some((length, trims_next)) = tag(unsigned, "endraw") {
                self.trims = trims_start;
                self.raw(start..found, after.starts_with('-'));
                self.at = self.source.len() - unsigned.len() + length;
                self.trims = trims_next;
                return Ok(true);
            }
            from = found + 2;
        }
        Err(TemplateError::new("`raw` has no end")
            .with_hint("close it with `{% endraw %}`")
            .at(&(opening..start)))
    }

    /// Takes everything up to the closing brace.
    fn inside(
        &mut self,
        opening: usize,
        start: Token<'a>,
        closing: &'static str,
    ) -> Result<(), TemplateError> {
        let end = if start == Token::PrintStart { Token::PrintEnd } else { Token::BlockEnd };
        self.tokens.push((start, opening..self.at));
        let mut open: Vec<(&str, usize)> = Vec::new();
        loop {
            self.skip_space();
            if self.at == self.source.len() {
                let at = open.last().map_or(opening..opening + 2, |(_, at)| *at..at + 1);
                let missing = open.last().map_or(closing, |(sign, _)| closing_of(sign));
                return Err(
                    TemplateError::new(format!("this has no end: `{missing}` is missing")).at(&at)
                );
            }
            let rest = self.rest();
            let unsigned = rest.strip_prefix(['-', '+']).unwrap_or(rest);
            if open.is_empty() && unsigned.starts_with(closing) {
                self.trims = rest.starts_with('-');
                let length = rest.len() - unsigned.len() + closing.len();
                self.tokens.push((end, self.at..self.at + length));
                self.at += length;
                return Ok(());
            }
            let at = self.at;
            match self.token()? {
                Some(sign @ ("{" | "(" | "[")) => open.push((sign, at)),
                Some(sign @ ("}" | ")" | "]")) => {
                    match open.pop().map(|(sign, _)| closing_of(sign)) {
                        Some(wanted) if wanted != sign => {
                            let message = format!("`{wanted}` is wanted here, not `{sign}`");
                            return Err(TemplateError::new(message).at(&(at..at + 1)));
                        }
                        _ => {}
                    }
                }
                _ => {}
            }
        }
    }

    /// Takes one token of an expression; says which sign it was.
    fn token(&mut self) -> Result<Option<&'static str>, TemplateError> {
        let start = self.at;
        let first = self.rest().chars().next().unwrap_or_default();
        let token = match first {
            '"' | '\'' => self.text(first)?,
            '0'..='9' => self.number()?,
            letter if letter == '_' || letter.is_alphabetic() => {
                let is_part = |letter: char| letter == '_' || letter.is_alphanumeric();
                let rest = self.rest();
                let length = rest.find(|letter| !is_part(letter)).unwrap_or(rest.len());
                self.at += length;
                Token::Name(&rest[..length])
            }
            other => {
                let Some(sign) = sign_at(self.rest()) else {
                    let message = format!("`{}` means nothing here", other.escape_debug());
                    return Err(TemplateError::new(message).at(&(start..start + other.len_utf8())));
                };
                self.at += sign.len();
                Token::Sign(sign)
            }
        };
        let sign = if let Token::Sign(sign) = token { Some(sign) } else { None };
        self.tokens.push((token, start..self.at));
        Ok(sign)
    }

    /// Takes a text in quotes, with the escapes of Python.
    fn text(&mut self, quote: char) -> Result<Token<'a>, TemplateError> {
        let start = self.at;
        let mut text = String::new();
        let mut letters = self.rest().char_indices().skip(1);
        while let Some((at, letter)) = letters.next() {
            if letter == quote {
                self.at = start + at + 1;
                return Ok(Token::Text(text));
            }
            if letter != '\\' {
                text.push(letter);
                continue;
            }
            let Some((_, escape)) = letters.next() else { break };
            let digits = match escape {
                'x' => 2,
                'u' => 4,
                'U' => 8,
                _ => 0,
            };
            if digits > 0 {
                let hex: String = letters.by_ref().take(digits).map(|(_, digit)| digit).collect();
                let range = start + at..start + at + 2 + hex.len();
                text.push(
                    letter_of(&hex, digits)
                        .ok_or_else(|| TemplateError::new("this escape is no letter").at(&range))?,
                );
                continue;
            }
            match escape {
                'n' => text.push('\n'),
                't' => text.push('\t'),
                'r' => text.push('\r'),
                '0' => text.push('\0'),
                '\n' => {}
                '\\' | '\'' | '"' => text.push(escape),
                // As in Python, what is no escape stays as it is written.
                other => text.extend(['\\', other]),
            }
        }
        Err(TemplateError::new("this text has no end")
            .with_hint(format!("close it with `{quote}`"))
            .at(&(start..start + 1)))
    }

    fn number(&mut self) -> Result<Token<'a>, TemplateError> {
        let start = self.at;
        let bytes = self.source.as_bytes();
        let mut end = start;
        let take = |end: &mut usize, accepts: fn(&u8) -> bool| {
            while bytes.get(*end).is_some_and(accepts) {
                *end += 1;
            }
        };
        let radix = match bytes.get(start + 1) {
            Some(b'x' | b'X') if bytes[start] == b'0' => 16,
            Some(b'o' | b'O') if bytes[start] == b'0' => 8,
            Some(b'b' | b'B') if bytes[start] == b'0' => 2,
            _ => 10,
        };
        take(&mut end, |byte| byte.is_ascii_alphanumeric() || *byte == b'_');
        if radix == 10 {
            end = start;
            take(&mut end, |byte| byte.is_ascii_digit() || *byte == b'_');
        }
        let mut is_float = false;
        if radix == 10
            && bytes.get(end) == Some(&b'.')
            && bytes.get(end + 1).is_some_and(u8::is_ascii_digit)
        {
            is_float = true;
            end += 1;
            take(&mut end, |byte| byte.is_ascii_digit() || *byte == b'_');
        }
        if radix == 10 && matches!(bytes.get(end), Some(b'e' | b'E')) {
            let sign = usize::from(matches!(bytes.get(end + 1), Some(b'+' | b'-')));
            if bytes.get(end + 1 + sign).is_some_and(u8::is_ascii_digit) {
                is_float = true;
                end += 1 + sign;
                take(&mut end, |byte| byte.is_ascii_digit() || *byte == b'_');
            }
        }
        self.at = end;
        let digits = self.source[start..end].replace('_', "");
        let wrong = || TemplateError::new("this is no number").at(&(start..end));
        if is_float {
            return digits.parse().map(Token::Float).map_err(|_| wrong());
        }
        let digits = if radix == 10 { &digits[..] } else { &digits[2..] };
        i128::from_str_radix(digits, radix).map(Token::Integer).map_err(|_| wrong())
    }
}

/// The bracket that closes another.
fn closing_of(sign: &str) -> &'static str {
    match sign {
        "(" => ")",
        "[" => "]",
        _ => "}",
    }
}

/// Where the next opening brace is. `${#` is how shells ask for a length.
fn opening(source: &str, from: usize) -> Option<usize> {
    let bytes = source.as_bytes();
    let is_length = |at: usize| at > 0 && bytes[at - 1] == b'$' && bytes[at + 1] == b'#';
    (from..bytes.len().saturating_sub(1)).find(|at| {
        let opens = bytes[*at] == b'{' && matches!(bytes[at + 1], b'{' | b'%' | b'#');
        opens && !is_length(*at)
    })
}

/// How long `name %}` is, if that stands here, and whether it takes away white space behind it.
fn tag(text: &str, name: &str) -> Option<(usize, bool)> {
    let rest = text.trim_start().strip_prefix(name)?.trim_start();
    let unsigned = rest.strip_prefix(['-', '+']).unwrap_or(rest);
    let end = unsigned.strip_prefix("%}")?;
    Some((text.len() - end.len(), rest.starts_with('-')))
}

fn letter_of(hex: &str, digits: usize) -> Option<char> {
    if hex.len() != digits || !hex.bytes().all(|byte| byte.is_ascii_hexdigit()) {
        return None;
    }
    char::from_u32(u32::from_str_radix(hex, 16).ok()?)
}
