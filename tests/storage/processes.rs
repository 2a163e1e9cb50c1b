//! Several processes on one PostgreSQL: what one holds another leaves out or waits for, and who is second sees it.

use std::sync::Arc;

use cscp::committer::{Limits, Submission};
use cscp::domain::event::StreamKey;
use cscp::domain::id::{ArtifactId, ConversationId, PrincipalId};
use cscp::domain::operation::{Answer, Needs, Operation, PutPrincipal};
use cscp::domain::principal::PrincipalKind;
use cscp::domain::refusal::Refusal;
use cscp::domain::time::{Clock as _, Timestamp};
use cscp::service::verify_tenant;
use cscp::state_layer::request::Answered;
use cscp::storage::postgres::{PostgresSettings, PostgresStore};
use cscp::storage::{Locking, Row, StorageError, Store, StoredClaim, Transaction, Want, Writes};
use serde_json::json;

use crate::harness::{House, ManualClock, code};
use crate::place::Place;
use crate::server::{number, settings};

/// So many processes, as far as the database can tell.
pub(crate) async fn houses<const N: usize>() -> Option<[House; N]> {
    let settings = settings().await?;
    let clock = ManualClock::new();
    let mut houses = Vec::new();
    for seed in (1..).take(N) {
        let mut settings = settings.clone();
        settings.clock = Some(Arc::<ManualClock>::clone(&clock) as _);
        let store: Arc<dyn Store> = Arc::new(PostgresStore::open(settings.clone()).await.unwrap());
        let place = Place::Server(settings.url);
        houses.push(House::over(place, store, Arc::clone(&clock), Limits::default(), seed * 1_000_000));
    }
    houses[0].create_tenants().await;
    houses.try_into().ok()
}

fn want(house: &House, conversations: &[&str]) -> Want {
    let stream = |id: &&str| StreamKey::Conversation(ConversationId::new(*id).unwrap());
    let needs = Needs { streams: conversations.iter().map(stream).collect(), ..Needs::default() };
    Want { tenant_id: house.tenant.tenant_id.clone(), needs, claim: None, space: None }
}

async fn begun(house: &House) -> Box<dyn Transaction> {
    house.store.begin().await.unwrap()
}

#[tokio::test]
async fn what_another_process_holds_is_left_out_and_nothing_overtakes_it() {
    let Some([one, two]) = houses().await else { return };
    two.post("wamid.1", json!({"text": "hello there", "conversation_id": "old"})).await;
    // The one is there already, the other is being created.
    for held in ["old", "new"] {
        let mut first = begun(&one).await;
        let loaded = first.load(&[want(&one, &[held])], Locking::Skip).await.unwrap();
        assert!(loaded.streams[0].is_some());
        let mut second = begun(&two).await;
        let wants = [&["free"][..], &[held, "behind"], &["behind"], &["far", "behind"], &["far"], &["apart"]];
        let wants: Vec<Want> = wants.iter().map(|names| want(&two, names)).collect();
        let loaded = second.load(&wants, Locking::Skip).await.unwrap();
        let reached: Vec<bool> = loaded.streams.iter().map(Option::is_some).collect();
        assert_eq!(reached, [true, false, false, false, false, true], "{held}");
        drop(second);
        let mut second = begun(&two).await;
        let waited = second.load(&wants[1..2], Locking::Wait).await;
        assert_eq!(waited.unwrap_err(), StorageError::Contended, "{held}");
        drop((first, second));
    }
}

#[tokio::test]
async fn a_head_is_held_from_its_creation_and_known_from_its_first_entry() {
    let Some([one, two]) = houses().await else { return };
    let wanted = [want(&one, &["new"])];
    let mut first = begun(&one).await;
    assert!(first.load(&wanted, Locking::Skip).await.unwrap().heads.is_empty());
    first.commit().await.unwrap();
    let mut second = begun(&two).await;
    let loaded = second.load(&wanted, Locking::Skip).await.unwrap();
    assert!(loaded.streams[0].is_some() && loaded.heads.is_empty(), "there to be locked, and without entries");
    drop(second);
    let report = verify_tenant(one.store.as_ref(), &one.tenant.tenant_id).await.unwrap();
    assert_eq!(report.streams, 0);
    one.post("wamid.1", json!({"text": "hello there", "conversation_id": "new"})).await;
    let mut third = begun(&two).await;
    assert_eq!(third.load(&wanted, Locking::Wait).await.unwrap().heads.len(), 1);
}

