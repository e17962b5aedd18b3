//! The schema `hedgerow`: what the process tells of itself, as tables.
//!
//! A view is its columns and a function that reads the current state when a statement names
//! it. Views need no snapshot and work while the replica is catching up.

mod projections;

use std::sync::Arc;

use datafusion::arrow::array::{ArrayRef, Float64Array, Int64Array, RecordBatch, StringArray};
use datafusion::arrow::datatypes::{DataType, Field, Schema, SchemaRef};
use lsm::{StoreStats, TableStats};
use oltp::statistics::{PartitionStatistics, ProcedureStatistics, TableStatistics};
use replication::catalog::{TableEntry, TableState};
use replication::primary::Observation;
use replication::status::SourceStatus;

use crate::engine::Engine;
use crate::error::SqlError;

/// The schema's name.
pub(crate) const SCHEMA: &str = "hedgerow";

/// A view.
pub(crate) struct View {
    pub(crate) name: &'static str,
    columns: &'static [(&'static str, Kind)],
    rows: fn(&Engine) -> Vec<ArrayRef>,
}

#[derive(Clone, Copy)]
enum Kind {
    Text,
    Bigint,
    Double,
}

use Kind::{Bigint, Double, Text};

/// All views, by name.
pub(crate) const VIEWS: &[View] = &[
    View {
        name: "cache",
        columns: &[
            ("bytes", Bigint),
            ("hits", Bigint),
            ("misses", Bigint),
            ("pages_warmed", Bigint),
            ("warmed_pages_used", Bigint),
        ],
        rows: |engine| {
            let stats = engine.store.stats();
            numbers(&[
                stats.cache_bytes,
                stats.cache_hits,
                stats.cache_misses,
                stats.pages_warmed,
                stats.warmed_pages_used,
            ])
        },
    },
    View {
        name: "components",
        columns: &[
            ("schema", Text),
            ("table", Text),
            ("component", Text),
            ("runs", Bigint),
            ("segments", Bigint),
            ("versions", Bigint),
            ("bytes", Bigint),
        ],
        rows: components,
    },
    View {
        name: "memory",
        columns: &[
            ("bytes", Bigint),
            ("bytes_max", Bigint),
            ("query_bytes", Bigint),
            ("query_bytes_max", Bigint),
        ],
        rows: |engine| {
            let stats = engine.store.stats();
            let queries = engine.state.runtime_env().memory_pool.reserved() as u64;
            numbers(&[
                stats.memory_bytes,
                stats.memory_bytes_max,
                queries,
                engine.options.memory_bytes as u64,
            ])
        },
    },
    View {
        name: "merges",
        columns: &[
            ("running", Bigint),
            ("done", Bigint),
            ("bytes_flushed", Bigint),
            ("bytes_merged", Bigint),
        ],
        rows: |engine| {
            let stats = engine.store.stats();
            numbers(&[
                stats.merges_running,
                stats.merges_done,
                stats.bytes_flushed,
                stats.bytes_merged,
            ])
        },
    },
    View {
        name: "primary",
        columns: &[
            ("position", Text),
            ("calls_waiting", Bigint),
            ("memory_bytes", Bigint),
            ("memory_bytes_max", Bigint),
            ("eviction_stalls", Bigint),
            ("eviction_stall_us_max", Bigint),
            ("uneviction_stalls", Bigint),
            ("uneviction_stall_us_max", Bigint),
            ("snapshots", Bigint),
        ],
        rows: primary,
    },
    View {
        name: "primary_procedures",
        columns: &[
            ("name", Text),
            ("committed", Bigint),
            ("stopped", Bigint),
            ("restarts", Bigint),
        ],
        rows: primary_procedures,
    },
    View {
        name: "primary_tables",
        columns: &[
            ("name", Text),
            ("rows_in_memory", Bigint),
            ("rows_on_disk", Bigint),
            ("row_bytes", Bigint),
            ("disk_bytes", Bigint),
            ("index_bytes", Bigint),
            ("holes", Bigint),
            ("rows_evicted", Bigint),
            ("rows_returned", Bigint),
            ("blocks_written", Bigint),
            ("blocks_read", Bigint),
        ],
        rows: primary_tables,
    },
    View {
        name: "projections",
        columns: &[
            ("name", Text),
            ("schema", Text),
            ("table", Text),
            ("columns", Text),
            ("state", Text),
            ("reason", Text),
            ("since", Text),
            ("rows", Bigint),
            ("bytes", Bigint),
            ("bytes_in_memory", Bigint),
        ],
        rows: projections::rows,
    },
    View {
        name: "slots",
        columns: &[
            ("source", Text),
            ("name", Text),
            ("wal_status", Text),
            ("invalidation", Text),
            ("active", Text),
            ("retained_bytes", Bigint),
            ("safe_bytes", Bigint),
            ("alarm", Text),
            ("age_seconds", Double),
        ],
        rows: slots,
    },
    View {
        name: "snapshots",
        columns: &[
            ("visible", Text),
            ("durable", Text),
            ("live", Bigint),
            ("oldest", Text),
        ],
        rows: snapshots,
    },
    View {
        name: "sources",
        columns: &[
            ("name", Text),
            ("kind", Text),
            ("state", Text),
            ("reason", Text),
            ("sent", Text),
            ("received", Text),
            ("visible", Text),
            ("durable", Text),
            ("lag_bytes", Bigint),
            ("lag_seconds", Double),
            ("transactions", Bigint),
            ("rows", Bigint),
            ("warnings", Text),
            ("copy_tables_done", Bigint),
            ("copy_tables", Bigint),
            ("copy_rows", Bigint),
            ("copy_bytes", Bigint),
            ("copy_bytes_total", Bigint),
            ("copy_remaining_seconds", Double),
        ],
        rows: sources,
    },
    View {
        name: "tables",
        columns: &[
            ("schema", Text),
            ("name", Text),
            ("state", Text),
            ("reason", Text),
            ("stopped_at", Text),
            ("rows", Bigint),
            ("bytes", Bigint),
            ("bytes_in_memory", Bigint),
            ("components", Bigint),
        ],
        rows: tables,
    },
];

