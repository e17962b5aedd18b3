//! Tables as they are declared: for the primary, for its replica and for statements.

use oltp::{IndexId, IndexKind, Rejection, Stop, TableDefinition, TableNumber};
use types::schema::Column as StoredColumn;
use types::{TableName, TableSchema};

use crate::datum::Datum;
use crate::expression::Node;
use crate::expression::evaluate::{Context, RowAtHand};
use crate::expression::scope::{Columns, Scope, Slots};
use crate::fault::{Fault, code, listed};
use crate::sql_type::SqlType;
use crate::syntax::Name;
use crate::syntax::declaration::{CheckSyntax, IndexSyntax, OptionSyntax, TableSyntax};

/// The schema (namespace) of all tables.
const SCHEMA: &str = "public";

/// A table.
pub struct Table {
    pub(crate) number: TableNumber,
    pub(crate) names: Vec<String>,
    pub(crate) types: Vec<SqlType>,
    /// What a column has where nothing is said.
    pub(crate) defaults: Vec<Option<Node>>,
    pub(crate) checks: Vec<Check>,
    /// The names of its indexes, in their order.
    pub(crate) index_names: Vec<String>,
    /// As the replica describes it.
    pub schema: TableSchema,
    /// As the primary keeps it.
    pub definition: TableDefinition,
    /// Its declaration and those of its indexes, in canonical form.
    pub(crate) text: Vec<String>,
}

/// A condition that all rows fulfil.
pub(crate) struct Check {
    pub(crate) name: String,
    pub(crate) condition: Node,
    columns: Vec<usize>,
}

/// All tables, in the order of their numbers.
#[derive(Default)]
pub(crate) struct Tables(pub(crate) Vec<Table>);

impl Tables {
    /// The table of a name.
    pub(crate) fn find(&self, name: &Name) -> Result<&Table, Fault> {
        let place = self.place(&name.text);
        place.map(|place| &self.0[place]).ok_or_else(|| {
            let names = self.0.iter().map(|table| table.name());
            let message = format!("relation \"{}\" does not exist", name.text);
            Fault::new(code::UNDEFINED_TABLE, message)
                .with_hint(format!("Tables: {}", listed(names)))
                .at(name.location)
        })
    }

    /// Where the table of a name is.
    pub(crate) fn place(&self, name: &str) -> Option<usize> {
        self.0.iter().position(|table| table.name() == name)
    }

    fn has_index(&self, name: &str) -> bool {
        let mut names = self.0.iter().flat_map(|table| &table.index_names);
        names.any(|known| known == name)
    }

    /// Adds a table.
    pub(crate) fn add(&mut self, syntax: &TableSyntax, text: String) -> Result<(), Fault> {
        let name = &syntax.name;
        if self.place(&name.text).is_some() || self.has_index(&name.text) {
            let message = format!("relation \"{}\" already exists", name.text);
            return Err(Fault::new(code::DUPLICATE_TABLE, message).at(name.location));
        }
        let number = u16::try_from(self.0.len()).map_err(|_| {
            Fault::new(code::PROGRAM_LIMIT_EXCEEDED, "there are too many tables").at(name.location)
        })?;
        let mut table = declare(syntax, TableNumber(number))?;
        table.text.push(text);
        self.0.push(table);
        for unique in &syntax.uniques {
            let index = IndexSyntax {
                name: unique.name.clone(),
                table: name.clone(),
                is_unique: true,
                is_hash: false,
                columns: unique.columns.clone(),
            };
            self.add_index(&index, "key")?;
        }
        Ok(())
    }

    /// Adds an index of a table; `ending` ends its name if it has none.
    pub(crate) fn add_index(&mut self, syntax: &IndexSyntax, ending: &str) -> Result<(), Fault> {
        let table = self.find(&syntax.table)?;
        let columns = table.places(&syntax.columns)?;
        let nullable = columns
            .iter()
            .find(|column| table.definition.columns[**column].is_nullable);
        if let Some(&column) = nullable.filter(|_| syntax.is_unique) {
            let message = format!(
                "column \"{}\" of a unique index may be NULL",
                table.names[column]
            );
            return Err(Fault::new(code::FEATURE_NOT_SUPPORTED, message)
                .with_hint("Declare the column NOT NULL, or the index without UNIQUE")
                .at(syntax.columns[0].location));
        }
        let name = match &syntax.name {
            Some(name) if self.has_index(&name.text) || self.place(&name.text).is_some() => {
                let message = format!("relation \"{}\" already exists", name.text);
                return Err(Fault::new(code::DUPLICATE_TABLE, message).at(name.location));
            }
            Some(name) => name.text.clone(),
            None => {
                let columns: Vec<&str> = syntax.columns.iter().map(|c| c.text.as_str()).collect();
                let base = format!("{}_{}_{ending}", table.name(), columns.join("_"));
                numbered(base, |name| self.has_index(name))
            }
        };
        let kind = match syntax.is_hash {
            true => IndexKind::Hash,
            false => IndexKind::Ordered,
        };
        let place = usize::from(table.number.0);
        let table = &mut self.0[place];
        let definition = table.definition.clone();
        table.definition = definition.index(kind, syntax.is_unique, &columns);
        table.index_names.push(name);
        table
            .check_definition()
            .map_err(|fault| fault.at(syntax.table.location))
    }
}

