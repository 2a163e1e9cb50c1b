//! Lies about binding and executing.

use serde_json::{Value, json};

use super::proxy::{Act, HONEST, Heard, Lie, Memory, Reply, text};

/// What a server that owns executions says in its description.
const EXECUTION: &str = "/v1/commands/{command_id}/takeovers";

pub(super) const LIES: &[Lie] = &[
    Lie { name: "a second attempt is told to execute", rule: "bound_once", after: second_attempt, ..HONEST },
    Lie { name: "a second attempt executes", rule: "executed_once", after: second_attempt, ..HONEST },
    Lie { name: "one yes for two commands", rule: "spent_once", after: one_yes, ..HONEST },
    Lie { name: "one key for two commands", rule: "key_bound_once", after: one_key, ..HONEST },
    Lie {
        name: "one attempt for two commands",
        rule: "attempt_of_one_command",
        promises: "attempt_id_reused",
        after: one_attempt,
        ..HONEST
    },
    Lie { name: "another target is asked about", rule: "bound_as_agreed", before: other_target, ..HONEST },
    Lie { name: "another target is bound", rule: "bound_as_agreed", after: bound_elsewhere, ..HONEST },
    Lie { name: "bound without a yes", rule: "bound_after_a_yes", before: any_yes, after: no_yes, ..HONEST },
    Lie { name: "bound too late", rule: "bound_in_time", after: bound_late, ..HONEST },
    Lie {
        name: "told to execute after a result",
        rule: "not_executed_after_result",
        promises: EXECUTION,
        after: again_after_result,
        ..HONEST
    },
    Lie {
        name: "taken over too early",
        rule: "not_taken_over_early",
        promises: EXECUTION,
        before: early,
        after: executing,
        ..HONEST
    },
    Lie {
        name: "one owner is replaced twice",
        rule: "replaced_once",
        promises: EXECUTION,
        before: early,
        after: executing,
        ..HONEST
    },
    Lie {
        name: "a reported command is listed as executing",
        rule: "listed_until_reported",
        promises: EXECUTION,
        before: listed,
        after: executing,
        ..HONEST
    },
    Lie {
        name: "an unreported command is not listed",
        rule: "listed_until_reported",
        promises: EXECUTION,
        before: not_listed,
        after: executing,
        ..HONEST
    },
];

fn binds(heard: &Heard) -> bool {
    heard.posts("/commands") && heard.path.starts_with("/v1/contexts/")
}

/// Remembers what was bound and asked, by command.
fn keep(heard: &Heard, reply: &Reply, memory: &mut Memory) {
    if binds(heard) && reply.status == 201 {
        memory.known.insert(format!("bound {}", heard.text("/command_id")), reply.body.clone());
    }
    if heard.posts("/confirmations") && reply.status == 201 {
        memory.known.insert(format!("asked {}", heard.text("/command/command_id")), reply.body.clone());
        memory.known.entry("any".to_owned()).or_insert(reply.body.clone());
    }
}

/// A binding that never was: like another one, or made up, in the name of the attempt that asked for it.
fn bound(heard: &Heard, like: Option<&Value>, confirmation: &str) -> Reply {
    let made_up = json!({
        "bound_at": "2020-01-01T00:00:00Z", "context_ref": {"context_id": heard.part(3)}, "results": [],
        "confirmation_id": confirmation,
    });
    let mut body = like.cloned().unwrap_or(made_up);
    for (member, pointer) in [
        ("attempt_id", "/attempt_id"),
        ("command_id", "/command_id"),
        ("command_name", "/name"),
        ("idempotency_key", "/idempotency_key"),
    ] {
        body[member] = json!(heard.text(pointer));
    }
    body["execute"] = json!(true);
    Reply { status: 201, body }
}

fn second_attempt(heard: &Heard, reply: Reply, memory: &mut Memory) -> Reply {
    keep(heard, &reply, memory);
    let before = memory.known.get(&format!("bound {}", heard.text("/command_id"))).cloned();
    match before.filter(|_| binds(heard) && reply.body["code"] == "already_bound") {
        Some(before) => memory.lies(bound(heard, Some(&before), "")),
        None => reply,
    }
}

fn one_yes(heard: &Heard, mut reply: Reply, memory: &mut Memory) -> Reply {
    if binds(heard) && reply.status == 201 && reply.body.get("confirmation_id").is_some() {
        let first = memory.known.entry("yes".to_owned()).or_insert(reply.body["confirmation_id"].clone()).clone();
        if first != reply.body["confirmation_id"] {
            reply.body["confirmation_id"] = first;
            return memory.lies(reply);
        }
    }
    reply
}

fn one_key(heard: &Heard, reply: Reply, memory: &mut Memory) -> Reply {
    let refused = ["command_conflict", "idempotency_key_bound"];
    if binds(heard) && refused.iter().any(|code| reply.body["code"] == *code) {
        memory.lies(bound(heard, None, ""))
    } else {
        reply
    }
}

