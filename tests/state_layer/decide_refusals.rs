//! Every refusal, and that nothing is half-written: the harness compares the space before and after each.

use cscp::domain::canonical::Digest;
use cscp::domain::id::{PrincipalId, SpaceId};
use cscp::domain::operation::CredentialKind;
use cscp::domain::principal::Maturity;
use cscp::state_layer::fact::{Abstraction, Pointer};
use cscp::state_layer::operation::{NamedDependency, NewFact, SpaceAction};
use cscp::state_layer::reading::{Utterance, read};
use cscp::state_layer::refusal::SpaceRefusal;
use cscp::state_layer::space::{Access, Identity, Partition, Signal, WorkingItem};
use serde_json::{Value, json};

use crate::ledger_support::{World, at, fact, label, new_fact, pointer, uid};

fn write(facts: Vec<NewFact>) -> SpaceAction {
    SpaceAction::Write(facts)
}

fn on(names: &[&str], fact: NewFact) -> NewFact {
    let depends_on =
        names.iter().map(|name| NamedDependency { pointer: Pointer((*name).to_owned()), space: None }).collect();
    NewFact { depends_on, ..fact }
}

fn replacing(name: &str, fact: NewFact) -> NewFact {
    NewFact { supersedes: pointer(name), ..fact }
}

fn describe(partition: Option<Partition>, if_revision: Option<u64>) -> SpaceAction {
    SpaceAction::Describe { partition, wider: Vec::new(), access: Access::Open, if_revision }
}

fn capability() -> Partition {
    Partition::Capability { organization: "o".to_owned(), capability: "c".to_owned() }
}

fn person(user_id: &str) -> SpaceAction {
    SpaceAction::SetIdentity(Identity {
        user_id: user_id.to_owned(),
        user_name: None,
        authority: None,
        department: None,
        organization: None,
        communication_style: None,
        permissions: Vec::new(),
    })
}

#[test]
fn circles_are_refused_whatever_the_times_say() {
    let mut world = World::new();
    let refusal = world.refused(write(vec![replacing("b", new_fact("a", "1")), replacing("a", new_fact("b", "2"))]));
    assert_eq!(refusal, SpaceRefusal::SupersessionCycle { index: 0 });
    world.write_one(replacing("b", new_fact("a", "1")));
    let refusal = world.refused(write(vec![replacing("a", new_fact("b", "2"))]));
    assert_eq!(refusal, SpaceRefusal::SupersessionCycle { index: 0 });
    world.write_one(replacing("a", new_fact("a", "its own next version")));
    let refusal = world.refused(write(vec![new_fact("x", "1"), on(&["y"], new_fact("y", "2"))]));
    assert_eq!(refusal, SpaceRefusal::DependencyCycle { index: 1 });
    world.write_one(on(&["q"], new_fact("p", "1")));
    world.write_one(on(&["r"], new_fact("q", "1")));
    let refusal = world.refused(write(vec![on(&["p"], new_fact("r", "1"))]));
    assert_eq!(refusal, SpaceRefusal::DependencyCycle { index: 0 });
}

#[test]
fn names_that_mean_nothing_are_refused_where_that_is_asked() {
    let mut world = World::sparse();
    let strict = |fact: NewFact| NewFact { require_targets: true, ..fact };
    for fact in [replacing("b", new_fact("a", "1")), on(&["b"], new_fact("a", "1"))] {
        let refusal = world.refused(write(vec![strict(fact.clone())]));
        assert_eq!(refusal, SpaceRefusal::PointerToNothing { index: 0, name: "b".to_owned() });
        world.done(write(vec![strict(fact), NewFact { label: label("b"), ..new_fact("c", "there") }]));
        world = World::sparse();
    }
}

