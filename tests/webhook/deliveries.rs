//! Whole deliveries: what Meta gets as an answer, and what reached cscp.

use std::collections::BTreeSet;

use axum::http::StatusCode;
use serde_json::{Value, json};

use crate::bench::Bench;
use crate::fixtures::{many, own, real};
use crate::stub::Stub;

/// Every message that was normalised reached cscp, and the counts add up.
async fn nothing_is_lost(name: &str, body: &[u8], messages: Option<usize>) {
    let bench = Bench::new().await;
    let answered = bench.deliver(body).await;
    assert_eq!(answered.status, StatusCode::OK, "{name}");
    assert!(answered.adds_up(), "{name}: {}", answered.receipt());
    let arrived = bench
        .stub
        .log
        .lock()
        .unwrap()
        .iter()
        .map(|one| one.body["messages"].as_array().map_or(1, Vec::len))
        .sum::<usize>();
    assert_eq!(answered.count("posted"), arrived as u64, "{name}");
    if let Some(messages) = messages {
        assert_eq!(arrived, messages, "{name}");
    }
}

#[tokio::test]
async fn every_fixture_is_accepted_whole() {
    for fixture in own() {
        let count = |list: &str| fixture.expect[list].as_array().map_or(0, Vec::len);
        nothing_is_lost(&fixture.name, &fixture.body, Some(count("messages") + count("identity_updates"))).await;
    }
}

#[tokio::test]
async fn every_real_payload_is_accepted_whole() {
    for (name, payload) in real() {
        nothing_is_lost(&name, payload.to_string().as_bytes(), None).await;
    }
}

#[tokio::test]
async fn big_deliveries_arrive_in_order_and_in_batches_that_cscp_takes() {
    for (count, requests) in [(1, 1), (1_000, 1), (2_500, 3)] {
        let bench = Bench::new().await;
        let answered = bench.deliver(many(count).to_string().as_bytes()).await;
        assert_eq!((answered.status, answered.count("posted")), (StatusCode::OK, count as u64));
        assert_eq!(bench.stub.names().len(), requests);
        let expected: Vec<String> = (0..count).map(|n| format!("wamid.many.{n}")).collect();
        assert_eq!(bench.stub.message_ids(), expected);
    }
}

#[tokio::test]
async fn while_cscp_is_away_meta_is_asked_to_deliver_again() {
    let stub = Stub::start().await;
    for status in [503, 500, 502, 429, 401, 404] {
        for count in [1, 3] {
            stub.script(|script| script.down = Some(status));
            let bench = Bench::at(stub.clone(), &stub.url, crate::stub::KEY);
            let body = many(count).to_string();
            assert_eq!(bench.deliver(body.as_bytes()).await.status, StatusCode::SERVICE_UNAVAILABLE, "{status}");
            stub.script(|script| script.down = None);
            assert_eq!(bench.deliver(body.as_bytes()).await.status, StatusCode::OK, "{status}");
        }
    }
}

#[tokio::test]
async fn an_unreachable_cscp_and_a_wrong_key_lose_nothing_either() {
    let free = std::net::TcpListener::bind("127.0.0.1:0").unwrap();
    let nobody = format!("http://{}", free.local_addr().unwrap());
    drop(free);
    let stub = Stub::start().await;
    let url = stub.url.clone();
    for (url, key) in [(nobody, crate::stub::KEY), (url, "another key")] {
        let bench = Bench::at(stub.clone(), &url, key);
        let answered = bench.deliver(many(2).to_string().as_bytes()).await;
        assert_eq!(answered.status, StatusCode::SERVICE_UNAVAILABLE);
        assert_eq!(answered.body, b"");
    }
}

#[tokio::test]
async fn statuses_need_no_cscp() {
    let bench = Bench::new().await;
    bench.stub.script(|script| script.down = Some(503));
    let fixture = own().into_iter().find(|fixture| fixture.name == "statuses").unwrap();
    assert_eq!(bench.deliver(&fixture.body).await.status, StatusCode::OK);
}

#[tokio::test]
async fn one_refused_message_does_not_cost_the_others() {
    let bench = Bench::new().await;
    bench.stub.script(|script| {
        script.problems.insert("wamid.many.1".to_owned(), (422, "invalid_message"));
    });
    let answered = bench.deliver(many(3).to_string().as_bytes()).await;
    assert_eq!(answered.status, StatusCode::OK);
    assert_eq!((answered.count("posted"), answered.count("refused")), (2, 1));
    assert!(answered.adds_up());
}

#[tokio::test]
async fn a_refused_batch_is_posted_one_by_one() {
    for status in [400, 413, 422] {
        let bench = Bench::new().await;
        bench.stub.script(|script| {
            script.batch_status = Some(status);
            script.problems.insert("wamid.many.0".to_owned(), (422, "invalid_message"));
        });
        let answered = bench.deliver(many(3).to_string().as_bytes()).await;
        assert_eq!((answered.count("posted"), answered.count("refused")), (2, 1), "{status}");
        assert_eq!(bench.stub.names().len(), 4);
    }
}

