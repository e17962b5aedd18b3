//! A call of a function as the parser would give it.

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
