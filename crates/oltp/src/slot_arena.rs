//! Slots of one size in chunks, named by 4-byte numbers.
//!
//! 1. A chunk is one allocation with a power of two of slots; a slot's number is its chunk's number
//!    and its place in the chunk, so finding it takes a shift and a mask.
//! 2. The first byte of a free slot is 0, and the next four chain it to another free slot of its chunk;
//!    chunks with room are kept in a list, and one that has become empty gives its memory back. It gets
//!    memory again when no other has room.
//! 3. Slots can be visited in the order of their numbers, while others come and go. Who wants to tell
//!    which of them are in use keeps their first bytes different from 0.
//! 4. To give back what lies between slots in use, the emptiest chunks are *closed*: no slot of theirs is
//!    allocated any more, and all that is in them finds room in the others. Whoever knows what is in a slot moves it
//!    ([`SlotArena::next_closed`], [`SlotArena::copy`]). A chunk that was visited and not emptied is open again.
//!
//! **Invariants:** a number is valid from `allocate` to `release`, then it may come again; slots do not
//! move by themselves. Does not know what is in a slot: whoever reads a released slot reads garbage.

use crate::chunk_memory::ChunkMemory;

/// The end of a chain of free slots. A chunk has fewer slots than this.
const NONE: u32 = u32::MAX;

/// The first byte, which says that a slot is free, and the number of the next free one.
const FREE_SLOT_BYTES: usize = 1 + size_of::<u32>();

/// See the module.
pub(crate) struct SlotArena {
    slot_bytes: usize,
    /// A chunk has `1 << shift` slots.
    shift: u32,
    chunks: Vec<Chunk>,
    /// Chunks with room; they may have become empty. Slots are allocated in the last one.
    with_room: Vec<u32>,
    /// Chunks without memory.
    empty: Vec<u32>,
    /// Closed chunks that are to be visited; they may have become empty. The last one is, up to this slot.
    closed: Vec<u32>,
    visited: u32,
    live: usize,
    held_bytes: usize,
}

/// What a visit has come to.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Visit {
    /// This slot is in use.
    Used(u32),
    /// As many slots were looked at as may be; the visit goes on here.
    GoOnAt(u32),
    /// There are no more slots.
    End,
}

struct Chunk {
    memory: ChunkMemory,
    free: u32,
    /// Slots from here on were never used.
    fresh: u32,
    live: u32,
    listing: Listing,
}

/// The list that a chunk is in.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Listing {
    /// None: it is full.
    Full,
    WithRoom,
    Empty,
    /// None: see the module.
    Closed,
}

impl SlotArena {
    /// An empty arena that allocates about so many bytes at a time.
    pub(crate) fn new(slot_bytes: usize, chunk_bytes: usize) -> Self {
        let slot_bytes = slot_bytes.max(FREE_SLOT_BYTES);
        let slots = (chunk_bytes / slot_bytes).max(1);
        Self {
            slot_bytes,
            shift: slots.ilog2(),
            chunks: Vec::new(),
            with_room: Vec::new(),
            empty: Vec::new(),
            closed: Vec::new(),
            visited: 0,
            live: 0,
            held_bytes: 0,
        }
    }

    /// A slot with unspecified content.
    pub(crate) fn allocate(&mut self) -> u32 {
        let number = self.chunk_with_room();
        let (slot_bytes, slots) = (self.slot_bytes, 1 << self.shift);
        let chunk = &mut self.chunks[number as usize];
        let slot = if chunk.free == NONE {
            chunk.fresh += 1;
            chunk.fresh - 1
        } else {
            let slot = chunk.free;
            let at = slot as usize * slot_bytes;
            chunk.free = read_u32(&chunk.memory.bytes()[at + 1..]);
            slot
        };
        chunk.live += 1;
        if chunk.live == slots {
            chunk.listing = Listing::Full;
            self.with_room.pop();
        }
        self.live += 1;
        (number << self.shift) | slot
    }

