//! What is written is read back, answered once, kept apart by tenant, and kept across a restart.

use cscp::committer::{Busy, Limits};
use cscp::domain::event::ReadRecord;
use cscp::domain::id::{CommandId, PersonId, PrincipalId, RoleName};
use cscp::domain::lifecycle::Status;
use cscp::domain::operation::{Answer, ChangeSlots, CredentialKind, Operation, PutPrincipal, RecordRead};
use cscp::domain::principal::{Alias, AliasKind, PrincipalKind};
use cscp::domain::query::{ApprovalQuery, ContextQuery, EvidenceQuery, PrincipalQuery};
use cscp::domain::refusal::Refusal;
use cscp::service::retention::Mode;
use cscp::service::verify_tenant;
use cscp::storage::Tenant;
use serde_json::{Value, json};

use crate::harness::{House, code};

#[tokio::test]
async fn a_turn_is_read_back_as_it_was_answered() {
    let house = House::new().await;
    let answer = house.post("wamid.1", json!({"text": "hello there"})).await;
    let Answer::Turn { context: Some(context), .. } = &answer else { panic!("{answer:?}") };
    let tenant = &house.tenant.tenant_id;
    assert_eq!(house.store.context(tenant, &context.context_id).await.unwrap().as_ref(), Some(&**context));
    assert_eq!(house.store.context(&house.other.tenant_id, &context.context_id).await.unwrap(), None);
}

#[tokio::test]
async fn a_duplicate_gets_the_first_verdict_even_after_a_restart() {
    let house = House::new().await;
    let context_id = house.context().await;
    let (item, buttons) = house.ask(&context_id, "k").await;
    let members = json!({"button_id": buttons[0]});
    let message = house.message("wamid.yes", &members);
    let first = house.answer(Operation::Ingest(Box::new(message.clone()))).await.unwrap();
    assert_eq!(code(&first), "confirmed");
    let house = house.reopen().await;
    let again = house.answer(Operation::Ingest(Box::new(message.clone()))).await.unwrap();
    let Answer::Turn { verdict, duplicate, item: Some(now), .. } = again else { panic!("{again:?}") };
    assert!(duplicate && verdict.code.as_str() == "confirmed" && now.item_id == item);
    let mut changed = message;
    changed.body_digest = house.message("wamid.yes", &json!({"text": "other"})).body_digest;
    let refused = house.answer(Operation::Ingest(Box::new(changed))).await;
    assert_eq!(refused, Err(Refusal::MessageIdReused));
}

