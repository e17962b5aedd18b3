//! A session's state between statements: settings, the open transaction, what it has seen.
//!
//! A setting that changes inside a transaction goes back when it is rolled back; one that is set
//! LOCAL goes back at any end.

use std::sync::Arc;
use std::time::{SystemTime, UNIX_EPOCH};

use lsm::Snapshot;
use types::CommitPosition;

use super::reply::{changed, done, warned};
use crate::error::{SqlError, code};
use crate::outcome::Outcome;
use crate::settings::Settings;

/// What a session carries from statement to statement.
pub(super) struct State {
    pub(super) settings: Settings,
    pub(super) transaction: Option<Transaction>,
    /// The newest position of its snapshots.
    pub(super) seen: CommitPosition,
    /// The newest position of the primary's answers.
    pub(super) answered: CommitPosition,
}

/// An open transaction.
pub(super) struct Transaction {
    /// Pinned by its first statement that reads a table or asks for the position.
    pub(super) snapshot: Option<Arc<Snapshot>>,
    pub(super) failed: bool,
    pub(super) began_us: i64,
    /// Settings to go back to on rollback.
    settings_before: Settings,
    /// Settings to go back to at the end: name and value outside the transaction.
    local: Vec<String>,
    savepoints: Vec<String>,
}

impl State {
    /// What a statement has to see at least.
    pub(super) fn wait_for(&self) -> CommitPosition {
        let wanted = self.settings.wait_for();
        wanted.map_or(self.answered, |wanted| wanted.max(self.answered))
    }

    pub(super) fn begin(&mut self, tag: &'static str, isolation: Option<&str>) -> Outcome {
        if self.transaction.is_some() {
            let warning = "there is already a transaction in progress";
            return warned(tag, code::ACTIVE_SQL_TRANSACTION, warning);
        }
        self.transaction = Some(Transaction {
            snapshot: None,
            failed: false,
            began_us: now_us(),
            settings_before: self.settings.clone(),
            local: Vec::new(),
            savepoints: Vec::new(),
        });
        // Every level is served as repeatable read, which is at least what was asked for.
        if let Some(level) = isolation
            && self
                .set("transaction_isolation", Some(level), true)
                .is_err()
        {
            unreachable!("the isolation level is a setting that takes any value");
        }
        done(tag)
    }

    pub(super) fn end(&mut self, commit: bool, chain: bool) -> Outcome {
        let Some(transaction) = self.transaction.take() else {
            let tag = if commit { "COMMIT" } else { "ROLLBACK" };
            return warned(
                tag,
                code::NO_ACTIVE_SQL_TRANSACTION,
                "there is no transaction in progress",
            );
        };
        let kept = commit && !transaction.failed;
        let during = std::mem::take(&mut self.settings);
        self.settings = if kept {
            during.clone()
        } else {
            transaction.settings_before.clone()
        };
        for name in transaction.local.iter().filter(|_| kept) {
            self.settings.restore(name, &transaction.settings_before);
        }
        let told = self.settings.differences(&during);
        let tag = if kept { "COMMIT" } else { "ROLLBACK" };
        if chain {
            self.begin(tag, None);
        }
        changed(tag, told)
    }

    fn open(&mut self, command: &str) -> Result<&mut Transaction, SqlError> {
        self.transaction.as_mut().ok_or_else(|| {
            SqlError::new(
                code::NO_ACTIVE_SQL_TRANSACTION,
                format!("{command} can only be used in transaction blocks"),
            )
        })
    }

    pub(super) fn savepoint(&mut self, name: &str) -> Result<Outcome, SqlError> {
        self.open("SAVEPOINT")?.savepoints.push(name.to_owned());
        Ok(done("SAVEPOINT"))
    }

    pub(super) fn release(&mut self, name: &str) -> Result<Outcome, SqlError> {
        let transaction = self.open("RELEASE SAVEPOINT")?;
        let place = transaction.place(name)?;
        transaction.savepoints.truncate(place);
        Ok(done("RELEASE"))
    }

    pub(super) fn rollback_to(&mut self, name: &str) -> Result<Outcome, SqlError> {
        let transaction = self.open("ROLLBACK TO SAVEPOINT")?;
        let place = transaction.place(name)?;
        transaction.savepoints.truncate(place + 1);
        transaction.failed = false;
        Ok(done("ROLLBACK"))
    }

    pub(super) fn set(
        &mut self,
        name: &str,
        value: Option<&str>,
        local: bool,
    ) -> Result<Outcome, SqlError> {
        if local && self.transaction.is_none() {
            let warning = "SET LOCAL can only be used in transaction blocks";
            return Ok(warned("SET", code::NO_ACTIVE_SQL_TRANSACTION, warning));
        }
        let told = match value {
            Some(value) => self.settings.set(name, value)?,
            None => self.settings.reset(name)?,
        };
        if let Some(transaction) = self.transaction.as_mut().filter(|_| local) {
            transaction.local.push(name.to_owned());
        }
        Ok(changed("SET", told))
    }

    pub(super) fn discard(&mut self, all: bool) -> Result<Outcome, SqlError> {
        if !all {
            return Ok(done("DISCARD"));
        }
        if self.transaction.is_some() {
            return Err(SqlError::new(
                code::ACTIVE_SQL_TRANSACTION,
                "DISCARD ALL cannot run inside a transaction block",
            ));
        }
        Ok(changed("DISCARD ALL", self.settings.reset_all()))
    }
}

impl Transaction {
    fn place(&self, name: &str) -> Result<usize, SqlError> {
        self.savepoints
            .iter()
            .rposition(|savepoint| savepoint == name)
            .ok_or_else(|| {
                SqlError::new(
                    code::INVALID_SAVEPOINT,
                    format!("savepoint \"{name}\" does not exist"),
                )
            })
    }
}

/// Microseconds since 1970.
pub(super) fn now_us() -> i64 {
    let since = SystemTime::now()
        .duration_since(UNIX_EPOCH)
        .unwrap_or_default();
    i64::try_from(since.as_micros()).unwrap_or(i64::MAX)
}
