//! Partitions as their users see them: answers with and without eviction, crashes, bounds.

mod answers;
mod anti_cache_suites;
mod bounds;
mod crashes;
mod defragmentation;
mod evictions;
mod feed;
mod feed_crashes;
mod joins;
mod model;
mod procedures;
mod replica;
mod script;
mod several;
mod snapshots;
mod statements;
mod statistics;
mod text_keys;
mod world;
