//! Running another program as a step of a task: shown before, checked after.

use std::io::{BufRead, BufReader};
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

use anyhow::{Context, Result, ensure};

/// The workspace's folder.
pub fn workspace() -> PathBuf {
    let own = Path::new(env!("CARGO_MANIFEST_DIR"));
    own.parent().unwrap_or(own).to_owned()
}

/// Runs cargo in the workspace; its output goes to the terminal.
pub fn cargo(arguments: &[&str]) -> Result<()> {
    run(&mut cargo_command(arguments))
}

/// A cargo command line in the workspace.
pub fn cargo_command(arguments: &[&str]) -> Command {
    let mut command = Command::new(std::env::var_os("CARGO").unwrap_or_else(|| "cargo".into()));
    command.args(arguments).current_dir(workspace());
    command
}

/// Runs a command; fails when it fails.
pub fn run(command: &mut Command) -> Result<()> {
    announce(command);
    let status = command
        .status()
        .with_context(|| format!("could not start {}", shown(command)))?;
    ensure!(status.success(), "{}: {status}", shown(command));
    Ok(())
}

/// Runs a command and gives its standard output.
pub fn output(command: &mut Command) -> Result<String> {
    let output = command
        .output()
        .with_context(|| format!("could not start {}", shown(command)))?;
    ensure!(
        output.status.success(),
        "{}: {}\n{}",
        shown(command),
        output.status,
        String::from_utf8_lossy(&output.stderr)
    );
    Ok(String::from_utf8(output.stdout)?)
}

/// Runs a command, passes its standard output on and shows each line to `observe`, too. Whether
/// it succeeded.
pub fn observe(command: &mut Command, mut observe: impl FnMut(&str)) -> Result<bool> {
    announce(command);
    let mut child = command
        .stdout(Stdio::piped())
        .spawn()
        .with_context(|| format!("could not start {}", shown(command)))?;
    let lines = child
        .stdout
        .take()
        .context("standard output was asked to be a pipe")?;
    for line in BufReader::new(lines).lines() {
        let line = line?;
        println!("{line}");
        observe(&line);
    }
    Ok(child.wait()?.success())
}

fn announce(command: &Command) {
    eprintln!("$ {}", shown(command));
}

fn shown(command: &Command) -> String {
    let program = Path::new(command.get_program());
    let name = program.file_name().unwrap_or(command.get_program());
    std::iter::once(name)
        .chain(command.get_args())
        .map(|word| word.to_string_lossy().into_owned())
        .collect::<Vec<_>>()
        .join(" ")
}
