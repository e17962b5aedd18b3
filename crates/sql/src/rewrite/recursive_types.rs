//! The types of recursive queries: both terms have those of the first one.
//!
//! ```text
//! WITH RECURSIVE t(n, path) AS (SELECT 1, null UNION ALL SELECT n + 1, path || n FROM t)
//!
//!      first term     over it          both terms
//! n    integer        integer          CAST(n AS integer)
//! path unknown: text  text             CAST(path AS text)
//! ```
//!
//! DataFusion plans the second term over the types of the first as they stand, integers as bigints, and casts what comes out to
//! these: a product of decimals lost its digits, and what `text || integer` gives was no `text` to it.
//!
//! 1. The first term is planned alone, with the common tables that it may name. A column of NULLs is text.
//! 2. The second is planned over a table of these types. Where it gives another type, that one has to give way (an integer to a
//!    bigint of the first term), else the statement is refused (42804), as by PostgreSQL.
//! 3. Decimals have one scale in a column. If the second term gives more digits behind the point, both get as many; if it gives
//!    more again, both are decimals without a declared scale.
//! 4. Both terms are selected from with casts to these types.
//! 5. [`aligned`], in the plan: a column may still tell other things of its type in each term, one that is read from a table what the
//!    source calls it. Both tell what the first does.
//!
//! What cannot be planned here stays, for the planner to tell why.
//!
//! Does not: columns of types without an own name here, and arrays of such, which are left as they are.

use std::borrow::Cow;
use std::ops::ControlFlow;
use std::sync::Arc;

use datafusion::arrow::datatypes::{DataType, FieldRef, Schema};
use datafusion::common::Result;
use datafusion::common::tree_node::Transformed;
use datafusion::logical_expr::{Expr, LogicalPlan, LogicalPlanBuilder, ScalarUDF};
use datafusion::sql::sqlparser::ast::{
    Cte, ObjectName, Query, SetExpr, SetOperator, Statement as Ast, TableFactor, Visitor,
    VisitorMut, With,
};

use super::column_names::folded;
use super::made_queries::read;
use super::union_types::{is_literal, mismatch};
use super::walk::{walk, walk_mut};
use crate::error::{SqlError, code};
use crate::functions::retyped::Retyped;
use crate::functions::types::UNCONSTRAINED_SCALE;
use crate::pg_type;

/// Digits of a decimal. With one more, a literal that is cast would keep its own scale, as one that is cast to `numeric` does.
const DIGITS: u8 = 37;

/// Types with a name that a cast takes, by their ids. Of those that are one behind the other in a group, each gives way to the next.
const WIDENING: [&[u32]; 8] = [
    &[21, 23, 20, pg_type::NUMERIC, 700, 701],
    &[1082, 1114, 1184],
    &[pg_type::TEXT, pg_type::VARCHAR],
    &[16],
    &[17],
    &[1083],
    &[1186],
    &[pg_type::UUID],
];

/// The statement with casts in the terms of its recursive queries. `plan`: a query's plan, its literals in PostgreSQL's types.
pub(crate) fn agreed(
    statement: &Ast,
    plan: impl FnMut(Query) -> Result<LogicalPlan, SqlError>,
) -> Result<Cow<'_, Ast>, SqlError> {
    if walk(statement, &mut Search).is_continue() {
        return Ok(Cow::Borrowed(statement));
    }
    let mut statement = statement.clone();
    let mut terms = Terms {
        plan,
        around: Vec::new(),
    };
    match walk_mut(&mut statement, &mut terms) {
        ControlFlow::Break(error) => Err(error),
        ControlFlow::Continue(()) => Ok(Cow::Owned(statement)),
    }
}

/// The plan whose recursive queries have terms that tell the same of their columns.
pub(crate) fn aligned(plan: LogicalPlan) -> Result<LogicalPlan, SqlError> {
    let plan = plan.transform_up_with_subqueries(|plan| match plan {
        LogicalPlan::RecursiveQuery(mut query) => {
            let first = query.static_term.schema().as_arrow();
            match retyped(&query.recursive_term, first)? {
                Some(second) => query.recursive_term = Arc::new(second),
                None => return Ok(Transformed::no(LogicalPlan::RecursiveQuery(query))),
            }
            Ok(Transformed::yes(LogicalPlan::RecursiveQuery(query)))
        }
        other => Ok(Transformed::no(other)),
    })?;
    Ok(plan.data)
}

/// A plan whose columns tell what these do; `None` if they tell it already.
fn retyped(plan: &Arc<LogicalPlan>, like: &Schema) -> Result<Option<LogicalPlan>> {
    let columns = plan.schema().columns().into_iter().zip(like.fields());
    let mut changes = false;
    let columns = columns.map(|(column, like)| {
        let (_, field) = plan.schema().qualified_field_from_column(&column)?;
        if field.metadata() == like.metadata() {
            return Ok(Expr::Column(column));
        }
        changes = true;
        let function = ScalarUDF::from(Retyped::new(like.metadata().clone(), false));
        let value = function.call(vec![Expr::Column(column.clone())]);
        Ok(value.alias_qualified(column.relation, column.name))
    });
    let columns = columns.collect::<Result<Vec<Expr>>>()?;
    if !changes {
        return Ok(None);
    }
    let plan = LogicalPlanBuilder::from(Arc::clone(plan));
    plan.project(columns)?.build().map(Some)
}

