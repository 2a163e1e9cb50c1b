//! Which pack applies where, and that two packs never compete silently.

use serde_json::{Value, json};

use super::{LoadedPack, PolicyBook, PolicyPack, PolicyScope, SafetyClass};

fn basic() -> Value {
    serde_saphyr::from_str(include_str!("../../../policies/basic.yaml")).unwrap()
}

/// `basic` under another name, with these members replaced.
pub(super) fn pack(id: &str, selectors: &Value, changes: &[(&str, Value)]) -> LoadedPack {
    let mut text = basic();
    text["pack_id"] = json!(id);
    text["selectors"] = selectors.clone();
    for (pointer, value) in changes {
        *text.pointer_mut(pointer).unwrap() = value.clone();
    }
    let pack: PolicyPack = serde_json::from_value(text).unwrap();
    LoadedPack::new(pack, format!("sha256:{id}"), &format!("{id}.yaml")).unwrap()
}

pub(super) fn book(selectors: &[(&str, Value)]) -> Result<PolicyBook, Vec<String>> {
    let packs = selectors.iter().map(|(id, selectors)| pack(id, selectors, &[]));
    PolicyBook::new(packs.collect()).map_err(|errors| errors.iter().map(ToString::to_string).collect())
}

pub(super) fn scope(tenant: &str, environment: &str, attached: Option<&str>) -> PolicyScope {
    PolicyScope {
        tenant_id: tenant.to_owned(),
        environment: environment.to_owned(),
        attached_pack: attached.map(str::to_owned),
    }
}

/// Tenant, environment, attached pack, command, raised class; then the pack for contexts and the pack for demands.
type Row =
    (&'static str, &'static str, Option<&'static str>, &'static str, Option<SafetyClass>, &'static str, &'static str);

const TABLE: &[Row] = &[
    ("other", "live", None, "address.update", None, "all", "all"),
    ("other", "live", None, "refund.issue", None, "all", "class"),
    ("other", "live", None, "address.update", Some(SafetyClass::S2), "all", "class"),
    ("other", "live", None, "order.status", None, "all", "group"),
    ("other", "live", None, "order.cancel", None, "all", "command"),
    ("other", "live", None, "unknown.name", None, "all", "all"),
    ("other", "test", None, "order.cancel", None, "env", "env"),
    ("other", "test", None, "order.cancel", Some(SafetyClass::S3), "env", "env_class"),
    ("acme", "live", None, "order.cancel", None, "tenant", "tenant"),
    ("acme", "live", None, "payment.send", None, "tenant", "tenant_class"),
    ("acme", "test", None, "payment.send", None, "tenant_env", "tenant_env"),
    ("other", "live", Some("loose"), "order.cancel", None, "loose", "loose"),
    ("other", "test", Some("loose"), "payment.send", None, "loose", "loose"),
    ("acme", "live", Some("loose"), "order.cancel", None, "loose", "loose"),
    ("acme", "live", Some("loose"), "payment.send", None, "loose", "tenant_class"),
    ("acme", "test", Some("loose"), "payment.send", None, "tenant_env", "tenant_env"),
];

#[test]
fn the_most_specific_selector_wins() {
    let book = book(&[
        ("all", json!([{}])),
        ("class", json!([{"safety_class": "S2"}])),
        ("group", json!([{"group": "orders"}])),
        ("command", json!([{"command": "order.cancel"}])),
        ("env", json!([{"environment": "test"}])),
        ("env_class", json!([{"environment": "test", "safety_class": "S3"}])),
        ("tenant", json!([{"tenant": "acme"}])),
        ("tenant_class", json!([{"tenant": "acme", "safety_class": "S3"}])),
        ("tenant_env", json!([{"tenant": "acme", "environment": "test"}])),
        ("loose", json!([])),
    ])
    .unwrap();
    for (tenant, environment, attached, command, raised, contexts, demands) in TABLE {
        let raised = *raised;
        let attached = *attached;
        let (contexts, demands) = (*contexts, *demands);
        let view = book.view(&scope(tenant, environment, attached));
        let rules = view.command(command, raised);
        let what = format!("{tenant} {environment} {attached:?} {command} {raised:?}");
        assert_eq!(view.pack().pack_id, contexts, "{what}");
        assert_eq!(view.reference().pack_id, contexts, "{what}");
        assert_eq!(rules.policy.pack_id, demands, "{what}");
        let also: Vec<_> = rules.also_policies.iter().map(|one| one.pack_id.as_str()).collect();
        let expected: &[&str] = if contexts == demands { &[] } else { &[contexts] };
        assert_eq!(also, expected, "{what}");
    }
}

#[test]
fn specificity_is_the_documented_order() {
    let fields = ["tenant", "environment", "command", "group"];
    let mut last = 0;
    for bits in 0u8..32 {
        let mut selector = json!({});
        for (n, field) in fields.iter().enumerate() {
            if bits & (16 >> n) != 0 {
                selector[field] = json!("x");
            }
        }
        if bits & 1 != 0 {
            selector["safety_class"] = json!("S1");
        }
        let found = serde_json::from_value::<super::Selector>(selector).unwrap().specificity();
        assert!(bits == 0 || found > last, "{bits}");
        last = found;
    }
}

#[test]
fn ties_name_both_packs() {
    for selector in [
        json!({}),
        json!({"tenant": "acme"}),
        json!({"environment": "test", "command": "order.cancel"}),
        json!({"group": "orders", "safety_class": "S2"}),
    ] {
        let said =
            book(&[("all", json!([{}])), ("one", json!([{"tenant": "x"}, selector])), ("two", json!([selector]))])
                .unwrap_err();
        let (first, file) = if selector == json!({}) { ("all", "one") } else { ("one", "two") };
        assert!(
            said[0].starts_with(&format!("{file}.yaml /selectors/"))
                && said[0].contains(&format!("packs `{first}` and `{file}` both claim {selector}")),
            "{said:?}"
        );
    }
    let apart = [json!([{"tenant": "a"}]), json!([{"tenant": "b"}]), json!([{"environment": "a"}])];
    let [a, b, c] = apart;
    assert!(book(&[("all", json!([{}])), ("a", a), ("b", b), ("c", c)]).is_ok());
}

