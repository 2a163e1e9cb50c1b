//! The state layer from outside.

mod statebench;
