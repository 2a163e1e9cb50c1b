//! What was sent and what was answered: the history.

use std::rc::Rc;

use super::clock::NEVER;
use super::seen::Seen;

/// A command as this program means it: what is agreed to and what is bound are held against it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Spec {
    pub(crate) command_id: String,
    pub(crate) name: String,
    pub(crate) key: String,
    /// JSON with its members in order.
    pub(crate) target: String,
}

/// What a question is.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub(crate) enum Kind {
    Confirmation,
    Approval,
    Disambiguation,
}

impl Kind {
    /// The part of the path that names questions of this kind.
    pub(crate) fn path(self) -> &'static str {
        match self {
            Self::Confirmation => "confirmations",
            Self::Approval => "approvals",
            Self::Disambiguation => "disambiguations",
        }
    }

    /// The kind of the question that has this id.
    pub(crate) fn of(item: &str) -> Self {
        match item.get(..4) {
            Some("apr_") => Self::Approval,
            Some("dis_") => Self::Disambiguation,
            _ => Self::Confirmation,
        }
    }
}

/// What a message says.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Sense {
    Yes,
    No,
    /// Neither, or something that takes an earlier yes back by other means.
    Other,
}

/// A message that a customer or an approver sends.
#[derive(Debug, Clone)]
pub(crate) struct Said {
    pub(crate) message_id: String,
    pub(crate) conversation: String,
    pub(crate) actor: String,
    pub(crate) sense: Sense,
    /// The question whose button is tapped.
    pub(crate) taps: Option<String>,
    pub(crate) reply_to: Option<String>,
    /// Whether it deletes or edits the message that it replies to.
    pub(crate) undoes: bool,
    /// Whether it is a plain text that names no question in any way.
    pub(crate) bare: bool,
}

/// What a request asks for.
#[derive(Debug, Clone)]
pub(crate) enum Op {
    Say(Said),
    Ask {
        kind: Kind,
        context: String,
        conversation: String,
        actor: String,
        spec: Option<Spec>,
    },
    Attach {
        item: String,
        prompt: String,
    },
    Cancel,
    Bind {
        context: String,
        attempt: String,
        spec: Spec,
    },
    TakeOver {
        command: String,
        attempt: String,
        replaces: String,
    },
    Report {
        command: String,
        summary: String,
    },
    Slots {
        context: String,
        revision: u64,
    },
    Move {
        context: String,
    },
    Decide {
        approval: String,
        approver: String,
        approve: bool,
    },
    ReadCommand {
        command: String,
    },
    ReadItem {
        item: String,
    },
    ReadContext {
        context: String,
    },
    /// `sweeps`: one of the pages that are read one after the other when nobody changes anything.
    ListExecutions {
        sweeps: bool,
    },
    Other,
}

impl Op {
    /// A word for counts and reports.
    pub(crate) fn word(&self) -> &'static str {
        match self {
            Self::Say(_) => "message",
            Self::Ask { .. } => "ask",
            Self::Attach { .. } => "attach",
            Self::Cancel => "cancel",
            Self::Bind { .. } => "bind",
            Self::TakeOver { .. } => "takeover",
            Self::Report { .. } => "result",
            Self::Slots { .. } => "slots",
            Self::Move { .. } => "transition",
            Self::Decide { .. } => "decision",
            Self::ReadCommand { .. } => "read command",
            Self::ReadItem { .. } => "read item",
            Self::ReadContext { .. } => "read context",
            Self::ListExecutions { .. } => "list executions",
            Self::Other => "other",
        }
    }
}

/// A request as it is sent, and sent again, byte for byte.
#[derive(Debug)]
pub(crate) struct Call {
    pub(crate) op: Op,
    pub(crate) method: &'static str,
    pub(crate) path: String,
    pub(crate) body: String,
    pub(crate) claim: Option<String>,
    pub(crate) revision: Option<u64>,
    /// Whether it only repeats what was acknowledged, to see whether it is still there.
    pub(crate) reads_back: bool,
}

