//! Columns that are all equal to one another, because equalities connect them.
//!
//! ```text
//!     l_partkey = p_partkey  and  l_partkey = ps_partkey        {l_partkey, p_partkey, ps_partkey}
//! ```
//!
//! So `part` may be joined with `partsupp` although nobody has written how. That is only done where the columns have a key
//! of one side: how many values other columns have nobody knows, and those that lead from table to table
//! because they are the first of several of a key, like a warehouse, have few.
//!
//! Does not: connect floats, whose zeros are equal and yet not the same.

use datafusion::common::{Column, ExprSchema};
use datafusion::logical_expr::{Expr, LogicalPlan};

use super::group::{Condition, Pair, Relations};

/// Columns of several relations, of one type, of which a row of a join has one value.
#[derive(Debug)]
pub(super) struct EqualColumns {
    /// Each with its relation.
    columns: Vec<(Expr, Relations)>,
    /// What says so. The optimizer orders joins several times: what a join is made of counts as written then.
    written: Vec<Pair>,
}

impl EqualColumns {
    /// Takes those of `pairs` that are about columns.
    pub(super) fn take(pairs: &mut Vec<Pair>, relations: &[LogicalPlan]) -> Vec<Self> {
        let mut classes: Vec<Self> = Vec::new();
        let of_columns = pairs.extract_if(.., |pair| is_of_columns(pair, relations));
        for Pair { sides } in of_columns {
            let (connected, mut others): (Vec<Self>, Vec<Self>) = classes
                .into_iter()
                .partition(|class| sides.iter().any(|side| class.columns.contains(side)));
            let mut together = Self {
                columns: Vec::new(),
                written: vec![Pair {
                    sides: sides.clone(),
                }],
            };
            let mut add = |column| {
                if !together.columns.contains(&column) {
                    together.columns.push(column);
                }
            };
            for class in connected {
                class.columns.into_iter().for_each(&mut add);
                together.written.extend(class.written);
            }
            sides.into_iter().for_each(add);
            others.push(together);
            classes = others;
        }
        classes
    }

    /// The relations that they are of.
    pub(super) fn about(&self) -> Relations {
        self.columns.iter().fold(0, |all, (_, about)| all | about)
    }

    /// Whether a pair that was written is about both components.
    pub(super) fn is_written(&self, left: Relations, right: Relations) -> bool {
        let mut written = self.written.iter();
        written.any(|pair| pair.between(left, right).is_some())
    }

    /// Equal columns of two components: the pairs that were written, or else all that follow.
    pub(super) fn pairs_between(
        &self,
        left: Relations,
        right: Relations,
    ) -> Vec<[&(Expr, Relations); 2]> {
        let written = self.written.iter();
        let written: Vec<_> = written
            .filter_map(|pair| pair.between(left, right))
            .collect();
        if !written.is_empty() {
            return written;
        }
        let with_right = |left| self.of(right).map(move |right| [left, right]);
        self.of(left).flat_map(with_right).collect()
    }

    /// Those of some relations.
    pub(super) fn of(&self, relations: Relations) -> impl Iterator<Item = &(Expr, Relations)> {
        let mut columns = self.columns.iter();
        std::iter::from_fn(move || columns.find(|(_, about)| about & relations != 0))
    }

    /// As columns.
    pub(super) fn columns(&self) -> impl Iterator<Item = &Column> {
        self.columns
            .iter()
            .filter_map(|(expression, _)| match expression {
                Expr::Column(column) => Some(column),
                _ => None,
            })
    }

    /// What no join will say: that those of one relation are equal.
    pub(super) fn within_relations(&self) -> Vec<Condition> {
        let mut conditions = Vec::new();
        for (place, (column, about)) in self.columns.iter().enumerate() {
            let mut before = self.columns[..place].iter();
            if let Some((other, _)) = before.find(|(_, other)| other == about) {
                conditions.push(Condition {
                    expression: other.clone().eq(column.clone()),
                    about: *about,
                });
            }
        }
        conditions
    }
}

/// Whether a pair says that columns of one type, but not floats, of two relations are equal.
fn is_of_columns(pair: &Pair, relations: &[LogicalPlan]) -> bool {
    let [(left, of_left), (right, of_right)] = &pair.sides;
    let type_of = |expression: &Expr, about: &Relations| match expression {
        Expr::Column(column) if about.is_power_of_two() => {
            let schema = relations[about.trailing_zeros() as usize].schema();
            let field = schema.field_from_column(column).ok()?;
            Some(field.data_type().clone())
        }
        _ => None,
    };
    let types = (type_of(left, of_left), type_of(right, of_right));
    match types {
        (Some(left), Some(right)) => of_left != of_right && left == right && !left.is_floating(),
        _ => false,
    }
}
