//! What is said about packs that say what no pack may say.

use super::validation_tests::{CANCEL, Row, S1, S2, S3, check};

#[test]
fn meaning_of_times() {
    check(MEANING_OF_TIMES);
}

const MEANING_OF_TIMES: &[Row] = &[
    (
        &[("max_lifetime_seconds: 86400", "max_lifetime_seconds: 1799")],
        &[
            "p.yaml:11:3 /context/max_lifetime_seconds: a context would end after 1799 seconds, before its ttl_seconds of 1800 is over. Write a value that is not below context.ttl_seconds, or leave it out.",
        ],
    ),
    (
        &[("confirmation:\n  ttl_seconds: 300", "confirmation:\n  ttl_seconds: 601")],
        &[
            "p.yaml:16:3 /confirmation/ttl_seconds: a confirmation window of 601 seconds is above 600, and no reason is recorded. Write 600 or less, or say why in confirmation.long_ttl_reason.",
        ],
    ),
    (
        &[("  ttl_seconds: 300\n  long_ttl_reason: null", "  ttl_seconds: 601\n  long_ttl_reason: ' '")],
        &[
            "p.yaml:16:3 /confirmation/ttl_seconds: a confirmation window of 601 seconds is above 600, and no reason is recorded. Write 600 or less, or say why in confirmation.long_ttl_reason.",
        ],
    ),
    (
        &[
            ("message_days: 30", "message_days: 8"),
            ("  ttl_seconds: 1800\n  max_lifetime_seconds: 86400", "  ttl_seconds: 864000"),
        ],
        &[
            "p.yaml:75:3 /retention/message_days: readings would go after 8 days, while a context can still wait for 10. Write at least as many days as context.ttl_seconds covers.",
        ],
    ),
];

#[test]
fn meaning_of_the_state_layer() {
    check(MEANING_OF_THE_STATE_LAYER);
}

const LAST: &str = "  time_sensitive_keys: []";

const MEANING_OF_THE_STATE_LAYER: &[Row] = &[
    (&[(LAST, "  time_sensitive_keys: []\n  time_zone: America/Sao_Paulo")], &[]),
    (
        &[(LAST, "  time_sensitive_keys: []\n  time_zone: America/Nowhere")],
        &[
            "p.yaml:86:3 /state_layer/time_zone: there is no time zone of this name. Write the IANA name of one, such as America/Sao_Paulo or UTC.",
        ],
    ),
    (
        &[(
            LAST,
            "  time_sensitive_keys: []\n  access_callbacks: { hr: { url: 'https://access.example/ask?of=hr', timeout_milliseconds: 500 } }",
        )],
        &[],
    ),
    (
        &[(LAST, "  time_sensitive_keys: []\n  access_callbacks: { hr: { url: 'ftp://access.example' } }")],
        &[
            "p.yaml:86:29 /state_layer/access_callbacks/hr/url: the address of `hr` does not begin with http:// or https://. Write an http or https address such as https://access.example/ask, without a user or a password.",
        ],
    ),
    (
        &[(
            LAST,
            "  time_sensitive_keys: []\n  access_callbacks: { hr: { url: 'https://me:secret@access.example/' } }",
        )],
        &[
            "p.yaml:86:29 /state_layer/access_callbacks/hr/url: the address of `hr` holds a user or a password, which everybody who reads the pack would see. Write an http or https address such as https://access.example/ask, without a user or a password.",
        ],
    ),
    (
        &[(LAST, "  time_sensitive_keys: []\n  access_callbacks: { hr: { url: 'http:///ask' } }")],
        &[
            "p.yaml:86:29 /state_layer/access_callbacks/hr/url: the address of `hr` names no host. Write an http or https address such as https://access.example/ask, without a user or a password.",
        ],
    ),
    (
        &[(LAST, "  time_sensitive_keys: []\n  access_callbacks: { hr: { url: 'https://access.example/a b' } }")],
        &[
            "p.yaml:86:29 /state_layer/access_callbacks/hr/url: the address of `hr` holds characters that an address cannot hold. Write an http or https address such as https://access.example/ask, without a user or a password.",
        ],
    ),
    (
        &[(
            LAST,
            "  time_sensitive_keys: []\n  access_callbacks: { hr: { url: 'https://a.example', timeout_milliseconds: 10001 } }",
        )],
        &[
            "p.yaml:86:55 /state_layer/access_callbacks/hr/timeout_milliseconds: 10001 is greater than the maximum of 10000. Write whole milliseconds, 1 to 10000; 1000 if left out. No answer in time is a no.",
        ],
    ),
];

