//! Whether two outcomes are the same.
//!
//! Column names and types are equal. Rows are equal in their order if the query orders them
//! wholly, as a bag otherwise. Cells are equal to the character, except for the differences of
//! `docs/sql-differences.md` that show in every other number:
//!
//! * a numeric may have other zeros at the end of its fraction, and differ after the twelfth
//!   digit if it has a fraction (quotients and averages are rounded elsewhere);
//! * a float may differ after the twelfth digit (the order of summands), a real after the fifth,
//!   and in the sign of zero.
//!
//! Errors are equal if their SQLSTATEs are of one class. Where some values need not be
//! computed one server may fail on a value that the other leaves out.

use super::ask::Outcome;
use super::grammar::Query;

/// The class of errors that depend on values.
const DATA_EXCEPTION: &str = "22";

const NUMERIC: u32 = 1700;
const REAL: u32 = 700;
const DOUBLE: u32 = 701;

/// What came of one query.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Verdict {
    /// The same on both sides.
    Same,
    /// Hedgerow says that it does not support it (0A000).
    Refused(String),
    /// Anything else.
    Different(String),
}

/// Compares what PostgreSQL and Hedgerow made of a query.
pub fn judge(query: &Query, expected: &Outcome, found: &Outcome) -> Verdict {
    match (expected, found) {
        (
            Outcome::Rows { columns, rows },
            Outcome::Rows {
                columns: found_columns,
                rows: found_rows,
            },
        ) => {
            if columns != found_columns {
                return Verdict::Different(format!("columns {found_columns:?}, not {columns:?}"));
            }
            let types: Vec<u32> = columns.iter().map(|(_, oid)| *oid).collect();
            match first_difference(rows, found_rows, &types, query.ordered) {
                None => Verdict::Same,
                Some(difference) => Verdict::Different(difference),
            }
        }
        (Outcome::Failed { code, .. }, Outcome::Failed { code: found, .. })
            if class(code) == class(found) =>
        {
            Verdict::Same
        }
        (Outcome::Rows { .. }, Outcome::Failed { code, .. })
        | (Outcome::Failed { code, .. }, Outcome::Rows { .. })
            if query.lazy && class(code) == DATA_EXCEPTION =>
        {
            Verdict::Same
        }
        (_, Outcome::Failed { code, message }) if code == "0A000" => {
            Verdict::Refused(message.clone())
        }
        (expected, found) => {
            Verdict::Different(format!("{}, not {}", shown(found), shown(expected)))
        }
    }
}

/// The class of an SQLSTATE.
fn class(code: &str) -> &str {
    code.get(..2).unwrap_or(code)
}

fn shown(outcome: &Outcome) -> String {
    match outcome {
        Outcome::Rows { columns, rows } => {
            let first = rows.first();
            format!("{} rows of {columns:?}, first {first:?}", rows.len())
        }
        Outcome::Failed { code, message } => format!("error {code} {message}"),
    }
}

type Row = Vec<Option<String>>;

fn first_difference(
    expected: &[Row],
    found: &[Row],
    types: &[u32],
    ordered: bool,
) -> Option<String> {
    if expected.len() != found.len() {
        return Some(format!("{} rows, not {}", found.len(), expected.len()));
    }
    let (mut expected, mut found) = (plain(expected, types), plain(found, types));
    if !ordered {
        expected.sort();
        found.sort();
    }
    let pairs = expected.iter().zip(&found);
    let different = |(expected, found): &(&Row, &Row)| {
        let mut cells = expected.iter().zip(found.iter()).zip(types);
        !cells.all(|((a, b), oid)| same_cell(a, b, *oid))
    };
    pairs
        .enumerate()
        .find(|(_, pair)| different(pair))
        .map(|(number, (expected, found))| format!("row {number}: {found:?}, not {expected:?}"))
}

