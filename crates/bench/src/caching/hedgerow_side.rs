//! Hedgerow as a store of rows, and the same trees under the cache policies that are baselines.

use std::path::Path;
use std::sync::Arc;

use anyhow::{Result, bail};
use arrow_array::cast::AsArray;
use contender::caching::{
    self, CachedStore, CachingArguments, Progress, RANGE_ROWS, Row, key_of, version_of,
};
use env::{Env, RealClock};
use lsm::{
    BufferOptions, CachePolicy, KeyRange, MergePolicy, STATEMENT_NICENESS, ScanRequest, Store,
    StoreOptions, Warming,
};
use parking_lot::Mutex;
use types::key::SortKey;
use types::{
    Column, ColumnBuilder, ColumnType, CommitPosition, RowsBuilder, TableId, TableName,
    TableSchema, Value, VersionKind,
};

use super::key_value_cache::KeyValueCache;
use super::side::Side;
use crate::background::{Background, IDLE};
use crate::direct_file::DirectDisk;

const TABLE: TableId = TableId(1);

/// As in the paper's set-up, and in LevelDB and RocksDB.
const PAGE_BYTES: usize = 4 << 10;

/// Filters beside the cache: nine bits a key, and as many again while merges replace them.
const FILTER_BYTES_A_ROW: u64 = 8;

/// The paper's authors gave 3,500 MB of 6,000 to rows.
const ROW_CACHE_PERCENT: u64 = 58;

/// Runs, and prints the report.
pub fn run(side: Side, arguments: &CachingArguments) -> Result<()> {
    arguments.common.enter()?;
    allocator::give_back_early()?;
    let store = HedgerowSide::start(side, arguments, &arguments.common.folder)?;
    let report = match side {
        Side::KeyValueCache => {
            let bytes = arguments.cache_bytes * ROW_CACHE_PERCENT / 100;
            caching::run(&KeyValueCache::new(&store, bytes), arguments)?
        }
        _ => caching::run(&store, arguments)?,
    };
    store.background.stop();
    println!("{}", serde_json::to_string(&report)?);
    Ok(())
}

fn options(side: Side, arguments: &CachingArguments) -> Result<StoreOptions> {
    let ours = StoreOptions {
        memory_bytes: arguments.c0_bytes as usize,
        cache_bytes: arguments.cache_bytes as usize,
        filter_bytes: (arguments.rows * FILTER_BYTES_A_ROW) as usize,
        page_bytes: PAGE_BYTES,
        ..StoreOptions::default()
    };
    let plain = StoreOptions {
        cache_policy: CachePolicy::LeastRecentlyUsed,
        warming: Warming::NoneDeadPagesStay,
        ..ours.clone()
    };
    let warmed = |warming| StoreOptions {
        warming,
        ..plain.clone()
    };
    let leveled = StoreOptions {
        merge_policy: LEVELED,
        ..plain.clone()
    };
    Ok(match side {
        Side::Hedgerow => ours,
        Side::ScanResistant => StoreOptions {
            warming: Warming::None,
            ..ours
        },
        Side::PlainLsm => plain,
        Side::DeadPagesErased => warmed(Warming::None),
        Side::EverythingWarmed => warmed(Warming::Everything),
        Side::OverlappingWarmed => warmed(Warming::Overlapping),
        Side::PlainLeveled => leveled,
        Side::Lsbm => StoreOptions {
            compaction_buffer: Some(LSBM_BUFFER),
            ..leveled
        },
        Side::LeveledWarmed => StoreOptions {
            merge_policy: LEVELED,
            ..ours
        },
        Side::SteppedMerge => StoreOptions {
            merge_policy: MergePolicy::SteppedMerge { runs_a_level: 10 },
            ..plain
        },
        Side::KeyValueCache => StoreOptions {
            cache_bytes: (arguments.cache_bytes * (100 - ROW_CACHE_PERCENT) / 100) as usize,
            ..plain
        },
        Side::RocksdbLru
        | Side::RocksdbFlushWarmed
        | Side::RocksdbEverythingWarmed
        | Side::RocksdbClock
        | Side::RocksdbRowCache => bail!("{side} is a side of the peers' program"),
    })
}

/// The usual size ratio, and the paper's.
const LEVELED: MergePolicy = MergePolicy::Leveled { ratio: 10 };

