//! What policy demands of one command, and the stricter of two such demands.

use std::collections::BTreeSet;

use serde::{Deserialize, Serialize};

use super::pack::{CommandEntry, Confirmation, LoadedPack};
use super::{ExecutionRules, ImmaterialFields, PolicyRef, SafetyClass};

/// Who must approve, and how many of them.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct ApprovalRule {
    /// The role that an approver must hold.
    pub role: String,
    /// Further roles that an approver must hold as well, in alphabetical order. Empty in every pack; filled where
    /// two packs ask for different roles, so that neither demand is lost.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub also_roles: Vec<String>,
    /// How many different persons must approve.
    pub required: u32,
    /// Whether the approver must be another person than the requester.
    #[serde(default = "yes")]
    pub separate_person: bool,
}

fn yes() -> bool {
    true
}

impl ApprovalRule {
    /// Every role that an approver must hold.
    pub fn roles(&self) -> impl Iterator<Item = &str> {
        std::iter::once(self.role.as_str()).chain(self.also_roles.iter().map(String::as_str))
    }

    /// The rule that satisfies both.
    #[must_use]
    pub fn stricter(&self, other: &Self) -> Self {
        let mut roles: BTreeSet<&str> = self.roles().chain(other.roles()).collect();
        let role = roles.pop_first().unwrap_or_default().to_owned();
        Self {
            role,
            also_roles: roles.into_iter().map(str::to_owned).collect(),
            required: self.required.max(other.required),
            separate_person: self.separate_person || other.separate_person,
        }
    }

    fn stricter_of(one: Option<&Self>, other: Option<&Self>) -> Option<Self> {
        match (one, other) {
            (Some(one), Some(other)) => Some(one.stricter(other)),
            (one, other) => one.or(other).cloned(),
        }
    }
}

/// Everything that policy says about one command. Kept with a pending item from asking to binding.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct CommandRules {
    /// Safety class, after raising.
    pub class: SafetyClass,
    /// Whether the tenant's pack lists the command. If not, it has the strictest class.
    pub known: bool,
    /// Group, if it has one.
    pub group: Option<String>,
    /// Fields of the target that may change between the question and the command. All others go into the fingerprint.
    #[serde(default, skip_serializing_if = "ImmaterialFields::is_empty")]
    pub immaterial_fields: ImmaterialFields,
    /// The only fields that the fingerprint covers, or an empty list for all of them. It is empty in everything new; what
    /// earlier versions stored may list some, and then proves too little ([`Self::covers_a_list_only`]). It is always
    /// written: a server of an earlier version that reads it, beside this one, takes the whole target for material.
    #[serde(default)]
    pub material_fields: Vec<String>,
    /// Whether the requester must confirm.
    pub confirmation_required: bool,
    /// Whether a bare "yes" may confirm.
    pub bare_answers: bool,
    /// Who must approve, if anyone.
    pub approval: Option<ApprovalRule>,
    /// Seconds from asking to the end of the confirmation window.
    pub confirmation_ttl_seconds: u32,
    /// Seconds from the answer until the command must be bound.
    pub bind_within_seconds: u32,
    /// Seconds from asking to the end of the approval window.
    pub approval_ttl_seconds: u32,
    /// Seconds from the binding within which a first result is to be reported. The default is not written, so that what
    /// was stored before there was such a rule stays as it was.
    #[serde(default = "default_report_within", skip_serializing_if = "is_default_report_within")]
    pub report_within_seconds: u32,
    /// The pack that gave the demands.
    pub policy: PolicyRef,
    /// Further packs that had a say: the one that gave the class, or the one at asking. In order, without `policy`.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub also_policies: Vec<PolicyRef>,
}

fn default_report_within() -> u32 {
    ExecutionRules::DEFAULT_REPORT_WITHIN_SECONDS
}

#[expect(clippy::trivially_copy_pass_by_ref, reason = "serde gives the field by reference")]
fn is_default_report_within(seconds: &u32) -> bool {
    *seconds == default_report_within()
}

/// What either of two lists of material fields covers. An empty one covers everything.
fn wider_list(one: &[String], other: &[String]) -> Vec<String> {
    if one.is_empty() || other.is_empty() {
        return Vec::new();
    }
    let listed: BTreeSet<&String> = one.iter().chain(other).collect();
    listed.into_iter().cloned().collect()
}

