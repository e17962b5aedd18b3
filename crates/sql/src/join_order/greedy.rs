//! Joins the relations of a group, the smallest result first.
//!
//! 1. Each relation is a component of its own.
//! 2. Of all steps that are possible, the one is taken that leaves the fewest rows: two components that
//!    equalities connect are joined, or a reduction is applied to the component that has all relations
//!    that it is about.
//! 3. Components that nothing connects are joined at the end, the smallest first.
//!
//! The smaller side of a join comes first: its rows are put into a hash table, the others are looked
//! up in it one by one.
//!
//! This is greedy operator ordering (Fegaras, *A New Heuristic for Optimizing Large Queries*, 1998): it
//! gives bushy trees, and takes as many steps as there are relations.

use std::collections::HashMap;
use std::sync::Arc;

use datafusion::common::{Column, JoinType, NullEquality, Result};
use datafusion::logical_expr::utils::conjunction;
use datafusion::logical_expr::{Expr, Filter, Join, JoinConstraint, LogicalPlan};

use super::cardinality::{Estimate, Side, distinct, estimate, keys};
use super::group::{Condition, Group, Pair, Reduction, Relations};

/// The share of rows that stay where a match has to satisfy more than equalities.
const FILTERED_MATCH_SHARE: f64 = 0.5;
/// An anti join leaves at least so much, whatever the equalities make likely.
const UNMATCHED_SHARE_MIN: f64 = 0.1;

/// The one plan that gives the rows of all of `group`.
pub(super) fn joined(group: Group) -> Result<LogicalPlan> {
    let mut joins = Joins::new(group)?;
    while let Some(step) = joins.smallest_step() {
        joins.take(step)?;
    }
    joins.join_unconnected()?;
    joins.finished()
}

/// Relations that are joined already.
struct Component {
    plan: LogicalPlan,
    relations: Relations,
    estimate: Estimate,
}

/// What can be done next, with places of components and reductions.
#[derive(Clone, Copy, Debug)]
enum Step {
    Join(usize, usize),
    Reduce(usize, usize),
}

struct Joins {
    components: Vec<Component>,
    relations: Vec<Relation>,
    /// How many values there are of a column that is equal to a relation's key.
    values: HashMap<Column, f64>,
    pairs: Vec<Pair>,
    conditions: Vec<Condition>,
    /// With the rows of their other sides.
    reductions: Vec<(Reduction, Estimate)>,
}

/// What is known of a relation of the group.
struct Relation {
    keys: Vec<Vec<Column>>,
    estimate: Estimate,
}

impl Joins {
    fn new(group: Group) -> Result<Self> {
        let relation = |plan: &LogicalPlan| Relation {
            keys: keys(plan),
            estimate: estimate(plan),
        };
        let relations: Vec<Relation> = group.relations.iter().map(relation).collect();
        let reductions = group.reductions.into_iter();
        let reductions = reductions.map(|reduction| {
            let estimate = estimate(&reduction.relation);
            (reduction, estimate)
        });
        let mut joins = Self {
            components: Vec::new(),
            values: values_of_keys(&relations, &group.pairs),
            relations,
            pairs: group.pairs,
            conditions: group.conditions,
            reductions: reductions.collect(),
        };
        for (place, plan) in group.relations.into_iter().enumerate() {
            let relations = 1 << place;
            let conditions = joins.conditions_within(relations);
            joins.components.push(Component {
                plan: filtered(plan, conditions)?,
                relations,
                estimate: joins.relations[place].estimate,
            });
        }
        Ok(joins)
    }

