//! [`Tokens`]: the tokens of a data folder, in a file of their own.
//!
//! A file and no table: the database is copied, mended and looked into by many hands, and what opens the door is
//! not for them. What is stored are fingerprints all the same. Who has which role is decided where a token is made.

use std::fs::{self, File, OpenOptions};
use std::io;
use std::path::{Path, PathBuf};
use std::sync::{Mutex, MutexGuard, PoisonError};
use std::time::{Duration, Instant, SystemTime};

use serde::{Deserialize, Serialize};
use tidewheel::Timestamp;
use tidewheel::file::{FileLock, write_atomically};

use super::token::id_of;
use super::{NewToken, Role, Token, TokenPlan};

/// How long a token is good for if nobody says.
pub(crate) const LASTS: Duration = Duration::from_secs(90 * 24 * 3600);

/// How long it may be good for at the most.
const LASTS_MAX: Duration = Duration::from_secs(10 * 366 * 24 * 3600);

/// More are nobody's.
const TOKENS_MAX: usize = 10_000;

/// How often it is looked whether somebody else has changed the file: what is revoked ends that soon.
const LOOK: Duration = Duration::from_millis(500);

/// When a token was used is told to the hour: the file is not written at each request.
const USED_EVERY: i64 = 3600 * 1_000_000;

/// How long whoever else changes the file is waited for.
const PATIENCE: Duration = Duration::from_secs(10);

/// The tokens of a data folder. What others write to the file is seen within a second.
#[derive(Debug)]
pub struct Tokens {
    path: PathBuf,
    known: Mutex<Known>,
}

#[derive(Debug)]
struct Known {
    tokens: Vec<Token>,
    /// How the file looked when it was read.
    seen: Option<(SystemTime, u64)>,
    looked: Option<Instant>,
}

#[derive(Debug, Default, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
struct Content {
    tokens: Vec<Token>,
}

/// Why tokens cannot be read or changed.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum TokenError {
    /// The file does not do what it is asked.
    #[error("the tokens in {} cannot be {doing}", path.display())]
    Io {
        /// What was tried.
        doing: &'static str,
        /// The file.
        path: PathBuf,
        /// Why not.
        source: io::Error,
    },
    /// The file is not what we wrote. Nobody is let in by it.
    #[error("{} is damaged: {why}; bring back a copy, or remove it and make new tokens", path.display())]
    Damaged {
        /// The file.
        path: PathBuf,
        /// Why.
        why: String,
    },
    /// The name says nothing, or is too long.
    #[error("a token needs a name of 1 to 64 letters that can be seen")]
    Name,
    /// It would be good for too long or too short.
    #[error("a token is good for at least a minute and at most ten years")]
    Lasts,
    /// What the role does is done to all flows.
    #[error(
        "a token for some flows only is for viewers and operators: what the role {0} may do is done to all"
    )]
    Reach(Role),
    /// There is no such token.
    #[error("there is no token `{0}`")]
    Unknown(String),
    /// There are too many.
    #[error("there are {TOKENS_MAX} tokens: revoke some first")]
    TooMany,
}

impl Tokens {
    /// The tokens in this folder, which is made if it is not there.
    ///
    /// # Errors
    ///
    /// When the file cannot be read, or is damaged.
    pub fn open(folder: &Path) -> Result<Self, TokenError> {
        let path = folder.join("tokens.json");
        make_private(folder).map_err(|source| failed("kept", &path, source))?;
        let known = Known { tokens: Vec::new(), seen: None, looked: None };
        let tokens = Self { path, known: Mutex::new(known) };
        tokens.read(&mut tokens.lock())?;
        Ok(tokens)
    }

    /// Makes a token, good for 90 days if nobody says otherwise.
    ///
    /// # Errors
    ///
    /// When the name or the time are not as they must be, or it cannot be stored.
    pub fn make(
        &self,
        name: &str,
        role: Role,
        lasts: Option<Duration>,
        now: Timestamp,
    ) -> Result<NewToken, TokenError> {
        self.make_as(&TokenPlan { lasts, ..TokenPlan::new(name, role) }, now)
    }

