//! Legal holds stop an erasure, and go without a trace of whom they held.

use cscp::domain::operation::CredentialKind;
use serde_json::json;

use crate::house::House;
use crate::privacy::{admin, erase, report, rows_about};
use crate::privacy_cast::{ANA, lives};

#[tokio::test]
async fn what_is_held_stays_until_the_hold_is_lifted() {
    let house = House::new().await;
    let client = house.handler("a").await;
    let admin = admin(&house).await;
    lives(&house, &client, &ANA).await;
    let rows = rows_about(&house, &ANA).await.len();
    for held in [json!({"actor_id": ANA.actor()}), json!({"conversation_id": ANA.conversation()})] {
        let mut hold = held;
        hold["reason"] = json!("matter 7");
        let placed = admin.post("/v1/privacy/holds", hold).await.expect(201);
        let survey = erase(&admin, &ANA.selector(), true).await.expect(200).body;
        assert_eq!(survey["obstacles"], json!(["legal_hold"]));
        erase(&admin, &ANA.selector(), false).await.problem(409, "legal_hold");
        assert!(rows_about(&house, &ANA).await.len() > rows, "nothing went, and the hold names somebody");
        let listed = admin.get("/v1/privacy/holds?limit=1").await.expect(200).body;
        assert_eq!(listed["items"][0]["hold_id"], placed.body["hold_id"]);
        assert_eq!(listed["items"][0]["reason"], "matter 7");
        let path = format!("/v1/privacy/holds/{}", placed.text("/hold_id"));
        admin.ask("DELETE", &path).send().await.expect(200);
        admin.ask("DELETE", &path).send().await.problem(404, "not_found");
    }
    let types: Vec<String> = house.rows().await.into_iter().filter(|row| row.contains("hold.")).collect();
    assert_eq!(types.len(), 4, "two placed, two lifted: {types:#?}");
    erase(&admin, &ANA.selector(), false).await.expect(201);
    assert_eq!(rows_about(&house, &ANA).await, [""; 0]);
    report(&house).await;
    for wrong in [json!({}), json!({"actor_id": "a", "conversation_id": "c"})] {
        let got = admin.ask("POST", "/v1/privacy/holds").json(&wrong).send().await;
        got.problem(422, "invalid_value");
    }
}

/// Somebody who has approved for somebody else: the approval stays, tells no more of whom, and counts nobody whom nobody
/// knows any more.
#[tokio::test]
async fn an_approver_goes_and_what_they_approved_stays() {
    let house = House::new().await;
    let handler = house.handler("s").await;
    let admin = house.client("s", CredentialKind::Admin, None, None).await;
    let context = house.opened(&handler, "conv").await;
    let ask = json!({
        "command": {"command_id": "cmd-1", "name": "payment.send", "idempotency_key": "idem-1"},
        "target": {"amount": "82000", "payee": "p-1", "order_id": "1"},
        "prompt": {"text": "Aprovar?", "buttons": [{"title": "Aprovar", "action": "approve"}, "Rejeitar"]},
    });
    let asked = handler.post(&format!("/v1/contexts/{context}/approvals"), ask).await.expect(201);
    let path = format!("/v1/approvals/{}", asked.text("/approval_id"));
    let role = handler.get(&path).await.expect(200).text("/role");
    // The prompt went to the approver, so its id holds the approver's number.
    let prompt = json!({"message_id": ANA.wamid(), "sent_at": house.now()});
    handler.put(&format!("{path}/prompt-message"), prompt).await.expect(200);
    let person =
        json!({"kind": "person", "roles": [role], "aliases": [{"kind": "phone", "value": format!("+{}", ANA.number)}]});
    handler.put(&format!("/v1/principals/{}", ANA.actor()), person).await.expect(201);
    let boss = house.client("s", CredentialKind::Operator, None, Some(&ANA.actor())).await;
    boss.post(&format!("{path}/decisions"), json!({"decision": "approve"})).await.expect(200);
    assert!(rows_about(&house, &ANA).await.len() > 5);
    erase(&admin, &ANA.selector(), false).await.expect(201);
    assert_eq!(rows_about(&house, &ANA).await, [""; 0]);
    let stays = handler.get(&path).await.expect(200).body;
    assert_eq!((&stays["received"], &stays["context_id"]), (&json!(0), &json!(context)));
    house.wait(60);
    assert_eq!(boss.get(&path).await.status, 401, "a credential in nobody's name works no longer");
    let tenant = "s".to_owned().try_into().unwrap();
    let report = cscp::service::verify_tenant(house.store.as_ref(), &tenant).await.unwrap();
    assert!(report.is_sound(), "{report:?}");
}
