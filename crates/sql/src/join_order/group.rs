//! Relations that are joined in any order: what inner and semi joins below one another come down to.
//!
//! ```text
//!        semi                      relations:  a, b, c
//!       /    \                     pairs:      a.x = b.x, b.y = c.y
//!     join    s          ->        conditions: a.u < c.u
//!    /    \                        reductions: s, semi, on a.z = s.z
//!   join   c
//!  /    \
//! a      b
//! ```
//!
//! A projection that only leaves columns out, between two joins, is dropped: what nobody wants is
//! left out again afterwards.

use std::collections::HashSet;

use datafusion::common::{Column, JoinType, NullEquality, Result};
use datafusion::logical_expr::utils::{can_hash, split_conjunction_owned};
use datafusion::logical_expr::{BinaryExpr, Expr, ExprSchemable, Join, LogicalPlan, Operator};

/// A set of a group's relations, bit by bit.
pub(super) type Relations = u64;

/// What is joined, and how.
#[derive(Debug, Default)]
pub(super) struct Group {
    pub(super) relations: Vec<LogicalPlan>,
    pub(super) pairs: Vec<Pair>,
    pub(super) conditions: Vec<Condition>,
    pub(super) reductions: Vec<Reduction>,
}

/// Two expressions that have to be equal, each about some of the relations.
#[derive(Debug)]
pub(super) struct Pair {
    pub(super) sides: [(Expr, Relations); 2],
}

/// Any other condition.
#[derive(Debug)]
pub(super) struct Condition {
    pub(super) expression: Expr,
    pub(super) about: Relations,
}

/// A semi join, or an anti join: rows stay that have, or lack, a match in `relation`.
#[derive(Debug)]
pub(super) struct Reduction {
    pub(super) relation: LogicalPlan,
    pub(super) is_anti: bool,
    /// The rows' side first.
    pub(super) on: Vec<(Expr, Expr)>,
    pub(super) filter: Option<Expr>,
    /// What its conditions say of the rows.
    pub(super) about: Relations,
}

/// Joins and conditions, before it is known which relations they are about.
#[derive(Default)]
struct Collected {
    relations: Vec<LogicalPlan>,
    pairs: Vec<(Expr, Expr)>,
    conditions: Vec<Expr>,
    reductions: Vec<(LogicalPlan, Join)>,
}

/// Whether `plan` is the top of a group.
pub(super) fn is_group(plan: &LogicalPlan) -> bool {
    match plan {
        LogicalPlan::Join(join) => is_inner(join) || is_reduction(join),
        LogicalPlan::Filter(filter) => is_group(&filter.input),
        LogicalPlan::Projection(projection) => {
            let only_columns = |expression: &Expr| matches!(expression, Expr::Column(_));
            projection.expr.iter().all(only_columns) && is_group(&projection.input)
        }
        _ => false,
    }
}

fn is_inner(join: &Join) -> bool {
    join.join_type == JoinType::Inner && join.null_equality == NullEquality::NullEqualsNothing
}

fn is_reduction(join: &Join) -> bool {
    use JoinType::{LeftAnti, LeftSemi, RightAnti, RightSemi};
    matches!(join.join_type, LeftSemi | LeftAnti | RightSemi | RightAnti)
        && join.null_equality == NullEquality::NullEqualsNothing
        && !join.null_aware
        && !join.on.is_empty()
}

impl Group {
    /// The group whose top `plan` is, its relations as `inner` makes them; `None` where it cannot be
    /// told which relations a condition is about, or a condition does not always say the same.
    pub(super) fn of(
        plan: &LogicalPlan,
        inner: impl Fn(&LogicalPlan) -> Result<LogicalPlan>,
    ) -> Result<Option<Self>> {
        let mut collected = Collected::default();
        collected.collect(plan);
        let Some(mut group) = collected.resolved() else {
            return Ok(None);
        };
        for plan in &mut group.relations {
            *plan = inner(plan)?;
        }
        for reduction in &mut group.reductions {
            reduction.relation = inner(&reduction.relation)?;
        }
        Ok(Some(group))
    }
}

impl Collected {
    /// The group, its relations as they are.
    fn resolved(&self) -> Option<Group> {
        let relations = &self.relations;
        let is_small = relations.len() <= Relations::BITS as usize;
        if !is_small || !self.names_differ() || self.has_volatile() {
            return None;
        }
        let mut pairs = Vec::new();
        for (left, right) in &self.pairs {
            pairs.push(Pair::of(left, right, relations)?);
        }
        let mut conditions = Vec::new();
        for expression in &self.conditions {
            match equality(expression, relations) {
                Some(pair) => pairs.push(pair),
                None => conditions.push(Condition {
                    about: about(expression, relations)?,
                    expression: expression.clone(),
                }),
            }
        }
        let reduction =
            |(plan, join): &(LogicalPlan, Join)| Reduction::of(plan, join.clone(), relations);
        Some(Group {
            relations: relations.clone(),
            pairs,
            conditions,
            reductions: self
                .reductions
                .iter()
                .map(reduction)
                .collect::<Option<_>>()?,
        })
    }

