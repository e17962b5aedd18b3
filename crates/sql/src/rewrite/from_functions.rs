//! Functions in FROM, and functions that give rows in a select list.
//!
//! PostgreSQL takes any function for a table: one that gives a value has one row and one column,
//! which has the table's name where the list has no other. DataFusion knows tables that are
//! functions, and no others; a value's function becomes a subquery, and a series' only column
//! gets its name. A function that names columns of what stands before it, or whose rows are to be numbered, becomes a
//! lateral subquery that calls it in its select list, where `unnest` gives rows. So do functions that give their rows as a list here
//! ([`row_functions`]); where one's only column has another name than the table, the table's name stands for it. The field of a row
//! is a call. A name made up as the query runs is looked up by a call, too.

use std::ops::ControlFlow;

use datafusion::sql::sqlparser::ast::{
    AccessExpr, BinaryOperator, DataType, Expr, FunctionArg, FunctionArguments, Ident, ObjectName,
    ObjectNamePart, Query, SelectItem, SetExpr, Statement as Ast, TableAlias, TableAliasColumnDef,
    TableFactor, TableWithJoins, UnaryOperator, Value, VisitorMut,
};
use datafusion::sql::sqlparser::dialect::PostgreSqlDialect;
use datafusion::sql::sqlparser::parser::Parser;

use super::column_names::folded;
use super::function_call::{arguments, call, call_with};
use super::made_queries::{read, select};
use super::moments;
use super::names_columns::names_columns;
use super::row_functions::{self, GENERATE_SERIES, UNNEST};
use super::walk::walk_mut;

/// Functions that give rows.
const SERIES: [&str; 3] = [GENERATE_SERIES, "range", UNNEST];

/// What PostgreSQL calls the numbers of rows, if nobody else does.
const ORDINALITY: &str = "ordinality";

/// DataFusion's function that gives a field of a row by its name; `a.b` is one if `a` is a column.
pub(super) const GET_FIELD: &str = "get_field";

/// Functions that give a value, and that clients ask as tables.
const VALUES: [&str; 3] = ["string_to_array", "current_schemas", "current_setting"];

/// Puts what DataFusion knows in the place of functions that are used as tables.
pub(crate) fn rewrite(statement: &mut Ast) {
    // The visitor never breaks off.
    _ = walk_mut(statement, &mut Tables);
}

struct Tables;

impl VisitorMut for Tables {
    type Break = ();

    fn pre_visit_query(&mut self, query: &mut Query) -> ControlFlow<()> {
        let mut values = Values(Vec::new());
        values.add(&query.body);
        match values.0.is_empty() {
            true => ControlFlow::Continue(()),
            false => walk_mut(query, &mut values),
        }
    }

    fn pre_visit_table_factor(&mut self, factor: &mut TableFactor) -> ControlFlow<()> {
        if let Some(records) = records(factor) {
            *factor = records;
            return ControlFlow::Continue(());
        }
        let Some(called) = Called::of(factor) else {
            return ControlFlow::Continue(());
        };
        let is_lateral = called.calls.iter().any(names_columns);
        if called.with_ordinality || called.gives_lists || is_lateral || called.is_of_moments() {
            *factor = called.subquery();
        } else if let Some(alias) = &called.alias
            && let [call] = called.calls.as_slice()
            && called
                .names
                .iter()
                .any(|name| VALUES.contains(&name.as_str()))
        {
            *factor = one_row(call.clone(), alias.clone());
        } else if let TableFactor::Table {
            alias: Some(alias), ..
        }
        | TableFactor::UNNEST {
            alias: Some(alias), ..
        } = factor
            && alias.columns.is_empty()
            && let [name] = called.names.as_slice()
            && SERIES.contains(&name.as_str())
        {
            alias.columns = vec![column(alias.name.clone())];
        }
        ControlFlow::Continue(())
    }

    /// Afterwards, so that nobody visits the series in the subquery.
    fn post_visit_table_factor(&mut self, factor: &mut TableFactor) -> ControlFlow<()> {
        if let Some(integers) = integers(factor) {
            *factor = integers;
        }
        ControlFlow::Continue(())
    }

