//! Redaction of records for readers who may see their structure and not their values.
//!
//! Everything that a caller wrote freely is removed, except the key by which a record is found. What a program made
//! (uids, times, causes, cues, flags) stays.

use serde_json::{Value, json};

use crate::state_layer::fact::{Fact, Pointer, Source, Standing};
use crate::state_layer::operation::Effects;
use crate::state_layer::space::{Access, Partition, Signal, SpaceRecord, WorkingItem};

/// The replacement for redacted text.
fn hidden() -> Value {
    json!({"redacted": "hide"})
}

/// A record that can be redacted.
pub trait Cover {
    /// Removes callers' free text.
    fn cover(&mut self);
}

impl Cover for Fact {
    fn cover(&mut self) {
        // A deleted fact has no value, and the deletion itself is part of the structure.
        if !self.is_deleted() {
            self.value = hidden();
        }
        self.label = None;
        self.source = Source::default();
        self.scope_id = None;
        self.restricted_to.clear();
        self.supersedes = None;
        self.reason = None;
        self.former.clear();
        if let Standing::Superseded { reason, .. } = &mut self.standing {
            reason.clear();
        }
        self.depends_on.iter_mut().for_each(|base| base.pointer = Pointer(String::new()));
        self.contested.iter_mut().for_each(|contest| contest.reason.clear());
        self.history.iter_mut().for_each(|change| change.reason.clear());
    }
}

impl Cover for Signal {
    fn cover(&mut self) {
        self.value = hidden();
        self.former.clear();
    }
}

impl Cover for WorkingItem {
    fn cover(&mut self) {
        self.content = hidden();
        self.item_type.clear();
        self.task_id = None;
    }
}

impl Cover for SpaceRecord {
    fn cover(&mut self) {
        self.identity = None;
        if let Partition::User { owner_id } = &mut self.partition {
            *owner_id = None;
        }
        if let Access::List { allow } = &mut self.access {
            allow.clear();
        }
    }
}

impl Cover for Effects {
    fn cover(&mut self) {
        self.unresolved.clear();
        self.reasons.iter_mut().for_each(|(_, reason)| reason.clear());
    }
}
