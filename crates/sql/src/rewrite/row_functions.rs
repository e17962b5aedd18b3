//! Functions that give rows, and by which functions their rows are made here.
//!
//! DataFusion's functions give values. One that gives rows is a function that gives a list, whose rows `unnest` makes; a
//! function with two columns is two of them.

use crate::pg_catalog::expanded;

/// In a select list DataFusion has it as a function that gives a list.
pub(super) const GENERATE_SERIES: &str = "generate_series";

/// Gives a row for each element of a list.
pub(super) const UNNEST: &str = "unnest";

/// How a function's rows are made.
#[derive(Clone, Copy, Debug)]
pub(super) struct Rows {
    /// The function that gives the list.
    pub(super) list: &'static str,
    /// Tells the type of an element again, which is lost where rows are made.
    pub(super) element: Option<&'static str>,
}

const fn rows(list: &'static str) -> Rows {
    Rows {
        list,
        element: None,
    }
}

const fn documents(list: &'static str, element: &'static str) -> Rows {
    Rows {
        list,
        element: Some(element),
    }
}

/// Functions by the names that they are called by.
const LISTS: [(&str, Rows); 16] = [
    (GENERATE_SERIES, rows(GENERATE_SERIES)),
    (expanded::NAME, rows(expanded::NAME)),
    ("string_to_table", rows("string_to_array")),
    ("regexp_matches", rows("regexp_matches")),
    ("regexp_split_to_table", rows("regexp_split_to_array")),
    (
        "json_array_elements",
        documents("json_array_elements", "json_as_is"),
    ),
    (
        "jsonb_array_elements",
        documents("jsonb_array_elements", "jsonb_as_is"),
    ),
    ("json_array_elements_text", rows("json_array_elements_text")),
    (
        "jsonb_array_elements_text",
        rows("jsonb_array_elements_text"),
    ),
    (
        "jsonb_path_query",
        documents("jsonb_path_query", "jsonb_as_is"),
    ),
    ("json_object_keys", rows("json_object_keys")),
    ("jsonb_object_keys", rows("jsonb_object_keys")),
    (
        "json_each_values",
        documents("json_each_values", "json_as_is"),
    ),
    (
        "jsonb_each_values",
        documents("jsonb_each_values", "jsonb_as_is"),
    ),
    ("json_each_text_values", rows("json_each_text_values")),
    ("jsonb_each_text_values", rows("jsonb_each_text_values")),
];

/// Functions whose rows have two columns, and those that give each.
const MEMBERS: [(&str, [&str; 2]); 4] = [
    ("json_each", ["json_object_keys", "json_each_values"]),
    ("jsonb_each", ["jsonb_object_keys", "jsonb_each_values"]),
    (
        "json_each_text",
        ["json_object_keys", "json_each_text_values"],
    ),
    (
        "jsonb_each_text",
        ["jsonb_object_keys", "jsonb_each_text_values"],
    ),
];

/// How the rows of a function in an expression are made, if it gives rows.
pub(super) fn list(name: &str) -> Option<Rows> {
    let found = LISTS.iter().find(|(known, _)| *known == name);
    found.map(|(_, rows)| *rows)
}

/// The functions that give the columns of a function in the place of a table; `None` of one that DataFusion has as a table, and of one
/// that gives a value.
pub(super) fn lists(name: &str) -> Option<Vec<&'static str>> {
    if let Some((_, columns)) = MEMBERS.iter().find(|(known, _)| *known == name) {
        return Some(columns.to_vec());
    }
    let mut found = LISTS.iter();
    let (known, _) = found.find(|(known, _)| *known == name)?;
    let is_value = [GENERATE_SERIES, expanded::NAME].contains(known);
    (!is_value).then(|| vec![*known])
}

/// What PostgreSQL calls the columns of such a table; empty where the only one is called like the table.
pub(super) fn columns(name: &str) -> &'static [&'static str] {
    match name {
        "json_array_elements"
        | "jsonb_array_elements"
        | "json_array_elements_text"
        | "jsonb_array_elements_text" => &["value"],
        "json_each" | "jsonb_each" | "json_each_text" | "jsonb_each_text" => &["key", "value"],
        _ => &[],
    }
}

/// The document whose elements, or which itself, is a row of a function that is told its columns; as SQL.
pub(super) fn record(name: &str, document: &str) -> Option<String> {
    Some(match name {
        "json_to_recordset" => format!("json_array_elements({document})"),
        "jsonb_to_recordset" => format!("jsonb_array_elements({document})"),
        "json_to_record" => format!("CAST({document} AS JSON)"),
        "jsonb_to_record" => format!("CAST({document} AS JSONB)"),
        _ => return None,
    })
}
