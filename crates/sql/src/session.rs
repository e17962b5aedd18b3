//! A client's session: transaction, settings, statements. SIGNATURES.

/// Who connects.
#[derive(Clone, Debug, Default)]
pub struct SessionStart {
    /// The user's name.
    pub user: String,
    /// Settings from the startup packet (`application_name`, `TimeZone`, `options` already split).
    pub settings: Vec<(String, String)>,
}

/// Where the session is in a transaction (the wire's `I`, `T`, `E`).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum TransactionStatus {
    Idle,
    Open,
    Failed,
}

impl Session {
    /// The settings that a client is told of at the start (ParameterStatus).
    pub fn reported_settings(&self) -> Vec<(String, String)>;
    /// A setting's value as SHOW gives it.
    pub fn setting(&self, name: &str) -> Option<String>;
    pub fn transaction_status(&self) -> TransactionStatus;
    /// Parameter types and result columns. `parameter_oids`: what the client declared, 0 = unknown.
    pub async fn describe(&self, statement: &Statement, parameter_oids: &[u32]) -> Result<Description, SqlError>;
    /// Runs a statement; `parameters` in the types that `describe` told. Statement timeout and cancel end the stream with 57014.
    pub async fn execute(&self, statement: &Statement, parameters: Vec<ScalarValue>) -> Result<Outcome, SqlError>;
    /// Ends the statement that runs now, from any thread.
    pub fn canceller(&self) -> Canceller;
}
impl Canceller { pub fn cancel(&self); }   // Clone + Send + Sync
