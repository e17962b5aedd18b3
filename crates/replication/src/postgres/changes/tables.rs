//! What happens to whole tables: schema changes, copies, tables that come and go.
//!
//! A table's shape is looked at when the log describes it (see [`super::super::shape`]), and the
//! set of tables when the stream begins and now and then after. What follows from it is a step:
//! everything before it goes out in a batch, then the steps in one of their own.
//!
//! A table that is copied gets an empty tree that takes its changes from the log at once. Another
//! thread puts the rows of a snapshot into it, at the position R just before the snapshot's, which
//! is above all that has come in when the copy begins (see [`super::super::resync`]). Versions are
//! ordered by position, so it does not matter in which order copy and log arrive. The table
//! is complete when the log has been followed up to R. A change after R that the tree could not
//! take (of another shape, or a truncation, which would have to hide rows that are still to come)
//! makes the copy begin again.

use std::collections::HashMap;
use std::sync::Arc;

use lsm::StoreError;
use types::{ColumnOrigin, CommitPosition, TableChange, TableId, TableName, TableSchema};

use super::super::catalog::PublishedTable;
use super::super::drift::{self, Labels, ListedTable};
use super::super::partitions::{Partition, SeenPartition, unlogged_change};
use super::super::pgoutput::Relation;
use super::super::shape::{self, Plan};
use super::super::state::WireTable;
use super::super::table_sink::{Place, TableSink};
use super::looked_up::HeldBack;
use super::projections::Projected;
use super::{Changes, ChangesError, Described, ReplicatedTable, Table};

/// What the catalog said of all partitions.
pub(super) struct SeenPartitions {
    /// By the object ids of their tables.
    partitions: HashMap<u32, Vec<SeenPartition>>,
    /// Where the log ended before the look: what it had told by then was seen.
    from: CommitPosition,
    /// Where it ended after the look: what was seen it tells until there.
    until: CommitPosition,
}

/// Something that happens to a whole table.
pub(super) enum Step {
    /// Its shape changed; the columns' origins where its cells did.
    Shape {
        index: usize,
        described: PublishedTable,
        origins: Option<Vec<ColumnOrigin>>,
    },
    /// It is copied, in place of what we have of it.
    Copy {
        index: Option<usize>,
        described: PublishedTable,
    },
    /// It has other partitions, whose rows have come or will come through the log.
    Partitions {
        index: usize,
        partitions: Vec<Partition>,
    },
    /// Its enums have other labels, which no row of ours has.
    Labels { index: usize, labels: Labels },
    /// It was emptied; its tree may have rows of the same transaction.
    Empty { index: usize, place: Place },
    /// Its copy is complete.
    Complete { index: usize },
    /// A projection of it begins.
    Project { index: usize, projected: Projected },
    /// The projection with this name is not wanted any more.
    DropProjection { name: String },
    /// The source has it no more.
    Drop { index: usize },
}

/// A copy that somebody has to make.
#[derive(Debug)]
pub struct CopyOrder {
    /// The tree, which is made with the next batch.
    pub table: TableId,
    /// The table; if it looks otherwise in the snapshot, the copy is of no use.
    pub published: PublishedTable,
}

/// A copy that goes on.
#[derive(Debug, Default)]
pub(super) struct Copy {
    /// The consistent point of its snapshot, once everything in that has been copied.
    consistent_point: Option<CommitPosition>,
    /// The last change that the tree could not take.
    disturbed_at: CommitPosition,
    /// The log shows another shape at the moment.
    passed_over: bool,
    /// Changes that need the rows that are copied.
    pub(super) held_back: HeldBack,
}

impl Copy {
    /// The tree cannot take a change of this position.
    pub(super) fn disturb(&mut self, position: CommitPosition) {
        self.disturbed_at = self.disturbed_at.max(position);
    }
}

impl Table {
    pub(super) fn new(replicated: ReplicatedTable) -> Self {
        Self {
            sink: TableSink::new(replicated.id, &replicated.schema),
            copy: None,
            emptied: Place::default(),
            gone: false,
            projections: Vec::new(),
            replicated,
            partly_sent: CommitPosition::ZERO,
            written_by: 0,
            emptied_by: Vec::new(),
        }
    }

