//! A set of small numbers whose least member is found in a few instructions.
//!
//! It is a tree of bit masks, 64 children a node; what the numbers mean is not known here.

/// Members are `0..size`, fixed when made.
#[derive(Debug, Clone)]
pub(crate) struct RankSet {
    /// `levels[0]` has one bit a member, each further level one bit a word of the level before.
    levels: Vec<Vec<u64>>,
}

impl RankSet {
    pub fn new(size: usize) -> Self {
        let mut levels = Vec::new();
        let mut bits = size.max(1);
        loop {
            let words = bits.div_ceil(64);
            levels.push(vec![0; words]);
            if words == 1 {
                return Self { levels };
            }
            bits = words;
        }
    }

    pub fn insert(&mut self, member: u32) {
        let mut at = member as usize;
        for level in &mut self.levels {
            let (word, bit) = (at / 64, 1 << (at % 64));
            let before = level[word];
            level[word] = before | bit;
            if before != 0 {
                return;
            }
            at = word;
        }
    }

    pub fn remove(&mut self, member: u32) {
        let mut at = member as usize;
        for level in &mut self.levels {
            let (word, bit) = (at / 64, 1u64 << (at % 64));
            level[word] &= !bit;
            if level[word] != 0 {
                return;
            }
            at = word;
        }
    }

    pub fn first(&self) -> Option<u32> {
        let mut word = 0;
        for level in self.levels.iter().rev() {
            let bits = level[word];
            if bits == 0 {
                return None;
            }
            word = word * 64 + bits.trailing_zeros() as usize;
        }
        Some(word as u32)
    }
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeSet;

    use super::*;

    #[test]
    fn the_least_member_is_found_at_every_size() {
        for size in [1_u32, 63, 64, 65, 4096, 4097, 300_000] {
            let mut set = RankSet::new(size as usize);
            let mut model = BTreeSet::new();
            let mut state = 0x9E37_79B9_u64 ^ u64::from(size);
            for _ in 0..2_000 {
                state = state.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1);
                let member = ((state >> 33) % u64::from(size)) as u32;
                if state & (1 << 20) == 0 {
                    set.insert(member);
                    model.insert(member);
                } else {
                    set.remove(member);
                    model.remove(&member);
                }
                assert_eq!(set.first(), model.first().copied());
            }
        }
    }
}
