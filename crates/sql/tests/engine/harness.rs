//! An engine over a store in a temporary directory, filled from text.

use std::sync::Arc;
use std::time::Duration;

use env::{Env, RealClock};
use futures::StreamExt;
use lsm::{KeyRange, ScanRequest, Store, StoreOptions};
use replication::catalog::{Catalog, TableEntry, TableState};
use replication::projection::layout::Layout;
use replication::projection::{Projection, ProjectionState};
use replication::status::Status;
use sql::arrow::array::RecordBatch;
use sql::arrow::util::display::{ArrayFormatter, FormatOptions};
use sql::{Engine, EngineOptions, Outcome, ScalarValue, Session, SessionStart, SqlError};
use tempfile::TempDir;
use types::{
    Column, ColumnBuilder, ColumnType, CommitPosition, OrderColumn, RowsBuilder, SourceType,
    TableId, TableName, TableSchema, VersionKind, VersionRows,
};

/// A store, its catalog and an engine.
pub struct Fixture {
    pub engine: Arc<Engine>,
    pub store: Arc<Store>,
    pub catalog: Arc<Catalog>,
    pub status: Arc<Status>,
    position: u64,
    /// Is removed with the fixture.
    _directory: TempDir,
}

impl Fixture {
    pub fn new() -> Self {
        Self::with_options(EngineOptions {
            threads: 2,
            ..EngineOptions::default()
        })
    }

    pub fn with_options(options: EngineOptions) -> Self {
        let directory = tempfile::tempdir().expect("a temporary directory");
        let env = Env::real();
        let store = Store::open(
            env,
            &directory.path().join("store"),
            StoreOptions::default(),
        )
        .expect("the store opens");
        let catalog = Arc::new(Catalog::new());
        let status = Arc::new(Status::new(Arc::new(RealClock::new())));
        let engine = Engine::new(store.clone(), catalog.clone(), status.clone(), options)
            .expect("the engine starts");
        Self {
            engine,
            store,
            catalog,
            status,
            position: 0x100,
            _directory: directory,
        }
    }

    pub fn session(&self) -> Session {
        let start = SessionStart {
            user: "ann".to_owned(),
            ..SessionStart::default()
        };
        self.engine.session(&start).expect("a session")
    }

    /// Creates a table: `columns` are `name type [key]` with commas between.
    pub fn table(&self, name: &str, columns: &str) -> TableId {
        let mut entries: Vec<TableEntry> = self
            .catalog
            .tables()
            .iter()
            .map(|entry| TableEntry::clone(entry))
            .collect();
        let id = TableId(u32::try_from(entries.len()).expect("few tables") + 1);
        let schema = table_schema(name, columns);
        self.store
            .create_table(id, schema.clone())
            .expect("the table is created");
        entries.push(TableEntry {
            id,
            schema: Arc::new(schema),
            state: TableState::Live,
        });
        self.catalog.replace(entries);
        id
    }

    /// Writes rows in one transaction: lines of cells with `|` between, `\N` for NULL. A line
    /// that begins with `-` deletes its row.
    pub fn write(&mut self, table: TableId, lines: &str) {
        let schema = self.store.schema(table).expect("the table is there");
        self.position += 0x10;
        let mut rows = RowsBuilder::new(&schema);
        for line in lines.lines().map(str::trim).filter(|line| !line.is_empty()) {
            let (kind, line) = match line.strip_prefix('-') {
                Some(rest) if !rest.starts_with(|c: char| c.is_ascii_digit()) => {
                    (VersionKind::Delete, rest.trim_start())
                }
                _ => (VersionKind::Put, line),
            };
            let cells: Vec<&str> = line.split('|').collect();
            assert_eq!(cells.len(), schema.columns.len(), "{line}");
            for (index, cell) in cells.into_iter().enumerate() {
                let keep = kind == VersionKind::Put || schema.key.contains(&index);
                let column_type = schema.columns[index].column_type;
                append(
                    &mut rows.columns_mut()[index],
                    column_type,
                    if keep { cell } else { "\\N" },
                );
            }
            rows.finish_version(CommitPosition(self.position), kind);
        }
        self.store
            .ingest(table, rows.build())
            .expect("the rows go in");
        self.store
            .publish(CommitPosition(self.position), Vec::new());
    }

