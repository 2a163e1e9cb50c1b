//! What a pack may not say, beyond its form. Each rule has a complaint of its own.

use std::collections::HashMap;

use super::context::{ConfirmationTimes, ContextRules, StateLayerRules};
use super::immaterial::lies_in;
use super::pack::{ClassRules, CommandEntry, Confirmation};
use super::slots::{
    CALLER_SLOTS, DEFAULT_EXTENSION, SERVER_SLOTS, ShapeType, SlotRules, SlotStorage, is_extension, is_writable,
};
use super::viewing::{EXTENSIONS, RedactionRules};
use super::{ApprovalRule, PolicyError, PolicyPack, SafetyClass};
use crate::domain::lexicon::{is_plain, normalise};
use crate::domain::time::Zone;

/// Longest confirmation window without a recorded reason, in seconds.
const PLAIN_CONFIRMATION_CEILING_SECONDS: u32 = 600;

/// Every complaint about this pack taken alone, in the order of the document.
pub(super) fn validate(pack: &PolicyPack) -> Vec<PolicyError> {
    let mut errors = Vec::new();
    context(&pack.context, &mut errors);
    confirmation(&pack.confirmation, &mut errors);
    classes(pack, &mut errors);
    commands(pack, &mut errors);
    slots(&pack.slots, &mut errors);
    redaction(&pack.redaction, &mut errors);
    retention(pack, &mut errors);
    state_layer(&pack.state_layer, &mut errors);
    errors
}

fn context(rules: &ContextRules, errors: &mut Vec<PolicyError>) {
    if let Some(limit) = rules.max_lifetime_seconds
        && limit < rules.ttl_seconds
    {
        errors.push(PolicyError::at(
            "/context/max_lifetime_seconds",
            format!(
                "a context would end after {limit} seconds, before its ttl_seconds of {} is over",
                rules.ttl_seconds
            ),
            "Write a value that is not below context.ttl_seconds, or leave it out.",
        ));
    }
}

fn confirmation(rules: &ConfirmationTimes, errors: &mut Vec<PolicyError>) {
    let explained = rules.long_ttl_reason.as_ref().is_some_and(|reason| !reason.trim().is_empty());
    if rules.ttl_seconds > PLAIN_CONFIRMATION_CEILING_SECONDS && !explained {
        errors.push(PolicyError::at(
            "/confirmation/ttl_seconds",
            format!(
                "a confirmation window of {} seconds is above {PLAIN_CONFIRMATION_CEILING_SECONDS}, and no reason is recorded",
                rules.ttl_seconds
            ),
            format!(
                "Write {PLAIN_CONFIRMATION_CEILING_SECONDS} or less, or say why in confirmation.long_ttl_reason."
            ),
        ));
    }
}

fn classes(pack: &PolicyPack, errors: &mut Vec<PolicyError>) {
    for class in [SafetyClass::S2, SafetyClass::S3] {
        if pack.classes.of(class).bare_answers {
            errors.push(PolicyError::at(
                format!("/classes/{class}/bare_answers"),
                format!("a bare \"yes\" would be enough for a command of class {class}"),
                "Write false: these commands are confirmed by button or by quoting the question.",
            ));
        }
    }
    for pair in SafetyClass::ALL.windows(2) {
        if let [below, above] = *pair {
            weaker_than_below(pack, below, above, errors);
        }
    }
    let strictest = pack.classes.of(SafetyClass::STRICTEST);
    if strictest.confirmation == Confirmation::None && strictest.approval.is_none() {
        errors.push(PolicyError::at(
            "/classes/S3",
            "class S3 asks nobody, and it is also the class of every command that no pack lists",
            "Write `confirmation: required`, or an approval rule.",
        ));
    }
}

fn weaker_than_below(pack: &PolicyPack, below: SafetyClass, above: SafetyClass, errors: &mut Vec<PolicyError>) {
    let (milder, stricter) = (pack.classes.of(below), pack.classes.of(above));
    let mut weaker = |member: &str, what: &str, instead: &str| {
        errors.push(PolicyError::at(
            format!("/classes/{above}/{member}"),
            format!("{above} {what}, so it would be weaker than {below}"),
            instead,
        ));
    };
    if stricter.confirmation < milder.confirmation {
        weaker("confirmation", "asks for no confirmation", "Write required.");
    }
    if stricter.bare_answers && !milder.bare_answers {
        weaker("bare_answers", "accepts a bare \"yes\"", "Write false.");
    }
    if let Some(problem) = weaker_approval(stricter.approval.as_ref(), milder.approval.as_ref()) {
        weaker("approval", problem, "Ask for at least what the class below asks for, or ask less there.");
    }
}

