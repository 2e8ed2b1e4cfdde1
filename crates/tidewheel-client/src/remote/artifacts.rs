//! Files that steps of a run left, fetched from a server.
//!
//! What the server says of them is not trusted: names lead nowhere else, and what comes is compared.

use std::io::Write;
use std::path::Path;

use serde_json::json;
use sha2::{Digest as _, Sha256};

use super::remote::RemoteDesk;
use crate::api::{ArtifactLine, ArtifactList};
use crate::desk::{DeskError, choose, new_file, plain};

impl RemoteDesk {
    /// Copies one artifact to whatever takes it.
    pub(crate) async fn artifact(
        &self,
        run: &str,
        step: Option<&str>,
        name: &str,
        to: &mut (dyn Write + Send),
    ) -> Result<(), DeskError> {
        let list = self.artifacts(run, step).await?;
        self.fetch(&list.run_id, choose(&list, name)?, to).await
    }

    /// Copies all of them to a folder.
    pub(crate) async fn copy_artifacts(
        &self,
        run: &str,
        step: Option<&str>,
        folder: &Path,
    ) -> Result<ArtifactList, DeskError> {
        let mut list = self.artifacts(run, step).await?;
        let run = list.run_id.clone();
        for line in &mut list.artifacts {
            let path = folder.join(plain(&line.step)).join(plain(&line.name));
            let file = new_file(&path);
            let mut file =
                file.map_err(|error| DeskError::NotCopied { name: line.name.clone(), error })?;
            self.fetch(&run, line, &mut file).await?;
            line.path = path.display().to_string();
        }
        Ok(list)
    }

    async fn fetch(
        &self,
        run: &str,
        line: &ArtifactLine,
        to: &mut (dyn Write + Send),
    ) -> Result<(), DeskError> {
        let failed = |error| DeskError::NotCopied { name: line.name.clone(), error };
        let wanted = json!({ "name": line.name, "step": line.step });
        let mut pieces = self.wire.stream(&["runs", run, "artifact"], &wanted).await?;
        let mut digest = Sha256::new();
        while let Some(piece) = pieces.next().await? {
            digest.update(&piece);
            to.write_all(&piece).map_err(failed)?;
        }
        to.flush().map_err(failed)?;
        let sha256: String = digest.finalize().iter().map(|byte| format!("{byte:02x}")).collect();
        match sha256 == line.sha256 {
            true => Ok(()),
            false => Err(failed(std::io::Error::other("what came is not what was kept"))),
        }
    }
}
