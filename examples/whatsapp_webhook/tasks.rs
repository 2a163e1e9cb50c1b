//! What the shop has asked, by command: cscp keeps a fingerprint of the target and not the target.
//!
//! In memory, and therefore the part to replace: after a restart the shop has forgotten what its open questions were
//! about and can only ask again (it never guesses). In your system this is a table, and the lock is a row lock.

use std::collections::HashMap;
use std::sync::{Arc, Mutex, PoisonError};

use crate::outside::Sent;
use serde_json::Value;

/// One cancellation, from the question to the result. Each member is a step that a repeated delivery must not repeat.
#[derive(Debug)]
pub(crate) struct Task {
    pub(crate) context_id: String,
    pub(crate) order_id: String,
    /// The message that asked for it.
    pub(crate) requested_by: String,
    /// The question went out.
    pub(crate) prompt: Option<Sent>,
    /// cscp knows which message carried it.
    pub(crate) attached: bool,
    /// Who binds it. Chosen once per process, so that repeating a call whose answer got lost is a replay, while
    /// another process has another one and gets `already_bound`.
    pub(crate) attempt_id: Option<String>,
    /// Whether cscp said to execute. Nothing else is leave to.
    pub(crate) execute: bool,
    /// It is bound: cscp let this process, and no other, execute it.
    pub(crate) context_ref: Option<Value>,
    /// It was executed; whether that went well.
    pub(crate) executed: Option<bool>,
    /// cscp knows how it ended.
    pub(crate) reported: bool,
}

/// The tasks of this process. Whoever works on one holds its lock from the first call to the last, so two deliveries
/// of one message wait for each other.
#[derive(Debug, Default)]
pub(crate) struct Tasks(Mutex<HashMap<String, Arc<tokio::sync::Mutex<Task>>>>);

impl Tasks {
    /// The task of this command, new if there is none.
    pub(crate) fn open(&self, command_id: &str, new: impl FnOnce() -> Task) -> Arc<tokio::sync::Mutex<Task>> {
        let mut tasks = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        let task = tasks.entry(command_id.to_owned()).or_insert_with(|| Arc::new(tokio::sync::Mutex::new(new())));
        Arc::clone(task)
    }

    /// The task of this command, if this process asked about it.
    pub(crate) fn find(&self, command_id: &str) -> Option<Arc<tokio::sync::Mutex<Task>>> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner).get(command_id).cloned()
    }
}
