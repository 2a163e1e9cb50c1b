//! What is stored about a person in fact spaces, for that person: "what do you know about me?"

use super::gate::{AtGate, Looker, Pass, asked};
use super::{FactPage, Seen, spoken_for, want};
use crate::domain::id::{PrincipalId, SpaceId};
use crate::domain::query::MAX_PAGE;
use crate::domain::scope::Scope;
use crate::domain::speaking::Voice;
use crate::service::recording::{Looked, Unrecorded, Whose};
use crate::service::{Caller, Service, ServiceError};
use crate::state_layer::fact::Fact;
use crate::state_layer::query::FactQuery;
use crate::state_layer::space::{Space, SpaceRecord};
use crate::storage::{Place, Table};

/// Records searched for one page. This limits the time of a page, which may be empty.
const LOOKED_AT: u32 = 1_000;

/// A page of a person's memories.
#[derive(Debug, Clone, PartialEq)]
pub struct Memories {
    pub memories: Vec<Memory>,
    /// Where the next page begins; none at the end.
    pub next: Option<Place>,
}

/// One memory of a person.
#[derive(Debug, Clone, PartialEq)]
pub struct Memory {
    /// The space: its owner, and who is served there.
    pub space: Seen<SpaceRecord>,
    /// Its facts, last recorded first, including invalid ones; the first page if there are many.
    pub facts: FactPage,
}

impl Service {
    /// What is stored about a person: the principal for whom the key speaks, or one named by a key that speaks for
    /// anyone. Every such read is recorded.
    pub async fn memories(
        &self,
        caller: &Caller,
        named: Option<&str>,
        after: Option<&Place>,
    ) -> Result<Unrecorded<Memories>, ServiceError> {
        let viewer_id = named.and_then(|named| PrincipalId::new(named).ok()).or_else(|| spoken_for(caller));
        let asked = Looked { viewer_id, ..Looked::at::<&str>("memories.list", []).asked() };
        Unrecorded::or_nothing(self.memories_of(caller, named, after).await, asked)
    }

    async fn memories_of(
        &self,
        caller: &Caller,
        named: Option<&str>,
        after: Option<&Place>,
    ) -> Result<Unrecorded<Memories>, ServiceError> {
        caller.require(Scope::FactRead)?;
        let user_id = match (&caller.speaks_for.voice, named) {
            (Voice::Principal(own), None) => own.as_str(),
            (_, Some(named)) if caller.speaks_for.may_name(named) => named,
            _ => return Err(ServiceError::OtherViewer),
        };
        let tenant_id = &caller.tenant.tenant_id;
        let needles = [user_id.to_owned()];
        let page = self.store.search(tenant_id, Table::SpaceRecords, &needles, after, LOOKED_AT).await?;
        let mut memories = Vec::new();
        for found in page.found {
            let [space_id, kind, _] = &found.place;
            if kind != "space" {
                continue;
            }
            let record = serde_json::from_str::<SpaceRecord>(&found.body).ok();
            let space_id = SpaceId::new(space_id.clone()).ok();
            if let (Some(record), Some(space_id)) = (record, space_id)
                && record.is_memory_of(user_id)
            {
                memories.extend(self.memory(caller, user_id, &space_id).await?);
            }
        }
        let looked = Looked {
            whose: Whose::Everybodys,
            viewer_id: PrincipalId::new(user_id).ok(),
            ..Looked::at("memories.list", memories.iter().map(|memory| &memory.space.shown().space_id))
        };
        Ok(Unrecorded::new(Memories { memories, next: page.next }, looked))
    }

    /// One memory as its person may see it; none if nothing of it may be shown, or if it was erased.
    async fn memory(&self, caller: &Caller, user_id: &str, space_id: &SpaceId) -> Result<Option<Memory>, ServiceError> {
        let Some(space) = self.load_spaces(&[want(caller, space_id, false)]).await?.remove(space_id) else {
            return Ok(None);
        };
        let query = FactQuery { include_invalid: true, key: None, after: None, limit: MAX_PAGE };
        let page = self.store.facts(&caller.tenant.tenant_id, space_id, &query).await?;
        let pass = self.pass_of(caller, user_id, space_id, &space, &page.items).await?;
        let Some(record) = space.record.clone().and_then(|record| pass.record(record)) else { return Ok(None) };
        let facts = super::facts::page(&pass, page, &space);
        Ok(Some(Memory { space: record, facts }))
    }

    async fn pass_of(
        &self,
        caller: &Caller,
        user_id: &str,
        space_id: &SpaceId,
        space: &Space,
        facts: &[Fact],
    ) -> Result<Pass, ServiceError> {
        let identity = space.record.as_ref().and_then(|record| record.identity.as_ref());
        let viewer = self.known(caller, user_id, None, identity).await?;
        let gate = self.gate_for(caller, Looker::Viewer(viewer));
        let at = AtGate { space_id, record: space.record.as_ref(), facts: asked(facts) };
        gate.passes(&self.permissions, vec![at]).await.pop().ok_or(ServiceError::Internal)
    }
}
