//! Values as templates read them: shared, so that handing one on never copies it.
//!
//! How values are compared and reckoned with is in [`super::operators`], how they are written in
//! [`super::print`].

use std::collections::HashMap;
use std::fmt;
use std::ops::Range;
use std::sync::{Arc, Mutex};

use super::error::TemplateError;
use super::statements::{Loop, Macro};

/// Something that finds values by name when they are asked for, such as the outputs of a run.
///
/// A template that reads one of ten thousand outputs touches only that one.
pub trait Lookup: Send + Sync {
    /// The value of a name, or none where it is not there.
    fn value(&self, name: &str) -> Option<Data>;

    /// All names, for loops over them and for messages that say what there is.
    fn names(&self) -> Vec<String>;
}

/// A JSON value in the form templates read it; cheap to clone, and shared by all that read it.
#[derive(Clone)]
pub struct Data(pub(super) Value);

/// Without what is in it, which may be a secret.
impl fmt::Debug for Data {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.debug_tuple("Data").field(&self.0.kind()).finish()
    }
}

impl From<serde_json::Value> for Data {
    fn from(json: serde_json::Value) -> Self {
        Self(Value::from_json(json))
    }
}

impl From<&serde_json::Value> for Data {
    fn from(json: &serde_json::Value) -> Self {
        Self(Value::from_json(json.clone()))
    }
}

impl From<Arc<dyn Lookup>> for Data {
    fn from(lookup: Arc<dyn Lookup>) -> Self {
        Self(Value::Lookup(lookup))
    }
}

/// What an expression can come to.
#[derive(Clone)]
pub(super) enum Value {
    Null,
    Bool(bool),
    Integer(i128),
    Float(f64),
    Text(Arc<str>),
    List(Arc<List>),
    Map(Arc<Map>),
    Lookup(Arc<dyn Lookup>),
    /// What `namespace()` gives: the one thing that can be changed.
    Namespace(Arc<Mutex<Map>>),
    /// The variable `loop`.
    Loop(Arc<LoopPosition>),
    /// A macro can be called, and nothing else.
    Macro(Arc<BoundMacro>),
    /// Not there. It can be asked about and replaced; any other use is an error.
    Undefined(Arc<Missing>),
}

/// A list that knows how deep it nests.
#[derive(Debug)]
pub(super) struct List {
    pub(super) values: Vec<Value>,
    pub(super) nesting: u16,
}

impl List {
    pub(super) fn new(values: Vec<Value>) -> Self {
        let nesting = values.iter().map(Value::nesting).max().unwrap_or(0).saturating_add(1);
        Self { values, nesting }
    }
}

/// Where a loop is.
pub(super) struct LoopPosition {
    pub(super) index: usize,
    pub(super) length: usize,
    pub(super) depth: usize,
    pub(super) previous: Option<Value>,
    pub(super) next: Option<Value>,
    /// What `loop.changed()` saw last.
    pub(super) seen: Arc<Mutex<Option<Vec<Value>>>>,
    /// For a recursive loop, what `loop()` runs, and where it was written.
    pub(super) recursion: Option<(Arc<Loop>, Place)>,
}

/// Where names are looked up: which environment, and how many of its frames are seen.
#[derive(Debug, Clone, Copy)]
pub(super) struct Place {
    pub(super) environment: usize,
    pub(super) frames: usize,
}

/// A macro with the place it sees names from.
pub(super) struct BoundMacro {
    pub(super) definition: Arc<Macro>,
    pub(super) place: Place,
}

/// Why something is not there.
#[derive(Clone)]
pub(super) struct Missing {
    /// The expression that came to nothing.
    pub(super) range: Range<usize>,
    pub(super) reason: MissingReason,
}

#[derive(Clone)]
pub(super) enum MissingReason {
    /// No such name; those that there are.
    Name(Vec<Arc<str>>),
    /// The value has no such key.
    Key { of: Value, of_range: Range<usize>, key: Arc<str> },
    /// A condition was false, and said nothing about that.
    NoElse,
    /// Told in words.
    Told(&'static str),
}

impl Value {
    pub(super) fn text(text: &str) -> Self {
        Self::Text(text.into())
    }

    pub(super) fn count(count: usize) -> Self {
        Self::Integer(count as i128)
    }

    pub(super) fn missing(range: &Range<usize>, reason: MissingReason) -> Self {
        Self::Undefined(Arc::new(Missing { range: range.clone(), reason }))
    }

    /// Something that is not there, of which nothing else is known.
    pub(super) fn absent() -> Self {
        Self::missing(&(0..0), MissingReason::Told("it is not in the value"))
    }

