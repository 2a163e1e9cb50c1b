//! Checks before facts are written: each rule has its own refusal.

use std::collections::{HashMap, HashSet};

use super::SpaceRules;
use crate::domain::canonical::canonical;
use crate::domain::id::{FactUid, PrincipalId};
use crate::domain::operation::CredentialKind;
use crate::domain::principal::Maturity;
use crate::state_layer::fact::{Abstraction, Fact, MAX_DEPENDENCIES, MAX_VALUE_BYTES, Standing};
use crate::state_layer::ledger::weight;
use crate::state_layer::operation::{NewFact, SpaceAction, Writer};
use crate::state_layer::refusal::SpaceRefusal;
use crate::state_layer::space::{Partition, Space, SpaceRecord};

/// The longest key, name, audience and scope id, in bytes.
pub(super) const MAX_NAME_BYTES: usize = 256;
/// The longest reason, in bytes.
pub(super) const MAX_REASON_BYTES: usize = 1024;
/// The most audiences of one fact.
pub(super) const MAX_AUDIENCES: usize = 32;

/// Whether a fact answers to a name.
pub(super) fn answers_to(fact: &Fact, name: &str) -> bool {
    fact.uid.as_str() == name || fact.key == name || fact.label.as_ref().is_some_and(|label| label.as_str() == name)
}

/// Whether the writer may do this at all. People view and delete what is kept of them, and do not create it (paper 3.1); a
/// program that speaks for one of them passes that on, in their own memory.
pub(super) fn permitted(
    action: &SpaceAction,
    writer: &Writer,
    rules: &SpaceRules<'_>,
    space: Option<&SpaceRecord>,
) -> Result<(), SpaceRefusal> {
    // Nothing is decided in what is being erased: whoever asks waits until it is gone.
    if space.is_some_and(SpaceRecord::is_going) {
        return Err(SpaceRefusal::SpaceNotFound);
    }
    let spoken_for = writer.speaks_for.as_ref().map(PrincipalId::as_str);
    let forgets = matches!(action, SpaceAction::Delete { .. } | SpaceAction::Erase);
    if forgets && spoken_for.is_some_and(|id| space.is_some_and(|space| space.is_memory_of(id))) {
        return Ok(());
    }
    let person =
        rules.writer.is_person || matches!(writer.credential, CredentialKind::Operator | CredentialKind::Auditor);
    match action {
        SpaceAction::Write(_) | SpaceAction::Observe(_) if person => Err(SpaceRefusal::PeopleDoNotCreate),
        // An item that says so, or is named, becomes a fact when its task is closed.
        SpaceAction::SetItem(item) if person && item.promote_as.is_some() => Err(SpaceRefusal::PeopleDoNotCreate),
        SpaceAction::CloseTask { promote, .. } if person && !promote.is_empty() => Err(SpaceRefusal::PeopleDoNotCreate),
        SpaceAction::Describe { .. }
        | SpaceAction::SetIdentity(_)
        | SpaceAction::Restore { .. }
        | SpaceAction::Delete { .. }
        | SpaceAction::Erase
            if writer.credential == CredentialKind::Agent =>
        {
            Err(SpaceRefusal::NotForAgents)
        }
        _ => Ok(()),
    }
}

/// Whether a name can be printed and is short enough.
pub(super) fn name_problem(name: &str) -> Option<&'static str> {
    if name.trim().is_empty() {
        Some("it is empty")
    } else if name.chars().any(char::is_control) {
        Some("it has characters that cannot be printed")
    } else {
        None
    }
}

