//! The trees under simulation. Every failure prints the seed that repeats it:
//!
//! * `HEDGEROW_SIM_SEED=n` runs that seed alone;
//! * `HEDGEROW_SIM_RUNS=n` runs n times as many seeds.

mod crashes;
mod damage;
mod faults;
mod model;
mod replay;
mod runs;
mod threads;
