//! The experiment, small: what is read is right, and every tree is seen.

use anyhow::Result;
use lsm::StoreOptions;

use super::figures::{self, Run};
use super::tables::Class;
use super::{Sizes, side};
use crate::limits::disk::DiskProfile;
use crate::results::Results;

const SIZES: Sizes = Sizes {
    tables: 50,
    written: 10,
    rows_before: 20_000,
    rows: 60_000,
};

#[test]
fn a_small_run_reads_what_it_wrote_and_sees_every_tree() -> Result<()> {
    let folder = tempfile::tempdir()?;
    let options = StoreOptions {
        memory_bytes: 4 << 20,
        cache_bytes: 1 << 20,
        ..StoreOptions::default()
    };
    let report = side::measure(folder.path(), options, &SIZES)?;
    assert!(report.rows_checked > SIZES.rows_before);
    assert!(report.look_ups.iter().all(|(_, times)| times.count > 0));
    assert!(report.flushes.count > 1);
    let written = report.trees.iter().filter(|tree| tree.class != Class::Idle);
    assert_eq!(written.clone().count(), SIZES.written);
    assert!(
        written
            .clone()
            .all(|tree| tree.changes > 0 && tree.runs_max > 0)
    );
    assert!(report.trees.iter().all(|tree| tree.files > 0));

    let mut results = Results::new("many-trees", "quick");
    let run = Run {
        profile: DiskProfile::Native,
        memory_bytes: 1 << 40,
        memory_bytes_max: None,
        report,
    };
    figures::note(&mut results, &run);
    let most = results.value("native: most runs of a tree", None);
    let allowed = results.value("native: the same / most allowed", None);
    assert!((most / allowed - StoreOptions::default().runs_max as f64).abs() < 1e-9);
    assert!(results.value("native: most memory resident / limit", None) < 1.0);
    Ok(())
}
