//! SELECT: by which key, in which order, how many.

use proptest::prelude::*;

use crate::world::World;

const SALES: &str = "
    create table sales (
        shop integer, day date, number integer, amount numeric(8, 2), clerk text,
        primary key (shop, day, number)
    );
    create index sales_by_clerk on sales (clerk, amount);
    create index sales_by_number on sales using hash (number);
    create procedure of_shop(s integer) as begin atomic
        select number, amount from sales where shop = s;
    end;
    create procedure between_days(s integer, a date, b date, n bigint) as begin atomic
        select number from sales where shop = s and day between a and b order by day desc, number desc limit n;
    end;
    create procedure after(s integer, d date) as begin atomic
        select number from sales where shop = s and day > d and number % 2 = 1 limit 2;
    end;
    create procedure of_clerk(c text, least numeric) as begin atomic
        select amount, clerk from sales where clerk = c and amount >= least order by amount desc;
    end;
    create procedure by_amount(s integer) as begin atomic
        select amount, number from sales where shop = s order by amount desc, number limit 3;
    end;
    create procedure numbered(n integer) as begin atomic
        select shop, day from sales where number = n;
    end;
    create procedure one(s integer, d date, n integer) as begin atomic
        select *, amount * 2 as twice, 'x' from sales where shop = s and day = d and number = n;
    end;
";

fn world() -> World {
    let mut world = World::new(SALES);
    for number in 0..12 {
        let (shop, day) = (number % 2, 1 + number / 4);
        let amount = (number * 7) % 5;
        let clerk = ["'ann'", "'bob'", "null"][number % 3];
        let insert = format!(
            "insert into sales values ({shop}, '2026-11-0{day}', {number}, {amount}.50, {clerk})"
        );
        assert_eq!(world.changed(&insert), 1);
    }
    world
}

#[test]
fn rows_come_by_prefix_range_and_order() {
    let mut world = world();
    assert_eq!(
        world.rows("call of_shop(0)"),
        ["0|0.50", "2|4.50", "4|3.50", "6|2.50", "8|1.50", "10|0.50"]
    );
    let between = |n| format!("call between_days(1, '2026-11-01', '2026-11-02', {n})");
    assert_eq!(world.rows(&between("null")), ["7", "5", "3", "1"]);
    assert_eq!(world.rows(&between("2")), ["7", "5"]);
    assert_eq!(world.refused(&between("-1")).0, "2201W");
    assert_eq!(world.rows("call after(1, '2026-11-01')"), ["5", "7"]);
    assert_eq!(world.rows("call after(1, '2026-11-03')").len(), 0);
    assert_eq!(
        world.rows("call of_clerk('ann', 1.505)"),
        ["3.50|ann", "2.50|ann"]
    );
    assert_eq!(
        world.rows("call by_amount(0)"),
        ["4.50|2", "3.50|4", "2.50|6"]
    );
    assert_eq!(world.rows("call numbered(5)").len(), 1);
    let row = world.rows("call one(0, '2026-11-01', 2)");
    assert_eq!(row, [format!("0|{}|2|4.50|NULL|9.00|x", 20_758)]);
    assert_eq!(world.rows("call one(0, '2026-11-01', 3)").len(), 0);
}

/// A range over whole numbers, with bounds of every kind.
#[derive(Clone, Debug)]
struct Range {
    low: Option<(bool, i64)>,
    high: Option<(bool, i64)>,
    is_descending: bool,
    limit: Option<usize>,
}

fn ranges() -> impl Strategy<Value = Range> {
    let bound = || {
        let value = prop_oneof![-3i64..13, Just(i64::MAX), Just(i64::MIN), Just(1 << 40)];
        proptest::option::of((any::<bool>(), value))
    };
    (
        bound(),
        bound(),
        any::<bool>(),
        proptest::option::of(0usize..5),
    )
        .prop_map(|(low, high, is_descending, limit)| Range {
            low,
            high,
            is_descending,
            limit,
        })
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(64))]
    #[test]
    fn ranges_have_the_rows_that_conditions_ask_for(range in ranges()) {
        let mut conditions = vec!["g = 1".to_owned()];
        let mut expected: Vec<i64> = (0..10).collect();
        if let Some((is_open, low)) = range.low {
            conditions.push(format!("n {} {low}", if is_open { ">" } else { ">=" }));
            expected.retain(|n| if is_open { *n > low } else { *n >= low });
        }
        if let Some((is_open, high)) = range.high {
            conditions.push(format!("n {} {high}", if is_open { "<" } else { "<=" }));
            expected.retain(|n| if is_open { *n < high } else { *n <= high });
        }
        let mut tail = String::new();
        if range.is_descending {
            tail.push_str(" order by n desc");
            expected.reverse();
        }
        if let Some(limit) = range.limit {
            tail.push_str(&format!(" limit {limit}"));
            expected.truncate(limit);
        }
        let schema = format!(
            "create table t (g smallint, n integer, primary key (g, n));
             create procedure p() as begin atomic select n from t where {}{tail}; end",
            conditions.join(" and ")
        );
        let mut world = World::new(&schema);
        for n in 0..10 {
            world.changed(&format!("insert into t values (1, {n}), (0, {n}), (2, {n})"));
        }
        let expected: Vec<String> = expected.iter().map(i64::to_string).collect();
        prop_assert_eq!(world.rows("call p()"), expected, "{}", schema);
    }
}
