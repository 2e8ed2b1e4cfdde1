//! Statements, and reading them from tokens.
//!
//! Expressions are read in [`super::parser`]; statements are carried out in [`super::run`].

use std::ops::Range;
use std::sync::Arc;

use super::error::TemplateError;
use super::expression::{Arguments, Expression, FilterCall, Kind};
use super::lexer::{Located, Token};
use super::parser::Parser;

/// How deep statements may be in each other.
const NESTING_MAX: u32 = 24;

/// What a template does, in its order.
pub(super) type Body = Vec<Statement>;

#[derive(Debug)]
pub(super) enum Statement {
    Raw(String),
    Print(Expression),
    If {
        branches: Vec<(Expression, Body)>,
        otherwise: Option<Body>,
    },
    For(Arc<Loop>),
    With {
        assignments: Vec<(Target, Expression)>,
        body: Body,
    },
    Set {
        target: Target,
        value: Expression,
    },
    SetBody {
        target: Target,
        filters: Vec<FilterCall>,
        body: Body,
    },
    FilterBody {
        filters: Vec<FilterCall>,
        body: Body,
    },
    Macro(Arc<Macro>),
    /// A call of the macro `name` that can call the body back.
    CallBody {
        name: Arc<str>,
        arguments: Arguments,
        range: Range<usize>,
        body: Arc<Macro>,
    },
    Do(Expression),
    Break,
    Continue,
}

#[derive(Debug)]
pub(super) struct Loop {
    pub(super) target: Target,
    pub(super) over: Expression,
    pub(super) only_if: Option<Expression>,
    pub(super) is_recursive: bool,
    pub(super) body: Body,
    pub(super) otherwise: Body,
}

#[derive(Debug)]
pub(super) struct Macro {
    pub(super) name: Arc<str>,
    pub(super) parameters: Parameters,
    pub(super) body: Body,
    pub(super) range: Range<usize>,
}

/// The parameters of a macro, with what they are when they are not given.
type Parameters = Vec<(Arc<str>, Option<Expression>)>;

/// What is given a value.
#[derive(Debug)]
pub(super) enum Target {
    Name(Arc<str>),
    /// The parts of a list, one each.
    Parts(Vec<Target>, Range<usize>),
    /// A name within a namespace.
    Member {
        namespace: Expression,
        name: Arc<str>,
    },
}

/// Reads a whole template.
pub(super) fn parse(source: &str, tokens: Vec<Located<'_>>) -> Result<Body, TemplateError> {
    let mut reader = Reader { parser: Parser::new(source, tokens), nesting: 0, loops: 0 };
    let (body, end) = reader.body(&[])?;
    match end {
        None => Ok(body),
        Some((name, range)) => {
            Err(TemplateError::new(format!("`{name}` has nothing to belong to")).at(&range))
        }
    }
}

struct Reader<'a> {
    parser: Parser<'a>,
    nesting: u32,
    /// How many loops `break` could leave.
    loops: u32,
}

/// The tag that ended a body.
type End = Option<(String, Range<usize>)>;

