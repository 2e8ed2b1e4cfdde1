//! [`Client`]: the connections to registries, and what they are asked and sent over them.
//!
//! How each of them wants to be spoken to is in the files beside.

use std::collections::BTreeMap;
use std::sync::{Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use serde_json::Value as Json;
use tidewheel::RunId;
use tidewheel::executor::http::{
    AttemptId, Data, HttpBuildError, HttpClient, HttpEnd, HttpRequest, IdempotencyScope, Proxies,
};
use tidewheel::id::TaskId;

use super::trouble::{Trouble, told};
use super::{cargo, npm, python};
use crate::package::{Ecosystem, PackageId};
use crate::registry::{Listed, Listing, Unreadable};
use crate::settings::{Credentials, Identities, Secret, Surroundings, Target};

/// Requests under way at once, to all registries together.
const CONNECTIONS_MAX: usize = 10;
/// The longest silence of a registry. While it takes a file in, it may have much to do.
const SILENCE_MAX: Duration = Duration::from_secs(120);
/// The same of one that is only asked for something, and how long it may take to say it: whoever plans waits for it.
const LOOK_SILENCE_MAX: Duration = Duration::from_secs(30);
const LOOK_MAX: Duration = Duration::from_secs(120);
/// Bytes of an answer. What npm knows of an old package is long.
const BODY_MAX: u64 = 128 << 20;

/// The connections to registries. Everything that is asked and sent goes over the same few of them.
#[derive(Debug)]
pub struct Client {
    http: HttpClient,
    /// Where the API of a registry of crates is, by its index.
    pub(super) apis: Mutex<BTreeMap<String, cargo::Api>>,
    /// A one-time code, for registries that want one with each upload.
    code: Mutex<Option<Secret>>,
    /// How the pipeline says what it is, if it is one.
    pub(super) identity: Identities,
    /// What registries have given for that, by index and package.
    pub(super) trusted: Mutex<BTreeMap<(String, Option<String>), Credentials>>,
}

/// What a registry itself says that it has of a version, whatever those see who resolve.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Said {
    /// It has it, with these contents.
    Has(Listed),
    /// It has it not.
    HasNot,
    /// It says nothing of the kind.
    Nothing,
}

/// Whose leave it is that settings have, as its registry says.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Who {
    /// Somebody's, by this name.
    Known(String),
    /// Nobody's: it is not good, in the registry's words.
    Nobody(String),
    /// It does not say.
    Unsaid,
}

/// A file that is sent to a registry.
#[derive(Debug)]
pub struct Parcel<'a> {
    /// The package.
    pub id: &'a PackageId,
    /// Its version.
    pub version: &'a str,
    /// The name of the file.
    pub file: &'a str,
    /// What is in it.
    pub bytes: Vec<u8>,
    /// What its registry is told of it, in its own form.
    pub metadata: &'a Json,
    /// A signed statement about where it was built, in the form of its registry.
    pub statement: Option<Json>,
    /// It gets the holding tag instead of its own (npm).
    pub is_held: bool,
}

impl Client {
    /// Connections as the variables for proxies want them.
    ///
    /// # Errors
    ///
    /// When a proxy makes no sense.
    pub fn new(around: &Surroundings) -> Result<Self, HttpBuildError> {
        let proxies = Proxies::of_variables(|name| around.variable(name).map(str::to_owned));
        let http = HttpClient::builder()
            .connections_max(CONNECTIONS_MAX)
            .read_timeout(SILENCE_MAX)
            .body_max(BODY_MAX)
            .proxies(proxies)
            .build()?;
        Ok(Self {
            http,
            apis: Mutex::default(),
            code: Mutex::new(around.code()),
            identity: Identities::of_variables(around),
            trusted: Mutex::default(),
        })
    }

