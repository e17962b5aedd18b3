//! A procedure that was declared in SQL.

use std::sync::Arc;

use oltp::{DeclaredKeys, Rejection, Stop, Transaction};

use crate::datum::Datum;
use crate::encoding::Reader;
use crate::expression::Node;
use crate::expression::evaluate::{Context, RowAtHand};
use crate::expression::scope::{Scope, Slots};
use crate::fault::{Fault, code};
use crate::reply::{Reply, ReplyColumn};
use crate::sql_type::SqlType;
use crate::step::{Compiler, Frame, Step, run_all};
use crate::syntax::procedure::ProcedureSyntax;
use crate::table::Tables;

/// The language's generation, in the names that the command log has: it grows when a text begins to mean
/// something else. Earlier ones have to stay.
pub(crate) const GENERATION: &str = "sql1";

/// See the module.
pub struct SqlProcedure {
    /// Its name.
    pub name: String,
    /// Its parameters.
    pub parameters: Vec<Parameter>,
    /// The columns of what it answers, if it answers rows.
    pub answers: Option<Vec<ReplyColumn>>,
    name_in_log: String,
    tables: Arc<Tables>,
    /// What variables begin with.
    variables: Vec<Node>,
    steps: Vec<Step>,
}

/// A parameter.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Parameter {
    /// Its name.
    pub name: String,
    /// Its type.
    pub sql_type: SqlType,
}

impl SqlProcedure {
    /// A version of a procedure, from its syntax.
    pub(crate) fn compile(
        syntax: &ProcedureSyntax,
        version: u32,
        tables: &Arc<Tables>,
    ) -> Result<Self, Fault> {
        let mut slots = Slots::of_procedure(&syntax.name.text);
        let twice = |name: &crate::syntax::Name| {
            let message = format!("the name \"{}\" is there twice", name.text);
            Fault::new(code::SYNTAX_ERROR, message).at(name.location)
        };
        for parameter in &syntax.parameters {
            if !slots.add(&parameter.name.text, parameter.sql_type, true) {
                return Err(twice(&parameter.name));
            }
        }
        let mut variables = Vec::new();
        for variable in &syntax.variables {
            let mut scope = Scope {
                slots: &mut slots,
                columns: None,
                has_time: true,
                depth: 0,
            };
            variables.push(match &variable.default {
                Some(default) => {
                    let to = format!("variable \"{}\"", variable.name.text);
                    scope.assigned(default, variable.sql_type, &to)?
                }
                None => Node::Constant(Datum::Null),
            });
            if !slots.add(&variable.name.text, variable.sql_type, false) {
                return Err(twice(&variable.name));
            }
        }
        let mut compiler = Compiler::new(tables, slots);
        let steps = compiler.steps(&syntax.body)?;
        let parameters = syntax.parameters.iter().map(|parameter| Parameter {
            name: parameter.name.text.clone(),
            sql_type: parameter.sql_type,
        });
        Ok(Self {
            name: syntax.name.text.clone(),
            parameters: parameters.collect(),
            answers: compiler.answers,
            name_in_log: format!("{GENERATION}.{}.{version}", syntax.name.text),
            tables: Arc::clone(tables),
            variables,
            steps,
        })
    }

    /// Its name and parameters, as they are written in a call.
    pub fn signature(&self) -> String {
        let parameters = self.parameters.iter();
        let shown: Vec<String> = parameters
            .map(|parameter| format!("{} {}", parameter.name, parameter.sql_type.name()))
            .collect();
        format!("{}({})", self.name, shown.join(", "))
    }

    fn slots<'p>(&self, parameters: &'p [u8]) -> Result<Vec<Datum<'p>>, Stop> {
        let mut reader = Reader(parameters);
        read_values(&mut reader)
            .filter(|values| values.len() == self.parameters.len())
            .ok_or_else(malformed)
    }
}

/// Values behind their number.
pub(crate) fn read_values<'p>(reader: &mut Reader<'p>) -> Option<Vec<Datum<'p>>> {
    let count = reader.u16()?;
    (0..count).map(|_| reader.datum()).collect()
}

/// The parameters are not what this crate writes.
pub(crate) fn malformed() -> Stop {
    Rejection::new(
        code::INTERNAL_ERROR,
        "the parameters of the call are malformed",
    )
    .into()
}

impl oltp::Procedure for SqlProcedure {
    #[expect(
        clippy::misnamed_getters,
        reason = "the primary knows it by its version, clients by its name"
    )]
    fn name(&self) -> &str {
        &self.name_in_log
    }

    fn may_grow(&self) -> bool {
        self.steps.iter().any(Step::may_grow)
    }

    fn run(
        &self,
        transaction: &mut Transaction<'_>,
        parameters: &[u8],
        reply: &mut Vec<u8>,
    ) -> Result<(), Stop> {
        let mut frame = Frame {
            tables: &self.tables,
            slots: self.slots(parameters)?,
            time_us: transaction.time_us(),
        };
        for variable in &self.variables {
            let datum = variable.evaluate(&frame.context())?.into_owned();
            frame.slots.push(datum);
        }
        let mut reply = Reply::new(reply);
        run_all(&self.steps, &mut frame, transaction, &mut reply)?;
        reply.finish();
        Ok(())
    }

    fn declare(&self, parameters: &[u8], keys: &mut DeclaredKeys<'_>) -> Result<(), Stop> {
        let slots = self.slots(parameters)?;
        let context = Context {
            slots: &slots,
            row: RowAtHand::None,
            time_us: 0,
        };
        for step in &self.steps {
            step.declare(self.parameters.len(), &context, keys)?;
        }
        Ok(())
    }
}
