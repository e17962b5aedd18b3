//! The statements that look rows up: recognised by their syntax.
//!
//! `SELECT … FROM t WHERE a = x AND b IN (x, y) AND c = ANY($1) [LIMIT x]` with plain columns in
//! the select list and parameters or integers for values. The parts are taken from the syntax
//! tree and printed together again; a statement that prints as anything more than them has
//! something else in it.

use datafusion::sql::sqlparser::ast::{
    BinaryOperator, Expr, Ident, LimitClause, ObjectName, Query, SelectItem,
    SelectItemQualifiedWildcardKind, SetExpr, Statement as Ast, TableFactor, Value,
};

/// What a look-up asks for.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Shape {
    /// The schema, if it is named.
    pub(crate) schema: Option<String>,
    pub(crate) table: String,
    pub(crate) columns: Columns,
    /// Columns and what they are to be equal to.
    pub(crate) conditions: Vec<(String, Wanted)>,
    pub(crate) limit: Option<Operand>,
}

/// The columns of the result.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum Columns {
    All,
    /// Columns of the table with the names they are to have.
    Named(Vec<(String, String)>),
}

/// The values that a column may have.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum Wanted {
    /// One of these.
    Of(Vec<Operand>),
    /// An element of the array that this parameter is (its number less one).
    ElementOf(usize),
}

/// A value.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Operand {
    /// A parameter: its number less one.
    Parameter(usize),
    Integer(i64),
}

impl Shape {
    /// What a statement looks up, if it is one that does.
    pub(crate) fn of(statement: &Ast) -> Option<Self> {
        let Ast::Query(query) = statement else {
            return None;
        };
        let SetExpr::Select(select) = query.body.as_ref() else {
            return None;
        };
        let [from] = select.from.as_slice() else {
            return None;
        };
        let TableFactor::Table { name, alias, .. } = &from.relation else {
            return None;
        };
        let selection = select.selection.as_ref()?;
        let limit = limit(query)?;
        if printed(&select.projection, from, selection, query) != statement.to_string() {
            return None;
        }
        let (schema, table) = table_name(name)?;
        let known = match alias {
            Some(alias) => folded(&alias.name),
            None => table.clone(),
        };
        let plain_relation = match alias {
            Some(alias) => format!("{name} {alias}"),
            None => name.to_string(),
        };
        let mut conditions = Vec::new();
        let names = Names { table: &known };
        names.conditions(selection, &mut conditions)?;
        let columns = names.columns(&select.projection)?;
        let plain = from.to_string() == plain_relation
            && alias.as_ref().is_none_or(|alias| alias.columns.is_empty());
        plain.then_some(Self {
            schema,
            table,
            columns,
            conditions,
            limit,
        })
    }
}

/// A statement of these parts and nothing else.
fn printed(
    projection: &[SelectItem],
    from: &impl ToString,
    selection: &Expr,
    query: &Query,
) -> String {
    let items: Vec<String> = projection.iter().map(ToString::to_string).collect();
    let (items, from) = (items.join(", "), from.to_string());
    let limit = query.limit_clause.as_ref();
    let limit = limit.map_or_else(String::new, ToString::to_string);
    format!("SELECT {items} FROM {from} WHERE {selection}{limit}")
}

/// LIMIT, if there is one; `None` for OFFSET and anything that is not a value.
#[expect(clippy::option_option, reason = "no limit and an unusual one differ")]
fn limit(query: &Query) -> Option<Option<Operand>> {
    match &query.limit_clause {
        None => Some(None),
        Some(LimitClause::LimitOffset {
            limit: Some(limit),
            offset: None,
            limit_by,
        }) if limit_by.is_empty() => operand(limit).map(Some),
        Some(_) => None,
    }
}

fn table_name(name: &ObjectName) -> Option<(Option<String>, String)> {
    let parts: Option<Vec<&Ident>> = name.0.iter().map(|part| part.as_ident()).collect();
    match parts?.as_slice() {
        [table] => Some((None, folded(table))),
        [schema, table] => Some((Some(folded(schema)), folded(table))),
        _ => None,
    }
}

/// An identifier as the catalog has it.
fn folded(name: &Ident) -> String {
    match name.quote_style {
        Some(_) => name.value.clone(),
        None => name.value.to_lowercase(),
    }
}

fn operand(expr: &Expr) -> Option<Operand> {
    let Expr::Value(value) = expr else {
        return None;
    };
    match &value.value {
        Value::Placeholder(text) => {
            let number: usize = text.strip_prefix('$')?.parse().ok()?;
            number.checked_sub(1).map(Operand::Parameter)
        }
        Value::Number(digits, _) => digits.parse().ok().map(Operand::Integer),
        _ => None,
    }
}

/// Names in a statement about one table.
struct Names<'a> {
    /// What the statement calls the table.
    table: &'a str,
}

