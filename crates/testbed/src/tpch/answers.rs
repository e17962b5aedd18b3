//! An answer as text, and what counts as the same answer.
//!
//! Text, counts and sums must be equal character by character, in the same order. Averages and
//! ratios, which the specification does not define to the last digit, may differ by one part in
//! a thousand million.

use anyhow::{Result, bail, ensure};
use postgres::{Client, SimpleQueryMessage};

/// Columns that are averages or ratios: (query, column).
const INEXACT: [(u8, &str); 6] = [
    (1, "avg_qty"),
    (1, "avg_price"),
    (1, "avg_disc"),
    (8, "mkt_share"),
    (14, "promo_revenue"),
    (17, "avg_yearly"),
];

/// How far averages and ratios may be apart, relative to the larger one.
const TOLERANCE: f64 = 1e-9;

/// Column names and rows, in the text that the server sends.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Answer {
    /// Names of the columns.
    pub columns: Vec<String>,
    /// The rows, in the order in which they came; `None` is NULL.
    pub rows: Vec<Vec<Option<String>>>,
}

impl Answer {
    /// Asks for the answer to `query`.
    pub fn ask(client: &mut Client, query: &str) -> Result<Self> {
        let mut answer = Self::default();
        for message in client.simple_query(query)? {
            match message {
                SimpleQueryMessage::RowDescription(columns) => {
                    answer.columns = columns.iter().map(|c| c.name().to_owned()).collect();
                }
                SimpleQueryMessage::Row(row) => answer.rows.push(
                    (0..row.len())
                        .map(|i| row.get(i).map(str::to_owned))
                        .collect(),
                ),
                _ => {}
            }
        }
        Ok(answer)
    }

    /// An error that names the first difference, unless `self` is the answer `expected` to a
    /// TPC-H query.
    pub fn ensure_same(&self, expected: &Self, query: u8) -> Result<()> {
        let inexact = |column: &str| INEXACT.contains(&(query, column));
        self.ensure_same_but_for(expected, inexact)
    }

    /// An error that names the first difference, unless both are equal to the character.
    pub fn ensure_equal(&self, expected: &Self) -> Result<()> {
        self.ensure_same_but_for(expected, |_| false)
    }

    /// The same, unless cells of `inexact` columns are averages or ratios and nearly equal.
    pub fn ensure_same_but_for(
        &self,
        expected: &Self,
        inexact: impl Fn(&str) -> bool,
    ) -> Result<()> {
        ensure!(
            self.columns == expected.columns,
            "columns {:?}, expected {:?}",
            self.columns,
            expected.columns
        );
        let (count, wanted) = (self.rows.len(), expected.rows.len());
        ensure!(count == wanted, "{count} rows, expected {wanted}");
        for (number, (row, expected)) in self.rows.iter().zip(&expected.rows).enumerate() {
            for ((cell, expected), column) in row.iter().zip(expected).zip(&self.columns) {
                let same = cell == expected || (inexact(column) && close(cell, expected));
                if !same {
                    bail!("row {number}, {column}: {cell:?}, expected {expected:?}");
                }
            }
        }
        Ok(())
    }
}

fn close(left: &Option<String>, right: &Option<String>) -> bool {
    let number = |text: &Option<String>| text.as_ref().and_then(|text| text.parse::<f64>().ok());
    let (Some(left), Some(right)) = (number(left), number(right)) else {
        return false;
    };
    (left - right).abs() <= TOLERANCE * left.abs().max(right.abs())
}

#[cfg(test)]
mod tests {
    use super::*;

    fn answer(cells: &[Option<&str>]) -> Answer {
        let columns = vec!["avg_qty".to_owned(), "sum_qty".to_owned()];
        let row = cells.iter().map(|cell| cell.map(str::to_owned)).collect();
        Answer {
            columns,
            rows: vec![row],
        }
    }

    #[test]
    fn only_averages_may_differ_and_only_a_little() {
        let expected = answer(&[Some("25.5220058532573370"), Some("37734107.00")]);
        let close = answer(&[Some("25.522005853257337"), Some("37734107.00")]);
        assert!(close.ensure_same(&expected, 1).is_ok());
        assert!(close.ensure_same(&expected, 2).is_err());
        assert!(close.ensure_equal(&expected).is_err());
        let other_sum = answer(&[Some("25.5220058532573370"), Some("37734107")]);
        assert!(other_sum.ensure_same(&expected, 1).is_err());
        let null = answer(&[None, Some("37734107.00")]);
        assert!(null.ensure_same(&expected, 1).is_err());
    }
}
