//! Every fixture becomes what it says, and no piece of any payload gets lost.

use serde_json::{Value, json};

use crate::bench::SECRET;
use crate::event::Addressed;
use crate::fixtures::{many, own, real};
use crate::normalise::{Normalised, normalise};
use crate::payload;

fn normalised(body: &[u8]) -> Normalised {
    normalise(&payload::read(body).unwrap(), &SECRET.parse().unwrap())
}

/// The shape of `expect` in a fixture.
fn outcome(normalised: &Normalised) -> Value {
    let events = |addressed: &[Addressed]| addressed.iter().map(|one| json!(one.event)).collect::<Vec<_>>();
    let mut identity_updates = events(&normalised.identity_updates);
    for update in &mut identity_updates {
        assert!(update["message_id"].as_str().unwrap().starts_with("identity_"));
        update["message_id"] = json!("derived");
    }
    json!({
        "messages": events(&normalised.messages),
        "identity_updates": identity_updates,
        "statuses": normalised.statuses.iter().map(|status| &status.status).collect::<Vec<_>>(),
        "errors": normalised.errors.iter().map(|error| error.code).collect::<Vec<_>>(),
        "other_fields": normalised.other_fields.iter().map(|other| &other.field).collect::<Vec<_>>(),
        "skipped": normalised.skipped.iter().map(|skipped| skipped.reason.name()).collect::<Vec<_>>(),
    })
}

#[test]
fn fixtures_become_what_they_say() {
    for fixture in own() {
        let normalised = normalised(&fixture.body);
        let mut expected = json!({ "messages": [], "identity_updates": [], "statuses": [], "errors": [],
                                   "other_fields": [], "skipped": [] });
        for (list, pieces) in fixture.expect.as_object().unwrap() {
            assert!(expected.get(list).is_some(), "{}: no list is called {list}", fixture.name);
            expected[list] = pieces.clone();
        }
        assert_eq!(outcome(&normalised), expected, "{}", fixture.name);
        let pieces: usize = expected.as_object().unwrap().values().map(|list| list.as_array().unwrap().len()).sum();
        assert_eq!((normalised.seen, normalised.accounted()), (pieces, pieces), "{}", fixture.name);
    }
}

/// Counts what a well-formed payload holds, by another road than the code under test.
pub(crate) fn elements(payload: &Value) -> usize {
    const LISTS: [&str; 5] = ["messages", "message_echoes", "statuses", "errors", "user_id_update"];
    let list = |value: &Value, name: &str| value[name].as_array().cloned().unwrap_or_default();
    list(payload, "entry")
        .iter()
        .flat_map(|entry| list(entry, "changes"))
        .map(|change| LISTS.iter().map(|name| list(&change["value"], name).len()).sum::<usize>())
        .sum()
}

#[test]
fn real_payloads_lose_nothing() {
    for (name, payload) in real() {
        let normalised = normalised(payload.to_string().as_bytes());
        assert_eq!(normalised.seen, elements(&payload), "{name}");
        assert_eq!(normalised.accounted(), normalised.seen, "{name}");
        assert_eq!(normalised.skipped, [], "{name}");
    }
}

#[test]
fn a_thousand_updates_are_a_thousand_messages() {
    let normalised = normalised(many(1_000).to_string().as_bytes());
    assert_eq!((normalised.seen, normalised.messages.len()), (1_000, 1_000));
}

#[test]
fn a_repeated_identity_update_has_the_same_id_and_another_one_another() {
    let body = |previous: &str| {
        json!({ "entry": [{ "changes": [{ "field": "user_id_update", "value": {
            "metadata": { "phone_number_id": "1" },
            "user_id_update": [{ "timestamp": 1_790_000_000, "user_id": { "previous": previous, "current": "US.2" } }],
        }}]}]})
        .to_string()
    };
    let id = |previous| normalised(body(previous).as_bytes()).identity_updates[0].event.message_id.clone();
    assert_eq!(id("US.1"), id("US.1"));
    assert_ne!(id("US.1"), id("US.3"));
    assert!(!id("US.1").contains("US.1"));
}

#[test]
fn debug_output_shows_nobody() {
    for fixture in own() {
        let shown = format!("{:?}", normalised(&fixture.body));
        for personal in ["1202555", "US.1349", "wamid", "olá", "sim"] {
            assert!(!shown.contains(personal), "{} shows {personal}", fixture.name);
        }
    }
}