fn one_attempt(heard: &Heard, reply: Reply, memory: &mut Memory) -> Reply {
    if binds(heard) && reply.body["code"] == "attempt_id_reused" { memory.lies(bound(heard, None, "")) } else { reply }
}

fn other_target(heard: &Heard, memory: &mut Memory) -> Act {
    if !heard.posts("/confirmations") {
        return Act::Pass;
    }
    memory.lies += 1;
    let changed = heard.body.to_string().replace("_id\":\"a", "_id\":\"b").replace("_id\":\"o", "_id\":\"q");
    Act::Change(serde_json::from_str(&changed).unwrap())
}

fn bound_elsewhere(heard: &Heard, reply: Reply, memory: &mut Memory) -> Reply {
    keep(heard, &reply, memory);
    let asked = memory.known.get(&format!("asked {}", heard.text("/command_id"))).cloned();
    match asked.filter(|_| binds(heard) && reply.body["code"] == "target_mismatch") {
        Some(asked) => memory.lies(bound(heard, None, &text(&asked, "/confirmation_id"))),
        None => reply,
    }
}

/// Who has said anything that may be a yes.
fn any_yes(heard: &Heard, memory: &mut Memory) -> Act {
    if heard.posts("/messages") {
        memory.heard.insert(format!("spoke {} {}", heard.text("/conversation_id"), heard.text("/actor_id")));
    }
    Act::Pass
}

fn no_yes(heard: &Heard, reply: Reply, memory: &mut Memory) -> Reply {
    keep(heard, &reply, memory);
    // Of the questions: whose they are. Of the contexts: who is in them.
    let context = &reply.body["context"];
    if context.is_object() {
        let (conversation, actor) = (text(context, "/conversation_id"), text(context, "/actor_id"));
        let yes =
            heard.text("/button_id").starts_with("cscp1.y.") || reply.body["verdict"]["reason"] != "ordinary_message";
        let place = text(context, "/context_id");
        if yes {
            memory.heard.insert(format!("yes {place}"));
        }
        memory.known.insert(place, json!(format!("{conversation} {actor}")));
    }
    let asked = memory.known.get(&format!("asked {}", heard.text("/command_id"))).cloned();
    let Some(asked) = asked.filter(|_| binds(heard) && reply.body["code"] == "confirmation_required") else {
        return reply;
    };
    memory.lies(bound(heard, None, &text(&asked, "/confirmation_id")))
}

fn bound_late(heard: &Heard, mut reply: Reply, memory: &mut Memory) -> Reply {
    if binds(heard) && reply.body.get("bound_at").is_some() {
        reply.body["bound_at"] = json!("2099-01-01T00:00:00Z");
        return memory.lies(reply);
    }
    reply
}

/// Answers as a server gives them that owns executions, for one that does not yet.
fn executing(heard: &Heard, mut reply: Reply, memory: &mut Memory) -> Reply {
    if heard.posts("/results") && reply.status == 201 {
        memory.heard.insert(format!("reported {}", heard.part(3)));
        memory.known.insert("reported".to_owned(), reply.body["command"].clone());
    }
    if binds(heard) && matches!(reply.status, 200 | 201) && reply.body.get("execution").is_none() {
        let reported = memory.heard.contains(&format!("reported {}", heard.text("/command_id")));
        reply.body["execute"] = json!(!reported);
        reply.body["execution"] = json!({
            "state": if reported { "reported" } else { "executing" }, "attempt_id": reply.body["attempt_id"],
            "report_by": "2099-01-01T00:00:00Z", "replaced_attempt_ids": [],
        });
    }
    reply
}

fn again_after_result(heard: &Heard, reply: Reply, memory: &mut Memory) -> Reply {
    let mut reply = executing(heard, reply, memory);
    if binds(heard) && reply.body["execute"] == false {
        reply.body["execute"] = json!(true);
        return memory.lies(reply);
    }
    reply
}

fn early(heard: &Heard, memory: &mut Memory) -> Act {
    if !heard.posts("/takeovers") {
        return Act::Pass;
    }
    let attempt = heard.text("/attempt_id");
    let execution = json!({
        "state": "executing", "attempt_id": attempt, "report_by": "2099-01-01T00:00:00Z",
        "replaced_attempt_ids": [heard.text("/replaces_attempt_id")],
    });
    let body = json!({
        "command_id": heard.part(3), "attempt_id": attempt, "execute": true, "execution": execution, "results": [],
    });
    Act::Say(memory.lies(Reply { status: 201, body }))
}

fn listed(heard: &Heard, memory: &mut Memory) -> Act {
    let reported = memory.known.get("reported").cloned();
    match reported.filter(|_| heard.path == "/v1/commands/query") {
        Some(command) => {
            Act::Say(memory.lies(Reply { status: 200, body: json!({"items": [command], "next_cursor": null}) }))
        }
        None => Act::Pass,
    }
}

fn not_listed(heard: &Heard, memory: &mut Memory) -> Act {
    if heard.path != "/v1/commands/query" {
        return Act::Pass;
    }
    Act::Say(memory.lies(Reply { status: 200, body: json!({"commands": [], "next_cursor": null}) }))
}
