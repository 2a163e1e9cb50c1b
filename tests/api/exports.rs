//! Bundles: what is in them, for whom, and that it verifies offline with nothing else.

use std::collections::BTreeSet;

use cscp::domain::operation::CredentialKind;
use cscp::evidence::auditing::{Asked, Trusted};
use cscp::evidence::bundle::{ARTIFACT_SCHEMA, BUNDLE_SCHEMA};
use cscp::service::verify_tenant;
use serde_json::{Value, json};

use crate::bundles::{auditors, export, faults, history, known, sequence, verified};
use crate::house::House;

fn lines(bundle: &[String]) -> Vec<Value> {
    bundle.iter().map(|line| serde_json::from_str(line).unwrap()).collect()
}

fn of(bundle: &[String], kind: &str) -> Vec<Value> {
    lines(bundle).into_iter().filter_map(|line| line.get(kind).cloned()).collect()
}

/// Holds every line against the schemas that are published.
fn check_form(bundle: &[String]) {
    let (artifact, schema): (Value, Value) =
        (serde_json::from_str(ARTIFACT_SCHEMA).unwrap(), serde_json::from_str(BUNDLE_SCHEMA).unwrap());
    let known = jsonschema::Registry::new().add("urn:cscp:schema:evidence-artifact:1.0.0", artifact).unwrap();
    let known = known.prepare().unwrap();
    let validator = jsonschema::options().with_registry(&known).build(&schema).unwrap();
    for line in lines(bundle) {
        let errors: Vec<String> = validator.iter_errors(&line).map(|error| error.to_string()).collect();
        assert!(errors.is_empty(), "{errors:?}\n{line:#}");
    }
}

fn sound(bundle: &[String], trusted: &Trusted) -> Value {
    check_form(bundle);
    let report = verified(bundle, trusted);
    assert_eq!(faults(&report), [], "{report:#}");
    report
}

#[tokio::test]
async fn a_bundle_holds_what_was_asked_for_and_verifies_with_nothing_else() {
    let house = House::new().await;
    history(&house, "a").await;
    let (auditor, raw) = auditors(&house, "a").await;
    let trusted = known(&auditor).await;
    let command = of(&export(&raw, json!({"conversation_id": "conv"})).await, "entry")
        .into_iter()
        .find_map(|entry| entry["artifact"]["command_id"].as_str().map(str::to_owned))
        .unwrap();
    let selections = [
        (json!({}), "whole"),
        (json!({"conversation_id": "conv"}), "streams"),
        (json!({"actor_id": "customer"}), "streams"),
        (json!({"fact_space": "s"}), "streams"),
        (json!({"command_id": command}), "selection"),
        (json!({"from": "2020-01-01T00:00:00Z", "until": "2040-01-01T00:00:00Z"}), "selection"),
        (json!({"conversation_id": "conv", "from": "2020-01-01T00:00:00Z"}), "selection"),
    ];
    for (selection, coverage) in selections {
        for client in [&auditor, &raw] {
            let bundle = export(client, selection.clone()).await;
            assert_eq!(of(&bundle, "bundle")[0]["coverage"]["kind"], coverage, "{selection}");
            let report = sound(&bundle, &trusted);
            assert!(report["entries"].as_u64().unwrap() > 2, "{selection}: {report:#}");
            assert_eq!(report["keys"], "given");
            assert!(report["policies"].as_u64().unwrap() > 0);
        }
    }
    let whole = sound(&export(&raw, json!({})).await, &trusted);
    assert_eq!(whole["entries"], whole["size"], "every leaf of the tree");
    assert!(whole["erased"].as_u64().unwrap() > 0, "and what a deletion left of an entry");
}

