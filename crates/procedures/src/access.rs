//! How a statement reaches its rows: by an index, or not at all.
//!
//! A condition is taken apart at its ANDs. What asks for a key's column to be equal to something, or within
//! bounds, leads to an index; what is left is asked of each row that is found there. Without an index the
//! statement is refused when it is compiled: no call reads a whole table.

use oltp::{Direction, IndexId, IndexKind, Scan, StatementNumber, Stop, Transaction};
use types::Value;

use crate::datum::Datum;
use crate::expression::evaluate::Context;
use crate::expression::{Comparison, Node};
use crate::fault::{Fault, code, listed};
use crate::sql_type::SqlType;
use crate::table::Table;

/// See the module.
#[derive(Clone, Debug)]
pub(crate) struct Access {
    index: IndexId,
    /// Whether all of the key is given.
    is_whole: bool,
    /// Whether it finds one row at most.
    pub(crate) is_unique: bool,
    /// Whether rows come in the order of the key.
    is_ordered: bool,
    equal: Vec<KeyPart>,
    low: Option<Bound>,
    high: Option<Bound>,
    /// What a row has to fulfil besides.
    rest: Vec<Node>,
    /// Columns by which what is found is ordered.
    order: Vec<usize>,
}

/// A value of a key's column.
#[derive(Clone, Debug)]
struct KeyPart {
    value: Node,
    column: SqlType,
}

/// A bound of a key's column.
#[derive(Clone, Debug)]
struct Bound {
    part: KeyPart,
    is_open: bool,
}

/// A condition on one column.
struct OnColumn {
    column: usize,
    comparison: Comparison,
    /// Whether the column is compared as a number of another kind.
    is_cast: bool,
    value: Node,
    /// Its place among all conditions.
    number: usize,
}

/// What is sought, once values are known.
enum Sought<'a> {
    Nothing,
    Keys {
        from: Vec<Datum<'a>>,
        to: Vec<Datum<'a>>,
    },
}

/// How far rows have to be read.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct Reading {
    pub(crate) is_descending: bool,
    pub(crate) rows_max: Option<usize>,
}

impl Access {
    /// The way to the rows of a table that fulfil a condition.
    pub(crate) fn new(table: &Table, condition: Option<Node>) -> Result<Self, Fault> {
        let mut conditions = Vec::new();
        if let Some(condition) = condition {
            take_apart(condition, &mut conditions);
        }
        let on_columns: Vec<_> = conditions
            .iter()
            .enumerate()
            .filter_map(|(number, node)| on_column(node, number))
            .collect();
        let numbered = 0..table.definition.indexes.len();
        let candidates = numbered.filter_map(|index| Candidate::new(table, index, &on_columns));
        // The first of the best: the primary index where there is a choice.
        let best = candidates.reduce(|best, other| match other.rank() > best.rank() {
            true => other,
            false => best,
        });
        let best = best.ok_or_else(|| no_key(table))?;
        let number = best.index;
        let answered = best.answered(table);
        let mut place = 0;
        conditions.retain(|_| {
            place += 1;
            !answered.contains(&(place - 1))
        });
        Ok(best.access(table, number, conditions))
    }

    /// Whether what a row has to fulfil besides is nothing.
    pub(crate) fn is_exact(&self) -> bool {
        self.rest.is_empty()
    }

    /// Whether rows come ordered by these columns, all in one direction; in which.
    pub(crate) fn direction(&self, order_by: &[(usize, bool)], equal: &[usize]) -> Option<bool> {
        let is_descending = order_by.first()?.1;
        let wanted = order_by
            .iter()
            .filter(|(column, _)| !equal.contains(column));
        let given = self.order.iter().filter(|column| !equal.contains(column));
        let mut given = given.copied();
        let is_so = self.is_ordered
            && wanted.into_iter().all(|(column, descending)| {
                *descending == is_descending && given.next() == Some(*column)
            });
        (is_so || self.is_unique).then_some(is_descending)
    }

    /// The columns that are the same in all rows.
    pub(crate) fn equal_columns(&self) -> Vec<usize> {
        self.order[..self.equal.len()].to_vec()
    }

    /// Whether the order of what is found follows from the rows alone.
    pub(crate) fn is_in_order(&self) -> bool {
        self.is_ordered || self.is_unique
    }

