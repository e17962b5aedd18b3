//! The experiment's outcome: tables for people, raw figures for the record, one figure.

use std::fmt;
use std::path::Path;

use anyhow::{Context, Result};

use super::figure;
use super::goals::{Goal, Reached};
use super::measured::{CapacityFigures, DataSetFigures};
use super::paper::PaperTable;
use crate::results::{Results, median};

/// One of the paper's tables beside ours on the same data.
#[derive(Clone, Debug)]
pub struct PaperFigures {
    /// What the paper says.
    pub table: PaperTable,
    /// Ratio that Rose's PFOR pages have on our data, by count.
    pub rose_pfor: f64,
    /// The same for its RLE pages.
    pub rose_rle: f64,
    /// Our ratio in pages as small as the paper's.
    pub small_pages: f64,
    /// Our figures in pages of the default size.
    pub ours: DataSetFigures,
}

/// Everything that was measured.
#[derive(Debug)]
pub struct Report {
    /// Settings of the run; the figures are added when it is written.
    pub results: Results,
    /// The paper's tables.
    pub paper: Vec<PaperFigures>,
    /// Data sets with all formats.
    pub data_sets: Vec<DataSetFigures>,
    /// Capacities tried on the weather schema.
    pub capacities: Vec<CapacityFigures>,
    /// The goals.
    pub reached: Vec<Reached>,
}

impl Report {
    /// Adds all figures to the results; once.
    pub fn note_figures(&mut self) {
        let results = &mut self.results;
        for reached in &self.reached {
            results.figure(reached.metric, reached.value, reached.unit, reached.peer);
        }
        for paper in &self.paper {
            note_paper(results, paper);
        }
        let in_tables = self.paper.iter().map(|paper| &paper.ours);
        for data in in_tables.chain(&self.data_sets) {
            note_data_set(results, data);
        }
        for capacity in &self.capacities {
            note_capacity(results, capacity);
        }
    }

    /// Writes the JSON file, and the figure beside it.
    pub fn write(&self, json: &Path) -> Result<()> {
        self.results.write(json)?;
        let path = json.with_extension("svg");
        let svg = figure::size_against_speed(&self.with_all_formats());
        std::fs::write(&path, svg).with_context(|| format!("could not write {}", path.display()))
    }

    /// Data sets on which the rivals ran, the paper's among them.
    fn with_all_formats(&self) -> Vec<&DataSetFigures> {
        let in_tables = self.paper.iter().map(|paper| &paper.ours);
        in_tables
            .chain(&self.data_sets)
            .filter(|data| data.formats.len() > 1)
            .collect()
    }
}

fn note_paper(results: &mut Results, paper: &PaperFigures) {
    let PaperTable {
        name, pfor, rle, ..
    } = paper.table;
    let metric = format!("{name}: ratio");
    results.figure(&metric, pfor, "x", Some("rose pfor, published"));
    results.figure(&metric, rle, "x", Some("rose rle, published"));
    results.figure(&metric, paper.rose_pfor, "x", Some("rose pfor, counted"));
    results.figure(&metric, paper.rose_rle, "x", Some("rose rle, counted"));
    results.figure(&metric, paper.small_pages, "x", Some("hedgerow 4 KiB"));
    if let Some((pfor, rle)) = paper.table.index {
        let metric = format!("{name}: index overhead");
        results.figure(&metric, pfor, "x", Some("rose pfor, published"));
        results.figure(&metric, rle, "x", Some("rose rle, published"));
    }
    if let Some([pfor_in, pfor_out, rle_in, rle_out]) = paper.table.rates {
        let (encode, decode) = (format!("{name}: encode"), format!("{name}: decode"));
        let mut rate = |metric: &str, value, peer| {
            results.figure(metric, value / 1e3, "GB/s", Some(peer));
        };
        rate(&encode, pfor_in, "rose pfor, published");
        rate(&decode, pfor_out, "rose pfor, published");
        rate(&encode, rle_in, "rose rle, published");
        rate(&decode, rle_out, "rose rle, published");
    }
}

fn note_data_set(results: &mut Results, data: &DataSetFigures) {
    let name = data.name;
    let metric = |what: &str| format!("{name}: {what}");
    results.figure(&metric("rows"), data.rows as f64, "rows", None);
    results.figure(
        &metric("uncompressed"),
        data.uncompressed as f64,
        "bytes",
        None,
    );
    results.median_figure(&metric("copy"), &data.copy, "GB/s", Some("memory copy"));
    for (index, format) in data.formats.iter().enumerate() {
        let peer = (index > 0).then_some(format.name.as_str());
        results.figure(&metric("bytes"), format.bytes as f64, "bytes", peer);
        results.figure(&metric("pieces"), format.pieces as f64, "pieces", peer);
        results.figure(&metric("ratio"), data.ratio(format), "x", peer);
        results.median_figure(&metric("encode"), &format.encode, "GB/s", peer);
        results.median_figure(&metric("decode"), &format.decode, "GB/s", peer);
        results.figure(&metric("one column / all"), format.one_of_all, "x", peer);
    }
    let lookups = &data.lookups;
    results.median_figure(&metric("value by slot"), &lookups.value, "ns", None);
    results.median_figure(&metric("row by key"), &lookups.row, "ns", None);
    let overhead = data.segment.index_overhead();
    results.figure(&metric("index overhead"), overhead, "x", None);
    let filter = data.segment.filter_overhead();
    results.figure(&metric("filter overhead"), filter, "x", None);
    results.figure(&metric("segment"), data.segment.file as f64, "bytes", None);
}

