//! Finds the order of a small group that costs least of all.
//!
//! For each set of relations and reductions, the smaller sets first, the cheapest plan is found of two plans for parts
//! of it, or of one and a reduction. The cost of a plan is the number of rows that all its operators give, and put into
//! tables of keys. Sets that no equality holds together have none.
//!
//! This is dynamic programming over subsets (Selinger et al., 1979; here with bushy trees). Of `n` relations and
//! reductions it looks at 3^n splits at most.

use super::cardinality::Estimate;
use super::group::{Reduction, Relations};
use super::steps::{Cardinalities, Connections, Step};

/// For more relations and reductions than this it takes too long: 60,000 splits take about a third of a millisecond.
const ELEMENTS_MAX: usize = 10;

/// The cheapest plan of a set.
#[derive(Clone, Copy, Debug)]
struct Plan {
    cost: f64,
    rows: f64,
    /// `None`, for a relation.
    last: Option<Last>,
}

/// What comes last.
#[derive(Clone, Copy, Debug)]
enum Last {
    /// A join of this part with the rest.
    Join(usize),
    /// This reduction.
    Reduce(usize),
}

/// The plans of all sets. A set's bits are those of its relations, and behind them of its reductions.
struct Plans<'a> {
    relations: usize,
    reductions: &'a [(Reduction, Estimate)],
    connections: &'a Connections,
    cardinalities: &'a Cardinalities,
    by_set: Vec<Option<Plan>>,
}

/// The steps to the cheapest plan; `None`, if there are too many relations, or equalities do not connect all.
pub(super) fn steps(
    relations: usize,
    reductions: &[(Reduction, Estimate)],
    connections: &Connections,
    cardinalities: &Cardinalities,
) -> Option<Vec<Step>> {
    let elements = relations + reductions.len();
    if elements > ELEMENTS_MAX {
        return None;
    }
    let mut plans = Plans {
        relations,
        reductions,
        connections,
        cardinalities,
        by_set: vec![None; 1 << elements],
    };
    for set in 1..plans.by_set.len() {
        plans.by_set[set] = plans.cheapest(set);
    }
    let all = plans.by_set.len() - 1;
    plans.by_set[all]?;
    let mut steps = Vec::new();
    plans.note_steps(all, &mut steps);
    Some(steps)
}

impl Plans<'_> {
    fn relations_of(&self, set: usize) -> Relations {
        (set & ((1 << self.relations) - 1)) as Relations
    }

    fn cheapest(&self, set: usize) -> Option<Plan> {
        if set.is_power_of_two() {
            let place = set.trailing_zeros() as usize;
            return (place < self.relations).then(|| Plan {
                cost: 0.0,
                rows: self.cardinalities.estimate(place).rows,
                last: None,
            });
        }
        let mut cheapest: Option<Plan> = None;
        // As many whatever comes last, as far as anybody knows.
        let mut rows = None;
        let mut offer = |before: f64, of_step: &dyn Fn() -> f64, last| {
            let rows = *rows.get_or_insert_with(of_step);
            let cost = before + rows;
            if cheapest.is_none_or(|cheapest| cost < cheapest.cost) {
                cheapest = Some(Plan {
                    cost,
                    rows,
                    last: Some(last),
                });
            }
        };
        for (place, (reduction, matches)) in self.reductions.iter().enumerate() {
            let bit = 1 << (self.relations + place);
            let (rest, relations) = (set & !bit, self.relations_of(set));
            if set & bit == 0 || reduction.about & !relations != 0 {
                continue;
            }
            if let Some(plan) = self.by_set[rest] {
                let reduced = (relations, plan.rows);
                let rows = || {
                    self.cardinalities
                        .rows_of_reduction(reduced, reduction, *matches)
                };
                let before = plan.cost + plan.rows.min(matches.rows);
                offer(before, &rows, Last::Reduce(place));
            }
        }
        let mut part = (set - 1) & set;
        while part > set / 2 {
            // Each split once: the first part has the highest bit.
            let (first, second) = (self.by_set[part], self.by_set[set & !part]);
            if let (Some(first), Some(second)) = (first, second) {
                let (left, right) = (self.relations_of(part), self.relations_of(set & !part));
                if self.cardinalities.connected(left, right, self.connections) {
                    let sides = [(left, first.rows), (right, second.rows)];
                    let rows = || self.rows_of_join(sides);
                    let built = first.rows.min(second.rows);
                    offer(first.cost + second.cost + built, &rows, Last::Join(part));
                }
            }
            part = (part - 1) & set;
        }
        cheapest
    }

    fn rows_of_join(&self, [left, right]: [(Relations, f64); 2]) -> f64 {
        let rows = self
            .cardinalities
            .rows_of_join(left, right, self.connections);
        rows.expect("an equality connects them")
    }

    /// The steps that a set's plan takes, in their order.
    fn note_steps(&self, set: usize, steps: &mut Vec<Step>) {
        let last = self.by_set[set].and_then(|plan| plan.last);
        match last {
            None => {}
            Some(Last::Join(part)) => {
                let rest = set & !part;
                self.note_steps(part, steps);
                self.note_steps(rest, steps);
                steps.push(Step::Join(self.relations_of(part), self.relations_of(rest)));
            }
            Some(Last::Reduce(reduction)) => {
                let rest = set & !(1 << (self.relations + reduction));
                self.note_steps(rest, steps);
                steps.push(Step::Reduce(self.relations_of(rest), reduction));
            }
        }
    }
}
