//! Row security: with the second fence up, a statement that forgets its tenant sees one tenant's rows all the same.

use std::sync::Arc;

use cscp::committer::{Limits, Submission};
use cscp::domain::canonical::Digest;
use cscp::domain::operation::{CredentialKind, Sweep};
use cscp::domain::query::ContextQuery;
use cscp::domain::scope::Scope;
use cscp::domain::time::Clock;
use cscp::service::transparency::{NoGuard, Signer, Transparency};
use cscp::service::verify_tenant;
use cscp::storage::postgres::{PostgresSettings, PostgresStore};
use cscp::storage::{ApiKey, Store};
use sqlx::{AssertSqlSafe, Connection as _, PgConnection};

use crate::harness::{House, ManualClock};
use crate::place::Place;
use crate::run;
use crate::server::{settings, sql};

/// A database of a plain role's own, since a superuser would see over every fence.
async fn plain() -> Option<PostgresSettings> {
    let mut settings = settings().await?;
    let (start, name) = settings.url.rsplit_once('/').unwrap();
    let role = format!("plain_{name}");
    sql(&settings, &format!("CREATE ROLE {role} LOGIN; ALTER DATABASE {name} OWNER TO {role}")).await;
    let (_, host) = start.split_once('@').unwrap();
    settings.url = format!("postgres://{role}@{host}/{name}");
    Some(settings)
}

async fn refusal(settings: &PostgresSettings) -> String {
    PostgresStore::open(settings.clone()).await.unwrap_err().to_string()
}

#[tokio::test]
async fn a_fence_that_would_not_hold_is_not_relied_on() {
    let Some(mut settings) = plain().await else { return };
    PostgresStore::open(settings.clone()).await.unwrap().close().await;
    settings.row_security = true;
    assert!(refusal(&settings).await.contains("cscp migrate --row-security on"));
    PostgresStore::set_row_security(&settings, true).await.unwrap();
    PostgresStore::open(settings.clone()).await.unwrap().close().await;
    let superuser = settings.url.replace("plain_", "over_");
    let role = superuser.split_once("://").unwrap().1.split_once('@').unwrap().0.to_owned();
    let owner = role.replace("over_", "plain_");
    let mut over = settings.clone();
    over.url = superuser;
    let Some(first) = crate::postgres::server() else { return };
    sql(&PostgresSettings::new(first), &format!("CREATE ROLE {role} LOGIN BYPASSRLS IN ROLE {owner}")).await;
    assert!(refusal(&over).await.contains("plain role"), "whoever sees over it");
    settings.row_security = false;
    assert!(refusal(&settings).await.contains("--postgres-row-security"), "an empty database would be found");
    PostgresStore::set_row_security(&settings, false).await.unwrap();
    PostgresStore::open(settings).await.unwrap().close().await;
}

async fn fenced() -> Option<(House, PostgresSettings)> {
    let mut settings = plain().await?;
    PostgresStore::bring_up_to_date(&settings).await.unwrap();
    PostgresStore::set_row_security(&settings, true).await.unwrap();
    let clock = ManualClock::new();
    settings.row_security = true;
    settings.clock = Some(Arc::<ManualClock>::clone(&clock) as _);
    let store: Arc<dyn Store> = Arc::new(PostgresStore::open(settings.clone()).await.unwrap());
    let house = House::over(Place::Server(settings.url.clone()), store, clock, Limits::default(), 1);
    house.create_tenants().await;
    Some((house, settings))
}

