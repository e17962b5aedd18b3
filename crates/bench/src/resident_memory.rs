//! The most memory of a process that was resident, as the kernel counts it.

use std::fs;

use anyhow::{Context, Result};

/// Written to `clear_refs`, this has the kernel begin anew with the most.
const FORGET_PEAK: &str = "5";

/// Bytes: the most since the process began, or since [`forget_peak`].
pub fn peak_bytes(process: u32) -> Result<u64> {
    let text = fs::read_to_string(format!("/proc/{process}/status"))?;
    let line = text.lines().find_map(|line| line.strip_prefix("VmHWM:"));
    let kibibytes = line.and_then(|line| line.trim().strip_suffix(" kB"));
    let kibibytes: u64 = kibibytes.context("Linux tells VmHWM")?.parse()?;
    Ok(kibibytes << 10)
}

/// What is resident now is the most from here on.
pub fn forget_peak(process: u32) -> Result<()> {
    let path = format!("/proc/{process}/clear_refs");
    fs::write(&path, FORGET_PEAK).with_context(|| format!("could not write {path}"))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_peak_is_known_until_it_is_forgotten() -> Result<()> {
        let own = std::process::id();
        let large = vec![1_u8; 64 << 20];
        assert!(large.iter().all(|byte| *byte == 1));
        drop(large);
        assert!(peak_bytes(own)? >= 64 << 20);
        forget_peak(own)?;
        assert!(peak_bytes(own)? > 0);
        Ok(())
    }
}
