//! A picture as a Mermaid flow chart.
//!
//! Mermaid makes its own layout. Its labels are parsed by several languages in turn, so every
//! character that any of them could take for its own is written as a number.

use std::fmt::{self, Display, Write};

use super::dot::colours;
use super::labels::harmless;
use super::model::{EdgeKind, Picture, Shape, State, Vertex};

/// Longer names make no picture clearer.
const LETTERS_MAX: usize = 80;

impl Picture {
    /// The picture for Mermaid, as in Markdown files.
    pub fn mermaid(&self) -> String {
        let mut out = String::new();
        self.write_mermaid(&mut out).expect("writing to a string cannot fail");
        out
    }

    fn write_mermaid(&self, out: &mut String) -> fmt::Result {
        if let Some(title) = &self.title {
            writeln!(out, "---\ntitle: {}\n---", Heading(title))?;
        }
        writeln!(out, "flowchart LR")?;
        for (index, (group, members)) in self.by_group().into_iter().enumerate() {
            if let Some(group) = group {
                writeln!(out, "  subgraph g{index}[\"{}\"]", Label(group))?;
            }
            for member in members {
                write_vertex(out, member, &self.vertices[member])?;
            }
            if group.is_some() {
                writeln!(out, "  end")?;
            }
        }
        for edge in self.known_edges() {
            let arrow = match (edge.is_critical, edge.kind) {
                (true, _) => "==>",
                (false, EdgeKind::Declared) => "-->",
                (false, EdgeKind::Inferred) => "-.->",
            };
            writeln!(out, "  n{} {arrow} n{}", edge.from, edge.to)?;
        }
        self.write_classes(out)
    }

    fn write_classes(&self, out: &mut String) -> fmt::Result {
        for state in State::ALL {
            let has_state = |vertex: &Vertex| vertex.state == Some(state);
            if self.vertices.iter().any(has_state) {
                let (fill, border) = colours(state);
                let word = state.word();
                writeln!(out, "  classDef {word} fill:{fill},stroke:{border},color:#18222d")?;
                write_class(out, word, self.vertices.iter().map(has_state))?;
            }
        }
        if self.vertices.iter().any(|vertex| vertex.is_critical) {
            writeln!(out, "  classDef critical stroke-width:3px")?;
            write_class(out, "critical", self.vertices.iter().map(|vertex| vertex.is_critical))?;
        }
        Ok(())
    }
}

fn write_vertex(out: &mut String, index: usize, vertex: &Vertex) -> fmt::Result {
    let (open, close) = match vertex.shape {
        Shape::Step => ("(", ")"),
        Shape::Wait => ("([", "])"),
        Shape::FanOut => ("[/", "\\]"),
        Shape::ChildFlow => ("[[", "]]"),
        Shape::CleanUp => ("{{", "}}"),
        Shape::More => ("(", ")"),
    };
    write!(out, "  n{index}{open}\"{}", Label(&vertex.name))?;
    if let Some(detail) = &vertex.detail {
        write!(out, "<br/>{}", Label(detail))?;
    }
    writeln!(out, "\"{close}")
}

fn write_class(out: &mut String, class: &str, members: impl Iterator<Item = bool>) -> fmt::Result {
    let members = members.enumerate().filter(|(_, is_member)| *is_member);
    let members: Vec<String> = members.map(|(index, _)| format!("n{index}")).collect();
    writeln!(out, "  class {} {class}", members.join(","))
}

/// Text within the quotes of a label.
struct Label<'a>(&'a str);

impl Display for Label<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let letters: Vec<char> = harmless(self.0, LETTERS_MAX).chars().collect();
        if letters.iter().all(|letter| *letter == ' ') {
            // An empty label is an error.
            return f.write_str("#160;");
        }
        for (at, letter) in letters.iter().enumerate() {
            let is_within_word = || {
                let is_letter =
                    |at: usize| letters.get(at).is_some_and(|one| one.is_alphanumeric());
                at > 0 && is_letter(at - 1) && is_letter(at + 1)
            };
            let is_plain = match letter {
                ' ' => true,
                '-' | '_' => is_within_word(),
                _ => letter.is_alphanumeric() || !letter.is_ascii(),
            };
            match is_plain {
                true => f.write_char(*letter)?,
                false => write!(f, "#{};", u32::from(*letter))?,
            }
        }
        Ok(())
    }
}

/// A title in YAML: only what cannot mean anything is written as it is.
struct Heading<'a>(&'a str);

impl Display for Heading<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_char('"')?;
        for letter in harmless(self.0, LETTERS_MAX).chars() {
            match letter {
                ' ' | '-' | '_' | '.' => f.write_char(letter)?,
                _ if letter.is_alphanumeric() || !letter.is_ascii() => f.write_char(letter)?,
                _ => write!(f, "\\x{:02x}", u32::from(letter))?,
            }
        }
        f.write_char('"')
    }
}
