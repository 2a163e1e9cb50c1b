//! The lines of one entry: as hashed, and as this reader may see it.

use serde_json::Value;

use super::{Export, Payloads};
use crate::domain::canonical::{Digest, canonical};
use crate::domain::event::Event;
use crate::domain::redaction::Redactor;
use crate::evidence::bundle::{Entry, FrameLine, Line};
use crate::evidence::entry::{EntryBody, LogEntry, Payload};
use crate::service::evidence::{cover, covered, is_raw};

impl Export {
    pub(super) fn entry(&mut self, entry: &LogEntry, leaf_index: u64, proof: &[Digest]) -> Vec<Line> {
        let book = self.service.rules();
        let rules = book.rules(&self.caller.tenant.policy_scope());
        let redaction = &rules.policy.pack().redaction;
        let redactor = || Redactor::new(redaction, &self.caller.tenant.key).raw_if(is_raw(&self.caller));
        let mut covering = redactor();
        let artifact = covered(entry, &self.caller, &mut covering);
        let whole = self.selection.payloads == Payloads::Full;
        let body = entry.body.as_ref().filter(|body| whole || is_all(&artifact, body));
        let mut lines = vec![Line::Entry(Entry {
            header: text(&canonical(&entry.header)),
            prev_hash: entry.prev_hash.prefixed(),
            payload_commitment: entry.payload_commitment.prefixed(),
            entry_hash: entry.entry_hash.prefixed(),
            leaf_index,
            proof: proof.iter().map(Digest::prefixed).collect(),
            payload: body.map(|body| body.payload.clone()),
            salt: body.map(|body| body.salt.to_hex()),
            artifact,
        })];
        self.redacted.extend(covering.applied());
        let mut showing = redactor();
        lines.extend(entry.body.as_ref().and_then(|body| frame(body, whole, &mut showing)).map(Line::Frame));
        self.redacted.extend(showing.applied());
        lines
    }
}

/// Whether an artifact shows the whole event: nothing is redacted, and nothing withheld by the server.
fn is_all(artifact: &Value, body: &EntryBody) -> bool {
    let payload: Option<Value> = serde_json::from_str(&body.payload).ok();
    payload.is_some_and(|payload| payload.get("event") == artifact.get("data"))
}

/// The frame that an entry captured.
fn frame(body: &EntryBody, whole: bool, redactor: &mut Redactor<'_>) -> Option<FrameLine> {
    // Most entries capture no frame.
    if !body.payload.contains("\"frame_captured\"") {
        return None;
    }
    let payload: Payload = serde_json::from_str(&body.payload).ok()?;
    let Some(Event::FrameCaptured { frame, salt, context_hash }) = payload.event.core() else { return None };
    let mut shown = serde_json::to_value(frame).ok()?;
    if !whole {
        cover(&mut shown, redactor);
    }
    let all = whole || !redactor.has_redacted();
    Some(FrameLine {
        context_frame_id: frame.context_frame_id.clone(),
        context_hash: context_hash.clone(),
        frame: all.then(|| text(&canonical(frame))),
        salt: all.then(|| salt.to_hex()),
        shown: (!all).then_some(shown),
    })
}

/// Canonical JSON is always UTF-8.
fn text(bytes: &[u8]) -> String {
    String::from_utf8_lossy(bytes).into_owned()
}