/// Checks what can be told from a new fact alone.
pub(super) fn shape(index: usize, fact: &NewFact, partition: &Partition) -> Result<(), SpaceRefusal> {
    let invalid = |member: &str, problem: &str| SpaceRefusal::FactInvalid {
        index,
        member: member.to_owned(),
        problem: problem.to_owned(),
    };
    let too_large = |member: &str, limit: usize| SpaceRefusal::FactTooLarge { index, member: member.to_owned(), limit };
    if let Some(problem) = name_problem(&fact.key) {
        return Err(invalid("key", problem));
    }
    if fact.value.is_null() {
        return Err(invalid("value", "null is what is left of a deleted fact"));
    }
    let names = [
        ("key", Some(fact.key.as_str())),
        ("scope_id", fact.scope_id.as_deref()),
        ("supersedes", fact.supersedes.as_ref().map(|pointer| pointer.0.as_str())),
        ("source.type", Some(fact.source.kind.as_str())),
        ("source.identity", fact.source.identity.as_deref()),
        ("source.authority", fact.source.authority.as_deref()),
    ];
    let bases = fact.depends_on.iter().map(|base| ("depends_on", Some(base.pointer.0.as_str())));
    let audiences = fact.restricted_to.iter().map(|audience| ("restricted_to", Some(audience.as_str())));
    for (member, name) in names.into_iter().chain(bases).chain(audiences) {
        if name.is_some_and(|name| name.len() > MAX_NAME_BYTES) {
            return Err(too_large(member, MAX_NAME_BYTES));
        }
    }
    if canonical(&fact.value).len() > MAX_VALUE_BYTES {
        return Err(too_large("value", MAX_VALUE_BYTES));
    }
    if fact.depends_on.len() > MAX_DEPENDENCIES {
        return Err(too_large("depends_on", MAX_DEPENDENCIES));
    }
    if fact.restricted_to.len() > MAX_AUDIENCES {
        return Err(too_large("restricted_to", MAX_AUDIENCES));
    }
    if fact.reason.as_ref().is_some_and(|reason| reason.len() > MAX_REASON_BYTES) {
        return Err(too_large("reason", MAX_REASON_BYTES));
    }
    match (partition, fact.abstraction) {
        (Partition::Capability { .. }, None) => {
            Err(invalid("abstraction", "capability memory holds events, heuristics and strategies; say which"))
        }
        (Partition::User { .. } | Partition::Organization { .. }, Some(_)) => {
            Err(invalid("abstraction", "only capability memory has abstractions"))
        }
        _ => Ok(()),
    }
}

/// Checks the writer's maturity against a fact's abstraction (paper 3.2).
pub(super) fn maturity(index: usize, fact: &NewFact, held: Maturity) -> Result<(), SpaceRefusal> {
    let Some(abstraction) = fact.abstraction else { return Ok(()) };
    let (needed, name) = match abstraction {
        Abstraction::Event => (Maturity::Junior, "event"),
        Abstraction::Heuristic => (Maturity::Senior, "heuristic"),
        Abstraction::Strategy => (Maturity::Master, "strategy"),
    };
    if held >= needed {
        return Ok(());
    }
    let word = |maturity: Maturity| match maturity {
        Maturity::Junior => "junior",
        Maturity::Senior => "senior",
        Maturity::Master => "master",
    };
    Err(SpaceRefusal::MaturityTooLow {
        index,
        abstraction: name.to_owned(),
        maturity: word(held).to_owned(),
        needed: word(needed).to_owned(),
    })
}

/// Checks the authority of a fact, and of what it replaces by name without claiming any, against its writer's. Keys
/// that are bound to nobody belong to trusted systems, agents aside.
pub(super) fn authority(
    index: usize,
    fact: &Fact,
    named: &[&Fact],
    writer: &Writer,
    rules: &SpaceRules<'_>,
) -> Result<(), SpaceRefusal> {
    if writer.principal_id.is_none() && writer.credential != CredentialKind::Agent {
        return Ok(());
    }
    let order = &rules.ledger.order;
    let ranked = rules.writer.roles.iter().filter_map(|role| Some((order.rank(role)?, role.as_str())));
    let (held, name) = ranked.max_by_key(|(rank, _)| *rank).unwrap_or((order.unnamed(), "no authority"));
    let own = weight(fact, order);
    let declared = own.declared;
    let replaced = named.iter().filter(|_| !declared).map(|fact| weight(fact, order));
    let beyond = std::iter::once(own).chain(replaced).find(|weight| weight.rank > held);
    match beyond {
        Some(weight) => Err(SpaceRefusal::AuthorityExceeded {
            index,
            claimed: weight.title.unwrap_or_default(),
            held: name.to_owned(),
        }),
        None => Ok(()),
    }
}

