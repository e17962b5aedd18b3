//! One statement that gives rows: planned and run on the engine's threads.
//!
//! 1. The statement is planned against its snapshot, values take the places of parameters.
//! 2. A task on the engine's threads runs the plan and sends batches through a short channel;
//!    when the client does not take them the task waits, and with it the scans.
//! 3. The stream that the client reads ends with the task's end mark. A channel that closes
//!    without one is an error: a result is complete or it is none.
//!
//! Dropping the stream, the statement timeout and a cancel request all end the task.

use std::sync::Arc;

use datafusion::arrow::array::{ArrayRef, RecordBatch, StringArray};
use datafusion::arrow::datatypes::{DataType, Field, Schema, SchemaRef};
use datafusion::common::config::{ConfigNonZeroUsize, ConfigOptions};
use datafusion::common::{ParamValues, ScalarValue};
use datafusion::execution::TaskContext;
use datafusion::execution::session_state::SessionState;
use datafusion::logical_expr::LogicalPlan;
use datafusion::physical_plan::display::DisplayableExecutionPlan;
use datafusion::physical_plan::{ExecutionPlan, execute_stream};
use datafusion::sql::planner::{ParserOptions, PlannerContext, SqlToRel};
use datafusion::sql::sqlparser::ast::{Expr as AstExpr, Query as AstQuery, Statement as Ast};
use futures::StreamExt;
use lsm::Snapshot;
use tokio::sync::{mpsc, oneshot};
use tokio::task::AbortHandle;

use crate::cast_parameters;
use crate::context::StatementContext;
use crate::engine::Engine;
use crate::error::{SqlError, code};
use crate::functions::session::{SessionFacts, is_position};
use crate::interrupt::Interrupt;
use crate::outcome::{Description, ParameterType, RowStream};
use crate::pg_type;
use crate::rewrite::walk::any_expression;
use crate::rewrite::written_columns::{WriteOut, written_out};
use crate::rewrite::{
    bag_operations, column_names, computed_below, empty_tables, grouping_columns, lateral_joins,
    numbers, outer_names, recursive_types, repeated_order, scalar_subqueries, set_comparisons,
    subquery_values, ties, union_types, whole_rows,
};
use crate::running_queries::RunningQuery;
use crate::unnested_rows;

/// Batches between the query's task and the client.
const BATCHES_AHEAD: usize = 2;

/// A query with everything it needs.
pub(crate) struct Query {
    pub(crate) engine: Arc<Engine>,
    pub(crate) facts: SessionFacts,
    pub(crate) statement: Box<Ast>,
    /// `None` when it is only described.
    pub(crate) snapshot: Option<Arc<Snapshot>>,
}

/// Rows in a batch while joins use the disk.
const SORTED_BATCH_ROWS: usize = 1024;
/// What a sort keeps free for merging what it has put on disk.
const SORT_RESERVE_BYTES: usize = 1 << 20;

/// What a query's task tells: batches, then the end mark.
type Message = Result<Option<RecordBatch>, SqlError>;

/// How tables are joined where there is a choice.
#[derive(Clone, Copy, Debug)]
enum Joins {
    /// The fast way: one side stays in memory.
    Hashed,
    /// Both sides sorted, with what does not fit in memory on disk.
    Sorted,
}

impl Joins {
    fn configure(self, options: &mut ConfigOptions) {
        if matches!(self, Self::Sorted) {
            options.optimizer.prefer_hash_join = false;
            // The memory is divided among all sorts of the plan, two for each join and part.
            // TPC-H 7 and 21 have two dozen on 150 MiB; with one part the planner does not sort.
            options.execution.target_partitions = 2;
            options.execution.sort_spill_reservation_bytes = SORT_RESERVE_BYTES;
            // A sort that merges what it has put on disk holds a batch of each of its files.
            options.execution.batch_size =
                ConfigNonZeroUsize::try_new(SORTED_BATCH_ROWS).expect("is not zero");
        }
    }
}

/// The query's end of its channels. That nobody receives any more means that the statement has
/// been cancelled.
struct Output {
    /// Until the plan has been told.
    planned: Option<oneshot::Sender<Result<SchemaRef, SqlError>>>,
    sender: mpsc::Sender<Message>,
    has_sent: bool,
}

impl Output {
    /// Tells the result's columns, once.
    fn plan(&mut self, schema: SchemaRef) {
        if let Some(planned) = self.planned.take() {
            _ = planned.send(Ok(schema));
        }
    }

    /// Tells a batch; whether anybody is there to take more.
    async fn send(&mut self, batch: RecordBatch) -> bool {
        self.has_sent = true;
        self.sender.send(Ok(Some(batch))).await.is_ok()
    }

