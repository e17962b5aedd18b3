//! Opening a store: from the manifest back to trees.
//!
//! 1. Take the directory's lock; read the manifest.
//! 2. Open every segment that it names. A missing or damaged file makes its table unreadable,
//!    with the file's name in every error; other tables work. A file of a newer release fails
//!    the open.
//! 3. Delete segment files that the manifest does not name: outputs of flushes and merges that
//!    were not committed, inputs whose last reader had not let go.
//!
//! The visible position is the durable one; whoever feeds the store goes on from there.

use std::collections::{BTreeMap, HashSet};
use std::io::ErrorKind;
use std::path::Path;
use std::sync::Arc;

use env::{DirectoryLock, Env};
use types::{TableId, TableSchema};

use crate::error::StoreError;
use crate::layout::Layout;
use crate::manifest::{Manifest, ManifestState, RunState, SEGMENTS_DIRECTORY, TableState};
use crate::museum::{self, Exhibit};
use crate::run::{DiskRun, RunSegment};
use crate::segment::{FilterMemory, Segment, SegmentId};
use crate::tree::Tree;
use crate::version::Version;

/// What was found in a data directory.
pub(crate) struct Recovered {
    /// Released when the store goes.
    pub lock: Box<dyn DirectoryLock>,
    /// Ready for commits.
    pub manifest: Manifest,
    /// What the manifest says.
    pub state: ManifestState,
    /// All trees.
    pub trees: BTreeMap<TableId, Arc<Tree>>,
    /// Above every segment id in use.
    pub next_segment: SegmentId,
}

/// Opens or creates the data directory.
pub(crate) fn recover(
    env: &Env,
    directory: &Path,
    filter_memory: &Arc<FilterMemory>,
) -> Result<Recovered, StoreError> {
    let lock = take_lock(env, directory)?;
    let (manifest, state) = Manifest::open(env, directory)?;
    let segments = directory.join(SEGMENTS_DIRECTORY);
    let opening = Opening {
        env,
        directory: &segments,
        filter_memory,
    };
    let open = |(&table, state): (&TableId, &Arc<TableState>)| {
        Ok((table, Arc::new(opening.tree(table, state)?)))
    };
    let trees = state
        .tables
        .iter()
        .map(open)
        .collect::<Result<_, StoreError>>()?;
    delete_leftovers(env, &segments, &state)?;
    let next_segment = state.next_segment;
    Ok(Recovered {
        lock,
        manifest,
        state,
        trees,
        next_segment,
    })
}

fn io_error(operation: &'static str, path: &Path, error: &std::io::Error) -> StoreError {
    StoreError::Io {
        operation,
        file: path.display().to_string(),
        detail: error.to_string(),
    }
}

fn take_lock(env: &Env, directory: &Path) -> Result<Box<dyn DirectoryLock>, StoreError> {
    let created = env.disk.create_directories(directory);
    created.map_err(|error| io_error("creation", directory, &error))?;
    env.disk
        .lock(directory)
        .map_err(|error| match error.kind() {
            ErrorKind::WouldBlock => StoreError::Locked {
                directory: directory.display().to_string(),
            },
            _ => io_error("locking", directory, &error),
        })
}

/// What it takes to open segments.
struct Opening<'a> {
    env: &'a Env,
    directory: &'a Path,
    filter_memory: &'a Arc<FilterMemory>,
}

impl Opening<'_> {
    fn tree(&self, table: TableId, state: &TableState) -> Result<Tree, StoreError> {
        let mut damage = None;
        let mut runs = Vec::new();
        for run in &state.runs {
            runs.push(Arc::new(self.run(run, &state.schema, &mut damage)?));
        }
        if let Some(damage) = &damage {
            tracing::error!(%table, name = %state.schema.name, %damage, "a table cannot be read");
        }
        let truncations = state
            .truncations
            .iter()
            .map(|truncation| truncation.0)
            .collect();
        let version = Version {
            runs,
            truncations,
            ..Version::default()
        };
        Ok(Tree::new(
            Layout::new(table, Arc::clone(&state.schema)),
            version,
            damage,
        ))
    }

    fn run(
        &self,
        run: &RunState,
        schema: &TableSchema,
        damage: &mut Option<StoreError>,
    ) -> Result<DiskRun, StoreError> {
        let mut segments = Vec::new();
        for info in &run.segments {
            match Segment::open(self.env, self.directory, info, schema, self.filter_memory) {
                Ok(segment) => segments.push(RunSegment {
                    segment: Arc::new(segment),
                    bound: run.bounds.get(&info.id).cloned(),
                }),
                Err(error @ StoreError::VersionTooNew { .. }) => return Err(error),
                Err(error) => {
                    damage.get_or_insert(error);
                }
            }
        }
        Ok(DiskRun::new(run.id, segments))
    }
}

fn delete_leftovers(env: &Env, directory: &Path, state: &ManifestState) -> Result<(), StoreError> {
    let named: HashSet<SegmentId> = state.segments().map(|info| info.id).collect();
    let files = env
        .disk
        .list(directory)
        .map_err(|error| io_error("listing", directory, &error))?;
    for path in files {
        let name = path.file_name().and_then(|name| name.to_str());
        let Some(id) = name.and_then(SegmentId::from_file_name) else {
            continue;
        };
        if !named.contains(&id) && !museum::shows(Exhibit::LeftoversKept) {
            env.disk
                .remove(&path)
                .map_err(|error| io_error("removal", &path, &error))?;
        }
    }
    Ok(())
}
