//! Damage to files at rest. It is reported with the file's name, or harmless; no wrong row is
//! ever returned, nothing that was acknowledged silently missing, nothing panics.

use std::path::Path;

use lsm::{StoreError, Work};
use sim::{Faults, Replica, Step, environment};

use crate::model::started;
use crate::runs::for_seeds;

const STRIDE_BYTES: u64 = 64;

/// A stopped replica whose disk has every kind of file and little else.
fn reference(seed: u64) -> Replica {
    let mut replica = started(seed);
    let steps = [
        Step::Commit,
        Step::Ingest,
        Step::Ingest,
        Step::Publish,
        Step::Flush,
    ];
    for round in 0..6 {
        for step in steps {
            replica.step(step).expect("nothing fails");
        }
        if round == 3 {
            while replica.disk().changes() > 0 {
                let before = replica.disk().changes();
                replica
                    .step(Step::Work(Work::Merge))
                    .expect("nothing fails");
                if replica.disk().changes() == before {
                    break;
                }
            }
        }
    }
    replica.stop();
    replica
}

/// Whether an error names the file.
fn names(error: &StoreError, path: &Path) -> bool {
    let name = path.file_name().expect("a name").to_string_lossy();
    match error {
        StoreError::Corrupt { file, .. } | StoreError::VersionTooNew { file, .. } => {
            file.contains(name.as_ref())
        }
        _ => false,
    }
}

/// Opens the damaged store and scans everything. Returns the errors.
fn open_and_scan(replica: &mut Replica) -> Vec<StoreError> {
    replica.tolerate_damage();
    replica.disk().plan(Faults::default());
    let opened = replica.start().err();
    opened.into_iter().chain(replica.damage()).collect()
}

#[test]
fn every_damaged_byte_is_found_or_harmless() {
    for_seeds("damaged byte", 2, |seed| {
        let reference = reference(seed);
        for (path, length) in reference.disk().files() {
            for start in (0..length).step_by(STRIDE_BYTES as usize) {
                let offset =
                    (start + (start / STRIDE_BYTES * 7 + seed) % STRIDE_BYTES).min(length - 1);
                let mut replica = reference.fork();
                replica.disk().flip_byte(&path, offset, (offset / 3) as u32);
                let errors = open_and_scan(&mut replica);
                // Marks only say how far the log was synced; without one less is known.
                let harmless = path.extension().is_some_and(|ending| ending == "synced");
                let at = format!("byte {offset} of {}", path.display());
                assert!(harmless || !errors.is_empty(), "{at} was not found");
                for error in errors {
                    assert!(names(&error, &path), "{at}: {error}");
                }
            }
        }
    });
}

#[test]
fn a_cut_or_missing_file_is_found() {
    for_seeds("cut file", 4, |seed| {
        let reference = reference(seed);
        for (path, length) in reference.disk().files() {
            for cut in [None, Some(0), Some(length / 2), Some(length - 1)] {
                let mut replica = reference.fork();
                match cut {
                    Some(length) => replica.disk().cut(&path, length),
                    None => {
                        let disk = environment(replica.disk()).disk;
                        disk.remove(&path).expect("the file exists");
                    }
                }
                let errors = open_and_scan(&mut replica);
                let at = format!("{} cut to {cut:?}", path.display());
                let harmless = cut.is_some() && path.extension().is_some_and(|e| e == "synced");
                assert!(harmless || !errors.is_empty(), "{at} was not found");
                for error in errors {
                    let parts = path.with_extension("");
                    let named = names(&error, &path) || names(&error, &parts);
                    assert!(named, "{at}: {error}");
                }
            }
        }
    });
}
