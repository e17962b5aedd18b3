//! Functions of regular expressions: `regexp_match`, `regexp_matches`, `regexp_split_to_array`, `regexp_substr`, `regexp_count`,
//! `regexp_instr`, `regexp_like` and `regexp_replace`.
//!
//! A [`pattern`] is compiled once a batch, from PostgreSQL's [`syntax`]. Matches are counted as PostgreSQL counts them: one of nothing may
//! follow another match. `regexp_matches` gives a list of what are rows in PostgreSQL.
//!
//! Does not: the operator `~`, which is DataFusion's and gets its pattern [`in_engine_words`].

mod flags;
mod pattern;
mod replacement;
mod syntax;

use std::collections::HashMap;
use std::collections::hash_map::Entry;
use std::ops::RangeInclusive;
use std::sync::Arc;

use datafusion::arrow::array::cast::AsArray;
use datafusion::arrow::array::{
    Array, ArrayRef, BooleanArray, Int32Array, ListBuilder, StringArray, StringBuilder,
};
use datafusion::arrow::buffer::NullBuffer;
use datafusion::arrow::datatypes::{DataType, Int32Type};
use datafusion::common::Result;
use datafusion::logical_expr::{
    ColumnarValue, ScalarFunctionArgs, ScalarUDF, ScalarUDFImpl, Signature, Volatility,
};

use super::constant_call::computed;
use crate::error::{SqlError, code};
use flags::Flags;
use pattern::{Pattern, Span, behind};
use replacement::Replacement;

/// All of them.
pub(crate) fn functions() -> [ScalarUDF; 8] {
    [
        Form::Match,
        Form::Matches,
        Form::Split,
        Form::Part,
        Form::Count,
        Form::Place,
        Form::Like,
        Form::Replaced,
    ]
    .map(|form| {
        ScalarUDF::from(RegularExpression {
            form,
            signature: Signature::user_defined(Volatility::Immutable),
        })
    })
}

/// PostgreSQL's pattern and the letters that say how it is meant, as a pattern of the engine's.
pub(super) fn in_engine_words(pattern: &str, letters: &str) -> Result<String, SqlError> {
    syntax::translated(pattern, Flags::new(letters)?)
}

/// Whether a text matches.
pub(super) type Matcher = Box<dyn Fn(&str) -> bool>;

/// Tells whether texts match PostgreSQL's pattern.
pub(super) fn matcher(pattern: &str, letters: &str) -> Result<Matcher, SqlError> {
    let pattern = Pattern::new(pattern, Flags::new(letters)?)?;
    Ok(Box::new(move |text| {
        pattern.matches(text, 0).next().is_some()
    }))
}

/// What a function tells of matches.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
enum Form {
    /// The groups of the first one.
    Match,
    /// The groups of all.
    Matches,
    /// What is between them.
    Split,
    /// One of them, or a group of it.
    Part,
    Count,
    /// Where one of them is, or a group of it.
    Place,
    /// Whether there is one.
    Like,
    /// The text with something else in the place of one or all.
    Replaced,
}

/// What an argument says.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Parameter {
    Text,
    Pattern,
    /// What is put in the place of a match.
    Replacement,
    Flags,
    /// The character from which on matches are looked for.
    Start,
    /// Which of the matches.
    Which,
    /// Whether the place behind it is asked for.
    Behind,
    /// Which of the groups; the whole match is 0.
    Group,
}