    /// The step that leaves the fewest rows, if any is left.
    fn smallest_step(&self) -> Option<Step> {
        let places = 0..self.components.len();
        let joins = places
            .clone()
            .flat_map(|left| (left + 1..places.end).map(move |right| (left, right)))
            .filter_map(|(left, right)| {
                let rows = self.rows_of_join(left, right)?;
                Some((Step::Join(left, right), rows))
            });
        let reductions = (0..self.reductions.len()).filter_map(|reduction| {
            let about = self.reductions[reduction].0.about;
            let mut components = self.components.iter();
            let place = components.position(|component| component.relations & about == about)?;
            let rows = self.rows_of_reduction(place, reduction);
            Some((Step::Reduce(place, reduction), rows))
        });
        let steps = joins.chain(reductions);
        let smallest = steps.min_by(|(_, left), (_, right)| left.total_cmp(right));
        smallest.map(|(step, _)| step)
    }

    fn take(&mut self, step: Step) -> Result<()> {
        match step {
            Step::Join(left, right) => self.join(left, right),
            Step::Reduce(place, reduction) => self.reduce(place, reduction),
        }
    }

    /// The rows of the join of two components; `None` where no equality connects them.
    fn rows_of_join(&self, left: usize, right: usize) -> Option<f64> {
        let (left, right) = (&self.components[left], &self.components[right]);
        let connecting = self.pairs.iter();
        let connecting: Vec<[&(Expr, Relations); 2]> = connecting
            .filter_map(|pair| pair.between(left.relations, right.relations))
            .collect();
        if connecting.is_empty() {
            return None;
        }
        let product = left.estimate.rows * right.estimate.rows;
        Some(product / self.distinct(&connecting))
    }

    /// In how many values relations differ in what these pairs of them say is equal.
    fn distinct(&self, connecting: &[[&(Expr, Relations); 2]]) -> f64 {
        let both = connecting.iter().flatten();
        let equal: Vec<&Expr> = both.clone().map(|(expression, _)| expression).collect();
        let about = both.fold(0, |all, (_, about)| all | about);
        let sides = self.sides(about, &equal);
        if sides.iter().all(|side| side.key_total().is_none()) {
            let of_classes = equal.iter().filter_map(|expression| match expression {
                Expr::Column(column) => self.values.get(column).copied(),
                _ => None,
            });
            if let Some(values) = of_classes.reduce(f64::max) {
                return values.max(1.0);
            }
        }
        distinct(&sides)
    }

