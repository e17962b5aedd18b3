//! `to_char` of dates and timestamps with PostgreSQL's patterns.
//!
//! A [`template`] is cut into pieces once; each value is then written piece by piece. Known are the
//! patterns of years (`YYYY`, `YYY`, `YY`, `Y`, `IYYY`), months (`MM`, `Mon`, `Month`), days (`DD`,
//! `DDD`, `D`, `ID`, `Dy`, `Day`), weeks (`WW`, `IW`, `W`), quarters (`Q`), centuries (`CC`), times
//! (`HH24`, `HH12`, `HH`, `MI`, `SS`, `SSSS`, `MS`, `US`, `AM`, `PM`, `a.m.`), `FM` in front, `TH`
//! behind, and text in double quotes. Everything else stands for itself, as in PostgreSQL.
//!
//! Does not: numbers, intervals and zones, which are refused (0A000).

mod template;

use std::sync::Arc;

use datafusion::arrow::array::cast::AsArray;
use datafusion::arrow::array::{ArrayRef, StringBuilder};
use datafusion::arrow::datatypes::{DataType, TimeUnit, TimestampMicrosecondType};
use datafusion::common::Result;
use datafusion::logical_expr::{
    ColumnarValue, ScalarFunctionArgs, ScalarUDFImpl, Signature, Volatility,
};

use template::Template;

use crate::error::{SqlError, code};

const TIMESTAMP: DataType = DataType::Timestamp(TimeUnit::Microsecond, None);

/// Writes moments.
#[derive(Debug, PartialEq, Eq, Hash)]
pub(crate) struct ToChar {
    signature: Signature,
}

impl ToChar {
    pub(crate) fn new() -> Self {
        Self {
            signature: Signature::user_defined(Volatility::Stable),
        }
    }
}

impl ScalarUDFImpl for ToChar {
    fn name(&self) -> &str {
        "to_char"
    }

    fn signature(&self) -> &Signature {
        &self.signature
    }

    fn coerce_types(&self, arguments: &[DataType]) -> Result<Vec<DataType>> {
        match arguments {
            [
                DataType::Date32 | DataType::Timestamp(..) | DataType::Null,
                _,
            ] => Ok(vec![TIMESTAMP, DataType::Utf8]),
            [number, _] if number.is_numeric() => {
                Err(SqlError::not_supported("to_char of a number").into())
            }
            [DataType::Interval(_) | DataType::Duration(_), _] => {
                Err(SqlError::not_supported("to_char of an interval").into())
            }
            _ => {
                let message = "function to_char does not exist for these arguments";
                Err(SqlError::new(code::UNDEFINED_FUNCTION, message).into())
            }
        }
    }

    fn return_type(&self, _: &[DataType]) -> Result<DataType> {
        Ok(DataType::Utf8)
    }

    fn invoke_with_args(&self, args: ScalarFunctionArgs) -> Result<ColumnarValue> {
        let scalar = args
            .args
            .iter()
            .all(|argument| matches!(argument, ColumnarValue::Scalar(_)));
        let rows = if scalar { 1 } else { args.number_rows };
        let moments = args.args[0].to_array(rows)?;
        let written = match &args.args[1] {
            ColumnarValue::Scalar(template) => {
                let template = template.try_as_str().flatten().map(Template::new);
                write_all(&moments, |_| template.as_ref())
            }
            ColumnarValue::Array(templates) => {
                let templates = templates.as_string::<i32>();
                let templates: Vec<Option<Template>> = templates
                    .iter()
                    .map(|text| text.map(Template::new))
                    .collect();
                write_all(&moments, |row| templates[row].as_ref())
            }
        };
        if scalar {
            let value = datafusion::common::ScalarValue::try_from_array(&written, 0)?;
            return Ok(ColumnarValue::Scalar(value));
        }
        Ok(ColumnarValue::Array(written))
    }
}

/// NULL and the infinities have no text.
fn write_all<'t>(moments: &ArrayRef, template: impl Fn(usize) -> Option<&'t Template>) -> ArrayRef {
    let moments = moments.as_primitive::<TimestampMicrosecondType>();
    let mut texts = StringBuilder::new();
    let mut text = String::new();
    for (row, micros) in moments.iter().enumerate() {
        let finite = micros.filter(|&micros| micros != i64::MAX && micros != i64::MIN);
        match (finite, template(row)) {
            (Some(micros), Some(template)) => {
                text.clear();
                template.write(micros, &mut text);
                texts.append_value(&text);
            }
            _ => texts.append_null(),
        }
    }
    Arc::new(texts.finish())
}
