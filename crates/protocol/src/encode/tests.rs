//! Whole rows, text and binary, for every column type and for odd ones.

use std::collections::HashMap;
use std::sync::Arc;

use arrow_array::types::{Int32Type, IntervalMonthDayNano};
use arrow_array::{
    Array as _, ArrayRef, BinaryArray, BooleanArray, Date32Array, Decimal128Array, DictionaryArray,
    DurationNanosecondArray, Float32Array, Float64Array, Int16Array, Int32Array, Int64Array,
    IntervalMonthDayNanoArray, ListArray, NullArray, StringArray, StringViewArray, StructArray,
    Time64MicrosecondArray, TimestampMicrosecondArray, TimestampNanosecondArray, UInt64Array,
};
use arrow_schema::{DataType, Field, Fields};

use super::wire_type::{META_MODIFIER, META_OID, oid};
use super::*;

fn typed(field: Field, oid: u32, modifier: i32) -> Field {
    field.with_metadata(HashMap::from([
        (META_OID.to_owned(), oid.to_string()),
        (META_MODIFIER.to_owned(), modifier.to_string()),
    ]))
}

/// The cells of every row of a column.
fn cells(field: Field, array: ArrayRef, format: Format) -> Vec<Result<Option<Vec<u8>>, String>> {
    let schema = Arc::new(Schema::new(vec![field]));
    let batch = RecordBatch::try_new(schema.clone(), vec![array]).expect("a batch");
    let encoder = RowEncoder::new(&schema, |_| format);
    let rows = match encoder.bind(&batch) {
        Ok(rows) => rows,
        Err(error) => return vec![Err(error.code().to_owned())],
    };
    let cell = |row| {
        let mut out = BytesMut::new();
        rows.append(row, &mut out)
            .map_err(|error| error.code().to_owned())?;
        assert_eq!(out[0], b'D');
        let length = i32::from_be_bytes(out[1..5].try_into().expect("four bytes"));
        assert_eq!(length as usize, out.len() - 1);
        assert_eq!(out[5..7], [0, 1]);
        let cell = i32::from_be_bytes(out[7..11].try_into().expect("four bytes"));
        Ok((cell >= 0).then(|| out[11..].to_vec()))
    };
    (0..rows.len()).map(cell).collect()
}

fn text_of(field: Field, array: impl arrow_array::Array + 'static) -> Vec<Option<String>> {
    let cells = cells(field, Arc::new(array), Format::Text);
    let utf8 = |bytes| String::from_utf8(bytes).expect("text is UTF-8");
    cells
        .into_iter()
        .map(|cell| cell.expect("a cell").map(utf8))
        .collect()
}

/// The text of the first cell of a column without source type.
fn text(array: impl arrow_array::Array + 'static) -> String {
    let field = Field::new("c", array.data_type().clone(), true);
    text_of(field, array)[0].clone().expect("not NULL")
}

fn binary_of(field: Field, array: impl arrow_array::Array + 'static) -> Vec<u8> {
    let cells = cells(field, Arc::new(array), Format::Binary);
    cells[0].clone().expect("a cell").expect("not NULL")
}

fn binary(array: impl arrow_array::Array + 'static) -> Vec<u8> {
    binary_of(Field::new("c", array.data_type().clone(), true), array)
}

fn utf8() -> Field {
    Field::new("c", DataType::Utf8, true)
}

#[test]
fn plain_types_in_both_formats() {
    assert_eq!(text(BooleanArray::from(vec![true])), "t");
    assert_eq!(text(Int16Array::from(vec![-7])), "-7");
    assert_eq!(
        text(Int64Array::from(vec![i64::MIN])),
        "-9223372036854775808"
    );
    assert_eq!(text(Float32Array::from(vec![1e6])), "1e+06");
    assert_eq!(text(Float64Array::from(vec![1e20])), "1e+20");
    assert_eq!(
        text(BinaryArray::from(vec![&[0_u8, 0xAB, 0xFF][..]])),
        "\\x00abff"
    );
    assert_eq!(text(StringViewArray::from(vec!["grüß"])), "grüß");
    assert_eq!(text(Date32Array::from(vec![i32::MAX])), "infinity");
    assert_eq!(
        text(Time64MicrosecondArray::from(vec![86_400_000_000])),
        "24:00:00"
    );
    assert_eq!(
        text(TimestampMicrosecondArray::from(vec![1])),
        "1970-01-01 00:00:00.000001"
    );

    assert_eq!(binary(BooleanArray::from(vec![true])), [1]);
    assert_eq!(binary(Int16Array::from(vec![-2])), [0xFF, 0xFE]);
    assert_eq!(binary(Int32Array::from(vec![1])), [0, 0, 0, 1]);
    assert_eq!(binary(Float64Array::from(vec![1.0])), 1_f64.to_be_bytes());
    assert_eq!(binary(BinaryArray::from(vec![&[7_u8][..]])), [7]);
    assert_eq!(binary(Date32Array::from(vec![10_957])), [0; 4]);
    assert_eq!(
        binary(TimestampMicrosecondArray::from(vec![i64::MAX])),
        i64::MAX.to_be_bytes()
    );
}

