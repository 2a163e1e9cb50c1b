//! Reads policy packs: strict parsing, then schema, then semantic rules, then a hash that identifies the pack.
//!
//! Text → JSON value (`text`) → JSON Schema (`schema`) → [`crate::domain::policy::PolicyPack`] → the rules of
//! [`LoadedPack::new`] → canonical JSON → SHA-256. Errors are written for people and reported all together, file by
//! file.

mod cases;
mod folder;
mod json;
mod published;
mod read;
mod schema;
mod shipped;
mod source;
mod text;
mod yaml;

pub use cases::{CaseFailure, CaseReport, run_cases};
pub use folder::{Glance, glance};
pub use published::set_hash;
pub use read::{pack_document, pack_hash, read_pack};
pub use source::{NamedText, PackFiles, PackSource, read_policies};
pub use text::MAX_FILE_BYTES;

#[cfg(doc)]
use crate::domain::policy::LoadedPack;

#[cfg(test)]
mod cases_tests;
#[cfg(test)]
mod form_tests;
#[cfg(test)]
mod meaning_tests;
#[cfg(test)]
mod mutation_tests;
#[cfg(test)]
mod published_tests;
#[cfg(test)]
mod read_tests;
#[cfg(test)]
mod source_tests;
#[cfg(test)]
mod validation_tests;
