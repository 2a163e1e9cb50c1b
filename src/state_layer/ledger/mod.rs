//! The fold: the state of a space from its statements, in the order of their own time.
//!
//! A ledger is changed by [`Ledger::step`] alone, and [`Ledger::fold`] is nothing but steps in order, so what is added
//! one by one and what is folded at once agree. A step looks only at facts that stand and at those its statement names:
//! a ledger that holds no others takes it just as well.

mod deriving;
mod falling;
mod index;
mod inferring;
mod instructions;
mod keys;
mod observing;
mod ordering;
mod resolving;
mod ruling;
mod standing;
mod weighing;
mod work;
mod writing;

use std::collections::BTreeMap;

use super::authority::AuthorityOrder;
use super::fact::Fact;
use super::statement::Statement;
use crate::domain::id::FactUid;
use index::Index;
pub(super) use weighing::{Weight, weight};
use work::Work;
pub use work::{GivenUp, MAX_DISAGREEING, MAX_WORK};

/// What folding goes by.
#[derive(Debug, Clone)]
pub struct LedgerRules {
    pub order: AuthorityOrder,
    /// Keys for which the later statement wins however the sources rank.
    pub time_sensitive_keys: Vec<String>,
}

/// The facts of a space, all of them or those that stand.
#[derive(Debug, Clone, Default)]
pub struct Ledger {
    /// Facts, valid or not, by uid.
    pub facts: BTreeMap<FactUid, Fact>,
    /// Where to look for facts of a key, a label, a quoted value.
    index: Index,
    /// What facts were before they were first touched; none for those that were not there.
    before: BTreeMap<FactUid, Option<Fact>>,
    /// Where chains lead, remembered so that long ones are walked once.
    shortcuts: BTreeMap<FactUid, FactUid>,
    /// What the steps took.
    work: Work,
}

impl PartialEq for Ledger {
    fn eq(&self, other: &Self) -> bool {
        self.facts == other.facts
    }
}

impl Ledger {
    /// The state after all these statements, whatever order they are given in.
    #[must_use]
    pub fn fold(statements: Vec<Statement>, rules: &LedgerRules) -> Self {
        let mut ledger = Self::default();
        for statement in ordering::sorted(statements) {
            ledger.step(statement, rules);
        }
        ledger
    }

    /// A ledger of facts as they stand, to go on from.
    #[must_use]
    pub fn of(facts: BTreeMap<FactUid, Fact>) -> Self {
        Self { facts, ..Self::default() }
    }

    /// Adds one statement that is no earlier than any before it.
    pub fn step(&mut self, statement: Statement, rules: &LedgerRules) {
        match statement {
            Statement::Fact(fact) => self.write(fact, rules),
            Statement::Reading(reading) => self.observe(&reading, rules),
            Statement::Ruling(ruling) => {
                self.index.by_names(&self.facts);
                self.rule(&ruling);
            }
        }
    }

    /// Adds several statements, none earlier than any in the ledger, in their own order.
    ///
    /// Gives up between two of them when it was too much work, and when facts of one key disagree beyond what may be: the
    /// ledger is then good for nothing but `into_changes`.
    pub fn extend(&mut self, statements: Vec<Statement>, rules: &LedgerRules) -> Result<(), GivenUp> {
        for statement in ordering::sorted(statements) {
            self.work.may_go_on()?;
            self.step(statement, rules);
        }
        self.work.may_stay()
    }

    /// What the steps since this ledger was made took, in units of about a microsecond: the same on every machine.
    #[must_use]
    pub fn work_done(&self) -> usize {
        self.work.done()
    }

    /// Whether what was folded may stay.
    pub(super) fn may_stay(&self) -> Result<(), GivenUp> {
        self.work.may_stay()
    }

    /// What the steps since this ledger was made have touched, with what was there before.
    pub(super) fn into_changes(self) -> (BTreeMap<FactUid, Fact>, BTreeMap<FactUid, Option<Fact>>) {
        (self.facts, self.before)
    }
}
