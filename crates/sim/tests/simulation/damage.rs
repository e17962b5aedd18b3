//! Damage to files at rest.

use std::path::Path;

use sim::scenario::{damage, model};
use sim::{Step, environment};

use crate::runs::for_seeds;

#[test]
fn every_damaged_byte_is_found_or_harmless() {
    for_seeds("damaged byte", 6, damage::bytes);
}

#[test]
fn a_cut_or_missing_file_is_found() {
    for_seeds("damaged file", 6, damage::files);
}

#[test]
fn bytes_from_elsewhere_are_found() {
    for_seeds("misplaced bytes", 6, damage::misplaced);
}

#[test]
fn files_that_are_not_ours_stay() {
    let mut replica = model::started(1);
    let others = ["/data/notes.txt", "/data/segments/notes.txt"].map(Path::new);
    for path in others {
        let disk = environment(replica.disk()).disk;
        disk.create(path).expect("a new file");
    }
    replica.step(Step::Restart).expect("the store opens");
    let files = replica.disk().files();
    for path in others {
        assert!(files.iter().any(|(found, _)| found == path), "{files:?}");
    }
}
