//! Steps from their syntax.

use sqlparser::ast::{Expr, Spanned};
use sqlparser::tokenizer::Location;

use super::Step;
use super::delete::Delete;
use super::insert::Insert;
use super::select::{From, Select};
use super::update::Update;
use crate::access::Access;
use crate::datum::Datum;
use crate::expression::Node;
use crate::expression::scope::{Columns, Scope, Slots};
use crate::fault::{Fault, code};
use crate::reply::ReplyColumn;
use crate::sql_type::SqlType;
use crate::syntax::Name;
use crate::syntax::statement::{
    DeleteSyntax, FromSyntax, IfSyntax, InsertSyntax, ItemSyntax, RowSyntax, SelectSyntax,
    SetSyntax, SignalSyntax, StatementSyntax, UpdateSyntax,
};
use crate::table::{Table, Tables};

/// Compiles the steps of one procedure or statement.
pub(crate) struct Compiler<'t> {
    pub(crate) tables: &'t Tables,
    pub(crate) slots: Slots,
    /// The columns of what it answers, once a SELECT has told them.
    pub(crate) answers: Option<Vec<ReplyColumn>>,
}

impl<'t> Compiler<'t> {
    /// With these parameters and variables.
    pub(crate) fn new(tables: &'t Tables, slots: Slots) -> Self {
        Self {
            tables,
            slots,
            answers: None,
        }
    }

    fn scope<'s>(&'s mut self, columns: Option<Columns<'s>>) -> Scope<'s> {
        Scope {
            slots: &mut self.slots,
            columns,
            has_time: true,
            depth: 0,
        }
    }

    /// Statements, in their order.
    pub(crate) fn steps(&mut self, all: &[StatementSyntax]) -> Result<Vec<Step>, Fault> {
        all.iter().map(|one| self.step(one)).collect()
    }

    /// One statement.
    pub(crate) fn step(&mut self, syntax: &StatementSyntax) -> Result<Step, Fault> {
        match syntax {
            StatementSyntax::Insert(insert) => self.insert(insert).map(Step::Insert),
            StatementSyntax::Update(update) => self.update(update).map(Step::Update),
            StatementSyntax::Delete(delete) => self.delete(delete).map(Step::Delete),
            StatementSyntax::Select(select) => self.select(select).map(Step::Select),
            StatementSyntax::Set(set) => self.set(set),
            StatementSyntax::If(branches) => self.branches(branches),
            StatementSyntax::Signal(signal) => self.signal(signal),
        }
    }

    fn insert(&mut self, syntax: &InsertSyntax) -> Result<Insert, Fault> {
        let tables = self.tables;
        let table = tables.find(&syntax.table)?;
        let columns = match &syntax.columns {
            Some(columns) => table.places(columns)?,
            None => (0..table.names.len()).collect(),
        };
        let rows = syntax.rows.iter();
        Ok(Insert {
            table: usize::from(table.number.0),
            rows: rows
                .map(|row| self.row(table, &columns, syntax.columns.is_some(), row))
                .collect::<Result<_, _>>()?,
        })
    }

    /// A value for each column of the table.
    fn row(
        &mut self,
        table: &Table,
        columns: &[usize],
        are_named: bool,
        syntax: &RowSyntax,
    ) -> Result<Vec<Node>, Fault> {
        let (found, expected) = (syntax.values.len(), columns.len());
        if found > expected || (are_named && found < expected) {
            let message = format!(
                "INSERT has {found} values for {expected} columns of table \"{}\"",
                table.name()
            );
            return Err(Fault::new(code::SYNTAX_ERROR, message).at(syntax.location));
        }
        let default = |column: &Option<Node>| column.clone().unwrap_or(Node::Constant(Datum::Null));
        let mut row: Vec<Node> = table.defaults.iter().map(default).collect();
        for (&column, value) in columns.iter().zip(&syntax.values) {
            if let Some(value) = value {
                row[column] = self.assigned(table, column, None, value)?;
            }
        }
        Ok(row)
    }