#[tokio::test]
async fn who_somebody_is_does_not_change_between_a_decision_and_its_commit() {
    let Some([one, two]) = houses().await else { return };
    let ana = |locale: &str| {
        Operation::PutPrincipal(PutPrincipal {
            principal_id: PrincipalId::new("ana").unwrap(),
            kind: PrincipalKind::Person,
            roles: Vec::new(),
            person_id: None,
            aliases: Vec::new(),
            maturity: None,
            locale: Some(locale.to_owned()),
            if_revision: None,
        })
    };
    one.answer(ana("pt-BR")).await.unwrap();
    let mut first = begun(&one).await;
    let mut wanted = want(&one, &["c"]);
    wanted.needs.principals.push(PrincipalId::new("ana").unwrap());
    first.load(&[wanted], Locking::Skip).await.unwrap();
    let changed = tokio::spawn(async move { (two.answer(ana("en")).await, two) });
    one.until_somebody_waits().await;
    assert!(!changed.is_finished());
    first.commit().await.unwrap();
    assert!(changed.await.unwrap().0.is_ok());
}

#[tokio::test]
async fn one_key_is_answered_once_whichever_process_is_asked() {
    let Some([one, two]) = houses().await else { return };
    let claim = one.claim("key", "request");
    let mut slower = begun(&two).await;
    let wanted = Want { claim: Some(claim.key), ..want(&two, &["elsewhere"]) };
    assert!(slower.load(std::slice::from_ref(&wanted), Locking::Skip).await.unwrap().claims.is_empty());
    let now = slower.now().await.unwrap();
    let message = one.message("wamid.1", &json!({"text": "hello there"}));
    one.submit(Operation::Ingest(Box::new(message)), Some(claim)).await.unwrap().result.unwrap();
    let row = |expires_at| StoredClaim {
        about: Vec::new(),
        space_id: None,
        request: claim.request,
        result: Ok(Answered::Core(Answer::Done)),
        at: now,
        expires_at,
    };
    let claims = |expires_at: Timestamp| Writes {
        claims: vec![(two.tenant.tenant_id.clone(), claim.key, row(expires_at))],
        ..Writes::default()
    };
    let second = slower.write(&claims(now.plus_seconds(60))).await;
    assert_eq!(second, Err(StorageError::Conflict), "somebody was quicker");
    drop(slower);
    one.clock.pass_seconds(169 * 60 * 60);
    let mut later = begun(&two).await;
    later.load(&[wanted], Locking::Skip).await.unwrap();
    later.write(&claims(one.clock.now().plus_seconds(60))).await.unwrap();
    later.commit().await.unwrap();
}

#[tokio::test]
async fn of_two_processes_with_one_message_one_decides_and_both_say_the_same() {
    let Some(houses) = houses::<2>().await else { return };
    let houses = houses.map(Arc::new);
    let mut context_ids = Vec::new();
    for round in 0..10 {
        let conversation = format!("c{round}");
        let members = json!({"text": "hello there", "conversation_id": conversation});
        let posts: Vec<_> = (0..8)
            .map(|n| {
                let (house, members) = (Arc::clone(&houses[n % 2]), members.clone());
                tokio::spawn(async move { house.post(&format!("wamid.{round}"), members).await })
            })
            .collect();
        let mut first = 0;
        for post in posts {
            let Answer::Turn { duplicate, context: Some(context), .. } = post.await.unwrap() else { panic!("no turn") };
            first += u32::from(!duplicate);
            context_ids.push(context.context_id);
        }
        assert_eq!(first, 1, "round {round}");
    }
    context_ids.dedup();
    assert_eq!(context_ids.len(), 10, "one context for each conversation");
    let report = verify_tenant(houses[0].store.as_ref(), &houses[0].tenant.tenant_id).await.unwrap();
    assert!(report.broken.is_empty() && report.streams == 10, "{report:?}");
}

