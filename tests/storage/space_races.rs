//! Writers of one fact space race for it, through one committer and through two: none loses another's facts, none
//! replaces what another has replaced, and the order of arrival leaves no trace.

use std::collections::BTreeSet;
use std::sync::Arc;

use cscp::committer::{Busy, Committer, Limits, SpaceSubmission};
use cscp::domain::id::{FactLabel, SpaceId};
use cscp::domain::operation::CredentialKind;
use cscp::domain::time::Timestamp;
use cscp::service::verify_tenant;
use cscp::state_layer::assembly::{ContextPack, TokenSummary};
use cscp::state_layer::authority::Viewer;
use cscp::state_layer::fact::{Fact, Pointer, Source};
use cscp::state_layer::operation::{NewFact, SpaceAction, SpaceAnswer, SpaceOperation, Writer};
use cscp::state_layer::query::FactQuery;
use cscp::state_layer::refusal::SpaceRefusal;
use cscp::state_layer::request::Refused;
use cscp::storage::{SpaceRow, SpaceWant};
use serde_json::json;
use tokio::task::JoinSet;

use crate::harness::House;
use crate::replay::expect_replayed;

fn space(name: &str) -> SpaceId {
    SpaceId::new(name).unwrap()
}

pub(crate) fn new_fact(key: &str, value: &str) -> NewFact {
    NewFact {
        label: Some(FactLabel::new("W-AUTO").unwrap()),
        key: key.to_owned(),
        value: json!(value),
        source: Source { kind: "user".to_owned(), ..Source::default() },
        at: None,
        scope: None,
        scope_id: None,
        memory_type: None,
        abstraction: None,
        is_constraint: None,
        constraint_type: None,
        restricted_to: Vec::new(),
        supersedes: None,
        reason: None,
        depends_on: Vec::new(),
        require_targets: false,
    }
}

fn write(house: &House, name: &str, fact: NewFact) -> SpaceSubmission {
    let writer = Writer { credential: CredentialKind::Handler, principal_id: None, speaks_for: None };
    let operation = SpaceOperation { space_id: space(name), writer, action: SpaceAction::Write(vec![fact]) };
    SpaceSubmission { tenant: Arc::clone(&house.tenant), operation, claim: None }
}

/// Repeats what the server asks to have repeated.
async fn insist(committer: &Committer, submission: SpaceSubmission) -> Result<Fact, Refused> {
    loop {
        match committer.submit_space(submission.clone()).await {
            Ok(done) => {
                return done.result.map(|answer| match answer {
                    SpaceAnswer::Facts { mut facts, .. } => facts.pop().unwrap(),
                    other => panic!("another answer: {other:?}"),
                });
            }
            Err(Busy::Contended | Busy::Full { .. }) => tokio::task::yield_now().await,
            Err(busy) => panic!("{busy:?}"),
        }
    }
}

/// The facts of a space in a form that arrival leaves no trace in.
async fn standing(house: &House, name: &str) -> BTreeSet<(String, String, bool, usize)> {
    let tenant_id = house.tenant.tenant_id.clone();
    let want = SpaceWant { tenant_id, space_id: space(name), live: false, whole: true, named: Vec::new() };
    let rows = house.store.spaces(&[want]).await.unwrap();
    let facts = rows.into_iter().filter_map(|(_, row)| match row {
        SpaceRow::Fact(fact) => Some((fact.key.clone(), fact.text(), fact.is_valid(), fact.former.len())),
        _ => None,
    });
    facts.collect()
}

#[tokio::test(flavor = "multi_thread", worker_threads = 4)]
async fn of_many_that_replace_one_fact_one_does() {
    let one = House::new().await;
    let other = House::committer_over(Arc::clone(&one.store), Limits::default(), 99);
    for round in 0..20 {
        let name = format!("s{round}");
        let first = insist(&one.committer, write(&one, &name, new_fact("price", "100"))).await.unwrap();
        let mut rivals = JoinSet::new();
        for rival in 0..8 {
            let committer = if rival % 2 == 0 { one.committer.clone() } else { other.clone() };
            let fact = NewFact {
                supersedes: Some(Pointer(first.uid.as_str().to_owned())),
                ..new_fact(&format!("price_{rival}"), &format!("{}", 200 + rival))
            };
            let submission = write(&one, &name, fact);
            rivals.spawn(async move { insist(&committer, submission).await });
        }
        let results = rivals.join_all().await;
        let (won, lost): (Vec<_>, Vec<_>) = results.into_iter().partition(Result::is_ok);
        assert_eq!(won.len(), 1, "round {round}");
        for refused in lost {
            let refused = refused.unwrap_err();
            assert!(matches!(refused, Refused::Space(SpaceRefusal::AlreadySuperseded { .. })), "{refused:?}");
        }
    }
    let report = verify_tenant(one.store.as_ref(), &one.tenant.tenant_id).await.unwrap();
    assert!(report.broken.is_empty(), "{report:?}");
    expect_replayed(&one).await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 4)]
