//! `hedgerow demo`: the main job with nothing else installed, on a primary with more rows than memory.

use std::path::Path;
use std::process::Command;

use anyhow::{Context, Result, ensure};
use tempfile::TempDir;
use testbed::hedgerow_process::find_binary;

/// What a run of so many orders says at its end. It fails if any answer was wrong.
fn run(data: &Path, orders: &str) -> Result<String> {
    let output = Command::new(find_binary()?)
        .args(["demo", "--orders", orders, "--once"])
        .args(["--primary-memory", "12MiB", "--data"])
        .arg(data)
        .output()?;
    let text = String::from_utf8_lossy(&output.stdout).into_owned();
    println!("{text}{}", String::from_utf8_lossy(&output.stderr));
    ensure!(output.status.success(), "it ends with {}", output.status);
    Ok(text)
}

/// The number in front of these words.
fn number(text: &str, words: &str) -> Result<u64> {
    let before = text
        .split(words)
        .next()
        .filter(|before| before.len() < text.len());
    let word = before.and_then(|before| before.split_whitespace().next_back());
    let digits = word
        .with_context(|| format!("no {words:?}"))?
        .replace(',', "");
    digits
        .parse()
        .with_context(|| format!("no number before {words:?}"))
}

#[test]
fn orders_outgrow_the_primarys_memory_and_a_second_run_goes_on() -> Result<()> {
    let folder = TempDir::with_prefix("testbed-demo-")?;
    let data = folder.path().join("data");
    let first = run(&data, "12000")?;
    assert_eq!(
        number(&first, " orders, ")?,
        11_880,
        "one in a hundred is rolled back"
    );
    let rows = number(&first, " rows in five tables")?;
    let evicted = first
        .split("primary   ")
        .nth(1)
        .context("no line of the primary")?;
    let evicted = number(evicted, &format!(" of {}", grouped(rows)))?;
    assert!(evicted > 5_000, "{evicted} rows on disk");
    for word in ["look-ups", "all right", "audit", "bytes"] {
        assert!(first.contains(word), "no {word} in the summary");
    }
    let second = run(&data, "500")?;
    assert_eq!(number(&second, " orders, ")?, 11_880 + 495);
    Ok(())
}

/// A number as the summary prints it.
fn grouped(number: u64) -> String {
    let digits = number.to_string();
    let (first, rest) = digits.split_at((digits.len() - 1) % 3 + 1);
    let groups = rest.as_bytes().chunks(3).map(String::from_utf8_lossy);
    groups.fold(first.to_owned(), |text, group| format!("{text},{group}"))
}
