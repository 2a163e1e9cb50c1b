//! Two tenants: what belongs to one does not exist for the other. Its ids and ids that never existed are answered
//! alike, on every route.

use std::collections::BTreeMap;

use cscp::domain::operation::CredentialKind;
use cscp::domain::query::EvidenceQuery;
use cscp::domain::scope::Scope;
use serde_json::{Value, json};

use crate::client::{Client, Got, document};
use crate::house::{House, ask, bind, fresh};

const RANDOM: &str = "018bcfe568007707870707070707070f";

/// Ids of tenant A's records by the name that paths give them, and ids that nobody has.
pub(crate) type Ids = BTreeMap<&'static str, (String, String)>;

/// Gives tenant A one record of every kind.
pub(crate) async fn furnish(house: &House, client: &Client) -> Ids {
    let (context, binding) = house.confirmed(client, "bound").await;
    let path = format!("/v1/contexts/{context}/commands");
    let bound = client.ask("POST", &path).valid(&binding).send().await.expect(201);
    let open = house.opened(client, "open").await;
    let confirmation = house.asked(client, &open, ask(&fresh("cmd"))).await;
    let paying = house.opened(client, "paying").await;
    let mut pay = ask(&fresh("cmd"));
    pay["command"]["name"] = json!("payment.send");
    pay["target"] = json!({"amount": "1", "payee": "p"});
    let approval = client.post(&format!("/v1/contexts/{paying}/approvals"), pay).await.expect(201);
    let choosing = house.opened(client, "choosing").await;
    let choice = json!({
        "options": [{"title": "um", "target": "1"}, {"title": "outro", "target": "2"}], "prompt": {"text": "Qual?"},
    });
    let choice = client.post(&format!("/v1/contexts/{choosing}/disambiguations"), choice).await.expect(201);
    client.put("/v1/principals/boss", json!({"kind": "person", "roles": ["approver"]})).await.expect(201);
    let query = EvidenceQuery { limit: 1, ..EvidenceQuery::default() };
    let entries = house.store.entries(&"s".to_owned().try_into().unwrap(), &query).await.unwrap();
    let artifact = entries.items[0].header.artifact_id.to_string();
    let random = |prefix: &str| format!("{prefix}_{RANDOM}");
    let fact =
        client.post("/v1/fact-spaces/furnished/facts", json!({"key": "colour", "value": "blue"})).await.expect(201);
    client.put("/v1/fact-spaces/furnished/environment/colour", json!({"value": 1})).await.expect(200);
    client.put("/v1/fact-spaces/furnished/working-set/colour", json!({"content": 1})).await.expect(200);
    let pack = json!({"fact_space": "furnished", "query": "q", "token_budget": 100, "save_frame": true});
    let pack = client.post("/v1/context-packs", pack).await.expect(201);
    let admin = house.client("s", CredentialKind::Admin, None, None).await;
    let nobody = json!({"subject": {"actor_id": "nobody-here"}, "dry_run": false});
    let erasure = admin.post("/v1/privacy/erasures", nobody).await.expect(201);
    let hold = admin.post("/v1/privacy/holds", json!({"actor_id": "nobody-here"})).await.expect(201);
    BTreeMap::from([
        ("erasure_id", (erasure.text("/erasure_id"), random("ers"))),
        ("hold_id", (hold.text("/hold_id"), random("hld"))),
        ("fact_space", ("furnished".to_owned(), "nowhere".to_owned())),
        ("fact_uid", (fact.text("/fact/uid"), random("fct"))),
        ("context_pack_id", (pack.text("/pack_id"), random("pck"))),
        ("context_id", (open, random("ctx"))),
        ("confirmation_id", (confirmation.text("/confirmation_id"), random("cnf"))),
        ("approval_id", (approval.text("/approval_id"), random("apr"))),
        ("disambiguation_id", (choice.text("/disambiguation_id"), random("dis"))),
        ("command_id", (bound.text("/command_id"), "no-such-command".to_owned())),
        ("principal_id", ("boss".to_owned(), "boxx".to_owned())),
        ("artifact_id", (artifact, random("art"))),
        ("context_frame_id", (bound.text("/context_ref/context_frame_id"), random("frm"))),
        ("pack_id", ("no-such-pack".to_owned(), "nor-this-pack".to_owned())),
    ])
}

