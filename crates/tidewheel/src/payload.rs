//! Payloads that are values of types, as JSON. Feature `serde`.
//!
//! To the scheduler and to stores a payload is bytes; whoever has no use for types gives and takes those.

use std::any::type_name;
use std::sync::Arc;

use serde::Serialize;
use serde::de::DeserializeOwned;

use crate::attempt::Attempt;
use crate::builder::Builder;
use crate::error::MayRetry;
use crate::output::TaskOutput;

/// A payload that is not what it should be. Another attempt would find the same.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum PayloadError {
    /// The work has none.
    #[error("there is no payload, where a `{0}` was expected")]
    Missing(&'static str, #[source] MayRetry),
    /// It is something else.
    #[error("the payload is no `{what}`: {why}")]
    Other {
        /// The type expected.
        what: &'static str,
        /// What is wrong with it.
        why: String,
        /// That it will be so next time.
        #[source]
        retry: MayRetry,
    },
    /// A value cannot be written.
    #[error("a `{what}` cannot be written as JSON: {why}")]
    NotWritten {
        /// Its type.
        what: &'static str,
        /// What is in the way.
        why: String,
    },
}

pub(crate) fn write<T: Serialize>(value: &T) -> Result<Arc<[u8]>, PayloadError> {
    match serde_json::to_vec(value) {
        Ok(bytes) => Ok(Arc::from(bytes)),
        Err(error) => {
            Err(PayloadError::NotWritten { what: type_name::<T>(), why: error.to_string() })
        }
    }
}

fn read<T: DeserializeOwned>(payload: Option<&[u8]>) -> Result<T, PayloadError> {
    let what = type_name::<T>();
    let payload = payload.ok_or(PayloadError::Missing(what, MayRetry::No))?;
    serde_json::from_slice(payload).map_err(|error| PayloadError::Other {
        what,
        why: error.to_string(),
        retry: MayRetry::No,
    })
}

impl Attempt {
    /// The payload as the value that was given to `payload_of`.
    ///
    /// # Errors
    ///
    /// When there is none, or it is not such a value: after that no further attempt is made.
    pub fn payload_as<T: DeserializeOwned>(&self) -> Result<T, PayloadError> {
        read(self.payload().as_deref())
    }
}

impl Builder {
    /// Code for restored work of this kind, which is called with the value that was given to `payload_of`.
    ///
    /// Work of this kind whose payload is no such value is *held*, as that of kinds without code is
    /// ([`Builder::adopt_kind`]): it stays in the store as it is, [`crate::Tidewheel::held_work`] says what
    /// is wrong with it, and a program that understands it goes on with it.
    ///
    /// ```
    /// # #[tokio::main(flavor = "current_thread")]
    /// # async fn main() -> Result<(), Box<dyn std::error::Error>> {
    /// use serde::{Deserialize, Serialize};
    /// use tidewheel::store::Memory;
    /// use tidewheel::{Attempt, Shutdown, Tidewheel};
    ///
    /// #[derive(Serialize, Deserialize)]
    /// struct Mail {
    ///     to: String,
    /// }
    ///
    /// async fn send(_: Attempt, mail: Mail) -> Result<(), std::io::Error> {
    ///     println!("to {}", mail.to);
    ///     Ok(())
    /// }
    ///
    /// let store = Memory::new();
    /// let wheel = Tidewheel::builder().store(store.clone()).paused().start();
    /// let mail = Mail { to: "ada@example.com".to_owned() };
    /// let request = wheel.task_with(|attempt| async move {
    ///     let mail = attempt.payload_as()?;
    ///     Ok::<_, tidewheel::task::BoxError>(send(attempt, mail).await?)
    /// });
    /// let submission = request.kind("mail").payload_of(&mail)?.submit();
    /// submission.accepted().await?;
    /// wheel.shutdown(Shutdown::persist()).await;
    ///
    /// // The next process has the mail to send.
    /// let wheel = Tidewheel::builder().store(store).adopt_payload("mail", send).start();
    /// wheel.shutdown(Shutdown::drain()).await;
    /// # Ok(())
    /// # }
    /// ```
    pub fn adopt_payload<'a, T, F, R>(self, kind: impl Into<Option<&'a str>>, code: F) -> Self
    where
        T: DeserializeOwned + Send + 'static,
        F: Fn(Attempt, T) -> R + Send + Sync + 'static,
        R: Future + Send + 'static,
        R::Output: TaskOutput,
    {
        let kind = kind.into();
        let code = Arc::new(code);
        let reader = |payload: Option<&[u8]>| match read::<T>(payload) {
            Ok(_) => Ok(()),
            Err(error) => Err(Arc::from(error.to_string())),
        };
        let call = move |attempt: Attempt| {
            let code = Arc::clone(&code);
            async move {
                // Work that is restored was read before; a task added to its run may differ.
                match attempt.payload_as() {
                    Ok(value) => {
                        let output = code(attempt.clone(), value).await;
                        crate::driver::conclude(attempt.seat(), output)
                    }
                    Err(error) => {
                        let result: Result<(), PayloadError> = Err(error);
                        crate::driver::conclude(attempt.seat(), result)
                    }
                }
            }
        };
        self.adopt_kind(kind, call).read_by(kind, Arc::new(reader))
    }
}
