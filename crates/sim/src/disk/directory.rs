//! One directory: the names that are there, and those that a crash leaves.

use std::collections::BTreeMap;

use rand::Rng;
use rand::rngs::StdRng;

use super::{Crash, FileId};

/// A change of names that has not been synced. A rename happens as a whole or not at all.
#[derive(Clone, Debug)]
enum NameChange {
    Insert(String, FileId),
    Rename {
        from: String,
        to: String,
        file: FileId,
    },
    Remove(String),
}

type Names = BTreeMap<String, FileId>;

/// A directory's names.
#[derive(Clone, Debug, Default)]
pub(super) struct SimulatedDirectory {
    names: Names,
    durable: Names,
    /// Since the last sync, in order.
    changes: Vec<NameChange>,
}

fn apply(names: &mut Names, change: &NameChange) {
    match change {
        NameChange::Insert(name, file) => {
            names.insert(name.clone(), *file);
        }
        NameChange::Rename { from, to, file } => {
            names.remove(from);
            names.insert(to.clone(), *file);
        }
        NameChange::Remove(name) => {
            names.remove(name);
        }
    }
}

impl SimulatedDirectory {
    pub(super) fn get(&self, name: &str) -> Option<FileId> {
        self.names.get(name).copied()
    }

    pub(super) fn names(&self) -> impl Iterator<Item = (&String, FileId)> {
        self.names.iter().map(|(name, &file)| (name, file))
    }

    pub(super) fn files(&self) -> impl Iterator<Item = FileId> {
        self.names.values().copied()
    }

    /// Files that have a name, or may have one after a crash.
    pub(super) fn known_files(&self) -> impl Iterator<Item = FileId> {
        let changed = self.changes.iter().filter_map(|change| match change {
            NameChange::Insert(_, file) | NameChange::Rename { file, .. } => Some(*file),
            NameChange::Remove(_) => None,
        });
        self.files()
            .chain(self.durable.values().copied())
            .chain(changed)
    }

    fn change(&mut self, change: NameChange) {
        apply(&mut self.names, &change);
        self.changes.push(change);
    }

    pub(super) fn insert(&mut self, name: String, file: FileId) {
        self.change(NameChange::Insert(name, file));
    }

    /// Whether there was such a file.
    pub(super) fn rename(&mut self, from: &str, to: String) -> bool {
        let Some(file) = self.get(from) else {
            return false;
        };
        self.change(NameChange::Rename {
            from: from.to_owned(),
            to,
            file,
        });
        true
    }

    /// Whether there was such a file.
    pub(super) fn remove(&mut self, name: &str) -> bool {
        let found = self.get(name).is_some();
        if found {
            self.change(NameChange::Remove(name.to_owned()));
        }
        found
    }

    /// Whether all names are durable.
    pub(super) fn is_settled(&self) -> bool {
        self.changes.is_empty()
    }

    pub(super) fn sync(&mut self) {
        self.durable = self.names.clone();
        self.changes.clear();
    }

    /// The directory as it is found after a crash.
    pub(super) fn after(&self, crash: Crash, random: &mut StdRng) -> Self {
        match crash {
            Crash::Kill => self.clone(),
            Crash::PowerCut { keep } => {
                let mut names = self.durable.clone();
                for change in &self.changes {
                    if random.random_bool(keep) {
                        apply(&mut names, change);
                    }
                }
                Self {
                    durable: names.clone(),
                    names,
                    changes: Vec::new(),
                }
            }
        }
    }
}
