//! What is said about packs whose form is wrong.

use super::validation_tests::{CANCEL, Row, S3, check};

#[test]
fn form_of_head() {
    check(FORM_OF_HEAD);
}

const FORM_OF_HEAD: &[Row] = &[
    (
        &[("pack_id: basic", "pack_id: Basic pack")],
        &[
            r#"p.yaml:2:1 /pack_id: "Basic pack" does not have the form that this place asks for. Write a name of a-z, 0-9, `_` and `-`, at most 64 characters."#,
        ],
    ),
    (
        &[("version: 1.2.0", "version: 1.0")],
        &[
            r#"p.yaml:3:1 /version: 1 is not of type "string". Write a SemVer version such as 1.4.0. Quote it if it has fewer than two dots."#,
        ],
    ),
    (
        &[("profile: basic", "profile: weak")],
        &[r#"p.yaml:4:1 /profile: "weak" is not a word for this place. Write basic, strong, operational or custom."#],
    ),
    (
        &[("facts_share: 0.7", "facts_share: 1")],
        &[
            "p.yaml:83:3 /state_layer/facts_share: 1 is greater than the maximum of 0.95. Write a number from 0.05 to 0.95.",
        ],
    ),
    (
        &[("selectors: [{}]", "selectors: [{country: br}]")],
        &[
            "p.yaml:7:14 /selectors/0/country: `country` does not belong here. Remove it, or use one of command, environment, group, safety_class, tenant.",
        ],
    ),
    (
        &[("selectors: [{}]", "selectors: [{}, {}]")],
        &[
            "p.yaml:7:1 /selectors: an item is listed twice. Write a list of selectors: [{}] applies everywhere, [] only where a tenant is attached to this pack by name.",
        ],
    ),
    (
        &[("state_layer:", "stat_layer:")],
        &[
            "p.yaml:82:1 /stat_layer: `stat_layer` does not belong here. Remove it, or use one of answers, approval, classes, commands, confirmation, context, description, disambiguation, execution, ooc, pack_id, profile, rate_limits, redaction, retention, selectors, slots, state_layer, version.",
        ],
    ),
];

#[test]
fn form_of_times() {
    check(FORM_OF_TIMES);
}

const FORM_OF_TIMES: &[Row] = &[
    (
        &[("  ttl_seconds: 1800", "  ttl_seconds: 0")],
        &[
            "p.yaml:10:3 /context/ttl_seconds: 0 is less than the minimum of 1. Write whole seconds, 1 to 31622400 (366 days).",
        ],
    ),
    (
        &[("  ttl_seconds: 1800", "  ttl_seconds: 31622401")],
        &[
            "p.yaml:10:3 /context/ttl_seconds: 31622401 is greater than the maximum of 31622400. Write whole seconds, 1 to 31622400 (366 days).",
        ],
    ),
    (
        &[("  ttl_seconds: 1800", "  ttl_seconds: 1.5")],
        &[
            r#"p.yaml:10:3 /context/ttl_seconds: 1.5 is not of type "integer". Write whole seconds, 1 to 31622400 (366 days)."#,
        ],
    ),
    (
        &[("  blocked_timeout_seconds: 86400\n", "")],
        &[
            "p.yaml:9:1 /context/blocked_timeout_seconds: `blocked_timeout_seconds` is missing. Write whole seconds, 1 to 31622400 (366 days).",
        ],
    ),
    (
        &[("  bind_within_seconds: 60", "  bind_within_secs: 60")],
        &[
            "p.yaml:15:1 /confirmation/bind_within_seconds: `bind_within_seconds` is missing. Write whole seconds, 1 to 600.",
            "p.yaml:18:3 /confirmation/bind_within_secs: `bind_within_secs` does not belong here. Remove it, or use one of bind_within_seconds, long_ttl_reason, ttl_seconds.",
        ],
    ),
    (
        &[("message_days: 30", "message_days: 7")],
        &[
            "p.yaml:76:3 /retention/message_days: 7 is less than the minimum of 8. Write whole days, 8 to 366: WhatsApp may deliver a message again for 7 days.",
        ],
    ),
    (
        &[("idempotency_hours: 168", "idempotency_hours: 9000")],
        &[
            "p.yaml:77:3 /retention/idempotency_hours: 9000 is greater than the maximum of 8784. Write whole hours, 1 to 8784 (366 days).",
        ],
    ),
    (
        &[("fact_history_days: 366", "fact_history_days: 3661")],
        &[
            "p.yaml:78:3 /retention/fact_history_days: 3661 is greater than the maximum of 3660. Write whole days, 1 to 3660 (ten years).",
        ],
    ),
    (
        &[("working_item_days: 7", "working_item_days: 0")],
        &["p.yaml:79:3 /retention/working_item_days: 0 is less than the minimum of 1. Write whole days, 1 to 366."],
    ),
    (&[("  fact_history_days: 366\n  working_item_days: 7\n  saved_pack_days: 90\n", "")], &[]),
    (
        &[("report_within_seconds: 300", "report_within_seconds: 9")],
        &[
            "p.yaml:88:3 /execution/report_within_seconds: 9 is less than the minimum of 10. Write whole seconds, 10 to 86400 (a day).",
        ],
    ),
    (
        &[("report_within_seconds: 300", "report_within_seconds: 86401")],
        &[
            "p.yaml:88:3 /execution/report_within_seconds: 86401 is greater than the maximum of 86400. Write whole seconds, 10 to 86400 (a day).",
        ],
    ),
];

#[test]
fn form_of_demands() {
    check(FORM_OF_DEMANDS);
}

const FORM_OF_DEMANDS: &[Row] = &[
    (
        &[("group: account, class: S1", "group: account, class: S4")],
        &[r#"p.yaml:33:45 /commands/1/class: "S4" is not a word for this place. Write S0, S1, S2 or S3."#],
    ),
    (
        &[(S3, "  S3: { confirmation: required, bare_answers: false, approval: some }")],
        &[
            r#"p.yaml:28:54 /classes/S3/approval: "some" is not a word for this place. Write none, or {role: approver, required: 1, separate_person: true}."#,
        ],
    ),
    (
        &[(S3, "  S3: { confirmation: required, bare_answers: false, approval: { role: approver, required: 0 } }")],
        &[
            "p.yaml:28:82 /classes/S3/approval/required: 0 is less than the minimum of 1. Write how many persons must approve, 1 to 10.",
        ],
    ),
    (
        &[("  S3: { confirmation: required, bare_answers: false, approval: none }\n", "")],
        &["p.yaml:24:1 /classes/S3: `S3` is missing. Write confirmation, bare_answers and approval."],
    ),
    // What packs of earlier versions list, beside other complaints.
    (
        &[
            (CANCEL, "{ name: order.cancel, group: orders, class: S2, material_fields: [order_id] }"),
            ("group: payments, class: S3", "group: payments, class: S3, material_fields: []"),
            ("reactions: false", "reactions: maybe"),
        ],
        &[
            r#"p.yaml:39:3 /answers/reactions: "maybe" is not of type "boolean". Write true or false."#,
            "p.yaml:34:53 /commands/2/material_fields: `material_fields` is no longer written here. Remove it: every field of a command's target counts now. List only what may change between the question and the command, in immaterial_fields.",
            "p.yaml:36:55 /commands/4/material_fields: `material_fields` is no longer written here. Remove it: every field of a command's target counts now. List only what may change between the question and the command, in immaterial_fields.",
        ],
    ),
    (
        &[(CANCEL, "{ name: order.cancel, class: S2, imaterial_fields: [note] }")],
        &[
            "p.yaml:34:38 /commands/2/imaterial_fields: `imaterial_fields` does not belong here. Remove it, or use one of approval, bare_answers, class, confirmation, confirmation_ttl_seconds, group, immaterial_fields, name, says.",
        ],
    ),
    (
        &[(CANCEL, "{ name: order.cancel, class: S2, immaterial_fields: [items.0.note] }")],
        &[
            r#"p.yaml:34:58 /commands/2/immaterial_fields/0: "items.0.note" does not have the form that this place asks for. Write member names of A-Z, a-z, 0-9 and `_`, each of at most 64 characters and not beginning with a digit, joined by dots, at most 8 of them. A path cannot reach into a list."#,
        ],
    ),
    (
        &[(CANCEL, "{ name: order.cancel, class: S2, immaterial_fields: ['items[]', .note, note., ''] }")],
        &[
            r#"p.yaml:34:58 /commands/2/immaterial_fields/0: "items[]" does not have the form that this place asks for. Write member names of A-Z, a-z, 0-9 and `_`, each of at most 64 characters and not beginning with a digit, joined by dots, at most 8 of them. A path cannot reach into a list."#,
            r#"p.yaml:34:69 /commands/2/immaterial_fields/1: ".note" does not have the form that this place asks for. Write member names of A-Z, a-z, 0-9 and `_`, each of at most 64 characters and not beginning with a digit, joined by dots, at most 8 of them. A path cannot reach into a list."#,
            r#"p.yaml:34:76 /commands/2/immaterial_fields/2: "note." does not have the form that this place asks for. Write member names of A-Z, a-z, 0-9 and `_`, each of at most 64 characters and not beginning with a digit, joined by dots, at most 8 of them. A path cannot reach into a list."#,
            r#"p.yaml:34:83 /commands/2/immaterial_fields/3: "" does not have the form that this place asks for. Write member names of A-Z, a-z, 0-9 and `_`, each of at most 64 characters and not beginning with a digit, joined by dots, at most 8 of them. A path cannot reach into a list."#,
        ],
    ),
    (
        &[(CANCEL, "{ name: order.cancel, class: S2, immaterial_fields: [note, note] }")],
        &[
            "p.yaml:34:38 /commands/2/immaterial_fields: an item is listed twice. Write a list of the fields of the command's target that may change between the question and the command, such as [note, payee.nickname], at most 32; leave it out for none.",
        ],
    ),
];

#[test]
fn form_of_slots_and_answers() {
    check(FORM_OF_SLOTS_AND_ANSWERS);
}

const FORM_OF_SLOTS_AND_ANSWERS: &[Row] = &[
    (
        &[("reactions: false", "reactions: off")],
        &[r#"p.yaml:39:3 /answers/reactions: "off" is not of type "boolean". Write true or false."#],
    ),
    (
        &[("lexicons: [pt-BR, es, en]", "lexicons: []")],
        &[
            "p.yaml:41:3 /answers/lexicons: [] has less than 1 item. Write a list of locales such as [pt-BR, es, en], at least one, at most 32.",
        ],
    ),
    (
        &[("min_confidence: 0.9", "min_confidence: 0.2")],
        &[
            "p.yaml:40:29 /answers/voice/min_confidence: 0.2 is less than the minimum of 0.5. Write a number from 0.5 to 1.",
        ],
    ),
    (
        &[("extensions: hide", "extensions: blur")],
        &[
            r#"p.yaml:65:3 /redaction/extensions: "blur" is not a word for this place. Write none, mask, digest or hide."#,
        ],
    ),
    (
        &[("  work_item_id: stored", "  work_item_id: kept")],
        &[
            r#"p.yaml:53:5 /slots/storage/work_item_id: "kept" is not a word for this place. Write stored, derived, digest or refuse."#,
        ],
    ),
    (
        &[("observer: summary", "Observer: summary")],
        &[
            r#"p.yaml:69:3 /ooc/roles: a name here is not one that is allowed ("Observer" does not match "^[a-z][a-z0-9_]{0,63}$"). Write a role of a-z, 0-9 and `_`, such as supervisor, at most 64 characters."#,
        ],
    ),
];
