//! TPC-C's rows as lines of COPY: cells apart by tabs, none of which needs an escape.

use std::fmt::{Arguments, Write as _};

use contender::tpcc::rows::{Address, Customer, Row, Stock, Time};

/// The tables of TPC-C, in the order in which they are loaded.
pub const TABLES: [&str; 9] = [
    "item",
    "warehouse",
    "district",
    "customer",
    "history",
    "orders",
    "new_order",
    "order_line",
    "stock",
];

/// The table that a row belongs to.
pub fn table_of(row: &Row) -> &'static str {
    match row {
        Row::Item(_) => "item",
        Row::Warehouse(_) => "warehouse",
        Row::District(_) => "district",
        Row::Customer(_) => "customer",
        Row::History(_) => "history",
        Row::Order(_) => "orders",
        Row::NewOrder(_) => "new_order",
        Row::OrderLine(_) => "order_line",
        Row::Stock(_) => "stock",
    }
}

/// Appends a row's line.
pub fn append(row: &Row, out: &mut String) {
    let mut put = |cells: Arguments<'_>| out.write_fmt(cells).expect("a text takes all");
    match row {
        Row::Item(row) => put(format_args!(
            "{}\t{}\t{}\t{}\t{}\n",
            row.id,
            row.image,
            row.name,
            money(row.price),
            row.data
        )),
        Row::Warehouse(row) => put(format_args!(
            "{}\t{}\t{}\t{}\t{}\n",
            row.id,
            row.name,
            address(&row.address),
            share(row.tax),
            money(row.ytd)
        )),
        Row::District(row) => put(format_args!(
            "{}\t{}\t{}\t{}\t{}\t{}\t{}\n",
            row.warehouse,
            row.id,
            row.name,
            address(&row.address),
            share(row.tax),
            money(row.ytd),
            row.next_order
        )),
        Row::Customer(row) => put(format_args!("{}\n", customer(row))),
        Row::History(row) => put(format_args!(
            "{}\t{}\t{}\t{}\t{}\t{}\t{}\t{}\n",
            row.customer,
            row.customer_district,
            row.customer_warehouse,
            row.district,
            row.warehouse,
            time(row.date),
            money(row.amount),
            row.data
        )),
        Row::Order(row) => put(format_args!(
            "{}\t{}\t{}\t{}\t{}\t{}\t{}\t{}\n",
            row.warehouse,
            row.district,
            row.id,
            row.customer,
            time(row.entry_date),
            optional(row.carrier),
            row.lines,
            i32::from(row.is_all_local)
        )),
        Row::NewOrder(row) => put(format_args!(
            "{}\t{}\t{}\n",
            row.warehouse, row.district, row.order
        )),
        Row::OrderLine(row) => put(format_args!(
            "{}\t{}\t{}\t{}\t{}\t{}\t{}\t{}\t{}\t{}\n",
            row.warehouse,
            row.district,
            row.order,
            row.number,
            row.item,
            row.supply_warehouse,
            optional(row.delivery_date.map(time)),
            row.quantity,
            money(row.amount),
            row.district_info
        )),
        Row::Stock(row) => put(format_args!("{}\n", stock(row))),
    }
}

fn customer(row: &Customer) -> String {
    format!(
        "{}\t{}\t{}\t{}\t{}\t{}\t{}\t{}\t{}\t{}\t{}\t{}\t{}\t{}\t{}\t{}\t{}",
        row.warehouse,
        row.district,
        row.id,
        row.first,
        row.middle,
        row.last,
        address(&row.address),
        row.phone,
        time(row.since),
        row.credit,
        money(row.credit_limit),
        share(row.discount),
        money(row.balance),
        money(row.ytd_payment),
        row.payments,
        row.deliveries,
        row.data
    )
}

fn stock(row: &Stock) -> String {
    format!(
        "{}\t{}\t{}\t{}\t{}\t{}\t{}\t{}",
        row.warehouse,
        row.item,
        row.quantity,
        row.district_infos.join("\t"),
        row.ytd,
        row.orders,
        row.remote_orders,
        row.data
    )
}

fn address(address: &Address) -> String {
    let Address {
        street_1,
        street_2,
        city,
        state,
        zip,
    } = address;
    [street_1, street_2, city, state, zip]
        .map(String::as_str)
        .join("\t")
}

/// Cents as whole units with two decimals.
fn money(cents: impl Into<i64>) -> String {
    let cents = cents.into();
    let sign = if cents < 0 { "-" } else { "" };
    let cents = cents.unsigned_abs();
    format!("{sign}{}.{:02}", cents / 100, cents % 100)
}

/// Ten-thousandths.
fn share(parts: i16) -> String {
    format!("0.{parts:04}")
}

/// Microseconds since 1970 as COPY takes a `timestamp`.
fn time(time: Time) -> String {
    // 1970-01-01 is day 719,468 of a calendar that begins with 0000-03-01, so that leap days come last.
    const DAY_US: i64 = 86_400_000_000;
    let (days, rest) = (
        time.div_euclid(DAY_US) + 719_468,
        time.rem_euclid(DAY_US) / 1_000_000,
    );
    let (era, day_of_era) = (days.div_euclid(146_097), days.rem_euclid(146_097));
    let year = (day_of_era - day_of_era / 1_460 + day_of_era / 36_524 - day_of_era / 146_096) / 365;
    let day = day_of_era - (365 * year + year / 4 - year / 100);
    let from_march = (5 * day + 2) / 153;
    let month = if from_march < 10 {
        from_march + 3
    } else {
        from_march - 9
    };
    let year = year + era * 400 + i64::from(month <= 2);
    format!(
        "{year}-{month:02}-{:02} {:02}:{:02}:{:02}",
        day - (153 * from_march + 2) / 5 + 1,
        rest / 3_600,
        rest / 60 % 60,
        rest % 60
    )
}

fn optional<T: ToString>(cell: Option<T>) -> String {
    cell.map_or_else(|| "\\N".to_owned(), |cell| cell.to_string())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn cells_are_written_as_copy_reads_them() {
        assert_eq!(money(-1_005_i64), "-10.05");
        assert_eq!(share(25), "0.0025");
        assert_eq!(time(951_782_400_000_000), "2000-02-29 00:00:00");
        assert_eq!(time(1_767_225_599_999_999), "2025-12-31 23:59:59");
        assert_eq!(optional::<i32>(None), "\\N");
    }
}
