//! Subqueries where DataFusion has none, computed by a projection below.
//!
//! ```text
//! Sort by f((SELECT … WHERE t.x = a.y))            Projection of a's columns
//!   a                                         →      Sort by computed
//!                                                       Projection of a's columns, f((SELECT …)) AS computed
//!                                                         a
//! ```
//!
//! DataFusion joins by subqueries in select lists and conditions. So this is done to what an aggregate or a window takes,
//! to what is sorted by, to all of DISTINCT ON, to what is looked for by IN, ANY and ALL (which goes into a subquery of its
//! own), and to the conditions of joins ([`joins`]).
//!
//! Does not: grouping sets; LIMIT, in which PostgreSQL has no columns either.

mod joins;

use std::mem::take;
use std::sync::Arc;

use datafusion::common::tree_node::{Transformed, TreeNode, TreeNodeRecursion};
use datafusion::common::{Column, DFSchema, Result};
use datafusion::logical_expr::expr_rewriter::NamePreserver;
use datafusion::logical_expr::logical_plan::Subquery;
use datafusion::logical_expr::{
    Aggregate, Distinct, DistinctOn, Expr, LogicalPlan, LogicalPlanBuilder, Projection, Sort,
    SortExpr, Window,
};

use super::lateral_joins::{outer_columns, subquery_of};
use super::subquery_values::has_subquery;

/// The first word of the name of what is computed.
const COMPUTED: &str = "\u{1}computed";

/// The plan with subqueries in select lists and conditions only.
pub(crate) fn moved(plan: LogicalPlan) -> Result<LogicalPlan> {
    if !plan_has_subquery(&plan)? {
        return Ok(plan);
    }
    let mut below = Below::default();
    let plan = plan.transform_up_with_subqueries(|plan| match plan {
        LogicalPlan::Projection(_) | LogicalPlan::Filter(_) => below.of_operands(plan),
        LogicalPlan::Aggregate(aggregate) => below.of_aggregate(aggregate),
        LogicalPlan::Window(window) => below.of_window(window),
        LogicalPlan::Sort(sort) => below.of_sort(sort),
        LogicalPlan::Distinct(Distinct::On(distinct)) => below.of_distinct(distinct),
        LogicalPlan::Join(join) => below.of_join(join),
        other => Ok(Transformed::no(other)),
    })?;
    Ok(plan.data)
}

/// How many columns there are so far: each has a name of its own.
#[derive(Default)]
struct Below {
    columns: usize,
}

/// What one projection computes besides the columns of its input.
#[derive(Default)]
struct Computed(Vec<(Expr, Column)>);

impl Computed {
    fn is_empty(&self) -> bool {
        self.0.is_empty()
    }

    fn exprs(self) -> impl Iterator<Item = Expr> {
        self.0
            .into_iter()
            .map(|(expr, column)| expr.alias(column.name))
    }
}

impl Below {
    /// The column that an expression is computed in, the same for the same expression.
    fn column(&mut self, expr: Expr, computed: &mut Computed) -> Expr {
        let mut known = computed.0.iter();
        if let Some((_, column)) = known.find(|(other, _)| *other == expr) {
            return Expr::Column(column.clone());
        }
        self.columns += 1;
        let column = Column::from_name(format!("{COMPUTED} {}", self.columns));
        computed.0.push((expr, column.clone()));
        Expr::Column(column)
    }

    /// The same for what has a subquery in it.
    fn computed(&mut self, expr: Expr, computed: &mut Computed) -> Result<Transformed<Expr>> {
        Ok(match has_subquery(&expr)? {
            true => Transformed::yes(self.column(expr, computed)),
            false => Transformed::no(expr),
        })
    }

    /// A projection of the input's columns and of what is computed.
    fn project(&mut self, input: Arc<LogicalPlan>, computed: Computed) -> Result<LogicalPlan> {
        let columns = columns_of(&input).into_iter();
        let plan = LogicalPlanBuilder::from(Arc::unwrap_or_clone(input))
            .project(columns.chain(computed.exprs()))?
            .build()?;
        Ok(self.of_operands(plan)?.data)
    }

    /// Conditions and select lists: what IN, ANY and ALL look for.
    fn of_operands(&mut self, plan: LogicalPlan) -> Result<Transformed<LogicalPlan>> {
        let mut computed = Computed::default();
        let names = NamePreserver::new(&plan);
        let plan = plan.map_expressions(|expr| {
            let name = names.save(&expr);
            let expr = expr.transform_down(|part| match part {
                Expr::InSubquery(mut among) => {
                    let expr = self.computed(take(among.expr.as_mut()), &mut computed)?;
                    Ok(expr.update_data(|expr| {
                        *among.expr = expr;
                        Expr::InSubquery(among)
                    }))
                }
                Expr::SetComparison(mut comparison) => {
                    let expr = self.computed(take(comparison.expr.as_mut()), &mut computed)?;
                    Ok(expr.update_data(|expr| {
                        *comparison.expr = expr;
                        Expr::SetComparison(comparison)
                    }))
                }
                part => Ok(Transformed::no(part)),
            })?;
            Ok(expr.update_data(|expr| name.restore(expr)))
        })?;
        if computed.is_empty() {
            return Ok(plan);
        }
        let plan = plan.data;
        let columns = columns_of(&plan);
        let input = Arc::new(plan.inputs()[0].clone());
        let input = self.project(input, computed)?;
        let above = plan.with_new_exprs(plan.expressions(), vec![input])?;
        let above = match above {
            LogicalPlan::Filter(_) => only(above, columns)?,
            above => above,
        };
        Ok(Transformed::yes(above))
    }

