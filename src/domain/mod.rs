//! What the server decides with: pure code, without I/O, clock or randomness.

pub mod lexicon;