    /// Makes a token as it is planned, such as one for some flows only.
    ///
    /// # Errors
    ///
    /// As for [`Tokens::make`], and when authors or admins are to know of some flows only.
    pub fn make_as(&self, plan: &TokenPlan<'_>, now: Timestamp) -> Result<NewToken, TokenError> {
        let (name, lasts) = (plan.name, plan.lasts.unwrap_or(LASTS));
        if !plan.reach.is_all() && plan.role > Role::Operator {
            return Err(TokenError::Reach(plan.role));
        }
        if !(Duration::from_secs(60)..=LASTS_MAX).contains(&lasts) {
            return Err(TokenError::Lasts);
        }
        let is_plain = tidewheel_client::text::harmless(name) == name && name.trim() == name;
        if name.is_empty() || name.chars().count() > 64 || !is_plain {
            return Err(TokenError::Name);
        }
        let new = NewToken::make(plan, now, lasts)
            .map_err(|source| failed("made", &self.path, source))?;
        self.change(|tokens| {
            tokens.retain(|token| !token.has_expired(now));
            if tokens.len() >= TOKENS_MAX {
                return Err(TokenError::TooMany);
            }
            tokens.push(new.token.clone());
            Ok(())
        })?;
        Ok(new)
    }

    /// Ends a token at once, by its id or its name if only one has it.
    ///
    /// # Errors
    ///
    /// When there is no such token, or it cannot be stored.
    pub fn revoke(&self, word: &str) -> Result<Token, TokenError> {
        self.change(|tokens| {
            let is_meant = |token: &Token| token.id == word || token.name == word;
            let unknown = || TokenError::Unknown(word.to_owned());
            let mut meant = tokens.iter().enumerate().filter(|(_, token)| is_meant(token));
            match (meant.next(), meant.next()) {
                (Some((at, _)), None) => Ok(tokens.remove(at)),
                _ => Err(unknown()),
            }
        })
    }

    /// All that have not expired, oldest first.
    ///
    /// # Errors
    ///
    /// When the file cannot be read, or is damaged.
    pub fn list(&self, now: Timestamp) -> Result<Vec<Token>, TokenError> {
        let mut known = self.lock();
        self.read(&mut known)?;
        Ok(known.tokens.iter().filter(|token| !token.has_expired(now)).cloned().collect())
    }

    /// Whose token this is; `None` if it is nobody's, or over.
    pub(crate) fn find(&self, secret: &str, now: Timestamp) -> Option<Token> {
        let id = id_of(secret)?;
        let token = self.by_id(id, now).filter(|token| token.is(secret))?;
        self.note_use(&token, now);
        Some(token)
    }

    /// A token that is still good.
    pub(crate) fn by_id(&self, id: &str, now: Timestamp) -> Option<Token> {
        let mut known = self.lock();
        let is_unknown = !known.tokens.iter().any(|token| token.id == id);
        // One that is not known may just have been made.
        if is_unknown || known.looked.is_none_or(|looked| looked.elapsed() >= LOOK) {
            // A file that cannot be read lets nobody in.
            self.read(&mut known).ok()?;
        }
        known.tokens.iter().find(|token| token.id == id && !token.has_expired(now)).cloned()
    }

    fn note_use(&self, token: &Token, now: Timestamp) {
        if token.used_at.is_some_and(|used| now.as_micros() - used < USED_EVERY) {
            return;
        }
        // It is only for people to look at.
        let _ = self.change(|tokens| {
            if let Some(known) = tokens.iter_mut().find(|known| known.id == token.id) {
                known.used_at = Some(now.as_micros());
            }
            Ok(())
        });
    }

