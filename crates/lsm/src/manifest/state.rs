//! The state that the manifest's edits add up to.
//!
//! Invariants, kept by [`ManifestState::apply`]: a run's segments have disjoint ascending key
//! ranges, from their bounds on; no segment is in two places; no run is empty; ids and bounds only
//! grow.

use std::collections::BTreeMap;
use std::sync::Arc;

use types::key::SortKey;
use types::{CommitPosition, TableId, TableSchema};

use super::edit::{Change, Edit};
use crate::segment::{SegmentId, SegmentInfo};

/// Identifies a run within one data directory. Never reused. Says nothing of age.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct RunId(pub u64);

/// A sorted run: segments with disjoint key ranges, ascending.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct RunState {
    /// The run.
    pub id: RunId,
    /// Its segments, keys ascending.
    pub segments: Vec<SegmentInfo>,
    /// Those of which only a part counts: from this key on. A merge has put what is below
    /// elsewhere.
    pub bounds: BTreeMap<SegmentId, SortKey>,
}

/// One table's tree.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct TableState {
    /// The table's schema.
    pub schema: Arc<TableSchema>,
    /// The runs, newest first.
    pub runs: Vec<RunState>,
    /// Positions of truncations that some run may still need, ascending.
    pub truncations: Vec<CommitPosition>,
}

/// Everything that the manifest knows.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ManifestState {
    /// The tables. Shared, because each commit works on a copy of the state.
    pub tables: BTreeMap<TableId, Arc<TableState>>,
    /// The position that recovery restores.
    pub visible: CommitPosition,
    /// The caller's metadata at that position.
    pub metadata: Arc<[u8]>,
    /// Above every segment id ever committed.
    pub next_segment: SegmentId,
    /// Above every run id ever committed.
    pub next_run: RunId,
    /// Above every table id ever committed.
    pub next_table: TableId,
}

/// An edit says something that cannot be, given the state.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("{0}")]
pub(super) struct Contradiction(String);

fn ensure(holds: bool, words: impl FnOnce() -> String) -> Result<(), Contradiction> {
    if holds {
        Ok(())
    } else {
        Err(Contradiction(words()))
    }
}

impl Default for ManifestState {
    fn default() -> Self {
        Self {
            tables: BTreeMap::new(),
            visible: CommitPosition::ZERO,
            metadata: Arc::new([]),
            next_segment: SegmentId::default(),
            next_run: RunId::default(),
            next_table: TableId(0),
        }
    }
}

impl ManifestState {
    /// All segments of all tables.
    pub fn segments(&self) -> impl Iterator<Item = &SegmentInfo> {
        self.tables
            .values()
            .flat_map(|tree| &tree.runs)
            .flat_map(|run| &run.segments)
    }

    /// Applies an edit. After a contradiction the state is part way and of no use.
    pub(super) fn apply(&mut self, edit: &Edit) -> Result<(), Contradiction> {
        edit.changes
            .iter()
            .try_for_each(|change| self.apply_change(change))
    }

    fn apply_change(&mut self, change: &Change) -> Result<(), Contradiction> {
        match change {
            Change::CreateTable { table, schema } => self.create_table(*table, schema),
            Change::DropTable { table } => self.drop_table(*table),
            Change::PushRun { table, run } => self.push_run(*table, run),
            Change::ReplaceSegments {
                table,
                removed,
                run,
                added,
            } => {
                self.see_segments(added);
                self.table(*table)?
                    .replace_segments(*table, removed, *run, added)
            }
            Change::RaiseBounds { table, bounds } => {
                let tree = self.table(*table)?;
                let mut each = bounds.iter();
                each.try_for_each(|(segment, key)| tree.raise_bound(*segment, key))
            }
            Change::Truncate { table, position } => {
                self.table(*table)?.truncate(*position);
                Ok(())
            }
            Change::ForgetTruncations { table, position } => {
                self.table(*table)?
                    .truncations
                    .retain(|truncation| truncation > position);
                Ok(())
            }
            Change::Publish { position, metadata } => {
                self.visible = *position;
                self.metadata = Arc::clone(metadata);
                Ok(())
            }
            Change::RaiseNextIds {
                segment,
                run,
                table,
            } => {
                self.next_segment = self.next_segment.max(*segment);
                self.next_run = self.next_run.max(*run);
                self.next_table = self.next_table.max(*table);
                Ok(())
            }
        }
    }

    fn table(&mut self, table: TableId) -> Result<&mut TableState, Contradiction> {
        let missing = || Contradiction(format!("table {table} does not exist"));
        let tree = self.tables.get_mut(&table).ok_or_else(missing)?;
        Ok(Arc::make_mut(tree))
    }