#[test]
fn meaning_of_demands() {
    check(MEANING_OF_DEMANDS);
}

const MEANING_OF_DEMANDS: &[Row] = &[
    (
        &[(S2, "  S2: { confirmation: required, bare_answers: true, approval: none }")],
        &[
            r#"p.yaml:27:33 /classes/S2/bare_answers: a bare "yes" would be enough for a command of class S2. Write false: these commands are confirmed by button or by quoting the question."#,
        ],
    ),
    (
        &[(S3, "  S3: { confirmation: required, bare_answers: true, approval: none }")],
        &[
            r#"p.yaml:28:33 /classes/S3/bare_answers: a bare "yes" would be enough for a command of class S3. Write false: these commands are confirmed by button or by quoting the question."#,
            r#"p.yaml:28:33 /classes/S3/bare_answers: S3 accepts a bare "yes", so it would be weaker than S2. Write false."#,
        ],
    ),
    (
        &[(S2, "  S2: { confirmation: none, bare_answers: false, approval: none }")],
        &[
            "p.yaml:27:9 /classes/S2/confirmation: S2 asks for no confirmation, so it would be weaker than S1. Write required.",
        ],
    ),
    (
        &[(
            S1,
            "  S1: { confirmation: none, bare_answers: false, approval: { role: a, required: 2, separate_person: true } }",
        )],
        &[
            "p.yaml:27:54 /classes/S2/approval: S2 asks for no approval, so it would be weaker than S1. Ask for at least what the class below asks for, or ask less there.",
        ],
    ),
    (
        &[(S3, "  S3: { confirmation: none, bare_answers: false, approval: none }")],
        &[
            "p.yaml:28:9 /classes/S3/confirmation: S3 asks for no confirmation, so it would be weaker than S2. Write required.",
            "p.yaml:28:3 /classes/S3: class S3 asks nobody, and it is also the class of every command that no pack lists. Write `confirmation: required`, or an approval rule.",
        ],
    ),
    (
        &[(CANCEL, "{ name: order.cancel, group: orders, class: S2 }\n  - { name: order.cancel, class: S3 }")],
        &["p.yaml:35:7 /commands/3/name: `order.cancel` is already listed as /commands/2. Keep one of the two."],
    ),
    (
        &[(CANCEL, "{ name: order.cancel, class: S2, immaterial_fields: [note, payee.name, payee] }")],
        &[
            "p.yaml:34:64 /commands/2/immaterial_fields/1: `payee.name` lies in `payee`, which may change as a whole already. Keep the one that is meant.",
        ],
    ),
    (
        &[(CANCEL, "{ name: order.cancel, class: S2, confirmation: none }")],
        &[
            "p.yaml:34:38 /commands/2/confirmation: `order.cancel` would need no confirmation although class S2 does. Leave it out: a command may ask for more than its class, never for less.",
        ],
    ),
    (
        &[(CANCEL, "{ name: order.cancel, class: S2, bare_answers: true }")],
        &[
            r#"p.yaml:34:38 /commands/2/bare_answers: `order.cancel` would accept a bare "yes" although class S2 does not. Leave it out: a command may ask for more than its class, never for less."#,
        ],
    ),
    (
        &[(CANCEL, "{ name: order.cancel, class: S2, confirmation_ttl_seconds: 301 }")],
        &[
            "p.yaml:34:38 /commands/2/confirmation_ttl_seconds: `order.cancel` would have a window of 301 seconds, longer than the 300 of the pack. Write a shorter one, or leave it out.",
        ],
    ),
    (
        &[
            (
                S2,
                "  S2: { confirmation: required, bare_answers: false, approval: { role: approver, required: 2, separate_person: true } }",
            ),
            (
                S3,
                "  S3: { confirmation: required, bare_answers: false, approval: { role: boss, required: 1, separate_person: true } }",
            ),
        ],
        &[
            "p.yaml:28:54 /classes/S3/approval: S3 asks for fewer approvers, so it would be weaker than S2. Ask for at least what the class below asks for, or ask less there.",
        ],
    ),
    (
        &[
            (
                S2,
                "  S2: { confirmation: required, bare_answers: false, approval: { role: approver, required: 1, separate_person: true } }",
            ),
            (
                S3,
                "  S3: { confirmation: required, bare_answers: false, approval: { role: approver, required: 1, separate_person: false } }",
            ),
        ],
        &[
            "p.yaml:28:54 /classes/S3/approval: S3 lets the requester approve, so it would be weaker than S2. Ask for at least what the class below asks for, or ask less there.",
        ],
    ),
    (
        &[
            (
                S2,
                "  S2: { confirmation: required, bare_answers: false, approval: { role: approver, required: 2, separate_person: true } }",
            ),
            (
                S3,
                "  S3: { confirmation: required, bare_answers: false, approval: { role: approver, required: 2, separate_person: true } }",
            ),
            (CANCEL, "{ name: order.cancel, group: orders, class: S2, approval: { role: boss, required: 1 } }"),
        ],
        &[
            "p.yaml:34:53 /commands/2/approval: `order.cancel` asks for fewer approvers, which is less than class S2 demands. Ask for at least as many approvers as the class, and keep its separate_person.",
        ],
    ),
    (
        &[
            (
                S2,
                "  S2: { confirmation: required, bare_answers: false, approval: { role: approver, required: 1, separate_person: true } }",
            ),
            (
                S3,
                "  S3: { confirmation: required, bare_answers: false, approval: { role: approver, required: 2, separate_person: true } }",
            ),
            (
                CANCEL,
                "{ name: order.cancel, group: orders, class: S2, approval: { role: boss, required: 1, separate_person: false } }",
            ),
        ],
        &[
            "p.yaml:34:53 /commands/2/approval: `order.cancel` lets the requester approve, which is less than class S2 demands. Ask for at least as many approvers as the class, and keep its separate_person.",
        ],
    ),
];

