//! [`AddressPolicy`]: which hosts and addresses requests may go to.
//!
//! The kinds of addresses are told apart in [`super::address`]; where the policy is asked is in
//! [`super::lookup`] for names and in [`super::exchange`] for every hop.

use std::fmt;
use std::net::{IpAddr, Ipv6Addr};
use std::str::FromStr;

use reqwest::Url;

use super::address::{AddressKind, embedded, kind_of};

/// Which hosts and addresses requests may go to.
///
/// A rule that denies wins over one that allows, and one that allows over the base of the policy.
/// Addresses are compared after parsing, so no spelling of an address gets around a rule, and
/// the address checked is the one connected to.
///
/// ```
/// use tidewheel::executor::http::{AddressPolicy, AddressRuleError};
///
/// # fn main() -> Result<(), AddressRuleError> {
/// let policy = AddressPolicy::public_only()
///     .allow("hooks.internal:8443".parse()?)
///     .deny("203.0.114.0/24".parse()?);
/// assert!(policy.permits([8, 8, 8, 8].into(), 443));
/// assert!(!policy.permits([10, 0, 0, 1].into(), 443));
/// # Ok(())
/// # }
/// ```
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct AddressPolicy {
    public_only: bool,
    allowed: Vec<AddressRule>,
    denied: Vec<AddressRule>,
}

impl AddressPolicy {
    /// Everything not denied: for requests whose author could run commands here anyway.
    #[must_use]
    pub fn open() -> Self {
        Self { public_only: false, allowed: Vec::new(), denied: Vec::new() }
    }

    /// Public addresses and what is allowed: for requests whose target others may choose.
    ///
    /// Loopback, private, link-local, carrier-grade, multicast, broadcast, unspecified,
    /// documentation, benchmarking and reserved addresses, the metadata services of clouds and
    /// the IPv6 forms of all of them are refused.
    #[must_use]
    pub fn public_only() -> Self {
        Self { public_only: true, ..Self::open() }
    }

    /// Allows what the base of the policy refuses.
    #[must_use]
    pub fn allow(mut self, rule: AddressRule) -> Self {
        self.allowed.push(rule);
        self
    }

    /// Denies, whatever else is allowed. A rule with a name does not deny the addresses it has.
    #[must_use]
    pub fn deny(mut self, rule: AddressRule) -> Self {
        self.denied.push(rule);
        self
    }

    /// Whether an address may be connected to by its number.
    #[must_use]
    pub fn permits(&self, address: IpAddr, port: u16) -> bool {
        self.check_address(None, address, Some(port)).is_ok()
    }

    /// Whether names have to be resolved here for the policy to hold.
    pub(super) fn needs_addresses(&self) -> bool {
        self.public_only || self.denied.iter().any(|rule| matches!(rule.host, Host::Network(..)))
    }

    /// Checks what can be told from a URL: its host by name, or its address if it is one.
    pub(super) fn check_url(&self, url: &Url) -> Result<(), Refused> {
        let port = url.port_or_known_default();
        let Some(host) = url.host_str() else {
            return Err(Refused { host: String::new(), reason: Reason::NoHost });
        };
        match literal(host) {
            Some(address) => self.check_address(None, address, port),
            None if self.denied.iter().any(|rule| rule.is_name(host, port, true)) => {
                Err(Refused { host: host.to_owned(), reason: Reason::Denied })
            }
            None => Ok(()),
        }
    }

    /// Checks an address that is about to be connected to, for a name or for itself.
    ///
    /// Without a known port, rules for one port deny all ports and allow none.
    pub(super) fn check_address(
        &self,
        name: Option<&str>,
        address: IpAddr,
        port: Option<u16>,
    ) -> Result<(), Refused> {
        let matches = |rule: &AddressRule, unknown_port: bool| {
            rule.is_network(address, port, unknown_port)
                || name.is_some_and(|name| rule.is_name(name, port, unknown_port))
        };
        let host = || match name {
            Some(name) => format!("{name} ({address})"),
            None => address.to_string(),
        };
        if self.denied.iter().any(|rule| matches(rule, true)) {
            return Err(Refused { host: host(), reason: Reason::Denied });
        }
        let kind = kind_of(address);
        if !self.public_only
            || kind == AddressKind::Public
            || self.allowed.iter().any(|rule| matches(rule, false))
        {
            return Ok(());
        }
        Err(Refused { host: host(), reason: Reason::Kind(kind) })
    }
}

/// The open policy.
impl Default for AddressPolicy {
    fn default() -> Self {
        Self::open()
    }
}

/// One line of a policy: a host name, an address or a network, with a port or for all ports.
///
/// Written as `example.com`, `example.com:8443`, `10.1.2.3`, `10.0.0.0/8`, `10.0.0.0/8:443`,
/// `fd00::/8`, `[::1]:8080` or `[fd00::]/8:443`.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct AddressRule {
    host: Host,
    port: Option<u16>,
}

#[derive(Debug, Clone, PartialEq, Eq)]
enum Host {
    Name(String),
    /// An address and how many of its bits count.
    Network(IpAddr, u8),
}

