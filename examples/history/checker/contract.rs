//! What a server promises. The rules that belong to newer promises are only held against servers that make them.

use std::collections::BTreeSet;

/// A promise that not every version of the server makes.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) enum Promise {
    /// Who may execute a command is said in every answer, has an end, and can be taken over.
    Execution,
    /// A yes can be taken back by whatever says so, until it is spent.
    TakenBack,
    /// Nobody is asked about a command that is bound.
    CommandBound,
    /// A command has one live question in the whole tenant.
    AskedOnce,
    /// Nobody is asked for a key under which another command is bound.
    KeyBound,
    /// An attempt belongs to one command.
    AttemptOfOneCommand,
    /// Every member of the target is part of what was agreed.
    WholeTarget,
}

/// Every promise, the words by which the server's own description of its interface shows that it is made, and a name.
const SIGNS: &[(Promise, &str, &str)] = &[
    (Promise::Execution, "/v1/commands/{command_id}/takeovers", "executions have an owner and can be taken over"),
    (Promise::TakenBack, "taken_back", "a yes can be taken back until it is spent"),
    (Promise::CommandBound, "command_bound", "nobody is asked about a bound command"),
    (Promise::AskedOnce, "command_asked_elsewhere", "a command is asked about in one context at a time"),
    (Promise::KeyBound, "idempotency_key_bound", "nobody is asked for a key that is bound"),
    (Promise::AttemptOfOneCommand, "attempt_id_reused", "an attempt belongs to one command"),
];
const WHOLE_TARGET: &str = "every member of the target is part of what was agreed";

/// What one server promises.
#[derive(Debug, Clone, Default)]
pub(crate) struct Promises(BTreeSet<Promise>);

impl Promises {
    /// Reads them from the server's description of its interface.
    pub(crate) fn read(description: &str) -> Self {
        let made = SIGNS.iter().filter(|(_, sign, _)| description.contains(sign));
        Self(made.map(|(promise, ..)| *promise).collect())
    }

    /// Adds one that was found out by trying.
    pub(crate) fn add(&mut self, promise: Promise) {
        self.0.insert(promise);
    }

    /// Whether a promise is made.
    pub(crate) fn make(&self, promise: Promise) -> bool {
        self.0.contains(&promise)
    }

    /// In words, those that are not made.
    pub(crate) fn missing(&self) -> Vec<&'static str> {
        let named = SIGNS.iter().map(|(promise, _, name)| (promise, *name));
        let all = named.chain([(&Promise::WholeTarget, WHOLE_TARGET)]);
        all.filter(|(promise, _)| !self.make(**promise)).map(|(_, name)| name).collect()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_description_shows_which_promises_are_made() {
        let promises = Promises::read("codes: [already_bound, command_bound]");
        assert!(promises.make(Promise::CommandBound) && !promises.make(Promise::Execution));
        assert_eq!(promises.missing().len(), SIGNS.len());
        assert_eq!(Promises::default().missing().len(), SIGNS.len() + 1);
    }
}
