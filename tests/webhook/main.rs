//! The example webhook, driven the way Meta drives it: signed bytes through its router, with a stub in cscp's place.

#![expect(clippy::unwrap_used, reason = "a test fails by panicking")]

#[path = "../../examples/whatsapp_webhook/cscp.rs"]
mod cscp;
#[path = "../../examples/whatsapp_webhook/event.rs"]
mod event;
#[path = "../../examples/whatsapp_webhook/identity.rs"]
mod identity;
#[path = "../../examples/whatsapp_webhook/message.rs"]
mod message;
#[path = "../../examples/whatsapp_webhook/normalise.rs"]
mod normalise;
#[path = "../../examples/whatsapp_webhook/outside.rs"]
mod outside;
#[path = "../../examples/whatsapp_webhook/payload.rs"]
mod payload;
#[path = "../../examples/whatsapp_webhook/server.rs"]
mod server;
#[path = "../../examples/whatsapp_webhook/shop.rs"]
mod shop;
#[path = "../../examples/whatsapp_webhook/signature.rs"]
mod signature;
#[path = "../../examples/whatsapp_webhook/tasks.rs"]
mod tasks;

mod bench;
mod deliveries;
mod fixtures;
mod logs;
mod mutations;
mod normalisation;
mod shop_flow;
mod signatures;
mod stub;
