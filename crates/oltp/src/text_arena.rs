//! The texts of rows: one piece of memory a row, of about the size that it needs.
//!
//! Sizes fall into classes, eight to each doubling, so that at most an eighth is lost; a class is a
//! [`SlotArena`]. Whoever holds a number also knows the length, and the length names the class. Before each text stands
//! whose it is, so that texts can be moved out of closed chunks.

use crate::pointer::TupleId;
use crate::slot_arena::SlotArena;

/// A row's texts together have at most so many bytes.
pub const TEXT_BYTES_MAX: usize = u16::MAX as usize;

/// A byte that is not 0, and the number of the text's row.
const OWNER_BYTES: usize = 1 + size_of::<u32>();

/// Up to here classes are this far apart.
const STEP_BYTES: usize = 16;
const LINEAR_BYTES: usize = 8 * STEP_BYTES;

/// Names a piece of memory, together with its length.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct TextNumber(pub(crate) u32);

/// See the module.
pub(crate) struct TextArena {
    classes: Vec<Option<SlotArena>>,
    chunk_bytes: usize,
    live_bytes: usize,
    held_bytes: usize,
    /// Classes before this one have no closed chunks.
    closed_from: usize,
}

/// The class of a text of this length, and its size.
fn class_of(length: usize) -> (usize, usize) {
    debug_assert!((1..=TEXT_BYTES_MAX).contains(&length));
    let length = length + OWNER_BYTES;
    if length <= LINEAR_BYTES {
        let class = (length - 1) / STEP_BYTES;
        return (class, (class + 1) * STEP_BYTES);
    }
    let doubling = (length - 1).ilog2() as usize;
    let step = 1 << (doubling - 3);
    let in_doubling = (length - 1 - (1 << doubling)) / step;
    let first = LINEAR_BYTES.ilog2() as usize;
    let class = 8 + (doubling - first) * 8 + in_doubling;
    (class, (1 << doubling) + (in_doubling + 1) * step)
}

impl TextArena {
    /// No texts; memory comes in chunks of about so many bytes.
    pub(crate) fn new(chunk_bytes: usize) -> Self {
        Self {
            classes: Vec::new(),
            chunk_bytes,
            live_bytes: 0,
            held_bytes: 0,
            closed_from: 0,
        }
    }

    /// Keeps a copy of a row's text; an empty one takes nothing.
    pub(crate) fn insert(&mut self, text: &[u8], owner: TupleId) -> TextNumber {
        if text.is_empty() {
            return TextNumber(0);
        }
        let (class, size) = class_of(text.len());
        if self.classes.len() <= class {
            self.classes.resize_with(class + 1, || None);
        }
        let new = || SlotArena::new(size, self.chunk_bytes);
        self.classes[class].get_or_insert_with(new);
        let number = self.change_class(class, |arena| {
            let number = arena.allocate();
            let slot = arena.get_mut(number);
            set_owner(slot, owner);
            slot[OWNER_BYTES..][..text.len()].copy_from_slice(text);
            number
        });
        self.live_bytes += size;
        TextNumber(number)
    }

    /// Frees a text of this length.
    pub(crate) fn remove(&mut self, number: TextNumber, length: usize) {
        if length > 0 {
            let (class, size) = class_of(length);
            self.change_class(class, |arena| arena.release(number.0));
            self.live_bytes -= size;
        }
    }

    /// The text.
    #[inline]
    pub(crate) fn get(&self, number: TextNumber, length: usize) -> &[u8] {
        if length == 0 {
            return &[];
        }
        let arena = self.classes[class_of(length).0].as_ref();
        let slot = arena.expect("a text has a class").get(number.0);
        &slot[OWNER_BYTES..][..length]
    }

    /// The text, to write over.
    pub(crate) fn get_mut(&mut self, number: TextNumber, length: usize) -> &mut [u8] {
        if length == 0 {
            return &mut [];
        }
        &mut self.slot_mut(number, length)[OWNER_BYTES..][..length]
    }

    /// The text is another row's from now on.
    pub(crate) fn set_owner(&mut self, number: TextNumber, length: usize, owner: TupleId) {
        if length > 0 {
            set_owner(self.slot_mut(number, length), owner);
        }
    }

    /// Bytes in use, each text as large as its class.
    pub(crate) fn live_bytes(&self) -> usize {
        self.live_bytes
    }

    /// Bytes that were allocated.
    pub(crate) fn held_bytes(&self) -> usize {
        self.held_bytes + self.classes.capacity() * size_of::<Option<SlotArena>>()
    }

    /// Bytes that would be given back if the texts of each class lay as closely as can be.
    pub(crate) fn sparse_bytes(&self) -> usize {
        let classes = self.classes.iter().flatten().map(SlotArena::sparse_bytes);
        classes.sum()
    }

    /// See [`SlotArena::close_sparse`].
    pub(crate) fn close_sparse(&mut self) {
        for class in 0..self.classes.len() {
            if self.classes[class].is_some() {
                self.change_class(class, SlotArena::close_sparse);
            }
        }
        self.closed_from = 0;
    }

    /// Moves the next text out of a closed chunk. Gives its new number, whose it is, and the bytes that it takes.
    pub(crate) fn leave_closed(&mut self) -> Option<(TextNumber, TupleId, usize)> {
        for class in self.closed_from..self.classes.len() {
            self.closed_from = class;
            if self.classes[class].is_none() {
                continue;
            }
            let moved = self.change_class(class, |arena| {
                let number = arena.next_closed()?;
                let moved = arena.copy(number);
                arena.release(number);
                let slot = arena.get(moved);
                Some((TextNumber(moved), owner(slot), slot.len()))
            });
            if moved.is_some() {
                return moved;
            }
        }
        None
    }

    /// Changes the texts of a class, and counts what it holds.
    fn change_class<R>(&mut self, class: usize, change: impl FnOnce(&mut SlotArena) -> R) -> R {
        let arena = self.classes[class].as_mut().expect("a text has a class");
        let before = arena.held_bytes();
        let result = change(arena);
        self.held_bytes = self.held_bytes + arena.held_bytes() - before;
        result
    }

    fn slot_mut(&mut self, number: TextNumber, length: usize) -> &mut [u8] {
        let class = self.classes[class_of(length).0].as_mut();
        class.expect("a text has a class").get_mut(number.0)
    }
}

fn set_owner(slot: &mut [u8], owner: TupleId) {
    slot[0] = 1;
    slot[1..OWNER_BYTES].copy_from_slice(&owner.0.to_le_bytes());
}

fn owner(slot: &[u8]) -> TupleId {
    TupleId(u32::from_le_bytes(
        slot[1..OWNER_BYTES].try_into().expect("four bytes"),
    ))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn classes_grow_without_gaps_and_waste_an_eighth_at_most() {
        let mut before = (0, 0);
        for length in 1..=TEXT_BYTES_MAX {
            let (class, size) = class_of(length);
            let needed = length + OWNER_BYTES;
            assert!(size >= needed);
            assert!(
                size - needed < STEP_BYTES.max(needed / 8 + 1),
                "{length}: {size}"
            );
            if (class, size) != before {
                assert!(class == 0 || class == before.0 + 1, "{length}");
                assert!(size > before.1);
            }
            before = (class, size);
        }
    }
}
