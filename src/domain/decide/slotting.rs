//! Slots: what may be written, and in which form it is kept (RFC-WF-0034 VI.B, XI.A, XIII).

use serde_json::{Map, Value, json};

use super::{Rules, Turn, about_context, usable};
use crate::domain::canonical::{Digest, Purpose, canonical, keyed};
use crate::domain::event::Event;
use crate::domain::id::ContextId;
use crate::domain::item::VoidReason;
use crate::domain::lifecycle::Status;
use crate::domain::operation::{Answer, ChangeSlots, CredentialKind};
use crate::domain::policy::SlotStorage;
use crate::domain::refusal::Refusal;
use crate::domain::slots::{
    ACTIVE_INTENT, ACTIVE_TARGET, MAX_SLOTS, MAX_TOTAL_BYTES, MAX_VALUE_BYTES, SlotClass, SlotError, Slots,
    WORK_ITEM_ID, classify,
};

impl Turn<'_, '_> {
    pub(super) fn change_slots(&mut self, request: &ChangeSlots) -> Result<Answer, Refusal> {
        let context = self.context(&request.context_id)?;
        if context.state.status() != Status::Blocked {
            usable(&context)?;
        }
        if request.if_revision != context.revision {
            return Err(Refusal::RevisionMismatch { revision: context.revision });
        }
        let stored =
            stored_form(self.rules, &self.world.tenant_key, &context.slots, &request.patch, request.credential)?;
        if !stored.is_empty() {
            self.write_slots(&request.context_id, stored, None);
        }
        self.context_answer(&request.context_id)
    }

    /// Writes slots in their stored form. A changed target voids what was asked about the old one.
    pub(super) fn write_slots(&mut self, context_id: &ContextId, changes: Slots, cause: Option<String>) {
        let Some(context) = self.world.contexts.get(context_id).cloned() else { return };
        let before = context.slots.get(ACTIVE_TARGET).unwrap_or(&Value::Null);
        let retargeted = changes.get(ACTIVE_TARGET).is_some_and(|target| target != before);
        let event = Event::ContextSlotsChanged { context_id: context_id.clone(), changes, cause };
        self.record_in(&context.conversation_id, about_context(&context), event);
        if retargeted {
            self.void_items(context_id, VoidReason::TargetChanged);
        }
    }
}

/// The changes of a merge patch (RFC 7396) as they will be stored, or why they may not be.
pub(super) fn stored_form(
    rules: &Rules<'_>,
    tenant_key: &Digest,
    current: &Slots,
    patch: &Map<String, Value>,
    credential: CredentialKind,
) -> Result<Slots, Refusal> {
    let mut changes = Slots::new();
    for (name, change) in patch {
        let refused = |problem| Refusal::Slot { slot: name.clone(), problem };
        may_write(name, credential).map_err(refused)?;
        if change.is_null() {
            changes.insert(name.clone(), Value::Null);
            continue;
        }
        let value = merged(current.get(name), change);
        check_value(name, &value).map_err(refused)?;
        let stored = match rules.policy.pack().slots.storage_of(name) {
            SlotStorage::Refuse => return Err(refused(SlotError::Refused)),
            SlotStorage::Digest => {
                check_shape(rules, name, change).map_err(refused)?;
                digest_of(tenant_key, change)
            }
            SlotStorage::Stored | SlotStorage::Derived => {
                check_shape(rules, name, &value).map_err(refused)?;
                value
            }
        };
        changes.insert(name.clone(), stored);
    }
    check_total(current, &changes)?;
    Ok(changes)
}

/// What is kept of a caller's own members: each as policy stores the slot of its name, or why it may not be.
pub(super) fn stored_extensions(
    rules: &Rules<'_>,
    tenant_key: &Digest,
    given: &Map<String, Value>,
) -> Result<Map<String, Value>, Refusal> {
    let stored = given.iter().map(|(name, value)| {
        let refused = |problem| Refusal::Extension { name: name.clone(), problem };
        let kept = match rules.policy.pack().slots.storage_of_member(name) {
            SlotStorage::Refuse | SlotStorage::Derived => return Err(refused(SlotError::Refused)),
            SlotStorage::Digest => digest_of(tenant_key, value),
            SlotStorage::Stored => value.clone(),
        };
        if classify(name) == SlotClass::Extension {
            check_shape(rules, name, value).map_err(refused)?;
        }
        Ok((name.clone(), kept))
    });
    stored.collect()
}

