//! What is told of all phases.

use super::Plan;
use super::phase::{Hostility, Outcome};
use crate::quantiles::Quantiles;
use crate::results::Results;

/// Outcomes in turns: alone, beside the crowd, alone, …, alone.
#[derive(Debug, Default)]
pub struct Figures {
    pub alone: Vec<Outcome>,
    pub beside: Vec<Outcome>,
}

impl Figures {
    /// Notes them all.
    pub fn note(&self, results: &mut Results, plan: Plan) {
        self.note_times(results, "look-ups", |outcome| outcome.look_ups);
        self.note_times(results, "visits", |outcome| outcome.visits);
        let (alone, beside) = (self.alone.as_slice(), self.beside.as_slice());
        for (outcomes, when) in [(alone, "alone"), (beside, "beside the crowd")] {
            let failures: usize = outcomes.iter().map(|outcome| outcome.failures.len()).sum();
            results.figure(&format!("failures, {when}"), number(failures), "", None);
            let resident = outcomes.iter().map(|outcome| outcome.resident_bytes).max();
            let resident = number(resident.unwrap_or_default());
            let name = format!("memory at most, {when}");
            results.figure(&name, resident / MEBIBYTE, "MiB", None);
            let name = format!("memory at most, {when}, limit = 1");
            results.figure(&name, resident / number(plan.memory_bytes()), "x", None);
            let processors = |of: fn(&Outcome) -> f64| outcomes.iter().map(of).collect::<Vec<_>>();
            let server = processors(|outcome| outcome.server_processors);
            let clients = processors(|outcome| outcome.client_processors);
            results.median_figure(&format!("processors, {when}"), &server, "", None);
            let name = format!("processors of all clients, {when}");
            results.median_figure(&name, &clients, "", None);
        }
        self.note_hostility(results);
    }

    fn note_times(&self, results: &mut Results, what: &str, of: fn(&Outcome) -> Quantiles) {
        let p99 = |outcome: &Outcome| of(outcome).ms_p99;
        let halves = |outcomes: &[Outcome]| -> Vec<f64> {
            outcomes.iter().map(|outcome| of(outcome).ms_p50).collect()
        };
        let alone: Vec<f64> = self.alone.iter().map(p99).collect();
        let beside: Vec<f64> = self.beside.iter().map(p99).collect();
        // The machine is not the same all the time: what counts is the phase before and after.
        let around = alone.windows(2).zip(&beside);
        let ratios: Vec<f64> = around
            .map(|(around, beside)| beside / f64::midpoint(around[0], around[1]))
            .collect();
        let half = format!("{what}, half within");
        results.median_figure(&format!("{half}, alone"), &halves(&self.alone), "ms", None);
        let name = format!("{half}, beside the crowd");
        results.median_figure(&name, &halves(&self.beside), "ms", None);
        let most = format!("{what}, 99 % within");
        results.median_figure(&format!("{most}, alone"), &alone, "ms", None);
        results.median_figure(&format!("{most}, beside the crowd"), &beside, "ms", None);
        let name = format!("{most}, beside by alone");
        results.median_figure(&name, &ratios, "x", None);
    }

    fn note_hostility(&self, results: &mut Results) {
        let outcomes = self.beside.iter();
        let hostility: Vec<Hostility> = outcomes.filter_map(|outcome| outcome.hostility).collect();
        let all = |of: fn(&Hostility) -> f64| hostility.iter().map(of).collect::<Vec<_>>();
        let connections = all(|hostility| hostility.connections_a_second);
        let guesses = all(|hostility| hostility.guesses_a_second);
        let let_in: u64 = hostility.iter().map(|one| one.guesses_let_in).sum();
        let inside = hostility.iter().map(|hostility| hostility.inside).min();
        let gone = all(|hostility| hostility.seconds_until_gone);
        results.median_figure("hostile connections opened", &connections, "/s", None);
        results.median_figure("guesses refused", &guesses, "/s", None);
        results.figure("guesses let in", number(let_in), "", None);
        let inside = number(inside.unwrap_or_default());
        results.figure("slow clients logged in at least", inside, "", None);
        results.median_figure("their connections closed after", &gone, "s", None);
    }
}

const MEBIBYTE: f64 = 1_048_576.0;

fn number(count: impl TryInto<u64>) -> f64 {
    let count: u64 = count.try_into().unwrap_or(u64::MAX);
    #[expect(clippy::cast_precision_loss, reason = "far below 2^52")]
    let number = count as f64;
    number
}
