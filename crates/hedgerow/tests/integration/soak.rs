//! The short form of `cargo xtask soak`: a bank and lists under load, and everything that may go away does.

use std::time::Duration;

use anyhow::Result;
use testbed::soak::{Disruption, SoakOptions, run};

#[test]
fn every_answer_is_one_position_whatever_goes_away_meanwhile() -> Result<()> {
    let options = SoakOptions {
        seconds: 30,
        round_seconds: 15,
        rate: 200,
        accounts: 1_000,
        kills: 3,
        crashes: 1,
        cuts: 2,
        slot_drops: 1,
        stops: 1,
        stop_length: Duration::from_secs(3),
        seed: 2,
        ..SoakOptions::default()
    };
    let report = run(&options, &|line| println!("{line}"))?;
    println!("{report}");
    assert_eq!(report.anomalies, Vec::<String>::new());
    let mut disruptions = report.disruptions;
    disruptions.sort_unstable();
    let kinds = [
        Disruption::Kill,
        Disruption::Kill,
        Disruption::Kill,
        Disruption::Stop,
        Disruption::Crash,
        Disruption::Cut,
        Disruption::Cut,
        Disruption::SlotDrop,
    ];
    assert_eq!(disruptions, kinds);
    assert_eq!(report.rounds, 2);
    let enough = report.answers >= 20 && report.transactions >= 100;
    assert!(
        enough,
        "{} looks, {} transactions",
        report.answers, report.transactions
    );
    Ok(())
}
