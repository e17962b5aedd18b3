//! Grouping sets of columns only.
//!
//! DataFusion looks for the arguments of `grouping(a + 1)` among what is grouped by, and does not find them once one of the two has been
//! changed: a literal's type, a function in the place of an operator, a column in the place of a subquery. So what is
//! computed is computed below, and both name its column:
//!
//! ```text
//! Aggregate rollup(a + 1), grouping(a + 1)      Projection grouped_1 AS "a + 1", "grouping(a + 1)"
//!                                                 Aggregate rollup(grouped_1), grouping(grouped_1)
//!                                                   Projection *, a + 1 AS grouped_1
//! ```

use std::sync::Arc;

use datafusion::common::tree_node::{Transformed, TreeNode};
use datafusion::common::{Column, Result};
use datafusion::logical_expr::logical_plan::Aggregate;
use datafusion::logical_expr::{Expr, LogicalPlan, LogicalPlanBuilder};

/// The function that tells which columns a row is not grouped by.
const GROUPING: &str = "grouping";

/// The plan whose grouping sets name columns.
pub(crate) fn computed(plan: LogicalPlan) -> Result<LogicalPlan> {
    let plan = plan.transform_up_with_subqueries(|plan| match plan {
        LogicalPlan::Aggregate(aggregate) => {
            let computed = expressions(&aggregate);
            if computed.is_empty() {
                return Ok(Transformed::no(LogicalPlan::Aggregate(aggregate)));
            }
            by_columns(aggregate, &computed).map(Transformed::yes)
        }
        other => Ok(Transformed::no(other)),
    })?;
    Ok(plan.data)
}

/// What grouping sets have besides columns.
fn expressions(aggregate: &Aggregate) -> Vec<Expr> {
    let [Expr::GroupingSet(sets)] = aggregate.group_expr.as_slice() else {
        return Vec::new();
    };
    let expressions = sets.distinct_expr().into_iter();
    let computed = expressions.filter(|expr| !matches!(expr, Expr::Column(_)));
    computed.cloned().collect()
}

fn by_columns(aggregate: Aggregate, computed: &[Expr]) -> Result<LogicalPlan> {
    let names: Vec<String> = (1..=computed.len())
        .map(|number| format!("grouped_{number}"))
        .collect();
    let columns = aggregate.input.schema().columns().into_iter();
    let values = computed.iter().zip(&names);
    let values = values.map(|(expr, name)| expr.clone().unalias().alias(name));
    let below = LogicalPlanBuilder::from(aggregate.input)
        .project(columns.map(Expr::Column).chain(values))?
        .build()?;
    let column_of = |expr: &Expr| {
        let expr = expr.clone().unalias();
        let is_same = |known: &Expr| known.clone().unalias() == expr;
        let place = computed.iter().position(is_same)?;
        Some(Expr::Column(Column::from_name(&names[place])))
    };
    let groups = aggregate.group_expr.into_iter();
    let groups = groups.map(|group| {
        let group = group.map_children(|expr| match column_of(&expr) {
            Some(column) => Ok(Transformed::yes(column)),
            None => Ok(Transformed::no(expr)),
        })?;
        Ok(group.data)
    });
    let calls = aggregate.aggr_expr.into_iter();
    let calls = calls.map(|call| asking_columns(call, column_of));
    let aggregate = Aggregate::try_new(
        Arc::new(below),
        groups.collect::<Result<_>>()?,
        calls.collect::<Result<_>>()?,
    )?;
    let outputs = aggregate.schema.columns().into_iter();
    let outputs = outputs.filter(|column| column.name != Aggregate::INTERNAL_GROUPING_ID);
    let outputs = outputs.map(
        |column| match names.iter().position(|name| *name == column.name) {
            Some(place) => {
                let name = computed[place].schema_name().to_string();
                Expr::Column(column).alias(name)
            }
            None => Expr::Column(column),
        },
    );
    let outputs: Vec<Expr> = outputs.collect();
    LogicalPlanBuilder::from(LogicalPlan::Aggregate(aggregate))
        .project(outputs)?
        .build()
}

/// An aggregate with the columns in the arguments of `grouping`, under the name that it had.
fn asking_columns(call: Expr, column_of: impl Fn(&Expr) -> Option<Expr>) -> Result<Expr> {
    let name = call.schema_name().to_string();
    let asking = call.transform_up(|part| match part {
        Expr::AggregateFunction(mut call) if call.func.name() == GROUPING => {
            for argument in &mut call.params.args {
                if let Some(column) = column_of(argument) {
                    *argument = column;
                }
            }
            Ok(Transformed::yes(Expr::AggregateFunction(call)))
        }
        part => Ok(Transformed::no(part)),
    })?;
    match asking.transformed {
        true => asking.data.alias_if_changed(name),
        false => Ok(asking.data),
    }
}