#[test]
fn gaps_and_namesakes_do_not_load() {
    assert_eq!(
        book(&[("one", json!([{"tenant": "a"}])), ("one", json!([{"tenant": "b"}]))]).unwrap_err(),
        [
            "one.yaml /pack_id: pack `one` is already defined in one.yaml. Give one of them another pack_id.",
            "no pack applies to everything, so some conversations would have no rules. Give exactly one pack the selector `{}`.",
        ]
    );
    assert_eq!(
        book(&[("all", json!([{}, {"group": "shipping"}]))]).unwrap_err(),
        [
            "all.yaml /selectors/1/group: no pack puts a command into the group `shipping`. Name a group that some command has, or remove the selector."
        ]
    );
}

#[test]
fn the_class_comes_from_the_context_pack_and_only_rises() {
    let own = json!([
        {"name": "order.status", "class": "S2"},
        {"name": "payment.send", "class": "S1"},
        {"name": "courier.book", "class": "S1"},
    ]);
    let special = json!([{"command": "order.status"}, {"command": "payment.send"}, {"command": "courier.book"}]);
    let book = PolicyBook::new(vec![pack("all", &json!([{}]), &[]), pack("special", &special, &[("/commands", own)])])
        .unwrap();
    let view = book.view(&scope("a", "b", None));
    let status = view.command("order.status", None);
    assert_eq!((status.class, status.bare_answers), (SafetyClass::S2, false));
    let payment = view.command("payment.send", Some(SafetyClass::S0));
    assert_eq!((payment.class, payment.known), (SafetyClass::S3, true));
    let courier = view.command("courier.book", None);
    assert_eq!((courier.class, courier.known), (SafetyClass::S3, false));
}

#[test]
fn a_command_adds_demands_and_raising_joins_both_approvals() {
    let rule = |role: &str| json!({"role": role, "required": 1, "separate_person": true});
    let commands = json!([
        {"name": "a.b", "class": "S0", "confirmation": "required", "bare_answers": false,
         "approval": rule("treasurer"), "confirmation_ttl_seconds": 30},
    ]);
    let changes = [("/commands", commands), ("/classes/S3/approval", rule("approver"))];
    let book = PolicyBook::new(vec![pack("all", &json!([{}]), &changes)]).unwrap();
    let view = book.view(&scope("a", "b", None));
    let plain = view.command("a.b", None);
    assert!(plain.confirmation_required && !plain.bare_answers);
    assert_eq!((plain.confirmation_ttl_seconds, plain.bind_within_seconds), (30, 60));
    assert_eq!(plain.approval.unwrap().roles().collect::<Vec<_>>(), ["treasurer"]);
    let raised = view.command("a.b", Some(SafetyClass::S3));
    assert_eq!(raised.approval.unwrap().roles().collect::<Vec<_>>(), ["approver", "treasurer"]);
}

/// What the pack for contexts and the pack for demands let change, and what may change by both.
#[test]
fn only_a_field_that_both_packs_list_may_change() {
    let special = json!([{"command": "order.status"}]);
    for (contexts, demands, common) in [
        (json!(["note"]), json!(["note"]), &["note"][..]),
        (json!(["note"]), json!([]), &[]),
        (json!([]), json!(["note"]), &[]),
        (json!(["payee", "note"]), json!(["payee.nickname"]), &["payee.nickname"]),
        (json!(["payee.nickname"]), json!(["payee"]), &["payee.nickname"]),
        (json!(["note"]), json!("not listed"), &[]),
    ] {
        let listing = |fields: &serde_json::Value| match fields {
            serde_json::Value::Array(_) => {
                json!([{"name": "order.status", "class": "S1", "immaterial_fields": fields}])
            }
            _ => json!([]),
        };
        let packs = [("all", json!([{}]), listing(&contexts)), ("special", special.clone(), listing(&demands))];
        let packs = packs.map(|(id, selectors, commands)| pack(id, &selectors, &[("/commands", commands)]));
        let book = PolicyBook::new(packs.to_vec()).unwrap();
        let rules = book.view(&scope("a", "b", None)).command("order.status", None);
        assert!(rules.immaterial_fields.paths().eq(common.iter().copied()), "{contexts} {demands}: {rules:?}");
    }
}

#[test]
fn a_report_is_due_when_the_pack_for_demands_says() {
    let quick = [("/execution/report_within_seconds", json!(10))];
    let packs = vec![pack("all", &json!([{}]), &[]), pack("special", &json!([{"safety_class": "S3"}]), &quick)];
    let book = PolicyBook::new(packs).unwrap();
    let view = book.view(&scope("a", "b", None));
    assert_eq!(view.command("order.status", None).report_within_seconds, 300);
    assert_eq!(view.command("payment.send", None).report_within_seconds, 10);
}

#[test]
fn a_lost_attachment_makes_everything_strict() {
    let book = book(&[("all", json!([{}]))]).unwrap();
    let view = book.view(&scope("a", "b", Some("gone")));
    assert!(view.attached_pack_missing());
    let rules = view.command("order.status", None);
    assert_eq!((rules.class, rules.known, rules.confirmation_required), (SafetyClass::S3, true, true));
    assert!(!book.view(&scope("a", "b", Some("all"))).attached_pack_missing());
    assert!(!book.view(&scope("a", "b", None)).attached_pack_missing());
}
