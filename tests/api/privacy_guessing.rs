//! What is left of somebody cannot be guessed: no digest that stays is one of a telephone number, under no key that
//! stays beside it.

use std::collections::HashSet;

use cscp::domain::canonical::{Digest, Purpose, canonical, commit, hash, keyed};
use serde_json::{Value, json};
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

/// A text in which a number stands once: what comes before it and what comes after.
struct Around(Vec<u8>, Vec<u8>);

impl Around {
    fn text(before: &str, after: &str) -> Self {
        Self(before.as_bytes().to_vec(), after.as_bytes().to_vec())
    }

    /// The canonical form of what is made of a number. Nothing in a number has to be escaped.
    fn json(of: impl FnOnce(&str) -> Value) -> Self {
        let text = String::from_utf8(canonical(&of("~"))).unwrap();
        let (before, after) = text.split_once('~').unwrap();
        Self::text(before, after)
    }

    fn with<'a>(&self, form: &str, text: &'a mut Vec<u8>) -> &'a [u8] {
        text.clear();
        text.extend_from_slice(&self.0);
        text.extend_from_slice(form.as_bytes());
        text.extend_from_slice(&self.1);
        text
    }
}

/// What somebody with the database can make of a number: plain, under each purpose, and under the tenant's key.
struct Guesses {
    quoted: Around,
    keyed: Vec<(Purpose, Around)>,
}

impl Guesses {
    fn new() -> Self {
        let mut all: Vec<(Purpose, Around)> = PURPOSES.map(|purpose| (purpose, Around::text("", ""))).into();
        all.push((Purpose::Dedupe, Around::text("whatsapp\u{0}", "")));
        let owned = |key: &str| json!({"kind": "handler", "principal_id": null, "key": key});
        all.push((Purpose::Request, Around::json(owned)));
        for revision in [None, Some(99)] {
            all.push((Purpose::Request, Around::json(|id| registration(id, revision))));
        }
        all.push((Purpose::Subject, Around::json(|id| json!({"actor_id": id}))));
        all.push((Purpose::Subject, Around::json(|id| json!({"principal": id}))));
        Self { quoted: Around::json(|id| json!(id)), keyed: all }
    }

    fn of(&self, number: u64, text: &mut Vec<u8>, mut judge: impl FnMut([u8; 32])) {
        let key = Digest::from_bytes(KEY);
        for form in [format!("{number}"), format!("+{number}"), format!("{number}@c.us")] {
            judge(Sha256::digest(form.as_bytes()).into());
            for purpose in PURPOSES {
                judge(*hash(purpose, &[form.as_bytes()]).as_bytes());
                judge(*commit(purpose, &key, self.quoted.with(&form, text)).as_bytes());
            }
            for (purpose, around) in &self.keyed {
                judge(*keyed(&key, *purpose, around.with(&form, text)).as_bytes());
            }
        }
    }
}

/// The request that registers somebody under their number.
fn registration(id: &str, if_match: Option<u64>) -> Value {
    json!({
        "method": "PUT", "path": format!("/v1/principals/{id}"), "body": {"kind": "person"}, "if_match": if_match,
    })
}

/// How many guesses hit a digest that is there, over so many numbers around the true one.
async fn hits(house: &House, who: &Person, numbers: u64) -> u64 {
    let there = digests(house).await;
    assert!(there.len() > 50);
    let truth: u64 = who.number.parse().unwrap();
    let (first, last) = (truth - numbers / 2, truth + numbers / 2);
    let threads = std::thread::available_parallelism().map_or(1, std::num::NonZero::get);
    let hit = |thread: usize| {
        let (guesses, mut text, mut hits) = (Guesses::new(), Vec::new(), 0);
        for number in (first..=last).skip(thread).step_by(threads) {
            guesses.of(number, &mut text, |guess| hits += u64::from(there.contains(&guess)));
        }
        hits
    };
    std::thread::scope(|scope| {
        let all: Vec<_> = (0..threads).map(|thread| scope.spawn(move || hit(thread))).collect();
        all.into_iter().map(|thread| thread.join().unwrap()).sum()
    })
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
