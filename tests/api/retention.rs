//! What callers find after retention: what went is not found, what was said is said again, and the evidence stays readable.

use cscp::domain::operation::CredentialKind;
use serde_json::json;

use crate::house::{House, ask, bind};

const DAY: i64 = 86_400;

#[tokio::test]
async fn what_went_is_not_found_and_the_evidence_of_it_is() {
    let house = House::new().await;
    let client = house.handler("a").await;
    let auditor = house.client("a", CredentialKind::Auditor, None, None).await;
    let (context, binding) = house.confirmed(&client, "conv").await;
    let command = binding["command_id"].as_str().unwrap().to_owned();
    let path = format!("/v1/contexts/{context}/commands");
    let bound = client.ask("POST", &path).valid(&binding).send().await.expect(201);
    let frame = bound.text("/context_ref/context_frame_id");
    let done = json!({"status": "succeeded", "close_context": true});
    client.post(&format!("/v1/commands/{command}/results"), done).await.expect(201);
    let about = json!({"command_id": command});
    let before = auditor.post("/v1/evidence/query", about.clone()).await.expect(200).body;
    let told = before["items"].as_array().unwrap().len();

    // The pack `basic` keeps contexts for 30 days, frames for 180, payloads for 366.
    house.wait(31 * DAY);
    let gone = house.purge("a").await;
    assert!(gone.rows["contexts"] == 1 && gone.rows["commands"] == 1, "{gone:?}");
    for path in [format!("/v1/contexts/{context}"), format!("/v1/commands/{command}")] {
        assert_eq!(client.get(&path).await.status, 404, "{path}");
    }
    auditor.get(&format!("/v1/evidence/frames/{frame}")).await.expect(200);
    assert_eq!(auditor.post("/v1/evidence/query", about.clone()).await.expect(200).body, before);

    house.wait(150 * DAY);
    assert_eq!(house.purge("a").await.rows["frames"], 1);
    auditor.get(&format!("/v1/evidence/frames/{frame}")).await.problem(404, "not_found");
    let after = auditor.post("/v1/evidence/query", about.clone()).await.expect(200).body;
    assert_eq!(
        after["items"].as_array().unwrap().len(),
        told - 1,
        "the entry that was the frame says nothing any more"
    );

    house.wait(200 * DAY);
    house.purge("a").await;
    let found = auditor.post("/v1/evidence/query", about).await.expect(200).body;
    assert_eq!(found["items"], json!([]), "nothing tells any more that an entry was about the command");
    let artifact = before["items"][0]["artifact_id"].as_str().unwrap();
    let kept = auditor.get(&format!("/v1/evidence/artifacts/{artifact}")).await.expect(200).body["artifact"].clone();
    assert_eq!(kept["artifact_id"], artifact);
    assert!(kept.get("data").is_none_or(serde_json::Value::is_null), "{kept}");
    let told = auditor.post("/v1/evidence/query", json!({"type": "records.erased"})).await.expect(200).body;
    assert!(told["items"].as_array().unwrap().len() >= 3, "{told}");
    // Somebody who comes back after all that begins anew.
    let hello = house.message("conv", "hello there");
    let back = client.post("/v1/messages", hello).await.expect(200);
    let later = back.text("/context/context_id");
    assert!(later != context, "{:?}", back.body);
    // What was bound once is never bound again, though nothing else is known of it any more.
    client.post(&format!("/v1/contexts/{later}/confirmations"), ask(&command)).await.problem(409, "command_erased");
    let again = bind(&command, &json!("wamid.any"));
    client.post(&format!("/v1/contexts/{later}/commands"), again).await.problem(409, "command_erased");
}
