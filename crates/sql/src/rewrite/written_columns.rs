//! Columns that a statement has without naming them: of `JOIN … USING`, of `NATURAL JOIN`, and of `*`.
//!
//! ```text
//! SELECT *, id FROM a LEFT JOIN b USING (id)      SELECT a.id AS id, a.x, b.y, a.id AS … FROM a LEFT JOIN b ON a.id = b.id
//!                   a RIGHT JOIN b                b.id
//!                   a FULL JOIN b                 coalesce(a.id, b.id)
//! ```
//!
//! DataFusion takes one of the two tables' columns for both, also where an outer join leaves it NULL, and has it anywhere in `*`; and it
//! takes no column that `*` has already. So the columns are written out before it plans:
//!
//! 1. What columns each table of a FROM has is asked of the planner, with the common tables that it may name.
//! 2. The joins are gone through from left to right with the columns so far, in the order of `*`: those that the join is by first,
//!    then what is left of both sides. The join becomes one with ON.
//! 3. `*` becomes the list, and a name of a joined column alone what it means. In ORDER BY a name of the result comes first.
//!
//! A statement that joins by names is always written out; one with `*` beside other columns only where it cannot be planned as it is.
//!
//! Does not: names of joined columns of a query around, which are ambiguous; `*` with EXCEPT and the like.

use std::borrow::Cow;
use std::ops::ControlFlow;

use datafusion::sql::sqlparser::ast::helpers::attached_token::AttachedToken;
use datafusion::sql::sqlparser::ast::{
    BinaryOperator, Cte, Expr, Ident, JoinConstraint, JoinOperator, ObjectName, ObjectNamePart,
    OrderByKind, Query, Select, SelectItem, SelectItemQualifiedWildcardKind, SetExpr,
    Statement as Ast, TableAlias, TableFactor, TableWithJoins, Value, Visitor, VisitorMut,
    WildcardAdditionalOptions, With,
};

use super::column_names::{folded, name_select};
use super::function_call::call;
use super::made_queries::select;
use super::operation::binary;
use super::walk::{walk, walk_mut};
use crate::error::{SqlError, code};

/// What is written out.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum WriteOut {
    /// Where tables are joined by names.
    Joins,
    /// Where there are other columns beside `*`, too.
    Wildcards,
}

impl WriteOut {
    fn concerns(self, select: &Select) -> bool {
        select.from.iter().any(joins_by_name) || self == Self::Wildcards && has_wildcard(select)
    }
}

/// The statement with such columns written out. `columns`: the names of a query's columns.
pub(crate) fn written_out(
    statement: &Ast,
    what: WriteOut,
    columns: impl FnMut(Query) -> Result<Vec<String>, SqlError>,
) -> Result<Cow<'_, Ast>, SqlError> {
    if walk(statement, &mut Search(what)).is_continue() {
        return Ok(Cow::Borrowed(statement));
    }
    let mut statement = statement.clone();
    let mut columns = Columns {
        what,
        columns,
        common: Vec::new(),
        is_recursive: false,
    };
    let mut inner = InnerQueries {
        columns: &mut columns,
        depth: 0,
    };
    match walk_mut(&mut statement, &mut inner) {
        ControlFlow::Break(error) => Err(error),
        ControlFlow::Continue(()) => Ok(Cow::Owned(statement)),
    }
}

/// Finds out whether there is anything to be written out.
struct Search(WriteOut);

impl Visitor for Search {
    type Break = ();

    fn pre_visit_select(&mut self, select: &Select) -> ControlFlow<()> {
        match self.0.concerns(select) {
            true => ControlFlow::Break(()),
            false => ControlFlow::Continue(()),
        }
    }
}

/// Whether a select list has `*` beside other columns.
fn has_wildcard(select: &Select) -> bool {
    let mut items = select.projection.iter();
    select.projection.len() > 1
        && items.any(|item| {
            matches!(
                item,
                SelectItem::Wildcard(_) | SelectItem::QualifiedWildcard(..)
            )
        })
}

