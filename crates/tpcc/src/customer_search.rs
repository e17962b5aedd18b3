//! Customers by last name, clause 2.5.2.2: the middle one in the order of first names, rounded up.

use oltp::{Columns, Stop, Transaction};
use types::Value;

use crate::calls::Wanted;
use crate::schema::{CUSTOMER_BY_NAME, customer};

/// The number of a customer of a district.
pub(crate) fn find(
    transaction: &mut Transaction<'_>,
    (warehouse, district): (i16, i16),
    wanted: Wanted<'_>,
) -> Result<i32, Stop> {
    let last = match wanted {
        Wanted::Id(id) => return Ok(id),
        Wanted::Last(last) => last,
    };
    let key = [
        Value::Int(warehouse.into()),
        Value::Int(district.into()),
        Value::Bytes(last),
    ];
    let get = transaction.get(CUSTOMER_BY_NAME, &key, Columns::All)?;
    let batch = transaction.execute()?;
    let mut found = Vec::with_capacity(batch.count(get));
    for row in batch.rows(get) {
        found.push((row.bytes(customer::FIRST)?, row.int(customer::ID)?));
    }
    if found.is_empty() {
        return Err(Stop::Abort("no customer has the name".into()));
    }
    found.sort_unstable();
    Ok(found[(found.len() - 1) / 2].1 as i32)
}
