//! Which written facts say older ones anew.

use super::*;
use crate::domain::id::FactUid;
use crate::domain::time::Timestamp;
use crate::state_layer::fact::{FactScope, MemoryType, Source, Standing};

fn fact(number: u32, key: &str, value: &str) -> Fact {
    Fact {
        uid: FactUid::parse(&format!("fct_{number:032x}")).unwrap(),
        label: None,
        key: key.to_owned(),
        value: serde_json::Value::String(value.to_owned()),
        source: Source::default(),
        writer_id: None,
        at: Timestamp::from_micros(i64::from(number) * 1_000_000),
        recorded_at: Timestamp::from_micros(0),
        scope: FactScope::Global,
        scope_id: None,
        memory_type: MemoryType::User,
        abstraction: None,
        constraint: None,
        restricted_to: Vec::new(),
        supersedes: None,
        reason: None,
        superseded: Vec::new(),
        depends_on: Vec::new(),
        reading_id: None,
        standing: Standing::Valid,
        contested: Vec::new(),
        review: None,
        former: Vec::new(),
        history: Vec::new(),
    }
}

#[test]
fn what_is_written_anew_under_another_key() {
    for (old, new, certain) in [
        (("rate", "$100"), ("rate_v2", "$120"), true),
        (("rate_v2", "$120"), ("rate_v3", "$130"), true),
        (("rate_v3", "$130"), ("rate_v2", "$120"), false),
        (("unit_price", "$100"), ("unit_price_corrected", "$150"), true),
        (("prazo_inicial", "sexta"), ("prazo", "segunda"), true),
        (("direccion", "Calle A 1"), ("direccion_nueva", "Calle B 2"), true),
        (("instruction_a", "use red"), ("instruction_b", "use blue"), false),
        (("fact_1", "$100"), ("fact_2", "$120"), false),
        (("shared_fact_0", "x"), ("shared_fact_1", "y"), false),
        (("rate", "$100"), ("rate_v2", "$100"), true),
        (("budget", "$50k"), ("budget_note", "Correction: the budget is $60k"), true),
        (("budget", "$50k"), ("venue_note", "Correction: the budget is $60k"), false),
        (("budget", "$50k"), ("team_budget", "the budget is $60k"), false),
    ] {
        let (old, new) = (fact(1, old.0, old.1), fact(2, new.0, new.1));
        let found = restates(&old, &new);
        assert_eq!(found.is_some_and(|bearing| bearing.certain), certain, "{} -> {}", old.key, new.key);
    }
}
