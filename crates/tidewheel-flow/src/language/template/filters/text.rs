//! Filters that make texts.
//!
//! Filters of texts that make other things are in [`super::convert`].

use std::fmt::Write;
use std::sync::Arc;

use super::super::arguments::{Given, count, flag, required_text, text as text_of, wanted};
use super::super::budget::Budget;
use super::super::error::TemplateError;
use super::super::print;
use super::super::value::Value;
use super::picking::attribute;

type Outcome = Result<Value, TemplateError>;

/// The value as text: like Jinja, these filters take anything.
fn input(budget: &mut Budget, value: &Value) -> Result<Arc<str>, TemplateError> {
    match value {
        Value::Text(text) => Ok(text.clone()),
        other => print::to_text(budget, other).map(Into::into),
    }
}

/// One text made of another, at most `growth` times as long.
fn changed(
    budget: &mut Budget,
    value: &Value,
    given: Given,
    growth: usize,
    change: fn(&str) -> String,
) -> Outcome {
    let [] = given.bind([])?;
    let text = input(budget, value)?;
    budget.allocate(text.len().saturating_mul(growth))?;
    Ok(Value::Text(change(&text).into()))
}

pub(super) fn upper(budget: &mut Budget, value: &Value, given: Given) -> Outcome {
    changed(budget, value, given, 3, str::to_uppercase)
}

pub(super) fn lower(budget: &mut Budget, value: &Value, given: Given) -> Outcome {
    changed(budget, value, given, 3, str::to_lowercase)
}

pub(super) fn capitalize(budget: &mut Budget, value: &Value, given: Given) -> Outcome {
    changed(budget, value, given, 3, |text| {
        let mut letters = text.chars();
        let first = letters.next().into_iter().flat_map(char::to_uppercase);
        first.chain(letters.as_str().to_lowercase().chars()).collect()
    })
}

pub(super) fn title(budget: &mut Budget, value: &Value, given: Given) -> Outcome {
    changed(budget, value, given, 3, |text| {
        let mut titled = String::with_capacity(text.len());
        let mut is_start = true;
        for letter in text.chars() {
            if is_start {
                titled.extend(letter.to_uppercase());
            } else {
                titled.extend(letter.to_lowercase());
            }
            is_start = letter.is_whitespace() || matches!(letter, '-' | '(' | '{' | '[' | '<');
        }
        titled
    })
}

pub(super) fn escape(budget: &mut Budget, value: &Value, given: Given) -> Outcome {
    changed(budget, value, given, 6, |text| {
        let mut escaped = String::with_capacity(text.len());
        for letter in text.chars() {
            match letter {
                '&' => escaped.push_str("&amp;"),
                '<' => escaped.push_str("&lt;"),
                '>' => escaped.push_str("&gt;"),
                '"' => escaped.push_str("&#34;"),
                '\'' => escaped.push_str("&#39;"),
                other => escaped.push(other),
            }
        }
        escaped
    })
}

/// Nothing is escaped here, so there is nothing to spare from it.
pub(super) fn safe(budget: &mut Budget, value: &Value, given: Given) -> Outcome {
    string(budget, value, given)
}

pub(super) fn string(budget: &mut Budget, value: &Value, given: Given) -> Outcome {
    let [] = given.bind([])?;
    input(budget, value).map(Value::Text)
}

pub(super) fn trim(budget: &mut Budget, value: &Value, given: Given) -> Outcome {
    let [letters] = given.bind(["chars"])?;
    let text = input(budget, value)?;
    let trimmed = match letters {
        None | Some(Value::Null) => text.trim(),
        some => {
            let letters = required_text(some, "chars")?;
            budget.read(text.len().saturating_mul(letters.len()))?;
            text.trim_matches(|letter| letters.contains(letter))
        }
    };
    budget.text(trimmed)
}

