//! What a step is done for: the elements of a list, or the combinations of a matrix, and what each is called.
//!
//! Which tasks come of them is the business of `compile`.

use std::collections::BTreeSet;
use std::fmt;
use std::sync::Arc;

use serde_json::{Map, Value as Json, json};

use super::{Flow, Foreach, ForeachList, Matrix, Step, Work};
use crate::language::problem::{Problem, Problems};
use crate::language::template::{Context, Reference};
use crate::language::tree::{Leaf, RenderError, Tree, starts_with};

/// The longest label.
const LABEL_MAX: usize = 80;

/// One of the elements of a step, as names of tasks say it.
#[derive(Debug, Clone, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub(crate) enum Element {
    /// By its number, from 0.
    Number(u32),
    /// By what the step calls it.
    Label(Arc<str>),
    /// In a plan: every one of them, where nobody knows yet which there are.
    Each,
}

impl Element {
    /// Takes apart what stands between the brackets of a name.
    pub fn parse(text: &str) -> Option<Self> {
        Some(match text {
            "" => return None,
            "*" => Self::Each,
            text if text.bytes().all(|it| it.is_ascii_digit()) => Self::Number(text.parse().ok()?),
            text if text.contains(['[', ']', '/']) => return None,
            text => Self::Label(text.into()),
        })
    }
}

impl fmt::Display for Element {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Number(number) => number.fmt(f),
            Self::Label(label) => f.write_str(label),
            Self::Each => f.write_str("*"),
        }
    }
}

/// What a step is done for.
#[derive(Debug, Default)]
pub(crate) struct Elements {
    pub values: Vec<Json>,
    /// How tasks name each of them.
    pub names: Vec<Element>,
}

impl Elements {
    /// The number and the value of an element by its name.
    pub fn find(&self, element: &Element) -> Option<(usize, &Json)> {
        let place = match element {
            Element::Number(number) => *number as usize,
            other => self.names.iter().position(|name| name == other)?,
        };
        Some((place, self.values.get(place)?))
    }
}

/// Why nobody can say what a step is done for.
#[derive(Debug, thiserror::Error)]
pub(crate) enum ElementsError {
    #[error("step `{step}`: {error}")]
    Render {
        step: String,
        #[source]
        error: RenderError,
    },
    #[error("step `{step}`: {why}")]
    Wrong { step: String, why: String },
}

/// What a step is done for, with what its templates are given.
pub(crate) fn elements_of(
    step: &Step,
    foreach: &Foreach,
    context: &Context,
) -> Result<Elements, ElementsError> {
    let values = values_of(step, foreach, context)?;
    let of = Of { step, foreach, context };
    let names = of.names(&values).map_err(|error| match error {
        LabelError::Render(error) => of.unrendered(error),
        other => of.wrong(other.to_string()),
    })?;
    Ok(Elements { values, names })
}

/// The same without what each is called.
pub(crate) fn values_of(
    step: &Step,
    foreach: &Foreach,
    context: &Context,
) -> Result<Vec<Json>, ElementsError> {
    let of = Of { step, foreach, context };
    let values = match &foreach.list {
        ForeachList::Elements(tree) => of.list(tree, "`foreach`")?,
        ForeachList::Product(matrix) => {
            let combinations = of.combinations(matrix)?;
            combinations.into_iter().map(Json::Object).collect()
        }
    };
    if values.len() > foreach.count_max {
        let (count, most) = (values.len(), foreach.count_max);
        return Err(of.wrong(format!("the list has {count} elements, at most {most} are taken")));
    }
    Ok(values)
}