impl Form {
    fn name(self) -> &'static str {
        match self {
            Self::Match => "regexp_match",
            Self::Matches => "regexp_matches",
            Self::Split => "regexp_split_to_array",
            Self::Part => "regexp_substr",
            Self::Count => "regexp_count",
            Self::Place => "regexp_instr",
            Self::Like => "regexp_like",
            Self::Replaced => "regexp_replace",
        }
    }

    /// The parameters for arguments of these types. All but those that are [`required`](Self::required) may be left out from the
    /// last one on.
    fn parameters(self, of: &[DataType]) -> &'static [Parameter] {
        use Parameter::{Behind, Flags, Group, Pattern, Replacement, Start, Text, Which};
        match self {
            Self::Match | Self::Matches | Self::Split | Self::Like => &[Text, Pattern, Flags],
            Self::Replaced if of.get(3).is_some_and(DataType::is_integer) => {
                &[Text, Pattern, Replacement, Start, Which, Flags]
            }
            Self::Replaced => &[Text, Pattern, Replacement, Flags],
            Self::Count => &[Text, Pattern, Start, Flags],
            Self::Part => &[Text, Pattern, Start, Which, Flags, Group],
            Self::Place => &[Text, Pattern, Start, Which, Behind, Flags, Group],
        }
    }

    /// How many arguments there are at least.
    fn required(self) -> usize {
        match self {
            Self::Replaced => 3,
            _ => 2,
        }
    }

    fn gives(self) -> DataType {
        let texts = DataType::new_list(DataType::Utf8, true);
        match self {
            Self::Match | Self::Split => texts,
            Self::Matches => DataType::new_list(texts, true),
            Self::Part | Self::Replaced => DataType::Utf8,
            Self::Like => DataType::Boolean,
            Self::Count | Self::Place => DataType::Int32,
        }
    }

    fn not_global(self) -> SqlError {
        let name = self.name();
        let message = format!("{name}() does not support the \"global\" option");
        let error = SqlError::new(code::INVALID_PARAMETER_VALUE, message);
        match self {
            Self::Match => error.with_hint("Use the regexp_matches function instead."),
            _ => error,
        }
    }
}

impl Parameter {
    /// The type in which an argument of one is taken; `None` where it is not.
    fn coerced(self, of: &DataType) -> Option<DataType> {
        match self {
            Self::Text | Self::Pattern | Self::Replacement | Self::Flags => {
                (of.is_string() || of.is_null()).then_some(DataType::Utf8)
            }
            _ => (of.is_integer() || of.is_null()).then_some(DataType::Int32),
        }
    }
}

/// One of the functions.
#[derive(Debug, PartialEq, Eq, Hash)]
struct RegularExpression {
    form: Form,
    signature: Signature,
}

impl ScalarUDFImpl for RegularExpression {
    fn name(&self) -> &str {
        self.form.name()
    }

    fn signature(&self) -> &Signature {
        &self.signature
    }

    fn coerce_types(&self, arguments: &[DataType]) -> Result<Vec<DataType>> {
        let parameters = self.form.parameters(arguments);
        let pairs = parameters.iter().zip(arguments);
        let coerced: Option<Vec<_>> = pairs.map(|(as_one, of)| as_one.coerced(of)).collect();
        coerced
            .filter(|_| (self.form.required()..=parameters.len()).contains(&arguments.len()))
            .ok_or_else(|| SqlError::undefined_function(self.name(), arguments).into())
    }

    fn return_type(&self, _: &[DataType]) -> Result<DataType> {
        Ok(self.form.gives())
    }

    fn invoke_with_args(&self, args: ScalarFunctionArgs) -> Result<ColumnarValue> {
        computed(&args, |rows| {
            Arguments::new(self.form, &args.args, rows)?.results()
        })
    }
}

/// The arguments of a batch.
struct Arguments {
    form: Form,
    parameters: &'static [Parameter],
    values: Vec<ArrayRef>,
    rows: usize,
    /// Rows of which an argument is NULL.
    nulls: Option<NullBuffer>,
}

/// The patterns of a batch by their texts and flags.
type Patterns<'a> = HashMap<(&'a str, &'a str), Pattern>;

impl Arguments {
    fn new(form: Form, arguments: &[ColumnarValue], rows: usize) -> Result<Self> {
        let values = arguments.iter().map(|value| value.to_array(rows));
        let values = values.collect::<Result<Vec<_>>>()?;
        let nulls = values.iter().map(|values| values.logical_nulls());
        let nulls = nulls.fold(None, |all: Option<NullBuffer>, nulls| {
            NullBuffer::union(all.as_ref(), nulls.as_ref())
        });
        let types = values.iter().map(|values| values.data_type().clone());
        let types: Vec<DataType> = types.collect();
        Ok(Self {
            form,
            parameters: form.parameters(&types),
            values,
            rows,
            nulls,
        })
    }

    fn values(&self, of: Parameter) -> Option<&ArrayRef> {
        let mut parameters = self.parameters.iter();
        let place = parameters.position(|parameter| *parameter == of)?;
        self.values.get(place)
    }

    fn texts(&self, of: Parameter) -> Option<&StringArray> {
        self.values(of).map(|texts| texts.as_string::<i32>())
    }

