//! Templates: read once, filled in as often as wanted.
//!
//! How they are read is in [`super::parser`] and [`super::statements`], how they are filled in in
//! [`super::evaluate`] and [`super::run`].

use std::collections::BTreeMap;
use std::fmt;
use std::sync::Arc;

use super::budget::Limits;
use super::context::Context;
use super::error::TemplateError;
use super::evaluate::Evaluator;
use super::functions;
use super::lexer;
use super::parser::{Parser, unknown};
use super::print;
use super::references::{self, Reference};
use super::statements::{self, Body, Statement};

/// A function of the embedder: JSON values in, one out, or a sentence that says what is wrong.
pub type Function = dyn Fn(&[serde_json::Value]) -> Result<serde_json::Value, String> + Send + Sync;

/// Functions by their names.
pub(super) type Functions = BTreeMap<String, Arc<Function>>;

/// Reads templates. Cheap to clone.
#[derive(Clone, Default)]
pub struct Engine {
    limits: Limits,
    functions: Arc<Functions>,
    is_lenient: bool,
}

impl Engine {
    /// An engine whose templates stay within these limits.
    pub fn new(limits: Limits) -> Self {
        Self { limits, functions: Arc::default(), is_lenient: false }
    }

    /// Adds a function that templates can call. It has to bound its own work.
    #[must_use]
    pub fn with_function(
        mut self,
        name: &str,
        function: impl Fn(&[serde_json::Value]) -> Result<serde_json::Value, String>
        + Send
        + Sync
        + 'static,
    ) -> Self {
        Arc::make_mut(&mut self.functions).insert(name.to_owned(), Arc::new(function));
        self
    }

    /// The same, but what is not there is nothing instead of an error.
    #[must_use]
    pub fn lenient(&self) -> Self {
        Self { is_lenient: true, ..self.clone() }
    }

    /// Reads a text in which parts between braces are filled in.
    pub fn template(&self, text: &str) -> Result<Template, TemplateError> {
        self.check_length(text)?;
        let body = statements::parse(text, lexer::template(text)?)?;
        self.made(text, body)
    }

    /// Reads an expression; one with braces around it is the same.
    pub fn expression(&self, text: &str) -> Result<Template, TemplateError> {
        self.check_length(text)?;
        if !text.trim_start().starts_with("{{") && !text.contains("{%") {
            let expression = Parser::new(text, lexer::expression(text)?).lone_expression()?;
            return self.made(text, statements::print_only(expression));
        }
        let template = self.template(text)?;
        if template.is_lone_expression() {
            return Ok(template);
        }
        Err(TemplateError::new("one expression is wanted here, not a text")
            .with_hint("write it without braces, such as `a > 1 and b`")
            .at(&(0..text.len())))
    }

    fn check_length(&self, text: &str) -> Result<(), TemplateError> {
        let max = self.limits.source_bytes_max.min(u32::MAX as usize);
        if text.len() > max {
            return Err(TemplateError::limit(format!("the template is longer than {max} bytes")));
        }
        Ok(())
    }

    fn made(&self, text: &str, body: Body) -> Result<Template, TemplateError> {
        let findings = references::find(&body);
        for (name, range) in &findings.calls {
            let is_known =
                functions::NAMES.contains(&&**name) || self.functions.contains_key(&**name);
            if !is_known {
                return Err(unknown("function", name, functions::NAMES.into_iter(), range));
            }
        }
        let compiled = Compiled {
            text: text.to_owned(),
            lone: statements::lone_print(&body),
            body,
            references: findings.references,
            engine: self.clone(),
        };
        Ok(Template { compiled: Arc::new(compiled) })
    }
}

impl fmt::Debug for Engine {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter
            .debug_struct("Engine")
            .field("limits", &self.limits)
            .field("functions", &self.functions.keys())
            .finish()
    }
}

/// A template that was read. Cheap to clone.
#[derive(Clone)]
pub struct Template {
    compiled: Arc<Compiled>,
}

struct Compiled {
    text: String,
    body: Body,
    /// Which statement is the one expression the template consists of.
    lone: Option<usize>,
    references: Vec<Reference>,
    engine: Engine,
}

impl Template {
    /// As it was written.
    pub fn text(&self) -> &str {
        &self.compiled.text
    }

    /// What stands before the first part that is filled in.
    pub fn literal_start(&self) -> &str {
        let text = &self.compiled.text;
        let starts = ["{{", "{%", "{#"].into_iter().filter_map(|braces| text.find(braces));
        starts.min().map_or(text, |end| &text[..end])
    }

    /// What comes out whatever it is filled in with, if there is nothing to fill in.
    pub fn constant(&self) -> Option<String> {
        let text = |statement: &Statement| match statement {
            Statement::Raw(text) => Some(text.clone()),
            _ => None,
        };
        self.compiled.body.iter().map(text).collect()
    }

    /// Whether it is one expression and nothing else but white space, so that its type is kept.
    pub fn is_lone_expression(&self) -> bool {
        self.compiled.lone.is_some()
    }

    /// Every use of a name that is not defined in the template itself, in the order of the text
    /// as far as statements are in it.
    pub fn references(&self) -> &[Reference] {
        &self.compiled.references
    }

    /// Fills it in. A lone expression keeps its type; anything else is text.
    pub fn render(&self, context: &Context) -> Result<serde_json::Value, TemplateError> {
        let Compiled { body, lone, engine, .. } = &*self.compiled;
        let Some(Statement::Print(expression)) = lone.and_then(|index| body.get(index)) else {
            return self.render_text(context).map(serde_json::Value::String);
        };
        let mut evaluator = self.evaluator(context);
        let value = evaluator.value(expression)?;
        let mut bytes_left = engine.limits.output_bytes_max;
        print::to_json(&value, &mut bytes_left).map_err(|error| error.at(&expression.range))
    }

    /// Fills it in as text: null is nothing, lists and maps are JSON, booleans `true` and `false`.
    pub fn render_text(&self, context: &Context) -> Result<String, TemplateError> {
        let mut evaluator = self.evaluator(context);
        evaluator.run(&self.compiled.body)?;
        Ok(evaluator.outputs.pop().unwrap_or_default())
    }

    /// Fills in an expression and says whether it is taken for true: not so are null, false, zero
    /// and whatever is empty.
    pub fn is_true(&self, context: &Context) -> Result<bool, TemplateError> {
        let Compiled { body, lone, .. } = &*self.compiled;
        match lone.and_then(|index| body.get(index)) {
            Some(Statement::Print(expression)) => self.evaluator(context).truth(expression),
            _ => self.render_text(context).map(|text| !text.is_empty()),
        }
    }

    fn evaluator<'a>(&'a self, context: &'a Context) -> Evaluator<'a> {
        let Compiled { text, engine, .. } = &*self.compiled;
        let mut evaluator = Evaluator::new(text, context, &engine.functions, &engine.limits);
        evaluator.is_lenient = engine.is_lenient;
        evaluator
    }
}

impl fmt::Debug for Template {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.debug_tuple("Template").field(&self.compiled.text).finish()
    }
}
