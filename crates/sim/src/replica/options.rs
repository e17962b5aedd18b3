//! A store's options, drawn at random: small, so that everything happens early and often.
//!
//! The product's own policies are drawn more often than those that are baselines.

use lsm::{BufferOptions, CachePolicy, MergePolicy, StoreOptions, Warming};
use rand::Rng;
use rand::rngs::StdRng;

/// Any options.
pub fn small_options(random: &mut StdRng) -> StoreOptions {
    StoreOptions {
        memory_bytes: 1 << random.random_range(13..18),
        cache_bytes: 1 << random.random_range(10..18),
        cache_policy: [CachePolicy::ScanResistant, CachePolicy::LeastRecentlyUsed]
            [random.random_range(0..2)],
        page_bytes: 1 << random.random_range(9..13),
        segment_bytes: 1 << random.random_range(11..16),
        runs_max: random.random_range(2..6),
        filter_bytes: 1 << random.random_range(6..16),
        merge_policy: merge_policy(random),
        warming: warming(random),
        compaction_buffer: compaction_buffer(random),
    }
}

/// The product's in two of six replicas.
fn warming(random: &mut StdRng) -> Warming {
    match random.random_range(0..6) {
        0 => Warming::None,
        1 => Warming::NoneDeadPagesStay,
        2 => Warming::Overlapping,
        3 => Warming::Everything,
        _ => Warming::Inherited,
    }
}

/// In one of three replicas.
fn compaction_buffer(random: &mut StdRng) -> Option<BufferOptions> {
    let options = buffer_options(random);
    random.random_bool(0.34).then_some(options)
}

fn buffer_options(random: &mut StdRng) -> BufferOptions {
    BufferOptions {
        cached_share_min: random.random_range(0.0..0.6),
        trim_period_ms: random.random_range(0..20),
    }
}

fn leveled(random: &mut StdRng) -> MergePolicy {
    let ratio = random.random_range(2..5);
    MergePolicy::Leveled { ratio }
}

/// The product's in two of five replicas.
fn merge_policy(random: &mut StdRng) -> MergePolicy {
    match random.random_range(0..5) {
        4 => leveled(random),
        0 => MergePolicy::Rose,
        1 => MergePolicy::SteppedMerge {
            runs_a_level: random.random_range(2..6),
        },
        _ => MergePolicy::SizeTiered,
    }
}

/// `options` with compaction buffers, under policies that let them grow.
pub(super) fn with_buffers(options: &StoreOptions, random: &mut StdRng) -> StoreOptions {
    let ratio = random.random_range(3..8);
    let merge_policy = match random.random_bool(0.7) {
        true => MergePolicy::Leveled { ratio },
        false => MergePolicy::SizeTiered,
    };
    StoreOptions {
        memory_bytes: 1 << random.random_range(12..16),
        merge_policy,
        compaction_buffer: Some(buffer_options(random)),
        ..options.clone()
    }
}
