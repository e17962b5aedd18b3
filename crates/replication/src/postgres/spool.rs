//! Messages of transactions that are still in progress at the source, until they commit.
//!
//! A spool keeps the messages of one transaction in order: the newest in memory, the others in a
//! file once they are many. It remembers where each subtransaction begins: rolling one back cuts
//! the spool there, because all that came since belongs to it or to what it contains. (Of a
//! subtransaction that did nothing itself, the server names those that it contains.) Descriptions
//! of tables in what is cut off stay: the server does not send them twice.
//!
//! In the file and in memory, a message is its length (4 bytes, little endian) and its bytes. A
//! file needs no checksum and is never synced: it does not outlive its transaction, and after a
//! crash the source sends everything again.
//!
//! Does not: know what a message means, but for descriptions of tables.

use std::collections::HashMap;
use std::io;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use env::{Disk, WritableFile};

/// Bytes of a transaction that wait in memory.
const MEMORY_BYTES: usize = 1 << 20;
/// Bytes that are read from a file at a time.
const READ_BYTES: usize = 1 << 20;
/// What a message's length takes.
const LENGTH_BYTES: usize = size_of::<u32>();
/// The kind of a message that describes a table.
const RELATION: u8 = b'R';

/// A transaction of the source, or a subtransaction.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct TransactionId(pub u32);

/// Messages cannot be kept.
#[derive(Debug, thiserror::Error)]
pub enum SpoolError {
    /// The disk failed.
    #[error("transactions in progress cannot be kept in {}: {error}", path.display())]
    Disk {
        /// The file or folder.
        path: PathBuf,
        /// What went wrong.
        error: io::Error,
    },
    /// They are larger than they may be.
    #[error("transactions in progress take more than {bytes_max} bytes")]
    Full {
        /// The limit.
        bytes_max: u64,
    },
}

/// The spools of all transactions in progress.
pub struct Spools {
    disk: Arc<dyn Disk>,
    directory: PathBuf,
    bytes_max: u64,
    open: HashMap<TransactionId, Spool>,
}

impl Spools {
    /// No transaction is in progress. Files that an earlier process has left in `directory` are
    /// removed; spools may take `bytes_max` together.
    pub fn new(disk: Arc<dyn Disk>, directory: &Path, bytes_max: u64) -> Result<Self, SpoolError> {
        let failed = |error| SpoolError::Disk {
            path: directory.to_owned(),
            error,
        };
        disk.create_directories(directory).map_err(failed)?;
        for left in disk.list(directory).map_err(failed)? {
            disk.remove(&left).map_err(failed)?;
        }
        Ok(Self {
            disk,
            directory: directory.to_owned(),
            bytes_max,
            open: HashMap::new(),
        })
    }

    /// Keeps a message of `part`, which is `transaction` or a subtransaction of it.
    pub fn push(
        &mut self,
        transaction: TransactionId,
        part: TransactionId,
        message: &[u8],
    ) -> Result<(), SpoolError> {
        let path = self.directory.join(format!("{}.spool", transaction.0));
        let new = || Spool::new(self.disk.clone(), path);
        self.open
            .entry(transaction)
            .or_insert_with(new)
            .push(part, message)?;
        if self.bytes() > self.bytes_max {
            let bytes_max = self.bytes_max;
            return Err(SpoolError::Full { bytes_max });
        }
        Ok(())
    }

    /// Bytes of all spools.
    pub fn bytes(&self) -> u64 {
        self.open.values().map(Spool::bytes).sum()
    }

    /// `part` of a transaction was rolled back.
    pub fn roll_back(
        &mut self,
        transaction: TransactionId,
        part: TransactionId,
    ) -> Result<(), SpoolError> {
        if part == transaction {
            self.open.remove(&transaction);
            return Ok(());
        }
        self.open
            .get_mut(&transaction)
            .map_or(Ok(()), |spool| spool.cut(part))
    }

    /// A transaction has committed: its spool, if it had a message.
    pub fn take(&mut self, transaction: TransactionId) -> Option<Spool> {
        self.open.remove(&transaction)
    }

    /// Whether no transaction is in progress.
    pub fn is_empty(&self) -> bool {
        self.open.is_empty()
    }

    /// Forgets all transactions: they are sent again.
    pub fn clear(&mut self) {
        self.open.clear();
    }
}

/// The messages of one transaction.
pub struct Spool {
    disk: Arc<dyn Disk>,
    path: PathBuf,
    file: Option<Box<dyn WritableFile>>,
    bytes_in_file: u64,
    memory: Vec<u8>,
    /// Where each part of the transaction begins, in this order.
    parts: Vec<(TransactionId, u64)>,
    /// Where descriptions of tables are.
    relations: Vec<(u64, Vec<u8>)>,
}

impl Spool {
    fn new(disk: Arc<dyn Disk>, path: PathBuf) -> Self {
        Self {
            disk,
            path,
            file: None,
            bytes_in_file: 0,
            memory: Vec::new(),
            parts: Vec::new(),
            relations: Vec::new(),
        }
    }

