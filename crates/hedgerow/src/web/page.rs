//! The page for people, and the facts that it draws.

use serde::Serialize;

use super::facts::{Facts, merge_word};

/// The page: HTML, style and script in one file.
pub const PAGE: &str = include_str!("page.html");

#[derive(Serialize)]
struct Shown {
    sources: Vec<Source>,
    store: Store,
    tables: Vec<Table>,
}

#[derive(Serialize)]
struct Source {
    name: String,
    kind: String,
    state: &'static str,
    reason: Option<String>,
    warnings: Vec<String>,
    sent: String,
    received: String,
    visible: String,
    durable: String,
    lag_bytes: u64,
    lag_seconds: f64,
    transactions: u64,
    rows: u64,
    copy: Option<Copy>,
}

#[derive(Serialize)]
struct Copy {
    tables_done: u64,
    tables: u64,
    rows: u64,
    bytes: u64,
    bytes_total: u64,
    remaining_seconds: Option<f64>,
}

#[derive(Serialize)]
struct Store {
    c0_bytes: u64,
    c0_bytes_max: u64,
    cache_bytes: u64,
    cache_hits: u64,
    cache_misses: u64,
    merges_running: u64,
    merges_done: u64,
    lookups: u64,
    snapshots: u64,
}

#[derive(Serialize)]
struct Table {
    name: String,
    state: &'static str,
    reason: Option<String>,
    versions: u64,
    bytes_on_disk: u64,
    merge: &'static str,
    components: Vec<Component>,
}

#[derive(Serialize)]
struct Component {
    name: String,
    runs: usize,
    versions: u64,
    bytes: u64,
}

/// The facts as JSON.
pub fn status(facts: &Facts) -> serde_json::Result<String> {
    serde_json::to_string(&Shown {
        sources: facts.sources.iter().map(source).collect(),
        store: store(facts),
        tables: facts.tables.iter().map(table).collect(),
    })
}

fn source(source: &replication::status::SourceStatus) -> Source {
    Source {
        name: source.name.clone(),
        kind: source.kind.clone(),
        state: source.state.as_str(),
        reason: source.reason.clone(),
        warnings: source.warnings.clone(),
        sent: source.sent.to_string(),
        received: source.received.to_string(),
        visible: source.visible.to_string(),
        durable: source.durable.to_string(),
        lag_bytes: source.lag_bytes,
        lag_seconds: source.lag_seconds,
        transactions: source.transactions,
        rows: source.rows,
        copy: source.copy.as_ref().map(|copy| Copy {
            tables_done: copy.tables_done,
            tables: copy.tables,
            rows: copy.rows,
            bytes: copy.bytes,
            bytes_total: copy.bytes_total,
            remaining_seconds: copy.remaining_seconds,
        }),
    }
}

fn store(facts: &Facts) -> Store {
    let store = &facts.store;
    Store {
        c0_bytes: store.memory_bytes,
        c0_bytes_max: store.memory_bytes_max,
        cache_bytes: store.cache_bytes,
        cache_hits: store.cache_hits,
        cache_misses: store.cache_misses,
        merges_running: store.merges_running,
        merges_done: store.merges_done,
        lookups: store.lookups,
        snapshots: store.snapshots,
    }
}

fn table(table: &super::facts::TableFacts) -> Table {
    let tree = table.tree.as_ref();
    let components = tree.map_or(&[][..], |tree| &tree.components);
    Table {
        name: table.name.clone(),
        state: table.state,
        reason: table.reason.clone(),
        versions: tree.map_or(0, |tree| tree.versions),
        bytes_on_disk: tree.map_or(0, |tree| tree.bytes_on_disk),
        merge: tree.map_or("none", |tree| merge_word(tree.merge)),
        components: components
            .iter()
            .map(|component| Component {
                name: component.name.clone(),
                runs: component.runs,
                versions: component.versions,
                bytes: component.bytes,
            })
            .collect(),
    }
}
