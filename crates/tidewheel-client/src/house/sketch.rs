//! What a flow looks like before anybody has run it: its picture, and how its steps did lately.
//!
//! What a run with certain params would do is in [`super::flows`].

use std::collections::BTreeMap;

use serde_json::{Value as Json, json};
use tidewheel_flow::Param;

use super::house::House;
use crate::api::{FlowGrid, StartWish};
use crate::desk::DeskError;
use crate::files::Picture;

impl House {
    /// A flow as a picture. What must be said when it is run is made up, so that it can be drawn.
    ///
    /// # Errors
    ///
    /// When there is no such flow, or nothing that could be made up makes a graph.
    pub async fn sketch(&self, flow: &str) -> Result<Picture, DeskError> {
        let version = self.version(flow)?;
        let needed = version.flow.params.iter().filter(|param| param.default.is_none());
        let params: BTreeMap<String, Json> =
            needed.map(|param| (param.name.clone(), example(param))).collect();
        self.picture(&StartWish { flow: flow.to_owned(), params, ..StartWish::default() }).await
    }

    /// How each step of a flow did in its newest runs, at most so many.
    ///
    /// # Errors
    ///
    /// When there is no such flow, or the folder cannot be read.
    pub async fn grid(&self, flow: &str, most: u32) -> Result<FlowGrid, DeskError> {
        let version = self.version(flow)?;
        let steps = version.flow.steps.iter().map(|step| step.name.clone()).collect();
        let flow = flow.to_owned();
        self.desk().here(move |desk| desk.grid(&flow, steps, most)).await
    }
}

/// Something that a param may be.
fn example(param: &Param) -> Json {
    if let Some(first) = param.choices.first() {
        return first.clone();
    }
    let least = param.min.or(param.max).unwrap_or(1.0);
    match param.kind.word() {
        "int" => json!(least.ceil() as i64),
        "number" => json!(least),
        "bool" => json!(false),
        "list" => json!([]),
        "map" => json!({}),
        _ => json!("…"),
    }
}
