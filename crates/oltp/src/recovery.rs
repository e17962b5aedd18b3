//! Opening a partition: empty, or as its command log says.
//!
//! 1. The folder is taken for this process.
//! 2. What evicted rows an earlier process left is removed: the log makes them again.
//! 3. Every transaction of the log runs again, in order, with its time and random numbers. When
//!    memory is full rows are evicted and come back as they do in operation.

use std::path::Path;
use std::sync::Arc;

use env::{DirectoryLock, Env};
use parking_lot::Mutex;
use types::CommitPosition;

use crate::anti_cache::{AntiCache, BlockFiles};
use crate::call::Call;
use crate::command_log::{CommandLog, FILE_NAME, LogWriter, ReadLog, read_log};
use crate::error::{PrimaryError, io_failed};
use crate::lru_chain::ChainKind;
use crate::options::AntiCacheOptions;
use crate::partition::Partition;
use crate::partition_set::PartitionPlace;
use crate::procedure::{Procedure, find_procedure};
use crate::random::Random;
use crate::schema::{TableDefinition, TableNumber};
use crate::table::Table;
use crate::transaction::Workspace;
use crate::waiting::WaitingCalls;

/// What a partition is made of.
pub struct PartitionPlan {
    /// Its tables; numbered in this order.
    pub tables: Vec<TableDefinition>,
    /// Its procedures; numbered in this order.
    pub procedures: Vec<Arc<dyn Procedure>>,
    /// Its anti-cache; without one everything stays in memory.
    pub anti_cache: Option<AntiCacheOptions>,
    /// Whether it keeps a command log; without one it forgets everything when it ends.
    pub has_log: bool,
}

impl Partition {
    /// Opens the partition in `folder`, or makes it.
    pub fn open(env: &Env, folder: &Path, plan: PartitionPlan) -> Result<Self, PrimaryError> {
        let lock = take(env, folder, &plan)?;
        let mut partition = Self::empty(env, folder, &plan, PartitionPlace::ALONE)?;
        partition.folder_lock = lock;
        if plan.has_log {
            partition.recover(env, folder)?;
        }
        Ok(partition)
    }

    /// A partition without rows and without a log.
    pub(crate) fn empty(
        env: &Env,
        folder: &Path,
        plan: &PartitionPlan,
        place: PartitionPlace,
    ) -> Result<Self, PrimaryError> {
        let options = plan.anti_cache.clone();
        let chain = options
            .as_ref()
            .map_or(ChainKind::None, |options| options.chain);
        let mut made = Vec::new();
        for (number, definition) in plan.tables.iter().enumerate() {
            definition.check()?;
            made.push(Table::new(TableNumber(number as u16), definition, chain));
        }
        let anti_cache = match options {
            Some(options) => {
                options.check()?;
                let (bytes, blocks) = (options.block_bytes, options.blocks_per_file);
                let files = BlockFiles::create(env.clone(), folder.join("blocks"), bytes, blocks)?;
                Some(AntiCache::new(options, Arc::new(files), made.len()))
            }
            None => None,
        };
        Ok(Self {
            place,
            tables: made,
            procedures: plan.procedures.clone(),
            anti_cache,
            log: None,
            clock: Arc::clone(&env.clock),
            next_number: 0,
            position: CommitPosition::ZERO,
            time_us: env.clock.wall_us(),
            work: Workspace::default(),
            waiting: WaitingCalls::default(),
            chance: Random::new(0),
            calls_until_look: 1,
            is_full: false,
            folder_lock: None,
        })
    }

    fn recover(&mut self, env: &Env, folder: &Path) -> Result<(), PrimaryError> {
        let path = folder.join(FILE_NAME);
        let writer = match read_log(&*env.disk, &path)? {
            Some(read) => {
                self.replay_all(&read)?;
                LogWriter::resume(env.clone(), path, &read)?
            }
            None => LogWriter::create(env.clone(), path)?,
        };
        let log = CommandLog::new(Arc::new(writer), self.position);
        self.log = Some(Arc::new(Mutex::new(log)));
        Ok(())
    }

    fn replay_all(&mut self, read: &ReadLog) -> Result<(), PrimaryError> {
        for record in read.records() {
            let call = Call {
                procedure: find_procedure(&self.procedures, record.procedure)?,
                parameters: record.parameters,
            };
            let not_replayed = |reason: String| PrimaryError::NotReplayed {
                position: record.position.0,
                reason,
            };
            self.replay(&mut [], call, record.circumstances)
                .map_err(|stop| not_replayed(stop.to_string()))?;
            if self.position != record.position {
                return Err(not_replayed(format!("it came out at {}", self.position.0)));
            }
            self.write_blocks()?;
        }
        Ok(())
    }

    /// Writes what was evicted: during recovery nobody else does.
    pub(crate) fn write_blocks(&mut self) -> Result<(), PrimaryError> {
        if let Some(files) = self.block_files() {
            while files.write()? {}
            self.take_arrivals();
        }
        Ok(())
    }
}

/// Takes the folder, if anything will be kept in it.
pub(crate) fn take(
    env: &Env,
    folder: &Path,
    plan: &PartitionPlan,
) -> Result<Option<Box<dyn DirectoryLock>>, PrimaryError> {
    if plan.anti_cache.is_none() && !plan.has_log {
        return Ok(None);
    }
    let made = env.disk.create_directories(folder);
    made.map_err(|error| io_failed("create", folder, &error))?;
    let lock = env.disk.lock(folder);
    Ok(Some(
        lock.map_err(|error| io_failed("lock", folder, &error))?,
    ))
}
