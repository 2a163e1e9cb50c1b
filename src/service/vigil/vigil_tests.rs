//! Clocks that jump, drift, stand apart and come back, by injected readings.

use super::*;

const HOUR: i64 = 3_600;
const DAY: i64 = 24 * HOUR;

fn at(seconds: i64) -> Timestamp {
    Timestamp::from_micros((1_000_000_000 + seconds) * 1_000_000)
}

/// A look `steady` seconds after the first; the clocks show so many seconds.
fn look(clocks: &Clocks, steady: u64, server: i64, database: Option<i64>) -> ClockState {
    clocks.look(Look { steady: Duration::from_secs(steady), server: at(server), database: database.map(at) });
    clocks.state()
}

#[test]
fn a_jump_in_either_direction_is_noticed_and_clears_when_it_is_taken_back() {
    for jump in [2, -2, HOUR, -HOUR, 400 * DAY] {
        let clocks = Clocks::default();
        assert_eq!(look(&clocks, 0, 0, None), ClockState::Ok);
        assert_eq!(look(&clocks, 1, 1 + jump, None), ClockState::Jumped(jump));
        assert_eq!(clocks.state().is_ahead(), jump > 0, "only what is ahead erases too early");
        assert_eq!(look(&clocks, 2, 2 + jump, None), ClockState::Jumped(jump), "it stays known");
        assert_eq!(look(&clocks, 3, 3, None), ClockState::Ok, "{jump}");
    }
}

#[test]
fn small_steps_and_long_pauses_between_looks_are_no_jumps() {
    let clocks = Clocks::default();
    look(&clocks, 0, 0, None);
    assert_eq!(look(&clocks, 10_000, 10_001, None), ClockState::Ok);
    for step in 0..100 {
        assert_eq!(look(&clocks, 10_001 + step, 10_003 + 2 * i64::try_from(step).unwrap(), None), ClockState::Ok);
    }
}

#[test]
fn a_clock_that_jumped_and_then_runs_on_for_an_hour_is_taken_for_right() {
    let clocks = Clocks::default();
    look(&clocks, 0, 0, None);
    look(&clocks, 1, 1 + DAY, None);
    assert_eq!(look(&clocks, 3_600, 3_600 + DAY, None), ClockState::Jumped(DAY));
    assert_eq!(look(&clocks, 3_601, 3_601 + DAY, None), ClockState::Ok);
}

#[test]
fn two_clocks_are_held_against_one_another_and_the_database_says_which_is_right() {
    let clocks = Clocks::default();
    assert_eq!(look(&clocks, 0, 50, Some(0)), ClockState::Apart(50));
    assert!(clocks.state().is_ahead());
    // The server's clock is set right: a jump, and all is well, because the database agrees.
    assert_eq!(look(&clocks, 1, 1, Some(1)), ClockState::Ok);
    assert_eq!(look(&clocks, 2, 2 - 50, Some(2)), ClockState::Jumped(-50));
    assert!(!clocks.state().is_ahead(), "a server that is behind erases nothing too early");
    assert_eq!(look(&clocks, 3, 3, Some(3)), ClockState::Ok);
    // The database's clock jumps ahead, and the server's is taken along: nobody is left who could say that it is right.
    assert_eq!(look(&clocks, 4, 4, Some(4 + HOUR)), ClockState::Jumped(HOUR));
    assert_eq!(look(&clocks, 5, 5 + HOUR, Some(5 + HOUR)), ClockState::Jumped(HOUR));
    assert_eq!(look(&clocks, 6, 6, Some(6)), ClockState::Ok);
}

#[test]
fn a_time_long_after_the_last_record_of_life_is_vouched_for_by_nobody() {
    let clocks = Clocks::default();
    assert!(clocks.prove(at(0), None), "a new database has nothing to compare with");
    assert!(clocks.prove(at(7 * DAY), Some(at(0))), "a week away is a week away");
    assert!(!clocks.prove(at(7 * DAY + 1), Some(at(0))));
    assert_eq!(clocks.state(), ClockState::Unproven(7 * DAY + 1));
    assert!(clocks.state().is_ahead());
    assert!(clocks.prove(at(0), Some(at(400 * DAY))), "a record of the future is one of a clock that was wrong");
    assert_eq!(clocks.state(), ClockState::Ok);
    look(&clocks, 0, 0, None);
    look(&clocks, 1, DAY, None);
    assert!(!clocks.prove(at(DAY), Some(at(0))), "nobody vouches for a time that was just set");
}
