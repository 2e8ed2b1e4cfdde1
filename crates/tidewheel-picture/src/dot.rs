//! A picture in the language of Graphviz.
//!
//! Graphviz makes its own layout; only names, states and connections are handed over.

use std::fmt::{self, Display, Write};

use super::labels::harmless;
use super::model::{EdgeKind, Picture, Shape, State, Vertex};

/// Longer names make no picture clearer.
const LETTERS_MAX: usize = 80;

impl Picture {
    /// The picture for `dot` and its relatives.
    pub fn dot(&self) -> String {
        let mut out = String::new();
        self.write_dot(&mut out).expect("writing to a string cannot fail");
        out
    }

    fn write_dot(&self, out: &mut String) -> fmt::Result {
        let title = self.title.as_deref().unwrap_or("steps");
        writeln!(out, "digraph {} {{", Quoted(title))?;
        writeln!(out, "  rankdir=LR;")?;
        if self.title.is_some() {
            writeln!(out, "  label={}; labelloc=t; labeljust=l;", Quoted(title))?;
        }
        writeln!(out, "  graph [fontname=\"Helvetica\", nodesep=0.25, ranksep=0.55];")?;
        writeln!(
            out,
            "  node [shape=box, style=\"rounded,filled\", fillcolor=\"#ffffff\", \
             color=\"#9aa6b2\", fontname=\"Helvetica\", fontsize=11];"
        )?;
        writeln!(out, "  edge [color=\"#9aa6b2\", arrowsize=0.7];")?;
        self.write_dot_vertices(out)?;
        for edge in self.known_edges() {
            write!(out, "  n{} -> n{}", edge.from, edge.to)?;
            let mut attributes = Vec::new();
            if edge.kind == EdgeKind::Inferred {
                attributes.push("style=dashed");
            }
            if edge.is_critical {
                attributes.push("penwidth=2.2, color=\"#0b6b82\", class=\"critical\"");
            }
            match attributes.as_slice() {
                [] => writeln!(out, ";")?,
                _ => writeln!(out, " [{}];", attributes.join(", "))?,
            }
        }
        writeln!(out, "}}")
    }

    fn write_dot_vertices(&self, out: &mut String) -> fmt::Result {
        for (index, (group, members)) in self.by_group().into_iter().enumerate() {
            let indent = if group.is_some() { "    " } else { "  " };
            if let Some(group) = group {
                writeln!(out, "  subgraph cluster_{index} {{")?;
                writeln!(out, "    label={}; color=\"#ccd4dc\"; style=rounded;", Quoted(group))?;
            }
            for member in members {
                write!(out, "{indent}n{member} [")?;
                write_attributes(out, &self.vertices[member])?;
                writeln!(out, "];")?;
            }
            if group.is_some() {
                writeln!(out, "  }}")?;
            }
        }
        Ok(())
    }
}

fn write_attributes(out: &mut String, vertex: &Vertex) -> fmt::Result {
    let mut label = Quoted(&vertex.name).to_string();
    if let Some(detail) = &vertex.detail {
        label.pop();
        label.push_str("\\n");
        label.push_str(&Quoted(detail).to_string()[1..]);
    }
    write!(out, "label={label}")?;
    match vertex.shape {
        Shape::Step => {}
        Shape::Wait => write!(out, ", shape=hexagon, style=filled")?,
        Shape::FanOut => write!(out, ", shape=box3d, style=filled")?,
        Shape::ChildFlow => write!(out, ", shape=component, style=filled")?,
        Shape::CleanUp => write!(out, ", shape=octagon, style=filled")?,
        Shape::More => write!(out, ", style=\"rounded,filled,dashed\"")?,
    }
    let mut classes = format!("shape-{}", vertex.shape.word());
    if let Some(state) = vertex.state {
        let (fill, border) = colours(state);
        write!(out, ", fillcolor=\"{fill}\", color=\"{border}\"")?;
        classes.push_str(&format!(" state-{}", state.word()));
    }
    if vertex.is_critical {
        write!(out, ", penwidth=2.2")?;
        if vertex.state.is_none() {
            write!(out, ", color=\"#0b6b82\"")?;
        }
        classes.push_str(" critical");
    }
    write!(out, ", class=\"{classes}\"")?;
    if let Some(tooltip) = &vertex.tooltip {
        write!(out, ", tooltip={}", Quoted(tooltip))?;
    }
    Ok(())
}

/// How the box of a state is filled and bordered; Mermaid uses the same.
pub(super) fn colours(state: State) -> (&'static str, &'static str) {
    match state {
        State::Pending => ("#ffffff", "#a5b0bb"),
        State::Running => ("#e8f0fe", "#2561d8"),
        State::Succeeded => ("#e9f6ee", "#1e8748"),
        State::Failed => ("#fdeceb", "#cc2f28"),
        State::Skipped => ("#f4f6f8", "#8b96a2"),
        State::Cancelled => ("#fbf2e3", "#a3650a"),
        State::Unknown => ("#f2eefb", "#7752c8"),
    }
}

/// A string in quotes. Graphviz knows escapes with a backslash and those of HTML.
struct Quoted<'a>(&'a str);

impl Display for Quoted<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_char('"')?;
        for letter in harmless(self.0, LETTERS_MAX).chars() {
            match letter {
                '"' => f.write_str("\\\"")?,
                '\\' => f.write_str("\\\\")?,
                '&' => f.write_str("&amp;")?,
                _ => f.write_char(letter)?,
            }
        }
        f.write_char('"')
    }
}
