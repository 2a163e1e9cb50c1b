//! Time: callers that are too fast, and bodies that are too slow.

use std::time::Duration;

use cscp::committer::Limits;
use cscp::http::HttpConfig;
use cscp::packs::PackSource;
use tokio::io::{AsyncReadExt, AsyncWriteExt};

use crate::house::House;

/// A house under the shipped packs with these rate limits in place of their own.
async fn house_with(limits: &str, config: HttpConfig) -> House {
    let folder = tempfile::tempdir().unwrap();
    for (name, text) in [
        ("basic.yaml", include_str!("../../policies/basic.yaml")),
        ("strong.yaml", include_str!("../../policies/strong.yaml")),
    ] {
        let (rest, _) = text.split_once("\nrate_limits:").unwrap();
        std::fs::write(folder.path().join(name), format!("{rest}\nrate_limits: {limits}\n")).unwrap();
    }
    House::under(&PackSource::Folder(folder.path().to_owned()), Limits::default(), config).await
}

#[tokio::test]
async fn a_key_may_call_as_fast_as_its_policy_says() {
    let house = house_with("{ requests_per_second: 1, burst: 3 }", HttpConfig::default()).await;
    let (one, other) = (house.handler("a").await, house.handler("a").await);
    for _ in 0..3 {
        one.get("/v1/policies").await.expect(200);
    }
    let limited = one.get("/v1/policies").await.problem(429, "rate_limited");
    assert_eq!(limited.header("retry-after"), Some("1"));
    assert_eq!(limited.header("ratelimit-policy"), Some("\"key\";q=3;w=1"));
    assert!(limited.header("ratelimit").is_some());
    other.get("/v1/policies").await.expect(200);
}

#[tokio::test]
async fn more_keys_of_a_tenant_may_not_call_more() {
    let limits = "{ requests_per_second: 1, burst: 3, tenant: { requests_per_second: 1, burst: 4 } }";
    let house = house_with(limits, HttpConfig::default()).await;
    let keys = [house.handler("a").await, house.handler("a").await, house.handler("a").await];
    for key in keys.iter().chain(&keys[..1]) {
        key.get("/v1/policies").await.expect(200);
    }
    let limited = keys[1].get("/v1/policies").await.problem(429, "rate_limited");
    assert_eq!(limited.header("retry-after"), Some("1"));
    assert_eq!(limited.header("ratelimit-policy"), Some("\"tenant\";q=4;w=1"));
    house.handler("b").await.get("/v1/policies").await.expect(200);
}

#[tokio::test]
async fn rate_limits_can_be_lifted() {
    let config = HttpConfig { rate_limits: false, ..HttpConfig::default() };
    let house = house_with("{ requests_per_second: 1, burst: 1 }", config).await;
    let key = house.handler("a").await;
    for _ in 0..5 {
        key.get("/v1/policies").await.expect(200);
    }
}

#[tokio::test]
async fn a_body_that_does_not_arrive_is_given_up() {
    let config = HttpConfig { body_timeout: Duration::from_millis(50), ..HttpConfig::default() };
    let house = House::idle(Limits::default(), config).await;
    let client = house.handler("a").await;
    let address = client.base.trim_start_matches("http://");
    let mut line = tokio::net::TcpStream::connect(address).await.unwrap();
    let head = format!(
        "POST /v1/messages HTTP/1.1\r\nhost: x\r\nconnection: close\r\nauthorization: Bearer {}\r\n\
         content-type: application/json\r\ncontent-length: 100\r\n\r\n{{",
        client.key.as_ref().unwrap()
    );
    line.write_all(head.as_bytes()).await.unwrap();
    let mut answer = String::new();
    line.read_to_string(&mut answer).await.unwrap();
    assert!(answer.starts_with("HTTP/1.1 408") && answer.contains("\"code\":\"body_timeout\""), "{answer}");
}

#[tokio::test]
async fn bodies_that_do_not_end_take_the_share_of_their_key_and_nobody_elses() {
    let config = HttpConfig { body_memory: 1 << 20, body_waiting: Duration::ZERO, ..HttpConfig::default() };
    let house = House::idle(Limits::default(), config).await;
    house.work();
    let (loud, other) = (house.handler("a").await, house.handler("a").await);
    let half = |key: &str| {
        let head = format!(
            "POST /v1/messages/batch HTTP/1.1\r\nhost: x\r\nauthorization: Bearer {key}\r\n\
             content-type: application/json\r\ncontent-length: 900000\r\n\r\n"
        );
        [head.into_bytes(), vec![b' '; 200_000]].concat()
    };
    let mut line = tokio::net::TcpStream::connect(loud.base.trim_start_matches("http://")).await.unwrap();
    line.write_all(&half(loud.key.as_ref().unwrap())).await.unwrap();
    let large = |text: usize| {
        let mut message = house.message("talk", "oi");
        message["text"] = "x".repeat(text).into();
        message
    };
    // What is taken is too long for a text. The half-sent body may still be on its way at first.
    let refused = loop {
        let answer = loud.ask("POST", "/v1/messages").json(&large(200_000)).send().await;
        if answer.status == 503 {
            break answer.problem(503, "busy");
        }
        answer.problem(422, "invalid_value");
    };
    assert_eq!(refused.header("retry-after"), Some("1"));
    other.ask("POST", "/v1/messages").json(&large(200_000)).send().await.problem(422, "invalid_value");
    loud.post("/v1/messages", large(10)).await.expect(200);
    loud.get("/v1/policies").await.expect(200);
    drop(line);
    while loud.ask("POST", "/v1/messages").json(&large(200_000)).send().await.status == 503 {}
}
