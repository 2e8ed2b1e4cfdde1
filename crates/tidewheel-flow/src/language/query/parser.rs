//! Reads queries from tokens.
//!
//! What they find is worked out in [`super::search`].

use serde_json::Value;

use super::QueryError;
use super::functions::{self, Function};
use super::lexer::{Token, tokens};

/// How deep queries may be in each other while they are read.
const NESTING_MAX: u32 = 64;
/// How many parts a query may have one behind the other.
const LENGTH_MAX: u32 = 100;

/// A part of a query.
#[derive(Debug)]
pub(super) struct Part {
    pub(super) kind: Kind,
    pub(super) offset: usize,
    depth: u32,
}

#[derive(Debug)]
pub(super) enum Kind {
    Current,
    Field(String),
    Literal(Value),
    Index(i64),
    Slice([Option<i64>; 3]),
    /// The second of what the first finds; also `a | b`.
    Chain(Box<[Part; 2]>),
    /// The second of each value of a list.
    Each(Box<[Part; 2]>),
    /// The second of each value of a map.
    EachValue(Box<[Part; 2]>),
    /// The third of each value of a list for which the second holds.
    Filter(Box<[Part; 3]>),
    Flatten(Box<Part>),
    Or(Box<[Part; 2]>),
    And(Box<[Part; 2]>),
    Not(Box<Part>),
    Compare(&'static str, Box<[Part; 2]>),
    List(Vec<Part>),
    Map(Vec<(String, Part)>),
    Call(Function, Vec<Part>),
    /// `&query`: handed to a function that uses it.
    Expression(Box<Part>),
}

pub(super) fn parse(text: &str) -> Result<Part, QueryError> {
    let mut parser = Parser { tokens: tokens(text)?, at: 0, depth: 0 };
    let part = parser.query(0)?;
    match parser.peek() {
        Token::End => Ok(part),
        _ => Err(parser.unexpected("an operator or the end")),
    }
}

/// How tight a token binds what stands before it.
fn binding(token: &Token) -> u8 {
    let Token::Sign(sign) = token else { return 0 };
    match *sign {
        "|" => 1,
        "||" => 2,
        "&&" => 3,
        "==" | "!=" | "<" | "<=" | ">" | ">=" => 5,
        "[]" => FLATTEN,
        "*" => STAR,
        "[?" => FILTER,
        "." => DOT,
        "!" => NOT,
        "{" => 50,
        "[" => 55,
        "(" => 60,
        _ => 0,
    }
}

const FLATTEN: u8 = 9;
/// What binds less than this ends what is done with each value.
const EACH_END: u8 = 10;
const STAR: u8 = 20;
const FILTER: u8 = 21;
const DOT: u8 = 40;
const NOT: u8 = 45;

struct Parser {
    tokens: Vec<(Token, usize)>,
    at: usize,
    depth: u32,
}

impl Parser {
    fn peek(&self) -> &Token {
        &self.tokens[self.at].0
    }

    fn offset(&self) -> usize {
        self.tokens[self.at].1
    }

    fn next(&mut self) -> Token {
        let token = self.peek().clone();
        // The end stays.
        self.at = (self.at + 1).min(self.tokens.len() - 1);
        token
    }

    fn is_sign(&self, sign: &str) -> bool {
        matches!(self.peek(), Token::Sign(other) if *other == sign)
    }

    fn take(&mut self, sign: &str) -> bool {
        let found = self.is_sign(sign);
        if found {
            self.next();
        }
        found
    }

    fn expect(&mut self, sign: &'static str) -> Result<(), QueryError> {
        if self.take(sign) { Ok(()) } else { Err(self.unexpected(&format!("`{sign}`"))) }
    }

    fn unexpected(&self, wanted: &str) -> QueryError {
        let found = match self.peek() {
            Token::Name(name) | Token::QuotedName(name) => format!(", not `{name}`"),
            Token::Number(number) => format!(", not `{number}`"),
            Token::Literal(_) => ", not a literal".to_owned(),
            Token::Sign(sign) => format!(", not `{sign}`"),
            Token::End => String::new(),
        };
        QueryError::new(format!("{wanted} is wanted here{found}")).at(self.offset())
    }

