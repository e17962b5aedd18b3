//! The manifest on the real disk: edits, rotation, torn tails, damage. What a failing disk does
//! to it is tested with the simulated disk.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use env::Env;
use tempfile::TempDir;
use types::key::SortKey;
use types::{Column, ColumnType, CommitPosition, SourceType, TableId, TableName, TableSchema};

use super::*;
use crate::segment::SegmentInfo;

const TABLE: TableId = TableId(1);

fn schema() -> Arc<TableSchema> {
    let column = |name: &str, column_type, number| Column {
        name: name.to_owned(),
        column_type,
        nullable: number > 1,
        hidden: false,
        source_number: number,
        source_type: SourceType {
            oid: 20,
            modifier: -1,
            name: "bigint".to_owned(),
        },
    };
    Arc::new(TableSchema {
        name: TableName {
            schema: "public".to_owned(),
            name: "Ünïted".to_owned(),
        },
        columns: vec![
            column("id", ColumnType::Int64, 1),
            column(
                "price",
                ColumnType::Decimal {
                    precision: 15,
                    scale: 2,
                },
                2,
            ),
            column("note", ColumnType::Text, 4),
        ],
        key: vec![0],
    })
}

fn segment(id: u64, keys: std::ops::RangeInclusive<u64>) -> SegmentInfo {
    SegmentInfo {
        id: SegmentId(id),
        table: TABLE,
        bytes: 1000 + id,
        pages: 3,
        versions: 77,
        tombstones: 1,
        patches: 2,
        key_min: SortKey::U64(*keys.start()),
        key_max: SortKey::U64(*keys.end()),
        position_min: CommitPosition(5),
        position_max: CommitPosition(9),
        checksum: 0xABCD,
    }
}

fn push(run: u64, segments: Vec<SegmentInfo>) -> Change {
    Change::PushRun {
        table: TABLE,
        run: RunState {
            id: RunId(run),
            segments,
            bounds: BTreeMap::new(),
        },
    }
}

fn publish(position: u64) -> Change {
    let metadata = Arc::from(format!("resume at {position}").into_bytes());
    Change::Publish {
        position: CommitPosition(position),
        metadata,
    }
}

/// The segment counts from this key on.
fn raise(segment: u64, key: u64) -> Change {
    Change::RaiseBounds {
        table: TABLE,
        bounds: vec![(SegmentId(segment), SortKey::U64(key))],
    }
}

fn create() -> Edit {
    Edit {
        changes: vec![Change::CreateTable {
            table: TABLE,
            schema: schema(),
        }],
    }
}

fn edit(changes: Vec<Change>) -> Edit {
    Edit { changes }
}

struct Folder {
    env: Env,
    directory: TempDir,
}

impl Folder {
    fn new() -> Self {
        Self {
            env: Env::real(),
            directory: TempDir::new().expect("a temporary directory"),
        }
    }

    fn path(&self) -> &Path {
        self.directory.path()
    }

    fn open(&self) -> Result<(Manifest, ManifestState), StoreError> {
        Manifest::open(&self.env, self.path())
    }

    fn file(&self, ending: &str) -> PathBuf {
        let mut found = std::fs::read_dir(self.path())
            .expect("list")
            .map(|entry| entry.expect("an entry").path())
            .filter(|path| path.to_string_lossy().ends_with(ending));
        let file = found.next().expect("the file is there");
        assert_eq!(found.next(), None, "one {ending}");
        file
    }

    /// Every file of the directory itself, to be put back.
    fn files(&self) -> Vec<(PathBuf, Vec<u8>)> {
        std::fs::read_dir(self.path())
            .expect("list")
            .map(|entry| entry.expect("an entry").path())
            .filter(|path| path.is_file())
            .map(|path| (path.clone(), std::fs::read(path).expect("read")))
            .collect()
    }

    fn restore(&self, files: &[(PathBuf, Vec<u8>)]) {
        for (path, _) in self.files() {
            std::fs::remove_file(path).expect("remove");
        }
        for (path, bytes) in files {
            std::fs::write(path, bytes).expect("write");
        }
    }
}

/// A folder with some history, and its state.
fn with_history() -> (Folder, ManifestState) {
    let folder = Folder::new();
    let (mut manifest, _) = folder.open().expect("open");
    let truncate = Change::Truncate {
        table: TABLE,
        position: CommitPosition(4),
    };
    for edit in [
        create(),
        edit(vec![
            push(0, vec![segment(0, 1..=10), segment(1, 11..=20)]),
            publish(10),
        ]),
        edit(vec![
            push(1, vec![segment(2, 5..=15)]),
            truncate,
            publish(20),
        ]),
        edit(vec![raise(2, 8)]),
    ] {
        manifest.commit(&edit).expect("commit");
    }
    let state = manifest.state().clone();
    (folder, state)
}