    /// Bytes of all messages.
    pub fn bytes(&self) -> u64 {
        self.bytes_in_file + self.memory.len() as u64
    }

    fn failed(&self, error: io::Error) -> SpoolError {
        SpoolError::Disk {
            path: self.path.clone(),
            error,
        }
    }

    fn push(&mut self, part: TransactionId, message: &[u8]) -> Result<(), SpoolError> {
        if !self.parts.iter().any(|(known, _)| *known == part) {
            self.parts.push((part, self.bytes()));
        }
        if message.first() == Some(&RELATION) {
            self.relations.push((self.bytes(), message.to_owned()));
        }
        let length = u32::try_from(message.len()).expect("a message is shorter than 4 GiB");
        self.memory.extend_from_slice(&length.to_le_bytes());
        self.memory.extend_from_slice(message);
        if self.memory.len() >= MEMORY_BYTES {
            self.spill()?;
        }
        Ok(())
    }

    /// Moves what is in memory into the file.
    fn spill(&mut self) -> Result<(), SpoolError> {
        let file = match &mut self.file {
            Some(file) => file,
            None => {
                let created = self.disk.create(&self.path);
                self.file.insert(created.map_err(|error| SpoolError::Disk {
                    path: self.path.clone(),
                    error,
                })?)
            }
        };
        let appended = file.append(&self.memory);
        appended.map_err(|error| self.failed(error))?;
        self.bytes_in_file += self.memory.len() as u64;
        self.memory.clear();
        Ok(())
    }

    /// Cuts off everything since `part` began.
    fn cut(&mut self, part: TransactionId) -> Result<(), SpoolError> {
        let Some(place) = self.parts.iter().position(|(known, _)| *known == part) else {
            return Ok(());
        };
        let (_, at) = self.parts[place];
        self.parts.truncate(place);
        if let Some(in_memory) = at.checked_sub(self.bytes_in_file) {
            self.memory.truncate(in_memory as usize);
        } else {
            self.memory.clear();
            let cut = self.disk.open_append(&self.path, at);
            self.file = Some(cut.map_err(|error| self.failed(error))?);
            self.bytes_in_file = at;
        }
        let kept = self.relations.partition_point(|(place, _)| *place < at);
        let owner = self.parts.last().map_or(part, |(owner, _)| *owner);
        for (_, message) in self.relations.split_off(kept) {
            self.push(owner, &message)?;
        }
        Ok(())
    }

    /// The messages, in order.
    pub fn messages(&self) -> Messages<'_> {
        Messages {
            spool: self,
            bytes: Vec::new(),
            at: 0,
            next: 0,
        }
    }
}

impl Drop for Spool {
    fn drop(&mut self) {
        if self.file.take().is_some() {
            let removed = self.disk.remove(&self.path);
            tracing::debug!(path = %self.path.display(), ?removed, "spool removed");
        }
    }
}

/// Reads a spool from its beginning.
pub struct Messages<'a> {
    spool: &'a Spool,
    /// A piece of the spool, not read before `at`.
    bytes: Vec<u8>,
    at: usize,
    /// Where the spool goes on after the piece.
    next: u64,
}

