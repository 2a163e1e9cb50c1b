//! The happy path, and the ways in which it must not end.

use std::collections::BTreeMap;

use serde_json::json;

use crate::house::{House, ask, bind, fresh, fresh_attempt};

#[tokio::test]
async fn a_command_is_asked_for_answered_bound_and_reported() {
    let house = House::new().await;
    let client = house.handler("a").await;
    let context = house.opened(&client, "conv").await;
    let asked = house.asked(&client, &context, ask("cmd-flow")).await;
    assert_eq!(asked.header("location").unwrap(), format!("/v1/confirmations/{}", asked.text("/confirmation_id")));
    assert_eq!(asked.body["buttons"][1]["action"], "decline");
    let pending = client.get(&format!("/v1/contexts/{context}")).await.expect(200);
    assert_eq!(pending.text("/status"), "pending");
    assert_eq!(pending.text("/slots/pending_confirmation/command_id"), "cmd-flow");

    let yes = house.message("conv", "sim");
    let got = client.post("/v1/messages", yes.clone()).await.expect(200);
    assert_eq!(got.text("/verdict/code"), "confirmed");
    assert_eq!(got.text("/verdict/confirmation/command_id"), "cmd-flow");
    assert_eq!(got.text("/verdict/confirmation/target_fingerprint"), asked.text("/target_fingerprint"));
    let again = client.post("/v1/messages", yes.clone()).await.expect(200);
    assert_eq!((again.body["duplicate"].as_bool(), again.text("/verdict/code")), (Some(true), "confirmed".to_owned()));

    let binding = bind("cmd-flow", &yes["message_id"]);
    let path = format!("/v1/contexts/{context}/commands");
    let bound = client.ask("POST", &path).valid(&binding).send().await.expect(201);
    assert!(bound.text("/context_ref/context_hash").starts_with("sha256:"));
    let same = client.ask("POST", &path).valid(&binding).send().await.expect(200);
    assert!(same.replayed());
    assert_eq!(same.body, bound.body);
    let result = json!({"status": "succeeded", "summary": "feito", "close_context": true});
    let recorded = client.post("/v1/commands/cmd-flow/results", result).await.expect(201);
    assert_eq!(recorded.text("/command/outcome"), "succeeded");
    assert_eq!(recorded.text("/context/status"), "closed");
    let command = client.get("/v1/commands/cmd-flow").await.expect(200);
    assert_eq!(command.body, recorded.body["command"]);
    let spent = client.get(&format!("/v1/confirmations/{}", asked.text("/confirmation_id"))).await.expect(200);
    assert_eq!(spent.text("/state"), "spent");
}

#[tokio::test]
async fn of_many_workers_that_saw_the_yes_one_may_execute() {
    let house = House::new().await;
    let client = house.handler("a").await;
    let (context, binding) = house.confirmed(&client, "conv").await;
    let path = format!("/v1/contexts/{context}/commands");
    let workers = (0..24).map(|_| {
        let mut binding = binding.clone();
        binding["attempt_id"] = json!(fresh_attempt());
        let ask = client.ask("POST", &path).valid(&binding);
        tokio::spawn(ask.send())
    });
    let mut outcomes: BTreeMap<(u16, String), u32> = BTreeMap::new();
    for worker in workers.collect::<Vec<_>>() {
        let got = worker.await.unwrap();
        *outcomes.entry((got.status, got.code().to_owned())).or_default() += 1;
    }
    assert_eq!(outcomes, BTreeMap::from([((201, String::new()), 1), ((409, "already_bound".to_owned()), 23)]));
}

#[tokio::test]
async fn a_yes_that_comes_too_late_or_is_bound_too_late_does_nothing() {
    let house = House::new().await;
    let client = house.handler("a").await;
    let context = house.opened(&client, "late").await;
    let asked = house.asked(&client, &context, ask("cmd-late")).await;
    house.wait(301);
    let item = client.get(&format!("/v1/confirmations/{}", asked.text("/confirmation_id"))).await;
    assert_eq!(item.text("/state"), "expired", "expiry is judged as it is read");
    let now = client.get(&format!("/v1/contexts/{context}")).await;
    assert_eq!(now.text("/status"), "active");
    assert!(now.body["slots"].get("pending_confirmation").is_none());
    let got = client.post("/v1/messages", house.message("late", "sim")).await;
    assert_eq!(got.text("/verdict/code"), "expired");
    assert_eq!(got.text("/verdict/next"), "ask_anew");

    let (context, binding) = house.confirmed(&client, "slow").await;
    house.wait(61);
    let path = format!("/v1/contexts/{context}/commands");
    let late = client.ask("POST", &path).valid(&binding).send().await.problem(409, "confirmation_expired");
    assert!(late.body["bind_by"].is_string());
}

