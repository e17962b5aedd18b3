//! The rules of the code base that compilers do not check.
//!
//! * [`sources`]: every source file has a header, a proper name and a place in the module tree,
//!   and no unfinished business.
//! * [`layers`]: who may depend on whom.
//! * [`seams`]: engines reach disk, clock and threads only through `env`.
//! * [`documents`]: links lead somewhere, the front pages stay short.
//! * [`packages`]: every crate takes part in the tests.
//!
//! All findings are shown, not only the first.

mod documents;
mod layers;
mod packages;
mod seams;
mod source_file;
mod sources;

use anyhow::{Result, ensure};

/// One broken rule, with the place.
type Finding = String;

/// Runs all checks.
pub fn run() -> Result<()> {
    let files = source_file::all()?;
    let mut findings = sources::check(&files);
    findings.extend(seams::check(&files));
    findings.extend(documents::check()?);
    findings.extend(layers::check()?);
    findings.extend(packages::check()?);
    for finding in &findings {
        eprintln!("tidy: {finding}");
    }
    ensure!(findings.is_empty(), "tidy: {} findings", findings.len());
    eprintln!("tidy: {} source files are in order", files.len());
    Ok(())
}
