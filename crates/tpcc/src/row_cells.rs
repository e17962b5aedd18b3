//! Rows as cells, in the order of the tables' columns, and back.

use contender::tpcc::rows::{
    Address, Customer, District, History, Item, NewOrder, Order, OrderLine, Row, Stock, Warehouse,
};
use oltp::TableNumber;
use types::Value;

use crate::schema::{
    CUSTOMER, DISTRICT, HISTORY, ITEM, NEW_ORDER, ORDER_LINE, ORDERS, STOCK, WAREHOUSE,
};
use oltp::parameters::{Reader, Writer};

/// Columns of a table.
pub(crate) fn columns(table: TableNumber) -> usize {
    [9, 11, 21, 9, 8, 3, 10, 5, 17][usize::from(table.0)]
}

/// Appends the table's number and the cells.
pub(crate) fn encode(row: &Row, history_number: i64, out: &mut Vec<u8>) {
    let mut out = CellWriter(Writer(out));
    match row {
        Row::Warehouse(row) => {
            out.table(WAREHOUSE)
                .int(row.id)
                .text(&row.name)
                .address(&row.address);
            out.int(row.tax).int(row.ytd);
        }
        Row::District(row) => {
            out.table(DISTRICT)
                .int(row.warehouse)
                .int(row.id)
                .text(&row.name);
            out.address(&row.address)
                .int(row.tax)
                .int(row.ytd)
                .int(row.next_order);
        }
        Row::Customer(row) => {
            out.table(CUSTOMER)
                .int(row.warehouse)
                .int(row.district)
                .int(row.id);
            out.text(&row.first).text(&row.middle).text(&row.last);
            out.address(&row.address)
                .text(&row.phone)
                .int(row.since)
                .text(&row.credit);
            out.int(row.credit_limit).int(row.discount).int(row.balance);
            out.int(row.ytd_payment)
                .int(row.payments)
                .int(row.deliveries)
                .text(&row.data);
        }
        Row::History(row) => {
            out.table(HISTORY).int(history_number).int(row.customer);
            out.int(row.customer_district).int(row.customer_warehouse);
            out.int(row.district)
                .int(row.warehouse)
                .int(row.date)
                .int(row.amount);
            out.text(&row.data);
        }
        Row::Order(row) => {
            out.table(ORDERS)
                .int(row.warehouse)
                .int(row.district)
                .int(row.id);
            out.int(row.customer)
                .int(row.entry_date)
                .optional(row.carrier)
                .int(row.lines);
            out.0.value(&Value::Bool(row.is_all_local));
        }
        Row::NewOrder(row) => {
            out.table(NEW_ORDER)
                .int(row.warehouse)
                .int(row.district)
                .int(row.order);
        }
        Row::OrderLine(row) => {
            out.table(ORDER_LINE)
                .int(row.warehouse)
                .int(row.district)
                .int(row.order);
            out.int(row.number).int(row.item).int(row.supply_warehouse);
            out.optional(row.delivery_date)
                .int(row.quantity)
                .int(row.amount);
            out.text(&row.district_info);
        }
        Row::Item(row) => {
            out.table(ITEM)
                .int(row.id)
                .int(row.image)
                .text(&row.name)
                .int(row.price);
            out.text(&row.data);
        }
        Row::Stock(row) => {
            out.table(STOCK)
                .int(row.warehouse)
                .int(row.item)
                .int(row.quantity);
            for info in &row.district_infos {
                out.text(info);
            }
            out.int(row.ytd)
                .int(row.orders)
                .int(row.remote_orders)
                .text(&row.data);
        }
    }
}

struct CellWriter<'b>(Writer<'b>);

impl CellWriter<'_> {
    fn table(&mut self, table: TableNumber) -> &mut Self {
        self.0.i16(table.0 as i16);
        self
    }

    fn int(&mut self, number: impl Into<i64>) -> &mut Self {
        self.0.value(&Value::Int(number.into()));
        self
    }

    fn optional(&mut self, number: Option<impl Into<i64>>) -> &mut Self {
        let value = number.map_or(Value::Null, |number| Value::Int(number.into()));
        self.0.value(&value);
        self
    }

    fn text(&mut self, text: &str) -> &mut Self {
        self.0.value(&Value::Bytes(text.as_bytes()));
        self
    }

    fn address(&mut self, address: &Address) -> &mut Self {
        self.text(&address.street_1).text(&address.street_2);
        self.text(&address.city)
            .text(&address.state)
            .text(&address.zip)
    }
}

