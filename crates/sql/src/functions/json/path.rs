//! JSONPath: `@?`, `@@`, `jsonb_path_exists`, `jsonb_path_match`, `jsonb_path_query`, `…_array` and `…_first`.
//!
//! [`words`] reads a path's words, [`parser`] makes its tree ([`syntax`]) of them, and [`evaluate`] follows it, with the arithmetic
//! of [`number`]. A path is a text here; one that all rows share is read once a batch.
//!
//! `silent` (and the operators always) has NULL, or what was found until then, in the place of an error about the document.
//!
//! Does not: the functions that end with `_tz`; named arguments; what [`parser`] refuses.

mod evaluate;
mod number;
mod parser;
mod syntax;
mod words;

use std::borrow::Cow;

use datafusion::arrow::array::{ArrayRef, BooleanArray, StringArray};
use datafusion::common::Result;
use datafusion::common::cast::as_boolean_array;

use super::JsonType;
use super::canonical::write_elements;
use super::document::Kind;
use super::function::{Arguments, Gives, JsonFunction, Takes};
use super::set::documents;
use crate::error::{SqlError, code};
use evaluate::{Evaluation, Failure, Item};
use syntax::Path;

const TAKES: &[Takes] = &[Takes::Text, Takes::Text, Takes::Variables, Takes::Flag];
const JSONB: JsonType = JsonType::Jsonb;

pub(super) fn functions() -> Vec<JsonFunction> {
    let function = |name, gives, compute| JsonFunction::new(name, TAKES, gives, compute);
    vec![
        function("jsonb_path_exists", Gives::Boolean, |arguments| {
            Queries::new(arguments, false)?.booleans(exists)
        }),
        function("jsonb_path_exists_opr", Gives::Boolean, |arguments| {
            Queries::new(arguments, true)?.booleans(exists)
        }),
        function("jsonb_path_match", Gives::Boolean, |arguments| {
            Queries::new(arguments, false)?.booleans(is_match)
        }),
        function("jsonb_path_match_opr", Gives::Boolean, |arguments| {
            Queries::new(arguments, true)?.booleans(is_match)
        }),
        function("jsonb_path_query", Gives::Documents(JSONB), query),
        function("jsonb_path_query_array", Gives::Document(JSONB), array),
        function("jsonb_path_query_first", Gives::Document(JSONB), first),
    ]
}

fn query(arguments: &Arguments) -> Result<ArrayRef> {
    let queries = Queries::new(arguments, false)?;
    arguments.strict_lists(Gives::Documents(JSONB), |row| {
        let found = queries.of_row(row, |query| query.items())?;
        let found = found.into_iter();
        Ok(found.map(|item| Some(Cow::Owned(item))).collect())
    })
}

fn array(arguments: &Arguments) -> Result<ArrayRef> {
    let queries = Queries::new(arguments, false)?;
    arguments.strict_texts(|row| {
        let mut out = String::new();
        let found = queries.of_row(row, |query| query.items())?;
        write_elements(found, &mut out, |item, out| {
            out.push_str(&item);
            Ok(())
        })?;
        Ok(Some(Cow::Owned(out)))
    })
}

fn first(arguments: &Arguments) -> Result<ArrayRef> {
    let queries = Queries::new(arguments, false)?;
    arguments.strict_texts(|row| {
        let found = queries.of_row(row, |query| query.items())?;
        Ok(found.into_iter().next().map(Cow::Owned))
    })
}

fn exists(query: &Query) -> Result<Option<bool>, SqlError> {
    query.heard(query.evaluation.exists().map(Some))
}

/// Whether the one item that a path finds is true.
fn is_match(query: &Query) -> Result<Option<bool>, SqlError> {
    let found = query.items()?;
    if let [item] = found.as_slice() {
        match Kind::of(item) {
            Kind::Boolean => return Ok(Some(item == "true")),
            Kind::Null => return Ok(None),
            _ => {}
        }
    }
    let message = "single boolean result is expected";
    let error = SqlError::new(code::SINGLETON_SQL_JSON_ITEM_REQUIRED, message);
    query.heard(Err(Failure::Ignorable(error)))
}

/// The arguments of a batch.
struct Queries<'a> {
    arguments: &'a Arguments,
    documents: StringArray,
    paths: Paths,
    variables: Option<StringArray>,
    silent: Option<BooleanArray>,
    is_silent: bool,
}

/// A row's path in its document.
struct Query<'q> {
    evaluation: Evaluation<'q>,
    is_silent: bool,
}

