//! What operators and auditors see, end to end over the embedded database: levels, languages, redaction, explanations,
//! evidence, and the record that they looked.

mod evidence;
mod explanation;
mod house;
mod queries;
