//! Steps that read files which others make, as `cache` tells: those that read wait for those that make.
//!
//! What files there are is not looked at: all of it is known from the text.

use std::collections::{BTreeMap, BTreeSet};
use std::path::{Component, Path};
use std::sync::Arc;

use serde_json::Value as Json;

use super::elements::{KnownElements, as_written};
use crate::definition::{Dependency, Flow, Step, Work};
use crate::language::problem::Span;
use crate::language::tree::Tree;

/// Adds that steps wait for those that make the files they read, unless it is said that they come first.
pub(super) fn follow_files(flow: &mut Flow, elements: &KnownElements) {
    let mut made = Made::default();
    let mut read = Vec::new();
    for (place, step) in flow.steps.iter().enumerate() {
        let mut files = Files { place, made: &mut made, read: &mut read };
        files.add(step, &flow.folder, elements);
    }
    if made.is_empty() || read.is_empty() {
        return;
    }
    let order = Order::of(flow);
    let mut found: Vec<(usize, Dependency)> = Vec::new();
    for (reader, name) in &read {
        for maker in made.of(name) {
            let (step, needed) = (&flow.steps[*reader], &flow.steps[maker]);
            let is_known = step.after.iter().any(|it| it.step == needed.name);
            let is_other = maker != *reader && step.place == needed.place;
            if is_other && !is_known && !order.is_before(*reader, maker) {
                let dependency = Dependency::by_file(&needed.name, &name.text, step.span);
                found.push((*reader, dependency));
            }
        }
    }
    for (reader, dependency) in found {
        let step = Arc::make_mut(&mut flow.steps[reader]);
        if step.after.iter().all(|it| it.step != dependency.step) {
            step.after.push(dependency);
        }
    }
}

/// A step with the folder of its flow, and what is known of the elements around it.
pub(crate) type InPlace<'a> = (&'a Step, &'a Path, &'a KnownElements);

/// What one step makes and another reads, as that one writes it.
pub(crate) fn file_between(maker: InPlace<'_>, reader: InPlace<'_>) -> Option<Arc<str>> {
    let (mut made, mut read) = (Made::default(), Vec::new());
    let (step, folder, elements) = maker;
    Files { place: 0, made: &mut made, read: &mut Vec::new() }.add(step, folder, elements);
    let (step, folder, elements) = reader;
    Files { place: 1, made: &mut Made::default(), read: &mut read }.add(step, folder, elements);
    let is_made = |(_, name): &(usize, Name)| !made.of(name).is_empty();
    read.into_iter().find(is_made).map(|(_, name)| name.text)
}

/// A file, or many by a pattern, as it is written.
#[derive(Debug, Clone, PartialEq, Eq)]
struct Name {
    text: Arc<str>,
    /// From the root on, without steps back and forth.
    parts: Vec<Part>,
    /// The same before an element was filled in, if what was filled in stood beside something else.
    written: Option<Vec<Part>>,
}

#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord)]
enum Part {
    /// This and nothing else.
    Plain(String),
    /// What fits these letters.
    Pattern(Vec<Letter>),
    /// The same, with a value among them: it meets patterns, which are meant for many, and no single file.
    Filled(Vec<Letter>),
    /// Any number of folders.
    Any,
    /// A value: only the same value is the same.
    Value(String),
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
enum Letter {
    Is(char),
    One,
    Many,
}

/// What the files of a step are collected into, of steps in it too.
struct Files<'a> {
    place: usize,
    made: &'a mut Made,
    read: &'a mut Vec<(usize, Name)>,
}

impl Files<'_> {
    fn add(&mut self, step: &Step, folder: &Path, around: &KnownElements) {
        if let Work::Flow(child) = &step.work {
            // The folder of a group is that of the flow around it.
            let inside = if child.is_group { folder } else { &child.flow.folder };
            let elements = around.inside(step);
            child.flow.steps.iter().for_each(|step| self.add(step, inside, &elements));
            return;
        }
        let Some(cache) = &step.cache else { return };
        let here = Tree::Value(Json::String(String::new()));
        let cwd = step.surroundings.cwd.as_deref().unwrap_or(&here);
        let elements = around.of(step);
        let names = |tree: &Tree| names_of(folder, cwd, tree, &elements);
        for name in cache.outputs.iter().flat_map(names) {
            self.made.insert(name, self.place);
        }
        self.read.extend(cache.inputs.iter().flat_map(names).map(|name| (self.place, name)));
    }
}