pub(super) fn replace(budget: &mut Budget, value: &Value, given: Given) -> Outcome {
    let [old, new, times] = given.bind(["old", "new", "count"])?;
    let text = input(budget, value)?;
    let old = input(budget, &super::super::arguments::required(old, "old")?)?;
    let new = input(budget, &super::super::arguments::required(new, "new")?)?;
    let found = match times {
        None | Some(Value::Null) => text.matches(&*old).count(),
        some => count(some, 0)?.min(text.matches(&*old).count()),
    };
    budget.read(text.len())?;
    budget.allocate(found.saturating_mul(new.len()).saturating_add(text.len()))?;
    Ok(Value::Text(text.replacen(&*old, &new, found).into()))
}

pub(super) fn join(budget: &mut Budget, value: &Value, given: Given) -> Outcome {
    let [separator, path] = given.bind(["d", "attribute"])?;
    let separator = text_of(separator, "")?;
    let mut joined = String::new();
    for (index, member) in budget.members(value)?.iter().enumerate() {
        if index > 0 {
            budget.allocate(separator.len())?;
            joined.push_str(&separator);
        }
        let member = attribute(budget, member, path.as_ref())?;
        print::write_text(budget, &mut joined, &member)?;
    }
    Ok(Value::Text(joined.into()))
}

pub(super) fn split(budget: &mut Budget, value: &Value, given: Given) -> Outcome {
    let [separator, times] = given.bind(["sep", "maxsplit"])?;
    let text = required_text(Some(value.clone()), "value")?;
    let times = match times {
        None | Some(Value::Integer(-1)) => usize::MAX,
        some => count(some, 0)?,
    };
    match separator {
        None | Some(Value::Null) => texts(budget, words(&text, times)),
        some => {
            let separator = required_text(some, "sep")?;
            if separator.is_empty() {
                return Err(TemplateError::new("it cannot split at an empty text"));
            }
            texts(budget, text.splitn(times.saturating_add(1), &*separator))
        }
    }
}

/// Words with any white space between them; the last part keeps what is left.
fn words(text: &str, times: usize) -> impl Iterator<Item = &str> {
    let mut rest = text.trim_start();
    let mut left = times;
    std::iter::from_fn(move || {
        if rest.is_empty() {
            return None;
        }
        let end = rest.find(char::is_whitespace).filter(|_| left > 0).unwrap_or(rest.len());
        left = left.saturating_sub(1);
        let word = &rest[..end];
        rest = rest[end..].trim_start();
        Some(word)
    })
}

pub(super) fn lines(budget: &mut Budget, value: &Value, given: Given) -> Outcome {
    let [] = given.bind([])?;
    let text = required_text(Some(value.clone()), "value")?;
    texts(budget, text.lines())
}

/// What a shared text takes besides its letters.
const TEXT_BYTES: usize = 32;

fn texts<'a>(budget: &mut Budget, parts: impl Iterator<Item = &'a str>) -> Outcome {
    let mut texts = Vec::new();
    for part in parts {
        budget.allocate(TEXT_BYTES)?;
        texts.push(budget.text(part)?);
    }
    budget.list(texts)
}

pub(super) fn wordcount(budget: &mut Budget, value: &Value, given: Given) -> Outcome {
    let [] = given.bind([])?;
    Ok(Value::count(input(budget, value)?.split_whitespace().count()))
}

pub(super) fn truncate(budget: &mut Budget, value: &Value, given: Given) -> Outcome {
    let [length, cuts_words, end, leeway] = given.bind(["length", "killwords", "end", "leeway"])?;
    let text = input(budget, value)?;
    let length = count(length, 255)?;
    let end = text_of(end, "...")?;
    let leeway = count(leeway, 5)?;
    let letters = text.chars().count();
    if letters <= length.saturating_add(leeway) {
        return Ok(Value::Text(text));
    }
    let kept = length.saturating_sub(end.chars().count());
    let mut cut: String = text.chars().take(kept).collect();
    if !flag(cuts_words)
        && let Some(space) = cut.rfind(' ')
    {
        cut.truncate(space);
    }
    cut.push_str(&end);
    budget.text(cut)
}