    /// Whether a change is left to the copy's snapshot; if that is older, the copy begins again.
    pub(super) fn is_passed_over(&mut self, position: CommitPosition) -> bool {
        match &mut self.copy {
            Some(copy) if copy.passed_over => {
                copy.disturb(position);
                true
            }
            _ => false,
        }
    }

    /// Whether it may have been stopped because a label of an enum was renamed. A multiset's row that goes is
    /// looked for by its cells; the log has shown it with the new name, and we have the old one:
    ///
    /// ```text
    ///   insert 'ok'   rename 'ok' to 'fine'   delete 'fine' ─ not there   labels are compared
    /// ```
    fn may_be_stopped_by_label(&self, now: &ListedTable) -> bool {
        self.sink.is_multiset() && drift::has_renamed_label(&self.replicated.wire, now)
    }

    fn relation(&self) -> u32 {
        self.replicated.wire.relation
    }
}

impl Changes {
    /// Takes in the description of a table.
    pub(super) fn relation(&mut self, relation: Relation) -> Result<(), ChangesError> {
        let id = relation.id;
        self.shown.insert(id, relation.clone());
        let described = match self.index_of(id) {
            Some(index) if self.tables[index].replicated.stopped => Described::Replicated(index),
            Some(index) => {
                self.compare_shape(index, &relation)?;
                Described::Replicated(index)
            }
            None => Described::New,
        };
        self.relations.insert(id, described);
        Ok(())
    }

    fn index_of(&self, relation: u32) -> Option<usize> {
        self.tables.iter().position(|t| t.relation() == relation)
    }

    fn index_by_name(&self, name: &TableName) -> Option<usize> {
        let named = |t: &Table| t.replicated.schema.name == *name;
        self.tables.iter().position(named)
    }

    /// Looks whether a table has the shape in which we store it.
    fn compare_shape(&mut self, index: usize, relation: &Relation) -> Result<(), ChangesError> {
        let Some(mut described) = self.describe.table_shown(relation)? else {
            return self.table_left(index);
        };
        let table = &mut self.tables[index];
        described.keep_text_of(&table.replicated.schema);
        let mut plan = shape::plan(&table.replicated, relation, &described);
        if let Some(copy) = &mut table.copy {
            copy.passed_over = !matches!(plan, Plan::Keep);
            return Ok(());
        }
        let number = self.transaction.as_ref().map_or(0, |open| open.number);
        if matches!(plan, Plan::Reshape(_)) && table.written_by == number {
            plan = Plan::CopyAgain("one transaction wrote to it and changed its columns".into());
        }
        if let Plan::Reshape(origins) = &plan
            && drift::may_bring_old_labels(origins, &described)
        {
            plan = Plan::CopyAgain("a label of its new column's enum may have been renamed".into());
        }
        match plan {
            Plan::Keep => {}
            Plan::Describe => {
                self.give_up_name(&described.name, index)?;
                self.step(Step::Shape {
                    index,
                    described,
                    origins: None,
                });
            }
            Plan::Reshape(origins) => self.step(Step::Shape {
                index,
                described,
                origins: Some(origins),
            }),
            Plan::CopyAgain(reason) => {
                let name = &described.name;
                self.warnings
                    .push(format!("table {name} is copied again: {reason}"));
                self.step(Step::Copy {
                    index: Some(index),
                    described,
                });
            }
        }
        Ok(())
    }

    /// The first change of a table that the log has described and we do not have.
    pub(super) fn describe_new(&mut self, relation: u32) -> Result<(), ChangesError> {
        let shown = self.shown.get(&relation);
        let shown = shown.expect("it was described").clone();
        let described = match self.describe.table_shown(&shown)? {
            Some(described) => Described::Replicated(self.copy_new(described)),
            None => {
                if self.unknown.insert(shown.name.clone()) {
                    self.pass_over(relation, &shown.name)?;
                }
                Described::Unknown
            }
        };
        self.relations.insert(relation, described);
        Ok(())
    }

