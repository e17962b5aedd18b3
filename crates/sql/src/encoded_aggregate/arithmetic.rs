//! Expressions of decimals and integers, computed in 64 bits.
//!
//! An expression is compiled to steps, each of which makes a *register*: a number for each row of a
//! fragment, or one for all. Equal expressions share their steps. Each register knows how many bits its
//! numbers have at most; one that might exceed 62 is left out, and who needs it has to compute otherwise.

use std::borrow::Cow;
use std::sync::Arc;

use datafusion::arrow::datatypes::{DataType, Schema};
use datafusion::common::ScalarValue;
use datafusion::physical_expr::expressions::{CastExpr, Column, Literal};
use datafusion::physical_expr::{PhysicalExpr, ScalarFunctionExpr};
use lsm::FragmentCells;
use multiversion::multiversion;

use crate::functions::short_decimals::{ADD, MULTIPLY, SUBTRACT};

/// More bits might overflow when one number is added to another.
const BITS_MAX: u32 = 62;

/// Where the numbers of an expression are.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct RegisterId(pub(super) usize);

/// How to make a register.
#[derive(Clone, Debug, PartialEq, Eq)]
enum Step {
    /// The cells of a column of the scan.
    Column(usize),
    Constant(i64),
    Multiply(RegisterId, RegisterId),
    /// The sum of both, each times a constant.
    Add {
        left: (RegisterId, i64),
        right: (RegisterId, i64),
    },
}

/// The steps of some expressions.
#[derive(Clone, Debug, Default)]
pub(super) struct Arithmetic {
    steps: Vec<Step>,
}

/// The numbers of an expression.
#[derive(Debug)]
pub(super) struct Register<'a> {
    pub(super) numbers: Numbers<'a>,
    /// All are below two to the power of this, and above minus that.
    pub(super) bits: u32,
}

/// A number for each row, or one for all.
#[derive(Debug)]
pub(super) enum Numbers<'a> {
    Each(Cow<'a, [i64]>),
    All(i64),
}

impl Arithmetic {
    /// Adds the steps of an expression over a scan's columns; `None` if it has other parts than those.
    pub(super) fn compile(
        &mut self,
        expression: &Arc<dyn PhysicalExpr>,
        schema: &Schema,
    ) -> Option<RegisterId> {
        if let Some(column) = expression.downcast_ref::<Column>() {
            return is_number(schema.field(column.index()).data_type())
                .then(|| self.add(Step::Column(column.index())));
        }
        if let Some(literal) = expression.downcast_ref::<Literal>() {
            return Some(self.add(Step::Constant(constant(literal.value())?)));
        }
        if let Some(cast) = expression.downcast_ref::<CastExpr>() {
            let factor = widening(&cast.expr().data_type(schema).ok()?, cast.cast_type())?;
            let inner = self.compile(cast.expr(), schema)?;
            let factor = self.add(Step::Constant(factor));
            return Some(self.add(Step::Multiply(inner, factor)));
        }
        let call = expression.downcast_ref::<ScalarFunctionExpr>()?;
        let [left, right] = call.args() else {
            return None;
        };
        let scales = (scale(left, schema)?, scale(right, schema)?);
        let result = scale(expression, schema)?;
        let (left, right) = (self.compile(left, schema)?, self.compile(right, schema)?);
        let step = match call.name() {
            MULTIPLY if result == scales.0 + scales.1 => Step::Multiply(left, right),
            ADD | SUBTRACT if result == scales.0.max(scales.1) => {
                let of_right = power_of_ten(result - scales.1)?;
                let sign = if call.name() == ADD { 1 } else { -1 };
                Step::Add {
                    left: (left, power_of_ten(result - scales.0)?),
                    right: (right, sign * of_right),
                }
            }
            _ => return None,
        };
        Some(self.add(step))
    }

    /// The columns that are read.
    pub(super) fn columns(&self) -> impl Iterator<Item = usize> + '_ {
        self.steps.iter().filter_map(|step| match step {
            Step::Column(column) => Some(*column),
            _ => None,
        })
    }

    fn add(&mut self, step: Step) -> RegisterId {
        let known = self.steps.iter().position(|known| *known == step);
        RegisterId(known.unwrap_or_else(|| {
            self.steps.push(step);
            self.steps.len() - 1
        }))
    }

    /// All registers for a fragment's columns, `None` where a number might not fit or is missing.
    pub(super) fn run<'a>(&self, columns: &'a [FragmentCells]) -> Vec<Option<Register<'a>>> {
        let mut registers = Vec::with_capacity(self.steps.len());
        for step in &self.steps {
            registers.push(computed(step, &registers, columns));
        }
        registers
    }
}

