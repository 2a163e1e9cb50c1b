//! What a command demands, and that the stricter of two demands is never the weaker.

use proptest::prelude::*;

use super::{ApprovalRule, CommandRules, ImmaterialFields, PolicyRef, SafetyClass};

fn approval() -> impl Strategy<Value = Option<ApprovalRule>> {
    let role = prop::sample::subsequence(vec!["approver", "auditor", "supervisor"], 1..=3);
    prop::option::of((role, 1u32..4, any::<bool>()).prop_map(|(roles, required, separate)| {
        let mut roles = roles.into_iter().map(str::to_owned);
        ApprovalRule { role: roles.next().unwrap(), also_roles: roles.collect(), required, separate_person: separate }
    }))
}

fn reference() -> impl Strategy<Value = PolicyRef> {
    ("[ab]", "[12]", "[xy]").prop_map(|(pack_id, version, hash)| PolicyRef { pack_id, version, hash })
}

fn owned(texts: Vec<&str>) -> Vec<String> {
    texts.into_iter().map(str::to_owned).collect()
}

fn rules() -> impl Strategy<Value = CommandRules> {
    let paths = vec!["memo", "note", "payee", "payee.address.street", "payee.address", "payee.nickname", "payee_note"];
    let immaterial = prop::sample::subsequence(paths, 0..=4);
    let listed = prop::sample::subsequence(vec!["amount", "order_id", "payee"], 0..=3);
    let flags = (any::<bool>(), any::<bool>(), any::<bool>(), prop::option::of("[ab]"));
    let times = (1u32..900, 1u32..90, 1u32..9000, 299u32..302);
    let also = prop::collection::btree_set(reference(), 0..3);
    (0usize..4, (immaterial, listed), flags, approval(), times, reference(), also).prop_map(
        |(class, (immaterial, listed), (known, confirm, bare, group), approval, times, policy, also)| CommandRules {
            class: SafetyClass::ALL[class],
            known,
            group,
            immaterial_fields: owned(immaterial).into(),
            material_fields: owned(listed),
            confirmation_required: confirm,
            bare_answers: bare,
            approval,
            confirmation_ttl_seconds: times.0,
            bind_within_seconds: times.1,
            approval_ttl_seconds: times.2,
            report_within_seconds: times.3,
            also_policies: also.into_iter().filter(|one| *one < policy).collect(),
            policy,
        },
    )
}

/// Whether one list of material fields covers what the other does: an empty one covers everything.
fn covers(wide: &[String], narrow: &[String]) -> bool {
    wide.is_empty() || (!narrow.is_empty() && narrow.iter().all(|field| wide.contains(field)))
}

/// Whatever `weak` refuses, `strict` refuses too.
fn at_least_as_strict(strict: &CommandRules, weak: &CommandRules) -> bool {
    let approval = match (&strict.approval, &weak.approval) {
        (_, None) => true,
        (None, Some(_)) => false,
        (Some(strict), Some(weak)) => {
            weak.roles().all(|role| strict.roles().any(|own| own == role))
                && strict.required >= weak.required
                && strict.separate_person >= weak.separate_person
        }
    };
    approval
        && strict.class >= weak.class
        && strict.known <= weak.known
        && strict.immaterial_fields.is_within(&weak.immaterial_fields)
        && covers(&strict.material_fields, &weak.material_fields)
        && strict.confirmation_required >= weak.confirmation_required
        && strict.bare_answers <= weak.bare_answers
        && strict.confirmation_ttl_seconds <= weak.confirmation_ttl_seconds
        && strict.bind_within_seconds <= weak.bind_within_seconds
        && strict.approval_ttl_seconds <= weak.approval_ttl_seconds
        && strict.report_within_seconds <= weak.report_within_seconds
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(2_000))]

    #[test]
    fn stricter_is_commutative_idempotent_associative_and_never_weaker(a in rules(), b in rules(), c in rules()) {
        let both = a.stricter(&b);
        prop_assert_eq!(&both, &b.stricter(&a));
        prop_assert_eq!(&a.stricter(&a), &a);
        prop_assert_eq!(&both.stricter(&a), &both);
        prop_assert_eq!(both.stricter(&c), a.stricter(&b.stricter(&c)));
        prop_assert!(at_least_as_strict(&both, &a) && at_least_as_strict(&both, &b));
        for named in [&a.policy, &b.policy] {
            prop_assert!(both.policy == *named || both.also_policies.contains(named));
        }
    }

    #[test]
    fn rules_come_back_from_json_as_they_were(a in rules()) {
        let text = serde_json::to_string(&a).unwrap();
        prop_assert_eq!(serde_json::from_str::<CommandRules>(&text).unwrap(), a);
    }
}

/// What was stored before there were immaterial fields and a time for reports.
const STORED_EARLIER: &str = r#"{"class":"S3","known":true,"group":"payments","material_fields":["amount","payee"],
    "confirmation_required":true,"bare_answers":false,"approval":null,"confirmation_ttl_seconds":120,
    "bind_within_seconds":30,"approval_ttl_seconds":1800,"policy":{"pack_id":"strong","version":"1.0.0","hash":"h"}}"#;

#[test]
fn rules_of_earlier_versions_are_written_back_as_they_were_read_and_cover_too_little() {
    let read: CommandRules = serde_json::from_str(STORED_EARLIER).unwrap();
    assert_eq!(
        serde_json::to_value(&read).unwrap(),
        serde_json::from_str::<serde_json::Value>(STORED_EARLIER).unwrap()
    );
    assert_eq!((read.immaterial_fields.is_empty(), read.report_within_seconds), (true, 300));
    assert!(read.covers_a_list_only());
    let whole = STORED_EARLIER.replace(r#"["amount","payee"]"#, "[]");
    let whole: CommandRules = serde_json::from_str(&whole).unwrap();
    assert!(!whole.covers_a_list_only(), "an empty list covered the whole target");
    let today = CommandRules { material_fields: Vec::new(), ..read.clone() };
    assert!(!today.stricter(&read).covers_a_list_only(), "the stricter of both covers everything");
    let narrow = CommandRules { immaterial_fields: ImmaterialFields::from(owned(vec!["note"])), ..today.clone() };
    assert!(narrow.stricter(&today).immaterial_fields.is_empty());
}

#[test]
fn different_roles_must_both_be_held() {
    let rule = |role: &str| ApprovalRule {
        role: role.to_owned(),
        also_roles: Vec::new(),
        required: 1,
        separate_person: false,
    };
    let both = rule("supervisor").stricter(&rule("approver"));
    assert_eq!((both.role.as_str(), both.also_roles.as_slice()), ("approver", &["supervisor".to_owned()][..]));
    assert_eq!(both.roles().collect::<Vec<_>>(), ["approver", "supervisor"]);
}
