//! Which entries a bundle contains, and how they are found.

use std::collections::{BTreeSet, VecDeque};

use serde::{Deserialize, Serialize};

use super::{Caller, PAGE, Service, ServiceError};
use crate::domain::canonical::Digest;
use crate::domain::event::StreamKey;
use crate::domain::id::{CommandId, ContextId, ConversationId, PrincipalId, SpaceId, StreamId, TenantId};
use crate::domain::query::{ContextQuery, EvidenceQuery, Position};
use crate::domain::time::Timestamp;
use crate::evidence::bundle::{Chain, Coverage};
use crate::evidence::entry::LogEntry;
use crate::storage::{StorageError, Store};

/// Which payloads are exported in the form that was hashed.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum Payloads {
    /// Payloads that this reader may see completely.
    #[default]
    Visible,
    /// All of them, with their keys and salts. With those, a reader can test guesses of values that were not stored.
    Full,
}

/// A text by which a caller recognises that a bundle was made for its request: without the log's key nobody can put it
/// into an older bundle.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(try_from = "String")]
pub struct Nonce(String);

/// Why a text cannot be a [`Nonce`].
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
#[error("must be 16 to 64 letters, digits, `-` or `_`, chosen at random for this request")]
pub struct NonceError;

impl Nonce {
    /// Accepts a text. Short ones are refused, because an older bundle might have the same.
    pub fn new(text: impl Into<String>) -> Result<Self, NonceError> {
        let text = text.into();
        let fits = text.bytes().all(|byte| byte.is_ascii_alphanumeric() || matches!(byte, b'-' | b'_'));
        if fits && (16..=64).contains(&text.len()) { Ok(Self(text)) } else { Err(NonceError) }
    }
}

impl TryFrom<String> for Nonce {
    type Error = NonceError;
    fn try_from(text: String) -> Result<Self, NonceError> {
        Self::new(text)
    }
}

/// The content of a bundle: the whole log, the entries about one subject, or those of a period.
#[derive(Debug, Clone, PartialEq, Default, Serialize)]
pub struct Selection {
    #[serde(skip_serializing_if = "Option::is_none")]
    pub command_id: Option<CommandId>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub context_id: Option<ContextId>,
    /// This conversation's chain, and other entries about it.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub conversation_id: Option<ConversationId>,
    /// This principal's chain, and those of the conversations in which it has a context.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub actor_id: Option<PrincipalId>,
    /// This fact space's chain.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub fact_space: Option<SpaceId>,
    /// From this instant on.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub from: Option<Timestamp>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub until: Option<Timestamp>,
    pub payloads: Payloads,
    /// The size of an older tree, for a proof that it is the beginning of the checkpoint's tree.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub consistent_from: Option<u64>,
    /// A text that is repeated in the first line, under the signature at the end.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub nonce: Option<Nonce>,
}

impl Selection {
    fn has_window(&self) -> bool {
        self.from.is_some() || self.until.is_some()
    }

    fn is_in_window(&self, at: Timestamp) -> bool {
        self.from.is_none_or(|from| at >= from) && self.until.is_none_or(|until| at < until)
    }
}

/// The sources of a bundle's entries, one after the other.
pub(super) struct Plan {
    pub(super) coverage: Coverage,
    pub(super) sources: VecDeque<Source>,
}

/// A source of entries.
pub(super) enum Source {
    /// The tree, leaf by leaf.
    Leaves { next: u64 },
    Stream {
        stream_id: StreamId,
        /// The last one that was read.
        after: u64,
        /// Only the period of the selection counts.
        selection: Box<Selection>,
    },
    /// Entries about a subject, without chains that are exported as a whole.
    About {
        query: Box<EvidenceQuery>,
        /// Chains that are exported as a whole.
        but: BTreeSet<StreamId>,
    },
}

