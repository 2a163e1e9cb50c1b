//! One of everything that has a period, and whether it is still there.

use std::sync::Arc;

use cscp::committer::SpaceSubmission;
use cscp::domain::canonical::Digest;
use cscp::domain::context::CloseReason;
use cscp::domain::id::{CommandId, ContextFrameId, ContextId, FactUid, ItemId, PackId, SpaceId};
use cscp::domain::operation::{Answer, CredentialKind, Move, Operation, Sweep, Transition};
use cscp::domain::policy::RecordKind;
use cscp::domain::query::EvidenceQuery;
use cscp::domain::rulebook::Rulebook;
use cscp::domain::time::{Clock as _, Timestamp};
use cscp::packs::PackSource;
use cscp::state_layer::assembly::{ContextPack, TokenSummary};
use cscp::state_layer::authority::Viewer;
use cscp::state_layer::fact::Source;
use cscp::state_layer::operation::{NewFact, SpaceAction, SpaceAnswer, SpaceOperation, Writer};
use cscp::state_layer::query::FactQuery;
use cscp::state_layer::space::{Partition, Signal, WorkingItem};
use cscp::storage::{SpaceRow, SpaceWant};
use serde_json::json;

use crate::harness::House;

/// Days that nothing in these tests lasts.
pub(crate) const LONG: [(&str, u32); 9] = [
    ("closed_context_days", 366),
    ("expired_context_days", 366),
    ("frame_days", 3660),
    ("evidence_payload_days", 3660),
    ("message_days", 366),
    ("idempotency_hours", 8784),
    ("fact_history_days", 3660),
    ("working_item_days", 366),
    ("saved_pack_days", 3660),
];

/// The pack `basic` with these periods, and others so long that nothing else goes.
pub(crate) fn rules(periods: &[(&str, u32)]) -> Arc<Rulebook> {
    let text = include_str!("../../policies/basic.yaml");
    let (start, rest) = text.split_once("\nretention:\n").unwrap();
    let (_, end) = rest.split_once("\n\n").unwrap();
    let mut section = String::new();
    for (name, long) in LONG {
        let chosen = periods.iter().find(|(other, _)| *other == name).map_or(long, |(_, chosen)| *chosen);
        section.extend(["  ", name, ": ", &chosen.to_string(), "\n"]);
    }
    let folder = tempfile::tempdir().unwrap();
    std::fs::write(folder.path().join("basic.yaml"), format!("{start}\nretention:\n{section}\n{end}")).unwrap();
    Arc::new(PackSource::Folder(folder.path().to_owned()).load().unwrap())
}

/// The name of a kind's period in a pack.
pub(crate) fn period(kind: RecordKind) -> &'static str {
    match kind {
        RecordKind::IdempotencyAnswer => "idempotency_hours",
        RecordKind::Message => "message_days",
        RecordKind::EvidencePayload => "evidence_payload_days",
        RecordKind::Frame => "frame_days",
        RecordKind::ClosedContext => "closed_context_days",
        RecordKind::ExpiredContext => "expired_context_days",
        RecordKind::FactHistory => "fact_history_days",
        RecordKind::WorkingItem => "working_item_days",
        RecordKind::SavedPack => "saved_pack_days",
    }
}

/// What was made, and when each kind's time begins.
pub(crate) struct Things {
    pub(crate) at: Timestamp,
    pub(crate) claim: Digest,
    pub(crate) message: Digest,
    pub(crate) expired: ContextId,
    pub(crate) closed: ContextId,
    pub(crate) item: ItemId,
    pub(crate) frame: ContextFrameId,
    pub(crate) old_fact: FactUid,
    pub(crate) new_fact: FactUid,
    pub(crate) pack: PackId,
}

pub(crate) fn space() -> SpaceId {
    SpaceId::new("memory-of-ana").unwrap()
}

