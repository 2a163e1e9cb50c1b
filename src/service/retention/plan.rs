//! Plans a batch: which records may be erased, and what is erased with them. Never anything live or held.

use std::collections::{BTreeMap, BTreeSet};

use super::Retention;
use super::batch::Judged;
use crate::domain::canonical::Digest;
use crate::domain::context::State;
use crate::domain::disposal::ErasedRange;
use crate::domain::event::StreamKey;
use crate::domain::id::{ContextFrameId, ContextId, ConversationId, FactUid, PrincipalId, SpaceId, StreamId, TenantId};
use crate::domain::policy::RecordKind;
use crate::domain::time::Timestamp;
use crate::domain::world::is_live;
use crate::state_layer::space::Partition;
use crate::storage::{
    Aged, Disposal, Disposing, HoldSet, SpaceRow, SpaceRowKind, SpaceWant, StorageError, WholeContext,
};

/// What to erase, and what to rewrite because of it.
#[derive(Debug, Default)]
pub(super) struct Plan {
    pub(super) disposal: Disposal,
    /// Rows of fact spaces to rewrite without the erased values.
    pub(super) rewritten: Vec<(TenantId, SpaceId, SpaceRow)>,
    pub(super) went: u64,
    pub(super) kept: u64,
    payloads: u64,
}

impl Plan {
    pub(super) fn is_empty(&self) -> bool {
        self.went == 0
    }

    /// The rows to erase, by table, under the names that deletions are counted by. Prompts are found by their items.
    pub(super) fn rows(&self) -> BTreeMap<&'static str, u64> {
        let going = &self.disposal;
        let prompts = 0;
        let count = |length: usize| u64::try_from(length).unwrap_or(u64::MAX);
        let rows = [
            ("payloads", self.payloads),
            ("prompts", prompts),
            ("contexts", count(going.contexts.len())),
            ("items", count(going.items.len())),
            ("commands", count(going.commands.len())),
            // Each command was bound with one attempt.
            ("attempts", count(going.commands.len())),
            ("frames", count(going.frames.len())),
            ("messages", count(going.messages.len())),
            ("claims", count(going.claims.len())),
            ("space_records", count(going.space_records.len())),
        ];
        rows.into_iter().filter(|(_, count)| *count > 0).collect()
    }

    fn keep(&mut self) {
        self.kept += 1;
    }
}

/// The streams whose rows a batch changes. Rows that are written only once need no lock.
pub(super) fn streams(kind: RecordKind, found: &[Aged]) -> impl Iterator<Item = StreamKey> + Send + use<> {
    let names: BTreeSet<StreamKey> = match kind {
        RecordKind::ClosedContext | RecordKind::ExpiredContext => {
            found.iter().filter_map(conversation).map(StreamKey::Conversation).collect()
        }
        RecordKind::FactHistory | RecordKind::WorkingItem | RecordKind::SavedPack => {
            found.iter().filter_map(|aged| SpaceId::new(&*aged.place).ok()).map(StreamKey::FactSpace).collect()
        }
        RecordKind::IdempotencyAnswer | RecordKind::Message | RecordKind::EvidencePayload | RecordKind::Frame => {
            BTreeSet::new()
        }
    };
    names.into_iter()
}

fn conversation(aged: &Aged) -> Option<ConversationId> {
    ConversationId::new(&*aged.place).ok()
}

/// Whether a hold covers a record's conversation, or the person it is about.
fn is_held(held: &HoldSet, aged: &Aged) -> bool {
    let actor = aged.actor_id.as_deref().and_then(|id| PrincipalId::new(id).ok());
    actor.is_some_and(|actor| held.holds_principal(&actor))
        || conversation(aged).is_some_and(|conversation| held.holds_conversation(&conversation))
}