/// What makes the first approval weaker than the second. Roles are not compared: they have no order.
fn weaker_approval(one: Option<&ApprovalRule>, than: Option<&ApprovalRule>) -> Option<&'static str> {
    match (one, than) {
        (None, Some(_)) => Some("asks for no approval"),
        (Some(one), Some(than)) if one.required < than.required => Some("asks for fewer approvers"),
        (Some(one), Some(than)) if than.separate_person && !one.separate_person => Some("lets the requester approve"),
        _ => None,
    }
}

fn commands(pack: &PolicyPack, errors: &mut Vec<PolicyError>) {
    let mut seen: HashMap<&str, usize> = HashMap::new();
    for (at, entry) in pack.commands.iter().enumerate() {
        if let Some(first) = seen.insert(&entry.name, at) {
            errors.push(PolicyError::at(
                format!("/commands/{at}/name"),
                format!("`{}` is already listed as /commands/{first}", entry.name),
                "Keep one of the two.",
            ));
        }
        command(at, entry, pack, errors);
    }
}

fn command(at: usize, entry: &CommandEntry, pack: &PolicyPack, errors: &mut Vec<PolicyError>) {
    let class: &ClassRules = pack.classes.of(entry.class);
    let name = &entry.name;
    let mut complain = |member: &str, problem: String, instead: &str| {
        errors.push(PolicyError::at(format!("/commands/{at}/{member}"), problem, instead));
    };
    for (n, path) in entry.immaterial_fields.iter().enumerate() {
        if let Some(wider) = entry.immaterial_fields.iter().find(|other| *other != path && lies_in(path, other)) {
            complain(
                &format!("immaterial_fields/{n}"),
                format!("`{path}` lies in `{wider}`, which may change as a whole already"),
                "Keep the one that is meant.",
            );
        }
    }
    for (locale, words) in &entry.says {
        for (n, word) in words.iter().enumerate() {
            if normalise(word).is_empty() || !is_plain(word) {
                complain(
                    &format!("says/{locale}/{n}"),
                    format!("{word:?} has no word, asks, trails off or has a hidden character"),
                    "Write the words as people say them, such as `cancel` or `cancel it`.",
                );
            }
        }
    }
    if entry.confirmation == Some(Confirmation::None) && class.confirmation == Confirmation::Required {
        complain(
            "confirmation",
            format!("`{name}` would need no confirmation although class {} does", entry.class),
            "Leave it out: a command may ask for more than its class, never for less.",
        );
    }
    if entry.bare_answers == Some(true) && !class.bare_answers {
        complain(
            "bare_answers",
            format!("`{name}` would accept a bare \"yes\" although class {} does not", entry.class),
            "Leave it out: a command may ask for more than its class, never for less.",
        );
    }
    if let Some(own) = &entry.approval
        && let Some(problem) = weaker_approval(Some(own), class.approval.as_ref())
    {
        complain(
            "approval",
            format!("`{name}` {problem}, which is less than class {} demands", entry.class),
            "Ask for at least as many approvers as the class, and keep its separate_person.",
        );
    }
    if let Some(own) = entry.confirmation_ttl_seconds
        && own > pack.confirmation.ttl_seconds
    {
        complain(
            "confirmation_ttl_seconds",
            format!(
                "`{name}` would have a window of {own} seconds, longer than the {} of the pack",
                pack.confirmation.ttl_seconds
            ),
            "Write a shorter one, or leave it out.",
        );
    }
}

