//! Asks again and again for the sums over all tables, in one statement.
//!
//! Each time the answer must be one state of the source: all sums equal, and equal to what the
//! workload adds up to at the position that the answer names.

use std::time::Duration;

use parking_lot::Mutex;
use replication::orders::positions::totals_at;
use replication::orders::{Totals, Workload};
use sql::{Session, SqlError};
use types::CommitPosition;

use super::ask::{Answer, ask, statement};
use super::figures::Audit;
use super::numerals::{amount, grouped};

const SQL: &str = "\
select (select sum(amount) from order_lines) as lines,
       (select sum(total) from orders) as orders,
       (select sum(balance) from customers) as balances,
       (select sum(revenue) from items) as revenues,
       (select count(*) from orders) as order_count,
       (select count(*) from order_lines) as line_count";

/// The least time between two audits.
const PAUSE: Duration = Duration::from_secs(2);
/// An audit reads everything; so many times as long as it takes, nothing is asked.
const PAUSE_FACTOR: u32 = 10;

/// Audits until the task is dropped. An engine that cannot answer is not a disagreement: it is
/// asked again later.
pub(super) async fn audit_forever(session: Session, workload: Workload, audit: &Mutex<Audit>) {
    loop {
        let pause = PAUSE.max(audit.lock().latency * PAUSE_FACTOR);
        tokio::time::sleep(pause).await;
        if let Err(error) = audit_once(&session, workload, audit).await {
            tracing::debug!(%error, "the audit could not be asked");
        }
    }
}

/// Asks once and notes the outcome.
pub(super) async fn audit_once(
    session: &Session,
    workload: Workload,
    audit: &Mutex<Audit>,
) -> Result<(), SqlError> {
    let answer = ask(session, &statement(SQL), Vec::new()).await?;
    let judgement = judge(&answer, workload);
    let mut audit = audit.lock();
    audit.latency = answer.latency;
    match judgement {
        Ok(totals) => {
            audit.agreed += 1;
            audit.amount = totals.amount;
        }
        Err(failure) => {
            audit.failure.get_or_insert(failure);
        }
    }
    Ok(())
}

/// Compares an answer with the workload.
fn judge(answer: &Answer, workload: Workload) -> Result<Totals, String> {
    let position = answer.position;
    let totals = totals_at(workload, position);
    let row = answer.rows.first().ok_or("the audit gave no row")?;
    compare(row, &totals).map_err(|difference| describe(position, &difference))?;
    Ok(totals)
}

fn describe(position: CommitPosition, difference: &str) -> String {
    format!("at {position} {difference}")
}

/// Compares the audit's row with what it must be.
fn compare(row: &[String], totals: &Totals) -> Result<(), String> {
    for (name, cell) in ["lines", "orders", "balances", "revenues"].iter().zip(row) {
        let expected = amount(totals.amount);
        match cents(cell) {
            Some(found) if found == totals.amount => {}
            _ => return Err(format!("the sum of {name} is {cell} instead of {expected}")),
        }
    }
    let counts = [("orders", totals.orders), ("order_lines", totals.lines)];
    for ((name, expected), cell) in counts.iter().zip(&row[4..]) {
        if cell.parse() != Ok(*expected) {
            return Err(format!(
                "{name} has {cell} rows instead of {}",
                grouped(*expected)
            ));
        }
    }
    Ok(())
}

/// An amount with two digits after the point as cents; the sum of no rows is NULL, here empty.
fn cents(text: &str) -> Option<i64> {
    if text.is_empty() {
        return Some(0);
    }
    let (whole, part) = text.split_once('.')?;
    let part = (part.len() == 2).then_some(part)?;
    format!("{whole}{part}").parse().ok()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn differences_are_named() {
        let totals = Totals {
            orders: 2,
            lines: 7,
            amount: 1_234,
            raw_bytes: 0,
        };
        let row = |cells: [&str; 6]| cells.map(str::to_owned);
        let good = row(["12.34", "12.34", "12.34", "12.34", "2", "7"]);
        assert_eq!(compare(&good, &totals), Ok(()));
        let wrong = row(["12.34", "12.34", "12.33", "12.34", "2", "7"]);
        let failure = compare(&wrong, &totals).expect_err("a sum differs");
        assert_eq!(failure, "the sum of balances is 12.33 instead of 12.34");
        let wrong = row(["12.34", "12.34", "12.34", "12.34", "2", "6"]);
        assert!(compare(&wrong, &totals).is_err_and(|f| f.contains("order_lines has 6")));
        let wrong = row(["x", "", "12.34", "12.34", "2", "7"]);
        assert!(compare(&wrong, &totals).is_err());
    }

    #[test]
    fn amounts_are_read_exactly() {
        assert_eq!(cents(""), Some(0));
        assert_eq!(cents("0.05"), Some(5));
        assert_eq!(cents("814554474302.11"), Some(81_455_447_430_211));
        assert_eq!(cents("1.5"), None);
        assert_eq!(cents("NaN"), None);
    }
}