fn computed<'a>(
    step: &Step,
    registers: &[Option<Register<'a>>],
    columns: &'a [FragmentCells],
) -> Option<Register<'a>> {
    let register = |id: RegisterId| registers[id.0].as_ref();
    let (numbers, bits) = match *step {
        Step::Column(column) => {
            let FragmentCells::Integers(numbers) = &columns[column] else {
                return None;
            };
            (Numbers::Each(Cow::Borrowed(numbers)), bits_of_all(numbers))
        }
        Step::Constant(number) => (Numbers::All(number), bits_of(number)),
        Step::Multiply(left, right) => {
            let (left, right) = (register(left)?, register(right)?);
            (times(&left.numbers, &right.numbers), left.bits + right.bits)
        }
        Step::Add {
            left: (left, of_left),
            right: (right, of_right),
        } => {
            let (left, right) = (register(left)?, register(right)?);
            let bits = (left.bits + bits_of(of_left)).max(right.bits + bits_of(of_right));
            let numbers = plus((&left.numbers, of_left), (&right.numbers, of_right));
            (numbers, bits + 1)
        }
    };
    (bits <= BITS_MAX).then_some(Register { numbers, bits })
}

/// Wraps where the bits say that the result is left out.
fn times(left: &Numbers<'_>, right: &Numbers<'_>) -> Numbers<'static> {
    match (left, right) {
        (Numbers::All(left), Numbers::All(right)) => Numbers::All(left.wrapping_mul(*right)),
        (Numbers::Each(each), Numbers::All(all)) | (Numbers::All(all), Numbers::Each(each)) => {
            Numbers::Each(Cow::Owned(scaled_and_shifted(each, *all, 0)))
        }
        (Numbers::Each(left), Numbers::Each(right)) => {
            Numbers::Each(Cow::Owned(multiplied(left, right)))
        }
    }
}

