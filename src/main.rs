//! The `cscp` command.

fn main() {}
