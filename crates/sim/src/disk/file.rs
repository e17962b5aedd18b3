//! One file: what is there, what is durable, and what a crash makes of the difference.
//!
//! Bytes are shared between a disk and its copies until one of them writes.

use std::sync::Arc;

use rand::Rng;
use rand::rngs::StdRng;

use super::Crash;

/// Disks write whole sectors: a sector is there or not.
const SECTOR_BYTES: usize = 512;

/// File systems give space by blocks.
const BLOCK_BYTES: usize = 4096;

/// A file's bytes.
#[derive(Clone, Debug, Default)]
pub(super) struct SimulatedFile {
    /// What readers see.
    bytes: Arc<Vec<u8>>,
    /// What the last sync made durable.
    durable: Arc<Vec<u8>>,
    /// Below this length nothing was written or cut since the last sync.
    unchanged: usize,
    /// Bytes that a failed sync has dropped: readable, taken for written, but not on the disk.
    dropped: Vec<std::ops::Range<usize>>,
}

impl SimulatedFile {
    pub(super) fn len(&self) -> usize {
        self.bytes.len()
    }

    pub(super) fn bytes(&self) -> &[u8] {
        &self.bytes
    }

    /// Bytes of the blocks that the file takes.
    pub(super) fn occupied_bytes(&self) -> u64 {
        self.len().next_multiple_of(BLOCK_BYTES) as u64
    }

    /// Bytes of the blocks that it would take to have so many bytes, beside those that it has.
    pub(super) fn room_bytes(&self, length: usize) -> u64 {
        let wanted = length.next_multiple_of(BLOCK_BYTES) as u64;
        wanted.saturating_sub(self.occupied_bytes())
    }

    /// Whether all of it is durable.
    pub(super) fn is_settled(&self) -> bool {
        self.dropped.is_empty() && self.bytes == self.durable
    }

    /// Writes bytes at a place up to the end, over what is there.
    pub(super) fn write(&mut self, offset: usize, bytes: &[u8]) {
        let end = offset + bytes.len();
        let file = Arc::make_mut(&mut self.bytes);
        if file.len() < end {
            file.resize(end, 0);
        }
        file[offset..end].copy_from_slice(bytes);
        self.unchanged = self.unchanged.min(offset);
        // What a failed sync has dropped is to be written again here; behind it there is nothing but zeros, which read
        // the same.
        self.cut_dropped(offset);
    }

    fn cut_dropped(&mut self, offset: usize) {
        self.dropped.retain_mut(|range| {
            range.end = range.end.min(offset);
            range.start < range.end
        });
    }

    pub(super) fn set_len(&mut self, length: usize) {
        self.unchanged = self.unchanged.min(length);
        Arc::make_mut(&mut self.bytes).resize(length, 0);
        self.cut_dropped(length);
    }

    pub(super) fn sync(&mut self) {
        self.durable = self.on_disk();
        self.unchanged = self.bytes.len();
    }

    /// The operating system forgets that the bytes have to be written.
    pub(super) fn fail_sync(&mut self) {
        self.dropped.push(self.unchanged..self.bytes.len());
        self.unchanged = self.bytes.len();
    }

    pub(super) fn flip(&mut self, offset: usize, bit: u32) {
        Arc::make_mut(&mut self.bytes)[offset] ^= 1 << (bit % 8);
        if self.durable.len() > offset {
            Arc::make_mut(&mut self.durable)[offset] = self.bytes[offset];
        }
    }

    pub(super) fn replace(&mut self, bytes: Vec<u8>) {
        self.bytes = Arc::new(bytes);
        self.durable = Arc::clone(&self.bytes);
        self.unchanged = self.bytes.len();
    }

    /// What the disk would have if everything were written that the operating system knows to be
    /// unwritten.
    fn on_disk(&self) -> Arc<Vec<u8>> {
        if self.dropped.is_empty() {
            return Arc::clone(&self.bytes);
        }
        let mut bytes = Vec::clone(&self.bytes);
        for range in &self.dropped {
            let place = &mut bytes[range.clone()];
            place.fill(0);
            let old = self.durable.get(range.start..).unwrap_or_default();
            let old = &old[..old.len().min(place.len())];
            place[..old.len()].copy_from_slice(old);
        }
        Arc::new(bytes)
    }

    /// The file as it is found after a crash.
    pub(super) fn after(&self, crash: Crash, random: &mut StdRng) -> Self {
        match crash {
            Crash::Kill => self.clone(),
            Crash::PowerCut { keep } => {
                let bytes = self.after_power_cut(keep, random);
                Self {
                    unchanged: bytes.len(),
                    durable: Arc::clone(&bytes),
                    bytes,
                    dropped: Vec::new(),
                }
            }
        }
    }

    fn after_power_cut(&self, keep: f64, random: &mut StdRng) -> Arc<Vec<u8>> {
        let written = self.on_disk();
        if written == self.durable {
            return written;
        }
        let length = if random.random_bool(keep) {
            written.len()
        } else {
            self.durable.len()
        };
        let mut bytes = vec![0; length];
        for start in (0..length).step_by(SECTOR_BYTES) {
            let sector = start..(start + SECTOR_BYTES).min(length);
            let source = if random.random_bool(keep) {
                &written
            } else {
                &self.durable
            };
            let source = source.get(start..).unwrap_or_default();
            let kept = source.len().min(sector.len());
            bytes[sector.start..sector.start + kept].copy_from_slice(&source[..kept]);
        }
        // An append that was under way may have reached any length.
        if length > self.durable.len() && random.random_bool(1.0 - keep) {
            bytes.truncate(random.random_range(self.durable.len()..=length));
        }
        Arc::new(bytes)
    }
}
