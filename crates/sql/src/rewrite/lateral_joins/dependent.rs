//! A subquery for all values of its outer columns at once.
//!
//! [`Domain::dependent`] takes a plan that names outer columns and gives one that names none. It has the plan's columns and
//! those of the domain; its rows are, for each row of the domain, those that the plan has for it:
//!
//! ```text
//! Filter, Projection, Unnest, Window       of the input's; windows are of one row of the domain each
//! Aggregate, Distinct                      groups are of one row of the domain each; an aggregate of no rows is joined back
//! Limit                                    row numbers for each row of the domain
//! Union                                    of the inputs' each
//! Join                                     the domain goes to the side that names columns; to both: joined by it, too
//! what names no outer column               cross join with the domain
//! ```

use std::sync::Arc;

use datafusion::arrow::datatypes::DataType;
use datafusion::common::tree_node::{Transformed, TreeNode, TreeNodeRecursion};
use datafusion::common::{Column, JoinType, Result, ScalarValue, not_impl_err};
use datafusion::logical_expr::expr::{WindowFunction, WindowFunctionDefinition};
use datafusion::logical_expr::logical_plan::Subquery;
use datafusion::logical_expr::{
    Aggregate, BinaryExpr, Distinct, DistinctOn, Expr, ExprFunctionExt, Join, Limit, LogicalPlan,
    LogicalPlanBuilder, Operator, SortExpr, Window, WindowFrame, cast, lit, when,
};

use super::once;
use crate::functions::window_counts::row_number;

/// The number of a row among those of one row of the domain.
const NUMBER: &str = "\u{1}number";
/// Whether an aggregate had rows.
const FOUND: &str = "\u{1}found";
/// Stands behind the names of the domain's columns, where it is joined with itself.
const AGAIN: &str = " again";

/// The values that a subquery is asked for.
pub(super) struct Domain {
    /// Has a row for each, and `kept` columns.
    pub(super) plan: LogicalPlan,
    /// Outer columns, and those of the plan that have their values.
    pub(super) named: Vec<(Column, Column)>,
    /// Columns that go with the subquery's rows.
    pub(super) kept: Vec<Column>,
}

/// The columns that a plan names and has not itself, in subqueries of expressions too. What such a subquery, or the right side of a lateral
/// join, names of the plan around it is the plan's own, even if another table outside is called the same:
///
/// ```text
/// t, (SELECT count(*) FROM t WHERE EXISTS (SELECT FROM o WHERE o.x = t.x))      names nothing of the first t
/// ```
pub(in crate::rewrite) fn outer_columns(plan: &LogicalPlan) -> Result<Vec<Column>> {
    let mut columns = Vec::new();
    plan.apply(|plan| {
        if let LogicalPlan::Join(join) = plan {
            let named = outer_columns(&join.right)?.into_iter();
            columns.extend(named.filter(|column| !join.left.schema().has_column(column)));
            columns.extend(outer_columns(&join.left)?);
        }
        let inputs = plan.inputs();
        let is_own = |column: &Column| inputs.iter().any(|input| input.schema().has_column(column));
        plan.apply_expressions(|expr| {
            expr.apply(|expr| {
                if let Expr::OuterReferenceColumn(_, column) = expr {
                    columns.push(column.clone());
                }
                if let Some(subquery) = subquery_of(expr) {
                    let named = outer_columns(&subquery.subquery)?.into_iter();
                    columns.extend(named.filter(|column| !is_own(column)));
                }
                Ok(TreeNodeRecursion::Continue)
            })
        })?;
        Ok(match plan {
            LogicalPlan::Join(_) => TreeNodeRecursion::Jump,
            _ => TreeNodeRecursion::Continue,
        })
    })?;
    Ok(once(columns))
}

/// Whether anything in a plan is told from outside of it, or of a part of it.
pub(super) fn has_outer_columns(plan: &LogicalPlan) -> Result<bool> {
    let is_outer = |expr: &Expr| Ok(matches!(expr, Expr::OuterReferenceColumn(..)));
    let mut has_some = false;
    plan.apply_with_subqueries(|plan| {
        plan.apply_expressions(|expr| {
            has_some |= expr.exists(is_outer)?;
            Ok(TreeNodeRecursion::Continue)
        })
    })?;
    Ok(has_some)
}

/// The subquery that an expression is, or compares with.
pub(in crate::rewrite) fn subquery_of(expr: &Expr) -> Option<&Subquery> {
    match expr {
        Expr::ScalarSubquery(subquery) => Some(subquery),
        Expr::Exists(exists) => Some(&exists.subquery),
        Expr::InSubquery(within) => Some(&within.subquery),
        Expr::SetComparison(comparison) => Some(&comparison.subquery),
        _ => None,
    }
}