impl Messages<'_> {
    /// The next message; `None` at the end.
    pub fn next_message(&mut self) -> Result<Option<&[u8]>, SpoolError> {
        if !self.load(LENGTH_BYTES)? {
            return Ok(None);
        }
        let (length, _) = self.bytes[self.at..]
            .split_first_chunk()
            .expect("it was loaded");
        let length = u32::from_le_bytes(*length) as usize;
        let start = self.at + LENGTH_BYTES;
        let whole = self.load(LENGTH_BYTES + length)?;
        let start = if self.at == 0 { LENGTH_BYTES } else { start };
        assert!(whole, "a spool ends with a whole message");
        self.at = start + length;
        Ok(Some(&self.bytes[start..start + length]))
    }

    /// Has `wanted` bytes at the front of the piece; false if the spool ends before.
    fn load(&mut self, wanted: usize) -> Result<bool, SpoolError> {
        if self.bytes.len() - self.at >= wanted {
            return Ok(true);
        }
        self.bytes.drain(..self.at);
        self.at = 0;
        while self.bytes.len() < wanted {
            let in_file = self.spool.bytes_in_file;
            if self.next < in_file {
                self.load_from_file((in_file - self.next).min(READ_BYTES as u64) as usize)?;
            } else {
                let in_memory = &self.spool.memory[(self.next - in_file) as usize..];
                if in_memory.is_empty() {
                    return Ok(false);
                }
                self.bytes.extend_from_slice(in_memory);
                self.next += in_memory.len() as u64;
            }
        }
        Ok(true)
    }

    fn load_from_file(&mut self, length: usize) -> Result<(), SpoolError> {
        let spool = self.spool;
        let file = spool.disk.open(&spool.path);
        let file = file.map_err(|error| spool.failed(error))?;
        let start = self.bytes.len();
        self.bytes.resize(start + length, 0);
        file.read_exact_at(&mut self.bytes[start..], self.next)
            .map_err(|error| spool.failed(error))?;
        self.next += length as u64;
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use env::RealDisk;
    use proptest::prelude::*;
    use tempfile::TempDir;

    use super::*;

    const TOP: TransactionId = TransactionId(1);

    fn spools(folder: &TempDir, bytes_max: u64) -> Spools {
        Spools::new(Arc::new(RealDisk), folder.path(), bytes_max).expect("a folder of our own")
    }

    fn all(spool: &Spool) -> Vec<Vec<u8>> {
        let mut messages = spool.messages();
        let mut all = Vec::new();
        while let Some(message) = messages.next_message().expect("the file can be read") {
            all.push(message.to_vec());
        }
        all
    }

    /// What is done with a transaction.
    #[derive(Clone, Debug)]
    enum Action {
        /// A message of so many bytes in the innermost subtransaction.
        Message(usize),
        /// A subtransaction begins.
        Begin,
        /// The innermost one is rolled back.
        RollBack,
        /// The innermost one is part of the one around it from now on.
        Release,
    }

    /// A subtransaction that has not ended, in the model.
    struct Part {
        /// Its own id, and those that were released into it.
        ids: Vec<TransactionId>,
        messages: Vec<Vec<u8>>,
    }

    impl Part {
        fn new(id: TransactionId) -> Self {
            Self {
                ids: vec![id],
                messages: Vec::new(),
            }
        }
    }

    fn actions() -> impl Strategy<Value = Vec<Action>> {
        let action = prop_oneof![
            6 => (1..300_000_usize).prop_map(Action::Message),
            3 => (1..20_usize).prop_map(Action::Message),
            2 => Just(Action::Begin),
            2 => Just(Action::RollBack),
            1 => Just(Action::Release),
        ];
        proptest::collection::vec(action, 1..60)
    }

    proptest! {
        #![proptest_config(ProptestConfig::with_cases(64))]

        /// Against a stack of lists.
        #[test]
        fn what_was_rolled_back_is_gone_and_the_rest_is_in_order(actions in actions()) {
            let folder = TempDir::new().expect("a folder");
            let mut spools = spools(&folder, u64::MAX);
            let mut model = vec![Part::new(TOP)];
            let mut ids = 2;
            for (number, action) in actions.into_iter().enumerate() {
                let innermost = model.last_mut().expect("the top");
                match action {
                    Action::Message(bytes) => {
                        let message = vec![number as u8 | 0x80; bytes];
                        spools.push(TOP, innermost.ids[0], &message).expect("there is room");
                        innermost.messages.push(message);
                    }
                    Action::Begin => {
                        model.push(Part::new(TransactionId(ids)));
                        ids += 1;
                    }
                    Action::RollBack if model.len() > 1 => {
                        let part = model.pop().expect("not the top");
                        // The server names what was released into it, too.
                        for id in part.ids.into_iter().rev() {
                            spools.roll_back(TOP, id).expect("the file can be cut");
                        }
                    }
                    Action::Release if model.len() > 1 => {
                        let part = model.pop().expect("not the top");
                        let around = model.last_mut().expect("the top");
                        around.ids.extend(part.ids);
                        around.messages.extend(part.messages);
                    }
                    Action::RollBack | Action::Release => {}
                }
            }
            let expected: Vec<_> = model.into_iter().flat_map(|part| part.messages).collect();
            let found = spools.take(TOP).map_or(Vec::new(), |spool| all(&spool));
            prop_assert_eq!(found, expected);
            let left = std::fs::read_dir(folder.path()).expect("the folder").count();
            prop_assert_eq!(left, 0, "the file goes with the spool");
        }
    }

    #[test]
    fn descriptions_of_tables_outlive_what_they_came_with() {
        let folder = TempDir::new().expect("a folder");
        let mut spools = spools(&folder, u64::MAX);
        let part = TransactionId(2);
        for (owner, message) in [(TOP, "Ione"), (part, "Rtwo"), (part, "Ithree")] {
            let kept = spools.push(TOP, owner, message.as_bytes());
            kept.expect("there is room");
        }
        spools.roll_back(TOP, part).expect("it is in memory");
        let spool = spools.take(TOP).expect("a spool");
        assert_eq!(all(&spool), [b"Ione".to_vec(), b"Rtwo".to_vec()]);
    }

    #[test]
    fn spools_are_bounded_and_a_new_process_begins_without() {
        let folder = TempDir::new().expect("a folder");
        std::fs::write(folder.path().join("7.spool"), "left").expect("a file");
        let mut spools = spools(&folder, 100);
        assert!(!folder.path().join("7.spool").exists());
        spools.push(TOP, TOP, &[0; 80]).expect("there is room");
        let refused = spools.push(TransactionId(9), TransactionId(9), &[0; 80]);
        assert!(matches!(refused, Err(SpoolError::Full { bytes_max: 100 })));
        spools.roll_back(TOP, TOP).expect("all of it");
        assert!(spools.take(TOP).is_none());
    }
}