    fn of_aggregate(&mut self, aggregate: Aggregate) -> Result<Transformed<LogicalPlan>> {
        let mut computed = Computed::default();
        let plan = LogicalPlan::Aggregate(aggregate);
        let names = NamePreserver::new(&plan);
        let plan = plan.map_expressions(|expr| {
            let name = names.save(&expr);
            let expr = match expr {
                Expr::GroupingSet(_) => Transformed::no(expr),
                expr if is_of(&expr, is_aggregate)? => {
                    self.arguments(expr, is_aggregate, &mut computed)?
                }
                expr => self.computed(expr, &mut computed)?,
            };
            Ok(expr.update_data(|expr| name.restore(expr)))
        })?;
        let LogicalPlan::Aggregate(aggregate) = plan.data else {
            return Ok(plan);
        };
        if computed.is_empty() {
            return Ok(Transformed::no(LogicalPlan::Aggregate(aggregate)));
        }
        let input = Arc::new(self.project(aggregate.input, computed)?);
        let above = Aggregate::try_new(input, aggregate.group_expr, aggregate.aggr_expr)?;
        Ok(Transformed::yes(LogicalPlan::Aggregate(above)))
    }

    fn of_window(&mut self, window: Window) -> Result<Transformed<LogicalPlan>> {
        let mut computed = Computed::default();
        let plan = LogicalPlan::Window(window);
        let names = NamePreserver::new(&plan);
        let columns = columns_of(&plan);
        let plan = plan.map_expressions(|expr| {
            let name = names.save(&expr);
            let expr = self.arguments(expr, is_window, &mut computed)?;
            Ok(expr.update_data(|expr| name.restore(expr)))
        })?;
        let LogicalPlan::Window(window) = plan.data else {
            return Ok(plan);
        };
        if computed.is_empty() {
            return Ok(Transformed::no(LogicalPlan::Window(window)));
        }
        let input = Arc::new(self.project(window.input, computed)?);
        let above = LogicalPlan::Window(Window::try_new(window.window_expr, input)?);
        Ok(Transformed::yes(only(above, columns)?))
    }

    /// An expression with columns in the place of what its functions take of subqueries.
    fn arguments(
        &mut self,
        expr: Expr,
        is_function: fn(&Expr) -> bool,
        computed: &mut Computed,
    ) -> Result<Transformed<Expr>> {
        expr.transform_down(|part| match is_function(&part) {
            true => part.map_children(|child| self.computed(child, computed)),
            false => Ok(Transformed::no(part)),
        })
    }

    fn of_distinct(&mut self, distinct: DistinctOn) -> Result<Transformed<LogicalPlan>> {
        let mut computed = Computed::default();
        let mut column = |expr| Ok(self.computed(expr, &mut computed)?.data);
        let names = distinct.schema.columns().into_iter();
        let select = distinct.select_expr.into_iter().zip(names);
        let select = select.map(|(expr, name)| match has_subquery(&expr)? {
            true => Ok(column(expr)?.alias_qualified(name.relation, name.name)),
            false => Ok(expr),
        });
        let select_expr = select.collect::<Result<Vec<_>>>()?;
        let on_expr = distinct.on_expr.into_iter().map(&mut column);
        let on_expr = on_expr.collect::<Result<Vec<_>>>()?;
        let sort_expr = distinct.sort_expr.map(|order| {
            let order = order.into_iter();
            let order = order.map(|by| Ok(SortExpr::new(column(by.expr)?, by.asc, by.nulls_first)));
            order.collect::<Result<Vec<_>>>()
        });
        let mut above = DistinctOn {
            select_expr,
            on_expr,
            sort_expr: sort_expr.transpose()?,
            ..distinct
        };
        let is_changed = !computed.is_empty();
        if is_changed {
            above.input = Arc::new(self.project(above.input, computed)?);
        }
        let above = LogicalPlan::Distinct(Distinct::On(above));
        Ok(match is_changed {
            true => Transformed::yes(above),
            false => Transformed::no(above),
        })
    }