#[test]
fn a_new_directory_has_an_empty_state() {
    let folder = Folder::new();
    let (_, state) = folder.open().expect("open");
    assert_eq!(state, ManifestState::default());
    assert!(folder.path().join(SEGMENTS_DIRECTORY).is_dir());
}

#[test]
fn reopening_finds_what_was_committed_again_and_again() {
    let (folder, state) = with_history();
    for _ in 0..3 {
        let (manifest, reopened) = folder.open().expect("open");
        assert_eq!(reopened, state);
        assert_eq!(*manifest.state(), state);
    }
    let tree = &state.tables[&TABLE];
    assert_eq!(
        tree.runs.iter().map(|run| run.id.0).collect::<Vec<_>>(),
        [1, 0],
        "newest first"
    );
    assert_eq!(tree.truncations, [CommitPosition(4)]);
    assert_eq!(
        tree.runs[0].bounds,
        BTreeMap::from([(SegmentId(2), SortKey::U64(8))])
    );
    assert_eq!(state.visible, CommitPosition(20));
    assert_eq!(&*state.metadata, b"resume at 20");
    assert_eq!(
        (state.next_segment, state.next_run),
        (SegmentId(3), RunId(2))
    );
    assert_eq!(state.next_table, TableId(2));
}

#[test]
fn a_merge_replaces_segments_and_empty_runs_vanish() {
    let (folder, _) = with_history();
    let (mut manifest, _) = folder.open().expect("open");
    // Segment 1 lies beyond what run 1 overlaps: it stays. Segment 0 and 2 become 3.
    let merge = Change::ReplaceSegments {
        table: TABLE,
        removed: vec![SegmentId(0), SegmentId(1), SegmentId(2)],
        run: RunId(0),
        added: vec![segment(4, 16..=20), segment(3, 1..=15)],
    };
    manifest.commit(&edit(vec![merge])).expect("commit");
    let (_, state) = folder.open().expect("open");
    let runs = &state.tables[&TABLE].runs;
    assert_eq!(runs.len(), 1);
    assert_eq!(runs[0].id, RunId(0));
    assert_eq!(runs[0].segments, [segment(3, 1..=15), segment(4, 16..=20)]);
    assert_eq!(state.next_segment, SegmentId(5));
}

#[test]
fn a_segment_can_move_and_a_garbage_run_can_vanish() {
    let (folder, _) = with_history();
    let (mut manifest, _) = folder.open().expect("open");
    let move_down = Change::ReplaceSegments {
        table: TABLE,
        removed: vec![SegmentId(2), SegmentId(0), SegmentId(1)],
        run: RunId(0),
        added: vec![segment(2, 5..=15)],
    };
    manifest.commit(&edit(vec![move_down])).expect("commit");
    assert_eq!(
        manifest.state().tables[&TABLE].runs[0].segments,
        [segment(2, 5..=15)]
    );
    let all_garbage = Change::ReplaceSegments {
        table: TABLE,
        removed: vec![SegmentId(2)],
        run: RunId(0),
        added: Vec::new(),
    };
    manifest.commit(&edit(vec![all_garbage])).expect("commit");
    assert!(manifest.state().tables[&TABLE].runs.is_empty());
    assert_eq!(manifest.state().segments().count(), 0);
}

#[test]
fn a_step_of_a_merge_puts_its_output_below_the_bounds() {
    let (folder, _) = with_history();
    let (mut manifest, _) = folder.open().expect("open");
    let step = vec![
        raise(2, 14),
        raise(1, 14),
        Change::ReplaceSegments {
            table: TABLE,
            removed: vec![SegmentId(0)],
            run: RunId(0),
            added: vec![segment(3, 1..=13)],
        },
    ];
    manifest.commit(&edit(step)).expect("commit");
    let (_, state) = folder.open().expect("open");
    let runs = &state.tables[&TABLE].runs;
    assert_eq!(runs[0].segments, [segment(2, 5..=15)]);
    assert_eq!(
        runs[1].segments,
        [segment(3, 1..=13), segment(1, 11..=20)],
        "what counts of segment 1 comes last"
    );
    let (_, reopened) = folder.open().expect("open");
    assert_eq!(reopened, state);
}

