//! Approvals: decided in somebody's name, by somebody entitled, and found again.

use cscp::domain::operation::CredentialKind;
use cscp::domain::scope::Scope;
use serde_json::{Value, json};

use crate::client::Client;
use crate::house::{House, fresh};

const COMMAND: &str = "payment.send";

fn ask(command: &str) -> Value {
    json!({
        "command": {"command_id": command, "name": COMMAND, "idempotency_key": format!("idem-{command}")},
        "target": {"amount": "82000", "payee": "p-1", "order_id": "1"},
        "prompt": {"text": "Aprovar?", "buttons": [{"title": "Aprovar", "action": "approve"}, "Rejeitar"]},
    })
}

/// An approval that was asked for, and the role that it wants.
async fn asked(house: &House, handler: &Client, conversation: &str) -> (String, String) {
    let context = house.opened(handler, conversation).await;
    let got = handler.post(&format!("/v1/contexts/{context}/approvals"), ask(&fresh("cmd"))).await.expect(201);
    let id = got.text("/approval_id");
    assert_eq!(got.text("/buttons/0/action"), "approve");
    let read = handler.get(&format!("/v1/approvals/{id}")).await.expect(200);
    assert_eq!(read.body["received"], 0);
    (id, read.text("/role"))
}

#[tokio::test]
async fn a_key_decides_in_the_name_it_acts_for_and_in_no_other() {
    let house = House::new().await;
    let handler = house.handler("s").await;
    let (id, role) = asked(&house, &handler, "conv").await;
    let path = format!("/v1/approvals/{id}/decisions");
    let decide = Some(&[Scope::ApprovalDecide, Scope::ContextRead][..]);
    let boss = house.client("s", CredentialKind::Operator, decide, Some("boss")).await;
    let unbound = house.client("s", CredentialKind::Handler, decide, None).await;
    let body = json!({"decision": "approve"});
    unbound.post(&path, body.clone()).await.problem(403, "key_without_principal");
    // In a real approver's name it decides nothing either.
    let named = json!({"decision": "approve", "approver_id": "boss"});
    unbound.post(&path, named.clone()).await.problem(403, "key_without_principal");
    boss.post(&path, json!({"decision": "approve", "approver_id": "other"})).await.problem(403, "other_principal");
    boss.post(&path, body.clone()).await.problem(403, "approver_not_entitled");
    handler.put("/v1/principals/boss", json!({"kind": "person", "roles": [role]})).await.expect(201);
    unbound.post(&path, named).await.problem(403, "key_without_principal");
    let decided = boss.post(&path, body.clone()).await.expect(200);
    assert_eq!(decided.body["received"], 1);
    let again = boss.post(&path, body).await;
    assert_eq!((again.status, again.code()), (409, "already_decided"));
}

#[tokio::test]
async fn open_approvals_are_found_and_withdrawn() {
    let house = House::new().await;
    let handler = house.handler("s").await;
    let mut ids = Vec::new();
    for at in 0..3 {
        ids.push(asked(&house, &handler, &format!("conv-{at}")).await.0);
        house.wait(1);
    }
    handler.ask("POST", &format!("/v1/approvals/{}/cancel", ids[0])).fresh_key().send().await.expect(200);
    let open = handler.post("/v1/approvals/query", json!({"open_only": true})).await.expect(200);
    let found: Vec<&str> =
        open.body["items"].as_array().unwrap().iter().map(|i| i["approval_id"].as_str().unwrap()).collect();
    assert_eq!(found, [ids[2].as_str(), ids[1].as_str()]);
    let all = handler.post("/v1/approvals/query", json!({"limit": 2})).await.expect(200);
    let rest = json!({"limit": 2, "cursor": all.text("/next_cursor")});
    let rest = handler.post("/v1/approvals/query", rest).await.expect(200);
    assert_eq!(rest.body["items"][0]["approval_id"], ids[0].as_str());
    assert_eq!(rest.text("/items/0/state"), "voided");
}

#[tokio::test]
async fn what_needs_no_approval_is_told_so() {
    let house = House::new().await;
    let handler = house.handler("a").await;
    let context = house.opened(&handler, "conv").await;
    let got = handler.post(&format!("/v1/contexts/{context}/approvals"), crate::house::ask("c")).await;
    got.problem(422, "approval_not_needed");
}

#[tokio::test]
async fn a_repetition_is_the_deciders_own_and_survives_a_change_of_key() {
    let house = House::new().await;
    let handler = house.handler("s").await;
    let (id, role) = asked(&house, &handler, "conv").await;
    let path = format!("/v1/approvals/{id}/decisions");
    let decide = Some(&[Scope::ApprovalDecide][..]);
    for boss in ["boss-1", "boss-2"] {
        let body = json!({"kind": "person", "roles": [role]});
        handler.put(&format!("/v1/principals/{boss}"), body).await.expect(201);
    }
    let first = house.client("s", CredentialKind::Operator, decide, Some("boss-1")).await;
    let rotated = house.client("s", CredentialKind::Operator, decide, Some("boss-1")).await;
    let second = house.client("s", CredentialKind::Operator, decide, Some("boss-2")).await;
    let send = |client: &Client| client.ask("POST", &path).key("tap").valid(&json!({"decision": "approve"})).send();
    assert!(!send(&first).await.expect(200).replayed());
    assert!(send(&rotated).await.expect(200).replayed(), "a client that changes its key repeats its own request");
    let got = send(&second).await.problem(409, "already_decided");
    assert!(!got.replayed(), "nobody is told that somebody else's decision was theirs");
}

