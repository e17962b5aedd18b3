//! Looks up the status of order lines through SQL, as customers do while they wait.
//!
//! The workload knows what each answer must be at the position that the answer names, so every
//! one is checked.

use std::sync::Arc;
use std::time::Duration;

use lsm::Store;
use parking_lot::Mutex;
use replication::orders::Workload;
use replication::orders::positions::{commands_at, is_delivered};
use replication::orders::tables::{ARRIVED, WAITING};
use replication::orders::workload::StatusQuestion;
use sql::{ScalarValue, Session, SqlError};

use super::ask::{Answer, ask, statement};
use super::meter::LatencyMeter;

const SQL: &str = "select status, amount from order_lines \
                   where item_id = $1 and order_id = $2 and line_number = $3";

/// What the look-ups came to.
#[derive(Debug, Default)]
pub(super) struct Tally {
    pub(super) right: u64,
    pub(super) wrong: u64,
    /// The first wrong answer.
    pub(super) failure: Option<String>,
    pub(super) latency: LatencyMeter,
}

/// How often to look up.
#[derive(Clone, Copy, Debug)]
pub(super) struct Pace {
    /// At most so many a second.
    pub(super) rate: f64,
    /// After each, a pause of so many times as long as it took: look-ups leave the processor to
    /// others.
    pub(super) pause_factor: f64,
}

impl Pace {
    pub(super) fn pause(&self, latency: Duration) -> Duration {
        let interval = Duration::from_secs_f64(1.0 / self.rate);
        interval
            .saturating_sub(latency)
            .max(latency.mul_f64(self.pause_factor))
    }
}

/// Looks up until the task is dropped.
pub(super) async fn look_up_forever(
    session: Session,
    store: Arc<Store>,
    workload: Workload,
    pace: Pace,
    tally: &Mutex<Tally>,
) {
    const NOTHING_TO_ASK: Duration = Duration::from_millis(50);
    for number in 0.. {
        let happened = commands_at(workload, store.visible()).saturating_sub(1);
        let pause = match workload.status_question(happened, number) {
            None => NOTHING_TO_ASK.min(pace.pause(Duration::ZERO)),
            Some(question) => match look_up(&session, workload, question, tally).await {
                Ok(latency) => pace.pause(latency),
                Err(error) => {
                    tracing::debug!(%error, "a status could not be looked up");
                    NOTHING_TO_ASK
                }
            },
        };
        tokio::time::sleep(pause).await;
    }
}

/// Looks up a number of times, one after the other.
pub(super) async fn look_up_some(
    session: &Session,
    store: &Store,
    workload: Workload,
    count: u64,
    tally: &Mutex<Tally>,
) -> Result<(), SqlError> {
    for number in 0..count {
        let happened = commands_at(workload, store.visible()).saturating_sub(1);
        if let Some(question) = workload.status_question(happened, number) {
            look_up(session, workload, question, tally).await?;
        }
    }
    Ok(())
}

/// Asks one question and notes whether the answer is right.
async fn look_up(
    session: &Session,
    workload: Workload,
    question: StatusQuestion,
    tally: &Mutex<Tally>,
) -> Result<Duration, SqlError> {
    let parameters = vec![
        ScalarValue::Int32(Some(question.line.item)),
        ScalarValue::Int64(Some(question.step as i64 + 1)),
        ScalarValue::Int16(Some(question.line.number)),
    ];
    let answer = ask(session, &statement(SQL), parameters).await?;
    let judgement = judge(&answer, workload, question);
    let mut tally = tally.lock();
    tally.latency.note(answer.latency);
    match judgement {
        Ok(()) => tally.right += 1,
        Err(failure) => {
            tally.wrong += 1;
            tally.failure.get_or_insert(failure);
        }
    }
    Ok(answer.latency)
}

/// Compares an answer with what the line is at its position.
fn judge(answer: &Answer, workload: Workload, question: StatusQuestion) -> Result<(), String> {
    let StatusQuestion { step, line } = question;
    let index = line.number as u64 - 1;
    let delivered = is_delivered(workload, step, index, answer.position);
    let status = if delivered { ARRIVED } else { WAITING };
    let expected = [
        status.to_owned(),
        format!("{}.{:02}", line.amount / 100, line.amount % 100),
    ];
    match answer.rows.as_slice() {
        [row] if *row == expected => Ok(()),
        found => Err(format!(
            "line {} of order {} is {found:?} at {} instead of {expected:?}",
            line.number,
            step + 1,
            answer.position
        )),
    }
}

#[cfg(test)]
mod tests {
    use replication::orders::positions::position_after;

    use super::*;

    fn answer(commands: u64, status: &str, amount: i64) -> Answer {
        let amount = format!("{}.{:02}", amount / 100, amount % 100);
        Answer {
            position: position_after(Workload::new(3), commands),
            columns: vec!["status".to_owned(), "amount".to_owned()],
            rows: vec![vec![status.to_owned(), amount]],
            latency: Duration::ZERO,
        }
    }

    #[test]
    fn answers_are_judged_at_their_own_position() {
        let workload = Workload::new(3);
        let question = (0..).find_map(|n| workload.status_question(1_000, n));
        let question = question.expect("most orders are not rolled back");
        let amount = question.line.amount;
        let index = question.line.number as u64 - 1;
        let delivered = workload.delivery_step(question.step, index) + 2;
        let judged = |commands, status, amount| {
            judge(&answer(commands, status, amount), workload, question).is_ok()
        };
        assert!(judged(delivered - 1, WAITING, amount));
        assert!(judged(delivered, ARRIVED, amount));
        assert!(!judged(delivered, WAITING, amount), "an old state");
        assert!(!judged(delivered - 1, ARRIVED, amount), "a state to come");
        assert!(!judged(delivered, ARRIVED, amount + 1), "another row");
        let nothing = Answer {
            rows: Vec::new(),
            ..answer(delivered, ARRIVED, amount)
        };
        assert!(judge(&nothing, workload, question).is_err());
    }

    #[test]
    fn look_ups_leave_time_to_others() {
        let pace = Pace {
            rate: 100.0,
            pause_factor: 3.0,
        };
        assert_eq!(
            pace.pause(Duration::from_millis(1)),
            Duration::from_millis(9)
        );
        assert_eq!(
            pace.pause(Duration::from_millis(40)),
            Duration::from_millis(120)
        );
    }
}
