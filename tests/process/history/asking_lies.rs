//! Lies about questions and their answers.

use serde_json::{Value, json};

use super::proxy::{Act, HONEST, Heard, Lie, Memory, Reply, text};

pub(super) const LIES: &[Lie] = &[
    Lie {
        name: "an old verdict for a new message",
        rule: "confirmed_once",
        before: old_verdict,
        after: keep,
        ..HONEST
    },
    Lie { name: "a late yes confirms", rule: "confirmed_in_time", round: 2_500, after: late_yes, ..HONEST },
    Lie { name: "a no is swallowed", rule: "taken_back", before: swallowed_no, after: keep, ..HONEST },
    Lie {
        name: "a deleted yes counts",
        rule: "every_no_counts",
        promises: "taken_back",
        before: deleted_yes,
        ..HONEST
    },
    Lie { name: "a spent question is shown as declined", rule: "one_end", after: two_ends, ..HONEST },
    Lie { name: "another person's yes counts", rule: "names_its_item", after: anybody, ..HONEST },
    Lie {
        name: "a bare yes answers an older question",
        rule: "bare_answers_the_last",
        round: 2_500,
        after: older_question,
        ..HONEST
    },
    Lie { name: "one message shows two questions", rule: "prompt_of_one_item", after: two_items, ..HONEST },
    Lie { name: "an approver counts twice", rule: "approver_counts_once", after: counts_twice, ..HONEST },
    Lie { name: "the requester approves", rule: "approver_is_another", after: own_approval, ..HONEST },
    Lie {
        name: "a bound command is asked about",
        rule: "asked_before_bound",
        promises: "command_bound",
        after: asked_bound,
        ..HONEST
    },
    Lie {
        name: "a bound key is asked for",
        rule: "key_asked_before_bound",
        promises: "idempotency_key_bound",
        after: asked_bound,
        ..HONEST
    },
    Lie {
        name: "a command is asked about in two places",
        rule: "asked_in_one_place",
        promises: "command_asked_elsewhere",
        after: asked_bound,
        ..HONEST
    },
];

const TAPPED_YES: &str = "cscp1.y.";
const TAPPED_NO: &str = "cscp1.n.";

/// Remembers questions by their buttons, what was confirmed, and one verdict that confirmed something.
pub(super) fn keep(heard: &Heard, reply: Reply, memory: &mut Memory) -> Reply {
    for button in reply.body["button_ids"].as_array().into_iter().flatten().filter_map(Value::as_str) {
        memory.known.insert(button.to_owned(), reply.body.clone());
    }
    if reply.body["verdict"]["code"] == "confirmed" {
        let item = text(&reply.body, "/verdict/confirmation/confirmation_id");
        memory.heard.insert(format!("confirmed {item}"));
        memory.known.entry(format!("turn {}", heard.text("/conversation_id"))).or_insert(reply.body.clone());
    }
    reply
}

fn old_verdict(heard: &Heard, memory: &mut Memory) -> Act {
    let turn = memory.known.get(&format!("turn {}", heard.text("/conversation_id"))).cloned();
    let yes = heard.text("/button_id").starts_with(TAPPED_YES);
    match turn.filter(|_| yes && heard.posts("/messages") && memory.first(&heard.text("/message_id"))) {
        Some(body) => Act::Say(memory.lies(Reply { status: 200, body })),
        None => Act::Pass,
    }
}

/// The verdict of a message is another one.
fn verdict(mut reply: Reply, code: &str, memory: &mut Memory) -> Reply {
    reply.body["verdict"]["code"] = json!(code);
    reply.body["verdict"]["reason"] = json!("nonce");
    memory.lies(reply)
}

fn told(reply: &Reply, code: &str, reasons: &[&str]) -> bool {
    let verdict = &reply.body["verdict"];
    verdict["code"] == code && reasons.iter().any(|reason| verdict["reason"] == *reason)
}

fn late_yes(_: &Heard, reply: Reply, memory: &mut Memory) -> Reply {
    let about_one = reply.body["verdict"].get("confirmation").is_some();
    if about_one && told(&reply, "expired", &["question_expired"]) {
        verdict(reply, "confirmed", memory)
    } else {
        reply
    }
}