    /// Changes the file while nobody else does.
    fn change<T>(
        &self,
        change: impl FnOnce(&mut Vec<Token>) -> Result<T, TokenError>,
    ) -> Result<T, TokenError> {
        let mut known = self.lock();
        let fail = |source| failed("changed", &self.path, source);
        let lock = FileLock::wait(&self.path.with_extension("lock"), PATIENCE)
            .map_err(|error| fail(io::Error::other(error)))?;
        let _lock = lock.map_err(|holder| fail(io::Error::other(format!("{holder} has them"))))?;
        known.seen = None;
        self.read(&mut known)?;
        let mut tokens = known.tokens.clone();
        let changed = change(&mut tokens)?;
        let content = serde_json::to_vec_pretty(&Content { tokens: tokens.clone() });
        let content = content.map_err(|error| fail(error.into()))?;
        private_file(&self.path).map_err(fail)?;
        write_atomically(&self.path, &content).map_err(fail)?;
        known.tokens = tokens;
        known.seen = seen(&self.path);
        Ok(changed)
    }

    fn read(&self, known: &mut Known) -> Result<(), TokenError> {
        known.looked = Some(Instant::now());
        let now = seen(&self.path);
        if now.is_some() && now == known.seen {
            return Ok(());
        }
        known.tokens.clear();
        let text = match fs::read(&self.path) {
            Ok(text) => text,
            Err(error) if error.kind() == io::ErrorKind::NotFound => {
                known.seen = None;
                return Ok(());
            }
            Err(source) => return Err(failed("read", &self.path, source)),
        };
        // An empty one was just made by whoever is about to write.
        let content = match text.is_empty() {
            true => Ok(Content::default()),
            false => serde_json::from_slice::<Content>(&text),
        };
        let content = content.map_err(|error| TokenError::Damaged {
            path: self.path.clone(),
            why: error.to_string(),
        })?;
        known.tokens = content.tokens;
        known.seen = now;
        Ok(())
    }