impl Domain {
    /// The plan for every row of the domain.
    pub(super) fn dependent(&self, plan: LogicalPlan) -> Result<LogicalPlan> {
        if !self.is_named_by(&plan)? {
            return match plan {
                LogicalPlan::EmptyRelation(empty) if empty.produce_one_row => Ok(self.plan.clone()),
                plan => LogicalPlanBuilder::from(self.plan.clone())
                    .cross_join(plan)?
                    .build(),
            };
        }
        let names = plan.schema().columns();
        match plan {
            LogicalPlan::Filter(filter) => {
                let input = self.dependent(Arc::unwrap_or_clone(filter.input))?;
                let condition = self.own(filter.predicate)?;
                LogicalPlanBuilder::from(input).filter(condition)?.build()
            }
            LogicalPlan::Projection(projection) => {
                let input = self.dependent(Arc::unwrap_or_clone(projection.input))?;
                let exprs = self.own_all(projection.expr)?;
                self.renamed(input, exprs, names)
            }
            LogicalPlan::Aggregate(aggregate) => self.aggregate(aggregate, names),
            LogicalPlan::Window(window) => self.window(window, names),
            // The order of rows within a join means nothing.
            LogicalPlan::Sort(sort) if sort.fetch.is_none() => {
                self.dependent(Arc::unwrap_or_clone(sort.input))
            }
            LogicalPlan::Limit(limit) => self.limit(limit, names),
            LogicalPlan::Distinct(Distinct::All(input)) => {
                let input = self.dependent(Arc::unwrap_or_clone(input))?;
                let columns = names.iter().cloned().map(Expr::from).collect();
                let rows = self.renamed(input, columns, names)?;
                LogicalPlanBuilder::from(rows).distinct()?.build()
            }
            LogicalPlan::Distinct(Distinct::On(distinct)) => self.distinct_on(distinct),
            LogicalPlan::Join(join) => self.join(join, names),
            LogicalPlan::Union(union) => {
                let inputs = union.inputs.into_iter().map(|input| {
                    let columns = input.schema().columns().into_iter();
                    let columns = columns.map(Expr::from).collect();
                    Ok((self.dependent(Arc::unwrap_or_clone(input))?, columns))
                });
                self.union(inputs.collect::<Result<_>>()?, names)
            }
            LogicalPlan::SubqueryAlias(alias) => {
                let columns = alias.input.schema().columns();
                let input = self.dependent(Arc::unwrap_or_clone(alias.input))?;
                let columns = columns.into_iter().map(Expr::from).collect();
                self.renamed(input, columns, names)
            }
            LogicalPlan::Subquery(subquery) => {
                self.dependent(Arc::unwrap_or_clone(subquery.subquery))
            }
            LogicalPlan::Unnest(unnest) => {
                let input = self.dependent(Arc::unwrap_or_clone(unnest.input))?;
                LogicalPlanBuilder::from(input)
                    .unnest_columns_with_options(unnest.exec_columns, unnest.options)?
                    .build()
            }
            _ => not_impl_err!("this subquery in FROM cannot name columns of other tables"),
        }
    }

    fn is_named_by(&self, plan: &LogicalPlan) -> Result<bool> {
        let columns = outer_columns(plan)?;
        Ok(columns.iter().any(|column| self.of(column).is_some()))
    }

    /// Whether an expression names columns of the domain.
    fn is_named_in(&self, expr: Option<&Expr>) -> Result<bool> {
        let Some(expr) = expr else {
            return Ok(false);
        };
        Ok(self.own(expr.clone())? != *expr)
    }

    fn of(&self, column: &Column) -> Option<&Column> {
        let mut named = self.named.iter();
        named.find(|(outer, _)| outer == column).map(|(_, own)| own)
    }

    fn kept(&self) -> impl Iterator<Item = Expr> {
        self.kept.iter().cloned().map(Expr::from)
    }

