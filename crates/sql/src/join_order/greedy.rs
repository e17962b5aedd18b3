//! Chooses the next step of a group that is too large to try all orders: the one that leaves the fewest rows.
//!
//! This is greedy operator ordering (Fegaras, *A New Heuristic for Optimizing Large Queries*, 1998): it
//! gives bushy trees, and takes as many steps as there are relations.

use super::joins::Joins;
use super::steps::Step;

/// The step that leaves the fewest rows: two components that equalities connect are joined, or a reduction is applied to
/// the component that has all relations that it is about. `None`, if there is none.
pub(super) fn smallest_step(joins: &Joins) -> Option<Step> {
    let components = joins.components();
    let join = |left: usize, right: usize| {
        let (left, right) = (&components[left], &components[right]);
        let rows = joins.rows_of_join(left, right)?;
        Some((Step::Join(left.relations, right.relations), rows))
    };
    let places = 0..components.len();
    let together = places
        .clone()
        .flat_map(|left| (left + 1..places.end).map(move |right| (left, right)))
        .filter_map(|(left, right)| join(left, right));
    let reduced = joins.reductions_left().filter_map(|reduction| {
        let about = joins.reduction(reduction).about;
        let mut components = components.iter();
        let component = components.find(|component| component.relations & about == about)?;
        let rows = joins.rows_of_reduction(component, reduction);
        Some((Step::Reduce(component.relations, reduction), rows))
    });
    let steps = together.chain(reduced);
    let smallest = steps.min_by(|(_, left), (_, right)| left.total_cmp(right));
    smallest.map(|(step, _)| step)
}
