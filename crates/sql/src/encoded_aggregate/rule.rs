//! Finds the aggregates that are computed on encoded cells.

use std::sync::Arc;

use datafusion::arrow::datatypes::{DataType, SchemaRef};
use datafusion::common::Result;
use datafusion::common::tree_node::{Transformed, TransformedResult, TreeNode};
use datafusion::config::ConfigOptions;
use datafusion::physical_expr::PhysicalExpr;
use datafusion::physical_expr::aggregate::AggregateFunctionExpr;
use datafusion::physical_expr::expressions::{Column, Literal};
use datafusion::physical_optimizer::PhysicalOptimizerRule;
use datafusion::physical_plan::aggregates::{AggregateExec, AggregateMode};
use datafusion::physical_plan::projection::ProjectionExec;
use datafusion::physical_plan::{ExecutionPlan, InputOrderMode};
use lsm::Form;

use super::aggregation::{Aggregate, Aggregation, Way};
use super::arithmetic::Arithmetic;
use super::group_ids::is_groupable;
use super::operator::EncodedAggregateExec;
use crate::functions::aggregates::{AVERAGE, SUM};
use crate::table::scan::ScanExec;

/// Grouping by more columns rarely leaves few groups.
const COLUMNS_MAX: usize = 4;

/// The rule. Has to come last: it looks for scans that have their conditions.
#[derive(Debug)]
pub(crate) struct EncodedAggregates;

impl PhysicalOptimizerRule for EncodedAggregates {
    fn optimize(
        &self,
        plan: Arc<dyn ExecutionPlan>,
        _: &ConfigOptions,
    ) -> Result<Arc<dyn ExecutionPlan>> {
        let replaced = plan.transform_up(|plan| {
            Ok(match encoded(&plan)? {
                Some(encoded) => Transformed::yes(Arc::new(encoded) as Arc<dyn ExecutionPlan>),
                None => Transformed::no(plan),
            })
        });
        replaced.data()
    }

    fn name(&self) -> &'static str {
        "encoded_aggregates"
    }

    fn schema_check(&self) -> bool {
        true
    }
}

/// The operator that takes an aggregate's place, if there is one.
fn encoded(plan: &Arc<dyn ExecutionPlan>) -> Result<Option<EncodedAggregateExec>> {
    let Some(aggregate) = plan.downcast_ref::<AggregateExec>() else {
        return Ok(None);
    };
    let Some(input) = Input::of(aggregate) else {
        return Ok(None);
    };
    let Some(aggregation) = aggregation(aggregate, &input)? else {
        return Ok(None);
    };
    let operator = EncodedAggregateExec::new(Arc::clone(plan), input.scan, aggregation);
    Ok(Some(operator))
}

/// A scan, and what is between it and the aggregate.
struct Input {
    scan: Arc<dyn ExecutionPlan>,
    projection: Option<Vec<Arc<dyn PhysicalExpr>>>,
}

impl Input {
    fn of(aggregate: &AggregateExec) -> Option<Self> {
        let input = aggregate.input();
        let (scan, projection) = match input.downcast_ref::<ProjectionExec>() {
            Some(projection) => {
                let columns = projection.expr().iter();
                let columns = columns.map(|column| Arc::clone(&column.expr)).collect();
                (projection.input(), Some(columns))
            }
            None => (input, None),
        };
        let is_whole = scan.downcast_ref::<ScanExec>()?;
        (!is_whole.is_limited()).then(|| Self {
            scan: Arc::clone(scan),
            projection,
        })
    }

    /// An expression of the aggregate as one over the scan's columns.
    fn over_scan(&self, expression: &Arc<dyn PhysicalExpr>) -> Result<Arc<dyn PhysicalExpr>> {
        let Some(projection) = &self.projection else {
            return Ok(Arc::clone(expression));
        };
        let replaced = Arc::clone(expression).transform_up(|part| {
            Ok(match part.downcast_ref::<Column>() {
                Some(column) => Transformed::yes(Arc::clone(&projection[column.index()])),
                None => Transformed::no(part),
            })
        });
        replaced.data()
    }
}

