//! `hedgerow demo`: the main job with nothing else installed.

use std::process::Command;

use anyhow::Result;
use tempfile::TempDir;
use testbed::hedgerow_process::find_binary;

#[test]
fn the_demo_runs_once_and_sums_up() -> Result<()> {
    let folder = TempDir::with_prefix("testbed-demo-")?;
    let output = Command::new(find_binary()?)
        .args(["demo", "--orders", "2000", "--once", "--data"])
        .arg(folder.path().join("data"))
        .output()?;
    let text = String::from_utf8_lossy(&output.stdout);
    println!("{text}{}", String::from_utf8_lossy(&output.stderr));
    assert!(output.status.success());
    for word in ["orders", "rows", "bytes", "second"] {
        assert!(text.contains(word), "no {word} in the summary");
    }
    Ok(())
}