    /// Tells the end.
    async fn end(self, result: Result<(), SqlError>) {
        match (self.planned, result) {
            (Some(planned), Err(error)) => _ = planned.send(Err(error)),
            (_, result) => _ = self.sender.send(result.map(|()| None)).await,
        }
    }
}

/// Whether a statement failed for two columns of one name, of which `*` may have one.
fn is_about_names(error: &SqlError) -> bool {
    [code::DUPLICATE_COLUMN, code::AMBIGUOUS_COLUMN].contains(&error.code)
}

/// Whether a statement calls `hedgerow.position()`.
fn asks_for_position(statement: &Ast) -> bool {
    any_expression(statement, |expression| match expression {
        AstExpr::Function(call) => is_position(&call.name.to_string()),
        _ => false,
    })
}

/// A running query.
pub(crate) struct Running {
    pub(crate) schema: SchemaRef,
    pub(crate) stream: RowStream,
}

impl Query {
    /// Whether the answer depends on the snapshot. The statement names a table of a source (one that is
    /// replicated, or one that is unknown and may become known once its source is), or asks for the position.
    pub(crate) fn reads_snapshot(&self) -> Result<bool, SqlError> {
        if asks_for_position(&self.statement) {
            return Ok(true);
        }
        let context = self.context(&self.engine.state);
        let statement = datafusion::sql::parser::Statement::Statement(self.statement.clone());
        let (tables, _) = datafusion::sql::resolve::resolve_table_references(&statement, true)?;
        Ok(!tables.iter().all(|name| context.is_system_table(name)))
    }

    fn context<'a>(&'a self, state: &'a SessionState) -> StatementContext<'a> {
        StatementContext {
            engine: &self.engine,
            state,
            facts: &self.facts,
            snapshot: self.snapshot.clone(),
        }
    }

    /// The statement as a plan, its parameters still in it.
    fn logical_plan(
        &self,
        state: &SessionState,
        parameters: Vec<Option<Arc<Field>>>,
    ) -> Result<LogicalPlan, SqlError> {
        let mut plan = self.parsed_plan(&self.statement, state, &parameters)?;
        if outer_names::takes_fields_of_others(&plan)?
            && let statement = outer_names::with_schema(&self.statement)
            && let Ok(other) = self.parsed_plan(&statement, state, &parameters)
        {
            plan = other;
        }
        let plan = whole_rows::resolved(plan)?;
        let plan = numbers::typed(plan)?;
        let plan = union_types::agreed(plan)?;
        let plan = bag_operations::numbered(plan)?;
        let plan = ties::ranked(plan)?;
        let plan = empty_tables::pruned(plan)?;
        let plan = recursive_types::aligned(plan)?;
        let plan = repeated_order::once(plan)?;
        let plan = grouping_columns::computed(plan)?;
        let plan = computed_below::moved(plan)?;
        let plan = set_comparisons::as_exists(plan)?;
        let plan = subquery_values::counted(plan)?;
        let plan = scalar_subqueries::single(plan)?;
        let plan = lateral_joins::plain(plan)?;
        Ok(unnested_rows::without_keys(plan)?)
    }

    /// The plan that DataFusion makes of the statement, or of one that says the same with more of its columns written out.
    fn parsed_plan(
        &self,
        statement: &Ast,
        state: &SessionState,
        parameters: &[Option<Arc<Field>>],
    ) -> Result<LogicalPlan, SqlError> {
        let context = self.context(state);
        let options = ParserOptions::new()
            .with_parse_float_as_decimal(true)
            .with_map_string_types_to_utf8view(false);
        let planner = SqlToRel::new_with_options(&context, options);
        let planned = |statement: Ast| {
            let parameters = parameters.to_vec();
            let mut context = PlannerContext::new().with_prepare_param_data_types(parameters);
            planner.sql_statement_to_plan_with_context(statement, &mut context)
        };
        let columns = |table: AstQuery| -> Result<Vec<String>, SqlError> {
            let plan = planned(Ast::Query(Box::new(table)))?;
            let fields = plan.schema().fields().iter();
            Ok(fields.map(|field| field.name().clone()).collect())
        };
        let written = |statement: &Ast| -> Result<LogicalPlan, SqlError> {
            let joined = written_out(statement, WriteOut::Joins, columns)?;
            match planned(joined.into_owned()).map_err(SqlError::from) {
                Err(error) if is_about_names(&error) => {
                    let written = written_out(statement, WriteOut::Wildcards, columns)?;
                    planned(written.into_owned()).map_err(|_| error)
                }
                plan => plan,
            }
        };
        let statement = recursive_types::agreed(statement, |query| {
            let plan = written(&Ast::Query(Box::new(query)))?;
            Ok(numbers::typed(whole_rows::resolved(plan)?)?)
        })?;
        written(&statement)
    }