    /// What a registry lists of a package, where those look who resolve it.
    ///
    /// # Errors
    ///
    /// When it cannot be asked, or does not answer sensibly.
    pub async fn listing(&self, target: &Target, id: &PackageId) -> Result<Listing, Trouble> {
        match id.ecosystem() {
            Ecosystem::Cargo => cargo::listing(self, target, id.name()).await,
            Ecosystem::Npm => npm::listing(self, target, id.name()).await,
            Ecosystem::Python => python::listing(self, target, id.name()).await,
        }
    }

    /// All that a registry of npm says of a package, as it says it; nothing if it has never seen it.
    ///
    /// # Errors
    ///
    /// When it cannot be asked.
    pub(crate) async fn npm_document(
        &self,
        target: &Target,
        name: &str,
    ) -> Result<Option<String>, Trouble> {
        npm::document_of(self, target, name).await
    }

    /// What a registry itself says of a version: an index may be late, and then only this tells what was taken from what
    /// was lost.
    ///
    /// # Errors
    ///
    /// When it cannot be asked now, and might be later.
    pub async fn said(
        &self,
        target: &Target,
        id: &PackageId,
        version: &str,
    ) -> Result<Said, Trouble> {
        let said = match id.ecosystem() {
            Ecosystem::Cargo => cargo::said(self, target, id.name(), version).await,
            Ecosystem::Npm => npm::said(self, target, id.name(), version).await,
            Ecosystem::Python => Ok(Said::Nothing),
        };
        match said {
            // Not every registry can be asked this.
            Err(Trouble::Refused { .. } | Trouble::NotAllowed { .. }) => Ok(Said::Nothing),
            said => said,
        }
    }

    /// Whose leave a registry of npm takes it for; the others cannot be asked.
    pub async fn who(&self, target: &Target) -> Who {
        npm::who(self, target).await
    }

    /// Whether somebody may write a package of npm that is out; nothing if its registry does not say.
    pub async fn may_write(&self, target: &Target, id: &PackageId, user: &str) -> Option<bool> {
        npm::may_write(self, target, id.name(), user).await
    }

    /// Sends a file. That it was taken is no proof that it is out, nor the other way round.
    ///
    /// # Errors
    ///
    /// When it cannot be sent, or is refused.
    pub async fn upload(&self, target: &Target, parcel: Parcel<'_>) -> Result<(), Trouble> {
        match parcel.id.ecosystem() {
            Ecosystem::Cargo => cargo::upload(self, target, &parcel).await,
            Ecosystem::Npm => npm::upload(self, target, &parcel).await,
            Ecosystem::Python => python::upload(self, target, &parcel).await,
        }
    }

    /// Takes a version back: it stays where it is, and is not chosen any more. Registries without this take a word of
    /// warning instead, or nothing.
    ///
    /// # Errors
    ///
    /// When the registry cannot be asked for it, or refuses.
    pub async fn take_back(
        &self,
        target: &Target,
        id: &PackageId,
        version: &str,
        reason: &str,
    ) -> Result<(), Trouble> {
        match id.ecosystem() {
            Ecosystem::Cargo => cargo::yank(self, target, id.name(), version).await,
            Ecosystem::Npm => npm::deprecate(self, target, id.name(), version, reason).await,
            Ecosystem::Python => Err(Trouble::Refused {
                what: "its registry can only be asked for it on its pages".to_owned(),
            }),
        }
    }

    /// Gives a version of npm that has the holding tag its own one instead; one that has it not is left as it is.
    ///
    /// # Errors
    ///
    /// When the registry cannot be asked for it, or refuses.
    pub async fn move_tag(
        &self,
        target: &Target,
        id: &PackageId,
        version: &str,
        tag: &str,
    ) -> Result<(), Trouble> {
        npm::move_tag(self, target, id.name(), version, tag).await
    }

