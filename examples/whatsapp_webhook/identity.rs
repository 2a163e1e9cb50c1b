//! Who wrote it, and in which conversation.
//!
//! Phone numbers are going away as identity: a business-scoped user id (BSUID) may come beside the number, instead of
//! it, or inside the member that used to hold it. Whatever comes is an opaque string. Nothing is trimmed, prefixed or
//! stripped of a ninth digit: two spellings are two actors until an identity event says otherwise, because merging
//! them wrongly lets one person answer for another, and not merging them only costs a re-ask.
//!
//! `conversation_id` and `actor_id` contain personal data. Keep them out of URLs and logs.

use serde_json::Value;

use crate::event::Address;
use crate::payload::{list, text};

/// What the messages of one change have in common.
pub(crate) struct Scope<'a> {
    /// The business number that received them. Two numbers of one business are two conversations.
    pub(crate) phone_number_id: Option<&'a str>,
    /// Whom Meta says the messages are from, or to.
    pub(crate) contacts: &'a [Value],
}

impl<'a> Scope<'a> {
    /// Reads it from `changes[].value`.
    pub(crate) fn of(value: &'a Value) -> Self {
        Self {
            phone_number_id: value.get("metadata").and_then(|metadata| text(metadata, "phone_number_id")),
            contacts: list(value, "contacts"),
        }
    }

    /// The customer in `message`: `user_member` and `number_member` are `from_user_id` and `from` in what the customer
    /// sent, `to_user_id` and `to` in an echo of what the business sent.
    ///
    /// A BSUID wins over a number. It may stand in `contacts` only, so the contact that matches the number is asked;
    /// a contact that matches nothing is used when the message names nobody and there is no other.
    pub(crate) fn customer(&self, message: &'a Value, user_member: &str, number_member: &str) -> Option<Customer<'a>> {
        let user_id = text(message, user_member);
        let number = text(message, number_member);
        let contact = match (user_id.or(number), self.contacts) {
            (None, [only]) => Some(only),
            (None, _) => None,
            (Some(named), contacts) => contacts
                .iter()
                .find(|contact| text(contact, "user_id") == Some(named) || text(contact, "wa_id") == Some(named)),
        };
        let actor = user_id
            .or_else(|| contact.and_then(|contact| text(contact, "user_id")))
            .or(number)
            .or_else(|| contact.and_then(|contact| text(contact, "wa_id")))?;
        Some(Customer { actor, reachable: number.unwrap_or(actor) })
    }

    /// The conversation with this customer, and where a reply in it goes. `None` when the business number is missing:
    /// a guess would join two conversations into one.
    pub(crate) fn conversation(&self, customer: &Customer<'_>, group_id: Option<&str>) -> Option<(String, Address)> {
        let channel = self.phone_number_id?;
        Some(match group_id {
            Some(group) => (format!("group:{channel}:{group}"), Address::Group(group.to_owned())),
            None => (format!("direct:{channel}:{}", customer.actor), Address::Person(customer.reachable.to_owned())),
        })
    }
}

/// One customer, as far as one payload says.
pub(crate) struct Customer<'a> {
    /// The opaque `actor_id`.
    pub(crate) actor: &'a str,
    /// The number when there is one, since every API version can send to it; else the BSUID.
    pub(crate) reachable: &'a str,
}

/// Whether this is a BSUID and not a number: two letters of a country, a dot, letters and digits. Sending to one uses
/// another member (`recipient`) than sending to a number (`to`).
pub(crate) fn is_user_id(id: &str) -> bool {
    let Some((country, rest)) = id.split_once('.') else {
        return false;
    };
    country.len() == 2
        && country.bytes().all(|byte| byte.is_ascii_uppercase())
        && !rest.is_empty()
        && rest.bytes().all(|byte| byte.is_ascii_alphanumeric() || byte == b'.')
}