    /// Parameter types and result columns. `declared`: ids of the types that the client named.
    pub(crate) fn describe(&self, declared: &[u32], count: usize) -> Result<Description, SqlError> {
        let field = |oid: u32| pg_type::data_type(oid).map(|t| Arc::new(Field::new("", t, true)));
        let fields = (0..count)
            .map(|index| declared.get(index).copied().and_then(field))
            .collect();
        let plan = self.logical_plan(&self.engine.state, fields)?;
        let inferred = plan.get_parameter_fields()?;
        let cast = cast_parameters::types(&plan)?;
        let parameters: Vec<ParameterType> = (0..count)
            .map(|index| {
                let name = format!("${}", index + 1);
                let told = inferred.get(&name).cloned().flatten();
                let told = told.or_else(|| cast.get(&name).cloned());
                let declared = declared
                    .get(index)
                    .copied()
                    .filter(|&oid| oid != 0 && oid != 705);
                let data_type = told
                    .as_ref()
                    .map_or(DataType::Utf8, |field| field.data_type().clone());
                let oid = declared.or_else(|| told.map(|field| pg_type::field_oid(&field)));
                ParameterType {
                    data_type,
                    oid: oid.unwrap_or(pg_type::TEXT),
                }
            })
            .collect();
        let schema = self.result_schema(plan, &parameters);
        Ok(Description {
            parameters,
            schema: Some(schema),
        })
    }

    /// The columns of the result, after all changes of type that planning makes.
    fn result_schema(&self, plan: LogicalPlan, parameters: &[ParameterType]) -> SchemaRef {
        if explained(&plan).is_some() {
            return explain_schema();
        }
        let nulls: Option<Vec<ScalarValue>> = parameters
            .iter()
            .map(|p| ScalarValue::try_from(&p.data_type).ok())
            .collect();
        let analyzed = nulls.and_then(|nulls| {
            let plan = plan
                .clone()
                .with_param_values(ParamValues::from(nulls))
                .ok()?;
            let state = &self.engine.state;
            state
                .analyzer()
                .execute_and_check(plan, state.config_options(), |_, _| {})
                .ok()
        });
        let analyzed = analyzed.as_ref().unwrap_or(&plan);
        column_names::result_schema(analyzed.schema().as_arrow())
    }

    /// Starts the query on the engine's threads; returns once it is planned.
    pub(crate) async fn start(
        self,
        parameters: Vec<ScalarValue>,
        mut interrupt: Interrupt,
    ) -> Result<Running, SqlError> {
        let (planned, mut plan) = oneshot::channel();
        let (sender, receiver) = mpsc::channel(BATCHES_AHEAD);
        let runtime = self.engine.runtime().handle().clone();
        let running = self.engine.running.begin();
        let task = runtime.spawn(self.run(parameters, planned, sender));
        let task = EndsTask {
            task: task.abort_handle(),
            _running: running,
        };
        let schema = tokio::select! {
            schema = &mut plan => schema.unwrap_or_else(|_| Err(ended_early())),
            error = interrupt.raised() => Err(error),
        }?;
        let stream = Receiving {
            task,
            receiver,
            interrupt,
        };
        let stream = futures::stream::unfold(Some(stream), Receiving::next).boxed();
        Ok(Running { schema, stream })
    }

    /// Runs the query to its end. A hash join that does not fit in memory fails; if nothing has
    /// been sent by then the query starts over with joins that use the disk.
    async fn run(
        self,
        parameters: Vec<ScalarValue>,
        planned: oneshot::Sender<Result<SchemaRef, SqlError>>,
        sender: mpsc::Sender<Message>,
    ) {
        let mut output = Output {
            planned: Some(planned),
            sender,
            has_sent: false,
        };
        let mut result = self
            .attempt(parameters.clone(), Joins::Hashed, &mut output)
            .await;
        if let Err(error) = &result
            && error.code == code::OUT_OF_MEMORY
            && !output.has_sent
        {
            tracing::debug!(%error, "starting over with joins that use the disk");
            result = self.attempt(parameters, Joins::Sorted, &mut output).await;
        }
        output.end(result).await;
    }

    /// Plans and runs the query with one kind of joins.
    async fn attempt(
        &self,
        parameters: Vec<ScalarValue>,
        joins: Joins,
        output: &mut Output,
    ) -> Result<(), SqlError> {
        let (schema, mut stream) = self.execute(parameters, joins).await?;
        output.plan(schema);
        while let Some(batch) = stream.next().await {
            if !output.send(batch?).await {
                break;
            }
        }
        Ok(())
    }