pub(crate) async fn in_space(house: &House, action: SpaceAction) -> SpaceAnswer {
    let writer = Writer { credential: CredentialKind::Handler, principal_id: None, speaks_for: None };
    let operation = SpaceOperation { space_id: space(), writer, action };
    let submission = SpaceSubmission { tenant: Arc::clone(&house.tenant), operation, claim: None };
    house.committer.submit_space(submission).await.unwrap().result.unwrap()
}

pub(crate) fn new_fact(key: &str, value: &str, at: Option<Timestamp>) -> NewFact {
    NewFact {
        label: None,
        key: key.to_owned(),
        value: json!(value),
        source: Source { kind: "user".to_owned(), ..Source::default() },
        at,
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

pub(crate) async fn fact(house: &House, key: &str, value: &str, at: Option<Timestamp>) -> FactUid {
    match in_space(house, SpaceAction::Write(vec![new_fact(key, value, at)])).await {
        SpaceAnswer::Facts { facts, .. } => facts[0].uid.clone(),
        other => panic!("another answer: {other:?}"),
    }
}

pub(crate) fn close(context_id: &ContextId) -> Operation {
    Operation::Transition(Transition {
        context_id: context_id.clone(),
        to: Move::Close(CloseReason::Finished),
        if_revision: None,
    })
}

fn pack() -> ContextPack {
    ContextPack {
        context: "## Facts\n- price: 5\n".to_owned(),
        segments: Vec::new(),
        facts_included: Vec::new(),
        omitted: Vec::new(),
        token_summary: TokenSummary { budget: 500, used: 9, remaining: 491, facts: 9 },
        pack_hash: "sha256:00".to_owned(),
        estimator_id: "bytes".to_owned(),
    }
}

impl Things {
    /// Everything that has a period ends at one instant, but for what is given an end of its own.
    pub(crate) async fn in_house(house: &House) -> Self {
        let hello = json!({"text": "hello there", "conversation_id": "left"});
        let expired = house.context_of(house.message("wamid.left", &hello)).await;
        house.clock.pass_seconds(3_600);
        let conversation_id = cscp::domain::id::ConversationId::new("left").unwrap();
        house.answer(Operation::Sweep(Sweep { conversation_id })).await.unwrap();
        let at = house.clock.now();
        let closed = house.context().await;
        let (item, buttons) = house.ask(&closed, "k").await;
        house.post("wamid.yes", json!({"button_id": buttons[0]})).await;
        house.answer(House::bind(&closed, "k", "one")).await.unwrap();
        let claim = house.claim("key", "close");
        house.submit(close(&closed), Some(claim)).await.unwrap().result.unwrap();
        let command = CommandId::new("k").unwrap();
        let command = house.store.command(&house.tenant.tenant_id, &command).await.unwrap().unwrap();
        let hello = house.message("wamid.hello", &json!({}));
        let message = cscp::domain::message::message_key(&house.tenant.key, &hello.channel, &hello.message_id);
        let owner = Partition::User { owner_id: Some("ana".to_owned()) };
        let describe = SpaceAction::Describe {
            partition: Some(owner),
            wider: Vec::new(),
            access: cscp::state_layer::space::Access::Open,
            if_revision: None,
        };
        in_space(house, describe).await;
        let old_fact = fact(house, "price", "old price 5", Some(Timestamp::from_micros(at.as_micros() - 9))).await;
        let new_fact = fact(house, "price", "new price 7", None).await;
        in_space(house, SpaceAction::SetItem(item_until(at, Some(at.plus_seconds(1))))).await;
        let signal = |key: &str, stale_at| Signal {
            key: key.to_owned(),
            value: json!("rain"),
            observed_at: at,
            stale_at,
            former: Vec::new(),
        };
        in_space(house, SpaceAction::SetSignal(signal("weather", Some(at.plus_seconds(1))))).await;
        in_space(house, SpaceAction::SetSignal(signal("country", None))).await;
        let save =
            SpaceAction::SavePack { viewer: Viewer::default(), as_of: at, wider: Vec::new(), pack: Box::new(pack()) };
        let SpaceAnswer::Pack { pack } = in_space(house, save).await else { panic!("no pack") };
        let frame = command.context_frame_id;
        Self { at, claim: claim.key, message, expired, closed, item, frame, old_fact, new_fact, pack: pack.pack_id }
    }

    /// From when on a kind counts; its period comes on top.
    pub(crate) fn begins(&self, kind: RecordKind) -> Timestamp {
        self.at.plus_seconds(u32::from(kind == RecordKind::WorkingItem))
    }

    /// Whether the record of a kind is there, with all that belongs to it, or gone with all of it.
    pub(crate) async fn has(&self, house: &House, kind: RecordKind) -> bool {
        let (store, tenant) = (&house.store, &house.tenant.tenant_id);
        match kind {
            RecordKind::IdempotencyAnswer => store.claim(tenant, &self.claim).await.unwrap().is_some(),
            RecordKind::Message => !store.messages(tenant, &[self.message]).await.unwrap().is_empty(),
            RecordKind::EvidencePayload => {
                let closed =
                    EvidenceQuery { kind: Some("context.closed".to_owned()), limit: 9, ..EvidenceQuery::default() };
                store.entries(tenant, &closed).await.unwrap().items[0].body.is_some()
            }
            RecordKind::Frame => store.frame(tenant, &self.frame).await.unwrap().is_some(),
            RecordKind::ClosedContext => {
                let context = store.context(tenant, &self.closed).await.unwrap().is_some();
                let item = store.item(tenant, &self.item).await.unwrap().is_some();
                let command = store.last_command(tenant, &self.closed).await.unwrap().is_some();
                assert!(context == item && item == command, "all or nothing");
                context
            }
            RecordKind::ExpiredContext => store.context(tenant, &self.expired).await.unwrap().is_some(),
            RecordKind::FactHistory => {
                let query = FactQuery { include_invalid: true, limit: 9, ..FactQuery::default() };
                let facts = store.facts(tenant, &space(), &query).await.unwrap().items;
                let newer = facts.iter().find(|fact| fact.uid == self.new_fact).unwrap();
                assert!(newer.is_valid(), "what stands stays");
                let old = facts.iter().any(|fact| fact.uid == self.old_fact);
                let carried = newer.former.iter().any(|former| former.uid == self.old_fact);
                assert_eq!(old, carried, "nobody carries along what went");
                old
            }
            RecordKind::WorkingItem => {
                let rows = live(house).await;
                let item = rows.iter().any(|row| matches!(row, SpaceRow::Item(item) if item.key == "draft"));
                let signal = |name: &str| rows.iter().any(|row| matches!(row, SpaceRow::Signal(s) if s.key == name));
                assert!(item == signal("weather") && signal("country"));
                item
            }
            RecordKind::SavedPack => store.saved_pack(tenant, &self.pack).await.unwrap().is_some(),
        }
    }
}

pub(crate) fn item_until(at: Timestamp, expires_at: Option<Timestamp>) -> WorkingItem {
    WorkingItem {
        key: "draft".to_owned(),
        item_type: "artifact".to_owned(),
        content: json!({"n": 1}),
        priority: 0,
        task_id: None,
        promote_as: None,
        created_at: at,
        expires_at,
    }
}

/// What stands in the space.
pub(crate) async fn live(house: &House) -> Vec<SpaceRow> {
    let want = SpaceWant {
        tenant_id: house.tenant.tenant_id.clone(),
        space_id: space(),
        live: true,
        whole: false,
        named: Vec::new(),
    };
    house.store.spaces(&[want]).await.unwrap().into_iter().map(|(_, row)| row).collect()
}

/// The context that a turn answered with.
pub(crate) fn context_in(answer: &Answer) -> Option<&ContextId> {
    match answer {
        Answer::Turn { context, .. } => context.as_ref().map(|context| &context.context_id),
        _ => None,
    }
}
