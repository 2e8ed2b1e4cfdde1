//! Names of tasks: where in the flow, and in flows inside it, a task belongs.
//!
//! `fetch`, `fetch[3]`, `fetch[linux]`, `fetch[]`, `fetch[3][]`, `deploy/check`, `deploy[2]/check`; the second try of a
//! group is `deploy{2}/check`. Names of steps have no brackets, braces, slashes and stars, so a name says it all.
//! `fetch[*]` is in plans only.

use std::fmt;

use crate::definition::Element;

/// A name taken apart.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub(crate) struct TaskName {
    /// The steps that call the flows around, outermost first.
    pub scope: Vec<Segment>,
    /// The step.
    pub step: String,
    /// What the task does for the step.
    pub role: Role,
    /// For a task that stands for a try of a group, or begins one: which, from 1.
    pub again: Option<u32>,
}

/// A step that calls a flow, and for which of its elements.
#[derive(Debug, Clone, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub(crate) struct Segment {
    pub step: String,
    pub element: Option<Element>,
    /// Which try of it, from 1.
    pub again: u32,
}

/// What a task does for its step.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub(crate) enum Role {
    /// The step itself; if it has elements or calls a flow: gathers what those leave.
    Step,
    /// One element.
    Element(Element),
    /// Opens the step, or one element of it: looks whether it is to be done at all, and finds out which
    /// elements there are.
    Open(Option<Element>),
}

impl TaskName {
    /// Takes a name apart; `None` if it is not one of ours.
    pub fn parse(name: &str) -> Option<Self> {
        let (scope, last) = match name.rsplit_once('/') {
            Some((scope, last)) => (scope, last),
            None => ("", name),
        };
        let segments = scope.split('/').filter(|part| !part.is_empty());
        let scope = segments
            .map(|part| {
                let (part, again) = braced(part)?;
                let (step, element) = bracketed(part)?;
                let element = match element {
                    Some(element) => Some(Element::parse(element)?),
                    None => None,
                };
                Some(Segment { step, element, again: again.unwrap_or(1) })
            })
            .collect::<Option<Vec<_>>>()?;
        let (opened, opens) = match last.strip_suffix("[]") {
            Some(opened) => (opened, true),
            None => (last, false),
        };
        let (opened, again) = braced(opened)?;
        let (step, element) = bracketed(opened)?;
        let role = match (element.map(Element::parse), opens) {
            (Some(None), _) => return None,
            (Some(Some(element)), false) => Role::Element(element),
            (None, false) => Role::Step,
            (element, true) => Role::Open(element.flatten()),
        };
        Some(Self { scope, step, role, again })
    }

    /// Whether it stands for as many tasks as there are elements, perhaps for none.
    pub fn is_of_each(&self) -> bool {
        let is_each = |segment: &Segment| segment.element == Some(Element::Each);
        matches!(self.role, Role::Element(Element::Each) | Role::Open(Some(Element::Each)))
            || self.scope.iter().any(is_each)
    }
}

/// The name of the task for one element.
pub(crate) fn element_name(step: &str, element: &Element) -> String {
    format!("{step}[{element}]")
}

/// The name of the task that stands for one try of a group.
pub(crate) fn try_name(end: &str, again: u32) -> String {
    format!("{end}{{{again}}}")
}

/// `step[3]{2}` in its two parts.
fn braced(part: &str) -> Option<(&str, Option<u32>)> {
    match part.strip_suffix('}') {
        Some(part) => {
            let (part, again) = part.rsplit_once('{')?;
            Some((part, Some(again.parse().ok().filter(|again| *again > 0)?)))
        }
        None => Some((part, None)),
    }
}

/// `step[3]` in its two parts.
fn bracketed(part: &str) -> Option<(String, Option<&str>)> {
    match part.split_once('[') {
        Some((step, rest)) => Some((step.to_owned(), Some(rest.strip_suffix(']')?))),
        None => Some((part.to_owned(), None)),
    }
}

impl fmt::Display for Segment {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match &self.element {
            Some(element) => f.write_str(&element_name(&self.step, element))?,
            None => f.write_str(&self.step)?,
        }
        match self.again {
            0 | 1 => Ok(()),
            again => write!(f, "{{{again}}}"),
        }
    }
}

impl fmt::Display for TaskName {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        for segment in &self.scope {
            write!(f, "{segment}/")?;
        }
        match &self.role {
            Role::Step | Role::Open(None) => f.write_str(&self.step)?,
            Role::Element(element) | Role::Open(Some(element)) => {
                f.write_str(&element_name(&self.step, element))?;
            }
        }
        if let Some(again) = self.again {
            write!(f, "{{{again}}}")?;
        }
        match self.role {
            Role::Open(_) => f.write_str("[]"),
            _ => Ok(()),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_are_taken_apart_and_put_together() {
        for name in [
            "a",
            "a b.c-d",
            "a[0]",
            "a[]",
            "a/b",
            "a[12]/b",
            "a[1]/b/c[3]",
            "a/b[]",
            "a[*]/b",
            "a[3][]",
            "a[stable-x.y]",
            "a[b c]/d[e][]",
            "a{1}",
            "a{2}/b",
            "a[x{y}]{3}[]",
            "a[1]{2}/b{4}",
        ] {
            assert_eq!(TaskName::parse(name).unwrap().to_string(), name);
        }
        for (name, is_of_each) in [("a[*]", true), ("a[*]/b[2]", true), ("a[1]/b", false)] {
            assert_eq!(TaskName::parse(name).unwrap().is_of_each(), is_of_each, "{name}");
        }
        for name in ["a[1", "a[]/b", "a[][]", "a[][1]", "a{}", "a{0}", "a{x}/b"] {
            assert_eq!(TaskName::parse(name), None, "{name}");
        }
        assert_eq!(TaskName::parse("a[1]/b[2]").unwrap().role, Role::Element(Element::Number(2)));
        assert_eq!(
            TaskName::parse("a[1]/b[2][]").unwrap().role,
            Role::Open(Some(Element::Number(2)))
        );
    }
}
