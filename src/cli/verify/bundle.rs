//! Verifies bundles from a file or from a server.

use std::io::Read;
use std::path::Path;

use serde_json::{Value, json};

use super::super::why;
use super::{Failure, VerifyArguments};
use crate::domain::id::Entropy as _;
use crate::evidence::auditing::{Asked, BundleReport, Completeness, Trust};
use crate::evidence::checkpoint::Checkpoint;
use crate::service::BundleCheck;
use crate::system::SystemEntropy;

/// Bytes per read.
const CHUNK: usize = 1 << 20;

/// A file, or standard input.
pub(super) fn file(path: &Path, arguments: &VerifyArguments) -> Result<bool, Failure> {
    let trusted = arguments.trusted()?;
    let failed = |error: std::io::Error| Failure::new(format!("{}: {error}", path.display()));
    let mut reader: Box<dyn Read> = if path.as_os_str() == "-" {
        Box::new(std::io::stdin().lock())
    } else {
        Box::new(std::fs::File::open(path).map_err(failed)?)
    };
    let mut check = BundleCheck::new(trusted);
    let mut chunk = vec![0; CHUNK];
    loop {
        match reader.read(&mut chunk) {
            Ok(0) => return Ok(tell(&check.finish(), arguments)),
            Ok(count) => check.feed(chunk.get(..count).unwrap_or_default()),
            Err(error) if error.kind() == std::io::ErrorKind::Interrupted => {}
            Err(error) => return Err(failed(error)),
        }
    }
}

/// The request to a server, and the answer that is required: it must contain the request's nonce, so that without the
/// log's key nobody can answer with an older or smaller bundle.
fn request(arguments: &VerifyArguments, kept: Option<u64>) -> Result<(Value, Asked), Failure> {
    let asked = arguments.asked()?.with_nonce(hex::encode(SystemEntropy.bytes()));
    let mut wanted = json!(asked.members());
    if let Some(size) = kept {
        wanted["consistent_from"] = size.into();
    }
    Ok((wanted, asked))
}

/// Verifies what `--expect` names of a tenant's log, or the whole log, from a running server.
pub(super) async fn server(url: &str, arguments: &VerifyArguments) -> Result<bool, Failure> {
    let mut trusted = arguments.trusted()?;
    let missing = || Failure::new("put an API key with the scope evidence:read into CSCP_API_KEY");
    let key = arguments.api_key.as_ref().ok_or_else(missing)?;
    let kept = trusted.kept.as_deref().map(size_of).transpose()?;
    let (mut wanted, asked) = request(arguments, kept)?;
    trusted.asked = Some(asked);
    let address = format!("{}/v1/evidence/export", url.trim_end_matches('/'));
    let failed = |error| {
        let (shown, why) = (why::shown(&address), why::of_request(error));
        Failure::new(format!("no answer from {shown}: {why}"))
    };
    let client = reqwest::Client::new();
    let ask = |wanted: &Value| client.post(&address).bearer_auth(key).json(wanted).send();
    let mut answer = ask(&wanted).await.map_err(failed)?;
    // A log that is smaller than the kept checkpoint has no consistency proof. Its newest checkpoint shows the
    // rollback.
    if answer.status() == reqwest::StatusCode::NOT_FOUND && trusted.kept.is_some() {
        wanted["consistent_from"] = Value::Null;
        answer = ask(&wanted).await.map_err(failed)?;
    }
    if !answer.status().is_success() {
        let status = answer.status();
        let problem: Option<serde_json::Value> = answer.json().await.ok();
        let detail = problem.as_ref().and_then(|problem| problem.get("detail")).and_then(serde_json::Value::as_str);
        return Err(Failure::new(format!("the server answers {status}: {}", detail.unwrap_or("no bundle"))));
    }
    let mut check = BundleCheck::new(trusted);
    // A truncated bundle lacks its last line, which is reported.
    while let Ok(Some(chunk)) = answer.chunk().await {
        check.feed(&chunk);
    }
    Ok(tell(&check.finish(), arguments))
}

