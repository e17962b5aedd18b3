//! The limit on open files.
//!
//! A store holds the file of each of its segments open: 2,300 of them with 1,000 tables of which 200
//! are written (`bench many-trees`), and sockets come on top. Many systems begin with 1,024 for a
//! process and let it ask for more.

use std::io;

use rustix::process::{Resource, Rlimit, getrlimit, setrlimit};

/// Raises the limit to the most that the process may have.
pub fn raise_limit() -> io::Result<()> {
    let limit = getrlimit(Resource::Nofile);
    let raised = Rlimit {
        current: limit.maximum,
        ..limit
    };
    Ok(setrlimit(Resource::Nofile, raised)?)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn afterwards_there_is_nothing_more_to_be_had() -> io::Result<()> {
        let before = getrlimit(Resource::Nofile);
        // As many systems begin with; enough for the tests beside this one.
        let lowered = Rlimit {
            current: Some(1_000),
            ..before
        };
        setrlimit(Resource::Nofile, lowered)?;
        raise_limit()?;
        let after = getrlimit(Resource::Nofile);
        assert_eq!(after.current, before.maximum);
        Ok(())
    }
}
