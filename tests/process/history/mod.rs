//! The history checker of `examples/history`, shown to find what it is for: lies of a server, one rule at a time, and
//! nothing where there is none; and then set on servers that are killed, paused and cut off from their database.

mod asking_lies;
mod binding_lies;
mod keeping_lies;
mod killed;
mod lies;
mod proxy;