/// The size of a kept checkpoint. Its signature is verified together with the bundle.
fn size_of(note: &str) -> Result<u64, Failure> {
    let body = note.split_inclusive("\n\n").next().and_then(|body| body.strip_suffix('\n'));
    let checkpoint = body.and_then(|body| Checkpoint::parse(body).ok());
    checkpoint.map(|checkpoint| checkpoint.size()).ok_or_else(|| Failure::new("--kept is no checkpoint"))
}

/// Prints the result. The bundle is accepted if everything is valid and a trusted key has signed it.
fn tell(report: &BundleReport, arguments: &VerifyArguments) -> bool {
    let accepted = report.is_sound() && (report.trust == Trust::Given || arguments.unauthenticated);
    if arguments.json {
        let mut told = serde_json::to_value(report).unwrap_or_default();
        told["sound"] = accepted.into();
        println!("{told}");
    } else {
        as_text(report);
        verdict(report, arguments);
    }
    accepted
}

fn as_text(report: &BundleReport) {
    println!("log {}, {} leaves", report.origin, report.size);
    println!("  asked for: {}", of(report));
    let in_tree = if report.in_tree == report.entries { "each".to_owned() } else { report.in_tree.to_string() };
    println!("  {} entries in {} chains, {in_tree} shown to be in the signed tree", report.entries, report.streams);
    println!("  {} payloads are what was committed to; {} were erased", report.proven, report.erased);
    if report.shown > 0 {
        println!(
            "  {} entries tell more than their header that nothing here proves: redacted for their reader",
            report.shown
        );
    }
    println!(
        "  {} context frames, {} of them proven; {} policy packs",
        report.frames, report.frames_proven, report.policies
    );
    if report.waiting > 0 {
        println!("  {} entries were not in the log's checkpoint yet; ask again for them", report.waiting);
    }
    for found in &report.found {
        let of = |name: &str, value: Option<String>| value.map_or_else(String::new, |value| format!(" {name} {value}"));
        println!(
            "  BROKEN line {} ({}){}{}{}: {}",
            found.line,
            found.flaw.code(),
            of("entry", found.artifact_id.clone()),
            of("chain", found.stream_id.clone()),
            of("place", found.seq.map(|seq| seq.to_string())),
            found.flaw
        );
    }
}

/// The bundle's own statement of what was asked for.
fn of(report: &BundleReport) -> String {
    let named: Vec<String> = report
        .selection
        .iter()
        .filter(|(name, _)| **name != "nonce")
        .map(|(name, value)| format!("{name}={value}"))
        .collect();
    if named.is_empty() { "the whole log".to_owned() } else { named.join(" ") }
}

fn verdict(report: &BundleReport, arguments: &VerifyArguments) {
    if !report.is_sound() {
        return println!("{} things in it do not fit.", report.count);
    }
    println!("  {}", completeness(report.completeness));
    if report.trust == Trust::Given {
        return println!("Everything in it holds.");
    }
    println!("It is self-consistent, and signed by nobody you named: anybody could have made it.");
    if !arguments.unauthenticated {
        println!("Name the log's key (--key VKEY), or accept it as it is (--unauthenticated).");
    }
}

/// How far the bundle proves that nothing was left out.
fn completeness(shown: Completeness) -> &'static str {
    match shown {
        Completeness::Whole => "complete: every leaf of the tree is here",
        Completeness::Chains => {
            "complete for the chains that the first line names, up to where the log's signer says that they end; of what \
             other chains tell about the same, some may be missing"
        }
        Completeness::ChainsWithoutEnd => {
            "no entry is missing between the first and the last of a chain, but where the chains end is not stated: an \
             older version wrote this bundle"
        }
        Completeness::NotShown => {
            "a selection: every entry is genuine, but nothing shows that none was left out; the whole log would show it"
        }
    }
}
