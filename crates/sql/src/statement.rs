//! Statements: SQL text cut and parsed. SIGNATURES.

/// One parsed statement. Cheap to clone.
#[derive(Clone, Debug)]
pub struct Statement { /* private */ }

/// Cuts a text into its statements (empty vector for an empty text).
pub fn parse(sql: &str) -> Result<Vec<Statement>, SqlError>;
impl Statement { pub fn text(&self) -> &str; pub fn parameter_count(&self) -> usize; }
