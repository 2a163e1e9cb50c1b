//! The layers around the facts: description, identity, environment, working set, saved packs; and erasure.

use std::collections::BTreeMap;

use super::checking::{MAX_NAME_BYTES, name_problem};
use super::room::{MAX_ITEMS_BYTES, MAX_SIGNALS_BYTES, bytes, full};
use super::{Deciding, MAX_ITEMS, MAX_SIGNALS, MAX_WIDER};
use crate::domain::canonical::canonical;
use crate::domain::id::{ErasureId, FactUid, SpaceId};
use crate::domain::time::Timestamp;
use crate::state_layer::assembly::{ContextPack, SavedPack};
use crate::state_layer::authority::Viewer;
use crate::state_layer::event::SpaceEvent;
use crate::state_layer::fact::{Fact, MAX_FORMER, MAX_FORMER_BYTES, MAX_VALUE_BYTES};
use crate::state_layer::operation::SpaceAnswer;
use crate::state_layer::refusal::SpaceRefusal;
use crate::state_layer::space::{Access, Identity, Partition, Signal, SpaceRecord, WorkingItem};

fn entry_invalid(member: &str, problem: &str) -> SpaceRefusal {
    SpaceRefusal::EntryInvalid { member: member.to_owned(), problem: problem.to_owned() }
}

/// Checks a key and a value.
fn entry(key: &str, member: &str, value: &serde_json::Value) -> Result<(), SpaceRefusal> {
    if let Some(problem) = name_problem(key) {
        return Err(entry_invalid("key", problem));
    }
    if key.len() > MAX_NAME_BYTES {
        return Err(SpaceRefusal::EntryTooLarge { member: "key".to_owned(), limit: MAX_NAME_BYTES });
    }
    if canonical(value).len() > MAX_VALUE_BYTES {
        return Err(SpaceRefusal::EntryTooLarge { member: member.to_owned(), limit: MAX_VALUE_BYTES });
    }
    Ok(())
}

/// A signal's value as text, as far as it is carried along.
fn carried(value: &serde_json::Value) -> String {
    let mut text = match value {
        serde_json::Value::String(text) => text.clone(),
        other => other.to_string(),
    };
    text.truncate(text.floor_char_boundary(MAX_FORMER_BYTES));
    text
}

/// That a space is erased, at somebody's wish or with everything of a person.
#[must_use]
pub fn erased(
    record: &SpaceRecord,
    facts: &BTreeMap<FactUid, Fact>,
    erasure_id: Option<ErasureId>,
    now: Timestamp,
) -> SpaceEvent {
    SpaceEvent::SpaceErased {
        space_id: record.space_id.clone(),
        facts: u64::try_from(facts.values().filter(|fact| fact.is_valid()).count()).unwrap_or(u64::MAX),
        going: Some(Box::new(SpaceRecord { erased_at: Some(now), erasure_id, updated_at: now, ..record.clone() })),
    }
}

impl Deciding<'_, '_> {
    pub(super) fn describe(
        &mut self,
        partition: Option<&Partition>,
        wider: &[SpaceId],
        access: &Access,
        if_revision: Option<u64>,
    ) -> Result<SpaceAnswer, SpaceRefusal> {
        let revision = self.space.record.as_ref().map_or(0, |record| record.revision);
        if if_revision.is_some_and(|read| read != revision) {
            return Err(SpaceRefusal::SpaceRevisionMismatch { revision });
        }
        if wider.len() > MAX_WIDER {
            return Err(SpaceRefusal::EntryTooLarge { member: "wider".to_owned(), limit: MAX_WIDER });
        }
        if wider.contains(self.space_id) {
            return Err(entry_invalid("wider", "a space is not wider than itself"));
        }
        let created = self.space.record.is_none();
        let mut space = match &self.space.record {
            Some(record) => {
                if partition.is_some_and(|partition| *partition != record.partition) {
                    return Err(SpaceRefusal::PartitionFixed { memory: memory(&record.partition).to_owned() });
                }
                record.clone()
            }
            None => self.fresh_record(partition.cloned().unwrap_or(Partition::User { owner_id: None })),
        };
        space.wider = wider.to_vec();
        space.access = access.clone();
        if !created {
            space.revision = space.revision.saturating_add(1);
            space.updated_at = self.now;
        }
        self.happen(SpaceEvent::SpaceDescribed { space: space.clone() });
        Ok(SpaceAnswer::Space { space: Box::new(space), created })
    }