fn note_capacity(results: &mut Results, capacity: &CapacityFigures) {
    let metric = |what: &str| format!("weather, {} KiB: {what}", capacity.page_bytes >> 10);
    let CapacityFigures {
        format, lookups, ..
    } = capacity;
    results.figure(&metric("bytes"), format.bytes as f64, "bytes", None);
    results.median_figure(&metric("encode"), &format.encode, "GB/s", None);
    results.median_figure(&metric("decode"), &format.decode, "GB/s", None);
    results.median_figure(&metric("value by slot"), &lookups.value, "ns", None);
    results.median_figure(&metric("row by key"), &lookups.row, "ns", None);
}

impl fmt::Display for Report {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.results.write_heading(f)?;
        write_paper(f, &self.paper)?;
        for data in self.with_all_formats() {
            write_data_set(f, data)?;
        }
        write_capacities(f, &self.capacities)?;
        write_goals(f, &self.reached)
    }
}

fn write_paper(f: &mut fmt::Formatter<'_>, paper: &[PaperFigures]) -> fmt::Result {
    writeln!(
        f,
        "\nThe paper's tables: published, counted for Rose's pages on our data, and ours"
    )?;
    writeln!(
        f,
        "{:<22} {:>7} {:>8} {:>8} {:>8} {:>9} {:>9} {:>8} {:>7} {:>12} {:>12}",
        "",
        "PFOR",
        "counted",
        "RLE",
        "counted",
        "ours",
        "at 4 KiB",
        "index",
        "ours",
        "encode",
        "decode"
    )?;
    for row in paper {
        write_paper_row(f, row)?;
    }
    writeln!(
        f,
        "(index and GB/s: the paper's PFOR first; it has none where there is a dash)"
    )
}

fn write_paper_row(f: &mut fmt::Formatter<'_>, row: &PaperFigures) -> fmt::Result {
    let table = row.table;
    let ours = row.ours.ours();
    let index = table
        .index
        .map_or("-".to_owned(), |(pfor, _)| format!("{:.2}%", 100.0 * pfor));
    writeln!(
        f,
        "{:<22} {:>6.2}x {:>7.2}x {:>7.2}x {:>7.2}x {:>8.2}x {:>8.2}x {index:>8} {:>6.2}% {:>12} {:>12}",
        table.name,
        table.pfor,
        row.rose_pfor,
        table.rle,
        row.rose_rle,
        row.ours.ratio(ours),
        row.small_pages,
        100.0 * row.ours.segment.index_overhead(),
        beside(table.rates.map(|rates| rates[0]), &ours.encode),
        beside(table.rates.map(|rates| rates[1]), &ours.decode),
    )
}

/// The paper's rate and ours.
fn beside(published: Option<f64>, ours: &[f64]) -> String {
    let ours = median(ours);
    published.map_or(format!("- | {ours:.2}"), |rate| {
        format!("{:.2} | {ours:.2}", rate / 1e3)
    })
}

fn write_data_set(f: &mut fmt::Formatter<'_>, data: &DataSetFigures) -> fmt::Result {
    writeln!(
        f,
        "\n{}: {} rows, {} columns, {:.1} MB; memory copy {:.2} GB/s",
        data.name,
        data.rows,
        data.columns,
        data.uncompressed as f64 / 1e6,
        median(&data.copy)
    )?;
    writeln!(
        f,
        "{:<18} {:>9} {:>9} {:>9} {:>9} {:>12} {:>9}",
        "", "bytes", "ratio", "encode", "decode", "decode/copy", "one/all"
    )?;
    for format in &data.formats {
        writeln!(
            f,
            "{:<18} {:>6.2} MB {:>8.2}x {:>9.3} {:>9.3} {:>12.3} {:>9.3}",
            format.name,
            format.bytes as f64 / 1e6,
            data.ratio(format),
            median(&format.encode),
            median(&format.decode),
            median(&format.decode) / median(&data.copy),
            format.one_of_all,
        )?;
    }
    writeln!(
        f,
        "value by slot {:.0} ns, row by key {:.0} ns, index {:.2}%, filter {:.1}%, as a segment {:.2} MB",
        median(&data.lookups.value),
        median(&data.lookups.row),
        100.0 * data.segment.index_overhead(),
        100.0 * data.segment.filter_overhead(),
        data.segment.file as f64 / 1e6,
    )
}

fn write_capacities(f: &mut fmt::Formatter<'_>, capacities: &[CapacityFigures]) -> fmt::Result {
    writeln!(f, "\nCapacity of a page, weather")?;
    writeln!(
        f,
        "{:>8} {:>9} {:>9} {:>9} {:>10} {:>10}",
        "KiB", "MB", "encode", "decode", "value, ns", "row, ns"
    )?;
    for capacity in capacities {
        writeln!(
            f,
            "{:>8} {:>9.2} {:>9.3} {:>9.3} {:>10.0} {:>10.0}",
            capacity.page_bytes >> 10,
            capacity.format.bytes as f64 / 1e6,
            median(&capacity.format.encode),
            median(&capacity.format.decode),
            median(&capacity.lookups.value),
            median(&capacity.lookups.row),
        )?;
    }
    Ok(())
}

fn write_goals(f: &mut fmt::Formatter<'_>, reached: &[Reached]) -> fmt::Result {
    writeln!(
        f,
        "\n{:<26} {:>10} {:<5} {:>9}",
        "goal", "reached", "", "wanted"
    )?;
    for figure in reached {
        let (sign, goal) = match figure.goal {
            Goal::AtLeast(goal) => (">=", goal),
            Goal::AtMost(goal) => ("<=", goal),
        };
        writeln!(
            f,
            "{:<26} {:>10.3} {:<5} {sign} {goal:>6.3} {:<4} {}",
            figure.metric,
            figure.value,
            figure.unit,
            if figure.is_reached() { "yes" } else { "no" },
            figure.peer.unwrap_or_default(),
        )?;
    }
    Ok(())
}
