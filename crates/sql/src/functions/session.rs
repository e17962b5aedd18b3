//! What a session knows of itself, as functions: each is a constant within a statement.

use std::sync::Arc;

use datafusion::arrow::datatypes::DataType;
use datafusion::common::{Result, ScalarValue};
use datafusion::logical_expr::simplify::{ExprSimplifyResult, SimplifyContext};
use datafusion::logical_expr::{
    ColumnarValue, Expr, ScalarFunctionArgs, ScalarUDF, ScalarUDFImpl, Signature, Volatility,
};
use types::CommitPosition;

use crate::settings::{SERVER_VERSION, Settings};

const DAY_US: i64 = 86_400_000_000;

/// What a statement may ask of its session.
#[derive(Clone, Debug)]
pub(crate) struct SessionFacts {
    pub(crate) user: String,
    pub(crate) database: String,
    pub(crate) search_path: Vec<String>,
    pub(crate) settings: Settings,
    pub(crate) process_id: i32,
    /// When the transaction began, microseconds since 1970 UTC.
    pub(crate) now_us: i64,
    /// The position of the statement's snapshot; `None` while it is only described.
    pub(crate) position: Option<CommitPosition>,
}

/// Whether a function of this name tells the position of the statement's snapshot.
pub(crate) fn is_position(name: &str) -> bool {
    ["hedgerow_position", "hedgerow.position"].contains(&name)
}

impl SessionFacts {
    /// The function with this name, if it is one about the session.
    pub(crate) fn function(&self, name: &str) -> Option<Arc<ScalarUDF>> {
        if name == "current_setting" {
            return Some(Arc::new(ScalarUDF::from(CurrentSetting::new(
                self.settings.clone(),
            ))));
        }
        let text = |value: &str| ScalarValue::Utf8(Some(value.to_owned()));
        let (name, value) = match name {
            name if is_position(name) => ("hedgerow_position", self.position_text()),
            "pg_last_wal_replay_lsn" | "pg_last_wal_receive_lsn" => {
                ("pg_last_wal_replay_lsn", self.position_text())
            }
            "current_user" | "user" | "current_role" => ("current_user", text(&self.user)),
            "session_user" => ("session_user", text(&self.user)),
            "current_database" | "current_catalog" => ("current_database", text(&self.database)),
            "current_schema" => (
                "current_schema",
                text(self.search_path.last().map_or("public", String::as_str)),
            ),
            "version" => ("version", text(&format!("PostgreSQL {SERVER_VERSION}"))),
            "pg_backend_pid" => ("pg_backend_pid", ScalarValue::Int32(Some(self.process_id))),
            "pg_is_in_recovery" => ("pg_is_in_recovery", ScalarValue::Boolean(Some(true))),
            "now"
            | "clock_timestamp"
            | "current_timestamp"
            | "transaction_timestamp"
            | "statement_timestamp" => (
                "now",
                ScalarValue::TimestampMicrosecond(Some(self.now_us), Some("+00:00".into())),
            ),
            "current_date" | "today" => (
                "current_date",
                ScalarValue::Date32(i32::try_from(self.now_us.div_euclid(DAY_US)).ok()),
            ),
            "localtimestamp" => (
                "localtimestamp",
                ScalarValue::TimestampMicrosecond(Some(self.now_us), None),
            ),
            "inet_server_addr" | "inet_client_addr" => {
                ("inet_server_addr", ScalarValue::Utf8(None))
            }
            "inet_server_port" | "inet_client_port" => {
                ("inet_server_port", ScalarValue::Int32(None))
            }
            _ => return None,
        };
        Some(Arc::new(ScalarUDF::from(Constant::new(name, value))))
    }

    fn position_text(&self) -> ScalarValue {
        ScalarValue::Utf8(self.position.map(|position| position.to_string()))
    }
}

/// A function without arguments that is constant within a statement.
#[derive(Debug, PartialEq, Eq, Hash)]
struct Constant {
    name: &'static str,
    value: ScalarValue,
    signature: Signature,
}

impl Constant {
    fn new(name: &'static str, value: ScalarValue) -> Self {
        Self {
            name,
            value,
            signature: Signature::nullary(Volatility::Stable),
        }
    }
}

impl ScalarUDFImpl for Constant {
    fn name(&self) -> &str {
        self.name
    }

    fn signature(&self) -> &Signature {
        &self.signature
    }

    fn return_type(&self, _: &[DataType]) -> Result<DataType> {
        Ok(self.value.data_type())
    }

    fn invoke_with_args(&self, _: ScalarFunctionArgs) -> Result<ColumnarValue> {
        Ok(ColumnarValue::Scalar(self.value.clone()))
    }

    fn simplify(&self, _: Vec<Expr>, _: &SimplifyContext) -> Result<ExprSimplifyResult> {
        Ok(ExprSimplifyResult::Simplified(Expr::Literal(
            self.value.clone(),
            None,
        )))
    }
}

/// `current_setting(name [, missing_ok])`
#[derive(Debug)]
struct CurrentSetting {
    settings: Settings,
    signature: Signature,
}

impl CurrentSetting {
    fn new(settings: Settings) -> Self {
        use datafusion::logical_expr::TypeSignature::Exact;
        let forms = vec![
            Exact(vec![DataType::Utf8]),
            Exact(vec![DataType::Utf8, DataType::Boolean]),
        ];
        Self {
            settings,
            signature: Signature::one_of(forms, Volatility::Stable),
        }
    }
}

impl PartialEq for CurrentSetting {
    fn eq(&self, _: &Self) -> bool {
        true
    }
}

impl Eq for CurrentSetting {}

impl std::hash::Hash for CurrentSetting {
    fn hash<H: std::hash::Hasher>(&self, state: &mut H) {
        self.name().hash(state);
    }
}

impl ScalarUDFImpl for CurrentSetting {
    fn name(&self) -> &str {
        "current_setting"
    }

    fn signature(&self) -> &Signature {
        &self.signature
    }

    fn return_type(&self, _: &[DataType]) -> Result<DataType> {
        Ok(DataType::Utf8)
    }

    fn invoke_with_args(&self, args: ScalarFunctionArgs) -> Result<ColumnarValue> {
        let value = match args.args.first() {
            Some(ColumnarValue::Scalar(ScalarValue::Utf8(Some(name)))) => self.settings.get(name),
            _ => None,
        };
        Ok(ColumnarValue::Scalar(ScalarValue::Utf8(value)))
    }
}