    /// Plans the query and gives its batches.
    async fn execute(
        &self,
        parameters: Vec<ScalarValue>,
        joins: Joins,
    ) -> Result<(SchemaRef, RowStream), SqlError> {
        let mut state = self.engine.state.clone();
        let options = state.config_mut().options_mut();
        let full = options.execution.batch_size.get();
        let batch_rows = self.engine.running.batch_rows(full);
        options.execution.batch_size =
            ConfigNonZeroUsize::try_new(batch_rows).expect("is not zero");
        joins.configure(options);
        state.mark_start_execution();
        let fields = parameters
            .iter()
            .map(|value| {
                (!value.is_null()).then(|| Arc::new(Field::new("", value.data_type(), true)))
            })
            .collect();
        let plan = self.logical_plan(&state, fields)?;
        let plan = plan.with_param_values(ParamValues::from(parameters))?;
        let context = Arc::new(task_context(&state));
        if let Some((input, analyze)) = explained(&plan) {
            let physical = state.create_physical_plan(input).await?;
            let lines = explain(physical, analyze, context).await?;
            return Ok((explain_schema(), futures::stream::iter([Ok(lines)]).boxed()));
        }
        let physical = state.create_physical_plan(&plan).await?;
        let schema = column_names::result_schema(&physical.schema());
        let batches = execute_stream(physical, context)?;
        let renamed = schema.clone();
        let stream = batches.map(move |batch| {
            let batch = batch.map_err(SqlError::from)?;
            column_names::renamed(&batch, &renamed).map_err(|error| SqlError::from_arrow(&error))
        });
        Ok((schema, stream.boxed()))
    }
}

/// A context without function tables: only plans that come from afar look functions up.
fn task_context(state: &SessionState) -> TaskContext {
    TaskContext::new(
        None,
        state.session_id().to_owned(),
        state.config().clone(),
        Default::default(),
        Default::default(),
        Default::default(),
        Default::default(),
        state.runtime_env().clone(),
    )
}

/// The plan that an EXPLAIN is about, and whether to run it.
fn explained(plan: &LogicalPlan) -> Option<(&LogicalPlan, bool)> {
    match plan {
        LogicalPlan::Explain(explain) => Some((&explain.plan, false)),
        LogicalPlan::Analyze(analyze) => Some((&analyze.input, true)),
        _ => None,
    }
}

fn explain_schema() -> SchemaRef {
    Arc::new(Schema::new(vec![Field::new(
        "QUERY PLAN",
        DataType::Utf8,
        false,
    )]))
}

async fn explain(
    plan: Arc<dyn ExecutionPlan>,
    analyze: bool,
    context: Arc<TaskContext>,
) -> Result<RecordBatch, SqlError> {
    let text = if analyze {
        let mut stream = execute_stream(plan.clone(), context)?;
        while let Some(batch) = stream.next().await {
            batch?;
        }
        DisplayableExecutionPlan::with_metrics(plan.as_ref())
            .indent(false)
            .to_string()
    } else {
        DisplayableExecutionPlan::new(plan.as_ref())
            .indent(false)
            .to_string()
    };
    let lines: ArrayRef = Arc::new(text.lines().map(Some).collect::<StringArray>());
    RecordBatch::try_new(explain_schema(), vec![lines])
        .map_err(|error| SqlError::from_arrow(&error))
}

fn ended_early() -> SqlError {
    SqlError::new(
        code::INTERNAL_ERROR,
        "the query ended without a result; the log has the reason",
    )
}

/// Ends the task when it is dropped; until then the query counts among those that run.
struct EndsTask {
    task: AbortHandle,
    _running: RunningQuery,
}

impl Drop for EndsTask {
    fn drop(&mut self) {
        self.task.abort();
    }
}

/// The client's end of a running query.
struct Receiving {
    task: EndsTask,
    receiver: mpsc::Receiver<Message>,
    interrupt: Interrupt,
}

impl Receiving {
    /// The next batch and the state after it; no state after the last batch or an error.
    async fn next(state: Option<Self>) -> Option<(Result<RecordBatch, SqlError>, Option<Self>)> {
        let mut receiving = state?;
        let message = tokio::select! {
            biased;
            error = receiving.interrupt.raised() => Err(error),
            message = receiving.receiver.recv() => message.unwrap_or_else(|| Err(ended_early())),
        };
        match message {
            Ok(Some(batch)) => Some((Ok(batch), Some(receiving))),
            Ok(None) => None,
            Err(error) => {
                drop(receiving.task);
                Some((Err(error), None))
            }
        }
    }
}
