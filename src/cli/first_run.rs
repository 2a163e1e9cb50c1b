//! The first run: where things lie, a demo tenant, keys that are shown once, and commands to paste.

use std::net::SocketAddr;
use std::path::Path;
use std::sync::Arc;

use super::Failure;
use super::control::{mint, new_tenant};
use super::health::reachable;
use super::log::Places;
use super::open::House;
use crate::config::{DatabaseUrl, ServeSettings, Settings};
use crate::domain::id::{PrincipalId, RoleName, TenantId};
use crate::domain::operation::{CredentialKind, Operation, PutPrincipal};
use crate::domain::principal::PrincipalKind;
use crate::domain::scope::Scope;
use crate::service::Service;
use crate::storage::{StorageError, Tenant};

const TENANT: &str = "demo";

/// What to do next, in a database without tenants.
const NO_TENANT: &str = "
There is no tenant yet. Make one and a key for it, with the same --database:
  cscp tenant create shop
  cscp key create --tenant shop --kind handler
";

/// The same where a tenant and its keys would have been made on a server that is reached from this machine only.
const NO_TENANT_BEYOND: &str = "
This server listens beyond this machine, so no tenant `demo` was created and no keys are shown here. Make your own, with the
same --database:
  cscp tenant create shop
  cscp key create --tenant shop --kind handler
Or start with --show-keys to have the tenant `demo` with its keys printed here.
";

/// Says where everything lies that a backup, a move or a removal is about.
fn say_where(settings: &Settings, places: &Places) {
    let whole = |path: &Path| std::path::absolute(path).unwrap_or_else(|_| path.to_owned()).display().to_string();
    println!("\nWhat this server keeps, and where:");
    match settings.database() {
        DatabaseUrl::Sqlite(path) => println!("  data         {}", whole(path)),
        DatabaseUrl::Postgres(url) => println!("  data         {url}"),
    }
    if let Some(key) = &places.key {
        println!("  signing key  {}  (signs the evidence log: keep a copy that only you can read)", whole(key));
    }
    if let Some(guard) = &places.guard {
        println!("  guard        {}  (what was signed last: never restore it from a backup)", whole(guard));
    }
}

/// At the first start, says where things lie. In a database that has no tenant yet, creates the tenant `demo` with a key of
/// each kind, unless it was not wanted. Where the server listens beyond this machine its output is read by others too, so keys are made there
/// only when asked for.
pub(super) async fn welcome(
    house: &House,
    address: SocketAddr,
    settings: &Settings,
    serve: &ServeSettings,
    places: &Places,
) -> Result<(), Failure> {
    let no_tenant = house.store.tenants().await?.is_empty();
    if no_tenant || places.new {
        say_where(settings, places);
    }
    if !no_tenant {
        return Ok(());
    }
    if serve.no_demo_tenant {
        println!("{NO_TENANT}");
        return Ok(());
    }
    if !address.ip().is_loopback() && !serve.show_keys {
        println!("{NO_TENANT_BEYOND}");
        return Ok(());
    }
    demo_tenant(house, reachable(address)).await
}

async fn demo_tenant(house: &House, address: SocketAddr) -> Result<(), Failure> {
    let tenant_id = TenantId::new(TENANT).map_err(Failure::new)?;
    let tenant = Arc::new(new_tenant(tenant_id.clone(), "development".to_owned(), None));
    match house.store.create_tenant(&tenant).await {
        Ok(()) => {}
        // Another process was faster and has shown its own keys.
        Err(StorageError::Exists) => return Ok(()),
        Err(error) => return Err(error.into()),
    }
    let mut secrets = Vec::new();
    for (kind, principal) in [
        (CredentialKind::Handler, None),
        (CredentialKind::Operator, Some(("demo-operator", "operator"))),
        (CredentialKind::Auditor, Some(("demo-auditor", "auditor"))),
    ] {
        let role = principal.map(|(_, role)| role);
        let principal = principal.map(|(id, _)| PrincipalId::new(id)).transpose().map_err(Failure::new)?;
        if let (Some(principal_id), Some(role)) = (&principal, role) {
            register(&house.service, Arc::clone(&tenant), principal_id, role).await?;
        }
        let key = mint(tenant_id.clone(), kind, None, principal, "first run".to_owned());
        house.store.create_key(&key.record).await?;
        secrets.push(key.secret);
    }
    if let [handler, operator, auditor] = secrets.as_slice() {
        println!("{}", text(address, handler, operator, auditor));
    }
    Ok(())
}

/// Registers the person behind a key: operators and auditors are principals with a role.
pub(super) async fn register(
    service: &Service,
    tenant: Arc<Tenant>,
    principal_id: &PrincipalId,
    role: &str,
) -> Result<(), Failure> {
    let role = RoleName::new(role).map_err(Failure::new)?;
    let operation = Operation::PutPrincipal(PutPrincipal {
        principal_id: principal_id.clone(),
        kind: PrincipalKind::Person,
        roles: vec![role],
        person_id: None,
        aliases: Vec::new(),
        maturity: None,
        locale: None,
        if_revision: None,
    });
    service.administer(tenant, operation).await.map(drop).map_err(Failure::new)
}

fn text(address: SocketAddr, handler: &str, operator: &str, auditor: &str) -> String {
    let scopes = |kind| Scope::defaults(kind).into_iter().map(Scope::as_str).collect::<Vec<_>>().join(" ");
    let [for_handler, for_operator, for_auditor] =
        [CredentialKind::Handler, CredentialKind::Operator, CredentialKind::Auditor].map(scopes);
    format!(
        r#"
The tenant "{TENANT}" was created for you to try things with.
Its keys are shown now and never again:

  handler   {handler}
            {for_handler}
  operator  {operator}
            {for_operator}; acts as the principal demo-operator
  auditor   {auditor}
            {for_auditor}; acts as the principal demo-auditor

Try it. A message arrives, and you learn what it means:

curl -sS http://{address}/v1/messages \
  -H 'Authorization: Bearer {handler}' -H 'Content-Type: application/json' \
  -d "{{\"message_id\":\"wamid.$(date +%s)\",\"conversation_id\":\"conv-1\",\"actor_id\":\"ana\",\"kind\":\"text\",\"text\":\"cancel order 123, please\",\"sent_at\":\"$(date -u +%Y-%m-%dT%H:%M:%SZ)\"}}"

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
