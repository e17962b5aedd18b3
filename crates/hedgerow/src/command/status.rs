//! `hedgerow status`: how far the source is, the tables and their sizes.

use std::process::ExitCode;

use crate::aligned_table::render;
use crate::byte_size::ByteSize;
use crate::cli::ClientArguments;
use crate::client::Client;

const SOURCES: &str = "select name, kind, state, reason, warnings, sent, received, visible, \
     durable, lag_bytes, round(lag_seconds::numeric, 1), transactions, rows, copy_tables_done, \
     copy_tables, copy_rows from hedgerow.sources order by name";

const TABLES: &str = "select schema || '.' || name, state, rows, bytes, bytes_in_memory, \
     components, reason from hedgerow.tables order by 1";

const TABLE_COLUMNS: [&str; 7] = [
    "table",
    "state",
    "rows at most",
    "on disk",
    "in memory",
    "components",
    "reason",
];
/// The columns of `TABLES` that are bytes.
const BYTE_COLUMNS: [usize; 2] = [3, 4];

type Row = Vec<Option<String>>;

/// Asks and prints.
pub fn run(arguments: &ClientArguments) -> anyhow::Result<ExitCode> {
    super::block_on(async {
        let client = Client::connect(arguments).await?;
        for row in client.rows(SOURCES).await? {
            println!("{}", source(&row));
        }
        print!("{}", tables(client.rows(TABLES).await?));
        client.close().await;
        Ok(ExitCode::SUCCESS)
    })
}

/// A source: what it does, and the ladder of positions.
fn source(row: &Row) -> String {
    let cell = |index: usize| row.get(index).and_then(Option::as_deref);
    let shown = |index: usize| cell(index).unwrap_or("?");
    let mut text = format!("{} ({}): {}", shown(0), shown(1), shown(2));
    if let Some(reason) = cell(3) {
        text.push_str(&format!(", {reason}"));
    }
    text.push('\n');
    if let Some(warnings) = cell(4) {
        text.push_str(&format!("  warning: {warnings}\n"));
    }
    let lag = format!("{} and {} s behind", size(shown(9)), shown(10));
    let ladder = [
        ("sent", 5, "the source has told of it".to_owned()),
        ("received", 6, "it is here".to_owned()),
        ("visible", 7, format!("statements see it: {lag}")),
        (
            "durable",
            8,
            "it survives a crash, the source may forget it".to_owned(),
        ),
    ];
    for (rung, index, meaning) in ladder {
        text.push_str(&format!("  {rung:9} {:>17}  {meaning}\n", shown(index)));
    }
    if let (Some(done), Some(all)) = (cell(13), cell(14)) {
        text.push_str(&format!(
            "  copying: {done} of {all} tables, {} rows\n",
            shown(15)
        ));
    }
    text.push_str(&format!(
        "  since the start: {} transactions, {} rows\n",
        shown(11),
        shown(12)
    ));
    text
}

/// All tables; the column of reasons only if there are any.
fn tables(mut rows: Vec<Row>) -> String {
    let mut names: Vec<String> = TABLE_COLUMNS.iter().map(|&name| name.to_owned()).collect();
    let reasons = rows
        .iter()
        .any(|row| row.last().is_some_and(Option::is_some));
    if !reasons {
        names.pop();
    }
    for row in &mut rows {
        row.truncate(names.len());
        for index in BYTE_COLUMNS {
            if let Some(Some(cell)) = row.get_mut(index) {
                *cell = size(cell);
            }
        }
    }
    render(&names, &rows, true)
}

/// A number of bytes as people read it.
fn size(bytes: &str) -> String {
    bytes
        .parse()
        .map_or_else(|_| bytes.to_owned(), |bytes| ByteSize(bytes).to_string())
}

#[cfg(test)]
mod tests {
    use super::*;

    fn row(cells: &[&str]) -> Row {
        cells
            .iter()
            .map(|&cell| (!cell.is_empty()).then(|| cell.to_owned()))
            .collect()
    }

    #[test]
    fn a_source_is_shown_as_a_ladder() {
        let text = source(&row(&[
            "shop",
            "postgresql",
            "streaming",
            "",
            "a",
            "0/40",
            "0/30",
            "0/20",
            "0/10",
            "2048",
            "0.5",
            "7",
            "9",
            "",
            "",
            "",
        ]));
        assert!(text.starts_with("shop (postgresql): streaming\n  warning: a\n"));
        assert!(text.contains("visible"), "{text}");
        assert!(
            text.contains("0/20  statements see it: 2 KiB and 0.5 s behind"),
            "{text}"
        );
        assert!(!text.contains("copying"), "{text}");
    }

    #[test]
    fn reasons_are_shown_only_where_there_are_any() {
        let live = row(&["public.t", "live", "10", "1048576", "0", "2", ""]);
        let text = tables(vec![live.clone()]);
        assert!(text.contains("1 MiB") && !text.contains("reason"), "{text}");
        let stopped = row(&["public.s", "stopped", "10", "0", "0", "2", "NaN"]);
        assert!(tables(vec![live, stopped]).contains("NaN"));
    }
}
