//! The rows that a database begins with, clause 4.3.3.

use anyhow::Result;
use rand::rngs::SmallRng;
use rand::seq::SliceRandom;
use rand::{Rng, SeedableRng};

use super::random::{data, digits, last_name, loaded_name, text, zip};
use super::rows::{
    Address, Customer, District, History, Item, NewOrder, Order, OrderLine, Row, Stock, Time,
    Warehouse,
};
use super::{DISTRICTS, Scale};

/// Calls `add` with every item.
pub fn items(scale: &Scale, add: &mut impl FnMut(Row) -> Result<()>) -> Result<()> {
    let mut random = SmallRng::seed_from_u64(0);
    for id in 1..=scale.items {
        add(Row::Item(Item {
            id,
            image: random.random_range(1..=10_000),
            name: text(&mut random, 14, 24),
            price: random.random_range(100..=10_000),
            data: data(&mut random),
        }))?;
    }
    Ok(())
}

/// Calls `add` with every row of a warehouse and of what belongs to it.
pub fn warehouse(
    scale: &Scale,
    id: i16,
    now: Time,
    add: &mut impl FnMut(Row) -> Result<()>,
) -> Result<()> {
    let mut random = SmallRng::seed_from_u64(id as u64);
    add(Row::Warehouse(Warehouse {
        id,
        name: text(&mut random, 6, 10),
        address: address(&mut random),
        tax: random.random_range(0..=2_000),
        ytd: 1_000 * i64::from(scale.customers) * i64::from(DISTRICTS),
    }))?;
    for item in 1..=scale.items {
        add(Row::Stock(Box::new(Stock {
            warehouse: id,
            item,
            quantity: random.random_range(10..=100),
            district_infos: std::array::from_fn(|_| text(&mut random, 24, 24)),
            data: data(&mut random),
            ..Stock::default()
        })))?;
    }
    for district in 1..=DISTRICTS {
        self::district(scale, (id, district), now, &mut random, add)?;
    }
    Ok(())
}

fn district(
    scale: &Scale,
    (warehouse, id): (i16, i16),
    now: Time,
    random: &mut SmallRng,
    add: &mut impl FnMut(Row) -> Result<()>,
) -> Result<()> {
    add(Row::District(District {
        warehouse,
        id,
        name: text(random, 6, 10),
        address: address(random),
        tax: random.random_range(0..=2_000),
        ytd: 1_000 * i64::from(scale.customers),
        next_order: scale.customers + 1,
    }))?;
    for number in 1..=scale.customers {
        add(Row::Customer(Box::new(Customer {
            warehouse,
            district: id,
            id: number,
            ..customer(scale, number, now, random)
        })))?;
        add(Row::History(History {
            customer: number,
            customer_district: id,
            customer_warehouse: warehouse,
            district: id,
            warehouse,
            date: now,
            amount: 1_000,
            data: text(random, 12, 24),
        }))?;
    }
    let mut customers: Vec<i32> = (1..=scale.customers).collect();
    customers.shuffle(random);
    for (order, customer) in (1..).zip(customers) {
        let is_new = order >= scale.first_new_order();
        let order = Order {
            warehouse,
            district: id,
            id: order,
            customer,
            entry_date: now,
            carrier: (!is_new).then(|| random.random_range(1..=10)),
            lines: random.random_range(5..=15),
            is_all_local: true,
        };
        lines(scale, &order, random, add)?;
        if is_new {
            add(Row::NewOrder(NewOrder {
                warehouse,
                district: id,
                order: order.id,
            }))?;
        }
        add(Row::Order(order))?;
    }
    Ok(())
}

fn customer(scale: &Scale, number: i32, now: Time, random: &mut SmallRng) -> Customer {
    let name = if number <= scale.last_names() {
        number - 1
    } else {
        loaded_name(random, scale.last_names())
    };
    Customer {
        first: text(random, 8, 16),
        middle: "OE".into(),
        last: last_name(name),
        address: address(random),
        phone: digits(random, 16),
        since: now,
        credit: if random.random_ratio(1, 10) {
            "BC"
        } else {
            "GC"
        }
        .into(),
        credit_limit: 5_000_000,
        discount: random.random_range(0..=5_000),
        balance: -1_000,
        ytd_payment: 1_000,
        payments: 1,
        data: text(random, 300, 500),
        ..Customer::default()
    }
}

fn lines(
    scale: &Scale,
    order: &Order,
    random: &mut SmallRng,
    add: &mut impl FnMut(Row) -> Result<()>,
) -> Result<()> {
    for number in 1..=order.lines {
        let is_new = order.carrier.is_none();
        add(Row::OrderLine(OrderLine {
            warehouse: order.warehouse,
            district: order.district,
            order: order.id,
            number,
            item: random.random_range(1..=scale.items),
            supply_warehouse: order.warehouse,
            delivery_date: (!is_new).then_some(order.entry_date),
            quantity: 5,
            amount: if is_new {
                random.random_range(1..=999_999)
            } else {
                0
            },
            district_info: text(random, 24, 24),
        }))?;
    }
    Ok(())
}

fn address(random: &mut SmallRng) -> Address {
    Address {
        street_1: text(random, 10, 20),
        street_2: text(random, 10, 20),
        city: text(random, 10, 20),
        state: text(random, 2, 2),
        zip: zip(random),
    }
}
