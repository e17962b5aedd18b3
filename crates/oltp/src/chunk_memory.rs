//! The memory of a chunk of slots.
//!
//! A large one is a mapping of its own, which goes back to the system at once. The allocator cuts allocations of less than
//! half a megabyte from pages of four, which it gives back when all that was in them is free: rows of 1 KB that came and went
//! in 450 MiB held 502 of it.

use memmap2::{Advice, MmapMut};

/// About so many bytes are allocated at a time where memory has no bound: a huge page, where there are such.
pub(crate) const CHUNK_BYTES_UNBOUND: usize = HUGE_PAGE_BYTES;

const HUGE_PAGE_BYTES: usize = 2 << 20;

/// Smaller ones are left to the allocator: a mapping is made of whole pages, and the system allows 65,530 of them.
const MAPPED_BYTES_MIN: usize = 64 << 10;

/// See the module.
pub(crate) enum ChunkMemory {
    Allocated(Box<[u8]>),
    Mapped(MmapMut),
}

impl ChunkMemory {
    /// So many zeros.
    ///
    /// # Panics
    /// When there is no memory.
    pub(crate) fn zeros(bytes: usize) -> Self {
        if bytes < MAPPED_BYTES_MIN {
            return Self::Allocated(vec![0; bytes].into_boxed_slice());
        }
        let mapped = MmapMut::map_anon(bytes);
        let mapped = mapped.unwrap_or_else(|error| panic!("no memory for rows: {error}"));
        if bytes >= HUGE_PAGE_BYTES {
            // Without it rows are found all the same.
            let _ = mapped.advise(Advice::HugePage);
        }
        Self::Mapped(mapped)
    }

    #[inline]
    pub(crate) fn bytes(&self) -> &[u8] {
        match self {
            Self::Allocated(bytes) => bytes,
            Self::Mapped(bytes) => bytes,
        }
    }

    #[inline]
    pub(crate) fn bytes_mut(&mut self) -> &mut [u8] {
        match self {
            Self::Allocated(bytes) => bytes,
            Self::Mapped(bytes) => bytes,
        }
    }
}

impl Default for ChunkMemory {
    /// None.
    fn default() -> Self {
        Self::Allocated(Box::default())
    }
}
