//! The fold: the state of a space from its statements, in the order of their own time.

use super::authority::AuthorityOrder;
use super::fact::Fact;
use super::statement::{Ruling, Statement};
use crate::state_layer::reading::Reading;

/// What folding goes by.
#[derive(Debug, Clone)]
pub struct LedgerRules {
    /// Who outranks whom.
    pub order: AuthorityOrder,
    /// Keys for which the later statement wins however the sources rank.
    pub time_sensitive_keys: Vec<String>,
}

/// The facts of a space, all of them.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct Ledger {
    /// Facts, valid or not, by uid.
    pub facts: std::collections::BTreeMap<crate::domain::id::FactUid, Fact>,
}

impl Ledger {
    /// The state after all these statements, whatever order they are given in.
    #[must_use]
    pub fn fold(_statements: Vec<Statement>, _rules: &LedgerRules) -> Self {
        Self::default()
    }

    /// Adds one statement that is no earlier than any before it.
    pub fn step(&mut self, _statement: Statement, _rules: &LedgerRules) {}
}

/// Keeps the imports of the outline honest.
#[doc(hidden)]
pub type Inputs = (Reading, Ruling);