#[test]
fn timestamps_of_any_unit_and_zone() {
    let nanos = TimestampNanosecondArray::from(vec![1_234_567_890]).with_timezone("+00:00");
    assert_eq!(text(nanos.clone()), "1970-01-01 00:00:01.234567+00");
    let field = Field::new(
        "c",
        DataType::Timestamp(arrow_schema::TimeUnit::Nanosecond, Some("+00:00".into())),
        true,
    );
    assert_eq!(wire_type(&field).oid, oid::TIMESTAMPTZ);
    let micros = 1_234_567_i64 - 946_684_800_000_000;
    assert_eq!(binary(nanos), micros.to_be_bytes());
}

#[test]
fn decimals_follow_their_scale() {
    let decimal = || {
        Decimal128Array::from(vec![-1_234_500])
            .with_precision_and_scale(15, 4)
            .expect("fits")
    };
    assert_eq!(text(decimal()), "-123.4500");
    assert_eq!(
        binary(decimal()),
        [0, 2, 0, 0, 0x40, 0, 0, 4, 0, 123, 0x11, 0x94]
    );
    let field = Field::new("c", DataType::Decimal128(15, 4), true);
    let modifier = ((15 << 16) | 4) + 4;
    let announced = wire_type(&typed(field, oid::NUMERIC, modifier));
    assert_eq!(
        announced,
        WireType {
            oid: oid::NUMERIC,
            modifier
        }
    );
}

#[test]
fn nulls_have_no_bytes() {
    let array = Int32Array::from(vec![None, Some(1)]);
    let field = Field::new("c", DataType::Int32, true);
    assert_eq!(text_of(field, array), [None, Some("1".to_owned())]);
    let field = Field::new("c", DataType::Null, true);
    assert_eq!(text_of(field.clone(), NullArray::new(1)), [None]);
    assert_eq!(wire_type(&field).oid, oid::TEXT);
}

#[test]
fn characters_are_padded_to_their_length() {
    let field = typed(utf8(), oid::BPCHAR, 4 + 4);
    assert_eq!(
        text_of(field.clone(), StringArray::from(vec!["ä", "abcd"])),
        [Some("ä   ".to_owned()), Some("abcd".to_owned())]
    );
    assert_eq!(binary_of(field, StringArray::from(vec!["x"])), b"x   ");
}

#[test]
fn text_columns_give_the_binary_form_of_their_source_type() {
    let value = |oid, text| binary_of(typed(utf8(), oid, -1), StringArray::from(vec![text]));
    assert_eq!(
        value(oid::UUID, "00010203-0405-0607-0809-0a0b0c0d0e0f"),
        (0..16).collect::<Vec<u8>>()
    );
    assert_eq!(value(oid::JSONB, "{}"), b"\x01{}");
    assert_eq!(value(oid::JSON, "{}"), b"{}");
    assert_eq!(
        value(oid::NUMERIC, "1.5"),
        [0, 2, 0, 0, 0, 0, 0, 1, 0, 1, 0x13, 0x88]
    );
    assert_eq!(
        value(oid::INTERVAL, "1 mon 2 days")[8..],
        [0, 0, 0, 2, 0, 0, 0, 1]
    );
    assert_eq!(
        value(oid::TIMETZ, "00:00:00+01")[8..],
        (-3600_i32).to_be_bytes()
    );
    assert_eq!(
        value(1007, "{1,NULL}"),
        [
            [0, 0, 0, 1],
            [0, 0, 0, 1],
            [0, 0, 0, 23],
            [0, 0, 0, 2],
            [0, 0, 0, 1],
            [0, 0, 0, 4],
            [0, 0, 0, 1],
            [0xFF, 0xFF, 0xFF, 0xFF],
        ]
        .concat()
    );
    let bad = cells(
        typed(utf8(), oid::UUID, -1),
        Arc::new(StringArray::from(vec!["x"])),
        Format::Binary,
    );
    assert_eq!(bad, [Err("22P02".to_owned())]);
}