#[tokio::test]
async fn a_yes_answers_only_the_question_it_was_put_to() {
    let house = House::new().await;
    let client = house.handler("a").await;
    let context = house.opened(&client, "two").await;
    let first = house.asked(&client, &context, ask("cmd-first")).await;
    let path = format!("/v1/contexts/{context}/confirmations");
    let open = client.post(&path, ask("cmd-second")).await.problem(409, "question_pending");
    assert_eq!(open.text("/item_id"), first.text("/confirmation_id"));
    let mut second = ask("cmd-second");
    second["supersede"] = json!(true);
    house.asked(&client, &context, second).await;
    let mut tap = house.message("two", "Sim");
    tap["kind"] = json!("interactive");
    tap["button_id"] = first.body["button_ids"][0].clone();
    let got = client.post("/v1/messages", tap).await.expect(200);
    assert_eq!(got.text("/verdict/code"), "superseded");
    assert_eq!(got.text("/verdict/confirmation/state"), "voided");
    let mut other = house.message("two", "vamos?");
    other["direction"] = json!("outbound");
    let other = client.post("/v1/messages", other).await.expect(200);
    assert_eq!(other.body["reading"], json!({"polarity": "other"}));
    house.wait(1);
    for reason in ["answers_other_question", "other_question_since"] {
        let bare = client.post("/v1/messages", house.message("two", "sim")).await.expect(200);
        assert_eq!(bare.text("/verdict/reason"), reason);
    }
}

#[tokio::test]
async fn what_is_bound_is_what_was_shown() {
    let house = House::new().await;
    let client = house.handler("a").await;
    let (context, binding) = house.confirmed(&client, "conv").await;
    let path = format!("/v1/contexts/{context}/commands");
    let mut other = binding.clone();
    other["target"]["address_id"] = json!("address-2");
    client.ask("POST", &path).valid(&other).send().await.problem(409, "target_mismatch");
    client.ask("POST", &path).valid(&binding).send().await.expect(201);
    other["target"] = binding["target"].clone();
    other["envelope"] = json!({"another": true});
    client.ask("POST", &path).valid(&other).send().await.problem(409, "command_conflict");
}

#[tokio::test]
async fn an_option_is_chosen_and_becomes_the_target() {
    let house = House::new().await;
    let client = house.handler("a").await;
    let context = house.opened(&client, "which").await;
    let body = json!({
        "options": [{"title": "Pedido 8812", "target": {"order_id": "8812"}}, {"title": "Outro", "target": "x"}],
        "prompt": {"text": "Qual deles?"},
    });
    let asked = client.post(&format!("/v1/contexts/{context}/disambiguations"), body).await.expect(201);
    let id = asked.text("/disambiguation_id");
    let prompt = json!({"message_id": fresh("wamid.prompt")});
    client.put(&format!("/v1/disambiguations/{id}/prompt-message"), prompt).await.expect(200);
    house.wait(2);
    let mut tap = house.message("which", "Pedido 8812");
    tap["kind"] = json!("interactive");
    tap["button_id"] = asked.body["button_ids"][0].clone();
    let got = client.post("/v1/messages", tap).await.expect(200);
    assert_eq!(got.text("/verdict/code"), "selected");
    assert_eq!(got.body["verdict"]["selection"]["option"], 1);
    assert_eq!(got.body["context"]["slots"]["active_target"]["order_id"], "8812");
    let read = client.get(&format!("/v1/disambiguations/{id}")).await.expect(200);
    assert_eq!((read.text("/state"), read.body["selected"].as_u64()), ("selected".to_owned(), Some(1)));
}
