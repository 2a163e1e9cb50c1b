//! What forgeries are made from, and what looks at them: genuine bundles, ways of putting them together anew, and each
//! verifier by itself.

use std::collections::BTreeSet;

use cscp::evidence::auditing::{Asked, Trusted};
use cscp::evidence::checkpoint::Checkpoint;
use cscp::evidence::note::SigningKey;
use serde_json::{Value, json};

use crate::auditing::{Bundle, rehashed};
use crate::bundles::{auditors, export, faults, history, joined, known, ours, python_is_there, sequence, theirs};
use crate::house::House;

pub(crate) const LOG: &str = "tests.example/test/a";

/// The key that signs for the log of tenant `a`.
pub(crate) fn key() -> SigningKey {
    SigningKey::from_seed(LOG, [4; 32]).unwrap()
}

/// Genuine bundles and checkpoints to forge from.
pub(crate) struct Genuine {
    /// The whole log.
    pub(crate) whole: Bundle,
    /// A conversation: a chain, and what else is about it.
    pub(crate) talk: Bundle,
    /// One command.
    pub(crate) command: Bundle,
    /// The whole log of another tenant.
    pub(crate) other: Bundle,
    /// A checkpoint that is older than those of the bundles.
    pub(crate) older: String,
    /// A checkpoint that is newer.
    pub(crate) newer: String,
}

/// What is given to a verifier, and what it has to find.
pub(crate) struct Forged {
    bundle: Bundle,
    kept: Option<String>,
    asked: Option<Asked>,
    /// The line of the first fault, counted from 1.
    line: usize,
    /// The codes of all faults.
    codes: &'static [&'static str],
}

impl Forged {
    pub(crate) fn new(bundle: Bundle, line: usize, codes: &'static [&'static str]) -> Self {
        Self { bundle, kept: None, asked: None, line, codes }
    }

    pub(crate) fn with_kept(self, kept: &str) -> Self {
        Self { kept: Some(kept.to_owned()), ..self }
    }

    pub(crate) fn asked(self, asked: &[&str]) -> Self {
        Self { asked: Some(Asked::read(asked.iter().copied()).unwrap()), ..self }
    }
}

impl Genuine {
    pub(crate) async fn new(house: &House) -> Self {
        history(house, "a").await;
        history(house, "b").await;
        let (auditor, raw) = auditors(house, "a").await;
        let note = async || known(&auditor).await.kept.unwrap();
        let older = note().await;
        house.opened(&house.handler("a").await, "later").await;
        sequence(house).await;
        let full = |mut wanted: Value| {
            wanted["payloads"] = json!("full");
            wanted["nonce"] = json!("a-nonce-of-the-test");
            wanted
        };
        let (whole, talk) = (full(json!({})), full(json!({"conversation_id": "conv"})));
        let (whole, talk) = (Bundle::read(&export(&raw, whole).await), Bundle::read(&export(&raw, talk).await));
        let mut commands = talk.0.iter().filter_map(|line| line["entry"]["artifact"]["command_id"].as_str());
        let command = full(json!({"command_id": commands.next_back().unwrap()}));
        let command = Bundle::read(&export(&raw, command).await);
        let other = Bundle::read(&export(&auditors(house, "b").await.1, full(json!({}))).await);
        sequence(house).await;
        Self { whole, talk, command, other, older, newer: note().await }
    }

    /// The checkpoint of the conversation's bundle.
    pub(crate) fn opened(&self) -> Checkpoint {
        let bundle = &self.talk;
        let note = bundle.0[bundle.line("checkpoint")]["checkpoint"].as_str().unwrap();
        Checkpoint::open(note, &[key().verifier()]).unwrap()
    }
}

/// A bundle with a line taken away.
pub(crate) fn without(bundle: &Bundle, line: usize) -> Bundle {
    let mut changed = bundle.clone();
    changed.0.remove(line);
    changed
}

/// A bundle with a line elsewhere; `to` counts the lines that are left.
pub(crate) fn moved(bundle: &Bundle, from: usize, to: usize) -> Bundle {
    let mut changed = bundle.clone();
    let line = changed.0.remove(from);
    changed.0.insert(to, line);
    changed
}

pub(crate) fn with(bundle: &Bundle, at: usize, line: Value) -> Bundle {
    let mut changed = bundle.clone();
    changed.0.insert(at, line);
    changed
}

/// A bundle with another first line.
pub(crate) fn opening(bundle: &Bundle, change: impl Fn(&mut Value)) -> Bundle {
    let mut changed = bundle.clone();
    change(&mut changed.0[0]["bundle"]);
    changed
}

/// A history with another last entry, whose hash fits: only the tree contradicts it.
pub(crate) fn rewritten(bundle: &Bundle) -> Bundle {
    let mut changed = bundle.clone();
    let last = changed.entry(changed.length());
    rehashed(&mut changed, last, "2026-", "2027-");
    let header: Value = serde_json::from_str(changed.0[last]["entry"]["header"].as_str().unwrap()).unwrap();
    changed.0[last]["entry"]["artifact"]["occurred_at"] = header["at"].clone();
    let hash = changed.0[last]["entry"]["entry_hash"].clone();
    if let Some(chains) = changed.0[0].pointer_mut("/bundle/coverage/chains") {
        chains[0]["last"] = hash;
    }
    changed
}

/// A forgery by its name.
pub(crate) type Case = (&'static str, fn(&Genuine) -> Forged);

/// The line, counted from 1, where the entry after this one stands once this one is gone.
pub(crate) fn next_entry(bundle: &Bundle, line: usize) -> usize {
    let later = bundle.0[line + 1..].iter().position(|line| line.get("entry").is_some()).unwrap();
    line + 1 + later
}

/// Which verifier looks, and what it says.
pub(crate) type Verifier = (&'static str, fn(&str, &Trusted) -> Value);

/// Both, one at a time: what one of them overlooks must not be excused by the other.
pub(crate) fn verifiers() -> Vec<Verifier> {
    let first: Verifier = ("cscp verify", ours);
    if python_is_there() { vec![first, ("cscp_verify.py", theirs)] } else { vec![first] }
}

pub(crate) fn refused(cases: &[Case], genuine: &Genuine) {
    let mut wrong = Vec::new();
    for (name, forge) in cases {
        let Forged { bundle, kept, asked, line, codes } = forge(genuine);
        let trusted = Trusted { keys: vec![key().verifier()], kept, asked, ..Trusted::default() };
        let text = joined(&bundle.signed(&key()));
        for (verifier, look) in verifiers() {
            let report = look(&text, &trusted);
            let told = faults(&report);
            let found: BTreeSet<&str> = told.iter().map(|(_, code)| code.as_str()).collect();
            let first = told.first().map(|(line, _)| *line);
            let fits = !told.is_empty() && first == u64::try_from(line).ok() && report["sound"] == json!(false);
            // A bundle whose first line nobody can use breaks in every line after it.
            let is_all = codes.first() == Some(&"not_a_bundle") || found == codes.iter().copied().collect();
            if !fits || !is_all {
                wrong.push(format!("{verifier}, {name}: line {line} {codes:?}, found line {first:?} {found:?}"));
            }
        }
    }
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
}