    /// An expression that names the domain's columns instead of outer ones.
    fn own(&self, expr: Expr) -> Result<Expr> {
        let expr = expr.transform_up(|expr| match expr {
            Expr::OuterReferenceColumn(field, column) => Ok(match self.of(&column) {
                Some(own) => Transformed::yes(Expr::Column(own.clone())),
                None => Transformed::no(Expr::OuterReferenceColumn(field, column)),
            }),
            Expr::ScalarSubquery(subquery) => {
                let subquery = self.in_subquery(subquery)?;
                Ok(Transformed::yes(Expr::ScalarSubquery(subquery)))
            }
            Expr::Exists(mut exists) => {
                exists.subquery = self.in_subquery(exists.subquery)?;
                Ok(Transformed::yes(Expr::Exists(exists)))
            }
            Expr::InSubquery(mut within) => {
                within.subquery = self.in_subquery(within.subquery)?;
                Ok(Transformed::yes(Expr::InSubquery(within)))
            }
            other => Ok(Transformed::no(other)),
        })?;
        Ok(expr.data)
    }

    fn own_all(&self, exprs: Vec<Expr>) -> Result<Vec<Expr>> {
        exprs.into_iter().map(|expr| self.own(expr)).collect()
    }

    /// A subquery of an expression: what was two levels out of it is one level out now.
    fn in_subquery(&self, subquery: Subquery) -> Result<Subquery> {
        let plan = Arc::unwrap_or_clone(subquery.subquery);
        let plan = plan.transform_up_with_subqueries(|plan| {
            plan.map_expressions(|expr| {
                expr.transform_up(|expr| match expr {
                    Expr::OuterReferenceColumn(field, column) => Ok(match self.of(&column) {
                        Some(own) => {
                            Transformed::yes(Expr::OuterReferenceColumn(field, own.clone()))
                        }
                        None => Transformed::no(Expr::OuterReferenceColumn(field, column)),
                    }),
                    other => Ok(Transformed::no(other)),
                })
            })
        })?;
        Ok(Subquery {
            outer_ref_columns: plan.data.all_out_ref_exprs(),
            subquery: Arc::new(plan.data),
            spans: subquery.spans,
        })
    }

    /// A projection to expressions under names, and the domain's columns.
    fn renamed(
        &self,
        input: LogicalPlan,
        exprs: Vec<Expr>,
        names: Vec<Column>,
    ) -> Result<LogicalPlan> {
        let named = exprs.into_iter().zip(names).map(|(expr, name)| match expr {
            Expr::Column(column) if column == name => Expr::Column(column),
            expr => expr.alias_qualified(name.relation, name.name),
        });
        LogicalPlanBuilder::from(input)
            .project(named.chain(self.kept()))?
            .build()
    }

    fn aggregate(&self, aggregate: Aggregate, names: Vec<Column>) -> Result<LogicalPlan> {
        let is_grouped = !aggregate.group_expr.is_empty();
        if aggregate
            .group_expr
            .iter()
            .any(|expr| matches!(expr, Expr::GroupingSet(_)))
        {
            return not_impl_err!("grouping sets in a subquery that names columns of other tables");
        }
        let input = self.dependent(Arc::unwrap_or_clone(aggregate.input))?;
        let keys = self.own_all(aggregate.group_expr)?;
        let values = self.own_all(aggregate.aggr_expr)?;
        let groups = LogicalPlanBuilder::from(input)
            .aggregate(keys.clone().into_iter().chain(self.kept()), values.clone())?
            .build()?;
        let columns = groups.schema().columns();
        let (keys, rest) = columns.split_at(keys.len());
        let results = keys.iter().chain(&rest[self.kept.len()..]);
        let results = results.cloned().map(Expr::from).collect();
        if is_grouped {
            return self.renamed(groups, results, names);
        }
        let groups = self.renamed(groups, results, names.clone())?;
        self.with_empty_groups(groups, &values, names)
    }

    /// Aggregates without groups have a row for each row of the domain, also where there was nothing to aggregate.
    fn with_empty_groups(
        &self,
        groups: LogicalPlan,
        values: &[Expr],
        names: Vec<Column>,
    ) -> Result<LogicalPlan> {
        let columns = names.iter().cloned().map(Expr::from);
        let again = self.kept.iter().map(again);
        let kept_again = self
            .kept()
            .zip(again)
            .map(|(column, again)| column.alias(again.name));
        let found = [lit(true).alias(FOUND)];
        let groups = LogicalPlanBuilder::from(groups)
            .project(columns.chain(kept_again).chain(found))?
            .build()?;
        let all = LogicalPlanBuilder::from(self.plan.clone())
            .join_on(groups, JoinType::Left, self.is_same_row())?
            .build()?;
        let results = names.iter().zip(values).map(|(name, value)| {
            let column = Expr::from(name.clone());
            let (_, field) = all.schema().qualified_field_from_column(name)?;
            let of_nothing = of_nothing(value, field.data_type())?;
            if of_nothing.is_null() {
                return Ok(column);
            }
            when(
                Expr::from(Column::from_name(FOUND)).is_null(),
                lit(of_nothing),
            )
            .otherwise(column)
        });
        let results = results.collect::<Result<_>>()?;
        self.renamed(all, results, names)
    }

