//! A delivery taken apart, with every piece accounted for.
//!
//! One POST may hold a thousand updates of several numbers: messages, statuses, identity updates, errors, and fields
//! that this handler was never written for. Each piece ends in exactly one list of [`Normalised`], and what cannot be
//! used ends in `skipped` with a reason. So what went in can be compared with what came out, here and in the tests.

use std::collections::BTreeMap;

use serde_json::Value;

use crate::event::Addressed;
use crate::identity::Scope;
use crate::message;
use crate::payload::{Delivery, list, text};
use crate::signature::AppSecret;

/// Why a piece is not an event. The names are for logs and counters, so they say nothing about the piece.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) enum Reason {
    /// Nothing names who wrote it: no number, no user id, no single contact.
    NoSender,
    /// Without an id a repeat cannot be told from a second message.
    NoMessageId,
    /// The time is missing or is not one. Order decides what an answer answers, so it is not invented.
    BadTimestamp,
    /// The business number is missing, so the conversation is unknown.
    NoChannel,
    /// It lacks the member that makes it what it is.
    NoContent,
    /// A list should stand here, or an object.
    WrongShape,
    /// The container is there and holds nothing.
    Empty,
    /// Signed by Meta, for another product than WhatsApp.
    OtherObject,
    /// Bytes after the last complete JSON value.
    TrailingBytes,
}

impl Reason {
    /// The name in logs and in the receipt.
    pub(crate) fn name(self) -> &'static str {
        match self {
            Self::NoSender => "no_sender",
            Self::NoMessageId => "no_message_id",
            Self::BadTimestamp => "bad_timestamp",
            Self::NoChannel => "no_channel",
            Self::NoContent => "no_content",
            Self::WrongShape => "wrong_shape",
            Self::Empty => "empty",
            Self::OtherObject => "other_object",
            Self::TrailingBytes => "trailing_bytes",
        }
    }
}

/// A piece that could not be used.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Skipped {
    pub(crate) reason: Reason,
}

/// How far an outgoing message got. It is not a message and never reaches cscp.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Status {
    /// `sent`, `delivered`, `read`, `played`, `failed`, `deleted`, or whatever Meta invents next.
    pub(crate) status: String,
    /// Why it failed.
    pub(crate) error_codes: Vec<i64>,
}

/// An error that Meta reports about the change as a whole.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct ReportedError {
    pub(crate) code: Option<i64>,
}

/// A change of a field that this handler does not read: `account_update`, `calls`, template updates, …
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct OtherField {
    pub(crate) field: String,
}

/// What a delivery held.
#[derive(Debug, Default)]
pub(crate) struct Normalised {
    /// How many pieces the walk met. [`Normalised::accounted`] must equal it.
    pub(crate) seen: usize,
    pub(crate) messages: Vec<Addressed>,
    /// Kept apart because they are posted first: an answer that comes with a change of identity must meet the change.
    pub(crate) identity_updates: Vec<Addressed>,
    pub(crate) statuses: Vec<Status>,
    pub(crate) errors: Vec<ReportedError>,
    pub(crate) other_fields: Vec<OtherField>,
    pub(crate) skipped: Vec<Skipped>,
}

/// Takes a delivery apart. It cannot fail.
pub(crate) fn normalise(delivery: &Delivery, secret: &AppSecret) -> Normalised {
    let mut out = Normalised::default();
    for value in &delivery.values {
        out.root(value, secret);
    }
    if delivery.unread_bytes > 0 {
        out.piece_skipped(Reason::TrailingBytes);
    }
    out
}

impl Normalised {
    /// How many pieces ended somewhere.
    pub(crate) fn accounted(&self) -> usize {
        self.messages.len()
            + self.identity_updates.len()
            + self.statuses.len()
            + self.errors.len()
            + self.other_fields.len()
            + self.skipped.len()
    }

