//! Object ids of schemas, tables and indexes: the same after every restart.

use types::TableId;

/// The owner of everything.
pub(crate) const OWNER: u32 = 10;
/// Access method `heap`.
pub(crate) const HEAP: u32 = 2;
/// Access method `btree`.
pub(crate) const BTREE: u32 = 403;
/// The one database.
pub(crate) const DATABASE: u32 = 5;

const PG_CATALOG: u32 = 11;
const PUBLIC: u32 = 2200;
const INFORMATION_SCHEMA: u32 = 13_100;
const HEDGEROW: u32 = 13_200;
const FIRST_SYSTEM_TABLE: u32 = 12_000;
const FIRST_VIEW: u32 = 13_300;
const FIRST_USER_OBJECT: u32 = 16_384;
const FIRST_USER_SCHEMA: u32 = 2_000_000_000;

/// A schema's id. Schemas of the source have none of their own here; theirs come from their
/// names, so that they stay the same.
pub(crate) fn schema(name: &str) -> u32 {
    match name {
        "pg_catalog" => PG_CATALOG,
        "public" => PUBLIC,
        "information_schema" => INFORMATION_SCHEMA,
        crate::views::SCHEMA => HEDGEROW,
        _ => {
            // FNV-1a, folded into the ids from FIRST_USER_SCHEMA on that an int4 can hold.
            let hash = name.bytes().fold(0x811C_9DC5_u32, |hash, byte| {
                (hash ^ u32::from(byte)).wrapping_mul(0x0100_0193)
            });
            FIRST_USER_SCHEMA + hash % (i32::MAX.unsigned_abs() - FIRST_USER_SCHEMA)
        }
    }
}

/// A replicated table's id.
pub(crate) fn table(table: TableId) -> u32 {
    FIRST_USER_OBJECT + 2 * table.0
}

/// The id of a replicated table's primary key: both of the index and of the constraint.
pub(crate) fn primary_key(table: TableId) -> u32 {
    FIRST_USER_OBJECT + 2 * table.0 + 1
}

/// The id of the `n`th view of schema `hedgerow`.
pub(crate) fn view(n: usize) -> u32 {
    FIRST_VIEW + u32::try_from(n).expect("few views")
}

/// A system table's id: PostgreSQL's, for those that clients know by number.
pub(crate) fn system_table(name: &str, n: usize) -> u32 {
    match name {
        "pg_type" => 1247,
        "pg_attribute" => 1249,
        "pg_proc" => 1255,
        "pg_class" => 1259,
        "pg_authid" => 1260,
        "pg_database" => 1262,
        "pg_constraint" => 2606,
        "pg_attrdef" => 2604,
        "pg_description" => 2609,
        "pg_index" => 2610,
        "pg_namespace" => 2615,
        "pg_extension" => 3079,
        _ => FIRST_SYSTEM_TABLE + u32::try_from(n).expect("few system tables"),
    }
}
