//! What names mean where an expression stands.

use sqlparser::ast::Ident;

use crate::fault::{Fault, code, listed};
use crate::sql_type::SqlType;

/// Parameters and variables, by their places.
#[derive(Clone, Debug, Default)]
pub(crate) struct Slots {
    /// The procedure's name, with which a parameter may be told from a column.
    owner: String,
    names: Vec<String>,
    /// `None` until it is known.
    types: Vec<Option<SqlType>>,
    parameters: usize,
    /// Whether there are as many parameters as are named.
    is_open: bool,
}

impl Slots {
    /// Of a procedure, without any yet.
    pub(crate) fn of_procedure(name: &str) -> Self {
        Self {
            owner: name.to_owned(),
            ..Self::default()
        }
    }

    /// Of a statement whose parameters are `$1`, `$2`, …; the types of some are known.
    pub(crate) fn of_statement(declared: &[Option<SqlType>]) -> Self {
        Self {
            types: declared.to_vec(),
            names: vec![String::new(); declared.len()],
            parameters: declared.len(),
            is_open: true,
            ..Self::default()
        }
    }

    /// Adds a parameter or, behind all parameters, a variable; `false` if there is one of this name.
    pub(crate) fn add(&mut self, name: &str, sql_type: SqlType, is_parameter: bool) -> bool {
        if self.find(name).is_some() {
            return false;
        }
        self.names.push(name.to_owned());
        self.types.push(Some(sql_type));
        self.parameters += usize::from(is_parameter);
        true
    }

    /// The place of a name.
    pub(crate) fn find(&self, name: &str) -> Option<usize> {
        self.names.iter().position(|known| known == name)
    }

    /// How many of them are parameters: the first ones.
    pub(crate) fn parameters(&self) -> usize {
        self.parameters
    }

    /// A slot's type, if it is known.
    pub(crate) fn sql_type(&self, slot: usize) -> Option<SqlType> {
        self.types[slot]
    }

    /// Settles the type of a parameter.
    pub(crate) fn settle(&mut self, slot: usize, sql_type: SqlType) {
        self.types[slot] = Some(sql_type.unbounded());
    }

    /// The place of `$n`.
    pub(crate) fn placeholder(&mut self, text: &str) -> Result<usize, Fault> {
        let number: Option<usize> = text.strip_prefix('$').and_then(|n| n.parse().ok());
        let unknown = || {
            Fault::new(
                code::UNDEFINED_PARAMETER,
                format!("there is no parameter {text}"),
            )
        };
        let slot = number.and_then(|n| n.checked_sub(1)).ok_or_else(unknown)?;
        if self.is_open && slot < usize::from(u16::MAX) {
            while self.types.len() <= slot {
                self.types.push(None);
                self.names.push(String::new());
                self.parameters += 1;
            }
        }
        if slot < self.parameters {
            Ok(slot)
        } else {
            Err(unknown())
        }
    }

    /// The types of all parameters of a statement.
    pub(crate) fn parameter_types(&self) -> Result<Vec<SqlType>, Fault> {
        let types = self.types[..self.parameters].iter();
        types
            .enumerate()
            .map(|(slot, sql_type)| {
                sql_type.ok_or_else(|| {
                    let message =
                        format!("could not determine data type of parameter ${}", slot + 1);
                    Fault::new(code::INDETERMINATE_DATATYPE, message)
                        .with_hint(format!("Write ${}::integer, or whatever it is", slot + 1))
                })
            })
            .collect()
    }
}

/// The columns of the row at hand.
#[derive(Clone, Copy)]
pub(crate) struct Columns<'t> {
    pub(crate) table: &'t str,
    pub(crate) names: &'t [String],
    pub(crate) types: &'t [SqlType],
}

/// What names mean.
pub(crate) struct Scope<'s> {
    pub(crate) slots: &'s mut Slots,
    pub(crate) columns: Option<Columns<'s>>,
    /// Whether the time may be asked for, as it may be inside a transaction.
    pub(crate) has_time: bool,
    /// How deep in an expression it is.
    pub(crate) depth: usize,
}

/// What a name stands for.
pub(crate) enum Meaning {
    Slot(usize),
    Column(usize, SqlType),
}

impl Scope<'_> {
    fn column(&self, name: &str) -> Option<(usize, SqlType)> {
        let columns = self.columns?;
        let place = columns.names.iter().position(|known| known == name)?;
        Some((place, columns.types[place]))
    }

    /// What a name of one or two parts stands for.
    pub(crate) fn meaning(&self, parts: &[Ident]) -> Result<Meaning, Fault> {
        let folded = |ident: &Ident| match ident.quote_style {
            None => ident.value.to_lowercase(),
            Some(_) => ident.value.clone(),
        };
        let parts: Vec<String> = parts.iter().map(folded).collect();
        match parts.as_slice() {
            [name] => self.plain(name),
            [owner, name] => self.qualified(owner, name),
            _ => {
                let message = format!("{} is not a name of a column", parts.join("."));
                Err(Fault::new(code::UNDEFINED_COLUMN, message))
            }
        }
    }

    fn plain(&self, name: &str) -> Result<Meaning, Fault> {
        match (self.column(name), self.slots.find(name)) {
            (Some((column, sql_type)), None) => Ok(Meaning::Column(column, sql_type)),
            (None, Some(slot)) => Ok(Meaning::Slot(slot)),
            (Some(_), Some(_)) => {
                let table = self.columns.map_or("", |columns| columns.table);
                let owner = &self.slots.owner;
                let message = format!("column reference \"{name}\" is ambiguous");
                Err(Fault::new(code::AMBIGUOUS_COLUMN, message).with_hint(format!(
                    "Write {table}.{name} for the column, {owner}.{name} for the parameter or variable"
                )))
            }
            (None, None) => Err(self.unknown(name)),
        }
    }

    fn qualified(&self, owner: &str, name: &str) -> Result<Meaning, Fault> {
        if self.columns.is_some_and(|columns| columns.table == owner) {
            if let Some((column, sql_type)) = self.column(name) {
                return Ok(Meaning::Column(column, sql_type));
            }
        } else if self.slots.owner == owner {
            if let Some(slot) = self.slots.find(name) {
                return Ok(Meaning::Slot(slot));
            }
        } else {
            let message = format!("missing FROM-clause entry for table \"{owner}\"");
            return Err(Fault::new(code::UNDEFINED_TABLE, message));
        }
        Err(self.unknown(name))
    }

    fn unknown(&self, name: &str) -> Fault {
        let known = self.slots.names.iter().filter(|name| !name.is_empty());
        let slots = listed(known.map(String::as_str));
        let hint = match self.columns {
            Some(columns) => {
                let names = listed(columns.names.iter().map(String::as_str));
                format!(
                    "Columns of {}: {names}. Parameters and variables: {slots}",
                    columns.table
                )
            }
            None => format!("Parameters and variables: {slots}"),
        };
        Fault::new(
            code::UNDEFINED_COLUMN,
            format!("column \"{name}\" does not exist"),
        )
        .with_hint(hint)
    }
}
