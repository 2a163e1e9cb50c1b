//! What is printed.

use crate::checker::{Outcome, RULES};

/// Of each rule so many violations are printed in full.
const SHOWN: usize = 5;

/// Every rule with what it says.
pub(crate) fn rules() -> String {
    RULES.iter().fold(String::new(), |text, rule| text + rule.name + ": " + rule.sentence + "\n")
}

/// What was played and what was found.
pub(crate) fn report(outcome: &Outcome) -> String {
    let mut text = String::new();
    let Outcome { requests, unanswered, rounds, executed, .. } = outcome;
    let head = format!(
        "{requests} requests in {rounds} rounds, {unanswered} of them unanswered or answered 503 or 429\n\
         {executed} executions in the pretended outside world\n\n"
    );
    text += &head;
    for (line, count) in &outcome.counts {
        text += &format!("{count:>9}  {line}\n");
    }
    text.push('\n');
    for promise in &outcome.not_promised {
        text += &format!("not promised by these servers, so not checked: {promise}\n");
    }
    for rule in RULES {
        let broken: Vec<_> = outcome.violations.iter().filter(|violation| violation.rule == rule.name).collect();
        if broken.is_empty() {
            continue;
        }
        text += &format!("\nBROKEN {} {} times: {}\n", rule.name, broken.len(), rule.sentence);
        for violation in broken.iter().take(SHOWN) {
            text += &format!("  {}\n", violation.about);
            for record in &violation.records {
                text += &format!("    {record}\n");
            }
        }
    }
    if outcome.violations.is_empty() {
        text.push_str("Every rule holds.\n");
    }
    text
}