    fn post_visit_expr(&mut self, expr: &mut Expr) -> ControlFlow<()> {
        if let Some(field) = field_of_row(expr) {
            *expr = field;
        }
        if let Expr::Cast {
            expr: name,
            data_type,
            ..
        } = expr
            && data_type
                .to_string()
                .to_ascii_lowercase()
                .ends_with("regclass")
            && is_made_up(name)
        {
            *expr = call("to_regclass", [name.as_ref().clone()], Vec::new());
        }
        if let Some(numbers) = subscripts(expr) {
            *expr = numbers;
        }
        if let Expr::Function(function) = expr
            && let Some(rows) =
                last_word(&function.name).and_then(|word| row_functions::list(&word))
        {
            function.name = ObjectName::from(vec![Ident::new(rows.list)]);
            if rows.list == GENERATE_SERIES {
                moments::typed(function);
            }
            let unnested = call(UNNEST, [expr.clone()], Vec::new());
            *expr = match rows.element {
                Some(element) => call(element, [unnested], Vec::new()),
                None => unnested,
            };
        }
        ControlFlow::Continue(())
    }
}

/// Names the column where a function's alias stands for its only one, in a query: the aliases, and what their columns are called.
struct Values(Vec<(Ident, Ident)>);

impl Values {
    fn add(&mut self, body: &SetExpr) {
        match body {
            SetExpr::Select(select) => {
                let joined = |from: &'_ TableWithJoins| {
                    let joins = from.joins.iter().map(|join| &join.relation);
                    let factors = std::iter::once(&from.relation).chain(joins);
                    let called = factors.filter_map(Called::of);
                    called
                        .filter_map(|called| called.value())
                        .collect::<Vec<_>>()
                };
                self.0.extend(select.from.iter().flat_map(joined));
            }
            SetExpr::SetOperation { left, right, .. } => {
                self.add(left);
                self.add(right);
            }
            _ => {}
        }
    }

    /// The column that an expression stands for.
    fn column(&self, expr: &Expr) -> Option<Expr> {
        let Expr::Identifier(name) = expr else {
            return None;
        };
        let (alias, column) = self.0.iter().find(|(alias, _)| alias == name)?;
        let column = vec![alias.clone(), column.clone()];
        Some(Expr::CompoundIdentifier(column))
    }
}

impl VisitorMut for Values {
    type Break = ();

    /// A result column is called like the alias, not like the column.
    fn pre_visit_query(&mut self, query: &mut Query) -> ControlFlow<()> {
        if let SetExpr::Select(select) = query.body.as_mut() {
            for item in &mut select.projection {
                if let SelectItem::UnnamedExpr(expr) = item
                    && let Some(column) = self.column(expr)
                    && let Expr::Identifier(alias) = expr.clone()
                {
                    *item = SelectItem::ExprWithAlias {
                        expr: column,
                        alias,
                    };
                }
            }
        }
        ControlFlow::Continue(())
    }

    fn post_visit_expr(&mut self, expr: &mut Expr) -> ControlFlow<()> {
        if let Some(column) = self.column(expr) {
            *expr = column;
        }
        ControlFlow::Continue(())
    }
}

/// What a place in FROM calls.
struct Called {
    /// In lower case, without schema.
    names: Vec<String>,
    calls: Vec<Expr>,
    /// What PostgreSQL calls the columns, where it does not call the only one like the table.
    columns: &'static [&'static str],
    /// Whether they are functions that give rows as lists here, other than series.
    gives_lists: bool,
    alias: Option<TableAlias>,
    with_ordinality: bool,
}

impl Called {
    /// `None` for a place that calls nothing.
    fn of(factor: &TableFactor) -> Option<Self> {
        match factor {
            TableFactor::Table {
                name,
                alias,
                args: Some(args),
                with_ordinality,
                ..
            } => Self::function(name, &args.args, alias, *with_ordinality),
            TableFactor::Function {
                name,
                args,
                with_ordinality,
                alias,
                ..
            } => Self::function(name, args, alias, *with_ordinality),
            TableFactor::UNNEST {
                alias,
                array_exprs,
                with_ordinality,
                ..
            } => {
                let calls = array_exprs.iter();
                let calls = calls.map(|array| call(UNNEST, [array.clone()], Vec::new()));
                Some(Self {
                    names: vec![UNNEST.to_owned(); array_exprs.len()],
                    calls: calls.collect(),
                    columns: &[],
                    gives_lists: false,
                    alias: alias.clone(),
                    with_ordinality: *with_ordinality,
                })
            }
            _ => None,
        }
    }

