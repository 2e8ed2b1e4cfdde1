//! [`Certificate`]: what a server is known by over TLS, and its key, read again when somebody says so.
//!
//! Where it listens is in [`crate::serve`]; who asks is found out behind it, as without TLS.

use std::fmt;
use std::io::{self, Read as _};
use std::path::{Path, PathBuf};
use std::sync::{Arc, PoisonError, RwLock};

use rustls::ServerConfig;
use rustls::crypto::ring;
use rustls::pki_types::pem::PemObject as _;
use rustls::pki_types::{CertificateDer, PrivateKeyDer};
use tokio_rustls::TlsAcceptor;

/// More than any chain of certificates has.
const BYTES_MAX: u64 = 1 << 20;

/// A chain of certificates and the key of the first, in files in PEM. Connections that are there keep the one they began with.
pub struct Certificate {
    chain: PathBuf,
    key: PathBuf,
    in_force: RwLock<Arc<ServerConfig>>,
}

/// Why there is no TLS.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum CertificateError {
    /// A file cannot be read.
    #[error("{} cannot be read", path.display())]
    NotRead {
        /// The file.
        path: PathBuf,
        /// Why not.
        #[source]
        error: io::Error,
    },
    /// There is no certificate in the file.
    #[error("{} has no certificate in PEM (BEGIN CERTIFICATE)", path.display())]
    NoCertificate {
        /// The file.
        path: PathBuf,
    },
    /// There is no key in the file.
    #[error("{} has no private key in PEM that is not encrypted (BEGIN PRIVATE KEY)", path.display())]
    NoKey {
        /// The file.
        path: PathBuf,
    },
    /// They do not go together, or are not understood.
    #[error("{} and {} cannot be used together", chain.display(), key.display())]
    Unfit {
        /// The file with the certificates.
        chain: PathBuf,
        /// The file with the key.
        key: PathBuf,
        /// What is wrong.
        #[source]
        error: rustls::Error,
    },
}

impl Certificate {
    /// Reads the certificates, the server's own first, and its key.
    ///
    /// # Errors
    ///
    /// When the files cannot be read, or do not go together.
    pub fn read(chain: &Path, key: &Path) -> Result<Self, CertificateError> {
        let in_force = RwLock::new(Arc::new(config(chain, key)?));
        Ok(Self { chain: chain.to_owned(), key: key.to_owned(), in_force })
    }

    /// Reads them again, for connections from now on.
    ///
    /// # Errors
    ///
    /// As [`Certificate::read`]; then what was read before stays in force.
    pub fn reload(&self) -> Result<(), CertificateError> {
        let config = Arc::new(config(&self.chain, &self.key)?);
        *self.in_force.write().unwrap_or_else(PoisonError::into_inner) = config;
        Ok(())
    }

    /// What greets whoever connects now.
    pub(crate) fn acceptor(&self) -> TlsAcceptor {
        Arc::clone(&self.in_force.read().unwrap_or_else(PoisonError::into_inner)).into()
    }
}

impl fmt::Debug for Certificate {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Certificate").field("chain", &self.chain).finish_non_exhaustive()
    }
}

fn config(chain: &Path, key: &Path) -> Result<ServerConfig, CertificateError> {
    let text = read(chain)?;
    let certificates: Vec<CertificateDer<'static>> =
        CertificateDer::pem_slice_iter(&text).filter_map(Result::ok).collect();
    if certificates.is_empty() {
        return Err(CertificateError::NoCertificate { path: chain.to_owned() });
    }
    let secret = PrivateKeyDer::from_pem_slice(&read(key)?)
        .map_err(|_| CertificateError::NoKey { path: key.to_owned() })?;
    let unfit = |error| {
        let (chain, key) = (chain.to_owned(), key.to_owned());
        CertificateError::Unfit { chain, key, error }
    };
    // Nothing is installed for the process: whoever mounts the server may have a provider of their own.
    let mut config = ServerConfig::builder_with_provider(Arc::new(ring::default_provider()))
        .with_safe_default_protocol_versions()
        .map_err(unfit)?
        .with_no_client_auth()
        .with_single_cert(certificates, secret)
        .map_err(unfit)?;
    config.alpn_protocols = vec![b"http/1.1".to_vec()];
    Ok(config)
}

fn read(path: &Path) -> Result<Vec<u8>, CertificateError> {
    let mut text = Vec::new();
    let read =
        std::fs::File::open(path).and_then(|file| file.take(BYTES_MAX).read_to_end(&mut text));
    match read {
        Ok(_) => Ok(text),
        Err(error) => Err(CertificateError::NotRead { path: path.to_owned(), error }),
    }
}