impl Retention {
    /// Chooses which of the found records may be erased.
    pub(super) async fn plan(&self, judged: &Judged<'_>, found: &[Aged], held: &HoldSet) -> Result<Plan, StorageError> {
        let mut plan = Plan::default();
        match judged.kind {
            RecordKind::IdempotencyAnswer => {
                plan.disposal.claims = found.iter().filter_map(|aged| Digest::from_hex(&aged.id)).collect();
                plan.went = count(found.len());
            }
            RecordKind::Message => {
                for aged in found {
                    match Digest::from_hex(&aged.id).filter(|_| !is_held(held, aged)) {
                        Some(key) => plan.disposal.messages.push(key),
                        None => plan.keep(),
                    }
                }
                plan.went = count(plan.disposal.messages.len());
            }
            RecordKind::EvidencePayload => self.plan_payloads(judged, found, held, &mut plan).await?,
            RecordKind::Frame => self.plan_frames(judged, found, held, &mut plan).await?,
            RecordKind::ClosedContext | RecordKind::ExpiredContext => {
                self.plan_contexts(judged, found, held, &mut plan).await?;
            }
            RecordKind::FactHistory | RecordKind::WorkingItem | RecordKind::SavedPack => {
                self.plan_space_rows(judged, found, held, &mut plan).await?;
            }
        }
        Ok(plan)
    }

    async fn plan_payloads(
        &self,
        judged: &Judged<'_>,
        found: &[Aged],
        held: &HoldSet,
        plan: &mut Plan,
    ) -> Result<(), StorageError> {
        let tenant_id = &judged.tenant.tenant_id;
        let mut places: BTreeMap<StreamId, Vec<u64>> = BTreeMap::new();
        for aged in found {
            if let (Some(stream_id), Ok(seq)) = (StreamId::parse(&aged.place), aged.id.parse()) {
                places.entry(stream_id).or_default().push(seq);
            }
        }
        let ids: Vec<StreamId> = places.keys().cloned().collect();
        let named = self.store.named_streams(tenant_id, &ids).await?;
        let spaces = named.iter().filter_map(|(key, _)| match key {
            StreamKey::FactSpace(id) => Some(id.clone()),
            _ => None,
        });
        let owned = self.held_spaces(tenant_id, spaces.collect(), held).await?;
        let keys: BTreeMap<&StreamId, &StreamKey> = named.iter().map(|(key, head)| (&head.stream_id, key)).collect();
        for (stream_id, mut places) in places {
            let stays = keys.get(&stream_id).is_some_and(|key| match key {
                StreamKey::FactSpace(id) => owned.contains(id),
                key => held.holds_stream(key),
            });
            if stays {
                plan.kept += count(places.len());
                continue;
            }
            plan.went += count(places.len());
            places.sort_unstable();
            plan.disposal.payloads.extend(ErasedRange::of(&stream_id, &places));
        }
        plan.payloads = plan.went;
        Ok(())
    }

    async fn plan_frames(
        &self,
        judged: &Judged<'_>,
        found: &[Aged],
        held: &HoldSet,
        plan: &mut Plan,
    ) -> Result<(), StorageError> {
        let (going, staying): (Vec<&Aged>, Vec<&Aged>) = found.iter().partition(|aged| !is_held(held, aged));
        plan.kept = count(staying.len());
        let ids: Vec<ContextFrameId> = going.iter().filter_map(|aged| ContextFrameId::parse(&aged.id)).collect();
        let by_age = judged.rules.cutoff(RecordKind::EvidencePayload, judged.now);
        let times: BTreeMap<&str, Timestamp> = going.iter().map(|aged| (aged.id.as_str(), aged.at)).collect();
        for frame in self.store.captured(&judged.tenant.tenant_id, &ids).await? {
            // The frame is no longer needed, but it belongs to the conversation's evidence: it stays while the
            // conversation is open.
            if frame.is_open {
                plan.keep();
                continue;
            }
            // Payloads past their own time are counted with payloads.
            let younger = times.get(frame.frame_id.as_str()).is_none_or(|at| by_age.is_none_or(|cutoff| *at > cutoff));
            if let Some((stream_id, seq)) = frame.captured {
                plan.payloads += u64::from(younger);
                plan.disposal.payloads.push(ErasedRange { stream_id, first: seq, last: seq });
            }
            plan.disposal.frames.push(frame.frame_id);
        }
        plan.went = count(plan.disposal.frames.len());
        Ok(())
    }