#[tokio::test]
async fn of_bindings_at_two_processes_one_succeeds() {
    let Some(houses) = houses::<2>().await else { return };
    let houses = houses.map(Arc::new);
    let context_id = houses[0].context().await;
    for round in 0..10 {
        let command = format!("k{round}");
        let (_, buttons) = houses[round % 2].ask(&context_id, &command).await;
        let tap = houses[0].post(&format!("wamid.yes.{round}"), json!({"button_id": buttons[0]})).await;
        assert_eq!(code(&tap), "confirmed");
        let attempts: Vec<_> = (0..16)
            .map(|n| {
                let house = Arc::clone(&houses[n % 2]);
                let operation = House::bind(&context_id, &command, &format!("attempt-{n}"));
                tokio::spawn(async move {
                    let submission = Submission { tenant: Arc::clone(&house.tenant), operation, claim: None };
                    house.committer.submit(submission).await.unwrap().result
                })
            })
            .collect();
        let mut bound = 0;
        for attempt in attempts {
            match attempt.await.unwrap() {
                Ok(Answer::Bound { replayed: false, .. }) => bound += 1,
                Err(Refusal::AlreadyBound { .. }) => {}
                other => panic!("{other:?}"),
            }
        }
        assert_eq!(bound, 1, "round {round}");
    }
}

#[tokio::test]
async fn a_lease_is_held_by_one_until_it_runs_out_or_is_given_back() {
    let Some([one, two]) = houses().await else { return };
    assert!(one.store.take_lease("sweeper", "one", 10).await.unwrap());
    assert!(one.store.take_lease("sweeper", "one", 10).await.unwrap(), "renewed");
    assert!(!two.store.take_lease("sweeper", "two", 10).await.unwrap());
    two.store.release_lease("sweeper", "two").await.unwrap();
    one.clock.pass(10_000_000 - 1);
    assert!(!two.store.take_lease("sweeper", "two", 10).await.unwrap(), "one microsecond is left");
    one.clock.pass(1);
    assert!(two.store.take_lease("sweeper", "two", 10).await.unwrap());
    assert!(!one.store.take_lease("sweeper", "one", 10).await.unwrap());
    two.store.release_lease("sweeper", "two").await.unwrap();
    assert!(one.store.take_lease("sweeper", "one", 10).await.unwrap());
}

/// A process that took it while its clock was a year ahead, and died, does not hold it for a year.
#[tokio::test]
async fn a_lease_of_a_clock_that_was_ahead_is_taken_over() {
    let house = House::new().await;
    house.clock.pass_seconds(365 * 86_400);
    assert!(house.store.take_lease("sweeper", "one", 10).await.unwrap());
    house.clock.pass_seconds(-365 * 86_400);
    assert!(house.store.take_lease("sweeper", "two", 10).await.unwrap());
    assert!(!house.store.take_lease("sweeper", "one", 10).await.unwrap(), "and held like any other");
}

#[tokio::test]
async fn a_commit_that_fails_is_known_to_have_failed_and_leaves_nothing() {
    let Some([one, two]) = houses().await else { return };
    let mut cut = begun(&one).await;
    cut.load(&[want(&one, &["c"])], Locking::Skip).await.unwrap();
    let own = "SELECT count(pg_terminate_backend(pid)) FROM pg_stat_activity
               WHERE datname = current_database() AND pid <> pg_backend_pid()";
    let settings = PostgresSettings::new(match &one.place {
        Place::Server(url) => url.clone(),
        Place::File(_) => return,
    });
    assert!(number(&settings, own).await > 0);
    assert!(matches!(cut.commit().await, Err(StorageError::Unavailable(_))));
    let mut next = begun(&two).await;
    let loaded = next.load(&[want(&two, &["c"])], Locking::Wait).await.unwrap();
    assert!(loaded.streams[0].is_some(), "what it held is free");
    let nothing = ArtifactId::parse("art_018bcfe5680070000707070707070707");
    if let Some(id) = nothing {
        assert!(!next.has_entry(&two.tenant.tenant_id, &id).await.unwrap());
    }
    assert!(one.store.ping().await.is_ok(), "the pools have thrown away what was cut");
}