#[test]
#[should_panic(expected = "bound")]
fn a_bound_does_not_sink() {
    let (folder, _) = with_history();
    let (mut manifest, _) = folder.open().expect("open");
    let _ = manifest.commit(&edit(vec![raise(2, 7)]));
}

#[test]
#[should_panic(expected = "bound")]
fn a_bound_leaves_something() {
    let (folder, _) = with_history();
    let (mut manifest, _) = folder.open().expect("open");
    let _ = manifest.commit(&edit(vec![raise(2, 16)]));
}

#[test]
fn a_dropped_tables_ids_do_not_come_back() {
    let (folder, _) = with_history();
    let (mut manifest, _) = folder.open().expect("open");
    manifest
        .commit(&edit(vec![Change::DropTable { table: TABLE }]))
        .expect("commit");
    drop(manifest);
    for _ in 0..2 {
        let (_, state) = folder.open().expect("open");
        assert!(state.tables.is_empty());
        assert_eq!(state.next_table, TableId(2));
        assert_eq!(
            (state.next_segment, state.next_run),
            (SegmentId(3), RunId(2))
        );
    }
}

#[test]
fn forgotten_truncations_are_gone() {
    let (folder, _) = with_history();
    let (mut manifest, _) = folder.open().expect("open");
    let at = |position| Change::Truncate {
        table: TABLE,
        position: CommitPosition(position),
    };
    let forget = Change::ForgetTruncations {
        table: TABLE,
        position: CommitPosition(6),
    };
    manifest
        .commit(&edit(vec![at(8), at(6), at(8), forget]))
        .expect("commit");
    assert_eq!(
        manifest.state().tables[&TABLE].truncations,
        [CommitPosition(8)]
    );
}

#[test]
#[should_panic(expected = "overlap")]
fn overlapping_segments_in_one_run_are_refused() {
    let (folder, _) = with_history();
    let (mut manifest, _) = folder.open().expect("open");
    let run = push(7, vec![segment(8, 1..=5), segment(9, 5..=6)]);
    let _ = manifest.commit(&edit(vec![run]));
}

#[test]
fn a_long_log_is_rewritten_and_old_logs_go() {
    let folder = Folder::new();
    let (mut manifest, _) = folder.open().expect("open");
    manifest.commit(&create()).expect("commit");
    let metadata: Arc<[u8]> = vec![7; 100_000].into();
    let first = folder.file(".log");
    for position in 0..30 {
        let metadata = Arc::clone(&metadata);
        let publish = Change::Publish {
            position: CommitPosition(position),
            metadata,
        };
        manifest.commit(&edit(vec![publish])).expect("commit");
        let length = std::fs::metadata(folder.file(".log")).expect("a log").len();
        assert!(length < LOG_BYTES_MIN + 200_000, "{length}");
    }
    assert_ne!(folder.file(".log"), first);
    let state = manifest.state().clone();
    assert_eq!(folder.open().expect("open").1, state);
}

#[test]
fn a_torn_tail_is_cut_at_every_length() {
    let (folder, state) = with_history();
    let (mut manifest, _) = folder.open().expect("open");
    let log = folder.file(".log");
    let acked = std::fs::metadata(&log).expect("a log").len() as usize;
    let marked = folder.files();
    manifest.commit(&edit(vec![publish(30)])).expect("commit");
    let whole = std::fs::read(&log).expect("read");
    for length in acked..whole.len() {
        // As a crash leaves it: the record in part, its mark not written.
        folder.restore(&marked);
        std::fs::write(&log, &whole[..length]).expect("write");
        assert_eq!(folder.open().expect("open").1, state, "{length} bytes");
    }
    folder.restore(&marked);
    let mut garbage = whole.clone();
    garbage[acked + 3..].fill(0);
    std::fs::write(&log, garbage).expect("write");
    let (mut manifest, reopened) = folder.open().expect("open");
    assert_eq!(reopened, state);
    manifest.commit(&edit(vec![publish(40)])).expect("commit");
    assert_eq!(folder.open().expect("open").1.visible, CommitPosition(40));
}

