//! Retention: what is past its time goes at its time and not before, what is live or held never does, and the record
//! tells of it.

use cscp::committer::RulesInForce;
use cscp::domain::context::{CloseReason, State};
use cscp::domain::event::StreamKey;
use cscp::domain::id::ConversationId;
use cscp::domain::operation::Answer;
use cscp::domain::policy::RecordKind;
use cscp::domain::query::EvidenceQuery;
use cscp::domain::time::{Clock as _, Timestamp};
use cscp::service::retention::{Disposed, Mode};
use cscp::service::verify_tenant;
use cscp::state_layer::operation::SpaceAction;
use cscp::state_layer::space::Signal;
use cscp::storage::{Row, SpaceRow, Tenant, Writes};
use serde_json::json;

use crate::harness::{House, code};
use crate::retention_things::{Things, close, context_in, fact, live, period, rules};

const DAY: i64 = 86_400_000_000;
/// The period of the kind that a case is about, in days.
const DAYS: u32 = 8;

async fn swept(house: &House, periods: &[(&str, u32)], mode: Mode) -> Disposed {
    house.retention_by(rules(periods)).finish(Tenant::clone(&house.tenant), mode).await.unwrap()
}

/// How many entries tell of records that went.
async fn told(house: &House) -> usize {
    let query = EvidenceQuery { kind: Some("records.erased".to_owned()), limit: 200, ..EvidenceQuery::default() };
    house.store.entries(&house.tenant.tenant_id, &query).await.unwrap().items.len()
}

async fn is_sound(house: &House) -> bool {
    let report = verify_tenant(house.store.as_ref(), &house.tenant.tenant_id).await.unwrap();
    assert!(report.is_sound(), "{report:?}");
    report.missing == 0
}

fn stay_until(house: &House, at: Timestamp) {
    house.clock.pass(at.as_micros() - house.clock.now().as_micros());
}

#[tokio::test]
async fn every_kind_goes_at_its_time_and_not_a_microsecond_before() {
    for kind in RecordKind::ALL {
        for (offset, goes) in [(-1, false), (0, true), (DAY, true)] {
            let house = House::new().await;
            let things = Things::in_house(&house).await;
            let hours = kind == RecordKind::IdempotencyAnswer;
            let mine = [(period(kind), DAYS)];
            // How long an answer is repeated was said when it was given.
            let mine = if hours { &[][..] } else { &mine[..] };
            let length = if hours { 168 * 3_600 * 1_000_000 } else { i64::from(DAYS) * DAY };
            stay_until(&house, Timestamp::from_micros(things.begins(kind).as_micros() + length + offset));
            let before = told(&house).await;
            let gone = swept(&house, mine, Mode::Live).await;
            let case = format!("{} at {offset}: {gone:?}", kind.as_str());
            for other in RecordKind::ALL {
                let answers = other == RecordKind::IdempotencyAnswer && (!hours || offset >= 0);
                let expected = !(other == kind && goes || answers);
                assert_eq!(things.has(&house, other).await, expected, "{}: {case}", other.as_str());
            }
            let entries = u64::try_from(told(&house).await - before).unwrap();
            assert_eq!(entries, gone.batches, "an entry a batch: {case}");
            assert!(is_sound(&house).await);
            assert!(swept(&house, mine, Mode::Live).await.is_empty(), "nothing is left over: {case}");
        }
    }
}

/// The shortest periods that a pack may have.
const SHORTEST: [(&str, u32); 9] = [
    ("closed_context_days", 1),
    ("expired_context_days", 1),
    ("frame_days", 1),
    ("evidence_payload_days", 1),
    ("message_days", 8),
    ("idempotency_hours", 1),
    ("fact_history_days", 1),
    ("working_item_days", 1),
    ("saved_pack_days", 1),
];