    fn made(&self, kind: Kind, offset: usize) -> Result<Part, QueryError> {
        let depth = 1 + match &kind {
            Kind::Chain(parts) | Kind::Each(parts) | Kind::EachValue(parts) => deepest(&parts[..]),
            Kind::Or(parts) | Kind::And(parts) | Kind::Compare(_, parts) => deepest(&parts[..]),
            Kind::Filter(parts) => deepest(&parts[..]),
            Kind::Flatten(part) | Kind::Not(part) | Kind::Expression(part) => part.depth,
            Kind::List(parts) | Kind::Call(_, parts) => deepest(parts),
            Kind::Map(entries) => entries.iter().map(|(_, part)| part.depth).max().unwrap_or(0),
            _ => 0,
        };
        if depth > LENGTH_MAX {
            return Err(too_deep(offset));
        }
        Ok(Part { kind, offset, depth })
    }

    fn query(&mut self, binds: u8) -> Result<Part, QueryError> {
        self.depth += 1;
        if self.depth > NESTING_MAX {
            return Err(too_deep(self.offset()));
        }
        let mut left = self.first()?;
        while binds < binding(self.peek()) {
            left = self.then(left)?;
        }
        self.depth -= 1;
        Ok(left)
    }

    fn current(&self) -> Result<Part, QueryError> {
        self.made(Kind::Current, self.offset())
    }

    /// What can stand at the beginning.
    fn first(&mut self) -> Result<Part, QueryError> {
        let offset = self.offset();
        let kind = match self.next() {
            Token::Name(name) => Kind::Field(name),
            Token::QuotedName(name) if !self.is_sign("(") => Kind::Field(name),
            Token::Literal(value) => Kind::Literal(value),
            Token::Sign("@") => Kind::Current,
            Token::Sign("*") => {
                let current = self.current()?;
                let each = if self.is_sign("]") { self.current()? } else { self.each(STAR)? };
                Kind::EachValue(Box::new([current, each]))
            }
            Token::Sign("[?") => {
                let current = self.current()?;
                return self.filter(current, offset);
            }
            Token::Sign("[]") => {
                let current = self.current()?;
                return self.flatten(current, offset);
            }
            Token::Sign("!") => Kind::Not(Box::new(self.query(NOT)?)),
            Token::Sign("&") => Kind::Expression(Box::new(self.query(0)?)),
            Token::Sign("(") => {
                let inner = self.query(0)?;
                self.expect(")")?;
                return Ok(inner);
            }
            Token::Sign("{") => return self.map(offset),
            Token::Sign("[") => return self.bracket_first(offset),
            _ => {
                self.at = self.at.saturating_sub(1);
                return Err(QueryError { offset: Some(offset), ..self.unexpected("a name") });
            }
        };
        self.made(kind, offset)
    }

    fn bracket_first(&mut self, offset: usize) -> Result<Part, QueryError> {
        if matches!(self.peek(), Token::Number(_)) || self.is_sign(":") {
            let current = self.current()?;
            return self.index(current, offset);
        }
        let is_all = matches!(self.tokens.get(self.at + 1), Some((Token::Sign("]"), _)));
        if self.is_sign("*") && is_all {
            self.next();
            self.next();
            let parts = Box::new([self.current()?, self.each(STAR)?]);
            return self.made(Kind::Each(parts), offset);
        }
        self.list(offset)
    }

    /// What can follow another part.
    fn then(&mut self, left: Part) -> Result<Part, QueryError> {
        let offset = self.offset();
        let token = self.next();
        let binds = binding(&token);
        let Token::Sign(sign) = token else { return Err(self.unexpected("an operator")) };
        let kind = match sign {
            "." if self.take("*") => Kind::EachValue(Box::new([left, self.each(DOT)?])),
            "." => Kind::Chain(Box::new([left, self.behind_dot(DOT)?])),
            "|" => Kind::Chain(Box::new([left, self.query(binds)?])),
            "||" => Kind::Or(Box::new([left, self.query(binds)?])),
            "&&" => Kind::And(Box::new([left, self.query(binds)?])),
            "==" | "!=" | "<" | "<=" | ">" | ">=" => {
                Kind::Compare(sign, Box::new([left, self.query(binds)?]))
            }
            "(" => return self.call(left),
            "[?" => return self.filter(left, offset),
            "[]" => return self.flatten(left, offset),
            "[" if matches!(self.peek(), Token::Number(_)) || self.is_sign(":") => {
                return self.index(left, offset);
            }
            "[" => {
                self.expect("*")?;
                self.expect("]")?;
                Kind::Each(Box::new([left, self.each(STAR)?]))
            }
            _ => return Err(QueryError::new(format!("`{sign}` cannot stand here")).at(offset)),
        };
        self.made(kind, offset)
    }