/// The names of files that a path stands for: one for each element that is known, if it names the element.
fn names_of(folder: &Path, cwd: &Tree, path: &Tree, elements: &KnownElements) -> Vec<Name> {
    let as_it_stands = || Name::new(folder, &as_written(cwd)?, &as_written(path)?);
    let Some(texts) = elements.fill_in([cwd, path]) else {
        return as_it_stands().into_iter().collect();
    };
    let written = as_it_stands().map(|name| name.parts).filter(|parts| has_value(parts));
    let names = texts.iter().filter_map(|[cwd, path]| Name::new(folder, cwd, path));
    names.map(|name| Name { written: written.clone(), ..name }).collect()
}

/// Whether a value is filled in beside something else, and none alone.
fn has_value(parts: &[Part]) -> bool {
    let is_value = |part: &Part| matches!(part, Part::Value(_));
    let is_filled = |part: &Part| matches!(part, Part::Filled(_));
    parts.iter().any(is_filled) && !parts.iter().any(is_value)
}

impl Name {
    fn new(folder: &Path, cwd: &str, text: &str) -> Option<Self> {
        if text.contains("{%") || cwd.contains("{%") {
            return None;
        }
        let mut parts = Vec::new();
        let folder = std::path::absolute(folder).unwrap_or_else(|_| folder.to_owned());
        for part in folder.components() {
            step_in(&mut parts, &part);
        }
        for text in [cwd, text] {
            if text.starts_with('/') {
                parts.clear();
            }
            for part in split(text) {
                match part.as_str() {
                    "" | "." => {}
                    ".." => {
                        parts.pop();
                    }
                    part => parts.push(Part::new(part)),
                }
            }
        }
        Some(Self { text: Arc::from(text), parts, written: None })
    }

    /// The same as text, if it is one file and nothing else.
    fn plain(&self) -> Option<Vec<&str>> {
        let plain = |part: &'_ Part| matches!(part, Part::Plain(_));
        if !self.parts.iter().all(plain) {
            return None;
        }
        let texts = self.parts.iter().map(|part| match part {
            Part::Plain(text) => text.as_str(),
            _ => "",
        });
        Some(texts.collect())
    }
}

fn step_in(parts: &mut Vec<Part>, part: &Component<'_>) {
    match part {
        Component::Normal(name) => parts.push(Part::Plain(name.to_string_lossy().into_owned())),
        Component::ParentDir => {
            parts.pop();
        }
        _ => {}
    }
}

/// The parts of a path. What stands between braces is one part, whatever is in it.
fn split(text: &str) -> Vec<String> {
    let mut parts = vec![String::new()];
    let mut rest = text;
    while let Some(letter) = rest.chars().next() {
        let taken = match rest.starts_with("{{") {
            true => rest.find("}}").map_or(rest.len(), |end| end + 2),
            false => letter.len_utf8(),
        };
        match parts.last_mut() {
            Some(last) if letter != '/' => last.push_str(&rest[..taken]),
            _ => parts.push(String::new()),
        }
        rest = &rest[taken..];
    }
    parts
}

impl Part {
    fn new(text: &str) -> Self {
        if text == "**" {
            return Self::Any;
        }
        let mut letters = Vec::new();
        let (mut rest, mut has_value) = (text, false);
        while let Some(letter) = rest.chars().next() {
            let (taken, read) = match letter {
                '{' if rest.starts_with("{{") => {
                    has_value = true;
                    (rest.find("}}").map_or(rest.len(), |end| end + 2), Letter::Many)
                }
                '[' => match rest[1..].find(']') {
                    Some(end) => (end + 2, Letter::One),
                    None => (1, Letter::Is('[')),
                },
                '*' => (1, Letter::Many),
                '?' => (1, Letter::One),
                letter => (letter.len_utf8(), Letter::Is(letter)),
            };
            letters.push(read);
            rest = &rest[taken..];
        }
        let is_said = letters.iter().any(|letter| matches!(letter, Letter::Is(_)));
        match letters.iter().all(|letter| matches!(letter, Letter::Is(_))) {
            true => Self::Plain(text.to_owned()),
            // A value could be anything; that is no reason to think that it is this.
            false if has_value && !is_said => Self::Value(text.to_owned()),
            false if has_value => Self::Filled(letters),
            false => Self::Pattern(letters),
        }
    }

    fn letters(&self) -> Vec<Letter> {
        match self {
            Self::Plain(text) => text.chars().map(Letter::Is).collect(),
            Self::Pattern(letters) | Self::Filled(letters) => letters.clone(),
            Self::Any => vec![Letter::Many],
            Self::Value(_) => Vec::new(),
        }
    }