    /// Queues the search; `None` when there is nothing to be found.
    pub(crate) fn queue(
        &self,
        transaction: &mut Transaction<'_>,
        context: &Context<'_>,
        reading: Reading,
    ) -> Result<Option<StatementNumber>, Stop> {
        let Sought::Keys { from, to } = self.sought(context)? else {
            return Ok(None);
        };
        let from: Vec<Value<'_>> = from.iter().map(Datum::cell).collect();
        if self.is_whole && !self.is_ordered || self.is_unique {
            let found = transaction.get(self.index, &from, oltp::Columns::All)?;
            return Ok(Some(found));
        }
        let to: Vec<Value<'_>> = to.iter().map(Datum::cell).collect();
        let options = Scan {
            direction: match reading.is_descending {
                true => Direction::Descending,
                false => Direction::Ascending,
            },
            rows_max: reading.rows_max.unwrap_or(usize::MAX),
            columns: oltp::Columns::All,
        };
        let found = transaction.scan(self.index, &from, &to, options)?;
        Ok(Some(found))
    }

    /// Whether a row that was found is one of those that are meant.
    pub(crate) fn is_meant(&self, context: &Context<'_>) -> Result<bool, Stop> {
        for node in &self.rest {
            if !node.is_true(context)? {
                return Ok(false);
            }
        }
        Ok(true)
    }

    /// The key, if it is all given by the first so many slots: what can be fetched before a call runs.
    pub(crate) fn declared<'a>(
        &'a self,
        slots: usize,
        context: &Context<'a>,
    ) -> Result<Option<(IndexId, Vec<Datum<'a>>)>, Stop> {
        let is_given = self.equal.iter().all(|part| part.value.follows_from(slots));
        if !self.is_whole || !is_given {
            return Ok(None);
        }
        Ok(match self.sought(context)? {
            Sought::Nothing => None,
            Sought::Keys { from, .. } => Some((self.index, from)),
        })
    }

    fn sought<'a>(&'a self, context: &Context<'a>) -> Result<Sought<'a>, Stop> {
        let mut from = Vec::with_capacity(self.equal.len() + 1);
        for part in &self.equal {
            match fitted(part.value.evaluate(context)?, part.column) {
                Some(datum) => from.push(datum),
                None => return Ok(Sought::Nothing),
            }
        }
        let mut to = from.clone();
        for (bound, key, is_low) in [(&self.low, &mut from, true), (&self.high, &mut to, false)] {
            let Some(bound) = bound else { continue };
            match bound.end(context, is_low)? {
                End::Nothing => return Ok(Sought::Nothing),
                End::Open => {}
                End::At(datum) => key.push(datum),
            }
        }
        Ok(Sought::Keys { from, to })
    }
}

/// Where a range ends.
enum End<'a> {
    Nothing,
    Open,
    At(Datum<'a>),
}

impl Bound {
    fn end<'a>(&'a self, context: &Context<'a>, is_low: bool) -> Result<End<'a>, Stop> {
        let datum = self.part.value.evaluate(context)?;
        if datum.is_null() {
            return Ok(End::Nothing);
        }
        let (Datum::Int(int), Some((least, most))) = (&datum, self.part.column.int_bounds()) else {
            // What does not fit is asked of each row.
            return Ok(fitted(datum, self.part.column).map_or(End::Open, End::At));
        };
        let step = i128::from(self.is_open) * if is_low { 1 } else { -1 };
        let int = i128::from(*int) + step;
        let (least, most) = (i128::from(least), i128::from(most));
        Ok(if (least..=most).contains(&int) {
            End::At(Datum::Int(int as i64))
        } else if (int > most) == is_low {
            End::Nothing
        } else {
            End::Open
        })
    }
}

/// A value as a key's column has it; `None` when no row can have it.
fn fitted(datum: Datum<'_>, column: SqlType) -> Option<Datum<'_>> {
    match (datum, column) {
        (Datum::Null, _) => None,
        (Datum::Int(int), column) if column.int_bounds().is_some() => {
            let (least, most) = column.int_bounds()?;
            (least..=most).contains(&int).then_some(Datum::Int(int))
        }
        (Datum::Numeric(number), column) if column.is_int() => {
            let int = i64::try_from(number.exactly(0)?.unscaled).ok()?;
            fitted(Datum::Int(int), column)
        }
        (Datum::Numeric(number), SqlType::Numeric(Some((precision, scale)))) => {
            let number = number.exactly(scale)?;
            number.fit(precision, scale).ok().map(Datum::Numeric)
        }
        (datum, _) => Some(datum),
    }
}

/// Conditions that all have to hold.
fn take_apart(condition: Node, into: &mut Vec<Node>) {
    match condition {
        Node::And(both) => {
            take_apart(both.0, into);
            take_apart(both.1, into);
        }
        other => into.push(other),
    }
}

/// `column = value` and its like, whichever side the column is on.
fn on_column(node: &Node, number: usize) -> Option<OnColumn> {
    let Node::Compare(comparison, both) = node else {
        return None;
    };
    let (left, right) = (&both.0, &both.1);
    let (side, comparison, value) = match (column_of(left), column_of(right)) {
        (Some(_), _) if !right.has_columns() => (left, *comparison, right),
        (_, Some(_)) if !left.has_columns() => (right, comparison.mirrored(), left),
        _ => return None,
    };
    Some(OnColumn {
        column: column_of(side)?,
        comparison,
        is_cast: !matches!(side, Node::Column(_)),
        value: value.clone(),
        number,
    })
}

/// The column, if that is all there is. As another exact number it orders and equals as before.
fn column_of(node: &Node) -> Option<usize> {
    match node {
        Node::Column(column) => Some(*column),
        Node::Cast(from, SqlType::Numeric(None), inner) if from.is_int() => column_of(inner),
        _ => None,
    }
}

/// An index, and what the conditions say of its key.
struct Candidate<'c> {
    index: usize,
    is_whole: bool,
    is_unique: bool,
    equal: Vec<&'c OnColumn>,
    low: Option<&'c OnColumn>,
    high: Option<&'c OnColumn>,
}

