//! The `cscp` command.

use std::process::ExitCode;

use clap::Parser;

/// Parsing and printing dominate what is not the database; this allocator does both in less time.
#[global_allocator]
static ALLOCATOR: mimalloc::MiMalloc = mimalloc::MiMalloc;

fn main() -> ExitCode {
    cscp::cli::run(cscp::cli::Cli::parse())
}
