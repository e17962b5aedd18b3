//! The server's password: made up at the first start, kept in a file that only its owner reads.
//!
//! It is never on a command line, in a log or in the process list. The file is complete or not
//! there: it is written under another name, synced, and renamed.

use std::io;
use std::path::{Path, PathBuf};

use env::Disk;

/// The file's name in the data directory.
const FILE: &str = "password";
/// The name under which it is written.
const UNFINISHED_FILE: &str = "password.tmp";

/// Characters of a generated password: about 190 bits.
const LENGTH: usize = 32;

/// Where the password of the server on this data directory is.
pub fn file(data: &Path) -> PathBuf {
    data.join(FILE)
}

/// Reads the password.
pub fn read(data: &Path) -> io::Result<String> {
    let text = std::fs::read_to_string(file(data))?;
    let password = text.trim_end_matches(['\n', '\r']);
    if password.is_empty() {
        let message = format!("{} is empty", file(data).display());
        return Err(io::Error::new(io::ErrorKind::InvalidData, message));
    }
    Ok(password.to_owned())
}

/// Reads the password; makes one up where there is none.
pub fn read_or_create(disk: &dyn Disk, data: &Path) -> io::Result<String> {
    match read(data) {
        Err(error) if error.kind() == io::ErrorKind::NotFound => create(disk, data),
        result => result,
    }
}

fn create(disk: &dyn Disk, data: &Path) -> io::Result<String> {
    let password = generate();
    let unfinished = data.join(UNFINISHED_FILE);
    match disk.remove(&unfinished) {
        Err(error) if error.kind() != io::ErrorKind::NotFound => return Err(error),
        _ => {}
    }
    // `Disk::create` makes files that only their owner reads.
    let mut writer = disk.create(&unfinished)?;
    writer.append(format!("{password}\n").as_bytes())?;
    writer.sync()?;
    drop(writer);
    disk.rename(&unfinished, &file(data))?;
    disk.sync_directory(data)?;
    Ok(password)
}

/// Letters and digits, so that it can be pasted anywhere.
fn generate() -> String {
    use rand::distr::{Alphanumeric, SampleString};
    Alphanumeric.sample_string(&mut rand::rng(), LENGTH)
}

#[cfg(test)]
mod tests {
    use std::os::unix::fs::PermissionsExt;

    use env::RealDisk;

    use super::*;

    #[test]
    fn the_password_is_made_once_and_for_its_owner_only() {
        let folder = tempfile::tempdir().expect("a folder");
        std::fs::write(folder.path().join(UNFINISHED_FILE), "left over").expect("written");
        let first = read_or_create(&RealDisk, folder.path()).expect("made");
        assert_eq!(first.len(), LENGTH);
        assert_eq!(
            read_or_create(&RealDisk, folder.path()).expect("read"),
            first
        );
        let mode = std::fs::metadata(file(folder.path()))
            .expect("there")
            .permissions()
            .mode();
        assert_eq!(mode & 0o777, 0o600);
        assert!(!folder.path().join(UNFINISHED_FILE).exists());
    }

    #[test]
    fn an_empty_password_is_refused() {
        let folder = tempfile::tempdir().expect("a folder");
        std::fs::write(file(folder.path()), "\n").expect("written");
        assert!(read_or_create(&RealDisk, folder.path()).is_err());
    }
}
