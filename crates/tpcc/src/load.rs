//! Loading: rows in batches, each batch a transaction of the procedure "load".

use anyhow::Result;
use contender::tpcc::rows::Row;
use contender::tpcc::{Scale, load};
use oltp::{Call, PartitionNumber, PartitionSet, Procedure, Stop, TableNumber, Transaction};
use types::Value;

use crate::calls::LOAD;
use crate::row_cells;
use crate::schema::partition_of;
use oltp::parameters::{Reader, Writer};

/// Bytes of parameters after which a batch is sent.
const BATCH_BYTES: usize = 16 << 10;

/// Adds the rows that its parameters hold, behind the number of their partition.
pub(crate) struct Load;

impl Procedure for Load {
    fn name(&self) -> &str {
        "load"
    }

    fn partitions(&self, parameters: &[u8], partitions: u16) -> PartitionSet {
        let number = Reader(parameters).i16() as u16;
        PartitionSet::only(PartitionNumber(number % partitions))
    }

    fn run(
        &self,
        transaction: &mut Transaction<'_>,
        parameters: &[u8],
        _: &mut Vec<u8>,
    ) -> Result<(), Stop> {
        let mut reader = Reader(parameters);
        let partition = self
            .partitions(parameters, transaction.partitions())
            .first();
        let transaction = transaction.on(partition)?;
        reader.i16();
        let mut values: Vec<Value<'_>> = Vec::new();
        while !reader.0.is_empty() {
            let table = TableNumber(reader.i16() as u16);
            values.clear();
            values.extend((0..row_cells::columns(table)).map(|_| reader.value()));
            transaction.insert(table, &values)?;
        }
        transaction.execute()?;
        Ok(())
    }
}

/// What runs a call to its end; an error ends the loading.
pub trait Run: FnMut(Call<'_>, &mut Vec<u8>) -> Result<()> {}

impl<F: FnMut(Call<'_>, &mut Vec<u8>) -> Result<()>> Run for F {}

/// A batch that is being filled.
struct Loader<'r, R> {
    run: &'r mut R,
    parameters: Vec<u8>,
    reply: Vec<u8>,
    /// Numbers of loaded history rows are negative, those of payments are not.
    history_number: i64,
}

impl<R: Run> Loader<'_, R> {
    fn start(&mut self, partition: PartitionNumber) {
        self.parameters.clear();
        Writer(&mut self.parameters).i16(partition.0 as i16);
    }

    fn add(&mut self, partition: PartitionNumber, row: &Row) -> Result<()> {
        self.history_number += 1;
        row_cells::encode(row, self.history_number, &mut self.parameters);
        if self.parameters.len() > BATCH_BYTES {
            self.send(partition)?;
        }
        Ok(())
    }

    fn send(&mut self, partition: PartitionNumber) -> Result<()> {
        let call = Call {
            procedure: LOAD,
            parameters: &self.parameters,
        };
        (self.run)(call, &mut self.reply)?;
        self.start(partition);
        Ok(())
    }
}

/// Fills the empty tables of so many partitions.
pub fn load_all(scale: &Scale, partitions: u16, now_us: i64, run: &mut impl Run) -> Result<()> {
    let mut loader = Loader {
        run,
        parameters: Vec::new(),
        reply: Vec::new(),
        history_number: i64::MIN,
    };
    for partition in (0..partitions).map(PartitionNumber) {
        loader.start(partition);
        load::items(scale, &mut |row| loader.add(partition, &row))?;
        loader.send(partition)?;
    }
    for warehouse in 1..=scale.warehouses {
        let partition = partition_of(warehouse, partitions);
        loader.start(partition);
        load::warehouse(scale, warehouse, now_us, &mut |row| {
            loader.add(partition, &row)
        })?;
        loader.send(partition)?;
    }
    Ok(())
}