/// The same.
fn plus(
    (left, of_left): (&Numbers<'_>, i64),
    (right, of_right): (&Numbers<'_>, i64),
) -> Numbers<'static> {
    let shifted = |each, factor, all: i64, of_all| {
        let shift = all.wrapping_mul(of_all);
        Numbers::Each(Cow::Owned(scaled_and_shifted(each, factor, shift)))
    };
    match (left, right) {
        (Numbers::All(left), Numbers::All(right)) => {
            let (left, right) = (left.wrapping_mul(of_left), right.wrapping_mul(of_right));
            Numbers::All(left.wrapping_add(right))
        }
        (Numbers::Each(each), Numbers::All(all)) => shifted(each, of_left, *all, of_right),
        (Numbers::All(all), Numbers::Each(each)) => shifted(each, of_right, *all, of_left),
        (Numbers::Each(left), Numbers::Each(right)) => {
            Numbers::Each(Cow::Owned(added(left, of_left, right, of_right)))
        }
    }
}

#[multiversion(targets("x86_64+avx512f+avx512vl+avx512dq", "x86_64+avx2"))]
fn multiplied(numbers: &[i64], factors: &[i64]) -> Vec<i64> {
    let pairs = numbers.iter().zip(factors);
    pairs
        .map(|(number, factor)| number.wrapping_mul(*factor))
        .collect()
}

#[multiversion(targets("x86_64+avx512f+avx512vl+avx512dq", "x86_64+avx2"))]
fn scaled_and_shifted(numbers: &[i64], factor: i64, shift: i64) -> Vec<i64> {
    let scaled = numbers.iter().map(|number| number.wrapping_mul(factor));
    scaled.map(|number| number.wrapping_add(shift)).collect()
}

#[multiversion(targets("x86_64+avx512f+avx512vl+avx512dq", "x86_64+avx2"))]
fn added(left: &[i64], of_left: i64, right: &[i64], of_right: i64) -> Vec<i64> {
    let scaled = |(left, right): (&i64, &i64)| {
        let (left, right) = (left.wrapping_mul(of_left), right.wrapping_mul(of_right));
        left.wrapping_add(right)
    };
    left.iter().zip(right).map(scaled).collect()
}

/// Bits that the longest of some numbers has.
#[multiversion(targets("x86_64+avx512f+avx512vl+avx512dq", "x86_64+avx2"))]
fn bits_of_all(numbers: &[i64]) -> u32 {
    let magnitudes = numbers.iter().map(|&number| number ^ (number >> 63));
    let all = magnitudes.fold(0, |all, magnitude| all | magnitude);
    // One more for the number that is one below: -8 has the magnitude of 7 here.
    i64::BITS - all.leading_zeros() + 1
}

fn bits_of(number: i64) -> u32 {
    bits_of_all(&[number])
}

/// Whether cells of a type come as numbers, and are what is added up.
fn is_number(data_type: &DataType) -> bool {
    matches!(
        data_type,
        DataType::Decimal128(..) | DataType::Int16 | DataType::Int32 | DataType::Int64
    )
}

/// A decimal's unscaled number.
fn constant(value: &ScalarValue) -> Option<i64> {
    match value {
        ScalarValue::Decimal128(Some(number), ..) => i64::try_from(*number).ok(),
        _ => None,
    }
}

/// What an integer is multiplied with to become a decimal that has room for all of its type.
fn widening(from: &DataType, to: &DataType) -> Option<i64> {
    let digits = match from {
        DataType::Int16 => 5,
        DataType::Int32 => 10,
        DataType::Int64 => 19,
        _ => return None,
    };
    let DataType::Decimal128(precision, scale) = to else {
        return None;
    };
    let room = i32::from(*precision) - i32::from(*scale);
    (*scale >= 0 && room >= digits).then(|| power_of_ten(*scale))?
}

/// The scale of a decimal of 128 bits.
fn scale(expression: &Arc<dyn PhysicalExpr>, schema: &Schema) -> Option<i8> {
    match expression.data_type(schema) {
        Ok(DataType::Decimal128(_, scale)) => Some(scale),
        _ => None,
    }
}

fn power_of_ten(digits: i8) -> Option<i64> {
    10_i64.checked_pow(u32::try_from(digits).ok()?)
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    /// Steps that use the results of those before them.
    fn steps() -> impl Strategy<Value = Vec<Step>> {
        let step = (
            0..4,
            any::<usize>(),
            any::<usize>(),
            -1_000..1_000_i64,
            -100..100_i64,
        );
        prop::collection::vec(step, 1..8).prop_map(|drawn| {
            let mut steps = vec![Step::Column(0), Step::Column(1)];
            for (kind, left, right, first, second) in drawn {
                let (left, right) = (left % steps.len(), right % steps.len());
                let (left, right) = (RegisterId(left), RegisterId(right));
                steps.push(match kind {
                    0 => Step::Constant(first),
                    1 | 2 => Step::Multiply(left, right),
                    _ => Step::Add {
                        left: (left, first),
                        right: (right, second),
                    },
                });
            }
            steps
        })
    }

    /// The same in wide numbers, as long as these are enough.
    fn expected(steps: &[Step], cells: [i64; 2]) -> Vec<Option<i128>> {
        let mut results: Vec<Option<i128>> = Vec::new();
        for step in steps {
            let result = |id: RegisterId| results[id.0];
            let scaled = |(id, factor): (RegisterId, i64)| result(id)?.checked_mul(factor.into());
            let next = match *step {
                Step::Column(column) => Some(cells[column].into()),
                Step::Constant(number) => Some(number.into()),
                Step::Multiply(left, right) => result(left)
                    .zip(result(right))
                    .and_then(|(left, right)| left.checked_mul(right)),
                Step::Add { left, right } => scaled(left)
                    .zip(scaled(right))
                    .and_then(|(left, right)| left.checked_add(right)),
            };
            results.push(next);
        }
        results
    }

    fn number() -> impl Strategy<Value = i64> {
        (0..64_u32, any::<i64>()).prop_map(|(shift, number)| number >> shift)
    }

    proptest! {
        #[test]
        fn what_is_computed_is_exact_and_within_its_bits(
            rows in prop::collection::vec((number(), number()), 1..20),
            steps in steps(),
        ) {
            let (first, second): (Vec<i64>, Vec<i64>) = rows.iter().copied().unzip();
            let columns = [FragmentCells::Integers(first), FragmentCells::Integers(second)];
            let arithmetic = Arithmetic { steps };
            let registers = arithmetic.run(&columns);
            for (row, &(first, second)) in rows.iter().enumerate() {
                let expected = expected(&arithmetic.steps, [first, second]);
                for (register, expected) in registers.iter().zip(expected) {
                    let Some(Register { numbers, bits }) = register else {
                        continue;
                    };
                    let number = match numbers {
                        Numbers::Each(numbers) => numbers[row],
                        Numbers::All(number) => *number,
                    };
                    prop_assert_eq!(Some(i128::from(number)), expected);
                    prop_assert!(number.unsigned_abs() < 1 << bits);
                }
            }
        }
    }

    #[test]
    fn equal_steps_are_made_once_and_long_numbers_are_left_out() {
        let mut arithmetic = Arithmetic::default();
        let column = arithmetic.add(Step::Column(0));
        let square = arithmetic.add(Step::Multiply(column, column));
        assert_eq!(arithmetic.add(Step::Multiply(column, column)), square);
        let short = [FragmentCells::Integers(vec![1 << 20, -7])];
        assert!(arithmetic.run(&short).iter().all(Option::is_some));
        let long = [FragmentCells::Integers(vec![1 << 40, -7])];
        let registers = arithmetic.run(&long);
        assert!(registers[column.0].is_some() && registers[square.0].is_none());
    }
}
