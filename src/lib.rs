//! cscp.