/// A body that would be done if the record existed.
fn body(path: &str) -> Value {
    match path.rsplit('/').next().unwrap() {
        "slots" => json!({"active_intent": "x"}),
        "transitions" => json!({"action": "close"}),
        "confirmations" | "approvals" => ask("cmd-x"),
        "disambiguations" => json!({
            "options": [{"title": "um", "target": "1"}, {"title": "outro", "target": "2"}], "prompt": {"text": "Qual?"},
        }),
        "commands" => bind("cmd-x", &json!("wamid-x")),
        "prompt-message" => json!({"message_id": "wamid-y"}),
        "decisions" => json!({"decision": "approve", "approver_id": "boss"}),
        "results" => json!({"status": "succeeded"}),
        "takeovers" => {
            let mut again = bind("cmd-x", &json!("wamid-x"));
            again["replaces_attempt_id"] = again["attempt_id"].clone();
            again["downstream_checked"] = json!(true);
            again.as_object_mut().unwrap().retain(|name, _| name != "command_id" && name != "message_ids");
            again
        }
        "{principal_id}" => json!({"kind": "person"}),
        "identity" => json!({"user_id": "u"}),
        "facts" => json!({"key": "k", "value": "v"}),
        "batch" => json!({"facts": [{"key": "k", "value": "v"}]}),
        "supersede" => json!({"value": "v"}),
        "restore" => json!({"reason": "r"}),
        "reading" => json!({"text": "sim"}),
        "{key}" if path.contains("/environment/") => json!({"value": 1}),
        "{key}" => json!({"content": 1}),
        _ => json!({}),
    }
}

/// Whether something is made where there was nothing, so that it does not matter what another tenant has there.
fn makes(method: &str, template: &str) -> bool {
    let place = template.strip_prefix("/v1/fact-spaces/{fact_space}");
    let written = method == "POST" && matches!(place, Some("/facts" | "/facts/batch"));
    method == "PUT" && (place.is_some() || template == "/v1/principals/{principal_id}") || written
}

fn alike(got: &Got, id: &str) -> String {
    let text = format!("{:?}", got.essence()).replace(id, "THE-ID");
    // Uids of new facts differ, whoever has what.
    let mut parts = text.split("fct_");
    let first = parts.next().unwrap_or_default().to_owned();
    parts.fold(first, |text, part| text + "fct_" + part.get(32..).unwrap_or_default())
}

#[tokio::test]
async fn on_every_route_anothers_id_is_answered_like_one_that_never_existed() {
    let house = House::new().await;
    let owner = house.handler("s").await;
    let ids = furnish(&house, &owner).await;
    let other = house.client("b", CredentialKind::Admin, Some(&Scope::ALL), None).await;
    // Approvals are decided by keys that act for somebody.
    let boss = house.client("b", CredentialKind::Admin, Some(&Scope::ALL), Some("boss")).await;
    let mut tried = 0;
    for (template, methods) in document()["paths"].as_object().unwrap() {
        let Some((name, (foreign, random))) = ids.iter().find(|(name, _)| template.contains(&format!("{{{name}}}")))
        else {
            continue;
        };
        for method in methods.as_object().unwrap().keys().map(|method| method.to_uppercase()) {
            let mut answers = Vec::new();
            for id in [foreign, random] {
                let path = template.replace(&format!("{{{name}}}"), id).replace("{fact_uid}", &ids["fact_uid"].0);
                let path = path.replace("{key}", "colour").replace("{task_id}", "task");
                let caller = if template.ends_with("/decisions") { &boss } else { &other };
                let mut request = caller.ask(&method, &path).fresh_key();
                if method != "GET" {
                    request = request.json(&body(template));
                }
                if method == "PATCH" {
                    request = request.header("if-match", "\"r1\"");
                }
                answers.push(alike(&request.send().await, id));
            }
            assert_eq!(answers[0], answers[1], "{method} {template}");
            let created = makes(&method, template);
            if created && *name == "fact_space" {
                for id in [foreign, random] {
                    other.ask("DELETE", &format!("/v1/fact-spaces/{id}")).send().await.expect(200);
                }
            }
            assert_eq!(answers[0].starts_with("(404"), !created, "{method} {template}: {}", answers[0]);
            assert_eq!(answers[0].starts_with("(20"), created, "{method} {template}: {}", answers[0]);
            tried += 1;
        }
    }
    let with_ids = |paths: &Value| {
        paths
            .as_object()
            .unwrap()
            .iter()
            // A published log is anybody's, with the tenant in its path.
            .filter(|(path, _)| path.contains('{') && !path.starts_with("/log/"))
            .map(|(_, m)| m.as_object().unwrap().len())
            .sum::<usize>()
    };
    assert_eq!(tried, with_ids(&document()["paths"]), "every route with an id was tried");
}