impl Table {
    /// Its name.
    pub fn name(&self) -> &str {
        &self.definition.name
    }

    /// The names of its columns, for expressions.
    pub(crate) fn columns(&self) -> Columns<'_> {
        Columns {
            table: self.name(),
            names: &self.names,
            types: &self.types,
        }
    }

    /// Where a column is.
    pub(crate) fn place(&self, name: &Name) -> Result<usize, Fault> {
        let place = self.names.iter().position(|known| *known == name.text);
        place.ok_or_else(|| {
            let message = format!(
                "column \"{}\" of relation \"{}\" does not exist",
                name.text,
                self.name()
            );
            let names = listed(self.names.iter().map(String::as_str));
            Fault::new(code::UNDEFINED_COLUMN, message)
                .with_hint(format!("Columns: {names}"))
                .at(name.location)
        })
    }

    /// Where columns are, none of them twice.
    pub(crate) fn places(&self, names: &[Name]) -> Result<Vec<usize>, Fault> {
        let mut places = Vec::new();
        for name in names {
            let place = self.place(name)?;
            if places.contains(&place) {
                let message = format!("column \"{}\" is named twice", name.text);
                return Err(Fault::new(code::DUPLICATE_COLUMN, message).at(name.location));
            }
            places.push(place);
        }
        Ok(places)
    }

    /// One of its indexes.
    pub(crate) fn index(&self, index: usize) -> IndexId {
        IndexId::new(self.number.0, index as u16)
    }

    /// Refuses NULL where it may not be.
    pub(crate) fn check_null(&self, column: usize, datum: &Datum<'_>) -> Result<(), Rejection> {
        if !datum.is_null() || self.definition.columns[column].is_nullable {
            return Ok(());
        }
        let message = format!(
            "null value in column \"{}\" of relation \"{}\" violates not-null constraint",
            self.names[column],
            self.name()
        );
        Err(Rejection::new(code::NOT_NULL_VIOLATION, message))
    }

    /// The conditions that may no longer be fulfilled when these columns change.
    pub(crate) fn checks_of(&self, changed: &[usize]) -> Vec<usize> {
        let concerns = |check: &Check| check.columns.iter().any(|c| changed.contains(c));
        let numbered = self.checks.iter().enumerate();
        numbered
            .filter(|(_, check)| concerns(check))
            .map(|(number, _)| number)
            .collect()
    }

    /// Refuses a row that does not fulfil some conditions.
    pub(crate) fn check_row(
        &self,
        checks: impl IntoIterator<Item = usize>,
        context: &Context<'_>,
        row: &[Datum<'_>],
    ) -> Result<(), Stop> {
        for check in checks {
            let check = &self.checks[check];
            let context = Context {
                row: RowAtHand::New(row),
                ..*context
            };
            if check.condition.is_false(&context)? {
                let message = format!(
                    "new row for relation \"{}\" violates check constraint \"{}\"",
                    self.name(),
                    check.name
                );
                return Err(Rejection::new(code::CHECK_VIOLATION, message).into());
            }
        }
        Ok(())
    }

    fn check_definition(&self) -> Result<(), Fault> {
        let checked = self.definition.check();
        checked.map_err(|error| Fault::new(code::INVALID_TABLE_DEFINITION, error.to_string()))
    }
}

