//! Rows as text under their column names, as psql prints them.

use std::fmt::Write;

/// Rows that are aligned together; of a longer result, each so many rows are.
pub const ROWS_TOGETHER: usize = 1_000;

/// Prints rows below their column names; numbers are aligned right.
pub fn render(names: &[String], rows: &[Vec<Option<String>>], with_header: bool) -> String {
    let columns: Vec<Column> = (0..names.len())
        .map(|index| Column::of(names, rows, index))
        .collect();
    let mut out = String::new();
    if with_header {
        push_header(names, &columns, &mut out);
    }
    for row in rows {
        push_row(row, &columns, &mut out);
    }
    out
}

struct Column {
    width: usize,
    right: bool,
}

impl Column {
    fn of(names: &[String], rows: &[Vec<Option<String>>], index: usize) -> Self {
        let cells = || rows.iter().filter_map(|row| row.get(index)?.as_deref());
        let widest = cells().flat_map(str::lines).map(width).max().unwrap_or(0);
        let right = cells().next().is_some() && cells().all(is_number);
        Self {
            width: widest.max(width(&names[index])),
            right,
        }
    }
}

fn is_number(cell: &str) -> bool {
    cell.parse::<f64>().is_ok()
}

/// Characters, which is columns on a screen for most scripts.
fn width(text: &str) -> usize {
    text.chars().count()
}

fn push_header(names: &[String], columns: &[Column], out: &mut String) {
    let name = |(name, column): (&String, &Column)| {
        let missing = column.width - width(name);
        let before = missing / 2;
        format!(
            " {:before$}{name}{:after$} ",
            "",
            "",
            after = missing - before
        )
    };
    let header: Vec<String> = names.iter().zip(columns).map(name).collect();
    let lines: Vec<String> = columns
        .iter()
        .map(|column| "-".repeat(column.width + 2))
        .collect();
    push_line(&header.join("|"), out);
    push_line(&lines.join("+"), out);
}

/// A row; cells of several lines continue below, with a plus at the line's end.
fn push_row(row: &[Option<String>], columns: &[Column], out: &mut String) {
    let cells: Vec<Vec<&str>> = row
        .iter()
        .map(|cell| lines(cell.as_deref().unwrap_or("")))
        .collect();
    let height = cells.iter().map(Vec::len).max().unwrap_or(1);
    for line in 0..height {
        let mut text = String::new();
        for (index, (cell, column)) in cells.iter().zip(columns).enumerate() {
            let part = cell.get(line).copied().unwrap_or("");
            let padding = column.width - width(part);
            let more = if line + 1 < cell.len() { '+' } else { ' ' };
            let separator = if index > 0 { "|" } else { "" };
            // Writing to a string cannot fail.
            _ = if column.right {
                write!(text, "{separator} {:padding$}{part}{more}", "")
            } else {
                write!(text, "{separator} {part}{:padding$}{more}", "")
            };
        }
        push_line(&text, out);
    }
}

fn lines(cell: &str) -> Vec<&str> {
    if cell.is_empty() {
        vec![""]
    } else {
        cell.lines().collect()
    }
}

fn push_line(line: &str, out: &mut String) {
    out.push_str(line.trim_end());
    out.push('\n');
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn rows_are_printed_as_psql_prints_them() {
        let names = ["id".to_owned(), "name".to_owned()];
        let row = |id: &str, name: Option<&str>| vec![Some(id.to_owned()), name.map(str::to_owned)];
        let rows = [row("1", Some("a\nb")), row("10", None)];
        let expected = " id | name\n----+------\n  1 | a   +\n    | b\n 10 |\n";
        assert_eq!(render(&names, &rows, true), expected);
    }
}
