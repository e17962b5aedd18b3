//! Has exchanges below aggregates give up the order of rows.
//!
//! The first phase of an aggregate hands its groups on in the order of its scan's key. DataFusion (55.2)
//! keeps that order through the exchange whenever the second phase could make use of it, which takes one
//! partition's rows after the other's: partitions wait for each other, and with ranges of keys (see
//! [`crate::scan_sharing`]) all but one wait most of the time. A table of all groups costs less. CH-benCHmark's
//! query 18, a group an order and 99,000 rows sent: 518 ms with the order, 305 without (2 processors).
//!
//! Where somebody above wants the order of the groups, it stays.

use std::sync::Arc;

use datafusion::common::Result;
use datafusion::config::ConfigOptions;
use datafusion::physical_optimizer::PhysicalOptimizerRule;
use datafusion::physical_plan::aggregates::AggregateExec;
use datafusion::physical_plan::execution_plan::replace_children_if_necessary;
use datafusion::physical_plan::repartition::RepartitionExec;
use datafusion::physical_plan::{ExecutionPlan, Partitioning};

/// The rule. Has to come after the one that puts exchanges in, and before the requirements of the whole
/// statement are forgotten.
#[derive(Debug)]
pub(crate) struct UnorderedExchanges;

/// Whether somebody above an operator relies on the order of its rows.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Order {
    Free,
    ReliedOn,
}

impl PhysicalOptimizerRule for UnorderedExchanges {
    fn optimize(
        &self,
        plan: Arc<dyn ExecutionPlan>,
        _: &ConfigOptions,
    ) -> Result<Arc<dyn ExecutionPlan>> {
        unordered(plan, Order::Free)
    }

    fn name(&self) -> &'static str {
        "unordered_exchanges"
    }

    fn schema_check(&self) -> bool {
        true
    }
}

fn unordered(plan: Arc<dyn ExecutionPlan>, order: Order) -> Result<Arc<dyn ExecutionPlan>> {
    let plan = match order {
        Order::Free => with_unordered_input(plan)?,
        Order::ReliedOn => plan,
    };
    let children = plan.children().into_iter().enumerate();
    let children: Vec<_> = children
        .map(|(place, child)| unordered(Arc::clone(child), order_of(plan.as_ref(), place, order)))
        .collect::<Result<_>>()?;
    replace_children_if_necessary(plan, children)
}

/// An aggregate whose input comes through an exchange by value does without order.
fn with_unordered_input(plan: Arc<dyn ExecutionPlan>) -> Result<Arc<dyn ExecutionPlan>> {
    let Some(aggregate) = plan.downcast_ref::<AggregateExec>() else {
        return Ok(plan);
    };
    let exchange = aggregate.input().downcast_ref::<RepartitionExec>();
    let exchange = exchange.filter(|exchange| {
        exchange.preserve_order() && matches!(exchange.partitioning(), Partitioning::Hash(..))
    });
    let Some(exchange) = exchange else {
        return Ok(plan);
    };
    let input = Arc::clone(exchange.input());
    let exchange = RepartitionExec::try_new(input, exchange.partitioning().clone())?;
    replace_children_if_necessary(plan, vec![Arc::new(exchange)])
}

/// What is relied on in a child, if `order` is what is relied on in `plan`.
fn order_of(plan: &dyn ExecutionPlan, child: usize, order: Order) -> Order {
    if plan.required_input_ordering()[child].is_some() {
        return Order::ReliedOn;
    }
    match plan.maintains_input_order()[child] {
        true => order,
        false => Order::Free,
    }
}
