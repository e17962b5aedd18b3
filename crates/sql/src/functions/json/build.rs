//! Documents out of values.
//!
//! | function | gives |
//! |---|---|
//! | `to_json(v)`, `array_to_json(v)`, `row_to_json(v)` | a value as a document; NULL of NULL |
//! | `json_build_object(k, v, …)`, `json_build_array(v, …)` | an object, an array |
//! | `json_as_is(text)` | the document that a text is, which is known to be one |
//! | `json_value(v)`, `json_values(list)` | an element of `json_agg`, and it of all of them |
//! | `json_member(k, v)`, `json_members(list)` | the same for `json_object_agg` |
//!
//! The last five have no names in PostgreSQL: [`json_aggregates`](crate::rewrite::json_aggregates) puts four of them around `array_agg`, which knows
//! orders, filters and windows, and [`from_functions`](crate::rewrite::from_functions) the other around elements.
//!
//! Numbers and booleans are written as such, documents as they are, times as ISO 8601 has them, arrays as arrays, rows as objects, and
//! anything else as a string. A `jsonb` is in its one form, and a `json` has the blanks that PostgreSQL puts there.

use bytes::BytesMut;
use datafusion::arrow::array::{Array, ArrayRef};
use datafusion::arrow::datatypes::{DataType, FieldRef};
use datafusion::common::Result;
use datafusion::common::cast::{as_list_array, as_string_array, as_struct_array};
use protocol::encode::array::ArrayLiteral;
use protocol::encode::wire_type::element_of;
use protocol::encode::{Cells, Format, wire_type};

use super::canonical::{self, write_string};
use super::function::{Arguments, Gives, JsonFunction, Takes};
use super::{JsonType, unsuitable};
use crate::error::SqlError;
use crate::functions::array_of::literal;
use crate::functions::text_out;
use crate::pg_type;

pub(super) fn functions() -> Vec<JsonFunction> {
    let of = |of: JsonType| {
        let function = |json, jsonb, takes, [as_json, as_jsonb]: [_; 2]| {
            let compute = match of {
                JsonType::Json => as_json,
                JsonType::Jsonb => as_jsonb,
            };
            JsonFunction::new(of.name(json, jsonb), takes, Gives::Document(of), compute)
        };
        [
            function(
                "to_json",
                "to_jsonb",
                &[Takes::Any],
                [to_json::<false>, to_json::<true>],
            ),
            function(
                "json_build_object",
                "jsonb_build_object",
                &[Takes::Values],
                [build_object::<false>, build_object::<true>],
            ),
            function(
                "json_build_array",
                "jsonb_build_array",
                &[Takes::Values],
                [build_array::<false>, build_array::<true>],
            ),
            function(
                "json_as_is",
                "jsonb_as_is",
                &[Takes::Text],
                [|arguments| Ok(ArrayRef::clone(&arguments.values[0])); 2],
            ),
            function(
                "json_value",
                "jsonb_value",
                &[Takes::Any],
                [value::<false>, value::<true>],
            ),
            function("json_values", "jsonb_values", &[Takes::Texts], [values; 2]),
            function(
                "json_member",
                "jsonb_member",
                &[Takes::Any, Takes::Any],
                [member::<false>, member::<true>],
            ),
            function(
                "json_members",
                "jsonb_members",
                &[Takes::Texts],
                [members::<false>, members::<true>],
            ),
        ]
    };
    let of_structure = |name| {
        let gives = Gives::Document(JsonType::Json);
        JsonFunction::new(name, &[Takes::Any], gives, to_json::<false>)
    };
    let of_structures = ["array_to_json", "row_to_json"].map(of_structure);
    let functions = JsonType::ALL.into_iter().flat_map(of);
    functions.chain(of_structures).collect()
}

fn of_type<const JSONB: bool>() -> JsonType {
    if JSONB {
        JsonType::Jsonb
    } else {
        JsonType::Json
    }
}

/// The texts of all rows.
fn texts(
    rows: usize,
    mut write: impl FnMut(usize, &mut String) -> Result<bool, SqlError>,
) -> Result<ArrayRef> {
    let mut texts = datafusion::arrow::array::StringBuilder::with_capacity(rows, 0);
    let mut text = String::new();
    for row in 0..rows {
        text.clear();
        let is_value = write(row, &mut text)?;
        texts.append_option(is_value.then_some(&text));
    }
    Ok(std::sync::Arc::new(texts.finish()))
}