#[test]
fn meaning_of_slots_and_answers() {
    check(MEANING_OF_SLOTS_AND_ANSWERS);
}

const MEANING_OF_SLOTS_AND_ANSWERS: &[Row] = &[
    (
        &[("    active_target: stored", "    active_target: derived")],
        &[
            "p.yaml:48:5 /slots/storage/active_target: `active_target` cannot be derived: nothing but the slot itself says what it holds. Write stored, digest or refuse. Only pending_confirmation, pending_approval, x_pending_disambiguation, last_result can be derived.",
        ],
    ),
    (
        &[("    default_extension: stored", "    default_extension: derived")],
        &[
            "p.yaml:54:5 /slots/storage/default_extension: `default_extension` cannot be derived: nothing but the slot itself says what it holds. Write stored, digest or refuse. Only pending_confirmation, pending_approval, x_pending_disambiguation, last_result can be derived.",
        ],
    ),
    (
        &[("    last_result: stored", "    last_result: digest")],
        &[
            "p.yaml:52:5 /slots/storage/last_result: `last_result` is filled by the server, which could not work without its value. Write stored or derived.",
        ],
    ),
    (
        &[("    pending_approval: stored", "    pending_approval: refuse")],
        &[
            "p.yaml:50:5 /slots/storage/pending_approval: `pending_approval` is filled by the server, which could not work without its value. Write stored or derived.",
        ],
    ),
    (
        &[("    work_item_id: stored", "    work_item: stored")],
        &[
            "p.yaml:53:5 /slots/storage/work_item: there is no slot `work_item`. Use one of active_intent, active_target, work_item_id, default_extension, or a name of your own that starts with `x_` (a-z, 0-9 and _, at most 63 in all).",
        ],
    ),
    (
        &[("    work_item_id: stored", "    x_: stored")],
        &[
            "p.yaml:53:5 /slots/storage/x_: there is no slot `x_`. Use one of active_intent, active_target, work_item_id, default_extension, or a name of your own that starts with `x_` (a-z, 0-9 and _, at most 63 in all).",
        ],
    ),
    (
        &[("    work_item_id: { type: string, max_bytes: 128 }", "    last_result: { type: string, max_bytes: 128 }")],
        &[
            "p.yaml:58:5 /slots/shapes/last_result: `last_result` is filled by the server, so a shape for it would check nothing. Remove it.",
        ],
    ),
    (
        &[("    work_item_id: { type: string, max_bytes: 128 }", "    cart/1: { type: string, max_bytes: 128 }")],
        &[
            "p.yaml:58:5 /slots/shapes/cart~11: there is no slot `cart/1`. Use one of active_intent, active_target, work_item_id, or a name of your own that starts with `x_` (a-z, 0-9 and _, at most 63 in all).",
        ],
    ),
    (
        &[("active_target: { type: any, max_bytes: 512 }", "active_target: { type: any, max_bytes: 512, pattern: a }")],
        &[
            "p.yaml:57:49 /slots/shapes/active_target/pattern: a pattern says something about strings only. Write `type: string`, or remove the pattern.",
        ],
    ),
    (
        &[("  extensions: hide", "  pending_approval: none")],
        &[
            "p.yaml:65:3 /redaction/pending_approval: `pending_approval` is never shown: operators see that it exists and when it ends. Remove it.",
        ],
    ),
    (
        &[("  extensions: hide", "  carts: hide")],
        &[
            "p.yaml:65:3 /redaction/carts: there is no slot `carts`. Use one of active_intent, active_target, work_item_id, extensions, or a name of your own that starts with `x_` (a-z, 0-9 and _, at most 63 in all).",
        ],
    ),
];

