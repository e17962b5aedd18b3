//! Where an index entry leads: to a row in memory or to an evicted one, in 4 bytes.

/// Numbers of rows in memory, and of evicted ones, stay below this: one bit of a pointer tells them
/// apart.
pub(crate) const NUMBERS_MAX: u32 = 1 << 31;

/// Numbers a row in memory, within its table and partition. Comes again after the row is gone.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct TupleId(pub(crate) u32);

/// Numbers an evicted row, within its table and partition. Comes again after the row is gone.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub(crate) struct EvictedId(pub(crate) u32);

/// What an index entry holds.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub(crate) struct Pointer(u32);

/// A pointer, taken apart.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Target {
    Memory(TupleId),
    Evicted(EvictedId),
}

impl Pointer {
    #[inline]
    pub(crate) fn target(self) -> Target {
        if self.0 < NUMBERS_MAX {
            Target::Memory(TupleId(self.0))
        } else {
            Target::Evicted(EvictedId(self.0 - NUMBERS_MAX))
        }
    }
}

impl From<TupleId> for Pointer {
    #[inline]
    fn from(id: TupleId) -> Self {
        debug_assert!(id.0 < NUMBERS_MAX);
        Self(id.0)
    }
}

impl From<EvictedId> for Pointer {
    fn from(id: EvictedId) -> Self {
        debug_assert!(id.0 < NUMBERS_MAX);
        Self(id.0 + NUMBERS_MAX)
    }
}