    /// Those of `relations` as sides of a join on `equal`.
    fn sides<'a>(&'a self, relations: Relations, equal: &'a [&'a Expr]) -> Vec<Side<'a>> {
        let places = 0..self.relations.len();
        let those = places.filter(|place| relations & (1 << place) != 0);
        let side = |place: usize| {
            let relation = &self.relations[place];
            Side {
                estimate: relation.estimate,
                keys: &relation.keys,
                equal,
            }
        };
        those.map(side).collect()
    }

    /// The rows that a reduction leaves of a component.
    fn rows_of_reduction(&self, place: usize, reduction: usize) -> f64 {
        let component = &self.components[place];
        let (reduction, matches) = &self.reductions[reduction];
        let rows: Vec<&Expr> = reduction.on.iter().map(|(row, _)| row).collect();
        let sides = self.sides(component.relations, &rows);
        let of_keys = sides.iter().filter_map(Side::key_total);
        let of_classes = rows.iter().filter_map(|expression| match expression {
            Expr::Column(column) => self.values.get(column).copied(),
            _ => None,
        });
        let distinct = of_keys
            .chain(of_classes)
            .reduce(f64::max)
            .unwrap_or(matches.total)
            .max(1.0);
        let mut share = (matches.rows / distinct).min(1.0);
        if reduction.filter.is_some() {
            share *= FILTERED_MATCH_SHARE;
        }
        if reduction.is_anti {
            share = (1.0 - share).max(UNMATCHED_SHARE_MIN);
        }
        component.estimate.rows * share
    }

    fn join(&mut self, left: usize, right: usize) -> Result<()> {
        let rows = self.rows_of_join(left, right);
        // The later place first, so that the other one stays.
        let second = self.components.swap_remove(left.max(right));
        let first = self.components.swap_remove(left.min(right));
        let product = first.estimate.rows * second.estimate.rows;
        let (build, probe) = match first.estimate.rows <= second.estimate.rows {
            true => (first, second),
            false => (second, first),
        };
        let mut on = Vec::new();
        self.pairs.retain(|pair| {
            let between = pair.between(build.relations, probe.relations);
            on.extend(between.map(|[(build, _), (probe, _)]| (build.clone(), probe.clone())));
            between.is_none()
        });
        let relations = build.relations | probe.relations;
        let mut conditions = self.conditions_within(relations);
        conditions.extend(self.equalities_within(relations));
        let join = Join::try_new(
            Arc::new(build.plan),
            Arc::new(probe.plan),
            on,
            conjunction(conditions),
            JoinType::Inner,
            JoinConstraint::On,
            NullEquality::NullEqualsNothing,
            false,
        )?;
        self.components.push(Component {
            plan: LogicalPlan::Join(join),
            relations,
            estimate: Estimate {
                rows: rows.unwrap_or(product),
                total: build.estimate.total.max(probe.estimate.total),
            },
        });
        Ok(())
    }

    fn reduce(&mut self, place: usize, reduction: usize) -> Result<()> {
        let rows = self.rows_of_reduction(place, reduction);
        let component = self.components.swap_remove(place);
        let (reduction, matches) = self.reductions.remove(reduction);
        let rows_first = component.estimate.rows <= matches.rows;
        let (on, join_type) = match (rows_first, reduction.is_anti) {
            (true, false) => (reduction.on, JoinType::LeftSemi),
            (true, true) => (reduction.on, JoinType::LeftAnti),
            (false, false) => (turned(reduction.on), JoinType::RightSemi),
            (false, true) => (turned(reduction.on), JoinType::RightAnti),
        };
        let (row_plan, match_plan) = (Arc::new(component.plan), Arc::new(reduction.relation));
        let (build, probe) = match rows_first {
            true => (row_plan, match_plan),
            false => (match_plan, row_plan),
        };
        let join = Join::try_new(
            build,
            probe,
            on,
            reduction.filter,
            join_type,
            JoinConstraint::On,
            NullEquality::NullEqualsNothing,
            false,
        )?;
        self.components.push(Component {
            plan: LogicalPlan::Join(join),
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
            let last = self.components.len() - 1;
            self.join(last - 1, last)?;
            while let Some(step) = self.smallest_step() {
                self.take(step)?;
            }
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
        let ready = self.pairs.extract_if(.., |pair| {
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

impl Pair {
    /// Its expressions about the first and the second set, where each is about one of them.
    fn between(&self, first: Relations, second: Relations) -> Option<[&(Expr, Relations); 2]> {
        let [left, right] = &self.sides;
        let within = |side: &(Expr, Relations), set: Relations| side.1 != 0 && side.1 & !set == 0;
        if within(left, first) && within(right, second) {
            return Some([left, right]);
        }
        let turned = within(left, second) && within(right, first);
        turned.then_some([right, left])
    }
}

/// How many values the columns have that equalities connect with a relation's only key column.
fn values_of_keys(relations: &[Relation], pairs: &[Pair]) -> HashMap<Column, f64> {
    let mut values = HashMap::new();
    for relation in relations {
        for key in &relation.keys {
            if let [only] = key.as_slice() {
                values.insert(only.clone(), relation.estimate.total);
            }
        }
    }
    // A chain of equalities is at most as long as there are pairs.
    for _ in pairs {
        for pair in pairs {
            let [(Expr::Column(left), _), (Expr::Column(right), _)] = &pair.sides else {
                continue;
            };
            let known = [left, right]
                .into_iter()
                .filter_map(|column| values.get(column));
            if let Some(fewest) = known.copied().reduce(f64::min) {
                values.insert(left.clone(), fewest);
                values.insert(right.clone(), fewest);
            }
        }
    }
    values
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