/// Numbers without the zeros at their ends, and zeros without sign, so that they sort alike.
fn plain(rows: &[Row], types: &[u32]) -> Vec<Row> {
    let cell = |(cell, oid): (&Option<String>, &u32)| match cell {
        Some(text) if *oid == NUMERIC => Some(without_zeros(text)),
        Some(text) if [REAL, DOUBLE].contains(oid) && text == "-0" => Some("0".to_owned()),
        other => other.clone(),
    };
    let row = |row: &Row| row.iter().zip(types).map(cell).collect();
    rows.iter().map(row).collect()
}

fn without_zeros(text: &str) -> String {
    match text.contains('.') {
        true => text.trim_end_matches('0').trim_end_matches('.').to_owned(),
        false => text.to_owned(),
    }
}

fn same_cell(expected: &Option<String>, found: &Option<String>, oid: u32) -> bool {
    if expected == found {
        return true;
    }
    let (Some(expected), Some(found)) = (expected, found) else {
        return false;
    };
    let tolerance = match oid {
        NUMERIC if expected.contains('.') => 1e-12,
        DOUBLE => 1e-12,
        REAL => 1e-5,
        _ => return false,
    };
    match (expected.parse::<f64>(), found.parse::<f64>()) {
        (Ok(a), Ok(b)) => (a - b).abs() <= tolerance * a.abs().max(b.abs()).max(1e-12),
        _ => false,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const BAG: Query = Query {
        text: String::new(),
        ordered: false,
        lazy: false,
    };
    /// With an order and a limit.
    const LIST: Query = Query {
        text: String::new(),
        ordered: true,
        lazy: true,
    };

    fn rows(oid: u32, cells: &[&str]) -> Outcome {
        Outcome::Rows {
            columns: vec![("x".to_owned(), oid)],
            rows: cells
                .iter()
                .map(|cell| vec![Some((*cell).to_owned())])
                .collect(),
        }
    }

    fn failed(code: &str) -> Outcome {
        Outcome::Failed {
            code: code.to_owned(),
            message: String::new(),
        }
    }

    #[test]
    fn rows_are_a_bag_unless_they_are_ordered() {
        let (expected, found) = (rows(25, &["a", "b"]), rows(25, &["b", "a"]));
        assert_eq!(judge(&BAG, &expected, &found), Verdict::Same);
        assert_ne!(judge(&LIST, &expected, &found), Verdict::Same);
        assert_ne!(judge(&BAG, &expected, &rows(25, &["a"])), Verdict::Same);
    }

    #[test]
    fn only_fractions_may_differ_and_only_a_little() {
        let same = |oid, a, b| judge(&BAG, &rows(oid, &[a]), &rows(oid, &[b])) == Verdict::Same;
        assert!(same(NUMERIC, "1.50", "1.5000"));
        assert!(same(
            NUMERIC,
            "0.33333333333333333333",
            "0.3333333333333333"
        ));
        assert!(!same(NUMERIC, "0.3333", "0.333"));
        assert!(!same(NUMERIC, "100", "101"));
        assert!(!same(25, "1.50", "1.5"));
        assert!(same(DOUBLE, "0.1", "0.10000000000000001"));
        assert!(!same(DOUBLE, "0.1", "NaN"));
    }

    #[test]
    fn errors_are_the_same_within_their_class() {
        assert_eq!(
            judge(&BAG, &failed("42703"), &failed("42P01")),
            Verdict::Same
        );
        assert_ne!(
            judge(&BAG, &failed("42703"), &failed("22012")),
            Verdict::Same
        );
        let refused = judge(&BAG, &rows(25, &["a"]), &failed("0A000"));
        assert!(matches!(refused, Verdict::Refused(_)));
        let expected = rows(25, &["a"]);
        assert_eq!(judge(&LIST, &expected, &failed("22012")), Verdict::Same);
        assert_ne!(judge(&BAG, &expected, &failed("22012")), Verdict::Same);
    }
}
