//! Tenants and keys.

use std::collections::BTreeSet;
use std::process::ExitCode;
use std::sync::Arc;

use clap::{Subcommand, ValueEnum};

use super::speaking::{self, Speaking};
use super::{Failure, open};
use crate::config::Settings;
use crate::domain::id::{Ids, KeyId, PrincipalId, TenantId};
use crate::domain::operation::CredentialKind;
use crate::domain::scope::Scope;
use crate::domain::speaking::SpeaksFor;
use crate::domain::time::Clock;
use crate::service::NewKey;
use crate::storage::{ApiKey, StorageError, Store, Tenant};
use crate::system::{SystemClock, SystemEntropy};

#[derive(Debug, Subcommand)]
pub(crate) enum TenantCommand {
    /// Create a tenant
    Create {
        /// Its id: a short name of your choice
        tenant: String,
        /// Where it runs; policy packs may select by it
        #[arg(long, default_value = "production")]
        environment: String,
        /// The policy pack it is attached to, such as strong; otherwise selectors decide
        #[arg(long)]
        policy: Option<String>,
    },
    /// List tenants
    List,
    /// Disable a tenant's keys; nothing is deleted
    Disable {
        /// Its id
        tenant: String,
    },
    /// Enable a disabled tenant's keys again
    Enable {
        /// Its id
        tenant: String,
    },
    /// Assign a policy pack to a tenant, or let selectors choose again
    AttachPolicy {
        /// Its id
        tenant: String,
        /// The pack, such as strong
        #[arg(required_unless_present = "none")]
        pack: Option<String>,
        /// No pack: selectors choose
        #[arg(long, conflicts_with = "pack")]
        none: bool,
    },
}

#[derive(Debug, Clone, Copy, ValueEnum)]
pub(crate) enum Kind {
    /// A webhook handler
    Handler,
    /// A person who operates
    Operator,
    /// A person who audits
    Auditor,
    /// A program that proposes
    Agent,
    /// Everything
    Admin,
}

impl From<Kind> for CredentialKind {
    fn from(kind: Kind) -> Self {
        match kind {
            Kind::Handler => Self::Handler,
            Kind::Operator => Self::Operator,
            Kind::Auditor => Self::Auditor,
            Kind::Agent => Self::Agent,
            Kind::Admin => Self::Admin,
        }
    }
}

#[derive(Debug, Subcommand)]
pub(crate) enum KeyCommand {
    /// Create a key and show its secret, once
    Create {
        /// Whose
        #[arg(long)]
        tenant: String,
        /// Which kind of credential
        #[arg(long, value_enum)]
        kind: Kind,
        /// The scopes of the key instead of its kind's usual ones; can be repeated
        #[arg(long = "scope")]
        scopes: Vec<String>,
        /// The principal on whose behalf it acts: an id
        #[arg(long)]
        principal: Option<String>,
        #[command(flatten)]
        speaking: Speaking,
        /// A label of your choice
        #[arg(long, default_value = "")]
        label: String,
        /// Print one JSON object instead of text
        #[arg(long)]
        json: bool,
    },
    /// List a tenant's keys, without their secrets
    List {
        /// Whose
        #[arg(long)]
        tenant: String,
    },
    /// Change whom a key may speak for when facts are read; this takes effect within a second or two
    SpeaksFor {
        /// Whose
        #[arg(long)]
        tenant: String,
        /// Its id, as the list shows it
        key: String,
        #[command(flatten)]
        speaking: Speaking,
    },
    /// Revoke a key; it stops working within a second or two
    Revoke {
        /// Whose
        #[arg(long)]
        tenant: String,
        /// Its id, as the list shows it
        key: String,
    },
}

/// A tenant with a new secret of its own.
pub(super) fn new_tenant(tenant_id: TenantId, environment: String, policy_pack: Option<String>) -> Tenant {
    let now = SystemClock.now();
    let mut entropy = SystemEntropy;
    let key = Ids::new(now, &mut entropy).secret();
    Tenant { tenant_id, environment, policy_pack, key, enabled: true, created_at: now }
}

pub(super) fn mint(
    tenant_id: TenantId,
    kind: CredentialKind,
    scopes: Option<BTreeSet<Scope>>,
    principal_id: Option<PrincipalId>,
    label: String,
) -> NewKey {
    let now = SystemClock.now();
    let mut entropy = SystemEntropy;
    let mut ids = Ids::new(now, &mut entropy);
    NewKey::mint(tenant_id, kind, scopes, principal_id, label, now, &mut ids)
}