    fn function(
        name: &ObjectName,
        args: &[FunctionArg],
        alias: &Option<TableAlias>,
        with_ordinality: bool,
    ) -> Option<Self> {
        let word = last_word(name)?;
        let lists = row_functions::lists(&word);
        let calls = match &lists {
            Some(lists) => {
                let calls = lists.iter();
                let calls = calls.map(|list| ObjectName::from(vec![Ident::new(*list)]));
                calls
                    .map(|name| call_with(name, args.to_vec(), Vec::new()))
                    .collect()
            }
            None => vec![call_with(name.clone(), args.to_vec(), Vec::new())],
        };
        Some(Self {
            calls,
            columns: row_functions::columns(&word),
            gives_lists: lists.is_some(),
            names: vec![word],
            alias: alias.clone(),
            with_ordinality,
        })
    }

    /// Whether it is a series of moments, which DataFusion knows with other types as a table.
    fn is_of_moments(&self) -> bool {
        let mut calls = self.calls.iter();
        calls.any(|call| matches!(call, Expr::Function(function) if moments::is_series(function)))
    }

    /// The alias and the only column, if they have different names.
    fn value(&self) -> Option<(Ident, Ident)> {
        let alias = self.alias.as_ref()?;
        match (alias.columns.as_slice(), self.columns) {
            ([], [column]) => Some((alias.name.clone(), Ident::new(*column))),
            ([column], [_]) => Some((alias.name.clone(), column.name.clone())),
            _ => None,
        }
        .filter(|(alias, column)| alias != column)
    }

    /// A subquery that calls the same in its select list, where columns of what stands before it may be named.
    fn subquery(self) -> TableFactor {
        let name = Ident::new(self.names.first().map_or("", String::as_str));
        let mut alias = self.alias.unwrap_or_else(|| TableAlias {
            explicit: true,
            name,
            columns: Vec::new(),
            at: None,
        });
        // One column has the name of the table, if it has no other.
        let names = (0..self.calls.len()).map(|place| match alias.columns.get(place) {
            Some(column) => column.name.clone(),
            None => match self.columns.get(place) {
                Some(column) => Ident::new(*column),
                None if place == 0 => alias.name.clone(),
                None => Ident::new(UNNEST),
            },
        });
        let names: Vec<Ident> = names.collect();
        let items = self.calls.into_iter().zip(&names).map(|(expr, name)| {
            let alias = name.clone();
            SelectItem::ExprWithAlias { expr, alias }
        });
        let mut subquery = select(items.collect());
        if self.with_ordinality {
            let number = alias.columns.get(names.len());
            let number =
                number.map_or_else(|| Ident::new(ORDINALITY), |column| column.name.clone());
            subquery = numbered(subquery, &names, number);
        }
        alias.columns = Vec::new();
        TableFactor::Derived {
            lateral: true,
            subquery: Box::new(subquery),
            alias: Some(alias),
            sample: None,
        }
    }
}

/// A series between integers that are written, as integers: DataFusion's table has bigints.
fn integers(factor: &TableFactor) -> Option<TableFactor> {
    let called = Called::of(factor)?;
    let ([name], [Expr::Function(function)]) = (called.names.as_slice(), called.calls.as_slice())
    else {
        return None;
    };
    let arguments = arguments(function)?;
    let are_integers = name == GENERATE_SERIES && arguments.iter().all(is_integer);
    if !are_integers || called.with_ordinality {
        return None;
    }
    let name = Ident::new(GENERATE_SERIES);
    let alias = called.alias;
    let alias = alias.unwrap_or_else(|| TableAlias {
        explicit: true,
        name,
        columns: Vec::new(),
        at: None,
    });
    let column = alias.columns.first();
    let column = column.map_or(&alias.name, |column| &column.name);
    let text =
        format!("SELECT CAST({column} AS INT) AS {column} FROM {function} AS {column} ({column})");
    Some(TableFactor::Derived {
        lateral: false,
        subquery: Box::new(read(&text)),
        alias: Some(TableAlias {
            columns: Vec::new(),
            ..alias
        }),
        sample: None,
    })
}

