//! Every way of changing a bundle is found, by both verifiers, at the line where it shows.

use cscp::domain::canonical::{Digest, Purpose, hash};
use cscp::evidence::auditing::Trusted;
use cscp::evidence::checkpoint::Checkpoint;
use cscp::evidence::note::SigningKey;
use proptest::prelude::*;
use proptest::test_runner::{Config, TestRunner};
use serde_json::{Value, json};
use sha2::Digest as _;

use crate::bundles::{auditors, export, faults, history, joined, known, setting, verified};
use crate::house::House;

/// A bundle that somebody meddles with.
#[derive(Clone)]
pub(crate) struct Bundle(pub(crate) Vec<Value>);

impl Bundle {
    pub(crate) fn read(lines: &[String]) -> Self {
        Self(lines.iter().map(|line| serde_json::from_str(line).unwrap()).collect())
    }

    /// The lines as whoever meddles would write them: counted and hashed anew, though not signed.
    fn resealed(&self) -> Vec<String> {
        let mut lines = self.0.clone();
        let count = |kind: &str| lines.iter().filter(|line| line.get(kind).is_some()).count();
        let (entries, frames) = (count("entry"), count("frame"));
        for line in &mut lines {
            if let Some(summary) = line.get_mut("summary") {
                summary["entries"] = json!(entries);
                summary["frames"] = json!(frames);
            }
        }
        let mut texts: Vec<String> = lines.iter().map(Value::to_string).collect();
        if let Some(end) = lines.iter().position(|line| line.get("end").is_some()) {
            let mut hasher = sha2::Sha256::new();
            texts[..end].iter().for_each(|line| hasher.update(format!("{line}\n")));
            lines[end]["end"]["sha256"] = json!(format!("sha256:{}", hex::encode(hasher.finalize())));
            texts[end] = lines[end].to_string();
        }
        texts
    }

    /// The lines as whoever has this key would write them: counted, hashed and signed.
    pub(crate) fn signed(&self, key: &SigningKey) -> Vec<String> {
        let mut lines = self.resealed();
        let opening = &self.0[0]["bundle"];
        let end: Value = serde_json::from_str(lines.last().unwrap()).unwrap();
        let (digest, before) = (end["end"]["sha256"].as_str().unwrap(), lines.len() - 1);
        let [format, origin] = ["format", "origin"].map(|name| opening[name].as_str().unwrap());
        let text = format!("{format}\n{origin}\n{before} lines\n{digest}\n");
        let note = cscp::evidence::note::sign(&text, std::slice::from_ref(key)).unwrap();
        *lines.last_mut().unwrap() = json!({"end": {"sha256": digest, "note": note}}).to_string();
        lines
    }

    /// The place of the n-th entry of the longest chain.
    pub(crate) fn entry(&self, place: u64) -> usize {
        let stream = self.longest();
        let is = |line: &Value| {
            let artifact = &line["entry"]["artifact"];
            artifact["stream_id"] == *stream && artifact["seq"] == place
        };
        self.0.iter().position(is).unwrap()
    }

    fn longest(&self) -> String {
        let newest = self.0.iter().filter_map(|line| line.get("entry")).max_by_key(|e| e["artifact"]["seq"].as_u64());
        newest.unwrap()["artifact"]["stream_id"].as_str().unwrap().to_owned()
    }

    pub(crate) fn length(&self) -> u64 {
        let stream = self.longest();
        let own = self.0.iter().filter(|line| line["entry"]["artifact"]["stream_id"] == *stream);
        own.filter_map(|line| line["entry"]["artifact"]["seq"].as_u64()).max().unwrap()
    }

    pub(crate) fn line(&self, kind: &str) -> usize {
        self.0.iter().position(|line| line.get(kind).is_some()).unwrap()
    }
}

/// Another hexadecimal digit at the end of a text, or another letter.
fn flipped(value: &Value) -> Value {
    let mut text = value.as_str().unwrap().to_owned();
    let last = text.pop().unwrap();
    text.push(if last == '0' { '1' } else { '0' });
    json!(text)
}

