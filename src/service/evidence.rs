//! Evidence reads (EQRP-like): artifacts and frames, with their redaction.
//!
//! A reader of evidence sees the ids of messages and conversations: linking a command to them is the purpose of
//! evidence (RFC-WF-0034 IX). Slots and fact spaces are redacted unless the reader may see them raw.

mod spaces;

use serde::Serialize;
use serde_json::{Map, Value, json};

use super::going::Fading;
use super::ooc::RedactionShown;
use super::recording::{Looked, Unrecorded, Whose};
use super::spaces::sees_recorded_values;
use super::{Caller, Service, ServiceError};
use crate::domain::id::{ArtifactId, ContextFrameId};
use crate::domain::policy::RedactionMethod;
use crate::domain::query::{EvidenceQuery, Position};
use crate::domain::redaction::{EXTENSIONS, Redactor};
use crate::domain::scope::Scope;
use crate::domain::slots::{ACTIVE_TARGET, LAST_RESULT, pending_slot};
use crate::evidence::artifact::artifact;
use crate::evidence::entry::LogEntry;

/// One page of artifacts.
#[derive(Debug, Clone)]
pub struct EvidencePage {
    /// The artifacts, oldest first.
    pub items: Vec<Value>,
    /// Where the next page begins.
    pub next: Option<Position>,
    pub redaction: RedactionShown,
}

#[derive(Debug, Clone)]
pub struct ArtifactShown {
    pub artifact: Value,
    pub redaction: RedactionShown,
}

/// A frame as it is shown to a reader.
#[derive(Debug, Clone, Serialize)]
pub struct FrameShown {
    /// The frame. If anything is redacted, it is not in the form that was hashed.
    pub frame: Value,
    /// The frame's hash in the command envelope.
    pub context_hash: String,
    /// The salt of the hash, only together with the frame in the form that was hashed.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub salt: Option<String>,
    /// Whether something is redacted, so that the hash cannot be recomputed.
    pub redacted: bool,
    pub redaction: RedactionShown,
}

impl Service {
    /// Artifacts, oldest first. The read is recorded before it is answered, even if it is refused.
    pub async fn evidence(&self, caller: &Caller, query: &EvidenceQuery) -> Result<EvidencePage, ServiceError> {
        let looked = Looked {
            space_id: query.space_id.clone(),
            conversation_id: query.conversation_id.clone(),
            context_id: query.context_id.clone(),
            command_id: query.command_id.clone(),
            ..looked("evidence.query", caller)
                .asking(query.artifact_id.as_ref())
                .asking(query.fact_uid.as_ref())
                .asking(query.correlation_id.as_ref())
        };
        self.require_recorded(caller, Scope::EvidenceRead, &looked).await?;
        let fading = Fading::of(self.store.as_ref(), &caller.tenant.tenant_id).await?;
        let mut page = self.store.entries(&caller.tenant.tenant_id, query).await?;
        page.items = page.items.into_iter().map(|entry| fading.shown(entry)).collect();
        let book = self.rules.now();
        let rules = book.rules(&caller.tenant.policy_scope());
        let mut redactor = Redactor::new(&rules.policy.pack().redaction, &caller.tenant.key).raw_if(is_raw(caller));
        let items: Vec<Value> = page.items.iter().map(|entry| covered(entry, caller, &mut redactor)).collect();
        let ids = looked.ids.iter().cloned().chain(ids_of(&page.items)).collect();
        let looked = Looked { ids, records: items.len(), ..looked };
        let found = EvidencePage { items, next: page.next, redaction: shown(caller, &redactor) };
        Unrecorded::new(found, looked).record(self, caller).await
    }

