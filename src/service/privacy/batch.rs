//! What to do with a page of a search for an erasure: records to delete, records to keep without the name, streams to
//! lock.

use std::collections::{BTreeMap, BTreeSet};

use serde_json::Value;

use super::subject::{Subject, member};
use crate::domain::canonical::Digest;
use crate::domain::event::StreamKey;
use crate::domain::id::{CommandId, ContextFrameId, ContextId, ConversationId, ItemId, PrincipalId, SpaceId, StreamId};
use crate::domain::operation::{ItemRef, Needs};
use crate::storage::{Disposal, Found, SpaceRowKind, Table};

/// A record that is kept without the name of the person.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord)]
pub(super) enum Scrub {
    Context(ContextId),
    Item(ItemId),
    Command(CommandId),
    Message(Digest),
    Principal(PrincipalId),
    Space(SpaceId, SpaceRowKind, String),
}

/// The changes to one page, made in one transaction.
#[derive(Debug, Default)]
pub(super) struct Batch {
    pub(super) disposal: Disposal,
    /// Messages of which only the dedupe key is kept.
    pub(super) messages: Vec<Digest>,
    pub(super) scrubs: BTreeSet<Scrub>,
    pub(super) locks: BTreeSet<StreamKey>,
    /// Entries whose payload names the person, by stream.
    pub(super) payloads: BTreeMap<StreamId, Vec<u64>>,
}

/// Records of one conversation, which are erased together.
pub(super) type OfConversations = BTreeMap<ConversationId, Batch>;

impl Batch {
    /// Whether there is nothing to do.
    pub(super) fn is_empty(&self) -> bool {
        let disposal = &self.disposal;
        self.messages.is_empty()
            && self.scrubs.is_empty()
            && self.payloads.is_empty()
            && disposal.payloads.is_empty()
            && disposal.contexts.is_empty()
            && disposal.items.is_empty()
            && disposal.commands.is_empty()
            && disposal.frames.is_empty()
            && disposal.claims.is_empty()
            && disposal.space_records.is_empty()
    }

    /// Adds the numbers of records of each kind.
    pub(super) fn count(&self, counts: &mut BTreeMap<String, u64>) {
        let disposal = &self.disposal;
        let sizes = [
            ("contexts", disposal.contexts.len()),
            ("items", disposal.items.len()),
            ("commands", disposal.commands.len()),
            ("frames", disposal.frames.len()),
            ("claims", disposal.claims.len()),
            ("space_records", disposal.space_records.len()),
            ("tombstones", self.messages.len()),
            ("scrubbed", self.scrubs.len()),
            ("payloads", self.payloads.values().map(Vec::len).sum()),
        ];
        for (kind, size) in sizes.into_iter().filter(|(_, size)| *size > 0) {
            *counts.entry(kind.to_owned()).or_default() += u64::try_from(size).unwrap_or(u64::MAX);
        }
    }

    /// Adds a page. Records of the person's own conversations are collected for later; records of their registration
    /// and memories are erased with those.
    pub(super) fn of(table: Table, page: Vec<Found>, subject: &Subject, own: &mut OfConversations) -> Self {
        let mut batch = Self::default();
        for found in page {
            let Ok(body) = serde_json::from_str::<Value>(&found.body) else { continue };
            let named =
                subject.identifiers.occur_in(&body) || found.place.iter().any(|part| subject.identifiers.name(part));
            if named {
                batch.add(table, &found, &body, subject, own);
            }
        }
        batch
    }

    fn add(&mut self, table: Table, found: &Found, body: &Value, subject: &Subject, own: &mut OfConversations) {
        let [first, second, third] = &found.place;
        match table {
            Table::Contexts | Table::Items | Table::Commands | Table::Frames | Table::Messages => {
                let id = found.conversation_id.as_deref().or_else(|| member(body, "conversation_id"));
                let Some(id) = id.and_then(|id| ConversationId::new(id).ok()) else { return };
                if subject.conversations.contains(&id) {
                    return own.entry(id).or_default().goes(table, first);
                }
                self.locks.insert(StreamKey::Conversation(id));
                // A frame is shown with its hash, so it is deleted and not rewritten.
                if table == Table::Frames || subject.acts_in(found, body) {
                    self.goes(table, first);
                } else {
                    self.stays(table, first);
                }
            }
            Table::Claims => self.disposal.claims.extend(Digest::from_hex(first)),
            Table::Principals => {
                let id = PrincipalId::new(first.clone()).ok().filter(|id| !subject.people.contains(id));
                if let Some(id) = id {
                    self.locks.insert(StreamKey::Principal(id.clone()));
                    self.scrubs.insert(Scrub::Principal(id));
                }
            }
            Table::SpaceRecords => {
                let space = SpaceId::new(first.clone()).ok().filter(|space| !subject.spaces.contains(space));
                let Some((space, kind)) = space.zip(SpaceRowKind::parse(second)) else { return };
                self.locks.insert(StreamKey::FactSpace(space.clone()));
                // A pack has a hash of its content, so it is deleted and not rewritten.
                if kind == SpaceRowKind::Pack {
                    self.disposal.space_records.push((space, kind, third.clone()));
                } else {
                    self.scrubs.insert(Scrub::Space(space, kind, third.clone()));
                }
            }
            Table::LogPayloads => {
                if let (Some(stream), Ok(seq)) = (StreamId::parse(first), second.parse()) {
                    self.payloads.entry(stream).or_default().push(seq);
                }
            }
            Table::Streams | Table::ApiKeys => {}
        }
    }

    fn goes(&mut self, table: Table, id: &str) {
        let disposal = &mut self.disposal;
        match table {
            Table::Contexts => disposal.contexts.extend(ContextId::parse(id)),
            Table::Items => disposal.items.extend(ItemId::parse(id)),
            Table::Commands => disposal.commands.extend(CommandId::new(id).ok()),
            Table::Frames => disposal.frames.extend(ContextFrameId::parse(id)),
            _ => self.messages.extend(Digest::from_hex(id)),
        }
    }

    fn stays(&mut self, table: Table, id: &str) {
        let scrub = match table {
            Table::Contexts => ContextId::parse(id).map(Scrub::Context),
            Table::Items => ItemId::parse(id).map(Scrub::Item),
            Table::Commands => CommandId::new(id).ok().map(Scrub::Command),
            _ => Digest::from_hex(id).map(Scrub::Message),
        };
        self.scrubs.extend(scrub);
    }

    /// The records to load under the locks, to be written again without the name.
    pub(super) fn needs(&self) -> Vec<Needs> {
        let needs = |scrub: &Scrub| match scrub {
            Scrub::Context(id) => Some(Needs { context: Some(id.clone()), ..Needs::default() }),
            Scrub::Item(id) => Some(Needs { items: vec![ItemRef::Id(id.clone())], ..Needs::default() }),
            Scrub::Command(id) => Some(Needs { command: Some(id.clone()), lock_command: true, ..Needs::default() }),
            Scrub::Message(key) => Some(Needs { messages: vec![*key], ..Needs::default() }),
            Scrub::Principal(id) => Some(Needs { principals: vec![id.clone()], ..Needs::default() }),
            Scrub::Space(..) => None,
        };
        self.scrubs.iter().filter_map(needs).collect()
    }
}
