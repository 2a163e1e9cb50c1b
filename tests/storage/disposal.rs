//! Erasing with evidence: what went is explained by the record, and only that.

use std::collections::BTreeMap;

use cscp::domain::disposal::{DisposalEvent, ErasedRange, ErasureCause};
use cscp::domain::event::StreamKey;
use cscp::domain::id::{CommandId, CommandName, ConversationId, IdempotencyKey, StreamId};
use cscp::domain::operation::{AskWhat, CommandSpec, Operation};
use cscp::domain::policy::PolicyRef;
use cscp::domain::query::EvidenceQuery;
use cscp::domain::refusal::Refusal;
use cscp::evidence::entry::Payload;
use cscp::service::{TenantReport, verify_tenant};
use cscp::storage::{Disposal, Disposing, count_kinds};
use serde_json::json;

use crate::claims_course::question;
use crate::harness::{House, SeededEntropy};

fn conversation() -> StreamKey {
    StreamKey::Conversation(ConversationId::new("c").unwrap())
}

fn policy() -> PolicyRef {
    PolicyRef { pack_id: "basic".to_owned(), version: "1.0.0".to_owned(), hash: "sha256:x".to_owned() }
}

/// A conversation with a confirmation that was bound, so that there is one of everything.
async fn house() -> House {
    let house = House::new().await;
    let context_id = house.context().await;
    let (_, buttons) = house.ask(&context_id, "k").await;
    house.post("wamid.yes", json!({"button_id": buttons[0]})).await;
    house.answer(House::bind(&context_id, "k", "one")).await.unwrap();
    house
}

async fn report(house: &House) -> TenantReport {
    verify_tenant(house.store.as_ref(), &house.tenant.tenant_id).await.unwrap()
}

/// Erases the payloads of entries of the conversation, and says so.
async fn erase(house: &House, first: u64, last: u64, told: (u64, u64)) -> StreamId {
    let mut disposing = Disposing::begin(house.store.as_ref(), &house.tenant, [conversation()]).await.unwrap();
    let stream_id = disposing.head(&conversation()).unwrap().stream_id.clone();
    let range = |(first, last)| ErasedRange { stream_id: stream_id.clone(), first, last };
    let disposal = Disposal { payloads: vec![range((first, last))], ..Disposal::default() };
    let counts = disposing.erase(&disposal).await.unwrap();
    assert_eq!(counts["payloads"], last - first + 1);
    let cause = ErasureCause::Retention { before: BTreeMap::from([("payloads".to_owned(), disposing.now())]) };
    let event =
        DisposalEvent::RecordsErased { cause, payloads: vec![range(told)], counts: count_kinds(&counts), rows: None };
    let seed = u64::try_from(disposing.now().as_micros()).unwrap() + first;
    disposing.record(event, &policy(), &mut SeededEntropy(seed));
    disposing.commit().await.unwrap();
    stream_id
}

#[tokio::test]
async fn what_the_record_says_was_erased_is_not_missing() {
    let house = house().await;
    erase(&house, 2, 4, (2, 4)).await;
    let found = report(&house).await;
    assert!(found.is_sound(), "{found:?}");
    assert_eq!((found.erased, found.missing), (3, 0));
    house.clock.pass_seconds(1);
    erase(&house, 5, 6, (1, 6)).await;
    let found = report(&house).await;
    assert_eq!((found.erased, found.missing, found.broken.len()), (5, 0, 0), "a range may name what was gone before");
}

#[tokio::test]
async fn what_goes_beyond_it_is_missing() {
    let house = house().await;
    erase(&house, 2, 4, (2, 3)).await;
    assert_eq!((report(&house).await.erased, report(&house).await.missing), (2, 1), "more went than was said");
    house.changed("DELETE FROM log_payloads WHERE conversation_id = 'c' AND seq = 6").await;
    assert_eq!((report(&house).await.erased, report(&house).await.missing), (2, 2), "somebody else took one away");
}

#[tokio::test]
async fn a_range_says_nothing_of_what_was_written_after_it() {
    let house = house().await;
    erase(&house, 2, 4, (1, 1_000)).await;
    house.clock.pass_seconds(1);
    house.post("wamid.later", json!({"text": "and another thing"})).await;
    assert!(report(&house).await.is_sound());
    house.changed("DELETE FROM log_payloads WHERE conversation_id = 'c' AND seq > 9").await;
    let found = report(&house).await;
    assert!(found.missing > 0 && found.broken.is_empty(), "{found:?}");
}

#[tokio::test]
async fn a_disposal_stream_that_was_changed_explains_nothing() {
    for sql in [
        "UPDATE log_payloads SET payload = replace(payload, '\"last\":4', '\"last\":9') WHERE payload LIKE '%records_erased%'",
        "DELETE FROM log_payloads WHERE payload LIKE '%records_erased%'",
        "UPDATE streams SET seq = 2 WHERE kind = 'disposal'",
    ] {
        let house = house().await;
        erase(&house, 2, 4, (2, 4)).await;
        assert_eq!(house.changed(sql).await, 1, "{sql}");
        let found = report(&house).await;
        assert!(!found.is_sound() && found.missing >= 3, "{sql}: {found:?}");
    }
}