#[tokio::test]
async fn payloads_and_frames_are_there_for_whom_may_see_all_of_them() {
    let house = House::new().await;
    history(&house, "a").await;
    let (auditor, raw) = auditors(&house, "a").await;
    let trusted = known(&auditor).await;
    let wanted = json!({"conversation_id": "conv"});
    let (covered, visible) = (export(&auditor, wanted.clone()).await, export(&raw, wanted.clone()).await);
    let full = export(&raw, json!({"conversation_id": "conv", "payloads": "full"})).await;
    let reports: Vec<Value> = [&covered, &visible, &full].map(|bundle| sound(bundle, &trusted)).into();
    let count = |report: &Value, name: &str| report[name].as_u64().unwrap();
    assert!(count(&reports[0], "proven") < count(&reports[1], "proven"));
    assert!(count(&reports[1], "proven") < count(&reports[2], "proven"));
    assert_eq!((count(&reports[2], "shown"), count(&reports[2], "proven")), (0, count(&reports[2], "entries")));
    assert_eq!(reports.iter().map(|r| count(r, "frames_proven")).collect::<Vec<_>>(), [0, 0, 1]);
    assert!(reports.iter().all(|report| count(report, "frames") == 1));
    // No salt leaves without what it opens, and none for whom something is covered.
    for entry in of(&covered, "entry").iter().chain(&of(&visible, "entry")) {
        assert_eq!(entry.get("payload").is_some(), entry.get("salt").is_some());
        let text = entry["payload"].as_str().unwrap_or_default();
        for secret in ["nonce_digest", "content_salt", "message_key", "\"key\"", "prompt_salt"] {
            assert!(!text.contains(secret), "{secret} in {text}");
        }
    }
    let (frame, open) = (&of(&covered, "frame")[0], &of(&visible, "frame")[0]);
    assert!(frame.get("salt").is_none() && frame.get("frame").is_none() && frame.get("shown").is_some());
    assert!(open.get("salt").is_some() && open.get("frame").is_some() && open.get("shown").is_none());
    assert!(!of(&covered, "summary")[0]["redacted"].as_array().unwrap().is_empty());
    assert_eq!(of(&full, "summary")[0]["redacted"], json!([]));
    auditor.post("/v1/evidence/export", json!({"payloads": "full"})).await.problem(403, "scope_denied");
    let handler = house.client("a", CredentialKind::Handler, None, None).await;
    handler.post("/v1/evidence/export", json!({})).await.problem(403, "scope_denied");
}

#[tokio::test]
async fn a_bundle_is_of_one_checkpoint_and_shows_that_it_goes_on_from_an_older_one() {
    let house = House::new().await;
    let (auditor, _) = auditors(&house, "a").await;
    auditor.post("/v1/evidence/export", json!({})).await.problem(409, "not_in_log_yet");
    history(&house, "a").await;
    let trusted = known(&auditor).await;
    let size = verified(&export(&auditor, json!({})).await, &trusted)["size"].as_u64().unwrap();
    // What was written since is not in it: the exports themselves, among others.
    let handler = house.handler("a").await;
    house.opened(&handler, "later").await;
    let before = export(&auditor, json!({"conversation_id": "later"})).await;
    let report = sound(&before, &trusted);
    assert_eq!((&report["entries"], &report["size"]), (&json!(0), &json!(size)));
    assert!(report["waiting"].as_u64().unwrap() > 0);
    sequence(&house).await;
    let after = export(&auditor, json!({"conversation_id": "later"})).await;
    let report = verified(&after, &trusted);
    assert!(report["size"].as_u64().unwrap() > size);
    assert_eq!(faults(&report), [(u64::try_from(after.len()).unwrap() + 1, "consistency".to_owned())]);
    sound(&after, &Trusted { kept: None, ..trusted.clone() });
    let shown = export(&auditor, json!({"conversation_id": "later", "consistent_from": size})).await;
    assert!(sound(&shown, &trusted)["entries"].as_u64().unwrap() > 0);
    for (size, status, code) in [(0, 422, "invalid_value"), (99_999, 404, "not_found")] {
        let body = json!({"consistent_from": size});
        auditor.post_unchecked("/v1/evidence/export", &body).await.problem(status, code);
    }
}

#[tokio::test]
async fn what_is_asked_wrongly_is_told_and_every_look_is_recorded() {
    let house = House::new().await;
    history(&house, "a").await;
    let (auditor, _) = auditors(&house, "a").await;
    let trusted = known(&auditor).await;
    let two = json!({"conversation_id": "conv", "command_id": "c"});
    auditor.post_unchecked("/v1/evidence/export", &two).await.problem(422, "invalid_value");
    auditor.post_unchecked("/v1/evidence/export", &json!({"payloads": "some"})).await.problem(422, "invalid_value");
    auditor.get("/v1/evidence/export?conversation_id=conv").await.problem(400, "unknown_parameter");
    let got = auditor.get("/v1/evidence/export?from=2020-01-01T00:00:00Z").await.expect(200);
    let bundle: Vec<String> = got.body.as_str().unwrap().lines().map(str::to_owned).collect();
    sound(&bundle, &trusted);
    // Nothing of another tenant, under any name.
    let stranger = auditors(&house, "b").await.0;
    stranger.post("/v1/evidence/export", json!({"conversation_id": "conv"})).await.problem(409, "not_in_log_yet");
    sequence(&house).await;
    let found = auditor.post("/v1/evidence/query", json!({"type": "access.read"})).await.expect(200);
    let reads = found.body["items"].as_array().unwrap().iter();
    let operations: BTreeSet<&str> = reads.filter_map(|read| read["data"]["read"]["operation"].as_str()).collect();
    assert!(operations.is_superset(&["evidence.export", "evidence.exported"].into()), "{operations:?}");
}

