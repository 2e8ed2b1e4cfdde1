//! What is in a file that was packed: names of its files, and the text of some of them.
//!
//! Nothing is unpacked to disk.

use std::fs::File;
use std::io::Read as _;
use std::path::Path;

use flate2::read::GzDecoder;

/// Bytes of a text in an archive.
const TEXT_MAX: u64 = 8 << 20;
/// Names of files that nobody wants to publish: keys and tokens.
const SECRET_NAMES: [&str; 9] = [
    ".env",
    ".npmrc",
    ".pypirc",
    ".netrc",
    "id_rsa",
    "id_ed25519",
    "id_ecdsa",
    "credentials.toml",
    ".git-credentials",
];

/// Names of files and folders that tools and editors leave behind: nobody needs them who uses a package.
const LEFT_NAMES: [&str; 14] = [
    ".DS_Store",
    "Thumbs.db",
    "__pycache__",
    "node_modules",
    ".git",
    ".hg",
    ".svn",
    ".idea",
    ".vscode",
    ".venv",
    ".tox",
    ".mypy_cache",
    ".pytest_cache",
    ".ruff_cache",
];
/// How names of such files end, and those of packages in packages, and of keys.
const LEFT_ENDS: [&str; 19] = [
    "~", ".swp", ".swo", ".orig", ".rej", ".bak", ".tmp", ".log", ".pyc", ".profraw", ".crate",
    ".tgz", ".whl", ".pem", ".key", ".p12", ".pfx", ".jks", ".kdbx",
];

/// A file inside of one that was packed.
#[derive(Debug, Clone, PartialEq, Eq, serde::Serialize, serde::Deserialize)]
pub struct InnerFile {
    /// Its name, with its folders.
    pub name: String,
    /// How many bytes it has when it is unpacked.
    pub bytes: u64,
}

impl InnerFile {
    /// Whether it looks like what was left in a folder, and not like what is meant to be published.
    pub(super) fn is_odd(&self) -> bool {
        // Cargo leaves the manifest as it was written beside its own.
        if self.name == "Cargo.toml.orig" {
            return false;
        }
        let mut parts = self.name.split('/');
        let is_left = parts.any(|part| LEFT_NAMES.contains(&part));
        is_left || LEFT_ENDS.iter().any(|end| self.name.ends_with(end))
    }
}

/// What is in an archive.
#[derive(Debug, Default)]
pub(super) struct Contents {
    /// All files, without the folder that all of them are in.
    pub files: Vec<InnerFile>,
    /// The texts that were asked for, by name.
    pub texts: Vec<(String, String)>,
}

impl Contents {
    pub fn text(&self, name: &str) -> Option<&str> {
        self.texts.iter().find(|(own, _)| own == name).map(|(_, text)| text.as_str())
    }

    /// Files that look as if nobody had meant to publish them.
    pub fn secrets(&self) -> Vec<&str> {
        let base = |name: &str| name.rsplit('/').next().unwrap_or_default().to_owned();
        let names = self.files.iter().map(|file| file.name.as_str());
        names.filter(|name| SECRET_NAMES.contains(&base(name).as_str())).collect()
    }
}

/// Reads an archive of one folder, packed with gzip.
pub(super) fn read(path: &Path, wanted: impl Fn(&str) -> bool) -> Result<Contents, String> {
    let failed = |error: std::io::Error| format!("{} cannot be read: {error}", path.display());
    let mut archive = tar::Archive::new(GzDecoder::new(File::open(path).map_err(failed)?));
    let mut contents = Contents::default();
    for entry in archive.entries().map_err(failed)? {
        let mut entry = entry.map_err(failed)?;
        let whole = entry.path().map_err(failed)?.to_string_lossy().into_owned();
        let name = whole.split_once('/').map_or("", |(_, name)| name).to_owned();
        if !entry.header().entry_type().is_file() || name.is_empty() {
            continue;
        }
        if wanted(&name) {
            let mut text = String::new();
            if (&mut entry).take(TEXT_MAX).read_to_string(&mut text).is_ok() {
                contents.texts.push((name.clone(), text));
            }
        }
        contents.files.push(InnerFile { name, bytes: entry.size() });
    }
    Ok(contents)
}