fn to_json<const JSONB: bool>(arguments: &Arguments) -> Result<ArrayRef> {
    let values = Values::of(arguments, 0, of_type::<JSONB>())?;
    texts(arguments.rows, |row, text| {
        let is_value = !values.is_null(row);
        if is_value {
            values.write(row, text)?;
        }
        Ok(is_value)
    })
}

fn value<const JSONB: bool>(arguments: &Arguments) -> Result<ArrayRef> {
    let values = Values::of(arguments, 0, of_type::<JSONB>())?;
    let begins_a_line = !JSONB && values.is_structured();
    texts(arguments.rows, |row, text| {
        if begins_a_line && !values.is_null(row) {
            text.push_str(LINE);
        }
        values.write(row, text)?;
        Ok(true)
    })
}

/// What PostgreSQL writes between a comma and an array or a row in `json_agg`.
const LINE: &str = "\n ";

fn build_array<const JSONB: bool>(arguments: &Arguments) -> Result<ArrayRef> {
    let columns = all_values(arguments, of_type::<JSONB>())?;
    texts(arguments.rows, |row, text| {
        canonical::write_elements(&columns, text, |values, text| values.write(row, text))?;
        Ok(true)
    })
}

fn build_object<const JSONB: bool>(arguments: &Arguments) -> Result<ArrayRef> {
    let columns = all_values(arguments, of_type::<JSONB>())?;
    if !columns.len().is_multiple_of(2) {
        let error = unsuitable("argument list must have even number of elements");
        let of = of_type::<JSONB>().name("json_build_object()", "jsonb_build_object()");
        let hint = format!("The arguments of {of} must consist of alternating keys and values.");
        return Err(error.with_hint(hint).into());
    }
    texts(arguments.rows, |row, text| {
        text.push('{');
        for (place, member) in columns.chunks_exact(2).enumerate() {
            if place > 0 {
                text.push_str(", ");
            }
            if member[0].is_null(row) {
                let message = match JSONB {
                    true => format!("argument {}: key must not be null", 2 * place + 1),
                    false => "null value not allowed for object key".to_owned(),
                };
                return Err(unsuitable(message));
            }
            write_member(&member[0], &member[1], row, text)?;
        }
        text.push('}');
        into_one_form::<JSONB>(text)
    })
}

fn member<const JSONB: bool>(arguments: &Arguments) -> Result<ArrayRef> {
    let of = of_type::<JSONB>();
    let (keys, values) = (Values::of(arguments, 0, of)?, Values::of(arguments, 1, of)?);
    texts(arguments.rows, |row, text| {
        if keys.is_null(row) {
            return Err(unsuitable("field name must not be null"));
        }
        write_member(&keys, &values, row, text)?;
        Ok(true)
    })
}

/// Appends `"key" : value`.
fn write_member(
    keys: &Values,
    values: &Values,
    row: usize,
    text: &mut String,
) -> Result<(), SqlError> {
    write_string(&keys.text(row)?, text);
    text.push_str(" : ");
    values.write(row, text)
}

fn values(arguments: &Arguments) -> Result<ArrayRef> {
    joined(arguments, ["[", "]"], |_| Ok(true))
}

fn members<const JSONB: bool>(arguments: &Arguments) -> Result<ArrayRef> {
    joined(arguments, ["{ ", " }"], into_one_form::<JSONB>)
}

/// The parts in each row's list with commas between them, and as `finish` leaves it; NULL for a row without a list.
fn joined(
    arguments: &Arguments,
    [begin, end]: [&str; 2],
    finish: impl Fn(&mut String) -> Result<bool, SqlError>,
) -> Result<ArrayRef> {
    let lists = arguments.lists(0)?;
    texts(arguments.rows, |row, text| {
        if lists.is_null(row) {
            return Ok(false);
        }
        let parts = lists.value(row);
        text.push_str(begin);
        for (place, part) in as_string_array(&parts)?.iter().flatten().enumerate() {
            match place {
                0 => text.push_str(part.strip_prefix(LINE).unwrap_or(part)),
                _ => text.extend([", ", part]),
            }
        }
        text.push_str(end);
        finish(text)
    })
}

/// Brings a document that is to be a `jsonb` into its one form.
fn into_one_form<const JSONB: bool>(text: &mut String) -> Result<bool, SqlError> {
    if JSONB {
        *text = canonical::canonical(text)?;
    }
    Ok(true)
}