/// Facts by what they are called: uid, label and key.
pub(super) struct Called<'a>(HashMap<&'a str, Vec<&'a Fact>>);

impl<'a> Called<'a> {
    pub(super) fn of(facts: impl Iterator<Item = &'a Fact>) -> Self {
        let mut called: HashMap<&str, Vec<&Fact>> = HashMap::new();
        for fact in facts {
            for name in names(fact) {
                called.entry(name).or_default().push(fact);
            }
        }
        Self(called)
    }

    /// Those that answer to a name. Who has it twice comes twice.
    pub(super) fn answering(&self, name: &str) -> impl Iterator<Item = &'a Fact> {
        self.0.get(name).into_iter().flatten().copied()
    }
}

/// What a fact is called.
fn names(fact: &Fact) -> impl Iterator<Item = &str> {
    let label = fact.label.as_ref().map(crate::domain::id::FactLabel::as_str);
    [Some(fact.uid.as_str()), label, Some(fact.key.as_str())].into_iter().flatten()
}

/// Checks what facts name against what is there: other facts of the same write, and those of the space.
pub(super) struct Pointers<'a> {
    space: &'a Space,
    batch: &'a [(Fact, bool)],
    /// Facts of the write and of the space, looked at only where a target is demanded.
    called: Option<Called<'a>>,
    /// The first fact of the write that replaces a name.
    replacing: HashMap<&'a str, usize>,
}

impl<'a> Pointers<'a> {
    pub(super) fn of(space: &'a Space, batch: &'a [(Fact, bool)]) -> Self {
        let demanded = batch.iter().any(|(_, require_targets)| *require_targets);
        let all = || batch.iter().map(|(fact, _)| fact).chain(space.facts.values());
        let mut replacing = HashMap::new();
        for (index, (fact, _)) in batch.iter().enumerate() {
            if let Some(pointer) = &fact.supersedes {
                replacing.entry(pointer.0.as_str()).or_insert(index);
            }
        }
        Self { space, batch, called: demanded.then(|| Called::of(all())), replacing }
    }

    /// Whether another fact answers to a name.
    fn is_there(&self, fact: &Fact, name: &str) -> bool {
        self.called.as_ref().is_some_and(|called| called.answering(name).any(|other| other.uid != fact.uid))
    }

    /// Checks one fact of the write.
    pub(super) fn check(&self, index: usize) -> Result<(), SpaceRefusal> {
        let Some((fact, require_targets)) = self.batch.get(index) else { return Ok(()) };
        let to_nothing = |name: &str| SpaceRefusal::PointerToNothing { index, name: name.to_owned() };
        if let Some(pointer) = &fact.supersedes {
            if let Some(target) = FactUid::parse(&pointer.0).and_then(|uid| self.space.facts.get(&uid)) {
                match &target.standing {
                    Standing::Superseded { by: Some(by), .. } if !target.is_deleted() => {
                        return Err(SpaceRefusal::AlreadySuperseded { index, by: by.clone() });
                    }
                    Standing::Superseded { .. } => return Err(to_nothing(&pointer.0)),
                    Standing::Valid => {}
                }
                let earlier = self.replacing.get(pointer.0.as_str()).filter(|earlier| **earlier < index);
                if let Some((earlier, _)) = earlier.and_then(|earlier| self.batch.get(*earlier)) {
                    return Err(SpaceRefusal::AlreadySuperseded { index, by: earlier.uid.clone() });
                }
            }
            if *require_targets && !self.is_there(fact, &pointer.0) {
                return Err(to_nothing(&pointer.0));
            }
        }
        for base in fact.depends_on.iter().filter(|base| *require_targets && base.uid.is_none()) {
            if base.space.is_some() || !self.is_there(fact, &base.pointer.0) {
                return Err(to_nothing(&base.pointer.0));
            }
        }
        Ok(())
    }
}

/// What a fact names, one way or the other.
type Names = fn(&Fact) -> Vec<&str>;

fn replaced(fact: &Fact) -> Vec<&str> {
    fact.supersedes.iter().map(|pointer| pointer.0.as_str()).collect()
}

