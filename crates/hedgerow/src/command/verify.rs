//! `hedgerow verify`: asks the running server to prove that its tables equal the source's.

use std::process::ExitCode;

use crate::cli::ClientArguments;
use crate::client::{Client, Piece};

/// The server's statement.
const VERIFY: &str = "VERIFY";

/// Verifies and prints a line a table.
pub fn run(arguments: &ClientArguments) -> anyhow::Result<ExitCode> {
    super::block_on(async {
        let client = Client::connect(arguments).await?;
        let mut count = Count::default();
        client
            .run(VERIFY, |piece| {
                if let Piece::Row(row) = piece {
                    println!("{}", count.line(&row));
                }
                Ok(())
            })
            .await?;
        client.close().await;
        println!("{}", count.summary());
        Ok(count.exit_code())
    })
}

/// What the verdicts add up to.
#[derive(Default)]
struct Count {
    equal: usize,
    different: usize,
    unknown: usize,
}

impl Count {
    /// Counts a verdict (table, rows, equal, position, detail) and describes it.
    fn line(&mut self, row: &[Option<String>]) -> String {
        let cell = |index: usize| row.get(index).and_then(Option::as_deref);
        let (counter, verdict) = match cell(2) {
            Some("t") => (&mut self.equal, "equal    "),
            Some(_) => (&mut self.different, "DIFFERENT"),
            None => (&mut self.unknown, "unknown  "),
        };
        *counter += 1;
        let detail = cell(4)
            .map(|detail| format!(": {detail}"))
            .unwrap_or_default();
        format!(
            "{verdict}  {}, {} rows at {}{detail}",
            cell(0).unwrap_or("?"),
            cell(1).unwrap_or("?"),
            cell(3).unwrap_or("?"),
        )
    }

    fn summary(&self) -> String {
        let Self {
            equal,
            different,
            unknown,
        } = self;
        format!("{equal} equal, {different} different, {unknown} unknown")
    }

    fn exit_code(&self) -> ExitCode {
        match self {
            Self { different: 1.., .. } => ExitCode::FAILURE,
            Self { unknown: 1.., .. } => ExitCode::from(super::UNKNOWN),
            _ => ExitCode::SUCCESS,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn verdicts_are_counted_and_described() {
        let mut count = Count::default();
        let row = |equal: Option<&str>, detail: Option<&str>| {
            let cells = [Some("public.t"), Some("7"), equal, Some("0/1"), detail];
            cells.map(|cell| cell.map(str::to_owned))
        };
        assert_eq!(
            count.line(&row(Some("t"), None)),
            "equal      public.t, 7 rows at 0/1"
        );
        assert_eq!(
            count.line(&row(Some("f"), Some("id 3"))),
            "DIFFERENT  public.t, 7 rows at 0/1: id 3"
        );
        count.line(&row(None, Some("stopped")));
        assert_eq!(count.summary(), "1 equal, 1 different, 1 unknown");
        assert_eq!(count.exit_code(), ExitCode::FAILURE);
    }
}