impl Query<'_> {
    /// A result, NULL for an error that is not to be heard of.
    fn heard<T: Default>(&self, result: Result<T, Failure>) -> Result<T, SqlError> {
        match result {
            Ok(value) => Ok(value),
            Err(Failure::Ignorable(_)) if self.is_silent => Ok(T::default()),
            Err(Failure::Ignorable(error) | Failure::Error(error)) => Err(error),
        }
    }

    fn items(&self) -> Result<Vec<String>, SqlError> {
        let mut found = Vec::new();
        self.heard(self.evaluation.items(&mut found))?;
        Ok(found.into_iter().map(Item::into_owned).collect())
    }
}

impl<'a> Queries<'a> {
    /// `is_silent`: unless an argument says so.
    fn new(arguments: &'a Arguments, is_silent: bool) -> Result<Self> {
        let has = |place| place < arguments.values.len();
        let silent = arguments.values.get(3).map(|flags| as_boolean_array(flags));
        Ok(Self {
            arguments,
            documents: documents(arguments, 0)?,
            paths: Paths::new(arguments.texts(1)?),
            variables: has(2).then(|| documents(arguments, 2)).transpose()?,
            silent: silent.transpose()?.cloned(),
            is_silent,
        })
    }

    /// What is asked of a row without a NULL.
    fn of_row<T>(
        &self,
        row: usize,
        ask: impl FnOnce(&Query) -> Result<T, SqlError>,
    ) -> Result<T, SqlError> {
        let variables = self.variables.as_ref();
        let variables = variables.map_or("{}", |variables| variables.value(row));
        if Kind::of(variables) != Kind::Object {
            let message = "\"vars\" argument is not an object";
            let mut error = SqlError::new(code::INVALID_PARAMETER_VALUE, message);
            error.detail = Some(
                "Jsonpath parameters should be encoded as key-value pairs of \"vars\" object."
                    .to_owned(),
            );
            return Err(error);
        }
        let silent = self.silent.as_ref();
        let is_silent = silent.map_or(self.is_silent, |silent| silent.value(row));
        self.paths.with(row, |path| {
            let evaluation = Evaluation {
                path,
                document: self.documents.value(row),
                variables,
            };
            ask(&Query {
                evaluation,
                is_silent,
            })
        })
    }

    fn booleans(&self, ask: fn(&Query) -> Result<Option<bool>, SqlError>) -> Result<ArrayRef> {
        self.arguments
            .strict_optional_booleans(|row| self.of_row(row, ask))
    }
}

/// The paths of a batch.
enum Paths {
    /// All rows have this one, or NULL.
    One(Result<Path, SqlError>),
    Several(StringArray),
}

impl Paths {
    fn new(texts: StringArray) -> Self {
        let mut written = texts.iter().flatten();
        match written.next() {
            Some(first) if written.all(|other| other == first) => Self::One(parser::parse(first)),
            _ => Self::Several(texts),
        }
    }