    /// How many pieces were skipped, by reason.
    pub(crate) fn skipped_by_reason(&self) -> BTreeMap<&'static str, usize> {
        let mut counts = BTreeMap::new();
        for skipped in &self.skipped {
            *counts.entry(skipped.reason.name()).or_default() += 1;
        }
        counts
    }

    fn root(&mut self, root: &Value, secret: &AppSecret) {
        // A missing `object` is no reason to lose messages; another one is another product.
        match root.get("object") {
            Some(object) if object.as_str().is_some_and(|name| name != "whatsapp_business_account") => {
                self.piece_skipped(Reason::OtherObject);
            }
            _ => self.each(root, "entry", |out, entry| {
                out.each(entry, "changes", |out, change| out.change(change, secret));
            }),
        }
    }

    /// Visits the elements of a list that must be there. A container without them is itself a piece.
    fn each(&mut self, parent: &Value, member: &str, mut visit: impl FnMut(&mut Self, &Value)) {
        match parent.get(member).and_then(Value::as_array) {
            None => self.piece_skipped(Reason::WrongShape),
            Some(elements) if elements.is_empty() => self.piece_skipped(Reason::Empty),
            Some(elements) => elements.iter().for_each(|element| visit(self, element)),
        }
    }

    fn change(&mut self, change: &Value, secret: &AppSecret) {
        // A change without a field is read by what it holds.
        let field = text(change, "field").unwrap_or("messages");
        if !matches!(field, "messages" | "smb_message_echoes" | "user_id_update") {
            self.seen += 1;
            self.other_fields.push(OtherField { field: field.to_owned() });
            return;
        }
        let Some(value) = change.get("value").filter(|value| value.is_object()) else {
            return self.piece_skipped(Reason::WrongShape);
        };
        let scope = Scope::of(value);
        let before = self.seen;
        self.pieces(value, "user_id_update", |out, update| {
            message::user_id_update(update, &scope, secret).map(|event| out.identity_updates.push(event))
        });
        self.pieces(value, "messages", |out, piece| {
            message::inbound(piece, &scope).map(|event| out.messages.push(event))
        });
        self.pieces(value, "message_echoes", |out, piece| {
            message::echo(piece, &scope).map(|event| out.messages.push(event))
        });
        self.pieces(value, "statuses", |out, piece| status(piece).map(|status| out.statuses.push(status)));
        self.pieces(value, "errors", |out, piece| error(piece).map(|error| out.errors.push(error)));
        if self.seen == before {
            self.piece_skipped(Reason::Empty);
        }
    }

    /// Each element is one piece and ends in one list: in `take`'s, or among the skipped.
    fn pieces(&mut self, value: &Value, member: &str, take: impl Fn(&mut Self, &Value) -> Result<(), Reason>) {
        match value.get(member) {
            None => {}
            Some(Value::Array(elements)) => {
                for element in elements {
                    self.seen += 1;
                    let taken = if element.is_object() { take(self, element) } else { Err(Reason::WrongShape) };
                    if let Err(reason) = taken {
                        self.skipped.push(Skipped { reason });
                    }
                }
            }
            Some(_) => self.piece_skipped(Reason::WrongShape),
        }
    }

    fn piece_skipped(&mut self, reason: Reason) {
        self.seen += 1;
        self.skipped.push(Skipped { reason });
    }
}

fn status(status: &Value) -> Result<Status, Reason> {
    let name = text(status, "status").ok_or(Reason::NoContent)?;
    let error_codes = list(status, "errors").iter().filter_map(code).collect();
    Ok(Status { status: name.to_owned(), error_codes })
}

/// An error that is an object is always kept, whatever it lacks.
#[expect(clippy::unnecessary_wraps, reason = "the signature that `pieces` takes")]
fn error(error: &Value) -> Result<ReportedError, Reason> {
    Ok(ReportedError { code: code(error) })
}

fn code(error: &Value) -> Option<i64> {
    error.get("code")?.as_i64()
}
