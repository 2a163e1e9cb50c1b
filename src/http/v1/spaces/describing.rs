//! Fact spaces themselves: describe, read, erase; and the identity layer.

use axum::http::StatusCode;
use serde::Deserialize;
use serde_json::{Value, json};

use super::space_id;
use super::view::SpaceWire;
use crate::domain::id::SpaceId;
use crate::domain::scope::Scope;
use crate::http::body::{Body, Object, Wire};
use crate::http::endpoint::{Endpoint, Route};
use crate::http::extract::{Call, PathId};
use crate::http::problem::Problem;
use crate::http::respond::{Reply, unexpected};
use crate::http::v1::parts::printable;
use crate::service::Committed;
use crate::service::spaces::SpaceShown;
use crate::state_layer::decide::MAX_WIDER;
use crate::state_layer::operation::SpaceAction;
use crate::state_layer::space::{Access, Identity, Partition};

const PUT: Endpoint = Endpoint::put("/v1/fact-spaces/{fact_space}", &[Scope::FactWrite]);
const GET: Endpoint = Endpoint::get("/v1/fact-spaces/{fact_space}", &[Scope::FactRead]);
const DELETE: Endpoint = Endpoint::delete("/v1/fact-spaces/{fact_space}", &[Scope::FactWrite]).for_agents();
const IDENTITY: Endpoint = Endpoint::put("/v1/fact-spaces/{fact_space}/identity", &[Scope::FactWrite]);

/// The most audiences and permissions.
const MANY: usize = 32;
/// The longest name or id.
const NAME: usize = 256;

pub(super) fn routes() -> Vec<Route> {
    vec![Route::new(PUT, describe), Route::new(GET, get), Route::new(DELETE, erase), Route::new(IDENTITY, set_identity)]
}

#[derive(Debug, Deserialize)]
#[serde(rename_all = "snake_case")]
enum MemoryWord {
    User,
    Capability,
    Organization,
}

#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
struct PartitionWire {
    memory: MemoryWord,
    owner_id: Option<String>,
    organization: Option<String>,
    capability: Option<String>,
}

impl PartitionWire {
    fn partition(self) -> Result<Partition, Problem> {
        let named = |value: Option<String>, name: &str| {
            let pointer = format!("/partition/{name}");
            let value = value.ok_or_else(|| Problem::missing(&pointer))?;
            printable(&value, &pointer, NAME).map(|()| value)
        };
        let foreign = |value: &Option<String>, name: &str| match value {
            Some(_) => Err(Problem::invalid(&format!("/partition/{name}"), "does not belong to this memory")),
            None => Ok(()),
        };
        match self.memory {
            MemoryWord::User => {
                foreign(&self.organization, "organization")?;
                foreign(&self.capability, "capability")?;
                let owner_id = self.owner_id.map(|owner| named(Some(owner), "owner_id")).transpose()?;
                Ok(Partition::User { owner_id })
            }
            MemoryWord::Capability => {
                foreign(&self.owner_id, "owner_id")?;
                let organization = named(self.organization, "organization")?;
                Ok(Partition::Capability { organization, capability: named(self.capability, "capability")? })
            }
            MemoryWord::Organization => {
                foreign(&self.owner_id, "owner_id")?;
                foreign(&self.capability, "capability")?;
                Ok(Partition::Organization { organization: named(self.organization, "organization")? })
            }
        }
    }
}

#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
struct AccessWire {
    allow: Option<Vec<String>>,
    callback: Option<String>,
}

impl AccessWire {
    fn access(self) -> Result<Access, Problem> {
        match (self.allow, self.callback) {
            (Some(allow), None) => Ok(Access::List { allow: names(allow, "/access/allow")? }),
            (None, Some(name)) => printable(&name, "/access/callback", 64).map(|()| Access::Callback { name }),
            (None, None) => {
                Err(Problem::invalid("/access", "send either allow or callback; leave it out for no limit"))
            }
            (Some(_), Some(_)) => Err(Problem::invalid("/access", "send either allow or callback, not both")),
        }
    }
}

fn names(names: Vec<String>, pointer: &str) -> Result<Vec<String>, Problem> {
    if names.len() > MANY {
        return Err(Problem::invalid(pointer, format!("must hold at most {MANY}")));
    }
    for (index, name) in names.iter().enumerate() {
        printable(name, &format!("{pointer}/{index}"), NAME)?;
    }
    Ok(names)
}

#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
struct PutWire {
    partition: Option<Object<PartitionWire>>,
    wider: Option<Vec<SpaceId>>,
    access: Option<Object<AccessWire>>,
}

impl Wire for PutWire {
    const MAY_BE_EMPTY: bool = true;
}

async fn describe(call: Call, PathId(id): PathId, body: Body<PutWire>) -> Result<Reply, Problem> {
    let wire = body.typed;
    let wider = wire.wider.unwrap_or_default();
    if wider.len() > MAX_WIDER {
        return Err(Problem::invalid("/wider", format!("must hold at most {MAX_WIDER}")));
    }
    let action = SpaceAction::Describe {
        partition: wire.partition.map(|Object(partition)| partition.partition()).transpose()?,
        wider,
        access: wire.access.map(|Object(access)| access.access()).transpose()?.unwrap_or_default(),
        if_revision: call.if_match,
    };
    space_reply(call.decide_space(space_id(&id)?, action, &body.value).await?)
}

fn space_reply(done: Committed<SpaceShown>) -> Result<Reply, Problem> {
    let SpaceShown::Space { space, created } = done.result else { return Err(unexpected()) };
    let revision = space.shown().revision;
    let status = if created { StatusCode::CREATED } else { StatusCode::OK };
    Ok(Reply::new(status, &SpaceWire::of(*space))?.revision(revision).replayed(done.replayed))
}

async fn get(call: Call, PathId(id): PathId) -> Result<Reply, Problem> {
    let space = call.recorded(call.app.service.fact_space(&call.caller, &space_id(&id)?).await?).await?;
    let revision = space.shown().revision;
    Ok(Reply::ok(&SpaceWire::of(space))?.revision(revision))
}

async fn erase(call: Call, PathId(id): PathId) -> Result<Reply, Problem> {
    let done = call.decide_space(space_id(&id)?, SpaceAction::Erase, &Value::Null).await?;
    Ok(Reply::ok(&json!({"erased": true}))?.replayed(done.replayed))
}

#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
struct IdentityWire {
    user_id: String,
    user_name: Option<String>,
    authority: Option<String>,
    department: Option<String>,
    organization: Option<String>,
    communication_style: Option<String>,
    permissions: Option<Vec<String>>,
}

impl Wire for IdentityWire {}

async fn set_identity(call: Call, PathId(id): PathId, body: Body<IdentityWire>) -> Result<Reply, Problem> {
    let wire = body.typed;
    printable(&wire.user_id, "/user_id", NAME)?;
    let named = [
        (&wire.user_name, "/user_name"),
        (&wire.authority, "/authority"),
        (&wire.department, "/department"),
        (&wire.organization, "/organization"),
        (&wire.communication_style, "/communication_style"),
    ];
    for (value, pointer) in named {
        value.as_ref().map_or(Ok(()), |value| printable(value, pointer, NAME))?;
    }
    let identity = Identity {
        user_id: wire.user_id,
        user_name: wire.user_name,
        authority: wire.authority,
        department: wire.department,
        organization: wire.organization,
        communication_style: wire.communication_style,
        permissions: names(wire.permissions.unwrap_or_default(), "/permissions")?,
    };
    space_reply(call.decide_space(space_id(&id)?, SpaceAction::SetIdentity(identity), &body.value).await?)
}
