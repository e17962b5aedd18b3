//! A call of a function as the parser would give it, and its arguments.

use datafusion::sql::sqlparser::ast::{
    Expr, Function, FunctionArg, FunctionArgExpr, FunctionArgumentClause, FunctionArgumentList,
    FunctionArguments, Ident, ObjectName,
};

/// `name(args clauses)`, the function by one name.
pub(super) fn call(
    name: &str,
    args: impl IntoIterator<Item = Expr>,
    clauses: Vec<FunctionArgumentClause>,
) -> Expr {
    let args = args.into_iter();
    let args = args.map(|arg| FunctionArg::Unnamed(FunctionArgExpr::Expr(arg)));
    call_with(
        ObjectName::from(vec![Ident::new(name)]),
        args.collect(),
        clauses,
    )
}

/// The same of a name and arguments as they are in a statement.
pub(super) fn call_with(
    name: ObjectName,
    args: Vec<FunctionArg>,
    clauses: Vec<FunctionArgumentClause>,
) -> Expr {
    Expr::Function(Function {
        name,
        uses_odbc_syntax: false,
        parameters: FunctionArguments::None,
        args: FunctionArguments::List(FunctionArgumentList {
            duplicate_treatment: None,
            args,
            clauses,
        }),
        filter: None,
        null_treatment: None,
        over: None,
        within_group: Vec::new(),
    })
}

/// The arguments of a call that has no others than plain ones.
pub(super) fn arguments(function: &Function) -> Option<Vec<Expr>> {
    let FunctionArguments::List(list) = &function.args else {
        return None;
    };
    let arguments = list.args.iter().map(|argument| match argument {
        FunctionArg::Unnamed(FunctionArgExpr::Expr(argument)) => Some(argument.clone()),
        _ => None,
    });
    arguments.collect()
}
