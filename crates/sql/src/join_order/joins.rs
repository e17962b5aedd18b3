//! Joins the relations of a group, step by step.
//!
//! 1. Each relation is a component of its own.
//! 2. Steps are taken until all relations are in one: in the order that costs least, if the group is small enough to
//!    try all of them ([`exhaustive`]), else always the one that leaves the fewest rows ([`greedy`]).
//! 3. Components that nothing connects are joined at the end, the smallest first.
//!
//! The smaller side of a join comes first: its rows are put into a hash table, the others are looked
//! up in it one by one.

use std::sync::Arc;

use datafusion::common::{JoinType, NullEquality, Result};
use datafusion::logical_expr::utils::conjunction;
use datafusion::logical_expr::{Expr, Filter, Join, JoinConstraint, LogicalPlan};

use super::cardinality::{Estimate, estimate};
use super::equal_columns::EqualColumns;
use super::exhaustive;
use super::greedy;
use super::group::{Condition, Group, Reduction, Relations};
use super::steps::{Cardinalities, Connections, Step};

/// The one plan that gives the rows of all of `group`.
pub(super) fn joined(group: Group) -> Result<LogicalPlan> {
    let mut joins = Joins::new(group)?;
    let steps = exhaustive::steps(
        joins.components.len(),
        &joins.reductions,
        &joins.connections,
        &joins.cardinalities,
    );
    for step in steps.into_iter().flatten() {
        joins.take(step)?;
    }
    joins.take_smallest_steps()?;
    joins.join_unconnected()?;
    joins.finished()
}

/// Relations that are joined already.
pub(super) struct Component {
    pub(super) relations: Relations,
    plan: LogicalPlan,
    estimate: Estimate,
}

/// A group of which some steps have been taken.
pub(super) struct Joins {
    components: Vec<Component>,
    connections: Connections,
    cardinalities: Cardinalities,
    conditions: Vec<Condition>,
    /// With the rows of their other sides.
    reductions: Vec<(Reduction, Estimate)>,
    /// Those that have been applied.
    applied: Vec<bool>,
}

impl Joins {
    fn new(mut group: Group) -> Result<Self> {
        let classes = EqualColumns::take(&mut group.pairs, &group.relations);
        let within = classes.iter().flat_map(EqualColumns::within_relations);
        group.conditions.extend(within);
        let reductions = group.reductions.into_iter();
        let reductions = reductions.map(|reduction| {
            let estimate = estimate(&reduction.relation);
            (reduction, estimate)
        });
        let mut joins = Self {
            components: Vec::new(),
            cardinalities: Cardinalities::of(&group.relations, &classes),
            connections: Connections {
                classes,
                pairs: group.pairs,
            },
            conditions: group.conditions,
            applied: vec![false; reductions.len()],
            reductions: reductions.collect(),
        };
        for (place, plan) in group.relations.into_iter().enumerate() {
            let relations = 1 << place;
            let conditions = joins.conditions_within(relations);
            joins.components.push(Component {
                plan: filtered(plan, conditions)?,
                relations,
                estimate: joins.cardinalities.estimate(place),
            });
        }
        Ok(joins)
    }

    pub(super) fn components(&self) -> &[Component] {
        &self.components
    }

    /// Those that have not been applied.
    pub(super) fn reductions_left(&self) -> impl Iterator<Item = usize> {
        (0..self.reductions.len()).filter(|&reduction| !self.applied[reduction])
    }

    pub(super) fn reduction(&self, reduction: usize) -> &Reduction {
        &self.reductions[reduction].0
    }

    /// The rows of the join of two components; `None` where nothing connects them.
    pub(super) fn rows_of_join(&self, left: &Component, right: &Component) -> Option<f64> {
        let (left, right) = (left.with_rows(), right.with_rows());
        let (known, connections) = (&self.cardinalities, &self.connections);
        let connected = known.connected(left.0, right.0, connections);
        connected.then(|| known.rows_of_join(left, right, connections))
    }

    /// The rows that a reduction leaves of a component.
    pub(super) fn rows_of_reduction(&self, component: &Component, reduction: usize) -> f64 {
        let (reduction, matches) = &self.reductions[reduction];
        let component = component.with_rows();
        self.cardinalities
            .rows_of_reduction(component, reduction, *matches)
    }

    fn take_smallest_steps(&mut self) -> Result<()> {
        while let Some(step) = greedy::smallest_step(self) {
            self.take(step)?;
        }
        Ok(())
    }

    fn take(&mut self, step: Step) -> Result<()> {
        match step {
            Step::Join(left, right) => {
                let (left, right) = (self.take_component(left), self.take_component(right));
                self.join(left, right)
            }
            Step::Reduce(component, reduction) => {
                let component = self.take_component(component);
                self.reduce(component, reduction)
            }
        }
    }

    fn take_component(&mut self, relations: Relations) -> Component {
        let mut components = self.components.iter();
        let place = components.position(|component| component.relations == relations);
        self.components
            .swap_remove(place.expect("steps name components"))
    }