#[test]
fn one_fact_is_replaced_once() {
    let mut world = World::sparse();
    let old = world.write_one(new_fact("a", "1"));
    let new = world.write_one(replacing(old.uid.as_str(), new_fact("b", "2")));
    let refusal = world.refused(write(vec![replacing(old.uid.as_str(), new_fact("c", "3"))]));
    assert_eq!(refusal, SpaceRefusal::AlreadySuperseded { index: 0, by: new.uid.clone() });
    let both = vec![replacing(new.uid.as_str(), new_fact("c", "3")), replacing(new.uid.as_str(), new_fact("d", "4"))];
    assert!(matches!(world.refused(write(both)), SpaceRefusal::AlreadySuperseded { index: 1, .. }));
    // By name it goes on from what stands.
    world.write_one(replacing("a", new_fact("c", "3")));
    assert_eq!(world.standing(), [("c".to_owned(), "3".to_owned())]);
    let current = world.of_key("c").uid.clone();
    world.done(SpaceAction::Delete { uid: current.clone(), reason: "x".to_owned() });
    let refusal = world.refused(write(vec![replacing(current.as_str(), new_fact("e", "5"))]));
    assert!(matches!(refusal, SpaceRefusal::PointerToNothing { index: 0, .. }));
}

#[test]
fn nobody_bound_claims_more_authority_than_they_hold() {
    let claiming = |title: &str| {
        let mut fact = new_fact("a", "1");
        fact.source.authority = Some(title.to_owned());
        fact
    };
    let mut world = World::new();
    world.write_one(claiming("CFO"));
    world.writer.credential = CredentialKind::Agent;
    for fact in [claiming("manager"), replacing("a", new_fact("b", "1")), new_fact("c", "[CEO] Do it")] {
        assert!(matches!(world.refused(write(vec![fact])), SpaceRefusal::AuthorityExceeded { index: 0, .. }));
    }
    world.write_one(NewFact { key: "d".to_owned(), ..claiming("employee") });
    world.standing.roles = vec!["auditor_of_nothing".to_owned(), "manager".to_owned()];
    world.writer.principal_id = Some(PrincipalId::new("p").unwrap());
    world.write_one(NewFact { key: "e".to_owned(), ..claiming("manager") });
    world.writer.credential = CredentialKind::Handler;
    let refusal = world.refused(write(vec![claiming("VP")]));
    let expected = SpaceRefusal::AuthorityExceeded { index: 0, claimed: "VP".to_owned(), held: "manager".to_owned() };
    assert_eq!(refusal, expected);
}

#[test]
fn maturity_gates_abstraction() {
    use Abstraction::{Event, Heuristic, Strategy};
    let of = |abstraction: Option<Abstraction>| NewFact { abstraction, ..new_fact("a", "1") };
    let mut world = World::new();
    assert!(matches!(world.refused(write(vec![of(Some(Event))])), SpaceRefusal::FactInvalid { index: 0, .. }));
    world.done(describe(Some(capability()), None));
    assert!(matches!(world.refused(write(vec![of(None)])), SpaceRefusal::FactInvalid { index: 0, .. }));
    for (maturity, allowed) in [(Maturity::Junior, 1), (Maturity::Senior, 2), (Maturity::Master, 3)] {
        world.standing.maturity = maturity;
        for (place, abstraction) in [Event, Heuristic, Strategy].into_iter().enumerate() {
            let result = world.act(write(vec![of(Some(abstraction))])).result;
            assert_eq!(result.is_ok(), place < allowed, "{maturity:?} {abstraction:?} {result:?}");
        }
    }
}