#[test]
fn every_flipped_byte_of_what_was_acknowledged_is_found_or_harmless() {
    let (folder, state) = with_history();
    let files = folder.files();
    let mut refused = 0;
    for (path, bytes) in &files {
        for at in 0..bytes.len() {
            folder.restore(&files);
            let mut bytes = bytes.clone();
            bytes[at] ^= 1 << (at % 8);
            std::fs::write(path, bytes).expect("write");
            match folder.open() {
                Ok((_, reopened)) => assert_eq!(reopened, state, "{} byte {at}", path.display()),
                Err(StoreError::Corrupt { file, .. } | StoreError::VersionTooNew { file, .. }) => {
                    assert!(
                        file.contains("manifest-") || file.contains("CURRENT"),
                        "{file}"
                    );
                    refused += 1;
                }
                Err(error) => panic!("{} byte {at}: {error}", path.display()),
            }
        }
    }
    let log = std::fs::metadata(folder.path().join("CURRENT"))
        .expect("CURRENT")
        .len();
    assert!(refused > log, "only marks can change without harm");
}

#[test]
fn a_shortened_or_missing_file_is_found() {
    let (folder, state) = with_history();
    let files = folder.files();
    for (path, bytes) in &files {
        for length in 0..bytes.len() {
            folder.restore(&files);
            std::fs::write(path, &bytes[..length]).expect("write");
            match folder.open() {
                Ok((_, reopened)) => assert_eq!(reopened, state, "{}", path.display()),
                Err(StoreError::Corrupt { .. }) => {}
                Err(error) => panic!("{}: {error}", path.display()),
            }
        }
        if path.extension().is_none_or(|ending| ending != "LOCK") {
            folder.restore(&files);
            std::fs::remove_file(path).expect("remove");
            let error = folder.open().err().expect("a missing file is found");
            assert!(
                error.to_string().contains("missing"),
                "{}: {error}",
                path.display()
            );
        }
    }
}

#[test]
fn a_crash_while_the_first_log_was_created_leaves_a_new_directory() {
    let folder = Folder::new();
    folder.open().expect("open");
    std::fs::remove_file(folder.path().join("CURRENT")).expect("remove");
    let (_, state) = folder.open().expect("open");
    assert_eq!(state, ManifestState::default());
}

#[test]
fn a_log_of_another_directory_is_refused() {
    let (folder, _) = with_history();
    let (other, _) = with_history();
    // The same number, but other commits: the marks do not fit.
    let (mut manifest, _) = other.open().expect("open");
    manifest.commit(&edit(vec![publish(21)])).expect("commit");
    let (mut manifest, _) = folder.open().expect("open");
    manifest.commit(&edit(vec![publish(22)])).expect("commit");
    std::fs::copy(other.file(".log"), folder.file(".log")).expect("copy");
    let error = folder.open().err().expect("refused");
    assert!(matches!(error, StoreError::Corrupt { .. }), "{error}");
}

#[test]
fn a_newer_format_is_refused_by_its_number() {
    let (folder, _) = with_history();
    let log = folder.file(".log");
    let mut bytes = std::fs::read(&log).expect("read");
    bytes[8] = 7;
    std::fs::write(&log, bytes).expect("write");
    let error = folder.open().err().expect("refused");
    assert!(
        matches!(
            error,
            StoreError::VersionTooNew {
                found: 7,
                supported: 1,
                ..
            }
        ),
        "{error}"
    );
}

#[test]
fn garbage_edits_are_errors() {
    let bytes = Edit::from_state(&with_history().1).encode();
    for at in 0..bytes.len() {
        assert!(Edit::decode(&bytes[..at]).is_err());
        let mut bytes = bytes.clone();
        bytes[at] ^= 0xFF;
        // Whatever comes out, applying it ends without a panic.
        if let Ok(edit) = Edit::decode(&bytes) {
            let _ = ManifestState::default().apply(&edit);
        }
    }
}

/// Files of format version 1, which every later release must read. `HEDGEROW_WRITE_GOLDEN=1`
/// writes them anew; only a new format version is a reason to.
#[test]
fn version_1_is_written_and_read_byte_for_byte() {
    let golden = Path::new(env!("CARGO_MANIFEST_DIR")).join("golden");
    let (folder, state) = with_history();
    for (path, bytes) in folder.files() {
        let name = path
            .file_name()
            .expect("a name")
            .to_string_lossy()
            .replace("-0000000001", "-1");
        if std::env::var_os("HEDGEROW_WRITE_GOLDEN").is_some() {
            std::fs::write(golden.join(&name), &bytes).expect("write");
        }
        let expected = std::fs::read(golden.join(&name)).expect("a golden file");
        assert_eq!(bytes, expected, "{name}");
        std::fs::write(path, expected).expect("write");
    }
    assert_eq!(folder.open().expect("open").1, state);
}
