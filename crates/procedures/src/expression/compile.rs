//! Expressions from their syntax.
//!
//! The type of a text in quotes, of NULL and of a parameter may be open at first, as in PostgreSQL: what it
//! is used with settles it.

use std::cmp::Ordering;

use sqlparser::ast::{
    BinaryOperator, CaseWhen, CastKind, Expr, Function, FunctionArg, FunctionArgExpr,
    FunctionArguments, UnaryOperator, Value, ValueWithSpan,
};

use super::arithmetic::Operator;
use super::scope::{Meaning, Scope};
use super::{Comparison, Expression, Node};
use crate::cast::{is_assignable, is_castable, parse};
use crate::datum::Datum;
use crate::fault::{Fault, code};
use crate::numeric::Numeric;
use crate::sql_type::SqlType;

/// What an expression may have.
const POSSIBLE: &str = "Possible are names, literals, + - * / %, ||, comparisons, AND, OR, NOT, IS [NOT] NULL, IN (list), \
                        BETWEEN, CASE, CAST, coalesce, nullif, greatest, least, abs, length and now()";

/// How deep expressions may be: they are compiled and computed by recursion.
const DEPTH_MAX: usize = 128;

/// An expression whose type may be open.
pub(crate) struct Compiled {
    pub(crate) node: Node,
    pub(crate) sql_type: Option<SqlType>,
}

impl Compiled {
    fn new(node: Node, sql_type: SqlType) -> Self {
        let sql_type = Some(sql_type);
        Self { node, sql_type }
    }
}