impl Source {
    /// The next entries, and whether there may be more.
    pub(super) async fn next(
        &mut self,
        store: &dyn Store,
        tenant_id: &TenantId,
        limit: u32,
    ) -> Result<(Vec<LogEntry>, bool), StorageError> {
        match self {
            Self::Leaves { .. } => Ok((Vec::new(), false)),
            Self::Stream { stream_id, after, selection } => {
                let mut entries = store.stream(tenant_id, stream_id, *after, limit).await?;
                let Some(last) = entries.last() else { return Ok((entries, false)) };
                *after = last.header.seq;
                entries.retain(|entry| selection.is_in_window(entry.header.at));
                Ok((entries, true))
            }
            Self::About { query, but } => {
                let page = store.entries(tenant_id, query).await?;
                let more = page.next.is_some();
                query.after = page.next;
                let own = page.items.into_iter().filter(|entry| !but.contains(&entry.header.stream_id));
                Ok((own.collect(), more))
            }
        }
    }
}

impl Service {
    pub(super) async fn plan(&self, caller: &Caller, selection: &Selection, size: u64) -> Result<Plan, ServiceError> {
        let about = EvidenceQuery {
            command_id: selection.command_id.clone(),
            context_id: selection.context_id.clone(),
            conversation_id: selection.conversation_id.clone(),
            space_id: selection.fact_space.clone(),
            from: selection.from,
            until: selection.until,
            limit: PAGE,
            ..EvidenceQuery::default()
        };
        let streams = self.whole_streams(caller, selection).await?;
        let is_about =
            selection.command_id.is_some() || selection.context_id.is_some() || selection.conversation_id.is_some();
        let nothing_named = !is_about && selection.actor_id.is_none() && selection.fact_space.is_none();
        if nothing_named && !selection.has_window() {
            return Ok(Plan::new(Coverage::Whole, [Source::Leaves { next: 0 }]));
        }
        let coverage = if streams.is_empty() || selection.has_window() {
            Coverage::Selection
        } else {
            Coverage::Streams { chains: self.chains(caller, &streams, size).await? }
        };
        let chain = |stream_id: &StreamId| Source::Stream {
            stream_id: stream_id.clone(),
            after: 0,
            selection: Box::new(selection.clone()),
        };
        let mut sources: Vec<Source> = streams.iter().map(chain).collect();
        if is_about || nothing_named {
            sources.push(Source::About { query: Box::new(about), but: streams.into_iter().collect() });
        }
        Ok(Plan::new(coverage, sources))
    }

    /// The ends of chains in the tree of this size. They are read from the tree and not from the entries, so that a
    /// bundle that lacks the last entries of a chain contradicts its own first line.
    async fn chains(&self, caller: &Caller, streams: &[StreamId], size: u64) -> Result<Vec<Chain>, ServiceError> {
        let mut chains = Vec::with_capacity(streams.len());
        for stream_id in streams {
            let end = self.store.end_in_tree(&caller.tenant.tenant_id, stream_id, size).await?;
            let entries = end.as_ref().map_or(0, |end| end.seq);
            let last = end.and_then(|end| end.entry_hash).as_ref().map(Digest::prefixed);
            chains.push(Chain { stream_id: stream_id.clone(), entries, last });
        }
        Ok(chains)
    }

    /// The chains to export as a whole.
    async fn whole_streams(&self, caller: &Caller, selection: &Selection) -> Result<Vec<StreamId>, ServiceError> {
        let mut keys = Vec::new();
        keys.extend(selection.conversation_id.clone().map(StreamKey::Conversation));
        keys.extend(selection.fact_space.clone().map(StreamKey::FactSpace));
        if let Some(actor_id) = &selection.actor_id {
            keys.push(StreamKey::Principal(actor_id.clone()));
            let conversations = self.conversations_of(caller, actor_id).await?;
            keys.extend(conversations.into_iter().map(StreamKey::Conversation));
        }
        let mut streams = Vec::new();
        for key in keys {
            streams.extend(self.store.stream_of(&caller.tenant.tenant_id, &key).await?);
        }
        Ok(streams)
    }

    async fn conversations_of(
        &self,
        caller: &Caller,
        actor_id: &PrincipalId,
    ) -> Result<BTreeSet<ConversationId>, ServiceError> {
        let mut found = BTreeSet::new();
        let mut after: Option<Position> = None;
        loop {
            let query =
                ContextQuery { actor_id: Some(actor_id.clone()), after, limit: PAGE, ..ContextQuery::default() };
            let page = self.store.contexts(&caller.tenant.tenant_id, &query).await?;
            found.extend(page.items.into_iter().map(|context| context.conversation_id));
            after = page.next;
            if after.is_none() {
                return Ok(found);
            }
        }
    }
}
