//! A small database runs the mix; its rows are consistent, after recovery and with rows on disk, too.

use std::collections::HashMap;
use std::path::Path;

use anyhow::{Context, Result, bail};
use contender::tpcc::Scale;
use contender::tpcc::conditions::Totals;
use contender::tpcc::rows::{Row, Stock};
use contender::tpcc::transactions::{Line, Mix, NewOrder, Transaction};
use env::Env;
use oltp::{AntiCacheOptions, Call, Outcome, PartitionNumber, PartitionPlan, Primary, Stop};
use tpcc::{calls, dump, load, schema};

const SCALE: Scale = Scale {
    warehouses: 3,
    items: 300,
    customers: 40,
};

const TRANSACTIONS: usize = 3_000;

/// A call that is refused so often will not be admitted any more.
const REFUSALS_MAX: usize = 1_000;

/// Commits that are made durable together.
const GROUP: u64 = 200;

fn open(folder: &Path, partitions: u16, anti_cache: Option<AntiCacheOptions>) -> Result<Primary> {
    let plan = PartitionPlan {
        tables: schema::tables(),
        procedures: calls::procedures(),
        anti_cache,
        has_log: true,
        feed: None,
    };
    Ok(Primary::open(&Env::real(), folder, &plan, partitions)?)
}

/// Runs a call to its end, doing the work of the other threads; what the procedure says is kept.
fn run(
    primary: &Primary,
    partitions: u16,
    call: Call<'_>,
    reply: &mut Vec<u8>,
) -> Result<Result<(), Stop>> {
    let mut completed = Vec::new();
    for _ in 0..REFUSALS_MAX {
        let outcome = primary.execute(call, reply);
        step(primary, partitions, &mut completed)?;
        let outcome = match outcome {
            Outcome::Refused(_) => {
                // The log that waits may be what fills the memory.
                await_durable(primary, partitions)?;
                continue;
            }
            Outcome::Waiting(_) => {
                while completed.is_empty() {
                    step(primary, partitions, &mut completed)?;
                }
                let completion = completed.remove(0);
                *reply = completion.reply;
                completion.outcome
            }
            ended => ended,
        };
        return match outcome {
            Outcome::Committed(_) => Ok(Ok(())),
            Outcome::Stopped(stop) => Ok(Err(stop)),
            other => bail!("{other:?}"),
        };
    }
    bail!("refused {REFUSALS_MAX} times")
}

fn step(primary: &Primary, partitions: u16, completed: &mut Vec<oltp::Completion>) -> Result<()> {
    // Not after every call: a sync takes long.
    let position = |p: &oltp::Partition| p.position().0;
    let behind = primary.look(PartitionNumber(0), position) > primary.durable().0 + GROUP;
    if let Some(writer) = primary.log_writer().filter(|_| behind) {
        writer.write()?;
    }
    for files in primary.block_files() {
        while files.write()? || files.fetch() {}
    }
    for partition in (0..partitions).map(PartitionNumber) {
        primary.poll(partition, completed)?;
    }
    Ok(())
}

fn await_durable(primary: &Primary, partitions: u16) -> Result<()> {
    let writer = primary.log_writer().expect("it has a log");
    // The group that is on its way, and the one behind it.
    for _ in 0..2 {
        step(primary, partitions, &mut Vec::new())?;
        while writer.write()? {}
    }
    step(primary, partitions, &mut Vec::new())
}

fn load(primary: &Primary, partitions: u16) -> Result<()> {
    let mut run = |call: Call<'_>, reply: &mut Vec<u8>| Ok(run(primary, partitions, call, reply)??);
    load::load_all(&SCALE, partitions, 1, &mut run)
}

/// Runs the mix: how often each transaction committed, and how many were rolled back.
fn run_mix(primary: &Primary, partitions: u16) -> Result<([usize; 5], usize)> {
    let mut mix = Mix::new(SCALE, 9);
    let (mut parameters, mut reply) = (Vec::new(), Vec::new());
    let (mut committed, mut rolled_back) = ([0; 5], 0);
    for _ in 0..TRANSACTIONS {
        let transaction = mix.draw();
        let procedure = calls::encode(&transaction, &mut parameters);
        let call = Call {
            procedure,
            parameters: &parameters,
        };
        match run(primary, partitions, call, &mut reply)? {
            Ok(()) => committed[usize::from(procedure.0)] += 1,
            Err(Stop::Abort(_)) => {
                assert!(matches!(transaction, Transaction::NewOrder(_)));
                rolled_back += 1;
            }
            Err(stop) => bail!(stop),
        }
    }
    Ok((committed, rolled_back))
}

fn rows_of(primary: &Primary, partitions: u16) -> Result<Vec<Row>> {
    let mut rows = Vec::new();
    let mut run = |call: Call<'_>, reply: &mut Vec<u8>| Ok(run(primary, partitions, call, reply)??);
    dump::dump_all(&SCALE, partitions, &mut run, |row| {
        rows.push(without_times(row))
    })?;
    Ok(rows)
}

