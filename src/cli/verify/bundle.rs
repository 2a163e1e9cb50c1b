//! Bundles, from a file or from a server.

use std::io::Read;
use std::path::Path;

use serde_json::json;

use super::{Failure, VerifyArguments};
use crate::evidence::auditing::{BundleReport, Trust};
use crate::evidence::checkpoint::Checkpoint;
use crate::service::BundleCheck;

/// Bytes read at once.
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

/// The whole log of a tenant, as a server gives it out.
pub(super) async fn server(url: &str, arguments: &VerifyArguments) -> Result<bool, Failure> {
    let trusted = arguments.trusted()?;
    let missing = || Failure::new("put an API key with the scope evidence:read into CSCP_API_KEY");
    let key = arguments.api_key.as_ref().ok_or_else(missing)?;
    let wanted = match &trusted.kept {
        Some(kept) => json!({"consistent_from": size_of(kept)?}),
        None => json!({}),
    };
    let failed = |error: reqwest::Error| Failure::new(format!("the server does not answer: {}", error.without_url()));
    let address = format!("{}/v1/evidence/export", url.trim_end_matches('/'));
    let client = reqwest::Client::new();
    let ask = |wanted| client.post(&address).bearer_auth(key).json(wanted).send();
    let mut answer = ask(&wanted).await.map_err(failed)?;
    // A log that is shorter than what was kept has no proof of it. What it does have says that it went back.
    if answer.status() == reqwest::StatusCode::NOT_FOUND && trusted.kept.is_some() {
        answer = ask(&json!({})).await.map_err(failed)?;
    }
    if !answer.status().is_success() {
        let status = answer.status();
        let problem: Option<serde_json::Value> = answer.json().await.ok();
        let detail = problem.as_ref().and_then(|problem| problem.get("detail")).and_then(serde_json::Value::as_str);
        return Err(Failure::new(format!("the server answers {status}: {}", detail.unwrap_or("no bundle"))));
    }
    let mut check = BundleCheck::new(trusted);
    // A bundle that was cut off lacks its end, and that is told.
    while let Ok(Some(chunk)) = answer.chunk().await {
        check.feed(&chunk);
    }
    Ok(tell(&check.finish(), arguments))
}

/// The size that a kept checkpoint names. Whether it is signed is found out with the bundle.
fn size_of(note: &str) -> Result<u64, Failure> {
    let body = note.split_inclusive("\n\n").next().and_then(|body| body.strip_suffix('\n'));
    let checkpoint = body.and_then(|body| Checkpoint::parse(body).ok());
    checkpoint.map(|checkpoint| checkpoint.size()).ok_or_else(|| Failure::new("--kept is no checkpoint"))
}

fn tell(report: &BundleReport, arguments: &VerifyArguments) -> bool {
    if arguments.json {
        let mut told = serde_json::to_value(report).unwrap_or_default();
        told["sound"] = report.is_sound().into();
        println!("{told}");
    } else {
        as_text(report);
    }
    report.is_sound()
}

fn as_text(report: &BundleReport) {
    println!("log {}, {} leaves", report.origin, report.size);
    println!("  {} entries in {} chains, each in the signed tree", report.entries, report.streams);
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
    if report.trust == Trust::Bundle {
        println!("  The keys are those that the bundle names. Compare them with what you know: --key VKEY");
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
    if report.is_sound() {
        println!("Everything in it holds.");
    } else {
        println!("{} things in it do not fit.", report.count);
    }
}
