//! The context's states and the total function between them (RFC-WF-0034 VII).
//!
//! The RFC states six rows; the rest is decided here: `created → active`, `active|pending → blocked`,
//! `active → expired`, `blocked → closed`, and `pending → pending` where a question to the actor and an approval asked
//! of others are open beside each other. Nothing leaves `expired` or `closed`.

use std::fmt;

use serde::{Deserialize, Serialize};

/// The status of a context record (RFC VI.A).
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Status {
    Active,
    /// A question is open.
    Pending,
    /// Waiting for something outside, or for an operator.
    Blocked,
    /// Its time is over; never used to interpret or to execute.
    Expired,
    Closed,
}

impl Status {
    /// Every status, for tables and tests.
    pub const ALL: [Self; 5] = [Self::Active, Self::Pending, Self::Blocked, Self::Expired, Self::Closed];

    #[must_use]
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Active => "active",
            Self::Pending => "pending",
            Self::Blocked => "blocked",
            Self::Expired => "expired",
            Self::Closed => "closed",
        }
    }

    /// Reads the RFC's word.
    #[must_use]
    pub fn parse(word: &str) -> Option<Self> {
        Self::ALL.into_iter().find(|status| status.as_str() == word)
    }

    /// Whether the context still counts as the open one of its actor.
    #[must_use]
    pub fn is_open(self) -> bool {
        match self {
            Self::Active | Self::Pending | Self::Blocked => true,
            Self::Expired | Self::Closed => false,
        }
    }
}

impl fmt::Display for Status {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.as_str())
    }
}

/// What can happen to a context.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum LifecycleEvent {
    /// The system asked for a confirmation, an approval or a choice, and nothing else is open.
    QuestionOpened,
    /// The system asked for an approval beside an open question, or the other way round.
    QuestionAdded,
    /// One of two open items was answered, expired, withdrawn or voided; the other one stays open.
    QuestionRemoved,
    /// The only open item was answered, expired, withdrawn or voided.
    QuestionEnded,
    /// Somebody or something outside has to act first.
    Block,
    /// The blocking condition resolved.
    Unblock,
    /// The conversation is finished, or policy says so.
    Close,
    /// `expires_at` was reached.
    DeadlineReached,
}

impl LifecycleEvent {
    /// Every event, for tables and tests.
    pub const ALL: [Self; 8] = [
        Self::QuestionOpened,
        Self::QuestionAdded,
        Self::QuestionRemoved,
        Self::QuestionEnded,
        Self::Block,
        Self::Unblock,
        Self::Close,
        Self::DeadlineReached,
    ];

    /// The event's word, as refusals name it.
    #[must_use]
    pub fn as_str(self) -> &'static str {
        match self {
            Self::QuestionOpened => "question_opened",
            Self::QuestionAdded => "question_added",
            Self::QuestionRemoved => "question_removed",
            Self::QuestionEnded => "question_ended",
            Self::Block => "block",
            Self::Unblock => "unblock",
            Self::Close => "close",
            Self::DeadlineReached => "deadline_reached",
        }
    }
}

/// A transition that the table does not have.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
#[error("a context that is {from} cannot take the event {}: {reason}", event.as_str())]
pub struct InvalidTransition {
    /// The status it was in.
    pub from: Status,
    /// What was asked of it.
    pub event: LifecycleEvent,
    pub reason: &'static str,
}

/// The status after `event`, for every cell of the table (RFC VII.B and the additions above).
pub fn transition(from: Status, event: LifecycleEvent) -> Result<Status, InvalidTransition> {
    use LifecycleEvent::{
        Block, Close, DeadlineReached, QuestionAdded, QuestionEnded, QuestionOpened, QuestionRemoved, Unblock,
    };
    use Status::{Active, Blocked, Closed, Expired, Pending};
    let refused = |reason| Err(InvalidTransition { from, event, reason });
    match (from, event) {
        (Active, QuestionOpened) | (Pending, QuestionAdded | QuestionRemoved) => Ok(Pending),
        (Pending, QuestionEnded) | (Blocked, Unblock) => Ok(Active),
        (Active | Pending, Block) => Ok(Blocked),
        (Active | Pending | Blocked, Close) => Ok(Closed),
        (Active | Pending | Blocked, DeadlineReached) => Ok(Expired),

        (Active, QuestionAdded | QuestionRemoved | QuestionEnded) => refused("no question is open"),
        (Active | Pending, Unblock) => refused("it is not blocked"),
        (Pending, QuestionOpened) => refused("another question is open; withdraw it first"),
        (Blocked, QuestionOpened | QuestionAdded) => refused("no question can be opened while it is blocked"),
        (Blocked, QuestionRemoved | QuestionEnded) => refused("a blocked context has no open question"),
        (Blocked, Block) => refused("it is blocked already"),
        (Expired, _) => refused("nothing leaves expired; the next ordinary message opens a new context"),
        (Closed, _) => refused("nothing leaves closed; the next ordinary message opens a new context"),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The whole table, written out once more by hand: `-` is a refusal.
    const TABLE: &str = "
        from     question_opened question_added question_removed question_ended block   unblock close  deadline_reached
        active   pending         -              -                -              blocked -       closed expired
        pending  -               pending        pending          active         blocked -       closed expired
        blocked  -               -              -                -              -       active  closed expired
        expired  -               -              -                -              -       -       -      -
        closed   -               -              -                -              -       -       -      -";

    #[test]
    fn every_cell_is_decided() {
        let mut rows = TABLE.lines().map(str::split_whitespace).filter(|row| row.clone().next().is_some());
        let events: Vec<&str> = rows.next().unwrap().skip(1).collect();
        assert_eq!(events, LifecycleEvent::ALL.map(LifecycleEvent::as_str));
        let mut cells = 0;
        for mut row in rows {
            let from = Status::parse(row.next().unwrap()).unwrap();
            for (event, expected) in LifecycleEvent::ALL.into_iter().zip(row) {
                let got = transition(from, event).map_or("-", Status::as_str);
                assert_eq!(got, expected, "{from} on {}", event.as_str());
                cells += 1;
            }
        }
        assert_eq!(cells, 40);
    }

    #[test]
    fn a_refusal_names_from_event_and_reason() {
        let error = transition(Status::Closed, LifecycleEvent::Unblock).unwrap_err();
        assert_eq!(error.from, Status::Closed);
        assert!(error.to_string().contains("closed") && error.to_string().contains("unblock"));
    }
}