/// Reports elements that cannot be told apart by what they are called: those that stand in the file, and those that
/// the defaults of params make. Others are known when a run is started, or while it goes on.
pub(crate) fn check_labels(flow: &Flow, problems: &mut Problems) {
    for step in &flow.steps {
        if let Work::Flow(child) = &step.work
            && child.is_group
        {
            check_labels(&child.flow, problems);
        }
        let Some(foreach) = step.foreach.as_deref() else { continue };
        let Some(label) = &foreach.label else { continue };
        let Some(defaults) = defaults_for(flow, foreach, label) else { continue };
        let is_constant = defaults.is_empty();
        let context = &Context::new().with("params", Json::Object(defaults));
        let of = Of { step, foreach, context };
        let wrong = match values_of(step, foreach, context) {
            Ok(values) => of.names(&values).err(),
            // A list that is wrong may be so because of what was told already.
            Err(ElementsError::Wrong { why, .. }) if is_constant && !problems.has_errors() => {
                problems.push(Problem::error("bad-value", why).at(step.span));
                continue;
            }
            Err(_) => continue,
        };
        let Some((wrong, hint)) = wrong.as_ref().and_then(|wrong| Some((wrong, wrong.hint()?)))
        else {
            continue;
        };
        // Whoever starts a run may say something else.
        let problem = match is_constant {
            true => Problem::error("bad-value", format!("`label`: {wrong}")),
            false => {
                let text = format!("`label`: with the defaults of the params {wrong}");
                Problem::warning("bad-value", text)
            }
        };
        problems.push(problem.at(label.span).hint(hint));
    }
}

/// The defaults of the params that decide about elements and what they are called. None if one has no default, or if
/// something else decides.
fn defaults_for(flow: &Flow, foreach: &Foreach, label: &Leaf) -> Option<Map<String, Json>> {
    let mut references: Vec<&Reference> = Vec::new();
    foreach.list.visit(&mut |leaf| references.extend(leaf.template.references()));
    if !references.iter().all(|it| starts_with(it, "params")) {
        return None;
    }
    let of_label = label.template.references().iter();
    references.extend(of_label.filter(|it| starts_with(it, "params")));
    let mut defaults = Map::new();
    for reference in references {
        let param = flow.params.iter().find(|param| reference.path.get(1) == Some(&param.name))?;
        defaults.insert(param.name.clone(), param.default.clone()?);
    }
    Some(defaults)
}

/// Why an element cannot be called as its label says.
#[derive(Debug, thiserror::Error)]
enum LabelError {
    #[error(transparent)]
    Render(RenderError),
    #[error("element {place} is called `{text}`: a label needs a letter")]
    NoLetter { place: usize, text: String },
    #[error("two elements are called `{text}`")]
    Twice { text: String },
}

impl LabelError {
    /// What to do about it, where that follows from what is wrong.
    fn hint(&self) -> Option<&'static str> {
        match self {
            Self::Render(_) => None,
            Self::NoLetter { .. } => Some("begin it with a letter, such as n{{ index }}"),
            // Behind it might be cut off.
            Self::Twice { .. } => {
                Some("put what tells them apart in front, such as {{ index }}- before the rest")
            }
        }
    }
}

/// A step whose elements are wanted.
#[derive(Clone, Copy)]
struct Of<'a> {
    step: &'a Step,
    foreach: &'a Foreach,
    context: &'a Context,
}

type Combination = Map<String, Json>;

