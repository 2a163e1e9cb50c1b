//! Turns: order, fairness, how much work a batch has, and who pauses.

use std::collections::BTreeMap;

use proptest::prelude::*;

use super::*;

const SECOND: u64 = 1_000_000;

fn tenant(number: u8) -> TenantId {
    TenantId::new(format!("tenant-{number}")).unwrap()
}

fn place(number: u8, lane: Lane, cost: u64) -> Place {
    Place { tenant_id: tenant(number), lane, cost }
}

fn batch<T: std::fmt::Debug>(next: Next<T>) -> Vec<T> {
    match next {
        Next::Batch(batch) => batch,
        other => panic!("{other:?}"),
    }
}

/// What arrives: whose, in which line, at what cost.
fn arrivals() -> impl Strategy<Value = Vec<(u8, Lane, u64)>> {
    let lane = prop_oneof![3 => Just(Lane::Conversations), 1 => Just(Lane::Spaces)];
    let cost = prop_oneof![5 => 1_u64..300, 1 => 1_u64..60_000];
    proptest::collection::vec((0_u8..4, lane, cost), 1..200)
}

proptest! {
    #[test]
    fn the_order_within_a_line_is_kept_and_nothing_is_lost(
        arrivals in arrivals(), most in 1_usize..40, one_tenant: bool, skips in proptest::collection::vec(0_usize..5, 50),
        took in proptest::collection::vec(0_u64..60_000, 50),
    ) {
        let mut turns = Turns::default();
        for (number, (of, lane, cost)) in arrivals.iter().enumerate() {
            turns.push(place(*of, *lane, *cost), number, 0);
        }
        let (mut now, mut done, mut round) = (0, Vec::new(), 0);
        loop {
            match turns.next(most, one_tenant, now) {
                Next::Nothing => break,
                Next::Pause(until) => { prop_assert!(until > now); now = until; }
                Next::Batch(taken) => {
                    prop_assert!(!taken.is_empty() && taken.len() <= most);
                    // Now and then the last ones could not be done, and are put back.
                    let back = skips[round % skips.len()].min(taken.len() - 1);
                    let (fine, back) = taken.split_at(taken.len() - back);
                    for number in back.iter().rev() {
                        let (of, lane, cost) = arrivals[*number];
                        turns.put_back(place(of, lane, cost), *number);
                    }
                    let lines: Vec<_> = taken.iter().map(|number| (tenant(arrivals[*number].0), arrivals[*number].1)).collect();
                    if one_tenant {
                        prop_assert!(lines.iter().all(|line| line.0 == lines[0].0));
                    }
                    done.extend_from_slice(fine);
                    now += 1;
                    turns.took(lines.into_iter(), took[round % took.len()], now);
                    round += 1;
                }
            }
        }
        prop_assert_eq!(turns.len(), 0);
        prop_assert_eq!(done.len(), arrivals.len());
        let mut last: BTreeMap<(u8, bool), usize> = BTreeMap::new();
        for number in done {
            let (of, lane, _) = arrivals[number];
            let before = last.insert((of, lane == Lane::Spaces), number);
            prop_assert!(before.is_none_or(|before| before < number));
        }
    }

    #[test]
    fn a_batch_has_so_much_work_and_no_more_unless_it_is_one_operation(arrivals in arrivals(), one_tenant: bool) {
        let shared = arrivals.iter().any(|(of, ..)| *of != arrivals[0].0);
        let mut turns = Turns::default();
        for (number, (of, lane, cost)) in arrivals.iter().enumerate() {
            turns.push(place(*of, *lane, *cost), number, 0);
        }
        let taken = batch(turns.next(256, one_tenant, 0));
        let work: u64 = taken.iter().map(|number| arrivals[*number].2).sum();
        let most = if shared { SHARED } else { ALONE };
        prop_assert!(taken.len() == 1 || work <= most);
    }

    #[test]
    fn whoever_waits_is_served_within_a_round_however_much_another_one_brings(flood in 1_usize..2_000, cost in 1_u64..60_000) {
        let mut turns = Turns::default();
        for number in 0..flood {
            turns.push(place(0, if number % 2 == 0 { Lane::Spaces } else { Lane::Conversations }, cost), 0_u8, 0);
        }
        turns.push(place(1, Lane::Conversations, 100), 1, 0);
        // Each of the other one's two lines may have its turn first.
        let mut batches = 0;
        loop {
            batches += 1;
            let taken = batch(turns.next(256, false, 0));
            turns.took([(tenant(0), Lane::Spaces)].into_iter(), 50_000, 0);
            if taken.contains(&1) {
                break;
            }
        }
        prop_assert!(batches <= 3);
    }
}

#[test]
fn a_line_that_took_long_pauses_while_others_are_at_it() {
    let mut turns = Turns::default();
    let loud = || place(0, Lane::Spaces, 20_000);
    turns.push(loud(), "dear", 0);
    turns.push(loud(), "dear too", 0);
    turns.push(place(1, Lane::Conversations, 100), "message", 0);
    assert_eq!(batch(turns.next(256, false, 0)), ["dear"]);
    turns.took([(tenant(0), Lane::Spaces)].into_iter(), 50_000, 20_000);
    assert_eq!(batch(turns.next(256, false, 20_000)), ["message"]);
    let until = 20_000 + SECOND;
    assert_eq!(turns.next(256, false, 20_000), Next::Pause(until));
    // What its conversations bring does not pause.
    turns.push(place(0, Lane::Conversations, 100), "own message", 30_000);
    turns.push(place(1, Lane::Conversations, 100), "message", until - 1);
    assert_eq!(batch(turns.next(256, false, until - 1)), ["own message", "message"]);
    assert_eq!(batch(turns.next(256, false, until)), ["dear too"]);
}

#[test]
fn a_tenant_that_is_alone_does_not_pause() {
    let mut turns = Turns::default();
    turns.push(place(0, Lane::Spaces, 20_000), "dear", 0);
    turns.push(place(0, Lane::Spaces, 20_000), "dear too", 0);
    turns.push(place(0, Lane::Spaces, 20_000), "a third", 0);
    assert_eq!(batch(turns.next(256, false, 0)), ["dear", "dear too"]);
    turns.took([(tenant(0), Lane::Spaces)].into_iter(), 40_000, 40_000);
    assert_eq!(batch(turns.next(256, false, 40_000)), ["a third"]);
}

#[test]
fn others_count_until_they_have_been_away_for_a_while() {
    let mut turns = Turns::default();
    turns.push(place(1, Lane::Conversations, 100), "message", 0);
    assert_eq!(batch(turns.next(256, false, 0)), ["message"]);
    turns.push(place(0, Lane::Spaces, 20_000), "dear", 0);
    turns.took([(tenant(0), Lane::Spaces)].into_iter(), SECOND, 0);
    assert_eq!(turns.next(256, false, AT_IT), Next::Pause(LONGEST_PAUSE));
    assert_eq!(batch(turns.next(256, false, AT_IT + 1)), ["dear"]);
}

#[test]
fn nobody_pauses_because_the_disk_is_slow() {
    let mut turns: Turns<&str> = Turns::default();
    for _ in 0..1_000 {
        turns.took(std::iter::empty(), 40_000, 0);
    }
    turns.push(place(0, Lane::Spaces, 100), "fact", 0);
    turns.push(place(1, Lane::Conversations, 100), "message", 0);
    turns.took([(tenant(0), Lane::Spaces)].into_iter(), 60_000, 0);
    assert_eq!(batch(turns.next(256, false, 0)), ["fact", "message"]);
}