    fn lock(&self) -> MutexGuard<'_, Known> {
        self.known.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

fn failed(doing: &'static str, path: &Path, source: io::Error) -> TokenError {
    TokenError::Io { doing, path: path.to_owned(), source }
}

fn seen(path: &Path) -> Option<(SystemTime, u64)> {
    let file = fs::metadata(path).ok()?;
    Some((file.modified().ok()?, file.len()))
}

/// Makes a folder for its owner alone, unless it is there.
pub(crate) fn make_private(folder: &Path) -> io::Result<()> {
    let mut builder = fs::DirBuilder::new();
    builder.recursive(true);
    #[cfg(unix)]
    std::os::unix::fs::DirBuilderExt::mode(&mut builder, 0o700);
    builder.create(folder)
}

/// Opens a file for its owner alone, to be read and added to; makes it if it is not there.
pub(crate) fn private_file(path: &Path) -> io::Result<File> {
    let mut options = OpenOptions::new();
    options.read(true).append(true).create(true);
    #[cfg(unix)]
    std::os::unix::fs::OpenOptionsExt::mode(&mut options, 0o600);
    let file = options.open(path)?;
    #[cfg(unix)]
    {
        use std::os::unix::fs::PermissionsExt as _;
        file.set_permissions(fs::Permissions::from_mode(0o600))?;
    }
    Ok(file)
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used, reason = "a test")]

    use tidewheel_testing::temp_folder;

    use super::*;

    const NOW: Timestamp = Timestamp::from_micros(1_800_000_000_000_000);

    #[test]
    fn a_token_is_found_until_it_ends_and_only_its_fingerprint_is_stored() {
        let temp = temp_folder("tokens-ends");
        let folder = temp.path().join("server");
        let tokens = Tokens::open(&folder).unwrap();
        let new = tokens.make("laptop", Role::Viewer, None, NOW).unwrap();
        assert!(new.secret().starts_with("tidewheel_"));
        assert_eq!(tokens.find(new.secret(), NOW).unwrap().name, "laptop");
        let text = fs::read_to_string(folder.join("tokens.json")).unwrap();
        let random = new.secret().rsplit('_').next().unwrap();
        assert!(!text.contains(random), "{text}");
        assert!(!format!("{new:?}").contains(random));
        let last = NOW.after(LASTS - Duration::from_secs(1));
        assert!(tokens.find(new.secret(), last).is_some());
        assert!(tokens.find(new.secret(), NOW.after(LASTS)).is_none());
        #[cfg(unix)]
        {
            use std::os::unix::fs::PermissionsExt as _;
            let mode = fs::metadata(folder.join("tokens.json")).unwrap().permissions().mode();
            assert_eq!(mode & 0o777, 0o600);
        }
    }

    #[test]
    fn what_is_nearly_a_token_is_none() {
        let temp = temp_folder("tokens-nearly");
        let folder = temp.path().join("server");
        let tokens = Tokens::open(&folder).unwrap();
        let new = tokens.make("laptop", Role::Admin, None, NOW).unwrap();
        let good = new.secret();
        let last = if good.ends_with('0') { '1' } else { '0' };
        let changed = format!("{}{last}", &good[..good.len() - 1]);
        let other = tokens.make("other", Role::Viewer, None, NOW).unwrap();
        let mixed = format!("{}{}", &good[..19], &other.secret()[19..]);
        let wrong = [
            "",
            "tidewheel_",
            "x",
            &good[1..],
            &good[..good.len() - 1],
            &good.to_uppercase(),
            &format!("{good} "),
            &format!("{good}0"),
            &changed,
            &mixed,
        ]
        .map(str::to_owned);
        for wrong in wrong {
            assert!(tokens.find(&wrong, NOW).is_none(), "{wrong}");
        }
    }

    #[test]
    fn what_another_process_revokes_is_over() {
        let temp = temp_folder("tokens-revokes");
        let folder = temp.path().join("server");
        let (here, there) = (Tokens::open(&folder).unwrap(), Tokens::open(&folder).unwrap());
        let new = here.make("laptop", Role::Viewer, None, NOW).unwrap();
        assert!(there.find(new.secret(), NOW).is_some(), "it is known at once");
        assert_eq!(there.list(NOW).unwrap().len(), 1);
        assert!(matches!(there.revoke("nobody"), Err(TokenError::Unknown(_))));
        here.revoke("laptop").unwrap();
        there.lock().looked = None;
        assert!(there.find(new.secret(), NOW).is_none());
    }

    #[test]
    fn a_damaged_file_lets_nobody_in() {
        let temp = temp_folder("tokens-damaged");
        let folder = temp.path().join("server");
        let tokens = Tokens::open(&folder).unwrap();
        let new = tokens.make("laptop", Role::Viewer, None, NOW).unwrap();
        let path = folder.join("tokens.json");
        let text = fs::read_to_string(&path).unwrap();
        fs::write(&path, text.replace("\"viewer\"", "\"root\"")).unwrap();
        tokens.lock().looked = None;
        assert!(tokens.find(new.secret(), NOW).is_none());
        assert!(matches!(Tokens::open(&folder), Err(TokenError::Damaged { .. })));
    }

    #[test]
    fn names_and_times_are_checked() {
        let temp = temp_folder("tokens-checked");
        let folder = temp.path().join("server");
        let tokens = Tokens::open(&folder).unwrap();
        for name in ["", " a", "a\nb", "\u{202e}a", &"a".repeat(65)] {
            let made = tokens.make(name, Role::Viewer, None, NOW);
            assert!(matches!(made, Err(TokenError::Name)), "{name:?}");
        }
        for lasts in [Duration::ZERO, Duration::MAX] {
            let made = tokens.make("a", Role::Viewer, Some(lasts), NOW);
            assert!(matches!(made, Err(TokenError::Lasts)), "{lasts:?}");
        }
    }
}
