//! What can be done next with the relations of a group, and how many rows it is likely to leave.

use std::collections::HashMap;

use datafusion::common::Column;
use datafusion::logical_expr::{Expr, LogicalPlan};

use super::cardinality::{Estimate, Side, distinct, estimate, keys};
use super::equal_columns::EqualColumns;
use super::group::{Pair, Reduction, Relations};

/// The share of rows that stay where a match has to satisfy more than equalities.
const FILTERED_MATCH_SHARE: f64 = 0.5;
/// An anti join leaves at least so much, whatever the equalities make likely.
const UNMATCHED_SHARE_MIN: f64 = 0.1;

/// One operator more. Components are named by their relations.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Step {
    /// Joins two components.
    Join(Relations, Relations),
    /// Applies this of the group's reductions to a component.
    Reduce(Relations, usize),
}

/// What is known of the rows of relations and of what connects them.
pub(super) struct Cardinalities {
    relations: Vec<Relation>,
    /// How many values there are of a column that is equal to a relation's key.
    values: HashMap<Column, f64>,
}

/// What is known of a relation of the group.
struct Relation {
    keys: Vec<Vec<Column>>,
    estimate: Estimate,
}

/// What connects the relations of a group.
#[derive(Debug)]
pub(super) struct Connections {
    pub(super) classes: Vec<EqualColumns>,
    /// Other pairs.
    pub(super) pairs: Vec<Pair>,
}

impl Connections {
    /// Whether an equality that was written connects two components.
    fn connect(&self, left: Relations, right: Relations) -> bool {
        let mut classes = self.classes.iter();
        let mut pairs = self.pairs.iter();
        classes.any(|class| class.is_written(left, right))
            || pairs.any(|pair| pair.between(left, right).is_some())
    }

    /// All that is equal between two components.
    fn equal(&self, left: Relations, right: Relations) -> Vec<&(Expr, Relations)> {
        let mut equal = Vec::new();
        for class in &self.classes {
            let about = class.about();
            if about & left != 0 && about & right != 0 {
                equal.extend(class.of(left | right));
            }
        }
        let between = self
            .pairs
            .iter()
            .filter_map(|pair| pair.between(left, right));
        equal.extend(between.flatten());
        equal
    }
}

impl Cardinalities {
    pub(super) fn of(relations: &[LogicalPlan], classes: &[EqualColumns]) -> Self {
        let relation = |plan: &LogicalPlan| Relation {
            keys: keys(plan),
            estimate: estimate(plan),
        };
        let relations: Vec<Relation> = relations.iter().map(relation).collect();
        Self {
            values: values_of_keys(&relations, classes),
            relations,
        }
    }

    /// Of the relation at this place.
    pub(super) fn estimate(&self, place: usize) -> Estimate {
        self.relations[place].estimate
    }

    /// Whether two components may be joined: by an equality that was written, or by one that follows and has a key.
    pub(super) fn connected(
        &self,
        left: Relations,
        right: Relations,
        connections: &Connections,
    ) -> bool {
        connections.connect(left, right) || {
            let equal = connections.equal(left, right);
            let about = equal.iter().fold(0, |all, (_, about)| all | about);
            let equal: Vec<&Expr> = equal.iter().map(|(expression, _)| expression).collect();
            let sides = self.sides(about, &equal);
            sides.iter().any(|side| side.key_total().is_some())
        }
    }

    /// The rows of the join of two components that are connected, which are given with their rows.
    pub(super) fn rows_of_join(
        &self,
        (left, left_rows): (Relations, f64),
        (right, right_rows): (Relations, f64),
        connections: &Connections,
    ) -> f64 {
        left_rows * right_rows / self.distinct(&connections.equal(left, right))
    }

    /// In how many values relations differ in what is equal in a join of them.
    fn distinct(&self, equal: &[&(Expr, Relations)]) -> f64 {
        let about = equal.iter().fold(0, |all, (_, about)| all | about);
        let equal: Vec<&Expr> = equal.iter().map(|(expression, _)| expression).collect();
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

    /// The rows that a reduction leaves of a component, if its other side has `matches`.
    pub(super) fn rows_of_reduction(
        &self,
        (relations, rows): (Relations, f64),
        reduction: &Reduction,
        matches: Estimate,
    ) -> f64 {
        let equal: Vec<&Expr> = reduction.on.iter().map(|(row, _)| row).collect();
        let sides = self.sides(relations, &equal);
        let of_keys = sides.iter().filter_map(Side::key_total);
        let of_classes = equal.iter().filter_map(|expression| match expression {
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
        rows * share
    }
}

/// How many values the columns have that equalities connect with a relation's only key column.
fn values_of_keys(relations: &[Relation], classes: &[EqualColumns]) -> HashMap<Column, f64> {
    let keys = || {
        relations.iter().flat_map(|relation| {
            let single = relation.keys.iter().filter_map(|key| match key.as_slice() {
                [only] => Some(only),
                _ => None,
            });
            single.map(|key| (key, relation.estimate.total))
        })
    };
    let mut values: HashMap<Column, f64> =
        keys().map(|(key, total)| (key.clone(), total)).collect();
    for class in classes {
        let known = class
            .columns()
            .filter_map(|column| values.get(column).copied());
        if let Some(fewest) = known.reduce(f64::min) {
            values.extend(class.columns().map(|column| (column.clone(), fewest)));
        }
    }
    values
}