    /// Frees a slot.
    pub(crate) fn release(&mut self, number: u32) {
        let (chunk_number, at) = self.place(number);
        let slot = number & ((1 << self.shift) - 1);
        let chunk = &mut self.chunks[chunk_number];
        assert!(chunk.live > 0, "a slot is released once");
        let slot_head = &mut chunk.memory.bytes_mut()[at..at + FREE_SLOT_BYTES];
        slot_head[0] = 0;
        slot_head[1..].copy_from_slice(&chunk.free.to_le_bytes());
        chunk.free = slot;
        chunk.live -= 1;
        self.live -= 1;
        if chunk.listing == Listing::Full {
            chunk.listing = Listing::WithRoom;
            self.with_room.push(chunk_number as u32);
        }
        if chunk.live == 0 {
            self.held_bytes -= chunk.memory.bytes().len();
            chunk.memory = ChunkMemory::default();
            (chunk.free, chunk.fresh) = (NONE, 0);
            if chunk.listing == Listing::Closed {
                chunk.listing = Listing::Empty;
                self.empty.push(chunk_number as u32);
            }
        }
    }

    /// Copies a slot of a closed chunk to one of an open chunk.
    pub(crate) fn copy(&mut self, from: u32) -> u32 {
        let to = self.allocate();
        let ((from_chunk, from_at), (to_chunk, to_at)) = (self.place(from), self.place(to));
        let both = self.chunks.get_disjoint_mut([from_chunk, to_chunk]);
        let [source, target] = both.expect("one chunk is closed, the other open");
        let slot = &source.memory.bytes()[from_at..from_at + self.slot_bytes];
        target.memory.bytes_mut()[to_at..to_at + self.slot_bytes].copy_from_slice(slot);
        to
    }

    /// Bytes that would be given back if all slots in use lay as closely as can be.
    pub(crate) fn sparse_bytes(&self) -> usize {
        let chunk_bytes = self.slot_bytes << self.shift;
        self.held_bytes - self.live.div_ceil(1 << self.shift) * chunk_bytes
    }

    /// Closes the emptiest chunks: as many as the others have room for.
    pub(crate) fn close_sparse(&mut self) {
        let numbers = 0..self.chunks.len() as u32;
        let mut held: Vec<u32> = numbers
            .filter(|number| !self.chunks[*number as usize].memory.bytes().is_empty())
            .collect();
        held.sort_unstable_by_key(|number| self.chunks[*number as usize].live);
        let kept = self.live.div_ceil(1 << self.shift);
        let open = held.split_off(held.len() - kept);
        for number in &held {
            self.chunks[*number as usize].listing = Listing::Closed;
        }
        (self.closed, self.visited) = (held, 0);
        // The fullest one is the last, and gets the first slot.
        self.with_room = open;
        let chunks = &self.chunks;
        self.with_room
            .retain(|number| chunks[*number as usize].listing == Listing::WithRoom);
        self.list_empty();
    }

    /// The next slot in use of a closed chunk, each once. Its first byte must not be 0.
    pub(crate) fn next_closed(&mut self) -> Option<u32> {
        while let Some(&number) = self.closed.last() {
            let chunk = &mut self.chunks[number as usize];
            if chunk.listing == Listing::Closed {
                let slots = self.visited..chunk.fresh;
                let is_used =
                    |slot: &u32| chunk.memory.bytes()[*slot as usize * self.slot_bytes] != 0;
                if let Some(slot) = slots.into_iter().find(is_used) {
                    self.visited = slot + 1;
                    return Some((number << self.shift) | slot);
                }
                chunk.listing = Listing::WithRoom;
                // Behind all others: it may be closed again.
                self.with_room.insert(0, number);
            }
            self.closed.pop();
            self.visited = 0;
        }
        None
    }

    /// The bytes of a slot.
    #[inline]
    pub(crate) fn get(&self, number: u32) -> &[u8] {
        let (chunk, at) = self.place(number);
        &self.chunks[chunk].memory.bytes()[at..at + self.slot_bytes]
    }

