//! A value of a flow file with templates in it, at any depth.
//!
//! What a single text means is the business of `template`.

use std::sync::Arc;

use serde_json::Value as Json;

use crate::language::problem::Span;
use crate::language::template::{Context, Reference, Template, TemplateError};

/// A value whose texts may be templates. What has none in it is kept as it is.
#[derive(Debug, Clone)]
pub(crate) enum Tree {
    /// Nothing to render.
    Value(Json),
    Text(Leaf),
    List(Vec<Tree>),
    Map(Vec<(String, Tree)>),
}

/// One text that is a template, and where it stands.
#[derive(Debug, Clone)]
pub(crate) struct Leaf {
    pub template: Template,
    pub span: Span,
    /// Where each of the names it uses stands, in the order of its references.
    pub names: Arc<[Span]>,
    /// Where it is used, in the words of the file: `env.NAME`.
    pub place: Arc<str>,
}

/// A template could not be rendered.
#[derive(Debug, Clone, thiserror::Error)]
#[error("{place}: {error}")]
pub(crate) struct RenderError {
    pub place: Arc<str>,
    #[source]
    pub error: Box<TemplateError>,
}

impl Leaf {
    /// The names it uses, each with its place.
    pub fn references(&self) -> impl Iterator<Item = (&Reference, Span)> {
        self.template.references().iter().zip(self.names.iter().copied())
    }

    pub fn render(&self, context: &Context) -> Result<Json, RenderError> {
        self.template.render(context).map_err(|error| self.wrong(error))
    }

    pub fn render_text(&self, context: &Context) -> Result<String, RenderError> {
        self.template.render_text(context).map_err(|error| self.wrong(error))
    }

    /// Whether a condition holds. What a program printed is text, and its `false` is meant so.
    pub fn is_true(&self, context: &Context) -> Result<bool, RenderError> {
        match self.render(context)? {
            Json::String(text) => {
                let word = text.trim().to_ascii_lowercase();
                Ok(!matches!(word.as_str(), "" | "false" | "0" | "no" | "off" | "null"))
            }
            _ => self.template.is_true(context).map_err(|error| self.wrong(error)),
        }
    }

    fn wrong(&self, error: TemplateError) -> RenderError {
        RenderError { place: Arc::clone(&self.place), error: Box::new(error) }
    }
}

impl Tree {
    /// The value with everything rendered. A lone expression keeps its type.
    pub fn render(&self, context: &Context) -> Result<Json, RenderError> {
        Ok(match self {
            Self::Value(value) => value.clone(),
            Self::Text(leaf) => leaf.render(context)?,
            Self::List(trees) => {
                let values: Result<_, _> = trees.iter().map(|tree| tree.render(context)).collect();
                Json::Array(values?)
            }
            Self::Map(entries) => {
                let rendered =
                    entries.iter().map(|(key, tree)| Ok((key.clone(), tree.render(context)?)));
                Json::Object(rendered.collect::<Result<_, RenderError>>()?)
            }
        })
    }

    /// The value as text: a text as it is, nothing as nothing, lists and mappings as JSON.
    pub fn render_text(&self, context: &Context) -> Result<String, RenderError> {
        match self {
            Self::Text(leaf) => leaf.render_text(context),
            other => Ok(text_of(&other.render(context)?)),
        }
    }

    /// The value, if there is nothing to render.
    pub fn as_value(&self) -> Option<&Json> {
        match self {
            Self::Value(value) => Some(value),
            _ => None,
        }
    }

    /// Calls `visit` with every template.
    pub fn visit<'a>(&'a self, visit: &mut dyn FnMut(&'a Leaf)) {
        match self {
            Self::Value(_) => {}
            Self::Text(leaf) => visit(leaf),
            Self::List(trees) => trees.iter().for_each(|tree| tree.visit(visit)),
            Self::Map(entries) => entries.iter().for_each(|(_, tree)| tree.visit(visit)),
        }
    }

    /// Whether some template needs a name that starts with `root`.
    pub fn uses(&self, root: &str) -> bool {
        let mut found = false;
        self.visit(&mut |leaf| {
            found |=
                leaf.template.references().iter().any(|reference| starts_with(reference, root));
        });
        found
    }
}

pub(crate) fn starts_with(reference: &Reference, root: &str) -> bool {
    reference.path.first().is_some_and(|first| first == root)
}

/// A value as text for a program: a text as it is, nothing as nothing, the rest as JSON.
pub(crate) fn text_of(value: &Json) -> String {
    match value {
        Json::Null => String::new(),
        Json::String(text) => text.clone(),
        other => other.to_string(),
    }
}