impl Reader<'_> {
    /// Reads up to one of these tags, and takes its name.
    fn body(&mut self, ends: &[&str]) -> Result<(Body, End), TemplateError> {
        let mut body = Body::new();
        loop {
            match self.parser.next() {
                None => return Ok((body, None)),
                Some((Token::Raw(raw), _)) => body.push(Statement::Raw(raw.to_owned())),
                Some((Token::PrintStart, _)) => {
                    let expression = self.values()?;
                    self.expect(&Token::PrintEnd, "`}}` or an operator")?;
                    body.push(Statement::Print(expression));
                }
                Some(_) => {
                    let (name, range) = self.parser.expect_name("the name of a statement")?;
                    let is_end = name.starts_with("end") || matches!(&*name, "else" | "elif");
                    if ends.contains(&&*name) || is_end {
                        return Ok((body, Some((name.to_string(), range))));
                    }
                    body.push(self.statement(&name, &range)?);
                }
            }
        }
    }

    /// Reads up to the end of the statement that began at `range`, and that end too.
    fn body_of(&mut self, name: &str, range: &Range<usize>) -> Result<Body, TemplateError> {
        let end = format!("end{name}");
        let (body, found) = self.body(&[&end])?;
        self.expect_end(&end, found, name, range)?;
        Ok(body)
    }

    fn expect_end(
        &mut self,
        end: &str,
        found: End,
        name: &str,
        range: &Range<usize>,
    ) -> Result<(), TemplateError> {
        match found {
            Some((found, _)) if found == end => self.block_end(),
            Some((found, at)) => {
                Err(TemplateError::new(format!("`{end}` is wanted here, not `{found}`")).at(&at))
            }
            None => Err(TemplateError::new(format!("`{name}` has no end"))
                .with_hint(format!("close it with `{{% {end} %}}`"))
                .at(range)),
        }
    }

    fn expect(&mut self, token: &Token, wanted: &str) -> Result<(), TemplateError> {
        if self.parser.peek() == Some(token) {
            self.parser.next();
            return Ok(());
        }
        Err(self.parser.unexpected(wanted))
    }

    fn block_end(&mut self) -> Result<(), TemplateError> {
        self.expect(&Token::BlockEnd, "`%}`")
    }

    /// One expression, or several with commas between them as a list.
    fn values(&mut self) -> Result<Expression, TemplateError> {
        let first = self.parser.expression()?;
        if !self.parser.is_sign(",") {
            return Ok(first);
        }
        let start = first.range.start;
        let mut values = vec![first];
        while self.parser.take_sign(",") {
            if matches!(self.parser.peek(), Some(Token::PrintEnd | Token::BlockEnd)) {
                break;
            }
            values.push(self.parser.expression()?);
        }
        self.parser.made(Kind::List(values), start)
    }

    fn statement(&mut self, name: &str, range: &Range<usize>) -> Result<Statement, TemplateError> {
        self.nesting += 1;
        if self.nesting > NESTING_MAX {
            return Err(TemplateError::limit("statements nest too deeply").at(range));
        }
        let statement = match name {
            "if" => self.condition(range),
            "for" => self.repetition(range),
            "set" => self.assignment(range),
            "with" => self.with(range),
            "filter" => self.filter(range),
            "macro" => self.definition(range),
            "call" => self.call(range),
            "do" => self.parser.expression().map(Statement::Do).and_then(|done| {
                self.block_end()?;
                Ok(done)
            }),
            "break" | "continue" => self.leave(name, range),
            _ => Err(refused(name, range)),
        };
        self.nesting -= 1;
        statement
    }

    fn condition(&mut self, range: &Range<usize>) -> Result<Statement, TemplateError> {
        let mut branches = Vec::new();
        let mut otherwise = None;
        let mut test = self.parser.expression()?;
        loop {
            self.block_end()?;
            let (body, end) = self.body(&["elif", "else", "endif"])?;
            branches.push((test, body));
            match end {
                Some((name, _)) if name == "elif" => test = self.parser.expression()?,
                Some((name, _)) if name == "else" => {
                    self.block_end()?;
                    otherwise = Some(self.body_of("if", range)?);
                    break;
                }
                end => {
                    self.expect_end("endif", end, "if", range)?;
                    break;
                }
            }
        }
        Ok(Statement::If { branches, otherwise })
    }

    fn repetition(&mut self, range: &Range<usize>) -> Result<Statement, TemplateError> {
        let target = self.target()?;
        if !self.parser.take_name("in") {
            return Err(self.parser.unexpected("`in`"));
        }
        let over = self.parser.expression_before_if()?;
        let only_if =
            if self.parser.take_name("if") { Some(self.parser.expression()?) } else { None };
        let is_recursive = self.parser.take_name("recursive");
        self.block_end()?;
        self.loops += 1;
        let (body, end) = self.body(&["else", "endfor"])?;
        self.loops -= 1;
        let otherwise = match end {
            Some((name, _)) if name == "else" => {
                self.block_end()?;
                self.body_of("for", range)?
            }
            end => {
                self.expect_end("endfor", end, "for", range)?;
                Body::new()
            }
        };
        let repetition = Loop { target, over, only_if, is_recursive, body, otherwise };
        Ok(Statement::For(Arc::new(repetition)))
    }

    fn assignment(&mut self, range: &Range<usize>) -> Result<Statement, TemplateError> {
        let target = self.target()?;
        if self.parser.take_sign("=") {
            let value = self.values()?;
            self.block_end()?;
            return Ok(Statement::Set { target, value });
        }
        if matches!(target, Target::Parts(..)) {
            return Err(self.parser.unexpected("`=`"));
        }
        let mut filters = Vec::new();
        while self.parser.take_sign("|") {
            filters.push(self.parser.filter_call()?);
        }
        self.expect(&Token::BlockEnd, "`=`")?;
        let body = self.scoped_body("set", range)?;
        Ok(Statement::SetBody { target, filters, body })
    }

    fn with(&mut self, range: &Range<usize>) -> Result<Statement, TemplateError> {
        let mut assignments = Vec::new();
        while self.parser.peek() != Some(&Token::BlockEnd) {
            let target = self.single_target()?;
            self.parser.expect_sign("=")?;
            assignments.push((target, self.parser.expression()?));
            if !self.parser.take_sign(",") {
                break;
            }
        }
        self.block_end()?;
        let body = self.body_of("with", range)?;
        Ok(Statement::With { assignments, body })
    }

    fn filter(&mut self, range: &Range<usize>) -> Result<Statement, TemplateError> {
        let mut filters = vec![self.parser.filter_call()?];
        while self.parser.take_sign("|") {
            filters.push(self.parser.filter_call()?);
        }
        self.block_end()?;
        let body = self.scoped_body("filter", range)?;
        Ok(Statement::FilterBody { filters, body })
    }

    fn definition(&mut self, range: &Range<usize>) -> Result<Statement, TemplateError> {
        let (name, _) = self.parser.expect_name("the name of the macro")?;
        let parameters = self.parameters()?;
        self.block_end()?;
        let body = self.scoped_body("macro", range)?;
        let definition = Macro { name, parameters, body, range: range.clone() };
        Ok(Statement::Macro(Arc::new(definition)))
    }

    fn call(&mut self, range: &Range<usize>) -> Result<Statement, TemplateError> {
        let parameters = if self.parser.is_sign("(") { self.parameters()? } else { Vec::new() };
        let (name, name_range) = self.parser.expect_name("the name of a macro")?;
        let arguments = self.parser.arguments()?;
        self.block_end()?;
        let body = self.scoped_body("call", range)?;
        let body = Macro { name: "caller".into(), parameters, body, range: range.clone() };
        Ok(Statement::CallBody { name, arguments, range: name_range, body: Arc::new(body) })
    }

    /// A body that no `break` leaves: it is worked out on its own.
    fn scoped_body(&mut self, name: &str, range: &Range<usize>) -> Result<Body, TemplateError> {
        let loops = std::mem::take(&mut self.loops);
        let body = self.body_of(name, range)?;
        self.loops = loops;
        Ok(body)
    }

    fn leave(&mut self, name: &str, range: &Range<usize>) -> Result<Statement, TemplateError> {
        self.block_end()?;
        if self.loops == 0 {
            return Err(TemplateError::new(format!("`{name}` is not in a loop")).at(range));
        }
        Ok(if name == "break" { Statement::Break } else { Statement::Continue })
    }

    fn parameters(&mut self) -> Result<Parameters, TemplateError> {
        self.parser.expect_sign("(")?;
        let mut parameters = Vec::new();
        while !self.parser.take_sign(")") {
            let (name, _) = self.parser.expect_name("the name of a parameter")?;
            let default =
                if self.parser.take_sign("=") { Some(self.parser.expression()?) } else { None };
            parameters.push((name, default));
            if !self.parser.take_sign(",") {
                self.parser.expect_sign(")")?;
                break;
            }
        }
        Ok(parameters)
    }

    fn target(&mut self) -> Result<Target, TemplateError> {
        let first = self.single_target()?;
        if !self.parser.is_sign(",") {
            return Ok(first);
        }
        let start = self.parser.end;
        let mut parts = vec![first];
        while self.parser.take_sign(",") {
            if !self.parser.is_sign("(") && !matches!(self.parser.peek(), Some(Token::Name(_))) {
                break;
            }
            parts.push(self.single_target()?);
        }
        Ok(Target::Parts(parts, start..self.parser.end))
    }

    fn single_target(&mut self) -> Result<Target, TemplateError> {
        if self.parser.take_sign("(") {
            self.nesting += 1;
            if self.nesting > NESTING_MAX {
                return Err(self.parser.unexpected("a name"));
            }
            let start = self.parser.end;
            let target = match self.target()? {
                parts @ Target::Parts(..) => parts,
                single => Target::Parts(vec![single], start..self.parser.end),
            };
            self.nesting -= 1;
            self.parser.expect_sign(")")?;
            return Ok(target);
        }
        let (name, range) = self.parser.expect_name("a name")?;
        if matches!(&*name, "loop" | "true" | "false" | "none" | "True" | "False" | "None" | "null")
        {
            let message = format!("`{name}` cannot be given another value");
            return Err(TemplateError::new(message).at(&range));
        }
        if !self.parser.take_sign(".") {
            return Ok(Target::Name(name));
        }
        let namespace = Expression::new(Kind::Name(name), range);
        let (name, _) = self.parser.expect_name("a name")?;
        Ok(Target::Member { namespace, name })
    }
}

/// The error of a statement that is not ours, or that Jinja has and we do not.
fn refused(name: &str, range: &Range<usize>) -> TemplateError {
    let error = TemplateError::new(format!("there is no statement `{name}`")).at(range);
    match name {
        "include" | "import" | "extends" | "from" | "block" => TemplateError::new(format!(
            "`{name}` is not possible here: a template cannot use others"
        ))
        .at(range),
        "autoescape" => error.with_hint("nothing is escaped unless a filter does it"),
        "raw" | "endraw" => error.with_hint("`raw` is closed with `endraw`"),
        "print" => error.with_hint("print with `{{ … }}`"),
        _ => error,
    }
}

/// The print statement a template consists of, but for white space around it.
pub(super) fn lone_print(body: &[Statement]) -> Option<usize> {
    let mut lone = None;
    for (index, statement) in body.iter().enumerate() {
        match statement {
            Statement::Raw(raw) if raw.trim().is_empty() => {}
            Statement::Print(_) if lone.is_none() => lone = Some(index),
            _ => return None,
        }
    }
    lone
}

/// A statement that prints an expression.
pub(super) fn print_only(expression: Expression) -> Body {
    vec![Statement::Print(expression)]
}
