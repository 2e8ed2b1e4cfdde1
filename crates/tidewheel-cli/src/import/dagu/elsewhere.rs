//! Steps of Dagu that run in containers and on other hosts.
//!
//! What their programs are is in `work`.

use serde_json::{Map, Value as Json, json};

use super::values::text_of;
use super::whole::{Converter, take};
use crate::import::document::Mapping;

impl Converter {
    /// Where a step runs, if that is elsewhere and can be said here.
    pub(super) fn elsewhere(
        &mut self,
        step: &mut Mapping,
        kind: &str,
        config: &Json,
        place: &str,
    ) -> bool {
        let Json::Object(config) = config else { return false };
        let mut config = config.clone();
        let (key, written) = match kind {
            "docker" if config.contains_key("image") => ("container", self.container(&mut config)),
            "ssh" if config.contains_key("host") || config.contains_key("ip") => {
                ("ssh", self.host(&mut config))
            }
            _ => return false,
        };
        step.add(key, written);
        for (name, value) in config {
            self.remarks.lose(place, format!("`{name}: {value}` of type `{kind}`"));
        }
        true
    }

    fn container(&mut self, config: &mut Map<String, Json>) -> Mapping {
        let mut written = Mapping::new();
        self.carry(config, "image", &mut written, "image");
        let mounts = config.get_mut("host").and_then(Json::as_object_mut);
        if let Some(Json::Array(mounts)) = mounts.and_then(|host| host.remove("binds")) {
            let mounts = mounts.iter().map(|it| self.values.rendered(&text_of(it)));
            written.add("mounts", json!(mounts.collect::<Vec<_>>()));
        }
        match take(config, "pull") {
            Some(Json::Bool(pulls)) => written.add("pull", if pulls { "always" } else { "never" }),
            Some(Json::String(word)) => written.add("pull", word.as_str()),
            _ => {}
        }
        if let Some(inner) = config.get_mut("container").and_then(Json::as_object_mut) {
            let mut own = std::mem::take(inner);
            self.carry(&mut own, "working_dir", &mut written, "workdir");
            self.carry(&mut own, "user", &mut written, "user");
            *inner = own;
        }
        // Here that is always so.
        take(config, "auto_remove");
        for key in ["host", "container"] {
            if config.get(key).and_then(Json::as_object).is_some_and(Map::is_empty) {
                config.remove(key);
            }
        }
        written
    }

    fn host(&mut self, config: &mut Map<String, Json>) -> Mapping {
        let mut written = Mapping::new();
        let address = if config.contains_key("host") { "host" } else { "ip" };
        self.carry(config, address, &mut written, "host");
        self.carry(config, "user", &mut written, "user");
        if let Some(port) = take(config, "port") {
            let port = text_of(&port).parse().map_or(port, |number: u16| json!(number));
            written.add("port", port);
        }
        self.carry(config, "key", &mut written, "identity");
        written
    }

    /// Takes a value over under its name here.
    fn carry(
        &mut self,
        config: &mut Map<String, Json>,
        key: &str,
        written: &mut Mapping,
        name: &str,
    ) {
        if let Some(value) = take(config, key) {
            written.add(name, self.values.rendered(&text_of(&value)).as_str());
        }
    }
}