    /// The condition that two rows are of one row of the domain.
    fn is_same_row(&self) -> impl Iterator<Item = Expr> {
        self.kept.iter().map(|column| {
            let (left, right) = (Expr::from(column.clone()), Expr::from(again(column)));
            let op = Operator::IsNotDistinctFrom;
            Expr::BinaryExpr(BinaryExpr::new(Box::new(left), op, Box::new(right)))
        })
    }

    fn window(&self, window: Window, names: Vec<Column>) -> Result<LogicalPlan> {
        let input_columns = window.input.schema().columns();
        let input = self.dependent(Arc::unwrap_or_clone(window.input))?;
        let before = input.schema().fields().len();
        let exprs = self.own_all(window.window_expr)?.into_iter();
        let exprs = exprs.map(|expr| {
            let expr = expr.transform_up(|expr| match expr {
                Expr::WindowFunction(mut function) => {
                    function.params.partition_by.extend(self.kept());
                    Ok(Transformed::yes(Expr::WindowFunction(function)))
                }
                other => Ok(Transformed::no(other)),
            })?;
            Ok(expr.data)
        });
        let exprs = exprs.collect::<Result<Vec<_>>>()?;
        let rows = LogicalPlanBuilder::from(input).window(exprs)?.build()?;
        let computed = rows.schema().columns().split_off(before);
        let columns = input_columns.into_iter().chain(computed);
        let columns = columns.map(Expr::from).collect();
        self.renamed(rows, columns, names)
    }

    fn limit(&self, limit: Limit, names: Vec<Column>) -> Result<LogicalPlan> {
        let sorted = Arc::unwrap_or_clone(limit.input);
        // The planner projects again where it orders by what is not selected.
        let (sorted, exprs) = match sorted {
            LogicalPlan::Projection(projection)
                if matches!(projection.input.as_ref(), LogicalPlan::Sort(_)) =>
            {
                (Arc::unwrap_or_clone(projection.input), projection.expr)
            }
            other => (other, names.iter().cloned().map(Expr::from).collect()),
        };
        let (rows, order) = match sorted {
            LogicalPlan::Sort(sort) if sort.fetch.is_none() => {
                (Arc::unwrap_or_clone(sort.input), sort.expr)
            }
            other => (other, Vec::new()),
        };
        let rows = self.dependent(rows)?;
        let order = order.into_iter().map(|by| {
            let expr = self.own(by.expr)?;
            Ok(SortExpr::new(expr, by.asc, by.nulls_first))
        });
        let order = order.collect::<Result<Vec<_>>>()?;
        let number = WindowFunction::new(
            WindowFunctionDefinition::WindowUDF(Arc::new(row_number())),
            Vec::new(),
        );
        let frame = WindowFrame::new((!order.is_empty()).then_some(false));
        let number = Expr::from(number)
            .partition_by(self.kept().collect())
            .order_by(order)
            .window_frame(frame)
            .build()?;
        let rows = LogicalPlanBuilder::from(rows).window([number.alias(NUMBER)])?;
        let number = Expr::from(Column::from_name(NUMBER));
        let bound = |expr: &Expr| cast(expr.clone(), DataType::Int64);
        let skipped = limit.skip.as_deref().map(bound);
        let is_null = |expr: &Expr| matches!(expr, Expr::Literal(value, _) if value.is_null());
        let fetched = limit
            .fetch
            .as_deref()
            .filter(|expr| !is_null(expr))
            .map(bound);
        let last = match (&skipped, fetched) {
            (Some(skipped), Some(fetched)) => Some(skipped.clone() + fetched),
            (None, last) | (Some(_), last @ None) => last,
        };
        let conditions = skipped
            .map(|skipped| number.clone().gt(skipped))
            .into_iter();
        let conditions = conditions.chain(last.map(|last| number.clone().lt_eq(last)));
        let rows = match conditions.reduce(Expr::and) {
            Some(condition) => rows.filter(condition)?,
            None => rows,
        };
        self.renamed(rows.build()?, self.own_all(exprs)?, names)
    }

