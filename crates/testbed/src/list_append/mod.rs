//! Lists that transactions append to, and what snapshots of them give away.
//!
//! Every element is appended once, ever. So a list's content tells the order of the transactions that wrote
//! it, and whoever reads a list tells which of them came before: dependencies follow from what was read,
//! not from clocks or positions (Kingsbury and Alvaro, "Elle: Inferring Isolation Anomalies from Experimental
//! Observations", VLDB 2020, sections 3 and 4).
//!
//! * [`checker`]: whether snapshots of a replica show prefixes of one order of commits.

pub mod checker;

use std::collections::HashMap;

/// One list: a row of one of several tables.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct List {
    /// The table's number.
    pub table: u32,
    /// The row's key.
    pub key: i64,
}

/// What is appended; never the same twice.
pub type Element = i64;

/// The contents of lists.
pub type Lists = HashMap<List, Vec<Element>>;

/// A transaction at the source.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Transaction {
    /// What it appended, in order.
    pub appends: Vec<(List, Element)>,
    /// The last elements of lists that it read before it appended anything.
    pub reads: Vec<Element>,
    /// The source has said that it is committed. Otherwise it may be, or not.
    pub is_acknowledged: bool,
}

/// A session's transactions, one after the other.
pub type Session = Vec<Transaction>;

/// What a reader saw of some lists at one position.
#[derive(Clone, Debug)]
pub struct Snapshot<P> {
    /// The position that the replica named.
    pub position: P,
    /// The lists that it was asked for; those that it did not have are empty.
    pub lists: Lists,
}