/// Takes the row of a table.
pub(crate) fn decode(table: TableNumber, cells: &mut Reader<'_>) -> Row {
    let mut cells = CellReader(cells);
    match table {
        WAREHOUSE => Row::Warehouse(Warehouse {
            id: cells.i16(),
            name: cells.text(),
            address: cells.address(),
            tax: cells.i16(),
            ytd: cells.int(),
        }),
        DISTRICT => Row::District(District {
            warehouse: cells.i16(),
            id: cells.i16(),
            name: cells.text(),
            address: cells.address(),
            tax: cells.i16(),
            ytd: cells.int(),
            next_order: cells.i32(),
        }),
        CUSTOMER => Row::Customer(Box::new(decode_customer(&mut cells))),
        HISTORY => {
            cells.int();
            Row::History(History {
                customer: cells.i32(),
                customer_district: cells.i16(),
                customer_warehouse: cells.i16(),
                district: cells.i16(),
                warehouse: cells.i16(),
                date: cells.int(),
                amount: cells.int(),
                data: cells.text(),
            })
        }
        ORDERS => Row::Order(Order {
            warehouse: cells.i16(),
            district: cells.i16(),
            id: cells.i32(),
            customer: cells.i32(),
            entry_date: cells.int(),
            carrier: cells.optional().map(|carrier| carrier as i16),
            lines: cells.i16(),
            is_all_local: matches!(cells.0.value(), Value::Bool(true)),
        }),
        NEW_ORDER => Row::NewOrder(NewOrder {
            warehouse: cells.i16(),
            district: cells.i16(),
            order: cells.i32(),
        }),
        ORDER_LINE => Row::OrderLine(OrderLine {
            warehouse: cells.i16(),
            district: cells.i16(),
            order: cells.i32(),
            number: cells.i16(),
            item: cells.i32(),
            supply_warehouse: cells.i16(),
            delivery_date: cells.optional(),
            quantity: cells.i16(),
            amount: cells.int(),
            district_info: cells.text(),
        }),
        ITEM => Row::Item(Item {
            id: cells.i32(),
            image: cells.i32(),
            name: cells.text(),
            price: cells.int(),
            data: cells.text(),
        }),
        _ => Row::Stock(Box::new(Stock {
            warehouse: cells.i16(),
            item: cells.i32(),
            quantity: cells.i16(),
            district_infos: std::array::from_fn(|_| cells.text()),
            ytd: cells.i32(),
            orders: cells.i32(),
            remote_orders: cells.i32(),
            data: cells.text(),
        })),
    }
}

fn decode_customer(cells: &mut CellReader<'_, '_>) -> Customer {
    Customer {
        warehouse: cells.i16(),
        district: cells.i16(),
        id: cells.i32(),
        first: cells.text(),
        middle: cells.text(),
        last: cells.text(),
        address: cells.address(),
        phone: cells.text(),
        since: cells.int(),
        credit: cells.text(),
        credit_limit: cells.int(),
        discount: cells.i16(),
        balance: cells.int(),
        ytd_payment: cells.int(),
        payments: cells.i32(),
        deliveries: cells.i32(),
        data: cells.text(),
    }
}

/// # Panics
/// When a cell is of another type.
struct CellReader<'r, 'b>(&'r mut Reader<'b>);

impl CellReader<'_, '_> {
    fn optional(&mut self) -> Option<i64> {
        match self.0.value() {
            Value::Int(int) => Some(int),
            _ => None,
        }
    }

    fn int(&mut self) -> i64 {
        self.optional().expect("a number")
    }

    fn i32(&mut self) -> i32 {
        self.int() as i32
    }

    fn i16(&mut self) -> i16 {
        self.int() as i16
    }

    fn text(&mut self) -> String {
        match self.0.value() {
            Value::Bytes(text) => String::from_utf8_lossy(text).into_owned(),
            other => panic!("{other:?} is no text"),
        }
    }

    fn address(&mut self) -> Address {
        Address {
            street_1: self.text(),
            street_2: self.text(),
            city: self.text(),
            state: self.text(),
            zip: self.text(),
        }
    }
}
