//! In memory: assembly and observation, loading apart.

use cscp::domain::canonical::Digest;
use cscp::domain::id::{Entropy, Ids, ReadingId, SpaceId};
use cscp::domain::operation::CredentialKind;
use cscp::domain::policy::PolicyRef;
use cscp::domain::time::Timestamp;
use cscp::state_layer::assembly::{Estimator, PackRequest, Sources, assemble};
use cscp::state_layer::authority::{AuthorityOrder, Viewer};
use cscp::state_layer::decide::{SpaceRules, decide};
use cscp::state_layer::fact::{Fact, Source};
use cscp::state_layer::ledger::LedgerRules;
use cscp::state_layer::operation::{NewFact, SpaceAction, SpaceOperation, Writer, WriterStanding};
use cscp::state_layer::reading::{Utterance, read};
use cscp::state_layer::space::Space;
use serde_json::json;

use super::corpus::{QUERY, fact};
use super::{median, micros};

fn at(seconds: i64) -> Timestamp {
    Timestamp::from_micros(1_800_000_000_000_000 + seconds * 1_000_000)
}

fn order() -> AuthorityOrder {
    AuthorityOrder::new(&["policy", "executive", "manager", "employee", "guest"].map(str::to_owned))
}

/// A space with so many facts, each of its own key.
struct House {
    space: Space,
    policy: PolicyRef,
    entropy: Seeded,
    now: i64,
}

struct Seeded(u64);

impl Entropy for Seeded {
    fn bytes(&mut self) -> [u8; 32] {
        let mut bytes = [0; 32];
        for part in bytes.chunks_exact_mut(8) {
            self.0 = self.0.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
            part.copy_from_slice(&self.0.to_be_bytes());
        }
        bytes
    }
}

impl House {
    fn with(facts: usize) -> Self {
        let policy = PolicyRef { pack_id: "bench".into(), version: "1.0.0".into(), hash: "sha256:00".into() };
        let mut house = Self { space: Space::default(), policy, entropy: Seeded(7), now: 0 };
        let new = |(key, value): (String, String)| NewFact {
            label: None,
            key,
            value: json!(value),
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
        };
        for start in (0..facts).step_by(500) {
            let many = (start..facts.min(start + 500)).map(|number| new(fact(number))).collect();
            house.act(SpaceAction::Write(many));
        }
        house
    }

    fn act(&mut self, action: SpaceAction) {
        self.now += 1;
        let writer = Writer { credential: CredentialKind::Handler, principal_id: None, speaks_for: None };
        let operation = SpaceOperation { space_id: SpaceId::new("bench").unwrap(), writer, action };
        let rules = SpaceRules {
            ledger: LedgerRules { order: order(), time_sensitive_keys: Vec::new() },
            policy: &self.policy,
            writer: WriterStanding::default(),
            wider: Vec::new(),
            item_ttl_seconds: 3_600,
        };
        let now = at(self.now);
        let mut ids = Ids::new(now, &mut self.entropy);
        let decision = decide(&mut self.space, &operation.space_id, &operation, &rules, now, &mut ids);
        decision.result.unwrap();
    }
}

fn request() -> PackRequest {
    PackRequest {
        query: QUERY.to_owned(),
        as_of: at(1_000_000),
        viewer: Viewer::default(),
        token_budget: 2_000,
        facts_share: 0.7,
        include: Vec::new(),
        exclude: Vec::new(),
        include_superseded: false,
        scopes: Vec::new(),
        recent_turns: Vec::new(),
        estimator: Estimator::Cl100kBase,
    }
}

/// The baseline: each word of the query looked for in each fact's text.
fn scan(facts: &[&Fact]) -> usize {
    let words: Vec<String> = QUERY.to_lowercase().split_whitespace().map(str::to_owned).collect();
    let hits = |fact: &&&Fact| {
        let text = format!("{}: {}", fact.key, fact.text()).to_lowercase();
        words.iter().any(|word| text.contains(word.as_str()))
    };
    facts.iter().filter(hits).count()
}

/// Prints what packs and observations cost.
pub(crate) fn report(runs: usize) {
    println!("in memory, median of {runs}, microseconds");
    println!("| valid facts | pack | plain scan | ratio | observation |");
    println!("|---|---|---|---|---|");
    for facts in [300, 1_000, 3_000, 10_000] {
        let mut house = House::with(facts);
        let (pack, plain) = {
            let all: Vec<&Fact> = house.space.facts.values().collect();
            let sources = Sources { facts: all.clone(), ..Sources::default() };
            let (request, order) = (request(), order());
            let pack = median(runs, || drop(std::hint::black_box(assemble(&request, &sources, &order))));
            (
                pack,
                median(runs, || {
                    std::hint::black_box(scan(&all));
                }),
            )
        };
        let said = Utterance {
            speaker: "user".to_owned(),
            text: "Actually the delivery address changed, it is Rua do Sol, 85 now".to_owned(),
            at: at(999),
            authority: None,
        };
        let mut number = 0_u64;
        let observation = median(runs, || {
            number += 1;
            let id = ReadingId::parse(&format!("rdg_{number:032x}")).unwrap();
            let now = at(house.now + 1);
            let said = Utterance { at: now, ..said.clone() };
            house.act(SpaceAction::Observe(read(&said, id, now, Digest::from_bytes([7; 32]))));
        });
        let (pack, plain, observation) = (micros(pack), micros(plain), micros(observation));
        println!("| {facts} | {pack:.0} | {plain:.0} | {:.1} | {observation:.0} |", pack / plain);
    }
}