#[tokio::test]
async fn what_is_live_never_goes() {
    let house = House::new().await;
    let tenant = &house.tenant.tenant_id;
    // A command without an end, in a context that is open.
    let open = house.context().await;
    let (_, buttons) = house.ask(&open, "k").await;
    house.post("wamid.yes", json!({"button_id": buttons[0]})).await;
    house.answer(House::bind(&open, "k", "one")).await.unwrap();
    // A confirmation that was granted and not used.
    let hello = house.message("wamid.granted", &json!({"text": "hello there", "conversation_id": "granted"}));
    let waiting = house.context_of(hello).await;
    let (granted, buttons) = house.ask(&waiting, "g").await;
    let yes = json!({"button_id": buttons[0], "conversation_id": "granted"});
    assert_eq!(code(&house.post("wamid.granted.yes", yes).await), "confirmed");
    // The same in a context whose row was ended by other hands.
    let hello = house.message("wamid.ended", &json!({"text": "hello there", "conversation_id": "ended"}));
    let ended = house.context_of(hello).await;
    let (asked, _) = house.ask(&ended, "e").await;
    let mut row = house.store.context(tenant, &ended).await.unwrap().unwrap();
    row.state = State::Closed { at: house.clock.now(), reason: CloseReason::Finished };
    let mut transaction = house.store.begin().await.unwrap();
    let rows = vec![(tenant.clone(), Row::Context(row))];
    transaction.write(&Writes { rows, ..Writes::default() }).await.unwrap();
    transaction.commit().await.unwrap();
    let price = fact(&house, "price", "5", None).await;
    let country = Signal {
        key: "country".to_owned(),
        value: json!("br"),
        observed_at: house.clock.now(),
        stale_at: None,
        former: Vec::new(),
    };
    crate::retention_things::in_space(&house, SpaceAction::SetSignal(country)).await;
    house.clock.pass(4_000 * DAY);
    let gone = swept(&house, &SHORTEST, Mode::Live).await;
    assert!(gone.rows["payloads"] > 10 && gone.rows["messages"] == 5, "{gone:?}");
    assert_eq!(gone.kept.get(&RecordKind::ClosedContext), Some(&1), "{gone:?}");
    assert_eq!(gone.kept.get(&RecordKind::Frame), Some(&1), "{gone:?}");
    for context in [&open, &waiting, &ended] {
        assert!(house.store.context(tenant, context).await.unwrap().is_some());
    }
    for item in [&granted, &asked] {
        assert!(house.store.item(tenant, item).await.unwrap().is_some());
    }
    let command = house.store.last_command(tenant, &open).await.unwrap().unwrap();
    assert!(house.store.frame(tenant, &command.context_frame_id).await.unwrap().is_some());
    let rows = live(&house).await;
    assert!(rows.iter().any(|row| matches!(row, SpaceRow::Fact(fact) if fact.uid == price)));
    assert!(rows.iter().any(|row| matches!(row, SpaceRow::Signal(signal) if signal.key == "country")));
    assert!(is_sound(&house).await);
}

#[tokio::test]
async fn a_hold_stops_it_and_its_end_lets_it_go_on() {
    const HELD: [(&str, RecordKind, &[RecordKind]); 2] = [
        (
            "INSERT INTO legal_holds (tenant_id, hold_id, kind, subject, placed_at, body)
                VALUES ('a', 'hld_00000000000000000000000000000001', 'conversation', 'c', 1, '{\"key_id\":\"key_00000000000000000000000000000001\",\"salt\":\"0000000000000000000000000000000000000000000000000000000000000000\"}')",
            RecordKind::ExpiredContext,
            &[RecordKind::Message, RecordKind::EvidencePayload, RecordKind::Frame, RecordKind::ClosedContext],
        ),
        (
            "INSERT INTO legal_holds (tenant_id, hold_id, kind, subject, placed_at, body)
                VALUES ('a', 'hld_00000000000000000000000000000001', 'principal', 'ana', 1, '{\"key_id\":\"key_00000000000000000000000000000001\",\"salt\":\"0000000000000000000000000000000000000000000000000000000000000000\"}')",
            RecordKind::IdempotencyAnswer,
            &[
                RecordKind::Message,
                RecordKind::EvidencePayload,
                RecordKind::Frame,
                RecordKind::ClosedContext,
                RecordKind::ExpiredContext,
                RecordKind::FactHistory,
                RecordKind::WorkingItem,
                RecordKind::SavedPack,
            ],
        ),
    ];
    for (sql, free, held) in HELD {
        let house = House::new().await;
        let things = Things::in_house(&house).await;
        assert_eq!(house.changed(sql).await, 1);
        house.clock.pass(500 * DAY);
        let dry = swept(&house, &SHORTEST, Mode::Dry).await;
        let gone = swept(&house, &SHORTEST, Mode::Live).await;
        assert_eq!(dry.records, gone.records, "{sql}");
        assert!(!things.has(&house, free).await, "{sql}: {gone:?}");
        for kind in held {
            assert!(things.has(&house, *kind).await, "{sql}: {}: {gone:?}", kind.as_str());
            assert!(gone.kept[kind] > 0, "{sql}: {}", kind.as_str());
        }
        let report = verify_tenant(house.store.as_ref(), &house.tenant.tenant_id).await.unwrap();
        assert!(report.broken.is_empty() && report.missing == 0 && report.tree.faults.is_empty(), "{report:?}");
        assert_eq!(report.rows.len(), 1, "nobody recorded this hold");
        assert_eq!(house.changed("DELETE FROM legal_holds").await, 1);
        swept(&house, &SHORTEST, Mode::Live).await;
        for kind in RecordKind::ALL {
            assert!(!things.has(&house, kind).await, "{sql}: {} after the hold", kind.as_str());
        }
        assert!(is_sound(&house).await);
    }
}

