//! Metrics in Prometheus' text format, version 0.0.4.
//!
//! Names end in their unit; what only grows ends in `_total`.

use std::fmt::Write;

use replication::primary::Observation;
use replication::slot_status::{SlotAlarm, SlotStatus};

use super::facts::Facts;

/// The format's media type.
pub const MEDIA_TYPE: &str = "text/plain; version=0.0.4; charset=utf-8";

/// A metric's samples: labels (without braces) and value.
type Samples = Vec<(String, f64)>;

/// Tells a number of the primary.
type OfPrimary = fn(&Observation) -> u64;

#[derive(Clone, Copy)]
enum Kind {
    Gauge,
    Counter,
}

/// All metrics.
pub fn render(facts: &Facts) -> String {
    let mut out = String::new();
    sources(facts, &mut out);
    slots(facts, &mut out);
    primary(facts, &mut out);
    store(facts, &mut out);
    tables(facts, &mut out);
    out
}

fn sources(facts: &Facts, out: &mut String) {
    let each = |value: fn(&replication::status::SourceStatus) -> f64| -> Samples {
        let sources = facts.sources.iter();
        sources
            .map(|source| (label("source", &source.name), value(source)))
            .collect()
    };
    let state = facts.sources.iter().map(|source| {
        let labels = format!(
            "{},{}",
            label("source", &source.name),
            label("state", source.state.as_str())
        );
        (labels, 1.0)
    });
    let help = "What a source is doing: 1 for its state.";
    metric(
        "hedgerow_source_state",
        help,
        Kind::Gauge,
        state.collect(),
        out,
    );
    let ladder = facts.sources.iter().flat_map(|source| {
        let steps = [
            ("sent", source.sent),
            ("received", source.received),
            ("visible", source.visible),
            ("durable", source.durable),
        ];
        steps.map(|(step, position)| {
            let labels = format!("{},{}", label("source", &source.name), label("step", step));
            (labels, float(position.0))
        })
    });
    let help = "How far the source's log has come, as a byte in it.";
    metric(
        "hedgerow_source_position_bytes",
        help,
        Kind::Gauge,
        ladder.collect(),
        out,
    );
    let help = "Log between what the source has told of and what is visible.";
    let lag = each(|source| float(source.lag_bytes));
    metric("hedgerow_source_lag_bytes", help, Kind::Gauge, lag, out);
    let help = "Age of the oldest change known not to be visible.";
    let lag = each(|source| source.lag_seconds);
    metric("hedgerow_source_lag_seconds", help, Kind::Gauge, lag, out);
    let help = "Transactions applied since the start.";
    let count = each(|source| float(source.transactions));
    metric(
        "hedgerow_transactions_total",
        help,
        Kind::Counter,
        count,
        out,
    );
    let help = "Row changes applied since the start.";
    let count = each(|source| float(source.rows));
    metric(
        "hedgerow_row_changes_total",
        help,
        Kind::Counter,
        count,
        out,
    );
}