/// Finds out whether there is a recursive query.
struct Search;

impl Visitor for Search {
    type Break = ();

    fn pre_visit_query(&mut self, query: &Query) -> ControlFlow<()> {
        match query.with.as_ref().is_some_and(|with| with.recursive) {
            true => ControlFlow::Break(()),
            false => ControlFlow::Continue(()),
        }
    }
}

struct Terms<P> {
    plan: P,
    /// The common tables of the queries around, outermost first.
    around: Vec<Vec<Cte>>,
}

impl<P: FnMut(Query) -> Result<LogicalPlan, SqlError>> VisitorMut for Terms<P> {
    type Break = SqlError;

    fn pre_visit_query(&mut self, query: &mut Query) -> ControlFlow<SqlError> {
        if let Some(with) = query.with.as_mut().filter(|with| with.recursive) {
            for place in 0..with.cte_tables.len() {
                let (before, rest) = with.cte_tables.split_at_mut(place);
                if let Err(error) = self.agree(before, &mut rest[0]) {
                    return ControlFlow::Break(error);
                }
            }
        }
        let common = query.with.as_ref().map(|with| with.cte_tables.clone());
        self.around.push(common.unwrap_or_default());
        ControlFlow::Continue(())
    }

    fn post_visit_query(&mut self, _: &mut Query) -> ControlFlow<SqlError> {
        self.around.pop();
        ControlFlow::Continue(())
    }
}

impl<P: FnMut(Query) -> Result<LogicalPlan, SqlError>> Terms<P> {
    /// Casts the terms of a common table behind others, if it is recursive.
    fn agree(&mut self, before: &[Cte], table: &mut Cte) -> Result<(), SqlError> {
        let SetExpr::SetOperation {
            op: SetOperator::Union,
            left,
            right,
            ..
        } = table.query.body.as_ref()
        else {
            return Ok(());
        };
        if !reads(right, &folded(&table.alias.name)) {
            return Ok(());
        }
        let visible = self.around.iter().flatten().chain(before);
        let visible: Vec<Cte> = visible.cloned().collect();
        let Ok(first) = (self.plan)(within(visible.clone(), left.as_ref().clone())) else {
            return Ok(());
        };
        let fields = first.schema().fields();
        let mut types: Vec<Type> = fields.iter().map(Type::of_first).collect();
        let names = names(table, fields);
        // Once for the types, once for a scale that holds, once more to see that none grows without end.
        for may_grow in [true, true, false] {
            let mut over = table.clone();
            *over.query = cast(left, &names, &types);
            let mut common = visible.clone();
            common.push(over);
            let Ok(second) = (self.plan)(within(common, right.as_ref().clone())) else {
                return Ok(());
            };
            let before = types.clone();
            widen(&mut types, &second, &folded(&table.alias.name), may_grow)?;
            if types == before {
                break;
            }
        }
        let terms = [left, right].map(|term| cast(term, &names, &types));
        if let SetExpr::SetOperation { left, right, .. } = table.query.body.as_mut() {
            let [first, second] = terms.map(|term| Box::new(SetExpr::Query(Box::new(term))));
            (*left, *right) = (first, second);
        }
        Ok(())
    }
}

/// Whether a term reads the table of this name.
fn reads(term: &SetExpr, name: &str) -> bool {
    let mut search = Reads(name);
    walk(term, &mut search).is_break()
}

struct Reads<'a>(&'a str);

impl Visitor for Reads<'_> {
    type Break = ();

    fn pre_visit_table_factor(&mut self, table: &TableFactor) -> ControlFlow<()> {
        match table {
            TableFactor::Table { name, .. } if is_named(name, self.0) => ControlFlow::Break(()),
            _ => ControlFlow::Continue(()),
        }
    }
}

fn is_named(name: &ObjectName, of: &str) -> bool {
    match name.0.as_slice() {
        [part] => part.as_ident().is_some_and(|part| folded(part) == of),
        _ => false,
    }
}

/// A query of these common tables.
fn within(common: Vec<Cte>, body: SetExpr) -> Query {
    let mut query = read("WITH RECURSIVE a AS (SELECT 1) SELECT 1");
    query.with = match common.is_empty() {
        true => None,
        false => query.with.map(|with| With {
            cte_tables: common,
            ..with
        }),
    };
    *query.body = body;
    query
}