    /// Begins to copy a table that we do not have under its object id; returns its place.
    fn copy_new(&mut self, described: PublishedTable) -> usize {
        let index = self.index_by_name(&described.name);
        let place = index.unwrap_or_else(|| {
            let copies = |step: &&Step| matches!(step, Step::Copy { index: None, .. });
            self.tables.len() + self.steps.iter().filter(copies).count()
        });
        self.step(Step::Copy { index, described });
        place
    }

    /// Takes over a new name that the log has not shown yet, because nothing was written to the
    /// table since. Everything else about the table is left to the log.
    fn rename(&mut self, index: usize) -> Result<(), ChangesError> {
        let Some(described) = self.described(index)? else {
            return self.table_left(index);
        };
        let table = &self.tables[index];
        let mut schema = TableSchema::clone(&table.replicated.schema);
        schema.name.clone_from(&described.name);
        if table.copy.is_none() && schema == described.schema() {
            self.step(Step::Shape {
                index,
                described,
                origins: None,
            });
        }
        Ok(())
    }

    /// The table that had this name until now, if there is one, has another one or is gone.
    fn give_up_name(&mut self, name: &TableName, taken_by: usize) -> Result<(), ChangesError> {
        let had_it = |(index, table): &(usize, &Table)| {
            *index != taken_by && !table.gone && table.replicated.schema.name == *name
        };
        match self.tables.iter().enumerate().find(had_it) {
            Some((index, _)) => self.rename(index),
            None => Ok(()),
        }
    }

    /// A table is not in the publication any more.
    fn table_left(&mut self, index: usize) -> Result<(), ChangesError> {
        if self.describe.exists(self.tables[index].relation())? {
            self.stop(index, "the table left the publication".to_owned());
        } else {
            self.step(Step::Drop { index });
        }
        Ok(())
    }

    /// Compares the tables of the publication with ours: copies new ones, drops those that are
    /// gone, and begins copies that were cut off.
    pub fn compare_tables(&mut self) -> Result<(), ChangesError> {
        if self.describe.leaves_changes_out()? {
            let reason =
                "the publication leaves out some kinds of changes (its setting \"publish\")";
            (0..self.tables.len()).for_each(|index| self.stop(index, reason.to_owned()));
            return Ok(());
        }
        let published = self.describe.published()?;
        for index in 0..self.tables.len() {
            let table = &self.tables[index];
            let (relation, name) = (table.relation(), &table.replicated.schema.name);
            let is_cut_off = table.replicated.copying && table.copy.is_none();
            let listed = published.iter().find(|listed| listed.relation == relation);
            if table.replicated.stopped {
                if let Some(now) = listed
                    && table.may_be_stopped_by_label(now)
                {
                    self.compare_listed(index, now)?;
                }
                continue;
            }
            let is_new = |listed: &ListedTable| self.index_of(listed.relation).is_none();
            if let Some(now) = listed {
                if is_cut_off {
                    self.copy_once_more(index)?;
                } else if now.name != *name {
                    self.rename(index)?;
                } else {
                    self.compare_listed(index, now)?;
                }
            } else if !published
                .iter()
                .any(|listed| listed.name == *name && is_new(listed))
            {
                self.table_left(index)?;
            }
        }
        self.look_at_partitions()?;
        for ListedTable { relation, .. } in published {
            if self.index_of(relation).is_none()
                && !self.is_expected(relation)
                && let Some(described) = self.describe.table(relation)?
            {
                self.copy_new(described);
            }
        }
        Ok(())
    }

    /// Copies a table again of which the publication has other rows or columns, or whose enums have other
    /// labels. What is being copied is compared with its snapshot.
    fn compare_listed(&mut self, index: usize, now: &ListedTable) -> Result<(), ChangesError> {
        let table = &self.tables[index];
        let (wire, name) = (&table.replicated.wire, &table.replicated.schema.name);
        if table.copy.is_some() {
            return Ok(());
        }
        if let Some(reason) = drift::unlogged_change(wire, now) {
            let warning = format!("table {name} is copied again: {reason}");
            self.warnings.push(warning);
            return self.copy_once_more(index);
        }
        let labels = drift::labels_of_rows(wire.labels.as_ref(), &now.labels);
        if wire.labels.as_ref() != Some(&labels) {
            self.step(Step::Labels { index, labels });
        }
        Ok(())
    }