    fn join(&mut self, first: Component, second: Component) -> Result<()> {
        let rows = self.rows_of_join(&first, &second);
        let product = first.estimate.rows * second.estimate.rows;
        let (build, probe) = match first.estimate.rows <= second.estimate.rows {
            true => (first, second),
            false => (second, first),
        };
        let mut on = self.equal_columns(&build, &probe);
        self.connections.pairs.retain(|pair| {
            let between = pair.between(build.relations, probe.relations);
            on.extend(between.map(|[(build, _), (probe, _)]| (build.clone(), probe.clone())));
            between.is_none()
        });
        let relations = build.relations | probe.relations;
        let mut conditions = self.conditions_within(relations);
        conditions.extend(self.equalities_within(relations));
        let filter = conjunction(conditions);
        self.components.push(Component {
            plan: join_of(build.plan, probe.plan, JoinType::Inner, on, filter)?,
            relations,
            estimate: Estimate {
                rows: rows.unwrap_or(product),
                total: build.estimate.total.max(probe.estimate.total),
            },
        });
        Ok(())
    }

    /// What equal columns say of the rows of two components: one pair a class, as those of each component are equal
    /// already. Which keys are looked for is told to one relation of the second side, best to the largest.
    fn equal_columns(&self, build: &Component, probe: &Component) -> Vec<(Expr, Expr)> {
        let rows = |about: Relations| {
            let place = about.trailing_zeros() as usize;
            self.cardinalities.estimate(place).rows
        };
        let pair = |class: &EqualColumns| {
            let pairs = class.pairs_between(build.relations, probe.relations);
            let largest = pairs.into_iter().max_by(|[_, left], [_, right]| {
                let (left, right) = (rows(left.1), rows(right.1));
                left.total_cmp(&right)
            });
            largest.map(|[(build, _), (probe, _)]| (build.clone(), probe.clone()))
        };
        self.connections.classes.iter().filter_map(pair).collect()
    }

    fn reduce(&mut self, component: Component, reduction: usize) -> Result<()> {
        let rows = self.rows_of_reduction(&component, reduction);
        self.applied[reduction] = true;
        let (reduction, matches) = &self.reductions[reduction];
        let rows_first = component.estimate.rows <= matches.rows;
        let on = reduction.on.clone();
        let (on, join_type) = match (rows_first, reduction.is_anti) {
            (true, false) => (on, JoinType::LeftSemi),
            (true, true) => (on, JoinType::LeftAnti),
            (false, false) => (turned(on), JoinType::RightSemi),
            (false, true) => (turned(on), JoinType::RightAnti),
        };
        let (row_plan, match_plan) = (component.plan, reduction.relation.clone());
        let (build, probe) = match rows_first {
            true => (row_plan, match_plan),
            false => (match_plan, row_plan),
        };
        self.components.push(Component {
            plan: join_of(build, probe, join_type, on, reduction.filter.clone())?,
            relations: component.relations,
            estimate: Estimate {
                rows,
                ..component.estimate
            },
        });
        Ok(())
    }

    /// Joins what no equality connects, the smallest first.
    fn join_unconnected(&mut self) -> Result<()> {
        while self.components.len() > 1 {
            let by_rows = |left: &Component, right: &Component| {
                right.estimate.rows.total_cmp(&left.estimate.rows)
            };
            self.components.sort_by(by_rows);
            let smallest = self.components.pop().zip(self.components.pop());
            let (second, first) = smallest.expect("there are two");
            self.join(first, second)?;
            self.take_smallest_steps()?;
        }
        Ok(())
    }

    fn finished(mut self) -> Result<LogicalPlan> {
        let component = self.components.pop().expect("a group has a relation");
        let conditions = self.conditions.into_iter();
        let left = conditions.map(|condition| condition.expression).collect();
        filtered(component.plan, left)
    }

    /// Takes the conditions that are about nothing but `relations`.
    fn conditions_within(&mut self, relations: Relations) -> Vec<Expr> {
        let ready = self.conditions.extract_if(.., |condition| {
            condition.about != 0 && condition.about & !relations == 0
        });
        ready.map(|condition| condition.expression).collect()
    }

    /// Takes the equalities that are about nothing but `relations`, but not about one side of a join
    /// each.
    fn equalities_within(&mut self, relations: Relations) -> Vec<Expr> {
        let ready = self.connections.pairs.extract_if(.., |pair| {
            let [(_, left), (_, right)] = &pair.sides;
            (left | right) & !relations == 0
        });
        let equal = ready.map(|pair| {
            let [(left, _), (right, _)] = pair.sides;
            left.eq(right)
        });
        equal.collect()
    }
}

impl Component {
    fn with_rows(&self) -> (Relations, f64) {
        (self.relations, self.estimate.rows)
    }
}

fn join_of(
    build: LogicalPlan,
    probe: LogicalPlan,
    join_type: JoinType,
    on: Vec<(Expr, Expr)>,
    filter: Option<Expr>,
) -> Result<LogicalPlan> {
    let join = Join::try_new(
        Arc::new(build),
        Arc::new(probe),
        on,
        filter,
        join_type,
        JoinConstraint::On,
        NullEquality::NullEqualsNothing,
        false,
    )?;
    Ok(LogicalPlan::Join(join))
}

fn turned(on: Vec<(Expr, Expr)>) -> Vec<(Expr, Expr)> {
    on.into_iter().map(|(left, right)| (right, left)).collect()
}

fn filtered(plan: LogicalPlan, conditions: Vec<Expr>) -> Result<LogicalPlan> {
    Ok(match conjunction(conditions) {
        Some(condition) => LogicalPlan::Filter(Filter::try_new(condition, Arc::new(plan))?),
        None => plan,
    })
}
