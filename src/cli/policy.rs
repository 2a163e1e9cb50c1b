//! `cscp policy …`: checks packs, publishes them, and shows what is published.

use std::fs;
use std::path::{Path, PathBuf};
use std::process::ExitCode;

use clap::Subcommand;

use super::{Failure, counted, open};
use crate::config::Settings;
use crate::domain::id::TenantId;
use crate::domain::policy::{PolicyError, PolicyRef};
use crate::domain::rulebook::Rulebook;
use crate::domain::time::Clock;
use crate::packs::{CaseReport, NamedText, PackSource, run_cases};
use crate::service::{PublishError, Published, publish_policies, withdraw_policies};
use crate::storage::Store;
use crate::system::SystemClock;

/// The longest note, in characters.
const MAX_NOTE: usize = 500;
/// The most versions that are shown.
const MAX_SHOWN: u32 = 200;

#[derive(Debug, Subcommand)]
pub(crate) enum PolicyCommand {
    /// Check a folder of policy packs, with the case files in its folder cases
    Check {
        /// The folder; by default what --policies names, or what the program brings along
        folder: Option<PathBuf>,
        /// Further case files (input and expected decision) to run against the packs; can be repeated
        #[arg(long = "cases")]
        cases: Vec<PathBuf>,
    },
    /// Check a folder of policy packs and put it in force on every server on the database, within seconds
    Publish {
        /// The folder
        folder: PathBuf,
        /// What you have to say about it; kept with the version, so name nobody
        #[arg(long)]
        note: Option<String>,
    },
    /// Show what was published, newest first, or write the files of one version into a folder
    Published {
        /// At most so many versions
        #[arg(long, default_value_t = 20, value_parser = clap::value_parser!(u32).range(1..=i64::from(MAX_SHOWN)))]
        limit: u32,
        /// The version whose files are wanted
        #[arg(long, requires = "into")]
        version: Option<u64>,
        /// A folder that is empty or does not exist
        #[arg(long, requires = "version")]
        into: Option<PathBuf>,
    },
    /// Write the packs, lexicons and cases that the program brings along into a folder, to edit and publish
    Export {
        /// A folder that is empty or does not exist
        #[arg(long)]
        into: PathBuf,
    },
    /// Go back to the packs that the program brings along
    Withdraw {
        /// What you have to say about it; kept with the version, so name nobody
        #[arg(long)]
        note: Option<String>,
    },
}

/// `cscp policy …`.
pub(super) async fn run(settings: &Settings, command: PolicyCommand) -> Result<ExitCode, Failure> {
    if let PolicyCommand::Check { folder, cases } = &command {
        let source = folder.clone().map_or_else(|| settings.pack_source(), PackSource::Folder);
        return check(&source, cases);
    }
    if let PolicyCommand::Export { into } = &command {
        let files = PackSource::Shipped.files().map_err(|errors| complaints(&errors))?;
        write_files(&files.to_paths(), into)?;
        println!("The packs and lexicons that the program brings along are in {}.", into.display());
        println!(
            "Raise `version` in each file that you edit, check the folder with cscp policy check, and publish it."
        );
        return Ok(ExitCode::SUCCESS);
    }
    let store = open::existing(settings).await?;
    match command {
        PolicyCommand::Check { .. } | PolicyCommand::Export { .. } => {}
        PolicyCommand::Publish { folder, note } => {
            let (source, note) = (PackSource::Folder(folder), short(note)?);
            let published = publish_policies(store.as_ref(), &source, note.as_deref(), SystemClock.now()).await;
            say(&published.map_err(refused)?);
        }
        PolicyCommand::Withdraw { note } => {
            let withdrawn = withdraw_policies(store.as_ref(), short(note)?.as_deref(), SystemClock.now()).await;
            say(&withdrawn.map_err(refused)?);
        }
        PolicyCommand::Published { version: Some(version), into: Some(folder), .. } => {
            write_out(store.as_ref(), version, &folder).await?;
        }
        PolicyCommand::Published { limit, .. } => list(store.as_ref(), limit).await?,
    }
    store.close().await;
    Ok(ExitCode::SUCCESS)
}

fn check(source: &PackSource, cases: &[PathBuf]) -> Result<ExitCode, Failure> {
    let files = source.files_with_cases().map_err(|errors| complaints(&errors))?;
    let rules = files.load().map_err(|errors| complaints(&errors))?;
    for pack in rules.book().packs() {
        let hash = rules.book().pack(&pack.pack_id).map_or("", |loaded| loaded.reference().hash.as_str());
        println!("{} {}\t{}\t{hash}", pack.pack_id, pack.version, counted(pack.commands.len(), "command"));
    }
    let mut reports = files.run_cases(rules.book()).map_err(|errors| complaints(&errors))?;
    for path in cases {
        reports.push(run_file(path, &rules)?);
    }
    let mut failed = 0;
    for (name, report) in reports {
        for failure in &report.failures {
            println!("{name}: {failure}");
        }
        println!("{name}: {} passed, {} failed", report.passed, report.failures.len());
        failed += report.failures.len();
    }
    if failed == 0 { Ok(ExitCode::SUCCESS) } else { Err(Failure::new(format!("{} failed", counted(failed, "case")))) }
}