/// Whether an expression is a whole number of 32 bits.
fn is_integer(expr: &Expr) -> bool {
    match expr {
        Expr::UnaryOp {
            op: UnaryOperator::Minus,
            expr,
        } => is_integer(expr),
        Expr::Value(value) => match &value.value {
            Value::Number(digits, _) => digits.parse::<i32>().is_ok(),
            _ => false,
        },
        _ => false,
    }
}

/// `json_to_recordset(d) AS t (a int, …)`, and its like, as a subquery that takes the columns out of documents.
fn records(factor: &TableFactor) -> Option<TableFactor> {
    let called = Called::of(factor)?;
    let alias = called.alias?;
    let ([name], [Expr::Function(function)]) = (called.names.as_slice(), called.calls.as_slice())
    else {
        return None;
    };
    let FunctionArguments::List(arguments) = &function.args else {
        return None;
    };
    let [document] = arguments.args.as_slice() else {
        return None;
    };
    let record = row_functions::record(name, &document.to_string())?;
    let columns = alias.columns.iter().map(|column| {
        let of = column.data_type.as_ref()?;
        let key = Value::SingleQuotedString(column.name.value.clone());
        let part = match of {
            DataType::JSON | DataType::JSONB => "->",
            _ => "->>",
        };
        let name = &column.name;
        Some(format!("CAST(record {part} {key} AS {of}) AS {name}"))
    });
    let columns = columns.collect::<Option<Vec<_>>>()?.join(", ");
    let text = format!("SELECT {columns} FROM (SELECT {record} AS record) AS records");
    let mut parser = Parser::new(&PostgreSqlDialect {})
        .try_with_sql(&text)
        .ok()?;
    Some(TableFactor::Derived {
        lateral: true,
        subquery: parser.parse_query().ok()?,
        alias: Some(TableAlias {
            columns: Vec::new(),
            ..alias
        }),
        sample: None,
    })
}

/// The rows of a query with their numbers.
fn numbered(rows: Query, names: &[Ident], number: Ident) -> Query {
    let columns = names.iter().cloned().map(Expr::Identifier);
    let mut items: Vec<SelectItem> = columns.map(SelectItem::UnnamedExpr).collect();
    let mut query = read("SELECT row_number() OVER () FROM (SELECT 1) AS numbered");
    if let SetExpr::Select(select) = query.body.as_mut() {
        if let [SelectItem::UnnamedExpr(expr)] = select.projection.as_slice() {
            items.push(SelectItem::ExprWithAlias {
                expr: expr.clone(),
                alias: number,
            });
        }
        if let TableFactor::Derived { subquery, .. } = &mut select.from[0].relation {
            **subquery = rows;
        }
        select.projection = items;
    }
    query
}

/// `generate_subscripts(a, 1)` as the numbers from 1 to the length of `a`, unnested.
fn subscripts(expr: &Expr) -> Option<Expr> {
    let Expr::Function(function) = expr else {
        return None;
    };
    if last_word(&function.name)? != "generate_subscripts" {
        return None;
    }
    let FunctionArguments::List(arguments) = &function.args else {
        return None;
    };
    let array = arguments.args.first()?.clone();
    let cardinality = ObjectName::from(vec![Ident::new("cardinality")]);
    let one = Value::Number("1".to_owned(), false).with_empty_span();
    let bounds = [
        Expr::Value(one),
        call_with(cardinality, vec![array], Vec::new()),
    ];
    let numbers = call(GENERATE_SERIES, bounds, Vec::new());
    Some(call(UNNEST, [numbers], Vec::new()))
}

/// Whether an expression surely gives a text, and not always the same.
fn is_made_up(expr: &Expr) -> bool {
    match expr {
        Expr::Function(function) => {
            last_word(&function.name).is_some_and(|word| word == "format" || word == "concat")
        }
        Expr::BinaryOp { op, .. } => *op == BinaryOperator::StringConcat,
        Expr::Nested(inner) => is_made_up(inner),
        _ => false,
    }
}

/// `(row).field` as a call.
fn field_of_row(expr: &Expr) -> Option<Expr> {
    let Expr::CompoundFieldAccess { root, access_chain } = expr else {
        return None;
    };
    let (Expr::Nested(row), [AccessExpr::Dot(Expr::Identifier(field))]) =
        (root.as_ref(), access_chain.as_slice())
    else {
        return None;
    };
    let name = Value::SingleQuotedString(folded(field)).with_empty_span();
    let arguments = [row.as_ref().clone(), Expr::Value(name)];
    Some(call(GET_FIELD, arguments, Vec::new()))
}