/// A bundle names the request that it answers, where that said a nonce; a short one might have been there before.
#[tokio::test]
async fn a_bundle_repeats_the_nonce_of_its_request() {
    let house = House::new().await;
    history(&house, "a").await;
    let (auditor, _) = auditors(&house, "a").await;
    let nonce = "a-text_of-this-request-0123456789";
    let posted = export(&auditor, json!({"conversation_id": "conv", "nonce": nonce})).await;
    let got = auditor.get(&format!("/v1/evidence/export?nonce={nonce}")).await.expect(200);
    let got: Vec<String> = got.body.as_str().unwrap().lines().map(str::to_owned).collect();
    for bundle in [posted, got] {
        assert_eq!(of(&bundle, "bundle")[0]["selection"]["nonce"], nonce);
        let asked = Asked::default().with_nonce(nonce.to_owned());
        let report = verified(&bundle, &Trusted { kept: None, asked: Some(asked), ..known(&auditor).await });
        let whole = of(&bundle, "bundle")[0]["coverage"]["kind"] == "whole";
        assert_eq!(report["sound"], json!(whole), "{report:#}");
    }
    let (long, short) = ("x".repeat(65), "x".repeat(15));
    for nonce in [long.as_str(), &short, "", "with a blank in between", "ñññññññññññññññññ"] {
        auditor.post_unchecked("/v1/evidence/export", &json!({"nonce": nonce})).await.problem(422, "invalid_value");
    }
    auditor.get("/v1/evidence/export?nonce=short").await.problem(400, "unknown_parameter");
}

/// A bundle that promises a chain whose last entries the database has lost says so itself.
#[tokio::test]
async fn a_conversation_that_lost_its_end_contradicts_its_first_line() {
    let house = House::new().await;
    history(&house, "a").await;
    let (auditor, _) = auditors(&house, "a").await;
    let trusted = Trusted { kept: None, ..known(&auditor).await };
    let wanted = json!({"conversation_id": "conv"});
    let before = of(&export(&auditor, wanted.clone()).await, "bundle")[0]["coverage"]["chains"].clone();
    let gone = house
        .meddle(
            "DELETE FROM log_entries WHERE tenant_id = 'a' AND EXISTS (SELECT 1 FROM streams AS s WHERE s.tenant_id = 'a' \
             AND s.stream_id = log_entries.stream_id AND s.kind = 'conversation' AND s.key = 'conv') AND seq = (SELECT \
             max(l.seq) FROM log_leaves AS l WHERE l.tenant_id = 'a' AND l.stream_id = log_entries.stream_id)",
        )
        .await;
    assert_eq!(gone, 1);
    let after = export(&auditor, wanted).await;
    let chains = of(&after, "bundle")[0]["coverage"]["chains"].clone();
    assert_eq!((&chains[0]["entries"], chains[0].get("last")), (&before[0]["entries"], None), "{chains}");
    let found = faults(&verified(&after, &trusted));
    assert_eq!(found, [(u64::try_from(after.len()).unwrap() - 1, "chain_end".to_owned())]);
}

/// The log has 1 where the frame's row has 1.0, and both are what was hashed.
#[tokio::test]
async fn found_a_frame_with_a_whole_number_is_what_was_captured() {
    let house = House::new().await;
    history(&house, "a").await;
    let report = verify_tenant(house.store.as_ref(), &"a".to_owned().try_into().unwrap()).await.unwrap();
    assert!(report.is_sound(), "{report:?}");
}

#[tokio::test]
async fn published_schemas_are_those_of_the_bundle() {
    let house = House::new().await;
    history(&house, "a").await;
    let (auditor, _) = auditors(&house, "a").await;
    let schemas = of(&export(&auditor, json!({"fact_space": "s"})).await, "schema");
    for (place, name) in [(0, "artifact"), (1, "bundle")] {
        let published = auditor.get(&format!("/schemas/evidence-{name}.json")).await.expect(200).body;
        assert_eq!(published, schemas[place]);
        assert_eq!(published["$schema"], "https://json-schema.org/draft/2020-12/schema");
    }
    let artifact = crate::client::document()["components"]["schemas"]["Artifact"]["properties"].as_object().unwrap();
    let published = schemas[0]["properties"].as_object().unwrap();
    assert_eq!(artifact.keys().collect::<BTreeSet<_>>(), published.keys().collect::<BTreeSet<_>>());
}
