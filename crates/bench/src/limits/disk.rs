//! A disk of its own with a profile: what a rented machine's disk, or the paper's, can do.
//!
//! Throttling a group of processes misses buffered write-back, which the kernel charges to
//! nobody. So a *device* is throttled: a file-backed loop device with direct I/O and ext4 on
//! it. Direct I/O, buffered reads and write-back are all covered, and no other device of the
//! machine is touched. The kernel may hold 64 MiB of unwritten data during the run, which is
//! what its default percentages give a small host.

use std::fmt;
use std::fs;
use std::os::unix::fs::MetadataExt;
use std::path::{Path, PathBuf};
use std::process::Command;

use anyhow::{Context, Result, ensure};
use clap::ValueEnum;
use serde::{Deserialize, Serialize};

use super::undo;

/// What the device may do.
#[derive(Clone, Copy, Debug, Deserialize, PartialEq, Eq, Serialize, ValueEnum)]
#[serde(rename_all = "kebab-case")]
pub enum DiskProfile {
    /// As it is.
    Native,
    /// 3,000 operations and 125 MB a second, each way.
    Cloud,
}

impl fmt::Display for DiskProfile {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::Native => "native",
            Self::Cloud => "cloud",
        })
    }
}

impl DiskProfile {
    /// Operations and bytes a second; zero is no limit, to the kernel as well.
    fn limits(self) -> (u64, u64) {
        match self {
            Self::Native => (0, 0),
            Self::Cloud => (3_000, 125_000_000),
        }
    }
}

/// The throttle (version 1), in the root group.
const THROTTLE: &str = "/sys/fs/cgroup/blkio";

/// A mounted file system on a device of its own.
#[derive(Debug)]
pub struct Disk {
    mount: PathBuf,
    /// `major:minor`
    device: String,
}

impl Disk {
    /// Whether this machine allows a disk with a profile: root and the control group.
    pub fn is_possible() -> bool {
        rustix::process::geteuid().is_root()
            && Path::new(THROTTLE)
                .join("blkio.throttle.read_iops_device")
                .exists()
    }

    /// Makes and mounts the disk below `folder`.
    pub fn make(folder: &Path, bytes: u64) -> Result<Self> {
        let image = folder.join("disk.image");
        let mount = folder.join("disk");
        fs::File::create(&image)?.set_len(bytes)?;
        fs::create_dir(&mount)?;
        let loop_device = attach(&image)?;
        let options = "lazy_itable_init=0,lazy_journal_init=0";
        run(Command::new("mkfs.ext4").args(["-q", "-E", options, &loop_device]))?;
        let unmounted = mount.clone();
        undo::register(move || {
            // Lazily: a server that is just ending may still have its folder open.
            run(Command::new("umount").arg("--lazy").arg(&unmounted)).map(drop)
        });
        run(Command::new("mount")
            .args(["-o", "noatime", &loop_device])
            .arg(&mount))?;
        limit_dirty_pages()?;
        let number = fs::metadata(&loop_device)?.rdev();
        let device = format!(
            "{}:{}",
            rustix::fs::major(number),
            rustix::fs::minor(number)
        );
        let throttled = device.clone();
        undo::register(move || throttle(&throttled, DiskProfile::Native));
        Ok(Self { mount, device })
    }

    /// Where it is mounted.
    pub fn path(&self) -> &Path {
        &self.mount
    }

    /// Gives the blocks of removed files back, at full speed, so that whoever comes next finds the
    /// disk as empty as a new one.
    pub fn trim(&self) -> Result<()> {
        self.set_profile(DiskProfile::Native)?;
        run(Command::new("fstrim").arg(&self.mount)).map(drop)
    }

    /// Gives the disk another profile, from now on.
    pub fn set_profile(&self, profile: DiskProfile) -> Result<()> {
        throttle(&self.device, profile)
    }
}

fn attach(image: &Path) -> Result<String> {
    let arguments = ["--find", "--show", "--direct-io=on"];
    let loop_device = run(Command::new("losetup").args(arguments).arg(image))?
        .trim()
        .to_owned();
    let detached = loop_device.clone();
    undo::register(move || run(Command::new("losetup").args(["--detach", &detached])).map(drop));
    Ok(loop_device)
}

fn throttle(device: &str, profile: DiskProfile) -> Result<()> {
    let (operations, bytes) = profile.limits();
    for (file, limit) in [
        ("read_iops_device", operations),
        ("write_iops_device", operations),
        ("read_bps_device", bytes),
        ("write_bps_device", bytes),
    ] {
        let path = Path::new(THROTTLE).join(format!("blkio.throttle.{file}"));
        fs::write(&path, format!("{device} {limit}"))
            .with_context(|| format!("could not write {}", path.display()))?;
    }
    Ok(())
}

fn limit_dirty_pages() -> Result<()> {
    for (name, bytes) in [
        ("dirty_background_bytes", 32_u64 << 20),
        ("dirty_bytes", 64 << 20),
    ] {
        let path = Path::new("/proc/sys/vm").join(name);
        // Setting the bytes switches the percentage off, and setting it to 0 again does not
        // bring it back: the percentage is what must be restored.
        let ratio_path = Path::new("/proc/sys/vm").join(name.replace("bytes", "ratio"));
        let ratio = fs::read_to_string(&ratio_path)?;
        let before = fs::read_to_string(&path)?;
        let restored = path.clone();
        undo::register(move || {
            if before.trim() == "0" {
                Ok(fs::write(&ratio_path, ratio)?)
            } else {
                Ok(fs::write(&restored, before)?)
            }
        });
        fs::write(&path, bytes.to_string())?;
    }
    Ok(())
}

/// Runs a program; its output.
fn run(command: &mut Command) -> Result<String> {
    let output = command
        .output()
        .with_context(|| format!("could not start {command:?}"))?;
    ensure!(
        output.status.success(),
        "{command:?}: {}",
        String::from_utf8_lossy(&output.stderr).trim()
    );
    Ok(String::from_utf8(output.stdout)?)
}
