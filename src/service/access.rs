//! What a reader may see, and to which level of detail.

use serde_json::{Map, Value};

use super::ooc::RedactionShown;
use super::wording::Language;
use super::{Caller, Service, ServiceError};
use crate::domain::command::CommandRecord;
use crate::domain::context::ContextRecord;
use crate::domain::id::{PrincipalId, RoleName};
use crate::domain::operation::CredentialKind;
use crate::domain::policy::{DetailLevel, OocRules, RedactionMethod};
use crate::domain::principal::Principal;
use crate::domain::redaction::{EXTENSIONS, Redactor};
use crate::domain::scope::Scope;
use crate::domain::slots::{ACTIVE_TARGET, LAST_RESULT, SlotClass, classify};

/// A part of an answer to an operator. Status, time left and whether a question is open are shown at every level.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Part {
    /// Intent and target, redacted.
    Subject,
    /// Names and ids of commands, what a question is about, the state of the last command.
    Commands,
    Slots,
    /// Ids of messages, items, conversations and principals; revision, trace.
    Trace,
}

impl Part {
    /// The lowest level at which each part is shown.
    fn least(self) -> DetailLevel {
        match self {
            Self::Subject | Self::Commands => DetailLevel::Standard,
            Self::Slots | Self::Trace => DetailLevel::Full,
        }
    }
}

/// What one reader may see.
#[derive(Debug, Clone, PartialEq)]
pub(super) struct Sight {
    pub(super) level: DetailLevel,
    /// Whether slots are shown without redaction.
    pub(super) raw: bool,
    /// The principal on whose behalf the caller reads.
    pub(super) viewer_id: Option<PrincipalId>,
    pub(super) language: Language,
}

impl Sight {
    /// Whether a part of an answer is shown.
    pub(super) fn shows(&self, part: Part) -> bool {
        self.level >= part.least()
    }

    /// The level's name in evidence and in the `redaction` block.
    pub(super) fn word(&self) -> &'static str {
        if self.raw { "raw" } else { detail_word(self.level) }
    }
}

pub(super) fn detail_word(level: DetailLevel) -> &'static str {
    match level {
        DetailLevel::None => "none",
        DetailLevel::Summary => "summary",
        DetailLevel::Standard => "standard",
        DetailLevel::Full => "full",
    }
}

/// The highest level of detail for a kind of credential.
fn credential_level(kind: CredentialKind) -> DetailLevel {
    match kind {
        CredentialKind::Auditor | CredentialKind::Admin => DetailLevel::Full,
        CredentialKind::Operator => DetailLevel::Standard,
        CredentialKind::Handler | CredentialKind::Agent => DetailLevel::Summary,
    }
}

/// The lowest of the levels that credential, persons involved and policy allow.
fn level(kind: CredentialKind, people: &[&Principal], rules: &OocRules) -> DetailLevel {
    let of_person = |person: &&Principal| {
        let held = person.roles.iter().map(RoleName::as_str);
        if person.registered { rules.detail_for(held) } else { DetailLevel::None }
    };
    let least = people.iter().map(of_person).min().unwrap_or(DetailLevel::Full);
    least.min(credential_level(kind)).min(rules.detail)
}

/// Whether callers' texts are redacted for this reader: people look from outside, services serve the conversation.
fn is_covered(caller: &Caller) -> bool {
    let looks = matches!(caller.kind, CredentialKind::Operator | CredentialKind::Auditor);
    looks && !caller.scopes.contains(&Scope::OocRaw)
}

impl Caller {
    /// The redaction level of callers' texts for this reader, for the record of a read.
    #[must_use]
    pub fn seen(&self) -> &'static str {
        if is_covered(self) { "redacted" } else { "raw" }
    }
}

impl Service {
    /// What this caller may see on behalf of this viewer.
    ///
    /// A key that is bound to a principal sees no more by naming another one: the lower level of both counts.
    pub(super) async fn sight(
        &self,
        caller: &Caller,
        viewer_id: Option<&PrincipalId>,
        locale: Option<&str>,
    ) -> Result<Sight, ServiceError> {
        let named = self.person(caller, viewer_id).await?;
        let own = self.person(caller, caller.principal_id.as_ref()).await?;
        let people: Vec<&Principal> = named.iter().chain(own.iter()).collect();
        let unknown = |id: Option<&PrincipalId>, found: &Option<Principal>| id.is_some() && found.is_none();
        let book = self.rules.now();
        let rules = book.rules(&caller.tenant.policy_scope());
        let stranger = unknown(viewer_id, &named) || unknown(caller.principal_id.as_ref(), &own);
        let level = if stranger { DetailLevel::None } else { level(caller.kind, &people, &rules.policy.pack().ooc) };
        let viewer = named.as_ref().or(own.as_ref());
        Ok(Sight {
            level,
            raw: level == DetailLevel::Full && caller.scopes.contains(&Scope::OocRaw),
            viewer_id: viewer_id.or(caller.principal_id.as_ref()).cloned(),
            language: Language::choose([locale, viewer.and_then(|person| person.locale.as_deref())]),
        })
    }

    async fn person(&self, caller: &Caller, id: Option<&PrincipalId>) -> Result<Option<Principal>, ServiceError> {
        let Some(id) = id else { return Ok(None) };
        Ok(self.store.principal(&caller.tenant.tenant_id, id.as_str()).await?)
    }