#[tokio::test]
async fn behind_the_fence_everything_goes_on_as_before() {
    let Some((house, _)) = fenced().await else { return };
    assert!(!house.store.spans_tenants());
    for n in 0..3 {
        run(&house, n).await;
    }
    let message = house.message("wamid.other", &serde_json::json!({"text": "hello there"}));
    let operation = cscp::domain::operation::Operation::Ingest(Box::new(message));
    let other = Submission { tenant: Arc::clone(&house.other), operation, claim: None };
    house.committer.submit(other).await.unwrap().result.unwrap();
    let key = ApiKey {
        key_id: cscp::domain::id::KeyId::parse("key_018bcfe5680070000707070707070707")
            .unwrap_or_else(|| panic!("a key id")),
        tenant_id: house.other.tenant_id.clone(),
        digest: Digest::from_bytes([7; 32]),
        kind: CredentialKind::Handler,
        scopes: Scope::defaults(CredentialKind::Handler),
        principal_id: None,
        speaks_for: cscp::domain::speaking::SpeaksFor::default(),
        label: "one".to_owned(),
        created_at: house.clock.now(),
        revoked_at: None,
    };
    house.store.create_key(&key).await.unwrap();
    let (found, tenant) = house.store.find_key(&key.digest).await.unwrap().unwrap();
    assert!(found == key && tenant.tenant_id == house.other.tenant_id);
    let everything = ContextQuery { limit: 100, ..ContextQuery::default() };
    assert_eq!(house.store.contexts(&house.tenant.tenant_id, &everything).await.unwrap().items.len(), 3);
    assert_eq!(house.store.contexts(&house.other.tenant_id, &everything).await.unwrap().items.len(), 1);
    house.clock.pass_seconds(10_000_000);
    let due = house.store.due(house.clock.now(), 100).await.unwrap();
    assert_eq!(due.len(), 4, "upkeep sees every tenant");
    for (tenant_id, conversation_id) in due {
        let tenant = if tenant_id == house.tenant.tenant_id { &house.tenant } else { &house.other };
        let operation = cscp::domain::operation::Operation::Sweep(Sweep { conversation_id });
        let sweep = Submission { tenant: Arc::clone(tenant), operation, claim: None };
        house.committer.submit(sweep).await.unwrap().result.unwrap();
    }
    assert!(house.store.due(house.clock.now(), 100).await.unwrap().is_empty());
    let disposed = house.retention().sweep_once(cscp::service::retention::Mode::Live).await.unwrap();
    assert!(disposed.len() == 2 && disposed.values().all(|gone| gone.rows["messages"] > 0), "{disposed:?}");
    let signer = Signer::new("example.org".to_owned(), vec![[6; 32]]);
    let clock: Arc<dyn Clock> = Arc::<ManualClock>::clone(&house.clock);
    let log = Transparency::new(Arc::clone(&house.store), clock, Some(signer), Arc::new(NoGuard));
    while log.sequence_once().await.unwrap() > 0 {}
    for tenant in [&house.tenant, &house.other] {
        let tree = house.store.tree(&tenant.tenant_id).await.unwrap().unwrap();
        assert!(tree.size > 0 && tree.signed == tree.size, "upkeep appends and signs for every tenant");
        let report = verify_tenant(house.store.as_ref(), &tenant.tenant_id).await.unwrap();
        assert!(report.broken.is_empty() && report.streams > 0, "{report:?}");
    }
}

#[tokio::test]
async fn a_statement_that_forgets_its_tenant_sees_and_changes_one_tenant_only() {
    let Some((house, settings)) = fenced().await else { return };
    run(&house, 0).await;
    let mut connection = PgConnection::connect(&settings.url).await.unwrap();
    let tables = "SELECT relname::text FROM pg_class WHERE relrowsecurity ORDER BY relname";
    let tables: Vec<String> = sqlx::query_scalar(tables).fetch_all(&mut connection).await.unwrap();
    assert_eq!(tables.len(), 26);
    let mut seen_by_its_own = 0;
    for table in tables {
        for (tenant, may_see) in [(None, false), (Some(""), false), (Some("b"), false), (Some("a"), true)] {
            let mut transaction = connection.begin().await.unwrap();
            if let Some(tenant) = tenant {
                let enter = format!("SET LOCAL cscp.tenant = '{tenant}'");
                sqlx::raw_sql(AssertSqlSafe(enter)).execute(&mut *transaction).await.unwrap();
            }
            let foreign = format!("SELECT count(*) FROM {table} WHERE tenant_id = 'a'");
            let rows: i64 = sqlx::query_scalar(AssertSqlSafe(foreign)).fetch_one(&mut *transaction).await.unwrap();
            assert!(may_see || rows == 0, "{table} as {tenant:?}");
            seen_by_its_own += rows;
            let forgetful = format!("DELETE FROM {table}");
            let deleted = sqlx::raw_sql(AssertSqlSafe(forgetful)).execute(&mut *transaction).await.unwrap();
            assert!(may_see || table == "tenants" || deleted.rows_affected() == 0, "{table} as {tenant:?}");
            transaction.rollback().await.unwrap();
        }
    }
    assert!(seen_by_its_own > 10, "the same statements do see what is theirs");
    let mut transaction = connection.begin().await.unwrap();
    let forged = "SET LOCAL cscp.tenant = 'b'; INSERT INTO conversations (tenant_id, conversation_id, body) VALUES ('a', 'x', '{}')";
    assert!(sqlx::raw_sql(forged).execute(&mut *transaction).await.is_err());
}