impl CommandRules {
    /// Whether a fingerprint made under these rules, by an earlier version, says nothing about some of the target.
    #[must_use]
    pub fn covers_a_list_only(&self) -> bool {
        !self.material_fields.is_empty()
    }

    /// Puts together what `class_pack` says of the class and `demanding` of the demands.
    pub(super) fn compose(name: &str, class: SafetyClass, class_pack: &LoadedPack, demanding: &LoadedPack) -> Self {
        let listed = class_pack.command(name);
        let entry = demanding.command(name);
        let class = class.raised_to(entry.map(|e| e.class));
        let demands = demanding.pack.classes.of(class);
        let times = &demanding.pack.confirmation;
        let own = entry.and_then(|e| e.approval.as_ref());
        let approval = match (own, entry) {
            // At its own class the entry speaks instead of the class; raised, both speak.
            (Some(own), Some(entry)) if entry.class == class => Some(own.clone()),
            _ => ApprovalRule::stricter_of(own, demands.approval.as_ref()),
        };
        let wants = entry.and_then(|e| e.confirmation);
        // A pack that does not list the command lets none of its fields change.
        let immaterial = |entry: Option<&CommandEntry>| {
            ImmaterialFields::from(entry.map(|e| e.immaterial_fields.clone()).unwrap_or_default())
        };
        let mut also_policies = Vec::new();
        if class_pack.reference != demanding.reference {
            also_policies.push(class_pack.reference.clone());
        }
        Self {
            class,
            known: listed.is_some(),
            group: listed.and_then(|e| e.group.clone()),
            immaterial_fields: immaterial(listed).in_both(&immaterial(entry)),
            material_fields: Vec::new(),
            confirmation_required: demands.confirmation == Confirmation::Required
                || wants == Some(Confirmation::Required),
            bare_answers: demands.bare_answers && entry.and_then(|e| e.bare_answers).unwrap_or(true),
            approval,
            confirmation_ttl_seconds: entry
                .and_then(|e| e.confirmation_ttl_seconds)
                .map_or(times.ttl_seconds, |own| own.min(times.ttl_seconds)),
            bind_within_seconds: times.bind_within_seconds,
            approval_ttl_seconds: demanding.pack.approval.ttl_seconds,
            report_within_seconds: demanding.pack.execution.report_within_seconds,
            policy: demanding.reference.clone(),
            also_policies,
        }
    }

    /// The demands that satisfy both, field by field. Binding uses it on the packs at asking and at binding.
    ///
    /// It is commutative and idempotent, and its result is never weaker than either side. Where the packs differ,
    /// `policy` is the later of the two in (id, version, hash) order and `also_policies` names the rest.
    #[must_use]
    pub fn stricter(&self, other: &Self) -> Self {
        let policy = (&self.policy).max(&other.policy).clone();
        let also: BTreeSet<&PolicyRef> = [self, other]
            .into_iter()
            .flat_map(|rules| std::iter::once(&rules.policy).chain(&rules.also_policies))
            .filter(|named| **named != policy)
            .collect();
        Self {
            class: self.class.max(other.class),
            known: self.known && other.known,
            group: self.group.as_ref().max(other.group.as_ref()).cloned(),
            immaterial_fields: self.immaterial_fields.in_both(&other.immaterial_fields),
            material_fields: wider_list(&self.material_fields, &other.material_fields),
            confirmation_required: self.confirmation_required || other.confirmation_required,
            bare_answers: self.bare_answers && other.bare_answers,
            approval: ApprovalRule::stricter_of(self.approval.as_ref(), other.approval.as_ref()),
            confirmation_ttl_seconds: self.confirmation_ttl_seconds.min(other.confirmation_ttl_seconds),
            bind_within_seconds: self.bind_within_seconds.min(other.bind_within_seconds),
            approval_ttl_seconds: self.approval_ttl_seconds.min(other.approval_ttl_seconds),
            report_within_seconds: self.report_within_seconds.min(other.report_within_seconds),
            also_policies: also.into_iter().cloned().collect(),
            policy,
        }
    }
}