impl<'c> Candidate<'c> {
    /// `None` when the index does not help.
    fn new(table: &Table, index: usize, conditions: &'c [OnColumn]) -> Option<Self> {
        let definition = &table.definition.indexes[index];
        let on = |column: usize, wanted: &[Comparison]| {
            let fits = |on: &&OnColumn| on.column == column && wanted.contains(&on.comparison);
            conditions.iter().find(fits)
        };
        let columns = definition.columns.iter();
        let equal: Vec<_> = columns
            .map_while(|c| on(*c, &[Comparison::Equal]))
            .collect();
        let is_whole = equal.len() == definition.columns.len();
        let next = definition.columns.get(equal.len());
        let bound = |wanted: [Comparison; 2]| next.and_then(|column| on(*column, &wanted));
        let low = bound([Comparison::Greater, Comparison::GreaterOrEqual]);
        let high = bound([Comparison::Less, Comparison::LessOrEqual]);
        let is_scanned = definition.kind == IndexKind::Ordered
            && (!equal.is_empty() || low.is_some() || high.is_some());
        (is_whole || is_scanned).then_some(Self {
            index,
            is_whole,
            is_unique: is_whole && definition.is_unique,
            equal,
            low,
            high,
        })
    }

    /// How good it is.
    fn rank(&self) -> (bool, bool, usize, usize) {
        let bounds = usize::from(self.low.is_some()) + usize::from(self.high.is_some());
        (self.is_unique, self.is_whole, self.equal.len(), bounds)
    }

    /// The conditions that every row fulfils which is found so.
    fn answered(&self, table: &Table) -> Vec<usize> {
        let equal = self.equal.iter().map(|on| on.number);
        // What is no whole number may be beyond what the column can hold, and NULLs are behind all values
        // of an index.
        let is_exact = |on: &&&OnColumn| {
            let is_nullable = table.definition.columns[on.column].is_nullable;
            table.types[on.column].int_bounds().is_some() && !is_nullable && !on.is_cast
        };
        let bounds = [self.low, self.high];
        let bounds = bounds.iter().flatten().filter(|on| is_exact(on));
        equal.chain(bounds.map(|on| on.number)).collect()
    }

    fn access(self, table: &Table, number: usize, rest: Vec<Node>) -> Access {
        let definition = &table.definition.indexes[number];
        let part = |on: &OnColumn| KeyPart {
            value: on.value.clone(),
            column: table.types[on.column],
        };
        let bound = |on: &OnColumn| Bound {
            part: part(on),
            is_open: matches!(on.comparison, Comparison::Less | Comparison::Greater),
        };
        let mut order = definition.columns.clone();
        let key = &table.definition.indexes[0].columns;
        order.extend(
            key.iter()
                .filter(|column| !definition.columns.contains(column)),
        );
        Access {
            index: table.index(number),
            is_whole: self.is_whole,
            is_unique: self.is_unique,
            is_ordered: definition.kind == IndexKind::Ordered,
            equal: self.equal.iter().map(|on| part(on)).collect(),
            low: self.low.map(bound),
            high: self.high.map(bound),
            rest,
            order,
        }
    }
}

fn no_key(table: &Table) -> Fault {
    let keys = table.definition.indexes.iter().zip(&table.index_names);
    let keys: Vec<String> = keys
        .map(|(index, name)| {
            let columns = index
                .columns
                .iter()
                .map(|column| table.names[*column].as_str());
            format!("{name} ({})", listed(columns))
        })
        .collect();
    let message = format!(
        "the condition does not lead to the rows of table \"{}\" by a key",
        table.name()
    );
    Fault::new(code::FEATURE_NOT_SUPPORTED, message).with_hint(format!(
        "Compare all columns of one of its keys, or the first ones of one that is not a hash index, with values: {}",
        keys.join("; ")
    ))
}
