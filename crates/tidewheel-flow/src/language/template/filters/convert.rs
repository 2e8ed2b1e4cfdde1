//! Filters that turn values into other kinds of values.
//!
//! Turning them into texts is in [`super::text`].

use std::sync::Arc;

use super::super::arguments::{Given, count, flag, integer, required, required_text, text, wanted};
use super::super::budget::Budget;
use super::super::error::TemplateError;
use super::super::print;
use super::super::value::{MissingReason, Value};

type Outcome = Result<Value, TemplateError>;

/// What to take where there is nothing; with `true` behind it, also where there is null, an
/// empty text, zero or false.
pub(super) fn default(_: &mut Budget, value: &Value, given: Given) -> Outcome {
    let [default, replaces_empty] = given.bind(["default_value", "boolean"])?;
    let is_replaced = value.is_undefined() || (flag(replaces_empty) && !value.is_true());
    if is_replaced {
        return Ok(default.unwrap_or_else(|| Value::text("")));
    }
    Ok(value.clone())
}

pub(super) fn attr(_: &mut Budget, value: &Value, given: Given) -> Outcome {
    let [name] = given.bind(["name"])?;
    let name = required(name, "name")?;
    Ok(value.member(&name).unwrap_or_else(|| {
        Value::missing(&(0..0), MissingReason::Told("the value has no such key"))
    }))
}

pub(super) fn int(_: &mut Budget, value: &Value, given: Given) -> Outcome {
    let [default, base] = given.bind(["default", "base"])?;
    let base = integer(base, 10)?;
    let converted = match value {
        Value::Integer(integer) => Some(*integer),
        Value::Bool(bool) => Some(i128::from(*bool)),
        Value::Float(float) => whole(*float),
        Value::Text(text) => parse_integer(text.trim(), base)?,
        _ => None,
    };
    Ok(match (converted, default) {
        (Some(integer), _) => Value::Integer(integer),
        (None, Some(default)) => default,
        // Jinja gives 0, which hides that there was no number.
        (None, None) => return Err(no_number(value).with_hint("say what else: `int(default=0)`")),
    })
}

/// Without the value, which may be a secret.
fn no_number(value: &Value) -> TemplateError {
    match value {
        Value::Text(_) => TemplateError::new("the text is no number"),
        other => wanted("a number", other),
    }
}

/// The integer of a float, where there is one.
fn whole(float: f64) -> Option<i128> {
    (float.is_finite() && float.abs() < 1e38).then_some(float.trunc() as i128)
}

fn parse_integer(text: &str, base: i128) -> Result<Option<i128>, TemplateError> {
    let base = u32::try_from(base)
        .ok()
        .filter(|base| (2..=36).contains(base))
        .ok_or_else(|| TemplateError::new("a base is between 2 and 36"))?;
    let digits = match base {
        16 => text.trim_start_matches("0x"),
        8 => text.trim_start_matches("0o"),
        2 => text.trim_start_matches("0b"),
        _ => text,
    };
    if let Ok(integer) = i128::from_str_radix(digits, base) {
        return Ok(Some(integer));
    }
    Ok(if base == 10 { text.parse().ok().and_then(whole) } else { None })
}

pub(super) fn float(_: &mut Budget, value: &Value, given: Given) -> Outcome {
    let [default] = given.bind(["default"])?;
    let converted = match value {
        Value::Integer(integer) => Some(*integer as f64),
        Value::Bool(bool) => Some(f64::from(u8::from(*bool))),
        Value::Float(float) => Some(*float),
        Value::Text(text) => text.trim().parse().ok().filter(|float: &f64| float.is_finite()),
        _ => None,
    };
    Ok(match (converted, default) {
        (Some(float), _) => Value::Float(float),
        (None, Some(default)) => default,
        (None, None) => {
            return Err(no_number(value).with_hint("say what else: `float(default=0.0)`"));
        }
    })
}

/// Words for yes and no, as configuration files have them.
pub(super) fn bool(_: &mut Budget, value: &Value, given: Given) -> Outcome {
    let [] = given.bind([])?;
    Ok(Value::Bool(match value {
        Value::Text(text) => match text.trim().to_ascii_lowercase().as_str() {
            "true" | "yes" | "on" | "1" => true,
            "false" | "no" | "off" | "0" | "" => false,
            _ => return Err(TemplateError::new("the text is neither `true` nor `false`")),
        },
        other => other.is_true(),
    }))
}

pub(super) fn abs(_: &mut Budget, value: &Value, given: Given) -> Outcome {
    let [] = given.bind([])?;
    match value {
        Value::Integer(integer) => integer
            .checked_abs()
            .map(Value::Integer)
            .ok_or_else(|| TemplateError::new("the result has too many digits")),
        Value::Float(float) => Ok(Value::Float(float.abs())),
        other => Err(wanted("a number", other)),
    }
}