#[tokio::test]
async fn who_stops_in_the_middle_holds_nothing_for_long() {
    let Some([one, two]) = houses().await else { return };
    let mut stuck = begun(&one).await;
    stuck.load(&[want(&one, &["c"])], Locking::Skip).await.unwrap();
    let mut tried = 0;
    loop {
        let mut next = begun(&two).await;
        match next.load(&[want(&two, &["c"])], Locking::Wait).await {
            Ok(loaded) => break assert!(loaded.streams[0].is_some()),
            Err(error) => assert_eq!(error, StorageError::Contended),
        }
        tried += 1;
        assert!(tried < 20, "the database frees it after five seconds");
    }
    assert!(stuck.commit().await.is_err(), "too late for the one who stopped");
}

#[tokio::test]
async fn without_another_clock_the_databases_own_is_read_after_the_locks() {
    let Some([one, two]) = houses().await else { return };
    let Place::Server(url) = &one.place else { return };
    let mut settings = PostgresSettings::new(url.clone());
    settings.unsafe_durability = true;
    let store = PostgresStore::open(settings.clone()).await.unwrap();
    let wanted = [want(&one, &["c"])];
    let mut holder = begun(&two).await;
    holder.load(&wanted, Locking::Skip).await.unwrap();
    let waiting = tokio::spawn(async move {
        let mut transaction = store.begin().await.unwrap();
        transaction.load(&wanted, Locking::Wait).await.unwrap();
        transaction.now().await.unwrap()
    });
    one.until_somebody_waits().await;
    let before = number(&settings, "SELECT (extract(epoch FROM clock_timestamp()) * 1000000)::bigint").await;
    drop(holder);
    let now = waiting.await.unwrap().as_micros();
    let after = number(&settings, "SELECT (extract(epoch FROM clock_timestamp()) * 1000000)::bigint").await;
    assert!(before < now && now < after, "{before} {now} {after}");
}

#[tokio::test]
async fn what_was_committed_just_before_a_lock_was_taken_is_seen() {
    let Some([one, two]) = houses().await else { return };
    one.post("wamid.1", json!({"text": "hello there"})).await;
    let wanted = [want(&one, &["c"])];
    let mut holder = begun(&one).await;
    let loaded = holder.load(&wanted, Locking::Skip).await.unwrap();
    let before = loaded.heads[0].2.seq;
    let waiting = tokio::spawn(async move {
        // What this statement sees was true when it began to wait.
        let mut transaction = begun(&two).await;
        transaction.load(&wanted, Locking::Wait).await.unwrap()
    });
    one.until_somebody_waits().await;
    let (tenant, key, mut head) = loaded.heads[0].clone();
    head.seq += 1;
    holder.now().await.unwrap();
    let mut writes = Writes { heads: vec![(tenant.clone(), key, head)], ..Writes::default() };
    for (_, row) in loaded.rows {
        if let Row::Context(mut context) = row {
            context.revision = 77;
            writes.rows.push((tenant.clone(), Row::Context(context)));
        }
    }
    holder.write(&writes).await.unwrap();
    holder.commit().await.unwrap();
    let loaded = waiting.await.unwrap();
    assert_eq!(loaded.heads[0].2.seq, before + 1);
    let revision = |row: &Row| if let Row::Context(context) = row { Some(context.revision) } else { None };
    assert_eq!(loaded.rows.iter().find_map(|(_, row)| revision(row)), Some(77), "the state is as new as the lock");
}
