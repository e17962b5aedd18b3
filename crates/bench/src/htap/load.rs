//! The rows that a source begins with, as lines of COPY, a warehouse at a time.

use std::collections::BTreeMap;

use anyhow::Result;
use contender::tpcc::rows::{Row, Time};
use contender::tpcc::{Scale as Rows, load};

use super::row_text::{self, TABLES};
use super::suppliers;

/// 2026-01-01: orders and customers that are there from the beginning.
const LOADED_AT: Time = 1_767_225_600_000_000;

/// Calls `put` with the name of a table and lines of it, for all rows.
pub fn each_part(rows: Rows, put: &mut impl FnMut(&str, &str) -> Result<()>) -> Result<()> {
    for (table, lines) in suppliers::tables() {
        put(table, &lines)?;
    }
    let mut lines = Lines::default();
    load::items(&rows, &mut |row| lines.add(&row))?;
    lines.put(put)?;
    for warehouse in 1..=rows.warehouses {
        load::warehouse(&rows, warehouse, LOADED_AT, &mut |row| lines.add(&row))?;
        lines.put(put)?;
    }
    Ok(())
}

/// Lines that are to be loaded, by table.
#[derive(Default)]
struct Lines(BTreeMap<&'static str, String>);

impl Lines {
    fn add(&mut self, row: &Row) -> Result<()> {
        let lines = self.0.entry(row_text::table_of(row)).or_default();
        row_text::append(row, lines);
        Ok(())
    }

    fn put(&mut self, put: &mut impl FnMut(&str, &str) -> Result<()>) -> Result<()> {
        for table in TABLES {
            let lines = self.0.remove(table).unwrap_or_default();
            if !lines.is_empty() {
                put(table, &lines)?;
            }
        }
        Ok(())
    }
}
