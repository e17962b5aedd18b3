//! Random queries over the tables of [`super::data`].
//!
//! Each has a shape (rows, groups, windows, joins, sets of rows, subqueries, mistakes) and random
//! expressions in it. ORDER BY is by the key or by all columns, so that LIMIT determines rows.

use rand::rngs::StdRng;
use rand::{Rng, SeedableRng};

use super::column::{Column, O, PLAIN_TYPES, T, TYPES, Type};
use super::expression::Expressions;

/// A query.
#[derive(Clone, Debug)]
pub struct Query {
    /// Its text.
    pub text: String,
    /// Whether it determines the order of its rows.
    pub ordered: bool,
    /// Whether some values need not be computed, so that one server may fail on a value that the
    /// other leaves out.
    pub lazy: bool,
}

/// Makes a query of one shape.
type Shape = fn(&mut Expressions<'_>) -> Query;

/// What makes a query lazy.
const LAZY: [&str; 5] = [
    " limit ",
    " join ",
    " filter (where ",
    " except ",
    " intersect ",
];

impl Query {
    fn new(text: String, ordered: bool) -> Self {
        let lazy = LAZY.iter().any(|part| text.contains(part));
        Self {
            text,
            ordered,
            lazy,
        }
    }

    /// The query of a seed.
    pub fn of_seed(seed: u64) -> Self {
        let mut random = StdRng::seed_from_u64(seed);
        let shape = random.random_range(0..100);
        let (shape, tables): (Shape, &[&[Column]]) = match shape {
            0..30 => (rows, &[T]),
            30..50 => (groups, &[T]),
            50..60 => (joined, &[T, O]),
            60..70 => (windows, &[T]),
            70..80 => (sets, &[T]),
            80..94 => (subqueries, &[T]),
            _ => (mistakes, &[T]),
        };
        shape(&mut Expressions {
            random: &mut random,
            columns: tables.concat(),
        })
    }
}

fn unordered(text: String) -> Query {
    Query::new(text, false)
}

fn ordered(text: String) -> Query {
    Query::new(text, true)
}

/// Up to `most` expressions of any type, with aliases.
fn select_list(make: &mut Expressions<'_>, most: u32) -> String {
    let count = make.random.random_range(1..=most);
    let items: Vec<String> = (1..=count)
        .map(|number| {
            let of = make.one_of(&TYPES);
            let expression = make.of(of, 3);
            if make.percent(30) {
                expression
            } else {
                format!("{expression} as x{number}")
            }
        })
        .collect();
    items.join(", ")
}

fn rows(make: &mut Expressions<'_>) -> Query {
    let list = select_list(make, 4);
    let condition = make.of(Type::Boolean, 3);
    match make.random.random_range(0..4) {
        0 => unordered(format!("select {list} from t")),
        1 => unordered(format!("select {list} from t where {condition}")),
        2 => {
            let direction = make.one_of(&["", " desc"]);
            let limit = make.random.random_range(0..30);
            let offset = make.random.random_range(0..5);
            ordered(format!(
                "select t.id, {list} from t order by t.id{direction} limit {limit} offset {offset}"
            ))
        }
        _ => {
            let of = make.one_of(&PLAIN_TYPES);
            let by = make.computed(of, 2);
            let nulls = make.one_of(&["", " nulls first", " desc", " desc nulls last"]);
            ordered(format!(
                "select t.id, {by} as by from t where {condition} order by {by}{nulls}, t.id"
            ))
        }
    }
}

fn aggregate(make: &mut Expressions<'_>) -> String {
    let number = make.one_of(&[
        Type::Small,
        Type::Integer,
        Type::Big,
        Type::Numeric,
        Type::Real,
        Type::Double,
    ]);
    let any = make.one_of(&[
        Type::Integer,
        Type::Big,
        Type::Numeric,
        Type::Double,
        Type::Text,
        Type::Date,
        Type::Timestamp,
    ]);
    let call = match make.random.random_range(0..11) {
        0 => return "count(*)".to_owned(),
        1 => format!("count({})", make.of(any, 2)),
        2 => format!("count(distinct {})", make.leaf(any)),
        3 => format!("sum({})", make.of(number, 2)),
        4 => format!("avg({})", make.of(number, 2)),
        5 => format!("min({})", make.of(any, 2)),
        6 => format!("max({})", make.of(any, 2)),
        7 => {
            let function = make.one_of(&["bool_and", "bool_or", "every"]);
            format!("{function}({})", make.of(Type::Boolean, 2))
        }
        8 => {
            let text = make.leaf(Type::Text);
            return format!("string_agg({text}, ',' order by t.id)");
        }
        9 => {
            let function = make.one_of(&["stddev", "variance", "stddev_pop", "var_pop"]);
            format!("{function}({})", make.leaf(Type::Double))
        }
        _ => format!("sum(distinct {})", make.leaf(Type::Integer)),
    };
    if make.percent(15) {
        return format!("{call} filter (where {})", make.of(Type::Boolean, 2));
    }
    call
}

fn groups(make: &mut Expressions<'_>) -> Query {
    let count = make.random.random_range(1..=3);
    let aggregates: Vec<String> = (0..count)
        .map(|number| format!("{} as a{number}", aggregate(make)))
        .collect();
    let aggregates = aggregates.join(", ");
    let condition = make.of(Type::Boolean, 2);
    let of = make.one_of(&PLAIN_TYPES);
    let key = make.computed(of, 1);
    match make.random.random_range(0..5) {
        0 => unordered(format!("select {aggregates} from t")),
        1 => unordered(format!("select {aggregates} from t where {condition}")),
        2 => unordered(format!("select {aggregates} from t where false")),
        3 => unordered(format!(
            "select {key} as g, {aggregates} from t where {condition} group by 1"
        )),
        _ => unordered(format!(
            "select {key} as g, {aggregates} from t group by {key} having count(*) > 2"
        )),
    }
}

fn joined(make: &mut Expressions<'_>) -> Query {
    let list = select_list(make, 3);
    let join = make.one_of(&["join", "left join", "right join", "full join"]);
    let on = make.one_of(&[
        "o.t_id = t.id",
        "o.line = t.i2",
        "o.k = t.id and o.line = 1",
    ]);
    let condition = make.of(Type::Boolean, 2);
    let by_name = "(select t_id as id, o.* from o) as o using (id)";
    match make.random.random_range(0..5) {
        0 => unordered(format!(
            "select {list} from t {join} o on {on} where {condition}"
        )),
        1 => unordered(format!("select *, {list} from t {join} {by_name}")),
        2 => unordered(format!(
            "select id, count(*), sum(o.amount) from t {join} {by_name} where {condition} group by id"
        )),
        3 => unordered(format!("select {list} from t {join} o on {on}")),
        _ => unordered(format!(
            "select t.b, count(*), sum(o.amount), min(o.due) from t {join} o on {on} group by t.b"
        )),
    }
}

fn windows(make: &mut Expressions<'_>) -> Query {
    let of = make.one_of(&[Type::Integer, Type::Numeric, Type::Text, Type::Date]);
    let value = make.column(of);
    let part = make.one_of(&["t.b", "t.i2 % 3", "t.c", "t.v", "t.d"]);
    let number = make.one_of(&[Type::Integer, Type::Numeric, Type::Big, Type::Double]);
    let call = match make.random.random_range(0..10) {
        0 => "row_number()".to_owned(),
        1 => "ntile(4)".to_owned(),
        2 => format!("lag({value})"),
        3 => format!("lead({value}, 2)"),
        4 => format!("first_value({value})"),
        5 => format!("sum({})", make.leaf(number)),
        6 => format!("avg({})", make.leaf(number)),
        7 => "count(*)".to_owned(),
        8 => {
            let call = make.one_of(&["rank()", "dense_rank()", "percent_rank()", "cume_dist()"]);
            let by = make.one_of(&["t.i4", "t.d", "t.r desc", "t.v, t.n", "t.day"]);
            return unordered(format!(
                "select t.id, {call} over (partition by {part} order by {by}) from t"
            ));
        }
        _ => format!("max({value})"),
    };
    let frame = make.one_of(&["", "", " rows between 2 preceding and current row"]);
    unordered(format!(
        "select t.id, {call} over (partition by {part} order by t.id{frame}) as w from t"
    ))
}

fn sets(make: &mut Expressions<'_>) -> Query {
    let operator = make.one_of(&["union", "union all", "intersect", "except"]);
    let of = make.one_of(&PLAIN_TYPES);
    let (a, b) = (make.of(of, 2), make.of(of, 2));
    let (left, right) = (make.of(Type::Boolean, 2), make.of(Type::Boolean, 2));
    match make.random.random_range(0..3) {
        0 => unordered(format!("select distinct {a} as x, t.b from t where {left}")),
        _ => unordered(format!(
            "select {a} as x from t where {left} {operator} select {b} from t where {right}"
        )),
    }
}

fn subqueries(make: &mut Expressions<'_>) -> Query {
    let condition = make.of(Type::Boolean, 2);
    let list = select_list(make, 2);
    let call = aggregate(make);
    let text = match make.random.random_range(0..9) {
        0 => format!("select {list} from t where t.id in (select o.t_id from o where o.line = 1)"),
        1 => format!(
            "select {list} from t where t.id not in (select o.t_id from o where o.t_id is not null)"
        ),
        2 => format!(
            "select {list} from t where exists (select 1 from o where o.t_id = t.id and o.amount > 500)"
        ),
        3 => format!("select {list} from t where not exists (select from o where o.t_id = t.id)"),
        4 => "select t.id, (select sum(o.amount) from o where o.t_id = t.id) as total from t"
            .to_owned(),
        5 => "select t.id, (select count(*) from o where o.t_id = t.id) as times from t".to_owned(),
        6 => format!(
            "with u as (select * from t where {condition}) select count(*), max(u.i4), sum(u.n) from u"
        ),
        7 => format!(
            "select q.a, count(*) from (select {call} as a, t.i2 from t group by t.i2) q group by q.a"
        ),
        _ => format!("select {list} from t where t.n > (select avg(amount) / 100 from o)"),
    };
    unordered(text)
}

/// Queries that PostgreSQL refuses.
fn mistakes(make: &mut Expressions<'_>) -> Query {
    let of = make.one_of(&TYPES);
    let any = make.of(of, 1);
    let text = match make.random.random_range(0..12) {
        0 => "select t.missing from t".to_owned(),
        1 => "select * from missing".to_owned(),
        2 => format!("select missing({any}) from t"),
        3 => "select 1 / (t.id - t.id) from t".to_owned(),
        4 => "select t.s + 1 from t".to_owned(),
        5 => "select 'x'::integer from t".to_owned(),
        6 => "select t.id, count(*) from t".to_owned(),
        7 => "select t.i4 * 2147483647 from t".to_owned(),
        8 => format!("select {any} from t where t.id"),
        9 => "select date '2020-02-30'".to_owned(),
        10 => "select id from t, o, e where id = 1".to_owned(),
        _ => format!("select {any} from from t"),
    };
    unordered(text)
}
