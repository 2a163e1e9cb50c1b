//! Finds the subject of a request: principals, texts that name them, and their conversations and fact spaces.

use std::collections::BTreeSet;

use serde_json::Value;

use super::super::{Caller, Service, ServiceError};
use crate::domain::event::StreamKey;
use crate::domain::id::{ConversationId, PersonId, PrincipalId, SpaceId, TenantId};
use crate::domain::principal::{Alias, Principal};
use crate::domain::query::{MAX_PAGE, PrincipalQuery};
use crate::domain::subject::Identifiers;
use crate::state_layer::space::{Partition, SpaceRecord};
use crate::storage::{Found, Place, Store, Table};

/// Records searched at once.
const PAGE: u32 = 1_000;

/// How a caller names a person.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Selector {
    Actor(PrincipalId),
    /// The principals with this external name.
    Alias(Alias),
    /// Every principal of a natural person.
    Person(PersonId),
}

/// A person, and everything that belongs to them.
#[derive(Debug, Clone, Default)]
pub(super) struct Subject {
    /// The principals of the person.
    pub(super) people: BTreeSet<PrincipalId>,
    /// The texts that name them, their conversations and their fact spaces.
    pub(super) identifiers: Identifiers,
    /// Conversations without other participants, or named after them.
    pub(super) conversations: BTreeSet<ConversationId>,
    /// Fact spaces that are their memory or are named after them.
    pub(super) spaces: BTreeSet<SpaceId>,
    /// Streams of their registration and their reads, and names of theirs that were created only to be locked.
    pub(super) streams: BTreeSet<StreamKey>,
}

impl Subject {
    /// Whether everything in a stream is about this person only.
    pub(super) fn owns(&self, stream: &StreamKey) -> bool {
        match stream {
            StreamKey::Conversation(id) => self.conversations.contains(id),
            StreamKey::FactSpace(id) => self.spaces.contains(id),
            StreamKey::Principal(_) | StreamKey::Access(_) => self.streams.contains(stream),
            StreamKey::Disposal => false,
        }
    }

    fn is_actor(&self, id: Option<&str>) -> bool {
        id.is_some_and(|id| self.people.iter().any(|person| person.as_str() == id))
    }

    /// Whether this person is the actor of a record.
    pub(super) fn acts_in(&self, found: &Found, body: &Value) -> bool {
        self.is_actor(found.actor_id.as_deref()) || self.is_actor(member(body, "actor_id"))
    }
}

/// A member of a record, or of the frame in it.
pub(super) fn member<'a>(body: &'a Value, name: &str) -> Option<&'a str> {
    body.get(name).or_else(|| body.get("frame")?.get(name)).and_then(Value::as_str)
}

/// Pages through all records of a table that contain one of the texts.
pub(super) struct Search<'a> {
    store: &'a dyn Store,
    tenant_id: &'a TenantId,
    table: Table,
    needles: Vec<String>,
    after: Option<Place>,
    ended: bool,
}

impl<'a> Search<'a> {
    pub(super) fn new(store: &'a dyn Store, tenant_id: &'a TenantId, table: Table, identifiers: &Identifiers) -> Self {
        Self { store, tenant_id, table, needles: identifiers.needles(), after: None, ended: identifiers.is_empty() }
    }

    /// The next page, with the position after it; none at the end.
    pub(super) async fn next(&mut self) -> Result<Option<Vec<Found>>, ServiceError> {
        if self.ended {
            return Ok(None);
        }
        let page = self.store.search(self.tenant_id, self.table, &self.needles, self.after.as_ref(), PAGE).await?;
        self.ended = page.next.is_none();
        self.after = page.next;
        Ok(Some(page.found))
    }
}

