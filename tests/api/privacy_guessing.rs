//! What is left of somebody cannot be guessed: no digest that stays is one of a telephone number, under no key that
//! stays beside it.

use std::collections::HashSet;

use cscp::domain::canonical::{Digest, Purpose, canonical, commit, hash, keyed};
use serde_json::json;
use sha2::{Digest as _, Sha256};

use crate::house::House;
use crate::postgres::setting;
use crate::privacy::{admin, erase};
use crate::privacy_cast::{ANA, BOB, Person, is_named, lives};

/// The key of the tenant, which stands in the database.
const KEY: [u8; 32] = [b'a'; 32];
const PURPOSES: [Purpose; 3] = [Purpose::Dedupe, Purpose::Request, Purpose::Subject];

/// Every 32 bytes that stand in a database, wherever they stand.
async fn digests(house: &House) -> HashSet<[u8; 32]> {
    let mut found = HashSet::new();
    for row in house.rows().await {
        let is_hex = |c: char| c.is_ascii_hexdigit();
        for run in row.split(|c: char| !is_hex(c)).filter(|run| run.len() >= 64) {
            for window in (0..=run.len() - 64).step_by(2) {
                found.extend(Digest::from_hex(&run[window..window + 64].to_lowercase()).map(|d| *d.as_bytes()));
            }
        }
    }
    found
}

/// What somebody with the database can make of a number: plain, under each purpose, and under the tenant's key.
fn guesses(number: u64, mut judge: impl FnMut([u8; 32])) {
    let key = Digest::from_bytes(KEY);
    for form in [format!("{number}"), format!("+{number}"), format!("{number}@c.us")] {
        judge(Sha256::digest(form.as_bytes()).into());
        let quoted = canonical(&json!(form));
        for purpose in PURPOSES {
            judge(*hash(purpose, &[form.as_bytes()]).as_bytes());
            judge(*keyed(&key, purpose, form.as_bytes()).as_bytes());
            judge(*commit(purpose, &key, &quoted).as_bytes());
        }
        judge(*keyed(&key, Purpose::Dedupe, format!("whatsapp\u{0}{form}").as_bytes()).as_bytes());
        let owned = json!({"kind": "handler", "principal_id": null, "key": form});
        judge(*keyed(&key, Purpose::Request, &canonical(&owned)).as_bytes());
        for revision in [None, Some(99)] {
            judge(*keyed(&key, Purpose::Request, &canonical(&registration(&form, revision))).as_bytes());
        }
        judge(*keyed(&key, Purpose::Subject, &canonical(&json!({"actor_id": form}))).as_bytes());
        judge(*keyed(&key, Purpose::Subject, &canonical(&json!({"principal": form}))).as_bytes());
    }
}

/// The request that registers somebody under their number.
fn registration(id: &str, if_match: Option<u64>) -> serde_json::Value {
    json!({
        "method": "PUT", "path": format!("/v1/principals/{id}"), "body": {"kind": "person"}, "if_match": if_match,
    })
}

/// How many guesses hit a digest that is there, over so many numbers around the true one.
async fn hits(house: &House, who: &Person, numbers: u64) -> u64 {
    let there = digests(house).await;
    assert!(there.len() > 50);
    let truth: u64 = who.number.parse().unwrap();
    let mut hits = 0;
    for number in truth - numbers / 2..=truth + numbers / 2 {
        guesses(number, |guess| hits += u64::from(there.contains(&guess)));
    }
    hits
}

async fn erased_house() -> House {
    let house = House::new().await;
    let client = house.handler("a").await;
    lives(&house, &client, &ANA).await;
    lives(&house, &client, &BOB).await;
    is_named(&house, &client, &ANA, &BOB).await;
    // Somebody registers them under their number too, and names the number in an idempotency key. What is refused is
    // kept without a word about them, but for the digest of the request.
    let path = format!("/v1/principals/+{}", ANA.number);
    let put = |key: &str| client.ask("PUT", &path).key(key).json(&json!({"kind": "person"}));
    put(&format!("+{}", ANA.number)).send().await.expect(201);
    put("refused").header("if-match", "\"r99\"").send().await.problem(412, "revision_mismatch");
    let admin = admin(&house).await;
    let hold = admin.post("/v1/privacy/holds", json!({"actor_id": format!("+{}", ANA.number)})).await.expect(201);
    let path = format!("/v1/privacy/holds/{}", hold.text("/hold_id"));
    admin.ask("DELETE", &path).send().await.expect(200);
    assert!(hits(&house, &ANA, 10).await > 0, "before, a request's digest gives the number away");
    erase(&admin, &ANA.selector(), false).await.expect(201);
    erase(&admin, &json!({"actor_id": format!("+{}", ANA.number)}), false).await.expect(201);
    house
}

/// How many numbers are tried: as many as `CSCP_TEST_NUMBERS` says, for those who have the time.
fn numbers() -> u64 {
    setting("CSCP_TEST_NUMBERS").and_then(|text| text.parse().ok()).unwrap_or(20_000)
}

#[tokio::test]
async fn no_digest_that_is_left_is_one_of_a_number() {
    assert_eq!(hits(&erased_house().await, &ANA, numbers()).await, 0);
}
