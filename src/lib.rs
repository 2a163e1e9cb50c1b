//! cscp: memory and safety catch between a `WhatsApp` conversation and the commands it triggers.

pub mod domain;
pub mod packs;