/// What is in a file that was packed, in any of its forms.
pub(super) fn list(path: &Path) -> Result<Vec<InnerFile>, String> {
    let is_wheel = path.extension().is_some_and(|it| it == "whl");
    let read = if is_wheel { read_zip(path, |_| false) } else { read(path, |_| false) };
    read.map(|contents| contents.files)
}

/// Reads a wheel: an archive of the zip kind, by the list at its end.
pub(super) fn read_zip(path: &Path, wanted: impl Fn(&str) -> bool) -> Result<Contents, String> {
    let bytes = std::fs::read(path).map_err(|error| format!("{}: {error}", path.display()))?;
    entries(&bytes, wanted).ok_or_else(|| format!("{} is no wheel", path.display()))
}

/// The signatures of what follows: the end of the list, and one of its lines.
const LIST_END: &[u8] = b"PK\x05\x06";
const LIST_LINE: &[u8] = b"PK\x01\x02";

fn entries(bytes: &[u8], wanted: impl Fn(&str) -> bool) -> Option<Contents> {
    let end = bytes.windows(4).rposition(|four| four == LIST_END)?;
    let mut at = number(bytes, end + 16, 4)?;
    let mut contents = Contents::default();
    for _ in 0..number(bytes, end + 10, 2)? {
        if bytes.get(at..at + 4)? != LIST_LINE {
            return None;
        }
        let (method, packed) = (number(bytes, at + 10, 2)?, number(bytes, at + 20, 4)?);
        let unpacked = number(bytes, at + 24, 4)?;
        let lengths = [28, 30, 32].map(|place| number(bytes, at + place, 2));
        let [name, extra, comment] = [lengths[0]?, lengths[1]?, lengths[2]?];
        let local = number(bytes, at + 42, 4)?;
        let written = String::from_utf8_lossy(bytes.get(at + 46..at + 46 + name)?).into_owned();
        at += 46 + name + extra + comment;
        if written.ends_with('/') {
            continue;
        }
        if wanted(&written) {
            let start = local + 30 + number(bytes, local + 26, 2)? + number(bytes, local + 28, 2)?;
            let text = inflated(method, bytes.get(start..start + packed)?)?;
            contents.texts.push((written.clone(), text));
        }
        contents.files.push(InnerFile { name: written, bytes: unpacked as u64 });
    }
    Some(contents)
}

fn number(bytes: &[u8], at: usize, width: usize) -> Option<usize> {
    let little = bytes.get(at..at + width)?;
    Some(little.iter().rev().fold(0, |number, byte| number << 8 | usize::from(*byte)))
}

fn inflated(method: usize, packed: &[u8]) -> Option<String> {
    let mut text = String::new();
    match method {
        0 => text.push_str(std::str::from_utf8(packed).ok()?),
        8 => {
            let inflate = flate2::read::DeflateDecoder::new(packed);
            inflate.take(TEXT_MAX).read_to_string(&mut text).ok()?;
        }
        _ => return None,
    }
    Some(text)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn files(names: &[&str]) -> Vec<InnerFile> {
        names.iter().map(|name| InnerFile { name: (*name).to_owned(), bytes: 1 }).collect()
    }

    #[test]
    fn what_was_left_in_a_folder_is_odd_and_what_is_meant_is_not() {
        let odd =
            ["a/.DS_Store", "src/lib.rs.orig", "x/__pycache__/m.pyc", "old-1.0.0.crate", "k.pem"];
        assert!(files(&odd).iter().all(InnerFile::is_odd));
        let meant =
            ["src/lib.rs", "login.js", ".gitignore", "keys.rs", "src/tmp.rs", "Cargo.toml.orig"];
        assert!(!files(&meant).iter().any(InnerFile::is_odd));
    }

    #[test]
    fn keys_and_tokens_are_known_by_their_names() {
        let files = files(&["t/.env", "env", "a/id_rsa"]);
        assert_eq!(Contents { files, texts: Vec::new() }.secrets(), ["t/.env", "a/id_rsa"]);
    }
}
