//! The published tables, as the server's catalog describes them.
//!
//! Read inside the exported snapshot, the description belongs to exactly the rows that the copy
//! sees. The key of a table's tree is what identifies rows in the log: the replica identity's
//! columns, or under `REPLICA IDENTITY FULL` the primary key or else any unique index over
//! columns that are never NULL.

use std::collections::{BTreeSet, HashMap};

use types::{Column, ColumnType, SourceType, TableName, TableSchema};

use super::connection::{Connection, ConnectionError, Row, identifier, literal};
use super::drift::{Labels, ListedTable, column_list, read_labels, read_listed, read_young_labels};
use super::hidden_key;
use super::partitions::{Partition, SeenPartition, read_partitions};
use super::types::column_type;

/// The first version with row filters and column lists.
const VERSION_WITH_FILTERS: u32 = 150_000;
/// The first version that can publish stored generated columns.
const VERSION_WITH_GENERATED: u32 = 180_000;
/// A published table.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct PublishedTable {
    /// The table's object id.
    pub relation: u32,
    /// The table's name.
    pub name: TableName,
    /// Whether it is partitioned: its rows are in other tables.
    pub partitioned: bool,
    /// Those tables.
    pub partitions: Vec<Partition>,
    /// `REPLICA IDENTITY`: `d`efault, `n`othing, `f`ull or `i`ndex.
    pub identity: char,
    /// Its size, indexes excluded.
    pub bytes: u64,
    /// The publication's row filter.
    pub row_filter: Option<String>,
    /// The numbers of the columns that the publication names; `None` if it has all.
    pub column_list: Option<Vec<i16>>,
    /// The labels of the enums in its columns.
    pub labels: Labels,
    /// Those of them that may have another name in what is still to be read of the log.
    pub young_labels: BTreeSet<u32>,
    /// Whether we may read it.
    pub readable: bool,
    /// The file that holds its rows: another one after every rewrite. 0 where there is none.
    pub file: u32,
    /// The highest number that a column ever had, dropped ones included.
    pub number_max: i16,
    /// The published columns in the table's order.
    pub columns: Vec<PublishedColumn>,
    /// Indices into `columns` of what identifies a row in the log; `None` where nothing does.
    pub key: Option<Vec<usize>>,
}

/// A published column.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct PublishedColumn {
    /// The column's number, stable under renames.
    pub number: i16,
    /// The column's name.
    pub name: String,
    /// Whether it is never NULL.
    pub not_null: bool,
    /// Whether the source computes it from other columns.
    pub generated: bool,
    /// The type's object id in the log; that of the domain where it is one.
    pub wire_oid: u32,
    /// The type's modifier in the log.
    pub wire_modifier: i32,
    /// The type; below a domain, its base type.
    pub base: SourceType,
    /// The value of rows that were there before the column and have not been rewritten since, as
    /// text.
    pub missing: Option<String>,
    /// Whether it has had a value that its own column type cannot hold, and is kept as text.
    pub as_text: bool,
}

impl PublishedTable {
    /// The schema of the table's tree.
    pub fn schema(&self) -> TableSchema {
        let mut columns: Vec<_> = self.columns.iter().map(PublishedColumn::stored).collect();
        let key = self.key.clone().unwrap_or_else(|| {
            let first = columns.len();
            columns.extend(match self.identity {
                'f' => hidden_key::multiset_columns(),
                _ => hidden_key::number_columns(),
            });
            (first..columns.len()).collect()
        });
        TableSchema {
            name: self.name.clone(),
            columns,
            key,
        }
    }

    /// Keeps as text what is kept so in `stored`, as long as it has the same type at the source.
    pub fn keep_text_of(&mut self, stored: &TableSchema) {
        for column in &mut self.columns {
            let is_kept = |c: &Column| {
                c.source_number == column.number
                    && (c.source_type.oid, c.source_type.modifier)
                        == (column.base.oid, column.base.modifier)
                    && c.column_type == ColumnType::Text
            };
            column.as_text |= column.stored().column_type != ColumnType::Text
                && stored.columns.iter().any(is_kept);
        }
    }

    /// Whether the log shows both alike, and both have the same rows in it.
    pub fn has_shape_of(&self, other: &Self) -> bool {
        self.name == other.name
            && self.columns == other.columns
            && self.key == other.key
            && self.identity == other.identity
            && self.row_filter == other.row_filter
            && self.column_list == other.column_list
            && self.partitions == other.partitions
    }

