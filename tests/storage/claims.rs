//! What must be unique beyond one conversation is claimed, so that of two conversations that take the same name at once
//! one gets it and the other is refused (S1, S4). Then the rule is switched off, and the same races find doubles: the
//! tests can fail.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

use async_trait::async_trait;
use cscp::committer::{Busy, Committer, Limits};
use cscp::domain::command::Outcome;
use cscp::domain::id::{CommandId, Ids, MessageId, PrincipalId, TenantId};
use cscp::domain::message::message_key;
use cscp::domain::operation::{Answer, AttachPrompt, CredentialKind, Operation, PutPrincipal, RecordResult};
use cscp::domain::principal::PrincipalKind;
use cscp::domain::refusal::Refusal;
use cscp::domain::scope::Scope;
use cscp::service::verify_tenant;
use cscp::storage::{ApiKey, Loaded, StorageError, Store, Tenant, Want, Writes};
use cscp::system::SystemEntropy;
use serde_json::json;
use tokio::sync::Barrier;
use tokio::time::timeout;

use crate::claims_course::{PRIZES, Prize, insist};
use crate::harness::{House, code};
use crate::meddled::Meddled;
use crate::passing::{Interference, Passing};
use crate::postgres::{say, setting};
use crate::processes::houses;
use crate::replay::expect_replayed;

/// How often each name is raced for. An ordinary run has fewer: see `.ci/README.md`.
fn tries() -> usize {
    setting("CSCP_TEST_RACES").and_then(|number| number.parse().ok()).unwrap_or(40)
}

/// Each name raced for: exactly one of the two gets it, and nothing is lost or contradicts the log.
async fn expect_one_winner_each(
    place: &str,
    house: &House,
    committers: [&Committer; 2],
    prizes: &[Prize],
    tries: usize,
) {
    for (at, prize) in prizes.iter().enumerate() {
        let from = at * 1_000_000;
        let tally = prize.race(house, committers, from..from + tries).await;
        say(&format!("{place}, {prize:?}: {} of {tries} with one winner, {} doubles", tally.one, tally.doubles));
        let first = tally.odd.first();
        assert_eq!((tally.one, tally.doubles, first), (tries, 0, None), "{place}, {prize:?}");
    }
    let report = verify_tenant(house.store.as_ref(), &house.tenant.tenant_id).await.unwrap();
    assert!(report.broken.is_empty(), "{report:?}");
    expect_replayed(house).await;
}

fn chosen(wanted: fn(&Prize) -> bool) -> Vec<Prize> {
    PRIZES.into_iter().filter(wanted).collect()
}

