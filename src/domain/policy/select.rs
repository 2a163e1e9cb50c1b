//! Which pack applies: all loaded packs, and the view of them that one tenant and environment has.
//!
//! The safety class of a command and the pack that gives its demands could each depend on the other. They do not:
//! 1. the pack for (tenant, environment) alone gives the class and the group of the command;
//! 2. the caller may raise that class;
//! 3. the pack for (tenant, environment, command, group, class) gives the demands. If it lists the command with a
//!    stricter class, that class counts, and nothing is selected again.

use std::borrow::Cow;
use std::collections::{BTreeSet, HashMap, HashSet};
use std::sync::Arc;

use serde_json::Value;

use super::pack::{LoadedPack, PolicyPack, PolicyRef, Selector};
use super::{CommandRules, PolicyError, SafetyClass, SlotRefusal};
use crate::domain::lexicon::Says;

/// Whose rules are asked for.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub struct PolicyScope {
    pub tenant_id: String,
    pub environment: String,
    /// The pack that the tenant is attached to by name, if any.
    pub attached_pack: Option<String>,
}

/// A selector and the pack it belongs to.
#[derive(Debug)]
struct Rule {
    selector: Selector,
    pack: usize,
}

#[derive(Debug, Default)]
struct Shelves {
    packs: Vec<LoadedPack>,
    by_id: HashMap<String, usize>,
    /// Rules that name a tenant, most specific first.
    by_tenant: HashMap<String, Vec<Rule>>,
    /// All other rules, most specific first.
    general: Vec<Rule>,
}

/// All loaded packs. Never changes; a reload makes a new one. Cloning is cheap.
#[derive(Debug, Clone)]
pub struct PolicyBook {
    shelves: Arc<Shelves>,
}

impl PolicyBook {
    /// Binds packs into a book, or says everything that keeps them from standing together.
    pub fn new(packs: Vec<LoadedPack>) -> Result<Self, Vec<PolicyError>> {
        let mut errors = Self::conflicts(&packs);
        errors.append(&mut gaps(&packs));
        if !errors.is_empty() {
            return Err(errors);
        }
        let mut shelves = Shelves::default();
        for (at, loaded) in packs.iter().enumerate() {
            shelves.by_id.insert(loaded.pack.pack_id.clone(), at);
            for selector in &loaded.pack.selectors {
                let rule = Rule { selector: selector.clone(), pack: at };
                match &selector.tenant {
                    Some(tenant) => shelves.by_tenant.entry(tenant.clone()).or_default().push(rule),
                    None => shelves.general.push(rule),
                }
            }
        }
        let specific_first = |rules: &mut Vec<Rule>| {
            rules.sort_by_key(|rule| std::cmp::Reverse(rule.selector.specificity()));
        };
        specific_first(&mut shelves.general);
        shelves.by_tenant.values_mut().for_each(specific_first);
        shelves.packs = packs;
        Ok(Self { shelves: Arc::new(shelves) })
    }

    /// Packs of the same name, and selectors that tie. Says nothing of what is missing, so it can be asked of a
    /// part of the packs.
    #[must_use]
    pub fn conflicts(packs: &[LoadedPack]) -> Vec<PolicyError> {
        let mut errors = Vec::new();
        let mut names: HashMap<&str, &LoadedPack> = HashMap::new();
        let mut selectors: HashMap<&Selector, &LoadedPack> = HashMap::new();
        for loaded in packs {
            if let Some(first) = names.insert(&loaded.pack.pack_id, loaded) {
                let problem = format!("pack `{}` is already defined in {}", loaded.pack.pack_id, first.file);
                let instead = "Give one of them another pack_id.";
                errors.push(PolicyError::at("/pack_id", problem, instead).in_file(&loaded.file));
            }
            for (at, selector) in loaded.pack.selectors.iter().enumerate() {
                if let Some(first) = selectors.insert(selector, loaded) {
                    errors.push(tie(first, loaded, at, selector));
                }
            }
        }
        errors
    }

    /// The rules for one tenant and environment.
    #[must_use]
    pub fn view(&self, scope: &PolicyScope) -> PolicyView<'_> {
        let shelves = &*self.shelves;
        let attached = scope.attached_pack.as_deref().map(|id| shelves.by_id.get(id).copied());
        let mut candidates = Candidates::default();
        let own = shelves.by_tenant.get(&scope.tenant_id).map(Vec::as_slice);
        for rule in own.unwrap_or_default() {
            // By name wins over a written selector of the same weight: it is the tenant's own, later choice.
            if rule.selector.specificity() == Selector::TENANT_ONLY {
                candidates.settle(attached.flatten());
            }
            candidates.offer(rule, &scope.environment);
        }
        candidates.settle(attached.flatten());
        for rule in &shelves.general {
            candidates.offer(rule, &scope.environment);
        }
        PolicyView {
            shelves,
            conditional: candidates.conditional,
            // `new` saw to it that one pack applies to everything.
            base: candidates.base.unwrap_or_default(),
            attached_pack_missing: matches!(attached, Some(None)),
        }
    }

    /// All packs, in the order they were read.
    pub fn packs(&self) -> impl Iterator<Item = &PolicyPack> {
        self.shelves.packs.iter().map(LoadedPack::pack)
    }

    /// One pack by name.
    #[must_use]
    pub fn pack(&self, pack_id: &str) -> Option<&LoadedPack> {
        let at = *self.shelves.by_id.get(pack_id)?;
        self.shelves.packs.get(at)
    }
}