impl Of<'_> {
    fn wrong(self, why: String) -> ElementsError {
        ElementsError::Wrong { step: self.step.name.clone(), why }
    }

    fn unrendered(self, error: RenderError) -> ElementsError {
        ElementsError::Render { step: self.step.name.clone(), error }
    }

    fn list(self, tree: &Tree, what: &str) -> Result<Vec<Json>, ElementsError> {
        match tree.render(self.context).map_err(|error| self.unrendered(error))? {
            Json::Array(elements) => Ok(elements),
            other => Err(self.wrong(format!("{what} must be a list, this is {}", kind(&other)))),
        }
    }

    /// The entries of `include` or `exclude`.
    fn changes(self, tree: Option<&Tree>, key: &str) -> Result<Vec<Combination>, ElementsError> {
        let Some(tree) = tree else { return Ok(Vec::new()) };
        let entries = self.list(tree, &format!("`matrix.{key}`"))?.into_iter();
        let entry = |value: Json| match value {
            Json::Object(entry) => Ok(entry),
            other => Err(self.wrong(format!(
                "each of `matrix.{key}` must be a mapping, this is {}",
                kind(&other)
            ))),
        };
        entries.map(entry).collect()
    }

    fn combinations(self, matrix: &Matrix) -> Result<Vec<Combination>, ElementsError> {
        let mut combinations = self.product(matrix)?;
        let excluded = self.changes(matrix.exclude.as_ref(), "exclude")?;
        combinations.retain(|combination| !excluded.iter().any(|it| is_part(it, combination)));
        let axes: BTreeSet<&str> = matrix.axes.iter().map(|(name, _)| name.as_str()).collect();
        let originals = combinations.len();
        for entry in self.changes(matrix.include.as_ref(), "include")? {
            let on_axes: Combination =
                entry.clone().into_iter().filter(|(name, _)| axes.contains(&**name)).collect();
            let fitting = combinations[..originals].iter_mut();
            let mut fitting = fitting.filter(|it| is_part(&on_axes, it)).peekable();
            match fitting.peek() {
                Some(_) => fitting.for_each(|it| it.extend(entry.clone())),
                None => {
                    drop(fitting);
                    combinations.push(entry);
                }
            }
        }
        Ok(combinations)
    }

    /// All combinations of the axes, the last changing fastest. Of no axes there is none.
    fn product(self, matrix: &Matrix) -> Result<Vec<Combination>, ElementsError> {
        if matrix.axes.is_empty() {
            return Ok(Vec::new());
        }
        let mut combinations = vec![Combination::new()];
        for (name, tree) in &matrix.axes {
            let values = self.list(tree, &format!("`matrix.{name}`"))?;
            let most = self.foreach.count_max;
            if combinations.len().saturating_mul(values.len()) > most {
                return Err(self.wrong(format!("more than {most} combinations")));
            }
            let with = |known: &Combination, value: &Json| {
                let mut known = known.clone();
                known.insert(name.clone(), value.clone());
                known
            };
            combinations = combinations
                .iter()
                .flat_map(|known| values.iter().map(move |value| with(known, value)))
                .collect();
        }
        Ok(combinations)
    }

    /// What each element is called in the names of tasks.
    fn names(self, values: &[Json]) -> Result<Vec<Element>, LabelError> {
        let Some(label) = &self.foreach.label else {
            return Ok((0..values.len() as u32).map(Element::Number).collect());
        };
        let (mut names, mut seen) = (Vec::with_capacity(values.len()), BTreeSet::new());
        for (place, value) in values.iter().enumerate() {
            let context = self.context.clone().with(&self.foreach.variable, value.clone());
            let context = context.with("index", json!(place));
            let text = label.render_text(&context).map_err(LabelError::Render)?;
            let text = clean(&text);
            if text.is_empty() || text.bytes().all(|it| it.is_ascii_digit()) {
                return Err(LabelError::NoLetter { place, text });
            }
            if !seen.insert(text.clone()) {
                return Err(LabelError::Twice { text });
            }
            names.push(Element::Label(text.into()));
        }
        Ok(names)
    }
}

/// Whether a combination has all that an entry says.
fn is_part(entry: &Combination, of: &Combination) -> bool {
    entry.iter().all(|(name, value)| of.get(name) == Some(value))
}

/// A label with a dash in the place of letters that names of tasks cannot have.
fn clean(text: &str) -> String {
    const FORBIDDEN: [char; 10] = ['/', '[', ']', '{', '}', '"', '\'', '\\', '`', '*'];
    let is_bad = |letter: char| letter.is_control() || FORBIDDEN.contains(&letter);
    let letters = text.trim().chars().take(LABEL_MAX);
    let clean: String = letters.map(|it| if is_bad(it) { '-' } else { it }).collect();
    clean.trim().to_owned()
}

fn kind(value: &Json) -> &'static str {
    match value {
        Json::Null => "nothing",
        Json::Bool(_) => "a truth value",
        Json::Number(_) => "a number",
        Json::String(_) => "a text",
        Json::Array(_) => "a list",
        Json::Object(_) => "a mapping",
    }
}
