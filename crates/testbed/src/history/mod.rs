//! Random histories of a PostgreSQL database: schemas, rows, and what becomes of both.
//!
//! A history is steps, most of them SQL for one of several connections, drawn from a seed: equal seeds give
//! equal steps. It knows the tables and columns that it has made, so that its statements make sense; what the
//! server refuses nevertheless (a value that a new type does not hold) is rolled back as a whole.
//!
//! Transactions of different connections overlap, and some are prepared and end much later. Each connection
//! has rows of its own to change, and nothing but rows is changed while a transaction is open, so that
//! none waits for another.

mod types;

use rand::rngs::StdRng;
use rand::seq::IndexedRandom;
use rand::{Rng, SeedableRng};

struct Column {
    name: String,
    data_type: &'static str,
    values: &'static str,
}

/// What identifies the rows of a table.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Key {
    /// `id`.
    Primary,
    /// `k`, a text, and `id`.
    Wide,
    /// A unique index on `id`.
    Index,
    /// Nothing, and equal rows are shown whole.
    Multiset,
    /// Nothing: it only grows.
    Growing,
}

struct Table {
    name: String,
    key: Key,
    partitioned: bool,
    columns: Vec<Column>,
}

/// What happens next.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Step {
    /// SQL for the connection of this number, which changes rows.
    Run(usize, String),
    /// SQL for the first connection, which changes tables or types. No transaction is open.
    Alter(String),
    /// The replica is killed and started again.
    Restart,
    /// No transaction is open: both sides can be compared, after these changes, which make the log show how
    /// each table looks.
    Compare(Vec<String>),
}

/// Connections to the source. The first has no transaction that stays open.
pub const CONNECTIONS: usize = 3;

/// A history that goes on for as long as one likes.
pub struct History {
    random: StdRng,
    tables: Vec<Table>,
    /// Numbers names and rows.
    count: u64,
    /// Which connections have a transaction open.
    open: [bool; CONNECTIONS],
    /// The transactions that are prepared.
    prepared: Vec<u64>,
    /// The label of `mood` that is renamed now and then.
    label: String,
    /// It was renamed, and the replica has not connected since.
    is_renamed: bool,
}

impl History {
    /// The history of a seed.
    pub fn new(seed: u64) -> Self {
        Self {
            random: StdRng::seed_from_u64(seed),
            tables: Vec::new(),
            count: 0,
            open: [false; CONNECTIONS],
            prepared: Vec::new(),
            label: "first".to_owned(),
            is_renamed: false,
        }
    }

    /// What comes before the history: types, and some tables with rows.
    pub fn beginning(&mut self) -> Vec<String> {
        let tables = (0..3).map(|_| self.create()).collect::<Vec<_>>();
        [vec![types::SETUP.to_owned()], tables].concat()
    }

    /// Ends every transaction, and compares.
    pub fn end(&mut self) -> Vec<Step> {
        let mut steps = Vec::new();
        while let Some(step) = self.end_transaction() {
            steps.push(step);
        }
        if self.is_renamed {
            steps.push(Step::Restart);
        }
        steps.push(self.compare());
        steps
    }

    fn compare(&mut self) -> Step {
        let tables = 0..self.tables.len();
        Step::Compare(tables.map(|table| self.insert(table, 1)).collect())
    }

    /// The next step.
    pub fn step(&mut self) -> Step {
        if std::mem::take(&mut self.is_renamed) {
            return Step::Restart;
        }
        let kind = self.random.random_range(0..100);
        let is_quiet = !self.open.contains(&true) && self.prepared.is_empty();
        match kind {
            0..4 => return Step::Restart,
            4..24 if is_quiet => return self.compare(),
            4..24 => {
                if let Some(step) = self.end_transaction() {
                    return step;
                }
            }
            24..36 => return self.continue_transaction(),
            _ => {}
        }
        if is_quiet && let Some(change) = self.change() {
            return Step::Alter(change);
        }
        Step::Run(0, self.transaction(is_quiet))
    }

    /// The names of all tables.
    pub fn tables(&self) -> Vec<String> {
        self.tables.iter().map(|table| table.name.clone()).collect()
    }

    /// Ends a transaction that is open or prepared.
    fn end_transaction(&mut self) -> Option<Step> {
        let commits = self.random.random_bool(0.7);
        if let Some(connection) = self.open.iter().position(|open| *open) {
            self.open[connection] = false;
            let end = match self.random.random_range(0..3) {
                0 => {
                    let number = self.number();
                    self.prepared.push(number);
                    format!("prepare transaction 'p{number}'")
                }
                _ if commits => "commit".to_owned(),
                _ => "rollback".to_owned(),
            };
            return Some(Step::Run(connection, end));
        }
        let number = self.prepared.pop()?;
        let end = if commits { "commit" } else { "rollback" };
        Some(Step::Run(0, format!("{end} prepared 'p{number}'")))
    }