    fn of_sort(&mut self, sort: Sort) -> Result<Transformed<LogicalPlan>> {
        let mut computed = Computed::default();
        let columns = columns_of(&sort.input);
        let (selected, order) = self.sorted_by(sort.expr, &sort.input, &mut computed)?;
        if computed.is_empty() {
            let sort = Sort {
                expr: order,
                ..sort
            };
            return Ok(Transformed::no(LogicalPlan::Sort(sort)));
        }
        let input = match selected {
            Some(Projection { expr, input, .. }) => {
                let rows = LogicalPlanBuilder::from(Arc::unwrap_or_clone(input));
                let rows = rows.project(expr.into_iter().chain(computed.exprs()))?;
                self.of_operands(rows.build()?)?.data
            }
            None => self.project(sort.input, computed)?,
        };
        let above = LogicalPlan::Sort(Sort {
            expr: order,
            input: Arc::new(input),
            fetch: sort.fetch,
        });
        Ok(Transformed::yes(only(above, columns)?))
    }

    /// What is sorted by, with columns for what is computed; and the select list that these have to be added to, because
    /// they are of its input.
    fn sorted_by(
        &mut self,
        order: Vec<SortExpr>,
        input: &LogicalPlan,
        computed: &mut Computed,
    ) -> Result<(Option<Projection>, Vec<SortExpr>)> {
        let selected = match input {
            LogicalPlan::Projection(selected) if is_of_input(&order, selected)? => {
                Some(selected.clone())
            }
            _ => None,
        };
        let order = order.into_iter().map(|by| {
            if !has_subquery(&by.expr)? {
                return Ok(by);
            }
            let expr = match &selected {
                Some(selected) => of_input(by.expr, selected)?,
                None => by.expr,
            };
            Ok(SortExpr::new(
                self.column(expr, computed),
                by.asc,
                by.nulls_first,
            ))
        });
        let order = order.collect::<Result<Vec<_>>>()?;
        Ok((selected, order))
    }
}

/// Whether something that is sorted by names a column below the select list that is not selected.
fn is_of_input(order: &[SortExpr], selected: &Projection) -> Result<bool> {
    for by in order {
        if !has_subquery(&by.expr)? {
            continue;
        }
        let is_below = |column: &Column| {
            !selected.schema.has_column(column) && selected.input.schema().has_column(column)
        };
        if named(&by.expr)?.iter().any(is_below) {
            return Ok(true);
        }
    }
    Ok(false)
}

/// An expression of a select list's columns as one of the list's input.
fn of_input(expr: Expr, selected: &Projection) -> Result<Expr> {
    let expr = expr.transform_up(|part| match part {
        Expr::Column(column) => {
            let place = selected.schema.maybe_index_of_column(&column);
            Ok(match place.map(|place| &selected.expr[place]) {
                Some(of_input) => Transformed::yes(of_input.clone().unalias()),
                None => Transformed::no(Expr::Column(column)),
            })
        }
        part => Ok(Transformed::no(part)),
    })?;
    Ok(expr.data)
}

/// The columns of the query around that an expression names, in its subqueries too.
fn named(expr: &Expr) -> Result<Vec<Column>> {
    let mut columns: Vec<Column> = expr.column_refs().into_iter().cloned().collect();
    for subquery in subqueries(expr)? {
        columns.extend(outer_columns(&subquery.subquery)?);
    }
    Ok(columns)
}

fn names_any_of(expr: &Expr, schema: &DFSchema) -> Result<bool> {
    let columns = named(expr)?;
    Ok(columns.iter().any(|column| schema.has_column(column)))
}

fn subqueries(expr: &Expr) -> Result<Vec<Subquery>> {
    let mut subqueries = Vec::new();
    expr.exists(|part| {
        subqueries.extend(subquery_of(part).cloned());
        Ok(false)
    })?;
    Ok(subqueries)
}

/// Most plans have none, and need not be looked through once more for each kind of node.
fn plan_has_subquery(plan: &LogicalPlan) -> Result<bool> {
    let mut has_some = false;
    plan.apply(|plan| {
        plan.apply_expressions(|expr| {
            has_some |= has_subquery(expr)?;
            Ok(TreeNodeRecursion::Continue)
        })
    })?;
    Ok(has_some)
}

fn is_of(expr: &Expr, is_function: fn(&Expr) -> bool) -> Result<bool> {
    expr.exists(|part| Ok(is_function(part)))
}

fn is_aggregate(expr: &Expr) -> bool {
    matches!(expr, Expr::AggregateFunction(_))
}

fn is_window(expr: &Expr) -> bool {
    matches!(expr, Expr::WindowFunction(_))
}

fn columns_of(plan: &LogicalPlan) -> Vec<Expr> {
    let columns = plan.schema().columns().into_iter();
    columns.map(Expr::from).collect()
}

/// The plan without what was computed for it.
fn only(plan: LogicalPlan, columns: Vec<Expr>) -> Result<LogicalPlan> {
    LogicalPlanBuilder::from(plan).project(columns)?.build()
}
