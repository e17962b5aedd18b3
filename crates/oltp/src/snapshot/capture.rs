//! What a snapshot takes from one table, on the partition's thread.
//!
//! 1. The capture begins between two transactions: everything that is there is older from then on
//!    ([`crate::generation`]).
//! 2. It visits the slots of rows, then those of evicted entries, a slice at a time, and copies what is
//!    older. Slots do not move, so a number says how far it is.
//! 3. An older row that is to be changed, deleted or evicted, and an older entry that is to go, is
//!    copied at that moment, before it changes. What is copied is no longer older.
//!
//! So each row is copied once, as it was at the beginning, whatever runs meanwhile.

use crate::row_layout::{RowBytes, RowLayout};
use crate::slot_arena::Visit;
use crate::table::Table;
use crate::text_arena::TextNumber;

/// Slots that a slice looks at, at most.
const LOOKS_MAX: u32 = 1_024;

/// How far a capture is.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
enum Progress {
    /// The next slot of rows.
    Rows(u32),
    /// The next evicted entry.
    Evicted(u32),
    /// Nothing older is left.
    #[default]
    Done,
}

/// See the module. What was copied stays here until it is taken.
#[derive(Default)]
pub(crate) struct Capture {
    progress: Progress,
    is_discarded: bool,
    pub(crate) rows: Copied,
    pub(crate) evicted: Copied,
}

/// Copies end to end, as a chunk of the snapshot has them.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(crate) struct Copied {
    pub(crate) bytes: Vec<u8>,
    pub(crate) count: u32,
}

impl Capture {
    /// Bytes that were copied and not taken.
    pub(crate) fn held_bytes(&self) -> usize {
        self.rows.bytes.capacity() + self.evicted.bytes.capacity()
    }

    /// Copies no more: what is older is only made one of now.
    pub(crate) fn discard(&mut self) {
        self.is_discarded = true;
        (self.rows, self.evicted) = Default::default();
    }

    /// Whether nothing older is left.
    pub(crate) fn is_done(&self) -> bool {
        self.progress == Progress::Done
    }

    /// A row, as blocks have them.
    pub(crate) fn copy_row(&mut self, row: RowBytes<'_>, layout: &RowLayout) {
        if !self.is_discarded {
            append_row(row, layout, &mut self.rows.bytes);
            self.rows.count += 1;
        }
    }

    /// A slot of an evicted entry.
    pub(crate) fn copy_entry(&mut self, place: crate::evicted_entries::BlockPlace) {
        if !self.is_discarded {
            let out = &mut self.evicted.bytes;
            out.extend_from_slice(&place.block.0.to_le_bytes());
            out.extend_from_slice(&place.at.to_le_bytes());
            self.evicted.count += 1;
        }
    }
}

/// Appends a row as blocks and snapshots have it: bytes u32, body with text number 0, texts.
pub(crate) fn append_row(row: RowBytes<'_>, layout: &RowLayout, out: &mut Vec<u8>) {
    let length = (row.body.len() + row.text.len()) as u32;
    out.extend_from_slice(&length.to_le_bytes());
    let body = out.len();
    out.extend_from_slice(row.body);
    layout.set_text_number(&mut out[body..], TextNumber(0));
    out.extend_from_slice(row.text);
}

impl Table {
    /// Begins a capture of everything that is there. The one before must be done.
    pub(crate) fn begin_capture(&mut self) {
        assert!(self.capture.is_done(), "one snapshot at a time");
        self.begin_generation();
        self.capture = Capture {
            progress: Progress::Rows(0),
            ..Capture::default()
        };
    }

    /// Copies what is older, up to about so many bytes, or as far as a slice looks. Gives what is
    /// left of the bytes, or `None` when the slice has looked at enough.
    pub(crate) fn capture_slice(&mut self, bytes_max: usize) -> Option<usize> {
        let before = self.capture.rows.bytes.len() + self.capture.evicted.bytes.len();
        let mut looks = LOOKS_MAX;
        while !self.capture.is_done() {
            let copied = self.capture.rows.bytes.len() + self.capture.evicted.bytes.len() - before;
            if looks == 0 || copied >= bytes_max {
                return None;
            }
            looks -= self.capture_next(looks);
        }
        let copied = self.capture.rows.bytes.len() + self.capture.evicted.bytes.len() - before;
        Some(bytes_max.saturating_sub(copied)).filter(|left| *left > 0)
    }

    /// Goes to the next slot that is in use; gives about as many looks as that took.
    fn capture_next(&mut self, looks: u32) -> u32 {
        let (from, visit) = match self.capture.progress {
            Progress::Rows(from) => (from, self.next_row(from, looks)),
            Progress::Evicted(from) => (from, self.evicted.next(from, looks)),
            Progress::Done => return 0,
        };
        let is_rows = matches!(self.capture.progress, Progress::Rows(_));
        let at = |next| {
            if is_rows {
                Progress::Rows(next)
            } else {
                Progress::Evicted(next)
            }
        };
        let next = match visit {
            Visit::Used(number) if is_rows => {
                self.capture_row(crate::pointer::TupleId(number));
                number + 1
            }
            Visit::Used(number) => {
                self.capture_entry(crate::pointer::EvictedId(number));
                number + 1
            }
            Visit::GoOnAt(number) => number,
            Visit::End => {
                self.capture.progress = if is_rows {
                    Progress::Evicted(0)
                } else {
                    Progress::Done
                };
                return 0;
            }
        };
        self.capture.progress = at(next);
        (next - from).clamp(1, looks)
    }
}
