//! Reads expressions from tokens, with the precedence Jinja gives to operators.
//!
//! Statements are read in [`super::statements`].

use std::ops::Range;
use std::sync::Arc;

use super::checks;
use super::error::TemplateError;
use super::expression::{Arguments, Comparison, Expression, FilterCall, Kind, Operator};
use super::filters;
use super::lexer::{Located, Token};
use super::methods;
use super::value::Value;
use crate::language::problem::nearest;

/// How many parts an expression may have one behind the other, such as terms of a sum; each takes
/// some stack when it is evaluated and dropped.
const LENGTH_MAX: u32 = 100;
/// How deep brackets and signs may be in each other; each takes much stack when it is read.
const NESTING_MAX: u32 = 32;

/// How tight an operator binds what stands at its sides.
mod binding {
    pub(super) const CONDITION: u8 = 0;
    pub(super) const OR: u8 = 1;
    pub(super) const AND: u8 = 2;
    pub(super) const NOT: u8 = 3;
    pub(super) const COMPARISON: u8 = 4;
    pub(super) const SUM: u8 = 5;
    pub(super) const JOIN: u8 = 6;
    pub(super) const PRODUCT: u8 = 7;
    pub(super) const POWER: u8 = 8;
}

/// What is left to read.
pub(super) struct Parser<'a> {
    pub(super) source: &'a str,
    pub(super) tokens: std::iter::Peekable<std::vec::IntoIter<Located<'a>>>,
    /// Where the last token taken ended.
    pub(super) end: usize,
    pub(super) depth: u32,
}

impl<'a> Parser<'a> {
    pub(super) fn new(source: &'a str, tokens: Vec<Located<'a>>) -> Self {
        Self { source, tokens: tokens.into_iter().peekable(), end: 0, depth: 0 }
    }

    /// An expression that is all there is.
    pub(super) fn lone_expression(mut self) -> Result<Expression, TemplateError> {
        let expression = self.expression()?;
        match self.tokens.peek() {
            None => Ok(expression),
            Some(_) => Err(self.unexpected("an operator or the end")),
        }
    }

    pub(super) fn expression(&mut self) -> Result<Expression, TemplateError> {
        self.operand(binding::CONDITION)
    }

    /// An expression without `if` on its right: what stands behind `in` of a loop.
    pub(super) fn expression_before_if(&mut self) -> Result<Expression, TemplateError> {
        self.operand(binding::OR)
    }