fn joins_by_name(from: &TableWithJoins) -> bool {
    let mut operators = from.joins.iter().map(|join| &join.join_operator);
    let nested = |factor: &TableFactor| match factor {
        TableFactor::NestedJoin {
            table_with_joins, ..
        } => joins_by_name(table_with_joins),
        _ => false,
    };
    operators.any(|operator| names_of(operator).is_some())
        || nested(&from.relation)
        || from.joins.iter().any(|join| nested(&join.relation))
}

/// The columns that a join is by; `None` of one by a condition.
fn names_of(operator: &JoinOperator) -> Option<Names<'_>> {
    match constraint(operator)? {
        JoinConstraint::Using(names) => Some(Names::Listed(names)),
        JoinConstraint::Natural => Some(Names::Common),
        _ => None,
    }
}

enum Names<'a> {
    Listed(&'a [ObjectName]),
    Common,
}

fn constraint(operator: &JoinOperator) -> Option<&JoinConstraint> {
    use JoinOperator::{FullOuter, Inner, Join, Left, LeftOuter, Right, RightOuter};
    match operator {
        Join(constraint)
        | Inner(constraint)
        | Left(constraint)
        | LeftOuter(constraint)
        | Right(constraint)
        | RightOuter(constraint)
        | FullOuter(constraint) => Some(constraint),
        _ => None,
    }
}

/// The same join by a condition.
fn with_condition(operator: &JoinOperator, condition: Expr) -> JoinOperator {
    use JoinOperator::{FullOuter, Inner, Left, LeftOuter, Right, RightOuter};
    let on = JoinConstraint::On(condition);
    match operator {
        Left(_) | LeftOuter(_) => Left(on),
        Right(_) | RightOuter(_) => Right(on),
        FullOuter(_) => FullOuter(on),
        _ => Inner(on),
    }
}

/// Writes columns out.
struct Columns<C> {
    what: WriteOut,
    columns: C,
    /// The common tables that a query may name, outermost first.
    common: Vec<Cte>,
    is_recursive: bool,
}

impl<C: FnMut(Query) -> Result<Vec<String>, SqlError>> Columns<C> {
    /// A query and those in it, which are done first.
    fn query(&mut self, query: &mut Query) -> Result<(), SqlError> {
        let (outside, outside_is_recursive) = (self.common.clone(), self.is_recursive);
        if let Some(with) = &mut query.with {
            self.is_recursive |= with.recursive;
            for table in &mut with.cte_tables {
                if with.recursive {
                    // It may name itself.
                    self.add_common(table);
                }
                self.query(&mut table.query)?;
                self.add_common(table);
            }
        }
        let mut inner = InnerQueries {
            columns: self,
            depth: 0,
        };
        if let ControlFlow::Break(error) = walk_mut(&mut query.body, &mut inner) {
            return Err(error);
        }
        let merged = self.body(&mut query.body)?;
        order_by(query, &merged);
        (self.common, self.is_recursive) = (outside, outside_is_recursive);
        Ok(())
    }

    fn add_common(&mut self, table: &Cte) {
        let name = folded(&table.alias.name);
        self.common
            .retain(|other| folded(&other.alias.name) != name);
        self.common.push(table.clone());
    }

    /// The joined columns of the only SELECT.
    fn body(&mut self, body: &mut SetExpr) -> Result<Vec<Column>, SqlError> {
        match body {
            SetExpr::Select(select) => self.select(select),
            SetExpr::SetOperation { left, right, .. } => {
                self.body(left)?;
                self.body(right)?;
                Ok(Vec::new())
            }
            _ => Ok(Vec::new()),
        }
    }

    fn select(&mut self, select: &mut Select) -> Result<Vec<Column>, SqlError> {
        if !self.what.concerns(select) {
            return Ok(Vec::new());
        }
        let (mut columns, mut all) = (Vec::new(), Vec::new());
        for from in &mut select.from {
            columns.extend(self.joined(from, &mut all)?);
        }
        let merged = columns.iter().filter(|column| column.is_merged);
        let is_clear =
            |name: &str| columns.iter().filter(|column| column.name == name).count() == 1;
        let merged = merged.filter(|column| is_clear(&column.name));
        let merged: Vec<Column> = merged.cloned().collect();
        select.projection = std::mem::take(&mut select.projection)
            .into_iter()
            .flat_map(|item| items(item, &columns, &all, &merged))
            .collect();
        // The visitor never breaks off.
        _ = walk_mut(
            select,
            &mut Replace {
                merged: &merged,
                depth: 0,
            },
        );
        name_select(select);
        Ok(merged)
    }