#[test]
fn people_correct_and_agents_write() {
    let mut world = World::new();
    let fact = world.write_one(new_fact("a", "1"));
    let utterance = Utterance {
        speaker: "user".to_owned(),
        text: "Actually, a is 2, not 1.".to_owned(),
        at: at(5),
        authority: None,
    };
    let heard = |world: &mut World| {
        let id = cscp::domain::id::Ids::new(at(5), &mut world.entropy).reading();
        SpaceAction::Observe(read(&utterance, id, at(6), Digest::from_bytes([7; 32])))
    };
    for credential in [CredentialKind::Operator, CredentialKind::Auditor, CredentialKind::Admin] {
        world.writer.credential = credential;
        world.standing.is_person = credential == CredentialKind::Admin;
        assert_eq!(world.refused(write(vec![new_fact("b", "2")])), SpaceRefusal::PeopleDoNotCreate);
        let heard = heard(&mut world);
        assert_eq!(world.refused(heard), SpaceRefusal::PeopleDoNotCreate);
    }
    world.standing.is_person = false;
    world.writer.credential = CredentialKind::Agent;
    for action in [
        SpaceAction::Delete { uid: fact.uid.clone(), reason: String::new() },
        SpaceAction::Restore { uid: fact.uid.clone(), reason: String::new() },
        SpaceAction::Erase,
        describe(None, None),
        person("u"),
    ] {
        assert_eq!(world.refused(action), SpaceRefusal::NotForAgents);
    }
    world.write_one(new_fact("b", "2"));
    let heard = heard(&mut world);
    world.done(heard);
    world.writer.credential = CredentialKind::Operator;
    world.done(SpaceAction::Delete { uid: fact.uid, reason: "wrong".to_owned() });
}

#[test]
fn sizes_are_bounded() {
    let mut world = World::new();
    let mut large = |member: &str, fact: NewFact| {
        let refusal = world.refused(write(vec![fact]));
        assert!(
            matches!(&refusal, SpaceRefusal::FactTooLarge { index: 0, member: found, .. } if found == member),
            "{refusal}"
        );
    };
    large("key", new_fact(&"k".repeat(257), "1"));
    large("value", new_fact("k", &"v".repeat(16 * 1024)));
    let many = vec!["x"; 65];
    large("depends_on", on(&many, new_fact("k", "1")));
    large("supersedes", replacing(&"n".repeat(257), new_fact("k", "1")));
    large("reason", NewFact { reason: Some("r".repeat(1025)), ..new_fact("k", "1") });
    let audiences = NewFact { restricted_to: vec!["HR".to_owned(); 33], ..new_fact("k", "1") };
    large("restricted_to", audiences);
    for key in ["", " ", "a\nb"] {
        assert!(
            matches!(world.refused(write(vec![new_fact(key, "1")])), SpaceRefusal::FactInvalid { index: 0, .. }),
            "{key:?}"
        );
    }
    let null = NewFact { value: Value::Null, ..new_fact("k", "1") };
    assert!(matches!(world.refused(write(vec![null])), SpaceRefusal::FactInvalid { .. }));
    world.write_one(new_fact(&"k".repeat(256), &"v".repeat(16 * 1024 - 2)));
}

#[test]
fn a_space_is_full_at_last() {
    let mut world = World::new();
    world.write_one(new_fact("a", "1"));
    for number in 1..10_000 {
        let fact = fact(number, &format!("k{number}"), "v", 0);
        world.space.facts.insert(uid(number), fact);
    }
    world.write_one(new_fact("a", "2"));
    let refusal = world.refused(write(vec![new_fact("one_more", "1")]));
    assert_eq!(refusal, SpaceRefusal::SpaceFull { what: "facts".to_owned() });
    let signal = |number: usize| Signal {
        key: format!("s{number}"),
        value: json!(1),
        observed_at: at(0),
        stale_at: None,
        former: Vec::new(),
    };
    let item = |number: usize| WorkingItem {
        key: format!("i{number}"),
        item_type: "context".to_owned(),
        content: json!("x"),
        priority: 0,
        task_id: None,
        promote_as: None,
        created_at: at(0),
        expires_at: None,
    };
    let mut world = World::new();
    for number in 0..200 {
        world.done(SpaceAction::SetSignal(signal(number)));
    }
    assert_eq!(
        world.refused(SpaceAction::SetSignal(signal(200))),
        SpaceRefusal::SpaceFull { what: "signals".to_owned() }
    );
    world.done(SpaceAction::SetSignal(signal(7)));
    for number in 0..500 {
        world.done(SpaceAction::SetItem(item(number)));
    }
    assert_eq!(
        world.refused(SpaceAction::SetItem(item(500))),
        SpaceRefusal::SpaceFull { what: "working items".to_owned() }
    );
    world.now = at(3600);
    world.done(SpaceAction::SetItem(item(500)));
    assert_eq!(world.space.items.len(), 1, "those that expired went");
}