    fn assigned<'s>(
        &'s mut self,
        table: &'s Table,
        column: usize,
        columns: Option<Columns<'s>>,
        value: &Expr,
    ) -> Result<Node, Fault> {
        let to = format!("column \"{}\"", table.names[column]);
        self.scope(columns)
            .assigned(value, table.types[column], &to)
    }

    fn update(&mut self, syntax: &UpdateSyntax) -> Result<Update, Fault> {
        let tables = self.tables;
        let table = tables.find(&syntax.table)?;
        let names: Vec<Name> = syntax
            .changes
            .iter()
            .map(|(name, _)| name.clone())
            .collect();
        let columns = table.places(&names)?;
        let mut changes = Vec::new();
        for (&column, (_, value)) in columns.iter().zip(&syntax.changes) {
            let node = self.assigned(table, column, Some(table.columns()), value)?;
            changes.push((column, node));
        }
        Ok(Update {
            table: usize::from(table.number.0),
            access: self.access(table, &syntax.condition)?,
            changes,
            checks: table.checks_of(&columns),
        })
    }

    fn delete(&mut self, syntax: &DeleteSyntax) -> Result<Delete, Fault> {
        let tables = self.tables;
        let table = tables.find(&syntax.table)?;
        Ok(Delete {
            table: usize::from(table.number.0),
            access: self.access(table, &syntax.condition)?,
        })
    }

    fn access(&mut self, table: &Table, condition: &Expr) -> Result<Access, Fault> {
        let node = self.scope(Some(table.columns())).condition(condition)?;
        Access::new(table, Some(node)).map_err(|fault| fault.at(condition.span().start))
    }

    fn select(&mut self, syntax: &SelectSyntax) -> Result<Select, Fault> {
        let tables = self.tables;
        let table = match &syntax.from {
            Some(from) => Some(tables.find(&from.table)?),
            None => None,
        };
        let (items, columns) = self.items(&syntax.items, table)?;
        let from = match (&syntax.from, table) {
            (Some(from), Some(table)) => Some(self.from(from, table)?),
            _ => None,
        };
        let Some(into) = &syntax.into else {
            if self.answers.replace(columns).is_some() {
                return Err(second_answer(syntax.location));
            }
            return Ok(Select {
                items,
                into: None,
                from,
            });
        };
        let (items, into) = self.variables_of(items, &columns, into, syntax.location)?;
        Ok(Select {
            items,
            into: Some(into),
            from,
        })
    }

    fn items(
        &mut self,
        syntax: &[ItemSyntax],
        table: Option<&Table>,
    ) -> Result<(Vec<Node>, Vec<ReplyColumn>), Fault> {
        let (mut items, mut columns) = (Vec::new(), Vec::new());
        for item in syntax {
            match item {
                ItemSyntax::All(location) => {
                    let table = table.ok_or_else(|| {
                        let message = "SELECT * with no tables specified is not valid";
                        Fault::new(code::SYNTAX_ERROR, message).at(*location)
                    })?;
                    for column in 0..table.names.len() {
                        items.push(Node::Column(column));
                        columns.push(ReplyColumn::of_column(table, column));
                    }
                }
                ItemSyntax::Expression(expression, name) => {
                    let of_table = table.map(Table::columns);
                    let compiled = self.scope(of_table).expression(expression)?;
                    let mut column = match (&compiled.node, table) {
                        (Node::Column(column), Some(table)) => {
                            ReplyColumn::of_column(table, *column)
                        }
                        _ => ReplyColumn {
                            name: shown_name(expression),
                            sql_type: compiled.sql_type,
                        },
                    };
                    if let Some(name) = name {
                        column.name.clone_from(&name.text);
                    }
                    items.push(compiled.node);
                    columns.push(column);
                }
            }
        }
        Ok((items, columns))
    }

    fn from(&mut self, syntax: &FromSyntax, table: &Table) -> Result<From, Fault> {
        let condition = match &syntax.condition {
            Some(condition) => Some(self.scope(Some(table.columns())).condition(condition)?),
            None => None,
        };
        let place = match &syntax.condition {
            Some(condition) => condition.span().start,
            None => syntax.location,
        };
        let access = Access::new(table, condition).map_err(|fault| fault.at(place))?;
        let mut order_by = Vec::new();
        for order in &syntax.order_by {
            order_by.push((table.place(&order.column)?, order.is_descending));
        }
        let direction = match order_by.is_empty() {
            true => access.is_in_order().then_some(false),
            false => access.direction(&order_by, &access.equal_columns()),
        };
        if order_by.is_empty() && direction.is_none() {
            let key = table.definition.indexes[0].columns.iter();
            order_by = key.map(|column| (*column, false)).collect();
        }
        let limit = match &syntax.limit {
            Some(limit) => Some(self.scope(None).assigned(limit, SqlType::BigInt, "LIMIT")?),
            None => None,
        };
        Ok(From {
            table: usize::from(table.number.0),
            access,
            order_by,
            direction,
            limit,
        })
    }

    fn variables_of(
        &self,
        items: Vec<Node>,
        columns: &[ReplyColumn],
        into: &[Name],
        location: Location,
    ) -> Result<(Vec<Node>, Vec<usize>), Fault> {
        if items.len() != into.len() {
            let message = format!(
                "SELECT has {} values INTO {} variables",
                items.len(),
                into.len()
            );
            return Err(Fault::new(code::SYNTAX_ERROR, message).at(location));
        }
        let mut nodes = Vec::new();
        let mut slots = Vec::new();
        for ((item, column), name) in items.into_iter().zip(columns).zip(into) {
            let (slot, wanted) = self.variable(name)?;
            let found = column.sql_type.unbounded();
            if !crate::cast::is_assignable(found, wanted) {
                let message = format!(
                    "variable \"{}\" is of type {} but expression is of type {}",
                    name.text,
                    wanted.name(),
                    found.name()
                );
                return Err(Fault::new(code::DATATYPE_MISMATCH, message).at(name.location));
            }
            nodes.push(match found == wanted {
                true => item,
                false => Node::Cast(found, wanted, Box::new(item)),
            });
            slots.push(slot);
        }
        Ok((nodes, slots))
    }

    /// A variable, not a parameter.
    fn variable(&self, name: &Name) -> Result<(usize, SqlType), Fault> {
        let slot = self.slots.find(&name.text);
        let variable = slot.filter(|slot| *slot >= self.slots.parameters());
        let variable = variable.and_then(|slot| Some((slot, self.slots.sql_type(slot)?)));
        variable.ok_or_else(|| {
            let message = format!("\"{}\" is not a known variable", name.text);
            let hint = match slot {
                Some(_) => "It is a parameter, and parameters do not change",
                None => "Declare it at the beginning: DECLARE name type;",
            };
            Fault::new(code::SYNTAX_ERROR, message)
                .with_hint(hint)
                .at(name.location)
        })
    }

    fn set(&mut self, syntax: &SetSyntax) -> Result<Step, Fault> {
        let (slot, wanted) = self.variable(&syntax.variable)?;
        let to = format!("variable \"{}\"", syntax.variable.text);
        let value = self.scope(None).assigned(&syntax.value, wanted, &to)?;
        Ok(Step::Set(slot, value))
    }

    fn branches(&mut self, syntax: &IfSyntax) -> Result<Step, Fault> {
        let mut arms = Vec::new();
        for (condition, steps) in &syntax.arms {
            let condition = self.scope(None).condition(condition)?;
            arms.push((condition, self.steps(steps)?));
        }
        Ok(Step::If(arms, self.steps(&syntax.otherwise)?))
    }

    fn signal(&mut self, syntax: &SignalSyntax) -> Result<Step, Fault> {
        let is_code = syntax.code.len() == 5
            && !syntax.code.starts_with("00")
            && syntax
                .code
                .bytes()
                .all(|byte| byte.is_ascii_digit() || byte.is_ascii_uppercase());
        if !is_code {
            let message = format!("\"{}\" is not an SQLSTATE of an error", syntax.code);
            return Err(Fault::new(code::SYNTAX_ERROR, message)
                .with_hint("It has five digits or capital letters, such as '45000'")
                .at(syntax.location));
        }
        // Once a declaration: a process has as many as its schema file.
        let code: &'static str = Box::leak(syntax.code.clone().into_boxed_str());
        let message = match &syntax.message {
            Some(message) => {
                let mut scope = self.scope(None);
                Some(scope.assigned(message, SqlType::Text, "MESSAGE_TEXT")?)
            }
            None => None,
        };
        Ok(Step::Signal(code, message))
    }
}

fn second_answer(location: Location) -> Fault {
    let message = "a procedure answers with one SELECT, and this is the second one";
    Fault::new(code::FEATURE_NOT_SUPPORTED, message)
        .with_hint("SELECT … INTO variables answers nothing")
        .at(location)
}

/// The name that PostgreSQL gives a column of a result.
fn shown_name(expression: &Expr) -> String {
    match expression {
        Expr::Identifier(name) => name.value.to_lowercase(),
        Expr::CompoundIdentifier(parts) => parts
            .last()
            .map_or_else(String::new, |name| name.value.to_lowercase()),
        Expr::Function(function) => function.name.to_string().to_lowercase(),
        Expr::Case { .. } => "case".to_owned(),
        Expr::Cast { expr, .. } if !matches!(**expr, Expr::Value(_)) => shown_name(expr),
        Expr::Nested(inner) => shown_name(inner),
        _ => "?column?".to_owned(),
    }
}