    fn with<T>(
        &self,
        row: usize,
        ask: impl FnOnce(&Path) -> Result<T, SqlError>,
    ) -> Result<T, SqlError> {
        match self {
            Self::One(path) => ask(path.as_ref().map_err(Clone::clone)?),
            Self::Several(texts) => ask(&parser::parse(texts.value(row))?),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn found(path: &str, document: &str) -> Result<Vec<String>, SqlError> {
        let path = parser::parse(path)?;
        let evaluation = Evaluation {
            path: &path,
            document,
            variables: r#"{"x": 2}"#,
        };
        let is_silent = false;
        let query = Query {
            evaluation,
            is_silent,
        };
        query.items()
    }

    /// Expected are the answers of PostgreSQL 15.
    #[test]
    fn paths_find_what_postgresql_finds() {
        const TRACK: &str = r#"{"track": {"segments": [{"HR": 73, "at": [47.763, 13.4034]}, {"HR": 135, "at": [47.706, 13.2635]}]}}"#;
        const MIXED: &str = r#"{"a": [1, 2, [3, 4]], "b": {"a": "x", "c": null}, "d": "2.5"}"#;
        for (path, document, expected) in [
            ("$.track.segments[*].HR", TRACK, "73 135"),
            ("$.track.segments.HR", TRACK, "73 135"),
            ("strict $.track.segments[*].HR", TRACK, "73 135"),
            ("$.track.segments[*] ? (@.HR > 130).HR", TRACK, "135"),
            ("$.track.segments[last].at[0]", TRACK, "47.706"),
            ("$.track.segments.size()", TRACK, "2"),
            (
                "$.track.segments[*].at[0 to last]",
                TRACK,
                "47.763 13.4034 47.706 13.2635",
            ),
            ("$.**.HR", TRACK, "73 135 73 135"),
            ("strict $.**.HR", TRACK, "73 135"),
            (
                "$.**{4}",
                TRACK,
                "73 [47.763, 13.4034] 135 [47.706, 13.2635]",
            ),
            ("$.track.segments[*].HR > 130", TRACK, "true"),
            ("$.a", MIXED, "[1, 2, [3, 4]]"),
            ("$.a[*]", MIXED, "1 2 [3, 4]"),
            ("$.a[*] ? (@ >= $x)", MIXED, "2 3 4"),
            ("$.a[*] ? (@ > 5)", MIXED, ""),
            ("$.a[0, 1] + 1", MIXED, "error 22038"),
            ("$.a[0] + $x * 2.50", MIXED, "6.00"),
            ("-$.a[0 to 1]", MIXED, "-1 -2"),
            ("$.a[5]", MIXED, ""),
            ("strict $.a[5]", MIXED, "error 22033"),
            ("strict $.z", MIXED, "error 2203A"),
            ("strict $.d.z", MIXED, "error 2203A"),
            ("$.z", MIXED, ""),
            ("$.b.*", MIXED, "\"x\" null"),
            ("$.*.a", MIXED, "\"x\""),
            ("$.d.double() / 0", MIXED, "error 22012"),
            ("$.d.double() / 2", MIXED, "1.25000000000000000000"),
            ("$.d.floor()", MIXED, "error 22036"),
            ("$.*.type()", MIXED, "\"array\" \"object\" \"string\""),
            ("$.b ? (@.c == null).a", MIXED, "\"x\""),
            ("$.b ? (exists (@.a) && !(@.a == 1))", MIXED, ""),
            ("$ ? ((@.b.a == 1) is unknown).d", MIXED, "\"2.5\""),
            ("$.b.a ? (@ starts with \"x\")", MIXED, "\"x\""),
            ("$.b.a ? (@ like_regex \"^X$\" flag \"i\")", MIXED, "\"x\""),
            ("$.b.a == \"x\" || $.b.a == 1", MIXED, "true"),
            ("$.b.a == 1", MIXED, "null"),
            ("($.b.a == \"x\").type()", MIXED, "\"boolean\""),
            ("$.y", r#"{"y": 1.10}"#, "1.10"),
            ("$y", MIXED, "error 42704"),
            ("$.a.**{last}", MIXED, "1 2 3 4"),
            ("$[0]", MIXED, MIXED),
            ("strict $[0]", MIXED, "error 22039"),
            ("strict $[*]", MIXED, "error 22039"),
            ("strict $.a.*", MIXED, "error 2203C"),
            ("$.a[$.b]", MIXED, "error 22033"),
        ] {
            let answer = match found(path, document) {
                Ok(items) => items.join(" "),
                Err(error) => format!("error {}", error.code),
            };
            assert_eq!(answer, expected, "{path}");
        }
    }

    #[test]
    fn what_is_no_path_is_refused() {
        for (path, expected) in [
            ("", code::INVALID_TEXT_REPRESENTATION),
            ("$.", code::SYNTAX_ERROR),
            ("$.a b", code::SYNTAX_ERROR),
            ("@.a", code::SYNTAX_ERROR),
            ("$[last", code::SYNTAX_ERROR),
            ("last", code::SYNTAX_ERROR),
            ("($.a == 1) == true", code::SYNTAX_ERROR),
            ("$.a && $.b", code::SYNTAX_ERROR),
            ("! $.a", code::SYNTAX_ERROR),
            ("TRUE", code::SYNTAX_ERROR),
            ("$.a like_regex \"(\"", code::INVALID_REGULAR_EXPRESSION),
            ("$.a.datetime()", code::FEATURE_NOT_SUPPORTED),
        ] {
            let error = found(path, "{}").expect_err(path);
            assert_eq!(error.code, expected, "{path}");
        }
    }

    #[test]
    fn a_path_that_would_take_too_much_of_the_stack_is_refused() {
        let deep = format!("{}1{}", "(".repeat(1000), ")".repeat(1000));
        for path in [
            deep,
            "- ".repeat(1000) + "1",
            "1 + ".repeat(1000) + "1",
            "1 == 1 && ".repeat(1000) + "1 == 1",
            "1 == 1 || ".repeat(1000) + "1 == 1",
        ] {
            let error = found(&path, "{}").expect_err("too deep");
            assert_eq!(error.code, code::STATEMENT_TOO_COMPLEX, "{path:.20}");
        }
    }
}
