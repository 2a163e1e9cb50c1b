//! Writes principals: a rare operation, with lookup rows that are replaced as a whole.

use super::columns::columns;
use super::session::Session;
use crate::domain::id::TenantId;
use crate::domain::principal::Principal;
use crate::storage::StorageError;

const PRINCIPALS: &str = "
    -- postgres: identity.principals
    INSERT INTO principals (tenant_id, principal_id, person_id, identity_epoch, body)
    SELECT * FROM unnest($1::text[], $2::text[], $3::text[], $4::int8[], $5::text[])
    ON CONFLICT (tenant_id, principal_id) DO UPDATE SET
        person_id = excluded.person_id, identity_epoch = excluded.identity_epoch, body = excluded.body";

const FORGET_ALIASES: &str = "
    -- postgres: identity.forget_aliases
    DELETE FROM principal_aliases AS a USING unnest($1::text[], $2::text[]) AS n (tenant_id, principal_id)
    WHERE a.tenant_id = n.tenant_id AND a.principal_id = n.principal_id";

const ALIASES: &str = "
    -- postgres: identity.aliases
    INSERT INTO principal_aliases (tenant_id, kind, value, principal_id)
    SELECT * FROM unnest($1::text[], $2::text[], $3::text[], $4::text[])
    ON CONFLICT DO NOTHING";

const FORGET_ROLES: &str = "
    -- postgres: identity.forget_roles
    DELETE FROM principal_roles AS r USING unnest($1::text[], $2::text[]) AS n (tenant_id, principal_id)
    WHERE r.tenant_id = n.tenant_id AND r.principal_id = n.principal_id";

const ROLES: &str = "
    -- postgres: identity.roles
    INSERT INTO principal_roles (tenant_id, role, principal_id)
    SELECT * FROM unnest($1::text[], $2::text[], $3::text[])
    ON CONFLICT DO NOTHING";

columns!(Principals {
    tenant_id: &'a str,
    principal_id: &'a str,
    person_id: Option<&'a str>,
    identity_epoch: i64,
    body: String,
});
columns!(Names { tenant_id: &'a str, principal_id: &'a str });
columns!(Aliases { tenant_id: &'a str, kind: String, value: &'a str, principal_id: &'a str });
columns!(Roles { tenant_id: &'a str, role: &'a str, principal_id: &'a str });

/// Writes new or changed principals.
pub(super) async fn write(session: &mut Session, principals: &[(&TenantId, &Principal)]) -> Result<(), StorageError> {
    if principals.is_empty() {
        return Ok(());
    }
    let mut rows = Principals::default();
    let (mut before, mut before_too) = (Names::default(), Names::default());
    let (mut aliases, mut roles) = (Aliases::default(), Roles::default());
    for (tenant_id, principal) in principals {
        let (tenant, id) = (tenant_id.as_str(), principal.principal_id.as_str());
        let person = principal.person_id.as_ref().map(crate::domain::id::PersonId::as_str);
        let epoch = i64::try_from(principal.identity_epoch).unwrap_or(i64::MAX);
        rows.add((tenant, id, person, epoch, serde_json::to_string(principal).unwrap_or_default()));
        before.add((tenant, id));
        before_too.add((tenant, id));
        for alias in &principal.aliases {
            let kind = serde_json::to_value(alias.kind).ok().and_then(|kind| kind.as_str().map(str::to_owned));
            aliases.add((tenant, kind.unwrap_or_default(), &alias.value, id));
        }
        principal.roles.iter().for_each(|role| roles.add((tenant, role.as_str(), id)));
    }
    session.count(rows.bind(sqlx::query(PRINCIPALS))).await?;
    session.count(before.bind(sqlx::query(FORGET_ALIASES))).await?;
    session.count(aliases.bind(sqlx::query(ALIASES))).await?;
    session.count(before_too.bind(sqlx::query(FORGET_ROLES))).await?;
    session.count(roles.bind(sqlx::query(ROLES))).await.map(drop)
}
