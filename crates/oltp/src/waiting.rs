//! Calls that wait for blocks.
//!
//! 1. A call that met evicted data names the blocks it needs. Blocks in memory are merged at once; for
//!    each other one there is one read, however many calls need it.
//! 2. When a block arrives, its wanted rows go back into their tables, pinned for the calls that
//!    wait for them. When many have arrived some wait for the next step, so that none takes long.
//! 3. A call with all its blocks is ready to run again; such calls run in the order in which they
//!    became so.

use std::collections::{BTreeMap, HashMap, VecDeque};

use crate::anti_cache::{AntiCache, Fetched, Pin};
use crate::call::{Call, Ticket};
use crate::evicted_entries::BlockId;
use crate::expected_calls::Declared;
use crate::partition::Partition;
use crate::pointer::Target;
use crate::procedure::ProcedureNumber;
use crate::shared_calls::SharedCallNumber;
use crate::stop::Stop;
use crate::transaction::{Circumstances, Want};

/// Rows that one step brings back before it leaves the others to the next one: with rows of 1 KB, and the calls that
/// waited for them, a third of a millisecond.
const RETURNED_MAX: u64 = 128;

/// A call that waits, or what a call on several partitions needs of this one.
pub(crate) struct WaitingCall {
    /// Then it has no procedure of its own to run.
    pub(crate) part_of: Option<SharedCallNumber>,
    procedure: ProcedureNumber,
    parameters: Vec<u8>,
    pub(crate) circumstances: Circumstances,
    pub(crate) restarts: u32,
    pub(crate) pins: Vec<Pin>,
    wants: Vec<Want>,
    /// Blocks that have not arrived.
    missing: usize,
    /// What its rows will take in memory, about.
    promised_bytes: usize,
    /// The same of all rows for which it has waited, these among them.
    pub(crate) fetched_bytes: usize,
}

/// All of them.
#[derive(Default)]
pub(crate) struct WaitingCalls {
    calls: BTreeMap<Ticket, WaitingCall>,
    of_block: HashMap<BlockId, Vec<Ticket>>,
    /// Blocks that were read, and are for the next steps.
    fetched: VecDeque<Fetched>,
    ready: VecDeque<Ticket>,
    /// Parts of calls on several partitions that have all they need.
    pub(crate) arrived: VecDeque<(SharedCallNumber, WaitingCall)>,
    next_ticket: u64,
    parameter_bytes: usize,
    promised_bytes: usize,
}