    /// A value of JSON. Numbers keep what they are: integers stay integers.
    pub(super) fn from_json(json: serde_json::Value) -> Self {
        match json {
            serde_json::Value::Null => Self::Null,
            serde_json::Value::Bool(bool) => Self::Bool(bool),
            serde_json::Value::Number(number) => number
                .as_i64()
                .map(i128::from)
                .or_else(|| number.as_u64().map(i128::from))
                .map_or_else(|| Self::Float(number.as_f64().unwrap_or(f64::NAN)), Self::Integer),
            serde_json::Value::String(text) => Self::Text(text.into()),
            serde_json::Value::Array(values) => {
                let values = values.into_iter().map(Self::from_json).collect();
                Self::List(Arc::new(List::new(values)))
            }
            serde_json::Value::Object(entries) => {
                let mut map = Map::default();
                for (key, value) in entries {
                    map.insert(key.into(), Self::from_json(value));
                }
                Self::Map(Arc::new(map))
            }
        }
    }

    pub(super) fn is_undefined(&self) -> bool {
        matches!(self, Self::Undefined(_))
    }

    /// What a reader calls a value like this.
    pub(super) fn kind(&self) -> &'static str {
        match self {
            Self::Null => "null",
            Self::Bool(_) => "a boolean",
            Self::Integer(_) | Self::Float(_) => "a number",
            Self::Text(_) => "a text",
            Self::List(_) => "a list",
            Self::Map(_) | Self::Lookup(_) => "a map",
            Self::Namespace(_) => "a namespace",
            Self::Loop(_) => "the variable loop",
            Self::Macro(_) => "a macro",
            Self::Undefined(_) => "undefined",
        }
    }

    /// What Python, and so Jinja, takes for true: all but nothing, zero and the empty.
    pub(super) fn is_true(&self) -> bool {
        match self {
            Self::Null | Self::Undefined(_) => false,
            Self::Bool(bool) => *bool,
            Self::Integer(integer) => *integer != 0,
            Self::Float(float) => *float != 0.0,
            Self::Text(text) => !text.is_empty(),
            Self::List(list) => !list.values.is_empty(),
            Self::Map(map) => map.len() > 0,
            Self::Lookup(lookup) => !lookup.names().is_empty(),
            Self::Namespace(_) | Self::Loop(_) | Self::Macro(_) => true,
        }
    }

    /// Lists and maps hold only data: a namespace in itself would never be freed.
    pub(super) fn check_keepable(&self) -> Result<(), TemplateError> {
        match self {
            Self::Namespace(_) | Self::Loop(_) | Self::Macro(_) => Err(TemplateError::new(
                format!("{} cannot be kept in another value or passed on", self.kind()),
            )),
            _ => Ok(()),
        }
    }

    pub(super) fn nesting(&self) -> u16 {
        match self {
            Self::List(list) => list.nesting,
            Self::Map(map) => map.nesting(),
            _ => 0,
        }
    }

    pub(super) fn as_text(&self) -> Option<&Arc<str>> {
        match self {
            Self::Text(text) => Some(text),
            _ => None,
        }
    }

    /// The value under a key or at an index, where there is one.
    pub(super) fn member(&self, key: &Value) -> Option<Value> {
        match (self, key) {
            (Self::List(list), Self::Integer(index)) => {
                list.values.get(at(*index, list.values.len())?).cloned()
            }
            (Self::Text(text), Self::Integer(index)) => {
                let index = at(*index, text.chars().count())?;
                text.chars().nth(index).map(|letter| Self::text(letter.encode_utf8(&mut [0; 4])))
            }
            (Self::Map(map), _) => map.get(&key.as_key()?).cloned(),
            (Self::Lookup(lookup), _) => lookup.value(&key.as_key()?).map(|data| data.0),
            (Self::Namespace(map), _) => lock(map).get(&key.as_key()?).cloned(),
            _ => None,
        }
    }

    /// As the key of a map: keys are texts, as in JSON, so `1` and `'1'` are the same key.
    pub(super) fn as_key(&self) -> Option<Arc<str>> {
        match self {
            Self::Text(text) => Some(text.clone()),
            Self::Integer(integer) => Some(integer.to_string().into()),
            Self::Bool(bool) => Some(if *bool { "true" } else { "false" }.into()),
            Self::Null => Some("null".into()),
            _ => None,
        }
    }

    /// The values of a list, the keys of a map, the letters of a text.
    pub(super) fn members(&self) -> Result<Vec<Value>, TemplateError> {
        match self {
            Self::List(list) => Ok(list.values.clone()),
            Self::Map(map) => Ok(map.iter().map(|(key, _)| Self::Text(key.clone())).collect()),
            Self::Lookup(lookup) => {
                Ok(lookup.names().into_iter().map(|name| Self::Text(name.into())).collect())
            }
            Self::Text(text) => {
                Ok(text.chars().map(|letter| Self::text(letter.encode_utf8(&mut [0; 4]))).collect())
            }
            other => {
                Err(TemplateError::new(format!("a list is needed here, not {}", other.kind())))
            }
        }
    }

