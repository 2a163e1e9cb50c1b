//! The state layer from outside: readings of utterances against cases with known answers.

mod readings;
mod statebench;
mod statebench_readings;