    /// The first change of a table that is not ours: what it brings is left out. Where the table has
    /// become a partition of one of ours meanwhile, that one is copied again.
    pub(super) fn pass_over(
        &mut self,
        relation: u32,
        name: &TableName,
    ) -> Result<(), ChangesError> {
        let is_it = |seen: &SeenPartition| seen.partition.relation == relation;
        let all = self.describe.partitions()?;
        let mut roots = all.iter().filter(|(_, members)| members.iter().any(is_it));
        let index = roots.next().and_then(|(root, _)| self.index_of(*root));
        let Some(index) = index else {
            self.warnings.push(format!(
                "table {name} is in the log, but not in the publication, and is not replicated"
            ));
            return Ok(());
        };
        let root = &self.tables[index].replicated.schema.name;
        self.warnings.push(format!(
            "table {root} is copied again: {name} was filled before it became a partition of it"
        ));
        self.copy_once_more(index)
    }

    /// Looks at all partitions. What the log tells of them may be on its way, so that they are compared when it
    /// has been followed up to now.
    fn look_at_partitions(&mut self) -> Result<(), ChangesError> {
        if self.seen_partitions.is_none() {
            let from = self.describe.log_end()?;
            let partitions = self.describe.partitions()?;
            let until = self.describe.log_end()?;
            self.seen_partitions = Some(SeenPartitions {
                partitions,
                from,
                until,
            });
        }
        self.compare_partitions()
    }

    /// Copies tables again of whose partitions the log has not told everything.
    pub fn compare_partitions(&mut self) -> Result<(), ChangesError> {
        let reached = CommitPosition(self.last.0.saturating_add(1));
        let is_due = |seen: &mut SeenPartitions| seen.until <= reached;
        if self.transaction.is_some() || !self.steps.is_empty() {
            return Ok(());
        }
        let Some(seen) = self.seen_partitions.take_if(is_due) else {
            return Ok(());
        };
        let (mut all, from) = (seen.partitions, seen.from);
        for index in 0..self.tables.len() {
            let table = &self.tables[index];
            let (wire, name) = (&table.replicated.wire, &table.replicated.schema.name);
            let now = all.remove(&wire.relation);
            // What is copied is compared with the snapshot.
            let is_settled = table.copy.is_none() && !table.replicated.copying;
            if table.replicated.stopped || !is_settled {
                continue;
            }
            let Some(now) = now.or(wire.partitions.as_ref().map(|_| Vec::new())) else {
                continue;
            };
            let known = wire.partitions.as_deref();
            let emptied_by: Vec<_> = table.emptied_by.iter().map(|(_, id)| *id).collect();
            let reason = known.and_then(|known| unlogged_change(known, &now, &emptied_by));
            if let Some(reason) = reason {
                let warning = format!("table {name} is copied again: {reason}");
                self.warnings.push(warning);
                self.copy_once_more(index)?;
                continue;
            }
            let partitions: Vec<Partition> = now.iter().map(|seen| seen.partition).collect();
            let is_other = known != Some(&partitions[..]);
            self.tables[index]
                .emptied_by
                .retain(|(position, _)| *position >= from);
            if is_other {
                self.step(Step::Partitions { index, partitions });
            }
        }
        Ok(())
    }

    /// Whether the table is about to be copied.
    fn is_expected(&self, relation: u32) -> bool {
        let is_copy = |step: &Step| match step {
            Step::Copy { described, .. } => described.relation == relation,
            _ => false,
        };
        self.steps.iter().any(is_copy)
    }