fn all_values(arguments: &Arguments, of: JsonType) -> Result<Vec<Values>> {
    let places = 0..arguments.values.len();
    places
        .map(|place| Values::of(arguments, place, of))
        .collect()
}

/// Values that become documents.
struct Values {
    values: ArrayRef,
    form: Form,
    cells: Cells,
    of: JsonType,
}

/// How values of a type are written.
enum Form {
    /// As the text says, if that is a number.
    Number,
    Boolean,
    /// As they are.
    Document,
    /// With a `T` between day and time, and minutes in the zone.
    Moment,
    String,
    /// Elements, each as it is written.
    List(Box<Values>),
    /// The names of fields and their values.
    Row(Vec<(String, Values)>),
    /// Arrays that are texts, whose elements are of this type.
    Array(u32),
}

impl Form {
    /// By the type's id; what is neither is a string.
    fn of_type(oid: u32) -> Self {
        match oid {
            20 | 21 | 23 | 700 | 701 | pg_type::NUMERIC => Self::Number,
            16 => Self::Boolean,
            pg_type::JSON | pg_type::JSONB => Self::Document,
            1114 | 1184 => Self::Moment,
            oid if pg_type::is_array(oid) => element_of(oid).map_or(Self::String, Self::Array),
            _ => Self::String,
        }
    }
}

impl Values {
    fn of(arguments: &Arguments, place: usize, of: JsonType) -> Result<Self> {
        let (field, values) = (&arguments.fields[place], &arguments.values[place]);
        Self::new(field, values, of)
    }

    fn new(field: &FieldRef, values: &ArrayRef, of: JsonType) -> Result<Self> {
        let form = match field.data_type() {
            DataType::List(item) => {
                let elements = as_list_array(values)?.values();
                Form::List(Box::new(Self::new(item, elements, of)?))
            }
            DataType::Struct(fields) => {
                let columns = fields.iter().zip(as_struct_array(values)?.columns());
                let columns = columns.map(|(field, values)| {
                    Ok((field.name().clone(), Self::new(field, values, of)?))
                });
                Form::Row(columns.collect::<Result<_>>()?)
            }
            _ => Form::of_type(pg_type::field_oid(field)),
        };
        let cells = Cells::new(values, &wire_type(field), Format::Text);
        Ok(Self {
            values: ArrayRef::clone(values),
            form,
            cells: cells.map_err(text_out::failed)?,
            of,
        })
    }

    fn is_null(&self, row: usize) -> bool {
        self.cells.is_null(row)
    }

    /// Whether they are arrays or rows.
    fn is_structured(&self) -> bool {
        matches!(self.form, Form::List(_) | Form::Array(_) | Form::Row(_))
    }

    /// The value as a text.
    fn text(&self, row: usize) -> Result<String, SqlError> {
        let mut text = BytesMut::new();
        let appended = self.cells.append_text(row, &mut text);
        appended.map_err(text_out::failed)?;
        let text = String::from_utf8_lossy(&text).into_owned();
        Ok(match (&self.form, text.as_str()) {
            (Form::Boolean, "t") => "true".to_owned(),
            (Form::Boolean, "f") => "false".to_owned(),
            _ => text,
        })
    }

    /// Appends the value as a document, `null` for NULL.
    fn write(&self, row: usize, out: &mut String) -> Result<(), SqlError> {
        if self.is_null(row) {
            out.push_str("null");
            return Ok(());
        }
        match &self.form {
            Form::List(elements) => self.write_list(row, elements, out),
            Form::Row(fields) => self.write_row(row, fields, out),
            form => write_text(&self.text(row)?, form, self.of, out),
        }
    }

    /// An object, which has no blanks in a `json`.
    fn write_row(
        &self,
        row: usize,
        fields: &[(String, Self)],
        out: &mut String,
    ) -> Result<(), SqlError> {
        let start = out.len();
        out.push('{');
        for (place, (name, values)) in fields.iter().enumerate() {
            if place > 0 {
                out.push(',');
            }
            write_string(name, out);
            out.push(':');
            values.write(row, out)?;
        }
        out.push('}');
        if self.of == JsonType::Jsonb {
            let document = canonical::canonical(&out[start..])?;
            out.replace_range(start.., &document);
        }
        Ok(())
    }

