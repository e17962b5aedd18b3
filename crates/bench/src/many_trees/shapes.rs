//! The tables of a tenant: shapes out of published schemas (TPC-C, TPC-H, pgbench, `WordPress`), and
//! those that most applications have besides.

use types::ColumnType::{
    Bool, Date, Decimal, Float64, Int16, Int32, Int64, Text, Timestamp, TimestampTz,
};

use super::shape::Content::{Below, Blanks, Code, Digit, Moment, Token, Uuid, Words};
use super::shape::{Content, Shape, changing, fixed, key};

/// Numbers the rows one by one.
const SERIAL: Content = Digit {
    place: 1,
    base: u64::MAX,
};

/// The last digit of a key with several columns.
const fn last(base: u64) -> Content {
    Digit { place: 1, base }
}

/// A digit of a key with several columns that stands for so many rows.
const fn digit(place: u64, base: u64) -> Content {
    Digit { place, base }
}

/// The first digit of a key with several columns.
const fn first(place: u64) -> Content {
    let base = u64::MAX;
    Digit { place, base }
}

const MONEY: types::ColumnType = Decimal {
    precision: 12,
    scale: 2,
};

/// See the module.
pub const SHAPES: [Shape; 16] = [
    Shape {
        name: "customer", // TPC-C, as are all of the next five
        columns: &[
            key("c_w_id", Int32, first(30_000)),
            key("c_d_id", Int16, digit(3_000, 10)),
            key("c_id", Int32, last(3_000)),
            fixed("c_first", Text, Words(1)),
            fixed("c_middle", Text, Code("OE")),
            fixed("c_last", Text, Words(3)),
            fixed("c_street_1", Text, Words(2)),
            fixed("c_street_2", Text, Words(2)).nulls(40),
            fixed("c_city", Text, Words(1)),
            fixed("c_zip", Text, Code("Z")),
            fixed("c_phone", Text, Code("+49 ")),
            fixed("c_since", Timestamp, Moment),
            fixed("c_credit", Text, Words(1)),
            fixed("c_credit_lim", MONEY, Below(5_000_000)),
            fixed(
                "c_discount",
                Decimal {
                    precision: 4,
                    scale: 4,
                },
                Below(5_000),
            ),
            changing("c_balance", MONEY, Below(1_000_000)),
            changing("c_ytd_payment", MONEY, Below(1_000_000)),
            changing("c_payment_cnt", Int16, Below(500)),
            changing("c_delivery_cnt", Int16, Below(500)),
            changing("c_data", Text, Words(8)),
        ],
    },
    Shape {
        name: "new_order",
        columns: &[
            key("no_w_id", Int32, first(30_000)),
            key("no_d_id", Int16, digit(3_000, 10)),
            key("no_o_id", Int32, last(3_000)),
        ],
    },
    Shape {
        name: "orders",
        columns: &[
            key("o_w_id", Int32, first(30_000)),
            key("o_d_id", Int16, digit(3_000, 10)),
            key("o_id", Int32, last(3_000)),
            fixed("o_c_id", Int32, Below(3_000)),
            fixed("o_entry_d", Timestamp, Moment),
            changing("o_carrier_id", Int16, Below(10)).nulls(30),
            fixed("o_ol_cnt", Int16, Below(16)),
            fixed("o_all_local", Bool, Below(2)),
        ],
    },
    Shape {
        name: "order_line",
        columns: &[
            key("ol_w_id", Int32, first(300_000)),
            key("ol_d_id", Int16, digit(30_000, 10)),
            key("ol_o_id", Int32, digit(10, 3_000)),
            key("ol_number", Int16, last(10)),
            fixed("ol_i_id", Int32, Below(100_000)),
            fixed("ol_supply_w_id", Int32, Below(10)),
            changing("ol_delivery_d", Timestamp, Moment).nulls(30),
            fixed("ol_quantity", Int16, Below(10)),
            fixed("ol_amount", MONEY, Below(1_000_000)),
            fixed("ol_dist_info", Text, Token),
        ],
    },
    Shape {
        name: "stock",
        columns: &[
            key("s_w_id", Int32, first(100_000)),
            key("s_i_id", Int32, last(100_000)),
            changing("s_quantity", Int16, Below(100)),
            fixed("s_dist_01", Text, Token),
            fixed("s_dist_02", Text, Token),
            fixed("s_dist_03", Text, Token),
            changing("s_ytd", Int32, Below(10_000)),
            changing("s_order_cnt", Int16, Below(1_000)),
            changing("s_remote_cnt", Int16, Below(100)),
            fixed("s_data", Text, Words(5)),
        ],
    },
    Shape {
        name: "item",
        columns: &[
            key("i_id", Int32, SERIAL),
            fixed("i_im_id", Int32, Below(10_000)),
            fixed("i_name", Text, Words(3)),
            changing("i_price", MONEY, Below(10_000)),
            fixed("i_data", Text, Words(5)),
        ],
    },
    Shape {
        name: "lineitem", // TPC-H
        columns: &[
            key("l_orderkey", Int64, first(7)),
            key("l_linenumber", Int32, last(7)),
            fixed("l_partkey", Int64, Below(200_000)),
            fixed("l_suppkey", Int64, Below(10_000)),
            fixed("l_quantity", MONEY, Below(5_000)),
            fixed("l_extendedprice", MONEY, Below(10_000_000)),
            fixed("l_discount", MONEY, Below(11)),
            fixed("l_tax", MONEY, Below(9)),
            changing("l_returnflag", Text, Words(1)),
            changing("l_linestatus", Text, Words(1)),
            fixed("l_shipdate", Date, Below(2_526)),
            fixed("l_commitdate", Date, Below(2_526)),
            changing("l_receiptdate", Date, Below(2_526)),
            fixed("l_shipinstruct", Text, Words(2)),
            fixed("l_shipmode", Text, Words(1)),
            changing("l_comment", Text, Words(4)),
        ],
    },
    Shape {
        name: "part", // TPC-H
        columns: &[
            key("p_partkey", Int64, SERIAL),
            fixed("p_name", Text, Words(5)),
            fixed("p_mfgr", Text, Words(1)),
            fixed("p_brand", Text, Words(1)),
            fixed("p_type", Text, Words(3)),
            fixed("p_size", Int32, Below(50)),
            fixed("p_container", Text, Words(2)),
            changing("p_retailprice", MONEY, Below(200_000)),
            changing("p_comment", Text, Words(2)),
        ],
    },
    Shape {
        name: "pgbench_accounts",
        columns: &[
            key("aid", Int32, SERIAL),
            fixed("bid", Int32, Below(100)),
            changing("abalance", Int32, Below(100_000)),
            fixed("filler", Text, Blanks(84)),
        ],
    },
    Shape {
        name: "pgbench_tellers",
        columns: &[
            key("tid", Int32, SERIAL),
            fixed("bid", Int32, Below(100)),
            changing("tbalance", Int32, Below(100_000)),
            fixed("filler", Text, Blanks(84)).nulls(90),
        ],
    },
    Shape {
        name: "wp_posts", // WordPress
        columns: &[
            key("ID", Int64, SERIAL),
            fixed("post_author", Int64, Below(1_000)),
            fixed("post_date", Timestamp, Moment),
            changing("post_content", Text, Words(24)),
            fixed("post_title", Text, Words(5)),
            changing("post_excerpt", Text, Words(6)).nulls(70),
            changing("post_status", Text, Words(1)),
            fixed("comment_status", Text, Words(1)),
            fixed("post_name", Text, Words(4)),
            changing("post_modified", Timestamp, Moment),
            fixed("post_parent", Int64, Below(10)),
            fixed("guid", Text, Token),
            changing("menu_order", Int32, Below(5)),
            fixed("post_type", Text, Words(1)),
            changing("comment_count", Int64, Below(200)),
        ],
    },
    Shape {
        name: "account",
        columns: &[
            key("id", Text, Uuid { place: 1 }),
            fixed("email", Text, Code("someone@example.com/")),
            fixed("password_hash", Text, Token),
            changing("name", Text, Words(2)),
            changing("is_active", Bool, Below(20)),
            fixed("created_at", TimestampTz, Moment),
            changing("updated_at", TimestampTz, Moment),
        ],
    },
    Shape {
        name: "session",
        columns: &[
            key("token", Text, Uuid { place: 1 }),
            fixed("user_id", Int64, Below(1_000_000)),
            fixed("address", Text, Code("10.0.")),
            fixed("user_agent", Text, Words(9)),
            changing("seen_at", TimestampTz, Moment),
            changing("data", Text, Words(6)).nulls(20),
        ],
    },
    Shape {
        name: "ledger_entry",
        columns: &[
            key("account_id", Text, Uuid { place: 16 }),
            key("entry", Int32, last(16)),
            fixed("amount", MONEY, Below(10_000_000)),
            fixed("currency", Text, Words(1)),
            fixed("booked_at", TimestampTz, Moment),
            changing("status", Text, Words(1)),
        ],
    },
    Shape {
        name: "audit_log",
        columns: &[
            key("id", Int64, SERIAL),
            fixed("actor", Int64, Below(1_000)).nulls(5),
            fixed("action", Text, Words(2)),
            fixed("object_type", Text, Words(1)),
            fixed("object_id", Int64, Below(10_000_000)),
            fixed("at", TimestampTz, Moment),
            changing("detail", Text, Words(12)),
            fixed("address", Text, Code("192.168.")),
        ],
    },
    Shape {
        name: "measurement",
        columns: &[
            key("device", Text, first(1_000)),
            key("sequence", Int32, last(1_000)),
            fixed("at", TimestampTz, Moment),
            changing("value", Float64, Below(100_000)),
            changing("quality", Int16, Below(4)),
        ],
    },
];

