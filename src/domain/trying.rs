//! What a text would mean under a question, without a conversation: for people who write lexicons and packs.

use serde::Serialize;

use super::decide::Rules;
use super::lexicon::{Explained, LexiconVersion, Naming, Reading, Withdrawal};
use super::policy::SafetyClass;
use super::verdict::{Next, Reason, VerdictCode};

/// How a text reads, and what would follow.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Trial {
    /// The lexicons that read it.
    pub lexicons: Vec<LexiconVersion>,
    pub explained: Explained,
    /// How it takes back a yes that is not bound yet; none if it does not.
    pub takes_back: Option<Withdrawal>,
    /// What would follow under a question about the command that was named, or about one of each class.
    pub under: Vec<Under>,
}

/// What would follow under one open confirmation.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Under {
    pub command: Option<String>,
    pub class: SafetyClass,
    /// How it names that command (`commands[].says` of the pack); none if it does not.
    pub naming: Option<Naming>,
    /// Sent alone.
    pub bare: Outcome,
    /// Sent as a reply to the question.
    pub quoted: Outcome,
}

/// The verdict on a text that nothing else speaks against: not too late, not somebody else's, not forwarded.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
pub struct Outcome {
    pub code: VerdictCode,
    pub reason: Reason,
    pub next: Next,
}

/// Tries a text of this locale (BCP 47) under a question about this command, or about a command of each class.
#[must_use]
pub fn try_text(rules: &Rules<'_>, text: &str, locale: Option<&str>, command: Option<&str>) -> Trial {
    let lexicon = rules.lexicon.for_locale(locale);
    let explained = lexicon.explain(text);
    let is_request = rules.lexicon.begins_request(text);
    let under = |name: Option<&str>, class, bare_answers: bool| {
        let naming = name.and_then(|name| lexicon.read_naming(text, &rules.policy.says(name)));
        let read = |strength| outcome(&explained.reading, naming.as_ref(), is_request, strength);
        let (bare, quoted) = (read(Reason::Bare), read(Reason::Quote));
        let counts = matches!(bare.code, VerdictCode::Confirmed | VerdictCode::Declined);
        let refused =
            Outcome { code: VerdictCode::Ambiguous, reason: Reason::BareAnswerNotAllowed, next: Next::AskAgain };
        let bare = if counts && !bare_answers { refused } else { bare };
        Under { command: name.map(str::to_owned), class, naming, bare, quoted }
    };
    let under = match command {
        Some(name) => {
            let command = rules.policy.command(name, None);
            vec![under(Some(name), command.class, command.bare_answers)]
        }
        None => SafetyClass::ALL
            .into_iter()
            .map(|class| under(None, class, rules.policy.pack().classes.of(class).bare_answers))
            .collect(),
    };
    let takes_back = rules.lexicon.withdrawal(text);
    Trial { lexicons: lexicon.versions().to_vec(), explained, takes_back, under }
}

fn outcome(reading: &Reading, naming: Option<&Naming>, is_request: bool, strength: Reason) -> Outcome {
    let (code, reason, next) = match (naming.map_or(reading, Naming::reading), naming) {
        (_, Some(Naming::Unclear(_))) => (VerdictCode::Ambiguous, Reason::NamesCommand, Next::AskAgain),
        (Reading::Affirmative { .. }, _) => (VerdictCode::Confirmed, strength, Next::BindCommand),
        (Reading::Negative { .. }, _) => (VerdictCode::Declined, strength, Next::AcknowledgeRefusal),
        _ if is_request && naming.is_none() => (VerdictCode::NotAnAnswer, Reason::NewRequest, Next::Route),
        (Reading::Qualified { .. }, _) => (VerdictCode::Ambiguous, Reason::QualifiedAnswer, Next::AskAgain),
        (Reading::Other, _) => (VerdictCode::NotAnAnswer, Reason::OrdinaryMessage, Next::Route),
    };
    Outcome { code, reason, next }
}
