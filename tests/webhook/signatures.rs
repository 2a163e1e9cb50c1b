//! Who may speak: the hub challenge and the signature.

use axum::http::StatusCode;

use crate::bench::{Bench, TOKEN, signature};
use crate::server::BODY_LIMIT;
use crate::signature::AppSecret;

/// As Meta sends it: text beyond ASCII is escaped, in lower case.
const ESCAPED: &[u8] = br#"{"text":"\u00e4"}"#;
/// `printf '%s' '{"text":"\u00e4"}' | openssl dgst -sha256 -hmac app-secret`
const BY_OPENSSL: &str = "b78978c1eeb89734bf53260279471b0edca82f2e02d591d0543d572313aa0af4";

#[tokio::test]
async fn the_challenge_is_echoed_to_whoever_knows_the_token() {
    let bench = Bench::new().await;
    let answered =
        bench.get(&format!("?hub.mode=subscribe&hub.verify_token={TOKEN}&hub.challenge=1158%3Cb%3E201444")).await;
    assert_eq!((answered.status, answered.body.as_slice()), (StatusCode::OK, b"1158<b>201444".as_slice()));
    assert_eq!(answered.content_type.as_deref(), Some("text/plain; charset=utf-8"));
}

#[tokio::test]
async fn any_other_subscription_is_refused() {
    let bench = Bench::new().await;
    for query in [
        String::new(),
        format!("?hub.mode=unsubscribe&hub.verify_token={TOKEN}&hub.challenge=1"),
        format!("?hub.verify_token={TOKEN}&hub.challenge=1"),
        format!("?hub.mode=subscribe&hub.verify_token={TOKEN}"),
        format!("?hub.mode=subscribe&hub.verify_token={TOKEN}&hub.verify_token={TOKEN}&hub.challenge=1"),
        format!("?hub.mode=subscribe&hub.verify_token={TOKEN}x&hub.challenge=1"),
        "?hub.mode=subscribe&hub.verify_token=&hub.challenge=1".to_owned(),
        "?hub.mode=subscribe&hub.challenge=1".to_owned(),
    ] {
        assert_eq!(bench.get(&query).await.status, StatusCode::FORBIDDEN, "{query}");
    }
}

#[test]
fn the_signature_is_over_the_bytes_as_received() {
    let secret: AppSecret = "app-secret".parse().unwrap();
    let header = format!("sha256={BY_OPENSSL}");
    assert!(secret.signed(header.as_bytes(), ESCAPED));
    assert!(secret.signed(format!("sha256={}", BY_OPENSSL.to_uppercase()).as_bytes(), ESCAPED));
    let parsed: serde_json::Value = serde_json::from_slice(ESCAPED).unwrap();
    assert!(!secret.signed(header.as_bytes(), parsed.to_string().as_bytes()), "the same JSON in other bytes");
}

#[test]
fn anything_else_is_not_a_signature() {
    let secret: AppSecret = "app-secret".parse().unwrap();
    let wrong = [
        BY_OPENSSL.to_owned(),
        String::new(),
        "sha256=".to_owned(),
        format!("sha1={BY_OPENSSL}"),
        format!("SHA256={BY_OPENSSL}"),
        format!("sha256= {BY_OPENSSL}"),
        format!("sha256={BY_OPENSSL} "),
        format!("sha256={}", &BY_OPENSSL[..62]),
        format!("sha256={BY_OPENSSL}00"),
        format!("sha256={}", "0".repeat(64)),
        format!("sha256={}", "z".repeat(64)),
        format!("sha256={}", "é".repeat(32)),
    ];
    for header in wrong {
        assert!(!secret.signed(header.as_bytes(), ESCAPED), "{header}");
    }
    let other: AppSecret = "verify-token".parse().unwrap();
    assert!(!other.signed(format!("sha256={BY_OPENSSL}").as_bytes(), ESCAPED), "another key");
    assert!("".parse::<AppSecret>().is_err(), "everybody can sign with an empty key");
}

#[tokio::test]
async fn unsigned_bodies_are_refused_before_they_are_read() {
    let bench = Bench::new().await;
    let body = crate::fixtures::many(1).to_string().into_bytes();
    let right = signature(&body);
    let mut tampered = body.clone();
    *tampered.last_mut().unwrap() = b' ';
    for (body, headers) in [
        (body.as_slice(), [].as_slice()),
        (&body, &["sha256=00"]),
        (&body, &[right.as_str(), right.as_str()]),
        (&tampered, &[right.as_str()]),
        (b"not json", &[right.as_str()]),
    ] {
        assert_eq!(bench.post(body, headers).await.status, StatusCode::UNAUTHORIZED);
    }
    assert_eq!(bench.stub.names(), Vec::<String>::new());
    assert_eq!(bench.post(&body, &[&right]).await.status, StatusCode::OK);
}

#[tokio::test]
async fn the_body_limit_is_three_mebibytes() {
    let bench = Bench::new().await;
    let mut body = crate::fixtures::many(1).to_string().into_bytes();
    body.resize(BODY_LIMIT, b' ');
    assert_eq!(bench.deliver(&body).await.status, StatusCode::OK);
    body.push(b' ');
    assert_eq!(bench.deliver(&body).await.status, StatusCode::PAYLOAD_TOO_LARGE);
}
