//! The pack as a whole, its classes, commands and selectors.

use std::collections::{BTreeMap, HashMap};

use serde::{Deserialize, Serialize};

use super::context::{
    AnswerRules, ApprovalTimes, ConfirmationTimes, ContextRules, DisambiguationTimes, ExecutionRules, RateLimits,
    StateLayerRules,
};
use super::retention::RetentionRules;
use super::rules::ApprovalRule;
use super::shapes::{self, CompiledPattern};
use super::slots::SlotRules;
use super::validate::validate;
use super::viewing::{OocRules, RedactionRules};
use super::{PolicyError, SafetyClass};
use crate::domain::lexicon::Says;

/// Which pack decided, exactly. Recorded with every decision.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
pub struct PolicyRef {
    /// Name of the pack.
    pub pack_id: String,
    /// Its version (`SemVer`).
    pub version: String,
    /// `sha256:` and the hex SHA-256 of its canonical text.
    pub hash: String,
}

/// The governance profile that a pack claims.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Profile {
    Basic,
    Strong,
    /// Rules for operator workflows.
    Operational,
    Custom,
}

/// Where a pack applies. Every field that is given must match; `{}` matches everything.
///
/// Of several selectors that match, the most specific wins. Fields weigh in this order, each more than all the later
/// ones together: tenant, environment, command, group, safety class.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Hash, Default, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Selector {
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub tenant: Option<String>,
    /// Environment name, for instance `production`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub environment: Option<String>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub command: Option<String>,
    /// Command group, as the pack for the tenant and environment gives it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub group: Option<String>,
    /// Safety class of the command, after the caller raised it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub safety_class: Option<SafetyClass>,
}

impl Selector {
    /// The specificity of a selector that names the tenant and nothing else.
    pub(super) const TENANT_ONLY: u8 = 16;

    /// How specific it is, 0 to 31. Two selectors of the same specificity name the same fields, so they compete
    /// only if they are equal.
    #[must_use]
    pub fn specificity(&self) -> u8 {
        u8::from(self.tenant.is_some()) * Self::TENANT_ONLY
            + u8::from(self.environment.is_some()) * 8
            + u8::from(self.command.is_some()) * 4
            + u8::from(self.group.is_some()) * 2
            + u8::from(self.safety_class.is_some())
    }

    /// Whether it looks at the tenant and the environment only, so that it selects rules for whole contexts.
    #[must_use]
    pub fn is_for_contexts(&self) -> bool {
        self.command.is_none() && self.group.is_none() && self.safety_class.is_none()
    }
}

/// Whether a class or a command must be confirmed.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Confirmation {
    /// No question is asked.
    None,
    /// The requester must confirm.
    Required,
}

/// What a safety class demands.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct ClassRules {
    /// Whether the requester must confirm.
    pub confirmation: Confirmation,
    /// Whether a bare "yes" may confirm, under the conditions of RFC-WF-0034 VIII.B.
    pub bare_answers: bool,
    /// Who must approve; none if nobody must. Packs write `none` or a rule.
    #[serde(with = "approval_or_none")]
    pub approval: Option<ApprovalRule>,
}

/// What each class demands. All four are always given.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct ClassTable {
    #[serde(rename = "S0")]
    pub s0: ClassRules,
    #[serde(rename = "S1")]
    pub s1: ClassRules,
    #[serde(rename = "S2")]
    pub s2: ClassRules,
    /// High impact, and every name that is not listed.
    #[serde(rename = "S3")]
    pub s3: ClassRules,
}

impl ClassTable {
    /// The rules of one class.
    #[must_use]
    pub fn of(&self, class: SafetyClass) -> &ClassRules {
        match class {
            SafetyClass::S0 => &self.s0,
            SafetyClass::S1 => &self.s1,
            SafetyClass::S2 => &self.s2,
            SafetyClass::S3 => &self.s3,
        }
    }
}

/// One command that a pack knows. The optional fields are demands beyond those of its class; they never weaken it.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct CommandEntry {
    pub name: String,
    /// Group, for selectors and reports.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub group: Option<String>,
    pub class: SafetyClass,
    /// Fields of the target that may change between the question and the command, as dotted paths. Every other field is
    /// material: it goes into the fingerprint.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub immaterial_fields: Vec<String>,
    /// Demands a confirmation where the class does not.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub confirmation: Option<Confirmation>,
    /// Forbids a bare "yes" where the class allows it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub bare_answers: Option<bool>,
    /// Who must approve, instead of what the class says.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub approval: Option<ApprovalRule>,
    /// A shorter confirmation window, in seconds.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub confirmation_ttl_seconds: Option<u32>,
    /// Words by which people name this command and which refuse elsewhere, by language: "cancel". Said alone they neither
    /// confirm it nor refuse it.
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    pub says: BTreeMap<String, Vec<String>>,
}

