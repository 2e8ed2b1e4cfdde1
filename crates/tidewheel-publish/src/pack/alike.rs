//! [`is_alike`]: whether two crates have the same contents, be they packed of one commit or of two.
//!
//! Cargo writes into a crate which commit it is of, and which versions of others were known then: neither is what its users
//! build with. Where the other crate comes from is not known here.

use std::collections::BTreeMap;
use std::io::{self, Read as _};

use flate2::read::GzDecoder;
use sha2::{Digest as _, Sha256};

use super::set::hex;

/// Files that say when a crate was packed, not what it is.
const OF_ITS_TIME: [&str; 2] = [".cargo_vcs_info.json", "Cargo.lock"];
/// Bytes of a crate when it is unpacked. What has more is not looked at.
const UNPACKED_MAX: u64 = 1 << 30;

/// Whether two crates have the same files, but for what says when they were packed.
pub(crate) fn is_alike(ours: &[u8], theirs: &[u8]) -> bool {
    let (ours, theirs) = (contents(ours), contents(theirs));
    ours.is_ok_and(|ours| theirs.is_ok_and(|theirs| ours == theirs))
}

/// The files of a crate, each with whether it may be executed and a digest.
fn contents(packed: &[u8]) -> io::Result<BTreeMap<String, (bool, String)>> {
    let odd = || io::Error::other("cargo packs nothing of the kind");
    let mut archive = tar::Archive::new(GzDecoder::new(packed).take(UNPACKED_MAX));
    let mut files = BTreeMap::new();
    for entry in archive.entries()? {
        let mut entry = entry?;
        let whole = entry.path()?.to_string_lossy().into_owned();
        let (_, name) = whole.split_once('/').ok_or_else(odd)?;
        if OF_ITS_TIME.contains(&name) {
            continue;
        }
        let is_program = entry.header().mode()? & 0o111 != 0;
        let is_file = entry.header().entry_type().is_file();
        let mut content = Vec::new();
        entry.read_to_end(&mut content)?;
        let known = files.insert(name.to_owned(), (is_program, hex(&Sha256::digest(content))));
        if !is_file || known.is_some() {
            return Err(odd());
        }
    }
    Ok(files)
}

#[cfg(test)]
mod tests {
    use flate2::Compression;
    use flate2::write::GzEncoder;

    use super::*;

    fn packed(files: &[(&str, &str)]) -> Vec<u8> {
        let mut archive = tar::Builder::new(GzEncoder::new(Vec::new(), Compression::fast()));
        for (name, text) in files {
            let mut header = tar::Header::new_gnu();
            header.set_size(text.len() as u64);
            header.set_mode(0o644);
            header.set_cksum();
            archive.append_data(&mut header, format!("a-1.0.0/{name}"), text.as_bytes()).unwrap();
        }
        archive.into_inner().unwrap().finish().unwrap()
    }

    #[test]
    fn what_says_when_a_crate_was_packed_makes_no_other_one_and_everything_else_does() {
        let ours = packed(&[("src/lib.rs", "// a"), (".cargo_vcs_info.json", "1")]);
        for files in [
            &[(".cargo_vcs_info.json", "2"), ("src/lib.rs", "// a")][..],
            &[("src/lib.rs", "// a"), ("Cargo.lock", "")],
            &[("src/lib.rs", "// a")],
        ] {
            assert!(is_alike(&ours, &packed(files)), "{files:?}");
        }
        for files in [
            &[("src/lib.rs", "// b")][..],
            &[("src/lib.rs", "// a"), ("more", "")],
            &[("src/main.rs", "// a")],
            &[("src/Cargo.lock", ""), ("src/lib.rs", "// a")],
            &[("src/lib.rs", "// a"), ("src/lib.rs", "// a")],
            &[],
        ] {
            assert!(!is_alike(&ours, &packed(files)), "{files:?}");
        }
        assert!(!is_alike(b"no crate", b"no crate"));
        assert!(!is_alike(&ours, &ours[..ours.len() / 2]));
    }
}
