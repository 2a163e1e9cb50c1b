//! A stage for decisions: a world, a clock by hand and a seeded source of ids. Every step is folded a second time
//! and every promise is checked.

use std::collections::BTreeMap;

use cscp::domain::canonical::Digest;
use cscp::domain::context::ContextRecord;
use cscp::domain::decide::{Decision, Rules, decide};
use cscp::domain::event::{Event, Recorded, StreamKey};
use cscp::domain::id::{ContextId, Entropy, Ids, ItemId, TenantId};
use cscp::domain::item::PendingItem;
use cscp::domain::operation::{Answer, Operation};
use cscp::domain::policy::PolicyBook;
use cscp::domain::refusal::Refusal;
use cscp::domain::time::Timestamp;
use cscp::domain::verdict::{Reason, Verdict, VerdictCode};
use cscp::domain::world::World;
use sha2::{Digest as _, Sha256};

use crate::house::{Pack, house, scope};
use crate::invariants::{self, Step};

/// Bytes that are the same in every run: SHA-256 over a seed and a counter.
#[derive(Debug, Clone)]
pub(crate) struct Seeded {
    seed: u64,
    count: u64,
}

impl Entropy for Seeded {
    fn bytes(&mut self) -> [u8; 32] {
        self.count += 1;
        Sha256::new().chain_update(self.seed.to_be_bytes()).chain_update(self.count.to_be_bytes()).finalize().into()
    }
}

/// Where every scenario begins: not at a whole second.
pub(crate) const START: i64 = 1_790_000_000_250_000;
/// Microseconds in a second.
pub(crate) const SECOND: i64 = 1_000_000;

/// One world under test.
#[derive(Debug, Clone)]
pub(crate) struct Stage {
    pub(crate) world: World,
    /// Folded from events only.
    /// The same world, by folding events.
    pub(crate) shadow: World,
    pub(crate) log: Vec<(Timestamp, Recorded)>,
    pub(crate) now: i64,
    pub(crate) pack: Pack,
    /// Rules of a test's own, instead of `pack`.
    pub(crate) book: Option<PolicyBook>,
    entropy: Seeded,
    pub(crate) serial: u64,
}

/// An empty world.
pub(crate) fn empty_world() -> World {
    World::new(TenantId::new("t-1").unwrap(), Digest::from_bytes([77; 32]))
}

impl Stage {
    pub(crate) fn new(pack: Pack) -> Self {
        Self::seeded(pack, 1)
    }

    pub(crate) fn seeded(pack: Pack, seed: u64) -> Self {
        Self {
            world: empty_world(),
            shadow: empty_world(),
            log: Vec::new(),
            now: START,
            pack,
            book: None,
            entropy: Seeded { seed, count: 0 },
            serial: 0,
        }
    }

    pub(crate) fn at(&self) -> Timestamp {
        Timestamp::from_micros(self.now)
    }

    /// Moves the clock on.
    pub(crate) fn wait(&mut self, seconds: i64) -> &mut Self {
        self.now += seconds * SECOND;
        self
    }

    /// Sets the clock.
    pub(crate) fn go_to(&mut self, at: Timestamp) -> &mut Self {
        self.now = at.as_micros();
        self
    }

    /// A number that no earlier call got.
    pub(crate) fn next(&mut self) -> u64 {
        self.serial += 1;
        self.serial
    }

    /// Decides, folds the events a second time, and checks every promise.
    pub(crate) fn decide(&mut self, operation: &Operation) -> Decision {
        let now = self.at();
        let book = self.book.as_ref().unwrap_or_else(|| house().book(self.pack));
        let rules = Rules { policy: book.view(&scope()), lexicon: &house().lexicon };
        let mut ids = Ids::new(now, &mut self.entropy);
        let decision = decide(&mut self.world, operation, &rules, now, &mut ids);
        let step =
            Step { before: &self.shadow, after: &self.world, operation, decision: &decision, rules: &rules, now };
        invariants::check(&step);
        for recorded in &decision.events {
            self.shadow.apply(now, &recorded.event);
            self.log.push((now, recorded.clone()));
        }
        assert!(self.shadow == self.world, "folding the events gives another world: {operation:?}");
        decision
    }

    /// Folds every stream by itself and puts together what comes of them.
    fn stream_by_stream(&self) -> World {
        let mut streams: BTreeMap<&StreamKey, World> = BTreeMap::new();
        for (at, recorded) in &self.log {
            streams.entry(&recorded.stream).or_insert_with(empty_world).apply(*at, &recorded.event);
        }
        let mut whole = empty_world();
        for part in streams.into_values() {
            whole.conversations.extend(part.conversations);
            whole.contexts.extend(part.contexts);
            whole.items.extend(part.items);
            whole.commands.extend(part.commands);
            whole.attempts.extend(part.attempts);
            whole.messages.extend(part.messages);
            whole.principals.extend(part.principals);
            whole.frames.extend(part.frames);
        }
        whole
    }

    /// Folds the whole log from nothing and goes on from there.
    pub(crate) fn restart(&mut self) {
        let mut world = empty_world();
        for (at, recorded) in &self.log {
            world.apply(*at, &recorded.event);
        }
        assert!(world == self.world, "the log does not give the world back");
        let apart = World { touched: world.touched.clone(), ..self.stream_by_stream() };
        assert!(apart == world, "an event changes what follows from another stream");
        self.world = world;
    }

    pub(crate) fn done(&mut self, operation: &Operation) -> Answer {
        let decision = self.decide(operation);
        decision.result.unwrap_or_else(|refusal| panic!("{refusal:?} to {operation:?}"))
    }

    pub(crate) fn refused(&mut self, operation: &Operation) -> Refusal {
        self.decide(operation).result.expect_err("should be refused")
    }

    pub(crate) fn verdict(&mut self, operation: &Operation) -> Verdict {
        match self.done(operation) {
            Answer::Turn { verdict, .. } => verdict,
            other => panic!("not a turn: {other:?}"),
        }
    }

    pub(crate) fn item(&self, id: &ItemId) -> &PendingItem {
        &self.world.items[id]
    }

    pub(crate) fn context(&self, id: &ContextId) -> &ContextRecord {
        &self.world.contexts[id]
    }

    /// The evidence types of a decision, in order.
    pub(crate) fn types(decision: &Decision) -> Vec<&'static str> {
        decision.events.iter().map(|recorded| recorded.event.evidence_type()).collect()
    }
}

/// Whether an event only writes down what was due anyway.
pub(crate) fn is_due_event(event: &Event) -> bool {
    use cscp::domain::item::{ItemState, VoidReason};
    use cscp::domain::lifecycle::LifecycleEvent;
    match event {
        Event::ContextTransitioned { on, .. } => {
            matches!(
                on,
                LifecycleEvent::DeadlineReached | LifecycleEvent::QuestionEnded | LifecycleEvent::QuestionRemoved
            )
        }
        Event::ItemSettled { state, .. } => matches!(
            state,
            ItemState::Expired { .. }
                | ItemState::Voided { reason: VoidReason::ContextExpired | VoidReason::IdentityChanged, .. }
        ),
        _ => false,
    }
}

pub(crate) fn is(verdict: &Verdict, code: VerdictCode, reason: Reason) -> bool {
    verdict.code == code && verdict.reason == reason
}

/// Asserts a verdict.
#[track_caller]
pub(crate) fn expect(verdict: &Verdict, code: VerdictCode, reason: Reason) {
    assert!(is(verdict, code, reason), "{:?}/{:?} instead of {code:?}/{reason:?}", verdict.code, verdict.reason);
}