    /// Copies a table again, whatever its state and without keeping columns as text; returns its
    /// place, or an error that says why that is not possible.
    pub fn resync(&mut self, name: &TableName) -> Result<Result<usize, String>, ChangesError> {
        let Some(index) = self.index_by_name(name) else {
            return Ok(Err(format!("there is no table {name} in this replica")));
        };
        let mut published = self.describe.published()?.into_iter();
        let described = match published.find(|listed| listed.name == *name) {
            Some(listed) => self.describe.table(listed.relation)?,
            None => None,
        };
        let Some(described) = described else {
            return Ok(Err(format!("table {name} is not in the publication")));
        };
        self.step(Step::Copy {
            index: Some(index),
            described,
        });
        Ok(Ok(index))
    }

    /// Has a table copied again in whose files this damage was met.
    pub fn repair(&mut self, table: TableId, damage: &StoreError) -> Result<(), ChangesError> {
        let Some(index) = self.tables.iter().position(|t| t.replicated.id == table) else {
            return Ok(());
        };
        let name = &self.tables[index].replicated.schema.name;
        self.warnings
            .push(format!("table {name} is copied again: {damage}"));
        self.copy_once_more(index)
    }

    /// The tree of the table at a place, once the steps so far have been carried out.
    pub fn tree(&self, place: usize) -> TableId {
        self.tables[place].replicated.id
    }

    /// A table's copy has everything in a snapshot with this consistent point, or failed for good,
    /// or found another table than was ordered.
    pub fn copied(&mut self, table: TableId, outcome: CopyOutcome) -> Result<(), ChangesError> {
        let Some(index) = self.tables.iter().position(|t| t.replicated.id == table) else {
            return Ok(());
        };
        let Some(copy) = &mut self.tables[index].copy else {
            return Ok(());
        };
        match outcome {
            CopyOutcome::Copied(consistent_point) => {
                copy.consistent_point = Some(consistent_point);
            }
            CopyOutcome::Changed => return self.copy_once_more(index),
            CopyOutcome::TextNeeded(column) => return self.copy_with_text(index, &column),
            CopyOutcome::GivenUp(reason) => self.stop(index, reason),
        }
        Ok(())
    }

    /// A column has a value that its column type cannot hold: the table is copied again with the
    /// column as text.
    pub(super) fn copy_with_text(&mut self, index: usize, name: &str) -> Result<(), ChangesError> {
        let Some(mut described) = self.described(index)? else {
            return self.table_left(index);
        };
        let mut columns = described.columns.iter_mut();
        if let Some(column) = columns.find(|column| column.name == name) {
            column.as_text = true;
        }
        self.warnings.push(format!(
            "table {} is copied again: column \"{name}\" has a value that only text can hold",
            described.name
        ));
        self.step(Step::Copy {
            index: Some(index),
            described,
        });
        Ok(())
    }

    /// A table as the catalog has it now, with the columns as text that we keep so.
    fn described(&mut self, index: usize) -> Result<Option<PublishedTable>, ChangesError> {
        let table = &self.tables[index];
        let mut described = self.describe.table(table.relation())?;
        if let Some(described) = &mut described {
            described.keep_text_of(&table.replicated.schema);
        }
        Ok(described)
    }

    pub(super) fn copy_once_more(&mut self, index: usize) -> Result<(), ChangesError> {
        match self.described(index)? {
            Some(described) => {
                let index = Some(index);
                self.step(Step::Copy { index, described });
                Ok(())
            }
            None => self.table_left(index),
        }
    }

    /// Ends copies whose snapshot the log has passed.
    pub fn complete_copies(&mut self) -> Result<(), ChangesError> {
        if self.transaction.is_some() || !self.steps.is_empty() {
            return Ok(());
        }
        for index in 0..self.tables.len() {
            let Some(copy) = &self.tables[index].copy else {
                continue;
            };
            let reached = CommitPosition(self.last.0.saturating_add(1));
            match copy.consistent_point {
                Some(point) if point > reached => {}
                // Every change of another shape disturbs. One before the point says nothing of the snapshot, even if
                // the log never shows the table again.
                Some(point) if copy.disturbed_at >= point => self.copy_once_more(index)?,
                Some(_) => self.step(Step::Complete { index }),
                None => {}
            }
        }
        Ok(())
    }