    fn numbers(&self, of: Parameter) -> Option<&Int32Array> {
        let numbers = self.values(of);
        numbers.map(|numbers| numbers.as_primitive::<Int32Type>())
    }

    /// The results of all rows.
    fn results(&self) -> Result<ArrayRef> {
        let form = self.form;
        match form {
            Form::Match | Form::Split => {
                let mut lists = ListBuilder::new(StringBuilder::new());
                self.each(|row| {
                    let Some(row) = row else {
                        lists.append(false);
                        return Ok(());
                    };
                    let found = match form {
                        Form::Split => {
                            for part in row.pattern.parts(row.text) {
                                lists.values().append_value(part);
                            }
                            true
                        }
                        _ => row.first_groups(lists.values()),
                    };
                    lists.append(found);
                    Ok(())
                })?;
                Ok(Arc::new(lists.finish()))
            }
            Form::Matches => {
                let mut rows = ListBuilder::new(ListBuilder::new(StringBuilder::new()));
                self.each(|row| {
                    let is_valid = row.is_some();
                    if let Some(row) = row {
                        row.all_groups(rows.values());
                    }
                    rows.append(is_valid);
                    Ok(())
                })?;
                Ok(Arc::new(rows.finish()))
            }
            Form::Part => {
                let mut parts = StringBuilder::new();
                let numbers = Numbers::of(self);
                self.each(|row| {
                    let part = match row {
                        Some(row) => numbers.at(row.row)?.part(row),
                        None => None,
                    };
                    parts.append_option(part);
                    Ok(())
                })?;
                Ok(Arc::new(parts.finish()))
            }
            Form::Like => {
                let mut found = Vec::with_capacity(self.rows);
                self.each(|row| {
                    found.push(row.map(|row| row.pattern.matches(row.text, 0).next().is_some()));
                    Ok(())
                })?;
                Ok(Arc::new(BooleanArray::from(found)))
            }
            Form::Replaced => Ok(Arc::new(self.replaced()?)),
            Form::Count | Form::Place => {
                let mut counts = Vec::with_capacity(self.rows);
                let numbers = Numbers::of(self);
                self.each(|row| {
                    let Some(row) = row else {
                        counts.push(None);
                        return Ok(());
                    };
                    let numbers = numbers.at(row.row)?;
                    let count = match form {
                        Form::Count => numbers.count(row)?,
                        _ => numbers.place(row)?,
                    };
                    counts.push(Some(count));
                    Ok(())
                })?;
                Ok(Arc::new(Int32Array::from(counts)))
            }
        }
    }

    /// The texts of all rows with the replacement in the place of what is matched.
    fn replaced(&self) -> Result<StringArray, SqlError> {
        let replacements = self.texts(Parameter::Replacement);
        let numbers = Numbers::of(self);
        let mut parsed: HashMap<&str, Replacement> = HashMap::new();
        let mut replaced = StringBuilder::new();
        let mut out = String::new();
        self.each(|row| {
            let (Some(row), Some(replacements)) = (row, replacements) else {
                replaced.append_null();
                return Ok(());
            };
            let replacement = replacements.value(row.row);
            let replacement = parsed
                .entry(replacement)
                .or_insert_with(|| Replacement::new(replacement));
            out.clear();
            numbers.at(row.row)?.replace(row, replacement, &mut out);
            replaced.append_value(&out);
            Ok(())
        })?;
        Ok(replaced.finish())
    }

    /// Hands out row by row, with its pattern; `None` for one with an argument that is NULL.
    fn each(
        &self,
        mut with: impl FnMut(Option<Row>) -> Result<(), SqlError>,
    ) -> Result<(), SqlError> {
        let [texts, patterns] = [0, 1].map(|place: usize| self.values[place].as_string::<i32>());
        let flags = self.texts(Parameter::Flags);
        let mut compiled = Patterns::new();
        for row in 0..self.rows {
            if self.nulls.as_ref().is_some_and(|nulls| nulls.is_null(row)) {
                with(None)?;
                continue;
            }
            let flags = flags.map_or("", |flags| flags.value(row));
            let pattern = self.compiled(&mut compiled, patterns.value(row), flags)?;
            with(Some(Row {
                row,
                text: texts.value(row),
                pattern,
            }))?;
        }
        Ok(())
    }