fn declare(syntax: &TableSyntax, number: TableNumber) -> Result<Table, Fault> {
    let name = &syntax.name;
    let names: Vec<String> = syntax.columns.iter().map(|c| c.name.text.clone()).collect();
    for (place, column) in syntax.columns.iter().enumerate() {
        if names[..place].contains(&column.name.text) {
            let message = format!("column \"{}\" is there twice", column.name.text);
            return Err(Fault::new(code::DUPLICATE_COLUMN, message).at(column.name.location));
        }
    }
    let Some(key) = &syntax.primary_key else {
        let message = format!("table \"{}\" has no primary key", name.text);
        return Err(Fault::new(code::INVALID_TABLE_DEFINITION, message)
            .with_hint("Add PRIMARY KEY (columns)")
            .at(name.location));
    };
    let mut table = Table {
        number,
        types: syntax
            .columns
            .iter()
            .map(|column| column.sql_type)
            .collect(),
        defaults: Vec::new(),
        checks: Vec::new(),
        index_names: vec![format!("{}_pkey", name.text)],
        schema: schema(syntax),
        definition: TableDefinition::new(&name.text, Vec::new()),
        text: Vec::new(),
        names,
    };
    let key = table.places(key)?;
    for (column, stored) in table.schema.columns.iter_mut().enumerate() {
        stored.nullable &= !key.contains(&column);
        let defined = oltp::ColumnDefinition::new(&stored.name, stored.column_type);
        table.definition.columns.push(match stored.nullable {
            true => defined.nullable(),
            false => defined,
        });
    }
    let kind = apply_options(&mut table, &syntax.options)?;
    table.definition = table.definition.clone().index(kind, true, &key);
    table.schema.key = key;
    table
        .check_definition()
        .map_err(|fault| fault.at(name.location))?;
    table.defaults = defaults(syntax)?;
    for check in &syntax.checks {
        add_check(&mut table, check)?;
    }
    Ok(table)
}

fn schema(syntax: &TableSyntax) -> TableSchema {
    let columns = (1..)
        .zip(&syntax.columns)
        .map(|(number, column)| StoredColumn {
            name: column.name.text.clone(),
            column_type: column
                .sql_type
                .column_type()
                .expect("the grammar asks for digits"),
            nullable: !column.is_not_null,
            hidden: false,
            source_number: number,
            source_type: column.sql_type.source_type(),
        });
    TableSchema {
        name: TableName {
            schema: SCHEMA.to_owned(),
            name: syntax.name.text.clone(),
        },
        columns: columns.collect(),
        key: Vec::new(),
    }
}

/// Carries out what WITH says; gives the kind of the primary index.
fn apply_options(table: &mut Table, options: &[OptionSyntax]) -> Result<IndexKind, Fault> {
    let mut kind = IndexKind::Ordered;
    for option in options {
        match (option.name.text.as_str(), option.value.text.as_str()) {
            ("primary_index", "hash") => kind = IndexKind::Hash,
            ("primary_index", "btree") => kind = IndexKind::Ordered,
            ("evictable", "true") => table.definition.is_evictable = true,
            ("evictable", "false") => table.definition.is_evictable = false,
            (name, value) => {
                let message = format!("option {name} = {value} is not known");
                return Err(Fault::new(code::INVALID_TABLE_DEFINITION, message)
                    .with_hint(
                        "Options are primary_index = btree or hash and evictable = true or false",
                    )
                    .at(option.name.location));
            }
        }
    }
    Ok(kind)
}

fn defaults(syntax: &TableSyntax) -> Result<Vec<Option<Node>>, Fault> {
    let default = |column: &crate::syntax::declaration::ColumnSyntax| {
        let Some(default) = &column.default else {
            return Ok(None);
        };
        let mut slots = Slots::default();
        let mut scope = Scope {
            slots: &mut slots,
            columns: None,
            has_time: true,
            depth: 0,
        };
        let to = format!("column \"{}\"", column.name.text);
        scope.assigned(default, column.sql_type, &to).map(Some)
    };
    syntax.columns.iter().map(default).collect()
}

fn add_check(table: &mut Table, syntax: &CheckSyntax) -> Result<(), Fault> {
    let mut slots = Slots::default();
    let mut scope = Scope {
        slots: &mut slots,
        columns: Some(table.columns()),
        has_time: false,
        depth: 0,
    };
    let condition = scope.condition(&syntax.condition)?;
    let columns = condition.columns();
    let is_taken = |name: &str| table.checks.iter().any(|check| check.name == name);
    let name = match &syntax.name {
        Some(name) if is_taken(&name.text) => {
            let message = format!("constraint \"{}\" is there twice", name.text);
            return Err(Fault::new(code::DUPLICATE_OBJECT, message).at(syntax.location));
        }
        Some(name) => name.text.clone(),
        None => {
            let base = match columns.as_slice() {
                [column] => format!("{}_{}_check", table.name(), table.names[*column]),
                _ => format!("{}_check", table.name()),
            };
            numbered(base, is_taken)
        }
    };
    table.checks.push(Check {
        name,
        condition,
        columns,
    });
    Ok(())
}

/// The name, with the first number behind it that makes it a new one.
fn numbered(base: String, is_taken: impl Fn(&str) -> bool) -> String {
    let numbered = (1..).map(|number| format!("{base}{number}"));
    let mut names = std::iter::once(base.clone()).chain(numbered);
    names
        .find(|name| !is_taken(name))
        .expect("one of endless names is new")
}
