//! Fresh ids for runs and schedules, and how keys of the scheduler are hashed.
//!
//! Which ids there are, and what they mean, is the core's business.

use std::hash::Hasher;

use tidewheel_core::decision::Tenure;
use tidewheel_core::time::Timestamp;

/// Keys are already well spread numbers; they need no defence against an attacker.
#[derive(Default)]
pub(crate) struct KeyHasher(u64);

impl Hasher for KeyHasher {
    fn write(&mut self, bytes: &[u8]) {
        for &byte in bytes {
            self.write_u64(u64::from(byte));
        }
    }

    fn write_u32(&mut self, value: u32) {
        self.write_u64(u64::from(value));
    }

    fn write_u128(&mut self, value: u128) {
        self.write_u64(value as u64);
        self.write_u64((value >> 64) as u64);
    }

    fn write_u64(&mut self, value: u64) {
        self.0 = self.0.wrapping_add(value).wrapping_mul(0xf135_7aea_2e62_a9c5);
    }

    fn finish(&self) -> u64 {
        // The good bits of a product are the high ones; tables look at the low ones first.
        self.0.rotate_left(26)
    }
}

/// Fresh ids in the layout of a UUID version 7: time first, then what makes them unique.
pub(super) struct Ids {
    base: u64,
    count: u64,
}

impl Ids {
    pub fn new(seed: Option<u64>, tenure: Tenure) -> Self {
        use std::hash::BuildHasher as _;
        // The standard library's own source of randomness, which needs no other crate.
        let random = || std::hash::RandomState::new().build_hasher().finish();
        // With a seed they are the same each time; but a store may hold those of the wheel before, of the
        // same seed and, on a virtual clock, of the same time.
        let base = seed.map_or_else(random, |seed| seed ^ mix(tenure.0));
        Self { base, count: 0 }
    }

    pub fn next(&mut self, now: Timestamp) -> u128 {
        self.count += 1;
        let millis = (now.as_micros() / 1000).max(0) as u128 & 0xffff_ffff_ffff;
        let high = u128::from(mix(self.base ^ mix(self.count))) & 0xfff;
        let low = u128::from(mix(self.base.wrapping_add(self.count))) >> 2;
        millis << 80 | 0x7 << 76 | high << 64 | 0b10 << 62 | low
    }
}

/// One round of splitmix64.
const fn mix(value: u64) -> u64 {
    let value = value.wrapping_add(0x9e37_79b9_7f4a_7c15);
    let value = (value ^ (value >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
    let value = (value ^ (value >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
    value ^ (value >> 31)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_seed_gives_the_same_ids_again_but_not_in_the_next_tenure() {
        let first = |tenure| Ids::new(Some(7), Tenure(tenure)).next(Timestamp::from_seconds(1));
        assert_eq!(first(1), first(1));
        assert_ne!(first(1), first(2));
    }
}
