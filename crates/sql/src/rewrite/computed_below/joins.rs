//! Conditions of joins that have subqueries in them.
//!
//! ```text
//! a JOIN b ON c                     such a condition of an inner join is one of all rows
//! a LEFT JOIN b ON c(b)             … of b alone filters b
//! a LEFT JOIN b ON c(a)             … of a alone is a column of a
//! a LEFT JOIN b ON e AND c(a, b)    a LEFT JOIN (SELECT … FROM b JOIN d ON e(d, b) WHERE c(d, b)) ON a.x IS NOT DISTINCT FROM d.x
//!                                   where d = SELECT DISTINCT a.x FROM a, for all columns x that the conditions name
//! ```
//!
//! Right joins are left ones from the other side.
//!
//! Does not: full joins on such a condition of both sides.

use std::sync::Arc;

use datafusion::common::tree_node::{Transformed, TreeNode};
use datafusion::common::{Column, JoinType, Result, not_impl_err};
use datafusion::logical_expr::expr::{Exists, InSubquery, SetComparison};
use datafusion::logical_expr::logical_plan::Subquery;
use datafusion::logical_expr::utils::split_conjunction_owned;
use datafusion::logical_expr::{
    BinaryExpr, Expr, Join, LogicalPlan, LogicalPlanBuilder, Operator, lit,
};

use super::super::lateral_joins::{is_volatile, outer_columns};
use super::{Below, Computed, columns_of, named, names_any_of, only, subqueries};

/// The first word of the names of columns of `d`.
const KEPT: &str = "\u{1}kept";

/// Which sides of a join a condition names.
#[derive(Clone, Copy)]
enum Names {
    /// The left side alone.
    Left,
    /// The right side alone, or none.
    Right,
    Both,
}

impl Below {
    pub(super) fn of_join(&mut self, join: Join) -> Result<Transformed<LogicalPlan>> {
        let Some(filter) = join.filter.clone() else {
            return Ok(Transformed::no(LogicalPlan::Join(join)));
        };
        let (mut moved, mut kept) = (Vec::new(), Vec::new());
        for condition in split_conjunction_owned(filter) {
            match has_to_move(&condition)? {
                true => moved.push((names_of(&condition, &join)?, condition)),
                false => kept.push(condition),
            }
        }
        if moved.is_empty() {
            return Ok(Transformed::no(LogicalPlan::Join(join)));
        }
        let on = join.on.iter().cloned();
        let kept = on.map(|(left, right)| left.eq(right)).chain(kept).collect();
        let columns = columns_of(&LogicalPlan::Join(join.clone()));
        let plan = match join.join_type {
            JoinType::Inner => self.inner(join, kept, moved)?,
            JoinType::Left | JoinType::Right | JoinType::Full => self.outer(join, kept, moved)?,
            _ => return Ok(Transformed::no(LogicalPlan::Join(join))),
        };
        Ok(Transformed::yes(only(plan, columns)?))
    }

    fn inner(
        &mut self,
        join: Join,
        kept: Vec<Expr>,
        moved: Vec<(Names, Expr)>,
    ) -> Result<LogicalPlan> {
        let (mut left, mut right) = (join.left, join.right);
        let mut above = Vec::new();
        for (names, condition) in moved {
            match names {
                Names::Left => left = self.filtered(left, condition)?,
                Names::Right => right = self.filtered(right, condition)?,
                Names::Both => above.push(condition),
            }
        }
        let mut rows = Arc::new(joined(left, right, JoinType::Inner, kept)?);
        if let Some(condition) = above.into_iter().reduce(Expr::and) {
            rows = self.filtered(rows, condition)?;
        }
        Ok(Arc::unwrap_or_clone(rows))
    }