/// `cscp tenant …`.
pub(super) async fn tenant(settings: &Settings, command: TenantCommand) -> Result<ExitCode, Failure> {
    let store = open::existing(settings).await?;
    match command {
        TenantCommand::Create { tenant, environment, policy } => {
            if let Some(pack) = &policy {
                expect_pack(settings, &store, pack).await?;
            }
            let tenant_id = tenant_id(&tenant)?;
            match store.create_tenant(&new_tenant(tenant_id, environment, policy)).await {
                Ok(()) => {
                    println!("The tenant {tenant} was created. Next: cscp key create --tenant {tenant} --kind handler");
                }
                Err(StorageError::Exists) => return Err(Failure::new(format!("there is a tenant {tenant} already"))),
                Err(error) => return Err(error.into()),
            }
        }
        TenantCommand::List => {
            for tenant in store.tenants().await? {
                let state = if tenant.enabled { "enabled" } else { "disabled" };
                let policy = tenant.policy_pack.as_deref().unwrap_or("by selector");
                println!(
                    "{}\t{state}\t{}\tpolicy: {policy}\tcreated {}",
                    tenant.tenant_id, tenant.environment, tenant.created_at
                );
            }
        }
        TenantCommand::Disable { tenant } => set_enabled(store.as_ref(), &tenant, false).await?,
        TenantCommand::Enable { tenant } => set_enabled(store.as_ref(), &tenant, true).await?,
        TenantCommand::AttachPolicy { tenant, pack, none: _ } => attach(settings, &store, &tenant, pack).await?,
    }
    store.close().await;
    Ok(ExitCode::SUCCESS)
}

/// Refuses a pack that does not exist: every command of the tenant would be treated as S3.
async fn expect_pack(settings: &Settings, store: &Arc<dyn Store>, pack: &str) -> Result<(), Failure> {
    let rules = match open::folder(settings)? {
        Some((_, rules)) => rules,
        None => open::published(store).await?.1,
    };
    if rules.now().book().pack(pack).is_none() {
        let instead = "see cscp policy published, and cscp policy check";
        return Err(Failure::new(format!("there is no policy pack {pack}; {instead}")));
    }
    Ok(())
}

async fn attach(
    settings: &Settings,
    store: &Arc<dyn Store>,
    tenant: &str,
    pack: Option<String>,
) -> Result<(), Failure> {
    if let Some(pack) = &pack {
        expect_pack(settings, store, pack).await?;
    }
    if !store.set_tenant_policy(&tenant_id(tenant)?, pack.as_deref()).await? {
        return Err(Failure::new(format!("there is no tenant {tenant}")));
    }
    let now = pack.map_or_else(|| "left to selectors".to_owned(), |pack| format!("attached to the pack {pack}"));
    println!("The tenant {tenant} is {now}; servers go by that within a second or two.");
    Ok(())
}

async fn set_enabled(store: &dyn Store, tenant: &str, enabled: bool) -> Result<(), Failure> {
    if !store.set_tenant_enabled(&tenant_id(tenant)?, enabled).await? {
        return Err(Failure::new(format!("there is no tenant {tenant}")));
    }
    println!(
        "The tenant {tenant} is {}.",
        if enabled { "enabled" } else { "disabled; its keys stop working within a second or two" }
    );
    Ok(())
}

fn tenant_id(text: &str) -> Result<TenantId, Failure> {
    let slug = text.bytes().all(|byte| byte.is_ascii_alphanumeric() || matches!(byte, b'-' | b'_' | b'.'));
    let id = TenantId::new(text).map_err(|error| Failure::new(format!("the tenant's id {error}")))?;
    if slug { Ok(id) } else { Err(Failure::new("a tenant's id takes letters, digits, and - _ . only")) }
}

async fn known_tenant(store: &dyn Store, tenant: &str) -> Result<TenantId, Failure> {
    let id = tenant_id(tenant)?;
    let known = store.tenant(&id).await?;
    known
        .map(|tenant| tenant.tenant_id)
        .ok_or_else(|| Failure::new(format!("there is no tenant {tenant}; see cscp tenant list")))
}