/// What is kept of a value of which only a digest is.
fn digest_of(tenant_key: &Digest, value: &Value) -> Value {
    json!({"digest": format!("hmac-sha256:{}", keyed(tenant_key, Purpose::Slot, &canonical(value)).to_hex())})
}

fn may_write(name: &str, credential: CredentialKind) -> Result<(), SlotError> {
    match classify(name) {
        SlotClass::Unknown => Err(SlotError::Unknown),
        SlotClass::ReadOnly => Err(SlotError::ReadOnly),
        SlotClass::Writable | SlotClass::Extension if credential != CredentialKind::Agent => Ok(()),
        SlotClass::Writable if matches!(name, ACTIVE_INTENT | ACTIVE_TARGET) => Ok(()),
        SlotClass::Writable | SlotClass::Extension => Err(SlotError::NotForAgents),
    }
}

fn check_value(name: &str, value: &Value) -> Result<(), SlotError> {
    let shape = |expected: &str| Err(SlotError::Shape { expected: expected.to_owned() });
    match (name, value) {
        (ACTIVE_INTENT | WORK_ITEM_ID, Value::String(text)) if !text.is_empty() => {}
        (ACTIVE_INTENT | WORK_ITEM_ID, _) => return shape("a text that is not empty"),
        (ACTIVE_TARGET, Value::String(text)) if !text.is_empty() => {}
        (ACTIVE_TARGET, Value::Object(_)) => {}
        (ACTIVE_TARGET, _) => return shape("a text that is not empty, or an object"),
        _ => {}
    }
    if canonical(value).len() > MAX_VALUE_BYTES {
        return Err(SlotError::TooLarge { limit: format!("{MAX_VALUE_BYTES} bytes for one value") });
    }
    Ok(())
}

fn check_shape(rules: &Rules<'_>, name: &str, value: &Value) -> Result<(), SlotError> {
    rules.policy.check_slot(name, value).map_err(|refusal| SlotError::Shape { expected: refusal.to_string() })
}

fn check_total(current: &Slots, changes: &Slots) -> Result<(), Refusal> {
    let kept = current.iter().filter(|(name, _)| !changes.contains_key(*name));
    let all = kept.chain(changes.iter().filter(|(_, value)| !value.is_null()));
    let (count, bytes) =
        all.fold((0, 0), |(count, bytes), (name, value)| (count + 1, bytes + name.len() + canonical(value).len()));
    let limit = match (count > MAX_SLOTS, bytes > MAX_TOTAL_BYTES) {
        (true, _) => format!("{MAX_SLOTS} slots"),
        (_, true) => format!("{MAX_TOTAL_BYTES} bytes in all"),
        (false, false) => return Ok(()),
    };
    Err(Refusal::LimitExceeded { limit })
}

/// RFC 7396 below the level of the slot. Its depth is bounded by the reader's.
fn merged(current: Option<&Value>, patch: &Value) -> Value {
    let Value::Object(patch) = patch else { return patch.clone() };
    let mut result = current.and_then(Value::as_object).cloned().unwrap_or_default();
    for (name, change) in patch {
        if change.is_null() {
            result.remove(name);
        } else {
            let value = merged(result.get(name), change);
            result.insert(name.clone(), value);
        }
    }
    Value::Object(result)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn merge_patch_follows_the_rfc_below_the_slot() {
        // Rows of RFC 7396, appendix A, that concern objects.
        let cases = [
            (json!({"a": "b"}), json!({"a": "c"}), json!({"a": "c"})),
            (json!({"a": "b"}), json!({"b": "c"}), json!({"a": "b", "b": "c"})),
            (json!({"a": "b", "b": "c"}), json!({"a": null}), json!({"b": "c"})),
            (json!({"a": ["b"]}), json!({"a": "c"}), json!({"a": "c"})),
            (json!({"a": {"b": "c"}}), json!({"a": {"b": "d", "c": null}}), json!({"a": {"b": "d"}})),
            (json!(["a", "b"]), json!(["c", "d"]), json!(["c", "d"])),
            (json!({"e": null}), json!({"a": 1}), json!({"e": null, "a": 1})),
            (json!([1, 2]), json!({"a": "b", "c": null}), json!({"a": "b"})),
            (json!({}), json!({"a": {"bb": {"ccc": null}}}), json!({"a": {"bb": {}}})),
        ];
        for (current, patch, expected) in cases {
            assert_eq!(merged(Some(&current), &patch), expected, "{current} + {patch}");
        }
    }
}
