//! The first run: a tenant to try things with, keys that are shown once, and lines that work when pasted.

use std::net::SocketAddr;

use super::Failure;
use super::control::{mint, new_tenant};
use super::open::House;
use crate::domain::id::{PrincipalId, TenantId};
use crate::domain::operation::CredentialKind;
use crate::storage::{Scope, StorageError};

const TENANT: &str = "demo";

/// Creates the tenant `demo` with a key for each kind of person, if the database has no tenant yet.
pub(super) async fn welcome(house: &House, address: SocketAddr) -> Result<(), Failure> {
    if !house.store.tenants().await?.is_empty() {
        return Ok(());
    }
    let tenant_id = TenantId::new(TENANT).map_err(Failure::new)?;
    match house.store.create_tenant(&new_tenant(tenant_id.clone(), "development".to_owned(), None)).await {
        Ok(()) => {}
        // Another process was faster and has shown its keys.
        Err(StorageError::Exists) => return Ok(()),
        Err(error) => return Err(error.into()),
    }
    let mut secrets = Vec::new();
    for (kind, principal) in [
        (CredentialKind::Handler, None),
        (CredentialKind::Operator, Some("demo-operator")),
        (CredentialKind::Auditor, Some("demo-auditor")),
    ] {
        let principal = principal.map(PrincipalId::new).transpose().map_err(Failure::new)?;
        let key = mint(tenant_id.clone(), kind, None, principal, "first run".to_owned());
        house.store.create_key(&key.record).await?;
        secrets.push(key.secret);
    }
    if let [handler, operator, auditor] = secrets.as_slice() {
        println!("{}", text(address, handler, operator, auditor));
    }
    Ok(())
}

fn text(address: SocketAddr, handler: &str, operator: &str, auditor: &str) -> String {
    let scopes = |kind| Scope::defaults(kind).into_iter().map(Scope::as_str).collect::<Vec<_>>().join(" ");
    let [for_handler, for_operator, for_auditor] =
        [CredentialKind::Handler, CredentialKind::Operator, CredentialKind::Auditor].map(scopes);
    format!(
        r#"
A new database. The tenant "{TENANT}" was created for you to try things with.
Its keys are shown now and never again:

  handler   {handler}
            {for_handler}
  operator  {operator}
            {for_operator}
  auditor   {auditor}
            {for_auditor}

Try it. A message arrives, and you learn what it means:

curl -sS http://{address}/v1/messages \
  -H 'Authorization: Bearer {handler}' -H 'Content-Type: application/json' \
  -d "{{\"message_id\":\"wamid.1\",\"conversation_id\":\"conv-1\",\"actor_id\":\"ana\",\"kind\":\"text\",\"text\":\"cancel order 123, please\",\"sent_at\":\"$(date -u +%Y-%m-%dT%H:%M:%SZ)\"}}"

What is the conversation waiting for? (as an operator)

curl -sS http://{address}/v1/ooc/query \
  -H 'Authorization: Bearer {operator}' -H 'Content-Type: application/json' \
  -d '{{"query":"show active context","conversation_id":"conv-1"}}'

What does the record say? (as an auditor)

curl -sS http://{address}/v1/evidence/query \
  -H 'Authorization: Bearer {auditor}' -H 'Content-Type: application/json' \
  -d '{{"conversation_id":"conv-1"}}'

The whole contract: http://{address}/openapi.yaml    A conversation played for you: cscp demo
"#
    )
}
