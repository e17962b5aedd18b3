//! INSERT, UPDATE and DELETE on their own: one statement, one transaction.
//!
//! They all are calls of one procedure, or of another one if they only make tables smaller: that runs even when memory
//! is full. Its parameters are the statement's text, the types of its parameters
//! and their values. So the command log has what it takes to run them again. What has been compiled is kept:
//! clients send the same texts over and over.

use std::collections::HashMap;
use std::sync::Arc;

use oltp::{DeclaredKeys, Stop, Transaction};
use parking_lot::Mutex;

use crate::datum::Datum;
use crate::encoding::{Reader, put, put_bytes};
use crate::expression::evaluate::{Context, RowAtHand};
use crate::expression::scope::Slots;
use crate::fault::Fault;
use crate::procedure::{GENERATION, malformed, read_values};
use crate::reply::Reply;
use crate::sql_type::SqlType;
use crate::step::{Compiler, Frame, Step};
use crate::syntax::cursor::Cursor;
use crate::syntax::statement::change;
use crate::table::Tables;

/// Statements that are kept compiled. With more of them all are forgotten: clients that put values into their
/// texts would otherwise fill the memory.
const KEPT_MAX: usize = 512;
/// Texts longer than this are not kept.
const KEPT_BYTES_MAX: usize = 8 << 10;

/// A statement, compiled.
pub(crate) struct Statement {
    step: Step,
    /// The types of `$1`, `$2`, …
    pub(crate) parameters: Vec<SqlType>,
}

/// What a statement is found by.
type Key = (String, Vec<Option<SqlType>>);

/// See the module.
pub(crate) struct Statements {
    name: String,
    may_grow: bool,
    tables: Arc<Tables>,
    kept: Mutex<HashMap<Key, Arc<Statement>>>,
}

impl Statements {
    /// None yet. `may_grow`: whether it takes more than deletions.
    pub(crate) fn new(tables: &Arc<Tables>, may_grow: bool) -> Self {
        let name = if may_grow { "statement" } else { "deletion" };
        Self {
            name: format!("{GENERATION}:{name}"),
            may_grow,
            tables: Arc::clone(tables),
            kept: Mutex::default(),
        }
    }

    /// A statement; the types of some of its parameters are known.
    pub(crate) fn compiled(
        &self,
        text: &str,
        declared: &[Option<SqlType>],
    ) -> Result<Arc<Statement>, Fault> {
        let key = (text.to_owned(), declared.to_vec());
        if let Some(statement) = self.kept.lock().get(&key) {
            return Ok(Arc::clone(statement));
        }
        let statement = Arc::new(self.compile(text, declared)?);
        if text.len() <= KEPT_BYTES_MAX {
            let mut kept = self.kept.lock();
            if kept.len() >= KEPT_MAX {
                kept.clear();
            }
            kept.insert(key, Arc::clone(&statement));
        }
        Ok(statement)
    }

    fn compile(&self, text: &str, declared: &[Option<SqlType>]) -> Result<Statement, Fault> {
        let mut cursor = Cursor::new(text)?;
        let Some(syntax) = change(&mut cursor) else {
            return Err(cursor.fault("INSERT, UPDATE or DELETE"));
        };
        let syntax = syntax?;
        while cursor.accept_semicolon() {}
        if !cursor.is_at_end() {
            return Err(cursor.fault("the end of the statement"));
        }
        let mut compiler = Compiler::new(&self.tables, Slots::of_statement(declared));
        let step = compiler.step(&syntax)?;
        Ok(Statement {
            step,
            parameters: compiler.slots.parameter_types()?,
        })
    }

    /// The parameters of a call that runs a statement.
    pub(crate) fn encode(text: &str, types: &[SqlType], values: &[Datum<'_>]) -> Vec<u8> {
        let mut out = Vec::with_capacity(text.len() + 16 * values.len() + 8);
        put_bytes(text.as_bytes(), &mut out);
        out.extend_from_slice(&(types.len() as u16).to_le_bytes());
        for sql_type in types {
            out.extend_from_slice(&sql_type.oid().to_le_bytes());
        }
        out.extend_from_slice(&(values.len() as u16).to_le_bytes());
        values.iter().for_each(|datum| put(datum, &mut out));
        out
    }

    fn decode<'p>(&self, parameters: &'p [u8]) -> Result<(Arc<Statement>, Vec<Datum<'p>>), Stop> {
        let mut reader = Reader(parameters);
        let mut read = || {
            let text = std::str::from_utf8(reader.bytes()?).ok()?;
            let count = reader.u16()?;
            let types: Option<Vec<_>> = (0..count)
                .map(|_| SqlType::of_oid(reader.u32()?).map(Some))
                .collect();
            let values = read_values(&mut reader)?;
            Some((text, types?, values))
        };
        let (text, types, values) = read().ok_or_else(malformed)?;
        // It was compiled when it was called; tables have only been added since.
        let statement = self.compiled(text, &types).map_err(|_| malformed())?;
        if statement.parameters.len() == values.len() {
            Ok((statement, values))
        } else {
            Err(malformed())
        }
    }
}

impl oltp::Procedure for Statements {
    fn name(&self) -> &str {
        &self.name
    }

    fn may_grow(&self) -> bool {
        self.may_grow
    }

    fn run(
        &self,
        transaction: &mut Transaction<'_>,
        parameters: &[u8],
        reply: &mut Vec<u8>,
    ) -> Result<(), Stop> {
        let (statement, slots) = self.decode(parameters)?;
        let mut frame = Frame {
            tables: &self.tables,
            slots,
            time_us: transaction.time_us(),
        };
        let mut reply = Reply::new(reply);
        let steps = std::slice::from_ref(&statement.step);
        crate::step::run_all(steps, &mut frame, transaction, &mut reply)?;
        reply.finish();
        Ok(())
    }

    fn declare(&self, parameters: &[u8], keys: &mut DeclaredKeys<'_>) -> Result<(), Stop> {
        let (statement, slots) = self.decode(parameters)?;
        let context = Context {
            slots: &slots,
            row: RowAtHand::None,
            time_us: 0,
        };
        statement.step.declare(slots.len(), &context, keys)
    }
}
