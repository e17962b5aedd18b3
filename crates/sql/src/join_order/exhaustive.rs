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

/// More relations and reductions take too long, three times as long each. Ten tables, each joined with two, are planned in 9.9 ms
/// in all, eleven, whose order is [`super::greedy`]'s, in 9.3 (`explain`, debug assertions, the tests' profile).
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

    /// That of a reduction.
    fn bit_of(&self, reduction: usize) -> usize {
        1 << (self.relations + reduction)
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
        let mut ways = self.reductions_last(set).chain(self.joins_last(set));
        let first = ways.next()?;
        // As many whatever comes last, as far as anybody knows.
        let rows = self.rows_after(set, first.1);
        let ways = std::iter::once(first).chain(ways);
        let (cost, last) = ways.min_by(|(left, _), (right, _)| left.total_cmp(right))?;
        Some(Plan {
            cost: cost + rows,
            rows,
            last: Some(last),
        })
    }

    /// Reductions that may come last in a set, each with the cost of all but the rows that it gives.
    fn reductions_last(&self, set: usize) -> impl Iterator<Item = (f64, Last)> {
        let relations = self.relations_of(set);
        let reductions = self.reductions.iter().enumerate();
        reductions.filter_map(move |(place, (reduction, matches))| {
            let rest = set & !self.bit_of(place);
            if rest == set || reduction.about & !relations != 0 {
                return None;
            }
            let plan = self.by_set[rest]?;
            let cost = plan.cost + plan.rows.min(matches.rows);
            Some((cost, Last::Reduce(place)))
        })
    }

    /// The same for joins, by the part of the set that has its highest bit: each split once.
    fn joins_last(&self, set: usize) -> impl Iterator<Item = (f64, Last)> {
        let smaller = move |part: &usize| Some((part - 1) & set);
        let parts = std::iter::successors(smaller(&set), smaller);
        let parts = parts.take_while(move |&part| part > set / 2);
        parts.filter_map(move |part| {
            let rest = set & !part;
            let (first, second) = (self.by_set[part]?, self.by_set[rest]?);
            let (left, right) = (self.relations_of(part), self.relations_of(rest));
            let connected = self.cardinalities.connected(left, right, self.connections);
            let built = first.rows.min(second.rows);
            let cost = first.cost + second.cost + built;
            connected.then_some((cost, Last::Join(part)))
        })
    }

    /// The rows of a set if this comes last.
    fn rows_after(&self, set: usize, last: Last) -> f64 {
        let component = |set: usize| {
            let plan = self.by_set[set].expect("a part has a plan");
            (self.relations_of(set), plan.rows)
        };
        match last {
            Last::Join(part) => {
                let (left, right) = (component(part), component(set & !part));
                self.cardinalities
                    .rows_of_join(left, right, self.connections)
            }
            Last::Reduce(place) => {
                let (reduction, matches) = &self.reductions[place];
                let reduced = component(set & !self.bit_of(place));
                self.cardinalities
                    .rows_of_reduction(reduced, reduction, *matches)
            }
        }
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
                let rest = set & !self.bit_of(reduction);
                self.note_steps(rest, steps);
                steps.push(Step::Reduce(self.relations_of(rest), reduction));
            }
        }
    }
}
