//! Edits: what one manifest commit changes, and their bytes.
//!
//! A whole state is written as an edit too, the one that makes it from nothing, so there is one
//! encoding. `docs/format/manifest.md` gives every byte.

use std::sync::Arc;

use types::key::SortKey;
use types::{CommitPosition, TableId, TableSchema};

use super::schema_fields::{put_schema, read_schema};
use super::state::{ManifestState, RunId, RunState};
use crate::byte_fields::{
    FieldReader, Malformed, put_bytes, put_count, put_key, put_u8, put_u32, put_u64,
};
use crate::segment::{SegmentId, SegmentInfo};

const CREATE_TABLE: u8 = 1;
const DROP_TABLE: u8 = 2;
const PUSH_RUN: u8 = 3;
const REPLACE_SEGMENTS: u8 = 4;
const TRUNCATE: u8 = 5;
const FORGET_TRUNCATIONS: u8 = 6;
const PUBLISH: u8 = 7;
const RAISE_NEXT_IDS: u8 = 8;
const RAISE_BOUNDS: u8 = 9;

/// A tag and at least a table.
const CHANGE_BYTES_MIN: usize = 5;

/// A segment and a key of at least five bytes.
const BOUND_BYTES_MIN: usize = 8 + 5;

/// One step of an edit.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Change {
    /// A new table without runs. Its id was never used before.
    CreateTable {
        /// The table.
        table: TableId,
        /// Its whole schema.
        schema: Arc<TableSchema>,
    },
    /// The table and its runs are gone.
    DropTable {
        /// The table.
        table: TableId,
    },
    /// A flush: a run newer than all others of its table.
    PushRun {
        /// The table.
        table: TableId,
        /// The run. Its id was never used before.
        run: RunState,
    },
    /// A merge or a move: segments leave the runs they are in, others enter `run`, all at once.
    /// A segment that moves without being rewritten is in both lists. Runs left empty vanish.
    ReplaceSegments {
        /// The table.
        table: TableId,
        /// Segments that leave, from any runs of the table.
        removed: Vec<SegmentId>,
        /// The run that takes the new segments; it exists before this edit (for a merge: the
        /// oldest input).
        run: RunId,
        /// Segments that enter, in any order; they overlap none that stays in `run`.
        added: Vec<SegmentInfo>,
    },
    /// A step of a merge: the versions of keys below a bound are elsewhere now, what the segment
    /// still has of them no longer counts.
    RaiseBounds {
        /// The table.
        table: TableId,
        /// Segments that stay in their runs, each with the first key that counts; above the bound
        /// that it had.
        bounds: Vec<(SegmentId, SortKey)>,
    },
    /// Versions older than `position` are invisible to snapshots at or after it.
    Truncate {
        /// The table.
        table: TableId,
        /// Position of the truncation.
        position: CommitPosition,
    },
    /// No run holds versions that truncations up to `position` hide: they need no longer be
    /// remembered.
    ForgetTruncations {
        /// The table.
        table: TableId,
        /// The last truncation to forget.
        position: CommitPosition,
    },
    /// The position that recovery restores, with the caller's metadata that belongs to it.
    Publish {
        /// The visible position.
        position: CommitPosition,
        /// The caller's metadata.
        metadata: Arc<[u8]>,
    },
    /// Ids below these were used. Needed only where a whole state is written: ids of what is
    /// gone must not come back.
    RaiseNextIds {
        /// Above every segment id ever committed.
        segment: SegmentId,
        /// Above every run id ever committed.
        run: RunId,
        /// Above every table id ever committed.
        table: TableId,
    },
}

/// What one commit changes: all of it or nothing. Applied in order.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Edit {
    /// The steps.
    pub changes: Vec<Change>,
}

impl Edit {
    /// The edit that makes `state` from nothing.
    pub(super) fn from_state(state: &ManifestState) -> Self {
        let mut changes = Vec::new();
        for (&table, tree) in &state.tables {
            changes.push(Change::CreateTable {
                table,
                schema: Arc::clone(&tree.schema),
            });
            let oldest_first = tree.runs.iter().rev();
            changes.extend(oldest_first.map(|run| Change::PushRun {
                table,
                run: run.clone(),
            }));
            let truncations = tree.truncations.iter();
            changes.extend(truncations.map(|&position| Change::Truncate { table, position }));
        }
        changes.push(Change::Publish {
            position: state.visible,
            metadata: Arc::clone(&state.metadata),
        });
        changes.push(Change::RaiseNextIds {
            segment: state.next_segment,
            run: state.next_run,
            table: state.next_table,
        });
        Self { changes }
    }

    /// Whether the edit names segments that it did not find in the state.
    pub(super) fn adds_segments(&self) -> bool {
        self.changes.iter().any(|change| match change {
            Change::PushRun { .. } => true,
            Change::ReplaceSegments { added, .. } => !added.is_empty(),
            _ => false,
        })
    }

    /// The edit's bytes.
    pub(super) fn encode(&self) -> Vec<u8> {
        let mut out = Vec::new();
        put_count(&mut out, self.changes.len());
        self.changes
            .iter()
            .for_each(|change| change.encode(&mut out));
        out
    }

