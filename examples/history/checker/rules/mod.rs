//! The promises as rules. Each looks at the whole history and names what contradicts it.

mod approving;
mod binding;
mod confirming;
mod executing;
mod keeping;
mod naming;
#[cfg(test)]
mod tests;

use std::collections::BTreeSet;

use super::contract::Promise;
use super::facts::Facts;
use super::record::Record;

/// One promise, and what shows that it was broken.
pub(crate) struct Rule {
    /// Its name: stable, for reports and tests.
    pub(crate) name: &'static str,
    /// What it says.
    pub(crate) sentence: &'static str,
    /// The promise that a server must make for this rule to be held against it.
    promise: Option<Promise>,
    /// Whether it holds for a part of a history, too: it never needs a record that may be left out.
    pub(crate) of_parts: bool,
    check: fn(&Facts<'_>) -> Vec<Finding>,
}

/// Something that a rule does not allow.
#[derive(Debug)]
pub(crate) struct Finding {
    about: String,
    records: Vec<String>,
}

impl Finding {
    fn new<'r>(about: &str, records: impl IntoIterator<Item = &'r Record>) -> Self {
        let mut records: Vec<&Record> = records.into_iter().collect();
        records.sort_by_key(|record| record.number);
        records.dedup_by_key(|record| record.number);
        Self { about: about.to_owned(), records: records.into_iter().map(Record::describe).collect() }
    }
}

/// A rule that was broken, by what and where.
#[derive(Debug, Clone)]
pub(crate) struct Violation {
    /// The rule's name.
    pub(crate) rule: &'static str,
    /// The command, question or message that it is about.
    pub(crate) about: String,
    /// The requests that show it.
    pub(crate) records: Vec<String>,
}

const fn always(name: &'static str, sentence: &'static str, check: fn(&Facts<'_>) -> Vec<Finding>) -> Rule {
    Rule { name, sentence, promise: None, of_parts: false, check }
}

const fn promised(
    promise: Promise,
    name: &'static str,
    sentence: &'static str,
    check: fn(&Facts<'_>) -> Vec<Finding>,
) -> Rule {
    Rule { name, sentence, promise: Some(promise), of_parts: false, check }
}

const fn of_parts(name: &'static str, sentence: &'static str, check: fn(&Facts<'_>) -> Vec<Finding>) -> Rule {
    Rule { name, sentence, promise: None, of_parts: true, check }
}

/// All rules.
pub(crate) const RULES: &[Rule] = &[
    always(
        "bound_once",
        "A command is bound once: of two attempts that are told to execute it, one took over from the other.",
        binding::bound_once,
    ),
    always("spent_once", "A confirmation or an approval is spent by one command.", binding::spent_once),
    always("key_bound_once", "An idempotency key is bound to one command.", binding::key_bound_once),
    promised(
        Promise::AttemptOfOneCommand,
        "attempt_of_one_command",
        "An attempt id belongs to one command.",
        binding::attempt_of_one_command,
    ),
    always(
        "bound_as_agreed",
        "What was bound is what was agreed to: name, key and target; and what was agreed to is not called something else.",
        binding::bound_as_agreed,
    ),
    always(
        "bound_after_a_yes",
        "A confirmation is spent only after somebody said yes to it.",
        binding::bound_after_a_yes,
    ),
    always("bound_in_time", "Nothing is bound at or after `bind_by`.", binding::bound_in_time),
    always(
        "confirmed_once",
        "A question is answered with yes once, and a choice is made once.",
        confirming::confirmed_once,
    ),
    always("confirmed_in_time", "Nothing is confirmed at or after its deadline.", confirming::confirmed_in_time),
    always(
        "taken_back",
        "A yes that was taken back is not spent, and a yes that was spent is not taken back.",
        confirming::taken_back,
    ),
    promised(
        Promise::TakenBack,
        "every_no_counts",
        "After a yes was deleted or edited nothing is bound with it.",
        confirming::every_no_counts,
    ),
    always("one_end", "A question comes to one end and stays there.", confirming::one_end),
    promised(
        Promise::CommandBound,
        "asked_before_bound",
        "Nobody is asked about a command that is bound.",
        confirming::asked_before_bound,
    ),
    promised(
        Promise::KeyBound,
        "key_asked_before_bound",
        "Nobody is asked for an idempotency key that is bound to another command.",
        confirming::key_asked_before_bound,
    ),
    promised(
        Promise::AskedOnce,
        "asked_in_one_place",
        "A command has a live question in one context at a time.",
        confirming::asked_in_one_place,
    ),
    always(
        "names_its_item",
        "An answer is about the question that it names, and about no other.",
        naming::names_its_item,
    ),
    always(
        "bare_answers_the_last",
        "A bare yes answers the question that was asked last in its conversation, after it was sent.",
        naming::bare_answers_the_last,
    ),
    always("prompt_of_one_item", "A message that shows a question shows one question.", naming::prompt_of_one_item),
    always(
        "approver_counts_once",
        "An approval counts each person once, and is granted by as many people as it needs.",
        approving::approver_counts_once,
    ),
    always("approver_is_another", "Nobody approves what they asked for themselves.", approving::approver_is_another),
    always(
        "executed_once",
        "A command takes effect once, or once more after its dead owner was replaced.",
        executing::executed_once,
    ),
    promised(
        Promise::Execution,
        "not_executed_after_result",
        "Nobody is told to execute a command that has a result, or whose time to report is over.",
        executing::not_executed_after_result,
    ),
    promised(
        Promise::Execution,
        "not_taken_over_early",
        "A command is taken over only after its owner's time to report, and not after a result.",
        executing::not_taken_over_early,
    ),
    promised(Promise::Execution, "replaced_once", "An owner is replaced once.", executing::replaced_once),
    promised(
        Promise::Execution,
        "listed_until_reported",
        "The list of executions names the bound commands that have no result, and no others.",
        executing::listed_until_reported,
    ),
    of_parts("acknowledged_is_kept", "What was acknowledged is there afterwards.", keeping::acknowledged_is_kept),
    of_parts(
        "same_again",
        "The same request again has the same answer, and only a repetition is called one.",
        keeping::same_again,
    ),
    always("no_lost_update", "Of two changes to one revision of a context one is made.", keeping::no_lost_update),
    always("no_server_error", "No request makes a server fail: no 5xx but 503.", keeping::no_server_error),
    always("readable", "Every answer is JSON of the documented shape.", keeping::readable),
];

/// What in a history contradicts the rules.
pub(crate) fn check(facts: &Facts<'_>, applies: impl Fn(&Rule) -> bool) -> Vec<Violation> {
    let rules = RULES.iter().filter(|rule| rule.promise.is_none_or(|promise| facts.promises.make(promise)));
    let mut violations = Vec::new();
    for rule in rules.filter(|rule| applies(rule)) {
        let mut named = BTreeSet::new();
        for Finding { about, records } in (rule.check)(facts) {
            // Once for each thing: more of the same says nothing new.
            if named.insert(about.clone()) {
                violations.push(Violation { rule: rule.name, about, records });
            }
        }
    }
    violations
}