    /// Whether something could be called both.
    fn meets(&self, other: &Self) -> bool {
        match (self, other) {
            (Self::Value(one), Self::Value(other)) => one == other,
            (Self::Value(_), _) | (_, Self::Value(_)) => false,
            (Self::Plain(_), Self::Filled(_)) | (Self::Filled(_), Self::Plain(_)) => false,
            (Self::Plain(one), Self::Plain(other)) => one == other,
            (one, other) => letters_meet(&one.letters(), &other.letters()),
        }
    }
}

/// Whether a text could fit both.
fn letters_meet(one: &[Letter], other: &[Letter]) -> bool {
    let is_many = |letter: &Letter| *letter == Letter::Many;
    let fits = |one: &Letter, other: &Letter| match (one, other) {
        (Letter::Is(one), Letter::Is(other)) => one == other,
        _ => true,
    };
    let ends = |rest: &[Letter]| rest.iter().all(is_many);
    meet(one, other, is_many, fits, ends)
}

/// Whether a file could be called both, or be in a folder that is called so: a folder is all that is in it.
fn names_meet(one: &[Part], other: &[Part]) -> bool {
    let is_many = |part: &Part| *part == Part::Any;
    meet(one, other, is_many, Part::meets, |_| true)
}

/// Whether two rows fit each other, in which some stand for many. `ends` says whether one may end where this
/// is left of the other. It takes the product of their lengths, whatever is in them.
fn meet<T>(
    one: &[T],
    other: &[T],
    is_many: impl Fn(&T) -> bool,
    fits: impl Fn(&T, &T) -> bool,
    ends: impl Fn(&[T]) -> bool,
) -> bool {
    // Whether what is left of both fits, from the end.
    let mut below: Vec<bool> = (0..=other.len()).map(|from| ends(&other[from..])).collect();
    for (place, first) in one.iter().enumerate().rev() {
        let mut row = vec![ends(&one[place..]); other.len() + 1];
        for from in (0..other.len()).rev() {
            row[from] = match is_many(first) || is_many(&other[from]) {
                true => below[from] || row[from + 1],
                false => fits(first, &other[from]) && below[from + 1],
            };
        }
        below = row;
    }
    below[0]
}

/// The files that steps make.
#[derive(Default)]
struct Made {
    /// Those that are called by their whole name, by it.
    plain: BTreeMap<Vec<String>, Vec<usize>>,
    others: Vec<(Name, usize)>,
    /// Those for which elements were filled in, before that.
    written: Vec<(Vec<Part>, usize)>,
}

impl Made {
    fn is_empty(&self) -> bool {
        self.plain.is_empty() && self.others.is_empty()
    }

    fn insert(&mut self, mut name: Name, maker: usize) {
        // All elements of a path come one after another.
        let written = name.written.take().map(|parts| (parts, maker));
        self.written.extend(written.filter(|written| self.written.last() != Some(written)));
        match name.plain().map(|parts| parts.into_iter().map(str::to_owned).collect()) {
            Some(parts) => self.plain.entry(parts).or_default().push(maker),
            None => self.others.push((name, maker)),
        }
    }

    /// Who makes something that is read by this name.
    fn of(&self, name: &Name) -> BTreeSet<usize> {
        let mut makers = BTreeSet::new();
        match name.plain() {
            Some(parts) => {
                let parts: Vec<String> = parts.into_iter().map(str::to_owned).collect();
                // Itself and folders that it is in, then what is in it.
                for end in 0..=parts.len() {
                    makers.extend(self.plain.get(&parts[..end]).into_iter().flatten());
                }
                let inside = self.plain.range(parts.clone()..);
                let inside = inside.take_while(|(made, _)| made.starts_with(&parts));
                makers.extend(inside.flat_map(|(_, makers)| makers));
            }
            None => {
                let plain = |parts: &Vec<String>| -> Vec<Part> {
                    parts.iter().cloned().map(Part::Plain).collect()
                };
                let met = self.plain.iter().filter(|(it, _)| names_meet(&plain(it), &name.parts));
                makers.extend(met.flat_map(|(_, makers)| makers));
            }
        }
        let others = self.others.iter().filter(|(made, _)| names_meet(&made.parts, &name.parts));
        makers.extend(others.map(|(_, maker)| *maker));
        makers.extend(self.by_other_values(name));
        makers
    }

