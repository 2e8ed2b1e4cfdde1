//! [`Learnt`]: how long the tasks of flows took before, remembered for a moment.
//!
//! How times are learnt from the runs of before is the store's business; what is done with them, the scheduler's.

use std::collections::{BTreeMap, BTreeSet, HashMap};
use std::fmt;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::{Duration, Instant};

use tidewheel::store::sqlite::{DataFolder, FolderError, Reader};

use crate::desk::{DeskError, SAMPLES, blocking};

/// How long tasks took, by name.
type Times = BTreeMap<String, Duration>;

/// So long what was learnt is used again: one run more changes little about the middle of the last few times.
const GOOD_FOR: Duration = Duration::from_secs(5);

/// Flows that are remembered.
const KNOWN_MAX: usize = 16_384;

/// What runs took before, in a data folder.
///
/// To find it out takes longer than to accept a run, and thousands may be wanted at once: whoever asks while others are
/// answered is answered together with all who do.
pub(crate) struct Learnt {
    folder: DataFolder,
    /// Whoever has it reads, for all that is wanted. Opened when it is first needed.
    reader: tokio::sync::Mutex<Option<Reader>>,
    wanted: Mutex<BTreeSet<String>>,
    known: Mutex<HashMap<String, (Instant, Arc<Times>)>>,
}

impl Learnt {
    pub fn new(folder: DataFolder) -> Self {
        let (reader, wanted, known) = Default::default();
        Self { folder, reader, wanted, known }
    }

    /// How long the tasks of runs of this name took before.
    ///
    /// # Errors
    ///
    /// When the folder cannot be read.
    pub async fn of(&self, name: &str) -> Result<Arc<Times>, DeskError> {
        if let Some(times) = self.remembered(name) {
            return Ok(times);
        }
        lock(&self.wanted).insert(name.to_owned());
        let mut reader = self.reader.lock().await;
        if let Some(times) = self.remembered(name) {
            return Ok(times);
        }
        let mut names = std::mem::take(&mut *lock(&self.wanted));
        names.insert(name.to_owned());
        let (folder, open) = (self.folder.clone(), reader.take());
        let read = blocking(move || read(&folder, open, names)).await?;
        let (open, times) = read.map_err(|error| DeskError::folder(error, self.folder.path()))?;
        *reader = Some(open);
        self.remember(times);
        Ok(self.remembered(name).unwrap_or_default())
    }

    fn remembered(&self, name: &str) -> Option<Arc<Times>> {
        let known = lock(&self.known);
        let (since, times) = known.get(name)?;
        (since.elapsed() < GOOD_FOR).then(|| Arc::clone(times))
    }

    fn remember(&self, times: Vec<(String, Times)>) {
        let (mut known, now) = (lock(&self.known), Instant::now());
        if known.len() + times.len() > KNOWN_MAX {
            known.clear();
        }
        known.extend(times.into_iter().map(|(name, times)| (name, (now, Arc::new(times)))));
    }
}

/// Reads what is known of these.
fn read(
    folder: &DataFolder,
    reader: Option<Reader>,
    names: BTreeSet<String>,
) -> Result<(Reader, Vec<(String, Times)>), FolderError> {
    let reader = reader.map_or_else(|| folder.reader(), Ok)?;
    let times = names.into_iter().map(|name| {
        let times = reader.durations(&name, SAMPLES)?;
        Ok((name, times))
    });
    let times = times.collect::<Result<_, FolderError>>()?;
    Ok((reader, times))
}

fn lock<T>(of: &Mutex<T>) -> MutexGuard<'_, T> {
    of.lock().unwrap_or_else(PoisonError::into_inner)
}

impl fmt::Debug for Learnt {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Learnt").field("known", &lock(&self.known).len()).finish_non_exhaustive()
    }
}
