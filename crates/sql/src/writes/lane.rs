//! A session's way to the primary: calls go in, answers come out in the same order.

use oltp::ProcedureNumber;
use replication::primary::{Answer, Calls, Clients, Ended};
use tokio::sync::mpsc::{UnboundedReceiver, unbounded_channel};

/// See the module.
pub(crate) struct Lane {
    calls: Calls,
    answers: UnboundedReceiver<Answer>,
}

impl Lane {
    /// Opens a session at the primary.
    pub(crate) fn open(clients: &Clients) -> Result<Self, Ended> {
        let (answered, answers) = unbounded_channel();
        let take = move |answer| answered.send(answer).is_ok();
        let calls = clients.session_with(Box::new(take))?;
        Ok(Self { calls, answers })
    }

    /// Sends a call. There is never more than one on its way, so the queue has room.
    pub(crate) fn submit(
        &self,
        procedure: ProcedureNumber,
        parameters: Vec<u8>,
    ) -> Result<(), Ended> {
        self.calls.submit(procedure, parameters)
    }

    /// The answer to it.
    pub(crate) async fn answer(&mut self) -> Result<Answer, Ended> {
        self.answers.recv().await.ok_or(Ended)
    }
}