    /// The copies to make; their trees are made by the batches that were taken.
    pub fn take_copies(&mut self) -> Vec<CopyOrder> {
        std::mem::take(&mut self.copies)
    }

    pub(super) fn step(&mut self, step: Step) {
        self.steps.push(step);
        self.cut_due = true;
    }

    /// Puts the steps into the batch, which is empty; returns whether there are any.
    pub(super) fn carry_out_steps(&mut self) -> bool {
        let steps = std::mem::take(&mut self.steps);
        let any = !steps.is_empty();
        for step in steps {
            self.carry_out(step);
        }
        if any {
            self.batch.source = Some(self.state.to_value().to_string());
            if self.transaction.is_none() {
                self.batch.committed = Some(self.last);
                self.batch.resume = self.resume;
            }
        }
        any
    }

    /// The position at which a step is seen: the open transaction's, or else at once.
    fn position(&self) -> CommitPosition {
        let open = self.transaction.as_ref().map(|open| open.position);
        open.unwrap_or(self.last)
    }

    fn carry_out(&mut self, step: Step) {
        let position = self.position();
        match step {
            Step::Shape {
                index,
                described,
                origins,
            } => self.change_shape(index, &described, origins),
            Step::Copy { index, described } => self.begin_copy(index, described),
            Step::Partitions { index, partitions } => {
                self.remember(index, |wire| wire.partitions = Some(partitions));
            }
            Step::Labels { index, labels } => {
                self.remember(index, |wire| wire.labels = Some(labels))
            }
            Step::Empty { index, place } => self.empty(index, place),
            Step::Complete { index } => {
                let table = &mut self.tables[index];
                if let Some(mut copy) = table.copy.take() {
                    let point = copy.consistent_point.unwrap_or_default();
                    self.batch.changes.extend(copy.held_back.take_from(point));
                }
                table.replicated.copying = false;
                let (table, position) = (table.replicated.id, self.last);
                self.batch
                    .changes
                    .push(TableChange::Complete { table, position });
                self.project_again(index);
            }
            Step::Project { index, projected } => self.begin_projection(index, projected),
            Step::DropProjection { name } => self.drop_projection(name),
            Step::Drop { index } => {
                let table = &mut self.tables[index];
                table.replicated.stopped = true;
                table.gone = true;
                table.copy = None;
                table.projections.clear();
                drop(table.sink.take());
                let table = table.replicated.id;
                self.state.tables.retain(|wire| wire.table != table.0);
                self.batch
                    .changes
                    .push(TableChange::Drop { table, position });
            }
        }
    }

    fn remember(&mut self, index: usize, change: impl FnOnce(&mut WireTable)) {
        let wire = &mut self.tables[index].replicated.wire;
        change(wire);
        let stored = self.state.tables.iter_mut();
        for stored in stored.filter(|stored| stored.table == wire.table) {
            stored.clone_from(wire);
        }
    }

    pub(super) fn new_id(&mut self) -> TableId {
        let id = self.next_table;
        self.next_table = TableId(id.0 + 1);
        id
    }

    fn change_shape(
        &mut self,
        index: usize,
        described: &PublishedTable,
        origins: Option<Vec<ColumnOrigin>>,
    ) {
        let position = self.position();
        let schema = Arc::new(described.schema());
        let table = self.tables[index].replicated.id;
        let (id, change) = match origins {
            None => {
                let change = TableChange::Describe {
                    table,
                    schema: schema.clone(),
                    position,
                };
                (table, change)
            }
            Some(columns) => {
                let successor = self.new_id();
                let change = TableChange::Reshape {
                    table,
                    successor,
                    schema: schema.clone(),
                    columns,
                    position,
                };
                (successor, change)
            }
        };
        let Table {
            partly_sent,
            emptied,
            replicated:
                ReplicatedTable {
                    written_before,
                    stopped,
                    ..
                },
            ..
        } = self.tables[index];
        let mut replicated = described_as(id, described, false);
        // Those whose rows we have, not those that are there now.
        let before = &self.tables[index].replicated.wire;
        replicated.wire.partitions.clone_from(&before.partitions);
        let labels = drift::labels_of_rows(before.labels.as_ref(), &described.labels);
        replicated.wire.labels = before.labels.is_some().then_some(labels);
        self.replace(index, replicated);
        if id == table {
            let same = &mut self.tables[index];
            same.partly_sent = partly_sent;
            same.emptied = emptied;
            same.replicated.written_before = written_before;
            same.replicated.stopped = stopped;
        }
        self.batch.changes.push(change);
        if id != table {
            self.project_again(index);
        }
    }

