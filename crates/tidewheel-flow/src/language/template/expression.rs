//! Expressions as they are kept: owned, with the bytes they were written at.
//!
//! Reading them is in [`super::parser`], working them out in [`super::evaluate`].

use std::ops::Range;
use std::sync::Arc;

use super::checks::Check;
use super::filters::Filter;
use super::value::Value;

/// An expression and where it stands.
#[derive(Debug)]
pub(super) struct Expression {
    pub(super) kind: Kind,
    pub(super) range: Range<usize>,
    /// How many expressions are in each other here; bounds what dropping and evaluating take.
    pub(super) depth: u32,
}

#[derive(Debug)]
pub(super) enum Kind {
    Constant(Value),
    Name(Arc<str>),
    /// `of.name` and `of[key]`: the same, as in Jinja, only that a dot is followed by a name.
    Member {
        of: Box<Expression>,
        key: Box<Expression>,
    },
    Slice {
        of: Box<Expression>,
        bounds: Box<[Option<Expression>; 3]>,
    },
    Not(Box<Expression>),
    Negative(Box<Expression>),
    Binary {
        operator: Operator,
        sides: Box<[Expression; 2]>,
    },
    Compare {
        first: Box<Expression>,
        rest: Vec<(Comparison, Expression)>,
    },
    And(Box<[Expression; 2]>),
    Or(Box<[Expression; 2]>),
    /// `then if test else otherwise`
    Condition {
        then: Box<[Expression; 2]>,
        otherwise: Option<Box<Expression>>,
    },
    Filter {
        of: Box<Expression>,
        filter: FilterCall,
    },
    Check {
        of: Box<Expression>,
        check: Check,
        arguments: Arguments,
        is_negated: bool,
    },
    /// A function or a macro by its name.
    Call {
        name: Arc<str>,
        arguments: Arguments,
    },
    /// A method such as `text.upper()`.
    Method {
        of: Box<Expression>,
        name: Arc<str>,
        arguments: Arguments,
    },
    List(Vec<Expression>),
    Map(Vec<(Expression, Expression)>),
}

/// A filter with what it is given besides the value.
#[derive(Debug)]
pub(super) struct FilterCall {
    pub(super) filter: Filter,
    pub(super) arguments: Arguments,
    pub(super) range: Range<usize>,
}

/// What stands in the parentheses of a call.
#[derive(Debug, Default)]
pub(super) struct Arguments {
    pub(super) positional: Vec<Expression>,
    pub(super) named: Vec<(Arc<str>, Expression)>,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Operator {
    Add,
    Subtract,
    Multiply,
    Divide,
    DivideWhole,
    Remainder,
    Power,
    Join,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Comparison {
    Equal,
    Unequal,
    Less,
    LessOrEqual,
    Greater,
    GreaterOrEqual,
    In,
    NotIn,
}

impl Expression {
    pub(super) fn new(kind: Kind, range: Range<usize>) -> Self {
        let mut depth = 0;
        kind.each(&mut |part| depth = depth.max(part.depth));
        Self { kind, range, depth: depth + 1 }
    }

    /// The expressions directly in this one.
    pub(super) fn each<'a>(&'a self, visit: &mut dyn FnMut(&'a Expression)) {
        self.kind.each(visit);
    }
}

impl Kind {
    fn each<'a>(&'a self, visit: &mut dyn FnMut(&'a Expression)) {
        match self {
            Self::Constant(_) | Self::Name(_) => {}
            Self::Member { of, key } => {
                visit(of);
                visit(key);
            }
            Self::Slice { of, bounds } => {
                visit(of);
                bounds.iter().flatten().for_each(visit);
            }
            Self::Not(of) | Self::Negative(of) => visit(of),
            Self::Binary { sides, .. } | Self::And(sides) | Self::Or(sides) => {
                sides.iter().for_each(visit);
            }
            Self::Compare { first, rest } => {
                visit(first);
                rest.iter().for_each(|(_, other)| visit(other));
            }
            Self::Condition { then, otherwise } => {
                then.iter().for_each(&mut *visit);
                otherwise.iter().for_each(|other| visit(other));
            }
            Self::Filter { of, filter } => {
                visit(of);
                filter.arguments.each(visit);
            }
            Self::Check { of, arguments, .. } | Self::Method { of, arguments, .. } => {
                visit(of);
                arguments.each(visit);
            }
            Self::Call { arguments, .. } => arguments.each(visit),
            Self::List(values) => values.iter().for_each(visit),
            Self::Map(entries) => {
                for (key, value) in entries {
                    visit(key);
                    visit(value);
                }
            }
        }
    }
}

impl Arguments {
    pub(super) fn each<'a>(&'a self, visit: &mut dyn FnMut(&'a Expression)) {
        self.positional.iter().for_each(&mut *visit);
        self.named.iter().for_each(|(_, value)| visit(value));
    }
}
