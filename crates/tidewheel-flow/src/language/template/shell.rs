//! Texts for a shell: no templates, but braces that are meant as they stand.
//!
//! What templates are made of is in [`super::lexer`].

use std::ops::Range;

use super::error::TemplateError;
use super::lexer::{Lexer, Token};

/// How many templates are found in a text that must not have any: enough to see what is wrong.
const MISPLACED_MAX: usize = 16;

/// A text for a shell, which has no templates of its own.
#[derive(Debug, Default, PartialEq, Eq)]
pub struct ShellText {
    /// The text, with what stands between `{% raw %}` and `{% endraw %}` as it is.
    pub text: String,
    /// What would be a template anywhere else: the first few.
    pub templates: Vec<Range<usize>>,
}

impl ShellText {
    /// Reads a text for a shell. `{#` means something to shells and is left alone.
    pub fn parse(source: &str) -> Result<Self, TemplateError> {
        let mut lexer = Lexer::new(source);
        let mut templates = Vec::new();
        let is_template =
            |at: &usize| source[*at..].starts_with("{{") || source[*at..].starts_with("{%");
        while let Some(start) =
            source[lexer.at..].match_indices('{').map(|(at, _)| lexer.at + at).find(is_template)
        {
            lexer.raw(lexer.at..start, source[start..].starts_with("{%-"));
            lexer.at = start + 2;
            let rest = lexer.rest();
            lexer.at += rest.len() - rest.strip_prefix(['-', '+']).unwrap_or(rest).len();
            let is_block = source[start..].starts_with("{%");
            if is_block && lexer.verbatim(start)? {
                continue;
            }
            lexer.at = end_of_template(source, start, if is_block { "%}" } else { "}}" });
            templates.push(start..lexer.at);
            if templates.len() == MISPLACED_MAX {
                break;
            }
        }
        lexer.raw(lexer.at..source.len(), false);
        let texts = lexer.tokens.into_iter().filter_map(|(token, _)| match token {
            Token::Raw(text) => Some(text),
            _ => None,
        });
        Ok(Self { text: texts.collect(), templates })
    }
}

/// Where something ends that begins with braces; with its line if nothing closes it.
fn end_of_template(source: &str, start: usize, closing: &str) -> usize {
    let rest = &source[start + 2..];
    let closed = rest.find(closing).map(|end| end + closing.len());
    start + 2 + closed.or_else(|| rest.find('\n')).unwrap_or(rest.len())
}