#[tokio::test]
async fn of_many_attempts_at_once_exactly_one_binds() {
    let house = House::new().await;
    let context_id = house.context().await;
    for round in 0..20 {
        let command = format!("k{round}");
        let (_, buttons) = house.ask(&context_id, &command).await;
        house.post(&format!("wamid.yes.{round}"), json!({"button_id": buttons[0]})).await;
        let attempts: Vec<_> = (0..32)
            .map(|n| {
                let (committer, tenant) = (house.committer.clone(), house.tenant.clone());
                let operation = House::bind(&context_id, &command, &format!("attempt-{n}"));
                tokio::spawn(async move {
                    let submission = cscp::committer::Submission { tenant, operation, claim: None };
                    committer.submit(submission).await.unwrap().result
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
async fn no_update_is_lost_between_writers_that_read_the_same_revision() {
    let house = House::new().await;
    let context_id = house.context().await;
    let write = |revision: u64, n: u32| {
        Operation::ChangeSlots(ChangeSlots {
            context_id: context_id.clone(),
            patch: json!({ "x_count": n }).as_object().cloned().unwrap(),
            if_revision: revision,
            credential: CredentialKind::Handler,
        })
    };
    for n in 0..25 {
        let context = house.store.context(&house.tenant.tenant_id, &context_id).await.unwrap().unwrap();
        let writers = (0..8).map(|_| house.answer(write(context.revision, n)));
        let (mut won, mut refused) = (0, 0);
        let outcomes = futures_join(writers).await;
        for outcome in outcomes {
            match outcome {
                Ok(_) => won += 1,
                Err(Refusal::RevisionMismatch { .. }) => refused += 1,
                Err(other) => panic!("{other:?}"),
            }
        }
        assert_eq!((won, refused), (1, 7));
    }
}

async fn futures_join<F: std::future::Future>(futures: impl Iterator<Item = F>) -> Vec<F::Output> {
    let mut pending: Vec<_> = futures.map(Box::pin).collect();
    let mut done = Vec::new();
    std::future::poll_fn(|cx| {
        pending.retain_mut(|future| match future.as_mut().poll(cx) {
            std::task::Poll::Ready(output) => {
                done.push(output);
                false
            }
            std::task::Poll::Pending => true,
        });
        if pending.is_empty() { std::task::Poll::Ready(()) } else { std::task::Poll::Pending }
    })
    .await;
    done
}

#[tokio::test]
async fn an_idempotency_row_answers_again_and_guards_its_key() {
    let house = House::new().await;
    let context_id = house.context().await;
    let close = || {
        Operation::Transition(cscp::domain::operation::Transition {
            context_id: context_id.clone(),
            to: cscp::domain::operation::Move::Close(cscp::domain::context::CloseReason::Finished),
            if_revision: None,
        })
    };
    let first = house.submit(close(), Some(house.claim("key", "close"))).await.unwrap();
    let again = house.submit(close(), Some(house.claim("key", "close"))).await.unwrap();
    assert!(!first.replayed && again.replayed);
    assert_eq!(first.result, again.result);
    let reused = house.submit(close(), Some(house.claim("key", "other"))).await.unwrap();
    assert_eq!(reused.result, Err(Refusal::IdempotencyKeyReused));
    let rejected = house.submit(close(), Some(house.claim("second", "close"))).await.unwrap();
    let replayed = house.submit(close(), Some(house.claim("second", "close"))).await.unwrap();
    assert!(matches!(rejected.result, Err(Refusal::InvalidTransition { .. })));
    assert!(replayed.replayed && replayed.result == rejected.result, "refusals are replayed too");
    house.clock.pass_seconds(169 * 60 * 60);
    house.retention().finish(Tenant::clone(&house.tenant), Mode::Live).await.unwrap();
    let later = house.submit(close(), Some(house.claim("key", "other"))).await.unwrap();
    assert!(
        matches!(later.result, Err(Refusal::InvalidTransition { .. })),
        "when policy lets the row go, the key is free"
    );
}

#[tokio::test]
async fn dedupe_rows_outlive_seven_days_of_redelivery() {
    let house = House::new().await;
    house.post("wamid.1", json!({"text": "hello there"})).await;
    let message = house.message("wamid.1", &json!({"text": "hello there"}));
    house.clock.pass_seconds(7 * 24 * 60 * 60 + 3_600);
    house.retention().finish(Tenant::clone(&house.tenant), Mode::Live).await.unwrap();
    let again = house.answer(Operation::Ingest(Box::new(message.clone()))).await.unwrap();
    assert!(matches!(again, Answer::Turn { duplicate: true, .. }));
    house.clock.pass_seconds(23 * 24 * 60 * 60);
    let gone = house.retention().finish(Tenant::clone(&house.tenant), Mode::Live).await.unwrap();
    assert_eq!(gone.rows["messages"], 1);
}

#[tokio::test]
async fn every_list_can_be_asked_in_every_way_and_ends() {
    let house = House::new().await;
    let context_id = house.context().await;
    house.ask(&context_id, "k").await;
    for n in 0..5 {
        let conversation = format!("c{n}");
        house.post(&format!("wamid.{n}"), json!({"text": "hello there", "conversation_id": conversation})).await;
        house.answer(principal(&format!("p{n}"))).await.unwrap();
    }
    let tenant = &house.tenant.tenant_id;
    let now = Some(cscp::domain::time::Clock::now(&*house.clock));
    for status in [None, Some(Status::Active), Some(Status::Pending), Some(Status::Expired), Some(Status::Closed)] {
        let mut query = ContextQuery { status, now, limit: 2, ..ContextQuery::default() };
        let mut seen = Vec::new();
        loop {
            let page = house.store.contexts(tenant, &query).await.unwrap();
            seen.extend(page.items.into_iter().map(|context| context.context_id));
            match page.next {
                Some(next) => query.after = Some(next),
                None => break,
            }
        }
        let expected = match status {
            None => 6,
            Some(Status::Active) => 5,
            Some(Status::Pending) => 1,
            Some(_) => 0,
        };
        assert_eq!(seen.len(), expected, "{status:?}");
    }
    let one = ContextQuery {
        conversation_id: Some("c".to_owned().try_into().unwrap()),
        actor_id: Some("ana".to_owned().try_into().unwrap()),
        limit: 10,
        ..ContextQuery::default()
    };
    assert_eq!(house.store.contexts(tenant, &one).await.unwrap().items.len(), 1);
    let queries = [
        (PrincipalQuery { person_id: Some(PersonId::new("person-p1").unwrap()), ..PrincipalQuery::default() }, 1),
        (PrincipalQuery { role: Some(RoleName::new("approver").unwrap()), limit: 10, ..PrincipalQuery::default() }, 5),
        (PrincipalQuery { alias: Some(alias("p3")), limit: 10, ..PrincipalQuery::default() }, 1),
        (PrincipalQuery { principal_id: Some(PrincipalId::new("p4").unwrap()), ..PrincipalQuery::default() }, 1),
    ];
    for (query, expected) in queries {
        assert_eq!(house.store.principals(tenant, &query).await.unwrap().items.len(), expected);
    }
    let approvals = ApprovalQuery { open_only: true, now, limit: 5, ..ApprovalQuery::default() };
    assert!(house.store.approvals(tenant, &approvals).await.unwrap().items.is_empty());
}

fn alias(id: &str) -> Alias {
    Alias { kind: AliasKind::Phone, value: format!("+1 202 555 01{id}") }
}

fn principal(id: &str) -> Operation {
    Operation::PutPrincipal(PutPrincipal {
        principal_id: PrincipalId::new(id).unwrap(),
        kind: PrincipalKind::Person,
        roles: vec![RoleName::new("approver").unwrap()],
        person_id: Some(PersonId::new(format!("person-{id}")).unwrap()),
        aliases: vec![alias(id)],
        maturity: None,
        locale: None,
        if_revision: None,
    })
}

#[tokio::test]
async fn evidence_is_found_by_what_it_is_about_and_paged_in_order() {
    let house = House::new().await;
    let context_id = house.context().await;
    let (_, buttons) = house.ask(&context_id, "k").await;
    house.post("wamid.yes", json!({"button_id": buttons[0]})).await;
    house.answer(House::bind(&context_id, "k", "one")).await.unwrap();
    let tenant = &house.tenant.tenant_id;
    let all = EvidenceQuery {
        conversation_id: Some("c".to_owned().try_into().unwrap()),
        limit: 200,
        ..EvidenceQuery::default()
    };
    let all = house.store.entries(tenant, &all).await.unwrap().items;
    let mut query = EvidenceQuery { context_id: Some(context_id), limit: 3, ..EvidenceQuery::default() };
    let mut paged = Vec::new();
    loop {
        let page = house.store.entries(tenant, &query).await.unwrap();
        paged.extend(page.items);
        match page.next {
            Some(next) => query.after = Some(next),
            None => break,
        }
    }
    assert_eq!(paged, all, "one conversation, one context: the same entries in the same order");
    let command =
        EvidenceQuery { command_id: Some(CommandId::new("k").unwrap()), limit: 50, ..EvidenceQuery::default() };
    let kinds: Vec<String> =
        house.store.entries(tenant, &command).await.unwrap().items.into_iter().map(|e| e.header.kind).collect();
    for kind in [
        "confirmation.requested",
        "confirmation.accepted",
        "confirmation.spent",
        "context.frame_captured",
        "command.bound",
    ] {
        assert!(kinds.iter().any(|found| found == kind), "{kind} in {kinds:?}");
    }
    for entry in &all {
        assert_eq!(house.store.entry(tenant, &entry.header.artifact_id).await.unwrap().as_ref(), Some(entry));
        assert_eq!(house.store.entry(&house.other.tenant_id, &entry.header.artifact_id).await.unwrap(), None);
    }
    let report = verify_tenant(house.store.as_ref(), tenant).await.unwrap();
    assert!(report.broken.is_empty() && report.entries >= 8, "{report:?}");
}

#[tokio::test]
async fn readers_have_a_chain_of_their_own() {
    let house = House::new().await;
    let read = ReadRecord {
        operation: "ooc.show_active_context".to_owned(),
        key_id: "k".to_owned(),
        viewer_id: None,
        detail: None,
        conversation_id: None,
        context_id: None,
        command_id: None,
        space_id: None,
        pack_id: None,
        ids: Vec::new(),
        ids_digest: None,
        refused: false,
        records: 1,
    };
    house.answer(Operation::RecordRead(RecordRead { reader: "olga".to_owned(), read })).await.unwrap();
    let report = verify_tenant(house.store.as_ref(), &house.tenant.tenant_id).await.unwrap();
    assert_eq!((report.streams, report.entries, report.broken.len()), (1, 1, 0));
}

#[tokio::test]
async fn a_loud_tenant_fills_its_own_line_and_no_other() {
    let limits = Limits { queued: 100, queued_per_tenant: 4, batch: 1, ..Limits::default() };
    let house = House::with(limits).await;
    // Nothing of the loud tenant's is committed while somebody else holds its conversation.
    let held = house.hold(&Operation::Ingest(Box::new(house.message("held", &json!({"text": "hello"}))))).await;
    let submit = |tenant: &std::sync::Arc<cscp::storage::Tenant>, n: usize| {
        let operation = Operation::Ingest(Box::new(house.message(&format!("wamid.{n}"), &json!({"text": "hello"}))));
        let submission = cscp::committer::Submission { tenant: tenant.clone(), operation, claim: None };
        let committer = house.committer.clone();
        tokio::spawn(async move { committer.submit(submission).await })
    };
    let mut loud: Vec<_> = (0..20).map(|n| submit(&house.tenant, n)).collect();
    for _ in 0..100 {
        tokio::task::yield_now().await;
    }
    let quiet = submit(&house.other, 100);
    for _ in 0..100 {
        tokio::task::yield_now().await;
    }
    drop(held);
    assert!(quiet.await.unwrap().is_ok());
    let mut full = 0;
    for task in loud.drain(..) {
        match task.await.unwrap() {
            Ok(_) => {}
            Err(Busy::Full { retry_after_seconds }) => full += u32::from(retry_after_seconds > 0),
            Err(other) => panic!("{other:?}"),
        }
    }
    assert!(full >= 10, "{full} of 20 were asked to come back");
}

#[tokio::test]
async fn a_stopped_committer_finishes_what_it_accepted_and_takes_no_more() {
    let house = House::new().await;
    let waiting: Vec<_> = (0..50)
        .map(|n| {
            let operation =
                Operation::Ingest(Box::new(house.message(&format!("wamid.{n}"), &json!({"text": "hello"}))));
            let submission = cscp::committer::Submission { tenant: house.tenant.clone(), operation, claim: None };
            let committer = house.committer.clone();
            tokio::spawn(async move { committer.submit(submission).await })
        })
        .collect();
    tokio::task::yield_now().await;
    house.committer.stop();
    let mut done = 0;
    for task in waiting {
        match task.await.unwrap() {
            Ok(_) => done += 1,
            Err(Busy::Stopping) => {}
            Err(other) => panic!("{other:?}"),
        }
    }
    let query = EvidenceQuery { kind: Some("message.received".to_owned()), limit: 200, ..EvidenceQuery::default() };
    let stored = house.store.entries(&house.tenant.tenant_id, &query).await.unwrap().items.len();
    assert_eq!(stored, done, "what was acknowledged is there, and nothing else");
    let late = house.submit(Operation::Ingest(Box::new(house.message("late", &Value::Null))), None).await;
    assert_eq!(late, Err(Busy::Stopping));
}
