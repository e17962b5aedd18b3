//! What merges do for compaction buffers: they put what they consume into them, and trim them every so
//! often. See `compaction_buffer`.

use std::sync::Arc;
use std::sync::atomic::Ordering;

use crate::compaction_buffer::{BufferOptions, Consumed};
use crate::manifest::RunId;
use crate::merge_step::{MergeStep, Outcome};
use crate::run::DiskRun;
use crate::store::Store;
use crate::tree::Claim;
use crate::version::Version;

impl Store {
    /// Puts what a committed step has consumed into the buffer of the run that it went into, where
    /// there are buffers.
    pub(crate) fn keep_consumed(
        &self,
        claim: &Claim,
        step: &MergeStep<'_>,
        before: &Version,
        outcome: &mut Outcome,
    ) -> Vec<Consumed> {
        let Some(target) = outcome.target_run() else {
            return Vec::new();
        };
        // What came may not have been noted, and where nothing is left of the oldest input it goes
        // into another one: such a buffer does not know the newest versions.
        let is_oldest = claim.inputs.last() == Some(&target.id);
        let consumed = is_oldest.then(|| self.consumed(claim, step, before));
        let consumed = consumed.flatten().unwrap_or_default();
        let buffer = (!consumed.is_empty()).then(|| target.buffer_after(&consumed));
        if buffer.is_some() || target.buffer.is_some() {
            *target = Arc::new(target.with_buffer(buffer));
        }
        consumed
    }

    /// What a step of a merge has consumed of all inputs but the oldest, where there are buffers.
    /// The last run has none: it would have everything twice.
    fn consumed(
        &self,
        claim: &Claim,
        step: &MergeStep<'_>,
        before: &Version,
    ) -> Option<Vec<Consumed>> {
        self.factory.options.compaction_buffer?;
        if claim.includes_oldest {
            return None;
        }
        // Of an input that is used up nothing is consumed any more.
        let find = |id: &RunId| before.runs.iter().find(move |run| run.id == *id);
        let inputs: Vec<Option<&Arc<DiskRun>>> = claim.inputs.iter().map(find).collect();
        let newer = 0..inputs.len() - 1;
        let consumed = newer.map(|index| {
            let older = inputs[index + 1..].iter().flatten();
            let position_before = older.map(|run| run.positions().max).max();
            Consumed::new(
                inputs[index].map_or_else(Vec::new, |run| step.consumed(run)),
                step.start.clone()..step.end.clone(),
                position_before.unwrap_or(0),
                &self.factory.cache,
            )
        });
        Some(consumed.collect())
    }

    /// Trims the buffers of all trees, if it is time.
    pub(crate) fn trim_buffers_if_due(&self) {
        let Some(options) = self.factory.options.compaction_buffer else {
            return;
        };
        let now_ms = self.factory.env.clock.monotonic().as_millis() as u64;
        let trimmed_ms = self.trimmed_ms.load(Ordering::Relaxed);
        if now_ms < trimmed_ms + options.trim_period_ms {
            return;
        }
        self.trimmed_ms.store(now_ms, Ordering::Relaxed);
        // Runs on disk change under the manifest's lock only.
        let _manifest = self.manifest.lock();
        for tree in self.trees() {
            tree.update(|version| version.with_runs(self.trimmed(version, options)));
        }
    }

    fn trimmed(&self, version: &Version, options: BufferOptions) -> Vec<Arc<DiskRun>> {
        let trimmed = |run: &Arc<DiskRun>| {
            let buffer = run.buffer.as_ref();
            let next =
                buffer.and_then(|b| b.trimmed(options.cached_share_min, &self.factory.cache));
            next.map_or_else(
                || Arc::clone(run),
                |next| Arc::new(run.with_buffer(Some(next))),
            )
        };
        version.runs.iter().map(trimmed).collect()
    }
}
