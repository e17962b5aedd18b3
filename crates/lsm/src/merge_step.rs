//! A step of a merge: between two keys the output takes the place of the inputs.
//!
//! ```text
//!              start      end
//! newer input    ├──────────┼────┤ ├──┤          ·         ├───┤ ├──┤    bound raised to `end`
//! older input  ═╡├──┤ ├───┤ ├──────┤      →    ═╡├──┤ ├───┤├─────┤       output, then what is left
//! written        ├──┤ ├───┤
//! ```
//!
//! The output goes into the oldest input that is left. Below `end` no other input has anything
//! any more, so its age among them does not matter, and the inputs are neighbours, so it lies
//! between the runs between which they lay.
//!
//! Pure: the same step of the same runs has the same outcome.

use std::collections::HashSet;
use std::sync::Arc;

use types::TableId;
use types::key::SortKey;

use crate::manifest::{Change, RunId};
use crate::museum::{self, Exhibit};
use crate::run::{DiskRun, RunSegment};
use crate::segment::{Segment, SegmentId, SegmentInfo};

/// What a merge has done since its last step.
pub(crate) struct MergeStep<'a> {
    /// All inputs, newest first; some may be used up.
    pub inputs: &'a [RunId],
    /// Segments of the inputs that move into the output as they are.
    pub moving: &'a HashSet<SegmentId>,
    /// The new segments.
    pub written: &'a [Arc<Segment>],
    /// The first key that was not merged before: what is below is output of steps before.
    pub start: Option<SortKey>,
    /// The first key that has not been merged now; `None` if all have.
    pub end: Option<SortKey>,
}

/// What becomes of a tree's runs.
pub(crate) struct Outcome {
    /// The runs after the step, newest first.
    pub runs: Vec<Arc<DiskRun>>,
    /// Segments that left the tree.
    pub retired: Vec<Arc<Segment>>,
    /// The run that has the output.
    target: RunId,
    /// Segments that moved there from other inputs.
    moved: Vec<RunSegment>,
    written: Vec<SegmentInfo>,
    raised: Vec<(SegmentId, SortKey)>,
}

/// What becomes of an input's segment.
enum Fate {
    /// It lies in front of the step, or behind.
    Stays,
    /// It lies across the end.
    Raised(SortKey),
    /// It belongs to the output as it is.
    Moves,
    /// All its keys have been merged.
    Goes,
}

impl MergeStep<'_> {
    /// Takes the step; `None` if no input is left.
    pub fn take(&self, runs: &[Arc<DiskRun>]) -> Option<Outcome> {
        let is_input = |run: &Arc<DiskRun>| self.inputs.contains(&run.id);
        let target = runs.iter().rfind(|run| is_input(run))?.id;
        let mut outcome = Outcome {
            runs: Vec::new(),
            retired: Vec::new(),
            target,
            moved: Vec::new(),
            written: self.written.iter().map(|s| s.info().clone()).collect(),
            raised: Vec::new(),
        };
        // The target is the last input: then it is known what moves into it.
        for run in runs {
            let left = match is_input(run) {
                true => self.leave(run, &mut outcome),
                false => Some(Arc::clone(run)),
            };
            outcome.runs.extend(left);
        }
        Some(outcome)
    }

    /// Those segments of a newer input that have keys in the step, keys ascending.
    pub fn consumed(&self, input: &DiskRun) -> Vec<RunSegment> {
        let is_in_step = |part: &&RunSegment| {
            let begins_before_end = self.end.as_ref().is_none_or(|end| part.key_min() < end);
            let ends_behind_start = self
                .start
                .as_ref()
                .is_none_or(|start| part.key_max() >= start);
            begins_before_end && ends_behind_start
        };
        input.segments.iter().filter(is_in_step).cloned().collect()
    }

    /// What is left of an input.
    fn leave(&self, run: &DiskRun, outcome: &mut Outcome) -> Option<Arc<DiskRun>> {
        let is_target = run.id == outcome.target;
        let mut left = Vec::new();
        for part in &run.segments {
            match self.fate(part) {
                Fate::Stays => left.push(part.clone()),
                Fate::Moves if is_target => left.push(part.clone()),
                Fate::Moves => outcome.moved.push(part.clone()),
                Fate::Goes => outcome.retired.push(Arc::clone(&part.segment)),
                Fate::Raised(bound) => {
                    outcome.raised.push((part.info().id, bound.clone()));
                    left.push(RunSegment {
                        segment: Arc::clone(&part.segment),
                        bound: Some(bound),
                    });
                }
            }
        }
        if is_target {
            left.extend(outcome.moved.iter().cloned());
            left.extend(self.written.iter().cloned().map(RunSegment::whole));
        }
        (!left.is_empty()).then(|| {
            Arc::new(DiskRun {
                buffer: run.buffer.clone(),
                ..DiskRun::new(run.id, left)
            })
        })
    }

    fn fate(&self, part: &RunSegment) -> Fate {
        let is_output = |start: &SortKey| part.key_max() < start;
        if self.start.as_ref().is_some_and(is_output) {
            return Fate::Stays;
        }
        match &self.end {
            Some(end) if part.key_min() >= end => Fate::Stays,
            Some(end) if part.key_max() >= end && museum::shows(Exhibit::BoundNotRaised) => {
                Fate::Stays
            }
            Some(end) if part.key_max() >= end => Fate::Raised(end.clone()),
            _ if self.moving.contains(&part.info().id) => Fate::Moves,
            _ => Fate::Goes,
        }
    }
}

impl Outcome {
    /// The run that has the output; `None` if it came to nothing.
    pub fn target_run(&mut self) -> Option<&mut Arc<DiskRun>> {
        self.runs.iter_mut().find(|run| run.id == self.target)
    }

    /// What the manifest has to learn.
    pub fn changes(&self, table: TableId) -> Vec<Change> {
        let moved = || self.moved.iter().map(RunSegment::info);
        let retired = self.retired.iter().map(|segment| segment.info());
        let raised = (!self.raised.is_empty()).then(|| Change::RaiseBounds {
            table,
            bounds: self.raised.clone(),
        });
        let replaced = Change::ReplaceSegments {
            table,
            removed: retired.chain(moved()).map(|info| info.id).collect(),
            run: self.target,
            added: self.written.iter().chain(moved()).cloned().collect(),
        };
        raised.into_iter().chain([replaced]).collect()
    }
}