    /// Reads an edit. `bytes` has passed its checksum.
    pub(super) fn decode(bytes: &[u8]) -> Result<Self, Malformed> {
        let mut fields = FieldReader::new(bytes);
        let count = fields.count(CHANGE_BYTES_MIN)?;
        let changes = (0..count)
            .map(|_| Change::decode(&mut fields))
            .collect::<Result<_, _>>()?;
        fields.finish()?;
        Ok(Self { changes })
    }
}

impl Change {
    fn encode(&self, out: &mut Vec<u8>) {
        match self {
            Self::CreateTable { table, schema } => {
                put_tag(out, CREATE_TABLE, *table);
                put_schema(out, schema);
            }
            Self::DropTable { table } => put_tag(out, DROP_TABLE, *table),
            Self::PushRun { table, run } => {
                put_tag(out, PUSH_RUN, *table);
                put_u64(out, run.id.0);
                put_segments(out, &run.segments);
                put_bounds(out, run.bounds.iter());
            }
            Self::ReplaceSegments {
                table,
                removed,
                run,
                added,
            } => {
                put_tag(out, REPLACE_SEGMENTS, *table);
                put_count(out, removed.len());
                removed.iter().for_each(|segment| put_u64(out, segment.0));
                put_u64(out, run.0);
                put_segments(out, added);
            }
            Self::RaiseBounds { table, bounds } => {
                put_tag(out, RAISE_BOUNDS, *table);
                put_bounds(out, bounds.iter().map(|(segment, key)| (segment, key)));
            }
            Self::Truncate { table, position } => {
                put_tag(out, TRUNCATE, *table);
                put_u64(out, position.0);
            }
            Self::ForgetTruncations { table, position } => {
                put_tag(out, FORGET_TRUNCATIONS, *table);
                put_u64(out, position.0);
            }
            Self::Publish { position, metadata } => {
                put_u8(out, PUBLISH);
                put_u64(out, position.0);
                put_bytes(out, metadata);
            }
            Self::RaiseNextIds {
                segment,
                run,
                table,
            } => {
                put_tag(out, RAISE_NEXT_IDS, *table);
                put_u64(out, segment.0);
                put_u64(out, run.0);
            }
        }
    }

    fn decode(fields: &mut FieldReader<'_>) -> Result<Self, Malformed> {
        let tag = fields.u8()?;
        if tag == PUBLISH {
            let position = CommitPosition(fields.u64()?);
            return Ok(Self::Publish {
                position,
                metadata: fields.bytes()?.into(),
            });
        }
        let table = TableId(fields.u32()?);
        match tag {
            CREATE_TABLE => Ok(Self::CreateTable {
                table,
                schema: Arc::new(read_schema(fields)?),
            }),
            DROP_TABLE => Ok(Self::DropTable { table }),
            PUSH_RUN => {
                let id = RunId(fields.u64()?);
                let segments = read_segments(fields, table)?;
                let bounds = read_bounds(fields)?.into_iter().collect();
                let run = RunState {
                    id,
                    segments,
                    bounds,
                };
                Ok(Self::PushRun { table, run })
            }
            REPLACE_SEGMENTS => {
                let count = fields.count(size_of::<u64>())?;
                let removed = (0..count).map(|_| Ok(SegmentId(fields.u64()?)));
                let removed = removed.collect::<Result<_, Malformed>>()?;
                let run = RunId(fields.u64()?);
                let added = read_segments(fields, table)?;
                Ok(Self::ReplaceSegments {
                    table,
                    removed,
                    run,
                    added,
                })
            }
            RAISE_BOUNDS => Ok(Self::RaiseBounds {
                table,
                bounds: read_bounds(fields)?,
            }),
            TRUNCATE => Ok(Self::Truncate {
                table,
                position: CommitPosition(fields.u64()?),
            }),
            FORGET_TRUNCATIONS => Ok(Self::ForgetTruncations {
                table,
                position: CommitPosition(fields.u64()?),
            }),
            RAISE_NEXT_IDS => {
                let segment = SegmentId(fields.u64()?);
                Ok(Self::RaiseNextIds {
                    segment,
                    run: RunId(fields.u64()?),
                    table,
                })
            }
            _ => Err(Malformed("unknown kind of change")),
        }
    }
}

fn put_tag(out: &mut Vec<u8>, tag: u8, table: TableId) {
    put_u8(out, tag);
    put_u32(out, table.0);
}

fn put_segments(out: &mut Vec<u8>, segments: &[SegmentInfo]) {
    put_count(out, segments.len());
    segments.iter().for_each(|segment| segment.encode(out));
}

fn read_segments(
    fields: &mut FieldReader<'_>,
    table: TableId,
) -> Result<Vec<SegmentInfo>, Malformed> {
    let count = fields.count(SegmentInfo::BYTES_MIN)?;
    (0..count)
        .map(|_| SegmentInfo::decode(fields, table))
        .collect()
}

fn put_bounds<'a>(
    out: &mut Vec<u8>,
    bounds: impl ExactSizeIterator<Item = (&'a SegmentId, &'a SortKey)>,
) {
    put_count(out, bounds.len());
    for (segment, key) in bounds {
        put_u64(out, segment.0);
        put_key(out, key);
    }
}

fn read_bounds(fields: &mut FieldReader<'_>) -> Result<Vec<(SegmentId, SortKey)>, Malformed> {
    let count = fields.count(BOUND_BYTES_MIN)?;
    (0..count)
        .map(|_| Ok((SegmentId(fields.u64()?), fields.key()?)))
        .collect()
}
