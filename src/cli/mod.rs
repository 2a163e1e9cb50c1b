//! The command line: the only place that chooses adapters and assembles the program.

mod backup;
mod control;
mod demo;
mod demo_play;
mod demo_script;
mod first_run;
mod health;
mod lexicon;
mod log;
mod open;
mod ops;
mod policy;
mod purge;
mod replay;
mod serve;
mod sole;
mod speaking;
mod verify;
mod why;

use std::process::ExitCode;

use clap::{Parser, Subcommand};

use crate::config::{ServeSettings, Settings};

/// The memory and the safety catch between a WhatsApp conversation and the commands it triggers (RFC-WF-0034).
#[derive(Debug, Parser)]
#[command(name = "cscp", version, about, args_conflicts_with_subcommands = false)]
pub struct Cli {
    // First, because a heading goes on until the next one.
    #[command(flatten)]
    serve: ServeSettings,
    #[command(flatten)]
    settings: Settings,
    #[command(subcommand)]
    command: Option<Command>,
}

#[derive(Debug, Subcommand)]
enum Command {
    /// Run the server (what happens without a command, too)
    Serve(ServeSettings),
    /// Bring the database's schema up to date and stop
    Migrate(open::MigrateArguments),
    /// Create, list, disable or enable tenants, or attach them to a policy pack
    #[command(subcommand)]
    Tenant(control::TenantCommand),
    /// Create, list or revoke API keys
    #[command(subcommand)]
    Key(control::KeyCommand),
    /// Check policy packs, or publish them for every server on the database
    #[command(subcommand)]
    Policy(policy::PolicyCommand),
    /// Show how a text reads as an answer, and why
    #[command(subcommand)]
    Lexicon(lexicon::LexiconCommand),
    /// Verify a bundle, a running server's log or the database, and name what does not fit
    Verify(verify::VerifyArguments),
    /// Fold the evidence log anew and compare what follows from it with the rows that are there
    Replay(replay::ReplayArguments),
    /// Have everything go that is past its time by the policy packs, or say what would
    Purge(purge::PurgeArguments),
    /// Copy a SQLite database while it is in use
    Backup(backup::BackupArguments),
    /// Ask a server whether it is ready
    Health(health::HealthArguments),
    /// Play a short WhatsApp conversation against a temporary server and show what each message meant
    Demo,
}

/// Why a command failed, as a sentence for a person.
#[derive(Debug, thiserror::Error)]
#[error("{0}")]
pub(crate) struct Failure(String);

impl Failure {
    fn new(what: impl std::fmt::Display) -> Self {
        Self(what.to_string())
    }
}

impl From<crate::storage::StorageError> for Failure {
    fn from(error: crate::storage::StorageError) -> Self {
        Self::new(error)
    }
}

/// A number of things, in words: "1 case", "2 cases".
fn counted(number: impl TryInto<u64>, thing: &str) -> String {
    let number = number.try_into().unwrap_or(u64::MAX);
    format!("{number} {thing}{}", if number == 1 { "" } else { "s" })
}

/// Runs the command; errors go to standard error.
#[must_use]
pub fn run(cli: Cli) -> ExitCode {
    let runtime = match tokio::runtime::Builder::new_multi_thread().enable_all().build() {
        Ok(runtime) => runtime,
        Err(error) => return fail(&Failure::new(error)),
    };
    let serves = matches!(cli.command, None | Some(Command::Serve(_)));
    let unasked = if serves { "info" } else { "error" };
    if let Err(error) = crate::telemetry::start_logging(&cli.settings, unasked) {
        return fail(&Failure::new(error));
    }
    let settings = cli.settings;
    let outcome = runtime.block_on(async {
        match cli.command {
            None => serve::serve(&settings, &cli.serve).await,
            Some(Command::Serve(serve)) => serve::serve(&settings, &serve).await,
            Some(Command::Migrate(arguments)) => open::migrate(&settings, &arguments).await,
            Some(Command::Tenant(command)) => control::tenant(&settings, command).await,
            Some(Command::Key(command)) => control::key(&settings, command).await,
            Some(Command::Policy(command)) => policy::run(&settings, command).await,
            Some(Command::Lexicon(command)) => lexicon::run(&settings, &command),
            Some(Command::Verify(arguments)) => Ok(verify::run(&settings, &arguments).await),
            Some(Command::Replay(arguments)) => Ok(replay::run(&settings, &arguments).await),
            Some(Command::Purge(arguments)) => purge::run(&settings, &arguments).await,
            Some(Command::Backup(arguments)) => backup::run(&settings, &arguments).await,
            Some(Command::Health(arguments)) => health::run(cli.serve.listen, &arguments).await,
            Some(Command::Demo) => demo::run(&settings).await,
        }
    });
    match outcome {
        Ok(code) => code,
        Err(failure) => fail(&failure),
    }
}

fn fail(failure: &Failure) -> ExitCode {
    eprintln!("cscp: {failure}");
    ExitCode::FAILURE
}