    /// The columns of joined tables, in the order of `*`; those of each table go to `all`.
    fn joined(
        &mut self,
        from: &mut TableWithJoins,
        all: &mut Vec<Column>,
    ) -> Result<Vec<Column>, SqlError> {
        let mut columns = self.factor(&mut from.relation, all)?;
        for join in &mut from.joins {
            let right = self.factor(&mut join.relation, all)?;
            let Some(names) = names_of(&join.join_operator) else {
                columns.extend(right);
                continue;
            };
            let names = match names {
                Names::Listed(names) => names.iter().map(last_name).collect::<Result<_, _>>()?,
                Names::Common => common_names(&columns, &right),
            };
            let pairs = names.into_iter().map(|name| {
                let sides = [(&columns, "left"), (&right, "right")];
                let [left, right] = sides.map(|(columns, side)| only(columns, &name, side));
                Ok((name, left?, right?))
            });
            let pairs = pairs.collect::<Result<Vec<_>, SqlError>>()?;
            let equal = pairs.iter().map(|(_, left, right)| equal(left, right));
            let condition = equal.reduce(|all, next| binary(all, BinaryOperator::And, next));
            let condition = condition.unwrap_or_else(|| Expr::value(Value::Boolean(true)));
            let operator = with_condition(&join.join_operator, condition);
            columns = merged(pairs, columns, right, &operator);
            join.join_operator = operator;
        }
        Ok(columns)
    }

    /// The columns of one table.
    fn factor(
        &mut self,
        factor: &mut TableFactor,
        all: &mut Vec<Column>,
    ) -> Result<Vec<Column>, SqlError> {
        if let TableFactor::NestedJoin {
            table_with_joins,
            alias: None,
        } = factor
        {
            return self.joined(table_with_joins, all);
        }
        let table = name_of(factor).ok_or_else(|| {
            SqlError::not_supported("JOIN with USING of what has no name, or is joined already")
        })?;
        let names = match lateral_columns(factor) {
            Some(names) => names,
            None => {
                let all = self.all_of(factor);
                (self.columns)(all)?
            }
        };
        let column = |name: String| {
            let last = vec![Ident::with_quote('"', &name)];
            Column {
                name,
                table: table.clone(),
                expr: Expr::CompoundIdentifier([table.clone(), last].concat()),
                is_merged: false,
            }
        };
        let columns: Vec<Column> = names.into_iter().map(column).collect();
        all.extend(columns.iter().cloned());
        Ok(columns)
    }

    /// `SELECT * FROM factor`, with the common tables that it may name.
    fn all_of(&self, factor: &TableFactor) -> Query {
        let all = SelectItem::Wildcard(WildcardAdditionalOptions::default());
        let mut query = select(vec![all]);
        if let SetExpr::Select(select) = query.body.as_mut() {
            select.from = vec![TableWithJoins {
                relation: factor.clone(),
                joins: Vec::new(),
            }];
        }
        query.with = (!self.common.is_empty()).then(|| With {
            with_token: AttachedToken::empty(),
            recursive: self.is_recursive,
            cte_tables: self.common.clone(),
        });
        query
    }
}

/// The columns of a subquery that cannot be planned alone, if its select list names them.
fn lateral_columns(factor: &TableFactor) -> Option<Vec<String>> {
    let TableFactor::Derived {
        lateral: true,
        subquery,
        ..
    } = factor
    else {
        return None;
    };
    let SetExpr::Select(select) = subquery.body.as_ref() else {
        return None;
    };
    let names = select.projection.iter().map(|item| match item {
        SelectItem::ExprWithAlias { alias, .. } => Some(folded(alias)),
        SelectItem::UnnamedExpr(Expr::Identifier(name)) => Some(folded(name)),
        SelectItem::UnnamedExpr(Expr::CompoundIdentifier(names)) => names.last().map(folded),
        _ => None,
    });
    names.collect()
}