    /// The same of a number that may be of no slot any more, while there is memory for it.
    #[inline]
    pub(crate) fn get_if_any(&self, number: u32) -> Option<&[u8]> {
        let (chunk, at) = self.place(number);
        let memory = &self.chunks.get(chunk)?.memory;
        memory.bytes().get(at..at + self.slot_bytes)
    }

    /// The bytes of a slot, to write.
    #[inline]
    pub(crate) fn get_mut(&mut self, number: u32) -> &mut [u8] {
        let (chunk, at) = self.place(number);
        &mut self.chunks[chunk].memory.bytes_mut()[at..at + self.slot_bytes]
    }

    /// The first slot from this number on whose first byte is not 0, after a look at so many at most.
    pub(crate) fn next_used(&self, from: u32, looks_max: u32) -> Visit {
        let mut number = from;
        for _ in 0..looks_max {
            let chunk = (number >> self.shift) as usize;
            let Some(of_number) = self.chunks.get(chunk) else {
                return Visit::End;
            };
            let slot = number & ((1 << self.shift) - 1);
            if slot >= of_number.fresh {
                number = ((chunk as u32) + 1) << self.shift;
            } else if of_number.memory.bytes()[slot as usize * self.slot_bytes] != 0 {
                return Visit::Used(number);
            } else {
                number += 1;
            }
        }
        Visit::GoOnAt(number)
    }

    /// Bytes of the slots in use.
    pub(crate) fn live_bytes(&self) -> usize {
        self.live * self.slot_bytes
    }

    /// Bytes that were allocated, with all bookkeeping.
    pub(crate) fn held_bytes(&self) -> usize {
        self.held_bytes + self.chunks.capacity() * size_of::<Chunk>() + self.lists_bytes()
    }

    fn lists_bytes(&self) -> usize {
        let numbers = self.with_room.capacity() + self.empty.capacity() + self.closed.capacity();
        numbers * size_of::<u32>()
    }

    /// Slots in use.
    pub(crate) fn live(&self) -> usize {
        self.live
    }

    fn place(&self, number: u32) -> (usize, usize) {
        let slot = number & ((1 << self.shift) - 1);
        (
            (number >> self.shift) as usize,
            slot as usize * self.slot_bytes,
        )
    }

    fn chunk_with_room(&mut self) -> u32 {
        while let Some(&number) = self.with_room.last() {
            let chunk = &mut self.chunks[number as usize];
            if !chunk.memory.bytes().is_empty() {
                return number;
            }
            chunk.listing = Listing::Empty;
            self.with_room.pop();
            self.empty.push(number);
        }
        let number = self.empty.pop().unwrap_or_else(|| self.add_chunk());
        let (chunk, bytes) = (
            &mut self.chunks[number as usize],
            self.slot_bytes << self.shift,
        );
        chunk.memory = ChunkMemory::zeros(bytes);
        chunk.listing = Listing::WithRoom;
        self.held_bytes += bytes;
        self.with_room.push(number);
        number
    }

    /// Lists all chunks without memory as such.
    fn list_empty(&mut self) {
        self.empty.clear();
        for (number, chunk) in self.chunks.iter_mut().enumerate() {
            if chunk.memory.bytes().is_empty() {
                chunk.listing = Listing::Empty;
                self.empty.push(number as u32);
            }
        }
    }

    fn add_chunk(&mut self) -> u32 {
        let number = self.chunks.len() as u32;
        let most = crate::pointer::NUMBERS_MAX >> self.shift;
        assert!(number < most, "a table has at most 2^31 rows in memory");
        self.chunks.push(Chunk {
            memory: ChunkMemory::default(),
            free: NONE,
            fresh: 0,
            live: 0,
            listing: Listing::Empty,
        });
        number
    }
}

fn read_u32(bytes: &[u8]) -> u32 {
    u32::from_le_bytes(bytes[..4].try_into().expect("four bytes"))
}

#[cfg(test)]
mod tests {
    use rand::rngs::StdRng;
    use rand::{Rng, SeedableRng};

    use super::*;