/// As the paper's authors had it for a hot range; they trimmed every 30 seconds of 25,000.
const LSBM_BUFFER: BufferOptions = BufferOptions {
    cached_share_min: 0.49,
    trim_period_ms: 500,
};

/// A store and its threads.
pub struct HedgerowSide {
    store: Arc<Store>,
    background: Background,
    schema: TableSchema,
    /// Of the newest batch.
    position: Mutex<CommitPosition>,
    settings: String,
}

impl HedgerowSide {
    fn start(side: Side, arguments: &CachingArguments, folder: &Path) -> Result<Self> {
        let env = Env {
            disk: Arc::new(DirectDisk),
            clock: Arc::new(RealClock::new()),
        };
        let options = options(side, arguments)?;
        let settings = format!(
            "{:?}, {:?}, {:?}, buffer {:?}; C0 {} KiB, page cache {} KiB, pages {} KiB; direct reads",
            options.merge_policy,
            options.cache_policy,
            options.warming,
            options.compaction_buffer,
            options.memory_bytes >> 10,
            options.cache_bytes >> 10,
            options.page_bytes >> 10
        );
        let store = Store::open(env, folder, options)?;
        let schema = schema();
        store.create_table(TABLE, schema.clone())?;
        Ok(Self {
            background: Background::start(&store)?,
            position: Mutex::new(store.visible()),
            store,
            schema,
            settings,
        })
    }
}

fn schema() -> TableSchema {
    TableSchema {
        name: TableName {
            schema: "public".to_owned(),
            name: "rows".to_owned(),
        },
        columns: vec![
            Column::new("key", ColumnType::UInt64),
            Column::new("value", ColumnType::Bytes),
        ],
        key: vec![0],
    }
}

impl CachedStore for HedgerowSide {
    fn begin_reading(&self) -> Result<()> {
        // As in `hedgerow serve`. On Linux, no process means this thread.
        Ok(rustix::process::setpriority_process(
            None,
            STATEMENT_NICENESS,
        )?)
    }

    fn put(&self, rows: &[Row]) -> Result<()> {
        let mut position = self.position.lock();
        position.0 += 1;
        let mut builder = RowsBuilder::new(&self.schema);
        for row in rows {
            let [ColumnBuilder::UInt64(keys), ColumnBuilder::Bytes(values)] = builder.columns_mut()
            else {
                unreachable!("the schema has these two columns");
            };
            keys.append_value(row.key);
            values.append_value(row.value);
            builder.finish_version(*position, VersionKind::Put);
        }
        while !self.store.wait_for_memory(IDLE)? {}
        self.store.ingest(TABLE, builder.build())?;
        self.store.publish(*position, Vec::new());
        Ok(())
    }

    fn get(&self, number: u64, value: &mut Vec<u8>) -> Result<bool> {
        let key = [Value::UInt(key_of(number))];
        let row = self.store.pin().get(TABLE, &key, &[1])?;
        if let Some(Value::Bytes(bytes)) = row.as_ref().map(|row| row.value(0)) {
            value.extend_from_slice(bytes);
        }
        Ok(row.is_some())
    }

    fn range(&self, number: u64) -> Result<u64> {
        let key = |number| Some(SortKey::U64(key_of(number)));
        let request = ScanRequest {
            projection: vec![1],
            range: KeyRange {
                start: key(number),
                end: key(number + RANGE_ROWS),
            },
            batch_rows: RANGE_ROWS as usize,
        };
        let mut next = number;
        let mut intact = 0;
        for batch in self.store.pin().scan(TABLE, request)? {
            for value in batch?.column(0).as_binary::<i32>().iter().flatten() {
                intact += u64::from(version_of(next, value).is_some());
                next += 1;
            }
        }
        Ok(intact)
    }

    fn progress(&self) -> Progress {
        let stats = self.store.stats();
        Progress {
            misses: stats.cache_misses,
            warmed: stats.pages_warmed,
            warmed_used: stats.warmed_pages_used,
            bytes_merged: stats.bytes_merged,
            is_merging: stats.merges_running > 0,
        }
    }

    fn settle(&self) -> Result<()> {
        self.store.flush()?;
        self.background.settle();
        Ok(())
    }

    fn settings(&self) -> String {
        self.settings.clone()
    }
}
