//! A history with everything in it, its bundles, and both verifiers.

use std::io::Write as _;
use std::process::{Command, Stdio};
use std::sync::OnceLock;

use cscp::domain::operation::CredentialKind;
use cscp::domain::scope::Scope;
use cscp::evidence::auditing::{Asked, Trusted};
use cscp::evidence::note::VerifierKey;
use cscp::service::BundleCheck;
use serde_json::{Value, json};

use crate::client::Client;
use crate::house::House;
use crate::spaces::{at, write, written};

/// The second verifier.
const PYTHON: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/clients/python/cscp_verify.py");

/// Commands, a refusal, facts of which one was deleted, principals, and people who looked.
pub(crate) async fn history(house: &House, tenant: &str) {
    let handler = house.handler(tenant).await;
    for conversation in ["conv", "other"] {
        let (context, bind) = house.confirmed(&handler, conversation).await;
        let path = format!("/v1/contexts/{context}");
        let etag = handler.get(&path).await.expect(200).header("etag").unwrap().to_owned();
        let change = handler.ask("PATCH", &format!("{path}/slots")).header("if-match", &etag);
        change.valid(&json!({"x_note": {"street": "Main street", "number": 1.0}})).send().await.expect(200);
        let commands = format!("/v1/contexts/{context}/commands");
        let mut wrong = bind.clone();
        wrong["target"]["address_id"] = json!("address-2");
        handler.post(&commands, wrong).await.problem(409, "target_mismatch");
        let bound = handler.post(&commands, bind).await.expect(201);
        let results = format!("/v1/commands/{}/results", bound.text("/command_id"));
        handler
            .post(&results, json!({"status": "DONE", "outcome": "succeeded", "summary": "to Main street"}))
            .await
            .expect(201);
    }
    let uid = write(&handler, "s", json!({"key": "address", "value": "Main street 12"})).await.text("/fact/uid");
    written(&handler, "s", "colour", "blue").await;
    handler.ask("DELETE", &at("s", &format!("/facts/{uid}"))).send().await.expect(200);
    sequence(house).await;
}

/// Has everything that waits find its place and signed.
pub(crate) async fn sequence(house: &House) {
    while house.service.transparency().sequence_once().await.unwrap() > 0 {}
}

/// An auditor who sees what is redacted, and one who sees it raw.
pub(crate) async fn auditors(house: &House, tenant: &str) -> (Client, Client) {
    let raw: Option<&[Scope]> = Some(&[Scope::EvidenceRead, Scope::OocRaw]);
    let redacted = house.client(tenant, CredentialKind::Auditor, None, None).await;
    (redacted, house.client(tenant, CredentialKind::Auditor, raw, None).await)
}

/// A bundle, line by line.
pub(crate) async fn export(client: &Client, wanted: Value) -> Vec<String> {
    let got = client.post("/v1/evidence/export", wanted).await.expect(200);
    assert_eq!(got.header("content-type"), Some("application/x-ndjson"));
    let text = got.body.as_str().unwrap();
    assert!(text.ends_with('\n'));
    text.lines().map(str::to_owned).collect()
}

/// What an auditor knows: the keys, and a checkpoint.
pub(crate) async fn known(auditor: &Client) -> Trusted {
    let got = auditor.get("/v1/evidence/checkpoint").await.expect(200).body;
    let keys = got["keys"].as_array().unwrap().iter().map(|key| VerifierKey::parse(key.as_str().unwrap()).unwrap());
    Trusted { keys: keys.collect(), kept: Some(got["note"].as_str().unwrap().to_owned()), ..Trusted::default() }
}

/// The report of our own verifier, which is the other one's too.
pub(crate) fn verified(lines: &[String], trusted: &Trusted) -> Value {
    let bundle = joined(lines);
    let report = ours(&bundle, trusted);
    if python_is_there() {
        let other = theirs(&bundle, trusted);
        assert_eq!(other, report, "the two verifiers disagree");
    }
    report
}

