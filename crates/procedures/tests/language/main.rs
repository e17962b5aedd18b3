//! Schemas as their users see them: calls and statements against a partition on a real disk.

mod calls;
mod changes_of_schema;
mod evictions;
mod faults;
mod hostile;
mod model;
mod recovery;
mod refusals;
mod selects;
mod world;