    fn write_list(&self, row: usize, elements: &Self, out: &mut String) -> Result<(), SqlError> {
        let offsets = as_list_array(&self.values)?.value_offsets();
        #[expect(clippy::cast_sign_loss, reason = "offsets are not negative")]
        let places = offsets[row] as usize..offsets[row + 1] as usize;
        write_array(places, self.of, out, |place, out| {
            elements.write(place, out)
        })
    }
}

/// Appends the document of a value that has this text.
fn write_text(text: &str, form: &Form, of: JsonType, out: &mut String) -> Result<(), SqlError> {
    match form {
        Form::Boolean => out.push_str(text),
        // NaN and the infinities are no numbers there.
        Form::Number if text.ends_with(|letter: char| letter.is_ascii_digit()) => match of {
            JsonType::Json => out.push_str(text),
            JsonType::Jsonb => out.push_str(&canonical::number(text)?),
        },
        Form::Document => match of {
            JsonType::Json => out.push_str(text),
            JsonType::Jsonb => out.push_str(&canonical::canonical(text)?),
        },
        Form::Moment => write_string(&iso(text), out),
        Form::Array(element) => {
            write_literal(&literal(text)?, &Form::of_type(*element), of, out)?;
        }
        Form::Number | Form::String | Form::List(_) | Form::Row(_) => write_string(text, out),
    }
    Ok(())
}

fn write_literal(
    literal: &ArrayLiteral,
    element: &Form,
    of: JsonType,
    out: &mut String,
) -> Result<(), SqlError> {
    if literal.dimensions.len() > 1 {
        return Err(SqlError::not_supported(
            "a JSON document of an array of more than one dimension",
        ));
    }
    write_array(&literal.elements, of, out, |value, out| {
        let Some(text) = value else {
            out.push_str("null");
            return Ok(());
        };
        let text = match (element, text.as_str()) {
            (Form::Boolean, "t") => "true",
            (Form::Boolean, "f") => "false",
            (_, text) => text,
        };
        write_text(text, element, of, out)
    })
}

/// Appends an array of SQL as one of JSON, which has no blanks in a `json`.
fn write_array<V>(
    elements: impl IntoIterator<Item = V>,
    of: JsonType,
    out: &mut String,
    mut write: impl FnMut(V, &mut String) -> Result<(), SqlError>,
) -> Result<(), SqlError> {
    if of == JsonType::Jsonb {
        return canonical::write_elements(elements, out, write);
    }
    out.push('[');
    for (place, element) in elements.into_iter().enumerate() {
        if place > 0 {
            out.push(',');
        }
        write(element, out)?;
    }
    out.push(']');
    Ok(())
}

/// A timestamp with a `T` between day and time, and minutes in the zone.
fn iso(text: &str) -> String {
    let text = text.replacen(' ', "T", 1);
    let zone = text
        .rfind(['+', '-'])
        .filter(|at| text[..*at].contains(':'));
    match zone {
        Some(at) if text.len() - at == 3 => text + ":00",
        _ => text,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn written(text: &str, oid: u32, of: JsonType) -> String {
        let mut out = String::new();
        write_text(text, &Form::of_type(oid), of, &mut out).expect("a value");
        out
    }

    #[test]
    fn values_are_written_by_their_types() {
        for (text, oid, json, jsonb) in [
            ("1.50", pg_type::NUMERIC, "1.50", "1.50"),
            ("1e+20", 701, "1e+20", "100000000000000000000"),
            ("NaN", 701, "\"NaN\"", "\"NaN\""),
            ("true", 16, "true", "true"),
            (
                "2024-01-01 07:00:00+00",
                1184,
                "\"2024-01-01T07:00:00+00:00\"",
                "\"2024-01-01T07:00:00+00:00\"",
            ),
            (
                "2024-01-01 07:00:00.5",
                1114,
                "\"2024-01-01T07:00:00.5\"",
                "\"2024-01-01T07:00:00.5\"",
            ),
            ("a\"b", 25, "\"a\\\"b\"", "\"a\\\"b\""),
            ("{1,NULL}", 1007, "[1,null]", "[1, null]"),
            ("{t,\"\"}", 1009, "[\"t\",\"\"]", "[\"t\", \"\"]"),
            (
                "{\"b\":1,\"a\":2}",
                114,
                "{\"b\":1,\"a\":2}",
                "{\"a\": 2, \"b\": 1}",
            ),
        ] {
            assert_eq!(written(text, oid, JsonType::Json), json, "{text}");
            assert_eq!(written(text, oid, JsonType::Jsonb), jsonb, "{text}");
        }
    }
}
