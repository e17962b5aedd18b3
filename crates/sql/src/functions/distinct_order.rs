//! `string_agg(DISTINCT …)` and `array_agg(DISTINCT …)` in the order of their values.
//!
//! PostgreSQL finds out what is distinct by sorting, and clients have come to rely on that. An ORDER BY that is written stays, and
//! is one of what the aggregate is given, or an error (42P10).
//!
//! DataFusion (55.2) lets aggregates of one SELECT share an order, of which one may be the reverse; but those of distinct
//! values, told to come in reverse, come in the same order ([`NotReversed`]).

use std::sync::Arc;

use datafusion::arrow::datatypes::{DataType, FieldRef};
use datafusion::common::Result;
use datafusion::logical_expr::expr::Sort;
use datafusion::logical_expr::function::{AccumulatorArgs, StateFieldsArgs};
use datafusion::logical_expr::planner::{ExprPlanner, PlannerResult, RawAggregateExpr};
use datafusion::logical_expr::utils::AggregateOrderSensitivity;
use datafusion::logical_expr::{
    Accumulator, AggregateUDF, AggregateUDFImpl, Expr, ReversedUDAF, Signature,
};

use crate::error::{SqlError, code};

/// Aggregates whose results show the order of their values.
const ORDERED: [&str; 2] = ["array_agg", "string_agg"];

/// Gives them an order. Stands before [`super::cast_names::CastNames`], which renames arguments.
#[derive(Debug)]
pub(crate) struct DistinctOrder;

impl ExprPlanner for DistinctOrder {
    fn plan_aggregate(
        &self,
        mut expr: RawAggregateExpr,
    ) -> Result<PlannerResult<RawAggregateExpr>> {
        let is_given = |sort: &Sort| expr.args.contains(&sort.expr);
        if expr.distinct && !expr.order_by.iter().all(is_given) {
            let message =
                "in an aggregate with DISTINCT, ORDER BY expressions must appear in argument list";
            return Err(SqlError::new(code::INVALID_COLUMN_REFERENCE, message).into());
        }
        if expr.distinct && ORDERED.contains(&expr.func.name()) {
            if expr.order_by.is_empty() {
                let ascending_nulls_last = |value: &Expr| value.clone().sort(true, false);
                let order = expr.args.first().map(ascending_nulls_last);
                expr.order_by.extend(order);
            }
            expr.func = Arc::new(AggregateUDF::from(NotReversed(expr.func)));
        }
        Ok(PlannerResult::Original(expr))
    }
}

/// An aggregate that keeps its order to itself.
#[derive(Debug, PartialEq, Eq, Hash)]
struct NotReversed(Arc<AggregateUDF>);

impl AggregateUDFImpl for NotReversed {
    fn name(&self) -> &str {
        self.0.name()
    }

    fn signature(&self) -> &Signature {
        self.0.signature()
    }

    fn coerce_types(&self, arguments: &[DataType]) -> Result<Vec<DataType>> {
        self.0.coerce_types(arguments)
    }

    fn return_type(&self, arguments: &[DataType]) -> Result<DataType> {
        self.0.return_type(arguments)
    }

    fn return_field(&self, arguments: &[FieldRef]) -> Result<FieldRef> {
        self.0.return_field(arguments)
    }

    fn accumulator(&self, args: AccumulatorArgs) -> Result<Box<dyn Accumulator>> {
        self.0.accumulator(args)
    }

    fn state_fields(&self, args: StateFieldsArgs) -> Result<Vec<FieldRef>> {
        self.0.state_fields(args)
    }

    fn order_sensitivity(&self) -> AggregateOrderSensitivity {
        self.0.order_sensitivity()
    }

    fn with_beneficial_ordering(
        self: Arc<Self>,
        is_given: bool,
    ) -> Result<Option<Arc<dyn AggregateUDFImpl>>> {
        let function = AggregateUDF::clone(&self.0).with_beneficial_ordering(is_given)?;
        Ok(function.map(|function| Arc::new(Self(Arc::new(function))) as _))
    }

    fn reverse_expr(&self) -> ReversedUDAF {
        ReversedUDAF::NotSupported
    }
}