    /// The table goes on in an empty tree from its truncation on.
    fn empty(&mut self, index: usize, place: Place) {
        let (id, position) = (self.new_id(), place.position);
        let before = &self.tables[index].replicated;
        let (replaces, schema) = (before.id, before.schema.clone());
        let wire = WireTable {
            table: id.0,
            ..before.wire.clone()
        };
        let replicated = ReplicatedTable {
            id,
            schema: schema.clone(),
            wire,
            stopped: false,
            copying: false,
            written_before: CommitPosition::ZERO,
        };
        self.replace(index, replicated);
        self.tables[index].emptied = place;
        let create = TableChange::Create {
            table: id,
            schema,
            replaces: Some(replaces),
            position,
        };
        let complete = TableChange::Complete {
            table: id,
            position,
        };
        self.batch.changes.extend([create, complete]);
        self.project_again(index);
    }

    fn begin_copy(&mut self, index: Option<usize>, published: PublishedTable) {
        let position = self.position();
        let table = self.new_id();
        let before = index.map(|index| &self.tables[index]);
        let replaces = before.filter(|t| !t.gone).map(|t| t.replicated.id);
        let schema = Arc::new(published.schema());
        let index = index.unwrap_or(self.tables.len());
        self.replace(index, described_as(table, &published, true));
        // Until the log shows the table anew, its rows look as it showed it last.
        let shown = self.shown.get(&published.relation);
        let replicated = &self.tables[index].replicated;
        let keeps = |shown| matches!(shape::plan(replicated, shown, &published), Plan::Keep);
        self.tables[index].copy = Some(Copy {
            passed_over: !shown.is_none_or(keeps),
            ..Copy::default()
        });
        self.batch.changes.push(TableChange::Create {
            table,
            schema,
            replaces,
            position,
        });
        self.copies.push(CopyOrder { table, published });
    }

    /// Puts a table with an empty sink in place of the one at `index`, or behind the last. From now on
    /// it takes the changes of its own object id, and of no other: the log may still have changes of
    /// a table that was dropped and whose name it has.
    fn replace(&mut self, index: usize, replicated: ReplicatedTable) {
        let wire = replicated.wire.clone();
        for (id, described) in &mut self.relations {
            let is_here = matches!(described, Described::Replicated(place) if *place == index);
            if *id == wire.relation {
                *described = Described::Replicated(index);
            } else if is_here {
                *described = Described::Former;
            }
        }
        let table = Table::new(replicated);
        match self.tables.get_mut(index) {
            None => self.tables.push(table),
            Some(place) => {
                let (before, number) = (place.replicated.id, place.written_by);
                self.state.tables.retain(|wire| wire.table != before.0);
                let projections = std::mem::take(&mut place.projections);
                *place = table;
                place.written_by = number;
                place.projections = projections;
                place.keep_cells();
            }
        }
        self.state.tables.push(wire);
    }
}

/// A table as the catalog describes it, in the tree `id`.
fn described_as(id: TableId, described: &PublishedTable, copying: bool) -> ReplicatedTable {
    ReplicatedTable {
        id,
        schema: Arc::new(described.schema()),
        wire: WireTable::new(id, described),
        stopped: false,
        copying,
        written_before: CommitPosition::ZERO,
    }
}

/// How a copy ended.
#[derive(Debug)]
pub enum CopyOutcome {
    /// Everything in a snapshot with this consistent point is in the tree.
    Copied(CommitPosition),
    /// The table did not look as ordered.
    Changed,
    /// The column of this name has a value that only text can hold.
    TextNeeded(String),
    /// It cannot be copied; why.
    GivenUp(String),
}
