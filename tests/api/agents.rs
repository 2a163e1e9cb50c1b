//! Programs that propose: they read, they set intent and target, and they do nothing else.

use cscp::domain::operation::CredentialKind;
use serde_json::json;

use crate::client::document;
use crate::house::House;

const FOREIGN: &str = "018bcfe568007707870707070707070f";

#[tokio::test]
async fn an_agent_reads_and_sets_intent_and_target_only() {
    let house = House::new().await;
    let handler = house.handler("a").await;
    let agent = house.client("a", CredentialKind::Agent, None, None).await;
    let context = house.opened(&handler, "conv").await;
    let path = format!("/v1/contexts/{context}");
    let etag = agent.get(&path).await.expect(200).header("etag").unwrap().to_owned();
    let set_slots =
        |body, etag: &str| agent.ask("PATCH", &format!("{path}/slots")).header("if-match", etag).valid(&body).send();
    let set = set_slots(json!({"active_intent": "order.cancel", "active_target": "8812"}), &etag).await.expect(200);
    let etag = set.header("etag").unwrap().to_owned();
    set_slots(json!({"work_item_id": "w-1"}), &etag).await.problem(403, "slot");
    agent.post("/v1/contexts/query", json!({})).await.expect(200);
}

#[tokio::test]
async fn everything_else_is_refused_to_an_agent_before_it_is_looked_at() {
    let house = House::new().await;
    let agent = house.client("a", CredentialKind::Agent, None, None).await;
    let mut refused = 0;
    for (template, methods) in document()["paths"].as_object().unwrap() {
        for method in methods.as_object().unwrap().keys().filter(|method| *method != "get") {
            let open = template.ends_with("/query") || template.ends_with("/slots");
            // What agents may do with facts is in `spaces_people`.
            if open
                || ["/v1/fact-spaces", "/v1/observations", "/v1/context-packs"]
                    .iter()
                    .any(|it| template.starts_with(it))
            {
                continue;
            }
            let path = template
                .replace("{context_id}", &format!("ctx_{FOREIGN}"))
                .replace("{confirmation_id}", &format!("cnf_{FOREIGN}"))
                .replace("{approval_id}", &format!("apr_{FOREIGN}"))
                .replace("{disambiguation_id}", &format!("dis_{FOREIGN}"))
                .replace("{command_id}", "c")
                .replace("{principal_id}", "p");
            let got = agent.ask(&method.to_uppercase(), &path).fresh_key().json(&json!({})).send().await;
            got.problem(403, "not_for_agents");
            refused += 1;
        }
    }
    assert!(refused >= 16, "{refused}");
}
