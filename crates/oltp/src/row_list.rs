//! Rows in an order, linked through their headers (Anti-Caching, section 3.1).
//!
//! A header is one byte of flags and links of 4 bytes: to the next younger row, and in a list that is linked both ways to
//! the next older one, too. A list that is linked one way saves 4 bytes a row and has to search for a row that leaves it;
//! it searches from the old end, where the link it needs is.
//!
//! Knows nothing of flags, or of what the order means.

use prefetch::prefetch;

use crate::pointer::TupleId;
use crate::slot_arena::SlotArena;

/// No row.
const NONE: u32 = u32::MAX;

const YOUNGER_AT: usize = 1;
const OLDER_AT: usize = 5;

/// How rows are linked.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Links {
    /// From old to young.
    OneWay,
    BothWays,
}

impl Links {
    /// Bytes of a row's header.
    pub(crate) fn header_bytes(self) -> usize {
        match self {
            Self::OneWay => YOUNGER_AT + 4,
            Self::BothWays => OLDER_AT + 4,
        }
    }
}

/// The ends of a list; see the module.
pub(crate) struct RowList {
    links: Links,
    oldest: u32,
    youngest: u32,
    rows: usize,
}

impl RowList {
    /// An empty list.
    pub(crate) fn new(links: Links) -> Self {
        Self {
            links,
            oldest: NONE,
            youngest: NONE,
            rows: 0,
        }
    }

    /// Its rows.
    pub(crate) fn len(&self) -> usize {
        self.rows
    }

    /// The row at the old end.
    pub(crate) fn oldest(&self) -> Option<TupleId> {
        named(self.oldest)
    }

    /// The row at the young end.
    pub(crate) fn youngest(&self) -> Option<TupleId> {
        named(self.youngest)
    }

    /// The row after this one.
    pub(crate) fn younger(&self, rows: &SlotArena, id: TupleId) -> Option<TupleId> {
        named(link(rows, id.0, YOUNGER_AT))
    }

    /// Adds a row at the young end.
    pub(crate) fn push_youngest(&mut self, rows: &mut SlotArena, id: TupleId) {
        let before = self.youngest;
        self.join(rows, before, id.0);
        self.join(rows, id.0, NONE);
        self.rows += 1;
    }

    /// Adds a row at the old end.
    pub(crate) fn push_oldest(&mut self, rows: &mut SlotArena, id: TupleId) {
        let after = self.oldest;
        self.join(rows, id.0, after);
        self.join(rows, NONE, id.0);
        self.rows += 1;
    }

    /// Takes a row out. It still knows the row after it.
    pub(crate) fn remove(&mut self, rows: &mut SlotArena, id: TupleId) {
        let older = match self.links {
            Links::BothWays => link(rows, id.0, OLDER_AT),
            Links::OneWay => self.search_older(rows, id.0),
        };
        let younger = link(rows, id.0, YOUNGER_AT);
        self.join(rows, older, younger);
        self.rows -= 1;
    }

    /// Puts a row, which has a copy of another one's header, in the place of that.
    ///
    /// # Panics
    /// In a list that is linked one way, which would have to be searched.
    pub(crate) fn replace(&mut self, rows: &mut SlotArena, new: TupleId) {
        assert!(self.links == Links::BothWays, "it is linked one way only");
        let older = link(rows, new.0, OLDER_AT);
        let younger = link(rows, new.0, YOUNGER_AT);
        self.join(rows, older, new.0);
        self.join(rows, new.0, younger);
    }

    /// Has the headers of a row's neighbours come into the cache: both are written when the row is moved.
    /// Without it that waits for memory twice, 0.1 us each among 2,000,000 rows.
    pub(crate) fn prefetch_neighbours(&self, rows: &SlotArena, id: TupleId) {
        for at in [OLDER_AT, YOUNGER_AT] {
            if let Some(neighbour) = named(link(rows, id.0, at)) {
                prefetch(rows.get(neighbour.0), Links::BothWays.header_bytes());
            }
        }
    }

    /// The row before this one, found from the old end on.
    fn search_older(&self, rows: &SlotArena, id: u32) -> u32 {
        let (mut older, mut at) = (NONE, self.oldest);
        while at != id {
            assert!(at != NONE, "the row is in the list");
            (older, at) = (at, link(rows, at, YOUNGER_AT));
        }
        older
    }

    /// Makes two rows neighbours; no row stands for the end.
    fn join(&mut self, rows: &mut SlotArena, older: u32, younger: u32) {
        match older {
            NONE => self.oldest = younger,
            older => set_link(rows, older, YOUNGER_AT, younger),
        }
        match younger {
            NONE => self.youngest = older,
            younger if self.links == Links::BothWays => set_link(rows, younger, OLDER_AT, older),
            _ => {}
        }
    }
}

fn named(id: u32) -> Option<TupleId> {
    (id != NONE).then_some(TupleId(id))
}

fn link(rows: &SlotArena, id: u32, at: usize) -> u32 {
    u32::from_le_bytes(rows.get(id)[at..at + 4].try_into().expect("four bytes"))
}

fn set_link(rows: &mut SlotArena, id: u32, at: usize, to: u32) {
    rows.get_mut(id)[at..at + 4].copy_from_slice(&to.to_le_bytes());
}
