//! What the server answered, as far as the driver looks at it, and what it should have answered.

use serde::Deserialize;

use crate::wire::Response;

/// The members of any answer that are compared or used. A missing one is empty.
#[derive(Debug, Default, Deserialize)]
#[serde(default)]
pub(crate) struct Seen {
    pub(crate) verdict: Verdict,
    pub(crate) duplicate: Option<bool>,
    pub(crate) context: Option<Named>,
    pub(crate) confirmation_id: String,
    pub(crate) state: String,
    pub(crate) button_ids: Vec<String>,
    pub(crate) attempt_id: String,
    pub(crate) command_id: String,
    pub(crate) outcome: String,
    pub(crate) context_ref: Named,
    pub(crate) command: Named,
    /// Of a problem.
    pub(crate) code: String,
}

/// What a message meant.
#[derive(Debug, Default, Clone, PartialEq, Eq, Deserialize)]
#[serde(default)]
pub(crate) struct Verdict {
    pub(crate) code: String,
    pub(crate) reason: String,
    pub(crate) confirmation: Named,
}

/// Something by one of its ids.
#[derive(Debug, Default, Clone, PartialEq, Eq, Deserialize)]
#[serde(default)]
pub(crate) struct Named {
    pub(crate) context_id: String,
    pub(crate) context_frame_id: String,
    pub(crate) confirmation_id: String,
    pub(crate) command_id: String,
    pub(crate) outcome: String,
}

/// An answer with its head.
#[derive(Debug, Default)]
pub(crate) struct Answer {
    pub(crate) status: u16,
    pub(crate) replayed: bool,
    /// Whether the request was sent before, so that it may have been carried out then.
    pub(crate) retried: bool,
    pub(crate) seen: Seen,
}

impl Answer {
    /// Reads an answer. A body that is no JSON object reads as an empty one, which nobody expects.
    pub(crate) fn read(response: &Response, retried: bool) -> Self {
        let seen = serde_json::from_slice(&response.body).unwrap_or_default();
        Self { status: response.status, replayed: response.replayed, retried, seen }
    }

    /// What it was, in words that name nobody.
    pub(crate) fn describe(&self) -> String {
        let Self { status, seen, .. } = self;
        let duplicate = match seen.duplicate {
            Some(true) => "duplicate",
            _ => "",
        };
        let words = [&seen.code, &seen.verdict.code, &seen.verdict.reason, &seen.state].map(String::as_str);
        let replayed = if self.replayed { "replayed" } else { "" };
        let words = words.into_iter().chain([duplicate, replayed]).filter(|word| !word.is_empty());
        words.fold(status.to_string(), |told, word| told + " " + word)
    }
}

