//! A timeline, replayed in process as the probe's resource mapping replays it over HTTP: facts written, turns observed,
//! a query answered with a pack.

use serde_json::Value;

use cscp::domain::canonical::Digest;
use cscp::domain::id::{Entropy, FactLabel, Ids, SpaceId};
use cscp::domain::operation::CredentialKind;
use cscp::domain::policy::PolicyRef;
use cscp::domain::time::Timestamp;
use cscp::state_layer::assembly::{ContextPack, Estimator, PackRefusal, PackRequest, Sources, Turn, assemble};
use cscp::state_layer::authority::{AuthorityOrder, Viewer};
use cscp::state_layer::decide::{SpaceRules, decide};
use cscp::state_layer::fact::{Fact, Pointer, Source};
use cscp::state_layer::ledger::LedgerRules;
use cscp::state_layer::operation::{NewFact, SpaceAction, SpaceOperation, Writer, WriterStanding};
use cscp::state_layer::reading::{Utterance, read};
use cscp::state_layer::space::{Identity, Signal, Space, WorkingItem};

/// How many of the latest turns go with a pack request, as in the probe.
const RECENT_TURNS: usize = 50;
/// How long everything takes to arrive, in seconds. What arrives when it was said would count as said without a time.
const ON_THE_WAY: u32 = 1;
/// How long working items live.
const ITEM_TTL_SECONDS: u32 = 30 * 24 * 3600;

/// A memory that a timeline is replayed into.
pub(crate) struct Memory {
    pub(crate) space: Space,
    pub(crate) viewer: Viewer,
    pub(crate) turns: Vec<Turn>,
    pub(crate) order: AuthorityOrder,
    space_id: SpaceId,
    entropy: Spread,
}

/// Ids that are spread, so that no order of uids is the order of arrival.
struct Spread(u64);

impl Entropy for Spread {
    fn bytes(&mut self) -> [u8; 32] {
        self.0 += 1;
        let mut state = self.0;
        std::array::from_fn(|_| {
            state = state.wrapping_mul(0x5851_F42D_4C95_7F2D).wrapping_add(0x1405_7B7E_F767_814F);
            state.to_be_bytes()[1]
        })
    }
}

/// A timestamp of the data: without an offset, taken for UTC.
pub(crate) fn instant(text: &str) -> Timestamp {
    Timestamp::parse(text).or_else(|_| Timestamp::parse(&format!("{text}Z"))).unwrap()
}

fn string(value: &Value) -> Option<String> {
    value.as_str().map(str::to_owned)
}

impl Memory {
    /// A memory in the timeline's initial state. `seed` moves all ids.
    pub(crate) fn new(timeline: &Value, seed: u64) -> Self {
        let state = &timeline["initial_state"];
        let who = &state["identity_role"];
        let user_id = string(&timeline["actors"]["user"]["id"]).unwrap_or_default();
        let mut memory = Self {
            space: Space { whole: true, ..Space::default() },
            viewer: Viewer { user_id: user_id.clone(), authority: string(&who["authority"]), ..Viewer::default() },
            turns: Vec::new(),
            order: AuthorityOrder::default(),
            space_id: SpaceId::new("s1").unwrap(),
            entropy: Spread(seed << 32),
        };
        let now = state["environment"]["now"].as_str().unwrap_or("2025-01-01T00:00:00").to_owned();
        memory.act(
            &now,
            SpaceAction::SetIdentity(Identity {
                user_id,
                user_name: string(&who["user_name"]),
                authority: string(&who["authority"]),
                department: string(&who["department"]),
                organization: string(&who["organization"]),
                communication_style: string(&who["communication_style"]),
                permissions: Vec::new(),
            }),
        );
        for (key, value) in state["environment"].as_object().into_iter().flatten() {
            memory.signal(key, value, &now);
        }
        for fact in state["persistent_facts"].as_array().into_iter().flatten() {
            memory.fact(fact, fact["ts"].as_str().unwrap_or(&now));
        }
        for (place, item) in state["working_set"].as_array().into_iter().flatten().enumerate() {
            memory.item(&format!("item-{place}"), item, item["ts"].as_str().unwrap_or(&now));
        }
        memory
    }

    fn act(&mut self, at: &str, action: SpaceAction) {
        let policy = PolicyRef { pack_id: "p".to_owned(), version: "1.0.0".to_owned(), hash: "sha256:0".to_owned() };
        let rules = SpaceRules {
            ledger: LedgerRules { order: self.order.clone(), time_sensitive_keys: Vec::new() },
            policy: &policy,
            writer: WriterStanding::default(),
            wider: Vec::new(),
            item_ttl_seconds: ITEM_TTL_SECONDS,
        };
        let writer = Writer { credential: CredentialKind::Handler, principal_id: None, speaks_for: None };
        let operation = SpaceOperation { space_id: self.space_id.clone(), writer, action };
        let now = instant(at).plus_seconds(ON_THE_WAY);
        let mut ids = Ids::new(now, &mut self.entropy);
        decide(&mut self.space, &self.space_id, &operation, &rules, now, &mut ids).result.unwrap();
    }

