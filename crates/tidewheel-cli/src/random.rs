//! [`Random`]: chance that repeats itself for the same seed.
//!
//! Nothing here is fit for secrets.

/// SplitMix64.
#[derive(Debug, Clone)]
pub(crate) struct Random {
    state: u64,
}

impl Random {
    /// Chance for one purpose: other words, other chance.
    pub fn new(seed: u64, purpose: &str, round: u64) -> Self {
        let mut random = Self { state: seed ^ round.wrapping_mul(0x9e37_79b9_7f4a_7c15) };
        for byte in purpose.bytes() {
            random.state ^= u64::from(byte);
            random.next();
        }
        random
    }

    pub fn next(&mut self) -> u64 {
        self.state = self.state.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let mut mixed = self.state;
        mixed = (mixed ^ (mixed >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        mixed = (mixed ^ (mixed >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        mixed ^ (mixed >> 31)
    }

    /// A number from `from` up to but not `to`.
    pub fn between(&mut self, from: u64, to: u64) -> u64 {
        from + self.next() % (to - from).max(1)
    }

    pub fn shuffle<T>(&mut self, items: &mut [T]) {
        for last in (1..items.len()).rev() {
            let other = self.between(0, last as u64 + 1) as usize;
            items.swap(last, other);
        }
    }
}
