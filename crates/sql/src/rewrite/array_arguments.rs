//! Columns of arrays in the places where DataFusion wants lists.
//!
//! ```text
//! unnest(tags)          unnest(array_of(tags))
//! array_length(a, 1)    array_length(array_of(a), 1)
//! tags[1]               array_of(tags)[1]
//! x = ANY (tags)        x = ANY (array_of(tags))
//! ```
//!
//! [`ArrayOf`](crate::functions::array_of) knows what to do by the type, which nobody knows before the statement is
//! planned. Operators (`tags @> …`) are planned with types: [`ArrayOperators`](crate::functions::array_operators).
//! Parameters are left as they are: their types are told by what is around them.

use std::ops::ControlFlow;

use datafusion::sql::sqlparser::ast::{
    AccessExpr, Expr, Function, FunctionArg, FunctionArgExpr, FunctionArguments, Statement as Ast,
    VisitorMut,
};

use super::function_call::call;
use super::walk::walk_mut;

/// The name of the function.
pub(crate) const ARRAY_OF: &str = "array_of";

/// Functions whose first argument is an array; the second one too, of those that say so.
const FUNCTIONS: [(&str, usize); 13] = [
    ("array_append", 1),
    ("array_cat", 2),
    ("array_dims", 1),
    ("array_length", 1),
    ("array_ndims", 1),
    ("array_position", 1),
    ("array_positions", 1),
    ("array_remove_all", 1),
    ("array_replace_all", 1),
    ("array_to_string", 1),
    ("array_upper", 1),
    ("cardinality", 1),
    ("unnest", 1),
];

/// Puts the calls where an array is an argument.
pub(crate) fn rewrite(statement: &mut Ast) {
    // The visitor never breaks off.
    _ = walk_mut(statement, &mut Arguments);
}

struct Arguments;

impl VisitorMut for Arguments {
    type Break = ();

    fn post_visit_expr(&mut self, expr: &mut Expr) -> ControlFlow<()> {
        match expr {
            Expr::Function(function) => in_arguments(function),
            Expr::CompoundFieldAccess { root, access_chain }
                if matches!(access_chain.first(), Some(AccessExpr::Subscript(_))) =>
            {
                wrap(root);
            }
            Expr::AnyOp { right, .. } | Expr::AllOp { right, .. } => wrap(right),
            _ => {}
        }
        ControlFlow::Continue(())
    }
}

fn in_arguments(function: &mut Function) {
    let name = function.name.0.last().and_then(|part| part.as_ident());
    let name = name.map(|name| name.value.to_ascii_lowercase());
    let arrays = FUNCTIONS
        .iter()
        .find(|(known, _)| Some(*known) == name.as_deref());
    let (Some((_, arrays)), FunctionArguments::List(list)) = (arrays, &mut function.args) else {
        return;
    };
    for arg in list.args.iter_mut().take(*arrays) {
        if let FunctionArg::Unnamed(FunctionArgExpr::Expr(arg)) = arg {
            wrap(arg);
        }
    }
}

/// Puts a call around an expression that may be a column of arrays.
fn wrap(array: &mut Expr) {
    if names_a_column(array) {
        *array = call(ARRAY_OF, [array.clone()], Vec::new());
    }
}

fn names_a_column(expr: &Expr) -> bool {
    match expr {
        Expr::Identifier(_) | Expr::CompoundIdentifier(_) => true,
        Expr::Nested(expr) => names_a_column(expr),
        _ => false,
    }
}
