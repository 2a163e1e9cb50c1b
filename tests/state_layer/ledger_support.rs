//! What the tests of ledger and decisions share: facts, spaces and a clock that stands still.

use std::collections::BTreeMap;

use cscp::domain::id::{Entropy, FactLabel, FactUid, Ids, SpaceId};
use cscp::domain::operation::CredentialKind;
use cscp::domain::policy::PolicyRef;
use cscp::domain::time::Timestamp;
use cscp::state_layer::authority::AuthorityOrder;
use cscp::state_layer::decide::{SpaceDecision, SpaceRules, decide, decide_foreseen, foresee};
use cscp::state_layer::fact::{Fact, FactScope, MemoryType, Pointer, Source, Standing};
use cscp::state_layer::ledger::LedgerRules;
use cscp::state_layer::operation::{
    Effects, NewFact, SpaceAction, SpaceAnswer, SpaceOperation, Writer, WriterStanding,
};
use cscp::state_layer::refusal::SpaceRefusal;
use cscp::state_layer::space::{Space, SpaceRecord, Touched};
use serde_json::Value;

/// Bytes that differ each time and are the same in each run.
pub(crate) struct Counting(pub u64);

impl Entropy for Counting {
    fn bytes(&mut self) -> [u8; 32] {
        self.0 += 1;
        let mut bytes = [0; 32];
        bytes[..8].copy_from_slice(&self.0.wrapping_mul(0x9e37_79b9_7f4a_7c15).to_be_bytes());
        bytes[8..16].copy_from_slice(&self.0.to_be_bytes());
        bytes
    }
}

pub(crate) fn at(seconds: i64) -> Timestamp {
    Timestamp::from_micros(1_700_000_000_000_000 + seconds * 1_000_000)
}

pub(crate) fn uid(number: u64) -> FactUid {
    FactUid::parse(&format!("fct_{number:032x}")).unwrap()
}

pub(crate) fn ledger_rules() -> LedgerRules {
    LedgerRules { order: AuthorityOrder::default(), time_sensitive_keys: vec!["stock_price".to_owned()] }
}

/// A fact as it is written.
pub(crate) fn fact(number: u64, key: &str, value: &str, seconds: i64) -> Fact {
    Fact {
        uid: uid(number),
        label: None,
        key: key.to_owned(),
        value: Value::String(value.to_owned()),
        source: Source { kind: "user".to_owned(), ..Source::default() },
        writer_id: None,
        at: at(seconds),
        recorded_at: at(0),
        scope: FactScope::Global,
        scope_id: None,
        memory_type: MemoryType::User,
        abstraction: None,
        constraint: None,
        restricted_to: Vec::new(),
        supersedes: None,
        reason: None,
        superseded: Vec::new(),
        depends_on: Vec::new(),
        reading_id: None,
        standing: Standing::Valid,
        contested: Vec::new(),
        review: None,
        former: Vec::new(),
        history: Vec::new(),
    }
}

pub(crate) fn new_fact(key: &str, value: &str) -> NewFact {
    NewFact {
        label: None,
        key: key.to_owned(),
        value: Value::String(value.to_owned()),
        source: Source { kind: "user".to_owned(), ..Source::default() },
        at: None,
        scope: None,
        scope_id: None,
        memory_type: None,
        abstraction: None,
        is_constraint: None,
        constraint_type: None,
        restricted_to: Vec::new(),
        supersedes: None,
        reason: None,
        depends_on: Vec::new(),
        require_targets: false,
    }
}

/// For a member that may be missing.
#[expect(clippy::unnecessary_wraps, reason = "it stands where an option is asked for")]
pub(crate) fn pointer(name: &str) -> Option<Pointer> {
    Some(Pointer(name.to_owned()))
}

/// For a member that may be missing.
#[expect(clippy::unnecessary_wraps, reason = "it stands where an option is asked for")]
pub(crate) fn label(text: &str) -> Option<FactLabel> {
    Some(FactLabel::new(text).unwrap())
}

