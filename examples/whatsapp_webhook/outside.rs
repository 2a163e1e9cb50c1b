//! The two places where something leaves this process, as traits: in the example they print (`printing`), in your
//! system they are the Cloud API and the order system.

use async_trait::async_trait;
use serde_json::{Value, json};

use crate::event::Address;
use crate::identity::is_user_id;

/// It did not go out. The delivery will be repeated, and the sending with it.
#[derive(Debug, thiserror::Error)]
#[error("not sent")]
pub(crate) struct NotSent;

/// The order system cannot be asked now.
#[derive(Debug, thiserror::Error)]
#[error("the order system did not answer")]
pub(crate) struct NotTold;

/// What the Cloud API says about a message that it took.
#[derive(Debug, Clone)]
pub(crate) struct Sent {
    pub(crate) message_id: String,
    /// RFC 3339, UTC.
    pub(crate) at: String,
}

/// Sends WhatsApp messages: `POST /{phone_number_id}/messages` of the Cloud API.
#[async_trait]
pub(crate) trait Sender: Send + Sync {
    /// Sends one message.
    async fn send(&self, message: &Value) -> Result<Sent, NotSent>;
}

/// The system that the commands are for.
#[async_trait]
pub(crate) trait Orders: Send + Sync {
    /// Cancels an order, once for an idempotency key: repeated, it only says how it went. `context_ref` goes along, so
    /// that whoever reads the order later can find out why.
    async fn cancel(&self, idempotency_key: &str, order_id: &str, context_ref: &Value) -> bool;

    /// What became of the cancellation with this key: whether it went well, and `None` if it never arrived. Without
    /// such a question nobody can clear up what a worker did before it died.
    async fn outcome(&self, idempotency_key: &str) -> Result<Option<bool>, NotTold>;
}

/// The Cloud API call for plain text.
pub(crate) fn text_message(address: &Address, text: &str) -> Value {
    let mut message = addressed(address);
    message["type"] = json!("text");
    message["text"] = json!({ "body": text });
    message
}

/// The Cloud API call for a question with reply buttons, given as (id, title). `about` comes back in every status of
/// the message: a second thread from the message to its question, should the first be lost.
pub(crate) fn question(address: &Address, text: &str, buttons: &[(&str, &str)], about: &str) -> Value {
    let buttons: Vec<Value> =
        buttons.iter().map(|(id, title)| json!({ "type": "reply", "reply": { "id": id, "title": title } })).collect();
    let mut message = addressed(address);
    message["type"] = json!("interactive");
    message["interactive"] = json!({ "type": "button", "body": { "text": text }, "action": { "buttons": buttons } });
    message["biz_opaque_callback_data"] = json!(about);
    message
}

fn addressed(address: &Address) -> Value {
    match address {
        Address::Person(id) if is_user_id(id) => {
            json!({ "messaging_product": "whatsapp", "recipient_type": "individual", "recipient": id })
        }
        Address::Person(number) => {
            json!({ "messaging_product": "whatsapp", "recipient_type": "individual", "to": number })
        }
        Address::Group(id) => {
            json!({ "messaging_product": "whatsapp", "recipient_type": "group", "to": id })
        }
    }
}
