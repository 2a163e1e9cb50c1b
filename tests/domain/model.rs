//! Random histories: whatever happens in whatever order, every promise holds after every step.
//!
//! The histories come from seeds in this file, so a failure names the seed and repeats.

use std::collections::BTreeMap;

use cscp::domain::operation::{Answer, Operation};
use cscp::domain::verdict::VerdictCode;

use crate::harness::Stage;
use crate::house::Pack;
use crate::model_steps::Actors;

/// Numbers that are the same in every run (SplitMix64).
#[derive(Debug, Clone)]
pub(crate) struct Dice(u64);

impl Dice {
    fn next(&mut self) -> u64 {
        self.0 = self.0.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let mut z = self.0;
        z = (z ^ (z >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        z = (z ^ (z >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        z ^ (z >> 31)
    }

    /// A number below `end`.
    pub(crate) fn below(&mut self, end: usize) -> usize {
        usize::try_from(self.next() % u64::try_from(end.max(1)).unwrap()).unwrap()
    }

    /// True once in `n`.
    pub(crate) fn once_in(&mut self, n: usize) -> bool {
        self.below(n) == 0
    }

    pub(crate) fn pick<'a, T>(&mut self, from: &'a [T]) -> Option<&'a T> {
        from.get(self.below(from.len()))
    }
}

const STEPS: usize = 125;

/// How many histories each of the two tests plays. A long run plays more: see `.ci/README.md`.
#[expect(clippy::disallowed_methods, reason = "how long a test plays is no setting of the server")]
fn histories_per_test() -> u64 {
    std::env::var("CSCP_TEST_HISTORIES").ok().and_then(|number| number.parse().ok()).unwrap_or(1_600)
}

/// How often each answer was given.
type Tally = BTreeMap<String, usize>;

fn history(seed: u64, tally: &mut Tally) {
    let mut dice = Dice(seed);
    let mut stage = Stage::seeded(Pack::House, seed);
    let mut actors = Actors::enter(&mut stage);
    for _ in 0..STEPS {
        let Some(operation) = actors.step(&mut stage, &mut dice) else { continue };
        let decision = stage.decide(&operation);
        actors.learn(&operation, &decision);
        let word = match &decision.result {
            Ok(Answer::Turn { duplicate: true, .. }) => "duplicate".to_owned(),
            Ok(Answer::Turn { verdict, .. }) => format!("{}/{}", verdict.code.as_str(), verdict.reason.code()),
            Ok(Answer::Bound { execute, .. }) if matches!(operation, Operation::TakeOver(_)) => {
                format!("taken over/{execute}")
            }
            Ok(Answer::Bound { replayed, .. }) => format!("bound/{replayed}"),
            Ok(_) => "done".to_owned(),
            Err(refusal) => format!("refused/{}", refusal.code()),
        };
        *tally.entry(word).or_default() += 1;
    }
    stage.restart();
}

fn histories(first: u64) -> Tally {
    let mut tally = Tally::new();
    for seed in first..first + histories_per_test() {
        let mut own = Tally::new();
        let run = std::panic::AssertUnwindSafe(|| history(seed, &mut own));
        if let Err(panic) = std::panic::catch_unwind(run) {
            println!("the history of seed {seed} breaks a promise");
            std::panic::resume_unwind(panic);
        }
        for (word, count) in own {
            *tally.entry(word).or_default() += count;
        }
    }
    let decided: usize = tally.values().sum();
    println!("random histories: {} of {STEPS} steps, {decided} answers of {} kinds", histories_per_test(), tally.len());
    tally
}

/// A model that never gets anywhere proves nothing: every verdict and every way to bind must occur.
fn expect_variety(tally: &Tally) {
    let count = |prefix: &str| -> usize {
        tally.iter().filter(|(word, _)| word.starts_with(prefix)).map(|(_, count)| count).sum()
    };
    for code in VerdictCode::ALL {
        assert!(count(code.as_str()) >= 20, "{} occurs {} times: {tally:#?}", code.as_str(), count(code.as_str()));
    }
    for word in [
        "confirmed/bare",
        "confirmed/nonce",
        "confirmed/quote",
        "approved/nonce",
        "selected/bare",
        "declined/bare",
        "superseded/identity_changed",
        "ambiguous/other_question_since",
        "ambiguous/predates_question",
        "not_an_answer/nothing_pending",
        "not_an_answer/answers_other_question",
        "ambiguous/prompt_not_sent",
        "duplicate",
        "bound/false",
        "bound/true",
        "taken over/true",
        "taken over/false",
        "declined/taken_back",
        "declined/postponed",
        "rejected/taken_back",
        "ambiguous/taken_back",
        "superseded/taken_back",
        "refused/execution_not_unknown",
        "refused/already_taken_over",
        "refused/command_bound",
        "refused/command_asked_elsewhere",
        "refused/already_bound",
        "refused/command_conflict",
        "refused/attempt_id_reused",
        "refused/target_mismatch",
        "refused/confirmation_required",
        "refused/confirmation_expired",
        "refused/approval_required",
        "refused/identity_changed",
        "refused/approver_not_entitled",
        "refused/question_pending",
        "refused/invalid_transition",
    ] {
        assert!(count(word) >= 5, "{word} occurs {} times: {tally:#?}", count(word));
    }
}

#[test]
fn every_promise_holds_in_random_histories() {
    expect_variety(&histories(1));
}

#[test]
fn every_promise_holds_in_more_random_histories() {
    expect_variety(&histories(1_000_001));
}
