//! Payment, clause 2.5.

use oltp::{Columns, PartitionSet, Procedure, Stop, Transaction};
use types::Value;

use crate::calls::Wanted;
use crate::customer_search;
use crate::schema::{
    CUSTOMER, DISTRICT, HISTORY, WAREHOUSE, customer, district, key_of, partition_of, warehouse,
};
use oltp::parameters::{Reader, Writer};

/// See the module.
pub(crate) struct Payment;

/// What is kept of a bad customer's history.
const DATA_BYTES_MAX: usize = 500;

struct Parameters<'p> {
    warehouse: i16,
    customer_warehouse: i16,
    district: i16,
    customer_district: i16,
    amount: i64,
    customer: Wanted<'p>,
}

impl<'p> Parameters<'p> {
    fn decode(parameters: &'p [u8]) -> Self {
        let mut reader = Reader(parameters);
        Self {
            warehouse: reader.i16(),
            customer_warehouse: reader.i16(),
            district: reader.i16(),
            customer_district: reader.i16(),
            amount: reader.i64(),
            customer: Wanted::decode(&mut reader),
        }
    }

    fn customer_key(&self, id: i32) -> [Value<'static>; 3] {
        let (w, d) = (self.customer_warehouse, self.customer_district);
        [
            Value::Int(w.into()),
            Value::Int(d.into()),
            Value::Int(id.into()),
        ]
    }
}

impl Procedure for Payment {
    fn name(&self) -> &str {
        "payment"
    }

    fn partitions(&self, parameters: &[u8], partitions: u16) -> PartitionSet {
        let mut reader = Reader(parameters);
        let home = PartitionSet::only(partition_of(reader.i16(), partitions));
        home.with(partition_of(reader.i16(), partitions))
    }

    fn run(
        &self,
        transaction: &mut Transaction<'_>,
        parameters: &[u8],
        reply: &mut Vec<u8>,
    ) -> Result<(), Stop> {
        let payment = Parameters::decode(parameters);
        let partitions = transaction.partitions();
        let there = transaction.on(partition_of(payment.customer_warehouse, partitions))?;
        let customer = pay(there, &payment, reply)?;
        let home = transaction.on(partition_of(payment.warehouse, partitions))?;
        receive(home, &payment, customer)
    }
}

/// The customer's side: the number of the customer.
fn pay(
    transaction: &mut Transaction<'_>,
    payment: &Parameters<'_>,
    reply: &mut Vec<u8>,
) -> Result<i32, Stop> {
    let district = (payment.customer_warehouse, payment.customer_district);
    let id = customer_search::find(transaction, district, payment.customer)?;
    let key = payment.customer_key(id);
    let get = transaction.get(key_of(CUSTOMER), &key, Columns::All)?;
    let row = transaction.execute()?.row(get);
    let row = row.ok_or_else(|| Stop::Abort("no such customer".into()))?;
    let balance = row.int(customer::BALANCE)? - payment.amount;
    let ytd = row.int(customer::YTD_PAYMENT)? + payment.amount;
    let payments = row.int(customer::PAYMENTS)? + 1;
    let handle = row.handle()?;
    let is_bad = row.bytes(customer::CREDIT)? == b"BC";
    let data = match is_bad {
        true => longer_history(payment, id, row.bytes(customer::DATA)?),
        false => Vec::new(),
    };
    Writer(reply)
        .i32(id)
        .i64(balance)
        .text(row.bytes(customer::LAST)?)
        .text(&data[..data.len().min(200)]);
    let changes = [
        (customer::BALANCE, Value::Int(balance)),
        (customer::YTD_PAYMENT, Value::Int(ytd)),
        (customer::PAYMENTS, Value::Int(payments)),
        (customer::DATA, Value::Bytes(&data)),
    ];
    let changes = &changes[..if is_bad { 4 } else { 3 }];
    transaction.update_row(handle, changes)?;
    transaction.execute()?;
    Ok(id)
}

fn longer_history(payment: &Parameters<'_>, id: i32, data: &[u8]) -> Vec<u8> {
    let mut longer = format!(
        "{id} {} {} {} {} {}|",
        payment.customer_district,
        payment.customer_warehouse,
        payment.district,
        payment.warehouse,
        payment.amount
    )
    .into_bytes();
    longer.extend_from_slice(data);
    longer.truncate(DATA_BYTES_MAX);
    longer
}

/// The warehouse's side.
fn receive(
    transaction: &mut Transaction<'_>,
    payment: &Parameters<'_>,
    customer: i32,
) -> Result<(), Stop> {
    let (w, d) = (
        Value::Int(payment.warehouse.into()),
        Value::Int(payment.district.into()),
    );
    let of_warehouse = transaction.get(key_of(WAREHOUSE), &[w], Columns::All)?;
    let of_district = transaction.get(key_of(DISTRICT), &[w, d], Columns::All)?;
    let batch = transaction.execute()?;
    let rows = (batch.row(of_warehouse), batch.row(of_district));
    let (Some(of_warehouse), Some(of_district)) = rows else {
        return Err(Stop::Abort("no such district".into()));
    };
    let mut names = [0; 24];
    let name = of_warehouse.bytes(warehouse::NAME)?;
    let other = of_district.bytes(district::NAME)?;
    let length = name.len() + 4 + other.len();
    names[..name.len()].copy_from_slice(name);
    names[name.len()..name.len() + 4].fill(b' ');
    names[name.len() + 4..length].copy_from_slice(other);
    let warehouse_ytd = Value::Int(of_warehouse.int(warehouse::YTD)? + payment.amount);
    let district_ytd = Value::Int(of_district.int(district::YTD)? + payment.amount);
    let rows = (of_warehouse.handle()?, of_district.handle()?);
    transaction.update_row(rows.0, &[(warehouse::YTD, warehouse_ytd)])?;
    transaction.update_row(rows.1, &[(district::YTD, district_ytd)])?;
    let [c_w, c_d, c] = payment.customer_key(customer);
    let history = [
        Value::Int(transaction.number() as i64),
        c,
        c_d,
        c_w,
        d,
        w,
        Value::Int(transaction.time_us()),
        Value::Int(payment.amount),
        Value::Bytes(&names[..length]),
    ];
    transaction.insert(HISTORY, &history)?;
    transaction.execute()?;
    Ok(())
}
