//! Resolving names to addresses that the policy permits, at the moment of connecting.
//!
//! Hosts that are addresses never come here; [`super::exchange`] checks them for every hop.

use std::future::Future;
use std::io;
use std::net::{IpAddr, SocketAddr};
use std::pin::Pin;
use std::sync::Arc;

use reqwest::dns::{Addrs, Name, Resolve, Resolving};

use super::policy::{AddressPolicy, Refused};

tokio::task_local! {
    /// The port of the hop under way. The resolver is polled within the request that connects but
    /// is told the name only; where this is not set, rules for one port deny all and allow none.
    pub(super) static HOP_PORT: u16;
}

/// What a lookup gives, when it does.
pub type LookupFuture = Pin<Box<dyn Future<Output = io::Result<Vec<IpAddr>>> + Send>>;

/// Finds the addresses of a name.
///
/// The addresses are checked after the lookup and connected to as they are, so an answer that
/// changes between two lookups gets nobody anywhere.
pub trait Lookup: Send + Sync + 'static {
    /// The addresses of the name, best first.
    fn lookup(&self, name: &str) -> LookupFuture;
}

/// The resolver of the operating system.
#[derive(Debug, Clone, Copy, Default)]
pub(super) struct SystemLookup;

impl Lookup for SystemLookup {
    fn lookup(&self, name: &str) -> LookupFuture {
        let name = name.to_owned();
        Box::pin(async move {
            let found = tokio::net::lookup_host((name, 0)).await?;
            Ok(found.map(|address| address.ip()).collect())
        })
    }
}

/// A lookup whose answers pass the policy, as the client wants it.
pub(super) struct CheckedLookup {
    pub(super) lookup: Arc<dyn Lookup>,
    pub(super) policy: Arc<AddressPolicy>,
}

impl Resolve for CheckedLookup {
    fn resolve(&self, name: Name) -> Resolving {
        let port = HOP_PORT.try_with(|port| *port).ok();
        let found = self.lookup.lookup(name.as_str());
        let policy = Arc::clone(&self.policy);
        Box::pin(async move {
            let addresses = found.await?;
            let permitted = permitted(&policy, name.as_str(), port, addresses)?;
            let permitted = permitted.into_iter().map(|address| SocketAddr::new(address, 0));
            Ok(Box::new(permitted) as Addrs)
        })
    }
}

/// The addresses that may be connected to; an error if there are none.
fn permitted(
    policy: &AddressPolicy,
    name: &str,
    port: Option<u16>,
    addresses: Vec<IpAddr>,
) -> Result<Vec<IpAddr>, Box<dyn std::error::Error + Send + Sync>> {
    let mut refused: Option<Refused> = None;
    let mut permitted = Vec::with_capacity(addresses.len());
    for address in addresses {
        match policy.check_address(Some(name), address, port) {
            Ok(()) => permitted.push(address),
            Err(refusal) => refused = refused.or(Some(refusal)),
        }
    }
    match refused {
        _ if !permitted.is_empty() => Ok(permitted),
        Some(refusal) => Err(refusal.into()),
        None => Err(io::Error::new(io::ErrorKind::NotFound, "the name has no address").into()),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_name_with_public_and_private_addresses_is_connected_to_publicly() {
        let policy = AddressPolicy::public_only();
        let public: IpAddr = [8, 8, 8, 8].into();
        let private: IpAddr = [10, 0, 0, 1].into();
        let both = permitted(&policy, "two.example", Some(80), vec![private, public]).unwrap();
        assert_eq!(both, [public]);
        let error = permitted(&policy, "one.example", Some(80), vec![private]).unwrap_err();
        assert!(error.is::<Refused>());
        let error = permitted(&policy, "none.example", Some(80), Vec::new()).unwrap_err();
        assert!(!error.is::<Refused>());
    }
}