impl Service {
    /// Finds the person and their data. Fails with [`ServiceError::SubjectAmbiguous`] if principals share the external
    /// name and are not known to be one person.
    pub(super) async fn subject(&self, tenant_id: &TenantId, selector: &Selector) -> Result<Subject, ServiceError> {
        let mut subject = Subject::default();
        let registered = self.named(tenant_id, selector).await?;
        match selector {
            Selector::Actor(id) => drop(subject.people.insert(id.clone())),
            Selector::Alias(alias) => {
                let people: BTreeSet<_> = registered.iter().map(|one| one.person_id.as_ref()).collect();
                if registered.len() > 1 && (people.len() > 1 || people.contains(&None)) {
                    return Err(ServiceError::SubjectAmbiguous);
                }
                subject.identifiers.add(&alias.value);
                // No principal is registered with this name: callers may have used the name itself as a principal id.
                subject.people.extend(PrincipalId::new(alias.value.clone()).ok().filter(|_| registered.is_empty()));
            }
            Selector::Person(id) => subject.identifiers.add(id.as_str()),
        }
        subject.people.extend(registered.iter().map(|one| one.principal_id.clone()));
        for person in &subject.people {
            subject.identifiers.add(person.as_str());
            subject.streams.insert(StreamKey::Principal(person.clone()));
            subject.streams.insert(StreamKey::Access(person.as_str().to_owned()));
        }
        for principal in &registered {
            self.add_names(tenant_id, principal, &mut subject).await?;
        }
        self.add_conversations(tenant_id, &mut subject).await?;
        self.add_spaces(tenant_id, &mut subject).await?;
        Ok(subject)
    }

    /// The persons that a read was about, for its record: registered principals only, so that a read after an erasure
    /// does not store the name again.
    pub(super) async fn people_named(
        &self,
        caller: &Caller,
        selector: &Selector,
    ) -> Result<Vec<PrincipalId>, ServiceError> {
        let registered = self.named(&caller.tenant.tenant_id, selector).await?;
        Ok(registered.into_iter().map(|principal| principal.principal_id).collect())
    }

    /// The registered principals that the selector names.
    async fn named(&self, tenant_id: &TenantId, selector: &Selector) -> Result<Vec<Principal>, ServiceError> {
        let mut query = PrincipalQuery { limit: MAX_PAGE, ..PrincipalQuery::default() };
        match selector {
            Selector::Actor(id) => query.principal_id = Some(id.clone()),
            Selector::Alias(alias) => query.alias = Some(alias.clone()),
            Selector::Person(id) => query.person_id = Some(id.clone()),
        }
        let mut all = Vec::new();
        loop {
            let page = self.store.principals(tenant_id, &query).await?;
            all.extend(page.items);
            query.after = page.next;
            if query.after.is_none() {
                return Ok(all);
            }
        }
    }

    /// Adds external names, and the person's id, unless others have them too: a number may have been reassigned.
    async fn add_names(
        &self,
        tenant_id: &TenantId,
        principal: &Principal,
        subject: &mut Subject,
    ) -> Result<(), ServiceError> {
        let past = principal.past_aliases.iter().map(|past| &past.alias);
        for alias in principal.aliases.iter().chain(past) {
            let holders = self.named(tenant_id, &Selector::Alias(alias.clone())).await?;
            if holders.iter().all(|holder| subject.people.contains(&holder.principal_id)) {
                subject.identifiers.add(&alias.value);
            }
        }
        if let Some(person) = &principal.person_id {
            let others = self.named(tenant_id, &Selector::Person(person.clone())).await?;
            if others.iter().all(|other| subject.people.contains(&other.principal_id)) {
                subject.identifiers.add(person.as_str());
            }
        }
        Ok(())
    }

