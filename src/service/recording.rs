//! The record of reads: what a use case found is given out by recording that somebody looked, and in no other way.
//!
//! **Invariant:** a read by an operator, an auditor or an administrator is durable in the reader's own stream before it is
//! answered. The record names what was read by its ids, never by what it says.

use super::{Caller, Service, ServiceError};
use crate::domain::canonical::{Purpose, canonical};
use crate::domain::event::ReadRecord;
use crate::domain::id::{CommandId, ContextId, ConversationId, PackId, PrincipalId, SpaceId};
use crate::domain::operation::{CredentialKind, Operation, RecordRead};
use crate::domain::scope::Scope;

/// The most ids that are listed one by one; of more there is a digest over all of them.
const MOST_NAMED: usize = 20;

/// Whose reads of something are recorded.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub(super) enum Whose {
    /// Those of people: programs that serve the conversation read all the time.
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

/// What a read is about, for its record.
#[derive(Debug, Clone, Default)]
pub(super) struct Looked {
    pub(super) operation: String,
    /// Whose reads of it are recorded.
    pub(super) whose: Whose,
    pub(super) viewer_id: Option<PrincipalId>,
    /// How much was shown; if not said, how much this caller sees of what callers wrote.
    pub(super) detail: Option<String>,
    /// The conversation looked at.
    pub(super) conversation_id: Option<ConversationId>,
    /// The context looked at.
    pub(super) context_id: Option<ContextId>,
    /// The command looked at.
    pub(super) command_id: Option<CommandId>,
    /// The fact space looked at.
    pub(super) space_id: Option<SpaceId>,
    /// The kept pack looked at.
    pub(super) pack_id: Option<PackId>,
    /// The records that were shown, by their ids or keys.
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

    /// The same look where nothing was found: no record was shown.
    pub(super) fn asked(self) -> Self {
        Self { records: 0, ..self }
    }

    /// With an id or a key by which the caller asked, before those of what was shown.
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

/// What a use case found. Nobody sees it before it is recorded that they looked.
#[derive(Debug)]
#[must_use = "what was found is given out by recording the read"]
pub struct Unrecorded<T> {
    found: Result<T, ServiceError>,
    looked: Looked,
}

impl<T> Unrecorded<T> {
    /// What was found, and what its record says.
    pub(super) fn new(found: T, looked: Looked) -> Self {
        Self { found: Ok(found), looked }
    }

    /// The same, where a look that found nothing is recorded too.
    pub(super) fn or_not(found: Result<T, ServiceError>, looked: Looked) -> Self {
        Self { found, looked }
    }

    /// What was found with its record, or the record of what was asked for where it is not there or not for this caller. Other
    /// failures are no looks.
    pub(super) fn or_nothing(found: Result<Self, ServiceError>, asked: Looked) -> Result<Self, ServiceError> {
        match found {
            Err(nothing @ (ServiceError::NotFound(_) | ServiceError::NotPermitted | ServiceError::NoPack(_))) => {
                Ok(Self { found: Err(nothing), looked: asked })
            }
            found => found,
        }
    }

    /// Writes down that this caller looked, and gives out what was found once that is durable.
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

    /// Writes down that somebody was refused, and says so.
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