impl Call {
    /// A `POST` without an `Idempotency-Key`.
    pub(crate) fn post(op: Op, path: impl Into<String>, body: String) -> Self {
        Self { op, method: "POST", path: path.into(), body, claim: None, revision: None, reads_back: false }
    }

    /// A `GET`.
    pub(crate) fn get(op: Op, path: impl Into<String>) -> Self {
        Self { method: "GET", ..Self::post(op, path, String::new()) }
    }

    /// The same with an `Idempotency-Key`.
    pub(crate) fn claiming(self, claim: impl Into<String>) -> Self {
        Self { claim: Some(claim.into()), ..self }
    }

    /// What makes two calls one request to the servers: sent twice, it takes effect once.
    pub(crate) fn identity(&self) -> String {
        let name = match (&self.op, &self.claim) {
            (Op::Say(said), _) => &said.message_id,
            (_, Some(claim)) => claim,
            (_, None) => "",
        };
        format!("{} {} {name} {}", self.method, self.path, self.body)
    }
}

/// An answer.
#[derive(Debug, Clone)]
pub(crate) struct Answer {
    pub(crate) status: u16,
    pub(crate) replayed: bool,
    /// Whether the body was JSON of the expected shape.
    pub(crate) readable: bool,
    pub(crate) seen: Seen,
}

/// One sending of a call.
#[derive(Debug)]
pub(crate) struct Record {
    /// Its place in the history.
    pub(crate) number: u64,
    pub(crate) call: Rc<Call>,
    pub(crate) server: usize,
    /// When the call was sent for the first time by this client: from then on it may have taken effect.
    pub(crate) since: i64,
    /// When it was sent this time.
    pub(crate) begin: i64,
    /// When the answer was there; [`NEVER`] if there is none, or one that leaves open whether it took effect.
    pub(crate) end: i64,
    pub(crate) answer: Option<Answer>,
}

impl Record {
    /// The answer, unless it leaves open what happened: 503 and 429 say "come again".
    pub(crate) fn acknowledged(&self) -> Option<&Answer> {
        self.answer.as_ref().filter(|answer| !matches!(answer.status, 429 | 503))
    }

    /// The answer, if it is one of success.
    pub(crate) fn done(&self) -> Option<&Seen> {
        self.acknowledged().filter(|answer| (200..300).contains(&answer.status)).map(|answer| &answer.seen)
    }

    /// The problem's code, or nothing.
    pub(crate) fn refused(&self) -> &str {
        self.acknowledged().map_or("", |answer| answer.seen.code.as_str())
    }

    /// One line for a report.
    pub(crate) fn describe(&self) -> String {
        let Call { method, path, body, claim, .. } = &*self.call;
        let claim = claim.as_ref().map(|claim| format!(" (Idempotency-Key {claim})")).unwrap_or_default();
        let answered = match &self.answer {
            None => "no answer".to_owned(),
            Some(answer) => {
                let seen = serde_json::to_string(&answer.seen).unwrap_or_default();
                format!("{}{} {seen}", answer.status, if answer.replayed { " replayed" } else { "" })
            }
        };
        let took = if self.end == NEVER { "…".to_owned() } else { self.end.to_string() };
        let (number, server, begin) = (self.number, self.server, self.begin);
        format!("#{number} {begin}–{took} server {server}: {method} {path}{claim} {body} → {answered}")
    }
}

/// An execution of a command in the checker's own pretended outside world.
#[derive(Debug, Clone)]
pub(crate) struct Executed {
    pub(crate) key: String,
    pub(crate) command: String,
    pub(crate) attempt: String,
}

/// Everything that was sent, in the order in which it came to its end.
#[derive(Debug, Default)]
pub(crate) struct History {
    pub(crate) records: Vec<Record>,
    /// In the order in which they happened.
    pub(crate) executed: Vec<Executed>,
    /// People behind the approvers' names, and the requester whose person an approver is.
    pub(crate) persons: Vec<(String, String)>,
}
