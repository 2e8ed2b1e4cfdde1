//! Where pending timers are kept: records in buckets, and the keys that find them again.
//!
//! Which bucket a timer belongs to, and when a bucket is due, is decided by [`super::wheel`].
//!
//! A timer is in two places. Its slot holds the value and stays put; a key names the slot. Its
//! record holds the deadline and moves from bucket to bucket. A bucket is a stack of fixed-size
//! chunks of records, so that emptying one reads memory in order instead of chasing a pointer per
//! timer. Removing a record moves the last record of its bucket into the gap: nothing is left
//! behind, and a chunk that empties is free for any other bucket. Order inside a bucket therefore
//! means nothing, and a slot carries a sequence number. Storage is added in whole blocks, never
//! by copying what is there.

use std::num::NonZeroU32;

use crate::time::Moment;

use super::ready::Rank;

/// Names one pending timer of one [`Wheel`](super::Wheel).
///
/// A key whose timer has fired or was cancelled is stale. It is recognised as such for ever: the
/// generation of a slot never returns to an earlier value.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct TimerKey {
    slot: u32,
    generation: NonZeroU32,
}

/// A pending timer as its bucket sees it: what is read and moved in bulk, and nothing else.
#[derive(Debug, Clone, Copy)]
pub(super) struct Record {
    pub(super) due: Moment,
    key: TimerKey,
}

/// All pending timers, each in one of a fixed number of buckets.
#[derive(Debug, Clone)]
pub(super) struct Store<T> {
    /// Record storage; a position is `block * RECORDS_PER_BLOCK + offset`.
    blocks: Vec<Vec<Record>>,
    chunks: Vec<Chunk>,
    free_chunk: u32,
    buckets: Vec<Bucket>,
    slots: Slots<T>,
}

/// A chunk spans eight cache lines: long enough for the hardware to read ahead, short enough that a
/// half-empty chunk per bucket costs little.
const RECORDS_PER_CHUNK: u32 = 32;
const RECORDS_PER_BLOCK: u32 = 1 << 15;
const SLOTS_PER_BLOCK: u32 = 1 << 14;
/// Ends a chain of chunks or of free slots.
const NONE: u32 = u32::MAX;

#[derive(Debug, Clone, Copy)]
struct Chunk {
    /// The chunk under this one in its bucket, or the next free chunk.
    below: u32,
    bucket: u32,
}

#[derive(Debug, Clone, Copy)]
struct Bucket {
    /// The only chunk that may be partly filled.
    top: u32,
    length: u32,
    /// Not later than any record; exact until the earliest record is cancelled.
    earliest: Moment,
}

impl Bucket {
    const EMPTY: Self = Self { top: NONE, length: 0, earliest: Moment::MAX };
}

impl<T: Copy> Store<T> {
    pub(super) fn new(buckets: usize) -> Self {
        Self {
            blocks: Vec::new(),
            chunks: Vec::new(),
            free_chunk: NONE,
            buckets: vec![Bucket::EMPTY; buckets],
            slots: Slots::new(),
        }
    }

    /// Adds a timer to `bucket` and gives it a key; `sequence` decides between equal deadlines.
    pub(super) fn insert(
        &mut self,
        bucket: usize,
        due: Moment,
        sequence: u64,
        value: T,
    ) -> TimerKey {
        let position = self.place(bucket, due);
        let key = self.slots.take(value, sequence, position);
        *self.record_mut(position) = Record { due, key };
        key
    }

    /// Puts a record that was popped into `bucket`.
    pub(super) fn push(&mut self, bucket: usize, record: Record) {
        let position = self.place(bucket, record.due);
        *self.record_mut(position) = record;
        self.slots.entry_mut(record.key.slot).position = position;
    }

    /// Takes some record out of `bucket`; its key stays valid and must be pushed again.
    pub(super) fn pop(&mut self, bucket: usize) -> Option<Record> {
        let Bucket { top, length, .. } = self.buckets[bucket];
        let offset = length.checked_sub(1)? % RECORDS_PER_CHUNK;
        if offset == RECORDS_PER_CHUNK - 1 {
            // The caller is about to push these records elsewhere. Looking at all their slots first
            // lets the processor fetch them side by side instead of one after the other.
            assert!(self.chunk_is_pending(top), "a bucket holds pending timers only");
        }
        let record = *self.record(top * RECORDS_PER_CHUNK + offset);
        self.shorten(bucket);
        Some(record)
    }

    /// Ends the timer of `key`: returns its value and its bucket, and makes the key stale.
    pub(super) fn remove(&mut self, key: TimerKey) -> Option<(T, usize)> {
        let Slot { value, position, .. } = *self.slots.current(key)?;
        self.slots.give_back(key);
        let bucket = self.chunks[(position / RECORDS_PER_CHUNK) as usize].bucket as usize;
        let Bucket { top, length, .. } = self.buckets[bucket];
        let last = top * RECORDS_PER_CHUNK + (length - 1) % RECORDS_PER_CHUNK;
        if last != position {
            let moved = *self.record(last);
            *self.record_mut(position) = moved;
            self.slots.entry_mut(moved.key.slot).position = position;
        }
        self.shorten(bucket);
        Some((value, bucket))
    }