fn swallowed_no(heard: &Heard, memory: &mut Memory) -> Act {
    let button = heard.text("/button_id");
    let asked = memory.known.get(&button).cloned().filter(|_| button.starts_with(TAPPED_NO));
    let Some(mut subject) = asked else { return Act::Pass };
    if !memory.heard.contains(&format!("confirmed {}", text(&subject, "/confirmation_id"))) {
        return Act::Pass;
    }
    subject["state"] = json!("declined");
    let verdict = json!({"code": "declined", "reason": "nonce", "next": "nothing", "confirmation": subject});
    let body = json!({"verdict": verdict, "context": null, "duplicate": false});
    Act::Say(memory.lies(Reply { status: 200, body }))
}

fn deleted_yes(heard: &Heard, memory: &mut Memory) -> Act {
    if !matches!(heard.text("/kind").as_str(), "revoke" | "edit") {
        return Act::Pass;
    }
    let verdict = json!({"code": "ignored", "reason": "revoke_recorded", "next": "nothing"});
    let again = !memory.first(&heard.text("/message_id"));
    let body = json!({"verdict": verdict, "context": null, "duplicate": again});
    Act::Say(memory.lies(Reply { status: 200, body }))
}

fn two_ends(heard: &Heard, mut reply: Reply, memory: &mut Memory) -> Reply {
    if heard.path.starts_with("/v1/confirmations/") && reply.body["state"] == "spent" {
        reply.body["state"] = json!("declined");
        return memory.lies(reply);
    }
    reply
}

fn anybody(_: &Heard, reply: Reply, memory: &mut Memory) -> Reply {
    if told(&reply, "ambiguous", &["other_actor", "other_conversation"]) {
        verdict(reply, "confirmed", memory)
    } else {
        reply
    }
}

fn older_question(_: &Heard, reply: Reply, memory: &mut Memory) -> Reply {
    if told(&reply, "ambiguous", &["other_question_since"]) { verdict(reply, "confirmed", memory) } else { reply }
}

fn two_items(heard: &Heard, reply: Reply, memory: &mut Memory) -> Reply {
    let attaches = heard.path.ends_with("/prompt-message");
    let first = memory.known.get(&heard.text("/message_id")).cloned();
    match (attaches, reply.status, first) {
        (true, 200, None) => drop(memory.known.insert(heard.text("/message_id"), reply.body.clone())),
        (true, 409, Some(body)) => return memory.lies(Reply { status: 200, body }),
        _ => {}
    }
    reply
}

fn counts_twice(_: &Heard, reply: Reply, memory: &mut Memory) -> Reply {
    let about_one = reply.body["verdict"].get("approval").is_some();
    if about_one && told(&reply, "already_decided", &["already_approved_by_this_person", "already_granted"]) {
        verdict(reply, "approved", memory)
    } else {
        reply
    }
}

fn own_approval(heard: &Heard, reply: Reply, memory: &mut Memory) -> Reply {
    let mut reply = keep(heard, reply, memory);
    // Strangers are not shown what they tapped on: the liar remembers it.
    let tapped = memory.known.get(&heard.text("/button_id")).cloned();
    match tapped.filter(|_| told(&reply, "ambiguous", &["not_entitled"])) {
        Some(approval) => {
            reply.body["verdict"]["approval"] = approval;
            verdict(reply, "approved", memory)
        }
        None => reply,
    }
}

/// Where a server refuses to ask, it is told that it was asked. A server that asks needs no lie.
fn asked_bound(heard: &Heard, reply: Reply, memory: &mut Memory) -> Reply {
    let refused = ["command_bound", "command_asked_elsewhere", "idempotency_key_bound"];
    if !heard.posts("/confirmations") || !refused.iter().any(|code| reply.body["code"] == *code) {
        return reply;
    }
    let number = memory.lies;
    let body = json!({
        "confirmation_id": format!("cnf_{number:032x}"), "kind": "confirmation", "state": "open",
        "context_id": heard.part(3), "button_ids": [], "command_id": heard.text("/command/command_id"),
        "command_name": heard.text("/command/name"), "idempotency_key": heard.text("/command/idempotency_key"),
    });
    memory.lies(Reply { status: 201, body })
}
