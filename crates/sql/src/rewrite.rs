//! PostgreSQL's forms of statements that DataFusion takes in another form.
//!
//! * [`tokens`]: what the parser does not read.
//! * [`column_names`]: the names of result columns without an alias.
//! * [`system`]: what clients ask of the system catalogs.
//! * [`from_functions`]: functions in the place of tables, by [`row_functions`]; [`moments`]: series of times.
//! * [`json_aggregates`]: aggregates that build JSON.
//! * [`limits`]: FETCH FIRST.
//! * [`distinct_from`]: what belongs to IS DISTINCT FROM.
//! * [`quantified_arrays`]: comparisons with all or any elements of an array.
//! * [`array_arguments`]: columns of arrays where lists are wanted.
//! * [`value_lists`]: VALUES that name columns.
//! * [`arrays`], [`operators`]: expressions that DataFusion knows in another form.
//! * [`row_membership`]: rows among the rows of a subquery.
//! * [`function_call`], [`casts`]: calls and casts as the parser would give them.
//!
//! The others work on the plan, before it is analyzed:
//!
//! * [`numbers`]: the types of integer literals.
//! * [`empty_tables`]: what reads only catalogs without rows.
//! * [`set_comparisons`]: comparisons with all or any rows of a subquery.
//! * [`lateral_joins`]: subqueries in FROM that name what stands before them.
//! * [`subquery_values`]: EXISTS and IN in the place of a value.
//! * [`scalar_subqueries`]: correlated subqueries in the place of a value.

pub(crate) mod array_arguments;
pub(crate) mod arrays;
mod casts;
pub(crate) mod column_names;
pub(crate) mod distinct_from;
pub(crate) mod empty_tables;
pub(crate) mod from_functions;
mod function_call;
pub(crate) mod json_aggregates;
pub(crate) mod lateral_joins;
pub(crate) mod limits;
mod moments;
pub(crate) mod numbers;
pub(crate) mod operators;
pub(crate) mod quantified_arrays;
mod row_functions;
pub(crate) mod row_membership;
pub(crate) mod scalar_subqueries;
pub(crate) mod set_comparisons;
pub(crate) mod subquery_values;
pub(crate) mod system;
pub(crate) mod tokens;
pub(crate) mod value_lists;