    /// The deadline of `key`, unless it is stale.
    pub(super) fn due(&self, key: TimerKey) -> Option<Moment> {
        self.slots.current(key).map(|slot| self.record(slot.position).due)
    }

    /// Whether the timer of `key` is still pending.
    pub(super) fn is_pending(&self, key: TimerKey) -> bool {
        self.slots.current(key).is_some()
    }

    /// How many records `bucket` holds.
    pub(super) fn length(&self, bucket: usize) -> usize {
        self.buckets[bucket].length as usize
    }

    /// A moment not later than any deadline in `bucket`.
    pub(super) fn earliest(&self, bucket: usize) -> Moment {
        self.buckets[bucket].earliest
    }

    /// The timers in `bucket`, the last one pushed first.
    ///
    /// The order is no promise, as removals disturb it. But timers that came in order are read in
    /// order, or exactly backwards, and both are sorted in one pass.
    pub(super) fn ranks(&self, bucket: usize) -> impl Iterator<Item = Rank> {
        let Bucket { top, length, .. } = self.buckets[bucket];
        let mut chunk = top;
        let mut left = length;
        let slices = std::iter::from_fn(move || {
            let filled = (left.checked_sub(1)?) % RECORDS_PER_CHUNK + 1;
            left -= filled;
            let records = self.chunk_records(chunk, filled);
            chunk = self.chunks[chunk as usize].below;
            Some(records)
        });
        slices.flat_map(|records| records.iter().rev()).map(|record| Rank {
            due: record.due,
            sequence: self.slots.entry(record.key.slot).sequence,
            key: record.key,
        })
    }

    /// A free position on top of `bucket`, for a record that is due at `due`.
    fn place(&mut self, bucket: usize, due: Moment) -> u32 {
        let Bucket { top, length, .. } = self.buckets[bucket];
        let offset = length % RECORDS_PER_CHUNK;
        let top = if offset == 0 { self.take_chunk(bucket, top) } else { top };
        let entry = &mut self.buckets[bucket];
        entry.top = top;
        entry.length = length + 1;
        entry.earliest = entry.earliest.min(due);
        top * RECORDS_PER_CHUNK + offset
    }

    /// Whether all timers in a full `chunk` are pending.
    fn chunk_is_pending(&self, chunk: u32) -> bool {
        let records = self.chunk_records(chunk, RECORDS_PER_CHUNK);
        records.iter().fold(true, |all, record| all & self.is_pending(record.key))
    }

    /// The first `filled` records of `chunk`.
    fn chunk_records(&self, chunk: u32, filled: u32) -> &[Record] {
        let (block, offset) = split(chunk * RECORDS_PER_CHUNK, RECORDS_PER_BLOCK);
        &self.blocks[block][offset..offset + filled as usize]
    }

    /// Drops the last record of `bucket`, and its chunk when that is now empty.
    fn shorten(&mut self, bucket: usize) {
        let entry = &mut self.buckets[bucket];
        entry.length -= 1;
        if !entry.length.is_multiple_of(RECORDS_PER_CHUNK) {
            return;
        }
        let chunk = entry.top;
        entry.top = self.chunks[chunk as usize].below;
        if entry.length == 0 {
            entry.earliest = Moment::MAX;
        }
        self.chunks[chunk as usize].below = self.free_chunk;
        self.free_chunk = chunk;
    }

    /// A chunk to lie on top of `below` in `bucket`: a free one, or a new one.
    fn take_chunk(&mut self, bucket: usize, below: u32) -> u32 {
        let described = Chunk { below, bucket: bucket as u32 };
        if self.free_chunk != NONE {
            let chunk = self.free_chunk;
            self.free_chunk = self.chunks[chunk as usize].below;
            self.chunks[chunk as usize] = described;
            return chunk;
        }
        let chunk = self.chunks.len() as u32;
        assert!(chunk < NONE / RECORDS_PER_CHUNK, "fewer than four billion timers at a time");
        self.chunks.push(described);
        let (block, offset) = split(chunk * RECORDS_PER_CHUNK, RECORDS_PER_BLOCK);
        if offset == 0 {
            self.blocks.push(Vec::with_capacity(RECORDS_PER_BLOCK as usize));
        }
        // Space that was never written costs no memory yet, so a chunk is filled only when it is
        // needed.
        self.blocks[block].resize(offset + RECORDS_PER_CHUNK as usize, Record::FILLER);
        chunk
    }

    fn record(&self, position: u32) -> &Record {
        let (block, offset) = split(position, RECORDS_PER_BLOCK);
        &self.blocks[block][offset]
    }