    /// Whether a column's name says whose it is, wherever it is mentioned.
    fn names_differ(&self) -> bool {
        let reducing = self.reductions.iter().map(|(plan, _)| plan);
        let mut known = HashSet::new();
        let mut all = self.relations.iter().chain(reducing);
        all.all(|plan| {
            let mut columns = plan.schema().columns().into_iter();
            columns.all(|column| known.insert(column))
        })
    }

    fn has_volatile(&self) -> bool {
        let pairs = self.pairs.iter().flat_map(|(left, right)| [left, right]);
        let joins = self.reductions.iter().map(|(_, join)| join);
        let reducing = joins.flat_map(|join| {
            let on = join.on.iter().flat_map(|(left, right)| [left, right]);
            on.chain(&join.filter)
        });
        let mut all = pairs.chain(&self.conditions).chain(reducing);
        all.any(Expr::is_volatile)
    }

    fn collect(&mut self, plan: &LogicalPlan) {
        match plan {
            LogicalPlan::Join(join) if is_inner(join) => {
                self.collect(&join.left);
                self.collect(&join.right);
                self.pairs.extend(join.on.iter().cloned());
                let filter = join.filter.clone().map(split_conjunction_owned);
                self.conditions.extend(filter.into_iter().flatten());
            }
            LogicalPlan::Join(join) if is_reduction(join) => {
                use JoinType::{LeftAnti, LeftSemi};
                let of_left = matches!(join.join_type, LeftSemi | LeftAnti);
                let (rows, relation) = match of_left {
                    true => (&join.left, &join.right),
                    false => (&join.right, &join.left),
                };
                self.collect(rows);
                let relation = LogicalPlan::clone(relation);
                self.reductions.push((relation, join.clone()));
            }
            LogicalPlan::Filter(filter) if is_group(plan) => {
                self.collect(&filter.input);
                let conditions = split_conjunction_owned(filter.predicate.clone());
                self.conditions.extend(conditions);
            }
            LogicalPlan::Projection(projection) if is_group(plan) => {
                self.collect(&projection.input);
            }
            other => self.relations.push(other.clone()),
        }
    }
}

impl Reduction {
    /// The reduction that `join` is, with `plan` on its other side, of rows of `relations`.
    fn of(plan: &LogicalPlan, join: Join, relations: &[LogicalPlan]) -> Option<Self> {
        use JoinType::{LeftAnti, LeftSemi, RightAnti};
        let of_left = matches!(join.join_type, LeftSemi | LeftAnti);
        let turn = |(left, right)| {
            if of_left {
                (left, right)
            } else {
                (right, left)
            }
        };
        let on: Vec<(Expr, Expr)> = join.on.into_iter().map(turn).collect();
        let mut all = 0;
        for (rows, _) in &on {
            all |= about(rows, relations)?;
        }
        for column in join.filter.iter().flat_map(Expr::column_refs) {
            if !plan.schema().has_column(column) {
                all |= of_column(column, relations)?;
            }
        }
        Some(Self {
            relation: plan.clone(),
            is_anti: matches!(join.join_type, LeftAnti | RightAnti),
            on,
            filter: join.filter,
            about: all,
        })
    }
}

impl Pair {
    fn of(left: &Expr, right: &Expr, relations: &[LogicalPlan]) -> Option<Self> {
        let (of_left, of_right) = (about(left, relations)?, about(right, relations)?);
        let sides = [(left.clone(), of_left), (right.clone(), of_right)];
        Some(Self { sides })
    }

    /// Its expressions about the first and the second set, where each is about one of them.
    pub(super) fn between(
        &self,
        first: Relations,
        second: Relations,
    ) -> Option<[&(Expr, Relations); 2]> {
        let [left, right] = &self.sides;
        let within = |side: &(Expr, Relations), set: Relations| side.1 != 0 && side.1 & !set == 0;
        if within(left, first) && within(right, second) {
            return Some([left, right]);
        }
        let turned = within(left, second) && within(right, first);
        turned.then_some([right, left])
    }
}

/// The pair that a condition is, if it says that something of one relation is equal to something of
/// another one, which is of the same type.
fn equality(condition: &Expr, relations: &[LogicalPlan]) -> Option<Pair> {
    let Expr::BinaryExpr(BinaryExpr {
        left,
        op: Operator::Eq,
        right,
    }) = condition
    else {
        return None;
    };
    let pair = Pair::of(left, right, relations)?;
    let [(left, of_left), (right, of_right)] = &pair.sides;
    let type_of = |expression: &Expr, about: Relations| {
        let relation = relations.get(about.trailing_zeros() as usize)?;
        expression.get_type(relation.schema()).ok()
    };
    let of_one_each = of_left.is_power_of_two() && of_right.is_power_of_two();
    let (left, right) = (type_of(left, *of_left)?, type_of(right, *of_right)?);
    let is_pair = of_one_each && of_left != of_right && left == right && can_hash(&left);
    is_pair.then_some(pair)
}

/// The relations that `expression` mentions columns of.
fn about(expression: &Expr, relations: &[LogicalPlan]) -> Option<Relations> {
    let mut columns = expression.column_refs().into_iter();
    columns.try_fold(0, |all, column| Some(all | of_column(column, relations)?))
}

fn of_column(column: &Column, relations: &[LogicalPlan]) -> Option<Relations> {
    let mut plans = relations.iter();
    let place = plans.position(|plan| plan.schema().has_column(column));
    place.map(|place| 1 << place)
}
