//! A timeline, replayed in process: facts to statements, turns to readings, a query to a pack.

use std::collections::BTreeMap;

use serde_json::Value;

use cscp::domain::id::{FactLabel, FactUid, ReadingId};
use cscp::domain::time::Timestamp;
use cscp::state_layer::Statement;
use cscp::state_layer::assembly::{ContextPack, Estimator, PackRefusal, PackRequest, Sources, Turn, assemble};
use cscp::state_layer::authority::{AuthorityOrder, Viewer};
use cscp::state_layer::fact::{Fact, FactScope, MemoryType, Pointer, Source, Standing};
use cscp::state_layer::language::tags::tagged;
use cscp::state_layer::reading::{Utterance, read};
use cscp::state_layer::space::{Identity, Signal, WorkingItem};

use super::fold;

/// How many of the latest turns go with a pack request, as in the probe.
const RECENT_TURNS: usize = 50;

/// A memory that a timeline is replayed into.
pub struct Memory {
    pub identity: Identity,
    pub viewer: Viewer,
    pub statements: Vec<Statement>,
    pub signals: BTreeMap<String, Signal>,
    pub items: Vec<WorkingItem>,
    pub turns: Vec<Turn>,
    pub order: AuthorityOrder,
    next: u128,
}

/// A timestamp of the data: without an offset, taken for UTC.
pub fn instant(text: &str) -> Timestamp {
    Timestamp::parse(text).or_else(|_| Timestamp::parse(&format!("{text}Z"))).unwrap()
}

fn string(value: &Value) -> Option<String> {
    value.as_str().map(str::to_owned)
}

impl Memory {
    /// A memory in the timeline's initial state.
    pub fn new(timeline: &Value) -> Self {
        let state = &timeline["initial_state"];
        let who = &state["identity_role"];
        let user_id = string(&timeline["actors"]["user"]["id"]).unwrap_or_default();
        let mut memory = Self {
            identity: Identity {
                user_id: user_id.clone(),
                user_name: string(&who["user_name"]),
                authority: string(&who["authority"]),
                department: string(&who["department"]),
                organization: string(&who["organization"]),
                communication_style: string(&who["communication_style"]),
                permissions: Vec::new(),
            },
            viewer: Viewer { user_id, authority: string(&who["authority"]), ..Viewer::default() },
            statements: Vec::new(),
            signals: BTreeMap::new(),
            items: Vec::new(),
            turns: Vec::new(),
            order: AuthorityOrder::default(),
            next: 1,
        };
        let now = state["environment"]["now"].as_str().unwrap_or("2025-01-01T00:00:00").to_owned();
        for (key, value) in state["environment"].as_object().into_iter().flatten() {
            memory.signal(key, value, &now);
        }
        for fact in state["persistent_facts"].as_array().into_iter().flatten() {
            memory.fact(fact, fact["ts"].as_str().unwrap_or(&now), None);
        }
        for (place, item) in state["working_set"].as_array().into_iter().flatten().enumerate() {
            memory.item(&format!("item-{place}"), item, item["ts"].as_str().unwrap_or(&now));
        }
        memory
    }

    fn spread(&mut self) -> String {
        self.next += 1;
        // Spread, so that no order of uids is the order of arrival.
        format!("{:032x}", self.next.wrapping_mul(0x9E37_79B9_7F4A_7C15_F39C_0C5B_2D1E_8B37))
    }

    fn uid(&mut self) -> FactUid {
        let id = self.spread();
        FactUid::parse(&format!("fct_{id}")).unwrap()
    }

    fn reading_id(&mut self) -> ReadingId {
        let id = self.spread();
        ReadingId::parse(&format!("rdg_{id}")).unwrap()
    }

