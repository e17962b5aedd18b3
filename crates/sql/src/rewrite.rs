//! PostgreSQL's forms of statements that DataFusion takes in another form.
//!
//! * [`tokens`]: what the parser does not read.
//! * [`column_names`]: the names of result columns without an alias.
//! * [`system`]: what clients ask of the system catalogs.
//! * [`from_functions`]: functions in the place of tables, by [`row_functions`]; [`moments`]: series of times.
//! * [`json_aggregates`]: aggregates that build JSON.
//! * [`limits`]: FETCH FIRST.
//! * [`distinct_from`]: what belongs to IS DISTINCT FROM.
//! * [`grouping_sets`]: ROLLUP, CUBE and GROUPING SETS.
//! * [`symmetric_ranges`]: BETWEEN SYMMETRIC.
//! * [`distinct_sorting`]: what SELECT DISTINCT is sorted by.
//! * [`quantified_arrays`]: comparisons with all or any elements of an array.
//! * [`array_arguments`]: columns of arrays where lists are wanted.
//! * [`value_lists`]: VALUES that name columns.
//! * [`arrays`], [`operators`], [`calls`], [`row_comparisons`], [`overlaps`], [`named_moments`]: expressions that DataFusion knows in another form.
//! * [`whole_rows`]: rows of tables, in the plan, too.
//! * [`written_columns`]: joins by names, and `*`; it asks what columns tables have, when the statement is planned.
//! * [`outer_names`]: columns of tables around a subquery.
//! * [`recursive_types`]: the terms of recursive queries; it asks what types they have.
//! * [`row_membership`]: rows among the rows of a subquery.
//! * [`subquery_names`]: the names of subqueries in the place of a value.
//! * [`function_call`], [`casts`], [`operation`], [`made_queries`]: calls, casts, operations and queries as the parser would give them.
//! * [`names_columns`]: what an expression depends on. [`walk`]: how all of them go through a tree.
//!
//! The others work on the plan, before it is analyzed:
//!
//! * [`numbers`]: the types of integer literals.
//! * [`chosen_values`]: values of which one is taken have one type.
//! * [`integer_operations`]: integers where DataFusion has bigints.
//! * [`interval_lengths`]: intervals compared by their lengths.
//! * [`operand_types`]: operands of types that PostgreSQL refuses.
//! * [`union_types`]: the columns of UNION, INTERSECT and EXCEPT have one type.
//! * [`ties`]: FETCH FIRST … WITH TIES.
//! * [`bag_operations`]: EXCEPT ALL and INTERSECT ALL.
//! * [`empty_tables`]: what reads only catalogs without rows.
//! * [`grouping_columns`]: grouping sets of expressions.
//! * [`repeated_order`]: sorting by one expression twice.
//! * [`computed_below`]: subqueries where DataFusion has none.
//! * [`set_comparisons`]: comparisons with all or any rows of a subquery.
//! * [`lateral_joins`]: subqueries in FROM that name what stands before them.
//! * [`subquery_values`]: EXISTS and IN in the place of a value.
//! * [`scalar_subqueries`]: subqueries in the place of a value.

pub(crate) mod array_arguments;
pub(crate) mod arrays;
pub(crate) mod bag_operations;
mod calls;
mod casts;
mod chosen_values;
pub(crate) mod column_names;
pub(crate) mod computed_below;
pub(crate) mod distinct_from;
pub(crate) mod distinct_sorting;
pub(crate) mod empty_tables;
pub(crate) mod from_functions;
mod function_call;
pub(crate) mod grouping_columns;
pub(crate) mod grouping_sets;
mod integer_operations;
mod interval_lengths;
pub(crate) mod json_aggregates;
pub(crate) mod lateral_joins;
pub(crate) mod limits;
mod made_queries;
mod moments;
mod named_moments;
mod names_columns;
pub(crate) mod numbers;
mod operand_types;
mod operation;
pub(crate) mod operators;
pub(crate) mod outer_names;
mod overlaps;
pub(crate) mod quantified_arrays;
pub(crate) mod recursive_types;
pub(crate) mod repeated_order;
mod row_comparisons;
mod row_functions;
pub(crate) mod row_membership;
pub(crate) mod scalar_subqueries;
pub(crate) mod set_comparisons;
pub(crate) mod subquery_names;
pub(crate) mod subquery_values;
pub(crate) mod symmetric_ranges;
pub(crate) mod system;
pub(crate) mod ties;
pub(crate) mod tokens;
pub(crate) mod union_types;
pub(crate) mod value_lists;
pub(crate) mod walk;
pub(crate) mod whole_rows;
pub(crate) mod written_columns;
