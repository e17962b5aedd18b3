//! `FETCH FIRST n ROWS`: the standard's LIMIT, which DataFusion knows by the other name only.
//!
//! ```text
//! FETCH FIRST n ROWS ONLY         LIMIT n
//! FETCH FIRST n ROWS WITH TIES    LIMIT with_ties(n)      [`super::ties`]
//! ```

use std::ops::ControlFlow;

use datafusion::sql::sqlparser::ast::{
    DataType, Expr, Fetch, LimitClause, Query, Statement as Ast, Value, VisitorMut,
};

use super::casts::cast;
use super::function_call::call;
use super::walk::walk_mut;
use crate::functions::with_ties::WITH_TIES;

const BIGINT: DataType = DataType::BigInt(None);

/// Puts LIMIT in the place of FETCH.
pub(crate) fn rewrite(statement: &mut Ast) {
    // The visitor never breaks off.
    _ = walk_mut(statement, &mut Limits);
}

struct Limits;

impl VisitorMut for Limits {
    type Break = ();

    fn pre_visit_query(&mut self, query: &mut Query) -> ControlFlow<()> {
        if let Some(Fetch {
            with_ties,
            percent: false,
            quantity,
        }) = &query.fetch
        {
            let one = || Expr::value(Value::Number("1".to_owned(), false));
            let rows = quantity.clone().unwrap_or_else(one);
            let rows = match with_ties {
                // A parameter gets its type by that.
                true => call(WITH_TIES, [cast(rows, BIGINT)], Vec::new()),
                false => rows,
            };
            limit(query, rows);
        }
        ControlFlow::Continue(())
    }
}

fn limit(query: &mut Query, rows: Expr) {
    let clause = query.limit_clause.take();
    let (offset, limit_by) = match clause {
        None => (None, Vec::new()),
        Some(LimitClause::LimitOffset {
            limit: None,
            offset,
            limit_by,
        }) => (offset, limit_by),
        // Two limits: left to be refused.
        both => {
            query.limit_clause = both;
            return;
        }
    };
    query.fetch = None;
    query.limit_clause = Some(LimitClause::LimitOffset {
        limit: Some(rows),
        offset,
        limit_by,
    });
}

#[cfg(test)]
mod tests {
    use datafusion::sql::sqlparser::dialect::PostgreSqlDialect;
    use datafusion::sql::sqlparser::parser::Parser;

    use super::*;

    #[test]
    fn fetch_becomes_limit() {
        for (rest, expected) in [
            ("FETCH FIRST 2 ROWS ONLY", "LIMIT 2"),
            ("OFFSET 3 ROWS FETCH NEXT ROW ONLY", "LIMIT 1 OFFSET 3 ROWS"),
            (
                "FETCH FIRST 2 ROWS WITH TIES",
                "LIMIT with_ties((2)::BIGINT)",
            ),
        ] {
            let text = format!("SELECT a FROM t ORDER BY a {rest}");
            let mut statement = Parser::parse_sql(&PostgreSqlDialect {}, &text)
                .expect("parses")
                .remove(0);
            rewrite(&mut statement);
            assert_eq!(
                statement.to_string(),
                format!("SELECT a FROM t ORDER BY a {expected}")
            );
        }
    }
}
