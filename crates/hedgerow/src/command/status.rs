//! `hedgerow status`: how far the source is, the tables and their sizes.

use std::process::ExitCode;

use crate::aligned_table::render;
use crate::cli::ClientArguments;
use crate::client::{Client, ClientError, Piece};

/// The views that are shown, with their titles.
const VIEWS: [(&str, &str); 2] = [
    ("Sources", "select * from hedgerow.sources"),
    ("Tables", "select * from hedgerow.tables"),
];

/// Asks and prints.
pub fn run(arguments: &ClientArguments) -> anyhow::Result<ExitCode> {
    super::block_on(async {
        let client = Client::connect(arguments).await?;
        for (title, sql) in VIEWS {
            println!("{title}\n{}", view(&client, sql).await?);
        }
        client.close().await;
        Ok(ExitCode::SUCCESS)
    })
}

async fn view(client: &Client, sql: &str) -> Result<String, ClientError> {
    let (mut names, mut rows) = (Vec::new(), Vec::new());
    client
        .run(sql, |piece| {
            match piece {
                Piece::Columns(columns) => names = columns,
                Piece::Row(row) => rows.push(row),
                Piece::Complete(_) => {}
            }
            Ok(())
        })
        .await?;
    Ok(render(&names, &rows, true))
}