/// What an answer has to be.
#[derive(Debug, Clone, Copy)]
pub(crate) enum Expected<'a> {
    /// A new message, that means this, about this confirmation; empty if about none.
    Verdict { code: &'a str, item: &'a str },
    /// The same message again: the same verdict, marked as a duplicate.
    Duplicate { verdict: &'a Verdict },
    /// The same message, delivered twice at the same time: either of the two.
    Delivered { code: &'a str, item: &'a str },
    /// The late tap on a button.
    TooLate { item: &'a str },
    /// A question that was registered just now.
    Asked,
    /// The same question again.
    AskedAgain { item: &'a str },
    /// The question, still open, with its prompt attached.
    Open { item: &'a str },
    /// This attempt has the binding.
    Bound { attempt: &'a str, item: &'a str },
    /// This attempt, or another one, has it.
    BoundOrNot { attempt: &'a str, item: &'a str },
    /// This attempt has had it before, with this frame.
    BoundBefore { attempt: &'a str, frame: &'a str },
    /// The command succeeded.
    Recorded { command: &'a str, again: bool },
}

impl Expected<'_> {
    /// Whether an answer is as expected. A request that was sent before may also be answered as a repetition.
    pub(crate) fn is(&self, answer: &Answer) -> bool {
        let Answer { status, replayed, retried, seen } = answer;
        let repeated = *retried;
        match *self {
            Expected::Verdict { code, item } => {
                verdict(answer, code, item) && (seen.duplicate == Some(false) || repeated)
            }
            Expected::Delivered { code, item } => verdict(answer, code, item),
            Expected::Duplicate { verdict } => {
                *status == 200 && seen.duplicate == Some(true) && seen.verdict == *verdict
            }
            Expected::TooLate { item } => {
                verdict(answer, "already_decided", item) && seen.verdict.reason == "already_spent"
            }
            Expected::Asked => {
                let complete = !seen.confirmation_id.is_empty() && seen.button_ids.len() == 2;
                *status == 201 && seen.state == "open" && complete && (!replayed || repeated)
            }
            Expected::AskedAgain { item } => {
                *status == 201 && *replayed && seen.confirmation_id == item && seen.button_ids.len() == 2
            }
            Expected::Open { item } => *status == 200 && seen.confirmation_id == item && seen.state == "open",
            Expected::Bound { attempt, item } => bound(answer, attempt, item),
            Expected::BoundOrNot { attempt, item } => bound(answer, attempt, item) || is_other_bound(answer),
            Expected::BoundBefore { attempt, frame } => {
                *status == 200 && seen.attempt_id == attempt && seen.context_ref.context_frame_id == frame
            }
            Expected::Recorded { command, again } => {
                let right = seen.command.command_id == command && seen.command.outcome == "succeeded";
                *status == 201 && right && (*replayed == again || repeated)
            }
        }
    }

    /// What had to come, in a few words.
    pub(crate) fn describe(&self) -> String {
        let text = match self {
            Self::Verdict { code, item: "" } => return (*code).to_owned(),
            Self::Verdict { code, .. } | Self::Delivered { code, .. } => return format!("{code} of the item asked"),
            Self::Duplicate { .. } => "the first verdict as a duplicate",
            Self::TooLate { .. } => "already_decided already_spent of the item asked",
            Self::Asked => "201 open with two buttons, not replayed",
            Self::AskedAgain { .. } => "201 open replayed, the same item",
            Self::Open { .. } => "200 open, the item asked",
            Self::Bound { .. } => "201 for this attempt and item",
            Self::BoundOrNot { .. } => "201 for this attempt and item or 409 already_bound",
            Self::BoundBefore { .. } => "200 for this attempt with the same frame",
            Self::Recorded { again: false, .. } => "201 succeeded, not replayed",
            Self::Recorded { again: true, .. } => "201 succeeded replayed",
        };
        text.to_owned()
    }
}

fn verdict(answer: &Answer, code: &str, item: &str) -> bool {
    let seen = &answer.seen;
    answer.status == 200 && seen.verdict.code == code && seen.verdict.confirmation.confirmation_id == item
}

fn bound(answer: &Answer, attempt: &str, item: &str) -> bool {
    let seen = &answer.seen;
    let ours = seen.attempt_id == attempt && seen.confirmation_id == item;
    (answer.status == 201 || (answer.status == 200 && answer.retried)) && ours
}

/// Whether an answer says that another attempt has the binding.
pub(crate) fn is_other_bound(answer: &Answer) -> bool {
    answer.status == 409 && answer.seen.code == "already_bound"
}

#[cfg(test)]
mod tests {
    use super::*;

    fn answer(status: u16, body: &str) -> Answer {
        let response = Response { status, replayed: false, retry_after: None, body: body.as_bytes().to_vec() };
        Answer::read(&response, false)
    }

    const CONFIRMED: &str = r#"{"verdict": {"code": "confirmed", "reason": "bare", "next": "bind_command",
        "confirmation": {"confirmation_id": "cnf_1", "state": "confirmed"}}, "context": null, "duplicate": false}"#;

    #[test]
    fn only_the_verdict_that_was_to_come_about_the_item_that_was_asked_is_right() {
        let confirmed = answer(200, CONFIRMED);
        let is = |code, item| Expected::Verdict { code, item }.is(&confirmed);
        assert!(is("confirmed", "cnf_1"));
        assert!(!is("declined", "cnf_1") && !is("confirmed", "cnf_2") && !is("confirmed", ""));
        assert!(!Expected::Verdict { code: "confirmed", item: "cnf_1" }.is(&answer(409, CONFIRMED)));
        assert_eq!(confirmed.describe(), "200 confirmed bare");
    }

    #[test]
    fn a_duplicate_has_to_say_so_and_to_repeat_the_verdict() {
        let first = answer(200, CONFIRMED);
        let again = answer(200, &CONFIRMED.replace("false", "true"));
        let expected = Expected::Duplicate { verdict: &first.seen.verdict };
        assert!(expected.is(&again) && !expected.is(&first));
        assert!(!expected.is(&answer(200, &CONFIRMED.replace("false", "true").replace("bare", "quote"))));
        // A new message that is called a duplicate is wrong, unless it was sent before.
        let expected = Expected::Verdict { code: "confirmed", item: "cnf_1" };
        assert!(!expected.is(&again) && expected.is(&Answer { retried: true, ..again }));
    }

    #[test]
    fn a_binding_is_this_attempts_own() {
        let body = r#"{"attempt_id": "a", "confirmation_id": "cnf_1", "context_ref": {"context_frame_id": "frm_1"}}"#;
        let expected = Expected::Bound { attempt: "a", item: "cnf_1" };
        assert!(expected.is(&answer(201, body)) && !expected.is(&answer(200, body)));
        assert!(!Expected::Bound { attempt: "b", item: "cnf_1" }.is(&answer(201, body)));
        let refused = answer(409, r#"{"code": "already_bound", "status": 409}"#);
        assert!(!expected.is(&refused) && is_other_bound(&refused));
        assert!(Expected::BoundOrNot { attempt: "a", item: "cnf_1" }.is(&refused));
        assert!(Expected::BoundBefore { attempt: "a", frame: "frm_1" }.is(&answer(200, body)));
        assert!(!Expected::BoundBefore { attempt: "a", frame: "frm_2" }.is(&answer(200, body)));
    }

    #[test]
    fn what_cannot_be_read_is_never_right() {
        let nothing = answer(200, "<html>");
        assert!(!Expected::Verdict { code: "confirmed", item: "" }.is(&nothing));
        assert!(!Expected::Open { item: "cnf_1" }.is(&nothing));
        assert_eq!(nothing.describe(), "200");
    }
}
