//! The record of reads. The result of a read can be taken out only by recording the read.
//!
//! **Invariant:** a read by an operator, an auditor or an administrator is durable in the reader's own stream before it
//! is answered. The record contains ids of what was read, never content.

use super::{Caller, Service, ServiceError};
use crate::domain::canonical::{Purpose, canonical};
use crate::domain::event::ReadRecord;
use crate::domain::id::{CommandId, ContextId, ConversationId, PackId, PrincipalId, SpaceId};
use crate::domain::operation::{CredentialKind, Operation, RecordRead};
use crate::domain::scope::Scope;

/// The most ids that a record lists; for more it has a digest over all of them.
const MOST_NAMED: usize = 20;

/// Whose reads are recorded.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub(super) enum Whose {
    /// Reads by people. Services read all the time, and their reads are not recorded.
    #[default]
    Peoples,
    Everybodys,
}

impl Whose {
    fn counts(self, kind: CredentialKind) -> bool {
        match kind {
            CredentialKind::Handler | CredentialKind::Agent => self == Self::Everybodys,
            CredentialKind::Operator | CredentialKind::Auditor | CredentialKind::Admin => true,
        }
    }
}

/// The content of the record of a read.
#[derive(Debug, Clone, Default)]
pub(super) struct Looked {
    pub(super) operation: String,
    /// Whose reads of this kind are recorded.
    pub(super) whose: Whose,
    pub(super) viewer_id: Option<PrincipalId>,
    /// The level of detail; by default the caller's redaction level of callers' texts.
    pub(super) detail: Option<String>,
    /// The conversation that was read.
    pub(super) conversation_id: Option<ConversationId>,
    /// The context that was read.
    pub(super) context_id: Option<ContextId>,
    /// The command that was read.
    pub(super) command_id: Option<CommandId>,
    /// The fact space that was read.
    pub(super) space_id: Option<SpaceId>,
    /// The saved pack that was read.
    pub(super) pack_id: Option<PackId>,
    /// The ids or keys of the records that were shown.
    pub(super) ids: Vec<String>,
    /// How many records were shown.
    pub(super) records: usize,
}

impl Looked {
    /// A read of these records.
    pub(super) fn at<I: ToString>(operation: &str, ids: impl IntoIterator<Item = I>) -> Self {
        let ids: Vec<String> = ids.into_iter().map(|id| id.to_string()).collect();
        Self { operation: operation.to_owned(), records: ids.len(), ids, ..Self::default() }
    }

    /// The same read with nothing found: no record was shown.
    pub(super) fn asked(self) -> Self {
        Self { records: 0, ..self }
    }

    /// Adds the id or key of the request before those of the records shown.
    pub(super) fn asking<I: ToString>(mut self, id: Option<I>) -> Self {
        if let Some(id) = id.map(|id| id.to_string()).filter(|id| !self.ids.contains(id)) {
            self.ids.insert(0, id);
        }
        self
    }

    fn record(mut self, caller: &Caller, refused: bool) -> ReadRecord {
        let all = caller.keyed(Purpose::Request, &canonical(&self.ids));
        let ids_digest = (self.ids.len() > MOST_NAMED).then(|| format!("hmac-sha256:{}", all.to_hex()));
        self.ids.truncate(MOST_NAMED);
        ReadRecord {
            operation: self.operation,
            key_id: caller.key_id.to_string(),
            viewer_id: self.viewer_id.or_else(|| caller.principal_id.clone()),
            detail: self.detail.or_else(|| Some(caller.seen().to_owned())),
            conversation_id: self.conversation_id,
            context_id: self.context_id,
            command_id: self.command_id,
            space_id: self.space_id,
            pack_id: self.pack_id,
            ids: self.ids,
            ids_digest,
            refused,
            records: u32::try_from(self.records).unwrap_or(u32::MAX),
        }
    }
}

/// The result of a use case, which cannot be read before the read is recorded.
#[derive(Debug)]
#[must_use = "what was found is given out by recording the read"]
pub struct Unrecorded<T> {
    found: Result<T, ServiceError>,
    looked: Looked,
}

impl<T> Unrecorded<T> {
    /// A result with the record of its read.
    pub(super) fn new(found: T, looked: Looked) -> Self {
        Self { found: Ok(found), looked }
    }

    /// A result whose failure is recorded too.
    pub(super) fn or_not(found: Result<T, ServiceError>, looked: Looked) -> Self {
        Self { found, looked }
    }

    /// A result with its record; if it does not exist or is forbidden, the record of the attempt. Other failures are
    /// not recorded.
    pub(super) fn or_nothing(found: Result<Self, ServiceError>, asked: Looked) -> Result<Self, ServiceError> {
        match found {
            Err(
                nothing @ (ServiceError::NotFound(_)
                | ServiceError::NotPermitted
                | ServiceError::OtherViewer
                | ServiceError::DetailNotAllowed
                | ServiceError::NoPack(_)),
            ) => Ok(Self { found: Err(nothing), looked: asked }),
            found => found,
        }
    }

    /// Records the read, and returns the result once that is durable.
    pub async fn record(self, service: &Service, caller: &Caller) -> Result<T, ServiceError> {
        if self.looked.whose.counts(caller.kind) {
            service.write_read(caller, self.looked, false).await?;
        }
        self.found
    }
}

impl Service {
    async fn write_read(&self, caller: &Caller, looked: Looked, refused: bool) -> Result<(), ServiceError> {
        let read = looked.record(caller, refused);
        let operation = Operation::RecordRead(RecordRead { reader: caller.reader(), read });
        self.execute(caller, operation, None).await.map(drop)
    }

    /// Records a refused read, and returns the refusal.
    pub(super) async fn refuse_recorded<T>(
        &self,
        caller: &Caller,
        looked: &Looked,
        refusal: ServiceError,
    ) -> Result<T, ServiceError> {
        self.write_read(caller, Looked { records: 0, ids: Vec::new(), ..looked.clone() }, true).await?;
        Err(refusal)
    }

    /// Checks a scope; a refusal is recorded before it is answered.
    pub(super) async fn require_recorded(
        &self,
        caller: &Caller,
        scope: Scope,
        looked: &Looked,
    ) -> Result<(), ServiceError> {
        match caller.require(scope) {
            Ok(()) => Ok(()),
            Err(refusal) => self.refuse_recorded(caller, looked, refusal).await,
        }
    }
}