    /// Sends one request, once. Looking before whatever comes next makes all of them safe to repeat.
    pub(super) async fn send(&self, request: HttpRequest) -> Result<HttpEnd, Trouble> {
        // Nobody looks at it: no header is made of it.
        let nobody = AttemptId { task: TaskId { run: RunId::default(), index: 0 }, number: 1 };
        let request = request.idempotency(IdempotencyScope::None).repeatable(true);
        Ok(self.http.run(nobody, &request).await?)
    }

    /// The same with a one-time code, if there is one. A registry that wants another one says so in a header.
    pub(super) async fn send_with_code(&self, request: HttpRequest) -> Result<HttpEnd, Trouble> {
        let code = self.code().clone();
        let request = match &code {
            Some(code) => request.secret_header("npm-otp", code.reveal()),
            None => request,
        };
        let end = self.send(request.accept_status(200..=299).accept_status(401..=401)).await?;
        if end.status != 401 {
            return Ok(end);
        }
        let asks = |(name, value): &(String, String)| {
            name == "www-authenticate" && value.to_ascii_lowercase().contains("otp")
        };
        let (wants_code, said) = (end.headers.iter().any(asks), told(&text(end.data)));
        let what = format!("the registry answers 401: {said}");
        // One that was good once is good no more; somebody may have said another one meanwhile.
        if wants_code && *self.code() == code {
            *self.code() = None;
        }
        Err(match wants_code {
            true => Trouble::CodeWanted { what },
            false => Trouble::NotAllowed { what },
        })
    }

    /// A one-time code that somebody has said: it goes with what is sent from now on, while it is taken.
    pub fn use_code(&self, code: Secret) {
        *self.code() = Some(code);
    }

    /// Whether there is a one-time code that was not refused yet.
    #[must_use]
    pub fn has_code(&self) -> bool {
        self.code().is_some()
    }

    fn code(&self) -> MutexGuard<'_, Option<Secret>> {
        self.code.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Asks for a text; `None` if there is none.
    pub(super) async fn ask(&self, request: HttpRequest) -> Result<Option<String>, Trouble> {
        // What is kept between us and the registry is not what those see who resolve now.
        let request = request.header("Cache-Control", "no-cache");
        let request = request.read_timeout(LOOK_SILENCE_MAX).total_timeout(LOOK_MAX);
        let request =
            request.accept_status(200..=299).accept_status(404..=404).accept_status(410..=410);
        let end = self.send(request).await?;
        Ok((end.status < 400).then(|| text(end.data)))
    }

    /// Asks for what is listed of a package, and reads it; one that the registry has never seen has nothing.
    pub(super) async fn listed(
        &self,
        request: HttpRequest,
        name: &str,
        read: fn(&str, &str) -> Result<Listing, Unreadable>,
    ) -> Result<Listing, Trouble> {
        match self.ask(request).await? {
            Some(text) => Ok(read(name, &text)?),
            None => Ok(Listing::default()),
        }
    }

    pub(super) fn api(&self, index: &str) -> Option<cargo::Api> {
        self.apis.lock().unwrap_or_else(PoisonError::into_inner).get(index).cloned()
    }
}

/// A request with the leave of whoever makes it, and no redirect: a registry that has moved is another one.
pub(super) fn with_leave(request: HttpRequest, target: &Target) -> HttpRequest {
    let header = match &target.credentials {
        // Those who only look need none of what is given for an upload.
        None | Some(Credentials::Trusted) => return request,
        Some(Credentials::Token(token)) => token.reveal().to_owned(),
        Some(Credentials::Bearer(token)) => format!("Bearer {}", token.reveal()),
        Some(Credentials::Basic { user, password }) => {
            format!("Basic {}", STANDARD.encode(format!("{user}:{}", password.reveal())))
        }
    };
    request.secret_header("Authorization", header)
}

pub(super) fn text(data: Data) -> String {
    match data {
        Data::Empty => String::new(),
        Data::Json(json) => json.to_string(),
        Data::Text(text) => text,
        Data::Bytes(bytes) => String::from_utf8_lossy(&bytes).into_owned(),
    }
}