    /// Begins a transaction of a connection, or goes on with it.
    fn continue_transaction(&mut self) -> Step {
        let connection = self.random.random_range(1..CONNECTIONS);
        let begun = std::mem::replace(&mut self.open[connection], true);
        let statements = self.writes(connection, false);
        let begin = if begun { "" } else { "begin; " };
        Step::Run(connection, format!("{begin}{}", statements.join("; ")))
    }

    /// A change of tables or types, now and then.
    fn change(&mut self) -> Option<String> {
        match self.random.random_range(0..40) {
            0 if self.tables.len() < 6 => Some(self.create()),
            1 if self.tables.len() > 2 => Some(self.drop_table()),
            2..=6 => Some(self.change_schema()),
            7 => Some(self.change_label()),
            _ => None,
        }
    }

    /// A transaction that begins and ends, of the first connection; `is_alone`: no other is open.
    fn transaction(&mut self, is_alone: bool) -> String {
        let statements = self.writes(0, is_alone);
        let rolled_back = self.random.random_bool(0.1);
        let end = if rolled_back { "rollback" } else { "commit" };
        format!("begin; {}; {end}", statements.join("; "))
    }

    /// Statements of a transaction, some of them in savepoints.
    fn writes(&mut self, connection: usize, may_truncate: bool) -> Vec<String> {
        let mut statements = Vec::new();
        for _ in 0..self.random.random_range(1..5) {
            let write = self.write(connection, may_truncate);
            if self.random.random_bool(0.2) {
                let undone = self.write(connection, may_truncate);
                let end = *["rollback to s", "release s"]
                    .choose(&mut self.random)
                    .expect("two");
                statements.extend([write, "savepoint s".into(), undone, end.to_owned()]);
            } else {
                statements.push(write);
            }
        }
        statements
    }

    /// Another label, or another name for one. The second is found at the next connect.
    fn change_label(&mut self) -> String {
        let label = format!("l{}", self.number());
        if self.random.random_bool(0.5) {
            return format!("alter type mood add value '{label}'");
        }
        let before = std::mem::replace(&mut self.label, label);
        self.is_renamed = true;
        format!(
            "alter type mood rename value '{before}' to '{}'",
            self.label
        )
    }

    fn number(&mut self) -> u64 {
        self.count += 1;
        self.count
    }

    fn new_column(&mut self) -> Column {
        let (data_type, values) = *types::TYPES
            .choose(&mut self.random)
            .expect("there are types");
        Column {
            name: format!("c{}", self.number()),
            data_type,
            values,
        }
    }

    fn create(&mut self) -> String {
        let keys = [
            Key::Primary,
            Key::Primary,
            Key::Wide,
            Key::Index,
            Key::Multiset,
            Key::Growing,
        ];
        let key = *keys.choose(&mut self.random).expect("there are keys");
        let table = Table {
            name: format!("t{}", self.number()),
            key,
            partitioned: key == Key::Primary && self.random.random_bool(0.3),
            columns: (0..self.random.random_range(1..8))
                .map(|_| self.new_column())
                .collect(),
        };
        let identity = ["default", "full"].choose(&mut self.random).expect("two");
        let created = table.create(identity);
        self.tables.push(table);
        let filled = self.insert(self.tables.len() - 1, 200);
        format!("{created}; {filled}")
    }

    fn any_table(&mut self) -> usize {
        self.random.random_range(0..self.tables.len())
    }

    fn drop_table(&mut self) -> String {
        let table = self.any_table();
        format!("drop table {}", self.tables.swap_remove(table).name)
    }

    /// A statement that writes rows.
    fn write(&mut self, connection: usize, may_truncate: bool) -> String {
        let table = self.any_table();
        let kind = self.random.random_range(0..20);
        if self.tables[table].key == Key::Growing && kind > 2 {
            return self.insert(table, 20);
        }
        match kind {
            0 if may_truncate => format!("truncate {}", self.tables[table].name),
            0 | 1 => self.insert(table, 3000),
            2..=6 => self.insert(table, 20),
            7..=9 => self.delete(table, connection),
            10..=12 => self.move_rows(table, connection),
            _ => self.update(table, connection),
        }
    }

    fn insert(&mut self, table: usize, rows: u64) -> String {
        let first = self.count + 1;
        self.count += rows;
        let Table {
            name, columns, key, ..
        } = &self.tables[table];
        let names: String = columns.iter().map(|c| format!(", {}", c.name)).collect();
        let values: String = columns
            .iter()
            .map(|c| format!(", case when v % 7 <> 0 then {} end", c.values))
            .collect();
        // In a multiset there are nine of each row.
        let number = match key {
            Key::Multiset => "n - n % 9",
            _ => "n",
        };
        format!(
            "insert into {name} (id, k{names}) select v, 'k' || v % 10{values} \
             from generate_series({first}::bigint, {}) n, lateral (select {number} as v) w",
            self.count
        )
    }

    /// A condition that some rows of a connection meet.
    fn some_rows(&mut self, table: usize, connection: usize) -> String {
        let modulus = self.random.random_range(2..60);
        let rest = self.random.random_range(0..modulus);
        let Table { name, key, .. } = &self.tables[table];
        // Those of a connection stay its own when they move.
        let own = format!("id / 10 % {CONNECTIONS} = {connection} and id % {modulus} = {rest}");
        match key {
            // Some of the rows that are equal.
            Key::Multiset => format!(
                "ctid = any (array(select ctid from {name} where {own} order by ctid limit 25))"
            ),
            _ => own,
        }
    }

