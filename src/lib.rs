//! cscp.

pub mod domain;