    pub async fn artifact(&self, caller: &Caller, id: &ArtifactId) -> Result<ArtifactShown, ServiceError> {
        let looked = looked("evidence.artifact", caller);
        self.require_recorded(caller, Scope::EvidenceRead, &looked).await?;
        let entry = self.entry_to_show(caller, id).await?;
        let looked = one(looked, id, entry.is_some());
        let entry = Unrecorded::or_not(entry.ok_or(ServiceError::NotFound("artifact")), looked);
        let entry = entry.record(self, caller).await?;
        let book = self.rules.now();
        let rules = book.rules(&caller.tenant.policy_scope());
        let mut redactor = Redactor::new(&rules.policy.pack().redaction, &caller.tenant.key).raw_if(is_raw(caller));
        let artifact = covered(&entry, caller, &mut redactor);
        Ok(ArtifactShown { artifact, redaction: shown(caller, &redactor) })
    }

    async fn entry_to_show(&self, caller: &Caller, id: &ArtifactId) -> Result<Option<LogEntry>, ServiceError> {
        let fading = Fading::of(self.store.as_ref(), &caller.tenant.tenant_id).await?;
        Ok(self.store.entry(&caller.tenant.tenant_id, id).await?.map(|entry| fading.shown(entry)))
    }

    /// The entry to prove. The read is recorded.
    pub(super) async fn entry_to_prove(&self, caller: &Caller, id: &ArtifactId) -> Result<LogEntry, ServiceError> {
        let looked = looked("evidence.proof", caller);
        self.require_recorded(caller, Scope::EvidenceRead, &looked).await?;
        let entry = self.entry_to_show(caller, id).await?;
        let looked = one(looked, id, entry.is_some());
        Unrecorded::or_not(entry.ok_or(ServiceError::NotFound("artifact")), looked).record(self, caller).await
    }

    /// One frame with its hash, and with the salt if the frame is shown unredacted.
    pub async fn frame(&self, caller: &Caller, id: &ContextFrameId) -> Result<FrameShown, ServiceError> {
        let mut looked = looked("evidence.frame", caller);
        self.require_recorded(caller, Scope::EvidenceRead, &looked).await?;
        let stored = self.store.frame(&caller.tenant.tenant_id, id).await?;
        if let Some(stored) = &stored {
            looked.conversation_id = Some(stored.frame.conversation_id.clone());
            looked.context_id = Some(stored.frame.context_id.clone());
            looked.command_id = Some(stored.frame.command_id.clone());
        }
        let looked = one(looked, id, stored.is_some());
        let stored = Unrecorded::or_not(stored.ok_or(ServiceError::NotFound("context frame")), looked);
        let stored = stored.record(self, caller).await?;
        if stored.frame.context_hash(&stored.salt) != stored.context_hash {
            tracing::error!(frame = %id, "the stored context frame is not the captured one; the read failed");
            return Err(ServiceError::Internal);
        }
        let book = self.rules.now();
        let rules = book.rules(&caller.tenant.policy_scope());
        let mut redactor = Redactor::new(&rules.policy.pack().redaction, &caller.tenant.key).raw_if(is_raw(caller));
        let mut frame = serde_json::to_value(&stored.frame).map_err(|_| ServiceError::Internal)?;
        cover(&mut frame, &mut redactor);
        let redacted = redactor.has_redacted();
        Ok(FrameShown {
            frame,
            context_hash: stored.context_hash,
            salt: (!redacted).then(|| stored.salt.to_hex()),
            redacted,
            redaction: shown(caller, &redactor),
        })
    }
}

/// Whether this caller sees evidence unredacted.
pub(super) fn is_raw(caller: &Caller) -> bool {
    sees_recorded_values(caller)
}

pub(super) fn level(caller: &Caller) -> &'static str {
    if is_raw(caller) { "raw" } else { "redacted" }
}

fn looked(operation: &str, caller: &Caller) -> Looked {
    let detail = Some(level(caller).to_owned());
    Looked { operation: operation.to_owned(), whose: Whose::Everybodys, detail, ..Looked::default() }
}

/// The record of a read of one item, found or not.
fn one(looked: Looked, id: &impl ToString, found: bool) -> Looked {
    Looked { ids: vec![id.to_string()], records: usize::from(found), ..looked }
}

fn ids_of(entries: &[LogEntry]) -> Vec<String> {
    entries.iter().map(|entry| entry.header.artifact_id.to_string()).collect()
}