impl Names<'_> {
    fn column(&self, expr: &Expr) -> Option<String> {
        match expr {
            Expr::Identifier(name) => Some(folded(name)),
            Expr::CompoundIdentifier(parts) => match parts.as_slice() {
                [table, name] if folded(table) == self.table => Some(folded(name)),
                _ => None,
            },
            _ => None,
        }
    }

    fn columns(&self, projection: &[SelectItem]) -> Option<Columns> {
        if let [only] = projection {
            match only {
                SelectItem::Wildcard(_) => return Some(Columns::All),
                SelectItem::QualifiedWildcard(
                    SelectItemQualifiedWildcardKind::ObjectName(name),
                    _,
                ) => {
                    let (schema, table) = table_name(name)?;
                    let own = schema.is_none() && table == self.table;
                    return own.then_some(Columns::All);
                }
                _ => {}
            }
        }
        let named = projection.iter().map(|item| match item {
            SelectItem::UnnamedExpr(expr) => {
                let name = self.column(expr)?;
                Some((name.clone(), name))
            }
            SelectItem::ExprWithAlias { expr, alias } => Some((self.column(expr)?, folded(alias))),
            _ => None,
        });
        named.collect::<Option<_>>().map(Columns::Named)
    }

    fn conditions(&self, expr: &Expr, found: &mut Vec<(String, Wanted)>) -> Option<()> {
        let condition = match expr {
            Expr::Nested(inner) => return self.conditions(inner, found),
            Expr::BinaryOp { left, op, right } => match op {
                BinaryOperator::And => {
                    self.conditions(left, found)?;
                    return self.conditions(right, found);
                }
                BinaryOperator::Eq => match (self.column(left), self.column(right)) {
                    (Some(column), None) => (column, Wanted::Of(vec![operand(right)?])),
                    (None, Some(column)) => (column, Wanted::Of(vec![operand(left)?])),
                    _ => return None,
                },
                _ => return None,
            },
            Expr::InList {
                expr,
                list,
                negated: false,
            } => {
                let values: Option<Vec<Operand>> = list.iter().map(operand).collect();
                (self.column(expr)?, Wanted::Of(values?))
            }
            Expr::AnyOp {
                left,
                compare_op: BinaryOperator::Eq,
                right,
                ..
            } => match operand(right)? {
                Operand::Parameter(number) => (self.column(left)?, Wanted::ElementOf(number)),
                Operand::Integer(_) => return None,
            },
            _ => return None,
        };
        found.push(condition);
        Some(())
    }
}

#[cfg(test)]
mod tests {
    use datafusion::sql::sqlparser::dialect::PostgreSqlDialect;
    use datafusion::sql::sqlparser::parser::Parser;

    use super::*;

    fn shape(text: &str) -> Option<Shape> {
        let statement = Parser::parse_sql(&PostgreSqlDialect {}, text).expect("parses");
        Shape::of(&statement[0])
    }

    #[test]
    fn look_ups_are_told_by_their_words() {
        let parameter = |number| Wanted::Of(vec![Operand::Parameter(number)]);
        let found = shape("SELECT x.A, \"B\" as c FROM s.T x WHERE (x.id = $2) and $1 = k LIMIT 1");
        assert_eq!(
            found,
            Some(Shape {
                schema: Some("s".to_owned()),
                table: "t".to_owned(),
                columns: Columns::Named(vec![
                    ("a".to_owned(), "a".to_owned()),
                    ("B".to_owned(), "c".to_owned())
                ]),
                conditions: vec![
                    ("id".to_owned(), parameter(1)),
                    ("k".to_owned(), parameter(0))
                ],
                limit: Some(Operand::Integer(1)),
            })
        );
        for text in [
            "select * from t where id = 7",
            "select t.* from t where t.id in ($1, 2, $3)",
            "select * from t as u where id = any($1)",
        ] {
            let shape = shape(text).unwrap_or_else(|| panic!("{text}"));
            assert_eq!(shape.columns, Columns::All, "{text}");
        }
    }

    #[test]
    fn all_other_statements_are_planned() {
        for text in [
            "select * from t",
            "select distinct a from t where id = $1",
            "select count(*) from t where id = $1",
            "select * from t, u where id = $1",
            "select * from t join u on true where id = $1",
            "select * from t where id = $1 or id = $2",
            "select * from t where id > $1",
            "select * from t where not id = $1",
            "select * from t where id not in ($1)",
            "select * from t where id <> all($1)",
            "select * from t where id = $1 group by a",
            "select * from t where id = $1 order by a",
            "select * from t where id = $1 limit 1 offset 1",
            "select * from t where id = $1 fetch first 1 row only",
            "select * from t where id = $1 for update",
            "select * from only_t(1) where id = $1",
            "select * from t x(b) where id = $1",
            "select * from t tablesample system (10) where id = $1",
            "select u.* from t where id = $1",
            "select u.a from t where id = $1",
            "select * from t where id = $1 union select * from t where id = $1",
            "with t as (select 1) select * from t where id = $1",
            "select * from d.s.t where id = $1",
            "select *, a from t where id = $1",
            "explain select * from t where id = $1",
        ] {
            assert_eq!(shape(text), None, "{text}");
        }
    }
}
