//! The eight TPC-H tables: definitions and rows, loaded into PostgreSQL or written to files.
//!
//! The rows are dbgen's for the same scale factor, byte for byte.

use std::fmt::{Display, Write as _};
use std::fs::{self, File};
use std::io::Write;
use std::path::Path;

use anyhow::{Context, Result, bail};
use postgres::Client;
use tpchgen::generators::{
    CustomerGenerator, LineItemGenerator, NationGenerator, OrderGenerator, PartGenerator,
    PartSuppGenerator, RegionGenerator, SupplierGenerator,
};

use crate::postgres_server::PostgresOptions;

/// The tables, in the order in which they are loaded.
pub const TABLES: [&str; 8] = [
    "region", "nation", "supplier", "customer", "part", "partsupp", "orders", "lineitem",
];

/// Table definitions, with the specification's types and without keys.
const DEFINITIONS: &str = "
create table region (r_regionkey integer not null, r_name char(25) not null,
    r_comment varchar(152));
create table nation (n_nationkey integer not null, n_name char(25) not null,
    n_regionkey integer not null, n_comment varchar(152));
create table supplier (s_suppkey integer not null, s_name char(25) not null,
    s_address varchar(40) not null, s_nationkey integer not null, s_phone char(15) not null,
    s_acctbal decimal(15,2) not null, s_comment varchar(101) not null);
create table customer (c_custkey integer not null, c_name varchar(25) not null,
    c_address varchar(40) not null, c_nationkey integer not null, c_phone char(15) not null,
    c_acctbal decimal(15,2) not null, c_mktsegment char(10) not null,
    c_comment varchar(117) not null);
create table part (p_partkey integer not null, p_name varchar(55) not null,
    p_mfgr char(25) not null, p_brand char(10) not null, p_type varchar(25) not null,
    p_size integer not null, p_container char(10) not null,
    p_retailprice decimal(15,2) not null, p_comment varchar(23) not null);
create table partsupp (ps_partkey integer not null, ps_suppkey integer not null,
    ps_availqty integer not null, ps_supplycost decimal(15,2) not null,
    ps_comment varchar(199) not null);
create table orders (o_orderkey integer not null, o_custkey integer not null,
    o_orderstatus char(1) not null, o_totalprice decimal(15,2) not null,
    o_orderdate date not null, o_orderpriority char(15) not null, o_clerk char(15) not null,
    o_shippriority integer not null, o_comment varchar(79) not null);
create table lineitem (l_orderkey integer not null, l_partkey integer not null,
    l_suppkey integer not null, l_linenumber integer not null, l_quantity decimal(15,2) not null,
    l_extendedprice decimal(15,2) not null, l_discount decimal(15,2) not null,
    l_tax decimal(15,2) not null, l_returnflag char(1) not null, l_linestatus char(1) not null,
    l_shipdate date not null, l_commitdate date not null, l_receiptdate date not null,
    l_shipinstruct char(25) not null, l_shipmode char(10) not null, l_comment varchar(44) not null);
";

/// The specification's primary keys.
const KEYS: &str = "
alter table region add primary key (r_regionkey);
alter table nation add primary key (n_nationkey);
alter table supplier add primary key (s_suppkey);
alter table customer add primary key (c_custkey);
alter table part add primary key (p_partkey);
alter table partsupp add primary key (ps_partkey, ps_suppkey);
alter table orders add primary key (o_orderkey);
alter table lineitem add primary key (l_orderkey, l_linenumber);
";

/// Indexes without which PostgreSQL takes hours over some of the queries.
const REFERENCE_INDEXES: &str = "
create index on lineitem (l_partkey, l_suppkey);
create index on lineitem (l_suppkey);
create index on lineitem (l_shipdate);
create index on orders (o_custkey);
create index on orders (o_orderdate);
create index on partsupp (ps_suppkey);
create index on customer (c_nationkey);
create index on supplier (s_nationkey);
";

/// What a server that is only a reference should have, so that the run ends.
pub fn reference_options() -> PostgresOptions {
    PostgresOptions::default()
        .with("shared_buffers", "2GB")
        .with("work_mem", "256MB")
        .with("maintenance_work_mem", "512MB")
        .with("max_wal_size", "8GB")
        .with("jit", "off")
}

