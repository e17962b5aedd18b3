//! Operators and functions that DataFusion has under other names, or means otherwise.
//!
//! ```text
//! mod(a, b)                  a % b
//! current_schema             current_schema()
//! t AT TIME ZONE z           timezone(z, t)                  DataFusion would show the same moment in that zone
//! a SIMILAR TO p ESCAPE e    a ~ similar_to_escape(p, e)     it takes the pattern for a regular expression
//! array_remove(a, e)         array_remove_all(a, e)          it removes, and replaces, the first one
//! array_replace(a, e, f)     array_replace_all(a, e, f)
//! (a, b) IS NULL             a IS NULL AND b IS NULL         a row is NULL, and is not, if all of it is
//! t::varchar(3)              left(t::text, 3)::varchar(3)    it takes the length for a remark
//! ```

use std::ops::ControlFlow;

use datafusion::sql::sqlparser::ast::{
    BinaryOperator, CastKind, CharacterLength, DataType, Expr, Function, FunctionArg,
    FunctionArgExpr, FunctionArguments, Ident, ObjectName, ObjectNamePart, Statement as Ast, Value,
    VisitMut, VisitorMut,
};

use super::function_call::call;

/// Functions that DataFusion has by another name than PostgreSQL.
const NAMES: [(&str, &str); 2] = [
    ("array_remove", "array_remove_all"),
    ("array_replace", "array_replace_all"),
];

/// A function that is called without parentheses. The parser knows the others.
const CURRENT_SCHEMA: &str = "current_schema";

/// Puts what DataFusion knows in the place of what it does not.
pub(crate) fn rewrite(statement: &mut Ast) {
    // The visitor never breaks off.
    _ = statement.visit(&mut Operators);
}

struct Operators;

impl VisitorMut for Operators {
    type Break = ();

    fn post_visit_expr(&mut self, expr: &mut Expr) -> ControlFlow<()> {
        match expr {
            Expr::Function(function) => {
                if let Some([left, right]) = modulo(function) {
                    *expr = operation(left, BinaryOperator::Modulo, right);
                } else {
                    rename(function);
                }
            }
            Expr::Identifier(name)
                if name.quote_style.is_none()
                    && name.value.eq_ignore_ascii_case(CURRENT_SCHEMA) =>
            {
                *expr = call(CURRENT_SCHEMA, [], Vec::new());
            }
            Expr::AtTimeZone {
                timestamp,
                time_zone,
            } => {
                let arguments = [(**time_zone).clone(), (**timestamp).clone()];
                *expr = call("timezone", arguments, Vec::new());
            }
            Expr::IsNull(row) => {
                if let Some(fields) = fields_of_row(row) {
                    *expr = all(fields, Expr::IsNull);
                }
            }
            Expr::IsNotNull(row) => {
                if let Some(fields) = fields_of_row(row) {
                    *expr = all(fields, Expr::IsNotNull);
                }
            }
            Expr::SimilarTo {
                negated,
                expr: text,
                pattern,
                escape_char,
            } => {
                let backslash = || Value::SingleQuotedString("\\".to_owned()).into();
                let escape = Expr::Value(escape_char.take().unwrap_or_else(backslash));
                let pattern = [(**pattern).clone(), escape];
                let pattern = call("similar_to_escape", pattern, Vec::new());
                let matches = match negated {
                    true => BinaryOperator::PGRegexNotMatch,
                    false => BinaryOperator::PGRegexMatch,
                };
                *expr = operation((**text).clone(), matches, pattern);
            }
            Expr::Cast {
                expr: value,
                data_type,
                ..
            } => {
                if let Some(length) = length_max(data_type) {
                    let text = Expr::Cast {
                        kind: CastKind::DoubleColon,
                        expr: Box::new(Expr::Nested(value.clone())),
                        data_type: DataType::Text,
                        array: false,
                        format: None,
                    };
                    let length = Expr::value(Value::Number(length.to_string(), false));
                    **value = call("left", [text, length], Vec::new());
                }
            }
            _ => {}
        }
        ControlFlow::Continue(())
    }
}

/// `(left op right)`, whatever stands around it.
fn operation(left: Expr, op: BinaryOperator, right: Expr) -> Expr {
    Expr::Nested(Box::new(Expr::BinaryOp {
        left: Box::new(Expr::Nested(Box::new(left))),
        op,
        right: Box::new(Expr::Nested(Box::new(right))),
    }))
}

/// The fields of `(a, b)` or `ROW(a, b)`.
fn fields_of_row(row: &Expr) -> Option<Vec<Expr>> {
    match row {
        Expr::Tuple(fields) => Some(fields.clone()),
        Expr::Function(function) if name_of(function)?.value.eq_ignore_ascii_case("row") => {
            let FunctionArguments::List(list) = &function.args else {
                return None;
            };
            let fields = list.args.iter().map(|field| match field {
                FunctionArg::Unnamed(FunctionArgExpr::Expr(field)) => Some(field.clone()),
                _ => None,
            });
            fields.collect()
        }
        _ => None,
    }
}

/// Whether all of the fields are so.
fn all(fields: Vec<Expr>, is: impl Fn(Box<Expr>) -> Expr) -> Expr {
    let tests = fields
        .into_iter()
        .map(|field| is(Box::new(Expr::Nested(Box::new(field)))));
    let all = tests.reduce(|all, test| operation(all, BinaryOperator::And, test));
    all.unwrap_or_else(|| Expr::value(Value::Boolean(true)))
}

/// Characters that a text type has at most.
fn length_max(data_type: &DataType) -> Option<u64> {
    match data_type {
        DataType::Character(length)
        | DataType::Char(length)
        | DataType::CharacterVarying(length)
        | DataType::CharVarying(length)
        | DataType::Varchar(length) => match length {
            Some(CharacterLength::IntegerLength { length, .. }) => Some(*length),
            _ => None,
        },
        _ => None,
    }
}

fn name_of(function: &Function) -> Option<&Ident> {
    function.name.0.last()?.as_ident()
}

/// The arguments of a call of `mod`.
fn modulo(function: &Function) -> Option<[Expr; 2]> {
    if !name_of(function)?.value.eq_ignore_ascii_case("mod") {
        return None;
    }
    match &function.args {
        FunctionArguments::List(list) => match list.args.as_slice() {
            [
                FunctionArg::Unnamed(FunctionArgExpr::Expr(left)),
                FunctionArg::Unnamed(FunctionArgExpr::Expr(right)),
            ] => Some([left.clone(), right.clone()]),
            _ => None,
        },
        _ => None,
    }
}

fn rename(function: &mut Function) {
    let known = name_of(function).and_then(|name| {
        let mut names = NAMES.iter();
        names.find(|(theirs, _)| name.value.eq_ignore_ascii_case(theirs))
    });
    if let Some((_, ours)) = known {
        let name = ObjectNamePart::Identifier(Ident::new(*ours));
        function.name = ObjectName(vec![name]);
    }
}