    /// Makes a projection of a table as it is now, which is ready.
    pub fn projection(&mut self, name: &str, table: TableId, order_by: &[&str]) {
        let schema = self.store.schema(table).expect("the table is there");
        let order = |name: &&str| {
            let mut columns = schema.columns.iter();
            let column = columns.position(|column| column.name == **name);
            let column = column.expect("the table has the column");
            let nullable = schema.columns[column].nullable;
            OrderColumn { column, nullable }
        };
        let order_by: Vec<OrderColumn> = order_by.iter().map(order).collect();
        let layout = Layout::new(&schema, &order_by);
        let tree = self.store.next_table();
        self.store
            .create_table(tree, TableSchema::clone(layout.schema()))
            .expect("the tree is created");
        self.position += 0x10;
        let since = CommitPosition(self.position);
        let request = ScanRequest {
            projection: (0..schema.columns.len()).collect(),
            range: KeyRange::all(),
            batch_rows: 4096,
        };
        for batch in self.store.pin().scan(table, request).expect("a scan") {
            let batch = batch.expect("rows");
            let rows = VersionRows {
                columns: batch.columns().to_vec(),
                positions: vec![since.0; batch.num_rows()],
                kinds: vec![VersionKind::Put as u8; batch.num_rows()],
                unchanged: None,
            };
            let rows = layout.versions(&rows).expect("they can be ordered");
            self.store.ingest(tree, rows).expect("the rows go in");
        }
        self.store.publish(since, Vec::new());
        self.catalog.set_projection(Projection {
            name: name.to_owned(),
            table,
            order_by: order_by.into(),
            state: ProjectionState::Ready { tree, since },
        });
    }

    pub fn position(&self) -> CommitPosition {
        CommitPosition(self.position)
    }
}

fn table_schema(name: &str, columns: &str) -> TableSchema {
    let (schema, table) = name.split_once('.').unwrap_or(("public", name));
    let mut key = Vec::new();
    let mut parts: Vec<String> = Vec::new();
    for part in columns.split(", ") {
        parts.push(part.trim().to_owned());
    }
    let columns = parts
        .iter()
        .enumerate()
        .map(|(index, part)| {
            let (name, rest) = part.split_once(' ').expect("a name and a type");
            let type_name = rest.trim_end_matches(" key");
            if type_name != rest {
                key.push(index);
            }
            column(name, type_name, index, type_name != rest)
        })
        .collect();
    TableSchema {
        name: TableName {
            schema: schema.to_owned(),
            name: table.to_owned(),
        },
        columns,
        key,
    }
}

fn column(name: &str, type_name: &str, index: usize, key: bool) -> Column {
    let (base, arguments) = match type_name.split_once('(') {
        Some((base, arguments)) => (base, arguments.trim_end_matches(')')),
        None => (type_name, ""),
    };
    let numbers: Vec<i32> = arguments
        .split(',')
        .filter_map(|number| number.parse().ok())
        .collect();
    let (column_type, oid, modifier) = match base {
        "boolean" => (ColumnType::Bool, 16, -1),
        "smallint" => (ColumnType::Int16, 21, -1),
        "integer" => (ColumnType::Int32, 23, -1),
        "bigint" => (ColumnType::Int64, 20, -1),
        "real" => (ColumnType::Float32, 700, -1),
        "double" => (ColumnType::Float64, 701, -1),
        "numeric" => {
            let (precision, scale) = (numbers[0], numbers[1]);
            let column_type = ColumnType::Decimal {
                precision: u8::try_from(precision).expect("small"),
                scale: i8::try_from(scale).expect("small"),
            };
            (column_type, 1700, ((precision << 16) | scale) + 4)
        }
        "date" => (ColumnType::Date, 1082, -1),
        "timestamp" => (ColumnType::Timestamp, 1114, -1),
        "timestamptz" => (ColumnType::TimestampTz, 1184, -1),
        "text" => (ColumnType::Text, 25, -1),
        "varchar" => (ColumnType::Text, 1043, numbers[0] + 4),
        "char" => (ColumnType::Text, 1042, numbers[0] + 4),
        "uuid" => (ColumnType::Text, 2950, -1),
        "jsonb" => (ColumnType::Text, 3802, -1),
        "bytea" => (ColumnType::Bytes, 17, -1),
        "integer[]" => (ColumnType::Text, 1007, -1),
        "text[]" => (ColumnType::Text, 1009, -1),
        other => panic!("the harness does not know {other}"),
    };
    let name_of_type = match base {
        "char" => type_name.replace("char", "character"),
        "varchar" => type_name.replace("varchar", "character varying"),
        _ => type_name.to_owned(),
    };
    Column {
        name: name.to_owned(),
        column_type,
        nullable: !key,
        hidden: false,
        source_number: i16::try_from(index + 1).expect("few columns"),
        source_type: SourceType {
            oid,
            modifier,
            name: name_of_type,
        },
    }
}