    /// Sets who is served. It is read-only in a session: another person needs another space, unless nothing is in it.
    pub(super) fn identify(&mut self, identity: &Identity) -> Result<SpaceAnswer, SpaceRefusal> {
        if let Some(problem) = name_problem(&identity.user_id) {
            return Err(entry_invalid("user_id", problem));
        }
        let created = self.space.record.is_none();
        if let Some(record) = &self.space.record {
            let other = record.identity.as_ref().is_some_and(|known| known.user_id != identity.user_id);
            let empty = record.newest.is_none() && self.space.signals.is_empty() && self.space.items.is_empty();
            if other && !empty {
                return Err(SpaceRefusal::IdentityFixed);
            }
        }
        self.ensure_space();
        self.happen(SpaceEvent::IdentitySet { space_id: self.space_id.clone(), identity: identity.clone() });
        let space = self.space.record.clone().ok_or(SpaceRefusal::SpaceNotFound)?;
        Ok(SpaceAnswer::Space { space: Box::new(space), created })
    }

    /// Sets a signal; an older observation than the present one is kept out.
    pub(super) fn set_signal(&mut self, signal: &Signal) -> Result<SpaceAnswer, SpaceRefusal> {
        entry(&signal.key, "value", &signal.value)?;
        let mut signal = signal.clone();
        signal.former.clear();
        match self.space.signals.get(&signal.key) {
            Some(present) if present.observed_at > signal.observed_at => {
                return Ok(SpaceAnswer::Signal { signal: present.clone(), accepted: false });
            }
            Some(present) => {
                let text = carried(&signal.value);
                let former = std::iter::once(carried(&present.value)).chain(present.former.iter().cloned());
                for value in former {
                    if value != text && !signal.former.contains(&value) && signal.former.len() < MAX_FORMER {
                        signal.former.push(value);
                    }
                }
            }
            None if self.space.signals.len() >= MAX_SIGNALS => return Err(full("signals")),
            None => {}
        }
        let held = |signal: &Signal| bytes(&signal.value) + signal.former.iter().map(String::len).sum::<usize>();
        let present = self.space.signals.get(&signal.key).map_or(0, held);
        if held(&signal) > present
            && self.space.signals.values().map(held).sum::<usize>() - present + held(&signal) > MAX_SIGNALS_BYTES
        {
            return Err(full("bytes in signals"));
        }
        self.ensure_space();
        self.happen(SpaceEvent::SignalSet { space_id: self.space_id.clone(), signal: signal.clone() });
        Ok(SpaceAnswer::Signal { signal, accepted: true })
    }

    pub(super) fn remove_signal(&mut self, key: &str) -> Result<SpaceAnswer, SpaceRefusal> {
        self.there(self.space.signals.contains_key(key), "signal")?;
        self.happen(SpaceEvent::SignalRemoved { space_id: self.space_id.clone(), key: key.to_owned() });
        Ok(SpaceAnswer::Done)
    }

    /// Refuses to remove what is not there.
    fn there(&self, there: bool, what: &str) -> Result<(), SpaceRefusal> {
        match &self.space.record {
            None => Err(SpaceRefusal::SpaceNotFound),
            Some(_) if !there => Err(SpaceRefusal::EntryNotFound { what: what.to_owned() }),
            Some(_) => Ok(()),
        }
    }

