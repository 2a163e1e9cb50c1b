//! A trial before the lock holds under it, as good as always. That whatever it comes to is what would have been decided is
//! looked at wherever these tests decide anything (`World::act`).

use cscp::domain::time::Timestamp;
use cscp::state_layer::operation::{NewFact, SpaceAction};
use proptest::prelude::*;
use proptest::strategy::ValueTree;

use crate::ledger_model::{action, said};
use crate::ledger_support::World;

#[test]
fn trials_come_true() {
    // Several facts at a time, some with times of their own, while the clock goes on: nearly every trial has to hold.
    let mut runner = proptest::test_runner::TestRunner::deterministic();
    let strategy = prop::collection::vec((said(), any::<bool>(), any::<bool>()), 24..48);
    let (mut trials, mut came_true) = (0, 0);
    for _ in 0..30 {
        let tree = strategy.new_tree(&mut runner).unwrap();
        let mut world = World::new();
        let mut waiting: Vec<NewFact> = Vec::new();
        for (number, ((seconds, said), timed, more)) in tree.current().into_iter().enumerate() {
            world.now = Timestamp::from_micros(world.now.as_micros() + 10_000_000);
            let seconds = timed.then_some(seconds + i64::try_from(number).unwrap() * 8);
            match action(number, seconds, &said, &world) {
                SpaceAction::Write(facts) => waiting.extend(facts),
                other => drop(world.act(other)),
            }
            if !more {
                drop(world.act(SpaceAction::Write(std::mem::take(&mut waiting))));
            }
        }
        (trials, came_true) = (trials + world.trials, came_true + world.came_true);
    }
    assert!(trials > 500 && came_true * 5 > trials * 4, "{came_true} of {trials}");
}