/// Writes the columns of the outermost queries out that it comes to.
struct InnerQueries<'a, C> {
    columns: &'a mut Columns<C>,
    depth: usize,
}

impl<C: FnMut(Query) -> Result<Vec<String>, SqlError>> VisitorMut for InnerQueries<'_, C> {
    type Break = SqlError;

    fn pre_visit_query(&mut self, query: &mut Query) -> ControlFlow<SqlError> {
        self.depth += 1;
        if self.depth == 1
            && let Err(error) = self.columns.query(query)
        {
            return ControlFlow::Break(error);
        }
        ControlFlow::Continue(())
    }

    fn post_visit_query(&mut self, _: &mut Query) -> ControlFlow<SqlError> {
        self.depth -= 1;
        ControlFlow::Continue(())
    }
}

/// A column of a FROM.
#[derive(Clone, Debug)]
struct Column {
    name: String,
    /// What its table is called, if it is of one.
    table: Vec<Ident>,
    /// What it is called without doubt.
    expr: Expr,
    /// Whether it stands for columns of both sides of a join.
    is_merged: bool,
}

/// The columns of a join: those that it is by, and what is left of both sides.
fn merged(
    pairs: Vec<(String, Expr, Expr)>,
    left: Vec<Column>,
    right: Vec<Column>,
    operator: &JoinOperator,
) -> Vec<Column> {
    let names: Vec<String> = pairs.iter().map(|(name, ..)| name.clone()).collect();
    let merged = pairs.into_iter().map(|(name, left, right)| Column {
        name,
        table: Vec::new(),
        expr: match operator {
            JoinOperator::Right(_) => right,
            JoinOperator::FullOuter(_) => call("coalesce", [left, right], Vec::new()),
            _ => left,
        },
        is_merged: true,
    });
    let rest = left.into_iter().chain(right);
    let rest = rest.filter(|column| !names.contains(&column.name));
    merged.chain(rest).collect()
}

fn common_names(left: &[Column], right: &[Column]) -> Vec<String> {
    let names = left.iter().map(|column| &column.name);
    let common = names.filter(|name| right.iter().any(|column| column.name == **name));
    common.cloned().collect()
}

/// The one column of this name.
fn only(columns: &[Column], name: &str, side: &str) -> Result<Expr, SqlError> {
    let mut same = columns.iter().filter(|column| column.name == name);
    match (same.next(), same.next()) {
        (Some(column), None) => Ok(column.expr.clone()),
        (None, _) => Err(SqlError::new(
            code::UNDEFINED_COLUMN,
            format!("column \"{name}\" specified in USING clause does not exist in {side} table"),
        )),
        _ => Err(SqlError::new(
            code::AMBIGUOUS_COLUMN,
            format!("common column name \"{name}\" appears more than once in {side} table"),
        )),
    }
}

fn equal(left: &Expr, right: &Expr) -> Expr {
    binary(left.clone(), BinaryOperator::Eq, right.clone())
}

fn last_name(name: &ObjectName) -> Result<String, SqlError> {
    let last = name.0.last().and_then(ObjectNamePart::as_ident);
    let last = last.ok_or_else(|| SqlError::new(code::SYNTAX_ERROR, "USING takes names"))?;
    Ok(folded(last))
}

/// What the columns of a table are called by.
fn name_of(factor: &TableFactor) -> Option<Vec<Ident>> {
    let (name, alias): (_, &Option<TableAlias>) = match factor {
        TableFactor::Table { name, alias, .. } | TableFactor::Function { name, alias, .. } => {
            (Some(name), alias)
        }
        TableFactor::Derived { alias, .. } | TableFactor::UNNEST { alias, .. } => (None, alias),
        _ => return None,
    };
    match (alias, name) {
        (Some(alias), _) => Some(vec![alias.name.clone()]),
        (None, Some(name)) => {
            let parts = name.0.iter().map(|part| part.as_ident().cloned());
            parts.collect()
        }
        (None, None) => None,
    }
}