impl Scope<'_> {
    /// An expression; what is open is text.
    pub(crate) fn expression(&mut self, syntax: &Expr) -> Result<Expression, Fault> {
        let compiled = self.compile(syntax)?;
        let sql_type = compiled.sql_type.unwrap_or(SqlType::Text);
        let node = self.settle(compiled, sql_type).map_err(|f| f.of(syntax))?;
        Ok(Expression { node, sql_type })
    }

    /// A condition.
    pub(crate) fn condition(&mut self, syntax: &Expr) -> Result<Node, Fault> {
        self.of_type(syntax, SqlType::Boolean)
    }

    /// An expression of this very type.
    fn of_type(&mut self, syntax: &Expr, wanted: SqlType) -> Result<Node, Fault> {
        let compiled = self.compile(syntax)?;
        match compiled.sql_type {
            Some(found) if found != wanted => {
                let (wanted, found) = (wanted.name(), found.name());
                let message = format!("this must be of type {wanted}, not type {found}");
                Err(Fault::new(code::DATATYPE_MISMATCH, message).of(syntax))
            }
            _ => self.settle(compiled, wanted).map_err(|f| f.of(syntax)),
        }
    }

    /// An expression whose values are stored where `wanted` is declared.
    pub(crate) fn assigned(
        &mut self,
        syntax: &Expr,
        wanted: SqlType,
        to: &str,
    ) -> Result<Node, Fault> {
        let compiled = self.compile(syntax)?;
        let Some(found) = compiled.sql_type else {
            return self.settle(compiled, wanted).map_err(|f| f.of(syntax));
        };
        if !is_assignable(found, wanted) {
            let message = format!(
                "{to} is of type {} but expression is of type {}",
                wanted.name(),
                found.name()
            );
            return Err(Fault::new(code::DATATYPE_MISMATCH, message)
                .with_hint("Rewrite or cast the expression")
                .of(syntax));
        }
        Ok(cast_node(compiled.node, found, wanted))
    }

    /// An open type becomes this one.
    fn settle(&mut self, compiled: Compiled, wanted: SqlType) -> Result<Node, Fault> {
        if compiled.sql_type.is_some() {
            return Ok(compiled.node);
        }
        match compiled.node {
            Node::Constant(Datum::Bytes(text)) => {
                let text = String::from_utf8_lossy(&text);
                let parsed = parse(&text, wanted);
                parsed
                    .map(Node::Constant)
                    .map_err(|rejection| Fault::new(rejection.code, rejection.message))
            }
            Node::Slot(slot) => {
                self.slots.settle(slot, wanted);
                let given = wanted.unbounded();
                Ok(cast_node(Node::Slot(slot), given, wanted))
            }
            node => Ok(node),
        }
    }

    fn compile(&mut self, syntax: &Expr) -> Result<Compiled, Fault> {
        if self.depth == DEPTH_MAX {
            let message = format!("an expression is more than {DEPTH_MAX} operators deep");
            return Err(Fault::new(code::PROGRAM_LIMIT_EXCEEDED, message).of(syntax));
        }
        self.depth += 1;
        let compiled = self.compile_any(syntax);
        self.depth -= 1;
        compiled
    }

    fn compile_any(&mut self, syntax: &Expr) -> Result<Compiled, Fault> {
        let compiled = match syntax {
            Expr::Nested(inner) => return self.compile(inner),
            Expr::Identifier(name) => self.name(std::slice::from_ref(name)),
            Expr::CompoundIdentifier(parts) => self.name(parts),
            Expr::Value(ValueWithSpan { value, .. }) => self.literal(value),
            Expr::TypedString(typed) => self.typed_string(&typed.data_type, &typed.value.value),
            Expr::UnaryOp { op, expr } => self.unary(*op, expr),
            Expr::BinaryOp { left, op, right } => self.binary(left, op, right),
            Expr::IsNull(one) => self.is_null(one, true),
            Expr::IsNotNull(one) => self.is_null(one, false),
            Expr::IsTrue(one) => self.is_truth(one, true, true),
            Expr::IsNotTrue(one) => self.is_truth(one, true, false),
            Expr::IsFalse(one) => self.is_truth(one, false, true),
            Expr::IsNotFalse(one) => self.is_truth(one, false, false),
            Expr::IsDistinctFrom(left, right) => self.is_distinct(left, right, true),
            Expr::IsNotDistinctFrom(left, right) => self.is_distinct(left, right, false),
            Expr::InList {
                expr,
                list,
                negated,
            } => self.in_list(expr, list, *negated),
            Expr::Between {
                expr,
                negated,
                low,
                high,
            } => self.between(expr, low, high, *negated),
            Expr::Cast {
                kind: CastKind::Cast | CastKind::DoubleColon,
                expr,
                data_type,
                array: false,
                format: None,
            } => self.cast(expr, data_type),
            Expr::Case {
                operand,
                conditions,
                else_result,
                ..
            } => self.case(operand.as_deref(), conditions, else_result.as_deref()),
            Expr::Function(function) => self.function(function),
            other => {
                let message = format!("the expression {other} is not supported");
                Err(Fault::new(code::FEATURE_NOT_SUPPORTED, message).with_hint(POSSIBLE))
            }
        };
        compiled.map_err(|fault| fault.of(syntax))
    }

    fn name(&mut self, parts: &[sqlparser::ast::Ident]) -> Result<Compiled, Fault> {
        Ok(match self.meaning(parts)? {
            Meaning::Slot(slot) => self.slot(slot),
            Meaning::Column(column, sql_type) => {
                Compiled::new(Node::Column(column), sql_type.unbounded())
            }
        })
    }

    fn slot(&self, slot: usize) -> Compiled {
        Compiled {
            node: Node::Slot(slot),
            sql_type: self.slots.sql_type(slot).map(SqlType::unbounded),
        }
    }

    fn literal(&mut self, value: &Value) -> Result<Compiled, Fault> {
        Ok(match value {
            Value::Null => Compiled {
                node: Node::Constant(Datum::Null),
                sql_type: None,
            },
            Value::Boolean(bit) => {
                Compiled::new(Node::Constant(Datum::Bool(*bit)), SqlType::Boolean)
            }
            Value::Number(digits, _) => number(digits)?,
            Value::SingleQuotedString(text) | Value::EscapedStringLiteral(text) => Compiled {
                node: Node::Constant(Datum::text(text.as_str())),
                sql_type: None,
            },
            Value::DollarQuotedString(text) => Compiled {
                node: Node::Constant(Datum::text(text.value.as_str())),
                sql_type: None,
            },
            Value::Placeholder(text) => {
                let slot = self.slots.placeholder(text)?;
                self.slot(slot)
            }
            other => {
                let message = format!("the literal {other} is not supported");
                return Err(Fault::new(code::FEATURE_NOT_SUPPORTED, message));
            }
        })
    }

    fn typed_string(
        &mut self,
        data_type: &sqlparser::ast::DataType,
        value: &Value,
    ) -> Result<Compiled, Fault> {
        let sql_type = SqlType::of(data_type)?;
        let compiled = self.literal(value)?;
        let node = self.settle(compiled, sql_type)?;
        Ok(Compiled::new(node, sql_type.unbounded()))
    }

    fn unary(&mut self, operator: UnaryOperator, syntax: &Expr) -> Result<Compiled, Fault> {
        match operator {
            UnaryOperator::Not => {
                let node = Node::Not(Box::new(self.condition(syntax)?));
                Ok(Compiled::new(node, SqlType::Boolean))
            }
            UnaryOperator::Plus | UnaryOperator::Minus => {
                let one = self.compile(syntax)?;
                let sql_type = one.sql_type.filter(|t| t.number_rank().is_some());
                let Some(sql_type) = sql_type else {
                    return Err(no_operator(&operator.to_string(), None, one.sql_type));
                };
                let node = match operator {
                    UnaryOperator::Minus => Node::Negate(sql_type, Box::new(one.node)),
                    _ => one.node,
                };
                Ok(Compiled::new(node, sql_type))
            }
            other => Err(no_operator(&other.to_string(), None, None)),
        }
    }

    fn binary(
        &mut self,
        left: &Expr,
        operator: &BinaryOperator,
        right: &Expr,
    ) -> Result<Compiled, Fault> {
        if let Some(comparison) = comparison(operator) {
            let both = self.unified_pair(left, right, &operator.to_string())?;
            let node = Node::Compare(comparison, Box::new(both));
            return Ok(Compiled::new(node, SqlType::Boolean));
        }
        if let Some(arithmetic) = arithmetic(operator) {
            return self.arithmetic(left, arithmetic, right, &operator.to_string());
        }
        match operator {
            BinaryOperator::And | BinaryOperator::Or => {
                let both = Box::new((self.condition(left)?, self.condition(right)?));
                let node = match operator {
                    BinaryOperator::And => Node::And(both),
                    _ => Node::Or(both),
                };
                Ok(Compiled::new(node, SqlType::Boolean))
            }
            BinaryOperator::StringConcat => {
                let both = Box::new((self.shown(left)?, self.shown(right)?));
                Ok(Compiled::new(Node::Concat(both), SqlType::Text))
            }
            other => Err(no_operator(&other.to_string(), None, None).with_hint(POSSIBLE)),
        }
    }

    /// An operand of `||`.
    fn shown(&mut self, syntax: &Expr) -> Result<Node, Fault> {
        let compiled = self.compile(syntax)?;
        let Some(found) = compiled.sql_type else {
            return self.settle(compiled, SqlType::Text);
        };
        if !is_castable(found, SqlType::Text) {
            let fault = no_operator("||", Some(found), Some(SqlType::Text));
            return Err(fault.of(syntax));
        }
        Ok(cast_node(compiled.node, found, SqlType::Text))
    }

    fn arithmetic(
        &mut self,
        left: &Expr,
        operator: Operator,
        right: &Expr,
        shown: &str,
    ) -> Result<Compiled, Fault> {
        let (a, b) = (self.compile(left)?, self.compile(right)?);
        let dates = (a.sql_type, b.sql_type);
        let adds = matches!(operator, Operator::Add | Operator::Subtract);
        let result = match dates {
            (Some(SqlType::Date), Some(SqlType::Date)) if operator == Operator::Subtract => {
                Some(SqlType::Integer)
            }
            (Some(SqlType::Date), Some(days)) if adds && days.is_int() => Some(SqlType::Date),
            (Some(days), Some(SqlType::Date)) if operator == Operator::Add && days.is_int() => {
                Some(SqlType::Date)
            }
            _ => None,
        };
        if let Some(result) = result {
            let node = Node::Arithmetic(operator, result, Box::new((a.node, b.node)));
            return Ok(Compiled::new(node, result));
        }
        let (found_a, found_b) = (a.sql_type, b.sql_type);
        let (node, sql_type) = self.unify_pair(a, b, shown)?;
        let is_float = matches!(sql_type, SqlType::Real | SqlType::Double);
        let has_operator =
            sql_type.number_rank().is_some() && !(is_float && operator == Operator::Remainder);
        if !has_operator {
            return Err(no_operator(shown, found_a, found_b));
        }
        let node = Node::Arithmetic(operator, sql_type, Box::new(node));
        Ok(Compiled::new(node, sql_type))
    }

    fn unified_pair(
        &mut self,
        left: &Expr,
        right: &Expr,
        operator: &str,
    ) -> Result<(Node, Node), Fault> {
        let (a, b) = (self.compile(left)?, self.compile(right)?);
        Ok(self.unify_pair(a, b, operator)?.0)
    }

    /// Two expressions as ones of the type that has the values of both.
    fn unify_pair(
        &mut self,
        a: Compiled,
        b: Compiled,
        operator: &str,
    ) -> Result<((Node, Node), SqlType), Fault> {
        let types = (a.sql_type, b.sql_type);
        let common = common_type([types.0, types.1].into_iter().flatten());
        let common = common.ok_or_else(|| no_operator(operator, types.0, types.1))?;
        let node = |scope: &mut Self, one: Compiled| match one.sql_type {
            Some(found) => Ok(cast_node(one.node, found, common)),
            None => scope.settle(one, common),
        };
        Ok(((node(self, a)?, node(self, b)?), common))
    }

    /// Expressions as ones of the type that has the values of all.
    fn unify_all(&mut self, all: &[&Expr], what: &str) -> Result<(Vec<Node>, SqlType), Fault> {
        let mut compiled = Vec::new();
        for syntax in all {
            compiled.push(self.compile(syntax)?);
        }
        let known = compiled.iter().filter_map(|one| one.sql_type);
        let common = common_type(known).ok_or_else(|| {
            let message = format!("{what} types cannot be matched");
            Fault::new(code::DATATYPE_MISMATCH, message)
        })?;
        let nodes = compiled.into_iter().map(|one| match one.sql_type {
            Some(found) => Ok(cast_node(one.node, found, common)),
            None => self.settle(one, common),
        });
        Ok((nodes.collect::<Result<_, _>>()?, common))
    }

    fn is_null(&mut self, syntax: &Expr, wanted: bool) -> Result<Compiled, Fault> {
        let one = self.expression(syntax)?;
        let node = Node::IsNull(wanted, Box::new(one.node));
        Ok(Compiled::new(node, SqlType::Boolean))
    }

    fn is_truth(&mut self, syntax: &Expr, truth: bool, wanted: bool) -> Result<Compiled, Fault> {
        let node = Node::IsTruth(truth, wanted, Box::new(self.condition(syntax)?));
        Ok(Compiled::new(node, SqlType::Boolean))
    }

    fn is_distinct(&mut self, left: &Expr, right: &Expr, wanted: bool) -> Result<Compiled, Fault> {
        let both = self.unified_pair(left, right, "=")?;
        let node = Node::IsDistinct(wanted, Box::new(both));
        Ok(Compiled::new(node, SqlType::Boolean))
    }

    fn in_list(&mut self, one: &Expr, list: &[Expr], negated: bool) -> Result<Compiled, Fault> {
        let mut each = Vec::with_capacity(list.len());
        for item in list {
            let both = self.unified_pair(one, item, "=")?;
            each.push(Node::Compare(Comparison::Equal, Box::new(both)));
        }
        let any = any_of(each);
        Ok(Compiled::new(negated_if(any, negated), SqlType::Boolean))
    }

    fn between(
        &mut self,
        one: &Expr,
        low: &Expr,
        high: &Expr,
        negated: bool,
    ) -> Result<Compiled, Fault> {
        let low = self.unified_pair(one, low, ">=")?;
        let high = self.unified_pair(one, high, "<=")?;
        let low = Node::Compare(Comparison::GreaterOrEqual, Box::new(low));
        let high = Node::Compare(Comparison::LessOrEqual, Box::new(high));
        let both = Node::And(Box::new((low, high)));
        Ok(Compiled::new(negated_if(both, negated), SqlType::Boolean))
    }

    fn cast(
        &mut self,
        syntax: &Expr,
        data_type: &sqlparser::ast::DataType,
    ) -> Result<Compiled, Fault> {
        let wanted = SqlType::of(data_type)?;
        let compiled = self.compile(syntax)?;
        let Some(found) = compiled.sql_type else {
            let node = self.settle(compiled, wanted)?;
            return Ok(Compiled::new(node, wanted.unbounded()));
        };
        if !is_castable(found, wanted) {
            let message = format!("cannot cast type {} to {}", found.name(), wanted.name());
            return Err(Fault::new("42846", message));
        }
        let node = cast_node(compiled.node, found, wanted);
        Ok(Compiled::new(node, wanted.unbounded()))
    }

    fn case(
        &mut self,
        operand: Option<&Expr>,
        arms: &[CaseWhen],
        otherwise: Option<&Expr>,
    ) -> Result<Compiled, Fault> {
        let mut conditions = Vec::new();
        for arm in arms {
            conditions.push(match operand {
                None => self.condition(&arm.condition)?,
                Some(operand) => {
                    let both = self.unified_pair(operand, &arm.condition, "=")?;
                    Node::Compare(Comparison::Equal, Box::new(both))
                }
            });
        }
        let results: Vec<&Expr> = arms
            .iter()
            .map(|arm| &arm.result)
            .chain(otherwise)
            .collect();
        let (mut results, sql_type) = self.unify_all(&results, "CASE")?;
        let otherwise = match otherwise {
            Some(_) => results.pop().expect("it is the last one"),
            None => Node::Constant(Datum::Null),
        };
        let arms = conditions.into_iter().zip(results).collect();
        Ok(Compiled::new(
            Node::Case(arms, Box::new(otherwise)),
            sql_type,
        ))
    }

    fn function(&mut self, function: &Function) -> Result<Compiled, Fault> {
        let name = function.name.to_string().to_lowercase();
        let arguments = arguments(function)?;
        if let Some(moment) = self.moment(&name, &arguments) {
            return moment;
        }
        let unknown = || {
            let message = format!("function {name} does not exist, or not with these arguments");
            Fault::new(code::UNDEFINED_FUNCTION, message).with_hint(POSSIBLE)
        };
        match (name.as_str(), arguments.as_slice()) {
            ("coalesce", [_, ..]) => {
                let (all, sql_type) = self.unify_all(&arguments, "COALESCE")?;
                Ok(Compiled::new(Node::Coalesce(all), sql_type))
            }
            ("greatest" | "least", [_, ..]) => {
                let (all, sql_type) = self.unify_all(&arguments, &name)?;
                let wanted = if name == "greatest" {
                    Ordering::Greater
                } else {
                    Ordering::Less
                };
                Ok(Compiled::new(Node::Extreme(wanted, all), sql_type))
            }
            ("nullif", [left, right]) => {
                let (a, b) = (self.compile(left)?, self.compile(right)?);
                let (both, sql_type) = self.unify_pair(a, b, "=")?;
                Ok(Compiled::new(Node::NullIf(Box::new(both)), sql_type))
            }
            ("abs", [one]) => {
                let one = self.compile(one)?;
                let sql_type = one.sql_type.filter(|t| t.number_rank().is_some());
                let sql_type = sql_type.ok_or_else(unknown)?;
                let node = Node::Absolute(sql_type, Box::new(one.node));
                Ok(Compiled::new(node, sql_type))
            }
            ("length" | "char_length" | "character_length", [one]) => {
                let node = self.of_type(one, SqlType::Text)?;
                Ok(Compiled::new(
                    Node::Length(Box::new(node)),
                    SqlType::Integer,
                ))
            }
            _ => Err(unknown()),
        }
    }

    /// A function that tells the time.
    fn moment(&self, name: &str, arguments: &[&Expr]) -> Option<Result<Compiled, Fault>> {
        let zoned = SqlType::TimestampTz;
        let sql_type = match name {
            "now" | "current_timestamp" | "transaction_timestamp" => zoned,
            "localtimestamp" => SqlType::Timestamp,
            "current_date" => SqlType::Date,
            _ => return None,
        };
        if !arguments.is_empty() {
            return None;
        }
        if !self.has_time {
            let message = format!("{name} is not possible here");
            return Some(Err(Fault::new(code::FEATURE_NOT_SUPPORTED, message)
                .with_hint(
                    "Ask for the time inside the procedure: there it is the transaction's",
                )));
        }
        Some(Ok(Compiled::new(
            cast_node(Node::Now, zoned, sql_type),
            sql_type,
        )))
    }
}