pub(super) fn indent(budget: &mut Budget, value: &Value, given: Given) -> Outcome {
    let [width, first, blank] = given.bind(["width", "first", "blank"])?;
    let text = input(budget, value)?;
    let indent = match width {
        Some(Value::Text(indent)) => indent,
        width => {
            let width = count(width, 4)?;
            budget.allocate(width)?;
            " ".repeat(width).into()
        }
    };
    let (first, blank) = (flag(first), flag(blank));
    let lines = text.split('\n').count();
    budget.allocate(lines.saturating_mul(indent.len()).saturating_add(text.len()))?;
    let mut indented = String::new();
    for (index, line) in text.split('\n').enumerate() {
        if index > 0 {
            indented.push('\n');
        }
        if (index > 0 || first) && (blank || !line.is_empty()) {
            indented.push_str(&indent);
        }
        indented.push_str(line);
    }
    Ok(Value::Text(indented.into()))
}

pub(super) fn urlencode(budget: &mut Budget, value: &Value, given: Given) -> Outcome {
    let [] = given.bind([])?;
    let mut encoded = String::new();
    match value {
        Value::Map(map) => {
            for (key, value) in map.iter() {
                query_part(budget, &mut encoded, key, value)?;
            }
        }
        Value::List(_) => {
            for pair in budget.members(value)? {
                let [key, value] = &budget.members(&pair)?[..] else {
                    return Err(wanted("a pair of a name and a value", &pair));
                };
                let key = input(budget, key)?;
                query_part(budget, &mut encoded, &key, value)?;
            }
        }
        other => {
            let text = input(budget, other)?;
            percent(budget, &mut encoded, &text, true)?;
        }
    }
    Ok(Value::Text(encoded.into()))
}

/// Adds `name=value` to a query.
fn query_part(
    budget: &mut Budget,
    out: &mut String,
    name: &str,
    value: &Value,
) -> Result<(), TemplateError> {
    if !out.is_empty() {
        out.push('&');
    }
    percent(budget, out, name, false)?;
    out.push('=');
    let value = input(budget, value)?;
    percent(budget, out, &value, false)
}

fn percent(
    budget: &mut Budget,
    out: &mut String,
    text: &str,
    keeps_slash: bool,
) -> Result<(), TemplateError> {
    budget.allocate(text.len().saturating_mul(3).saturating_add(1))?;
    for byte in text.bytes() {
        match byte {
            b'a'..=b'z' | b'A'..=b'Z' | b'0'..=b'9' | b'-' | b'_' | b'.' | b'~' => {
                out.push(char::from(byte));
            }
            b'/' if keeps_slash => out.push('/'),
            // In a query, as forms do it.
            b' ' if !keeps_slash => out.push('+'),
            other => {
                let _ = write!(out, "%{other:02X}");
            }
        }
    }
    Ok(())
}

/// How wide a number or a text may be made.
const WIDTH_MAX: usize = 1_000;

/// `'%s of %05.1f' | format(a, b)`: the common part of what C and Python have.
pub(in super::super) fn format(budget: &mut Budget, value: &Value, given: Given) -> Outcome {
    let pattern = required_text(Some(value.clone()), "value")?;
    let mut values = given.positional.into_iter();
    let named = given.named;
    let mut out = String::new();
    let mut rest = &*pattern;
    while let Some(at) = rest.find('%') {
        budget.allocate(at)?;
        out.push_str(&rest[..at]);
        rest = &rest[at + 1..];
        if let Some(after) = rest.strip_prefix('%') {
            out.push('%');
            rest = after;
            continue;
        }
        let (directive, after) = Directive::read(rest)?;
        rest = after;
        let value = match directive.name {
            Some(name) => named.iter().find(|(known, _)| **known == *name).map(|(_, v)| v.clone()),
            None => values.next(),
        };
        let value = value.ok_or_else(|| TemplateError::new("there are too few values"))?;
        let filled = directive.fill(budget, &value)?;
        budget.allocate(filled.len())?;
        out.push_str(&filled);
    }
    if values.next().is_some() {
        return Err(TemplateError::new("there are too many values"));
    }
    budget.allocate(rest.len())?;
    out.push_str(rest);
    Ok(Value::Text(out.into()))
}

