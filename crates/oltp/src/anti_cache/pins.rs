//! Rows that were fetched for a waiting transaction stay until it has run.
//!
//! Several transactions may wait for one row. A row that another transaction deletes meanwhile loses
//! its pins, and its number may come again; so each pin knows which row it was for.

use std::collections::HashMap;

use crate::pointer::TupleId;
use crate::schema::TableNumber;
use crate::table::Table;

/// A row is kept.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Pin {
    table: TableNumber,
    id: TupleId,
    serial: u64,
}

/// The pins of a partition.
#[derive(Default)]
pub(crate) struct Pins {
    /// How many wait for the row, and the serial number of its pins.
    rows: HashMap<(TableNumber, TupleId), (u32, u64)>,
    next_serial: u64,
}

impl Pins {
    /// Keeps a row.
    pub(crate) fn pin(&mut self, table: &mut Table, id: TupleId) -> Pin {
        let next_serial = &mut self.next_serial;
        let (count, serial) = self.rows.entry((table.number, id)).or_insert_with(|| {
            *next_serial += 1;
            (0, *next_serial)
        });
        *count += 1;
        table.set_pinned(id, true);
        Pin {
            table: table.number,
            id,
            serial: *serial,
        }
    }

    /// A transaction has run.
    pub(crate) fn unpin(&mut self, tables: &mut [Table], pin: Pin) {
        let row = (pin.table, pin.id);
        let Some((count, serial)) = self.rows.get_mut(&row) else {
            return;
        };
        if *serial != pin.serial {
            return;
        }
        *count -= 1;
        if *count == 0 {
            self.rows.remove(&row);
            tables[usize::from(pin.table.0)].set_pinned(pin.id, false);
        }
    }

    /// A row is gone for good.
    pub(crate) fn forget(&mut self, table: TableNumber, id: TupleId) {
        self.rows.remove(&(table, id));
    }

    /// Bytes that they take, within a few.
    pub(crate) fn held_bytes(&self) -> usize {
        self.rows.capacity() * size_of::<((TableNumber, TupleId), (u32, u64))>()
    }
}
