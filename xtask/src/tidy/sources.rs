//! Every source file has a header, a proper name and a place in the module tree, and no
//! unfinished business.

use std::collections::HashMap;
use std::path::{Path, PathBuf};

use super::Finding;
use super::source_file::SourceFile;

/// Names that say nothing about what is inside.
const EMPTY_NAMES: [&str; 7] = [
    "util", "utils", "common", "helper", "helpers", "misc", "stuff",
];

/// Marks of unfinished work; it is finished, or it is an issue. Spelt in halves so that this
/// file does not find itself.
const MARKS: [&str; 2] = [concat!("FIX", "ME"), concat!("TO", "DO")];

/// Findings over all files.
pub fn check(files: &[SourceFile]) -> Vec<Finding> {
    let texts: HashMap<&Path, &str> = files
        .iter()
        .map(|file| (file.path.as_path(), file.text.as_str()))
        .collect();
    let mut findings = Vec::new();
    for file in files {
        let path = file.path.display();
        if !file.text.starts_with("//!") {
            findings.push(format!("{path}: does not begin with a header (//!)"));
        }
        if let Some(name) = empty_name(file) {
            findings.push(format!("{path}: {name:?} names no concept"));
        }
        for (index, line) in file.text.lines().enumerate() {
            if MARKS.iter().any(|mark| line.contains(mark)) {
                findings.push(format!("{path}:{}: unfinished: {}", index + 1, line.trim()));
            }
        }
        if is_parked(file, &texts) {
            findings.push(format!("{path}: no module declares it"));
        }
    }
    findings
}

fn empty_name(file: &SourceFile) -> Option<&str> {
    let parts = file.path.iter().filter_map(|part| part.to_str());
    parts
        .map(|part| part.trim_end_matches(".rs"))
        .find(|part| EMPTY_NAMES.contains(part))
}

/// A file below `src` that its parent module does not name is compiled by nobody.
fn is_parked(file: &SourceFile, texts: &HashMap<&Path, &str>) -> bool {
    let Some((parents, module)) = parents(file) else {
        return false;
    };
    let declaration = format!("mod {module};");
    !parents
        .iter()
        .filter_map(|parent| texts.get(parent.as_path()))
        .any(|text| text.lines().any(|line| declares(line, &declaration)))
}

fn declares(line: &str, declaration: &str) -> bool {
    let line = line.trim();
    line.strip_suffix(declaration).is_some_and(|visibility| {
        visibility.is_empty() || (visibility.starts_with("pub") && visibility.ends_with(' '))
    })
}

/// The files that may declare this one, and the module's name; `None` for crate roots.
fn parents(file: &SourceFile) -> Option<(Vec<PathBuf>, &str)> {
    let folder = file.path.parent()?;
    if !file.path.iter().any(|part| part == "src") {
        return None;
    }
    let is_root = |stem: &str| ["lib", "main", "build"].contains(&stem);
    let (folder, module) = match file.stem() {
        "mod" => (folder.parent()?, folder.file_name()?.to_str()?),
        stem if is_root(stem) || folder.ends_with("src/bin") => return None,
        stem => (folder, stem),
    };
    let mut parents: Vec<PathBuf> = ["lib.rs", "main.rs", "mod.rs"]
        .iter()
        .map(|name| folder.join(name))
        .collect();
    parents.push(folder.with_extension("rs"));
    Some((parents, module))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn file(path: &str, text: &str) -> SourceFile {
        SourceFile {
            path: path.into(),
            text: text.to_owned(),
        }
    }

    #[test]
    fn a_file_in_order_has_no_findings() {
        let files = [
            file("crates/a/src/lib.rs", "//! Role.\nmod tree;\n"),
            file("crates/a/src/tree.rs", "//! Tree.\npub(crate) mod leaf;\n"),
            file("crates/a/src/tree/leaf.rs", "//! Leaf.\n"),
            file("crates/a/tests/integration/main.rs", "//! Tests.\n"),
        ];
        assert_eq!(check(&files), Vec::<Finding>::new());
    }

    #[test]
    fn each_rule_finds_its_breach() {
        let unfinished = format!("//! Role.\n// {}: later\n", MARKS[0]);
        let cases = [
            (
                file("crates/a/src/lib.rs", "use std;\n"),
                "does not begin with a header",
            ),
            (
                file("crates/util/src/lib.rs", "//! Role.\n"),
                "names no concept",
            ),
            (file("crates/a/src/lib.rs", &unfinished), "unfinished"),
            (
                file("crates/a/src/parked.rs", "//! Parked.\n"),
                "no module declares it",
            ),
        ];
        for (file, expected) in cases {
            let findings = check(&[file]);
            assert!(
                findings.len() == 1 && findings[0].contains(expected),
                "{findings:?}"
            );
        }
    }
}