    pub(super) fn next(&mut self) -> Option<Located<'a>> {
        let next = self.tokens.next();
        if let Some((_, range)) = &next {
            self.end = range.end;
        }
        next
    }

    pub(super) fn peek(&mut self) -> Option<&Token<'a>> {
        self.tokens.peek().map(|(token, _)| token)
    }

    pub(super) fn is_sign(&mut self, sign: &str) -> bool {
        matches!(self.peek(), Some(Token::Sign(other)) if *other == sign)
    }

    pub(super) fn is_name(&mut self, name: &str) -> bool {
        matches!(self.peek(), Some(Token::Name(other)) if *other == name)
    }

    pub(super) fn take_sign(&mut self, sign: &str) -> bool {
        let found = self.is_sign(sign);
        if found {
            self.next();
        }
        found
    }

    pub(super) fn take_name(&mut self, name: &str) -> bool {
        let found = self.is_name(name);
        if found {
            self.next();
        }
        found
    }

    pub(super) fn expect_sign(&mut self, sign: &'static str) -> Result<(), TemplateError> {
        if self.take_sign(sign) { Ok(()) } else { Err(self.unexpected(&format!("`{sign}`"))) }
    }

    /// Any name at all.
    pub(super) fn expect_name(
        &mut self,
        what: &str,
    ) -> Result<(Arc<str>, Range<usize>), TemplateError> {
        match self.tokens.next_if(|(token, _)| matches!(token, Token::Name(_))) {
            Some((Token::Name(name), range)) => {
                self.end = range.end;
                Ok((name.into(), range))
            }
            _ => Err(self.unexpected(what)),
        }
    }

    pub(super) fn unexpected(&mut self, wanted: &str) -> TemplateError {
        let end = self.end;
        match self.tokens.peek() {
            Some((_, range)) => {
                let found = &self.source[range.clone()];
                TemplateError::new(format!("{wanted} is wanted here, not `{found}`")).at(range)
            }
            None => TemplateError::new(format!("{wanted} is wanted here")).at(&(end..end)),
        }
    }

    /// Makes an expression of what was read since `start`.
    pub(super) fn made(&self, kind: Kind, start: usize) -> Result<Expression, TemplateError> {
        let expression = Expression::new(kind, start..self.end);
        if expression.depth > LENGTH_MAX {
            return Err(too_deep(&expression.range));
        }
        Ok(expression)
    }

    fn operand(&mut self, binding: u8) -> Result<Expression, TemplateError> {
        self.depth += 1;
        if self.depth > NESTING_MAX {
            let end = self.end;
            return Err(too_deep(&(end..end)));
        }
        let start = self.tokens.peek().map_or(self.end, |(_, range)| range.start);
        let mut left = self.prefix(binding, start)?;
        while let Some(next) = self.infix(binding) {
            left = match next {
                Infix::Condition => self.condition(left, start)?,
                Infix::Comparison => self.comparison(left, start)?,
                Infix::Logic(own) => {
                    self.next();
                    let right = self.operand(own + 1)?;
                    let sides = Box::new([left, right]);
                    let kind = if own == binding::OR { Kind::Or(sides) } else { Kind::And(sides) };
                    self.made(kind, start)?
                }
                Infix::Binary(operator, own) => {
                    self.next();
                    let right = self.operand(own + 1)?;
                    self.made(Kind::Binary { operator, sides: Box::new([left, right]) }, start)?
                }
            };
        }
        self.depth -= 1;
        Ok(left)
    }

    /// The operator that comes next, if it binds at least that tight.
    fn infix(&mut self, binding: u8) -> Option<Infix> {
        use binding::{AND, COMPARISON, CONDITION, JOIN, OR, POWER, PRODUCT, SUM};
        let (infix, own) = match self.peek()? {
            Token::Name(name) => match &**name {
                "if" => (Infix::Condition, CONDITION),
                "or" => (Infix::Logic(OR), OR),
                "and" => (Infix::Logic(AND), AND),
                "in" | "not" => (Infix::Comparison, COMPARISON),
                _ => return None,
            },
            Token::Sign(sign) => match *sign {
                "==" | "!=" | "<" | "<=" | ">" | ">=" => (Infix::Comparison, COMPARISON),
                "+" => (Infix::Binary(Operator::Add, SUM), SUM),
                "-" => (Infix::Binary(Operator::Subtract, SUM), SUM),
                "~" => (Infix::Binary(Operator::Join, JOIN), JOIN),
                "*" => (Infix::Binary(Operator::Multiply, PRODUCT), PRODUCT),
                "/" => (Infix::Binary(Operator::Divide, PRODUCT), PRODUCT),
                "//" => (Infix::Binary(Operator::DivideWhole, PRODUCT), PRODUCT),
                "%" => (Infix::Binary(Operator::Remainder, PRODUCT), PRODUCT),
                "**" => (Infix::Binary(Operator::Power, POWER), POWER),
                _ => return None,
            },
            _ => return None,
        };
        (own >= binding).then_some(infix)
    }

    fn condition(&mut self, then: Expression, start: usize) -> Result<Expression, TemplateError> {
        self.next();
        let test = self.operand(binding::OR)?;
        let otherwise =
            if self.take_name("else") { Some(Box::new(self.expression()?)) } else { None };
        self.made(Kind::Condition { then: Box::new([then, test]), otherwise }, start)
    }

    fn comparison(&mut self, first: Expression, start: usize) -> Result<Expression, TemplateError> {
        let mut rest = Vec::new();
        while matches!(self.infix(binding::COMPARISON), Some(Infix::Comparison)) {
            let comparison = match self.next() {
                Some((Token::Sign("=="), _)) => Comparison::Equal,
                Some((Token::Sign("!="), _)) => Comparison::Unequal,
                Some((Token::Sign("<"), _)) => Comparison::Less,
                Some((Token::Sign("<="), _)) => Comparison::LessOrEqual,
                Some((Token::Sign(">"), _)) => Comparison::Greater,
                Some((Token::Sign(">="), _)) => Comparison::GreaterOrEqual,
                Some((Token::Name("in"), _)) => Comparison::In,
                _ if self.take_name("in") => Comparison::NotIn,
                _ => return Err(self.unexpected("`in`")),
            };
            rest.push((comparison, self.operand(binding::COMPARISON + 1)?));
        }
        self.made(Kind::Compare { first: Box::new(first), rest }, start)
    }

    fn prefix(&mut self, binding: u8, start: usize) -> Result<Expression, TemplateError> {
        if binding <= binding::NOT && self.take_name("not") {
            let of = self.operand(binding::NOT)?;
            return self.made(Kind::Not(Box::new(of)), start);
        }
        let operand = if self.take_sign("-") {
            let of = self.signed(start)?;
            self.negative(of, start)?
        } else if self.take_sign("+") {
            self.signed(start)?
        } else {
            let primary = self.primary()?;
            self.postfix(primary, start)?
        };
        self.filtered(operand, start)
    }

    /// What stands behind a sign: filters apply to it with its sign.
    fn signed(&mut self, start: usize) -> Result<Expression, TemplateError> {
        self.depth += 1;
        if self.depth > NESTING_MAX {
            return Err(too_deep(&(start..start)));
        }
        let inner = self.tokens.peek().map_or(self.end, |(_, range)| range.start);
        let signed = if self.take_sign("-") {
            let of = self.signed(inner)?;
            self.negative(of, inner)?
        } else {
            let primary = self.primary()?;
            self.postfix(primary, inner)?
        };
        self.depth -= 1;
        Ok(signed)
    }

    fn negative(&mut self, of: Expression, start: usize) -> Result<Expression, TemplateError> {
        let kind = match of.kind {
            Kind::Constant(Value::Integer(integer)) => Kind::Constant(Value::Integer(-integer)),
            Kind::Constant(Value::Float(float)) => Kind::Constant(Value::Float(-float)),
            _ => Kind::Negative(Box::new(of)),
        };
        self.made(kind, start)
    }

    fn primary(&mut self) -> Result<Expression, TemplateError> {
        let Some((token, range)) = self.tokens.next_if(|(token, _)| is_start(token)) else {
            return Err(self.unexpected("a value"));
        };
        self.end = range.end;
        let kind = match token {
            Token::Name(name) => match name {
                "true" | "True" => Kind::Constant(Value::Bool(true)),
                "false" | "False" => Kind::Constant(Value::Bool(false)),
                "none" | "None" | "null" => Kind::Constant(Value::Null),
                _ => Kind::Name(name.into()),
            },
            Token::Integer(integer) => Kind::Constant(Value::Integer(integer)),
            Token::Float(float) => Kind::Constant(Value::Float(float)),
            Token::Text(mut text) => {
                while let Some(Token::Text(more)) = self.peek() {
                    text.push_str(more);
                    self.next();
                }
                Kind::Constant(Value::Text(text.into()))
            }
            Token::Sign("(") => return self.parenthesised(range.start),
            Token::Sign("[") => Kind::List(self.listed("]")?),
            _ => Kind::Map(self.entries()?),
        };
        self.made(kind, range.start)
    }

    fn parenthesised(&mut self, start: usize) -> Result<Expression, TemplateError> {
        if self.take_sign(")") {
            return self.made(Kind::List(Vec::new()), start);
        }
        let first = self.expression()?;
        if !self.take_sign(",") {
            self.expect_sign(")")?;
            return Ok(first);
        }
        let mut values = vec![first];
        values.extend(self.listed(")")?);
        self.made(Kind::List(values), start)
    }

    /// Expressions with commas between them, up to the closing bracket.
    fn listed(&mut self, closing: &'static str) -> Result<Vec<Expression>, TemplateError> {
        let mut values = Vec::new();
        while !self.take_sign(closing) {
            values.push(self.expression()?);
            if !self.take_sign(",") {
                self.expect_sign(closing)?;
                break;
            }
        }
        Ok(values)
    }

    fn entries(&mut self) -> Result<Vec<(Expression, Expression)>, TemplateError> {
        let mut entries = Vec::new();
        while !self.take_sign("}") {
            let key = self.expression()?;
            self.expect_sign(":")?;
            entries.push((key, self.expression()?));
            if !self.take_sign(",") {
                self.expect_sign("}")?;
                break;
            }
        }
        Ok(entries)
    }

    /// What follows a value directly: members, slices and calls.
    fn postfix(&mut self, mut of: Expression, start: usize) -> Result<Expression, TemplateError> {
        loop {
            if self.take_sign(".") {
                of = self.dotted(of, start)?;
            } else if self.take_sign("[") {
                of = self.bracketed(of, start)?;
            } else if let Kind::Name(name) = &of.kind
                && self.is_sign("(")
            {
                let name = name.clone();
                let arguments = self.arguments()?;
                of = self.made(Kind::Call { name, arguments }, start)?;
            } else if self.is_sign("(") {
                return Err(TemplateError::new("this cannot be called")
                    .at(&of.range)
                    .with_hint("only functions, macros and methods can"));
            } else {
                return Ok(of);
            }
        }
    }

    fn dotted(&mut self, of: Expression, start: usize) -> Result<Expression, TemplateError> {
        let (key, range) = match self.peek() {
            Some(Token::Integer(index)) => (Value::Integer(*index), self.next()),
            Some(Token::Name(name)) => (Value::text(name), self.next()),
            _ => return Err(self.unexpected("a name")),
        };
        let range = range.map_or(start..self.end, |(_, range)| range);
        if let Value::Text(name) = &key
            && self.is_sign("(")
        {
            if !methods::is_known(name) {
                return Err(unknown("method", name, methods::names(), &range));
            }
            let name = name.clone();
            let arguments = self.arguments()?;
            return self.made(Kind::Method { of: Box::new(of), name, arguments }, start);
        }
        let key = Box::new(Expression::new(Kind::Constant(key), range));
        self.made(Kind::Member { of: Box::new(of), key }, start)
    }

    fn bracketed(&mut self, of: Expression, start: usize) -> Result<Expression, TemplateError> {
        let mut bounds = [None, None, None];
        let mut count = 0;
        loop {
            if !self.is_sign(":") && !self.is_sign("]") {
                bounds[count] = Some(self.expression()?);
            }
            if count == 2 || !self.take_sign(":") {
                break;
            }
            count += 1;
        }
        self.expect_sign("]")?;
        let kind = match bounds {
            [Some(key), None, None] if count == 0 => {
                Kind::Member { of: Box::new(of), key: Box::new(key) }
            }
            _ if count == 0 => {
                return Err(TemplateError::new("these brackets are empty").at(&(start..self.end)));
            }
            bounds => Kind::Slice { of: Box::new(of), bounds: Box::new(bounds) },
        };
        self.made(kind, start)
    }

    /// The filters and checks behind a value.
    fn filtered(&mut self, mut of: Expression, start: usize) -> Result<Expression, TemplateError> {
        loop {
            if self.take_sign("|") {
                let filter = self.filter_call()?;
                of = self.made(Kind::Filter { of: Box::new(of), filter }, start)?;
            } else if self.take_name("is") {
                of = self.check(of, start)?;
            } else {
                return Ok(of);
            }
        }
    }

    pub(super) fn filter_call(&mut self) -> Result<FilterCall, TemplateError> {
        let (name, range) = self.expect_name("the name of a filter")?;
        let Some(filter) = filters::find(&name) else {
            return Err(unknown("filter", &name, filters::names(), &range));
        };
        let arguments = self.optional_arguments()?;
        Ok(FilterCall { filter, arguments, range: range.start..self.end })
    }

    fn check(&mut self, of: Expression, start: usize) -> Result<Expression, TemplateError> {
        let is_negated = self.take_name("not");
        let (name, range) = match self.peek() {
            Some(Token::Sign(sign @ ("==" | "!=" | "<" | "<=" | ">" | ">="))) => {
                let sign = *sign;
                let range = self.next().map_or(start..self.end, |(_, range)| range);
                (Arc::from(sign), range)
            }
            _ => self.expect_name("the name of a test")?,
        };
        let Some(check) = checks::find(&name) else {
            return Err(unknown("test", &name, checks::names(), &range));
        };
        let mut arguments = self.optional_arguments()?;
        // One argument may stand without parentheses: `n is divisibleby 3`.
        if arguments.positional.is_empty() && check.takes_argument && !self.is_sign("(") {
            let start = self.tokens.peek().map_or(self.end, |(_, range)| range.start);
            arguments.positional.push(self.signed(start)?);
        }
        self.made(Kind::Check { of: Box::new(of), check, arguments, is_negated }, start)
    }

    fn optional_arguments(&mut self) -> Result<Arguments, TemplateError> {
        if self.is_sign("(") { self.arguments() } else { Ok(Arguments::default()) }
    }

    pub(super) fn arguments(&mut self) -> Result<Arguments, TemplateError> {
        self.expect_sign("(")?;
        let mut arguments = Arguments::default();
        while !self.take_sign(")") {
            if self.is_sign("*") || self.is_sign("**") {
                return Err(self.unexpected("an argument"));
            }
            let value = self.expression()?;
            match value.kind {
                Kind::Name(name) if self.take_sign("=") => {
                    arguments.named.push((name, self.expression()?));
                }
                _ if !arguments.named.is_empty() => {
                    return Err(TemplateError::new(
                        "an argument without a name cannot follow one with",
                    )
                    .at(&value.range));
                }
                _ => arguments.positional.push(value),
            }
            if !self.take_sign(",") {
                self.expect_sign(")")?;
                break;
            }
        }
        Ok(arguments)
    }
}

enum Infix {
    Condition,
    Comparison,
    Logic(u8),
    Binary(Operator, u8),
}

/// Whether a value can begin with this token.
fn is_start(token: &Token) -> bool {
    match token {
        Token::Name(name) => {
            !matches!(*name, "if" | "else" | "elif" | "and" | "or" | "not" | "in" | "is")
        }
        Token::Integer(_) | Token::Float(_) | Token::Text(_) => true,
        Token::Sign(sign) => matches!(*sign, "(" | "[" | "{"),
        _ => false,
    }
}

fn too_deep(range: &Range<usize>) -> TemplateError {
    TemplateError::limit("this expression is too long or nests too deeply").at(range)
}

/// The error of a name nobody knows, with the one that was probably meant.
pub(super) fn unknown(
    what: &str,
    name: &str,
    known: impl Iterator<Item = &'static str>,
    range: &Range<usize>,
) -> TemplateError {
    let error = TemplateError::new(format!("there is no {what} `{name}`")).at(range);
    match nearest(name, known) {
        Some(known) => error.with_hint(format!("perhaps `{known}` is meant")),
        None => error,
    }
}