fn edit(bundle: &mut Bundle, line: usize, pointer: &str, change: impl Fn(&Value) -> Value) {
    let value = bundle.0[line].pointer_mut(pointer).unwrap_or_else(|| panic!("no {pointer}"));
    *value = change(value);
}

/// The header with other words, and the hash made to fit.
pub(crate) fn rehashed(bundle: &mut Bundle, line: usize, from: &str, to: &str) {
    let entry = &mut bundle.0[line]["entry"];
    let header = entry["header"].as_str().unwrap().replace(from, to);
    assert_ne!(header, entry["header"], "{from} stands in the header");
    let digest = |name: &str| Digest::from_hex(entry[name].as_str().unwrap().trim_start_matches("sha256:")).unwrap();
    let (prev, commitment) = (digest("prev_hash"), digest("payload_commitment"));
    let own = hash(Purpose::Entry, &[prev.as_bytes(), header.as_bytes(), commitment.as_bytes()]).prefixed();
    entry["header"] = json!(header);
    entry["entry_hash"] = json!(own);
    entry["artifact"]["hash"] = json!(own);
}

/// What a change comes to: a line, counted from the one that was changed, or -1 for the summary, and a code; the signature
/// of the end fails each time. Whoever meddles has counted lines that nobody can read.
type Case = (&'static str, fn(&mut Bundle, usize), &'static [(i64, &'static str)]);

const CASES: &[Case] = &[
    (
        "a word of the header",
        |b, i| edit(b, i, "/entry/header", |h| json!(h.as_str().unwrap().replace("\"v\":1", "\"v\": 1"))),
        &[(0, "entry_hash")],
    ),
    ("the link", |b, i| edit(b, i, "/entry/prev_hash", flipped), &[(0, "entry_hash")]),
    ("the commitment", |b, i| edit(b, i, "/entry/payload_commitment", flipped), &[(0, "entry_hash")]),
    ("the hash", |b, i| edit(b, i, "/entry/entry_hash", flipped), &[(0, "entry_hash")]),
    (
        "a hash in capitals",
        |b, i| edit(b, i, "/entry/entry_hash", |h| json!(h.as_str().unwrap().to_uppercase())),
        &[(0, "entry_hash")],
    ),
    ("the header and its hash", |b, i| rehashed(b, i, "\"v\":1", "\"v\": 1"), &[(0, "not_in_log")]),
    ("the time and its hash", |b, i| rehashed(b, i, "2026-", "2025-"), &[(0, "not_in_log")]),
    ("another version", |b, i| rehashed(b, i, "\"v\":1", "\"v\":2"), &[(0, "header"), (1, "gap")]),
    ("a header that is none", |b, i| edit(b, i, "/entry/header", |_| json!("{}")), &[(0, "header"), (1, "gap")]),
    ("a header that says it twice", |b, i| rehashed(b, i, "\"v\":1", "\"v\":1,\"v\":1"), &[(0, "header"), (1, "gap")]),
    ("a time without a zone", |b, i| rehashed(b, i, "Z\"", "\""), &[(0, "header")]),
    ("another tenant", |b, i| rehashed(b, i, "\"tenant_id\":\"a\"", "\"tenant_id\":\"b\""), &[(0, "foreign")]),
    (
        "the place in the tree",
        |b, i| edit(b, i, "/entry/leaf_index", |n| json!(n.as_u64().unwrap() ^ 1)),
        &[(0, "not_in_log")],
    ),
    (
        "a place outside the tree",
        |b, i| edit(b, i, "/entry/leaf_index", |_| json!(9_007_199_254_740_991_u64)),
        &[(0, "not_in_log")],
    ),
    (
        "a place that readers round",
        |b, i| edit(b, i, "/entry/leaf_index", |_| json!(9_007_199_254_740_992_u64)),
        &[(0, "line"), (1, "gap"), (-1, "count")],
    ),
    ("a hash of the proof", |b, i| edit(b, i, "/entry/proof/0", flipped), &[(0, "not_in_log")]),
    (
        "a proof that is too short",
        |b, i| edit(b, i, "/entry/proof", |p| json!(p.as_array().unwrap()[1..])),
        &[(0, "not_in_log")],
    ),
    (
        "a proof that is too long",
        |b, i| edit(b, i, "/entry/proof", |p| json!([p.as_array().unwrap().as_slice(), &[p[0].clone()]].concat())),
        &[(0, "not_in_log")],
    ),
    (
        "the payload",
        |b, i| edit(b, i, "/entry/payload", |p| json!(format!("{} ", p.as_str().unwrap()))),
        &[(0, "payload")],
    ),
    ("the salt", |b, i| edit(b, i, "/entry/salt", flipped), &[(0, "payload")]),
    ("no salt", |b, i| drop(b.0[i]["entry"].as_object_mut().unwrap().remove("salt")), &[(0, "payload")]),
    ("no payload", |b, i| drop(b.0[i]["entry"].as_object_mut().unwrap().remove("payload")), &[(0, "payload")]),
    (
        "neither",
        |b, i| b.0[i]["entry"].as_object_mut().unwrap().retain(|name, _| name != "salt" && name != "payload"),
        &[],
    ),
    ("what the artifact is of", |b, i| edit(b, i, "/entry/artifact/type", flipped), &[(0, "artifact")]),
    ("when the artifact is of", |b, i| edit(b, i, "/entry/artifact/occurred_at", flipped), &[(0, "artifact")]),
    (
        "whom the artifact is about",
        |b, i| b.0[i]["entry"]["artifact"]["actor_id"] = json!("somebody"),
        &[(0, "artifact")],
    ),
    ("what the artifact tells", |b, i| b.0[i]["entry"]["artifact"]["data"]["more"] = json!(1), &[(0, "artifact")]),
    ("that it was erased", |b, i| b.0[i]["entry"]["artifact"]["erased"] = json!(true), &[(0, "artifact")]),
    ("an entry with a stranger", |b, i| b.0[i]["entry"]["more"] = json!(1), &[(0, "line"), (1, "gap"), (-1, "count")]),
    ("a line with a stranger", |b, i| b.0[i]["more"] = json!(1), &[(0, "line"), (1, "gap"), (-1, "count")]),
    ("an entry left out", |b, i| drop(b.0.remove(i)), &[(0, "gap")]),
    ("an entry twice", |b, i| b.0.insert(i, b.0[i].clone()), &[(1, "sequence")]),
];

/// The faults that are expected, at their lines.
fn expected(bundle: &Bundle, line: usize, case: &[(i64, &str)]) -> Vec<(u64, String)> {
    let summary = i64::try_from(bundle.line("summary")).unwrap() + 1;
    let at = |place: i64| if place < 0 { summary } else { i64::try_from(line).unwrap() + 1 + place };
    let mut faults: Vec<(u64, String)> =
        case.iter().map(|(place, code)| (at(*place).unsigned_abs(), (*code).to_owned())).collect();
    faults.push((summary.unsigned_abs() + 1, "signature".to_owned()));
    faults
}

#[tokio::test]
async fn every_change_of_an_entry_is_found_where_it_is() {
    let house = House::new().await;
    history(&house, "a").await;
    let (auditor, raw) = auditors(&house, "a").await;
    let trusted = Trusted { kept: None, ..known(&auditor).await };
    let bundle = Bundle::read(&export(&raw, json!({"conversation_id": "conv", "payloads": "full"})).await);
    assert_eq!(
        faults(&verified(&bundle.resealed(), &trusted)).len(),
        1,
        "written by another, though with the same words"
    );
    // Of the whole conversation, so that what is missing shows; in the middle, with a payload and others around it.
    let line = bundle.entry(3);
    assert!(bundle.0[line + 1].get("entry").is_some() && bundle.length() > 6);
    for (name, change, found) in CASES {
        let mut changed = bundle.clone();
        change(&mut changed, line);
        let report = verified(&changed.resealed(), &trusted);
        let (told, wanted) = (faults(&report), expected(&changed, line, found));
        assert_eq!(told, wanted, "{name}: {report:#}");
        let named = report["faults"][0]["artifact_id"].clone();
        let artifact = &bundle.0[line]["entry"]["artifact"]["artifact_id"];
        let next = &bundle.0[line + 1]["entry"]["artifact"]["artifact_id"];
        if !found.is_empty() && !["header", "line"].contains(&told[0].1.as_str()) {
            assert!(named == *artifact || told[0].1 == "gap" && named == *next, "{name}: {named}");
        }
    }
}

#[tokio::test]
async fn what_is_not_an_entry_cannot_be_changed_either() {
    let house = House::new().await;
    history(&house, "a").await;
    history(&house, "b").await;
    let (auditor, raw) = auditors(&house, "a").await;
    let trusted = Trusted { kept: None, ..known(&auditor).await };
    let bundle = Bundle::read(&export(&raw, json!({"payloads": "full"})).await);
    let other = Bundle::read(&export(&auditors(&house, "b").await.1, json!({"payloads": "full"})).await);
    let first = |changed: &Bundle| {
        let told = faults(&verified(&changed.resealed(), &trusted));
        assert!(told.iter().any(|(_, code)| ["signature", "truncated"].contains(&code.as_str())), "{told:?}");
        told[0].clone()
    };
    let place = |line: usize| u64::try_from(line).unwrap() + 1;
    let edits: [(&str, &str, &str); 7] = [
        ("bundle", "/bundle/format", "not_a_bundle"),
        ("keys", "/keys/0", "key"),
        ("checkpoint", "/checkpoint", "checkpoint"),
        ("policy", "/policy/document", "policy"),
        ("frame", "/frame/frame", "frame"),
        ("frame", "/frame/salt", "frame"),
        ("frame", "/frame/context_hash", "frame"),
    ];
    for (kind, pointer, code) in edits {
        let (mut changed, line) = (bundle.clone(), bundle.line(kind));
        edit(&mut changed, line, pointer, |text| json!(text.as_str().unwrap().replacen(['a', '1', '2'], "z", 1)));
        assert_eq!(first(&changed), (place(line), code.to_owned()), "{pointer}");
    }
    let (mut changed, at) = (bundle.clone(), bundle.entry(2));
    changed.0.insert(at, other.0[other.entry(2)].clone());
    assert_eq!(first(&changed), (place(at), "foreign".to_owned()), "an entry of another tenant");
    let mut changed = bundle.clone();
    changed.0[bundle.line("checkpoint")] = other.0[other.line("checkpoint")].clone();
    assert_eq!(first(&changed), (place(bundle.line("checkpoint")), "checkpoint".to_owned()), "another log's");
    let (mut changed, last) = (bundle.clone(), bundle.entry(bundle.length()));
    changed.0.remove(last);
    let told = faults(&verified(&changed.resealed(), &trusted));
    let codes: Vec<&str> = told.iter().map(|(_, code)| code.as_str()).collect();
    // Which chain has the last leaves is chance: where it is not this one, the leaf after the missing one tells of it.
    let is_followed = bundle.0[last + 1..].iter().any(|line| line.get("entry").is_some());
    let wanted: &[&str] = if is_followed { &["leaf", "count", "signature"] } else { &["count", "signature"] };
    assert_eq!(codes, wanted, "the last entry of a chain: the whole log was promised");
    for (cut, code) in [(bundle.0.len() - 1, "truncated"), (bundle.line("entry"), "truncated"), (1, "truncated")] {
        let cut = Bundle(bundle.0[..cut].to_vec());
        assert_eq!(first(&cut).1, code);
    }
    let (mut changed, schema) = (bundle.clone(), bundle.line("schema"));
    changed.0.push(bundle.0[schema].clone());
    assert_eq!(first(&changed), (place(bundle.0.len() - 1), "signature".to_owned()));
    let last = faults(&verified(&changed.resealed(), &trusted)).pop();
    assert_eq!(last, Some((place(bundle.0.len()), "line".to_owned())), "nothing comes after the end");
    let swapped = |mut bundle: Bundle, a: usize, b: usize| {
        bundle.0.swap(a, b);
        bundle
    };
    let (a, b) = (bundle.entry(2), bundle.entry(3));
    assert_eq!(first(&swapped(bundle.clone(), a, b)), (place(a), "gap".to_owned()), "out of order");
    assert_eq!(faults(&verified(&[], &trusted))[0], (1, "not_a_bundle".to_owned()));
}

/// Everything made anew by somebody who has another key: it holds for whoever does not know the log's.
#[tokio::test]
async fn another_signer_fools_only_those_who_do_not_know_the_key() {
    let house = House::new().await;
    history(&house, "a").await;
    let (auditor, raw) = auditors(&house, "a").await;
    let trusted = Trusted { kept: None, ..known(&auditor).await };
    let mut forged = Bundle::read(&export(&raw, json!({})).await);
    let note = forged.0[forged.line("checkpoint")]["checkpoint"].as_str().unwrap().to_owned();
    let checkpoint = Checkpoint::open(&note, &trusted.keys).unwrap();
    let key = SigningKey::from_seed(checkpoint.origin(), [7; 32]).unwrap();
    let (keys, at) = (forged.line("keys"), forged.line("checkpoint"));
    forged.0[keys] = json!({"keys": [key.verifier().to_string()]});
    forged.0[at] = json!({"checkpoint": checkpoint.sign(std::slice::from_ref(&key)).unwrap()});
    let lines = forged.signed(&key);
    let believed = verified(&lines, &Trusted::default());
    assert_eq!((faults(&believed), &believed["keys"]), (Vec::new(), &json!("bundle")), "and the report says so");
    let told = faults(&verified(&lines, &trusted));
    assert_eq!(told[0], (u64::try_from(at).unwrap() + 1, "checkpoint".to_owned()));
}

/// The whole database put back, or another history: only who kept a checkpoint can tell.
#[tokio::test]
async fn a_log_that_was_rolled_back_or_forked_contradicts_a_kept_checkpoint() {
    let house = House::new().await;
    history(&house, "a").await;
    let (auditor, _) = auditors(&house, "a").await;
    let old = export(&auditor, json!({})).await;
    house.opened(&house.handler("a").await, "later").await;
    crate::bundles::sequence(&house).await;
    let newer = known(&auditor).await;
    assert_eq!(faults(&verified(&old, &newer)), [(3, "rolled_back".to_owned())]);
    // Two signers with the log's own key.
    let key = SigningKey::from_seed("tests.example/test/a", [4; 32]).unwrap();
    let note = serde_json::from_str::<Value>(&old[2]).unwrap()["checkpoint"].as_str().unwrap().to_owned();
    let checkpoint = Checkpoint::open(&note, &newer.keys).unwrap();
    let fork = Checkpoint::new(checkpoint.origin(), checkpoint.size(), Digest::ZERO).unwrap();
    let kept = Some(fork.sign(std::slice::from_ref(&key)).unwrap());
    assert_eq!(faults(&verified(&old, &Trusted { kept, ..newer })), [(3, "forked".to_owned())]);
}

/// Whatever byte is changed, something does not fit, and both verifiers say the same of it.
#[tokio::test]
async fn no_byte_can_be_changed() {
    let house = House::new().await;
    history(&house, "a").await;
    let (auditor, raw) = auditors(&house, "a").await;
    let trusted = Trusted { kept: None, ..known(&auditor).await };
    let bundle = export(&raw, json!({"conversation_id": "conv"})).await;
    let text = joined(&bundle);
    let cases = setting("CSCP_TEST_FLIPS").and_then(|count| count.parse().ok()).unwrap_or(24);
    let mut runner = TestRunner::new(Config { cases, failure_persistence: None, ..Config::default() });
    let anywhere = (0..text.len(), prop::sample::select(b"a0{}\"\\, :[]\n\x01".to_vec()));
    let outcome = runner.run(&anywhere, |(place, byte)| {
        let mut bytes = text.clone().into_bytes();
        prop_assume!(bytes[place].is_ascii() && bytes[place] != byte && place + 1 < bytes.len());
        bytes[place] = byte;
        let changed = String::from_utf8(bytes).unwrap();
        let lines: Vec<String> = changed.strip_suffix('\n').unwrap().split('\n').map(str::to_owned).collect();
        prop_assert!(!faults(&verified(&lines, &trusted)).is_empty());
        Ok(())
    });
    outcome.unwrap();
}