    async fn plan_contexts(
        &self,
        judged: &Judged<'_>,
        found: &[Aged],
        held: &HoldSet,
        plan: &mut Plan,
    ) -> Result<(), StorageError> {
        let (going, staying): (Vec<&Aged>, Vec<&Aged>) = found.iter().partition(|aged| !is_held(held, aged));
        plan.kept = count(staying.len());
        let ids: Vec<ContextId> = going.iter().filter_map(|aged| ContextId::parse(&aged.id)).collect();
        for whole in self.store.whole_contexts(&judged.tenant.tenant_id, &ids).await? {
            if !may_go(&whole, judged.cutoff) {
                plan.keep();
                continue;
            }
            plan.disposal.items.extend(whole.items.into_iter().map(|item| item.item_id));
            plan.disposal.commands.extend(whole.commands);
            plan.disposal.contexts.push(whole.context.context_id);
        }
        plan.went = count(plan.disposal.contexts.len());
        Ok(())
    }

    async fn plan_space_rows(
        &self,
        judged: &Judged<'_>,
        found: &[Aged],
        held: &HoldSet,
        plan: &mut Plan,
    ) -> Result<(), StorageError> {
        let tenant_id = &judged.tenant.tenant_id;
        let spaces: BTreeSet<SpaceId> = found.iter().filter_map(|aged| SpaceId::new(&*aged.place).ok()).collect();
        let owned = self.held_spaces(tenant_id, spaces, held).await?;
        let mut facts: BTreeMap<SpaceId, BTreeSet<FactUid>> = BTreeMap::new();
        for aged in found {
            let row = aged.id.split_once('/').and_then(|(kind, id)| Some((SpaceRowKind::parse(kind)?, id.to_owned())));
            let (Some((kind, id)), Ok(space_id)) = (row, SpaceId::new(&*aged.place)) else { continue };
            if owned.contains(&space_id) {
                plan.keep();
                continue;
            }
            if let Some(uid) = FactUid::parse(&id).filter(|_| kind == SpaceRowKind::Fact) {
                facts.entry(space_id.clone()).or_default().insert(uid);
            }
            plan.disposal.space_records.push((space_id, kind, id));
        }
        plan.went = count(plan.disposal.space_records.len());
        for (space_id, uids) in facts {
            plan.rewritten.extend(self.forgetful(tenant_id, &space_id, &uids).await?);
        }
        Ok(())
    }

    /// Rewrites facts in force without the values of these facts, which they replaced.
    async fn forgetful(
        &self,
        tenant_id: &TenantId,
        space_id: &SpaceId,
        uids: &BTreeSet<FactUid>,
    ) -> Result<Vec<(TenantId, SpaceId, SpaceRow)>, StorageError> {
        let want = SpaceWant {
            tenant_id: tenant_id.clone(),
            space_id: space_id.clone(),
            live: true,
            whole: false,
            named: Vec::new(),
        };
        let rows = self.store.spaces(&[want]).await?.into_iter().filter_map(|(space_id, row)| match row {
            SpaceRow::Fact(mut fact) => {
                fact.forget_former(uids).then(|| (tenant_id.clone(), space_id, SpaceRow::Fact(fact)))
            }
            _ => None,
        });
        Ok(rows.collect())
    }

    /// Spaces whose owner is under a hold.
    async fn held_spaces(
        &self,
        tenant_id: &TenantId,
        spaces: BTreeSet<SpaceId>,
        held: &HoldSet,
    ) -> Result<BTreeSet<SpaceId>, StorageError> {
        if held.is_empty() || spaces.is_empty() {
            return Ok(BTreeSet::new());
        }
        // No fact has this name, so that only the record of the space is loaded.
        let want = |space_id: SpaceId| SpaceWant {
            tenant_id: tenant_id.clone(),
            space_id,
            live: false,
            whole: false,
            named: vec![String::new()],
        };
        let wants: Vec<SpaceWant> = spaces.into_iter().map(want).collect();
        let owned = self.store.spaces(&wants).await?.into_iter().filter_map(|(space_id, row)| match row {
            SpaceRow::Space(record) => match record.partition {
                Partition::User { owner_id: Some(owner) } => Some((space_id, PrincipalId::new(owner).ok()?)),
                _ => None,
            },
            _ => None,
        });
        Ok(owned.filter(|(_, owner)| held.holds_principal(owner)).map(|(space_id, _)| space_id).collect())
    }

