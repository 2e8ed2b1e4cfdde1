//! Problems for machines: editors, checks and annotations on changes.
//!
//! What people read is in [`super::render`].

use serde_json::{Map, Value, json};

use super::list::Problems;
use super::report::Problem;
use super::source::{SourceFiles, Span};

impl Problems {
    /// A list with one object for each problem that was kept.
    ///
    /// `file`, `line`, `column`, `end_line` and `end_column` are null if it has no place; lines
    /// and columns count from 1, columns in characters. `label` and `hint` may be null, `related`
    /// is a list of places with a `message` each.
    pub fn to_json(&self, files: &SourceFiles) -> Value {
        self.iter().map(|problem| object(problem, files)).collect()
    }
}

fn object(problem: &Problem, files: &SourceFiles) -> Value {
    let mut object = place(problem.span, files);
    object.insert("severity".into(), problem.severity.as_str().into());
    object.insert("code".into(), problem.code.into());
    object.insert("message".into(), problem.message.as_str().into());
    object.insert("label".into(), problem.label.as_deref().into());
    object.insert("hint".into(), problem.hint.as_deref().into());
    let related = problem.related.iter().map(|(span, message)| {
        let mut related = place(Some(*span), files);
        related.insert("message".into(), message.as_str().into());
        Value::Object(related)
    });
    object.insert("related".into(), related.collect());
    Value::Object(object)
}

fn place(span: Option<Span>, files: &SourceFiles) -> Map<String, Value> {
    let known = span.and_then(|span| Some((span, files.get(span.file)?)));
    let name = known.map(|(_, file)| &*file.name);
    let start = known.map(|(span, file)| file.line_column(span.start as usize));
    let end = known.map(|(span, file)| file.line_column(span.end as usize));
    let fields = [
        ("file", json!(name)),
        ("line", json!(start.map(|(line, _)| line))),
        ("column", json!(start.map(|(_, column)| column))),
        ("end_line", json!(end.map(|(line, _)| line))),
        ("end_column", json!(end.map(|(_, column)| column))),
    ];
    fields.into_iter().map(|(name, value)| (name.to_owned(), value)).collect()
}