fn aggregation(aggregate: &AggregateExec, input: &Input) -> Result<Option<Aggregation>> {
    let schema = input.scan.schema();
    let Some(group_by) = group_by(aggregate, input, &schema)? else {
        return Ok(None);
    };
    let is_first_phase = *aggregate.mode() == AggregateMode::Partial
        && *aggregate.input_order_mode() == InputOrderMode::Linear
        && aggregate.limit_options().is_none()
        && aggregate.filter_expr().iter().all(Option::is_none)
        && aggregate.dynamic_expressions_produced().is_empty();
    if !is_first_phase {
        return Ok(None);
    }
    let mut arithmetic = Arithmetic::default();
    let mut aggregates = Vec::with_capacity(aggregate.aggr_expr().len());
    for function in aggregate.aggr_expr() {
        if function.is_distinct()
            || !function.order_bys().is_empty()
            || !function.groups_accumulator_supported()
        {
            return Ok(None);
        }
        let arguments = function.expressions();
        let arguments = arguments.iter().map(|argument| input.over_scan(argument));
        let arguments = arguments.collect::<Result<Vec<_>>>()?;
        aggregates.push(Aggregate {
            way: way(function, &arguments, &mut arithmetic, &schema),
            function: Arc::clone(function),
            arguments,
        });
    }
    let is_worth_it = aggregates.iter().any(|it| it.way != Way::Arrays);
    let forms = forms(&schema, &group_by, &arithmetic);
    Ok(is_worth_it.then(|| Aggregation {
        forms,
        schema,
        result: aggregate.schema(),
        group_by,
        aggregates,
        arithmetic,
    }))
}

/// The scan's columns by which rows are grouped, if they are such.
fn group_by(
    aggregate: &AggregateExec,
    input: &Input,
    schema: &SchemaRef,
) -> Result<Option<Vec<usize>>> {
    let groups = aggregate.group_expr();
    if !groups.is_single() && !groups.is_true_no_grouping() || groups.expr().len() > COLUMNS_MAX {
        return Ok(None);
    }
    let mut columns = Vec::new();
    for (expression, _) in groups.expr() {
        let expression = input.over_scan(expression)?;
        match expression.downcast_ref::<Column>().map(Column::index) {
            Some(column) if is_groupable(schema.field(column).data_type()) => columns.push(column),
            _ => return Ok(None),
        }
    }
    Ok(Some(columns))
}

fn way(
    function: &AggregateFunctionExpr,
    arguments: &[Arc<dyn PhysicalExpr>],
    arithmetic: &mut Arithmetic,
    schema: &SchemaRef,
) -> Way {
    let [argument] = arguments else {
        return Way::Arrays;
    };
    match function.fun().name() {
        "count" if is_never_null(argument, schema) => Way::Rows,
        SUM | AVERAGE => {
            let Ok(DataType::Decimal128(_, scale)) = argument.data_type(schema) else {
                return Way::Arrays;
            };
            // What is compiled of an expression that turns out to have other parts does no harm.
            let register = arithmetic.compile(argument, schema);
            register.map_or(Way::Arrays, |register| Way::Sums { register, scale })
        }
        _ => Way::Arrays,
    }
}

fn is_never_null(argument: &Arc<dyn PhysicalExpr>, schema: &SchemaRef) -> bool {
    let literal = argument.downcast_ref::<Literal>();
    match (literal, argument.downcast_ref::<Column>()) {
        (Some(literal), _) => !literal.value().is_null(),
        (None, Some(column)) => !schema.field(column.index()).is_nullable(),
        (None, None) => false,
    }
}

/// Numbers for the arithmetic and integer groups, codes for texts that rows are grouped by.
fn forms(schema: &SchemaRef, group_by: &[usize], arithmetic: &Arithmetic) -> Vec<Form> {
    let mut forms = vec![Form::Array; schema.fields().len()];
    for &column in group_by {
        forms[column] = match schema.field(column).data_type() {
            DataType::Utf8 => Form::Codes,
            _ => Form::Integers,
        };
    }
    for column in arithmetic.columns() {
        forms[column] = Form::Integers;
    }
    forms
}
