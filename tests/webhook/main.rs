//! The example webhook, driven the way Meta drives it: signed bytes through its router, with a stub in cscp's place to see each
//! step and each failure, and with cscp itself (`real`) to see that the two fit.

#![expect(clippy::unwrap_used, reason = "a test fails by panicking")]

#[path = "../../examples/whatsapp_webhook/cscp.rs"]
mod cscp;
#[path = "../../examples/whatsapp_webhook/event.rs"]
mod event;
#[path = "../../examples/whatsapp_webhook/identity.rs"]
mod identity;
#[path = "../../examples/whatsapp_webhook/journal.rs"]
mod journal;
#[path = "../../examples/whatsapp_webhook/message.rs"]
mod message;
#[path = "../../examples/whatsapp_webhook/normalise.rs"]
mod normalise;
#[path = "../../examples/whatsapp_webhook/outside.rs"]
mod outside;
#[path = "../../examples/whatsapp_webhook/payload.rs"]
mod payload;
#[path = "../../examples/whatsapp_webhook/printing.rs"]
mod printing;
#[path = "../../examples/whatsapp_webhook/recovery.rs"]
mod recovery;
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
mod house;
mod journals;
#[path = "../postgres/leg.rs"]
mod leg;
mod logs;
mod mutations;
mod normalisation;
#[path = "../postgres/place.rs"]
mod place;
#[path = "../postgres/mod.rs"]
mod postgres;
mod real;
mod recovering;
#[path = "../support/rules.rs"]
mod rules;
mod shop_flow;
mod signatures;
mod stub;

/// What the PostgreSQL of these tests is set to: none of them takes its power away.
const SERVER: &[&str] = &["fsync = off", "full_page_writes = off", "autovacuum = off"];
