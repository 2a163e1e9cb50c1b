//! The gate: what may be looked at for this viewer, this question and this moment. It stands before ranking, so that
//! what is withheld cannot even move what is shown.

use std::borrow::Cow;
use std::collections::BTreeSet;

use super::{Omission, PackRefusal, PackRequest, Sources};
use crate::domain::id::FactUid;
use crate::state_layer::authority::{AuthorityOrder, Viewer};
use crate::state_layer::fact::{Fact, FactScope, Pointer};
use crate::state_layer::language::tags::{Tagged, tagged};
use crate::state_layer::space::WorkingItem;

/// A fact that may be shown.
#[derive(Debug, Clone)]
pub(super) struct Shown<'a> {
    pub fact: &'a Fact,
    /// Its text without the marks that only the gate reads.
    pub text: Cow<'a, str>,
    /// Whether the caller wants it in the pack whatever else is.
    pub included: bool,
}

/// What passed, and what did not.
#[derive(Debug, Default)]
pub(super) struct Gated<'a> {
    pub facts: Vec<Shown<'a>>,
    /// Superseded facts, if they were asked for, the newest first.
    pub superseded: Vec<Shown<'a>>,
    /// Items of the working set, the most urgent first.
    pub items: Vec<(&'a WorkingItem, String)>,
    /// Texts that are not shown and must not be quoted, sorted.
    pub withheld: Vec<String>,
    /// Names and reasons of what is left out.
    pub omitted: Vec<(String, Omission)>,
}

/// Lets through what may be shown.
pub(super) fn gate<'a>(
    request: &PackRequest,
    sources: &Sources<'a>,
    order: &AuthorityOrder,
) -> Result<Gated<'a>, PackRefusal> {
    let mut gated = Gated::default();
    let excluded = named(&request.exclude, &sources.facts, |_| true);
    for fact in sources.facts.iter().copied() {
        let text = text_of(fact);
        let tag = marks(&text);
        let reason = withheld(request, order, fact, tag.as_ref());
        if reason.is_none() && excluded.contains(&fact.uid) && fact.is_valid() && fact.constraint.is_some() {
            return Err(PackRefusal::CannotExclude { name: fact.key.clone() });
        }
        let body = tag.map(|tag| tag.body.to_owned());
        if let Some(reason) = reason {
            if matches!(reason, Omission::NotPermitted | Omission::OutOfScope) {
                gated.withheld.push(body.unwrap_or_else(|| text.into_owned()));
            }
            gated.omitted.push((fact.uid.as_str().to_owned(), reason));
        } else if excluded.contains(&fact.uid) {
            gated.omitted.push((fact.uid.as_str().to_owned(), Omission::Excluded));
        } else {
            let shown = Shown { fact, text: body.map_or(text, Cow::Owned), included: false };
            if fact.is_valid() { &mut gated.facts } else { &mut gated.superseded }.push(shown);
        }
    }
    for pointer in &request.include {
        include(pointer, request, &mut gated)?;
    }
    gated.superseded.sort_by(|a, b| (b.fact.at, &a.fact.key, &a.text).cmp(&(a.fact.at, &b.fact.key, &b.text)));
    let closed = sources.closed.iter().map(|space| format!("space:{}", space.as_str()));
    let denied = sources.denied.iter().map(|uid| uid.as_str().to_owned()).chain(closed);
    gated.omitted.extend(denied.map(|id| (id, Omission::NotPermitted)));
    items(request, sources, order, &mut gated);
    gated.withheld.sort_unstable();
    Ok(gated)
}

/// A fact's value as text.
fn text_of(fact: &Fact) -> Cow<'_, str> {
    match &fact.value {
        serde_json::Value::String(text) => Cow::Borrowed(text),
        _ => Cow::Owned(fact.text()),
    }
}

/// The marks of a text that only the gate reads; none for a text without them.
fn marks(text: &str) -> Option<Tagged<'_>> {
    let tag = text.trim_start().starts_with('[').then(|| tagged(text))?;
    (tag.scope.is_some() || !tag.restricted_to.is_empty()).then_some(tag)
}

/// Whether an audience admits a viewer to something with this text: one that is named with it, or marked in it.
#[must_use]
pub fn is_for(restricted_to: &[String], text: &str, viewer: &Viewer, order: &AuthorityOrder) -> bool {
    admits(restricted_to, marks(text).as_ref(), viewer, order)
}

fn admits(restricted_to: &[String], tag: Option<&Tagged<'_>>, viewer: &Viewer, order: &AuthorityOrder) -> bool {
    let marked = tag.map(|tag| tag.restricted_to.as_slice()).unwrap_or_default();
    let mut audiences = restricted_to.iter().chain(marked).peekable();
    audiences.peek().is_none() || audiences.any(|audience| viewer.belongs_to(audience, order))
}

