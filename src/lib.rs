//! cscp: the memory and the safety catch between a WhatsApp conversation and the commands it triggers.
//!
//! An implementation of RFC-WF-0034 (Conversation State & Context Persistence). `docs/ARCHITECTURE.md` is the guided
//! tour; this is the map:
//!
//! ```text
//! domain ← state_layer ← evidence ← storage (port) ← committer ← service ← {http, cli}
//! ```
//!
//! - [`domain`]: what the RFC says, as pure functions over values. Start at [`domain::decide::decide`].
//! - [`evidence`]: entries, hash chains, verification. Pure too.
//! - [`packs`]: reading policy packs from files.
//! - [`storage`]: the port, and the adapters for SQLite and PostgreSQL.
//! - [`committer`]: decides under the lock, commits once, answers after the commit.
//! - [`service`]: use cases.
//! - [`http`]: the wire. [`cli`]: commands, and the only place that names an adapter.
//!
//! **Architecture invariant:** left never names right; `tests/tidy` keeps it.
//! **Architecture invariant:** nothing is decided outside [`domain::decide`], and nothing is acknowledged before its
//! transaction has committed.

pub mod cli;
pub mod committer;
pub mod config;
pub mod domain;
pub mod evidence;
mod files;
pub mod http;
pub mod packs;
pub mod service;
pub mod state_layer;
pub mod storage;
pub mod system;
pub mod telemetry;
