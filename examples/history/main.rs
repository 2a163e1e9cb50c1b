//! Whether running cscp servers keep their promises: random clients that get in each other's way, everything that was
//! asked and answered, and rules that all of it together must keep.
//!
//! `cargo run --release --example history -- --url http://127.0.0.1:8080 --key cscp_… --operations 100000 --seed 7`
//!
//! README.md beside this file explains every option, every rule and what is printed.

mod checker;
mod options;
mod report;

use std::io::{IsTerminal, Write};
use std::process::ExitCode;

use clap::Parser;

use options::Options;
use report::Report;

fn main() -> ExitCode {
    match run(&Options::parse()) {
        Ok(()) => ExitCode::SUCCESS,
        Err(what) => {
            eprintln!("history: {what}");
            ExitCode::FAILURE
        }
    }
}

fn run(options: &Options) -> Result<(), String> {
    if options.rules {
        return write(&report::rules());
    }
    let shown = options.progress || std::io::stderr().is_terminal();
    let outcome = checker::run(&options.plan()?, |so_far| {
        if shown {
            let (requests, unanswered) = (so_far.requests, so_far.unanswered);
            let broken = so_far.violations.len();
            eprintln!("{requests} requests, {unanswered} unanswered, {broken} rules broken");
        }
    })?;
    write(&Report(&outcome).to_string())?;
    match outcome.violations.len() {
        0 if outcome.executed == 0 => Err("nothing was executed, so nothing was checked".to_owned()),
        0 if options.require_all && !outcome.not_promised.is_empty() => {
            Err("the servers do not make every promise".to_owned())
        }
        0 => Ok(()),
        count => Err(format!("{count} times a rule was broken")),
    }
}

fn write(text: &str) -> Result<(), String> {
    std::io::stdout().write_all(text.as_bytes()).map_err(|error| format!("the report could not be written: {error}"))
}
