//! Steps that read a file.
//!
//! What becomes of its text is decided by the outputs of the step.

use std::fs::File;
use std::io::Read;
use std::path::{Path, PathBuf};

use serde_json::Value as Json;

use super::context::Position;
use super::end::{Success, Trouble};
use super::runner::FlowRunner;
use crate::definition::load::parse_yaml;
use crate::definition::{FileFormat, FileWork};
use crate::language::template::Context;

impl FlowRunner {
    pub(super) async fn read_file(
        &self,
        work: &FileWork,
        position: &Position,
        context: &Context,
    ) -> Result<Success, Trouble> {
        let path = self.folder_of(position, context)?.join(work.path.render_text(context)?);
        let (format, bytes_max, is_optional) = (work.format, work.bytes_max, work.is_optional);
        let read = move || read(path, format, bytes_max, is_optional);
        let data = tokio::task::spawn_blocking(read).await;
        let data = data.map_err(|error| Trouble::passing(error.to_string()))??;
        Ok(Success { data, ..Success::default() })
    }
}

fn read(
    path: PathBuf,
    format: Option<FileFormat>,
    bytes_max: u64,
    is_optional: bool,
) -> Result<Json, Trouble> {
    let wrong = |why: String| Trouble::passing(format!("{}: {why}", path.display()));
    let mut bytes = Vec::new();
    let file = match File::open(&path) {
        Ok(file) => file,
        Err(error) if is_optional && error.kind() == std::io::ErrorKind::NotFound => {
            return Ok(Json::Null);
        }
        Err(error) => return Err(wrong(error.to_string())),
    };
    file.take(bytes_max + 1).read_to_end(&mut bytes).map_err(|error| wrong(error.to_string()))?;
    if bytes.len() as u64 > bytes_max {
        return Err(wrong(format!("larger than {bytes_max} bytes")));
    }
    let text = String::from_utf8(bytes).map_err(|_| wrong("no text in UTF-8".to_owned()))?;
    Ok(match format.unwrap_or_else(|| format_of(&path)) {
        FileFormat::Text => Json::String(text),
        FileFormat::Lines => text.lines().collect(),
        FileFormat::Json => {
            serde_json::from_str(&text).map_err(|error| wrong(error.to_string()))?
        }
        FileFormat::Yaml => parse_yaml(&text).map_err(wrong)?,
    })
}

fn format_of(path: &Path) -> FileFormat {
    match path.extension().and_then(|ending| ending.to_str()) {
        Some("json") => FileFormat::Json,
        Some("yaml" | "yml") => FileFormat::Yaml,
        _ => FileFormat::Text,
    }
}