impl View {
    /// The view with this name.
    pub(crate) fn named(name: &str) -> Option<&'static Self> {
        VIEWS.iter().find(|view| view.name == name)
    }

    /// The view's columns.
    pub(crate) fn schema(&self) -> SchemaRef {
        let fields: Vec<Field> = self
            .columns
            .iter()
            .map(|(name, kind)| {
                let data_type = match kind {
                    Text => DataType::Utf8,
                    Bigint => DataType::Int64,
                    Double => DataType::Float64,
                };
                Field::new(*name, data_type, true)
            })
            .collect();
        Arc::new(Schema::new(fields))
    }

    /// The view's rows as of now.
    pub(crate) fn batch(&self, engine: &Engine) -> Result<RecordBatch, SqlError> {
        RecordBatch::try_new(self.schema(), (self.rows)(engine))
            .map_err(|error| SqlError::from_arrow(&error))
    }
}

fn text<T: ToString>(cells: impl Iterator<Item = T>) -> ArrayRef {
    Arc::new(StringArray::from_iter_values(
        cells.map(|cell| cell.to_string()),
    ))
}

fn optional_text(cells: impl Iterator<Item = Option<String>>) -> ArrayRef {
    Arc::new(cells.collect::<StringArray>())
}

fn bigint(cells: impl Iterator<Item = Option<u64>>) -> ArrayRef {
    let cells = cells.map(|cell| cell.map(|number| i64::try_from(number).unwrap_or(i64::MAX)));
    Arc::new(cells.collect::<Int64Array>())
}

fn double(cells: impl Iterator<Item = Option<f64>>) -> ArrayRef {
    Arc::new(cells.collect::<Float64Array>())
}

/// One row of numbers.
fn numbers(row: &[u64]) -> Vec<ArrayRef> {
    row.iter()
        .map(|&number| bigint(std::iter::once(Some(number))))
        .collect()
}

