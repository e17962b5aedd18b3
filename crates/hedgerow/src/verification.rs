//! Carries out `VERIFY`: on a thread of its own, one at a time.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

use replication::postgres::PostgresConfig;
use replication::postgres::verify::{VerifyError, VerifyRequest, verify};
use replication::primary::{Clients, PrimaryTable, PrimaryVerification, verify as by_primary};
use replication::source::Stop;
use replication::verdict::TableVerdict;
use sql::SqlError;

use crate::node::Node;
use crate::server::VerifyRows;
use crate::verify_rows::{self, VerdictRow, VerdictSender};

/// How long the replica may take to reach the source's position.
const PATIENCE: Duration = Duration::from_secs(60);

/// SQLSTATE for "somebody else does it now".
const OBJECT_IN_USE: &str = "55006";
/// SQLSTATE for a source that fails us.
const SOURCE_FAILED: &str = "08000";
/// SQLSTATE for a value of the source's that cannot be read.
const BAD_VALUE: &str = "22000";
/// SQLSTATE for a replica that is not there yet.
const NOT_THERE_YET: &str = "55000";

/// Verifications of a node's tables against their PostgreSQL source.
pub fn of_postgres(node: &Node, source: PostgresConfig) -> VerifyRows {
    let (store, catalog) = (node.store().clone(), node.catalog().clone());
    let clock = node.env().clock.clone();
    one_at_a_time(move |stop, each| {
        let request = VerifyRequest {
            store: &store,
            catalog: &catalog,
            config: &source,
            clock: &*clock,
            patience: PATIENCE,
            stop,
        };
        let position = verify(&request, each).map_err(|error| refused(&error))?;
        tracing::debug!(%position, "verified");
        Ok(())
    })
}

/// Verifications of a node's tables against the primary in the same process.
pub fn of_primary(node: &Node, clients: Clients, tables: Vec<PrimaryTable>) -> VerifyRows {
    let verification = PrimaryVerification {
        store: node.store().clone(),
        catalog: node.catalog().clone(),
        clients,
        tables,
        clock: node.env().clock.clone(),
        patience: PATIENCE,
    };
    one_at_a_time(move |stop, each| {
        let verified = verification.run(stop, each);
        verified.map_err(|error| match &error {
            by_primary::VerifyError::Store(error) => SqlError::from_store(error, None),
            by_primary::VerifyError::Behind { .. } => {
                SqlError::new(NOT_THERE_YET, error.to_string())
            }
            _ => SqlError::new(SOURCE_FAILED, error.to_string()),
        })
    })
}

/// Why the comparison ended, as a client is told.
fn refused(error: &VerifyError) -> SqlError {
    let code = match error {
        VerifyError::Store(error) => return SqlError::from_store(error, None),
        VerifyError::Source(_) => SOURCE_FAILED,
        VerifyError::Row { .. } => BAD_VALUE,
        VerifyError::Behind { .. } => NOT_THERE_YET,
    };
    SqlError::new(code, error.to_string())
}

/// Compares all tables, tells each verdict, and why it cannot go on.
type Verify = dyn Fn(&Stop, &mut dyn FnMut(TableVerdict)) -> Result<(), SqlError> + Send + Sync;

fn one_at_a_time(
    verify: impl Fn(&Stop, &mut dyn FnMut(TableVerdict)) -> Result<(), SqlError> + Send + Sync + 'static,
) -> VerifyRows {
    let (verify, running): (Arc<Verify>, _) = (Arc::new(verify), Arc::new(AtomicBool::new(false)));
    Arc::new(move || {
        if running.swap(true, Ordering::AcqRel) {
            return Err(SqlError::new(
                OBJECT_IN_USE,
                "a verification is running already",
            ));
        }
        let (sender, rows) = verify_rows::stream();
        let (verify, running) = (verify.clone(), Running(running.clone()));
        let work = move || {
            let _running = running;
            send_verdicts(&*verify, &sender);
        };
        let thread = std::thread::Builder::new().name("verify".to_owned());
        match thread.spawn(work) {
            Ok(_) => Ok((verify_rows::schema(), rows)),
            Err(error) => Err(SqlError::new(
                "53000",
                format!("cannot start a thread: {error}"),
            )),
        }
    })
}

/// Lets the next verification begin when this one ends, however it ends.
struct Running(Arc<AtomicBool>);

impl Drop for Running {
    fn drop(&mut self) {
        self.0.store(false, Ordering::Release);
    }
}

fn send_verdicts(verify: &Verify, sender: &VerdictSender) {
    let stop = Stop::new();
    let result = verify(&stop, &mut |verdict| {
        // A client that has gone does not want the rest.
        if sender.blocking_send(Ok(row(verdict))).is_err() {
            stop.set();
        }
    });
    if let Err(error) = result {
        // Nobody may be there to hear it.
        _ = sender.blocking_send(Err(error));
    }
}

fn row(verdict: TableVerdict) -> VerdictRow {
    let differing = verdict.differing.join("; ");
    let counts = (verdict.source_rows != verdict.rows && verdict.reason.is_none())
        .then(|| format!("the source has {} rows", verdict.source_rows));
    let parts = [counts, Some(differing).filter(|text| !text.is_empty())];
    let detail = parts.into_iter().flatten().collect::<Vec<_>>().join("; ");
    VerdictRow {
        table: verdict.table.to_string(),
        rows: i64::try_from(verdict.rows).unwrap_or(i64::MAX),
        equal: verdict.reason.is_none().then_some(verdict.equal),
        position: verdict.position.to_string(),
        detail: verdict
            .reason
            .or(Some(detail).filter(|text| !text.is_empty())),
    }
}

#[cfg(test)]
mod tests {
    use types::{CommitPosition, TableName};

    use super::*;

    fn verdict(equal: bool, rows: u64, differing: &[&str], reason: Option<&str>) -> VerdictRow {
        row(TableVerdict {
            table: TableName {
                schema: "public".into(),
                name: "t".into(),
            },
            equal,
            source_rows: 2,
            rows,
            position: CommitPosition(1),
            differing: differing.iter().map(|&key| key.to_owned()).collect(),
            reason: reason.map(str::to_owned),
        })
    }

    #[test]
    fn verdicts_say_what_differs_or_why_nothing_is_known() {
        assert_eq!(verdict(true, 2, &[], None).detail, None);
        let different = verdict(false, 3, &["id 7"], None);
        assert_eq!(different.equal, Some(false));
        assert_eq!(
            different.detail.as_deref(),
            Some("the source has 2 rows; id 7")
        );
        let unknown = verdict(false, 0, &[], Some("stopped"));
        assert_eq!(
            (unknown.equal, unknown.detail.as_deref()),
            (None, Some("stopped"))
        );
    }
}
