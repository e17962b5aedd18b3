//! The store through its public interface, on the real disk.
//!
//! One test binary, one module a subject. What the subjects share: `folder` opens stores, `rows`
//! writes versions cell by cell, `tables` has the table that most tests fill and scan,
//! `metered_disk` knows how much room files take.

mod compaction_buffer;
mod concurrency;
mod copies;
mod folder;
mod interface;
mod long_values;
mod lookups;
mod merging;
mod metered_disk;
mod model;
mod rows;
mod scan_counts;
mod tables;
mod warming;
mod zones;