    fn record_mut(&mut self, position: u32) -> &mut Record {
        let (block, offset) = split(position, RECORDS_PER_BLOCK);
        &mut self.blocks[block][offset]
    }
}

impl Record {
    /// Lies in the unused part of a chunk.
    const FILLER: Self =
        Self { due: Moment::MAX, key: TimerKey { slot: NONE, generation: NonZeroU32::MAX } };
}

/// What keys point to: the values, and where the record of each timer is at present.
#[derive(Debug, Clone)]
struct Slots<T> {
    blocks: Vec<Vec<Slot<T>>>,
    free: u32,
    /// Slots ever made.
    made: u32,
}

/// Aligned so that a slot with a value of up to 16 bytes never straddles two cache lines.
#[derive(Debug, Clone, Copy)]
#[repr(align(32))]
struct Slot<T> {
    value: T,
    /// Counts insertions.
    sequence: u64,
    /// The generation of the key in use, or of the next key when the slot is free.
    generation: NonZeroU32,
    /// The position of the record, or the next free slot.
    position: u32,
}

impl<T: Copy> Slots<T> {
    fn new() -> Self {
        Self { blocks: Vec::new(), free: NONE, made: 0 }
    }

    fn take(&mut self, value: T, sequence: u64, position: u32) -> TimerKey {
        if self.free != NONE {
            let slot = self.free;
            let entry = self.entry_mut(slot);
            let generation = entry.generation;
            let next = std::mem::replace(entry, Slot { value, sequence, generation, position });
            self.free = next.position;
            return TimerKey { slot, generation };
        }
        let slot = self.made;
        assert!(slot < NONE, "fewer than four billion timers at a time");
        self.made += 1;
        let (block, offset) = split(slot, SLOTS_PER_BLOCK);
        if offset == 0 {
            self.blocks.push(Vec::with_capacity(SLOTS_PER_BLOCK as usize));
        }
        let generation = NonZeroU32::MIN;
        self.blocks[block].push(Slot { value, sequence, generation, position });
        TimerKey { slot, generation }
    }

    /// Makes `key`, which must be current, stale.
    fn give_back(&mut self, key: TimerKey) {
        let free = self.free;
        let entry = self.entry_mut(key.slot);
        // The last generation is never handed out: a slot that gets there is retired, which loses
        // its few bytes every four billion timers and rules out that an old key matches a new one.
        let Some(next) = entry.generation.checked_add(1) else { return };
        entry.generation = next;
        if next == NonZeroU32::MAX {
            return;
        }
        entry.position = free;
        self.free = key.slot;
    }

    /// The slot of `key`, unless it is stale.
    fn current(&self, key: TimerKey) -> Option<&Slot<T>> {
        let (block, offset) = split(key.slot, SLOTS_PER_BLOCK);
        let entry = self.blocks.get(block)?.get(offset)?;
        (entry.generation == key.generation).then_some(entry)
    }

    fn entry(&self, slot: u32) -> &Slot<T> {
        let (block, offset) = split(slot, SLOTS_PER_BLOCK);
        &self.blocks[block][offset]
    }

    fn entry_mut(&mut self, slot: u32) -> &mut Slot<T> {
        let (block, offset) = split(slot, SLOTS_PER_BLOCK);
        &mut self.blocks[block][offset]
    }
}

fn split(index: u32, per_block: u32) -> (usize, usize) {
    ((index / per_block) as usize, (index % per_block) as usize)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_timer_with_a_sixteen_byte_value_takes_forty_eight_bytes() {
        assert_eq!(size_of::<Record>() + size_of::<Slot<[u64; 2]>>(), 48);
        assert_eq!(size_of::<Option<TimerKey>>(), 8);
    }

    #[test]
    fn a_slot_is_retired_before_its_generations_run_out() {
        let mut slots = Slots::new();
        let slot = slots.take((), 0, 0).slot;
        let generation = NonZeroU32::new(u32::MAX - 1).expect("not zero");
        slots.entry_mut(slot).generation = generation;
        let last = TimerKey { slot, generation };
        assert!(slots.current(last).is_some());
        slots.give_back(last);
        assert!(slots.current(last).is_none());
        assert_ne!(slots.take((), 1, 0).slot, slot);
    }

    #[test]
    fn chunks_of_an_emptied_bucket_serve_other_buckets() {
        let mut store = Store::new(2);
        for round in 0..10 {
            let bucket = round % 2;
            let keys: Vec<TimerKey> =
                (0..1000).map(|i| store.insert(bucket, Moment::from_nanos(i), i, ())).collect();
            assert_eq!(store.ranks(bucket).count(), 1000);
            for key in keys {
                assert!(store.remove(key).is_some());
            }
            assert_eq!(store.length(bucket), 0);
        }
        assert_eq!(store.chunks.len(), 1000_usize.div_ceil(RECORDS_PER_CHUNK as usize));
        assert_eq!(store.slots.made, 1000);
    }
}