#[tokio::test]
async fn ids_in_bodies_reach_no_other_tenant_either() {
    let house = House::new().await;
    let owner = house.handler("a").await;
    let other = house.handler("b").await;
    let context = house.opened(&owner, "conv").await;
    let asked = house.asked(&owner, &context, ask("cmd-a")).await;
    let item = owner.get(&format!("/v1/confirmations/{}", asked.text("/confirmation_id"))).await;
    let prompt = item.text("/prompts/0/message_id");
    let nonce = asked.text("/button_ids/0");
    let mut verdicts = Vec::new();
    for (quoted, tapped) in [(prompt, nonce), ("wamid-none".to_owned(), format!("cscp1.y.{}", "A".repeat(43)))] {
        house.opened(&other, "conv").await;
        for (member, value) in [("reply_to", quoted), ("button_id", tapped)] {
            let mut message = house.message("conv", "sim");
            message[member] = json!(value);
            if member == "button_id" {
                message["kind"] = json!("interactive");
            }
            verdicts.push(other.post("/v1/messages", message).await.expect(200).body["verdict"].clone());
        }
    }
    assert_eq!(verdicts[..2], verdicts[2..]);
    let mut outbound = house.message("conv", "e agora?");
    outbound["direction"] = json!("outbound");
    outbound["prompt_for"] = json!(asked.text("/confirmation_id"));
    let foreign = other.post("/v1/messages", outbound.clone()).await.problem(404, "item_not_found");
    outbound["prompt_for"] = json!(format!("cnf_{RANDOM}"));
    outbound["message_id"] = json!(fresh("wamid"));
    assert_eq!(other.post("/v1/messages", outbound).await.essence(), foreign.essence());
    let still = owner.post("/v1/messages", house.message("conv", "sim")).await;
    assert_eq!(still.text("/verdict/code"), "confirmed", "nothing that the other did was heard here");
}

#[tokio::test]
async fn names_may_be_the_same_in_two_tenants() {
    let house = House::new().await;
    let (a, b) = (house.handler("a").await, house.handler("b").await);
    let (context, binding) = house.confirmed(&a, "conv").await;
    a.ask("POST", &format!("/v1/contexts/{context}/commands")).valid(&binding).send().await.expect(201);
    let message = house.message("conv", "oi");
    let mut differently = message.clone();
    differently["text"] = json!("something else under the same id");
    a.post("/v1/messages", message).await.expect(200);
    let got = b.post("/v1/messages", differently.clone()).await.expect(200);
    assert_eq!(got.body["duplicate"], false);
    let mut read_only = binding;
    read_only["name"] = json!("order.status");
    read_only["message_ids"] = json!([differently["message_id"]]);
    let path = format!("/v1/contexts/{}/commands", got.text("/context/context_id"));
    b.ask("POST", &path).valid(&read_only).send().await.expect(201);
    let found = b.post("/v1/contexts/query", json!({"conversation_id": "conv"})).await.expect(200);
    assert_eq!(found.body["items"].as_array().unwrap().len(), 1);
    let body = json!({"conversation_id": "fresh", "actor_id": "customer"});
    a.ask("POST", "/v1/contexts").key("same").valid(&body).send().await.expect(201);
    assert!(!b.ask("POST", "/v1/contexts").key("same").valid(&body).send().await.expect(201).replayed());
}
