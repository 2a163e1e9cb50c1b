//! The state layer from outside: readings of utterances, the fold, packs, and StateBench in process.

mod readings;
mod statebench;
mod statebench_readings;