    fn create_table(
        &mut self,
        table: TableId,
        schema: &Arc<TableSchema>,
    ) -> Result<(), Contradiction> {
        ensure(table >= self.next_table, || {
            format!("table {table} was there before")
        })?;
        let tree = TableState {
            schema: Arc::clone(schema),
            runs: Vec::new(),
            truncations: Vec::new(),
        };
        self.tables.insert(table, Arc::new(tree));
        self.next_table = TableId(table.0.saturating_add(1));
        Ok(())
    }

    fn drop_table(&mut self, table: TableId) -> Result<(), Contradiction> {
        let dropped = self.tables.remove(&table);
        ensure(dropped.is_some(), || {
            format!("table {table} does not exist")
        })
    }

    fn push_run(&mut self, table: TableId, run: &RunState) -> Result<(), Contradiction> {
        self.see_segments(&run.segments);
        self.next_run = self.next_run.max(RunId(run.id.0.saturating_add(1)));
        let tree = self.table(table)?;
        let id = run.id.0;
        ensure(!run.segments.is_empty(), || format!("run {id} is empty"))?;
        ensure(tree.runs.iter().all(|other| other.id != run.id), || {
            format!("run {id} exists")
        })?;
        tree.check_added(table, &run.segments)?;
        run.check_order()?;
        tree.runs.insert(0, run.clone());
        Ok(())
    }

    fn see_segments(&mut self, segments: &[SegmentInfo]) {
        for segment in segments {
            self.next_segment = self
                .next_segment
                .max(SegmentId(segment.id.0.saturating_add(1)));
        }
    }
}

impl TableState {
    fn truncate(&mut self, position: CommitPosition) {
        if let Err(place) = self.truncations.binary_search(&position) {
            self.truncations.insert(place, position);
        }
    }

    fn replace_segments(
        &mut self,
        table: TableId,
        removed: &[SegmentId],
        run: RunId,
        added: &[SegmentInfo],
    ) -> Result<(), Contradiction> {
        for &segment in removed {
            self.remove_segment(segment)?;
        }
        self.check_added(table, added)?;
        let target = self.runs.iter_mut().find(|candidate| candidate.id == run);
        let target =
            target.ok_or_else(|| Contradiction(format!("run {} does not exist", run.0)))?;
        target.segments.extend_from_slice(added);
        // Their last keys: the first one of a segment need not count any more.
        target.segments.sort_by(|a, b| a.key_max.cmp(&b.key_max));
        target.check_order()?;
        self.runs.retain(|run| !run.segments.is_empty());
        Ok(())
    }

    fn raise_bound(&mut self, segment: SegmentId, key: &SortKey) -> Result<(), Contradiction> {
        let (run, place) = self.place(segment)?;
        let run = &mut self.runs[run];
        let before = run.key_min(&run.segments[place]);
        ensure(before < key && *key <= run.segments[place].key_max, || {
            format!("the bound of segment {segment} is not within its keys")
        })?;
        run.bounds.insert(segment, key.clone());
        Ok(())
    }

    fn remove_segment(&mut self, segment: SegmentId) -> Result<(), Contradiction> {
        let (run, place) = self.place(segment)?;
        self.runs[run].segments.remove(place);
        self.runs[run].bounds.remove(&segment);
        Ok(())
    }

    /// The run that a segment is in, and its place there.
    fn place(&self, segment: SegmentId) -> Result<(usize, usize), Contradiction> {
        let place = |run: &RunState| run.segments.iter().position(|info| info.id == segment);
        let mut places = self.runs.iter().map(place).enumerate();
        let found = places.find_map(|(run, place)| Some((run, place?)));
        found.ok_or_else(|| Contradiction(format!("segment {segment} is in no run")))
    }

    fn check_added(&self, table: TableId, added: &[SegmentInfo]) -> Result<(), Contradiction> {
        let present = |id: SegmentId| {
            self.runs
                .iter()
                .flat_map(|run| &run.segments)
                .any(|segment| segment.id == id)
        };
        added.iter().try_for_each(|segment| {
            let id = segment.id;
            ensure(segment.table == table, || {
                format!("segment {id} is of another table")
            })?;
            ensure(!present(id), || format!("segment {id} is in a run already"))
        })
    }
}

impl RunState {
    /// The first key of a segment that counts.
    fn key_min<'a>(&'a self, segment: &'a SegmentInfo) -> &'a SortKey {
        self.bounds.get(&segment.id).unwrap_or(&segment.key_min)
    }

    fn check_order(&self) -> Result<(), Contradiction> {
        let id = self.id.0;
        let forward = self
            .segments
            .iter()
            .all(|segment| self.key_min(segment) <= &segment.key_max);
        let mut neighbours = self.segments.iter().zip(self.segments.iter().skip(1));
        let disjoint = neighbours.all(|(segment, next)| segment.key_max < *self.key_min(next));
        ensure(forward && disjoint, || {
            format!("segments of run {id} overlap")
        })
    }
}
