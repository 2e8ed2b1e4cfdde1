//! A picture for programs.
//!
//! Names are given exactly; whoever shows them has to make them harmless.

use serde_json::{Value, json};

use super::model::Picture;
use super::ranks::levels;
use super::skeleton::Skeleton;

impl Picture {
    /// The picture as one JSON object: `title`, `steps` and `edges`.
    ///
    /// `level` is the number of edges on the longest way to a step. Edges name their ends by
    /// `from` and `to`.
    pub fn json(&self) -> Value {
        let levels = levels(&Skeleton::new(self.vertices.len(), &self.edges));
        let steps: Vec<Value> = self
            .vertices
            .iter()
            .zip(levels)
            .map(|(vertex, level)| {
                json!({
                    "name": vertex.name,
                    "shape": vertex.shape.word(),
                    "level": level,
                    "state": vertex.state.map(super::State::word),
                    "is_critical": vertex.is_critical,
                    "detail": vertex.detail,
                    "tooltip": vertex.tooltip,
                    "group": vertex.group,
                })
            })
            .collect();
        let edges: Vec<Value> = self
            .known_edges()
            .map(|edge| {
                json!({
                    "from": self.vertices[edge.from].name,
                    "to": self.vertices[edge.to].name,
                    "kind": edge.kind.word(),
                    "is_critical": edge.is_critical,
                })
            })
            .collect();
        json!({ "title": self.title, "steps": steps, "edges": edges })
    }
}