    /// Adds conversations in which they acted or that have their name. A conversation with another participant also
    /// belongs to that participant, so it is left out unless its name is theirs.
    async fn add_conversations(&self, tenant_id: &TenantId, subject: &mut Subject) -> Result<(), ServiceError> {
        let people: Vec<PrincipalId> = subject.people.iter().cloned().collect();
        let mut acted: BTreeSet<ConversationId> =
            self.store.conversations_of(tenant_id, &people).await?.into_iter().collect();
        for table in [Table::Streams, Table::Messages, Table::LogPayloads] {
            let mut search = Search::new(self.store.as_ref(), tenant_id, table, &subject.identifiers);
            while let Some(page) = search.next().await? {
                for found in page {
                    self.note(table, &found, subject, &mut acted);
                }
            }
        }
        for id in acted {
            let others = self.store.actors_in(tenant_id, &id).await?;
            let alone = others.iter().all(|actor| subject.is_actor(Some(actor)));
            if alone || subject.identifiers.name(id.as_str()) {
                subject.identifiers.add_whole(id.as_str());
                subject.conversations.insert(id);
            }
        }
        Ok(())
    }

    /// Notes from a record to whom a conversation and a stream belong.
    #[expect(clippy::unused_self, reason = "reads as the others do")]
    fn note(&self, table: Table, found: &Found, subject: &mut Subject, acted: &mut BTreeSet<ConversationId>) {
        if table == Table::Streams {
            let key = found.body.clone();
            if !subject.identifiers.name(&key) {
                return;
            }
            let [kind, _, stream_id] = &found.place;
            match kind.as_str() {
                // Nothing is recorded in this stream. The name is removed, because it may be a telephone number.
                _ if stream_id.is_empty() => subject.streams.extend(named(kind, key)),
                "conversation" => acted.extend(ConversationId::new(key).ok()),
                "principal" => {
                    // The same number as the name of another stream is the same person.
                    subject.people.extend(PrincipalId::new(key.clone()).ok());
                    subject.streams.extend(PrincipalId::new(key).ok().map(StreamKey::Principal));
                }
                "access" => drop(subject.streams.insert(StreamKey::Access(key))),
                "fact_space" => subject.spaces.extend(SpaceId::new(key).ok()),
                _ => {}
            }
            return;
        }
        let Ok(body) = serde_json::from_str::<Value>(&found.body) else { return };
        let message = if table == Table::LogPayloads { body.pointer("/event/message") } else { Some(&body) };
        if message.is_some_and(|message| subject.is_actor(member(message, "actor_id"))) {
            acted.extend(found.conversation_id.clone().and_then(|id| ConversationId::new(id).ok()));
        }
    }

    /// Adds their memories: spaces that they own, that serve them, or that have their name.
    async fn add_spaces(&self, tenant_id: &TenantId, subject: &mut Subject) -> Result<(), ServiceError> {
        let mut search = Search::new(self.store.as_ref(), tenant_id, Table::SpaceRecords, &subject.identifiers);
        while let Some(page) = search.next().await? {
            for found in page {
                let [space_id, kind, _] = &found.place;
                let theirs = subject.identifiers.name(space_id)
                    || (kind == "space"
                        && serde_json::from_str::<SpaceRecord>(&found.body)
                            .is_ok_and(|record| serves(&record, &subject.identifiers)));
                if theirs {
                    subject.spaces.extend(SpaceId::new(space_id.clone()).ok());
                }
            }
        }
        for space in &subject.spaces {
            subject.identifiers.add_whole(space.as_str());
        }
        Ok(())
    }
}

fn named(kind: &str, key: String) -> Option<StreamKey> {
    match kind {
        "conversation" => ConversationId::new(key).ok().map(StreamKey::Conversation),
        "principal" => PrincipalId::new(key).ok().map(StreamKey::Principal),
        "access" => Some(StreamKey::Access(key)),
        "fact_space" => SpaceId::new(key).ok().map(StreamKey::FactSpace),
        _ => None,
    }
}

/// Whether a space is the memory of this person.
fn serves(record: &SpaceRecord, identifiers: &Identifiers) -> bool {
    let Partition::User { owner_id } = &record.partition else { return false };
    let served = record.identity.as_ref().map(|identity| identity.user_id.as_str());
    owner_id.as_deref().or(served).is_some_and(|id| identifiers.name(id))
}
