//! Queries that nobody has written, as the parser would give them.

use datafusion::sql::sqlparser::ast::{Query, Select, SelectItem, SetExpr};
use datafusion::sql::sqlparser::dialect::PostgreSqlDialect;
use datafusion::sql::sqlparser::parser::Parser;

/// `SELECT items`.
pub(super) fn select(items: Vec<SelectItem>) -> Query {
    let mut query = read("SELECT 1");
    if let SetExpr::Select(select) = query.body.as_mut() {
        let select: &mut Select = select;
        select.projection = items;
    }
    query
}

/// A query read from text: by hand it would be a page of parts that are not there.
pub(super) fn read(text: &str) -> Query {
    let mut parser = Parser::new(&PostgreSqlDialect {})
        .try_with_sql(text)
        .expect("a text of ours has tokens");
    *parser.parse_query().expect("a text of ours is a query")
}
