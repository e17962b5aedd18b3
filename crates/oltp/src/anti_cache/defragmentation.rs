//! Defragmentation: memory between rows that are in use is given back.
//!
//! The coldest rows lie anywhere. What they leave behind fits rows and texts of their own size only: when
//! others come instead, chunks stay allocated that are in use in part.
//!
//! 1. The table with the most to give back is chosen, and its emptiest chunks are closed, those of rows and of each size of
//!    texts: as many as the others have room for.
//! 2. All rows of the table are visited, a slice between two calls, and those that lie in closed chunks, or their
//!    texts, move to open ones. A chunk that has become empty is given back.
//! 3. In the end what is left of closed chunks (rows that are kept for waiting transactions) is opened.
//!
//! A row that moves costs as much as one that goes to disk, and frees as much; the visit costs a look at every row of the table.
//! So it should not begin before there is something to gain.

use crate::pointer::TupleId;
use crate::slot_arena::Visit;
use crate::table::Table;

/// Slots that a slice looks at: a tenth of a millisecond.
const LOOKS_MAX: u32 = 4_096;

/// Where the visit is.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct Defragmentation {
    visit: Option<Place>,
}

#[derive(Clone, Copy, Debug)]
struct Place {
    table: usize,
    from: u32,
}

impl Defragmentation {
    /// Whether a table is being visited.
    pub(crate) fn is_running(self) -> bool {
        self.visit.is_some()
    }

    /// Begins with the table that has most to give back, if that is so much at least.
    pub(crate) fn begin(&mut self, tables: &mut [Table], bytes_min: usize) -> bool {
        let sizes = tables.iter().map(Table::sparse_bytes).enumerate();
        let Some((table, bytes)) = sizes.max_by_key(|(_, bytes)| *bytes) else {
            return false;
        };
        if bytes < bytes_min.max(1) {
            return false;
        }
        tables[table].close_sparse();
        self.visit = Some(Place { table, from: 0 });
        true
    }

    /// Goes on with the visit until so many rows have moved, or for one slice. Returns how many have.
    pub(crate) fn advance(&mut self, tables: &mut [Table], moves_max: u64) -> u64 {
        let Some(mut place) = self.visit.take() else {
            return 0;
        };
        let table = &mut tables[place.table];
        let (mut looks, mut moves) = (0, 0);
        while looks < LOOKS_MAX && moves < moves_max {
            match table.next_row(place.from, LOOKS_MAX - looks) {
                Visit::Used(number) => {
                    looks += (number - place.from).min(LOOKS_MAX) + 1;
                    place.from = number + 1;
                    moves += u64::from(table.leave_closed(TupleId(number)));
                }
                Visit::GoOnAt(number) => {
                    place.from = number;
                    break;
                }
                Visit::End => {
                    table.open_closed();
                    return moves;
                }
            }
        }
        self.visit = Some(place);
        moves
    }
}