    fn compiled<'c, 'a>(
        &self,
        compiled: &'c mut Patterns<'a>,
        pattern: &'a str,
        letters: &'a str,
    ) -> Result<&'c mut Pattern, SqlError> {
        match compiled.entry((pattern, letters)) {
            Entry::Occupied(known) => Ok(known.into_mut()),
            Entry::Vacant(place) => {
                let flags = Flags::new(letters)?;
                if flags.global && !matches!(self.form, Form::Matches | Form::Replaced) {
                    return Err(self.form.not_global());
                }
                Ok(place.insert(Pattern::new(pattern, flags)?))
            }
        }
    }
}

/// A text, and the pattern that is looked for in it.
struct Row<'a> {
    row: usize,
    text: &'a str,
    pattern: &'a mut Pattern,
}

impl Row<'_> {
    /// Appends the groups of the first match, if there is one.
    fn first_groups(self, out: &mut StringBuilder) -> bool {
        let mut groups = Vec::new();
        let found = self.pattern.groups(self.text, 0, &mut groups);
        if found {
            append_groups(self.text, &groups, out);
        }
        found
    }

    /// Appends a list of groups for each match, or for the first one if the flags say nothing else.
    fn all_groups(self, out: &mut ListBuilder<StringBuilder>) {
        let mut groups = Vec::new();
        let mut at = Some(0);
        while let Some(from) = at
            && self.pattern.groups(self.text, from, &mut groups)
        {
            append_groups(self.text, &groups, out.values());
            out.append(true);
            let whole = groups.first().copied().flatten();
            let next = whole.and_then(|whole| behind(self.text, whole));
            at = next.filter(|_| self.pattern.flags.global);
        }
    }
}

/// Appends what is in the groups of a match, or the whole match if there are none.
fn append_groups(text: &str, groups: &[Option<Span>], out: &mut StringBuilder) {
    let shown = if groups.len() > 1 {
        &groups[1..]
    } else {
        groups
    };
    for group in shown {
        out.append_option(group.map(|(start, end)| &text[start..end]));
    }
}

/// The numbers among the arguments of a batch.
struct Numbers<'a> {
    start: Option<&'a Int32Array>,
    which: Option<&'a Int32Array>,
    which_min: i32,
    behind: Option<&'a Int32Array>,
    group: Option<&'a Int32Array>,
}

impl<'a> Numbers<'a> {
    fn of(arguments: &'a Arguments) -> Self {
        Self {
            start: arguments.numbers(Parameter::Start),
            which: arguments.numbers(Parameter::Which),
            which_min: i32::from(arguments.form != Form::Replaced),
            behind: arguments.numbers(Parameter::Behind),
            group: arguments.numbers(Parameter::Group),
        }
    }

    fn at(&self, row: usize) -> Result<RowNumbers, SqlError> {
        let number = |numbers: Option<&Int32Array>, other: i32| {
            numbers.map_or(other, |numbers| numbers.value(row))
        };
        let which = self.which.map(|which| {
            let range = self.which_min..=i32::MAX;
            checked("n", which.value(row), range)
        });
        Ok(RowNumbers {
            start: checked("start", number(self.start, 1), 1..=i32::MAX)?,
            which: which.transpose()?,
            behind: checked("endoption", number(self.behind, 0), 0..=1)? == 1,
            group: checked("subexpr", number(self.group, 0), 0..=i32::MAX)?,
        })
    }
}

/// A number that has to be in a range.
fn checked(name: &str, number: i32, range: RangeInclusive<i32>) -> Result<usize, SqlError> {
    let fits = range.contains(&number);
    let checked = usize::try_from(number).ok().filter(|_| fits);
    checked.ok_or_else(|| {
        let message = format!("invalid value for parameter \"{name}\": {number}");
        SqlError::new(code::INVALID_PARAMETER_VALUE, message)
    })
}

/// The numbers among the arguments of a row.
struct RowNumbers {
    start: usize,
    /// Which of the matches; 0 are all, where something is put in their place.
    which: Option<usize>,
    behind: bool,
    group: usize,
}

