//! What is read from a fact's own words, case by case.

use serde_json::Value;

use super::*;
use crate::state_layer::fact::Pointer;

fn fact(text: &str) -> NewFact {
    NewFact {
        label: None,
        key: "k".to_owned(),
        value: Value::String(text.to_owned()),
        source: Source::default(),
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

fn class(text: &str) -> Class {
    classify(&fact(text), text, &Partition::User { owner_id: None }, &AuthorityOrder::default())
}

#[test]
fn reach_is_read_from_words_with_care() {
    use FactScope::{Draft, Global, Hypothetical, Session, Task};
    for (text, scope) in [
        ("What if the budget were $80k?", Hypothetical),
        ("E se o orçamento fosse R$ 80 mil?", Hypothetical),
        ("¿Y si el presupuesto fuera 80?", Hypothetical),
        ("Hypothetically, we move to Lisbon", Hypothetical),
        ("Vamos supor que o cliente aceite", Hypothetical),
        ("Supongamos que el cliente acepta", Hypothetical),
        ("Draft: launch on June 3", Draft),
        ("Tentative date June 3", Draft),
        ("Rascunho - contrato", Draft),
        ("Proposal due Friday 5pm", Global),
        ("Propuesta: 3 plazas", Draft),
        ("Use 14pt, just for this brief", Task),
        ("Só desta vez, entrega na portaria", Task),
        ("For this session, answer in English", Session),
        ("Send the proposal by Friday", Global),
        ("The draft was approved", Global),
        ("Imagine Dragons is the artist we approved", Global),
        ("budget is $80k", Global),
        ("Potentially large customer", Global),
    ] {
        assert_eq!(class(text).scope, scope, "{text}");
    }
    let replacing = NewFact { supersedes: Some(Pointer("x".to_owned())), ..fact("Tentative date June 3") };
    assert_eq!(
        classify(&replacing, "Tentative date June 3", &Partition::User { owner_id: None }, &AuthorityOrder::default())
            .scope,
        Global
    );
    let said = NewFact { scope: Some(Global), ..fact("Draft: x") };
    assert_eq!(
        classify(&said, "Draft: x", &Partition::User { owner_id: None }, &AuthorityOrder::default()).scope,
        Global
    );
}

#[test]
fn constraints_are_read_from_words_with_care() {
    use ConstraintType::{Budget, Capacity, Deadline, Policy};
    for (text, constraint) in [
        ("Maximum spend is $5,000", Some(Budget)),
        ("Discounts cannot exceed 15%", Some(Budget)),
        ("Report must be delivered by Friday", Some(Deadline)),
        ("O prazo é sexta, obrigatório", Some(Deadline)),
        ("Room limited to 20 people", Some(Capacity)),
        ("No máximo 30 pessoas", Some(Capacity)),
        ("Refunds require Finance approval", Some(Policy)),
        ("El descuento no puede pasar del 15%", Some(Budget)),
        ("All laptops must be encrypted by default", Some(Policy)),
        ("La política exige dos firmas", Some(Policy)),
        ("The meeting is by the river", None),
        ("Wait, the maximum changed", None),
        ("Is there a maximum?", None),
        ("mustard on the sandwich", None),
        ("Launch is June 3", None),
    ] {
        assert_eq!(class(text).constraint, constraint, "{text}");
    }
    let not = NewFact { is_constraint: Some(false), ..fact("must be red") };
    assert_eq!(
        classify(&not, "must be red", &Partition::User { owner_id: None }, &AuthorityOrder::default()).constraint,
        None
    );
}

#[test]
fn memory_follows_the_partition_and_then_the_source() {
    let of = |kind: &str, authority: Option<&str>, partition: &Partition| {
        let source = Source { kind: kind.to_owned(), authority: authority.map(str::to_owned), ..Source::default() };
        memory(partition, &source, &AuthorityOrder::default())
    };
    let organization = Partition::Organization { organization: "o".to_owned() };
    assert_eq!(of("user", None, &organization), MemoryType::Organizational);
    for (kind, authority, expected) in [
        ("user", None, MemoryType::User),
        ("decision", Some("peer"), MemoryType::User),
        ("policy", None, MemoryType::Organizational),
        ("finance_system", None, MemoryType::Organizational),
        ("user", Some("CFO"), MemoryType::Organizational),
        ("user", Some("manager"), MemoryType::User),
        ("heuristic", None, MemoryType::Capability),
    ] {
        assert_eq!(of(kind, authority, &Partition::User { owner_id: None }), expected, "{kind} {authority:?}");
    }
}
