//! The loaded rows and the drawn transactions are those of the specification.

use super::conditions::Totals;
use super::rows::Row;
use super::transactions::{Mix, Transaction, Who};
use super::{Scale, load};

const SMALL: Scale = Scale {
    warehouses: 2,
    items: 200,
    customers: 30,
};

fn all_rows() -> Vec<Row> {
    let mut rows = Vec::new();
    let mut add = |row| {
        rows.push(row);
        Ok(())
    };
    load::items(&SMALL, &mut add).unwrap();
    for warehouse in 1..=SMALL.warehouses {
        load::warehouse(&SMALL, warehouse, 5, &mut add).unwrap();
    }
    rows
}

fn broken(rows: &[Row]) -> Vec<u8> {
    let mut totals = Totals::default();
    rows.iter().for_each(|row| totals.add(row));
    let broken = totals.check(&SMALL);
    let mut conditions: Vec<u8> = broken.iter().map(|broken| broken.condition).collect();
    conditions.sort_unstable();
    conditions.dedup();
    conditions
}

#[test]
fn a_loaded_database_is_consistent() {
    assert_eq!(broken(&all_rows()), [0_u8; 0]);
}

/// What is changed, and the conditions that notice.
type Damage = (fn(&mut Row), &'static [u8]);

/// Each condition notices its violation.
#[test]
fn what_is_not_consistent_is_found() {
    let damages: [Damage; 9] = [
        (
            |row| {
                if let Row::Warehouse(row) = row {
                    row.ytd += 1
                }
            },
            &[1, 8],
        ),
        (
            |row| {
                if let Row::District(row) = row {
                    row.next_order += 1
                }
            },
            &[2],
        ),
        (
            |row| {
                if let Row::NewOrder(row) = row
                    && row.order == 25
                {
                    row.order = 20;
                }
            },
            &[3, 5],
        ),
        (
            |row| {
                if let Row::Order(row) = row {
                    row.lines += 1
                }
            },
            &[4, 6, 7],
        ),
        (
            |row| {
                if let Row::Order(row) = row
                    && row.id == 3
                {
                    row.carrier = None;
                }
            },
            &[5, 7],
        ),
        (
            |row| {
                if let Row::OrderLine(row) = row {
                    row.delivery_date = None
                }
            },
            &[7],
        ),
        (
            |row| {
                if let Row::History(row) = row {
                    row.amount += 1
                }
            },
            &[8, 9, 10],
        ),
        (
            |row| {
                if let Row::Customer(row) = row {
                    row.deliveries += 1
                }
            },
            &[11],
        ),
        (
            |row| {
                if let Row::Customer(row) = row {
                    row.ytd_payment += 1
                }
            },
            &[12],
        ),
    ];
    for (damage, expected) in damages {
        let mut rows = all_rows();
        rows.iter_mut().for_each(damage);
        assert_eq!(broken(&rows), expected);
    }
}

#[test]
fn the_mix_is_the_specification_s() {
    const DRAWS: u32 = 100_000;
    let scale = Scale::standard(4);
    let mut mix = Mix::new(scale, 1);
    let mut counts = [0_u32; 5];
    let (mut rolled_back, mut lines, mut remote_lines) = (0, 0, 0);
    let (mut remote_payments, mut by_name) = (0, 0);
    for _ in 0..DRAWS {
        let kind = match mix.draw() {
            Transaction::NewOrder(order) => {
                assert!((5..=15).contains(&order.lines.len()));
                lines += order.lines.len();
                let remote = order.lines.iter();
                remote_lines += remote
                    .filter(|l| l.supply_warehouse != order.warehouse)
                    .count();
                rolled_back += u32::from(order.lines.iter().any(|l| l.item > scale.items));
                0
            }
            Transaction::Payment(payment) => {
                remote_payments += u32::from(payment.customer_warehouse != payment.warehouse);
                by_name += u32::from(matches!(payment.customer, Who::Last(_)));
                1
            }
            Transaction::OrderStatus(_) => 2,
            Transaction::Delivery(_) => 3,
            Transaction::StockLevel(_) => 4,
        };
        counts[kind] += 1;
    }
    let is_about = |found: f64, expected: f64| {
        assert!(
            (found / expected - 1.0).abs() < 0.15,
            "{found}, not {expected}"
        );
    };
    for (count, share) in counts.iter().zip([0.45, 0.43, 0.04, 0.04, 0.04]) {
        is_about(f64::from(*count) / f64::from(DRAWS), share);
    }
    is_about(f64::from(rolled_back) / f64::from(counts[0]), 0.01);
    is_about(remote_lines as f64 / lines as f64, 0.01);
    is_about(f64::from(remote_payments) / f64::from(counts[1]), 0.15);
    is_about(f64::from(by_name) / f64::from(counts[1]), 0.6);
}
