//! `hedgerow sql`: runs statements on a running server and prints their rows.

use std::io::{self, BufRead, IsTerminal, Write};
use std::process::ExitCode;

use crate::aligned_table::{ROWS_TOGETHER, render};
use crate::cli::{RowFormat, SqlArguments};
use crate::client::{Client, ClientError, Piece};

/// Runs the statements of the command line or of standard input.
pub fn run(arguments: SqlArguments) -> anyhow::Result<ExitCode> {
    super::block_on(async {
        let client = Client::connect(&arguments.client).await?;
        let format = arguments.format;
        let result = match &arguments.sql {
            Some(sql) => print_results(&client, sql, format).await,
            None if io::stdin().is_terminal() => return interactive(&client, format).await,
            None => print_results(&client, &io::read_to_string(io::stdin())?, format).await,
        };
        client.close().await;
        match result {
            // The reader has seen enough, as head(1) has.
            Err(ClientError::Print(error)) if error.kind() == io::ErrorKind::BrokenPipe => {}
            result => result?,
        }
        Ok(ExitCode::SUCCESS)
    })
}

/// Reads statements from the terminal, each up to a line that ends with a semicolon.
async fn interactive(client: &Client, format: RowFormat) -> anyhow::Result<ExitCode> {
    println!("Statements end with a semicolon; leave with Control-D.");
    let mut statement = String::new();
    loop {
        print!(
            "{}",
            if statement.is_empty() {
                "hedgerow> "
            } else {
                "     ...> "
            }
        );
        io::stdout().flush()?;
        if io::stdin().lock().read_line(&mut statement)? == 0 {
            println!();
            return Ok(ExitCode::SUCCESS);
        }
        if statement.trim_end().ends_with(';') {
            if let Err(error) = print_results(client, &statement, format).await {
                eprintln!("{error}");
            }
            statement.clear();
        }
    }
}

async fn print_results(client: &Client, sql: &str, format: RowFormat) -> Result<(), ClientError> {
    let mut printer = Printer {
        format,
        out: io::stdout().lock(),
        names: Vec::new(),
        rows: Vec::new(),
        printed: false,
    };
    client.run(sql, |piece| printer.take(piece)).await
}

/// Prints pieces of results as they come.
struct Printer<W> {
    format: RowFormat,
    out: W,
    names: Vec<String>,
    rows: Vec<Vec<Option<String>>>,
    /// Whether some rows of this result have been printed.
    printed: bool,
}

impl<W: Write> Printer<W> {
    fn take(&mut self, piece: Piece) -> io::Result<()> {
        match piece {
            Piece::Columns(names) => {
                self.names = names;
                self.printed = false;
            }
            Piece::Row(row) => {
                self.rows.push(row);
                if self.rows.len() == ROWS_TOGETHER {
                    self.print()?;
                }
            }
            Piece::Complete(rows) => {
                if self.names.is_empty() {
                    return Ok(());
                }
                self.print()?;
                if self.format == RowFormat::Aligned {
                    let plural = if rows == 1 { "" } else { "s" };
                    writeln!(self.out, "({rows} row{plural})\n")?;
                }
                self.names.clear();
            }
        }
        Ok(())
    }

    fn print(&mut self) -> io::Result<()> {
        let header = !std::mem::replace(&mut self.printed, true);
        let rows = std::mem::take(&mut self.rows);
        let text = match self.format {
            RowFormat::Aligned => render(&self.names, &rows, header),
            RowFormat::Csv => csv(&self.names, &rows, header),
        };
        self.out.write_all(text.as_bytes())?;
        self.out.flush()
    }
}

fn csv(names: &[String], rows: &[Vec<Option<String>>], with_header: bool) -> String {
    let header = names.iter().map(|name| csv_cell(Some(name)));
    let mut lines: Vec<String> = Vec::with_capacity(rows.len() + 1);
    if with_header {
        lines.push(header.collect::<Vec<_>>().join(","));
    }
    for row in rows {
        let cells: Vec<String> = row.iter().map(|cell| csv_cell(cell.as_deref())).collect();
        lines.push(cells.join(","));
    }
    lines.iter().map(|line| format!("{line}\n")).collect()
}

/// A cell; empty text is quoted so that it differs from NULL.
fn csv_cell(cell: Option<&str>) -> String {
    match cell {
        None => String::new(),
        Some(text) if text.is_empty() || text.contains([',', '"', '\n', '\r']) => {
            format!("\"{}\"", text.replace('"', "\"\""))
        }
        Some(text) => text.to_owned(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn print(format: RowFormat, pieces: Vec<Piece>) -> String {
        let mut out = Vec::new();
        let mut printer = Printer {
            format,
            out: &mut out,
            names: Vec::new(),
            rows: Vec::new(),
            printed: false,
        };
        for piece in pieces {
            printer.take(piece).expect("a vector takes it");
        }
        String::from_utf8(out).expect("text")
    }

    fn pieces() -> Vec<Piece> {
        vec![
            Piece::Columns(vec!["n".into(), "t".into()]),
            Piece::Row(vec![Some("1".into()), None]),
            Piece::Row(vec![Some("2".into()), Some("a,\"b\"".into())]),
            Piece::Complete(2),
        ]
    }

    #[test]
    fn aligned_results_end_with_their_count() {
        let text = print(RowFormat::Aligned, pieces());
        assert!(text.starts_with(" n |   t\n---+-------\n"), "{text}");
        assert!(text.ends_with("(2 rows)\n\n"), "{text}");
    }

    #[test]
    fn csv_quotes_what_needs_it() {
        assert_eq!(
            print(RowFormat::Csv, pieces()),
            "n,t\n1,\n2,\"a,\"\"b\"\"\"\n"
        );
    }
}
