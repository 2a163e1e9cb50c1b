//! What operators and auditors see, end to end over the embedded database: levels, languages, redaction, explanations,
//! evidence, and the record that they looked.

#![expect(clippy::unwrap_used, reason = "a test that cannot go on says where")]

mod evidence;
mod explanation;
mod house;
mod queries;
mod wire;
