//! Queries that people write: what random ones do not come upon.

use super::grammar::Query;

/// All of them, in the order of the file.
pub fn queries() -> Vec<Query> {
    let lines = include_str!("written.sql").lines();
    let text: String = lines
        .filter(|line| !line.starts_with("--"))
        .flat_map(|line| [line, "\n"])
        .collect();
    let queries = text.split(";\n").map(str::trim);
    let queries = queries.filter(|query| !query.is_empty());
    queries.map(query).collect()
}

fn query(text: &str) -> Query {
    Query {
        lazy: false,
        ..Query::new(text.to_owned())
    }
}
