//! How much one write and one space may hold, and that what one write brings about is looked at once.

use cscp::domain::id::FactUid;
use cscp::state_layer::Statement;
use cscp::state_layer::decide::{
    MAX_ITEMS_BYTES, MAX_LINKS, MAX_VALUES_BYTES, MAX_WRITE_BYTES, MAX_WRITE_CHANGES, MAX_WRITE_FACTS, MAX_WRITE_LINKS,
};
use cscp::state_layer::fact::{Dependency, Fact, MAX_FALLEN, Pointer, Source};
use cscp::state_layer::ledger::{Ledger, MAX_DISAGREEING, MAX_WORK};
use cscp::state_layer::operation::{NamedDependency, NewFact, SpaceAction};
use cscp::state_layer::refusal::SpaceRefusal;
use cscp::state_layer::space::WorkingItem;
use serde_json::{Value, json};

use crate::ledger_support::{World, at, fact, ledger_rules, new_fact, pointer, uid};

fn on(names: impl IntoIterator<Item = String>, fact: NewFact) -> NewFact {
    let depends_on = names.into_iter().map(|name| NamedDependency { pointer: Pointer(name), space: None }).collect();
    NewFact { depends_on, ..fact }
}

fn full(what: &str) -> SpaceRefusal {
    SpaceRefusal::SpaceFull { what: what.to_owned() }
}

fn too_large(what: &str, limit: usize) -> SpaceRefusal {
    SpaceRefusal::WriteTooLarge { what: what.to_owned(), limit }
}

#[test]
fn one_write_holds_so_many_dependencies_and_bytes() {
    let mut world = World::new();
    let many = |facts: usize, each: usize| {
        let based = (0..facts).map(|n| on((0..each).map(|m| format!("k{m}")), new_fact(&format!("f{n}"), "v")));
        SpaceAction::Write(based.collect())
    };
    assert_eq!(world.refused(many(MAX_WRITE_LINKS / 50 + 1, 50)), too_large("dependencies", MAX_WRITE_LINKS));
    world.done(many(MAX_WRITE_LINKS / 50, 50));
    let large = |count: usize| {
        let value = "v".repeat(16_000);
        SpaceAction::Write((0..count).map(|n| new_fact(&format!("l{n}"), &value)).collect())
    };
    assert_eq!(world.refused(large(MAX_WRITE_BYTES / 16_000 + 1)), too_large("bytes in values", MAX_WRITE_BYTES));
    world.done(large(MAX_WRITE_BYTES / 16_000));
}

#[test]
fn one_space_holds_so_many_dependencies_and_what_stands_can_still_be_replaced() {
    let mut world = World::new();
    world.write_one(new_fact("base", "1"));
    let upon = (0..MAX_LINKS).map(|n| on(["base".to_owned()], new_fact(&format!("f{n}"), "v")));
    let upon: Vec<NewFact> = upon.collect();
    upon.chunks(MAX_WRITE_FACTS).for_each(|some| drop(world.write(some.to_vec())));
    let one_more = SpaceAction::Write(vec![on(["base".to_owned()], new_fact("one_more", "1"))]);
    assert_eq!(world.refused(one_more), full("dependencies"));
    world.write_one(new_fact("independent", "1"));
    let (_, effects) = world.write(vec![new_fact("base", "2")]);
    assert_eq!((effects.superseded.len(), effects.needs_review.len()), (1, MAX_LINKS));
}

#[test]
fn one_write_holds_so_many_facts_and_changes_so_many() {
    let mut world = World::new();
    let many = |facts: std::ops::Range<usize>, value: &str| {
        SpaceAction::Write(facts.map(|n| new_fact(&format!("k{n}"), value)).collect())
    };
    assert_eq!(world.refused(many(0..MAX_WRITE_FACTS + 1, "1")), too_large("facts", MAX_WRITE_FACTS));
    world.done(many(0..MAX_WRITE_FACTS, "1"));
    // Each replaces another one.
    world.done(many(0..MAX_WRITE_FACTS, "2"));
    // A base that others need is one more that stands otherwise, with all that was derived from it.
    let derived = |some: std::ops::Range<usize>| {
        SpaceAction::Write(some.map(|n| on(["k0".to_owned()], new_fact(&format!("d{n}"), "v"))).collect())
    };
    world.done(derived(0..150));
    world.done(derived(150..300));
    let refused = too_large("changed facts", MAX_WRITE_CHANGES);
    assert_eq!(world.refused(many(0..2, "3")), refused);
    // Alone it may: it cannot be written in parts.
    world.done(many(0..1, "3"));
}

#[test]
fn facts_that_many_speak_against_count_for_more() {
    let mut world = World::new();
    let people = |key: &str| -> Vec<NewFact> {
        let by = |n: usize| Source { kind: "user".to_owned(), identity: Some(format!("p{n}")), ..Source::default() };
        (0..30).map(|n| NewFact { source: by(n), ..new_fact(key, &format!("value {n}")) }).collect()
    };
    world.done(SpaceAction::Write(people("one")));
    let both = people("two").into_iter().chain(people("three")).chain(people("four")).collect();
    assert_eq!(world.refused(SpaceAction::Write(both)), too_large("changed facts", MAX_WRITE_CHANGES));
}