    fn outer(
        &mut self,
        join: Join,
        mut kept: Vec<Expr>,
        moved: Vec<(Names, Expr)>,
    ) -> Result<LogicalPlan> {
        let (mut left, mut right) = (join.left, join.right);
        let (mut of_left, mut of_right) = (Computed::default(), Computed::default());
        let mut of_both = Vec::new();
        for (names, condition) in moved {
            match (names, join.join_type) {
                (Names::Both, _) => of_both.push(condition),
                (Names::Left, JoinType::Right) => left = self.filtered(left, condition)?,
                (Names::Right, JoinType::Left) => right = self.filtered(right, condition)?,
                (Names::Left, _) => kept.push(self.column(condition, &mut of_left)),
                (Names::Right, _) => kept.push(self.column(condition, &mut of_right)),
            }
        }
        if !of_left.is_empty() {
            left = Arc::new(self.project(left, of_left)?);
        }
        if !of_right.is_empty() {
            right = Arc::new(self.project(right, of_right)?);
        }
        match (of_both.into_iter().reduce(Expr::and), join.join_type) {
            (None, join_type) => joined(left, right, join_type, kept),
            (Some(condition), JoinType::Left) => {
                let (right, same) = self.of_both(&left, right, kept, condition)?;
                joined(left, right, JoinType::Left, same)
            }
            (Some(condition), JoinType::Right) => {
                let (left, same) = self.of_both(&right, left, kept, condition)?;
                joined(left, right, JoinType::Right, same)
            }
            (Some(_), _) => {
                not_impl_err!("a full join on a subquery that names columns of both sides")
            }
        }
    }

    /// The rows of `side`, each with every row of `d` that it belongs to, and the condition that a row of `all` is one of these.
    fn of_both(
        &mut self,
        all: &Arc<LogicalPlan>,
        side: Arc<LogicalPlan>,
        kept: Vec<Expr>,
        condition: Expr,
    ) -> Result<(Arc<LogicalPlan>, Vec<Expr>)> {
        // Rows of random values would be others when they are asked for again.
        if is_volatile(all)? || names_outside(&side, all)? {
            return not_impl_err!("an outer join on a subquery that names columns of both sides");
        }
        let values = self.named_of(all, kept.iter().chain([&condition]))?;
        let domain = values.iter().map(|(column, own)| {
            let column = Expr::from(column.clone());
            column.alias(&own.name)
        });
        let domain = LogicalPlanBuilder::from(all.as_ref().clone())
            .project(domain)?
            .distinct()?
            .build()?;
        let kept = kept.into_iter().map(|expr| of_domain(expr, &values));
        let kept = kept.collect::<Result<Vec<_>>>()?;
        let rows = joined(side, Arc::new(domain), JoinType::Inner, kept)?;
        let rows = self.filtered(Arc::new(rows), of_domain(condition, &values)?)?;
        let same = values.into_iter().map(|(column, own)| {
            let (column, own) = (Expr::from(column), Expr::from(own));
            let op = Operator::IsNotDistinctFrom;
            Expr::BinaryExpr(BinaryExpr::new(Box::new(column), op, Box::new(own)))
        });
        Ok((rows, same.collect()))
    }

    /// The columns of a plan that conditions name, each with the one of `d` that has its values.
    fn named_of<'a>(
        &mut self,
        plan: &LogicalPlan,
        conditions: impl Iterator<Item = &'a Expr>,
    ) -> Result<Vec<(Column, Column)>> {
        let mut values: Vec<(Column, Column)> = Vec::new();
        for condition in conditions {
            for column in named(condition)? {
                let is_known = values.iter().any(|(known, _)| *known == column);
                if is_known || !plan.schema().has_column(&column) {
                    continue;
                }
                self.columns += 1;
                let own = Column::from_name(format!("{KEPT} {}", self.columns));
                values.push((column, own));
            }
        }
        Ok(values)
    }

    fn filtered(&mut self, rows: Arc<LogicalPlan>, condition: Expr) -> Result<Arc<LogicalPlan>> {
        let rows = LogicalPlanBuilder::from(Arc::unwrap_or_clone(rows));
        let rows = rows.filter(condition)?.build()?;
        Ok(Arc::new(self.of_operands(rows)?.data))
    }
}