impl Host {
    /// Mapped networks are those of the IPv4 addresses they map, which is what is connected to.
    fn network(address: IpAddr, bits: u8) -> Self {
        match address {
            IpAddr::V6(mapped) if bits >= 96 => match mapped.to_ipv4_mapped() {
                Some(address) => Self::Network(address.into(), bits - 96),
                None => Self::Network(address, bits),
            },
            _ => Self::Network(address, bits),
        }
    }
}

impl AddressRule {
    fn is_port(&self, port: Option<u16>, unknown: bool) -> bool {
        match (self.port, port) {
            (None, _) => true,
            (Some(_), None) => unknown,
            (Some(rule), Some(port)) => rule == port,
        }
    }

    fn is_name(&self, name: &str, port: Option<u16>, unknown: bool) -> bool {
        let Host::Name(own) = &self.host else { return false };
        let name = name.strip_suffix('.').unwrap_or(name);
        own.eq_ignore_ascii_case(name) && self.is_port(port, unknown)
    }

    fn is_network(&self, address: IpAddr, port: Option<u16>, unknown: bool) -> bool {
        let Host::Network(network, bits) = self.host else { return false };
        if !self.is_port(port, unknown) {
            return false;
        }
        match (network, address) {
            (IpAddr::V4(network), IpAddr::V4(address)) => {
                let mask = u32::MAX.checked_shl(32 - u32::from(bits)).unwrap_or(0);
                network.to_bits() & mask == address.to_bits() & mask
            }
            (IpAddr::V6(network), IpAddr::V6(address)) => {
                let mask = u128::MAX.checked_shl(128 - u32::from(bits)).unwrap_or(0);
                network.to_bits() & mask == address.to_bits() & mask
            }
            (IpAddr::V4(_), IpAddr::V6(address)) => embedded(address)
                .is_some_and(|address| self.is_network(address.into(), port, unknown)),
            (IpAddr::V6(_), IpAddr::V4(_)) => false,
        }
    }
}

/// Why the text is not a rule.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("`{text}` is not a host, an address or a network, with or without a port: {reason}")]
pub struct AddressRuleError {
    text: String,
    reason: &'static str,
}

impl FromStr for AddressRule {
    type Err = AddressRuleError;

    fn from_str(text: &str) -> Result<Self, Self::Err> {
        parse_rule(text.trim()).map_err(|reason| AddressRuleError { text: text.to_owned(), reason })
    }
}

fn parse_rule(text: &str) -> Result<AddressRule, &'static str> {
    // An IPv6 address has colons of its own; a port after it needs brackets around it.
    let bare_v6 = text.split('/').next().is_some_and(|start| start.parse::<Ipv6Addr>().is_ok());
    let (host, port) = match text.rsplit_once(':') {
        Some((host, port)) if !bare_v6 && !text.ends_with(']') => {
            (host, Some(port.parse().map_err(|_| "the port is not a number up to 65535")?))
        }
        _ => (text, None),
    };
    let (host, bits) = match host.split_once('/') {
        Some((host, bits)) => (host, Some(bits)),
        None => (host, None),
    };
    if let Some(address) = literal(host) {
        let bits_max = if address.is_ipv4() { 32 } else { 128 };
        let bits = match bits {
            Some(bits) => bits.parse().map_err(|_| "the length of the network is not a number")?,
            None => bits_max,
        };
        if bits > bits_max {
            return Err("the length of the network is more than the address has bits");
        }
        return Ok(AddressRule { host: Host::network(address, bits), port });
    }
    if bits.is_some() {
        return Err("only addresses have a length");
    }
    // URLs may have it, but whoever writes it in a rule expects a pattern.
    if host.contains('*') {
        return Err("there are no patterns");
    }
    // The same reading as that of URLs, so that a rule means the host that a URL with it means.
    let url = Url::parse(&format!("http://{host}/")).map_err(|_| "it is no host name")?;
    match url.host_str() {
        Some(name) if url.path() == "/" && url.username().is_empty() && url.port().is_none() => {
            match literal(name) {
                Some(address) => {
                    let bits = if address.is_ipv4() { 32 } else { 128 };
                    Ok(AddressRule { host: Host::network(address, bits), port })
                }
                None => {
                    let name = name.strip_suffix('.').unwrap_or(name).to_owned();
                    Ok(AddressRule { host: Host::Name(name), port })
                }
            }
        }
        _ => Err("it is no host name"),
    }
}

/// The address that a host of a parsed URL is, if it is one.
pub(super) fn literal(host: &str) -> Option<IpAddr> {
    let inner = host.strip_prefix('[').and_then(|rest| rest.strip_suffix(']'));
    inner.unwrap_or(host).parse().ok()
}

/// The policy forbids it.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("the address policy refuses {host}: {reason}")]
pub(super) struct Refused {
    host: String,
    reason: Reason,
}

#[derive(Debug, Clone, PartialEq, Eq)]
enum Reason {
    NoHost,
    Denied,
    Kind(AddressKind),
}

impl fmt::Display for Reason {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::NoHost => f.write_str("there is no host"),
            Self::Denied => f.write_str("it is on the list of denied ones"),
            Self::Kind(kind) => write!(f, "its address is not public ({kind})"),
        }
    }
}