/// Through one server, whose writers are two on PostgreSQL, and through two servers on one PostgreSQL.
async fn expect_one_winner_everywhere(wanted: fn(&Prize) -> bool) {
    let house = House::new().await;
    expect_one_winner_each("one server", &house, [&house.committer, &house.committer], &chosen(wanted), tries()).await;
    let Some([one, two]) = houses::<2>().await else { return };
    expect_one_winner_each("two servers", &one, [&one.committer, &two.committer], &chosen(wanted), tries()).await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn of_two_bindings_of_one_command_one_succeeds() {
    expect_one_winner_everywhere(|prize| matches!(prize, Prize::Binding { command: true, .. })).await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn of_two_commands_with_one_idempotency_key_one_is_bound() {
    expect_one_winner_everywhere(|prize| matches!(prize, Prize::Binding { command: false, key: true, .. })).await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn of_two_commands_with_one_attempt_one_is_bound() {
    expect_one_winner_everywhere(|prize| matches!(prize, Prize::Binding { command: false, key: false, .. })).await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn of_two_questions_about_one_command_one_is_asked() {
    expect_one_winner_everywhere(|prize| matches!(prize, Prize::Question)).await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn of_two_questions_with_one_prompt_one_has_it() {
    expect_one_winner_everywhere(|prize| matches!(prize, Prize::Prompt { .. })).await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn of_two_messages_with_one_id_one_is_taken() {
    expect_one_winner_everywhere(|prize| matches!(prize, Prize::Message { .. })).await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn of_two_requests_with_one_idempotency_key_one_is_decided() {
    expect_one_winner_everywhere(|prize| matches!(prize, Prize::Request { .. })).await;
}

/// Longer than it takes to load, and short enough for a test.
const MOMENT: Duration = Duration::from_millis(50);

/// Both sides of a race decide from what was there before either: names are not held, and between loading and writing each
/// waits for another one.
struct SideBySide {
    both: Arc<Barrier>,
    /// Whether what is new is written as upserts write it: it need not be new, and whoever is slower learns nothing.
    upserts: bool,
}

#[async_trait]
impl Interference for SideBySide {
    fn wants(&self, wants: &[Want]) -> Vec<Want> {
        wants.iter().cloned().map(without_names).collect()
    }

    async fn loaded(&self, loaded: Loaded) -> Loaded {
        // Nobody else may have anything to do at the moment.
        drop(timeout(MOMENT, self.both.wait()).await);
        loaded
    }

    fn writes(&self, writes: &Writes) -> Writes {
        let mut writes = writes.clone();
        if self.upserts {
            writes.rewritten.append(&mut writes.new_rows);
        }
        writes
    }
}

fn without_names(mut want: Want) -> Want {
    want.needs.names.clear();
    want
}

fn side_by_side(house: &House, both: &Arc<Barrier>, upserts: bool, seed: u64) -> Committer {
    let both = Arc::clone(both);
    let store = Meddled::store(&house.store, move |_, inner| {
        Passing::boxed(inner, SideBySide { both: Arc::clone(&both), upserts })
    });
    House::committer_over(store, Limits::default(), seed)
}

/// Names of commands are held while it is decided what becomes of them, so that the claim on them is a second fence. It
/// stands alone here.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn where_names_are_not_held_the_claim_alone_leaves_one_winner() {
    let Some([one, two]) = houses::<2>().await else { return };
    let both = Arc::new(Barrier::new(2));
    let committers = [side_by_side(&one, &both, false, 7_000_000), side_by_side(&two, &both, false, 8_000_000)];
    let bindings = chosen(|prize| matches!(prize, Prize::Binding { .. }));
    expect_one_winner_each(
        "two servers, names not held",
        &one,
        [&committers[0], &committers[1]],
        &bindings,
        tries() / 4,
    )
    .await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn without_the_rule_the_same_races_find_doubles() {
    let Some([one, two]) = houses::<2>().await else { return };
    let both = Arc::new(Barrier::new(2));
    let committers = [side_by_side(&one, &both, true, 7_000_000), side_by_side(&two, &both, true, 8_000_000)];
    let wanted = |prize: &Prize| !matches!(prize, Prize::Request { .. });
    for (at, prize) in PRIZES.into_iter().filter(wanted).enumerate() {
        let mut doubles = 0;
        // The first try is a double, as a rule. On a machine that is busy with other things the two may hardly ever
        // meet.
        for number in at * 1_000_000..at * 1_000_000 + 200 {
            doubles += prize.race(&one, [&committers[0], &committers[1]], number..number + 1).await.doubles;
            if doubles > 0 {
                break;
            }
        }
        assert!(doubles > 0, "{prize:?}");
    }
}

/// The first look finds no conversation to lock for what it loads, as if that had come in between.
struct TooEarly(Arc<AtomicBool>);

#[async_trait]
impl Interference for TooEarly {
    async fn loaded(&self, mut loaded: Loaded) -> Loaded {
        if self.0.swap(false, Ordering::SeqCst) {
            loaded.streams.iter_mut().flatten().for_each(|streams| streams.truncate(streams.len() - 1));
        }
        loaded
    }
}

fn too_early(house: &House, seed: u64) -> Committer {
    let first = Arc::new(AtomicBool::new(true));
    let store = Meddled::store(&house.store, move |_, inner| Passing::boxed(inner, TooEarly(Arc::clone(&first))));
    House::committer_over(store, Limits::default(), seed)
}

/// Locks are taken before rows are loaded. What was bound, or became a prompt, between the two is loaded and its
/// conversation is not locked: the operation is decided anew instead of ending as a fault of the server's.
#[tokio::test]
async fn what_comes_between_locking_and_loading_is_decided_anew() {
    let house = House::new().await;
    let context_id = house.context().await;
    let (item_id, buttons) = house.ask(&context_id, "k").await;
    let prompt = MessageId::new("wamid.prompt").unwrap();
    let channel = house.message("wamid.prompt", &json!({})).channel;
    let attach = AttachPrompt {
        item_id,
        message_key: message_key(&house.tenant.key, &channel, &prompt),
        message_id: prompt,
        channel,
        sent_at: None,
    };
    house.answer(Operation::AttachPrompt(attach)).await.unwrap();
    let quote = json!({"button_id": buttons[0], "reply_to": "wamid.prompt"});
    let quote = Operation::Ingest(Box::new(house.message("wamid.yes", &quote)));
    let turn = insist(&house, &too_early(&house, 6_000_000), &quote, None).await.result.unwrap();
    assert_eq!(code(&turn), "confirmed");
    house.answer(House::bind(&context_id, "k", "one")).await.unwrap();
    let result = RecordResult {
        attempt_id: None,
        command_id: CommandId::new("k").unwrap(),
        status: "DONE".to_owned(),
        outcome: Outcome::Succeeded,
        summary: None,
        waiting_on: None,
        close_context: false,
    };
    let result = Operation::RecordResult(result);
    let recorded = insist(&house, &too_early(&house, 5_000_000), &result, None).await.result;
    assert!(matches!(recorded, Ok(Answer::Recorded { .. })), "{recorded:?}");
    expect_replayed(&house).await;
}

/// Somebody else has always just made what is to be new.
struct AlwaysThere;

impl Interference for AlwaysThere {
    fn writes(&self, writes: &Writes) -> Writes {
        let new_rows = writes.new_rows.iter().chain(&writes.new_rows).cloned().collect();
        Writes { new_rows, ..writes.clone() }
    }
}

/// Whoever loses again and again is told to come again, after a bounded number of tries.
#[tokio::test]
async fn who_never_wins_is_told_to_come_again() {
    let house = House::new().await;
    let store = Meddled::store(&house.store, |_, inner| Passing::boxed(inner, AlwaysThere));
    let committer = House::committer_over(store, Limits::default(), 4_000_000);
    let hello = Operation::Ingest(Box::new(house.message("wamid.1", &json!({"text": "hello there"}))));
    let submission = cscp::committer::Submission { tenant: house.tenant.clone(), operation: hello, claim: None };
    assert_eq!(committer.submit(submission).await, Err(Busy::Storage(StorageError::Conflict)));
    assert_eq!(house.store.heads(&house.tenant.tenant_id, None, 10).await.unwrap(), Vec::new(), "nothing was written");
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn of_two_that_create_one_tenant_or_one_key_one_does() {
    let house = House::new().await;
    // Two stores over one database where there can be two, and one twice where there cannot.
    let stores: [Arc<dyn Store>; 2] = match houses::<2>().await {
        Some([one, two]) => [one.store, two.store],
        None => [Arc::clone(&house.store), Arc::clone(&house.store)],
    };
    let one_did = |results: (Result<(), StorageError>, Result<(), StorageError>), what: &str| {
        let (first, second) = (results.0.is_ok(), results.1.is_ok());
        assert_ne!(first, second, "{what}: {results:?}");
        let lost = if first { results.1 } else { results.0 };
        assert_eq!(lost, Err(StorageError::Exists), "{what}");
    };
    for number in 0..tries() {
        let tenant = |environment: &str| Tenant {
            tenant_id: TenantId::new(format!("t{number}")).unwrap(),
            environment: environment.to_owned(),
            ..(*house.tenant).clone()
        };
        let (mine, theirs) = (tenant("mine"), tenant("theirs"));
        one_did(tokio::join!(stores[0].create_tenant(&mine), stores[1].create_tenant(&theirs)), "one tenant");
        let mut source = SystemEntropy;
        let mut ids = Ids::new(house.tenant.created_at, &mut source);
        let digest = ids.secret();
        let key = |key_id, digest| ApiKey {
            key_id,
            tenant_id: house.tenant.tenant_id.clone(),
            digest,
            kind: CredentialKind::Handler,
            scopes: Scope::defaults(CredentialKind::Handler),
            principal_id: None,
            speaks_for: cscp::domain::speaking::SpeaksFor::default(),
            label: String::new(),
            created_at: house.tenant.created_at,
            revoked_at: None,
        };
        let (one, other) = (key(ids.key(), digest), key(ids.key(), digest));
        one_did(tokio::join!(stores[0].create_key(&one), stores[1].create_key(&other)), "one secret");
        let (id, first, second) = (ids.key(), ids.secret(), ids.secret());
        let (one, other) = (key(id.clone(), first), key(id, second));
        one_did(tokio::join!(stores[0].create_key(&one), stores[1].create_key(&other)), "one id");
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn of_two_that_register_one_principal_one_creates_it() {
    let Some([one, two]) = houses::<2>().await else { return };
    for number in 0..tries() {
        let put = |locale: &str| {
            Operation::PutPrincipal(PutPrincipal {
                principal_id: PrincipalId::new(format!("p{number}")).unwrap(),
                kind: PrincipalKind::Person,
                roles: Vec::new(),
                person_id: None,
                aliases: Vec::new(),
                maturity: None,
                locale: Some(locale.to_owned()),
                if_revision: Some(0),
            })
        };
        let (mine, theirs) = (put("en"), put("pt-BR"));
        let (first, second) =
            tokio::join!(insist(&one, &one.committer, &mine, None), insist(&two, &two.committer, &theirs, None));
        let created = |committed: &cscp::committer::Committed| {
            matches!(committed.result, Ok(Answer::Principal { created: true, .. }))
        };
        assert_ne!(created(&first), created(&second), "{first:?} {second:?}");
        let lost = if created(&first) { second } else { first };
        assert_eq!(lost.result, Err(Refusal::RevisionMismatch { revision: 1 }));
    }
    expect_replayed(&one).await;
}
