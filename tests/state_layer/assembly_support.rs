//! What the tests of packs share: facts, signals, items and turns to ask about.

use cscp::state_layer::assembly::{ContextPack, Estimator, PackRefusal, PackRequest, Sources, Turn, assemble};
use cscp::state_layer::authority::{AuthorityOrder, Viewer};
use cscp::state_layer::fact::{Fact, Former};
use cscp::state_layer::space::{Identity, Signal, WorkingItem};

use crate::ledger_support::{at, fact, uid};

/// What a pack is made from.
#[derive(Default)]
pub(crate) struct Given {
    pub identity: Option<Identity>,
    pub facts: Vec<Fact>,
    pub items: Vec<WorkingItem>,
    pub signals: Vec<Signal>,
}

pub(crate) fn request(query: &str) -> PackRequest {
    PackRequest {
        query: query.to_owned(),
        as_of: at(10_000),
        viewer: Viewer { user_id: "u1".to_owned(), authority: Some("employee".to_owned()), ..Viewer::default() },
        token_budget: 8000,
        facts_share: 0.7,
        include: Vec::new(),
        exclude: Vec::new(),
        include_superseded: false,
        scopes: Vec::new(),
        recent_turns: Vec::new(),
        estimator: Estimator::Cl100kBase,
    }
}

impl Given {
    pub(crate) fn facts(facts: Vec<Fact>) -> Self {
        Self { facts, ..Self::default() }
    }

    pub(crate) fn ask(&self, request: &PackRequest) -> Result<ContextPack, PackRefusal> {
        let sources = Sources {
            identity: self.identity.as_ref(),
            facts: self.facts.iter().collect(),
            items: self.items.iter().collect(),
            signals: self.signals.iter().collect(),
            denied: Vec::new(),
            closed: Vec::new(),
        };
        assemble(request, &sources, &AuthorityOrder::default())
    }

    pub(crate) fn context(&self, request: &PackRequest) -> String {
        self.ask(request).unwrap().context
    }
}

pub(crate) fn turns(texts: &[&str]) -> Vec<Turn> {
    let said = |(place, text): (usize, &&str)| Turn {
        speaker: "user".to_owned(),
        text: (*text).to_owned(),
        at: at(100 + i64::try_from(place).unwrap()),
    };
    texts.iter().enumerate().map(said).collect()
}

/// A fact that replaced others.
pub(crate) fn renewed(number: u64, key: &str, value: &str, former: &[&str]) -> Fact {
    let mut fact = fact(number, key, value, 200);
    fact.former = (1_u64..)
        .zip(former)
        .map(|(place, text)| Former { uid: uid(number * 1000 + place), text: (*text).to_owned() })
        .collect();
    fact
}

pub(crate) fn signal(key: &str, value: &str, seconds: i64) -> Signal {
    Signal { key: key.to_owned(), value: value.into(), observed_at: at(seconds), stale_at: None, former: Vec::new() }
}

pub(crate) fn item(key: &str, content: &str, priority: i32) -> WorkingItem {
    WorkingItem {
        key: key.to_owned(),
        item_type: "context".to_owned(),
        content: content.into(),
        priority,
        task_id: None,
        promote_as: None,
        created_at: at(50),
        expires_at: None,
    }
}