/// Collects the rules that can apply in one scope, most specific first.
#[derive(Default)]
struct Candidates<'a> {
    conditional: Vec<(&'a Selector, usize)>,
    base: Option<usize>,
}

impl<'a> Candidates<'a> {
    /// Takes a rule whose tenant already matches, unless something more specific applies to everything.
    fn offer(&mut self, rule: &'a Rule, environment: &str) {
        let here = rule.selector.environment.as_deref();
        if self.base.is_some() || here.is_some_and(|named| named != environment) {
            return;
        }
        if rule.selector.is_for_contexts() {
            self.base = Some(rule.pack);
        } else {
            self.conditional.push((&rule.selector, rule.pack));
        }
    }

    fn settle(&mut self, pack: Option<usize>) {
        self.base = self.base.or(pack);
    }
}

/// The rules as one tenant and environment see them. Cheap to make and to ask.
#[derive(Debug)]
pub struct PolicyView<'a> {
    shelves: &'a Shelves,
    conditional: Vec<(&'a Selector, usize)>,
    base: usize,
    attached_pack_missing: bool,
}

impl<'a> PolicyView<'a> {
    /// The rules for whole contexts: times, answers, slots, redaction, detail, retention.
    #[must_use]
    pub fn pack(&self) -> &'a PolicyPack {
        &self.loaded(self.base).pack
    }

    /// Name, version and hash of [`Self::pack`].
    #[must_use]
    pub fn reference(&self) -> &'a PolicyRef {
        &self.loaded(self.base).reference
    }

    /// Whether the tenant is attached to a pack that is not loaded. Then every command is treated as class S3.
    #[must_use]
    pub fn attached_pack_missing(&self) -> bool {
        self.attached_pack_missing
    }

    /// Whether this value may be written into this slot (section `slots` of [`Self::pack`]).
    pub fn check_slot(&self, slot: &str, value: &Value) -> Result<(), SlotRefusal> {
        self.loaded(self.base).check_slot(slot, value)
    }

    /// What is demanded of a command. A name that [`Self::pack`] does not list gets the strictest class.
    #[must_use]
    pub fn command(&self, name: &str, raised_to: Option<SafetyClass>) -> CommandRules {
        let class_pack = self.loaded(self.base);
        let listed = class_pack.command(name);
        let class = match listed {
            Some(entry) if !self.attached_pack_missing => entry.class,
            _ => SafetyClass::STRICTEST,
        }
        .raised_to(raised_to);
        let group = listed.and_then(|entry| entry.group.as_deref());
        let demanding = self
            .conditional
            .iter()
            .find(|(selector, _)| applies(selector, name, group, class))
            .map_or(class_pack, |(_, pack)| self.loaded(*pack));
        CommandRules::compose(name, class, class_pack, demanding)
    }

    /// The words that name a command, in every pack that may have a say in it.
    #[must_use]
    pub fn says(&self, name: &str) -> Cow<'a, Says> {
        let conditional = self.conditional.iter().map(|(_, pack)| *pack);
        let packs: BTreeSet<usize> = conditional.chain([self.base]).collect();
        let mut says = packs.into_iter().filter_map(|at| self.loaded(at).says.get(name));
        match says.next() {
            None => Cow::default(),
            Some(first) => says.fold(Cow::Borrowed(first), |all, more| Cow::Owned(all.into_owned().and(more))),
        }
    }

    /// Indices come from the shelves themselves and the shelves never change.
    fn loaded(&self, at: usize) -> &'a LoadedPack {
        &self.shelves.packs[at]
    }
}

/// Whether the parts of a selector that look at the command match. Tenant and environment were matched before.
fn applies(selector: &Selector, name: &str, group: Option<&str>, class: SafetyClass) -> bool {
    selector.command.as_deref().is_none_or(|named| named == name)
        && (selector.group.is_none() || selector.group.as_deref() == group)
        && selector.safety_class.is_none_or(|named| named == class)
}

fn tie(first: &LoadedPack, second: &LoadedPack, at: usize, selector: &Selector) -> PolicyError {
    let written = serde_json::to_value(selector).unwrap_or_default();
    let (one, other) = (&first.pack.pack_id, &second.pack.pack_id);
    let problem = format!("packs `{one}` and `{other}` both claim {written}, so neither would win");
    let instead = "Remove it from one of them, or make one more specific.";
    PolicyError::at(format!("/selectors/{at}"), problem, instead).in_file(&second.file)
}

/// What the packs together leave open.
fn gaps(packs: &[LoadedPack]) -> Vec<PolicyError> {
    let mut errors = Vec::new();
    let everything = Selector::default();
    if !packs.iter().any(|loaded| loaded.pack.selectors.contains(&everything)) {
        errors.push(PolicyError::at(
            "",
            "no pack applies to everything, so some conversations would have no rules",
            "Give exactly one pack the selector `{}`.",
        ));
    }
    let commands = packs.iter().flat_map(|loaded| &loaded.pack.commands);
    let groups: HashSet<&str> = commands.filter_map(|entry| entry.group.as_deref()).collect();
    for loaded in packs {
        for (at, selector) in loaded.pack.selectors.iter().enumerate() {
            if let Some(group) = &selector.group
                && !groups.contains(group.as_str())
            {
                errors.push(
                    PolicyError::at(
                        format!("/selectors/{at}/group"),
                        format!("no pack puts a command into the group `{group}`"),
                        "Name a group that some command has, or remove the selector.",
                    )
                    .in_file(&loaded.file),
                );
            }
        }
    }
    errors
}
