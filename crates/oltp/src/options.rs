//! What can be set.

use crate::error::PrimaryError;
use crate::eviction_chain::ChainKind;
use crate::text_arena::TEXT_BYTES_MAX;

/// Which rows of a fetched block go back into memory.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum MergeStrategy {
    /// Those that a transaction waits for.
    Tuple,
    /// All.
    Block,
    /// The rows that are wanted, and all of a block that is wanted again after a few others: rows that went to disk
    /// together are used one after the other there.
    Adaptive,
}

/// What is tracked for the chain.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Sampling {
    /// All accesses of this share of the transactions (the paper).
    Transactions(f64),
    /// This share of all accesses (its code).
    Accesses(f64),
}

/// Chunks that a memory has room for, but for the smallest: so many that a table's many sizes of texts, each with
/// a chunk that is filled in part, do not weigh. With more memory chunks have 256 KiB, up to the second number of them.
const CHUNKS_MIN: usize = 1_024;
const CHUNKS_MAX: usize = 16_384;
const CHUNK_BYTES_MIN: usize = 1 << 10;
const CHUNK_BYTES: usize = 256 << 10;

/// The anti-cache of a partition.
#[derive(Clone, Debug)]
pub struct AntiCacheOptions {
    /// Bytes of memory, as allocated: of rows, indexes, blocks to be written and all bookkeeping. Rows are evicted when
    /// less is left than `buffers_max` blocks take, and a thirty-second of the rest. Indexes stay: with less than they take,
    /// calls are refused whatever is evicted. An empty hash index takes 24 KiB, of texts 32.
    pub memory_bytes: usize,
    /// Bytes of a block. Smaller ones are read faster, larger ones lose less at their ends.
    pub block_bytes: usize,
    /// Blocks of a file. Disk space comes back a file at a time.
    pub blocks_per_file: u32,
    /// How much is tracked: the paper's alpha.
    pub sampling: Sampling,
    /// In which order rows leave.
    pub chain: ChainKind,
    /// What is merged.
    pub merge: MergeStrategy,
    /// A block with a larger share of holes is merged whole.
    pub holes_max: f64,
    /// Blocks that may wait to be written.
    pub buffers_max: usize,
    /// Restarts after which a transaction waits for the disk inside the partition: a bound on how
    /// long others can keep it from running.
    pub restarts_max: u32,
    /// Transactions that may wait for blocks; more are refused.
    pub waiting_max: usize,
    /// Bytes of evicted rows that one call may need, about; one that needs more is stopped. The rows of a
    /// transaction have to be in memory together (section 6.1).
    pub fetched_bytes_max: usize,
}

impl AntiCacheOptions {
    /// The defaults, for so much memory.
    pub fn new(memory_bytes: usize) -> Self {
        Self {
            memory_bytes,
            block_bytes: 16 << 10,
            blocks_per_file: 512,
            sampling: Sampling::Transactions(0.01),
            chain: ChainKind::TwoQueues,
            merge: MergeStrategy::Tuple,
            holes_max: 0.5,
            buffers_max: 64,
            restarts_max: 8,
            waiting_max: 1_024,
            fetched_bytes_max: memory_bytes / 4,
        }
    }

    /// Bytes of memory for rows that are allocated at a time, about.
    pub(crate) fn chunk_bytes(&self) -> usize {
        let share = |chunks: usize| 1_usize << (self.memory_bytes / chunks).max(1).ilog2();
        share(CHUNKS_MIN)
            .clamp(CHUNK_BYTES_MIN, CHUNK_BYTES)
            .max(share(CHUNKS_MAX))
    }

    /// Whether the numbers make sense.
    pub(crate) fn check(&self) -> Result<(), PrimaryError> {
        let fail = |option, problem: &str| {
            Err(PrimaryError::Option {
                option,
                problem: problem.to_owned(),
            })
        };
        if !(512..=16 << 20).contains(&self.block_bytes) {
            return fail("block_bytes", "it is not between 512 bytes and 16 MiB");
        }
        if self.blocks_per_file == 0 {
            return fail("blocks_per_file", "it is 0");
        }
        if self.chain == ChainKind::None {
            return fail("chain", "without a chain nothing is evicted");
        }
        let (Sampling::Transactions(alpha) | Sampling::Accesses(alpha)) = self.sampling;
        if !(0.0..=1.0).contains(&alpha) {
            return fail("sampling", "it is not between 0 and 1");
        }
        Ok(())
    }
}

const _: () = assert!(TEXT_BYTES_MAX < 16 << 20); // Some block size holds every row.