    /// The table's name in SQL.
    pub fn sql_name(&self) -> String {
        format!(
            "{}.{}",
            identifier(&self.name.schema),
            identifier(&self.name.name)
        )
    }

    /// `COPY` of exactly the published rows and columns.
    pub fn copy_sql(&self) -> String {
        let columns: Vec<_> = self.columns.iter().map(|c| identifier(&c.name)).collect();
        let (columns, table) = (columns.join(", "), self.sql_name());
        // COPY of a table refuses generated columns.
        let is_plain = !self.partitioned && self.columns.iter().all(|c| !c.generated);
        if is_plain && self.row_filter.is_none() && !columns.is_empty() {
            return format!("COPY {table} ({columns}) TO STDOUT");
        }
        let only = if self.partitioned { "" } else { "ONLY " };
        let filter = self
            .row_filter
            .as_ref()
            .map_or(String::new(), |f| format!(" WHERE {f}"));
        format!("COPY (SELECT {columns} FROM {only}{table}{filter}) TO STDOUT")
    }
}

impl PublishedColumn {
    /// The column as it is stored.
    pub fn stored(&self) -> Column {
        Column {
            name: self.name.clone(),
            column_type: match self.as_text {
                true => ColumnType::Text,
                false => column_type(self.base.oid, self.base.modifier),
            },
            nullable: !self.not_null,
            hidden: false,
            source_number: self.number,
            source_type: self.base.clone(),
        }
    }
}

/// The server's version number, such as 150004.
pub fn server_version(connection: &mut Connection) -> Result<u32, ConnectionError> {
    first(connection.query("SHOW server_version_num")?)?.parse(0)
}

/// The only row of a result.
pub(super) fn first(rows: Vec<Row>) -> Result<Row, ConnectionError> {
    let nothing = || ConnectionError::Protocol("a query without a row".to_owned());
    rows.into_iter().next().ok_or_else(nothing)
}

/// Which tables to read about.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Selection<'a> {
    /// Those of the publication with this name.
    Publication(&'a str),
    /// Of those of a publication, the one with this object id.
    Relation {
        /// The publication.
        publication: &'a str,
        /// The object id.
        relation: u32,
    },
    /// Those that a publication of all tables would have.
    AllTables,
}

