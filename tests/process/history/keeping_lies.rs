//! Lies about what is kept, repeated and refused.

use serde_json::{Value, json};

use super::proxy::{Act, HONEST, Heard, Lie, Memory, Reply};

pub(super) const LIES: &[Lie] = &[
    Lie { name: "a question that is not there", rule: "acknowledged_is_kept", before: no_question, ..HONEST },
    Lie {
        name: "a message that never arrived",
        rule: "acknowledged_is_kept",
        before: no_message,
        after: keep_context,
        ..HONEST
    },
    Lie {
        name: "a result that is dropped",
        rule: "acknowledged_is_kept",
        before: no_result,
        after: keep_command,
        ..HONEST
    },
    Lie { name: "another verdict for a repetition", rule: "same_again", after: other_verdict, ..HONEST },
    Lie { name: "a repetition that is called new", rule: "same_again", after: called_new, ..HONEST },
    Lie { name: "an outdated change is made", rule: "no_lost_update", after: outdated, ..HONEST },
    Lie { name: "a server error", rule: "no_server_error", after: fails, ..HONEST },
    Lie { name: "an answer that is no JSON", rule: "readable", after: no_json, ..HONEST },
];

fn no_question(heard: &Heard, memory: &mut Memory) -> Act {
    if !heard.posts("/confirmations") {
        return Act::Pass;
    }
    let number = memory.lies;
    let body = json!({
        "confirmation_id": format!("cnf_{number:032x}"), "kind": "confirmation", "state": "open",
        "context_id": heard.part(3), "button_ids": ["cscp1.y.x", "cscp1.n.x"],
        "command_id": heard.text("/command/command_id"), "command_name": heard.text("/command/name"),
        "idempotency_key": heard.text("/command/idempotency_key"),
    });
    Act::Say(memory.lies(Reply { status: 201, body }))
}

fn keep_context(heard: &Heard, reply: Reply, memory: &mut Memory) -> Reply {
    if heard.posts("/messages") && reply.body["context"].is_object() {
        let place = format!("{} {}", heard.text("/conversation_id"), heard.text("/actor_id"));
        memory.known.insert(place, reply.body["context"].clone());
    }
    reply
}

fn no_message(heard: &Heard, memory: &mut Memory) -> Act {
    let place = format!("{} {}", heard.text("/conversation_id"), heard.text("/actor_id"));
    let context =
        memory.known.get(&place).cloned().filter(|_| heard.posts("/messages") && heard.text("/kind") == "text");
    match context.filter(|_| memory.first(&heard.text("/message_id"))) {
        Some(context) => {
            let verdict = json!({"code": "not_an_answer", "reason": "ordinary_message", "next": "route"});
            let body = json!({"verdict": verdict, "context": context, "duplicate": false});
            Act::Say(memory.lies(Reply { status: 200, body }))
        }
        None => Act::Pass,
    }
}

fn keep_command(heard: &Heard, reply: Reply, memory: &mut Memory) -> Reply {
    if heard.posts("/commands") && reply.status == 201 {
        memory.known.insert(heard.text("/command_id"), reply.body.clone());
    }
    reply
}

fn no_result(heard: &Heard, memory: &mut Memory) -> Act {
    match memory.known.get(&heard.part(3)).cloned().filter(|_| heard.posts("/results")) {
        Some(command) => {
            Act::Say(memory.lies(Reply { status: 201, body: json!({"command": command, "context": null}) }))
        }
        None => Act::Pass,
    }
}

fn other_verdict(_: &Heard, mut reply: Reply, memory: &mut Memory) -> Reply {
    if reply.body["duplicate"] == true && reply.body["verdict"]["code"] != "not_an_answer" {
        reply.body["verdict"] = json!({"code": "not_an_answer", "reason": "ordinary_message", "next": "route"});
        return memory.lies(reply);
    }
    reply
}

fn called_new(_: &Heard, mut reply: Reply, memory: &mut Memory) -> Reply {
    if reply.body["duplicate"] == true {
        reply.body["duplicate"] = json!(false);
        return memory.lies(reply);
    }
    reply
}

fn outdated(heard: &Heard, reply: Reply, memory: &mut Memory) -> Reply {
    if heard.path.ends_with("/slots") && reply.status == 412 {
        memory.lies(Reply { status: 200, body: json!({"context_id": heard.part(3), "revision": 1}) })
    } else {
        reply
    }
}

fn fails(heard: &Heard, reply: Reply, memory: &mut Memory) -> Reply {
    if heard.posts("/results") && reply.status == 201 {
        memory.lies(Reply { status: 500, body: json!({"code": "internal", "status": 500}) })
    } else {
        reply
    }
}

fn no_json(heard: &Heard, reply: Reply, memory: &mut Memory) -> Reply {
    if heard.path.ends_with("/cancel") {
        memory.lies(Reply { status: reply.status, body: Value::String("<html>".to_owned()) })
    } else {
        reply
    }
}