    /// Conversations whose last record this batch may erase: they are locked, so that none gets a new message
    /// meanwhile.
    pub(super) async fn names_to_lock(
        &self,
        judged: &Judged<'_>,
        found: &[Aged],
    ) -> Result<Vec<StreamKey>, StorageError> {
        let last_to_go = match judged.kind {
            RecordKind::EvidencePayload => judged.rules.evidence_payload_days >= judged.rules.message_days,
            RecordKind::Message => judged.rules.message_days > judged.rules.evidence_payload_days,
            // Erasing contexts locks their conversations anyway.
            _ => false,
        };
        if !last_to_go {
            return Ok(Vec::new());
        }
        if judged.kind == RecordKind::Message {
            return Ok(found.iter().filter_map(conversation).map(StreamKey::Conversation).collect());
        }
        let ids: BTreeSet<StreamId> = found.iter().filter_map(|aged| StreamId::parse(&aged.place)).collect();
        let ids: Vec<StreamId> = ids.into_iter().collect();
        let named = self.store.named_streams(&judged.tenant.tenant_id, &ids).await?;
        let quiet = |at: Option<Timestamp>| at.is_none_or(|at| at <= quiet_since(judged));
        Ok(named
            .into_iter()
            .filter(|(key, head)| matches!(key, StreamKey::Conversation(_)) && quiet(head.at))
            .map(|(key, _)| key)
            .collect())
    }

    /// Adds the names of conversations without contexts: their streams get a meaningless name.
    pub(super) async fn add_names(
        &self,
        judged: &Judged<'_>,
        quiet: BTreeMap<ConversationId, StreamId>,
        plan: &mut Plan,
    ) -> Result<(), StorageError> {
        if plan.is_empty() || quiet.is_empty() {
            return Ok(());
        }
        let ids: Vec<ConversationId> = quiet.keys().cloned().collect();
        let contexts = self.store.contexts_in(&judged.tenant.tenant_id, &ids).await?;
        let going: BTreeSet<&ContextId> = plan.disposal.contexts.iter().collect();
        let left: BTreeSet<&ConversationId> =
            contexts.iter().filter(|(_, context)| !going.contains(context)).map(|(id, _)| id).collect();
        let over = quiet.into_iter().filter(|(id, _)| !left.contains(id));
        (plan.disposal.conversations, plan.disposal.streams) = over.unzip();
        Ok(())
    }
}

/// Locked conversations in which everything is past its time.
pub(super) fn quiet_conversations(
    judged: &Judged<'_>,
    held: &HoldSet,
    disposing: &Disposing,
) -> BTreeMap<ConversationId, StreamId> {
    let quiet = |key: &StreamKey| match key {
        StreamKey::Conversation(id) if !held.holds_conversation(id) => {
            let stream = disposing.head(key)?;
            let is_quiet = stream.at.is_none_or(|at| at <= quiet_since(judged));
            is_quiet.then(|| (id.clone(), stream.stream_id.clone()))
        }
        _ => None,
    };
    disposing.locked().filter_map(quiet).collect()
}

/// A conversation is past its time if nothing was written in it since this instant.
fn quiet_since(judged: &Judged<'_>) -> Timestamp {
    let cutoff = |kind| judged.rules.cutoff(kind, judged.now).unwrap_or(judged.cutoff);
    cutoff(RecordKind::Message).min(cutoff(RecordKind::EvidencePayload))
}

/// Whether a context ended long enough ago, and nothing of it can still be answered or used.
fn may_go(whole: &WholeContext, cutoff: Timestamp) -> bool {
    let ended = match &whole.context.state {
        State::Closed { at, .. } | State::Expired { at } => *at,
        State::Active | State::Pending { .. } | State::Blocked { .. } => return false,
    };
    ended <= cutoff && !whole.items.iter().any(|item| is_live(&item.state))
}

fn count(length: usize) -> u64 {
    u64::try_from(length).unwrap_or(u64::MAX)
}