pub(super) fn round(_: &mut Budget, value: &Value, given: Given) -> Outcome {
    let [precision, method] = given.bind(["precision", "method"])?;
    let precision = integer(precision, 0)?.clamp(-400, 400) as i32;
    let method = text(method, "common")?;
    let number = match value {
        Value::Integer(integer) => *integer as f64,
        Value::Float(float) => *float,
        other => return Err(wanted("a number", other)),
    };
    if let (Value::Integer(_), "common", 0..) = (value, &*method, precision) {
        return Ok(value.clone());
    }
    let scale = 10_f64.powi(precision);
    let rounded = match &*method {
        // Half to even, as Python rounds; by its digits, as scaling would add errors of its own.
        "common" if precision >= 0 => {
            format!("{number:.*}", precision as usize).parse().unwrap_or(number)
        }
        "common" => (number * scale).round_ties_even() / scale,
        "ceil" => (number * scale).ceil() / scale,
        "floor" => (number * scale).floor() / scale,
        _ => return Err(TemplateError::new("the method is `common`, `ceil` or `floor`")),
    };
    Ok(Value::Float(if rounded.is_finite() { rounded } else { number }))
}

/// How far JSON may be indented.
const INDENT_MAX: usize = 16;

pub(super) fn tojson(budget: &mut Budget, value: &Value, given: Given) -> Outcome {
    let [indent] = given.bind(["indent"])?;
    let indent = match indent {
        None | Some(Value::Null | Value::Bool(false)) => None,
        Some(Value::Bool(true)) => Some(2),
        some => Some(count(some, 0)?.min(INDENT_MAX)),
    };
    let mut out = String::new();
    print::write_json(budget, &mut out, value, indent, 0)?;
    Ok(Value::Text(out.into()))
}

/// What a value of JSON takes in memory, for each byte it is written with, at most.
const JSON_GROWTH: usize = 16;

pub(super) fn fromjson(budget: &mut Budget, value: &Value, given: Given) -> Outcome {
    let [] = given.bind([])?;
    let text = required_text(Some(value.clone()), "value")?;
    // Mostly it is texts; only lists of digits grow that much.
    let dense = text.bytes().filter(|byte| matches!(byte, b',' | b'[' | b'{')).count();
    budget.allocate(dense.saturating_mul(JSON_GROWTH * 4).saturating_add(text.len()))?;
    let json = serde_json::from_str(&text)
        .map_err(|error| TemplateError::new(format!("the text is no JSON: {error}")))?;
    Ok(Value::from_json(json))
}

const ALPHABET: &[u8; 64] = b"ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";

pub(super) fn b64encode(budget: &mut Budget, value: &Value, given: Given) -> Outcome {
    let [] = given.bind([])?;
    let text: Arc<str> = match value {
        Value::Text(text) => text.clone(),
        other => print::to_text(budget, other)?.into(),
    };
    budget.allocate(text.len().saturating_mul(2))?;
    let mut encoded = String::new();
    for chunk in text.as_bytes().chunks(3) {
        let bits = chunk.iter().fold(0_u32, |bits, byte| bits << 8 | u32::from(*byte))
            << (8 * (3 - chunk.len()));
        for place in 0..4 {
            if place > chunk.len() {
                encoded.push('=');
            } else {
                let digit = bits >> (18 - 6 * place) & 63;
                encoded.push(char::from(ALPHABET[digit as usize]));
            }
        }
    }
    Ok(Value::Text(encoded.into()))
}

pub(super) fn b64decode(budget: &mut Budget, value: &Value, given: Given) -> Outcome {
    let [] = given.bind([])?;
    let text = required_text(Some(value.clone()), "value")?;
    budget.allocate(text.len())?;
    let unreadable = || TemplateError::new("the text is no base64");
    let mut bytes = Vec::new();
    let (mut bits, mut count) = (0_u32, 0);
    let digits = text.trim_end().trim_end_matches('=');
    for digit in digits.bytes().filter(|byte| !byte.is_ascii_whitespace()) {
        let digit = match digit {
            b'-' => b'+',
            b'_' => b'/',
            other => other,
        };
        let place = ALPHABET.iter().position(|known| *known == digit).ok_or_else(unreadable)?;
        bits = bits << 6 | place as u32;
        count += 6;
        if count >= 8 {
            count -= 8;
            bytes.push((bits >> count & 0xff) as u8);
        }
    }
    // A single digit is no byte.
    if count == 6 {
        return Err(unreadable());
    }
    let text =
        String::from_utf8(bytes).map_err(|_| TemplateError::new("what was decoded is no text"))?;
    budget.text(text)
}