    fn delete(&mut self, table: usize, connection: usize) -> String {
        let condition = self.some_rows(table, connection);
        format!("delete from {} where {condition}", self.tables[table].name)
    }

    fn update(&mut self, table: usize, connection: usize) -> String {
        let (condition, number) = (self.some_rows(table, connection), self.number());
        let Table { name, columns, .. } = &self.tables[table];
        let Some(column) = columns.choose(&mut self.random) else {
            return format!("select from {name}");
        };
        format!(
            "update {name} set {} = (select {} from (select id + {number} as v) r) where {condition}",
            column.name, column.values
        )
    }

    fn move_rows(&mut self, table: usize, connection: usize) -> String {
        let (condition, number) = (self.some_rows(table, connection), self.number());
        let Table { name, key, .. } = &self.tables[table];
        if *key == Key::Wide && number.is_multiple_of(2) {
            format!("update {name} set k = k || '!' where {condition}")
        } else {
            format!("update {name} set id = id + {number} * 3000000::bigint where {condition}")
        }
    }

    /// A statement that changes a table's columns or name.
    fn change_schema(&mut self) -> String {
        let (table, kind, number) = (
            self.any_table(),
            self.random.random_range(0..8),
            self.number(),
        );
        let column = self.new_column();
        let Table { name, columns, .. } = &mut self.tables[table];
        let place = self.random.random_range(0..columns.len().max(1));
        match (kind, columns.get_mut(place)) {
            (0, _) => {
                let before = std::mem::replace(name, format!("t{number}"));
                format!("alter table {before} rename to {name}")
            }
            (1, Some(column)) => {
                let before = std::mem::replace(&mut column.name, format!("c{number}"));
                format!("alter table {name} rename {before} to {}", column.name)
            }
            (2, Some(_)) => {
                format!(
                    "alter table {name} drop column {}",
                    columns.remove(place).name
                )
            }
            (3, Some(column)) => {
                let to = types::RETYPED
                    .iter()
                    .find(|(from, _)| *from == column.data_type);
                let Some((_, to)) = to else {
                    return format!("analyze {name}");
                };
                column.data_type = to;
                format!("alter table {name} alter {} type {to}", column.name)
            }
            (4, _) => {
                let added = format!(
                    "alter table {name} add {} double precision default random()",
                    column.name
                );
                columns.push(Column {
                    data_type: "double precision",
                    values: "sqrt(v)",
                    ..column
                });
                added
            }
            (kind, _) => {
                let default = match kind {
                    5 => String::new(),
                    _ => format!(" default {}", constant(&column)),
                };
                let added = format!(
                    "alter table {name} add {} {}{default}",
                    column.name, column.data_type
                );
                columns.push(column);
                added
            }
        }
    }
}

impl Table {
    fn create(&self, identity: &str) -> String {
        let name = &self.name;
        let columns = self.columns.iter();
        let columns: String = columns
            .map(|c| format!(", {} {}", c.name, c.data_type))
            .collect();
        let (key, identity) = match self.key {
            Key::Primary => (", primary key (id)", identity.to_owned()),
            Key::Wide => (", primary key (k, id)", identity.to_owned()),
            Key::Index => ("", format!("using index {name}_key")),
            Key::Multiset => ("", "full".to_owned()),
            Key::Growing => ("", "nothing".to_owned()),
        };
        let rows =
            format!("create table {name} (id bigint not null, k text not null{columns}{key})");
        if self.partitioned {
            let parts: String = (0..3)
                .map(|part| {
                    format!(
                        "; create table {name}_{part} partition of {name}
                           for values with (modulus 3, remainder {part})"
                    )
                })
                .collect();
            return format!("{rows} partition by hash (id){parts}");
        }
        let index = match self.key {
            Key::Index => format!("; create unique index {name}_key on {name} (id)"),
            _ => String::new(),
        };
        format!("{rows}{index}; alter table {name} replica identity {identity}")
    }
}

/// A value of a column that is the same in all rows.
fn constant(column: &Column) -> String {
    // `v` stands alone, as a word.
    let words = column
        .values
        .split_inclusive(|c: char| !c.is_ascii_alphanumeric());
    words
        .map(|word| match word.strip_prefix('v') {
            Some(rest)
                if rest.len() <= 1 && !rest.starts_with(|c: char| c.is_ascii_alphanumeric()) =>
            {
                format!("12::bigint{rest}")
            }
            _ => word.to_owned(),
        })
        .collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn equal_seeds_give_equal_histories() {
        let steps = |seed| {
            let mut history = History::new(seed);
            let beginning = history.beginning();
            let mut steps: Vec<_> = (0..200).map(|_| history.step()).collect();
            steps.extend(history.end());
            (beginning, steps)
        };
        assert_eq!(steps(7), steps(7));
        assert_ne!(steps(7), steps(8));
    }
}