/// The built-in primary.
fn primary(facts: &Facts, out: &mut String) {
    let primaries: Vec<_> = facts
        .sources
        .iter()
        .filter_map(|source| Some((label("source", &source.name), source.primary.as_ref()?)))
        .collect();
    let each = |value: OfPrimary| -> Samples {
        let samples = primaries.iter();
        samples
            .map(|(labels, primary)| (labels.clone(), float(value(primary))))
            .collect()
    };
    let gauges: [(&str, &str, OfPrimary); 2] = [
        (
            "hedgerow_primary_memory_bytes",
            "Memory that the primary has allocated: rows, indexes and bookkeeping.",
            |primary| primary.statistics.memory.held_bytes as u64,
        ),
        (
            "hedgerow_primary_memory_max_bytes",
            "Memory that the primary may use.",
            |primary| primary.memory_bytes_max as u64,
        ),
    ];
    for (name, help, value) in gauges {
        metric(name, help, Kind::Gauge, each(value), out);
    }
    let counters: [(&str, &str, OfPrimary); 4] = [
        (
            "hedgerow_primary_restarts_total",
            "Runs of calls that met rows on disk, after which the calls ran again.",
            |primary| primary.statistics.anti_cache.restarts,
        ),
        (
            "hedgerow_primary_stalls_total",
            "Times that calls waited more than 1 ms while rows were evicted or came back.",
            |primary| {
                let statistics = &primary.statistics;
                statistics.eviction_stalls.longer_than_1_ms
                    + statistics.uneviction_stalls.longer_than_1_ms
            },
        ),
        (
            "hedgerow_primary_rows_evicted_total",
            "Rows that went to disk.",
            |primary| primary.statistics.anti_cache.evicted_rows,
        ),
        (
            "hedgerow_primary_rows_returned_total",
            "Rows that came back from disk.",
            |primary| primary.statistics.anti_cache.returned_rows,
        ),
    ];
    for (name, help, value) in counters {
        metric(name, help, Kind::Counter, each(value), out);
    }
    let of_tables = primaries.iter().flat_map(|(labels, primary)| {
        primary.statistics.tables.iter().flat_map(move |table| {
            let places = [
                ("memory", table.rows_in_memory),
                ("disk", table.rows_evicted),
            ];
            places.map(|(place, rows)| {
                let table = label("table", &table.name);
                let labels = format!("{labels},{table},{}", label("place", place));
                (labels, float(rows as u64))
            })
        })
    });
    let calls = primaries.iter().flat_map(|(labels, primary)| {
        primary.statistics.procedures.iter().flat_map(move |one| {
            let ends = [("committed", one.committed), ("stopped", one.stopped)];
            ends.map(|(end, calls)| {
                let procedure = label("procedure", &one.name);
                let labels = format!("{labels},{procedure},{}", label("end", end));
                (labels, float(calls))
            })
        })
    });
    let help = "Calls of the primary's procedures, by how they ended.";
    let name = "hedgerow_primary_calls_total";
    metric(name, help, Kind::Counter, calls.collect(), out);
    let help = "Rows of the primary's tables, by where they are.";
    metric(
        "hedgerow_primary_rows",
        help,
        Kind::Gauge,
        of_tables.collect(),
        out,
    );
}

/// The sources' sides of our slots.
fn slots(facts: &Facts, out: &mut String) {
    let slots: Vec<_> = facts
        .sources
        .iter()
        .filter_map(|source| Some((label("source", &source.name), source.slot.as_ref()?)))
        .collect();
    let each = |value: fn(&SlotStatus) -> Option<u64>| -> Samples {
        let samples = slots.iter();
        samples
            .filter_map(|(labels, slot)| Some((labels.clone(), float(value(slot)?))))
            .collect()
    };
    let help = "Log that the source keeps for our slot.";
    let bytes = each(|slot| Some(slot.retained_bytes));
    metric(
        "hedgerow_slot_retained_bytes",
        help,
        Kind::Gauge,
        bytes,
        out,
    );
    let help = "Log that may still be written before the slot can be lost, where there is a limit.";
    let bytes = each(|slot| slot.safe_bytes);
    metric("hedgerow_slot_safe_bytes", help, Kind::Gauge, bytes, out);
    let alarms = slots.iter().flat_map(|(labels, slot)| {
        SlotAlarm::ALL.map(|alarm| {
            let labels = format!("{labels},{}", label("alarm", alarm.as_str()));
            (labels, f64::from(u8::from(slot.alarm == Some(alarm))))
        })
    });
    let help = "Whether something is wrong with our slot: 1 for the alarm that is raised.";
    metric(
        "hedgerow_slot_alarm",
        help,
        Kind::Gauge,
        alarms.collect(),
        out,
    );
}

