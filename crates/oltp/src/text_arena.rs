//! The texts of rows: one piece of memory a row, of about the size that it needs.
//!
//! Sizes fall into classes, eight to each doubling, so that at most an eighth is lost; a class is a
//! [`SlotArena`]. Whoever holds a number also knows the length, and the length names the class.

use crate::slot_arena::SlotArena;

/// A row's texts together have at most so many bytes.
pub const TEXT_BYTES_MAX: usize = u16::MAX as usize;

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
}

/// The class of a length, and its size.
fn class_of(length: usize) -> (usize, usize) {
    debug_assert!((1..=TEXT_BYTES_MAX).contains(&length));
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
        }
    }

    /// Keeps a copy of the text; an empty one takes nothing.
    pub(crate) fn insert(&mut self, text: &[u8]) -> TextNumber {
        if text.is_empty() {
            return TextNumber(0);
        }
        let (class, size) = class_of(text.len());
        if self.classes.len() <= class {
            self.classes.resize_with(class + 1, || None);
        }
        let new = || SlotArena::new(size, self.chunk_bytes);
        let arena = self.classes[class].get_or_insert_with(new);
        let number = arena.allocate();
        arena.get_mut(number)[..text.len()].copy_from_slice(text);
        self.live_bytes += size;
        TextNumber(number)
    }

    /// Frees a text of this length.
    pub(crate) fn remove(&mut self, number: TextNumber, length: usize) {
        if length > 0 {
            let (class, size) = class_of(length);
            self.class_mut(class).release(number.0);
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
        &arena.expect("a text has a class").get(number.0)[..length]
    }

    /// The text, to write over.
    pub(crate) fn get_mut(&mut self, number: TextNumber, length: usize) -> &mut [u8] {
        if length == 0 {
            return &mut [];
        }
        &mut self.class_mut(class_of(length).0).get_mut(number.0)[..length]
    }

    /// Bytes in use, each text as large as its class.
    pub(crate) fn live_bytes(&self) -> usize {
        self.live_bytes
    }

    /// Bytes that were allocated.
    pub(crate) fn held_bytes(&self) -> usize {
        let classes = self.classes.iter().flatten().map(SlotArena::held_bytes);
        classes.sum::<usize>() + self.classes.capacity() * size_of::<Option<SlotArena>>()
    }

    /// Bytes that would be given back if the texts of each class lay as closely as can be.
    pub(crate) fn sparse_bytes(&self) -> usize {
        let classes = self.classes.iter().flatten().map(SlotArena::sparse_bytes);
        classes.sum()
    }

    /// See [`SlotArena::close_sparse`].
    pub(crate) fn close_sparse(&mut self) {
        self.each_class(SlotArena::close_sparse);
    }

    /// See [`SlotArena::open_closed`].
    pub(crate) fn open_closed(&mut self) {
        self.each_class(SlotArena::open_closed);
    }

    /// Moves a text out of a closed chunk; `None` when it is in none.
    pub(crate) fn leave_closed(&mut self, number: TextNumber, length: usize) -> Option<TextNumber> {
        if length == 0 {
            return None;
        }
        let arena = self.class_mut(class_of(length).0);
        if !arena.is_closed(number.0) {
            return None;
        }
        let moved = arena.copy(number.0);
        arena.release(number.0);
        Some(TextNumber(moved))
    }

    fn each_class(&mut self, change: impl FnMut(&mut SlotArena)) {
        self.classes.iter_mut().flatten().for_each(change);
    }

    fn class_mut(&mut self, class: usize) -> &mut SlotArena {
        self.classes[class].as_mut().expect("a text has a class")
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn classes_grow_without_gaps_and_waste_an_eighth_at_most() {
        let mut before = (0, 0);
        for length in 1..=TEXT_BYTES_MAX {
            let (class, size) = class_of(length);
            assert!(size >= length);
            assert!(
                size - length < STEP_BYTES.max(length / 8 + 1),
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