/// Why a fact may not be shown; none if it may.
fn withheld(request: &PackRequest, order: &AuthorityOrder, fact: &Fact, tag: Option<&Tagged<'_>>) -> Option<Omission> {
    if !admits(&fact.restricted_to, tag, &request.viewer, order) {
        return Some(Omission::NotPermitted);
    }
    let in_scope = |id: Option<&String>| id.is_some_and(|id| request.scopes.contains(id));
    if fact.scope != FactScope::Global && !in_scope(fact.scope_id.as_ref()) {
        return Some(Omission::OutOfScope);
    }
    if let Some((_, id)) = tag.and_then(|tag| tag.scope.as_ref())
        && fact.scope == FactScope::Global
        && !in_scope(Some(id))
    {
        return Some(Omission::OutOfScope);
    }
    if fact.at > request.as_of {
        return Some(Omission::NotYet);
    }
    (!fact.is_valid() && !request.include_superseded).then_some(Omission::Superseded)
}

/// Marks the fact that a pointer names.
fn include(pointer: &Pointer, request: &PackRequest, gated: &mut Gated<'_>) -> Result<(), PackRefusal> {
    let name = || pointer.0.clone();
    if request.exclude.contains(pointer) {
        return Err(PackRefusal::CannotExclude { name: name() });
    }
    let facts: Vec<&Fact> = gated.facts.iter().map(|shown| shown.fact).collect();
    let found = named(std::slice::from_ref(pointer), &facts, Fact::is_valid);
    let shown = gated.facts.iter_mut().find(|shown| found.contains(&shown.fact.uid));
    shown.map(|shown| shown.included = true).ok_or_else(|| PackRefusal::CannotInclude { name: name() })
}

/// The facts that pointers name: by uid, then label, then key; the newest valid one of several. What was recorded last
/// has no say: that depends on the order of arrival.
fn named(pointers: &[Pointer], facts: &[&Fact], may: impl Fn(&Fact) -> bool) -> BTreeSet<FactUid> {
    let mut found = BTreeSet::new();
    for Pointer(name) in pointers {
        let newest = |is: &dyn Fn(&Fact) -> bool| {
            facts.iter().filter(|fact| is(fact) && may(fact)).max_by_key(|fact| (fact.is_valid(), fact.at, fact.text()))
        };
        let fact = newest(&|fact| fact.uid.as_str() == name)
            .or_else(|| newest(&|fact| fact.label.as_ref().is_some_and(|label| label.as_str() == name)))
            .or_else(|| newest(&|fact| fact.key == *name));
        found.extend(fact.map(|fact| fact.uid.clone()));
    }
    found
}

/// Lets items of the working set through: in force, in scope, for this viewer.
fn items<'a>(request: &PackRequest, sources: &Sources<'a>, order: &AuthorityOrder, gated: &mut Gated<'a>) {
    for item in &sources.items {
        let text = match &item.content {
            serde_json::Value::String(text) => text.clone(),
            other => other.to_string(),
        };
        let tag = tagged(&text);
        let restricted = !tag.restricted_to.is_empty()
            && !tag.restricted_to.iter().any(|audience| request.viewer.belongs_to(audience, order));
        let scoped = tag.scope.as_ref().is_some_and(|(_, id)| !request.scopes.contains(id));
        let task =
            item.task_id.as_ref().is_some_and(|task| !request.scopes.is_empty() && !request.scopes.contains(task));
        let reason = if restricted {
            Some(Omission::NotPermitted)
        } else if scoped || task {
            Some(Omission::OutOfScope)
        } else if item.created_at > request.as_of {
            Some(Omission::NotYet)
        } else {
            item.expires_at.is_some_and(|end| end <= request.as_of).then_some(Omission::Stale)
        };
        let body =
            if tag.scope.is_some() || !tag.restricted_to.is_empty() { tag.body.to_owned() } else { text.clone() };
        match reason {
            Some(reason) => {
                if matches!(reason, Omission::NotPermitted | Omission::OutOfScope) {
                    gated.withheld.push(body);
                }
                gated.omitted.push((format!("item:{}", item.key), reason));
            }
            None => gated.items.push((*item, body)),
        }
    }
    gated.items.sort_by(|(a, text_a), (b, text_b)| {
        (std::cmp::Reverse(a.priority), std::cmp::Reverse(a.created_at), &a.item_type, text_a).cmp(&(
            std::cmp::Reverse(b.priority),
            std::cmp::Reverse(b.created_at),
            &b.item_type,
            text_b,
        ))
    });
}
