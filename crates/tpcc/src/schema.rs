//! The nine tables, their columns and their indexes.
//!
//! As in the paper (Anti-Caching, section 4.1) HISTORY, ORDERS and ORDER-LINE may go to disk. What every
//! transaction needs stays in memory, and so do customers and stock, which are read at random.
//! HISTORY has no key in the specification; here it has a number.

use oltp::{ColumnDefinition, IndexId, IndexKind, PartitionNumber, TableDefinition, TableNumber};
use types::ColumnType;
use types::ColumnType::{Bool, Bytes, Int16, Int32, Int64, Timestamp};

pub(crate) const WAREHOUSE: TableNumber = TableNumber(0);
pub(crate) const DISTRICT: TableNumber = TableNumber(1);
pub(crate) const CUSTOMER: TableNumber = TableNumber(2);
pub(crate) const HISTORY: TableNumber = TableNumber(3);
pub(crate) const ORDERS: TableNumber = TableNumber(4);
pub(crate) const NEW_ORDER: TableNumber = TableNumber(5);
pub(crate) const ORDER_LINE: TableNumber = TableNumber(6);
pub(crate) const ITEM: TableNumber = TableNumber(7);
pub(crate) const STOCK: TableNumber = TableNumber(8);

/// (w, d, last).
pub(crate) const CUSTOMER_BY_NAME: IndexId = IndexId::new(CUSTOMER.0, 1);
/// (w, d, c, o).
pub(crate) const ORDERS_BY_CUSTOMER: IndexId = IndexId::new(ORDERS.0, 1);

pub(crate) mod warehouse {
    pub const NAME: usize = 1;
    pub const TAX: usize = 7;
    pub const YTD: usize = 8;
}

pub(crate) mod district {
    pub const NAME: usize = 2;
    pub const TAX: usize = 8;
    pub const YTD: usize = 9;
    pub const NEXT_ORDER: usize = 10;
}

pub(crate) mod customer {
    pub const ID: usize = 2;
    pub const FIRST: usize = 3;
    pub const LAST: usize = 5;
    pub const CREDIT: usize = 13;
    pub const DISCOUNT: usize = 15;
    pub const BALANCE: usize = 16;
    pub const YTD_PAYMENT: usize = 17;
    pub const PAYMENTS: usize = 18;
    pub const DELIVERIES: usize = 19;
    pub const DATA: usize = 20;
}

pub(crate) mod orders {
    pub const ID: usize = 2;
    pub const CUSTOMER: usize = 3;
    pub const ENTRY_DATE: usize = 4;
    pub const CARRIER: usize = 5;
}

pub(crate) mod new_order {
    pub const ORDER: usize = 2;
}

pub(crate) mod order_line {
    pub const NUMBER: usize = 3;
    pub const ITEM: usize = 4;
    pub const SUPPLY_WAREHOUSE: usize = 5;
    pub const DELIVERY_DATE: usize = 6;
    pub const QUANTITY: usize = 7;
    pub const AMOUNT: usize = 8;
}

pub(crate) mod item {
    pub const NAME: usize = 2;
    pub const PRICE: usize = 3;
    pub const DATA: usize = 4;
}

pub(crate) mod stock {
    pub const QUANTITY: usize = 2;
    /// That of the first of ten districts.
    pub const DISTRICT_INFOS: usize = 3;
    pub const YTD: usize = 13;
    pub const ORDERS: usize = 14;
    pub const REMOTE_ORDERS: usize = 15;
    pub const DATA: usize = 16;
}

/// The primary index of a table.
pub(crate) const fn key_of(table: TableNumber) -> IndexId {
    IndexId::new(table.0, 0)
}

/// The partition of a warehouse, of so many.
pub(crate) fn partition_of(warehouse: i16, partitions: u16) -> PartitionNumber {
    PartitionNumber((warehouse as u16 - 1) % partitions)
}

const ADDRESS: [(&str, ColumnType); 5] = [
    ("street_1", Bytes),
    ("street_2", Bytes),
    ("city", Bytes),
    ("state", Bytes),
    ("zip", Bytes),
];

fn table(name: &str, columns: &[&[(&str, ColumnType)]]) -> TableDefinition {
    let columns = columns.concat();
    let define = |(name, column_type): &(&str, ColumnType)| {
        let column = ColumnDefinition::new(name, *column_type);
        match *name {
            "o_carrier_id" | "ol_delivery_d" => column.nullable(),
            _ => column,
        }
    };
    TableDefinition::new(name, columns.iter().map(define).collect())
}