/// Makes the tables with their primary keys and fills them.
pub fn load(client: &mut Client, scale: f64) -> Result<()> {
    client.batch_execute(DEFINITIONS)?;
    for table in TABLES {
        let mut writer = client.copy_in(&format!(
            "copy {table} from stdin with (format text, delimiter '|')"
        ))?;
        write_rows(table, scale, &mut writer)?;
        writer
            .finish()
            .with_context(|| format!("copy into {table}"))?;
    }
    client.batch_execute(KEYS)?;
    client
        .batch_execute("vacuum analyze")
        .context("vacuum analyze")?;
    Ok(())
}

/// Writes the same rows as files `TABLE.tbl` into a folder, and `schema.sql` with the definitions.
pub fn write_files(folder: &Path, scale: f64) -> Result<()> {
    for table in TABLES {
        let file = File::create(folder.join(format!("{table}.tbl")))?;
        write_rows(table, scale, &mut { file }).with_context(|| format!("{table}.tbl"))?;
    }
    Ok(fs::write(folder.join("schema.sql"), DEFINITIONS)?)
}

/// Removes the files of the rows again; the definitions stay.
pub fn remove_files(folder: &Path) -> Result<()> {
    for table in TABLES {
        fs::remove_file(folder.join(format!("{table}.tbl")))?;
    }
    Ok(())
}

/// Adds what the reference run on PostgreSQL needs to end in reasonable time.
pub fn add_reference_indexes(client: &mut Client) -> Result<()> {
    client.batch_execute(REFERENCE_INDEXES)?;
    client.batch_execute("analyze").context("analyze")
}

/// Bytes of PostgreSQL's tables and primary keys; other indexes do not count.
pub fn table_and_key_bytes(client: &mut Client) -> Result<u64> {
    let row = client.query_one(
        "select coalesce(sum(pg_table_size(c.oid)), 0)::int8
                + coalesce(sum((select sum(pg_relation_size(i.indexrelid)) from pg_index i
                                where i.indrelid = c.oid and i.indisprimary)), 0)::int8
         from pg_class c join pg_namespace n on n.oid = c.relnamespace
         where c.relkind = 'r' and n.nspname = 'public'",
        &[],
    )?;
    u64::try_from(row.get::<_, i64>(0)).context("a size below zero")
}

/// Writes the rows of one of [`TABLES`], a line each, cells apart by `|`.
fn write_rows(table: &str, scale: f64, writer: &mut impl Write) -> Result<()> {
    match table {
        "region" => write_lines(RegionGenerator::new(scale, 1, 1).iter(), writer),
        "nation" => write_lines(NationGenerator::new(scale, 1, 1).iter(), writer),
        "supplier" => write_lines(SupplierGenerator::new(scale, 1, 1).iter(), writer),
        "customer" => write_lines(CustomerGenerator::new(scale, 1, 1).iter(), writer),
        "part" => write_lines(PartGenerator::new(scale, 1, 1).iter(), writer),
        "partsupp" => write_lines(PartSuppGenerator::new(scale, 1, 1).iter(), writer),
        "orders" => write_lines(OrderGenerator::new(scale, 1, 1).iter(), writer),
        "lineitem" => write_lines(LineItemGenerator::new(scale, 1, 1).iter(), writer),
        other => bail!("TPC-H has no table {other}"),
    }
}

fn write_lines<R: Display>(rows: impl Iterator<Item = R>, writer: &mut impl Write) -> Result<()> {
    const CHUNK_BYTES: usize = 1 << 20;
    let mut chunk = String::with_capacity(2 * CHUNK_BYTES);
    for row in rows {
        write!(chunk, "{row}")?;
        // dbgen ends a row with a delimiter, COPY does not want it.
        chunk.pop();
        chunk.push('\n');
        if chunk.len() >= CHUNK_BYTES {
            writer.write_all(chunk.as_bytes())?;
            chunk.clear();
        }
    }
    Ok(writer.write_all(chunk.as_bytes())?)
}