/// A space, its clock and its ids. It is loaded as a whole unless it is told otherwise.
pub(crate) struct World {
    pub(crate) space: Space,
    pub(crate) space_id: SpaceId,
    pub(crate) now: Timestamp,
    pub(crate) entropy: Counting,
    pub(crate) writer: Writer,
    pub(crate) standing: WriterStanding,
    pub(crate) wider: Vec<(SpaceRecord, Vec<Fact>)>,
    /// Load only what a decision needs, as storage does.
    pub(crate) sparse: bool,
    /// What is kept while only a part is loaded.
    pub(crate) kept: Space,
    /// How many trials folded something, and of how many the result was taken.
    pub(crate) acts: usize,
    pub(crate) trials: usize,
    pub(crate) came_true: usize,
}

/// What was decided, without the random ids of rulings.
fn unruled(decided: &impl std::fmt::Debug) -> String {
    let text = format!("{decided:?}");
    let mut parts = text.split("rul_");
    let first = parts.next().unwrap_or_default().to_owned();
    parts.fold(first, |text, part| text + &part[32..])
}

impl World {
    pub(crate) fn new() -> Self {
        Self {
            space: Space { whole: true, ..Space::default() },
            space_id: SpaceId::new("s1").unwrap(),
            now: at(0),
            entropy: Counting(0),
            writer: Writer { credential: CredentialKind::Handler, principal_id: None, speaks_for: None },
            standing: WriterStanding::default(),
            wider: Vec::new(),
            sparse: false,
            kept: Space::default(),
            acts: 0,
            trials: 0,
            came_true: 0,
        }
    }

    /// One that is loaded for each decision as storage loads it.
    pub(crate) fn sparse() -> Self {
        Self { sparse: true, ..Self::new() }
    }

    pub(crate) fn act(&mut self, action: SpaceAction) -> SpaceDecision {
        let policy = PolicyRef { pack_id: "p".to_owned(), version: "1.0.0".to_owned(), hash: "sha256:0".to_owned() };
        let rules = SpaceRules {
            ledger: ledger_rules(),
            policy: &policy,
            writer: self.standing.clone(),
            wider: self.wider.clone(),
            item_ttl_seconds: 60,
        };
        let operation = SpaceOperation { space_id: self.space_id.clone(), writer: self.writer.clone(), action };
        if self.sparse {
            self.load(&operation);
        }
        let before = self.space.clone();
        self.foresees(&operation, &rules);
        let mut ids = Ids::new(self.now, &mut self.entropy);
        let decision = decide(&mut self.space, &self.space_id, &operation, &rules, self.now, &mut ids);
        let mut replayed = before.clone();
        for event in &decision.events {
            replayed.apply(self.now, event);
        }
        assert_eq!(replayed, self.space, "the state is the fold of the events");
        if decision.result.is_err() {
            assert_eq!(before, self.space, "a refusal changes nothing");
            assert!(decision.events.is_empty(), "a refusal is no event");
        }
        if self.sparse {
            self.store(&decision);
        }
        decision
    }

    /// Whatever is decided, a trial beforehand changes nothing about it: made some time ago, just now, or with a clock that is
    /// ahead.
    fn foresees(&mut self, operation: &SpaceOperation, rules: &SpaceRules<'_>) {
        let mut plain = self.space.clone();
        let mut entropy = Counting(self.entropy.0);
        let mut ids = Ids::new(self.now, &mut entropy);
        let decided = decide(&mut plain, &self.space_id, operation, rules, self.now, &mut ids);
        self.acts += 1;
        let earlier = [7_000_000, 1, 0, -3][self.acts % 4];
        {
            let mut space = self.space.clone();
            // The same ids in the same order: nothing else could be compared.
            let mut entropy = Counting(self.entropy.0);
            let mut ids = Ids::new(self.now, &mut entropy);
            let then = Timestamp::from_micros(self.now.as_micros() - earlier);
            let foreseen = foresee(&mut space, &self.space_id, operation, rules, then, &mut ids);
            assert_eq!(space, self.space, "a trial changes nothing");
            self.trials += usize::from(foreseen.is_some());
            let drawn = if foreseen.is_some() { 1_000_000 } else { 0 };
            let mut entropy = Counting(self.entropy.0 + drawn);
            let mut ids = Ids::new(self.now, &mut entropy);
            let (again, came_true) =
                decide_foreseen(&mut space, &self.space_id, operation, rules, foreseen, self.now, &mut ids);
            self.came_true += usize::from(came_true);
            assert_eq!(unruled(&again.events), unruled(&decided.events), "{earlier} µs before");
            assert_eq!(unruled(&again.result), unruled(&decided.result), "{earlier} µs before");
            assert_eq!(space.facts, plain.facts, "{earlier} µs before");
        }
    }

