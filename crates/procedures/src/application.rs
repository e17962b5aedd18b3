//! Everything that a schema declares, ready to run.

use std::sync::Arc;

use oltp::{Procedure, ProcedureNumber};

use crate::fault::{Fault, code};
use crate::procedure::SqlProcedure;
use crate::statement::Statements;
use crate::stored::StoredSchema;
use crate::syntax::{Declaration, declarations};
use crate::table::{Table, Tables};

/// Tables, procedures and what runs statements on their own.
pub struct Application {
    tables: Arc<Tables>,
    pub(crate) statements: Arc<Statements>,
    pub(crate) deletions: Arc<Statements>,
    /// All versions, with whether they can be called.
    procedures: Vec<(Arc<SqlProcedure>, bool)>,
}

impl Application {
    /// The procedure that runs statements.
    pub(crate) const STATEMENTS: ProcedureNumber = ProcedureNumber(0);
    /// The one that runs DELETE.
    pub(crate) const DELETIONS: ProcedureNumber = ProcedureNumber(1);
    /// Behind these two.
    const FIRST_DECLARED: usize = 2;

    /// Of a schema file alone, with every fault at its place in it.
    pub fn of_file(text: &str) -> Result<Self, Fault> {
        let mut tables = Tables::default();
        let mut all = Vec::new();
        for declared in declarations(text)? {
            match declared.declaration {
                Declaration::Table(table) => tables.add(&table, declared.text)?,
                Declaration::Index(index) => tables.add_index(&index, "idx")?,
                Declaration::Procedure(procedure) => all.push((procedure, 1, true)),
            }
        }
        let mut application = Self::new(tables);
        for (syntax, version, is_current) in all {
            if application.procedure(&syntax.name.text).is_some() {
                let message = format!("procedure \"{}\" is there twice", syntax.name.text);
                return Err(Fault::new(code::DUPLICATE_FUNCTION, message)
                    .with_hint("Procedures are told apart by their names alone")
                    .at(syntax.name.location));
            }
            let compiled = SqlProcedure::compile(&syntax, version, &application.tables)?;
            application
                .procedures
                .push((Arc::new(compiled), is_current));
        }
        Ok(application)
    }

    /// Of the schema of a data folder.
    pub fn of_stored(schema: &StoredSchema) -> Result<Self, Fault> {
        let mut tables = Tables::default();
        for text in schema.tables.iter().flat_map(|table| &table.texts) {
            for declared in declarations(text)? {
                match declared.declaration {
                    Declaration::Table(table) => tables.add(&table, declared.text)?,
                    Declaration::Index(index) => tables.add_index(&index, "idx")?,
                    Declaration::Procedure(_) => unreachable!("it is stored as a table"),
                }
            }
        }
        let mut application = Self::new(tables);
        for stored in &schema.procedures {
            for declared in declarations(&stored.text)? {
                let Declaration::Procedure(syntax) = declared.declaration else {
                    unreachable!("it is stored as a procedure");
                };
                let compiled = SqlProcedure::compile(&syntax, stored.version, &application.tables)?;
                let compiled = Arc::new(compiled);
                application.procedures.push((compiled, stored.is_current));
            }
        }
        Ok(application)
    }

    fn new(tables: Tables) -> Self {
        let tables = Arc::new(tables);
        Self {
            statements: Arc::new(Statements::new(&tables, true)),
            deletions: Arc::new(Statements::new(&tables, false)),
            tables,
            procedures: Vec::new(),
        }
    }

    /// The tables, in the order of their numbers.
    pub fn tables(&self) -> &[Table] {
        &self.tables.0
    }

    /// All procedures for the primary, in the order of their numbers.
    pub fn procedures(&self) -> Vec<Arc<dyn Procedure>> {
        let mut all: Vec<Arc<dyn Procedure>> =
            vec![self.statements.clone(), self.deletions.clone()];
        for (procedure, _) in &self.procedures {
            all.push(procedure.clone());
        }
        all
    }

    /// The procedures that can be called.
    pub fn current(&self) -> impl Iterator<Item = &Arc<SqlProcedure>> {
        let current = self.procedures.iter().filter(|(_, is_current)| *is_current);
        current.map(|(procedure, _)| procedure)
    }

    /// The procedure of a name that can be called, and its number.
    pub(crate) fn procedure(&self, name: &str) -> Option<(&Arc<SqlProcedure>, ProcedureNumber)> {
        let is_it = |(procedure, is_current): &(Arc<SqlProcedure>, bool)| {
            *is_current && procedure.name == name
        };
        let place = self.procedures.iter().position(is_it)?;
        let number = u16::try_from(place + Self::FIRST_DECLARED).ok()?;
        Some((&self.procedures[place].0, ProcedureNumber(number)))
    }
}
