//! The state layer from outside.