/// The arguments of a plain call.
fn arguments(function: &Function) -> Result<Vec<&Expr>, Fault> {
    let refused = || {
        let message = format!("the call {function} is not supported");
        Fault::new(code::FEATURE_NOT_SUPPORTED, message)
    };
    let is_plain = function.filter.is_none()
        && function.over.is_none()
        && function.null_treatment.is_none()
        && function.within_group.is_empty()
        && matches!(function.parameters, FunctionArguments::None);
    match &function.args {
        FunctionArguments::None if is_plain => Ok(Vec::new()),
        FunctionArguments::List(list)
            if is_plain && list.duplicate_treatment.is_none() && list.clauses.is_empty() =>
        {
            let plain = list.args.iter().map(|argument| match argument {
                FunctionArg::Unnamed(FunctionArgExpr::Expr(syntax)) => Ok(syntax),
                _ => Err(refused()),
            });
            plain.collect()
        }
        _ => Err(refused()),
    }
}

fn number(digits: &str) -> Result<Compiled, Fault> {
    let constant = |datum, sql_type| Ok(Compiled::new(Node::Constant(datum), sql_type));
    if let Ok(int) = digits.parse::<i64>() {
        let sql_type = match i32::try_from(int) {
            Ok(_) => SqlType::Integer,
            Err(_) => SqlType::BigInt,
        };
        return constant(Datum::Int(int), sql_type);
    }
    let malformed = || Fault::new(code::SYNTAX_ERROR, format!("{digits} is not a number"));
    let number = Numeric::parse(digits).ok_or_else(malformed)?;
    let number = number.map_err(|rejection| Fault::new(rejection.code, rejection.message))?;
    constant(Datum::Numeric(number), SqlType::Numeric(None))
}