/// Whether DataFusion does not take such a condition of a join. It takes subqueries that are the same for all rows.
fn has_to_move(condition: &Expr) -> Result<bool> {
    for subquery in subqueries(condition)? {
        if !subquery.outer_ref_columns.is_empty() {
            return Ok(true);
        }
    }
    condition.exists(|part| {
        Ok(matches!(
            part,
            Expr::Exists(_) | Expr::InSubquery(_) | Expr::SetComparison(_)
        ))
    })
}

fn names_of(condition: &Expr, join: &Join) -> Result<Names> {
    let left = names_any_of(condition, join.left.schema())?;
    let right = names_any_of(condition, join.right.schema())?;
    Ok(match (left, right) {
        (true, true) => Names::Both,
        (true, false) => Names::Left,
        (false, _) => Names::Right,
    })
}

/// Whether a lateral side of a join names columns of the other one.
fn names_outside(side: &LogicalPlan, other: &LogicalPlan) -> Result<bool> {
    let columns = outer_columns(side)?;
    let of_other = |column: &Column| other.schema().has_column(column);
    Ok(columns.iter().any(of_other))
}

fn joined(
    left: Arc<LogicalPlan>,
    right: Arc<LogicalPlan>,
    join_type: JoinType,
    conditions: Vec<Expr>,
) -> Result<LogicalPlan> {
    let conditions = match conditions.is_empty() {
        true => vec![lit(true)],
        false => conditions,
    };
    LogicalPlanBuilder::from(Arc::unwrap_or_clone(left))
        .join_on(Arc::unwrap_or_clone(right), join_type, conditions)?
        .build()
}

/// A condition with columns of `d` in the place of those that it has the values of.
fn of_domain(condition: Expr, values: &[(Column, Column)]) -> Result<Expr> {
    let own = |column: &Column| {
        let mut values = values.iter();
        let value = values.find(|(known, _)| known == column);
        value.map(|(_, own)| own.clone())
    };
    let within = |subquery: Subquery| -> Result<Subquery> {
        let plan = Arc::unwrap_or_clone(subquery.subquery);
        let plan = plan.transform_up_with_subqueries(|plan| {
            plan.map_expressions(|expr| expr.transform_up(|expr| Ok(outside(expr, own))))
        })?;
        let outer = subquery.outer_ref_columns.into_iter();
        Ok(Subquery {
            subquery: Arc::new(plan.data),
            outer_ref_columns: outer.map(|expr| outside(expr, own).data).collect(),
            spans: subquery.spans,
        })
    };
    let condition = condition.transform_up(|part| {
        Ok(match part {
            Expr::Column(column) => match own(&column) {
                Some(own) => Transformed::yes(Expr::Column(own)),
                None => Transformed::no(Expr::Column(column)),
            },
            Expr::ScalarSubquery(subquery) => {
                Transformed::yes(Expr::ScalarSubquery(within(subquery)?))
            }
            Expr::Exists(exists) => Transformed::yes(Expr::Exists(Exists {
                subquery: within(exists.subquery)?,
                ..exists
            })),
            Expr::InSubquery(among) => Transformed::yes(Expr::InSubquery(InSubquery {
                subquery: within(among.subquery)?,
                ..among
            })),
            Expr::SetComparison(comparison) => {
                Transformed::yes(Expr::SetComparison(SetComparison {
                    subquery: within(comparison.subquery)?,
                    ..comparison
                }))
            }
            part => Transformed::no(part),
        })
    })?;
    Ok(condition.data)
}

/// A name of a column outside of a subquery under its own name in `d`.
fn outside(expr: Expr, own: impl Fn(&Column) -> Option<Column>) -> Transformed<Expr> {
    match expr {
        Expr::OuterReferenceColumn(field, column) => match own(&column) {
            Some(own) => Transformed::yes(Expr::OuterReferenceColumn(field, own)),
            None => Transformed::no(Expr::OuterReferenceColumn(field, column)),
        },
        other => Transformed::no(other),
    }
}