async fn nobody_loses_anybodys_facts() {
    let one = House::new().await;
    let other = House::committer_over(Arc::clone(&one.store), Limits::default(), 99);
    let mut writers = JoinSet::new();
    for writer in 0..16 {
        let committer = if writer % 2 == 0 { one.committer.clone() } else { other.clone() };
        let submissions: Vec<_> = (0..10)
            .map(|n| write(&one, "shared", new_fact(&format!("k{writer}_{n}"), &format!("value {n}"))))
            .collect();
        writers.spawn(async move {
            for submission in submissions {
                insist(&committer, submission).await.unwrap();
            }
        });
    }
    writers.join_all().await;
    let mut query = FactQuery { limit: 200, ..FactQuery::default() };
    query.include_invalid = true;
    let page = one.store.facts(&one.tenant.tenant_id, &space("shared"), &query).await.unwrap();
    assert_eq!(page.items.len(), 160);
    assert!(page.items.iter().all(Fact::is_valid));
    let times: BTreeSet<Timestamp> = page.items.iter().map(|fact| fact.at).collect();
    assert_eq!(times.len(), 160, "each was stated at a time of its own");
    expect_replayed(&one).await;
}

#[tokio::test]
async fn the_order_of_arrival_leaves_no_trace() {
    let house = House::new().await;
    let at = |minute: i64| Some(Timestamp::from_micros(1_700_000_000_000_000 + minute * 60_000_000));
    let pointing = |key: &str, value: &str, minute, to: &str| NewFact {
        at: at(minute),
        supersedes: Some(Pointer(to.to_owned())),
        ..new_fact(key, value)
    };
    let facts = [
        NewFact { at: at(0), ..new_fact("price", "$100") },
        pointing("price_v2", "$120", 1, "price"),
        NewFact { at: at(2), ..new_fact("colour", "blue") },
        NewFact { at: at(3), ..new_fact("colour", "green") },
        pointing("price_v3", "$90", 4, "price_v2"),
    ];
    let mut seen = BTreeSet::new();
    for shift in 0..facts.len() {
        for backwards in [false, true] {
            let name = format!("order-{shift}-{backwards}");
            let mut order: Vec<NewFact> = facts.iter().cycle().skip(shift).take(facts.len()).cloned().collect();
            if backwards {
                order.reverse();
            }
            for fact in order {
                insist(&house.committer, write(&house, &name, fact)).await.unwrap();
            }
            seen.insert(standing(&house, &name).await);
        }
    }
    assert_eq!(seen.len(), 1, "{seen:#?}");
    let facts = seen.pop_first().unwrap();
    let valid: Vec<&str> = facts.iter().filter(|fact| fact.2).map(|fact| fact.1.as_str()).collect();
    assert_eq!(valid, ["green", "$90"]);
    expect_replayed(&house).await;
}

/// A pack is assembled without a lock. What is deleted before it is kept must not be kept with it, in whichever of the
/// spaces that it was assembled from.
#[tokio::test]
async fn a_pack_that_shows_what_was_deleted_meanwhile_is_not_kept() {
    let house = House::new().await;
    let own = insist(&house.committer, write(&house, "own", new_fact("phone", "5511988887777"))).await.unwrap();
    let wide = insist(&house.committer, write(&house, "wide", new_fact("phone", "5511977776666"))).await.unwrap();
    let act = |name: &str, action: SpaceAction| {
        let writer = Writer { credential: CredentialKind::Handler, principal_id: None, speaks_for: None };
        let operation = SpaceOperation { space_id: space(name), writer, action };
        house.committer.submit_space(SpaceSubmission { tenant: Arc::clone(&house.tenant), operation, claim: None })
    };
    let save = |wider: &[&str]| SpaceAction::SavePack {
        viewer: Viewer::default(),
        as_of: own.at,
        wider: wider.iter().copied().map(space).collect(),
        pack: Box::new(ContextPack {
            context: "- phone: 5511988887777\n- phone: 5511977776666\n".to_owned(),
            segments: Vec::new(),
            facts_included: vec![own.uid.clone(), wide.uid.clone()],
            omitted: Vec::new(),
            token_summary: TokenSummary { budget: 500, used: 9, remaining: 491, facts: 9 },
            pack_hash: "sha256:00".to_owned(),
            estimator_id: "bytes".to_owned(),
        }),
    };
    let outdated = Err(Refused::Space(SpaceRefusal::PackOutdated));
    assert!(act("own", save(&["wide"])).await.unwrap().result.is_ok());
    assert_eq!(act("own", save(&[])).await.unwrap().result, outdated, "it was assembled from more than that");
    for (name, gone) in [("wide", &wide), ("own", &own)] {
        let delete = SpaceAction::Delete { uid: gone.uid.clone(), reason: "asked".to_owned() };
        assert!(act(name, delete).await.unwrap().result.is_ok());
        assert_eq!(act("own", save(&["wide"])).await.unwrap().result, outdated, "after {name}");
    }
}