fn comparison(operator: &BinaryOperator) -> Option<Comparison> {
    Some(match operator {
        BinaryOperator::Eq => Comparison::Equal,
        BinaryOperator::NotEq => Comparison::NotEqual,
        BinaryOperator::Lt => Comparison::Less,
        BinaryOperator::LtEq => Comparison::LessOrEqual,
        BinaryOperator::Gt => Comparison::Greater,
        BinaryOperator::GtEq => Comparison::GreaterOrEqual,
        _ => return None,
    })
}

fn arithmetic(operator: &BinaryOperator) -> Option<Operator> {
    Some(match operator {
        BinaryOperator::Plus => Operator::Add,
        BinaryOperator::Minus => Operator::Subtract,
        BinaryOperator::Multiply => Operator::Multiply,
        BinaryOperator::Divide => Operator::Divide,
        BinaryOperator::Modulo => Operator::Remainder,
        _ => return None,
    })
}

/// Whether one of them is true: a tree that is no deeper than it must be.
fn any_of(mut each: Vec<Node>) -> Node {
    let half = each.split_off(each.len() / 2);
    match (each.is_empty(), half.len()) {
        (true, 1) => half.into_iter().next().expect("there is one"),
        (true, _) => Node::Constant(Datum::Bool(false)),
        (false, _) => Node::Or(Box::new((any_of(each), any_of(half)))),
    }
}

