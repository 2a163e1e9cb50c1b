//! Principals: register, change and search.
//!
//! The id in the path is the caller's own and must be opaque: not a number, a name or an address.

use axum::http::StatusCode;
use serde::{Deserialize, Serialize};

use super::parts::{MAX_LOCALE, printable};
use crate::domain::id::{PersonId, PrincipalId, RoleName};
use crate::domain::operation::{Answer, Operation, PutPrincipal};
use crate::domain::principal::{
    Alias, AliasKind, MAX_ALIASES, MAX_ROLES, Maturity, PastAlias, Principal, PrincipalKind, is_telephone_number,
};
use crate::domain::query::PrincipalQuery;
use crate::domain::scope::Scope;
use crate::domain::time::Timestamp;
use crate::http::body::{Body, Object, Wire};
use crate::http::endpoint::{Endpoint, Route};
use crate::http::extract::{Call, PathId};
use crate::http::paging::{self, Listed};
use crate::http::problem::Problem;
use crate::http::respond::{Reply, unexpected};
use crate::service::ServiceError;

const PUT: Endpoint = Endpoint::put("/v1/principals/{principal_id}", &[Scope::PrincipalWrite]);
const QUERY: Endpoint = Endpoint::query("/v1/principals/query", &[Scope::ContextRead, Scope::PrincipalWrite]);
const LIST: &str = "principals";

/// The longest external name.
const MAX_ALIAS: usize = 256;

pub(super) fn routes() -> Vec<Route> {
    vec![Route::new(PUT, put), Route::new(QUERY, query)]
}

#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
struct AliasWire {
    kind: AliasKind,
    value: String,
}

impl AliasWire {
    fn alias(self, pointer: &str) -> Result<Alias, Problem> {
        let pointer = format!("{pointer}/value");
        printable(&self.value, &pointer, MAX_ALIAS)?;
        if self.kind == AliasKind::Phone && !is_telephone_number(&self.value) {
            let problem =
                "a telephone number has digits, and besides them plus signs, blanks, hyphens and brackets only";
            return Err(Problem::invalid(&pointer, problem));
        }
        Ok(Alias { kind: self.kind, value: self.value })
    }
}

#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
struct PutWire {
    kind: PrincipalKind,
    roles: Option<Vec<RoleName>>,
    person_id: Option<PersonId>,
    aliases: Option<Vec<Object<AliasWire>>>,
    maturity: Option<Maturity>,
    locale: Option<String>,
}

impl Wire for PutWire {}

#[derive(Debug, Serialize)]
struct PrincipalWire {
    principal_id: PrincipalId,
    kind: PrincipalKind,
    roles: Vec<RoleName>,
    #[serde(skip_serializing_if = "Option::is_none")]
    person_id: Option<PersonId>,
    aliases: Vec<Alias>,
    past_aliases: Vec<PastAlias>,
    #[serde(skip_serializing_if = "Option::is_none")]
    maturity: Option<Maturity>,
    #[serde(skip_serializing_if = "Option::is_none")]
    locale: Option<String>,
    registered: bool,
    identity_epoch: u64,
    revision: u64,
    created_at: Timestamp,
    updated_at: Timestamp,
}

impl From<Principal> for PrincipalWire {
    fn from(principal: Principal) -> Self {
        Self {
            principal_id: principal.principal_id,
            kind: principal.kind,
            roles: principal.roles,
            person_id: principal.person_id,
            aliases: principal.aliases,
            past_aliases: principal.past_aliases,
            maturity: principal.maturity,
            locale: principal.locale,
            registered: principal.registered,
            identity_epoch: principal.identity_epoch,
            revision: principal.revision,
            created_at: principal.created_at,
            updated_at: principal.updated_at,
        }
    }
}

async fn put(call: Call, PathId(id): PathId, body: Body<PutWire>) -> Result<Reply, Problem> {
    // Roles give access to restricted records: a key that speaks for one person, or for nobody, may not grant them.
    if !call.caller.gives_access() {
        return Err(ServiceError::NotPermitted.into());
    }
    let claim = call.claim(&body.value);
    let operation = Operation::PutPrincipal(registration(&call, id, body.typed)?);
    let done = call.decide(operation, claim).await?;
    let Answer::Principal { principal, created } = done.result else { return Err(unexpected()) };
    let revision = principal.revision;
    let status = if created { StatusCode::CREATED } else { StatusCode::OK };
    let reply = Reply::new(status, &PrincipalWire::from(*principal))?;
    Ok(reply.revision(revision).replayed(done.replayed))
}

fn registration(call: &Call, id: String, wire: PutWire) -> Result<PutPrincipal, Problem> {
    // No principal can have this id, so there is nothing to change.
    let principal_id = PrincipalId::new(id).map_err(|_| Problem::not_found("principal"))?;
    let roles = wire.roles.unwrap_or_default();
    let aliases = wire.aliases.unwrap_or_default();
    if roles.len() > MAX_ROLES {
        return Err(Problem::invalid("/roles", format!("must hold at most {MAX_ROLES} roles")));
    }
    if aliases.len() > MAX_ALIASES {
        return Err(Problem::invalid("/aliases", format!("must hold at most {MAX_ALIASES} aliases")));
    }
    if let Some(locale) = &wire.locale {
        printable(locale, "/locale", MAX_LOCALE)?;
    }
    let aliases = aliases.into_iter().enumerate();
    let aliases: Result<Vec<Alias>, Problem> =
        aliases.map(|(index, Object(alias))| alias.alias(&format!("/aliases/{index}"))).collect();
    Ok(PutPrincipal {
        principal_id,
        kind: wire.kind,
        roles,
        person_id: wire.person_id,
        aliases: aliases?,
        maturity: wire.maturity,
        locale: wire.locale,
        if_revision: call.if_match,
    })
}

#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
struct QueryWire {
    principal_id: Option<PrincipalId>,
    person_id: Option<PersonId>,
    role: Option<RoleName>,
    alias: Option<Object<AliasWire>>,
    limit: Option<u32>,
    cursor: Option<String>,
}

impl Wire for QueryWire {}

async fn query(call: Call, body: Body<QueryWire>) -> Result<Reply, Problem> {
    let wire = body.typed;
    let query = PrincipalQuery {
        principal_id: wire.principal_id,
        person_id: wire.person_id,
        role: wire.role,
        alias: wire.alias.map(|Object(alias)| alias.alias("/alias")).transpose()?,
        after: paging::position(&call.caller, LIST, wire.cursor.as_deref())?,
        limit: paging::limit(wire.limit)?,
    };
    let page = call.recorded(call.app.service.principals(&call.caller, query).await?).await?;
    Reply::ok(&Listed {
        items: page.items.into_iter().map(PrincipalWire::from).collect(),
        next_cursor: page.next.map(|position| paging::cursor(&call.caller, LIST, position)),
    })
}