/// `cscp key …`.
pub(super) async fn key(settings: &Settings, command: KeyCommand) -> Result<ExitCode, Failure> {
    let store = open::existing(settings).await?;
    match command {
        KeyCommand::Create { tenant, kind, scopes, principal, speaking, label, json } => {
            let tenant_id = known_tenant(store.as_ref(), &tenant).await?;
            let kind = CredentialKind::from(kind);
            let scopes = if scopes.is_empty() { None } else { Some(read_scopes(&scopes, kind)?) };
            let principal = principal.map(PrincipalId::new).transpose();
            let principal = principal.map_err(|error| Failure::new(format!("--principal {error}")))?;
            let usual = SpeaksFor::usual(kind, principal.as_ref());
            let speaks_for = speaking.read(usual)?;
            let key = mint(tenant_id, kind, scopes, principal, label).speaking_for(speaks_for);
            store.create_key(&key.record).await?;
            print_new(&key, json);
        }
        KeyCommand::List { tenant } => {
            let tenant_id = known_tenant(store.as_ref(), &tenant).await?;
            store.keys(&tenant_id).await?.iter().for_each(print_key);
        }
        KeyCommand::SpeaksFor { tenant, key, speaking } => {
            let tenant_id = known_tenant(store.as_ref(), &tenant).await?;
            let (key_id, speaks_for) = (key_id(&key)?, speaking.read(SpeaksFor::default())?);
            if !store.set_key_voice(&tenant_id, &key_id, &speaks_for).await? {
                return Err(Failure::new(format!("the tenant {tenant} has no key {key_id}")));
            }
            println!("The key {key_id} speaks for {}; within a second or two.", speaking::told(&speaks_for));
        }
        KeyCommand::Revoke { tenant, key } => {
            let tenant_id = known_tenant(store.as_ref(), &tenant).await?;
            let key_id = key_id(&key)?;
            if !store.revoke_key(&tenant_id, &key_id, SystemClock.now()).await? {
                return Err(Failure::new(format!("the tenant {tenant} has no key {key_id}")));
            }
            println!("The key {key_id} is revoked; it stops working within a second or two.");
        }
    }
    store.close().await;
    Ok(ExitCode::SUCCESS)
}

fn key_id(text: &str) -> Result<KeyId, Failure> {
    KeyId::parse(text).ok_or_else(|| Failure::new("that is not a key's id; see cscp key list"))
}

fn read_scopes(words: &[String], kind: CredentialKind) -> Result<BTreeSet<Scope>, Failure> {
    let read = |word: &String| {
        let scope = Scope::ALL.into_iter().find(|scope| scope.as_str() == word);
        let scope = scope.ok_or_else(|| {
            let known: Vec<&str> = Scope::ALL.into_iter().map(Scope::as_str).collect();
            Failure::new(format!("there is no scope {word}; there are {}", known.join(", ")))
        })?;
        if scope.allowed_for(kind) {
            Ok(scope)
        } else {
            Err(Failure::new(format!("an agent's key cannot hold {word}: agents propose")))
        }
    };
    words.iter().map(read).collect()
}

fn print_new(key: &NewKey, json: bool) {
    let record = &key.record;
    if json {
        let shown = serde_json::json!({
            "key_id": record.key_id, "tenant": record.tenant_id, "kind": record.kind, "scopes": record.scopes,
            "principal": record.principal_id, "speaks_for": speaking::told(&record.speaks_for), "label": record.label, "key": key.secret,
        });
        println!("{shown}");
    } else {
        println!("{}\n\nThis is the key {}. It is shown now and never again.", key.secret, record.key_id);
    }
}

fn print_key(key: &ApiKey) {
    let kind =
        serde_json::to_value(key.kind).ok().and_then(|kind| kind.as_str().map(str::to_owned)).unwrap_or_default();
    let scopes: Vec<&str> = key.scopes.iter().map(|scope| scope.as_str()).collect();
    let state = key.revoked_at.map_or_else(|| "live".to_owned(), |at| format!("revoked {at}"));
    let principal = key.principal_id.as_ref().map_or("-", |id| id.as_str());
    let (id, created, scopes) = (&key.key_id, key.created_at, scopes.join(" "));
    let speaks_for = speaking::told(&key.speaks_for);
    println!(
        "{id}\t{kind}\t{state}\tprincipal: {principal}\tspeaks for: {speaks_for}\tcreated {created}\t{scopes}\t{}",
        key.label
    );
}