#[tokio::test]
async fn one_message_that_fails_for_now_brings_the_delivery_back_and_the_others_go_on() {
    let bench = Bench::new().await;
    let body = many(3).to_string();
    bench.stub.script(|script| {
        script.verdicts.insert("wamid.many.2".to_owned(), json!({ "code": "expired", "next": "ask_anew" }));
    });
    bench.stub.script(|script| {
        script.problems.insert("wamid.many.0".to_owned(), (500, "internal"));
    });
    assert_eq!(bench.deliver(body.as_bytes()).await.status, StatusCode::SERVICE_UNAVAILABLE);
    assert_eq!(bench.stub.all("send").len(), 1, "the last message got its reply");
    bench.stub.script(|script| script.problems.clear());
    assert_eq!(bench.deliver(body.as_bytes()).await.status, StatusCode::OK);
    assert_eq!(bench.stub.all("send").len(), 1, "once");
}

#[tokio::test]
async fn an_answer_that_does_not_match_the_batch_is_not_believed() {
    let bench = Bench::new().await;
    for results in [json!({ "results": [] }), json!({}), json!({ "results": [{ "answer": 1 }, {}] })] {
        bench.stub.script(|script| {
            script.next.insert("batch", vec![(200, results)]);
        });
        assert_eq!(bench.deliver(many(2).to_string().as_bytes()).await.status, StatusCode::SERVICE_UNAVAILABLE);
    }
}

#[tokio::test]
async fn a_repeated_delivery_goes_to_cscp_again() {
    let bench = Bench::new().await;
    let body = many(2).to_string();
    for _ in 0..2 {
        assert_eq!(bench.deliver(body.as_bytes()).await.status, StatusCode::OK);
    }
    assert_eq!(bench.stub.message_ids().len(), 4);
    assert_eq!(bench.stub.message_ids().into_iter().collect::<BTreeSet<_>>().len(), 2);
}

#[tokio::test]
async fn a_change_of_identity_is_posted_before_the_answer_that_came_with_it() {
    let bench = Bench::new().await;
    let metadata = json!({ "phone_number_id": "1" });
    let body = json!({ "entry": [{ "changes": [
        { "field": "messages", "value": { "metadata": metadata, "messages": [
            { "from": "US.1", "id": "wamid.yes", "timestamp": 1_790_000_000, "type": "text", "text": { "body": "yes" } }] } },
        { "field": "user_id_update", "value": { "metadata": metadata, "user_id_update": [
            { "timestamp": 1_790_000_000, "user_id": { "previous": "US.1", "current": "US.2" } }] } },
    ]}]});
    assert_eq!(bench.deliver(body.to_string().as_bytes()).await.status, StatusCode::OK);
    assert_eq!(bench.stub.message_ids()[1], "wamid.yes");
}

#[tokio::test]
async fn signed_bytes_that_are_not_json_are_a_bad_request_that_repeats_nothing_of_them() {
    let bench = Bench::new().await;
    let deep = "[".repeat(100_000);
    for body in ["", "   ", "{", "hello +12025550100", "{\"a\":\"12025550100", deep.as_str(), "\u{feff}{}"] {
        let answered = bench.deliver(body.as_bytes()).await;
        assert_eq!(answered.status, StatusCode::BAD_REQUEST);
        assert!(!String::from_utf8(answered.body).unwrap().contains("12025550100"));
    }
    assert_eq!(bench.deliver(b"\xff\xfe").await.status, StatusCode::BAD_REQUEST);
    for body in ["null", "7", "[]", "{}", "\"entry\"", "true false"] {
        let answered = bench.deliver(body.as_bytes()).await;
        assert_eq!(answered.status, StatusCode::OK, "{body}");
        assert!(answered.adds_up() && answered.count("seen") > 0, "{body}");
    }
}

#[tokio::test]
async fn cscp_is_never_given_an_id_in_a_path() {
    let bench = Bench::new().await;
    for fixture in own() {
        bench.deliver(&fixture.body).await;
    }
    for name in bench.stub.names() {
        assert!(!name.contains("wamid") && !name.contains("1202555") && !name.contains("US."), "{name}");
    }
    let members = [
        "message_id",
        "conversation_id",
        "actor_id",
        "sent_at",
        "direction",
        "kind",
        "channel",
        "text",
        "button_id",
        "reply_to",
        "forwarded",
        "system",
        "expects_reply",
    ];
    for happened in bench.stub.all("POST /v1/messages") {
        for (member, value) in happened.body.as_object().unwrap() {
            assert!(members.contains(&member.as_str()) && *value != Value::Null, "{member}");
        }
    }
}
