//! What is printed.

use std::fmt;

use crate::checker::{Outcome, RULES};

/// Of each rule so many violations are printed in full.
const SHOWN: usize = 5;

/// Every rule with what it says.
pub(crate) fn rules() -> String {
    RULES.iter().fold(String::new(), |text, rule| text + rule.name + ": " + rule.sentence + "\n")
}

/// What was played and what was found.
pub(crate) struct Report<'a>(pub(crate) &'a Outcome);

impl fmt::Display for Report<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Outcome { requests, unanswered, rounds, executed, counts, violations, not_promised } = self.0;
        writeln!(f, "{requests} requests in {rounds} rounds, {unanswered} of them unanswered or answered 503 or 429")?;
        writeln!(f, "{executed} executions in the pretended outside world\n")?;
        for (line, count) in counts {
            writeln!(f, "{count:>9}  {line}")?;
        }
        writeln!(f)?;
        for promise in not_promised {
            writeln!(f, "not promised by these servers, so not checked: {promise}")?;
        }
        for rule in RULES {
            let broken: Vec<_> = violations.iter().filter(|violation| violation.rule == rule.name).collect();
            if broken.is_empty() {
                continue;
            }
            writeln!(f, "\nBROKEN {} {} times: {}", rule.name, broken.len(), rule.sentence)?;
            for violation in broken.iter().take(SHOWN) {
                writeln!(f, "  {}", violation.about)?;
                for record in &violation.records {
                    writeln!(f, "    {record}")?;
                }
            }
        }
        if violations.is_empty() { writeln!(f, "Every rule holds.") } else { Ok(()) }
    }
}
