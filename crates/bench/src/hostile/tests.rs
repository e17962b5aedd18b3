//! The experiment runs, honest clients are served, no guess is let in, and it tells all its figures.

use super::*;

#[test]
#[ignore = "starts a PostgreSQL and needs the hedgerow binary; hedgerow::hostile_clients has a small one"]
fn a_small_crowd_bothers_nobody() -> Result<()> {
    let plan = Plan {
        name: "tiny",
        rounds: 1,
        settling: Duration::from_secs(1),
        seconds: 1.0,
        honest: Load {
            rows: 20_000,
            staying: 2,
            look_ups_a_second: 20.0,
            coming: 1,
            visits_a_second: 5.0,
        },
        crowd: Sizes {
            slow: 30,
            half_open: 30,
            guessing: 3,
        },
    };
    let results = run_plan(plan)?;
    assert!(results.value("look-ups, 99 % within, beside by alone", None) > 0.0);
    for (metric, expected) in [
        ("failures, alone", 0.0),
        ("failures, beside the crowd", 0.0),
        ("guesses let in", 0.0),
        ("slow clients logged in at least", 20.0),
    ] {
        let value = results.value(metric, None);
        assert!((value - expected).abs() < 0.5, "{metric}: {value}");
    }
    assert!(results.value("guesses refused", None) > 0.0);
    assert!(results.value("memory at most, beside the crowd, limit = 1", None) < 1.0);
    Ok(())
}
