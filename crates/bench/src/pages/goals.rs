//! The figures that count, from what was measured.
//!
//! Where a goal names several data sets, the worst of them stands for the goal.

use super::measured::{DataSetFigures, FormatFigures};
use super::paper::TABLE_3_ONE;
use crate::results::median;

/// A goal and how far we are.
#[derive(Clone, Debug, PartialEq)]
pub struct Reached {
    /// The goal's id, or words where it has none.
    pub metric: &'static str,
    /// What was reached.
    pub value: f64,
    /// Its unit.
    pub unit: &'static str,
    /// Whom it is taken against.
    pub peer: Option<&'static str>,
    /// The goal.
    pub goal: Goal,
}

/// The better direction and the figure.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Goal {
    /// This or more.
    AtLeast(f64),
    /// This or less.
    AtMost(f64),
}

impl Reached {
    fn at_least(goal: f64, metric: &'static str, value: f64, unit: &'static str) -> Self {
        Self {
            metric,
            value,
            unit,
            peer: None,
            goal: Goal::AtLeast(goal),
        }
    }

    fn at_most(goal: f64, metric: &'static str, value: f64, unit: &'static str) -> Self {
        Self {
            goal: Goal::AtMost(goal),
            ..Self::at_least(goal, metric, value, unit)
        }
    }

    fn against(self, peer: &'static str) -> Self {
        Self {
            peer: Some(peer),
            ..self
        }
    }

    /// Whether the goal is reached.
    pub fn is_reached(&self) -> bool {
        match self.goal {
            Goal::AtLeast(goal) => self.value >= goal,
            Goal::AtMost(goal) => self.value <= goal,
        }
    }
}

const PARQUET: &str = "parquet zstd-3";
const BLOCKS: &str = "row blocks zstd-3";
const COPY: &str = "memory copy";
const PAPER: &str = "rose, published";

/// The data sets that goals speak of.
#[derive(Clone, Copy, Debug)]
pub struct Subjects<'a> {
    /// Table 1's columns.
    pub table_1: &'a DataSetFigures,
    /// Table 3's single column.
    pub one_column: &'a DataSetFigures,
    /// Table 3's ten columns.
    pub ten_columns: &'a DataSetFigures,
    /// The weather schema.
    pub weather: &'a DataSetFigures,
    /// TPC-H's lineitem.
    pub lineitem: &'a DataSetFigures,
}

impl Subjects<'_> {
    /// Every goal of this experiment.
    pub fn reached(&self) -> Vec<Reached> {
        let mut reached = self.on_the_papers_data().to_vec();
        reached.extend(self.beside_rivals());
        reached.extend(self.of_look_ups());
        reached
    }

    fn on_the_papers_data(&self) -> [Reached; 7] {
        let (one, ten) = (self.one_column, self.ten_columns);
        let ratio = one.ratio(one.ours()) / TABLE_3_ONE.pfor;
        let index = self.table_1.segment.index_overhead();
        let column = ten.ours().one_of_all;
        let encode = |data: &DataSetFigures| median(&data.ours().encode);
        [
            Reached::at_least(3.0, "P1", ratio, "x").against(PAPER),
            Reached::at_least(0.5, "P2a", one.decode_over_copy(), "x").against(COPY),
            Reached::at_least(0.33, "P2b", ten.decode_over_copy(), "x").against(COPY),
            Reached::at_least(2.0, "P3a", encode(one), "GB/s"),
            Reached::at_least(1.5, "P3b", encode(ten), "GB/s"),
            Reached::at_most(1.0 / 6.0, "one column of ten / all", column, "x"),
            Reached::at_most(0.005, "index overhead, table 1", index, "x"),
        ]
    }

    fn beside_rivals(&self) -> [Reached; 3] {
        let size = self.largest(PARQUET, DataSetFigures::size_over);
        let speed = self.smallest(PARQUET, DataSetFigures::decode_over);
        let block_size = self.largest(BLOCKS, DataSetFigures::size_over);
        [
            Reached::at_most(1.15, "P4a", size, "x").against(PARQUET),
            Reached::at_least(4.0, "P4b", speed, "x").against(PARQUET),
            Reached::at_most(0.5, "P4c", block_size, "x").against(BLOCKS),
        ]
    }

    fn of_look_ups(&self) -> [Reached; 2] {
        let lookups = &self.weather.lookups;
        [
            Reached::at_most(15.0, "P5a", median(&lookups.value), "ns"),
            Reached::at_most(300.0, "P5b", median(&lookups.row), "ns"),
        ]
    }

    fn largest(&self, peer: &str, of: Comparison) -> f64 {
        self.each(peer, of).fold(f64::NEG_INFINITY, f64::max)
    }

    fn smallest(&self, peer: &str, of: Comparison) -> f64 {
        self.each(peer, of).fold(f64::INFINITY, f64::min)
    }

    fn each(&self, peer: &str, of: Comparison) -> impl Iterator<Item = f64> {
        [self.weather, self.lineitem]
            .into_iter()
            .filter_map(move |data| data.format(peer).map(|format| of(data, format)))
    }
}

type Comparison = fn(&DataSetFigures, &FormatFigures) -> f64;
