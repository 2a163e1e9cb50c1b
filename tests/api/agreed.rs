//! What was agreed to cannot change on its way to the binding, and no number on that way turns into another.

use serde_json::{Value, json};

use crate::client::{Client, Got};
use crate::house::{House, ask, bind, fresh, fresh_attempt};

/// A question about this command on this target, answered yes by button, and the binding that fits it.
async fn agreed(house: &House, client: &Client, name: &str, target: &Value) -> (String, Value) {
    let conversation = fresh("conv");
    let context = house.opened(client, &conversation).await;
    let command = fresh("cmd");
    let mut question = ask(&command);
    (question["command"]["name"], question["target"]) = (json!(name), target.clone());
    let asked = house.asked(client, &context, question).await;
    let mut yes = house.message(&conversation, "Sim");
    (yes["kind"], yes["button_id"]) = (json!("interactive"), asked.body["button_ids"][0].clone());
    let got = client.post("/v1/messages", yes.clone()).await.expect(200);
    assert_eq!(got.text("/verdict/code"), "confirmed");
    let mut binding = bind(&command, &yes["message_id"]);
    (binding["name"], binding["target"]) = (json!(name), target.clone());
    (format!("/v1/contexts/{context}/commands"), binding)
}

#[tokio::test]
async fn brl_confirmed_and_usd_bound_is_target_mismatch() {
    let house = House::new().await;
    let client = house.handler("a").await;
    for name in ["refund.issue", "payment.send"] {
        let target = json!({"order_id": "8812", "amount": "82000", "payee": "p-1", "currency": "BRL"});
        let (path, binding) = agreed(&house, &client, name, &target).await;
        let bound_to = |target: &Value| {
            let mut other = binding.clone();
            other["target"] = target.clone();
            other["attempt_id"] = json!(fresh_attempt());
            client.ask("POST", &path).valid(&other).send()
        };
        let with = |field: &str, value: Value| {
            let mut other = target.clone();
            other[field] = value;
            other
        };
        let mut without = target.clone();
        without.as_object_mut().unwrap().remove("currency");
        for other in [
            with("currency", json!("USD")),
            with("currency", Value::Null),
            without,
            with("note", json!("urgent")),
            with("note", Value::Null),
        ] {
            bound_to(&other).await.problem(409, "target_mismatch");
        }
        client.ask("POST", &path).valid(&binding).send().await.expect(201);
        let mut again = binding.clone();
        again["target"]["currency"] = json!("USD");
        client.ask("POST", &path).valid(&again).send().await.problem(409, "command_conflict");
        assert!(client.ask("POST", &path).valid(&binding).send().await.expect(200).replayed());
    }
}

/// Sends this body with one text in it replaced by a number as it is written here.
async fn with_number(client: &Client, path: &str, body: &Value, number: &str) -> Got {
    let text = body.to_string().replace("\"NUMBER\"", number);
    client.ask("POST", path).fresh_key().raw(text).send().await
}

const NOT_EXACT: [&str; 8] = [
    "0.12345678901234567890",
    "9007199254740993.5",
    "1e400",
    "1e-400",
    "1e999999999",
    "0.1000000000000000055511151231257827",
    "-0",
    "-0.0",
];

#[tokio::test]
async fn a_number_that_does_not_survive_is_refused_wherever_it_stands() {
    let house = House::new().await;
    let client = house.handler("a").await;
    let (path, binding) = agreed(&house, &client, "refund.issue", &json!({"lines": [{"amount": 1.1}]})).await;
    let context = path.strip_suffix("/commands").unwrap().to_owned();
    let put = |pointer: &str, mut body: Value| {
        *body.pointer_mut(pointer).unwrap() = json!("NUMBER");
        body
    };
    let mut question = ask(&fresh("cmd"));
    question["target"] = json!({"lines": [{"amount": 1}, {"amount": 1}]});
    let mut enveloped = binding.clone();
    enveloped["envelope"]["lines"] = json!([1, [2.5, 3]]);
    let choice = json!({
        "options": [{"title": "Um", "target": {"a": 1}}, {"title": "Outro", "target": {"a": 2}}],
        "prompt": {"text": "Qual?"},
    });
    for (path, body, pointer) in [
        (format!("{context}/confirmations"), question.clone(), "/target/lines/1/amount"),
        (format!("{context}/approvals"), question.clone(), "/target/lines/1/amount"),
        (format!("{context}/disambiguations"), choice, "/options/1/target/a"),
        (path.clone(), binding.clone(), "/target/lines/0/amount"),
        (path.clone(), enveloped, "/envelope/lines/1/1"),
    ] {
        let body = put(pointer, body);
        for number in NOT_EXACT {
            let refused = with_number(&client, &path, &body, number).await.problem(422, "number_not_exact");
            assert_eq!(refused.text("/errors/0/pointer"), pointer, "{number}");
            assert!(refused.text("/detail").contains("send it as a string"));
        }
        with_number(&client, &path, &body, "9007199254740993").await.problem(400, "unsafe_integer");
    }
    let made_up = json!({"target": {"Ana Souza 5511999990000": "NUMBER"}});
    let refused = with_number(&client, &format!("{context}/confirmations"), &made_up, "1e400").await;
    assert_eq!(refused.problem(422, "number_not_exact").text("/errors/0/pointer"), "/target");
    client.ask("POST", &path).valid(&binding).send().await.expect(201);
}

#[tokio::test]
async fn one_number_written_in_two_ways_is_one_number_and_a_neighbour_is_another() {
    let house = House::new().await;
    let client = house.handler("a").await;
    for (asked, same, other) in [
        ("1.1", "1.10", "1.1000000000000003"),
        ("100", "1e2", "100.00000000000001"),
        ("82000.5", "82000.50", "82000.51"),
    ] {
        let target = json!({"amount": serde_json::from_str::<Value>(asked).unwrap()});
        let (path, mut binding) = agreed(&house, &client, "refund.issue", &target).await;
        binding["target"]["amount"] = json!("NUMBER");
        with_number(&client, &path, &binding, other).await.problem(409, "target_mismatch");
        with_number(&client, &path, &binding, same).await.expect(201);
    }
}