/// The columns of a common table.
fn names(table: &Cte, fields: &[FieldRef]) -> Vec<String> {
    let aliases = table.alias.columns.iter();
    let aliases = aliases.map(|column| folded(&column.name));
    let others = fields.iter().skip(table.alias.columns.len());
    let others = others.map(|field| field.name().clone());
    aliases.chain(others).collect()
}

/// `SELECT CAST(c0 AS type) AS name, … FROM (term) AS term(c0, …)`
fn cast(term: &SetExpr, names: &[String], types: &[Type]) -> Query {
    let columns = names.iter().zip(types).enumerate();
    let columns = columns.map(|(place, (name, of))| {
        let name = name.replace('"', "\"\"");
        match of.sql() {
            Some(of) => format!("CAST(c{place} AS {of}) AS \"{name}\""),
            None => format!("c{place} AS \"{name}\""),
        }
    });
    let columns = columns.collect::<Vec<_>>().join(", ");
    let places = (0..names.len()).map(|place| format!("c{place}"));
    let places = places.collect::<Vec<_>>().join(", ");
    let mut query = read(&format!(
        "SELECT {columns} FROM (SELECT 1) AS term({places})"
    ));
    if let SetExpr::Select(select) = query.body.as_mut()
        && let TableFactor::Derived { subquery, .. } = &mut select.from[0].relation
    {
        *subquery.body = term.clone();
    }
    query
}

/// The type of a column.
#[derive(Clone, Debug, PartialEq)]
enum Type {
    Decimal {
        scale: i8,
    },
    /// By its id.
    Named(u32),
    /// An array of what has this id.
    Array(u32),
    /// Left as it is.
    Other,
}

impl Type {
    fn of_first(field: &FieldRef) -> Self {
        match field.data_type() {
            DataType::Null => Self::Named(pg_type::TEXT),
            _ => Self::of(field),
        }
    }

    fn of(field: &FieldRef) -> Self {
        let oid = pg_type::field_oid(field);
        let is_known = WIDENING.iter().any(|group| group.contains(&oid));
        match field.data_type() {
            DataType::Decimal128(_, scale) => Self::Decimal { scale: *scale },
            DataType::List(item) => {
                let item = pg_type::field_oid(item);
                let is_known = WIDENING.iter().any(|group| group.contains(&item));
                match is_known {
                    true => Self::Array(item),
                    false => Self::Other,
                }
            }
            _ if is_known => Self::Named(oid),
            _ => Self::Other,
        }
    }

    fn oid(&self) -> u32 {
        match self {
            Self::Decimal { .. } => pg_type::NUMERIC,
            Self::Named(oid) => *oid,
            Self::Array(_) | Self::Other => 0,
        }
    }

    /// What a cast to it names.
    fn sql(&self) -> Option<String> {
        match self {
            Self::Decimal { scale } => Some(format!("numeric({DIGITS}, {scale})")),
            Self::Named(oid) => Some(pg_type::names(*oid).0.to_owned()),
            Self::Array(oid) => Some(format!("{}[]", pg_type::names(*oid).0)),
            Self::Other => None,
        }
    }
}

/// Lets the types of the first term hold what the second gives over them, or says why they do not.
fn widen(
    types: &mut [Type],
    second: &LogicalPlan,
    table: &str,
    may_grow: bool,
) -> Result<(), SqlError> {
    let fields = second.schema().fields().iter();
    for (column, (first, field)) in types.iter_mut().zip(fields).enumerate() {
        let is_open = field.data_type().is_null() || is_literal(second, column);
        match (&mut *first, Type::of(field)) {
            (Type::Decimal { scale }, Type::Decimal { scale: other }) if other > *scale => {
                let unbounded = UNCONSTRAINED_SCALE.max(*scale);
                *scale = if may_grow {
                    other.min(unbounded)
                } else {
                    unbounded
                };
            }
            (first, second) if !is_open && first.oid() != 0 && second.oid() != 0 => {
                check(first.oid(), second.oid(), table, column)?;
            }
            _ => {}
        }
    }
    Ok(())
}

/// Whether a column of the first type holds values of the second.
fn check(first: u32, second: u32, table: &str, column: usize) -> Result<(), SqlError> {
    let group = WIDENING.iter().find(|group| group.contains(&first));
    let place = |of: u32| group.and_then(|group| group.iter().position(|oid| *oid == of));
    let (Some(has), Some(gets)) = (place(first), place(second)) else {
        return Err(mismatch(first, second));
    };
    // PostgreSQL refuses a text over a varchar; nothing is lost here.
    if gets <= has || first == pg_type::TEXT {
        return Ok(());
    }
    let [first, second] = [first, second].map(|oid| pg_type::names(oid).0);
    let message = format!(
        "recursive query \"{table}\" column {} has type {first} in non-recursive term but type {second} overall",
        column + 1
    );
    let hint = "Cast the output of the non-recursive term to the correct type.";
    Err(SqlError::new(code::DATATYPE_MISMATCH, message).with_hint(hint))
}
