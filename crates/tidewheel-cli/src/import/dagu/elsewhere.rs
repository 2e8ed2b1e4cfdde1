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

    /// `container` of a step itself, if it can be said here.
    pub(super) fn own_container(&mut self, step: &mut Mapping, said: Json, place: &str) -> bool {
        match said {
            Json::Object(config) if config.contains_key("image") => {
                let mut config = config;
                step.add("container", self.container(&mut config));
                for (name, value) in config {
                    self.remarks.lose(place, format!("`{name}: {value}` of its container"));
                }
                true
            }
            other => {
                self.remarks.lose(place, format!("`container: {other}`"));
                false
            }
        }
    }

    fn container(&mut self, config: &mut Map<String, Json>) -> Mapping {
        let mut written = Mapping::new();
        self.carry(config, "image", &mut written, "image");
        let inner = config.get_mut("host").and_then(Json::as_object_mut);
        let mut mounts: Vec<String> = Vec::new();
        for list in [inner.and_then(|host| host.remove("binds")), take(config, "volumes")] {
            let list = list.iter().filter_map(Json::as_array).flatten().map(text_of);
            mounts.extend(list.map(|mount| self.values.rendered(&mount)));
        }
        if !mounts.is_empty() {
            written.add("mounts", json!(mounts));
        }
        match take(config, "pull").or_else(|| take(config, "pull_policy")) {
            Some(Json::Bool(pulls)) => written.add("pull", if pulls { "always" } else { "never" }),
            Some(Json::String(word)) => written.add("pull", word.as_str()),
            _ => {}
        }
        for (key, name) in [("working_dir", "workdir"), ("user", "user"), ("network", "network")] {
            self.carry(config, key, &mut written, name);
        }
        if let Some(variables) = take(config, "env") {
            let known = self.values.env.len();
            let mut env = Mapping::new();
            for (name, value) in self.variables(variables, "a container") {
                env.add(&name, value.as_str());
            }
            self.values.env.truncate(known);
            written.add("env", env);
        }
        if let Some(platform) = take(config, "platform") {
            written.add("options", json!([format!("--platform={}", text_of(&platform))]));
        }
        if let Some(inner) = config.get_mut("container").and_then(Json::as_object_mut) {
            let mut own = std::mem::take(inner);
            for (key, name) in [("working_dir", "workdir"), ("user", "user")] {
                if !written.has(name) {
                    self.carry(&mut own, key, &mut written, name);
                }
            }
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
