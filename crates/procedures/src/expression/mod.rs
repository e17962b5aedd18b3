//! Expressions, compiled: names are places and operators know their types.
//!
//! * [`compile`]: from syntax; [`scope`]: what names mean. [`evaluate`]: to values, [`arithmetic`] of numbers.
//!
//! NULL is as in SQL: what is computed from it is NULL, and a condition may be neither true nor false.

pub(crate) mod arithmetic;
pub(crate) mod compile;
pub(crate) mod evaluate;
pub(crate) mod scope;

#[cfg(test)]
mod tests;

use std::cmp::Ordering;

use crate::datum::Datum;
use crate::sql_type::SqlType;
use arithmetic::Operator;

/// An expression with its type.
#[derive(Clone, Debug)]
pub(crate) struct Expression {
    pub(crate) node: Node,
    pub(crate) sql_type: SqlType,
}

/// What an expression does.
#[derive(Clone, Debug)]
pub(crate) enum Node {
    Constant(Datum<'static>),
    /// A parameter or a variable.
    Slot(usize),
    /// Of the row at hand.
    Column(usize),
    /// When the transaction began.
    Now,
    /// Operands and result have this type, but for dates and days.
    Arithmetic(Operator, SqlType, Box<(Node, Node)>),
    Negate(SqlType, Box<Node>),
    Absolute(SqlType, Box<Node>),
    /// Operands of one type.
    Compare(Comparison, Box<(Node, Node)>),
    /// Like a comparison, but NULL is a value like others.
    IsDistinct(bool, Box<(Node, Node)>),
    And(Box<(Node, Node)>),
    Or(Box<(Node, Node)>),
    Not(Box<Node>),
    /// Whether it is NULL, or not.
    IsNull(bool, Box<Node>),
    /// Whether it is this truth, or not.
    IsTruth(bool, bool, Box<Node>),
    Concat(Box<(Node, Node)>),
    /// Characters of a text.
    Length(Box<Node>),
    Cast(SqlType, SqlType, Box<Node>),
    /// Conditions with their results, and what is left.
    Case(Vec<(Node, Node)>, Box<Node>),
    Coalesce(Vec<Node>),
    /// The largest or the smallest that is not NULL.
    Extreme(Ordering, Vec<Node>),
    /// NULL if both are equal, else the first.
    NullIf(Box<(Node, Node)>),
}

/// How two values compare.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Comparison {
    Equal,
    NotEqual,
    Less,
    LessOrEqual,
    Greater,
    GreaterOrEqual,
}

impl Comparison {
    fn holds(self, order: Ordering) -> bool {
        match self {
            Self::Equal => order.is_eq(),
            Self::NotEqual => order.is_ne(),
            Self::Less => order.is_lt(),
            Self::LessOrEqual => order.is_le(),
            Self::Greater => order.is_gt(),
            Self::GreaterOrEqual => order.is_ge(),
        }
    }

    /// The same with its operands exchanged.
    pub(crate) fn mirrored(self) -> Self {
        match self {
            Self::Less => Self::Greater,
            Self::LessOrEqual => Self::GreaterOrEqual,
            Self::Greater => Self::Less,
            Self::GreaterOrEqual => Self::LessOrEqual,
            same => same,
        }
    }
}

impl Node {
    /// Whether it, or something in it, is so.
    pub(crate) fn any(&self, is_so: &mut impl FnMut(&Self) -> bool) -> bool {
        if is_so(self) {
            return true;
        }
        match self {
            Self::Constant(_) | Self::Slot(_) | Self::Column(_) | Self::Now => false,
            Self::Arithmetic(_, _, both)
            | Self::Compare(_, both)
            | Self::IsDistinct(_, both)
            | Self::And(both)
            | Self::Or(both)
            | Self::Concat(both)
            | Self::NullIf(both) => both.0.any(is_so) || both.1.any(is_so),
            Self::Negate(_, one)
            | Self::Absolute(_, one)
            | Self::Not(one)
            | Self::IsNull(_, one)
            | Self::IsTruth(_, _, one)
            | Self::Length(one)
            | Self::Cast(_, _, one) => one.any(is_so),
            Self::Case(arms, otherwise) => {
                arms.iter()
                    .any(|(condition, result)| condition.any(is_so) || result.any(is_so))
                    || otherwise.any(is_so)
            }
            Self::Coalesce(all) | Self::Extreme(_, all) => all.iter().any(|one| one.any(is_so)),
        }
    }

    /// Whether it looks at the row at hand.
    pub(crate) fn has_columns(&self) -> bool {
        self.any(&mut |node| matches!(node, Self::Column(_)))
    }

    /// Whether it follows from the first so many slots alone.
    pub(crate) fn follows_from(&self, slots: usize) -> bool {
        !self.any(&mut |node| match node {
            Self::Slot(slot) => *slot >= slots,
            Self::Column(_) | Self::Now => true,
            _ => false,
        })
    }

    /// The columns that it looks at.
    pub(crate) fn columns(&self) -> Vec<usize> {
        let mut columns = Vec::new();
        self.any(&mut |node| {
            if let Self::Column(column) = node
                && !columns.contains(column)
            {
                columns.push(*column);
            }
            false
        });
        columns
    }
}