fn shown(caller: &Caller, redactor: &Redactor<'_>) -> RedactionShown {
    RedactionShown { level: level(caller), applied: redactor.applied() }
}

/// An entry as an artifact, with `data` redacted for this reader.
pub(super) fn covered(entry: &LogEntry, caller: &Caller, redactor: &mut Redactor<'_>) -> Value {
    let mut artifact = artifact(entry, &caller.tenant.environment);
    let of_a_space = artifact.get("space_id").is_some();
    if let Some(data) = artifact.get_mut("data") {
        if of_a_space { spaces::cover(data, redactor) } else { cover(data, redactor) }
    }
    artifact
}

/// Redacts callers' texts at every depth: slots, targets, reports, extensions, external names of people.
pub(super) fn cover(value: &mut Value, redactor: &mut Redactor<'_>) {
    match value {
        Value::Object(members) => {
            let copied = copied_slot(members);
            for (name, member) in members.iter_mut() {
                match name.as_str() {
                    "slots" | "changes" => cover_slots(member, redactor),
                    "slot" => replace(member, |value, redactor| redactor.slot(&copied, value), redactor),
                    "target" => replace(member, |value, redactor| redactor.slot(ACTIVE_TARGET, value), redactor),
                    "result" | "results" => cover_reports(member, redactor),
                    EXTENSIONS => replace(member, |value, redactor| redactor.slot(EXTENSIONS, value), redactor),
                    "aliases" | "past_aliases" => cover_aliases(member, redactor),
                    _ => cover(member, redactor),
                }
            }
        }
        Value::Array(items) => items.iter_mut().for_each(|item| cover(item, redactor)),
        Value::Null | Value::Bool(_) | Value::Number(_) | Value::String(_) => {}
    }
}

fn replace(
    member: &mut Value,
    method: impl Fn(&Value, &mut Redactor<'_>) -> Option<Value>,
    redactor: &mut Redactor<'_>,
) {
    if !member.is_null() {
        *member = method(member, redactor).unwrap_or(Value::Null);
    }
}

/// The slot whose copy is in the `slot` member of an event.
fn copied_slot(members: &Map<String, Value>) -> String {
    let item = members.get("item").and_then(|item| item.get("item_id")).and_then(Value::as_str);
    let kind = item.and_then(crate::domain::id::ItemId::parse).map(|id| id.kind());
    kind.map_or(LAST_RESULT, pending_slot).to_owned()
}

fn cover_slots(member: &mut Value, redactor: &mut Redactor<'_>) {
    let Value::Object(slots) = member else { return cover(member, redactor) };
    let shown = slots.iter().map(|(name, value)| {
        // A null records that the slot was unset. A hidden slot keeps its name, so that the change is visible.
        let left = if value.is_null() { Some(Value::Null) } else { redactor.slot(name, value) };
        (name.clone(), left.unwrap_or_else(|| json!({"redacted": "hide"})))
    });
    *member = Value::Object(shown.collect());
}

/// Free texts of reports: the engine's status and the summary.
fn cover_reports(member: &mut Value, redactor: &mut Redactor<'_>) {
    match member {
        Value::Array(reports) => reports.iter_mut().for_each(|report| cover_reports(report, redactor)),
        Value::Object(report) => {
            for name in ["status", "summary"] {
                if let Some(text) = report.get_mut(name) {
                    replace(text, |value, redactor| redactor.slot(LAST_RESULT, value), redactor);
                }
            }
        }
        _ => {}
    }
}

/// External names such as phone numbers. Policy has no rule for them: their last four characters suffice to tell them
/// apart.
fn cover_aliases(member: &mut Value, redactor: &mut Redactor<'_>) {
    let aliases = member.as_array_mut().into_iter().flatten();
    for value in aliases.filter_map(|alias| alias.get_mut("value")) {
        replace(value, |value, redactor| redactor.by("aliases", RedactionMethod::Mask, value), redactor);
    }
}
