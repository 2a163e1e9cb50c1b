//! What the shop has asked, by command: cscp keeps a fingerprint of the target and not the target.
//!
//! In memory, and therefore the part to replace: after a restart the shop has forgotten what its open questions were
//! about and can only ask again (it never guesses). What it was about to execute it finds in its journal. In your system
//! both are one table, and the lock is a row lock.

use std::collections::HashMap;
use std::sync::{Arc, Mutex, PoisonError};

use crate::journal::Noted;
use crate::outside::Sent;

/// One cancellation, from the question to the result. Each member is a step that a repeated delivery must not repeat.
#[derive(Debug)]
pub(crate) struct Task {
    pub(crate) context_id: String,
    pub(crate) order_id: String,
    /// The message that asked for it; not known of what comes from the journal, which holds no message ids.
    pub(crate) requested_by: Option<String>,
    /// The question went out.
    pub(crate) prompt: Option<Sent>,
    /// cscp knows which message carried it.
    pub(crate) attached: bool,
    /// Who executes it: chosen once and written to the journal before it is used, so that repeating a call whose answer
    /// got lost is a replay, while another process has another one and gets `already_bound`.
    pub(crate) attempt_id: Option<String>,
    /// It was executed; whether that went well.
    pub(crate) executed: Option<bool>,
    /// cscp knows how it ended.
    pub(crate) reported: bool,
}

impl Task {
    /// A task about which nothing was done yet.
    pub(crate) fn new(context_id: &str, order_id: &str, requested_by: &str) -> Self {
        Self {
            context_id: context_id.to_owned(),
            order_id: order_id.to_owned(),
            requested_by: Some(requested_by.to_owned()),
            prompt: None,
            attached: false,
            attempt_id: None,
            executed: None,
            reported: false,
        }
    }

    /// A task of a process that ended, as far as its journal tells.
    pub(crate) fn resumed(noted: Noted) -> Self {
        Self {
            context_id: noted.intent.context_id,
            order_id: noted.intent.order_id,
            requested_by: None,
            prompt: None,
            attached: true,
            attempt_id: Some(noted.intent.attempt_id),
            executed: noted.succeeded,
            reported: false,
        }
    }
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
