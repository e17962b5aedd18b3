//! Links lead somewhere, the front pages stay short.

use std::fs;
use std::path::{Path, PathBuf};

use anyhow::Result;

use super::Finding;
use super::source_file::files_below;
use crate::step::workspace;

/// Pages that are only read when they are short, and their most lines.
const LINES_MAX: [(&str, usize); 2] = [("README.md", 120), ("ARCHITECTURE.md", 400)];

/// Findings over all documents.
pub fn check() -> Result<Vec<Finding>> {
    let root = workspace();
    let mut findings = Vec::new();
    for path in documents(&root)? {
        let text = fs::read_to_string(&path)?;
        let name = path.strip_prefix(&root)?.display().to_string();
        let folder = path.parent().unwrap_or(&root);
        for target in link_targets(&text).filter(|target| !folder.join(target).exists()) {
            findings.push(format!("{name}: the link to {target} leads nowhere"));
        }
        let lines = text.lines().count();
        for (_, most) in LINES_MAX
            .iter()
            .filter(|(page, most)| *page == name && lines > *most)
        {
            findings.push(format!("{name}: {lines} lines, {most} at most"));
        }
    }
    Ok(findings)
}

fn documents(root: &Path) -> Result<Vec<PathBuf>> {
    let mut paths: Vec<PathBuf> = fs::read_dir(root)?
        .flatten()
        .map(|entry| entry.path())
        .filter(|p| p.is_file())
        .collect();
    paths.extend(files_below(&root.join("docs"))?);
    paths.retain(|path| path.extension().is_some_and(|extension| extension == "md"));
    paths.sort();
    Ok(paths)
}

/// Files that `[text](file)` links name; addresses and places within the page are left out.
fn link_targets(text: &str) -> impl Iterator<Item = &str> {
    text.split("](").skip(1).filter_map(|rest| {
        let target = rest.split(')').next()?.split('#').next()?;
        let is_file = !target.is_empty() && !target.contains("://") && !target.contains(' ');
        is_file.then_some(target)
    })
}

#[cfg(test)]
mod tests {
    use super::link_targets;

    #[test]
    fn only_links_to_files_are_followed() {
        let text = "[a](docs/a.md#part) and [b](https://example.org/b) and [c](#here) [d](d.md)";
        assert_eq!(
            link_targets(text).collect::<Vec<_>>(),
            ["docs/a.md", "d.md"]
        );
    }
}
