//! What holds of all policies, and what merging costs under each as a tree grows.

use proptest::prelude::*;

use super::*;

const POLICIES: [MergePolicy; 4] = [
    MergePolicy::SizeTiered,
    MergePolicy::Leveled { ratio: 10 },
    MergePolicy::Rose,
    MergePolicy::SteppedMerge { runs_a_level: 4 },
];

const C0: u64 = 1 << 20;

/// A tree whose merges end at once. Rows are never overwritten.
struct GrowingTree {
    policy: MergePolicy,
    sizes: Vec<u64>,
    written: u64,
}

impl GrowingTree {
    fn after(policy: MergePolicy, flushes: u64) -> Self {
        let mut tree = Self {
            policy,
            sizes: Vec::new(),
            written: 0,
        };
        for _ in 0..flushes {
            tree.merge_all();
            tree.flush();
        }
        tree.merge_all();
        tree
    }

    fn ask<T>(&self, question: impl Fn(&Runs<'_>) -> T) -> T {
        question(&Runs {
            sizes: &self.sizes,
            taken: &vec![false; self.sizes.len()],
            full_c0_bytes: C0,
        })
    }

    fn flush(&mut self) {
        let base = self.ask(|runs| self.policy.flushes_into_newest(runs));
        assert!(!self.ask(|runs| self.policy.flush_waits(runs)));
        self.replace(0..usize::from(base), C0);
    }

    fn merge_all(&mut self) {
        while let Some(due) = self.ask(|runs| self.policy.choose(runs, 6, false)) {
            self.replace(due, 0);
        }
    }

    /// Puts one run in the place of these, with so many bytes more.
    fn replace(&mut self, inputs: Range<usize>, added: u64) {
        let size = self.sizes[inputs.clone()].iter().sum::<u64>() + added;
        self.written += size;
        self.sizes.splice(inputs, [size]);
    }

    fn write_amplification(&self) -> f64 {
        self.written as f64 / self.sizes.iter().sum::<u64>() as f64
    }
}

/// The model (section 2.3) writes each row 2 R times in a tree that has its size. While the tree
/// grows, R is two thirds of what it is in the end, on average, and C1 is half as large as it may
/// become: 2/3 R + 1/3 R, and the row itself.
#[test]
fn rose_writes_as_often_as_its_model_for_a_tree_that_grows() {
    for flushes in [25, 100, 400, 1_600] {
        let tree = GrowingTree::after(MergePolicy::Rose, flushes);
        let expected = (flushes as f64).sqrt() + 1.0;
        let found = tree.write_amplification();
        assert!(
            (0.95..1.05).contains(&(found / expected)),
            "{flushes} flushes: {found:.2} times, expected {expected:.2}"
        );
        assert!(tree.sizes.len() <= 2);
    }
}

#[test]
fn stepped_merge_writes_once_a_level() {
    let policy = MergePolicy::SteppedMerge { runs_a_level: 4 };
    for levels in 1..5 {
        let tree = GrowingTree::after(policy, 4_u64.pow(levels));
        assert_eq!(tree.sizes.len(), 1);
        assert_eq!(tree.written, tree.sizes[0] * u64::from(levels + 1));
    }
    let tree = GrowingTree::after(policy, 4_u64.pow(5) - 1);
    assert_eq!(tree.sizes.len(), 3 * 5, "three of each level");
}

/// A level is rewritten for each run that is merged into it until it is full: ratio / 2 times, and
/// once more when it is drained.
#[test]
fn leveled_merges_write_half_the_ratio_a_level() {
    let policy = MergePolicy::Leveled { ratio: 10 };
    let mut tree = GrowingTree {
        policy,
        sizes: vec![1_000 * C0],
        written: 0,
    };
    // The last level, too, is rewritten for each tenth of it: ten times.
    for _ in 0..1_000 {
        tree.flush();
        tree.merge_all();
    }
    let times = tree.written as f64 / (1_000 * C0) as f64;
    assert!((15.0..30.0).contains(&times), "{times:.1} times");
}

#[test]
fn leveled_merges_write_what_has_piled_up_once_a_level() {
    let policy = MergePolicy::Leveled { ratio: 10 };
    let mut tree = GrowingTree {
        policy,
        sizes: [vec![C0; 90], vec![10_000 * C0]].concat(),
        written: 0,
    };
    tree.merge_all();
    assert!(tree.written <= 3 * 90 * C0, "{} of C0", tree.written / C0);
    assert!(tree.sizes.len() < 6, "{:?}", tree.sizes);
}

fn runs_of_a_tree() -> impl Strategy<Value = Vec<(u64, bool)>> {
    prop::collection::vec((0..64 * C0, any::<bool>()), 0..12)
}

proptest! {
    #[test]
    fn runs_that_are_free_and_several_are_merged(tree in runs_of_a_tree(), is_idle: bool) {
        let (sizes, taken): (Vec<u64>, Vec<bool>) = tree.into_iter().unzip();
        let runs = Runs { sizes: &sizes, taken: &taken, full_c0_bytes: C0 };
        for policy in POLICIES {
            if let Some(due) = policy.choose(&runs, 6, is_idle) {
                prop_assert!(due.len() >= 2, "{policy:?}: {due:?}");
                prop_assert!(!taken[due].contains(&true), "{policy:?}");
            }
        }
    }

    /// A flush that waits would wait for ever, if nobody merged the run.
    #[test]
    fn a_flush_waits_only_for_a_merge_that_comes(sizes in prop::collection::vec(0..64 * C0, 0..6)) {
        let mut tree = GrowingTree { policy: MergePolicy::Rose, sizes, written: 0 };
        tree.merge_all();
        prop_assert!(!tree.ask(|runs| MergePolicy::Rose.flush_waits(runs)));
    }
}