fn last_word(name: &ObjectName) -> Option<String> {
    let word = name.0.last().and_then(ObjectNamePart::as_ident)?;
    Some(word.value.to_ascii_lowercase())
}

fn column(name: Ident) -> TableAliasColumnDef {
    TableAliasColumnDef {
        name,
        data_type: None,
    }
}

/// A table of one row and one column out of a value.
fn one_row(value: Expr, alias: TableAlias) -> TableFactor {
    let name = alias
        .columns
        .first()
        .map_or(&alias.name, |column| &column.name);
    let item = SelectItem::ExprWithAlias {
        expr: value,
        alias: name.clone(),
    };
    TableFactor::Derived {
        lateral: false,
        subquery: Box::new(select(vec![item])),
        alias: Some(alias),
        sample: None,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn values_become_tables_of_a_row_and_series_name_their_column() {
        for (from, expected) in [
            (
                "SELECT s[i] FROM generate_series(1, 2) AS i, string_to_array('a,b', ',') s",
                "SELECT s[i] FROM (SELECT CAST(i AS INT) AS i FROM generate_series(1, 2) AS i (i)) AS i, \
                 (SELECT string_to_array('a,b', ',') AS s) s",
            ),
            (
                "SELECT (_pg_expandarray(k)).n FROM t",
                "SELECT get_field(unnest(_pg_expandarray(k)), 'n') FROM t",
            ),
            (
                "SELECT * FROM generate_series(-1, 3000000000) g, generate_series(1, 3)",
                "SELECT * FROM generate_series(-1, 3000000000) g (g), \
                 (SELECT CAST(generate_series AS INT) AS generate_series \
                 FROM generate_series(1, 3) AS generate_series (generate_series)) AS generate_series",
            ),
            (
                "SELECT generate_subscripts(k, 1) FROM t",
                "SELECT unnest(generate_series(1, cardinality(k))) FROM t",
            ),
            ("SELECT * FROM t AS u", "SELECT * FROM t AS u"),
            (
                "SELECT v FROM unnest(ARRAY[1]) v, unnest(ARRAY[1], ARRAY[2]) w",
                "SELECT v FROM UNNEST(ARRAY[1]) v (v), UNNEST(ARRAY[1], ARRAY[2]) w",
            ),
            (
                "SELECT * FROM t, unnest(t.a, b) AS u (x, y)",
                "SELECT * FROM t, LATERAL (SELECT unnest(t.a) AS x, unnest(b) AS y) AS u",
            ),
            (
                "SELECT * FROM t CROSS JOIN LATERAL generate_series(1, t.a) g",
                "SELECT * FROM t CROSS JOIN LATERAL (SELECT unnest(generate_series(1, t.a)) AS g) g",
            ),
            (
                "SELECT e, e.value FROM t, json_array_elements(j) e",
                "SELECT e.value AS e, e.value FROM t, LATERAL (SELECT json_as_is(unnest(json_array_elements(j))) AS value) e",
            ),
            (
                "SELECT a FROM t, json_to_recordset(t.j) AS r (a int, b json)",
                "SELECT a FROM t, LATERAL (SELECT CAST(record ->> 'a' AS INT) AS a, CAST(record -> 'b' AS JSON) AS b \
                 FROM (SELECT json_as_is(unnest(json_array_elements(t.j))) AS record) AS records) AS r",
            ),
            (
                "SELECT key FROM jsonb_each_text('{}')",
                "SELECT key FROM LATERAL (SELECT unnest(jsonb_object_keys('{}')) AS key, \
                 unnest(jsonb_each_text_values('{}')) AS value) AS jsonb_each_text",
            ),
            (
                "SELECT * FROM f(1) WITH ORDINALITY AS g (x)",
                "SELECT * FROM LATERAL (SELECT x, row_number() OVER () AS ordinality FROM \
                 (SELECT f(1) AS x) AS numbered) AS g",
            ),
        ] {
            let mut statement = Parser::parse_sql(&PostgreSqlDialect {}, from)
                .expect("parses")
                .remove(0);
            rewrite(&mut statement);
            assert_eq!(statement.to_string(), expected);
        }
    }
}
