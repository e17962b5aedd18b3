//! The phases of all rounds as figures.

use crate::quantiles::Quantiles;
use crate::results::{Results, median};

use super::phase::{Outcome, Phase};

/// What results call the source, where it is asked itself.
const PEER: &str = "postgresql";

/// All phases, in the order in which they ran.
#[derive(Debug, Default)]
pub struct Figures(Vec<(Phase, Outcome)>);

impl Figures {
    /// Adds the next phase.
    pub fn add(&mut self, (phase, outcome): (Phase, Outcome)) {
        self.0.push((phase, outcome));
    }

    /// Notes all figures.
    pub fn note(&self, results: &mut Results) {
        let ms_p50 = |freshness: &Quantiles| freshness.ms_p50;
        let ms_p99 = |freshness: &Quantiles| freshness.ms_p99;
        let ms_max = |freshness: &Quantiles| freshness.ms_max;
        let mut fresh = |metric: &str, phase, of: fn(&Quantiles) -> f64| {
            let samples = self.each(phase, |outcome| outcome.freshness.as_ref().map_or(0.0, of));
            note(results, metric, &samples, "ms", None);
        };
        fresh("R3a", Phase::Writes, ms_p50);
        fresh("R3b", Phase::Writes, ms_p99);
        fresh("freshness, writes, longest", Phase::Writes, ms_max);
        fresh("freshness, busy, p50", Phase::Busy, ms_p50);
        fresh("R3c", Phase::Busy, ms_p99);
        fresh("freshness, busy, longest", Phase::Busy, ms_max);
        let ratios = self.to_quiet(Phase::Busy);
        note(results, "S3", &ratios, "", None);
        let ratios = self.to_quiet(Phase::Elsewhere);
        note(results, "elsewhere / quiet", &ratios, "", None);
        let ratios: Vec<f64> = self
            .each(Phase::Busy, Outcome::query_rate)
            .iter()
            .zip(self.each(Phase::Elsewhere, Outcome::query_rate))
            .map(|(busy, elsewhere)| busy / elsewhere)
            .collect();
        note(results, "busy / elsewhere", &ratios, "", None);
        for phase in [Phase::Quiet, Phase::Busy, Phase::Elsewhere, Phase::Peer] {
            let rates = self.each(phase, Outcome::query_rate);
            let metric = format!("queries, {}", phase.name());
            note(results, &metric, &rates, "1/s", peer(phase));
        }
        for phase in [Phase::Writes, Phase::Busy, Phase::Elsewhere, Phase::Peer] {
            let rates = self.each(phase, Outcome::change_rate);
            let metric = format!("changes, {}", phase.name());
            note(results, &metric, &rates, "rows/s", peer(phase));
        }
        self.note_processors(results);
        self.note_queries(results);
    }

    fn note_processors(&self, results: &mut Results) {
        for phase in [Phase::Writes, Phase::Quiet, Phase::Busy, Phase::Elsewhere] {
            let metric = format!("processors, {}", phase.name());
            let ours = self.each(phase, |outcome| outcome.hedgerow_processors);
            note(results, &metric, &ours, "", None);
            let source = self.of(phase);
            let source: Vec<f64> = source
                .filter_map(|outcome| outcome.source_processors)
                .collect();
            note(results, &metric, &source, "", Some(PEER));
        }
    }

    /// The medians over all sets of all rounds.
    fn note_queries(&self, results: &mut Results) {
        for phase in [Phase::Quiet, Phase::Busy, Phase::Peer] {
            let asked = self.of(phase).filter_map(|outcome| outcome.asked.as_ref());
            let asked: Vec<_> = asked.collect();
            let count = asked.iter().map(|asked| asked.times_ms.len()).max();
            for query in 0..count.unwrap_or_default() {
                let times_ms: Vec<f64> = asked
                    .iter()
                    .flat_map(|asked| asked.times_ms[query].clone())
                    .collect();
                let metric = format!("query {}, {}", query + 1, phase.name());
                results.figure(&metric, median(&times_ms), "ms", peer(phase));
            }
        }
    }

    fn of(&self, phase: Phase) -> impl Iterator<Item = &Outcome> {
        let is_it = move |(its_phase, _): &&(Phase, Outcome)| *its_phase == phase;
        self.0.iter().filter(is_it).map(|(_, outcome)| outcome)
    }

    fn each(&self, phase: Phase, figure: impl Fn(&Outcome) -> f64) -> Vec<f64> {
        self.of(phase).map(figure).collect()
    }

    /// The query rates of a phase by the mean of the quiet ones before and after it.
    fn to_quiet(&self, phase: Phase) -> Vec<f64> {
        let quiet = self.each(Phase::Quiet, Outcome::query_rate);
        let around = quiet.windows(2).map(|two| f64::midpoint(two[0], two[1]));
        let rates = self.each(phase, Outcome::query_rate);
        rates
            .iter()
            .zip(around)
            .map(|(rate, quiet)| rate / quiet)
            .collect()
    }
}

/// Notes the median, if there is something that it is of: not every source has all phases, or a process of its own.
fn note(
    results: &mut Results,
    metric: &str,
    samples: &[f64],
    unit: &'static str,
    peer: Option<&str>,
) {
    if !samples.is_empty() {
        results.median_figure(metric, samples, unit, peer);
    }
}

fn peer(phase: Phase) -> Option<&'static str> {
    (phase == Phase::Peer).then_some(PEER)
}
