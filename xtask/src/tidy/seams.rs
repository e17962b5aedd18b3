//! Engines reach disk, clock and threads only through `env`, so that the shipped code runs
//! under simulation.
//!
//! Test code may do as it likes. Durations are plain numbers and free to use. A source's own
//! network connection is not an engine's business and not looked for.

use super::Finding;
use super::source_file::SourceFile;

/// The crates that run under simulation.
const ENGINES: [&str; 6] = ["types", "page", "lsm", "oltp", "procedures", "replication"];

/// What they must not say.
const BANNED: [&str; 7] = [
    "std::fs",
    "Instant::now",
    "SystemTime",
    "thread::spawn",
    "thread::sleep",
    "thread::Builder",
    "thread_rng",
];

/// Findings over all files.
pub fn check(files: &[SourceFile]) -> Vec<Finding> {
    let engines = files
        .iter()
        .filter(|file| ENGINES.contains(&file.package()) && !file.is_test());
    engines.flat_map(breaches).collect()
}

fn breaches(file: &SourceFile) -> Vec<Finding> {
    let breach = |line: &str| BANNED.iter().find(|banned| line.contains(**banned));
    file.product_lines()
        .filter_map(|(number, line)| Some((number, breach(line)?)))
        .map(|(number, banned)| {
            format!(
                "{}:{number}: {banned} belongs behind env",
                file.path.display()
            )
        })
        .collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn product_code_of_engines_is_held_to_the_seam_and_tests_are_not() {
        let text = "//! Role.\nuse std::fs;\n// std::fs in a comment\n#[cfg(test)]\nmod tests {\n    use std::fs;\n}\n";
        let file = |path: &str| SourceFile {
            path: path.into(),
            text: text.to_owned(),
        };
        let files = [
            file("crates/lsm/src/store.rs"),
            file("crates/lsm/src/store/tests.rs"),
            file("crates/env/src/real_disk.rs"),
        ];
        assert_eq!(
            check(&files),
            ["crates/lsm/src/store.rs:2: std::fs belongs behind env"]
        );
    }
}
