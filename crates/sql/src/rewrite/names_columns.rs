//! Whether an expression names columns.

use std::ops::ControlFlow;

use datafusion::sql::sqlparser::ast::{Expr, Visitor};

use super::walk::walk;

/// Whether an expression names columns.
pub(super) fn names_columns(expr: &Expr) -> bool {
    struct Columns;
    impl Visitor for Columns {
        type Break = ();

        fn pre_visit_expr(&mut self, expr: &Expr) -> ControlFlow<()> {
            match expr {
                Expr::Identifier(_) | Expr::CompoundIdentifier(_) => ControlFlow::Break(()),
                _ => ControlFlow::Continue(()),
            }
        }
    }
    walk(expr, &mut Columns).is_break()
}
