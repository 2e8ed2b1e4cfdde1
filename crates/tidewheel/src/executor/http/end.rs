//! [`HttpEnd`]: what an attempt that succeeded brought back.
//!
//! What one that failed brings back is in [`super::failure`].

use std::fmt;
use std::time::Duration;

use serde_json::Value;

use crate::attempt::Attempt;
use crate::store::AttemptRecord;

/// A request that was answered with a status that counts as success.
#[derive(Debug, Clone, PartialEq)]
#[non_exhaustive]
pub struct HttpEnd {
    /// The status.
    pub status: u16,
    /// The headers in the order of the answer, names in lower case.
    pub headers: Vec<(String, String)>,
    /// The body, by its content type.
    pub data: Data,
    /// How it came about.
    pub meta: HttpMeta,
}

impl HttpEnd {
    /// An answer without headers, for whoever sends requests in another way than
    /// [`HttpClient`](super::HttpClient).
    #[must_use]
    pub fn new(status: u16, data: Data) -> Self {
        let meta = HttpMeta {
            url: String::new(),
            redirects: 0,
            elapsed: Duration::ZERO,
            bytes: 0,
            warnings: Vec::new(),
        };
        Self { status, headers: Vec::new(), data, meta }
    }

    /// What a store keeps of it.
    #[must_use]
    pub fn record(&self, attempt: &Attempt) -> AttemptRecord {
        AttemptRecord {
            task: attempt.id(),
            attempt: attempt.number(),
            code: Some(i32::from(self.status)),
            warnings: self.meta.warnings.iter().map(|it| it.in_words()).collect(),
            ..AttemptRecord::default()
        }
    }

    /// The first header of this name, in any case.
    #[must_use]
    pub fn header(&self, name: &str) -> Option<&str> {
        let mut headers = self.headers.iter();
        headers.find(|(own, _)| own.eq_ignore_ascii_case(name)).map(|(_, value)| value.as_str())
    }
}

/// A body, by its content type.
#[derive(Debug, Clone, PartialEq)]
pub enum Data {
    /// There is none.
    Empty,
    /// JSON, and said to be.
    Json(Value),
    /// Text, in whatever letters it was sent.
    Text(String),
    /// Anything else.
    Bytes(Vec<u8>),
}

/// How an answer came about.
#[derive(Debug, Clone, PartialEq, Eq)]
#[non_exhaustive]
pub struct HttpMeta {
    /// The URL that answered, without user and password.
    pub url: String,
    /// Redirects followed to it.
    pub redirects: u32,
    /// From the start of the attempt to the last byte.
    pub elapsed: Duration,
    /// The size of the body after inflating.
    pub bytes: u64,
    /// What people should know.
    pub warnings: Vec<Warning>,
}

/// What people should know about an answer, although it counts.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[non_exhaustive]
pub enum Warning {
    /// The certificate was not to be verified: the answer may be anybody's.
    TlsUnverified,
    /// The body is said to be JSON and is not; it is text.
    InvalidJson,
    /// The body is packed in a way that was not asked for; it is bytes.
    UnknownEncoding,
    /// The body is written in letters that are not known here; it is bytes.
    UnknownCharset,
}

impl Warning {
    /// The name in records.
    #[must_use]
    pub fn as_str(self) -> &'static str {
        match self {
            Self::TlsUnverified => "tls-unverified",
            Self::InvalidJson => "invalid-json",
            Self::UnknownEncoding => "unknown-encoding",
            Self::UnknownCharset => "unknown-charset",
        }
    }

    /// What it means, for people who did not ask for it, after its name.
    #[must_use]
    pub fn in_words(self) -> String {
        let words = match self {
            Self::TlsUnverified => {
                "nobody looked at the certificate, so the answer may be anybody's"
            }
            Self::InvalidJson => "the answer is said to be JSON and is not; it was taken as text",
            Self::UnknownEncoding => {
                "the answer is packed in an unknown way; it was taken as bytes"
            }
            Self::UnknownCharset => {
                "the answer is written in letters that are not known; it was taken as bytes"
            }
        };
        format!("{self}: {words}")
    }
}

impl fmt::Display for Warning {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.as_str())
    }
}

/// How a body is packed.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Encoding {
    Plain,
    Gzip,
    Unknown,
}

impl Encoding {
    pub(super) fn of(header: Option<&str>) -> Self {
        match header.map(|value| value.trim().to_ascii_lowercase()).as_deref() {
            None | Some("" | "identity") => Self::Plain,
            Some("gzip" | "x-gzip") => Self::Gzip,
            Some(_) => Self::Unknown,
        }
    }
}

/// Reads a body by its content type.
pub(super) fn read_data(
    content_type: Option<&str>,
    encoding: Encoding,
    bytes: Vec<u8>,
) -> (Data, Option<Warning>) {
    if bytes.is_empty() {
        return (Data::Empty, None);
    }
    if encoding == Encoding::Unknown {
        return (Data::Bytes(bytes), Some(Warning::UnknownEncoding));
    }
    let content_type = ContentType::of(content_type.unwrap_or_default());
    let warning = content_type.is_json.then_some(Warning::InvalidJson);
    let text = match content_type.read(&bytes) {
        Ok(Some(text)) => text,
        Ok(None) => return (Data::Bytes(bytes), warning),
        Err(unknown) => return (Data::Bytes(bytes), Some(unknown)),
    };
    if content_type.is_json
        && let Ok(value) = serde_json::from_str(&text)
    {
        return (Data::Json(value), None);
    }
    (Data::Text(text), warning)
}

struct ContentType {
    is_json: bool,
    charset: Option<String>,
}

impl ContentType {
    fn of(header: &str) -> Self {
        let mut parts = header.split(';');
        let essence = parts.next().unwrap_or_default().trim().to_ascii_lowercase();
        let charset = parts.find_map(|parameter| {
            let (name, value) = parameter.split_once('=')?;
            let value = value.trim().trim_matches('"').to_ascii_lowercase();
            name.trim().eq_ignore_ascii_case("charset").then_some(value)
        });
        let is_json = essence == "application/json"
            || essence == "text/json"
            || (essence.contains('/') && essence.ends_with("+json"));
        Self { is_json, charset }
    }

    /// The text, in the letters that the sender says, or else UTF-8; a mark at its start says more than
    /// the sender. `None` if it is not written in them.
    fn read(&self, bytes: &[u8]) -> Result<Option<String>, Warning> {
        let letters = match &self.charset {
            None => encoding_rs::UTF_8,
            Some(charset) => match encoding_rs::Encoding::for_label(charset.as_bytes()) {
                Some(letters) => letters,
                // Nearly all that there are begin with these.
                None if bytes.is_ascii() => encoding_rs::UTF_8,
                None => return Err(Warning::UnknownCharset),
            },
        };
        let (text, _, is_broken) = letters.decode(bytes);
        Ok((!is_broken).then(|| text.into_owned()))
    }
}
