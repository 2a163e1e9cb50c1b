//! A stand-in for the ledger until it is there: pointers and same keys.

use cscp::state_layer::Statement;
use cscp::state_layer::authority::AuthorityOrder;
use cscp::state_layer::fact::{Cause, Fact, Former, Standing};

pub fn fold(statements: Vec<Statement>, _order: &AuthorityOrder) -> Vec<Fact> {
    let mut written: Vec<Fact> = statements
        .into_iter()
        .filter_map(|statement| match statement {
            Statement::Fact(fact) => Some(fact),
            _ => None,
        })
        .collect();
    written.sort_by_key(|fact| fact.at);
    let mut facts: Vec<Fact> = Vec::new();
    for mut fact in written {
        let old = match &fact.supersedes {
            Some(pointer) => facts
                .iter()
                .rposition(|old| old.is_valid() && old.label.as_ref().is_some_and(|label| label.as_str() == pointer.0))
                .or_else(|| facts.iter().rposition(|old| old.is_valid() && old.key == pointer.0)),
            None => facts.iter().rposition(|old| old.is_valid() && old.key == fact.key),
        };
        if let Some(old) = old {
            let old = &mut facts[old];
            old.standing = Standing::Superseded {
                by: Some(fact.uid.clone()),
                cause: Cause::Pointer,
                reason: String::new(),
                since: fact.at,
            };
            fact.superseded.push(old.uid.clone());
            fact.former.push(Former { uid: old.uid.clone(), text: old.text() });
            fact.former.extend(old.former.iter().cloned());
        }
        facts.push(fact);
    }
    facts
}
