//! The transparency log over HTTP: what an auditor fetches is enough to verify it with nothing else.

use cscp::domain::canonical::Digest;
use cscp::domain::operation::CredentialKind;
use cscp::evidence::checkpoint::Checkpoint;
use cscp::evidence::note::VerifierKey;
use cscp::evidence::tree::{verify_consistency, verify_inclusion};
use serde_json::{Value, json};

use crate::client::Client;
use crate::house::House;

fn digest(text: &Value) -> Digest {
    Digest::from_hex(text.as_str().unwrap().strip_prefix("sha256:").unwrap()).unwrap()
}

fn hashes(proof: &Value) -> Vec<Digest> {
    proof.as_array().unwrap().iter().map(digest).collect()
}

async fn sequence(house: &House) {
    while house.service.transparency().sequence_once().await.unwrap() > 0 {}
}

/// The newest checkpoint, opened with the keys that the server names.
async fn checkpoint(auditor: &Client) -> Checkpoint {
    let got = auditor.get("/v1/evidence/checkpoint").await.expect(200);
    let keys: Vec<VerifierKey> = got.body["keys"]
        .as_array()
        .unwrap()
        .iter()
        .map(|key| VerifierKey::parse(key.as_str().unwrap()).unwrap())
        .collect();
    let checkpoint = Checkpoint::open(got.body["note"].as_str().unwrap(), &keys).unwrap();
    assert_eq!(got.body["origin"], checkpoint.origin());
    assert_eq!(got.body["size"], checkpoint.size());
    checkpoint
}

#[tokio::test]
async fn what_an_auditor_fetches_proves_every_entry() {
    let house = House::new().await;
    let handler = house.handler("a").await;
    let auditor = house.client("a", CredentialKind::Auditor, None, None).await;
    auditor.get("/v1/evidence/checkpoint").await.problem(404, "not_found");
    let (context, bind) = house.confirmed(&handler, "conv").await;
    handler.post(&format!("/v1/contexts/{context}/commands"), bind).await.expect(201);
    let found = auditor.post("/v1/evidence/query", json!({"conversation_id": "conv"})).await.expect(200);
    let artifacts = found.body["items"].as_array().unwrap().clone();
    assert!(artifacts.len() > 4);
    let path = |artifact: &Value| format!("/v1/evidence/artifacts/{}/proof", artifact["artifact_id"].as_str().unwrap());
    auditor.get(&path(&artifacts[0])).await.problem(409, "not_in_log_yet");
    sequence(&house).await;
    let first = checkpoint(&auditor).await;
    assert_eq!(first.origin(), "tests.example/test/a");
    for artifact in &artifacts {
        let got = auditor.get(&path(artifact)).await.expect(200).body;
        assert_eq!(got["entry_hash"], artifact["hash"]);
        assert_eq!(got["tree_size"], first.size());
        let (index, proof) = (got["leaf_index"].as_u64().unwrap(), hashes(&got["proof"]));
        verify_inclusion(&digest(&got["entry_hash"]), index, first.size(), &proof, &first.root()).unwrap();
    }
    // Looking at proofs is evidence too: it is in the next checkpoint.
    sequence(&house).await;
    let next = checkpoint(&auditor).await;
    assert!(next.size() > first.size());
    let got = auditor.get(&format!("/v1/evidence/consistency?from={}", first.size())).await.expect(200).body;
    assert_eq!((&got["from"], &got["to"]), (&json!(first.size()), &json!(next.size())));
    verify_consistency(first.size(), &first.root(), next.size(), &next.root(), &hashes(&got["proof"])).unwrap();
    sequence(&house).await;
    assert_eq!(checkpoint(&auditor).await, next, "looking at checkpoints is not recorded");
    for size in ["0", "99999"] {
        auditor.get(&format!("/v1/evidence/consistency?from={size}")).await.problem(404, "not_found");
    }
    for query in ["?from=x", "?from=-1", "", "?size=3", "?from=1&to=2"] {
        auditor.get(&format!("/v1/evidence/consistency{query}")).await.problem(400, "unknown_parameter");
    }
}

#[tokio::test]
async fn each_tenant_has_a_log_of_its_own() {
    let house = House::new().await;
    let handler = house.handler("a").await;
    house.opened(&handler, "conv").await;
    let auditor = |tenant: &'static str| house.client(tenant, CredentialKind::Auditor, None, None);
    let (one, other) = (auditor("a").await, auditor("b").await);
    let artifact = one.post("/v1/evidence/query", json!({})).await.expect(200).body["items"][0]["artifact_id"].clone();
    sequence(&house).await;
    let path = format!("/v1/evidence/artifacts/{}/proof", artifact.as_str().unwrap());
    one.get(&path).await.expect(200);
    other.get(&path).await.problem(404, "not_found");
    other.get("/v1/evidence/checkpoint").await.problem(404, "not_found");
    handler.get("/v1/evidence/checkpoint").await.problem(403, "scope_denied");
    house.stranger().get("/v1/evidence/checkpoint").await.problem(401, "unauthenticated");
    let ready = house.stranger().get("/readyz").await.expect(200).body;
    assert_eq!((&ready["rollback_protection"], &ready["log"]), (&json!("none"), &json!("ok")));
}

#[tokio::test]
async fn what_somebody_else_put_into_the_line_is_told_by_readiness_and_never_signed() {
    let house = House::new().await;
    let handler = house.handler("a").await;
    house.opened(&handler, "conv").await;
    sequence(&house).await;
    let state = async || house.stranger().get("/readyz").await.expect(200).body["log"].clone();
    assert_eq!(state().await, "ok");
    let planted = "INSERT INTO log_outbox (tenant_id, stream_id, seq, entry_hash)
        SELECT tenant_id, stream_id, seq + 1000, entry_hash FROM log_entries WHERE tenant_id = 'a' AND seq = 1";
    let rows = house.meddle(planted).await;
    let auditor = house.client("a", CredentialKind::Auditor, None, None).await;
    let before = checkpoint(&auditor).await.size();
    sequence(&house).await;
    assert_eq!(state().await, "sets_aside");
    assert_eq!(checkpoint(&auditor).await.size(), before, "nothing was signed for it");
    assert_eq!(house.meddle("DELETE FROM log_outbox WHERE seq > 1000").await, rows);
    sequence(&house).await;
    assert_eq!(state().await, "ok");
}