/// An item of the select list: `*` as its columns, a joined column as what it means. `all`: the columns of each table.
fn items(
    item: SelectItem,
    columns: &[Column],
    all: &[Column],
    merged: &[Column],
) -> Vec<SelectItem> {
    let named = |column: &Column| SelectItem::ExprWithAlias {
        expr: column.expr.clone(),
        alias: Ident::with_quote('"', &column.name),
    };
    match &item {
        SelectItem::Wildcard(options) if *options == WildcardAdditionalOptions::default() => {
            let columns = columns.iter().map(|column| match column.is_merged {
                true => named(column),
                false => SelectItem::UnnamedExpr(column.expr.clone()),
            });
            columns.collect()
        }
        SelectItem::QualifiedWildcard(
            SelectItemQualifiedWildcardKind::ObjectName(name),
            options,
        ) if *options == WildcardAdditionalOptions::default() => {
            let columns = all.iter().filter(|column| is_of(column, name));
            let columns = columns.map(|column| SelectItem::UnnamedExpr(column.expr.clone()));
            let columns: Vec<_> = columns.collect();
            match columns.is_empty() {
                true => vec![item],
                false => columns,
            }
        }
        SelectItem::UnnamedExpr(Expr::Identifier(name)) => {
            let mut merged = merged.iter();
            let column = merged.find(|column| column.name == folded(name));
            vec![column.map_or(item, named)]
        }
        _ => vec![item],
    }
}

/// Whether a column is of the table of this name.
fn is_of(column: &Column, table: &ObjectName) -> bool {
    let name = table.0.iter().rev().map(ObjectNamePart::as_ident);
    let mut parts = name.zip(column.table.iter().rev());
    table.0.len() <= column.table.len()
        && parts.all(|(name, part)| name.is_some_and(|name| folded(name) == folded(part)))
}

/// Puts what a joined column means in the place of its name, but not in inner queries, which may have one of their own.
struct Replace<'a> {
    merged: &'a [Column],
    depth: usize,
}

impl VisitorMut for Replace<'_> {
    type Break = ();

    fn pre_visit_query(&mut self, _: &mut Query) -> ControlFlow<()> {
        self.depth += 1;
        ControlFlow::Continue(())
    }

    fn post_visit_query(&mut self, _: &mut Query) -> ControlFlow<()> {
        self.depth -= 1;
        ControlFlow::Continue(())
    }

    fn post_visit_expr(&mut self, expr: &mut Expr) -> ControlFlow<()> {
        if let Expr::Identifier(name) = expr
            && self.depth == 0
        {
            let mut merged = self.merged.iter();
            if let Some(column) = merged.find(|column| column.name == folded(name)) {
                *expr = column.expr.clone();
            }
        }
        ControlFlow::Continue(())
    }
}

/// The same in ORDER BY, where a name alone is that of a column of the result, if there is one.
fn order_by(query: &mut Query, merged: &[Column]) {
    let SetExpr::Select(select) = query.body.as_ref() else {
        return;
    };
    let has_result = |name: &Ident| {
        select.projection.iter().any(|item| match item {
            SelectItem::ExprWithAlias { alias, .. } => folded(alias) == folded(name),
            _ => false,
        })
    };
    let Some(order) = &mut query.order_by else {
        return;
    };
    let OrderByKind::Expressions(order) = &mut order.kind else {
        return;
    };
    for by in order {
        if matches!(&by.expr, Expr::Identifier(name) if has_result(name)) {
            continue;
        }
        // The visitor never breaks off.
        _ = walk_mut(by, &mut Replace { merged, depth: 0 });
    }
}

#[cfg(test)]
mod tests {
    use datafusion::sql::sqlparser::dialect::PostgreSqlDialect;
    use datafusion::sql::sqlparser::parser::Parser;

    use super::*;

    /// `a (id, x)`, `b (id, y)`, `c (id, y, z)`; any other table has the columns `k` and `id`.
    fn columns(query: Query) -> Result<Vec<String>, SqlError> {
        let text = query.to_string();
        let table = text.rsplit("FROM ").next().unwrap_or_default();
        let columns: &[&str] = match table {
            "a" => &["id", "x"],
            "b" => &["id", "y"],
            "c" => &["id", "y", "z"],
            _ => &["k", "id"],
        };
        Ok(columns.iter().map(|column| (*column).to_owned()).collect())
    }

