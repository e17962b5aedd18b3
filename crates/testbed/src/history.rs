//! Random histories of a PostgreSQL database: schemas, rows, and what becomes of both.
//!
//! A history is SQL, a text a transaction, drawn from a seed: equal seeds give equal texts. It
//! knows the tables and columns that it has made, so that its statements make sense; what the
//! server refuses nevertheless (a value that a new type does not hold) is rolled back as a whole.

use rand::rngs::StdRng;
use rand::seq::IndexedRandom;
use rand::{Rng, SeedableRng};

/// A column type and an expression of random values, in which `v` is a whole number that differs
/// from row to row.
type RandomType = (&'static str, &'static str);

/// The types that columns have.
const TYPES: [RandomType; 24] = [
    ("int", "(v % 1000)::int"),
    ("smallint", "(v % 100)::smallint"),
    ("bigint", "v * 10000000000"),
    ("numeric(10,2)", "(v % 10000) / 100.0"),
    (
        "numeric",
        "(array['NaN', '-0.000', '1e30', 'Infinity'])[1 + v % 4]::numeric",
    ),
    ("text", "md5(v::text)"),
    ("text", "repeat(md5(v::text), 200)"),
    ("varchar(40)", "'é' || v"),
    ("char(8)", "'c' || v % 10"),
    ("boolean", "v % 2 = 0"),
    (
        "date",
        "(array['infinity', '0044-03-15 BC', '2024-02-29'])[1 + v % 3]::date",
    ),
    (
        "timestamp",
        "timestamp '2024-01-01' + v * interval '1 second'",
    ),
    (
        "timestamptz",
        "timestamptz '2024-01-01 12:00+05' - v * interval '1 day'",
    ),
    (
        "time",
        "(array['24:00', '00:00:00.000001'])[1 + v % 2]::time",
    ),
    ("interval", "v * interval '1 mon -3 days 04:05:06.7'"),
    ("jsonb", "jsonb_build_object('v', v, 'n', null)"),
    ("int[]", "array[(v % 99)::int, null, 3]"),
    ("text[]", "array[array['a,b', null], array['\"', v::text]]"),
    ("bytea", "decode(md5(v::text), 'hex')"),
    ("uuid", "md5(v::text)::uuid"),
    ("double precision", "sqrt(v)"),
    ("inet", "('10.0.0.' || v % 250)::inet"),
    ("int4range", "int4range((v % 5)::int, (v % 5 + 5)::int)"),
    ("bit varying(40)", "(v % 1000)::bit(10)::varbit"),
];

/// Types that a column may be changed to, with its own.
const RETYPED: [(&str, &str); 5] = [
    ("numeric(10,2)", "numeric(14,2)"),
    ("varchar(40)", "text"),
    ("int", "bigint"),
    ("smallint", "int"),
    ("numeric(14,2)", "numeric"),
];

struct Column {
    name: String,
    data_type: &'static str,
    values: &'static str,
}

struct Table {
    name: String,
    /// Whether `k`, a text, belongs to the key beside `id`.
    wide_key: bool,
    columns: Vec<Column>,
}

/// A history that goes on for as long as one likes.
pub struct History {
    random: StdRng,
    tables: Vec<Table>,
    /// Numbers names and rows.
    count: u64,
}

impl History {
    /// The history of a seed.
    pub fn new(seed: u64) -> Self {
        Self {
            random: StdRng::seed_from_u64(seed),
            tables: Vec::new(),
            count: 0,
        }
    }

    /// What comes before the history: some tables with rows.
    pub fn beginning(&mut self) -> Vec<String> {
        (0..3).map(|_| self.create()).collect()
    }

    /// Changes every table once, so that the log shows how each looks.
    pub fn end(&mut self) -> Vec<String> {
        (0..self.tables.len())
            .map(|table| self.insert(table, 1))
            .collect()
    }

    /// The names of the tables.
    pub fn tables(&self) -> impl Iterator<Item = &str> {
        self.tables.iter().map(|table| table.name.as_str())
    }