    /// The keys and values of a map.
    pub(super) fn entries(&self) -> Result<Vec<(Arc<str>, Value)>, TemplateError> {
        match self {
            Self::Map(map) => Ok(map.iter().cloned().collect()),
            Self::Lookup(lookup) => Ok(lookup
                .names()
                .into_iter()
                .filter_map(|name| lookup.value(&name).map(|data| (name.into(), data.0)))
                .collect()),
            Self::Namespace(map) => Ok(lock(map).iter().cloned().collect()),
            other => Err(TemplateError::new(format!("a map is needed here, not {}", other.kind()))),
        }
    }

    /// How many members there are: letters of a text, values of a list, keys of a map.
    pub(super) fn length(&self) -> Result<usize, TemplateError> {
        match self {
            Self::Text(text) => Ok(text.chars().count()),
            Self::List(list) => Ok(list.values.len()),
            Self::Map(map) => Ok(map.len()),
            Self::Lookup(lookup) => Ok(lookup.names().len()),
            other => Err(TemplateError::new(format!("{} has no length", other.kind()))),
        }
    }

    /// How much there is to look at in this value itself, not in what it holds.
    pub(super) fn weight(&self) -> usize {
        match self {
            Self::Text(text) => text.len(),
            Self::List(list) => list.values.len() * size_of::<Value>(),
            Self::Map(map) => map.len() * 2 * size_of::<Value>(),
            _ => 0,
        }
    }
}

impl fmt::Debug for Value {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Bool(bool) => bool.fmt(formatter),
            Self::Integer(integer) => integer.fmt(formatter),
            Self::Float(float) => float.fmt(formatter),
            Self::Text(text) => text.fmt(formatter),
            Self::List(list) => list.values.fmt(formatter),
            Self::Map(map) => {
                formatter.debug_map().entries(map.iter().map(|(k, v)| (k, v))).finish()
            }
            other => formatter.write_str(other.kind()),
        }
    }
}

/// The place in a list of `length` that an index means; negative ones count from the end.
fn at(index: i128, length: usize) -> Option<usize> {
    let index = if index < 0 { index.checked_add(length as i128)? } else { index };
    usize::try_from(index).ok()
}

/// Locks what only one rendering, and so one thread, ever holds.
pub(super) fn lock<T>(mutex: &Mutex<T>) -> std::sync::MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(std::sync::PoisonError::into_inner)
}

/// Up to so many entries are looked through faster than hashed.
const SCANNED_MAX: usize = 12;

/// A map that keeps the order its keys came in.
#[derive(Debug, Default, Clone)]
pub(super) struct Map {
    entries: Vec<(Arc<str>, Value)>,
    /// Only for maps that are too large to look through.
    places: HashMap<Arc<str>, usize>,
    nesting: u16,
}

impl Map {
    pub(super) fn insert(&mut self, key: Arc<str>, value: Value) {
        self.nesting = self.nesting.max(value.nesting());
        if let Some(place) = self.place(&key) {
            self.entries[place].1 = value;
            return;
        }
        if self.entries.len() == SCANNED_MAX {
            let keys = self.entries.iter().map(|(key, _)| key.clone());
            self.places = keys.zip(0..).collect();
        }
        if self.entries.len() >= SCANNED_MAX {
            self.places.insert(key.clone(), self.entries.len());
        }
        self.entries.push((key, value));
    }

    pub(super) fn get(&self, key: &str) -> Option<&Value> {
        self.place(key).map(|place| &self.entries[place].1)
    }

    fn place(&self, key: &str) -> Option<usize> {
        if self.entries.len() <= SCANNED_MAX {
            return self.entries.iter().position(|(other, _)| **other == *key);
        }
        self.places.get(key).copied()
    }

    pub(super) fn iter(&self) -> std::slice::Iter<'_, (Arc<str>, Value)> {
        self.entries.iter()
    }

    pub(super) fn len(&self) -> usize {
        self.entries.len()
    }

    pub(super) fn nesting(&self) -> u16 {
        self.nesting.saturating_add(1)
    }
}

impl FromIterator<(Arc<str>, Value)> for Map {
    fn from_iter<I: IntoIterator<Item = (Arc<str>, Value)>>(entries: I) -> Self {
        let mut map = Self::default();
        entries.into_iter().for_each(|(key, value)| map.insert(key, value));
        map
    }
}