    /// Loads what the operation needs and no more.
    fn load(&mut self, operation: &SpaceOperation) {
        let needs = operation.needs();
        let newest = self.kept.record.as_ref().and_then(|record| record.newest);
        let whole = needs.is_whole(newest);
        self.space = self.kept.clone();
        self.space.whole = whole;
        if whole {
            return;
        }
        self.space.readings.clear();
        self.space.rulings.clear();
        let mut wanted: Vec<FactUid> = Vec::new();
        for name in &needs.named {
            let name = name.0.as_str();
            let newest_by = |calls: &dyn Fn(&Fact) -> bool| {
                self.kept.facts.values().filter(|fact| !fact.is_valid() && calls(fact)).max_by_key(|fact| fact.at)
            };
            wanted.extend(FactUid::parse(name));
            wanted.extend(newest_by(&|fact| fact.key == name).map(|fact| fact.uid.clone()));
            wanted.extend(
                newest_by(&|fact| fact.label.as_ref().is_some_and(|label| label.as_str() == name))
                    .map(|fact| fact.uid.clone()),
            );
        }
        let mut named: BTreeMap<FactUid, Fact> = BTreeMap::new();
        while let Some(uid) = wanted.pop() {
            let Some(fact) = self.kept.facts.get(&uid).filter(|_| !named.contains_key(&uid)) else { continue };
            if let Standing::Superseded { by: Some(by), .. } = &fact.standing {
                wanted.push(by.clone());
            }
            named.insert(uid, fact.clone());
        }
        self.space.facts.retain(|_, fact| fact.is_valid());
        self.space.facts.extend(named);
    }

    /// Writes what was touched and no more.
    fn store(&mut self, decision: &SpaceDecision) {
        assert_eq!(decision.result.is_err() || decision.events.is_empty(), self.space.touched == Touched::default());
        self.kept.record.clone_from(&self.space.record);
        for uid in &self.space.touched.facts {
            match self.space.facts.get(uid) {
                Some(fact) => drop(self.kept.facts.insert(uid.clone(), fact.clone())),
                None => drop(self.kept.facts.remove(uid)),
            }
        }
        for id in &self.space.touched.readings {
            self.kept.readings.insert(id.clone(), self.space.readings[id].clone());
        }
        for id in &self.space.touched.rulings {
            self.kept.rulings.insert(id.clone(), self.space.rulings[id].clone());
        }
        self.space.touched = Touched::default();
    }

    /// All facts, loaded or not.
    pub(crate) fn all(&self) -> &BTreeMap<FactUid, Fact> {
        if self.sparse { &self.kept.facts } else { &self.space.facts }
    }

    pub(crate) fn done(&mut self, action: SpaceAction) -> SpaceAnswer {
        self.act(action).result.unwrap()
    }

    pub(crate) fn refused(&mut self, action: SpaceAction) -> SpaceRefusal {
        self.act(action).result.unwrap_err()
    }

    pub(crate) fn write(&mut self, facts: Vec<NewFact>) -> (Vec<Fact>, Effects) {
        match self.done(SpaceAction::Write(facts)) {
            SpaceAnswer::Facts { facts, effects } => (facts, effects),
            other => panic!("{other:?}"),
        }
    }

    pub(crate) fn write_one(&mut self, fact: NewFact) -> Fact {
        self.write(vec![fact]).0.remove(0)
    }

    /// Texts of facts that stand, by key.
    pub(crate) fn standing(&self) -> Vec<(String, String)> {
        let mut standing: Vec<_> =
            self.all().values().filter(|fact| fact.is_valid()).map(|fact| (fact.key.clone(), fact.text())).collect();
        standing.sort();
        standing
    }

    pub(crate) fn of_key(&self, key: &str) -> &Fact {
        self.all().values().filter(|fact| fact.key == key).max_by_key(|fact| (fact.is_valid(), fact.at)).unwrap()
    }
}