    /// Applies policy's redaction to a record for this caller and reports what was redacted. Does nothing for callers
    /// who see records unredacted.
    fn covering(&self, caller: &Caller, cover: impl FnOnce(&mut Redactor<'_>)) -> Option<RedactionShown> {
        if !is_covered(caller) {
            return None;
        }
        let book = self.rules.now();
        let rules = book.rules(&caller.tenant.policy_scope());
        let mut redactor = Redactor::new(&rules.policy.pack().redaction, &caller.tenant.key);
        cover(&mut redactor);
        Some(RedactionShown { level: caller.seen(), applied: redactor.applied() })
    }

    /// Redacts callers' texts in a context. Copies of open questions contain none.
    pub fn cover_context(&self, caller: &Caller, context: &mut ContextRecord) -> Option<RedactionShown> {
        self.covering(caller, |redactor| {
            let slots = std::mem::take(&mut context.slots).into_iter();
            let left = slots.filter_map(|(name, value)| {
                let is_copy = name != LAST_RESULT && classify(&name) == SlotClass::ReadOnly;
                let value = if is_copy { Some(value) } else { redactor.slot(&name, &value) };
                Some((name, value?))
            });
            context.slots = left.collect();
            if !context.extensions.is_empty() {
                let extensions = Value::Object(std::mem::take(&mut context.extensions));
                context.extensions = match redactor.slot(EXTENSIONS, &extensions) {
                    Some(Value::Object(left)) => left,
                    // A digest over all of them belongs to no single slot.
                    Some(digest) => Map::from_iter([("digest".to_owned(), digest)]),
                    None => Map::new(),
                };
            }
        })
    }

    /// Redacts the free texts of a command's reports.
    pub fn cover_command(&self, caller: &Caller, command: &mut CommandRecord) {
        self.covering(caller, |redactor| {
            for result in &mut command.results {
                result.status = redactor.report(&result.status).unwrap_or_else(|| "hidden".to_owned());
                result.summary = result.summary.take().and_then(|summary| redactor.report(&summary));
            }
        });
    }

    /// Redacts a target outside a context; null if it is hidden.
    #[must_use]
    pub fn cover_target(&self, caller: &Caller, target: Value) -> Value {
        let mut left = None;
        let covered = self.covering(caller, |redactor| left = redactor.slot(ACTIVE_TARGET, &target));
        if covered.is_some() { left.unwrap_or(Value::Null) } else { target }
    }

    /// Shortens a principal's external names, unless the caller manages them. People see enough to tell them apart, as
    /// in evidence; programs see nothing, because they have no use for them.
    pub(super) fn cover_principal(&self, caller: &Caller, principal: &mut Principal) {
        if caller.scopes.contains(&Scope::PrincipalWrite) {
            return;
        }
        let method = match caller.kind {
            CredentialKind::Operator | CredentialKind::Auditor | CredentialKind::Admin => RedactionMethod::Mask,
            CredentialKind::Handler | CredentialKind::Agent => RedactionMethod::Hide,
        };
        let book = self.rules.now();
        let rules = book.rules(&caller.tenant.policy_scope());
        let mut redactor = Redactor::new(&rules.policy.pack().redaction, &caller.tenant.key);
        let mut left = |value: &mut String| match redactor.by("aliases", method, &Value::String(std::mem::take(value)))
        {
            Some(Value::String(covered)) => {
                *value = covered;
                true
            }
            _ => false,
        };
        principal.aliases.retain_mut(|alias| left(&mut alias.value));
        principal.past_aliases.retain_mut(|past| left(&mut past.alias.value));
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::domain::principal::PrincipalKind;
    use crate::domain::time::Timestamp;

    fn person(roles: &[&str], registered: bool) -> Principal {
        let at = Timestamp::from_micros(0);
        Principal {
            principal_id: PrincipalId::new("p").unwrap(),
            kind: PrincipalKind::Person,
            roles: roles.iter().map(|role| RoleName::new(*role).unwrap()).collect(),
            person_id: None,
            aliases: Vec::new(),
            past_aliases: Vec::new(),
            maturity: None,
            locale: None,
            registered,
            identity_epoch: 0,
            revision: 1,
            created_at: at,
            updated_at: at,
        }
    }

    #[test]
    fn the_level_is_the_least_of_credential_people_and_policy() {
        use CredentialKind::{Admin, Agent, Auditor, Handler, Operator};
        use DetailLevel::{Full, None, Standard, Summary};
        let roles = [("observer", Summary), ("operator", Standard), ("auditor", Full)];
        let with_ceiling = |detail| OocRules {
            detail,
            roles: roles.iter().map(|(role, level)| ((*role).to_owned(), *level)).collect(),
        };
        let (observer, auditor) = (person(&["observer"], true), person(&["observer", "auditor"], true));
        let (nobody, unregistered) = (person(&[], true), person(&["auditor"], false));
        let cases: [(_, &[&Principal], _, _); 12] = [
            (Handler, &[], Full, Summary),
            (Agent, &[], Full, Summary),
            (Operator, &[], Full, Standard),
            (Auditor, &[], Full, Full),
            (Admin, &[], Standard, Standard),
            (Admin, &[], None, None),
            (Auditor, &[&auditor], Full, Full),
            (Auditor, &[&observer], Full, Summary),
            (Auditor, &[&auditor, &observer], Full, Summary),
            (Operator, &[&auditor], Full, Standard),
            (Auditor, &[&nobody], Full, None),
            (Auditor, &[&unregistered], Full, None),
        ];
        for (kind, people, ceiling, expected) in cases {
            assert_eq!(level(kind, people, &with_ceiling(ceiling)), expected, "{kind:?} {people:?} {ceiling:?}");
        }
    }
}
