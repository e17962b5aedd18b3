//! An experiment's figures: a table for people, JSON for the record.

use std::collections::BTreeMap;
use std::fmt;
use std::path::Path;
use std::process::Command;

use anyhow::{Context, Result};
use serde::Serialize;

/// All that an experiment found.
#[derive(Clone, Debug, Serialize)]
pub struct Results {
    experiment: &'static str,
    scale: String,
    commit: String,
    machine: BTreeMap<&'static str, String>,
    settings: BTreeMap<String, String>,
    results: Vec<Figure>,
    #[serde(skip_serializing_if = "Vec::is_empty")]
    series: Vec<Series>,
}

/// One figure.
#[derive(Clone, Debug, Serialize)]
pub struct Figure {
    /// The id in `goals.md` where there is one, else a name.
    metric: String,
    value: f64,
    unit: &'static str,
    /// Whose figure this is, or whom a ratio is taken against; `null`: ours alone.
    peer: Option<String>,
    /// The measurements of which the value is the median, in the order in which they were made.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    samples: Vec<f64>,
}

/// Raw data of a run, in the order in which they came: what figures are drawn from.
#[derive(Clone, Debug, Serialize)]
struct Series {
    metric: String,
    unit: &'static str,
    peer: Option<String>,
    values: Vec<f64>,
}

impl Results {
    /// No figures yet; notes the commit and the machine.
    pub fn new(experiment: &'static str, scale: &str) -> Self {
        let commit = Command::new("git")
            .args(["rev-parse", "--short", "HEAD"])
            .output();
        Self {
            experiment,
            scale: scale.to_owned(),
            commit: commit
                .map(|output| String::from_utf8_lossy(&output.stdout).trim().to_owned())
                .unwrap_or_default(),
            machine: machine(),
            settings: BTreeMap::new(),
            results: Vec::new(),
            series: Vec::new(),
        }
    }

    /// Notes a setting of the run or of a peer.
    pub fn setting(&mut self, name: &str, value: impl fmt::Display) {
        self.settings.insert(name.to_owned(), value.to_string());
    }

    /// Notes a figure.
    pub fn figure(&mut self, metric: &str, value: f64, unit: &'static str, peer: Option<&str>) {
        let peer = peer.map(str::to_owned);
        self.results.push(Figure {
            metric: metric.to_owned(),
            value,
            unit,
            peer,
            samples: Vec::new(),
        });
    }

    /// Notes the median of several measurements, and them.
    pub fn median_figure(
        &mut self,
        metric: &str,
        samples: &[f64],
        unit: &'static str,
        peer: Option<&str>,
    ) {
        self.results.push(Figure {
            metric: metric.to_owned(),
            value: median(samples),
            unit,
            peer: peer.map(str::to_owned),
            samples: samples.to_vec(),
        });
    }

    /// A figure, by metric and peer.
    #[cfg(test)]
    pub fn value(&self, metric: &str, peer: Option<&str>) -> f64 {
        let is_it = |figure: &&Figure| figure.metric == metric && figure.peer.as_deref() == peer;
        let found = self.results.iter().find(is_it);
        found
            .unwrap_or_else(|| panic!("no {metric} of {peer:?}"))
            .value
    }

    /// Notes raw data. They go into the JSON file only.
    pub fn series(
        &mut self,
        metric: &str,
        values: Vec<f64>,
        unit: &'static str,
        peer: Option<&str>,
    ) {
        self.series.push(Series {
            metric: metric.to_owned(),
            unit,
            peer: peer.map(str::to_owned),
            values,
        });
    }

    /// What was run, where and how: the lines above the figures.
    pub fn write_heading(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        writeln!(
            f,
            "\n{} ({}), commit {}",
            self.experiment, self.scale, self.commit
        )?;
        for (name, value) in self.machine.iter().map(|(n, v)| (*n, v)) {
            writeln!(f, "  {name}: {value}")?;
        }
        for (name, value) in &self.settings {
            writeln!(f, "  {name}: {value}")?;
        }
        Ok(())
    }

    /// Writes the JSON file.
    pub fn write(&self, path: &Path) -> Result<()> {
        let text = serde_json::to_string_pretty(self)? + "\n";
        std::fs::write(path, text).with_context(|| format!("could not write {}", path.display()))
    }
}

impl fmt::Display for Results {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.write_heading(f)?;
        writeln!(f, "{:<34} {:>16} {:<8} peer", "metric", "value", "unit")?;
        for Figure {
            metric,
            value,
            unit,
            peer,
            ..
        } in &self.results
        {
            let digits = if value.abs() < 100.0 { 4 } else { 0 };
            let peer = peer.as_deref().unwrap_or("");
            writeln!(f, "{metric:<34} {value:>16.digits$} {unit:<8} {peer}")?;
        }
        Ok(())
    }
}

/// The middle one of an odd number of figures; the mean of the two middle ones else.
pub fn median(figures: &[f64]) -> f64 {
    let mut sorted = figures.to_vec();
    sorted.sort_by(f64::total_cmp);
    let middle = sorted.len() / 2;
    if sorted.is_empty() {
        f64::NAN
    } else if sorted.len().is_multiple_of(2) {
        f64::midpoint(sorted[middle - 1], sorted[middle])
    } else {
        sorted[middle]
    }
}

fn machine() -> BTreeMap<&'static str, String> {
    let first = |path: &str, field: &str| {
        let text = std::fs::read_to_string(path).unwrap_or_default();
        let line = text
            .lines()
            .find(|line| line.starts_with(field))
            .unwrap_or_default();
        line.split_once(':')
            .map_or("unknown", |(_, value)| value)
            .trim()
            .to_owned()
    };
    let cores = std::thread::available_parallelism().map_or(0, usize::from);
    let kernel = std::fs::read_to_string("/proc/sys/kernel/osrelease").unwrap_or_default();
    BTreeMap::from([
        ("cpu", first("/proc/cpuinfo", "model name")),
        ("cores", cores.to_string()),
        ("memory", first("/proc/meminfo", "MemTotal")),
        ("kernel", kernel.trim().to_owned()),
    ])
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_median_is_the_middle() {
        assert!((median(&[3.0, 1.0, 2.0]) - 2.0).abs() < f64::EPSILON);
        assert!((median(&[4.0, 1.0]) - 2.5).abs() < f64::EPSILON);
        assert!(median(&[]).is_nan());
    }

    #[test]
    fn the_json_has_the_agreed_fields() -> Result<()> {
        let mut results = Results::new("replica", "quick");
        results.setting("memory", "64 MiB");
        results.figure("R1a", 150.0, "x", Some("postgresql-subscriber"));
        let json: serde_json::Value = serde_json::from_str(&serde_json::to_string(&results)?)?;
        assert_eq!(json["results"][0]["metric"], "R1a");
        assert_eq!(json["results"][0]["peer"], "postgresql-subscriber");
        assert!(json["machine"]["cores"].is_string() && json["commit"].is_string());
        assert!(json["results"][0].get("samples").is_none());
        assert!(json.get("series").is_none());
        Ok(())
    }
}
