//! Real threads. The one test whose course a seed does not decide.

use sim::scenario::threads;

use crate::runs::for_seeds;

#[test]
fn readers_and_background_work_do_not_disturb_each_other() {
    for_seeds("threads", 6, |seed| threads::run(seed, &|| ()));
}
