//! What a path says.

use crate::functions::regular_expressions::Matcher;

/// A path: `[strict | lax] …`.
pub(super) struct Path {
    /// Arrays are unwrapped and values wrapped as steps need it, and what is not there is no error.
    pub(super) is_lax: bool,
    pub(super) expr: Expr,
}

/// Gives items.
pub(super) enum Expr {
    /// A scalar, in JSON.
    Literal(String),
    /// `$name`
    Variable(String),
    /// `$`
    Root,
    /// `@`
    Current,
    /// The last index of the array whose element is asked for.
    Last,
    /// `- …` and `+ …`
    Sign {
        is_negative: bool,
        operand: Box<Expr>,
    },
    Arithmetic(Operation, Box<Expr>, Box<Expr>),
    /// `true`, `false`, or `null` for what is not known.
    Predicate(Box<Predicate>),
    /// What steps lead to, from anything but steps.
    Steps(Box<Expr>, Vec<Step>),
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Operation {
    Add,
    Subtract,
    Multiply,
    Divide,
    Modulo,
}

impl Operation {
    pub(super) fn symbol(self) -> &'static str {
        match self {
            Self::Add => "+",
            Self::Subtract => "-",
            Self::Multiply => "*",
            Self::Divide => "/",
            Self::Modulo => "%",
        }
    }
}

/// Leads from an item to others.
pub(super) enum Step {
    /// `.key`
    Key(String),
    /// `.*`
    AnyKey,
    /// `[*]`
    AnyElement,
    /// `[from to to, …]`
    Elements(Vec<(Expr, Option<Expr>)>),
    /// `.**{first to last}`: levels below the item, which is level 0; [`LEAVES`] is the one without parts.
    Descendants { first: u32, last: u32 },
    /// `? (…)`
    Filter(Predicate),
    /// `.name()`
    Method(Method),
}

/// As a first level: only what has no parts. As a last one: all.
pub(super) const LEAVES: u32 = u32::MAX;

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Method {
    Type,
    Size,
    Double,
    Absolute,
    Floor,
    Ceiling,
}

impl Method {
    /// The method of a name, which may be in any case.
    pub(super) fn named(name: &str) -> Option<Self> {
        let all = [
            Self::Type,
            Self::Size,
            Self::Double,
            Self::Absolute,
            Self::Floor,
            Self::Ceiling,
        ];
        let is_called = |method: &Self| method.name().eq_ignore_ascii_case(name);
        all.into_iter().find(is_called)
    }

    pub(super) fn name(self) -> &'static str {
        match self {
            Self::Type => "type",
            Self::Size => "size",
            Self::Double => "double",
            Self::Absolute => "abs",
            Self::Floor => "floor",
            Self::Ceiling => "ceiling",
        }
    }
}

/// Is true, false or not known.
pub(super) enum Predicate {
    And(Box<Predicate>, Box<Predicate>),
    Or(Box<Predicate>, Box<Predicate>),
    Not(Box<Predicate>),
    IsUnknown(Box<Predicate>),
    Compare(Comparison, Expr, Expr),
    StartsWith(Expr, Expr),
    /// Whether a text matches a pattern.
    Matches(Expr, Matcher),
    Exists(Expr),
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Comparison {
    Equal,
    NotEqual,
    Less,
    LessOrEqual,
    Greater,
    GreaterOrEqual,
}
