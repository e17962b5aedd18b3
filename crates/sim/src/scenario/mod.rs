//! Scenarios: what is done to a replica, given a seed. Every one panics when it finds a violation.
//!
//! * [`model`]: nothing fails; snapshots show what the model says.
//! * [`crashes`]: the process ends at any moment, and again while it recovers.
//! * [`faults`]: operations of the disk fail.
//! * [`damage`]: files at rest are damaged.
//! * [`threads`]: real threads.
//!
//! None of them looks inside the store: they judge what it answers.

pub mod crashes;
pub mod damage;
pub mod faults;
pub mod model;
pub mod threads;

/// A scenario that one thread runs.
pub type Run = fn(u64);

/// Every scenario but the one with real threads, by name.
pub const ALL: [(&str, Run); 12] = [
    ("model", |seed| {
        model::run(seed, model::STEPS);
    }),
    ("buffered", |seed| {
        model::run_buffered(seed, model::BUFFERED_STEPS);
    }),
    ("crashes", |seed| {
        crashes::run(seed, &crashes::SHORT, &mut crashes::Seen::default());
    }),
    ("ended processes", crashes::ended_processes),
    ("failing change", faults::one_change),
    ("failing read", faults::one_read),
    ("many failing changes", faults::many_changes),
    ("full disk", |seed| {
        faults::full_disk(seed);
    }),
    ("lying drive", faults::lying_drive),
    ("damaged byte", damage::bytes),
    ("damaged file", damage::files),
    ("misplaced bytes", damage::misplaced),
];
