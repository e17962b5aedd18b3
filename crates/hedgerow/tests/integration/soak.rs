//! The short form of `cargo xtask soak`: a bank under load, kills and a crash of the source.

use anyhow::Result;
use testbed::soak::{SoakOptions, run};

#[test]
fn every_answer_is_one_position_through_kills_and_a_crash_of_the_source() -> Result<()> {
    let options = SoakOptions {
        seconds: 24,
        kills: 3,
        restarts: 1,
        scale: 1,
        answers_min: 20,
        seed: 2,
    };
    let report = run(options, &|line| println!("{line}"))?;
    println!("{report}");
    assert_eq!(report.anomalies, Vec::<String>::new());
    assert_eq!((report.kills, report.restarts), (3, 1));
    assert!(
        report.answers >= options.answers_min,
        "{} answers",
        report.answers
    );
    Ok(())
}