impl WaitingCall {
    /// One that has nothing to wait for.
    fn new(procedure: ProcedureNumber, circumstances: Circumstances) -> Self {
        Self {
            part_of: None,
            procedure,
            parameters: Vec::new(),
            circumstances,
            restarts: 0,
            pins: Vec::new(),
            wants: Vec::new(),
            missing: 0,
            promised_bytes: 0,
            fetched_bytes: 0,
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

impl WaitingCalls {
    /// Calls that wait.
    pub(crate) fn len(&self) -> usize {
        self.calls.len()
    }

    /// Bytes that they hold, within a few.
    pub(crate) fn held_bytes(&self) -> usize {
        self.parameter_bytes + self.calls.len() * size_of::<(Ticket, WaitingCall)>()
    }

    /// What the rows that calls wait for will take in memory, about: there must be room for them.
    pub(crate) fn promised_bytes(&self) -> usize {
        self.promised_bytes
    }

    /// A call that has all it needs.
    pub(crate) fn take_ready(&mut self) -> Option<(Ticket, WaitingCall)> {
        let ticket = self.ready.pop_front()?;
        let call = self.calls.remove(&ticket).expect("a ready call waits");
        self.parameter_bytes -= call.parameters.len();
        self.promised_bytes -= call.promised_bytes;
        Some((ticket, call))
    }

    /// A ticket that no call has had.
    pub(crate) fn new_ticket(&mut self) -> Ticket {
        self.next_ticket += 1;
        Ticket(self.next_ticket)
    }

    fn is_awaited(&self, block: BlockId) -> bool {
        self.of_block.contains_key(&block)
    }
}

impl Partition {
    /// Whether rows that the call declares are evicted; they are noted as wanted. As long as none is nothing has to
    /// be looked up twice: that was a sixth of the thread's time in TPC-C's transactions as SQL (`htap --source primary`).
    pub(crate) fn find_declared(&mut self, call: Call<'_>) -> Result<bool, Stop> {
        if self.tables.iter().all(|table| table.evicted.len() == 0) {
            return Ok(false);
        }
        let procedure = &self.procedures[usize::from(call.procedure.0)];
        procedure.declare(call.parameters, &mut self.declared.start(&self.tables))?;
        let Declared { keys, bytes } = &mut self.declared;
        let wants = &mut self.work.wants;
        wants.clear();
        for (index, key) in keys.drain(..) {
            let table = &self.tables[usize::from(index.table.0)];
            table.indexes[usize::from(index.index)].each_equal(key.of(bytes), |_, pointer| {
                if let Target::Evicted(id) = pointer.target() {
                    let place = table.evicted.get(id);
                    wants.push(Want {
                        table: index.table,
                        place,
                    });
                }
            });
        }
        Ok(!self.work.wants.is_empty())
    }

    /// Has a new call wait for what the workspace says it wants.
    pub(crate) fn wait(
        &mut self,
        call: Call<'_>,
        circumstances: Circumstances,
    ) -> Result<Ticket, Stop> {
        self.refuse_much(0)?;
        let ticket = self.waiting.new_ticket();
        let waiting = WaitingCall {
            parameters: call.parameters.to_vec(),
            ..WaitingCall::new(call.procedure, circumstances)
        };
        self.wait_for_wants(ticket, waiting);
        Ok(ticket)
    }

    /// Fetches what the workspace says a call on several partitions wants here; `false` when it wants
    /// nothing.
    pub(crate) fn wait_for_part(
        &mut self,
        shared: SharedCallNumber,
        circumstances: Circumstances,
    ) -> bool {
        if self.work.wants.is_empty() {
            return false;
        }
        let ticket = self.waiting.new_ticket();
        let call = WaitingCall::new(ProcedureNumber(0), circumstances);
        self.wait_for_wants(
            ticket,
            WaitingCall {
                part_of: Some(shared),
                ..call
            },
        );
        true
    }

    /// Has a call that has run again wait once more. It keeps its pins.
    pub(crate) fn wait_again(
        &mut self,
        ticket: Ticket,
        waited: WaitingCall,
    ) -> Result<(), Box<(WaitingCall, Stop)>> {
        if let Err(stop) = self.refuse_much(waited.fetched_bytes) {
            return Err(Box::new((waited, stop)));
        }
        let restarts = waited.restarts + 1;
        self.wait_for_wants(ticket, WaitingCall { restarts, ..waited });
        Ok(())
    }

    /// Stops a call for which more would be fetched, with what was fetched before, than one may have.
    pub(crate) fn refuse_much(&mut self, fetched_bytes: usize) -> Result<(), Stop> {
        let most = self.anti_cache().options.fetched_bytes_max;
        let bytes = fetched_bytes + self.wanted_bytes();
        if bytes > most {
            return Err(Stop::TooMuchEvicted { bytes, most });
        }
        Ok(())
    }

    /// What the rows that the workspace wants take, about. Each is wanted once then.
    fn wanted_bytes(&mut self) -> usize {
        self.work.wants.sort_unstable();
        self.work.wants.dedup();
        let anti_cache = self.anti_cache();
        let wants = self.work.wants.iter();
        let row_bytes = wants.map(|want| anti_cache.row_bytes(want.place.block));
        row_bytes.sum()
    }

    fn anti_cache(&self) -> &AntiCache {
        let anti_cache = self.anti_cache.as_ref();
        anti_cache.expect("calls wait for evicted data")
    }

    fn wait_for_wants(&mut self, ticket: Ticket, call: WaitingCall) {
        let promised_bytes = self.wanted_bytes();
        let wants = std::mem::take(&mut self.work.wants);
        let mut blocks: Vec<BlockId> = wants.iter().map(|want| want.place.block).collect();
        blocks.sort_unstable();
        blocks.dedup();
        self.waiting.parameter_bytes += call.parameters.len();
        self.waiting.promised_bytes += promised_bytes;
        let waiting = WaitingCall {
            wants,
            missing: blocks.len(),
            promised_bytes,
            fetched_bytes: call.fetched_bytes + promised_bytes,
            ..call
        };
        self.waiting.calls.insert(ticket, waiting);
        blocks
            .into_iter()
            .for_each(|block| self.ask_for(block, ticket));
    }

    fn ask_for(&mut self, block: BlockId, ticket: Ticket) {
        let tickets = self.waiting.of_block.entry(block).or_default();
        tickets.push(ticket);
        if tickets.len() > 1 {
            return;
        }
        match self.anti_cache().buffer(block) {
            Some(buffer) => self.arrive((block, Ok(buffer))),
            None => self.anti_cache().files.fetches.submit(block),
        }
    }

    /// Takes blocks that other threads have read, until enough rows have come back for one step.
    pub(crate) fn take_arrivals(&mut self) {
        let Some(anti_cache) = &self.anti_cache else {
            return;
        };
        let read = anti_cache.files.fetches.take_done();
        self.waiting.fetched.extend(read);
        if !self.waiting.fetched.is_empty() {
            let begun = self.clock.monotonic();
            let enough = self.anti_cache_statistics().returned_rows + RETURNED_MAX;
            while self.anti_cache_statistics().returned_rows < enough
                && let Some(fetched) = self.waiting.fetched.pop_front()
            {
                self.arrive(fetched);
            }
            let took = self.clock.monotonic().saturating_sub(begun);
            self.counts.uneviction_stalls.note(took);
        }
        let anti_cache = self.anti_cache.as_mut().expect("it was there");
        let snapshots = self.snapshots.as_ref();
        anti_cache.remove_emptied(
            |file| snapshots.is_some_and(|snapshots| snapshots.needs(file)),
            |block| self.waiting.is_awaited(block),
        );
    }

    fn arrive(&mut self, (id, block): Fetched) {
        let anti_cache = self
            .anti_cache
            .as_mut()
            .expect("calls wait for evicted data");
        let tickets = self.waiting.of_block.remove(&id).unwrap_or_default();
        for ticket in &tickets {
            let call = self.waiting.calls.get_mut(ticket).expect("it waits");
            call.missing -= 1;
            if call.missing == 0 {
                self.waiting.ready.push_back(*ticket);
            }
            match &block {
                Ok(block) => {
                    let table = &mut self.tables[usize::from(block.table.0)];
                    let wants = call
                        .wants
                        .iter()
                        .filter(|want| want.place.block == id)
                        .copied();
                    anti_cache.merge_wanted(table, block, wants, &mut call.pins);
                }
                // Reading it again, inside the partition, says what is wrong to who needs it.
                Err(_) => call.restarts = u32::MAX,
            }
        }
        if let Ok(block) = &block {
            anti_cache.merge_rest(&mut self.tables[usize::from(block.table.0)], block);
        }
    }

    /// Lets go of rows that were kept for a call.
    pub(crate) fn unpin(&mut self, pins: &[Pin]) {
        let anti_cache = self
            .anti_cache
            .as_mut()
            .expect("calls wait for evicted data");
        for pin in pins {
            anti_cache.pins.unpin(&mut self.tables, *pin);
        }
    }
}