#[test]
fn dependencies_point_to_the_same_or_a_wider_partition() {
    let mut world = World::new();
    world.done(describe(Some(capability()), None));
    let mut other = world.space.record.clone().unwrap();
    other.space_id = SpaceId::new("narrow").unwrap();
    other.partition = Partition::User { owner_id: None };
    let mut wide = other.clone();
    wide.space_id = SpaceId::new("wide").unwrap();
    wide.partition = Partition::Organization { organization: "o".to_owned() };
    world.wider = vec![(other, Vec::new()), (wide, vec![fact(1, "rule", "x", 0)])];
    let on = |space: &str, require_targets: bool| NewFact {
        abstraction: Some(Abstraction::Event),
        require_targets,
        depends_on: vec![NamedDependency {
            pointer: Pointer("rule".to_owned()),
            space: Some(SpaceId::new(space).unwrap()),
        }],
        ..new_fact("a", "1")
    };
    let refusal = world.refused(write(vec![on("narrow", false)]));
    assert_eq!(refusal, SpaceRefusal::NarrowerDependency { index: 0, space: SpaceId::new("narrow").unwrap() });
    assert!(matches!(world.refused(write(vec![on("absent", true)])), SpaceRefusal::PointerToNothing { .. }));
    let (facts, effects) = world.write(vec![on("absent", false)]);
    assert_eq!((facts[0].depends_on[0].uid.clone(), effects.unresolved.len()), (None, 1));
    let written = world.write_one(on("wide", true));
    assert_eq!(written.depends_on[0].uid, Some(uid(1)));
    assert!(written.review.is_none(), "across spaces the assembler looks");
}

#[test]
fn a_space_keeps_its_partition_its_person_and_its_revision() {
    let mut world = World::new();
    world.done(describe(None, Some(0)));
    assert_eq!(world.refused(describe(None, Some(0))), SpaceRefusal::SpaceRevisionMismatch { revision: 1 });
    world.done(describe(None, Some(1)));
    assert_eq!(
        world.refused(describe(Some(capability()), None)),
        SpaceRefusal::PartitionFixed { memory: "user".to_owned() }
    );
    world.done(describe(Some(Partition::User { owner_id: None }), None));
    world.done(person("u1"));
    world.done(person("u2"));
    world.write_one(new_fact("a", "1"));
    assert_eq!(world.refused(person("u1")), SpaceRefusal::IdentityFixed);
    world.done(person("u2"));
    assert!(matches!(world.refused(person(" ")), SpaceRefusal::EntryInvalid { .. }));
    let own = SpaceAction::Describe {
        partition: None,
        wider: vec![world.space_id.clone()],
        access: Access::Open,
        if_revision: None,
    };
    assert!(matches!(world.refused(own), SpaceRefusal::EntryInvalid { .. }));
}

#[test]
fn what_is_not_there_is_not_changed() {
    let mut world = World::sparse();
    let restore = |uid: &cscp::domain::id::FactUid| SpaceAction::Restore { uid: uid.clone(), reason: String::new() };
    let delete = |uid: &cscp::domain::id::FactUid| SpaceAction::Delete { uid: uid.clone(), reason: String::new() };
    assert_eq!(world.refused(restore(&uid(1))), SpaceRefusal::FactNotFound);
    assert_eq!(world.refused(SpaceAction::Erase), SpaceRefusal::SpaceNotFound);
    let close = SpaceAction::CloseTask { task_id: "t".to_owned(), promote: Vec::new() };
    assert_eq!(world.refused(close), SpaceRefusal::SpaceNotFound);
    let fact = world.write_one(new_fact("a", "1"));
    assert_eq!(world.refused(restore(&fact.uid)), SpaceRefusal::NothingToRestore);
    world.done(delete(&fact.uid));
    assert_eq!(world.refused(delete(&fact.uid)), SpaceRefusal::FactDeleted);
    assert_eq!(world.refused(restore(&fact.uid)), SpaceRefusal::FactDeleted);
}