fn run_file(path: &Path, rules: &Rulebook) -> Result<(String, CaseReport), Failure> {
    let name = path.display().to_string();
    let text = fs::read_to_string(path).map_err(|error| Failure::new(format!("{name}: {error}")))?;
    let report = run_cases(&name, &text, rules.book()).map_err(Failure::new)?;
    Ok((name, report))
}

fn complaints(errors: &[PolicyError]) -> Failure {
    for error in errors {
        println!("{error}");
    }
    Failure::new(format!("{}; nothing was loaded", counted(errors.len(), "complaint")))
}

fn short(note: Option<String>) -> Result<Option<String>, Failure> {
    let long = note.as_ref().is_some_and(|note| note.chars().count() > MAX_NOTE || note.contains(char::is_control));
    if long { Err(Failure::new(format!("--note takes one line of at most {MAX_NOTE} characters"))) } else { Ok(note) }
}

fn refused(error: PublishError) -> Failure {
    match error {
        PublishError::Broken(errors) => {
            complaints(&errors);
            Failure::new(format!("{}; nothing was published", counted(errors.len(), "complaint")))
        }
        PublishError::Cases(failures) => {
            for failure in &failures {
                println!("{failure}");
            }
            Failure::new(format!("{} failed; nothing was published", counted(failures.len(), "case")))
        }
        error => Failure::new(error),
    }
}

fn say(published: &Published) {
    published.packs.iter().for_each(print_pack);
    if published.passed > 0 {
        println!("{} passed", counted(published.passed, "case"));
    }
    if published.new {
        println!("This is version {}. Servers without --policies live by it within seconds.", published.version);
    } else {
        println!("Version {} says that already; nothing was published.", published.version);
    }
    if !published.without_pack.is_empty() {
        let tenants: Vec<&str> = published.without_pack.iter().map(TenantId::as_str).collect();
        println!("Attached to a pack that is not among these, so that every command is S3: {}", tenants.join(", "));
    }
}

fn print_pack(pack: &PolicyRef) {
    println!("  {} {}\t{}", pack.pack_id, pack.version, pack.hash);
}

async fn list(store: &dyn Store, limit: u32) -> Result<(), Failure> {
    let versions = store.policy_versions(None, limit).await?;
    if versions.is_empty() {
        println!("Nothing was published; servers without --policies live by the packs that the program brings along.");
    }
    for version in versions {
        let what = version.hash.as_deref().unwrap_or("the packs that the program brings along");
        let note = version.note.map(|note| format!("\t{note}")).unwrap_or_default();
        println!("{}\t{}\t{what}{note}", version.version, version.published_at);
        version.packs.iter().for_each(print_pack);
    }
    Ok(())
}

/// Writes the files of a version to a folder. Evidence names packs by hash, so their texts may be needed years later.
async fn write_out(store: &dyn Store, version: u64, folder: &Path) -> Result<(), Failure> {
    if version == 0 || version > store.policies_version().await? {
        return Err(Failure::new(format!("there is no version {version}; see cscp policy published")));
    }
    let Some(set) = store.policy_set(version).await? else {
        return Err(Failure::new(format!("version {version} went back to the packs that the program brings along")));
    };
    // Parsing the set first refuses paths that lead out of the folder.
    let files = PackSource::Published(set.files).files().map_err(|errors| complaints(&errors))?;
    write_files(&files.to_paths(), folder)?;
    println!("The files of version {version} are in {}.", folder.display());
    Ok(())
}

/// Writes files by their paths into a folder that must be empty or not exist.
fn write_files(files: &[NamedText], folder: &Path) -> Result<(), Failure> {
    let told = |error: std::io::Error| Failure::new(format!("{}: {error}", folder.display()));
    fs::create_dir_all(folder).map_err(told)?;
    if fs::read_dir(folder).map_err(told)?.next().is_some() {
        return Err(Failure::new(format!("{} is not empty", folder.display())));
    }
    for (path, text) in files {
        let path = folder.join(path);
        if let Some(parent) = path.parent() {
            fs::create_dir_all(parent).map_err(told)?;
        }
        fs::write(&path, text).map_err(told)?;
    }
    Ok(())
}
