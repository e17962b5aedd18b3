//! Asks the primary itself after the status of a line, of an order of any age.
//!
//! Most orders are older than what fits in its memory, so most questions fetch a row from disk. They read
//! only: they take no position, and move nothing of the workload.

use std::time::Duration;

use oltp::parameters::Reader;
use types::CommitPosition;

use super::calls::{LINE_STATUS, LineKey};
use super::draw::Purpose;
use super::positions::{commands_at, is_delivered};
use super::tables::{ARRIVED, WAITING};
use super::workload::{StatusQuestion, Workload};
use crate::primary::Session;
use crate::source::Stop;

/// How long to wait for an answer before looking whether to stop.
const PATIENCE: Duration = Duration::from_millis(100);

/// A question without a right answer.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum LookupError {
    /// The primary says something else than the workload foretells.
    #[error("{0}")]
    Wrong(String),
    /// It did not answer: it has ended or has no memory.
    #[error("the primary did not answer")]
    Unanswered,
}

/// The `number`-th question after a line of an order that was placed up to a position; `None` where that
/// order was rolled back.
pub fn question(
    workload: Workload,
    position: CommitPosition,
    number: u64,
) -> Option<StatusQuestion> {
    let steps = commands_at(workload, position).checked_sub(1)?;
    let any = workload.draw().at(Purpose::StatusOrder, number, steps);
    let step = any.below(steps.max(1));
    if steps == 0 || workload.is_rolled_back(step) {
        return None;
    }
    let basket = workload.order(step).basket;
    let line = any.next().below(workload.line_count(basket));
    Some(StatusQuestion {
        step,
        line: workload.line(basket, line),
    })
}

/// Asks, and compares the answer with the workload at the position that it names.
pub fn ask(
    session: &Session,
    workload: Workload,
    question: StatusQuestion,
    stop: &Stop,
) -> Result<(), LookupError> {
    let StatusQuestion { step, line } = question;
    let key = LineKey {
        item: line.item,
        order: step as i64 + 1,
        line: line.number,
    };
    let submitted = session.submit(LINE_STATUS, key.encode());
    submitted.map_err(|_| LookupError::Unanswered)?;
    let answer = loop {
        match session.answer(PATIENCE) {
            Ok(Some(answer)) => break answer,
            Ok(None) if !stop.is_set() => {}
            Ok(None) | Err(_) => return Err(LookupError::Unanswered),
        }
    };
    let wrong = |found: &str| {
        let (order, number) = (key.order, key.line);
        LookupError::Wrong(format!(
            "line {number} of order {order} is {found} at the primary"
        ))
    };
    let position = match answer.outcome {
        Ok(position) => position,
        Err(crate::primary::CallError::Refused(_)) => return Err(LookupError::Unanswered),
        Err(error) => return Err(wrong(&error.to_string())),
    };
    let mut reader = Reader(&answer.reply);
    let (status, amount) = (reader.text(), reader.i64());
    let is_arrived = is_delivered(workload, step, line.number as u64 - 1, position);
    let expected = if is_arrived { ARRIVED } else { WAITING };
    if status == expected.as_bytes() && amount == line.amount {
        return Ok(());
    }
    let status = String::from_utf8_lossy(status);
    Err(wrong(&format!(
        "{status} for {amount} cents at {position}, instead of {expected} for {}",
        line.amount
    )))
}