#[tokio::test]
async fn a_dry_run_says_what_then_goes_and_changes_nothing() {
    let house = House::new().await;
    for n in 0..30 {
        crate::run(&house, n).await;
    }
    Things::in_house(&house).await;
    for days in [0, 9, 400] {
        house.clock.pass(days * DAY);
        let heads = house.store.heads(&house.tenant.tenant_id, None, 500).await.unwrap();
        let dry = swept(&house, &SHORTEST, Mode::Dry).await;
        assert_eq!(dry, swept(&house, &SHORTEST, Mode::Dry).await, "after {days} days");
        assert_eq!(house.store.heads(&house.tenant.tenant_id, None, 500).await.unwrap(), heads, "after {days} days");
        let gone = swept(&house, &SHORTEST, Mode::Live).await;
        assert_eq!((&dry.records, &dry.kept), (&gone.records, &gone.kept), "after {days} days");
        // What follows from the rest is not told beforehand.
        let told = |disposed: &Disposed| {
            let rows = disposed.rows.clone().into_iter();
            rows.filter(|(table, _)| !["prompts", "conversations", "streams"].contains(table)).collect::<Vec<_>>()
        };
        assert_eq!(told(&dry), told(&gone), "after {days} days");
        assert!(is_sound(&house).await);
    }
}

#[tokio::test]
async fn a_shorter_period_counts_from_the_next_round_and_for_what_is_there() {
    let house = House::new().await;
    let things = Things::in_house(&house).await;
    let (publish, in_force) = RulesInForce::replaceable(rules(&[]));
    let retention = house.retention_by(in_force);
    house.clock.pass(30 * DAY);
    let tenant = || Tenant::clone(&house.tenant);
    assert!(retention.finish(tenant(), Mode::Live).await.unwrap().records.keys().eq([&RecordKind::IdempotencyAnswer]));
    publish.send_replace(rules(&[("message_days", 8), ("frame_days", 29), ("closed_context_days", 31)]));
    retention.finish(tenant(), Mode::Live).await.unwrap();
    assert!(!things.has(&house, RecordKind::Message).await && !things.has(&house, RecordKind::Frame).await);
    assert!(things.has(&house, RecordKind::ClosedContext).await);
    let entries = EvidenceQuery { kind: Some("records.erased".to_owned()), limit: 9, ..EvidenceQuery::default() };
    let entries = house.store.entries(&house.tenant.tenant_id, &entries).await.unwrap().items;
    let hashes: std::collections::BTreeSet<_> = entries.iter().map(|entry| &entry.header.policy_hash).collect();
    assert_eq!(hashes.len(), 2, "each entry names the pack that it went by");
    assert!(is_sound(&house).await);
}

#[tokio::test]
async fn a_message_that_comes_again_after_its_context_went_is_told_from_a_new_one() {
    let house = House::new().await;
    let message = house.message("wamid.hello", &json!({"text": "hello there"}));
    let post = async || {
        let operation = cscp::domain::operation::Operation::Ingest(Box::new(message.clone()));
        house.answer(operation).await.unwrap()
    };
    let first = post().await;
    let context = context_in(&first).unwrap().clone();
    house.answer(close(&context)).await.unwrap();
    house.clock.pass(7 * DAY);
    let gone = swept(&house, &SHORTEST, Mode::Live).await;
    assert_eq!((gone.rows["contexts"], gone.rows.get("messages")), (1, None));
    let again = post().await;
    assert!(matches!(&again, Answer::Turn { duplicate: true, .. }), "{again:?}");
    assert!(context_in(&again).is_none(), "it is said again, but the context is not made again");
    assert!(house.store.context(&house.tenant.tenant_id, &context).await.unwrap().is_none());
    house.clock.pass(DAY);
    assert_eq!(swept(&house, &SHORTEST, Mode::Live).await.rows["messages"], 1);
    let new = post().await;
    assert!(matches!(&new, Answer::Turn { duplicate: false, .. }), "{new:?}");
    assert!(context_in(&new).is_some_and(|other| *other != context));
    assert!(is_sound(&house).await);
}

#[tokio::test]
async fn a_conversation_of_which_nothing_is_left_loses_its_name() {
    for periods in [
        [("evidence_payload_days", 20), ("message_days", 8), ("closed_context_days", 1)],
        [("evidence_payload_days", 8), ("message_days", 20), ("closed_context_days", 1)],
        [("evidence_payload_days", 8), ("message_days", 8), ("closed_context_days", 20)],
    ] {
        let house = House::new().await;
        let tenant = &house.tenant.tenant_id;
        let context = house.context().await;
        house.answer(close(&context)).await.unwrap();
        let stream = house.store.heads(tenant, None, 9).await.unwrap().remove(0).stream_id;
        let named = async || house.store.named_streams(tenant, std::slice::from_ref(&stream)).await.unwrap();
        house.clock.pass(20 * DAY - 1);
        swept(&house, &periods, Mode::Live).await;
        let key = StreamKey::Conversation(ConversationId::new("c").unwrap());
        assert_eq!(named().await[0].0, key, "{periods:?}");
        house.clock.pass(1);
        let gone = swept(&house, &periods, Mode::Live).await;
        assert_eq!(gone.rows.get("streams"), Some(&1), "{periods:?}: {gone:?}");
        assert!(named().await.is_empty(), "{periods:?}");
        assert!(is_sound(&house).await);
        house.post("wamid.back", json!({"text": "hello again"})).await;
        let heads = house.store.heads(tenant, None, 9).await.unwrap();
        assert_eq!(heads.len(), 3, "a chain that has ended, what was erased, and a new one");
        assert!(is_sound(&house).await);
    }
}
