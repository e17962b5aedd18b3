//! What readers want, and how large everything is.

use std::process::Command;

use clap::ValueEnum;
use contender::caching::{ROW_BYTES, Shape};

use crate::Scale;
use crate::results::Results;

/// Data : cache as 20 : 6.
const CACHE_SHARE: f64 = 0.3;

/// Data : hot range as 20 : 3.
const HOT_SHARE: f64 = 0.15;

/// Data : C0 as 20 : 0.1.
const C0_SHARE: f64 = 0.005;

/// How readers choose keys, and how large the cache is beside the data.
#[derive(Clone, Debug)]
pub struct Load {
    /// What it is called in the results.
    pub name: String,
    shape: Shape,
    skew: f64,
    hot_share: f64,
    cache_share: f64,
    ranges: bool,
}

impl Load {
    /// The paper's RangeHot.
    pub fn range_hot() -> Self {
        Self {
            name: "hot range".to_owned(),
            shape: Shape::RangeHot,
            skew: 1.0,
            hot_share: HOT_SHARE,
            cache_share: CACHE_SHARE,
            ranges: false,
        }
    }

    /// Three skews and three sizes of the cache, and a hot range that moves, that is smaller than the
    /// cache, about as large, or larger.
    pub fn zipfian() -> Vec<Self> {
        let mut loads = Vec::new();
        for cache_share in [0.05, 0.15, 0.5] {
            let cache = cache_share * 100.0;
            loads.extend([0.7, 0.99, 1.2].map(|skew| Self {
                name: format!("Zipf {skew}, cache {cache} %"),
                shape: Shape::Zipf,
                skew,
                cache_share,
                ..Self::range_hot()
            }));
            loads.push(Self {
                name: format!("moving range, cache {cache} %"),
                shape: Shape::ShiftingRange,
                cache_share,
                ..Self::range_hot()
            });
        }
        loads
    }

    /// Ranges in the hot range, and ranges anywhere.
    pub fn range_scan() -> Vec<Self> {
        let of = |name: &str, shape| Self {
            name: name.to_owned(),
            shape,
            ranges: true,
            ..Self::range_hot()
        };
        vec![
            of("hot ranges", Shape::RangeHot),
            of("cold ranges", Shape::Uniform),
        ]
    }
}

/// How large everything is, and how long it takes.
#[derive(Clone, Copy, Debug)]
pub struct Sizes {
    /// The scale's name.
    pub name: &'static str,
    rows: u64,
    rows_a_second: u64,
    warm_seconds: u64,
    quiet_seconds: u64,
    written_seconds: u64,
    rows_at_full_speed: u64,
}

impl Sizes {
    /// Those of a scale.
    pub fn of(scale: Scale) -> Self {
        match scale {
            Scale::Quick => Self {
                name: "quick",
                rows: 100_000,
                rows_a_second: 5_000,
                warm_seconds: 3,
                quiet_seconds: 2,
                written_seconds: 10,
                rows_at_full_speed: 20_000,
            },
            Scale::Full => Self {
                name: "full",
                // 90,000 hot rows, four a page: `cloud` reads them again in 7.5 seconds.
                rows: 600_000,
                // Leveled merges write a row 15 to 30 times (a test of the policies says so), and
                // `cloud` takes 125 MB a second: 54 to 108 MB of these rows.
                rows_a_second: 4_000,
                warm_seconds: 20,
                quiet_seconds: 8,
                // 1.25 times the data, as in the paper: each key reaches the last level once.
                written_seconds: 188,
                rows_at_full_speed: 240_000,
            },
        }
    }

    fn data_bytes(&self) -> f64 {
        (self.rows * ROW_BYTES as u64) as f64
    }

    /// Room for all levels, and for what merges write.
    pub fn disk_bytes(&self) -> u64 {
        (4.0 * self.data_bytes()) as u64 + (1 << 30)
    }

    /// A limit that nobody comes near: what counts is the cache.
    pub fn memory_bytes(&self) -> u64 {
        self.data_bytes() as u64 + (512 << 20)
    }

    /// Tells a side.
    pub fn add_arguments(&self, command: &mut Command, load: &Load, seed: u64) {
        let bytes = |share: f64| ((self.data_bytes() * share) as u64).to_string();
        let shape = load.shape.to_possible_value().expect("no shape is skipped");
        let arguments = [
            ("--rows", self.rows.to_string()),
            ("--cache-bytes", bytes(load.cache_share)),
            ("--c0-bytes", bytes(C0_SHARE)),
            ("--shape", shape.get_name().to_owned()),
            ("--skew", load.skew.to_string()),
            ("--hot-share", load.hot_share.to_string()),
            ("--rows-a-second", self.rows_a_second.to_string()),
            ("--warm-seconds", self.warm_seconds.to_string()),
            ("--quiet-seconds", self.quiet_seconds.to_string()),
            ("--written-seconds", self.written_seconds.to_string()),
            ("--rows-at-full-speed", self.rows_at_full_speed.to_string()),
            ("--seed", seed.to_string()),
        ];
        for (name, value) in arguments {
            command.args([name, &value]);
        }
        if load.ranges {
            command.arg("--ranges");
        }
    }

    /// Notes them.
    pub fn note(&self, results: &mut Results, seeds: u64, profiles: bool) {
        results.setting("rows", self.rows);
        results.setting("bytes of a row", ROW_BYTES);
        results.setting("rows overwritten a second", self.rows_a_second);
        results.setting("seconds of that", self.written_seconds);
        results.setting("seeds", seeds);
        results.setting("disk profile", if profiles { "cloud" } else { "none" });
        results.setting("reads", "direct, on all sides");
    }
}