#[cfg(test)]
mod tests {
    use types::Value;

    use super::*;
    use crate::many_trees::history::{RowNumber, RowVersion};
    use crate::many_trees::shape::ShapedRow;

    fn row(number: u64, version: u64) -> ShapedRow {
        ShapedRow {
            seed: 7,
            number: RowNumber(number),
            version: RowVersion(version),
        }
    }

    #[test]
    fn a_key_tells_the_row() {
        for shape in &SHAPES {
            for number in [0, 1, 15, 16, 999, 2_999, 3_000, 40_000_000] {
                let mut texts = vec![String::new(); shape.key_columns()];
                let columns = shape.columns.iter().zip(&mut texts);
                let key: Vec<Value<'_>> = columns
                    .map(|(column, text)| column.value(row(number, 3), text))
                    .collect();
                let found = shape.number(&key);
                assert_eq!(found, Some(RowNumber(number)), "{}", shape.name);
            }
        }
    }

    #[test]
    fn versions_differ_and_only_where_they_may() {
        let mut texts = [String::new(), String::new()];
        for shape in SHAPES.iter().filter(|shape| shape.name != "new_order") {
            let mut differ = 0;
            for column in shape.columns {
                let [one, other] = &mut texts;
                let before = column.value(row(5, 1), one);
                let after = column.value(row(5, 2), other);
                differ += usize::from(before.order(&after).is_ne());
            }
            let others = shape.columns.len() - shape.key_columns();
            assert!((1..=others).contains(&differ), "{}", shape.name);
        }
    }

    #[test]
    fn shapes_have_three_to_twenty_columns_and_keys_of_several_kinds() {
        let counts = || SHAPES.iter().map(|shape| shape.columns.len());
        assert_eq!((counts().min(), counts().max()), (Some(3), Some(20)));
        assert!(SHAPES.iter().any(|shape| !shape.has_rows_in_order()));
        assert!(SHAPES.iter().any(|shape| shape.key_columns() == 4));
    }
}
