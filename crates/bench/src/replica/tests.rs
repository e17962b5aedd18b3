//! The rivals drain a small backlog, under limits where the machine allows them.

use super::*;

#[test]
fn ceiling_and_subscriber_drain_the_same_backlog() -> Result<()> {
    let plan = Plan {
        name: "test",
        memory_bytes: 128 << 20,
        scale: 1,
        updates: 2_000,
        rounds: 1,
        subscriber_window: Duration::from_secs(60),
        tpch_scale: 0.01,
    };
    let folder = TempDir::with_prefix("bench-test-")?;
    let undone = AtEnd;
    let place = Place::make(folder.path(), plan)?;
    let publisher = publisher(plan)?;
    let limit = MemoryLimit::new("subscriber", plan.memory_bytes);
    let mut subscriber = Subscriber::copy(&publisher, &place.folder, limit, plan.memory_bytes)?;
    let ceiling = Ceiling::new(&publisher, "pgbench_accounts")?;
    for &profile in place.profiles() {
        place.set_profile(profile)?;
        let backlog = backlog::make(&publisher, plan.updates, plan.rows())?;
        let most = ceiling.drain(&publisher, &backlog)?;
        let rival = subscriber.drain(&publisher, &backlog, plan.subscriber_window)?;
        println!("{profile}: ceiling {most:.0}, subscriber {rival:.0} rows/s");
        assert!(most > 0.0 && rival > 0.0);
    }
    drop(subscriber);
    drop(undone);
    let mounts = std::fs::read_to_string("/proc/mounts")?;
    let folder = folder.path().display().to_string();
    assert!(!mounts.contains(&folder), "still mounted: {mounts}");
    Ok(())
}