    /// Replays one event that is not a query.
    pub fn event(&mut self, event: &Value) {
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
                _ => self.fact(write, at, string(&write["supersedes"]).filter(|pointer| !pointer.is_empty())),
            }
        }
    }

    fn turn(&mut self, speaker: &str, text: &str, at: &str) {
        let at = instant(at);
        self.turns.push(Turn { speaker: speaker.to_owned(), text: text.to_owned(), at });
        let utterance = Utterance { speaker: speaker.to_owned(), text: text.to_owned(), at, authority: None };
        let id = self.reading_id();
        self.statements.push(Statement::Reading(read(&utterance, id, at)));
    }

    fn signal(&mut self, key: &str, value: &Value, at: &str) {
        let observed_at = instant(at);
        let mut former = Vec::new();
        if let Some(old) = self.signals.get(key) {
            if old.observed_at > observed_at {
                return;
            }
            former.extend(old.value.as_str().map(str::to_owned));
            former.extend(old.former.iter().cloned());
        }
        let signal = Signal { key: key.to_owned(), value: value.clone(), observed_at, stale_at: None, former };
        self.signals.insert(key.to_owned(), signal);
    }

    fn item(&mut self, key: &str, item: &Value, at: &str) {
        self.items.push(WorkingItem {
            key: key.to_owned(),
            item_type: string(&item["item_type"]).unwrap_or_else(|| "context".to_owned()),
            content: item["content"].clone(),
            priority: i32::try_from(item["priority"].as_i64().unwrap_or(0)).unwrap(),
            task_id: None,
            promote_as: None,
            created_at: instant(at),
            expires_at: None,
        });
    }

    fn fact(&mut self, write: &Value, at: &str, supersedes: Option<String>) {
        let text = write["value"].as_str().unwrap_or_default();
        let tag = tagged(text);
        let scope: FactScope = serde_json::from_value(write["scope"].clone()).unwrap_or_default();
        let source = &write["source"];
        let kind = string(&source["type"]).unwrap_or_default();
        let uid = self.uid();
        self.statements.push(Statement::Fact(Fact {
            uid,
            label: FactLabel::new(write["id"].as_str().unwrap_or_default()).ok(),
            key: string(&write["key"]).unwrap_or_default(),
            value: write["value"].clone(),
            source: Source {
                identity: string(&source["identity"]),
                authority: string(&source["authority"]),
                turn_index: None,
                event_index: None,
                kind,
            },
            writer_id: None,
            at: instant(at),
            recorded_at: instant(at),
            scope: tag.scope.as_ref().map_or(scope, |(scope, _)| *scope),
            scope_id: tag.scope.as_ref().map(|(_, id)| id.clone()),
            memory_type: MemoryType::User,
            abstraction: None,
            constraint: None,
            restricted_to: tag.restricted_to.clone(),
            supersedes: supersedes.map(Pointer),
            reason: None,
            superseded: Vec::new(),
            depends_on: Vec::new(),
            reading_id: None,
            standing: Standing::Valid,
            contested: Vec::new(),
            review: None,
            former: Vec::new(),
            history: Vec::new(),
        }));
    }

    /// Every fact of the space as it stands.
    pub fn facts(&self) -> Vec<Fact> {
        fold::fold(self.statements.clone(), &self.order)
    }

    /// The request that the probe makes.
    pub fn request(&self, query: &str, as_of: &str, token_budget: u32) -> PackRequest {
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

    /// A pack from these facts.
    pub fn pack(&self, facts: &[Fact], request: &PackRequest) -> Result<ContextPack, PackRefusal> {
        let sources = Sources {
            identity: Some(&self.identity),
            facts: facts.iter().filter(|fact| fact.is_valid() || request.include_superseded).collect(),
            items: self.items.iter().collect(),
            signals: self.signals.values().collect(),
            denied: Vec::new(),
        };
        assemble(request, &sources, &self.order)
    }
}

/// Every piece of input text before a query, one unit per line: what a phrase must be in to be attainable.
pub fn said(timeline: &Value, upto: usize) -> String {
    let text = |value: &Value| value.as_str().map_or_else(|| value.to_string(), str::to_owned);
    let none = |value: &Value| value.as_str().map_or_else(|| "None".to_owned(), str::to_owned);
    let state = &timeline["initial_state"];
    let who = &state["identity_role"];
    let mut out = vec![format!(
        "User: {} Role: {} Department: {} Organization: {}",
        text(&who["user_name"]),
        text(&who["authority"]),
        none(&who["department"]),
        none(&who["organization"])
    )];
    for fact in state["persistent_facts"].as_array().into_iter().flatten() {
        out.push(format!("{}: {}", text(&fact["key"]), text(&fact["value"])));
    }
    out.extend(state["working_set"].as_array().into_iter().flatten().map(|item| text(&item["content"])));
    out.extend(
        state["environment"].as_object().into_iter().flatten().map(|(key, value)| format!("{key}: {}", text(value))),
    );
    for event in timeline["events"].as_array().into_iter().flatten().take(upto) {
        if event["type"] == "conversation_turn" {
            out.push(format!("{}: {}", text(&event["speaker"]), text(&event["text"])));
        }
        for write in event["writes"].as_array().into_iter().flatten() {
            out.push(format!("{}: {}", text(&write["key"]), text(&write["value"])));
        }
    }
    out.join("\n")
}
