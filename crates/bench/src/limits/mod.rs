//! Memory limits and disk profiles for programs under comparison.
//!
//! * [`disk`]: a throttled disk of its own.
//! * [`memory`]: a memory limit for a process and its children.
//! * [`undo`]: everything is undone at the end, also after an error or an interrupt.

pub mod disk;
pub mod memory;
pub mod undo;