/// A policy pack, as its author wrote it.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct PolicyPack {
    /// Name, unique among the loaded packs.
    pub pack_id: String,
    /// Version (`SemVer`).
    pub version: String,
    pub profile: Profile,
    /// What it is for, in a sentence or two.
    pub description: String,
    /// Where it applies; empty means only where a tenant is attached to it by name.
    pub selectors: Vec<Selector>,
    /// Life of a context.
    pub context: ContextRules,
    pub confirmation: ConfirmationTimes,
    pub approval: ApprovalTimes,
    pub disambiguation: DisambiguationTimes,
    /// What each safety class demands.
    pub classes: ClassTable,
    /// The commands it knows.
    pub commands: Vec<CommandEntry>,
    /// What counts as an answer.
    pub answers: AnswerRules,
    /// How slots are stored and shaped.
    pub slots: SlotRules,
    /// How slots are shown.
    pub redaction: RedactionRules,
    /// How much operators see.
    pub ooc: OocRules,
    /// How long records are kept.
    pub retention: RetentionRules,
    /// How fast an API key may call; none means that the server's own limit applies.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub rate_limits: Option<RateLimits>,
    /// Settings of the state layer.
    #[serde(default)]
    pub state_layer: StateLayerRules,
    /// What is expected of whoever executes a bound command.
    #[serde(default)]
    pub execution: ExecutionRules,
}

/// A pack that passed every check, ready for a [`super::PolicyBook`].
#[derive(Debug, Clone)]
pub struct LoadedPack {
    pub(super) pack: PolicyPack,
    pub(super) reference: PolicyRef,
    pub(super) file: String,
    pub(super) document: Option<String>,
    pub(super) commands: HashMap<String, usize>,
    /// The words that name a command, of those that have such words.
    pub(super) says: HashMap<String, Says>,
    pub(super) patterns: BTreeMap<String, CompiledPattern>,
}

impl LoadedPack {
    /// Checks the pack against every rule of this module and makes it ready for use. All complaints come together.
    pub fn new(pack: PolicyPack, hash: String, file: &str) -> Result<Self, Vec<PolicyError>> {
        let mut errors = validate(&pack);
        let (patterns, mut pattern_errors) = shapes::compile(&pack.slots);
        errors.append(&mut pattern_errors);
        if !errors.is_empty() {
            return Err(errors.into_iter().map(|e| e.in_file(file)).collect());
        }
        let names = pack.commands.iter().enumerate();
        let with_words = pack.commands.iter().filter(|entry| !entry.says.is_empty());
        let says = with_words.map(|entry| {
            let mut says = Says::default();
            says.add(&entry.says, &pack.version);
            (entry.name.clone(), says)
        });
        Ok(Self {
            says: says.collect(),
            commands: names.map(|(at, entry)| (entry.name.clone(), at)).collect(),
            reference: PolicyRef { pack_id: pack.pack_id.clone(), version: pack.version.clone(), hash },
            pack,
            file: file.to_owned(),
            document: None,
            patterns,
        })
    }

    /// The same, with the canonical text that its hash is of.
    #[must_use]
    pub fn written_as(self, document: String) -> Self {
        Self { document: Some(document), ..self }
    }

    /// The canonical text that its hash is of, if it was read from one.
    #[must_use]
    pub fn document(&self) -> Option<&str> {
        self.document.as_deref()
    }

    #[must_use]
    pub fn pack(&self) -> &PolicyPack {
        &self.pack
    }

    /// Name, version and hash.
    #[must_use]
    pub fn reference(&self) -> &PolicyRef {
        &self.reference
    }

    /// The file it came from.
    #[must_use]
    pub fn file(&self) -> &str {
        &self.file
    }

    /// What it says about a command by name.
    #[must_use]
    pub fn command(&self, name: &str) -> Option<&CommandEntry> {
        self.commands.get(name).and_then(|&at| self.pack.commands.get(at))
    }
}

/// `none` or a rule.
#[expect(clippy::ref_option, reason = "serde gives the field by reference")]
mod approval_or_none {
    use serde::{Deserialize, Deserializer, Serialize, Serializer};

    use super::ApprovalRule;

    #[derive(Serialize, Deserialize)]
    #[serde(rename_all = "snake_case")]
    enum Word {
        None,
    }

    #[derive(Serialize, Deserialize)]
    #[serde(untagged)]
    enum Setting {
        Word(Word),
        Rule(ApprovalRule),
    }

    pub(super) fn serialize<S: Serializer>(rule: &Option<ApprovalRule>, serializer: S) -> Result<S::Ok, S::Error> {
        match rule {
            None => Setting::Word(Word::None).serialize(serializer),
            Some(rule) => rule.serialize(serializer),
        }
    }

    pub(super) fn deserialize<'de, D: Deserializer<'de>>(deserializer: D) -> Result<Option<ApprovalRule>, D::Error> {
        Ok(match Setting::deserialize(deserializer)? {
            Setting::Word(Word::None) => None,
            Setting::Rule(rule) => Some(rule),
        })
    }
}
