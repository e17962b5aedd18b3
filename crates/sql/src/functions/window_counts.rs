//! `row_number`, `rank`, `dense_rank` and `ntile` in PostgreSQL's types.
//!
//! DataFusion counts in unsigned 64-bit numbers, which PostgreSQL does not have: what is
//! computed with them would become numeric. The functions are DataFusion's; their results are
//! cast.

use std::ops::Range;
use std::sync::Arc;

use datafusion::arrow::array::ArrayRef;
use datafusion::arrow::compute::{SortOptions, cast};
use datafusion::arrow::datatypes::{DataType, Field, FieldRef};
use datafusion::common::{Result, ScalarValue};
use datafusion::functions_window::{ntile, rank, row_number};
use datafusion::logical_expr::function::{
    ExpressionArgs, PartitionEvaluatorArgs, WindowUDFFieldArgs,
};
use datafusion::logical_expr::window_state::WindowAggState;
use datafusion::logical_expr::{
    LimitEffect, PartitionEvaluator, ReversedUDWF, Signature, WindowUDF, WindowUDFImpl,
};
use datafusion::physical_expr::PhysicalExpr;

/// The functions, each with the type of its results.
pub(crate) fn functions() -> Vec<WindowUDF> {
    vec![
        signed(rank::dense_rank_udwf(), DataType::Int64),
        signed(ntile::ntile_udwf(), DataType::Int32),
        rank(),
        row_number(),
    ]
}

/// The number of a row in its partition.
pub(crate) fn row_number() -> WindowUDF {
    signed(row_number::row_number_udwf(), DataType::Int64)
}

/// The number of the first row that is sorted like a row.
pub(crate) fn rank() -> WindowUDF {
    signed(rank::rank_udwf(), DataType::Int64)
}

fn signed(counter: Arc<WindowUDF>, result: DataType) -> WindowUDF {
    WindowUDF::from(SignedCount { counter, result })
}

/// A function of DataFusion's whose results are cast.
#[derive(Debug, PartialEq, Eq, Hash)]
struct SignedCount {
    counter: Arc<WindowUDF>,
    result: DataType,
}

impl WindowUDFImpl for SignedCount {
    fn name(&self) -> &str {
        self.counter.name()
    }

    fn signature(&self) -> &Signature {
        self.counter.signature()
    }

    fn expressions(&self, args: ExpressionArgs) -> Vec<Arc<dyn PhysicalExpr>> {
        self.counter.inner().expressions(args)
    }

    fn partition_evaluator(
        &self,
        args: PartitionEvaluatorArgs,
    ) -> Result<Box<dyn PartitionEvaluator>> {
        Ok(Box::new(SignedEvaluator {
            counter: self.counter.inner().partition_evaluator(args)?,
            result: self.result.clone(),
        }))
    }

    fn field(&self, args: WindowUDFFieldArgs) -> Result<FieldRef> {
        let field = self.counter.field(args)?;
        let field = Field::clone(&field).with_data_type(self.result.clone());
        Ok(Arc::new(field))
    }

    fn sort_options(&self) -> Option<SortOptions> {
        self.counter.sort_options()
    }

    fn reverse_expr(&self) -> ReversedUDWF {
        ReversedUDWF::NotSupported
    }

    fn limit_effect(&self, args: &[Arc<dyn PhysicalExpr>]) -> LimitEffect {
        self.counter.inner().limit_effect(args)
    }
}

/// The same for one partition.
#[derive(Debug)]
struct SignedEvaluator {
    counter: Box<dyn PartitionEvaluator>,
    result: DataType,
}

impl SignedEvaluator {
    fn signed(&self, counts: &ArrayRef) -> Result<ArrayRef> {
        Ok(cast(counts, &self.result)?)
    }
}

impl PartitionEvaluator for SignedEvaluator {
    fn memoize(&mut self, state: &mut WindowAggState) -> Result<()> {
        self.counter.memoize(state)
    }

    fn get_range(&self, index: usize, rows: usize) -> Result<Range<usize>> {
        self.counter.get_range(index, rows)
    }

    fn is_causal(&self) -> bool {
        self.counter.is_causal()
    }

    fn evaluate_all(&mut self, values: &[ArrayRef], rows: usize) -> Result<ArrayRef> {
        let counts = self.counter.evaluate_all(values, rows)?;
        self.signed(&counts)
    }

    fn evaluate(&mut self, values: &[ArrayRef], range: &Range<usize>) -> Result<ScalarValue> {
        self.counter.evaluate(values, range)?.cast_to(&self.result)
    }

    fn evaluate_all_with_rank(&self, rows: usize, ranks: &[Range<usize>]) -> Result<ArrayRef> {
        let counts = self.counter.evaluate_all_with_rank(rows, ranks)?;
        self.signed(&counts)
    }

    fn supports_bounded_execution(&self) -> bool {
        self.counter.supports_bounded_execution()
    }

    fn uses_window_frame(&self) -> bool {
        self.counter.uses_window_frame()
    }

    fn include_rank(&self) -> bool {
        self.counter.include_rank()
    }
}