    /// Replays one event that is not a query.
    pub(crate) fn event(&mut self, event: &Value) {
        let at = event["ts"].as_str().unwrap_or_default();
        if event["type"] == "conversation_turn" {
            self.turn(event["speaker"].as_str().unwrap_or("user"), event["text"].as_str().unwrap_or_default(), at);
            return;
        }
        for write in event["writes"].as_array().into_iter().flatten() {
            match write["layer"].as_str() {
                Some("environment") => self.signal(write["key"].as_str().unwrap_or_default(), &write["value"], at),
                Some("working_set") => {
                    let item = serde_json::json!({"item_type": "context", "content": write["value"], "priority": 0});
                    self.item(write["key"].as_str().unwrap_or_default(), &item, at);
                }
                _ => self.fact(write, at),
            }
        }
    }

    fn turn(&mut self, speaker: &str, text: &str, at: &str) {
        let said = instant(at);
        self.turns.push(Turn { speaker: speaker.to_owned(), text: text.to_owned(), at: said });
        let utterance = Utterance { speaker: speaker.to_owned(), text: text.to_owned(), at: said, authority: None };
        let id = Ids::new(said, &mut self.entropy).reading();
        self.act(
            at,
            SpaceAction::Observe(read(&utterance, id, said.plus_seconds(ON_THE_WAY), Digest::from_bytes([7; 32]))),
        );
    }

    fn signal(&mut self, key: &str, value: &Value, at: &str) {
        let (key, observed_at) = (key.to_owned(), instant(at));
        let signal = Signal { key, value: value.clone(), observed_at, stale_at: None, former: Vec::new() };
        self.act(at, SpaceAction::SetSignal(signal));
    }

    fn item(&mut self, key: &str, item: &Value, at: &str) {
        self.act(
            at,
            SpaceAction::SetItem(WorkingItem {
                key: key.to_owned(),
                item_type: string(&item["item_type"]).unwrap_or_else(|| "context".to_owned()),
                content: item["content"].clone(),
                priority: i32::try_from(item["priority"].as_i64().unwrap_or(0)).unwrap(),
                task_id: None,
                promote_as: None,
                created_at: instant(at),
                expires_at: None,
            }),
        );
    }

    fn fact(&mut self, write: &Value, at: &str) {
        let source = &write["source"];
        let fact = NewFact {
            label: FactLabel::new(write["id"].as_str().unwrap_or_default()).ok(),
            key: string(&write["key"]).unwrap_or_default(),
            value: write["value"].clone(),
            source: Source {
                kind: string(&source["type"]).unwrap_or_default(),
                identity: string(&source["identity"]),
                authority: string(&source["authority"]),
                turn_index: None,
                event_index: None,
            },
            at: Some(instant(at)),
            scope: serde_json::from_value(write["scope"].clone()).ok(),
            scope_id: None,
            memory_type: None,
            abstraction: None,
            // The release says false of every policy.
            is_constraint: write["is_constraint"].as_bool().filter(|is| *is),
            constraint_type: None,
            restricted_to: Vec::new(),
            supersedes: string(&write["supersedes"]).filter(|name| !name.is_empty()).map(Pointer),
            reason: None,
            depends_on: Vec::new(),
            require_targets: false,
        };
        self.act(at, SpaceAction::Write(vec![fact]));
    }

    /// The request that the probe makes.
    pub(crate) fn request(&self, query: &str, as_of: &str, token_budget: u32) -> PackRequest {
        PackRequest {
            query: query.to_owned(),
            as_of: instant(as_of),
            viewer: self.viewer.clone(),
            token_budget,
            facts_share: 0.7,
            include: Vec::new(),
            exclude: Vec::new(),
            include_superseded: false,
            scopes: Vec::new(),
            recent_turns: self.turns.iter().skip(self.turns.len().saturating_sub(RECENT_TURNS)).cloned().collect(),
            estimator: Estimator::Cl100kBase,
        }
    }

    /// Every fact, those that no longer stand too, as the server tells of them.
    pub(crate) fn facts(&self) -> Vec<Value> {
        let told = |fact: &Fact| {
            let id = fact.label.as_ref().map(ToString::to_string);
            serde_json::json!({"id": id, "key": fact.key, "is_valid": fact.is_valid()})
        };
        self.space.facts.values().map(told).collect()
    }

    /// The pack that answers a request.
    pub(crate) fn pack(&self, request: &PackRequest) -> Result<ContextPack, PackRefusal> {
        let shown = |fact: &&Fact| fact.is_valid() || request.include_superseded;
        let sources = Sources {
            identity: self.space.record.as_ref().and_then(|record| record.identity.as_ref()),
            facts: self.space.facts.values().filter(shown).collect(),
            items: self.space.items.values().collect(),
            signals: self.space.signals.values().collect(),
            denied: Vec::new(),
            closed: Vec::new(),
        };
        assemble(request, &sources, &self.order)
    }
}
