//! A full disk: reads go on, nothing is lost, work resumes by itself when there is space again.

use std::path::{Path, PathBuf};
use std::process::Command;
use std::time::Duration;

use anyhow::{Result, ensure};
use tempfile::TempDir;
use testbed::bank::single_value;
use testbed::patience::wait_for;
use testbed::{Hedgerow, HedgerowOptions};

use crate::replica::{DATABASE, source};

/// A file system of a fixed size in memory, unmounted at the end.
struct SmallDisk {
    at: PathBuf,
}

impl SmallDisk {
    /// `None`, with the reason printed, where mounting is not allowed.
    fn mount(at: &Path, size: &str) -> Result<Option<Self>> {
        std::fs::create_dir_all(at)?;
        let arguments = [
            "-t",
            "tmpfs",
            "-o",
            &format!("size={size},mode=0700"),
            "testbed",
        ];
        let output = Command::new("mount").args(arguments).arg(at).output()?;
        if output.status.success() {
            return Ok(Some(Self { at: at.to_owned() }));
        }
        println!(
            "skipped: disk_full: {}",
            String::from_utf8_lossy(&output.stderr).trim()
        );
        Ok(None)
    }

    fn resize(&self, size: &str) -> Result<()> {
        let options = format!("remount,size={size}");
        let status = Command::new("mount")
            .args(["-o", &options])
            .arg(&self.at)
            .status()?;
        ensure!(status.success(), "could not resize {}", self.at.display());
        Ok(())
    }
}

impl Drop for SmallDisk {
    fn drop(&mut self) {
        // Lazily: a process that has just been killed may still hold a file for a moment.
        let _ = Command::new("umount").arg("--lazy").arg(&self.at).status();
    }
}

#[test]
fn on_a_full_disk_reads_go_on_and_work_resumes_when_there_is_space() -> Result<()> {
    let folder = TempDir::with_prefix("testbed-full-")?;
    let mount = folder.path().join("disk");
    let Some(disk) = SmallDisk::mount(&mount, "24m")? else {
        return Ok(());
    };
    let postgres = source(
        "create table kept (id int primary key, t text);
         create table large (id int primary key, t text);
         insert into kept select i, 'row' from generate_series(1, 1000) i;",
    )?;
    let options = HedgerowOptions::new(postgres.url(DATABASE), &mount.join("data"))?;
    let mut hedgerow = Hedgerow::start_ready(options.with(&["--memory", "128MiB"]))?;

    // Random text does not compress to less than half: several times the disk.
    let mut source = postgres.connect(DATABASE)?;
    for batch in 0..40 {
        source.batch_execute(&format!(
            "insert into large select {batch} * 10000 + i, md5(random()::text) || md5(random()::text)
                                      || md5(random()::text) || md5(random()::text)
             from generate_series(1, 10000) i"
        ))?;
    }
    wait_for("the disk to be full", || {
        ensure!(
            hedgerow.ended()?.is_none(),
            "hedgerow ended: {}",
            hedgerow.log_tail()
        );
        Ok(hedgerow.log().contains("no space left").then_some(()))
    })?;
    // Reads go on, now and a while later.
    for _ in 0..20 {
        let rows = single_value(&mut hedgerow.connect()?, "select count(*) from kept")?;
        assert_eq!(rows, "1000");
        std::thread::sleep(Duration::from_millis(50));
    }
    disk.resize("1g")?;
    hedgerow.wait_for_value("select count(*) from large", "400000")?;
    source.batch_execute("update kept set t = 'after'")?;
    hedgerow.wait_for_value("select count(*) from kept where t = 'after'", "1000")?;
    hedgerow.verify()?;
    hedgerow.stop()?;
    Ok(())
}

#[test]
fn a_crash_on_a_full_disk_loses_nothing() -> Result<()> {
    let folder = TempDir::with_prefix("testbed-full-")?;
    let mount = folder.path().join("disk");
    let Some(disk) = SmallDisk::mount(&mount, "24m")? else {
        return Ok(());
    };
    let postgres = source("create table large (id int primary key, t text);")?;
    let options = HedgerowOptions::new(postgres.url(DATABASE), &mount.join("data"))?;
    let mut hedgerow = Hedgerow::start_ready(options.with(&["--memory", "128MiB"]))?;
    let mut source = postgres.connect(DATABASE)?;
    source.batch_execute(
        "insert into large select i, md5(random()::text) || md5(random()::text) || md5(random()::text)
                                     || md5(random()::text) from generate_series(1, 400000) i",
    )?;
    std::thread::sleep(Duration::from_secs(2));
    hedgerow.kill()?;
    hedgerow.start_again()?;
    std::thread::sleep(Duration::from_secs(1));
    disk.resize("1g")?;
    hedgerow.wait_ready()?;
    hedgerow.wait_for_value("select count(*) from large", "400000")?;
    hedgerow.verify()?;
    Ok(())
}