fn slots(rules: &SlotRules, errors: &mut Vec<PolicyError>) {
    for (slot, storage) in &rules.storage {
        let pointer = format!("/slots/storage/{}", escape(slot));
        let server = SERVER_SLOTS.contains(&slot.as_str());
        if !server && slot != DEFAULT_EXTENSION && !is_writable(slot) {
            errors.push(unknown_slot(pointer, slot, DEFAULT_EXTENSION));
        } else if *storage == SlotStorage::Derived && !server {
            errors.push(PolicyError::at(
                pointer,
                format!("`{slot}` cannot be derived: nothing but the slot itself says what it holds"),
                format!("Write stored, digest or refuse. Only {} can be derived.", SERVER_SLOTS.join(", ")),
            ));
        } else if server && matches!(storage, SlotStorage::Digest | SlotStorage::Refuse) {
            errors.push(PolicyError::at(
                pointer,
                format!("`{slot}` is filled by the server, which could not work without its value"),
                "Write stored or derived.",
            ));
        }
    }
    for (slot, shape) in &rules.shapes {
        let pointer = format!("/slots/shapes/{}", escape(slot));
        if SERVER_SLOTS.contains(&slot.as_str()) {
            errors.push(PolicyError::at(
                pointer,
                format!("`{slot}` is filled by the server, so a shape for it would check nothing"),
                "Remove it.",
            ));
        } else if !is_writable(slot) {
            errors.push(unknown_slot(pointer, slot, ""));
        } else if shape.pattern.is_some() && shape.kind != ShapeType::String {
            errors.push(PolicyError::at(
                format!("{pointer}/pattern"),
                "a pattern says something about strings only",
                "Write `type: string`, or remove the pattern.",
            ));
        }
    }
}

fn redaction(rules: &RedactionRules, errors: &mut Vec<PolicyError>) {
    for slot in rules.0.keys() {
        let pointer = format!("/redaction/{}", escape(slot));
        if slot.starts_with("pending_") || slot == "x_pending_disambiguation" {
            errors.push(PolicyError::at(
                pointer,
                format!("`{slot}` is never shown: operators see that it exists and when it ends"),
                "Remove it.",
            ));
        } else if slot != EXTENSIONS && slot != "last_result" && !is_writable(slot) {
            errors.push(unknown_slot(pointer, slot, EXTENSIONS));
        }
    }
}

fn unknown_slot(pointer: String, slot: &str, fallback: &str) -> PolicyError {
    let mut names = CALLER_SLOTS.to_vec();
    if !fallback.is_empty() {
        names.push(fallback);
    }
    debug_assert!(!is_extension(slot), "extension slots are known");
    PolicyError::at(
        pointer,
        format!("there is no slot `{slot}`"),
        format!(
            "Use one of {}, or a name of your own that starts with `x_` (a-z, 0-9 and _, at most 63 in all).",
            names.join(", ")
        ),
    )
}

fn retention(pack: &PolicyPack, errors: &mut Vec<PolicyError>) {
    let rules = &pack.retention;
    let longest_wait_days = pack.context.ttl_seconds.div_ceil(86_400);
    if rules.message_days < longest_wait_days {
        errors.push(PolicyError::at(
            "/retention/message_days",
            format!(
                "readings would go after {} days, while a context can still wait for {longest_wait_days}",
                rules.message_days
            ),
            "Write at least as many days as context.ttl_seconds covers.",
        ));
    }
}

fn state_layer(rules: &StateLayerRules, errors: &mut Vec<PolicyError>) {
    if Zone::named(&rules.time_zone).is_none() {
        errors.push(PolicyError::at(
            "/state_layer/time_zone",
            "there is no time zone of this name",
            "Write the IANA name of one, such as America/Sao_Paulo or UTC.",
        ));
    }
    for (name, callback) in &rules.access_callbacks {
        if let Some(problem) = unusable_address(&callback.url) {
            // The address is not repeated: it may hold a password.
            errors.push(PolicyError::at(
                format!("/state_layer/access_callbacks/{}/url", escape(name)),
                format!("the address of `{name}` {problem}"),
                "Write an http or https address such as https://access.example/ask, without a user or a password.",
            ));
        }
    }
}

/// What keeps an address from being asked.
fn unusable_address(url: &str) -> Option<&'static str> {
    let Some(rest) = url.strip_prefix("https://").or_else(|| url.strip_prefix("http://")) else {
        return Some("does not begin with http:// or https://");
    };
    let host = rest.split(['/', '?']).next().unwrap_or_default();
    if host.contains('@') {
        return Some("holds a user or a password, which everybody who reads the pack would see");
    }
    if host.is_empty() || host.starts_with(':') {
        return Some("names no host");
    }
    let plain = url.bytes().all(|byte| byte.is_ascii_graphic() && !matches!(byte, b'#' | b'\\' | b'"' | b'<' | b'>'));
    (!plain).then_some("holds characters that an address cannot hold")
}

/// Escapes one member name for a JSON pointer (RFC 6901).
fn escape(name: &str) -> String {
    name.replace('~', "~0").replace('/', "~1")
}
