//! `hedgerow resync`: asks the running server to copy one table again, and waits for it.

use std::process::ExitCode;
use std::time::Duration;

use anyhow::bail;

use crate::cli::ResyncArguments;
use crate::client::Client;

/// How often to look whether the copy is complete.
const LOOK: Duration = Duration::from_millis(200);

/// Has a table copied again.
pub fn run(arguments: &ResyncArguments) -> anyhow::Result<ExitCode> {
    let table = &arguments.table;
    super::block_on(async {
        let client = Client::connect(&arguments.client).await?;
        client.rows(&format!("RESYNC TABLE {table}")).await?;
        println!("{table} is being copied");
        // A table that is being copied, or has stopped, refuses to be read, and says why.
        let question = format!("SELECT count(*) FROM {table}");
        let rows = loop {
            match client.rows(&question).await {
                Ok(rows) => break rows,
                Err(error) if error.to_string().contains("still being copied") => {
                    tokio::time::sleep(LOOK).await;
                }
                Err(error) => bail!("{error}"),
            }
        };
        client.close().await;
        let count = rows.first().and_then(|row| row.first()).cloned().flatten();
        println!("{table} is complete, {} rows", count.unwrap_or_default());
        Ok(ExitCode::SUCCESS)
    })
}
