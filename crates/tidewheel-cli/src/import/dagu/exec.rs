//! `exec` of Dagu: a program and its arguments, without a shell between.
//!
//! Texts for a shell are in `work`.

use serde_json::{Value as Json, json};

use super::values::text_of;
use super::whole::{Converter, take};
use crate::import::document::Mapping;
use crate::import::shell::{SHELLS, base_name};
use crate::import::text::as_template;
use crate::import::variables::guarded;

impl Converter {
    pub(super) fn exec(&mut self, step: &mut Mapping, said: Json, mut env: Mapping, place: &str) {
        let mut said = match said {
            Json::Object(said) => said,
            _ => serde_json::Map::new(),
        };
        let mut words: Vec<String> = take(&mut said, "command").iter().map(text_of).collect();
        if let Some(Json::Array(list)) = take(&mut said, "args") {
            words.extend(list.iter().map(text_of));
        }
        self.lost_keys(said, &format!("{place}, exec"));
        let text = text_for_shell(&words);
        let mut argv = Vec::new();
        for (word, number) in words.iter().zip(0..) {
            argv.push(match text == Some(number) {
                // Values never come into it as text.
                true => {
                    let word = self.with_paths(&mut env, word, place);
                    self.ask_for(&mut env, &word);
                    as_template(&guarded(&word, &self.values.unset))
                }
                false => self.values.rendered(word),
            });
        }
        if !env.is_empty() {
            step.add("env", env);
        }
        let may_be_options = argv.iter().any(|word| word.starts_with("{{"));
        step.add("argv", json!(argv));
        if may_be_options {
            // There a value may be one.
            step.add("allow_options", Json::Bool(true));
        }
    }
}

/// Which of the words a shell takes for a text, if the program is one: `bash -c text`.
fn text_for_shell(words: &[String]) -> Option<usize> {
    let is_shell = words.first().is_some_and(|program| SHELLS.contains(&base_name(program)));
    let is_option =
        |word: &String| word.starts_with('-') && !word.starts_with("--") && word.contains('c');
    let option = words.iter().skip(1).position(is_option).filter(|_| is_shell)?;
    let rest = words.iter().skip(option + 2).position(|word| !word.starts_with('-'))?;
    Some(option + 2 + rest)
}