/// What a principal is known by: kind of its alias and its value.
type Known = (&'static str, &'static str);

async fn put(handler: &Client, id: &str, role: Option<&str>, known: &[Known], person: Option<&str>) {
    let aliases: Vec<Value> = known.iter().map(|(kind, value)| json!({"kind": kind, "value": value})).collect();
    let roles: Vec<&str> = role.into_iter().collect();
    let mut body = json!({"kind": "person", "roles": roles, "aliases": aliases});
    if let Some(person) = person {
        body["person_id"] = person.into();
    }
    let got = handler.put(&format!("/v1/principals/{id}"), body).await;
    assert!([200, 201].contains(&got.status), "{got:?}");
}

const P1: Known = ("phone", "+55 11 90000-0001");
const P1_BARE: Known = ("phone", "5511900000001");
const P2: Known = ("phone", "5511900000002");
const P3: Known = ("bsuid", "BR.3");

/// Accounts that link two approvers who have nothing in common (ADR 24). None of them approves.
fn links(case: usize) -> Vec<(&'static str, Vec<Known>, Option<&'static str>)> {
    match case {
        0 => vec![("link", vec![P1, P2], None)],
        1 => vec![("link", vec![P1_BARE, P2], None)],
        2 => vec![("link-1", vec![P1, P3], None), ("link-2", vec![P3, P2], None)],
        3 => vec![("link-1", vec![P1], Some("somebody")), ("link-2", vec![P2], Some("somebody"))],
        4 => vec![("link", vec![P2], Some("one"))],
        // Its own id is the number of the other one.
        _ => vec![("5511900000001", vec![P2], None)],
    }
}
const CASES: usize = 6;

#[tokio::test]
async fn accounts_that_a_third_one_links_are_one_person() {
    for case in 0..CASES {
        for late in [false, true] {
            let house = House::new().await;
            house.tenant("o", "operational").await;
            let handler = house.handler("o").await;
            let (id, role) = asked(&house, &handler, "conv").await;
            let required = handler.get(&format!("/v1/approvals/{id}")).await.expect(200).body["required"].clone();
            assert_eq!(required, 2, "{COMMAND} needs two people");
            put(&handler, "one", Some(&role), &[P1], None).await;
            put(&handler, "two", Some(&role), &[P2], None).await;
            let decide = Some(&[Scope::ApprovalDecide, Scope::ContextRead][..]);
            let one = house.client("o", CredentialKind::Operator, decide, Some("one")).await;
            let two = house.client("o", CredentialKind::Operator, decide, Some("two")).await;
            let link = async || {
                for (id, known, person) in links(case) {
                    put(&handler, id, None, &known, person).await;
                }
            };
            let path = format!("/v1/approvals/{id}/decisions");
            let body = json!({"decision": "approve"});
            if !late {
                link().await;
            }
            one.post(&path, body.clone()).await.expect(200);
            let second = two.post(&path, body).await;
            if late {
                assert_eq!(second.expect(200).text("/state"), "approved");
                link().await;
            } else {
                second.problem(409, "already_decided");
            }
            let now = handler.get(&format!("/v1/approvals/{id}")).await.expect(200);
            assert_eq!((now.text("/state"), &now.body["received"]), ("open".to_owned(), &json!(1)), "{case} {late}");
        }
    }
}

#[tokio::test]
async fn nobody_approves_their_own_request_through_a_third_account() {
    for case in 0..CASES {
        let house = House::new().await;
        house.tenant("o", "operational").await;
        let handler = house.handler("o").await;
        let (id, role) = asked(&house, &handler, "conv").await;
        // The customer is who is linked; the one of the cases stands for it.
        put(&handler, "customer", None, &[P1], (case == 4).then_some("one")).await;
        put(&handler, "two", Some(&role), &[P2], None).await;
        for (id, known, person) in links(case) {
            put(&handler, id, None, &known, person).await;
        }
        let decide = Some(&[Scope::ApprovalDecide][..]);
        let two = house.client("o", CredentialKind::Operator, decide, Some("two")).await;
        let path = format!("/v1/approvals/{id}/decisions");
        two.post(&path, json!({"decision": "approve"})).await.problem(403, "approver_not_entitled");
    }
}

/// A number that is spelled with anything else would be another person's.
#[tokio::test]
async fn a_telephone_number_is_spelled_with_what_is_compared() {
    let house = House::new().await;
    let handler = house.handler("s").await;
    let fit = ["+55 (11) 90000-0001", "5511900000001", " 5511900000001"];
    let unfit = [
        "5511.900000001",
        "5511/900000001",
        "+5511\u{A0}900000001",
        "5511\u{2011}900000001",
        "5511\u{200B}900000001",
        "\u{FF0B}5511900000001",
        "５５１１９００００００００１",
        "tel:+5511900000001",
        "whatsapp:+5511900000001",
        "5511900000001@c.us",
        "ana",
        "+",
    ];
    for (number, fits) in fit.map(|number| (number, true)).into_iter().chain(unfit.map(|number| (number, false))) {
        let body = json!({"kind": "person", "roles": [], "aliases": [{"kind": "phone", "value": number}]});
        let got = handler.put(&format!("/v1/principals/{}", fresh("p")), body).await;
        if fits {
            got.expect(201);
        } else {
            got.problem(422, "invalid_value");
        }
    }
}
