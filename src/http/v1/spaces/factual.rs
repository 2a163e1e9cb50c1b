//! The wire form of a fact to write.

use serde::Deserialize;
use serde::de::value::MapAccessDeserializer;
use serde::de::{Deserializer, MapAccess, Visitor};
use serde_json::Value;

use super::moment::{Moment, Moments};
use crate::domain::id::{FactLabel, SpaceId};
use crate::http::body::Object;
use crate::http::problem::Problem;
use crate::http::v1::parts::printable;
use crate::state_layer::fact::{Abstraction, ConstraintType, FactScope, MAX_DEPENDENCIES, MemoryType, Pointer, Source};
use crate::state_layer::operation::{NamedDependency, NewFact};

/// The longest name of a source, a scope, an audience, or a pointer.
const NAME: usize = 256;
const REASON: usize = 1024;
const AUDIENCES: usize = 32;

/// Where a fact comes from.
#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
struct SourceWire {
    #[serde(rename = "type")]
    kind: Option<String>,
    identity: Option<String>,
    authority: Option<String>,
    turn_index: Option<u64>,
    event_index: Option<u64>,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Elsewhere {
    fact: String,
    fact_space: Option<SpaceId>,
}

/// A dependency: the fact's name, or its name and its space.
#[derive(Debug)]
struct DependencyWire {
    fact: String,
    fact_space: Option<SpaceId>,
    /// Where in it the name stands.
    place: &'static str,
}

impl<'de> Deserialize<'de> for DependencyWire {
    fn deserialize<D: Deserializer<'de>>(reader: D) -> Result<Self, D::Error> {
        struct Either;
        impl<'de> Visitor<'de> for Either {
            type Value = DependencyWire;
            fn expecting(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
                f.write_str("a fact's name, or an object with fact and fact_space")
            }
            fn visit_str<E>(self, fact: &str) -> Result<DependencyWire, E> {
                Ok(DependencyWire { fact: fact.to_owned(), fact_space: None, place: "" })
            }
            fn visit_map<A: MapAccess<'de>>(self, members: A) -> Result<DependencyWire, A::Error> {
                let Elsewhere { fact, fact_space } = Elsewhere::deserialize(MapAccessDeserializer::new(members))?;
                Ok(DependencyWire { fact, fact_space, place: "/fact" })
            }
        }
        reader.deserialize_any(Either)
    }
}

#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct FactBody {
    id: Option<FactLabel>,
    key: String,
    value: Value,
    source: Option<Object<SourceWire>>,
    #[serde(alias = "timestamp")]
    effective_at: Option<Moment>,
    scope: Option<FactScope>,
    scope_id: Option<String>,
    memory_type: Option<MemoryType>,
    abstraction: Option<Abstraction>,
    is_constraint: Option<bool>,
    constraint_type: Option<ConstraintType>,
    restricted_to: Option<Vec<String>>,
    supersedes: Option<String>,
    reason: Option<String>,
    depends_on: Option<Vec<DependencyWire>>,
    require_targets: Option<bool>,
}

fn check(value: Option<&String>, pointer: &str, most: usize) -> Result<(), Problem> {
    value.map_or(Ok(()), |value| printable(value, pointer, most))
}

/// Refuses null, which is the value of a deleted fact.
pub(super) fn stated(value: &Value, pointer: &str) -> Result<(), Problem> {
    if value.is_null() { Err(Problem::missing(pointer)) } else { Ok(()) }
}

impl FactBody {
    /// The fact, with `base` as its place in the body.
    pub(super) fn fact(self, moments: &mut Moments, base: &str) -> Result<NewFact, Problem> {
        let at = |member: &str| format!("{base}/{member}");
        printable(&self.key, &at("key"), NAME)?;
        stated(&self.value, &at("value"))?;
        check(self.scope_id.as_ref(), &at("scope_id"), NAME)?;
        check(self.supersedes.as_ref(), &at("supersedes"), NAME)?;
        check(self.reason.as_ref(), &at("reason"), REASON)?;
        let restricted_to = self.restricted_to.unwrap_or_default();
        if restricted_to.len() > AUDIENCES {
            return Err(Problem::invalid(&at("restricted_to"), format!("must hold at most {AUDIENCES}")));
        }
        for (index, audience) in restricted_to.iter().enumerate() {
            printable(audience, &at(&format!("restricted_to/{index}")), NAME)?;
        }
        Ok(NewFact {
            label: self.id,
            key: self.key,
            value: self.value,
            source: self.source.map(|Object(source)| source.source(base)).transpose()?.unwrap_or_default(),
            at: moments.optional(self.effective_at.as_ref(), &at("effective_at"))?,
            scope: self.scope,
            scope_id: self.scope_id,
            memory_type: self.memory_type,
            abstraction: self.abstraction,
            // Writers send `false` by default without checking. It is treated as unset, and the fact's words decide.
            is_constraint: self.is_constraint.filter(|said| *said),
            constraint_type: self.constraint_type,
            restricted_to,
            supersedes: self.supersedes.map(Pointer),
            reason: self.reason,
            depends_on: dependencies(self.depends_on.unwrap_or_default(), &at("depends_on"))?,
            require_targets: self.require_targets.unwrap_or(false),
        })
    }
}

impl SourceWire {
    fn source(self, base: &str) -> Result<Source, Problem> {
        let at = |member: &str| format!("{base}/source/{member}");
        check(self.kind.as_ref(), &at("type"), NAME)?;
        check(self.identity.as_ref(), &at("identity"), NAME)?;
        check(self.authority.as_ref(), &at("authority"), NAME)?;
        Ok(Source {
            kind: self.kind.unwrap_or_default(),
            identity: self.identity,
            authority: self.authority,
            turn_index: self.turn_index,
            event_index: self.event_index,
        })
    }
}

fn dependencies(given: Vec<DependencyWire>, pointer: &str) -> Result<Vec<NamedDependency>, Problem> {
    if given.len() > MAX_DEPENDENCIES {
        return Err(Problem::invalid(pointer, format!("must hold at most {MAX_DEPENDENCIES}")));
    }
    let named = given.into_iter().enumerate().map(|(index, DependencyWire { fact, fact_space, place })| {
        printable(&fact, &format!("{pointer}/{index}{place}"), NAME)?;
        Ok(NamedDependency { pointer: Pointer(fact), space: fact_space })
    });
    named.collect()
}