/// SQL for the size of table `c`, to show how far a copy is. While the log is followed the statistics'
/// have to do: whoever asks for sizes waits for locks, such as that of a `VACUUM FULL` that takes an
/// hour, and all tables would wait with it.
fn bytes_of(selection: Selection<'_>) -> &'static str {
    match selection {
        Selection::Relation { .. } => "greatest(c.relpages, 0)::int8 * 8192",
        Selection::Publication(_) | Selection::AllTables => {
            "coalesce((SELECT sum(pg_table_size(t.relid)) FROM pg_partition_tree(c.oid) t), \
             pg_table_size(c.oid))"
        }
    }
}

/// Reads the selected tables, ordered by name.
pub fn read_tables(
    connection: &mut Connection,
    selection: Selection<'_>,
) -> Result<Vec<PublishedTable>, ConnectionError> {
    let from = from_tables(connection, selection)?;
    let mut columns = read_columns(connection, &from)?;
    let mut indexes = read_unique_indexes(connection, &from)?;
    let mut labels = read_labels(connection, &from)?;
    let mut young_labels = read_young_labels(connection, &from)?;
    let bytes = bytes_of(selection);
    let rows = connection.query(&format!(
        "SELECT c.oid, n.nspname, c.relname, c.relkind = 'p', c.relreplident, \
         {bytes}, p.rowfilter, has_table_privilege(c.oid, 'SELECT'), \
         coalesce(pg_relation_filenode(c.oid), 0), c.relnatts, l.columnlist \
         {from} ORDER BY n.nspname, c.relname"
    ))?;
    let mut partitions = match rows.iter().any(|row| row.flag(3)) {
        true => read_partitions(connection, &from)?,
        false => HashMap::new(),
    };
    rows.iter()
        .map(|row| {
            let relation = row.parse(0)?;
            let columns: Vec<_> = columns.remove(&relation).unwrap_or_default();
            let identity = row.parse(4)?;
            let indexes = indexes.remove(&relation).unwrap_or_default();
            Ok(PublishedTable {
                relation,
                name: TableName {
                    schema: row.text(1)?.to_owned(),
                    name: row.text(2)?.to_owned(),
                },
                partitioned: row.flag(3),
                partitions: (partitions.remove(&relation).unwrap_or_default().iter())
                    .map(|seen| seen.partition)
                    .collect(),
                identity,
                bytes: row.parse(5)?,
                row_filter: row.get(6).map(str::to_owned),
                column_list: column_list(row.get(10))?,
                labels: labels.remove(&relation).unwrap_or_default(),
                young_labels: young_labels.remove(&relation).unwrap_or_default(),
                readable: row.flag(7),
                file: row.parse(8)?,
                number_max: row.parse(9)?,
                key: choose_key(identity, &indexes, &columns),
                columns,
            })
        })
        .collect()
}

/// Whether a table's rows are still in the files that it has in the transaction's snapshot, and a reader of that finds them. TRUNCATE, and
/// an ALTER TABLE that writes the table anew, take the rows from older snapshots, too.
///
/// A query of `pg_class` sees the snapshot, `pg_relation_filenode` the newest state: the table's lock must be held.
pub fn has_files_of_snapshot(
    connection: &mut Connection,
    relation: u32,
) -> Result<bool, ConnectionError> {
    let sql = format!(
        "SELECT 1 FROM pg_class c WHERE c.relfilenode <> coalesce(pg_relation_filenode(c.oid), 0) \
         AND (c.oid = {relation} OR c.oid IN (SELECT relid FROM pg_partition_tree({relation})))"
    );
    Ok(connection.query(&sql)?.is_empty())
}

/// The partitions of a publication's partitioned tables, by the object ids of those.
pub fn read_published_partitions(
    connection: &mut Connection,
    publication: &str,
) -> Result<HashMap<u32, Vec<SeenPartition>>, ConnectionError> {
    let from = from_tables(connection, Selection::Publication(publication))?;
    read_partitions(connection, &from)
}

/// The tables of a publication.
pub fn read_listed_tables(
    connection: &mut Connection,
    publication: &str,
) -> Result<Vec<ListedTable>, ConnectionError> {
    let from = from_tables(connection, Selection::Publication(publication))?;
    read_listed(connection, &from)
}

/// `FROM` the tables (`c`) in their schemas (`n`), with the row filter and the column names of their
/// publication (`p`), and the numbers of the columns that it lists (`l`).
fn from_tables(
    connection: &mut Connection,
    selection: Selection<'_>,
) -> Result<String, ConnectionError> {
    let condition = match selection {
        Selection::Relation { relation, .. } => format!(" AND c.oid = {relation}"),
        _ => String::new(),
    };
    let with_filters = server_version(connection)? >= VERSION_WITH_FILTERS;
    let (tables, lists) = match selection {
        Selection::Publication(name)
        | Selection::Relation {
            publication: name, ..
        } => of_publication(name, with_filters),
        Selection::AllTables => (ALL_TABLES.to_owned(), NO_LIST.to_owned()),
    };
    Ok(format!(
        "FROM ({tables}) p JOIN pg_namespace n ON n.nspname = p.schemaname \
         JOIN pg_class c ON c.relnamespace = n.oid AND c.relname = p.tablename{condition} \
         LEFT JOIN LATERAL ({lists}) l ON true"
    ))
}

/// The tables of a publication, and the list of columns of table `c` in it.
fn of_publication(name: &str, with_filters: bool) -> (String, String) {
    let name = literal(name);
    let filters = match with_filters {
        true => "rowfilter, attnames",
        false => "NULL AS rowfilter, NULL::name[] AS attnames",
    };
    let tables = format!(
        "SELECT schemaname, tablename, {filters} FROM pg_publication_tables WHERE pubname = {name}"
    );
    let lists = match with_filters {
        true => format!(
            "SELECT r.prattrs::text AS columnlist FROM pg_publication_rel r \
             JOIN pg_publication b ON b.oid = r.prpubid \
             WHERE b.pubname = {name} AND r.prrelid = c.oid"
        ),
        false => NO_LIST.to_owned(),
    };
    (tables, lists)
}

const NO_LIST: &str = "SELECT NULL AS columnlist";

/// What a publication `FOR ALL TABLES` has in it, partitioned tables in place of their partitions.
const ALL_TABLES: &str = "SELECT n.nspname AS schemaname, c.relname AS tablename, \
     NULL AS rowfilter, NULL::name[] AS attnames \
     FROM pg_class c JOIN pg_namespace n ON n.oid = c.relnamespace \
     WHERE c.relkind IN ('r', 'p') AND c.relpersistence = 'p' AND NOT c.relispartition \
     AND n.nspname NOT IN ('pg_catalog', 'information_schema')";

/// Columns by table. Generated columns are not in the log, but for those that the publication names.
/// A column whose NOT NULL was not validated may have NULLs from before it.
fn read_columns(
    connection: &mut Connection,
    from: &str,
) -> Result<HashMap<u32, Vec<PublishedColumn>>, ConnectionError> {
    let domains = read_domains(connection)?;
    let with_generated = server_version(connection)? >= VERSION_WITH_GENERATED;
    let rows = connection.query(&format!(
        "SELECT c.oid, a.attnum, a.attname, \
         a.attnotnull AND NOT EXISTS (SELECT FROM pg_constraint k WHERE k.conrelid = c.oid \
         AND k.contype = 'n' AND NOT k.convalidated AND a.attnum = ANY(k.conkey)), \
         a.atttypid, a.atttypmod, \
         format_type(a.atttypid, a.atttypmod), (a.attmissingval::text::text[])[1], \
         a.attgenerated <> '' \
         {from} JOIN pg_attribute a ON a.attrelid = c.oid \
         WHERE a.attnum > 0 AND NOT a.attisdropped \
         AND CASE WHEN p.attnames IS NULL THEN a.attgenerated = '' \
         ELSE a.attname = ANY(p.attnames) AND ({with_generated} OR a.attgenerated = '') END \
         ORDER BY c.oid, a.attnum"
    ))?;
    let mut columns: HashMap<u32, Vec<_>> = HashMap::new();
    for row in rows {
        let (oid, modifier) = (row.parse(4)?, row.parse(5)?);
        columns
            .entry(row.parse(0)?)
            .or_default()
            .push(PublishedColumn {
                number: row.parse(1)?,
                name: row.text(2)?.to_owned(),
                not_null: row.flag(3),
                generated: row.flag(8),
                wire_oid: oid,
                wire_modifier: modifier,
                base: base_type(
                    &domains,
                    SourceType {
                        oid,
                        modifier,
                        name: row.text(6)?.to_owned(),
                    },
                ),
                missing: row.get(7).map(str::to_owned),
                as_text: false,
            });
    }
    Ok(columns)
}

/// What each domain is based on.
fn read_domains(connection: &mut Connection) -> Result<HashMap<u32, SourceType>, ConnectionError> {
    let rows = connection.query(
        "SELECT oid, typbasetype, typtypmod, format_type(typbasetype, typtypmod) \
         FROM pg_type WHERE typtype = 'd'",
    )?;
    rows.iter()
        .map(|row| {
            let (oid, modifier) = (row.parse(1)?, row.parse(2)?);
            let base = SourceType {
                oid,
                modifier,
                name: row.text(3)?.to_owned(),
            };
            Ok((row.parse(0)?, base))
        })
        .collect()
}

/// The type below any number of domains.
fn base_type(domains: &HashMap<u32, SourceType>, mut found: SourceType) -> SourceType {
    while let Some(base) = domains.get(&found.oid) {
        found = base.clone();
    }
    found
}

/// A unique index that can identify rows.
#[derive(Debug)]
struct UniqueIndex {
    primary: bool,
    identity: bool,
    /// Column numbers, in the index's order.
    columns: Vec<i16>,
}

/// Unique indexes by table: valid, checked at once (a deferred one can have duplicates in the
/// middle of a transaction, and so in the log), over all rows, without expressions.
fn read_unique_indexes(
    connection: &mut Connection,
    from: &str,
) -> Result<HashMap<u32, Vec<UniqueIndex>>, ConnectionError> {
    let rows = connection.query(&format!(
        "SELECT c.oid, i.indisprimary, i.indisreplident, i.indnkeyatts, i.indkey::text \
         {from} JOIN pg_index i ON i.indrelid = c.oid \
         WHERE i.indisunique AND i.indimmediate AND i.indisvalid \
         AND i.indislive AND i.indpred IS NULL AND i.indexprs IS NULL \
         ORDER BY c.oid, i.indexrelid"
    ))?;
    let mut indexes: HashMap<u32, Vec<_>> = HashMap::new();
    for row in rows {
        let columns = row.text(4)?.split(' ').take(row.parse(3)?).map(str::parse);
        let columns = columns.collect::<Result<_, _>>();
        indexes.entry(row.parse(0)?).or_default().push(UniqueIndex {
            primary: row.flag(1),
            identity: row.flag(2),
            columns: columns
                .map_err(|_| ConnectionError::Protocol("an index column".to_owned()))?,
        });
    }
    Ok(indexes)
}

/// The columns that identify a row in the log, as indices into `columns`.
fn choose_key(
    identity: char,
    indexes: &[UniqueIndex],
    columns: &[PublishedColumn],
) -> Option<Vec<usize>> {
    let position = |number: &i16| {
        columns
            .iter()
            .position(|column| column.number == *number && column.not_null)
    };
    let indices = |index: &UniqueIndex| index.columns.iter().map(position).collect();
    match identity {
        'd' => indexes.iter().find(|index| index.primary).and_then(indices),
        'i' => indexes
            .iter()
            .find(|index| index.identity)
            .and_then(indices),
        'f' => {
            let primary = indexes.iter().find(|index| index.primary);
            primary.into_iter().chain(indexes).find_map(indices)
        }
        _ => None,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn column(number: i16, name: &str, not_null: bool) -> PublishedColumn {
        let base = SourceType {
            oid: 23,
            modifier: -1,
            name: "integer".into(),
        };
        PublishedColumn {
            number,
            name: name.into(),
            not_null,
            generated: false,
            wire_oid: 23,
            wire_modifier: -1,
            base,
            missing: None,
            as_text: false,
        }
    }

    fn table(key: Option<Vec<usize>>) -> PublishedTable {
        PublishedTable {
            relation: 1,
            name: TableName {
                schema: "public".into(),
                name: "a\"b".into(),
            },
            partitions: Vec::new(),
            partitioned: false,
            identity: 'd',
            bytes: 0,
            row_filter: None,
            column_list: None,
            labels: Labels::new(),
            young_labels: BTreeSet::new(),
            readable: true,
            file: 1,
            number_max: 3,
            columns: vec![column(1, "x", true), column(3, "y", false)],
            key,
        }
    }

    #[test]
    fn a_table_without_a_key_numbers_its_rows() {
        let schema = table(None).schema();
        assert_eq!(schema.key, [2, 3]);
        assert!(!schema.has_source_key());
        assert!(schema.columns[2..].iter().all(|c| c.hidden));
        assert_eq!(table(Some(vec![0])).schema().columns.len(), 2);
        let mut multiset = table(None);
        multiset.identity = 'f';
        assert_eq!(multiset.schema().key, [2, 3, 4, 5]);
        assert!(hidden_key::is_multiset(&multiset.schema()));
        assert!(!hidden_key::is_multiset(&schema));
    }

    #[test]
    fn copy_applies_what_the_publication_says() {
        let mut table = table(None);
        assert_eq!(
            table.copy_sql(),
            "COPY \"public\".\"a\"\"b\" (\"x\", \"y\") TO STDOUT"
        );
        table.row_filter = Some("(x > 1)".into());
        assert_eq!(
            table.copy_sql(),
            "COPY (SELECT \"x\", \"y\" FROM ONLY \"public\".\"a\"\"b\" WHERE (x > 1)) TO STDOUT"
        );
        table.partitioned = true;
        assert!(table.copy_sql().contains("FROM \"public\""));
        (table.partitioned, table.row_filter) = (false, None);
        table.columns[1].generated = true;
        assert_eq!(
            table.copy_sql(),
            "COPY (SELECT \"x\", \"y\" FROM ONLY \"public\".\"a\"\"b\") TO STDOUT"
        );
    }

    #[test]
    fn the_key_is_what_identifies_rows_in_the_log() {
        let columns = [
            column(1, "x", true),
            column(3, "y", false),
            column(4, "z", true),
        ];
        let index = |primary, identity, columns: &[i16]| UniqueIndex {
            primary,
            identity,
            columns: columns.to_vec(),
        };
        let indexes = [index(false, true, &[4]), index(true, false, &[4, 1])];
        assert_eq!(choose_key('d', &indexes, &columns), Some(vec![2, 0]));
        assert_eq!(choose_key('i', &indexes, &columns), Some(vec![2]));
        assert_eq!(choose_key('f', &indexes, &columns), Some(vec![2, 0]));
        assert_eq!(choose_key('n', &indexes, &columns), None);
        let nullable = [index(false, false, &[3]), index(false, false, &[1])];
        assert_eq!(choose_key('d', &nullable, &columns), None);
        assert_eq!(choose_key('f', &nullable, &columns), Some(vec![0]));
        let not_published = [index(true, false, &[2])];
        assert_eq!(choose_key('d', &not_published, &columns), None);
    }
}