    /// What is done with each value of a list or a map.
    fn each(&mut self, binds: u8) -> Result<Part, QueryError> {
        if binding(self.peek()) < EACH_END {
            return self.current();
        }
        if self.is_sign("[") || self.is_sign("[?") {
            return self.query(binds);
        }
        if self.take(".") {
            return self.behind_dot(binds);
        }
        Err(self.unexpected("`.`, `[` or the end"))
    }

    fn behind_dot(&mut self, binds: u8) -> Result<Part, QueryError> {
        let offset = self.offset();
        match self.peek() {
            Token::Name(_) | Token::QuotedName(_) | Token::Sign("*") => self.query(binds),
            Token::Sign("[") => {
                self.next();
                self.list(offset)
            }
            Token::Sign("{") => {
                self.next();
                self.map(offset)
            }
            _ => Err(self.unexpected("a name, `*`, `[` or `{`")),
        }
    }

    fn filter(&mut self, of: Part, offset: usize) -> Result<Part, QueryError> {
        let condition = self.query(0)?;
        self.expect("]")?;
        let each = if self.is_sign("[]") { self.current()? } else { self.each(FILTER)? };
        self.made(Kind::Filter(Box::new([of, condition, each])), offset)
    }

    fn flatten(&mut self, of: Part, offset: usize) -> Result<Part, QueryError> {
        let flat = self.made(Kind::Flatten(Box::new(of)), offset)?;
        let each = self.each(FLATTEN)?;
        self.made(Kind::Each(Box::new([flat, each])), offset)
    }

    /// `[1]` and `[1:2]`, behind the bracket.
    fn index(&mut self, of: Part, offset: usize) -> Result<Part, QueryError> {
        let mut bounds = [None; 3];
        let mut place = 0;
        loop {
            match *self.peek() {
                Token::Number(number) if bounds[place].is_none() => {
                    bounds[place] = Some(number);
                    self.next();
                }
                Token::Sign(":") if place < 2 => {
                    place += 1;
                    self.next();
                }
                Token::Sign("]") => break,
                _ => return Err(self.unexpected("a number, `:` or `]`")),
            }
        }
        self.expect("]")?;
        if let (0, Some(index)) = (place, bounds[0]) {
            let index = self.made(Kind::Index(index), offset)?;
            return self.made(Kind::Chain(Box::new([of, index])), offset);
        }
        if bounds[2] == Some(0) {
            return Err(QueryError::new("a slice cannot go on by 0").at(offset));
        }
        let slice = self.made(Kind::Slice(bounds), offset)?;
        let sliced = self.made(Kind::Chain(Box::new([of, slice])), offset)?;
        let each = self.each(STAR)?;
        self.made(Kind::Each(Box::new([sliced, each])), offset)
    }

    fn list(&mut self, offset: usize) -> Result<Part, QueryError> {
        let mut parts = vec![self.query(0)?];
        while self.take(",") {
            parts.push(self.query(0)?);
        }
        self.expect("]")?;
        self.made(Kind::List(parts), offset)
    }

    fn map(&mut self, offset: usize) -> Result<Part, QueryError> {
        let mut entries = Vec::new();
        loop {
            let (Token::Name(key) | Token::QuotedName(key)) = self.peek().clone() else {
                return Err(self.unexpected("a key"));
            };
            self.next();
            self.expect(":")?;
            entries.push((key, self.query(0)?));
            if !self.take(",") {
                break;
            }
        }
        self.expect("}")?;
        self.made(Kind::Map(entries), offset)
    }

    fn call(&mut self, left: Part) -> Result<Part, QueryError> {
        let offset = left.offset;
        let Kind::Field(name) = left.kind else {
            return Err(QueryError::new("only functions can be called").at(offset));
        };
        let Some(function) = functions::find(&name) else {
            return Err(QueryError::new(format!("there is no function `{name}`")).at(offset));
        };
        let mut arguments = Vec::new();
        while !self.take(")") {
            arguments.push(self.query(0)?);
            if !self.take(",") {
                self.expect(")")?;
                break;
            }
            if self.is_sign(")") {
                return Err(self.unexpected("an argument"));
            }
        }
        function.check_count(arguments.len()).map_err(|error| error.at(offset))?;
        self.made(Kind::Call(function, arguments), offset)
    }
}

fn deepest(parts: &[Part]) -> u32 {
    parts.iter().map(|part| part.depth).max().unwrap_or(0)
}

fn too_deep(offset: usize) -> QueryError {
    QueryError::new("the query is too long or nests too deeply").at(offset)
}