#[test]
fn neighbours_that_load() {
    check(NEIGHBOURS_THAT_LOAD);
}

const NEIGHBOURS_THAT_LOAD: &[Row] = &[
    (&[("confirmation:\n  ttl_seconds: 300", "confirmation:\n  ttl_seconds: 600")], &[]),
    (
        &[(
            "  ttl_seconds: 300\n  long_ttl_reason: null",
            "  ttl_seconds: 601\n  long_ttl_reason: branch offices answer by post",
        )],
        &[],
    ),
    (&[("max_lifetime_seconds: 86400", "max_lifetime_seconds: 1800")], &[]),
    (&[("message_days: 30", "message_days: 8")], &[]),
    (&[("    active_target: stored", "    active_target: digest")], &[]),
    (&[("    pending_approval: stored", "    pending_approval: derived")], &[]),
    (&[("    default_extension: stored", "    default_extension: refuse\n    x_cart: digest")], &[]),
    (&[("  extensions: hide", "  extensions: hide\n  x_cart: mask")], &[]),
    (&[(CANCEL, "{ name: order.cancel, class: S2, immaterial_fields: [note, payee_name, payee.nickname] }")], &[]),
    (&[("execution:\n  report_within_seconds: 300\n", "")], &[]),
    (&[("report_within_seconds: 300", "report_within_seconds: 10")], &[]),
    (&[("report_within_seconds: 300", "report_within_seconds: 86400")], &[]),
    (
        &[
            (
                S2,
                "  S2: { confirmation: required, bare_answers: false, approval: { role: approver, required: 1, separate_person: true } }",
            ),
            (
                S3,
                "  S3: { confirmation: required, bare_answers: false, approval: { role: boss, required: 1, separate_person: true } }",
            ),
            (
                CANCEL,
                "{ name: order.cancel, group: orders, class: S2, approval: { role: boss, required: 1 }, confirmation_ttl_seconds: 60 }",
            ),
        ],
        &[],
    ),
    (&[(S3, "  S3: { confirmation: required, bare_answers: false, approval: { role: approver, required: 10 } }")], &[]),
];