    /// The next transaction.
    pub fn transaction(&mut self) -> String {
        match self.random.random_range(0..40) {
            0 if self.tables.len() < 6 => return self.create(),
            1 if self.tables.len() > 2 => return self.drop_table(),
            2..=6 => return self.change_schema(),
            _ => {}
        }
        let mut statements = vec!["begin".to_owned()];
        for _ in 0..self.random.random_range(1..5) {
            if self.random.random_bool(0.2) {
                let (kept, undone) = (self.write(), self.write());
                let end = *["rollback to s", "release s"]
                    .choose(&mut self.random)
                    .expect("two");
                statements.extend([kept, "savepoint s".into(), undone, end.to_owned()]);
            } else {
                statements.push(self.write());
            }
        }
        let rolled_back = self.random.random_bool(0.1);
        statements.push(if rolled_back { "rollback" } else { "commit" }.to_owned());
        statements.join("; ")
    }

    fn number(&mut self) -> u64 {
        self.count += 1;
        self.count
    }

    fn new_column(&mut self) -> Column {
        let (data_type, values) = *TYPES.choose(&mut self.random).expect("there are types");
        Column {
            name: format!("c{}", self.number()),
            data_type,
            values,
        }
    }

    fn create(&mut self) -> String {
        let table = Table {
            name: format!("t{}", self.number()),
            wide_key: self.random.random_bool(0.3),
            columns: (0..self.random.random_range(1..8))
                .map(|_| self.new_column())
                .collect(),
        };
        let columns = table.columns.iter();
        let columns: Vec<_> = columns
            .map(|c| format!("{} {}", c.name, c.data_type))
            .collect();
        let key = if table.wide_key { "k, id" } else { "id" };
        let identity = ["default", "default", "full"]
            .choose(&mut self.random)
            .expect("three");
        let created = format!(
            "create table {name} (id bigint, k text not null, {columns}, primary key ({key}));
             alter table {name} replica identity {identity}",
            name = table.name,
            columns = columns.join(", "),
        );
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
    fn write(&mut self) -> String {
        let table = self.any_table();
        match self.random.random_range(0..20) {
            0 => format!("truncate {}", self.tables[table].name),
            1 => self.insert(table, 3000),
            2..=6 => self.insert(table, 20),
            7..=9 => self.delete(table),
            10..=12 => self.move_rows(table),
            _ => self.update(table),
        }
    }

    fn insert(&mut self, table: usize, rows: u64) -> String {
        let first = self.count + 1;
        self.count += rows;
        let Table { name, columns, .. } = &self.tables[table];
        let names: String = columns.iter().map(|c| format!(", {}", c.name)).collect();
        let values: String = columns
            .iter()
            .map(|c| format!(", case when v % 7 <> 0 then {} end", c.values))
            .collect();
        format!(
            "insert into {name} (id, k{names}) select v, 'k' || v % 10{values} \
             from generate_series({first}::bigint, {}) v",
            self.count
        )
    }

    /// A condition that some rows meet.
    fn some_rows(&mut self) -> String {
        let modulus = self.random.random_range(2..60);
        format!("id % {modulus} = {}", self.random.random_range(0..modulus))
    }

    fn delete(&mut self, table: usize) -> String {
        let condition = self.some_rows();
        format!("delete from {} where {condition}", self.tables[table].name)
    }

    fn update(&mut self, table: usize) -> String {
        let (condition, number) = (self.some_rows(), self.number());
        let Table { name, columns, .. } = &self.tables[table];
        let Some(column) = columns.choose(&mut self.random) else {
            return format!("select from {name}");
        };
        format!(
            "update {name} t set {} = s.x from (select id, {} as x \
             from (select id, id + {number} as v from {name}) r) s \
             where s.id = t.id and t.{condition}",
            column.name, column.values
        )
    }

    fn move_rows(&mut self, table: usize) -> String {
        let (condition, number) = (self.some_rows(), self.number());
        let Table { name, wide_key, .. } = &self.tables[table];
        if *wide_key && number.is_multiple_of(2) {
            format!("update {name} set k = k || '!' where {condition}")
        } else {
            format!("update {name} set id = id + {number} * 1000000 where {condition}")
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
                let to = RETYPED.iter().find(|(from, _)| *from == column.data_type);
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
        let texts = |seed| {
            let mut history = History::new(seed);
            let mut texts = history.beginning();
            texts.extend((0..200).map(|_| history.transaction()));
            texts
        };
        assert_eq!(texts(7), texts(7));
        assert_ne!(texts(7), texts(8));
    }
}