#[test]
fn one_space_holds_so_many_bytes() {
    let mut world = World::new();
    world.write_one(new_fact("a", "1"));
    let value = "v".repeat(16_000);
    for number in 1..=u64::try_from(MAX_VALUES_BYTES / 16_000).unwrap() {
        let large = Fact { value: json!(value), ..fact(number, &format!("k{number}"), "", 0) };
        world.space.facts.insert(uid(number), large);
    }
    let one_more = SpaceAction::Write(vec![new_fact("large", &value)]);
    assert_eq!(world.refused(one_more), full("bytes in values"));
    world.write_one(new_fact("k1", "a shorter one in its place"));
    let item = |number: usize| {
        SpaceAction::SetItem(WorkingItem {
            key: format!("i{number}"),
            item_type: "context".to_owned(),
            content: json!(value),
            priority: 0,
            task_id: None,
            promote_as: None,
            created_at: at(0),
            expires_at: None,
        })
    };
    for number in 0..MAX_ITEMS_BYTES / 16_000 {
        world.done(item(number));
    }
    assert_eq!(world.refused(item(1_000)), full("bytes in working items"));
    world.done(item(0));
}

#[test]
fn so_many_people_may_disagree_about_one_key() {
    let mut world = World::new();
    let said = |person: usize| {
        let source = Source { identity: Some(format!("person {person}")), ..Source::default() };
        NewFact { source, ..new_fact("opening_hours", &format!("from {person}")) }
    };
    world.write((0..=MAX_DISAGREEING).map(said).collect());
    assert_eq!(world.refused(SpaceAction::Write(vec![said(1_000)])), full("facts of one key that disagree"));
    // One whose word outranks theirs settles it.
    let policy = Source { kind: "policy".to_owned(), authority: Some("policy".to_owned()), ..Source::default() };
    let (_, effects) = world.write(vec![NewFact { source: policy, ..new_fact("opening_hours", "from 9") }]);
    assert_eq!(effects.superseded.len(), MAX_DISAGREEING + 1);
}

#[test]
fn a_review_names_so_many_facts() {
    let mut world = World::new();
    let names = || (0..100).map(|n| format!("base{n}"));
    world.write(names().map(|name| new_fact(&name, "1")).collect());
    world.write_one(on(names().take(64), new_fact("one", "v")));
    world.write_one(on(names().skip(64), new_fact("other", "v")));
    world.write_one(on(["one".to_owned(), "other".to_owned()], new_fact("both", "v")));
    world.write(names().map(|name| NewFact { supersedes: pointer(&name), ..new_fact(&name, "2") }).collect());
    assert_eq!(world.of_key("both").review.as_ref().unwrap().bases.len(), MAX_FALLEN);
}

/// So many facts, each based on those before it.
fn ladder(facts: u64, bases: u64) -> Vec<Statement> {
    let standing = (0..facts).map(|number| {
        let pointers = (number.saturating_sub(bases)..number).map(|base| uid(base).as_str().to_owned());
        let depends_on =
            pointers.map(|base| Dependency { pointer: Pointer(base), space: None, uid: None, inferred: false });
        let at = i64::try_from(number).unwrap();
        Statement::Fact(Fact { depends_on: depends_on.collect(), ..fact(number, &format!("k{number}"), "v", at) })
    });
    standing.collect()
}

fn replaced(key: &str, number: u64) -> Vec<Statement> {
    vec![Statement::Fact(Fact { value: Value::from("2"), ..fact(number, key, "2", 10_000) })]
}

#[test]
fn whatever_stands_on_a_fact_that_falls_is_looked_at_once() {
    let rules = ledger_rules();
    let mut ledger = Ledger::default();
    let (facts, bases) = (200, 20);
    ledger.extend(ladder(facts, bases), &rules).unwrap();
    let before = ledger.work_done();
    ledger.extend(replaced("k0", 9_999), &rules).unwrap();
    let links = usize::try_from(facts * bases).unwrap();
    let work = ledger.work_done() - before;
    assert!(work < links + 2 * usize::try_from(facts).unwrap() + 100, "{work} for {links} links");
    let root: Vec<FactUid> = vec![uid(0)];
    for number in 1..facts {
        assert_eq!(ledger.facts[&uid(number)].review.as_ref().unwrap().bases, root, "{number}");
    }
}

#[test]
fn a_write_with_too_much_to_look_at_is_refused_and_one_fact_never_is() {
    let mut world = World::new();
    world.write_one(new_fact("base", "1"));
    // Each stands on the one before it: whichever is replaced, all later ones are looked at.
    let upon = |n: usize| if n == 0 { "base".to_owned() } else { format!("f{}", n - 1) };
    let upon_one_another = |some: std::ops::Range<usize>| {
        some.map(|n| on([upon(n)], new_fact(&format!("f{n}"), "v"))).collect::<Vec<NewFact>>()
    };
    for begin in (0..500).step_by(100) {
        world.write(upon_one_another(begin..begin + 100));
    }
    let replaced = |keys: std::ops::Range<usize>| {
        SpaceAction::Write(keys.map(|n| on([upon(n)], new_fact(&format!("f{n}"), "2"))).collect())
    };
    assert_eq!(world.refused(replaced(0..MAX_WRITE_FACTS)), too_large("consequences", MAX_WORK));
    world.done(replaced(0..1));
}
