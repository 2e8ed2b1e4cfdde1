//! Documents compared with what is written down of them.
//!
//! Which documents there are is said in the tests of the contract.

use std::collections::BTreeSet;
use std::fmt::Debug;
use std::path::{Path, PathBuf};

use serde::Serialize;
use serde::de::DeserializeOwned;
use tidewheel_client::api::Document;

/// A folder with one example of each document.
pub struct Written(PathBuf);

impl Written {
    /// A folder beside the tests.
    pub fn new(name: &str) -> Self {
        Self(Path::new(env!("CARGO_MANIFEST_DIR")).join("tests").join(name))
    }

    /// Compares an example with what is written down, reads it back, and gives its name.
    pub fn check<D>(&self, example: D, number: &str) -> String
    where
        D: Document + Serialize + DeserializeOwned + Clone + PartialEq + Debug,
    {
        let name = format!("{}{number}.json", D::NAME);
        let text = serde_json::to_string_pretty(&example).unwrap() + "\n";
        let path = self.0.join(&name);
        if std::env::var_os("TIDEWHEEL_BLESS").is_some() {
            std::fs::write(&path, &text).unwrap();
        }
        let written = std::fs::read_to_string(&path).unwrap_or_default();
        assert_eq!(text, written, "{name}");
        assert_eq!(serde_json::from_str::<D>(&text).unwrap(), example, "{name}");
        // The version comes first, where it is said.
        let versioned = serde_json::to_string(&example.clone().versioned()).unwrap();
        let beginning = format!("{{\"version\":{},", D::VERSION);
        assert!(versioned.starts_with(&beginning), "{versioned}");
        assert!(!text.contains("\"version\""), "{text}");
        name
    }

    /// Makes sure that there is an example of everything that is written down, and of nothing else.
    pub fn check_all(&self, names: &BTreeSet<String>) {
        let written = std::fs::read_dir(&self.0).unwrap();
        let written: BTreeSet<String> =
            written.map(|file| file.unwrap().file_name().into_string().unwrap()).collect();
        assert_eq!(*names, written, "files without an example, or the other way round");
    }
}
