//! Which names of its context a template uses.
//!
//! Found in the parsed template, so that brackets, loops and assignments are understood as they
//! are when it is rendered. A name that may be one of the context's counts as one: dependencies
//! are inferred from these, and none may be missed.

use std::ops::Range;
use std::sync::Arc;

use super::expression::{Arguments, Expression, Kind};
use super::statements::{Loop, Macro, Statement, Target};
use super::value::Value;

/// One use of a name that the template does not define itself.
#[derive(Debug, Clone, PartialEq, Eq)]
#[non_exhaustive]
pub struct Reference {
    /// The name and the constant keys behind it: `flows['a'].rows[0]` is `flows`, `a`, `rows`, `0`.
    pub path: Vec<String>,
    /// The bytes of the template's text that are this path.
    pub range: Range<usize>,
    /// Whether it may be missing: it is asked about with `is defined`, or has a `default`.
    pub has_default: bool,
    /// Whether it goes on with a key that is only known when the template is rendered.
    pub is_dynamic: bool,
    /// Whether an assignment in a branch may have given the name another meaning.
    pub may_be_local: bool,
}

/// What was found in a template.
#[derive(Debug, Default)]
pub(super) struct Findings {
    pub(super) references: Vec<Reference>,
    /// Functions that are called and not defined in the template.
    pub(super) calls: Vec<(Arc<str>, Range<usize>)>,
}

pub(super) fn find(body: &[Statement]) -> Findings {
    let mut search =
        Search { findings: Findings::default(), scopes: vec![Vec::new()], macros: Vec::new() };
    search.body(body);
    let Search { mut findings, macros, .. } = search;
    // A macro may call one that is defined behind it.
    findings.calls.retain(|(name, _)| !macros.contains(name));
    findings
}

struct Search {
    findings: Findings,
    /// Names that statements gave a meaning to, and whether they surely did.
    scopes: Vec<Vec<(Arc<str>, bool)>>,
    macros: Vec<Arc<str>>,
}

impl Search {
    /// Whether a name is the template's own: surely, perhaps, or not.
    fn bound(&self, name: &str) -> Option<bool> {
        let names = self.scopes.iter().rev().flat_map(|scope| scope.iter().rev());
        let mut found = names.filter(|(known, _)| **known == *name).map(|(_, is_sure)| *is_sure);
        let first = found.next()?;
        Some(first || found.any(|is_sure| is_sure))
    }

    fn bind(&mut self, name: &Arc<str>) {
        if let Some(scope) = self.scopes.last_mut() {
            scope.push((name.clone(), true));
        }
    }

    fn bind_target(&mut self, target: &Target) {
        match target {
            Target::Name(name) => self.bind(name),
            Target::Parts(parts, _) => parts.iter().for_each(|part| self.bind_target(part)),
            Target::Member { namespace, .. } => self.expression(namespace, false),
        }
    }

    fn scoped(&mut self, search: impl FnOnce(&mut Self)) {
        self.scopes.push(Vec::new());
        search(self);
        self.scopes.pop();
    }

    fn body(&mut self, body: &[Statement]) {
        body.iter().for_each(|statement| self.statement(statement));
    }

    fn statement(&mut self, statement: &Statement) {
        match statement {
            Statement::Raw(_) | Statement::Break | Statement::Continue => {}
            Statement::Print(expression) | Statement::Do(expression) => {
                self.expression(expression, false);
            }
            Statement::If { branches, otherwise } => self.branches(branches, otherwise.as_deref()),
            Statement::For(repetition) => self.repetition(repetition),
            Statement::With { assignments, body } => {
                assignments.iter().for_each(|(_, value)| self.expression(value, false));
                self.scoped(|this| {
                    assignments.iter().for_each(|(target, _)| this.bind_target(target));
                    this.body(body);
                });
            }
            Statement::Set { target, value } => {
                self.expression(value, false);
                self.bind_target(target);
            }
            Statement::SetBody { target, filters, body } => {
                filters.iter().for_each(|filter| self.arguments(&filter.arguments));
                self.scoped(|this| this.body(body));
                self.bind_target(target);
            }
            Statement::FilterBody { filters, body } => {
                filters.iter().for_each(|filter| self.arguments(&filter.arguments));
                self.scoped(|this| this.body(body));
            }
            Statement::Macro(definition) => {
                self.bind(&definition.name);
                self.macros.push(definition.name.clone());
                self.definition(definition, true);
            }
            Statement::CallBody { name, arguments, range, body } => {
                if self.bound(name).is_none() {
                    self.findings.calls.push((name.clone(), range.clone()));
                }
                self.arguments(arguments);
                self.definition(body, false);
            }
        }
    }

