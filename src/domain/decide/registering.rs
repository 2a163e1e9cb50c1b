//! Principals: registration, and what a change of identity does.

use super::Turn;
use crate::domain::event::{About, Event, StreamKey};
use crate::domain::id::PrincipalId;
use crate::domain::message::{IdentityChange, SystemNews};
use crate::domain::operation::{Answer, PutPrincipal};
use crate::domain::principal::{Alias, AliasKind, MAX_ALIASES, PastAlias, Principal, PrincipalKind};
use crate::domain::refusal::Refusal;
use crate::domain::time::Timestamp;

impl Turn<'_, '_> {
    pub(super) fn put_principal(&mut self, request: &PutPrincipal) -> Result<Answer, Refusal> {
        let before = self.world.principals.get(&request.principal_id).cloned();
        if let Some(asked) = request.if_revision {
            let revision = before.as_ref().map_or(0, |principal| principal.revision);
            if revision != asked {
                return Err(Refusal::RevisionMismatch { revision });
            }
        }
        let created = before.is_none();
        let earlier = before.unwrap_or_else(|| blank(&request.principal_id, request.kind, self.now));
        let mut aliases = request.aliases.clone();
        aliases.sort();
        aliases.dedup();
        let mut principal = Principal {
            kind: request.kind,
            roles: request.roles.clone(),
            person_id: request.person_id.clone(),
            maturity: request.maturity,
            locale: request.locale.clone(),
            registered: true,
            ..earlier.clone()
        };
        let identity_changed = !created && aliases != earlier.aliases;
        replace_aliases(&mut principal, aliases, self.now);
        if identity_changed {
            principal.identity_epoch += 1;
        }
        if !created && principal == earlier {
            return Ok(Answer::Principal { principal: Box::new(principal), created });
        }
        principal.revision += 1;
        principal.updated_at = self.now;
        let about = About { actor_id: Some(request.principal_id.clone()), ..About::default() };
        let event = Event::PrincipalChanged { principal: principal.clone(), identity_changed };
        self.record(StreamKey::Principal(request.principal_id.clone()), about, event);
        Ok(Answer::Principal { principal: Box::new(principal), created })
    }

    /// The principal after news about its identity. One that nobody registered gets a record too: the epoch has to
    /// be kept somewhere.
    pub(super) fn changed_identity(&self, principal_id: &PrincipalId, news: Option<&SystemNews>) -> Principal {
        let known = self.world.principals.get(principal_id).cloned();
        let mut principal = known.unwrap_or_else(|| blank(principal_id, PrincipalKind::Person, self.now));
        principal.identity_epoch += 1;
        // Whoever holds the number now holds no role until somebody says again who that is.
        principal.registered = false;
        principal.revision += 1;
        principal.updated_at = self.now;
        let Some(kind) = news.and_then(|news| alias_kind(news.change)) else { return principal };
        let previous = news.and_then(|news| news.previous.clone());
        let mut aliases = principal.aliases.clone();
        let held = aliases.iter().any(|alias| alias.kind == kind && Some(&alias.value) == previous.as_ref());
        if held {
            aliases.retain(|alias| !(alias.kind == kind && Some(&alias.value) == previous.as_ref()));
            // News count whatever they say, but no name with characters that nobody sees becomes an alias.
            let current = news.and_then(|news| news.current.clone()).filter(|name| !name.contains(char::is_control));
            aliases.extend(current.map(|value| Alias { kind, value }));
            aliases.sort();
            aliases.dedup();
            replace_aliases(&mut principal, aliases, self.now);
        }
        principal
    }
}

fn alias_kind(change: IdentityChange) -> Option<AliasKind> {
    match change {
        IdentityChange::UserChangedNumber => Some(AliasKind::Phone),
        IdentityChange::UserChangedUserId => Some(AliasKind::Bsuid),
        IdentityChange::CustomerIdentityChanged => Some(AliasKind::IdentityKey),
        IdentityChange::Other => None,
    }
}

fn blank(principal_id: &PrincipalId, kind: PrincipalKind, now: Timestamp) -> Principal {
    Principal {
        principal_id: principal_id.clone(),
        kind,
        roles: Vec::new(),
        person_id: None,
        aliases: Vec::new(),
        past_aliases: Vec::new(),
        maturity: None,
        locale: None,
        registered: false,
        identity_epoch: 0,
        revision: 0,
        created_at: now,
        updated_at: now,
    }
}

/// Sets the aliases in force and remembers those that no longer are, the newest ones up to the limit.
fn replace_aliases(principal: &mut Principal, aliases: Vec<Alias>, now: Timestamp) {
    let gone = principal.aliases.iter().filter(|alias| !aliases.contains(alias)).cloned();
    principal.past_aliases.extend(gone.map(|alias| PastAlias { alias, until: now }));
    let excess = principal.past_aliases.len().saturating_sub(MAX_ALIASES);
    principal.past_aliases.drain(..excess);
    principal.aliases = aliases;
}