impl RowNumbers {
    /// The byte from which on matches are looked for; `None` behind the text.
    fn first_byte(&self, text: &str) -> Option<usize> {
        let places = text.char_indices().map(|(place, _)| place);
        let mut places = places.chain(std::iter::once(text.len()));
        places.nth(self.start - 1)
    }

    /// Where the match is that is asked for, or its group.
    fn span(&self, row: Row) -> Option<Span> {
        let from = self.first_byte(row.text)?;
        let whole = row
            .pattern
            .matches(row.text, from)
            .nth(self.which.unwrap_or(1) - 1)?;
        if self.group == 0 {
            return Some(whole);
        }
        let mut groups = Vec::new();
        row.pattern.groups(row.text, whole.0, &mut groups);
        groups.get(self.group).copied().flatten()
    }

    fn part<'t>(&self, row: Row<'t>) -> Option<&'t str> {
        let text = row.text;
        self.span(row).map(|(start, end)| &text[start..end])
    }

    /// Writes the text with the replacement in the place of the match that is asked for, or of all.
    fn replace(&self, row: Row, replacement: &Replacement, out: &mut String) {
        let Row { text, pattern, .. } = row;
        let which = self.which.unwrap_or(usize::from(!pattern.flags.global));
        let mut at = self.first_byte(text);
        let (mut kept, mut number) = (0, 0);
        let (has_groups, mut groups) = (replacement.has_groups(), Vec::new());
        while let Some(from) = at
            && let Some(whole) = pattern.first(text, from, has_groups, &mut groups)
        {
            number += 1;
            if which == 0 || which == number {
                out.push_str(&text[kept..whole.0]);
                replacement.write(text, &groups, out);
                kept = whole.1;
            }
            at = behind(text, whole).filter(|_| which != number);
        }
        out.push_str(&text[kept..]);
    }

    fn count(&self, row: Row) -> Result<i32, SqlError> {
        let from = self.first_byte(row.text);
        let count = from.map_or(0, |from| row.pattern.matches(row.text, from).count());
        integer(count)
    }

    /// The character at which the match begins, or that behind it; 0 if there is none.
    fn place(&self, row: Row) -> Result<i32, SqlError> {
        let text = row.text;
        let Some((start, end)) = self.span(row) else {
            return Ok(0);
        };
        let before = if self.behind { end } else { start };
        integer(text[..before].chars().count() + 1)
    }
}

fn integer(count: usize) -> Result<i32, SqlError> {
    i32::try_from(count)
        .map_err(|_| SqlError::new(code::NUMERIC_VALUE_OUT_OF_RANGE, "integer out of range"))
}

#[cfg(test)]
mod tests {
    use datafusion::arrow::array::ListArray;

    use super::*;

    fn results(form: Form, texts: &[&str], numbers: &[(usize, i32)]) -> Result<ArrayRef, SqlError> {
        let mut values: Vec<ArrayRef> = Vec::new();
        let mut texts = texts.iter();
        let types = vec![DataType::Int32; form.required() + usize::from(!numbers.is_empty())];
        let parameters = form.parameters(&types);
        for (place, parameter) in parameters.iter().enumerate() {
            let is_text = parameter.coerced(&DataType::Utf8).is_some();
            let number = numbers.iter().find(|(of, _)| *of == place);
            let other = i32::from(matches!(parameter, Parameter::Start | Parameter::Which));
            values.push(match is_text {
                true => Arc::new(StringArray::from(vec![*texts.next().unwrap_or(&"")])),
                false => Arc::new(Int32Array::from(vec![number.map_or(other, |(_, n)| *n)])),
            });
        }
        let arguments = Arguments {
            form,
            parameters,
            values,
            rows: 1,
            nulls: None,
        };
        Ok(arguments.results()?)
    }

    fn list(texts: &ListArray, row: usize) -> Vec<Option<String>> {
        let texts = texts.value(row);
        let texts = texts.as_string::<i32>().iter();
        texts.map(|text| text.map(str::to_owned)).collect()
    }

    fn some(texts: &[&str]) -> Vec<Option<String>> {
        texts.iter().map(|text| Some((*text).to_owned())).collect()
    }