#[tokio::test]
async fn rows_go_and_a_stream_without_a_name_still_verifies() {
    let house = house().await;
    let tenant = &house.tenant.tenant_id;
    let entries = house.store.entries(tenant, &EvidenceQuery { limit: 100, ..EvidenceQuery::default() }).await.unwrap();
    let about = |name: &str| entries.items.iter().filter(|entry| entry.header.kind == name).count();
    assert_eq!((about("context.frame_captured"), about("command.bound")), (1, 1));
    let mut disposing = Disposing::begin(house.store.as_ref(), &house.tenant, [conversation()]).await.unwrap();
    let head = disposing.head(&conversation()).unwrap().clone();
    let all = ErasedRange { stream_id: head.stream_id.clone(), first: 1, last: head.seq };
    let payloads = entries.items.iter().filter_map(|entry| entry.body.as_ref().map(|body| &body.payload));
    let mut about = payloads.map(|payload| serde_json::from_str::<Payload>(payload).unwrap().about);
    let context_id = about.find_map(|about| about.context_id).unwrap();
    let items = house.store.items_of(tenant, &context_id).await.unwrap();
    let command = house.store.last_command(tenant, &context_id).await.unwrap().unwrap();
    let disposal = Disposal {
        payloads: vec![all.clone()],
        contexts: vec![context_id.clone()],
        items: items.iter().map(|item| item.item_id.clone()).collect(),
        commands: vec![command.command_id.clone()],
        frames: vec![command.context_frame_id.clone()],
        conversations: vec![ConversationId::new("c").unwrap()],
        streams: vec![head.stream_id.clone()],
        ..Disposal::default()
    };
    let counts = disposing.erase(&disposal).await.unwrap();
    for kind in ["contexts", "items", "commands", "attempts", "frames", "conversations", "streams"] {
        assert_eq!(counts.get(kind), Some(&1), "{kind}: {counts:?}");
    }
    let cause = ErasureCause::Retention { before: BTreeMap::new() };
    let event = DisposalEvent::RecordsErased { cause, payloads: vec![all], counts: count_kinds(&counts), rows: None };
    disposing.record(event, &policy(), &mut SeededEntropy(77));
    disposing.commit().await.unwrap();
    let found = report(&house).await;
    assert!(found.is_sound() && found.erased == head.seq, "{found:?}");
    assert_eq!(house.store.frame(tenant, &command.context_frame_id).await.unwrap(), None);
    // Whoever comes back begins anew, and the other chain stays as it is.
    house.clock.pass_seconds(1);
    house.post("wamid.back", json!({"text": "hello again"})).await;
    let found = report(&house).await;
    assert!(found.is_sound() && found.streams == 3, "{found:?}");
}

/// Its records are gone, and both of its names stay taken, each by itself (S4).
#[tokio::test]
async fn a_command_that_was_erased_is_neither_asked_for_nor_bound_again() {
    let house = house().await;
    let mut disposing = Disposing::begin(house.store.as_ref(), &house.tenant, [conversation()]).await.unwrap();
    let command = CommandId::new("k").unwrap();
    let disposal = Disposal { commands: vec![command.clone()], ..Disposal::default() };
    disposing.erase(&disposal).await.unwrap();
    disposing.commit().await.unwrap();
    assert_eq!(house.store.command(&house.tenant.tenant_id, &command).await.unwrap(), None);
    let hello = json!({"text": "hello there", "conversation_id": "other"});
    let context_id = house.context_of(house.message("wamid.other", &hello)).await;
    for (id, key) in [("k", "key-k"), ("k", "another-key"), ("another", "key-k")] {
        let target = json!({"order_id": "k"});
        let spec = CommandSpec {
            idempotency_key: IdempotencyKey::new(key).unwrap(),
            name: CommandName::new("order.status").unwrap(),
            ..House::spec(id, target)
        };
        let Operation::Bind(mut bind) = House::bind(&context_id, id, "two") else { panic!("no binding") };
        bind.command = spec.clone();
        assert_eq!(house.answer(Operation::Bind(bind)).await, Err(Refusal::CommandErased), "{id} {key}");
        let spec = CommandSpec { name: CommandName::new("order.cancel").unwrap(), ..spec };
        let ask = question(&context_id, AskWhat::Confirmation(spec));
        assert_eq!(house.answer(ask).await, Err(Refusal::CommandErased), "{id} {key}");
    }
    house.ask(&context_id, "fresh").await;
}

#[tokio::test]
async fn a_lock_leaves_no_name_behind() {
    let house = House::new().await;
    let disposing = Disposing::begin(house.store.as_ref(), &house.tenant, [conversation()]).await.unwrap();
    assert!(disposing.head(&conversation()).is_none());
    disposing.commit().await.unwrap();
    assert_eq!(house.changed("UPDATE streams SET seq = seq WHERE key = 'c'").await, 0);
}
