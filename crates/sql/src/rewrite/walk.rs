//! Walks over syntax trees, for all visitors the same two.
//!
//! The parser's `visit` is compiled anew for each type of visitor: some 390 kinds of nodes, each with a guard against deep nesting. For
//! 25 visitors that was two thirds of this crate (6 of 9.5 million lines of what `rustc --emit=llvm-ir -C no-prepopulate-passes` gives). Here `visit` has one type of visitor, which
//! hands on what it meets through a table of functions.

use std::ops::ControlFlow;

use datafusion::sql::sqlparser::ast::{
    Expr, ObjectName, Query, Select, Statement, TableFactor, ValueWithSpan, Visit, VisitMut,
    Visitor, VisitorMut,
};

/// Shows a tree to a visitor; what the visitor broke off with.
pub(crate) fn walk<N: Visit, V: Visitor>(tree: &N, visitor: &mut V) -> ControlFlow<V::Break> {
    let mut kept = Kept {
        visitor,
        broken_off: None,
    };
    // Why is kept.
    _ = tree.visit(&mut Shared(&mut kept));
    kept.broken_off
        .map_or(ControlFlow::Continue(()), ControlFlow::Break)
}

/// Lets a visitor change a tree; what the visitor broke off with.
pub(crate) fn walk_mut<N: VisitMut, V: VisitorMut>(
    tree: &mut N,
    visitor: &mut V,
) -> ControlFlow<V::Break> {
    let mut kept = KeptMut {
        visitor,
        broken_off: None,
    };
    // Why is kept.
    _ = tree.visit(&mut SharedMut(&mut kept));
    kept.broken_off
        .map_or(ControlFlow::Continue(()), ControlFlow::Break)
}

/// Whether any expression of a tree is so.
pub(crate) fn any_expression<N: Visit>(tree: &N, is_so: impl FnMut(&Expr) -> bool) -> bool {
    struct Any<F>(F);

    impl<F: FnMut(&Expr) -> bool> Visitor for Any<F> {
        type Break = ();

        fn pre_visit_expr(&mut self, expr: &Expr) -> ControlFlow<()> {
            match (self.0)(expr) {
                true => ControlFlow::Break(()),
                false => ControlFlow::Continue(()),
            }
        }
    }

    walk(tree, &mut Any(is_so)).is_break()
}

/// The type for which `visit` is compiled.
struct Shared<'v>(&'v mut dyn Visitor<Break = ()>);

/// The same for changes.
struct SharedMut<'v>(&'v mut dyn VisitorMut<Break = ()>);

/// A visitor as one that breaks off without a reason, which is kept.
struct Kept<'v, V: Visitor> {
    visitor: &'v mut V,
    broken_off: Option<V::Break>,
}

/// The same for changes.
struct KeptMut<'v, V: VisitorMut> {
    visitor: &'v mut V,
    broken_off: Option<V::Break>,
}

macro_rules! hand_on {
    ($hook:ident, $node:ty $(, $mutable:tt)?) => {
        fn $hook(&mut self, node: &$($mutable)? $node) -> ControlFlow<()> {
            self.0.$hook(node)
        }
    };
}

macro_rules! keep {
    ($hook:ident, $node:ty $(, $mutable:tt)?) => {
        fn $hook(&mut self, node: &$($mutable)? $node) -> ControlFlow<()> {
            match self.visitor.$hook(node) {
                ControlFlow::Continue(()) => ControlFlow::Continue(()),
                ControlFlow::Break(reason) => {
                    self.broken_off = Some(reason);
                    ControlFlow::Break(())
                }
            }
        }
    };
}

/// All that a visitor is called for.
macro_rules! hooks {
    ($with:ident $(, $mutable:tt)?) => {
        type Break = ();

        $with!(pre_visit_statement, Statement $(, $mutable)?);
        $with!(post_visit_statement, Statement $(, $mutable)?);
        $with!(pre_visit_query, Query $(, $mutable)?);
        $with!(post_visit_query, Query $(, $mutable)?);
        $with!(pre_visit_select, Select $(, $mutable)?);
        $with!(post_visit_select, Select $(, $mutable)?);
        $with!(pre_visit_table_factor, TableFactor $(, $mutable)?);
        $with!(post_visit_table_factor, TableFactor $(, $mutable)?);
        $with!(pre_visit_relation, ObjectName $(, $mutable)?);
        $with!(post_visit_relation, ObjectName $(, $mutable)?);
        $with!(pre_visit_expr, Expr $(, $mutable)?);
        $with!(post_visit_expr, Expr $(, $mutable)?);
        $with!(pre_visit_value, ValueWithSpan $(, $mutable)?);
        $with!(post_visit_value, ValueWithSpan $(, $mutable)?);
    };
}

impl Visitor for Shared<'_> {
    hooks!(hand_on);
}

impl VisitorMut for SharedMut<'_> {
    hooks!(hand_on, mut);
}

impl<V: Visitor> Visitor for Kept<'_, V> {
    hooks!(keep);
}

impl<V: VisitorMut> VisitorMut for KeptMut<'_, V> {
    hooks!(keep, mut);
}

#[cfg(test)]
mod tests {
    use datafusion::sql::sqlparser::dialect::PostgreSqlDialect;
    use datafusion::sql::sqlparser::parser::Parser;

    use super::*;

    fn parsed(text: &str) -> Statement {
        let parsed = Parser::parse_sql(&PostgreSqlDialect {}, text);
        parsed.expect("parses").remove(0)
    }

    /// Breaks off at the first table of a name, after it has renamed those before.
    struct UpTo(&'static str);

    impl VisitorMut for UpTo {
        type Break = String;

        fn pre_visit_relation(&mut self, table: &mut ObjectName) -> ControlFlow<String> {
            if table.to_string() == self.0 {
                return ControlFlow::Break(format!("met {table}"));
            }
            *table = ObjectName::from(vec!["seen".into()]);
            ControlFlow::Continue(())
        }
    }

    #[test]
    fn a_visitor_sees_all_up_to_where_it_breaks_off() {
        let text = "SELECT * FROM a, (SELECT 1 FROM b WHERE EXISTS (SELECT 1 FROM c)) AS x, d";
        let mut statement = parsed(text);
        let broken_off = walk_mut(&mut statement, &mut UpTo("c"));
        assert_eq!(broken_off, ControlFlow::Break("met c".to_owned()));
        let expected =
            "SELECT * FROM seen, (SELECT 1 FROM seen WHERE EXISTS (SELECT 1 FROM c)) AS x, d";
        assert_eq!(statement.to_string(), expected);
        assert!(walk_mut(&mut statement, &mut UpTo("e")).is_continue());
    }

    #[test]
    fn expressions_are_found_at_any_depth() {
        let statement = parsed("SELECT a FROM t WHERE b IN (SELECT c + 1 FROM u)");
        let names = |name: &str| {
            let name = name.to_owned();
            any_expression(&statement, move |expr| expr.to_string() == name)
        };
        assert!(names("c + 1") && names("a"));
        assert!(!names("d"));
    }
}