fn snapshots(engine: &Engine) -> Vec<ArrayRef> {
    let StoreStats {
        snapshots,
        oldest_snapshot,
        ..
    } = engine.store.stats();
    let oldest = (snapshots > 0).then(|| types::CommitPosition(oldest_snapshot).to_string());
    vec![
        text(std::iter::once(engine.store.visible())),
        text(std::iter::once(engine.store.durable().position)),
        bigint(std::iter::once(Some(snapshots))),
        optional_text(std::iter::once(oldest)),
    ]
}

fn sources(engine: &Engine) -> Vec<ArrayRef> {
    let sources = engine.status.sources();
    let each = || sources.iter();
    let copy = |number: fn(&replication::status::CopyProgress) -> u64| {
        bigint(each().map(move |source| source.copy.as_ref().map(number)))
    };
    let warnings = |source: &SourceStatus| match source.warnings.as_slice() {
        [] => None,
        warnings => Some(warnings.join("; ")),
    };
    vec![
        text(each().map(|source| &source.name)),
        text(each().map(|source| &source.kind)),
        text(each().map(|source| source.state.as_str())),
        optional_text(each().map(|source| source.reason.clone())),
        text(each().map(|source| source.sent)),
        text(each().map(|source| source.received)),
        text(each().map(|source| source.visible)),
        text(each().map(|source| source.durable)),
        bigint(each().map(|source| Some(source.lag_bytes))),
        double(each().map(|source| Some(source.lag_seconds))),
        bigint(each().map(|source| Some(source.transactions))),
        bigint(each().map(|source| Some(source.rows))),
        optional_text(each().map(warnings)),
        copy(|copy| copy.tables_done),
        copy(|copy| copy.tables),
        copy(|copy| copy.rows),
        copy(|copy| copy.bytes),
        copy(|copy| copy.bytes_total),
        double(each().map(|source| source.copy.as_ref().and_then(|copy| copy.remaining_seconds))),
    ]
}

/// How the built-in primary is: a row if that is the source.
fn primary(engine: &Engine) -> Vec<ArrayRef> {
    let primaries = primaries(engine);
    let each = || primaries.iter().map(|primary| &primary.statistics);
    let number = |of: fn(&PartitionStatistics) -> u64| bigint(each().map(move |one| Some(of(one))));
    let memory_max = |primary: &Observation| Some(primary.memory_bytes_max as u64);
    vec![
        text(each().map(|one| one.position)),
        number(|one| one.waiting as u64),
        number(|one| one.memory.held_bytes as u64),
        bigint(primaries.iter().map(memory_max)),
        number(|one| one.eviction_stalls.count),
        number(|one| one.eviction_stalls.longest_us),
        number(|one| one.uneviction_stalls.count),
        number(|one| one.uneviction_stalls.longest_us),
        number(|one| one.snapshots.completed),
    ]
}

/// The procedures of the built-in primary, and what became of their calls.
fn primary_procedures(engine: &Engine) -> Vec<ArrayRef> {
    let primaries = primaries(engine);
    // Arrays of text are made of iterators that know how long they are.
    let all = primaries.iter().flat_map(|one| &one.statistics.procedures);
    let all: Vec<&ProcedureStatistics> = all.collect();
    let each = || all.iter();
    let number = |of: fn(&ProcedureStatistics) -> u64| bigint(each().map(move |one| Some(of(one))));
    vec![
        text(each().map(|procedure| &procedure.name)),
        number(|procedure| procedure.committed),
        number(|procedure| procedure.stopped),
        number(|procedure| procedure.restarts),
    ]
}

/// The tables of the built-in primary, and where their rows are.
fn primary_tables(engine: &Engine) -> Vec<ArrayRef> {
    let primaries = primaries(engine);
    let all = primaries.iter().flat_map(|one| &one.statistics.tables);
    let all: Vec<&TableStatistics> = all.collect();
    let each = || all.iter();
    let number = |of: fn(&TableStatistics) -> u64| bigint(each().map(move |one| Some(of(one))));
    vec![
        text(each().map(|table| &table.name)),
        number(|table| table.rows_in_memory as u64),
        number(|table| table.rows_evicted as u64),
        number(|table| table.row_bytes as u64),
        number(|table| table.evicted_bytes),
        number(|table| table.index_bytes as u64),
        number(|table| table.holes),
        number(|table| table.traffic.evicted_rows),
        number(|table| table.traffic.returned_rows),
        number(|table| table.traffic.written_blocks),
        number(|table| table.traffic.read_blocks),
    ]
}