/// The clock differs from run to run.
fn without_times(mut row: Row) -> Row {
    match &mut row {
        Row::History(row) => row.date = 0,
        Row::Order(row) => row.entry_date = 0,
        Row::OrderLine(row) => row.delivery_date = row.delivery_date.map(|_| 0),
        _ => {}
    }
    row
}

fn check(rows: &[Row]) {
    let mut totals = Totals::default();
    rows.iter().for_each(|row| totals.add(row));
    let broken = totals.check(&SCALE);
    assert!(broken.is_empty(), "{:?}", &broken[..broken.len().min(5)]);
}

/// Order of rows and of payments aside.
fn counted(rows: &[Row]) -> HashMap<String, usize> {
    let mut counted = HashMap::new();
    for row in rows {
        *counted.entry(format!("{row:?}")).or_default() += 1;
    }
    counted
}

#[test]
fn the_mix_keeps_the_conditions_and_recovery_brings_the_same_back() -> Result<()> {
    let folder = tempfile::tempdir()?;
    let primary = open(folder.path(), 1, None)?;
    load(&primary, 1)?;
    check(&rows_of(&primary, 1)?);
    let (committed, rolled_back) = run_mix(&primary, 1)?;
    assert!(committed.iter().all(|count| *count > 60), "{committed:?}");
    assert!((3..40).contains(&rolled_back), "{rolled_back}");
    let before = rows_of(&primary, 1)?;
    check(&before);
    await_durable(&primary, 1)?;
    drop(primary);
    let after = rows_of(&open(folder.path(), 1, None)?, 1)?;
    assert!(after == before, "recovery brings the same rows back");
    Ok(())
}

/// With rows on disk, on one and on three partitions, with recovery under the same bound of memory:
/// always the same rows.
#[test]
fn rows_on_disk_and_partitions_change_nothing() -> Result<()> {
    let whole = tempfile::tempdir()?;
    let primary = open(whole.path(), 1, None)?;
    load(&primary, 1)?;
    run_mix(&primary, 1)?;
    let expected = counted(&rows_of(&primary, 1)?);
    let bytes = primary.look(PartitionNumber(0), |p| p.memory().live_bytes);
    for partitions in [1, 3] {
        // Chains and the places of evicted rows come on top of what the rows take without a disk.
        let options = AntiCacheOptions {
            block_bytes: 4_096,
            buffers_max: 8,
            ..AntiCacheOptions::new(bytes * 102 / 100 / usize::from(partitions))
        };
        let folder = tempfile::tempdir()?;
        let primary = open(folder.path(), partitions, Some(options.clone()))?;
        load(&primary, partitions)?;
        run_mix(&primary, partitions)?;
        let statistics = primary.look(PartitionNumber(0), oltp::Partition::anti_cache_statistics);
        assert!(statistics.evicted_rows > 100, "{statistics:?}");
        assert!(statistics.restarts > 0, "{statistics:?}");
        await_durable(&primary, partitions)?;
        let rows = rows_of(&primary, partitions)?;
        check(&rows);
        assert!(counted_once(&rows, partitions) == expected, "{partitions}");
        drop(primary);
        let recovered = open(folder.path(), partitions, Some(options))?;
        let rows = rows_of(&recovered, partitions)?;
        assert!(counted_once(&rows, partitions) == expected, "{partitions}");
    }
    Ok(())
}

/// Items are in every partition.
fn counted_once(rows: &[Row], partitions: u16) -> HashMap<String, usize> {
    let mut counted = counted(rows);
    for (row, count) in &mut counted {
        if row.starts_with("Item(") {
            assert_eq!(*count % usize::from(partitions), 0, "{row}");
            *count /= usize::from(partitions);
        }
    }
    counted
}

/// Each of the lines takes its pieces from the stock.
#[test]
fn lines_of_one_item_all_count() -> Result<()> {
    let folder = tempfile::tempdir()?;
    let primary = open(folder.path(), 1, None)?;
    load(&primary, 1)?;
    let stock_of = |primary: &Primary| -> Result<Stock> {
        let rows = rows_of(primary, 1)?.into_iter();
        let mut stock = rows.filter_map(|row| match row {
            Row::Stock(stock) if (stock.warehouse, stock.item) == (2, 7) => Some(*stock),
            _ => None,
        });
        stock.next().context("it was loaded")
    };
    let before = stock_of(&primary)?;
    let line = Line {
        item: 7,
        supply_warehouse: 2,
        quantity: 4,
    };
    let other = Line { item: 8, ..line };
    let order = Transaction::NewOrder(NewOrder {
        warehouse: 1,
        district: 1,
        customer: 1,
        lines: vec![line, other, line, line],
    });
    let (mut parameters, mut reply) = (Vec::new(), Vec::new());
    let procedure = calls::encode(&order, &mut parameters);
    let call = Call {
        procedure,
        parameters: &parameters,
    };
    run(&primary, 1, call, &mut reply)??;
    let after = stock_of(&primary)?;
    let counted = |stock: &Stock| (stock.ytd, stock.orders, stock.remote_orders);
    let (ytd, orders, remote_orders) = counted(&before);
    assert_eq!(counted(&after), (ytd + 12, orders + 3, remote_orders + 3));
    assert_eq!((after.quantity - before.quantity + 12) % 91, 0);
    Ok(())
}