/// All tables, in the order of their numbers.
pub fn tables() -> Vec<TableDefinition> {
    use IndexKind::{Hash, Ordered};
    let warehouse: &[_] = &[("w_id", Int16), ("w_name", Bytes)];
    let district: &[_] = &[("d_w_id", Int16), ("d_id", Int16), ("d_name", Bytes)];
    let district_infos: Vec<String> = (1..=10).map(|n| format!("s_dist_{n:02}")).collect();
    let district_infos: Vec<_> = district_infos.iter().map(|n| (n.as_str(), Bytes)).collect();
    vec![
        table(
            "warehouse",
            &[warehouse, &ADDRESS, &[("w_tax", Int16), ("w_ytd", Int64)]],
        )
        .index(Hash, true, &[0])
        .never_evicted(),
        table(
            "district",
            &[
                district,
                &ADDRESS,
                &[("d_tax", Int16), ("d_ytd", Int64), ("d_next_o_id", Int32)],
            ],
        )
        .index(Hash, true, &[0, 1])
        .never_evicted(),
        customer_table()
            .index(Hash, true, &[0, 1, customer::ID])
            .index(Hash, false, &[0, 1, customer::LAST])
            .never_evicted(),
        history_table().index(Ordered, true, &[0]),
        orders_table()
            .index(Ordered, true, &[0, 1, orders::ID])
            .index(Ordered, true, &[0, 1, orders::CUSTOMER, orders::ID]),
        table(
            "new_order",
            &[&[("no_w_id", Int16), ("no_d_id", Int16), ("no_o_id", Int32)]],
        )
        .index(Ordered, true, &[0, 1, new_order::ORDER])
        .never_evicted(),
        order_line_table().index(Ordered, true, &[0, 1, 2, order_line::NUMBER]),
        table(
            "item",
            &[&[
                ("i_id", Int32),
                ("i_im_id", Int32),
                ("i_name", Bytes),
                ("i_price", Int64),
                ("i_data", Bytes),
            ]],
        )
        .index(Hash, true, &[0])
        .never_evicted(),
        table(
            "stock",
            &[
                &[("s_w_id", Int16), ("s_i_id", Int32), ("s_quantity", Int16)],
                &district_infos,
                &[
                    ("s_ytd", Int32),
                    ("s_order_cnt", Int32),
                    ("s_remote_cnt", Int32),
                    ("s_data", Bytes),
                ],
            ],
        )
        .index(Hash, true, &[0, 1])
        .never_evicted(),
    ]
}

fn customer_table() -> TableDefinition {
    table(
        "customer",
        &[
            &[("c_w_id", Int16), ("c_d_id", Int16), ("c_id", Int32)],
            &[("c_first", Bytes), ("c_middle", Bytes), ("c_last", Bytes)],
            &ADDRESS,
            &[
                ("c_phone", Bytes),
                ("c_since", Timestamp),
                ("c_credit", Bytes),
                ("c_credit_lim", Int64),
                ("c_discount", Int16),
                ("c_balance", Int64),
                ("c_ytd_payment", Int64),
                ("c_payment_cnt", Int32),
                ("c_delivery_cnt", Int32),
                ("c_data", Bytes),
            ],
        ],
    )
}

fn history_table() -> TableDefinition {
    table(
        "history",
        &[&[
            ("h_number", Int64),
            ("h_c_id", Int32),
            ("h_c_d_id", Int16),
            ("h_c_w_id", Int16),
            ("h_d_id", Int16),
            ("h_w_id", Int16),
            ("h_date", Timestamp),
            ("h_amount", Int64),
            ("h_data", Bytes),
        ]],
    )
}

fn orders_table() -> TableDefinition {
    table(
        "orders",
        &[&[
            ("o_w_id", Int16),
            ("o_d_id", Int16),
            ("o_id", Int32),
            ("o_c_id", Int32),
            ("o_entry_d", Timestamp),
            ("o_carrier_id", Int16),
            ("o_ol_cnt", Int16),
            ("o_all_local", Bool),
        ]],
    )
}

fn order_line_table() -> TableDefinition {
    table(
        "order_line",
        &[&[
            ("ol_w_id", Int16),
            ("ol_d_id", Int16),
            ("ol_o_id", Int32),
            ("ol_number", Int16),
            ("ol_i_id", Int32),
            ("ol_supply_w_id", Int16),
            ("ol_delivery_d", Timestamp),
            ("ol_quantity", Int16),
            ("ol_amount", Int64),
            ("ol_dist_info", Bytes),
        ]],
    )
}