fn based_on(fact: &Fact) -> Vec<&str> {
    let own = fact.depends_on.iter().filter(|base| base.space.is_none());
    own.map(|base| base.pointer.0.as_str()).collect()
}

/// Facts that name others, by what they are called themselves, without those from which no names lead on for ever: what
/// is left goes in circles, or leads to one.
struct Namers<'a> {
    names: Names,
    by_name: HashMap<&'a str, Vec<&'a Fact>>,
}

impl<'a> Namers<'a> {
    /// Of this write and of the facts that stand.
    fn of(pointed: Names, space: &'a Space, batch: &'a [(Fact, bool)]) -> Self {
        let standing = space.facts.values().filter(|known| known.is_valid());
        let all = batch.iter().map(|(fact, _)| fact).chain(standing);
        let facts: Vec<(&Fact, Vec<&str>)> =
            all.map(|fact| (fact, pointed(fact))).filter(|(_, pointed)| !pointed.is_empty()).collect();
        let mut answering: HashMap<&str, usize> = HashMap::new();
        let mut pointing: HashMap<&str, Vec<usize>> = HashMap::new();
        for (place, (fact, pointed)) in facts.iter().enumerate() {
            for name in names(fact) {
                *answering.entry(name).or_default() += 1;
            }
            for name in pointed {
                pointing.entry(name).or_default().push(place);
            }
        }
        let mut leading: Vec<usize> = facts.iter().map(|(_, pointed)| pointed.len()).collect();
        let nobody = |name: &&str| answering.get(*name).is_none_or(|answering| *answering == 0);
        let mut ends: Vec<&str> = pointing.keys().copied().filter(|name| nobody(name)).collect();
        while let Some(name) = ends.pop() {
            for place in pointing.get(name).into_iter().flatten() {
                let (Some(leading), Some((fact, _))) = (leading.get_mut(*place), facts.get(*place)) else { continue };
                *leading -= 1;
                if *leading > 0 {
                    continue;
                }
                for name in names(fact) {
                    let Some(answering) = answering.get_mut(name) else { continue };
                    *answering -= 1;
                    if *answering == 0 {
                        ends.push(name);
                    }
                }
            }
        }
        let left = facts.iter().zip(&leading).filter(|(_, leading)| **leading > 0);
        let mut by_name: HashMap<&str, Vec<&Fact>> = HashMap::new();
        for ((fact, _), _) in left {
            for name in names(fact) {
                by_name.entry(name).or_default().push(fact);
            }
        }
        Self { names: pointed, by_name }
    }

    /// Whether what a name names leads back, name by name, to a fact.
    fn lead_back(&self, fact: &Fact, name: &'a str) -> bool {
        let mut seen: HashSet<&str> = HashSet::from([name]);
        let mut open: Vec<&str> = vec![name];
        while let Some(name) = open.pop() {
            for named in self.by_name.get(name).into_iter().flatten() {
                for next in (self.names)(named) {
                    if !answers_to(named, next) && answers_to(fact, next) {
                        return true;
                    }
                    if seen.insert(next) {
                        open.push(next);
                    }
                }
            }
        }
        false
    }
}

/// Looks for circles among names, whatever the times say: through the facts of this write and those that stand.
pub(super) fn circles(space: &Space, batch: &[(Fact, bool)]) -> Result<(), SpaceRefusal> {
    if batch.iter().any(|(fact, _)| fact.supersedes.is_some()) {
        let namers = Namers::of(replaced, space, batch);
        for (index, (fact, _)) in batch.iter().enumerate() {
            // A newer version may well be named like the one it replaces.
            if replaced(fact).iter().any(|name| !answers_to(fact, name) && namers.lead_back(fact, name)) {
                return Err(SpaceRefusal::SupersessionCycle { index });
            }
        }
    }
    if batch.iter().any(|(fact, _)| !fact.depends_on.is_empty()) {
        let namers = Namers::of(based_on, space, batch);
        for (index, (fact, _)) in batch.iter().enumerate() {
            if based_on(fact).iter().any(|name| answers_to(fact, name) || namers.lead_back(fact, name)) {
                return Err(SpaceRefusal::DependencyCycle { index });
            }
        }
    }
    Ok(())
}