fn primaries(engine: &Engine) -> Vec<Observation> {
    let sources = engine.status.sources().into_iter();
    sources.filter_map(|source| source.primary).collect()
}

/// The slots that have been looked at.
fn slots(engine: &Engine) -> Vec<ArrayRef> {
    let (sources, now) = (engine.status.sources(), engine.status.now());
    let slots: Vec<_> = sources
        .iter()
        .filter_map(|source| Some((&source.name, source.slot.as_ref()?)))
        .collect();
    let each = || slots.iter().map(|(_, slot)| slot);
    vec![
        text(slots.iter().map(|(source, _)| source)),
        text(each().map(|slot| &slot.name)),
        optional_text(each().map(|slot| slot.wal_status.clone())),
        optional_text(each().map(|slot| slot.invalidation.clone())),
        text(each().map(|slot| slot.active)),
        bigint(each().map(|slot| Some(slot.retained_bytes))),
        bigint(each().map(|slot| slot.safe_bytes)),
        optional_text(each().map(|slot| slot.alarm.map(|alarm| alarm.as_str().to_owned()))),
        double(each().map(|slot| Some(now.saturating_sub(slot.seen_at).as_secs_f64()))),
    ]
}

/// Every table with what its tree tells.
fn tables_with_stats(engine: &Engine) -> Vec<(Arc<TableEntry>, Option<TableStats>)> {
    let tables = engine.catalog.tables();
    tables
        .into_iter()
        .map(|entry| (entry.clone(), engine.store.table_stats(entry.id)))
        .collect()
}

fn tables(engine: &Engine) -> Vec<ArrayRef> {
    let tables = tables_with_stats(engine);
    let each = || tables.iter();
    let state = |entry: &TableEntry| match entry.state {
        TableState::Copying => "copying",
        TableState::Live => "live",
        TableState::Stopped { .. } => "stopped",
    };
    let stopped = |entry: &TableEntry| match &entry.state {
        TableState::Stopped { position, reason } => {
            (Some(position.to_string()), Some(reason.clone()))
        }
        _ => (None, None),
    };
    let number =
        |of: fn(&TableStats) -> u64| bigint(each().map(move |(_, stats)| stats.as_ref().map(of)));
    vec![
        text(each().map(|(entry, _)| &entry.schema.name.schema)),
        text(each().map(|(entry, _)| &entry.schema.name.name)),
        text(each().map(|(entry, _)| state(entry))),
        optional_text(each().map(|(entry, _)| stopped(entry).1)),
        optional_text(each().map(|(entry, _)| stopped(entry).0)),
        number(|stats| stats.versions),
        number(|stats| stats.bytes_on_disk),
        number(|stats| stats.bytes_in_memory),
        number(|stats| {
            stats
                .components
                .iter()
                .filter(|component| component.runs > 0)
                .count() as u64
        }),
    ]
}

fn components(engine: &Engine) -> Vec<ArrayRef> {
    let tables = tables_with_stats(engine);
    let rows: Vec<_> = tables
        .iter()
        .flat_map(|(entry, stats)| {
            let components = stats.iter().flat_map(|stats| &stats.components);
            components.map(|component| (&entry.schema.name, component))
        })
        .collect();
    let each = || rows.iter();
    vec![
        text(each().map(|(name, _)| &name.schema)),
        text(each().map(|(name, _)| &name.name)),
        text(each().map(|(_, component)| &component.name)),
        bigint(each().map(|(_, component)| Some(component.runs as u64))),
        bigint(each().map(|(_, component)| Some(component.segments as u64))),
        bigint(each().map(|(_, component)| Some(component.versions))),
        bigint(each().map(|(_, component)| Some(component.bytes))),
    ]
}