fn append(builder: &mut ColumnBuilder, column_type: ColumnType, cell: &str) {
    if cell == "\\N" {
        return builder.append_null();
    }
    let scalar = ScalarValue::Utf8(Some(cell.to_owned()))
        .cast_to(&column_type.arrow_type())
        .unwrap_or_else(|error| panic!("{cell}: {error}"));
    match (builder, scalar) {
        (ColumnBuilder::Bool(builder), ScalarValue::Boolean(value)) => builder.append_option(value),
        (ColumnBuilder::Int16(builder), ScalarValue::Int16(value)) => builder.append_option(value),
        (ColumnBuilder::Int32(builder), ScalarValue::Int32(value)) => builder.append_option(value),
        (ColumnBuilder::Int64(builder), ScalarValue::Int64(value)) => builder.append_option(value),
        (ColumnBuilder::Float32(builder), ScalarValue::Float32(value)) => {
            builder.append_option(value)
        }
        (ColumnBuilder::Float64(builder), ScalarValue::Float64(value)) => {
            builder.append_option(value)
        }
        (ColumnBuilder::Decimal(builder), ScalarValue::Decimal128(value, ..)) => {
            builder.append_option(value)
        }
        (ColumnBuilder::Date(builder), ScalarValue::Date32(value)) => builder.append_option(value),
        (ColumnBuilder::Timestamp(builder), ScalarValue::TimestampMicrosecond(value, _)) => {
            builder.append_option(value);
        }
        (ColumnBuilder::Text(builder), ScalarValue::Utf8(value)) => builder.append_option(value),
        (ColumnBuilder::Bytes(builder), ScalarValue::Binary(value)) => builder.append_option(value),
        (_, value) => panic!("{cell} became {value:?}"),
    }
}

/// Runs one statement to its end; the rows as text with `|` between.
pub async fn run(session: &Session, text: &str) -> Result<Vec<String>, SqlError> {
    run_with(session, text, Vec::new()).await
}

/// The same with parameters.
pub async fn run_with(
    session: &Session,
    text: &str,
    parameters: Vec<ScalarValue>,
) -> Result<Vec<String>, SqlError> {
    let mut rows = Vec::new();
    for statement in sql::parse(text)? {
        match session.execute(&statement, parameters.clone()).await? {
            Outcome::Command { tag, .. } => rows.push(tag.into_owned()),
            Outcome::Rows { mut stream, .. } => {
                while let Some(batch) = stream.next().await {
                    rows.extend(lines(&batch?));
                }
            }
        }
    }
    Ok(rows)
}

/// The rows of a batch as text.
pub fn lines(batch: &RecordBatch) -> Vec<String> {
    let options = FormatOptions::default().with_null("NULL");
    let formatters: Vec<ArrayFormatter<'_>> = batch
        .columns()
        .iter()
        .map(|column| ArrayFormatter::try_new(column, &options).expect("can be shown"))
        .collect();
    (0..batch.num_rows())
        .map(|row| {
            let cells: Vec<String> = formatters
                .iter()
                .map(|formatter| formatter.value(row).to_string())
                .collect();
            cells.join("|")
        })
        .collect()
}

/// The one row of a statement.
pub async fn row(session: &Session, text: &str) -> String {
    let rows = run(session, text)
        .await
        .unwrap_or_else(|error| panic!("{text}: {error:?}"));
    assert_eq!(rows.len(), 1, "{text}: {rows:?}");
    rows.into_iter().next().expect("one row")
}

/// The SQLSTATE of a statement that fails.
pub async fn failure(session: &Session, text: &str) -> SqlError {
    match run(session, text).await {
        Ok(rows) => panic!("{text} gave {rows:?}"),
        Err(error) => error,
    }
}

/// How long a test waits for what must come.
pub const SOON: Duration = Duration::from_secs(20);