    fn shown(text: &str) -> Result<String, SqlError> {
        let parsed = Parser::parse_sql(&PostgreSqlDialect {}, text);
        let statement = parsed.expect("parses").remove(0);
        let statement = written_out(&statement, WriteOut::Joins, columns)?;
        Ok(statement.to_string().replace('"', ""))
    }

    #[test]
    fn a_column_that_is_there_already_gets_another_name() {
        let text = "SELECT *, id, x AS id, u.* FROM a AS u ORDER BY 1";
        let parsed = Parser::parse_sql(&PostgreSqlDialect {}, text);
        let statement = parsed.expect("parses").remove(0);
        let as_it_is = written_out(&statement, WriteOut::Joins, columns).expect("none is joined");
        assert_eq!(as_it_is.to_string(), text);
        let columns = |query: Query| {
            assert_eq!(query.to_string(), "SELECT * FROM a AS u");
            Ok(vec!["id".to_owned(), "x".to_owned()])
        };
        let written = written_out(&statement, WriteOut::Wildcards, columns).expect("a has columns");
        assert_eq!(
            written.to_string().replace('"', "").replace('\u{1}', "/"),
            "SELECT u.id, u.x, id AS id/1, x AS id/2, u.id AS id/3, u.x AS x/1 FROM a AS u ORDER BY 1"
        );
    }

    #[test]
    fn joined_columns_are_those_of_the_side_that_has_them() {
        for (text, expected) in [
            (
                "SELECT id, x FROM a LEFT JOIN b USING (id) WHERE id > 1",
                "SELECT a.id AS id, x FROM a LEFT JOIN b ON a.id = b.id WHERE a.id > 1",
            ),
            (
                "SELECT * FROM a RIGHT JOIN b USING (id) ORDER BY id",
                "SELECT b.id AS id, a.x, b.y FROM a RIGHT JOIN b ON a.id = b.id ORDER BY id",
            ),
            (
                "SELECT max(id) FROM a FULL JOIN b USING (id) GROUP BY id ORDER BY id",
                "SELECT max(coalesce(a.id, b.id)) AS max FROM a FULL JOIN b ON a.id = b.id \
                 GROUP BY coalesce(a.id, b.id) ORDER BY coalesce(a.id, b.id)",
            ),
            (
                "SELECT * FROM b NATURAL JOIN c",
                "SELECT b.id AS id, b.y AS y, c.z FROM b INNER JOIN c ON b.id = c.id AND b.y = c.y",
            ),
            (
                "SELECT * FROM a JOIN b USING (id) LEFT JOIN d USING (id)",
                "SELECT a.id AS id, a.x, b.y, d.k FROM a INNER JOIN b ON a.id = b.id LEFT JOIN d ON a.id = d.id",
            ),
            (
                "SELECT a.*, id FROM a JOIN b USING (id), c",
                "SELECT a.id, a.x, id AS id\u{1}1 FROM a INNER JOIN b ON a.id = b.id, c",
            ),
            (
                "SELECT 1 FROM c WHERE EXISTS (SELECT id FROM a JOIN b USING (id))",
                "SELECT 1 FROM c WHERE EXISTS (SELECT a.id AS id FROM a INNER JOIN b ON a.id = b.id)",
            ),
            (
                "SELECT * FROM a JOIN b USING (id), LATERAL (SELECT a.x AS z) l",
                "SELECT a.id AS id, a.x, b.y, l.z FROM a INNER JOIN b ON a.id = b.id, LATERAL (SELECT a.x AS z) l",
            ),
            (
                "SELECT * FROM a JOIN b ON true",
                "SELECT * FROM a JOIN b ON true",
            ),
        ] {
            assert_eq!(shown(text).expect(text), expected);
        }
    }

    #[test]
    fn columns_that_are_not_there_or_twice_are_errors() {
        let missing = shown("SELECT 1 FROM a JOIN b USING (x)").expect_err("b has no x");
        assert_eq!(missing.code, code::UNDEFINED_COLUMN);
        let twice = "SELECT 1 FROM b JOIN c ON true JOIN d USING (id)";
        let twice = shown(twice).expect_err("two tables have one");
        assert_eq!(twice.code, code::AMBIGUOUS_COLUMN);
    }
}
