//! Payloads: ours, each with what it must become, and the real ones of pywa where they are at hand.

use std::fs;
use std::path::{Path, PathBuf};

use serde_json::{Value, json};

/// One of our own payloads.
pub(crate) struct Fixture {
    pub(crate) name: String,
    /// The bytes that Meta would send.
    pub(crate) body: Vec<u8>,
    /// What must come out, list by list; a list that is not named must be empty.
    pub(crate) expect: Value,
}

/// Every file in `tests/fixtures/whatsapp`.
pub(crate) fn own() -> Vec<Fixture> {
    let fixtures: Vec<_> = json_files(&root().join("tests/fixtures/whatsapp"))
        .into_iter()
        .map(|(name, fixture)| Fixture {
            name,
            body: match &fixture["body"] {
                Value::String(body) => body.clone().into_bytes(),
                _ => fixture["payload"].to_string().into_bytes(),
            },
            expect: fixture["expect"].clone(),
        })
        .collect();
    assert!(fixtures.len() > 30, "the fixtures are not where they should be");
    fixtures
}

/// Real payloads, named `file/name`. They are read where they lie, or where `WHATSAPP_PAYLOADS` points, and are not
/// part of this repository: without them these tests have less to do, and say so.
pub(crate) fn real() -> Vec<(String, Value)> {
    #[expect(clippy::disallowed_methods, reason = "a test run from another folder says where the payloads are")]
    let folder = std::env::var_os("WHATSAPP_PAYLOADS").map_or_else(|| root().join("../shared/whatsapp"), PathBuf::from);
    let payloads: Vec<_> = json_files(&folder.join("pywa"))
        .into_iter()
        .flat_map(|(file, payloads)| {
            let payloads = payloads.as_object().cloned().unwrap_or_default();
            payloads.into_iter().map(move |(name, payload)| (format!("{file}/{name}"), payload))
        })
        .collect();
    if payloads.is_empty() {
        eprintln!("SKIPPED: no real WhatsApp payloads here; set WHATSAPP_PAYLOADS to a folder that holds pywa/*.json");
    }
    payloads
}

/// A delivery of `count` text messages over several entries and customers.
pub(crate) fn many(count: usize) -> Value {
    let message = |n: usize| {
        json!({ "from": format!("1202555{:04}", 100 + n % 7), "id": format!("wamid.many.{n}"),
                "timestamp": "1790000000", "type": "text", "text": { "body": "hello" } })
    };
    let numbers: Vec<usize> = (0..count).collect();
    let entries: Vec<Value> = numbers
        .chunks(90)
        .map(|numbers| {
            let messages: Vec<Value> = numbers.iter().copied().map(message).collect();
            json!({ "id": "1", "changes": [{ "field": "messages", "value": {
                "metadata": { "phone_number_id": "105500000000001" }, "messages": messages } }] })
        })
        .collect();
    json!({ "object": "whatsapp_business_account", "entry": entries })
}

fn root() -> &'static Path {
    Path::new(env!("CARGO_MANIFEST_DIR"))
}

fn json_files(folder: &Path) -> Vec<(String, Value)> {
    let mut paths: Vec<PathBuf> =
        fs::read_dir(folder).map(|entries| entries.map(|entry| entry.unwrap().path()).collect()).unwrap_or_default();
    paths.retain(|path| path.extension().is_some_and(|extension| extension == "json"));
    paths.sort();
    let read = |path: PathBuf| {
        let name = path.file_stem().unwrap().to_string_lossy().into_owned();
        let text = fs::read_to_string(&path).unwrap();
        (name.clone(), serde_json::from_str(&text).unwrap_or_else(|error| panic!("{name}: {error}")))
    };
    paths.into_iter().map(read).collect()
}