fn negated_if(node: Node, negated: bool) -> Node {
    if negated {
        Node::Not(Box::new(node))
    } else {
        node
    }
}

/// The type that has the values of all; text where all are open. `None` if there is none.
fn common_type(types: impl Iterator<Item = SqlType>) -> Option<SqlType> {
    let mut common: Option<SqlType> = None;
    for sql_type in types {
        common = Some(match common {
            None => sql_type,
            Some(before) => common_of_two(before, sql_type)?,
        });
    }
    Some(common.unwrap_or(SqlType::Text))
}

fn common_of_two(a: SqlType, b: SqlType) -> Option<SqlType> {
    if a == b {
        return Some(a);
    }
    if let (Some(rank), Some(other)) = (a.number_rank(), b.number_rank()) {
        let larger = if rank >= other { a } else { b };
        let is_float = matches!(larger, SqlType::Real);
        // As in PostgreSQL: real with anything else is double precision.
        return Some(if is_float { SqlType::Double } else { larger });
    }
    let moment = |sql_type| match sql_type {
        SqlType::Date => Some(0),
        SqlType::Timestamp => Some(1),
        SqlType::TimestampTz => Some(2),
        _ => None,
    };
    match (moment(a), moment(b)) {
        (Some(x), Some(y)) => Some(if x >= y { a } else { b }),
        _ => None,
    }
}

/// A value as one of another type. Whole numbers are wider types' numbers as they are.
fn cast_node(node: Node, from: SqlType, to: SqlType) -> Node {
    let is_wider = match (from.int_bounds(), to.int_bounds()) {
        (Some(own), Some(other)) => {
            from.is_int() && to.is_int() && other.0 <= own.0 && own.1 <= other.1
        }
        _ => false,
    };
    if from == to || is_wider || (from.is_text() && to == SqlType::Text) {
        return node;
    }
    Node::Cast(from, to, Box::new(node))
}

fn no_operator(operator: &str, left: Option<SqlType>, right: Option<SqlType>) -> Fault {
    let name = |sql_type: Option<SqlType>| sql_type.map_or("unknown".to_owned(), SqlType::name);
    let message = match left {
        None if right.is_none() => format!("operator {operator} is not supported"),
        None => format!("operator does not exist: {operator} {}", name(right)),
        Some(_) => format!(
            "operator does not exist: {} {operator} {}",
            name(left),
            name(right)
        ),
    };
    Fault::new(code::UNDEFINED_FUNCTION, message)
}