    /// Sets a working item. Those that have expired go.
    pub(super) fn set_item(&mut self, item: &WorkingItem) -> Result<SpaceAnswer, SpaceRefusal> {
        entry(&item.key, "content", &item.content)?;
        for (member, name) in [
            ("item_type", Some(&item.item_type)),
            ("task_id", item.task_id.as_ref()),
            ("promote_as", item.promote_as.as_ref()),
        ] {
            if name.is_some_and(|name| name.len() > MAX_NAME_BYTES) {
                return Err(SpaceRefusal::EntryTooLarge { member: member.to_owned(), limit: MAX_NAME_BYTES });
            }
        }
        if let Some(problem) = item.promote_as.as_deref().and_then(name_problem) {
            return Err(entry_invalid("promote_as", problem));
        }
        let expired: Vec<String> = self
            .space
            .items
            .values()
            .filter(|known| known.key != item.key && known.expires_at.is_some_and(|end| end <= self.now))
            .map(|known| known.key.clone())
            .collect();
        let left = self.space.items.len().saturating_sub(expired.len());
        if !self.space.items.contains_key(&item.key) && left >= MAX_ITEMS {
            return Err(full("working items"));
        }
        let others = self.space.items.values().filter(|known| known.key != item.key && !expired.contains(&known.key));
        let present = self.space.items.get(&item.key).map_or(0, |present| bytes(&present.content));
        if bytes(&item.content) > present
            && others.map(|known| bytes(&known.content)).sum::<usize>() + bytes(&item.content) > MAX_ITEMS_BYTES
        {
            return Err(full("bytes in working items"));
        }
        let mut item = item.clone();
        item.expires_at.get_or_insert(self.now.plus_seconds(self.rules.item_ttl_seconds));
        self.ensure_space();
        for key in expired {
            let space_id = self.space_id.clone();
            self.happen(SpaceEvent::ItemRemoved { space_id, key, reason: "expired".to_owned() });
        }
        self.happen(SpaceEvent::ItemSet { space_id: self.space_id.clone(), item: item.clone() });
        Ok(SpaceAnswer::Item { item })
    }

    pub(super) fn remove_item(&mut self, key: &str) -> Result<SpaceAnswer, SpaceRefusal> {
        self.there(self.space.items.contains_key(key), "working item")?;
        let (space_id, key) = (self.space_id.clone(), key.to_owned());
        self.happen(SpaceEvent::ItemRemoved { space_id, key, reason: "removed".to_owned() });
        Ok(SpaceAnswer::Done)
    }

    pub(super) fn save_pack(
        &mut self,
        viewer: &Viewer,
        as_of: Timestamp,
        wider: &[SpaceId],
        pack: &ContextPack,
    ) -> Result<SpaceAnswer, SpaceRefusal> {
        if self.space.record.is_none() {
            return Err(SpaceRefusal::SpaceNotFound);
        }
        // It was assembled without the lock: what was deleted since must not come back with it.
        if !pack.facts_included.iter().all(|uid| self.is_there(uid)) {
            return Err(SpaceRefusal::PackOutdated);
        }
        let saved = SavedPack {
            pack_id: self.ids.pack(),
            space_id: self.space_id.clone(),
            wider: Some(wider.to_vec()),
            viewer: viewer.clone(),
            as_of,
            created_at: self.now,
            pack: pack.clone(),
            policy: self.rules.policy.clone(),
        };
        self.happen(SpaceEvent::PackSaved { pack: saved.clone() });
        Ok(SpaceAnswer::Pack { pack: Box::new(saved) })
    }

    /// Whether a fact of this space, or of a wider one, still has its value.
    fn is_there(&self, uid: &FactUid) -> bool {
        let mut wider = self.rules.wider.iter().flat_map(|(_, facts)| facts);
        let fact = self.space.facts.get(uid).or_else(|| wider.find(|fact| fact.uid == *uid));
        fact.is_some_and(|fact| !fact.is_deleted())
    }

    pub(super) fn erase(&mut self) -> Result<SpaceAnswer, SpaceRefusal> {
        let Some(record) = &self.space.record else { return Err(SpaceRefusal::SpaceNotFound) };
        let event = erased(record, &self.space.facts, None, self.now);
        self.happen(event);
        Ok(SpaceAnswer::Done)
    }
}

fn memory(partition: &Partition) -> &'static str {
    match partition {
        Partition::User { .. } => "user",
        Partition::Capability { .. } => "capability",
        Partition::Organization { .. } => "organization",
    }
}