    /// Slots that a visit finds, three looks at a time.
    fn visited(arena: &SlotArena) -> usize {
        let (mut number, mut found) = (0, 0);
        loop {
            match arena.next_used(number, 3) {
                Visit::Used(used) => (number, found) = (used + 1, found + 1),
                Visit::GoOnAt(next) => number = next,
                Visit::End => return found,
            }
        }
    }

    /// What was written into a slot stays there while others come and go; emptied chunks are given
    /// back and used again.
    #[test]
    fn slots_keep_their_bytes_and_empty_chunks_go() {
        let mut arena = SlotArena::new(1 << 14, 256 << 10);
        let numbers: Vec<u32> = (0..100).map(|_| arena.allocate()).collect();
        for &number in &numbers {
            arena.get_mut(number).fill(number as u8);
        }
        let full = arena.held_bytes();
        for &number in numbers.iter().filter(|number| *number % 3 != 0) {
            arena.release(number);
        }
        for _ in 0..20 {
            let number = arena.allocate();
            arena.get_mut(number).fill(0xEE);
        }
        for &number in numbers.iter().filter(|number| *number % 3 == 0) {
            assert!(arena.get(number).iter().all(|byte| *byte == number as u8));
        }
        assert_eq!(arena.live_bytes(), (34 + 20) << 14);
        assert_eq!(
            visited(&arena),
            34 + 20 - 1,
            "the first byte of slot 0 is 0"
        );
        let rest: Vec<u32> = numbers.into_iter().filter(|n| n % 3 == 0).collect();
        rest.into_iter().for_each(|number| arena.release(number));
        assert!(arena.held_bytes() < full / 2, "{}", arena.held_bytes());
    }

    /// Slots come and go at random, and now and then everything is moved out of the emptiest chunks:
    /// every slot keeps its bytes, and no more is held then than what is in use needs.
    #[test]
    fn what_lies_between_slots_in_use_is_given_back() {
        let mut random = StdRng::seed_from_u64(1);
        let mut arena = SlotArena::new(4_000, 32 << 10);
        let mut numbers: Vec<(u32, u8)> = Vec::new();
        for step in 0..200 {
            let count = random.random_range(0..200);
            for _ in 0..count {
                let (number, content) = (arena.allocate(), random.random_range(1..=255));
                arena.get_mut(number).fill(content);
                numbers.push((number, content));
            }
            for _ in 0..random.random_range(0..=numbers.len().min(200)) {
                let (number, _) = numbers.swap_remove(random.random_range(0..numbers.len()));
                arena.release(number);
            }
            if step % 3 == 0 {
                let (before, sparse) = (arena.held_bytes, arena.sparse_bytes());
                arena.close_sparse();
                while let Some(number) = arena.next_closed() {
                    let moved = arena.copy(number);
                    arena.release(number);
                    let mut all = numbers.iter_mut();
                    all.find(|(known, _)| *known == number).expect("in use").0 = moved;
                }
                assert_eq!(arena.held_bytes, before - sparse);
                assert_eq!(arena.sparse_bytes(), 0);
            }
            for (number, content) in &numbers {
                assert!(arena.get(*number).iter().all(|byte| byte == content));
            }
            assert_eq!(visited(&arena), numbers.len());
        }
    }

    /// Closed chunks from which nothing was moved are open again afterwards, and are filled.
    #[test]
    fn chunks_that_were_closed_are_filled_again() {
        let mut arena = SlotArena::new(1 << 14, 256 << 10);
        let numbers: Vec<u32> = (0..64).map(|_| arena.allocate()).collect();
        for number in &numbers {
            arena.get_mut(*number)[0] = 1;
        }
        numbers
            .iter()
            .filter(|number| *number % 2 == 0)
            .for_each(|number| arena.release(*number));
        let held = arena.held_bytes;
        arena.close_sparse();
        while arena.next_closed().is_some() {}
        for _ in 0..32 {
            arena.allocate();
        }
        assert_eq!((arena.held_bytes, arena.sparse_bytes()), (held, 0));
    }
}