/// One `%…` of a pattern.
struct Directive<'a> {
    name: Option<&'a str>,
    flags: &'a str,
    width: usize,
    precision: Option<usize>,
    letter: char,
}

impl<'a> Directive<'a> {
    fn read(mut rest: &'a str) -> Result<(Self, &'a str), TemplateError> {
        let unreadable = || TemplateError::new("it does not know this `%…`");
        let mut name = None;
        if let Some(after) = rest.strip_prefix('(') {
            let end = after.find(')').ok_or_else(unreadable)?;
            name = Some(&after[..end]);
            rest = &after[end + 1..];
        }
        let flags = &rest[..rest.len() - rest.trim_start_matches(['-', '+', ' ', '0']).len()];
        let (width, after) = digits(&rest[flags.len()..])?;
        let (precision, after) = match after.strip_prefix('.') {
            Some(after) => digits(after).map(|(digits, after)| (Some(digits), after))?,
            None => (None, after),
        };
        let letter = after.chars().next().filter(char::is_ascii).ok_or_else(unreadable)?;
        let directive = Self { name, flags, width, precision, letter };
        Ok((directive, &after[1..]))
    }

    fn fill(&self, budget: &mut Budget, value: &Value) -> Result<String, TemplateError> {
        let (integer, float) = match value {
            Value::Integer(integer) => (Some(*integer), *integer as f64),
            Value::Float(float) => (Some(*float as i128), *float),
            _ => (None, f64::NAN),
        };
        let integer = || integer.ok_or_else(|| wanted("a number", value));
        let body = match self.letter {
            's' | 'r' => {
                let text = input(budget, value)?;
                text.chars().take(self.precision.unwrap_or(usize::MAX)).collect()
            }
            'd' | 'i' => integer()?.unsigned_abs().to_string(),
            'x' => format!("{:x}", integer()?.unsigned_abs()),
            'X' => format!("{:X}", integer()?.unsigned_abs()),
            'o' => format!("{:o}", integer()?.unsigned_abs()),
            'f' | 'F' => {
                integer()?;
                format!("{:.*}", self.precision.unwrap_or(6), float.abs())
            }
            'e' | 'E' => {
                integer()?;
                exponent(float.abs(), self.precision.unwrap_or(6), self.letter)
            }
            'g' => {
                integer()?;
                float.abs().to_string()
            }
            other => return Err(TemplateError::new(format!("it does not know `%{other}`"))),
        };
        let is_number = !matches!(self.letter, 's' | 'r');
        let sign = match () {
            () if is_number && float < 0.0 => "-",
            () if is_number && self.flags.contains('+') => "+",
            () if is_number && self.flags.contains(' ') => " ",
            () => "",
        };
        let padding = self.width.saturating_sub(body.chars().count() + sign.len());
        Ok(match () {
            () if self.flags.contains('-') => format!("{sign}{body}{}", " ".repeat(padding)),
            () if is_number && self.flags.contains('0') => {
                format!("{sign}{}{body}", "0".repeat(padding))
            }
            () => format!("{}{sign}{body}", " ".repeat(padding)),
        })
    }
}

/// A number with its exponent as Python writes it: a sign, and two digits at least.
fn exponent(number: f64, precision: usize, letter: char) -> String {
    let text = format!("{number:.precision$e}");
    let (digits, power) = text.split_once('e').unwrap_or((&text, "0"));
    let (sign, power) = power.strip_prefix('-').map_or(('+', power), |power| ('-', power));
    format!("{digits}{letter}{sign}{power:0>2}")
}

fn digits(text: &str) -> Result<(usize, &str), TemplateError> {
    let end = text.find(|letter: char| !letter.is_ascii_digit()).unwrap_or(text.len());
    if end == 0 {
        return Ok((0, text));
    }
    let number = text[..end].parse().ok().filter(|number| *number <= WIDTH_MAX);
    let number = number
        .ok_or_else(|| TemplateError::limit(format!("a width may be at most {WIDTH_MAX}")))?;
    Ok((number, &text[end..]))
}
