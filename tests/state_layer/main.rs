//! The state layer from outside: readings of utterances against cases with known answers.

#![expect(clippy::unwrap_used, reason = "a test fails by panicking")]

mod readings;
mod statebench_readings;