fn store(facts: &Facts, out: &mut String) {
    use Kind::{Counter, Gauge};
    let store = &facts.store;
    let all: [(&str, &str, Kind, u64); 18] = [
        (
            "hedgerow_c0_bytes",
            "Changes in memory.",
            Gauge,
            store.memory_bytes,
        ),
        (
            "hedgerow_c0_bytes_max",
            "What they may take.",
            Gauge,
            store.memory_bytes_max,
        ),
        (
            "hedgerow_page_cache_bytes",
            "Pages in memory.",
            Gauge,
            store.cache_bytes,
        ),
        (
            "hedgerow_filter_bytes",
            "Filters in memory.",
            Gauge,
            store.filter_bytes,
        ),
        (
            "hedgerow_page_cache_hits_total",
            "Pages found in memory.",
            Counter,
            store.cache_hits,
        ),
        (
            "hedgerow_page_cache_misses_total",
            "Pages read from disk.",
            Counter,
            store.cache_misses,
        ),
        (
            "hedgerow_pages_warmed_total",
            "Pages that entered memory when a flush or merge wrote them.",
            Counter,
            store.pages_warmed,
        ),
        (
            "hedgerow_warmed_pages_used_total",
            "Those of them that were asked for while they were there.",
            Counter,
            store.warmed_pages_used,
        ),
        (
            "hedgerow_merges_running",
            "Merges under way.",
            Gauge,
            store.merges_running,
        ),
        (
            "hedgerow_merges_total",
            "Merges completed.",
            Counter,
            store.merges_done,
        ),
        (
            "hedgerow_flushed_bytes_total",
            "Bytes that flushes wrote.",
            Counter,
            store.bytes_flushed,
        ),
        (
            "hedgerow_merged_bytes_total",
            "Bytes that merges wrote.",
            Counter,
            store.bytes_merged,
        ),
        (
            "hedgerow_lookups_total",
            "Keys looked up.",
            Counter,
            store.lookups,
        ),
        (
            "hedgerow_lookup_pages_total",
            "Pages that look-ups opened.",
            Counter,
            store.lookup_pages,
        ),
        (
            "hedgerow_filter_negatives_total",
            "Segments that a filter spared a look-up.",
            Counter,
            store.filter_negatives,
        ),
        (
            "hedgerow_filter_errors_total",
            "Pages that a filter let a look-up read in vain.",
            Counter,
            store.filter_errors,
        ),
        (
            "hedgerow_snapshots",
            "Live snapshots.",
            Gauge,
            store.snapshots,
        ),
        (
            "hedgerow_oldest_snapshot_position_bytes",
            "The oldest live snapshot's position; 0 without one.",
            Gauge,
            store.oldest_snapshot,
        ),
    ];
    for (name, help, kind, value) in all {
        metric(name, help, kind, vec![(String::new(), float(value))], out);
    }
}

fn tables(facts: &Facts, out: &mut String) {
    let state = facts.tables.iter().map(|table| {
        let labels = format!(
            "{},{}",
            label("table", &table.name),
            label("state", table.state)
        );
        (labels, 1.0)
    });
    let help =
        "Whether a table is being copied, follows its source or has stopped: 1 for its state.";
    metric(
        "hedgerow_table_state",
        help,
        Kind::Gauge,
        state.collect(),
        out,
    );
    let each = |value: fn(&lsm::TableStats) -> u64| -> Samples {
        let trees = facts.tables.iter().filter_map(|table| {
            let tree = table.tree.as_ref()?;
            Some((label("table", &table.name), float(value(tree))))
        });
        trees.collect()
    };
    let help = "Versions of rows: at least as many as there are rows.";
    metric(
        "hedgerow_table_versions",
        help,
        Kind::Gauge,
        each(|tree| tree.versions),
        out,
    );
    let help = "Bytes of a table's files.";
    let bytes = each(|tree| tree.bytes_on_disk);
    metric("hedgerow_table_disk_bytes", help, Kind::Gauge, bytes, out);
    let help = "Bytes of a table's changes in memory.";
    let bytes = each(|tree| tree.bytes_in_memory);
    metric("hedgerow_table_c0_bytes", help, Kind::Gauge, bytes, out);
}

/// Counts of bytes and things are exact up to 2^53, as Prometheus keeps them.
#[expect(
    clippy::cast_precision_loss,
    reason = "the format has no other numbers"
)]
fn float(count: u64) -> f64 {
    count as f64
}

fn label(name: &str, value: &str) -> String {
    let value = value
        .replace('\\', "\\\\")
        .replace('"', "\\\"")
        .replace('\n', "\\n");
    format!("{name}=\"{value}\"")
}

fn metric(name: &str, help: &str, kind: Kind, samples: Samples, out: &mut String) {
    let kind = match kind {
        Kind::Gauge => "gauge",
        Kind::Counter => "counter",
    };
    // Writing to a string cannot fail.
    _ = writeln!(out, "# HELP {name} {help}\n# TYPE {name} {kind}");
    for (labels, value) in samples {
        _ = match labels.is_empty() {
            true => writeln!(out, "{name} {value}"),
            false => writeln!(out, "{name}{{{labels}}} {value}"),
        };
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn labels_cannot_break_out() {
        assert_eq!(label("table", "a\"b\\c\nd"), r#"table="a\"b\\c\nd""#);
    }

    #[test]
    fn a_metric_has_help_type_and_a_line_a_sample() {
        let mut out = String::new();
        let samples = vec![(label("table", "t"), 2.0), (String::new(), 0.5)];
        metric("x_total", "Things.", Kind::Counter, samples, &mut out);
        let expected =
            "# HELP x_total Things.\n# TYPE x_total counter\nx_total{table=\"t\"} 2\nx_total 0.5\n";
        assert_eq!(out, expected);
    }
}