    /// Each branch on its own: what all of them assign is assigned, what some do may be.
    fn branches(
        &mut self,
        branches: &[(Expression, Vec<Statement>)],
        otherwise: Option<&[Statement]>,
    ) {
        let mut assigned: Vec<Vec<(Arc<str>, bool)>> = Vec::new();
        let length = self.scopes.last().map_or(0, Vec::len);
        let mut branch = |this: &mut Self, body: &[Statement]| {
            this.body(body);
            let scope = this.scopes.last_mut();
            assigned.push(scope.map_or_else(Vec::new, |scope| scope.split_off(length)));
        };
        for (test, body) in branches {
            self.expression(test, false);
            branch(self, body);
        }
        branch(self, otherwise.unwrap_or_default());
        let names: Vec<Arc<str>> =
            assigned.iter().flatten().map(|(name, _)| name.clone()).collect();
        for name in names {
            let in_all = assigned
                .iter()
                .all(|names| names.iter().any(|(known, is_sure)| *known == name && *is_sure));
            if let Some(scope) = self.scopes.last_mut() {
                scope.push((name, in_all));
            }
        }
    }

    fn repetition(&mut self, repetition: &Loop) {
        self.expression(&repetition.over, false);
        self.scoped(|this| {
            this.bind_target(&repetition.target);
            if let Some(only_if) = &repetition.only_if {
                this.expression(only_if, false);
            }
        });
        self.scoped(|this| {
            this.bind(&"loop".into());
            this.bind_target(&repetition.target);
            this.body(&repetition.body);
        });
        self.scoped(|this| this.body(&repetition.otherwise));
    }

    fn definition(&mut self, definition: &Macro, has_caller: bool) {
        self.scoped(|this| {
            for (name, default) in &definition.parameters {
                if let Some(default) = default {
                    this.expression(default, false);
                }
                this.bind(name);
            }
            if has_caller {
                this.bind(&"caller".into());
            }
            this.body(&definition.body);
        });
    }

    fn arguments(&mut self, arguments: &Arguments) {
        arguments.each(&mut |value| self.expression(value, false));
    }

    /// Looks through an expression, which may be allowed to be missing.
    fn expression(&mut self, expression: &Expression, may_miss: bool) {
        match &expression.kind {
            Kind::Constant(_) => {}
            Kind::Name(_) | Kind::Member { .. } => self.path(expression, may_miss),
            Kind::Filter { of, filter } => {
                self.expression(of, filter.filter.takes_undefined);
                self.arguments(&filter.arguments);
            }
            Kind::Check { of, check, arguments, .. } => {
                self.expression(of, check.takes_undefined);
                self.arguments(arguments);
            }
            Kind::Condition { then, otherwise } => {
                self.expression(&then[1], false);
                self.expression(&then[0], may_miss);
                if let Some(otherwise) = otherwise {
                    self.expression(otherwise, may_miss);
                }
            }
            Kind::Call { name, arguments } => {
                if self.bound(name).is_none() {
                    let end = expression.range.start + name.len();
                    self.findings.calls.push((name.clone(), expression.range.start..end));
                }
                self.arguments(arguments);
            }
            Kind::Method { of, name, arguments } if **name == *"get" => {
                self.got(of, arguments, expression);
            }
            _ => expression.each(&mut |part| self.expression(part, false)),
        }
    }

    /// A name with the keys behind it.
    fn path(&mut self, expression: &Expression, may_miss: bool) {
        let mut keys = Vec::new();
        let mut base = expression;
        while let Kind::Member { of, key } = &base.kind {
            keys.push((&**key, base.range.end));
            base = of;
        }
        let Kind::Name(name) = &base.kind else {
            self.expression(base, false);
            keys.iter().for_each(|(key, _)| self.expression(key, false));
            return;
        };
        let mut path = vec![name.to_string()];
        let mut end = base.range.end;
        let mut is_dynamic = false;
        for (key, key_end) in keys.iter().rev() {
            match &key.kind {
                Kind::Constant(key) if !is_dynamic => {
                    path.extend(key.as_key().map(|key| key.to_string()));
                    end = *key_end;
                }
                Kind::Constant(_) => {}
                _ => {
                    is_dynamic = true;
                    self.expression(key, false);
                }
            }
        }
        let reference = Reference {
            path,
            range: base.range.start..end,
            has_default: may_miss,
            is_dynamic,
            may_be_local: false,
        };
        self.found(name, reference);
    }

    /// `of.get('key')` is `of.key` with null for a default.
    fn got(&mut self, of: &Expression, arguments: &Arguments, expression: &Expression) {
        let before = self.findings.references.len();
        self.expression(of, false);
        self.arguments(arguments);
        let key = arguments.positional.first().map(|key| &key.kind);
        let found = self.findings.references.get_mut(before);
        if let (Some(reference), true) = (found, is_path(of))
            && !reference.is_dynamic
        {
            match key {
                Some(Kind::Constant(Value::Text(key))) => {
                    reference.path.push(key.to_string());
                    reference.range.end = expression.range.end;
                    reference.has_default = true;
                }
                _ => reference.is_dynamic = true,
            }
        }
    }

    fn found(&mut self, name: &str, mut reference: Reference) {
        match self.bound(name) {
            Some(true) => return,
            Some(false) => reference.may_be_local = true,
            None => {}
        }
        self.findings.references.push(reference);
    }
}

/// Whether an expression is a name with constant keys behind it.
fn is_path(expression: &Expression) -> bool {
    match &expression.kind {
        Kind::Name(_) => true,
        Kind::Member { of, key } => matches!(key.kind, Kind::Constant(_)) && is_path(of),
        _ => false,
    }
}
