//! Policy packs that can apply to the caller's tenant, and what a text would mean under them. Selectors that name other
//! tenants are not shown.

use serde::{Deserialize, Serialize};
use serde_json::{Value, json};

use super::parts::{MAX_LOCALE, bounded, printable};
use super::turns::{MAX_TEXT, ReadingWire};
use crate::domain::id::CommandName;
use crate::domain::lexicon::{ExplainedPart, LexiconVersion, Naming, ReadBy, Withdrawal};
use crate::domain::operation::CredentialKind;
use crate::domain::policy::{LoadedPack, PolicyPack, PolicyRef, PolicyScope, Profile, SafetyClass, Selector};
use crate::domain::rulebook::Rulebook;
use crate::domain::scope::Scope;
use crate::domain::trying::{Outcome, Under, try_text};
use crate::http::body::{Body, Wire};
use crate::http::endpoint::{Endpoint, Route};
use crate::http::extract::{Call, PathId};
use crate::http::problem::Problem;
use crate::http::respond::Reply;
use crate::service::{Caller, ServiceError};

const MAY_READ: &[Scope] = &[Scope::ContextRead, Scope::OocRead, Scope::TenantAdmin];
const LIST: Endpoint = Endpoint::get("/v1/policies", MAY_READ);
const GET: Endpoint = Endpoint::get("/v1/policies/{pack_id}", MAY_READ);

const READING: Endpoint = Endpoint::post("/v1/policies/{pack_id}/reading", MAY_READ);

pub(super) fn routes() -> Vec<Route> {
    vec![Route::new(LIST, list), Route::new(GET, get), Route::new(READING, reading)]
}

/// A text to read as an answer. It is in a body, because addresses are logged.
#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
struct ReadWire {
    text: String,
    locale: Option<String>,
    command: Option<CommandName>,
}

impl Wire for ReadWire {}

#[derive(Debug, Serialize)]
struct TrialWire {
    lexicons: Vec<LexiconVersion>,
    reading: ReadingWire,
    read_by: ReadBy,
    parts: Vec<ExplainedPart>,
    takes_back: Option<Withdrawal>,
    under: Vec<UnderWire>,
}

#[derive(Debug, Serialize)]
struct UnderWire {
    command: Option<String>,
    safety_class: SafetyClass,
    names_command: Option<NamingWire>,
    bare: Outcome,
    quoted: Outcome,
}

/// How a text names the command that is asked about.
#[derive(Debug, Clone, Copy, Serialize)]
#[serde(rename_all = "snake_case")]
pub(crate) enum NamingWire {
    Yes,
    No,
    Unclear,
}

#[derive(Debug, Serialize)]
struct PackWire {
    #[serde(flatten)]
    reference: PolicyRef,
    profile: Profile,
    description: String,
    /// Whether new contexts of this tenant use this pack.
    in_force: bool,
}

#[derive(Debug, Serialize)]
struct FullPackWire {
    #[serde(flatten)]
    summary: PackWire,
    pack: Value,
}

async fn list(call: Call) -> Result<Reply, Problem> {
    let rules = call.app.service.rules();
    let book = rules.book();
    let packs = book.packs().filter_map(|pack| book.pack(&pack.pack_id));
    let items: Vec<PackWire> =
        packs.filter(|pack| concerns(pack, &call.caller)).map(|pack| summary(pack, &rules, &call.caller)).collect();
    Reply::ok(&json!({"items": items}))
}

async fn get(call: Call, PathId(id): PathId) -> Result<Reply, Problem> {
    let rules = call.app.service.rules();
    let found = rules.book().pack(&id).filter(|pack| concerns(pack, &call.caller));
    let loaded = found.ok_or_else(|| Problem::not_found("policy pack"))?;
    let mut pack = loaded.pack().clone();
    pack.selectors.retain(|selector| is_open_to(selector, &call.caller));
    let pack = shown(&pack, &call.caller)?;
    Reply::ok(&FullPackWire { summary: summary(loaded, &rules, &call.caller), pack })
}

/// Tries a text under the pack's rules. Nothing of it is kept.
async fn reading(call: Call, PathId(id): PathId, Body { typed: wire, .. }: Body<ReadWire>) -> Result<Reply, Problem> {
    bounded(Some(&wire.text), "/text", MAX_TEXT)?;
    if let Some(locale) = &wire.locale {
        printable(locale, "/locale", MAX_LOCALE)?;
    }
    let rulebook = call.app.service.rules();
    let found = rulebook.book().pack(&id).filter(|pack| concerns(pack, &call.caller));
    found.ok_or_else(|| Problem::not_found("policy pack"))?;
    let scope = PolicyScope { attached_pack: Some(id), ..call.caller.tenant.policy_scope() };
    let command = wire.command.as_ref().map(CommandName::as_str);
    let trial = try_text(&rulebook.rules(&scope), &wire.text, wire.locale.as_deref(), command);
    let under = |under: Under| UnderWire {
        command: under.command,
        safety_class: under.class,
        names_command: under.naming.map(|naming| match naming {
            Naming::Yes(_) => NamingWire::Yes,
            Naming::No(_) => NamingWire::No,
            Naming::Unclear(_) => NamingWire::Unclear,
        }),
        bare: under.bare,
        quoted: under.quoted,
    };
    Reply::ok(&TrialWire {
        lexicons: trial.lexicons,
        reading: ReadingWire::of(trial.explained.reading),
        read_by: trial.explained.read_by,
        parts: trial.explained.parts,
        takes_back: trial.takes_back,
        under: trial.under.into_iter().map(under).collect(),
    })
}

/// The pack; only administrators see the addresses of internal services.
fn shown(pack: &PolicyPack, caller: &Caller) -> Result<Value, Problem> {
    let mut pack = serde_json::to_value(pack).map_err(|_| ServiceError::Internal)?;
    if caller.kind != CredentialKind::Admin {
        let callbacks = pack.pointer_mut("/state_layer/access_callbacks").and_then(Value::as_object_mut);
        for callback in callbacks.into_iter().flat_map(|callbacks| callbacks.values_mut()) {
            if let Some(members) = callback.as_object_mut() {
                members.remove("url");
            }
        }
    }
    Ok(pack)
}

fn is_open_to(selector: &Selector, caller: &Caller) -> bool {
    selector.tenant.as_deref().is_none_or(|tenant| tenant == caller.tenant.tenant_id.as_str())
}

/// Whether the pack can apply to this tenant.
fn concerns(pack: &LoadedPack, caller: &Caller) -> bool {
    let attached = caller.tenant.policy_pack.as_deref() == Some(pack.pack().pack_id.as_str());
    attached || pack.pack().selectors.iter().any(|selector| is_open_to(selector, caller))
}

fn summary(pack: &LoadedPack, book: &Rulebook, caller: &Caller) -> PackWire {
    let rules = book.rules(&caller.tenant.policy_scope());
    PackWire {
        reference: pack.reference().clone(),
        profile: pack.pack().profile,
        description: pack.pack().description.clone(),
        in_force: rules.policy.reference() == pack.reference(),
    }
}
