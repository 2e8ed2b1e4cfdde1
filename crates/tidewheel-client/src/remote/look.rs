//! What is looked at all the time, asked of a server.
//!
//! What is asked once is in [`super::remote`].

use serde_json::{Value as Json, json};

use super::remote::RemoteDesk;
use crate::api::{
    Glance, LimitList, LinesWish, LogFound, LogLines, QueueList, SearchWish, WaitingLine,
};
use crate::desk::DeskError;

impl RemoteDesk {
    pub(crate) async fn glance(&self) -> Result<Glance, DeskError> {
        self.wire.get(&["glance"], &Json::Null).await
    }

    pub(crate) async fn line(&self, max: u32) -> Result<WaitingLine, DeskError> {
        self.wire.get(&["line"], &json!({ "limit": max })).await
    }

    pub(crate) async fn queues(&self) -> Result<QueueList, DeskError> {
        self.wire.get(&["queues"], &Json::Null).await
    }

    pub(crate) async fn limits(&self) -> Result<LimitList, DeskError> {
        self.wire.get(&["limits"], &Json::Null).await
    }

    pub(crate) async fn log_lines(
        &self,
        run: &str,
        wish: &LinesWish,
    ) -> Result<LogLines, DeskError> {
        self.wire.get(&["runs", run, "log", "lines"], wish).await
    }

    pub(crate) async fn found_in_log(
        &self,
        run: &str,
        wish: &SearchWish,
    ) -> Result<Vec<u64>, DeskError> {
        let mut pieces = self.wire.stream(&["runs", run, "log", "search"], wish).await?;
        let (mut hits, mut rest) = (Vec::new(), Vec::new());
        while let Some(piece) = pieces.next().await? {
            rest.extend_from_slice(&piece);
            while let Some(end) = rest.iter().position(|byte| *byte == b'\n') {
                let line: Vec<u8> = rest.drain(..=end).collect();
                // What cannot be read is of a server that says more than we know.
                if let Ok(found) = serde_json::from_slice::<LogFound>(&line) {
                    hits.extend(found.hits);
                }
            }
            if hits.len() >= wish.limit as usize {
                break;
            }
        }
        Ok(hits)
    }
}