/// Lines as one text.
pub(crate) fn joined(lines: &[String]) -> String {
    lines.iter().flat_map(|line| [line.as_str(), "\n"]).collect()
}

/// A setting of these tests.
#[expect(clippy::disallowed_methods, reason = "tests have settings of their own")]
pub(crate) fn setting(name: &str) -> Option<String> {
    std::env::var(name).ok()
}

/// Line and code of each fault.
pub(crate) fn faults(report: &Value) -> Vec<(u64, String)> {
    let faults = report["faults"].as_array().unwrap().iter();
    faults.map(|fault| (fault["line"].as_u64().unwrap(), fault["code"].as_str().unwrap().to_owned())).collect()
}

pub(crate) fn ours(bundle: &str, trusted: &Trusted) -> Value {
    let mut check = BundleCheck::new(trusted.clone());
    // Cut where nothing ends, as a network does it.
    bundle.as_bytes().chunks(1_000).for_each(|chunk| check.feed(chunk));
    let report = check.finish();
    let mut told = serde_json::to_value(&report).unwrap();
    told["sound"] = json!(report.is_sound());
    told
}

fn python() -> String {
    setting("CSCP_TEST_PYTHON").unwrap_or_else(|| "python3".to_owned())
}

/// Whether the second verifier can run. Without it the comparison is skipped, loudly, unless it is required.
pub(crate) fn python_is_there() -> bool {
    static THERE: OnceLock<bool> = OnceLock::new();
    *THERE.get_or_init(|| {
        let tried = Command::new(python()).args([PYTHON, "--help"]).output();
        let there = tried.is_ok_and(|output| output.status.success());
        let required = setting("CSCP_REQUIRE_PYTHON").is_some_and(|value| value == "1");
        assert!(there || !required, "CSCP_REQUIRE_PYTHON=1 and no Python 3 with `cryptography`");
        if !there {
            eprintln!("SKIPPED: the second verifier needs Python 3 with `cryptography` (CSCP_TEST_PYTHON)");
        }
        there
    })
}

pub(crate) fn theirs(bundle: &str, trusted: &Trusted) -> Value {
    let folder = tempfile::tempdir().unwrap();
    let mut command = Command::new(python());
    command.args([PYTHON, "--json", "-"]).stdin(Stdio::piped()).stdout(Stdio::piped());
    for key in &trusted.keys {
        command.args(["--key", &key.to_string()]);
    }
    if trusted.keys.is_empty() {
        command.arg("--unauthenticated");
    }
    for witness in &trusted.witnesses {
        command.args(["--witness", &witness.to_string()]);
    }
    for (name, value) in trusted.asked.iter().flat_map(Asked::members) {
        command.args(["--expect", &format!("{name}={value}")]);
    }
    if trusted.asked.as_ref().is_some_and(|asked| asked.members().is_empty()) {
        command.args(["--expect", "whole"]);
    }
    if let Some(kept) = &trusted.kept {
        let path = folder.path().join("kept");
        std::fs::write(&path, kept).unwrap();
        command.arg("--kept").arg(path);
    }
    let mut child = command.spawn().unwrap();
    let mut input = child.stdin.take().unwrap();
    let bytes = bundle.as_bytes().to_vec();
    let writer = std::thread::spawn(move || input.write_all(&bytes));
    let output = child.wait_with_output().unwrap();
    writer.join().unwrap().unwrap();
    let told: Value = serde_json::from_slice(&output.stdout).unwrap();
    assert_eq!(output.status.code(), Some(i32::from(told["sound"] != json!(true))));
    told
}

/// The second verifier's exit code and what it prints, of a bundle in a file.
pub(crate) fn their_answer(bundle: &str, arguments: &[&str]) -> (Option<i32>, String) {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("bundle");
    std::fs::write(&path, bundle).unwrap();
    let output = Command::new(python()).arg(PYTHON).arg(&path).args(arguments).output().unwrap();
    let printed = [output.stdout, output.stderr].concat();
    (output.status.code(), String::from_utf8(printed).unwrap())
}