    /// Who makes it if an element of one is what some other value of the other one stands for.
    fn by_other_values<'a>(&'a self, name: &'a Name) -> impl Iterator<Item = usize> + 'a {
        let is_filled_in = name.written.is_some();
        let written = self.written.iter().filter(move |_| !is_filled_in && has_value(&name.parts));
        let written = written.filter(|(made, _)| names_meet(made, &name.parts));
        let read = name.written.as_deref();
        let others = self.others.iter().filter(move |(made, _)| {
            read.is_some_and(|read| has_value(&made.parts) && names_meet(&made.parts, read))
        });
        written.map(|(_, maker)| *maker).chain(others.map(|(_, maker)| *maker))
    }
}

/// Which steps come before which, as far as it is written.
struct Order {
    after: Vec<Vec<usize>>,
    /// How many steps are before each, one after another, at most.
    levels: Vec<usize>,
}

impl Order {
    fn of(flow: &Flow) -> Self {
        let of = |step: &Arc<Step>| -> Vec<usize> {
            step.after.iter().filter_map(|it| flow.places.get(&it.step).copied()).collect()
        };
        let after: Vec<Vec<usize>> = flow.steps.iter().map(of).collect();
        let mut dependents = vec![Vec::new(); after.len()];
        let mut missing: Vec<usize> = after.iter().map(Vec::len).collect();
        for (step, needed) in after.iter().enumerate() {
            needed.iter().for_each(|needed| dependents[*needed].push(step));
        }
        let mut levels = vec![0; after.len()];
        let mut open: Vec<usize> = (0..after.len()).filter(|it| missing[*it] == 0).collect();
        // Those in a circle stay behind, and are reported elsewhere.
        while let Some(step) = open.pop() {
            for dependent in &dependents[step] {
                levels[*dependent] = levels[*dependent].max(levels[step] + 1);
                missing[*dependent] -= 1;
                if missing[*dependent] == 0 {
                    open.push(*dependent);
                }
            }
        }
        Self { after, levels }
    }

    /// Whether `later` waits for `first`, by way of others or not.
    fn is_before(&self, first: usize, later: usize) -> bool {
        let mut seen = BTreeSet::new();
        let mut open = vec![later];
        while let Some(step) = open.pop() {
            let needed = self.after[step].iter().copied();
            for needed in needed.filter(|it| self.levels[*it] >= self.levels[first]) {
                if needed == first {
                    return true;
                }
                if seen.insert(needed) {
                    open.push(needed);
                }
            }
        }
        false
    }
}

impl Dependency {
    fn by_file(step: &str, file: &Arc<str>, span: Span) -> Self {
        let file = Some(Arc::clone(file));
        Self { step: step.to_owned(), is_inferred: true, file, span }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn meet(one: &str, other: &str) -> bool {
        let name = |text: &str| Name::new(Path::new("/f"), "", text).unwrap();
        let met = names_meet(&name(one).parts, &name(other).parts);
        let (mut made, place) = (Made::default(), 0);
        made.insert(name(one), place);
        assert_eq!(!made.of(&name(other)).is_empty(), met, "{one} and {other} by the index");
        met
    }

    #[test]
    fn names_meet_if_one_file_could_have_both() {
        for (one, other) in [
            ("x.txt", "x.txt"),
            ("./a/../x.txt", "x.txt"),
            ("/f/x.txt", "x.txt"),
            ("out/a.o", "out/*.o"),
            ("out/*.o", "out/**/*.o"),
            ("out/deep/a.o", "out/**/*.o"),
            ("out", "out/a/b"),
            ("out/a/b", "out"),
            ("out/[ab].txt", "out/a.txt"),
            ("out/?.txt", "out/a.txt"),
            ("out/{{ item }}.txt", "out/*.txt"),
            ("out/{{ item }}.txt", "out/{{ item }}.txt"),
            ("{{ params.x }}", "{{ params.x }}"),
            ("{{ a / b }}.o", "*.o"),
            ("out/{{ item }}.txt", "out/{{ other }}.txt"),
        ] {
            assert!(meet(one, other) && meet(other, one), "{one} and {other}");
        }
        for (one, other) in [
            ("x.txt", "y.txt"),
            ("x.txt", "x.txt2"),
            ("out/a.o", "out/*.c"),
            ("out/a.o", "*.o"),
            ("outer/a", "out"),
            ("{{ params.x }}", "x.txt"),
            ("{{ params.x }}.txt", "x.txt"),
            ("{{ params.x }}", "{{ params.y }}"),
            ("../x", "x"),
            (&"*a".repeat(200), &format!("{}c", "*b".repeat(200))),
        ] {
            assert!(!meet(one, other) && !meet(other, one), "{one} and {other}");
        }
    }
}