    #[test]
    fn groups_are_told_match_by_match() {
        let rows = |texts: &[&str]| {
            let rows = results(Form::Matches, texts, &[]).expect("a pattern");
            let rows = rows.as_list::<i32>().value(0);
            let rows = rows.as_list::<i32>();
            (0..rows.len())
                .map(|row| list(rows, row))
                .collect::<Vec<_>>()
        };
        let both = rows(&["foobarbequebazilbarfbonk", "(b[^b]+)(b[^b]+)", "g"]);
        assert_eq!(both, [some(&["bar", "beque"]), some(&["bazil", "barf"])]);
        assert_eq!(rows(&["abab", "b", ""]), [some(&["b"])]);
        assert_eq!(
            rows(&["aab", "a*", "g"]),
            ["aa", "", ""].map(|of| some(&[of]))
        );
        assert_eq!(rows(&["abc", "(b)(x)?|c", "g"])[1], [None, None]);
        assert!(rows(&["abc", "x", "g"]).is_empty());
        let first = results(Form::Match, &["ab1", r"(?i)(B)(\d)"], &[]).expect("a pattern");
        assert_eq!(list(first.as_list::<i32>(), 0), some(&["b", "1"]));
        let none = results(Form::Match, &["ab1", "x"], &[]).expect("a pattern");
        assert!(none.is_null(0));
    }

    #[test]
    fn one_match_is_replaced_or_all() {
        let replaced = |texts: &[&str], numbers: &[(usize, i32)]| {
            let replaced = results(Form::Replaced, texts, numbers).expect("a pattern");
            replaced.as_string::<i32>().value(0).to_owned()
        };
        assert_eq!(replaced(&["abcabc", "b", "X"], &[]), "aXcabc");
        assert_eq!(replaced(&["abcabc", "b", "X", "g"], &[]), "aXcaXc");
        assert_eq!(replaced(&["ab", "(.)(.)", r"\2\1\&"], &[]), "baab");
        assert_eq!(replaced(&["äbä", "", "-", "g"], &[]), "-ä-b-ä-");
        assert_eq!(replaced(&["aab", "a*", "-", "g"], &[]), "--b-");
        assert_eq!(replaced(&["aaaa", "a", "b"], &[(3, 2), (4, 2)]), "aaba");
        assert_eq!(replaced(&["aaaa", "a", "b"], &[(3, 2), (4, 0)]), "abbb");
        assert_eq!(
            replaced(&["aaaa", "a", "X", "g"], &[(3, 9), (4, 1)]),
            "aaaa"
        );
    }

    #[test]
    fn parts_and_places_count_characters() {
        let part = |texts: &[&str], numbers: &[(usize, i32)]| {
            let part = results(Form::Part, texts, numbers).expect("a pattern");
            part.as_string::<i32>()
                .iter()
                .next()
                .flatten()
                .map(str::to_owned)
        };
        assert_eq!(part(&["abcabc", "^abc"], &[(2, 2)]), None);
        assert_eq!(
            part(&["ABCD", "(c)(.)", "i"], &[(5, 2)]),
            Some("D".to_owned())
        );
        assert_eq!(part(&["abc", "x*"], &[(2, 4)]), Some(String::new()));
        let number = |form, texts: &[&str], numbers: &[(usize, i32)]| {
            let number = results(form, texts, numbers).expect("a pattern");
            number.as_primitive::<Int32Type>().value(0)
        };
        assert_eq!(number(Form::Count, &["aaa", "a"], &[(2, 2)]), 2);
        assert_eq!(number(Form::Count, &["abc", ""], &[]), 4);
        assert_eq!(number(Form::Place, &["äbc", "b"], &[]), 2);
        assert_eq!(number(Form::Place, &["abc", "b"], &[(4, 1)]), 3);
        assert_eq!(number(Form::Place, &["abc", "(x)?b"], &[(6, 1)]), 0);
    }

    #[test]
    fn wrong_numbers_and_flags_are_named() {
        let error = |form, texts: &[&str], numbers: &[(usize, i32)]| {
            results(form, texts, numbers).expect_err("wrong").message
        };
        assert_eq!(
            error(Form::Part, &["abc", "b"], &[(3, 0)]),
            "invalid value for parameter \"n\": 0"
        );
        assert_eq!(
            error(Form::Place, &["abc", "b"], &[(4, 2)]),
            "invalid value for parameter \"endoption\": 2"
        );
        assert_eq!(
            error(Form::Count, &["abc", "b", "g"], &[]),
            "regexp_count() does not support the \"global\" option"
        );
    }
}
