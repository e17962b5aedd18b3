//! Calls on several partitions that wait for blocks.
//!
//! A call has a part in every partition in which it met evicted data; the part waits there like a call
//! of its own. When the last part has what it needs, the call runs again.

use std::collections::BTreeMap;

use crate::anti_cache::Pin;
use crate::call::{Call, Ticket};
use crate::partition_set::{PartitionNumber, PartitionSet};
use crate::procedure::ProcedureNumber;
use crate::transaction::Circumstances;
use crate::waiting::WaitingCall;

/// Tells calls on several partitions apart.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) struct SharedCallNumber(u64);

/// A call that waits.
pub(crate) struct SharedCall {
    pub(crate) set: PartitionSet,
    /// One of the first partition of the set.
    pub(crate) ticket: Ticket,
    pub(crate) circumstances: Circumstances,
    pub(crate) restarts: u32,
    pub(crate) pins: Vec<(PartitionNumber, Pin)>,
    /// What the rows take for which it has waited, about.
    pub(crate) fetched_bytes: usize,
    procedure: ProcedureNumber,
    parameters: Vec<u8>,
    /// Parts that have not arrived.
    missing: usize,
}

/// All of them.
#[derive(Default)]
pub(crate) struct SharedCalls {
    calls: BTreeMap<SharedCallNumber, SharedCall>,
    next: u64,
}

impl SharedCall {
    /// One that has not waited yet.
    pub(crate) fn new(
        set: PartitionSet,
        ticket: Ticket,
        call: Call<'_>,
        circumstances: Circumstances,
    ) -> Self {
        Self {
            set,
            ticket,
            circumstances,
            restarts: 0,
            pins: Vec::new(),
            fetched_bytes: 0,
            procedure: call.procedure,
            parameters: call.parameters.to_vec(),
            missing: 0,
        }
    }

    /// The call.
    pub(crate) fn call(&self) -> Call<'_> {
        Call {
            procedure: self.procedure,
            parameters: &self.parameters,
        }
    }
}

impl SharedCalls {
    /// A number that no call has had.
    pub(crate) fn new_number(&mut self) -> SharedCallNumber {
        self.next += 1;
        SharedCallNumber(self.next)
    }

    /// A call waits for so many parts. No part may arrive before this.
    pub(crate) fn wait(&mut self, number: SharedCallNumber, call: SharedCall, parts: usize) {
        let missing = parts;
        self.calls.insert(number, SharedCall { missing, ..call });
    }

    /// A part of a call has all it needs. Gives the call when that was the last one.
    pub(crate) fn arrive(
        &mut self,
        number: SharedCallNumber,
        partition: PartitionNumber,
        part: WaitingCall,
    ) -> Option<SharedCall> {
        let call = self.calls.get_mut(&number).expect("its part has waited");
        call.restarts = call.restarts.max(part.restarts);
        call.fetched_bytes += part.fetched_bytes;
        call.pins
            .extend(part.pins.into_iter().map(|pin| (partition, pin)));
        call.missing -= 1;
        if call.missing > 0 {
            return None;
        }
        self.calls.remove(&number)
    }
}