#[test]
fn a_source_type_that_the_column_no_longer_holds_is_not_announced() {
    let announced = |field, oid| wire_type(&typed(field, oid, 7));
    assert_eq!(
        announced(Field::new("c", DataType::Int64, true), oid::INT4),
        WireType {
            oid: oid::INT8,
            modifier: -1
        }
    );
    assert_eq!(
        announced(utf8(), 16_500).oid,
        oid::TEXT,
        "an enum of the source"
    );
    assert_eq!(
        announced(utf8(), oid::VARCHAR),
        WireType {
            oid: oid::VARCHAR,
            modifier: 7
        }
    );
}

#[test]
fn unsigned_numbers_are_bigint_while_they_fit() {
    assert_eq!(text(UInt64Array::from(vec![7])), "7");
    let field = Field::new("c", DataType::UInt64, true);
    let out = cells(
        field,
        Arc::new(UInt64Array::from(vec![u64::MAX])),
        Format::Text,
    );
    assert_eq!(out, [Err("22003".to_owned())]);
}

#[test]
fn intervals_and_durations() {
    let value = IntervalMonthDayNano::new(13, 1, 1_500_000_000);
    assert_eq!(
        text(IntervalMonthDayNanoArray::from(vec![value])),
        "1 year 1 mon 1 day 00:00:01.5"
    );
    let micros = 1_500_000_i64.to_be_bytes();
    assert_eq!(
        binary(IntervalMonthDayNanoArray::from(vec![value])),
        [&micros[..], &[0, 0, 0, 1, 0, 0, 0, 13]].concat()
    );
    let day_and_hour = DurationNanosecondArray::from(vec![90_000_000_000_000]);
    assert_eq!(text(day_and_hour), "1 day 01:00:00");
}

#[test]
fn lists_are_arrays() {
    let list = || {
        let values = vec![Some(vec![Some(1), None]), Some(vec![])];
        ListArray::from_iter_primitive::<Int32Type, _, _>(values)
    };
    assert_eq!(text(list()), "{1,NULL}");
    let field = Field::new("c", list_type(), true);
    assert_eq!(wire_type(&field).oid, 1007);
    assert_eq!(text_of(field, list())[1].as_deref(), Some("{}"));
    assert_eq!(binary(list())[..12], [0, 0, 0, 1, 0, 0, 0, 1, 0, 0, 0, 23]);
}

#[test]
fn lists_of_lists_are_arrays_of_two_dimensions() {
    let lists = |rows: [&[i32]; 2]| {
        let inner = rows.map(|row| Some(row.iter().copied().map(Some).collect::<Vec<_>>()));
        let inner: ArrayRef = Arc::new(ListArray::from_iter_primitive::<Int32Type, _, _>(inner));
        let offsets = arrow_buffer::OffsetBuffer::from_lengths([inner.len()]);
        let item = Arc::new(Field::new_list_field(inner.data_type().clone(), true));
        ListArray::new(item, offsets, inner, None)
    };
    let even = lists([&[1, 2], &[3, 4]]);
    assert_eq!(text(even.clone()), "{{1,2},{3,4}}");
    let field = Field::new("c", even.data_type().clone(), true);
    assert_eq!(wire_type(&field).oid, 1007);
    let mut expected = Vec::new();
    for part in [2_i32, 0, 23, 2, 1, 2, 1] {
        expected.extend(part.to_be_bytes());
    }
    for element in [1_i32, 2, 3, 4] {
        expected.extend([4_i32.to_be_bytes(), element.to_be_bytes()].concat());
    }
    assert_eq!(binary(even), expected);
    let uneven = cells(field, Arc::new(lists([&[1], &[2, 3]])), Format::Binary);
    assert!(uneven[0].is_err(), "arrays in an array are of one length");
}

fn list_type() -> DataType {
    DataType::List(Arc::new(Field::new_list_field(DataType::Int32, true)))
}

#[test]
fn dictionaries_are_their_values_and_structures_are_rows() {
    let dictionary: DictionaryArray<Int32Type> = vec!["a", "b", "a"].into_iter().collect();
    assert_eq!(text(dictionary.clone()), "a");
    assert_eq!(binary(dictionary), b"a");
    let fields = Fields::from(vec![Field::new("x", DataType::Int32, true)]);
    let column: ArrayRef = Arc::new(Int32Array::from(vec![1]));
    let structure = StructArray::new(fields, vec![column], None);
    assert_eq!(text(structure.clone()), "(1)");
    let mut expected = vec![0, 0, 0, 1];
    for part in [23_i32, 4, 1] {
        expected.extend(part.to_be_bytes());
    }
    assert_eq!(binary(structure), expected);
}