    fn distinct_on(&self, distinct: DistinctOn) -> Result<LogicalPlan> {
        let input = self.dependent(Arc::unwrap_or_clone(distinct.input))?;
        let on = self.kept().chain(self.own_all(distinct.on_expr)?).collect();
        let names = distinct.schema.columns().into_iter();
        let select = self.own_all(distinct.select_expr)?.into_iter().zip(names);
        let select = select.map(|(expr, name)| expr.alias_qualified(name.relation, name.name));
        let select = select.chain(self.kept()).collect();
        let order = distinct.sort_expr.map(|order| {
            let own = order.into_iter().map(|by| {
                let expr = self.own(by.expr)?;
                Ok(SortExpr::new(expr, by.asc, by.nulls_first))
            });
            let kept = self.kept().map(|column| Ok(column.sort(true, false)));
            kept.chain(own).collect::<Result<Vec<_>>>()
        });
        LogicalPlanBuilder::from(input)
            .distinct_on(on, select, order.transpose()?)?
            .build()
    }

    fn join(&self, join: Join, names: Vec<Column>) -> Result<LogicalPlan> {
        let left_names = self.is_named_by(&join.left)?;
        let right_names = self.is_named_by(&join.right)?;
        let condition_names = self.is_named_in(join.filter.as_ref())?;
        let on = join
            .on
            .iter()
            .map(|(left, right)| left.clone().eq(right.clone()));
        let conditions: Vec<Expr> = on.chain(join.filter.clone()).collect();
        let conditions = self.own_all(conditions)?;
        let join_type = join.join_type;
        // What keeps rows that find none has to have the domain.
        let (keeps_left, keeps_right) = match join_type {
            JoinType::Inner => (false, false),
            JoinType::Left | JoinType::LeftSemi | JoinType::LeftAnti | JoinType::LeftMark => {
                (true, false)
            }
            JoinType::Right | JoinType::RightSemi | JoinType::RightAnti | JoinType::RightMark => {
                (false, true)
            }
            JoinType::Full => {
                return not_impl_err!("a full join that names columns of other tables");
            }
        };
        let to_left = left_names || keeps_left || (condition_names && !right_names && !keeps_right);
        let to_right = right_names || keeps_right;
        let left = Arc::unwrap_or_clone(join.left);
        let right = Arc::unwrap_or_clone(join.right);
        let left = if to_left { self.dependent(left)? } else { left };
        let right = if to_right {
            self.dependent(right)?
        } else {
            right
        };
        let (left, right, same_row) = match (to_left && to_right, keeps_right) {
            (false, _) => (left, right, Vec::new()),
            (true, false) => (left, self.kept_again(right)?, self.is_same_row().collect()),
            (true, true) => (self.kept_again(left)?, right, self.is_same_row().collect()),
        };
        let conditions = same_row.into_iter().chain(conditions);
        let joined = LogicalPlanBuilder::from(left)
            .join_on(right, join_type, conditions)?
            .build()?;
        let columns = names.iter().cloned().map(Expr::from).collect();
        self.renamed(joined, columns, names)
    }

    /// A side of a join with other names for the domain's columns.
    fn kept_again(&self, side: LogicalPlan) -> Result<LogicalPlan> {
        let columns = side.schema().columns().into_iter();
        let columns = columns.map(|column| match self.kept.contains(&column) {
            true => {
                let again = again(&column);
                Expr::from(column).alias(again.name)
            }
            false => Expr::from(column),
        });
        LogicalPlanBuilder::from(side).project(columns)?.build()
    }

    /// All rows of several plans, each with its expressions.
    fn union(
        &self,
        inputs: Vec<(LogicalPlan, Vec<Expr>)>,
        names: Vec<Column>,
    ) -> Result<LogicalPlan> {
        let bare = || names.iter().map(|name| Column::from_name(&name.name));
        let inputs = inputs.into_iter();
        let inputs = inputs.map(|(rows, exprs)| self.renamed(rows, exprs, bare().collect()));
        let all = inputs
            .reduce(|all, rows| LogicalPlanBuilder::from(all?).union(rows?)?.build())
            .expect("a union is of some rows")?;
        let columns = bare().map(Expr::from).collect();
        self.renamed(all, columns, names)
    }
}

/// The second one of two columns of the domain.
fn again(column: &Column) -> Column {
    Column::from_name(format!("{}{AGAIN}", column.name))
}

/// What an aggregate gives for no rows.
fn of_nothing(aggregate: &Expr, data_type: &DataType) -> Result<ScalarValue> {
    match aggregate {
        Expr::Alias(alias) => of_nothing(&alias.expr, data_type),
        Expr::AggregateFunction(function) => function.func.default_value(data_type),
        _ => ScalarValue::try_from(data_type),
    }
}
