//! What kind of address an address is, so that a policy can tell the public ones from the rest.
//!
//! Which kinds may be connected to is in [`super::policy`]; names are resolved in
//! [`super::lookup`].

use std::fmt;
use std::net::{IpAddr, Ipv4Addr, Ipv6Addr};

/// What an address is for.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum AddressKind {
    /// Reachable for everybody.
    Public,
    Unspecified,
    Loopback,
    Private,
    LinkLocal,
    /// Where clouds hand out credentials.
    Metadata,
    CarrierGrade,
    Multicast,
    Broadcast,
    Documentation,
    Benchmarking,
    Reserved,
    /// Carries an IPv4 address through a mechanism that nobody should need any more.
    Transition,
}

impl fmt::Display for AddressKind {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::Public => "public",
            Self::Unspecified => "unspecified",
            Self::Loopback => "loopback",
            Self::Private => "private",
            Self::LinkLocal => "link-local",
            Self::Metadata => "metadata service",
            Self::CarrierGrade => "carrier-grade NAT",
            Self::Multicast => "multicast",
            Self::Broadcast => "broadcast",
            Self::Documentation => "documentation",
            Self::Benchmarking => "benchmarking",
            Self::Reserved => "reserved",
            Self::Transition => "IPv4 transition",
        })
    }
}

/// The kind of an address. Addresses that mean an IPv4 address are of the kind of that.
pub(super) fn kind_of(address: IpAddr) -> AddressKind {
    match address {
        IpAddr::V4(address) => kind_of_v4(address),
        IpAddr::V6(address) => kind_of_v6(address),
    }
}

/// The IPv4 address that packets to this address end at, where there is one.
///
/// A rule for an IPv4 network has to hold for all its spellings.
pub(super) fn embedded(address: Ipv6Addr) -> Option<Ipv4Addr> {
    let octets = address.octets();
    let segments = address.segments();
    let last = Ipv4Addr::new(octets[12], octets[13], octets[14], octets[15]);
    match segments {
        // `::` and `::1` look like compatible addresses and are not.
        [0, 0, 0, 0, 0, 0, 0, 0..=1] => None,
        // Mapped, compatible, translated (RFC 2765), NAT64.
        [0, 0, 0, 0, 0, 0xffff | 0, ..]
        | [0, 0, 0, 0, 0xffff, 0, ..]
        | [0x64, 0xff9b, 0, 0, 0, 0, ..] => Some(last),
        // NAT64 of the network's own choice: the place depends on the prefix; this is the usual one.
        [0x64, 0xff9b, 1, ..] => Some(last),
        // 6to4.
        [0x2002, ..] => Some(Ipv4Addr::new(octets[2], octets[3], octets[4], octets[5])),
        // Teredo hides the address of the client behind a complement.
        [0x2001, 0, ..] => Some(Ipv4Addr::from_bits(!last.to_bits())),
        // ISATAP.
        [_, _, _, _, 0 | 0x200, 0x5efe, ..] => Some(last),
        _ => None,
    }
}

fn kind_of_v4(address: Ipv4Addr) -> AddressKind {
    match address.octets() {
        // AWS, Google, Azure and most others; ECS tasks; Azure's wire server (which looks public);
        // Alibaba; Oracle.
        [169, 254, 169, 254]
        | [169, 254, 170, 2]
        | [168, 63, 129, 16]
        | [100, 100, 100, 200]
        | [192, 0, 0, 192] => AddressKind::Metadata,
        [0, 0, 0, 0] => AddressKind::Unspecified,
        [0, ..] => AddressKind::Reserved,
        [127, ..] => AddressKind::Loopback,
        [10, ..] | [172, 16..=31, ..] | [192, 168, ..] => AddressKind::Private,
        [169, 254, ..] => AddressKind::LinkLocal,
        [100, 64..=127, ..] => AddressKind::CarrierGrade,
        [192, 0, 2, _] | [198, 51, 100, _] | [203, 0, 113, _] => AddressKind::Documentation,
        [198, 18..=19, ..] => AddressKind::Benchmarking,
        [192, 0, 0, _] => AddressKind::Reserved,
        // Relays of 6to4.
        [192, 88, 99, _] => AddressKind::Transition,
        [255, 255, 255, 255] => AddressKind::Broadcast,
        [224..=239, ..] => AddressKind::Multicast,
        [240..=255, ..] => AddressKind::Reserved,
        _ => AddressKind::Public,
    }
}

fn kind_of_v6(address: Ipv6Addr) -> AddressKind {
    match address.segments() {
        [0, 0, 0, 0, 0, 0, 0, 0] => AddressKind::Unspecified,
        [0, 0, 0, 0, 0, 0, 0, 1] => AddressKind::Loopback,
        // Mapped addresses are connected to over IPv4, and networks without IPv4 reach all of it
        // through the well-known prefix of NAT64: both are what they carry.
        [0, 0, 0, 0, 0, 0xffff, ..] | [0x64, 0xff9b, 0, 0, 0, 0, ..] => {
            embedded(address).map_or(AddressKind::Transition, kind_of_v4)
        }
        [0, 0, 0, 0, 0, 0, ..] | [0, 0, 0, 0, 0xffff, 0, ..] => AddressKind::Transition,
        [0x64, 0xff9b, 1, ..] | [0x2002, ..] | [0x2001, 0, ..] => AddressKind::Transition,
        [0xfd00, 0xec2, 0, 0, 0, 0, 0, 0x254] => AddressKind::Metadata,
        [0xfd20, 0xce, 0, 0, 0, 0, 0, 0x254] => AddressKind::Metadata,
        [0xfc00..=0xfdff, ..] | [0xfec0..=0xfeff, ..] => AddressKind::Private,
        [0xfe80..=0xfebf, ..] => AddressKind::LinkLocal,
        [0xff00..=0xffff, ..] => AddressKind::Multicast,
        [0x2001, 0xdb8, ..] | [0x3fff, 0..=0xfff, ..] => AddressKind::Documentation,
        [0x2001, 2, 0, ..] => AddressKind::Benchmarking,
        [0x2001, 0..=0x1ff, ..] => AddressKind::Reserved,
        [_, _, _, _, 0 | 0x200, 0x5efe, ..] => AddressKind::Transition,
        [0x2000..=0x3fff, ..] => AddressKind::Public,
        _ => AddressKind::Reserved,
    }
}
