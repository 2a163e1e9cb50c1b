//! `cscp policy check`: everything that is wrong with the packs, and what they decide.

use std::path::PathBuf;
use std::process::ExitCode;

use clap::Subcommand;

use super::Failure;
use crate::config::Settings;
use crate::packs::{PackSource, run_cases};

#[derive(Debug, Subcommand)]
pub(crate) enum PolicyCommand {
    /// Check a folder of policy packs, or those that are in force
    Check {
        /// The folder; by default what --policies names, or what the program brings along
        folder: Option<PathBuf>,
        /// Case files (input and expected decision) to run against the packs; can be repeated
        #[arg(long = "cases")]
        cases: Vec<PathBuf>,
    },
}

/// `cscp policy …`.
pub(super) fn run(settings: &Settings, command: &PolicyCommand) -> Result<ExitCode, Failure> {
    let PolicyCommand::Check { folder, cases } = command;
    let source = folder.clone().map_or_else(|| settings.pack_source(), PackSource::Folder);
    let rules = match source.load() {
        Ok(rules) => rules,
        Err(errors) => {
            for error in &errors {
                println!("{error}");
            }
            return Err(Failure::new(format!("{} complaints; nothing was loaded", errors.len())));
        }
    };
    for pack in rules.book().packs() {
        let hash = rules.book().pack(&pack.pack_id).map_or("", |loaded| loaded.reference().hash.as_str());
        println!("{} {}\t{} commands\t{hash}", pack.pack_id, pack.version, pack.commands.len());
    }
    let mut failed = 0;
    for path in cases {
        let name = path.display().to_string();
        let text = std::fs::read_to_string(path).map_err(|error| Failure::new(format!("{name}: {error}")))?;
        let report = run_cases(&name, &text, rules.book()).map_err(Failure::new)?;
        for failure in &report.failures {
            println!("{name}: {failure}");
        }
        println!("{name}: {} passed, {} failed", report.passed, report.failures.len());
        failed += report.failures.len();
    }
    if failed == 0 { Ok(ExitCode::SUCCESS) } else { Err(Failure::new(format!("{failed} cases failed"))) }
}
