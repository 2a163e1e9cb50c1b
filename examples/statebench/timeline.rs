//! What a timeline says.

use serde_json::Value;

/// Every piece of input text before an event, one a line: what a phrase must stand in to be attainable.
pub fn said(timeline: &Value, upto: usize) -> String {
    let text = |value: &Value| value.as_str().map_or_else(|| value.to_string(), str::to_owned);
    let or_none = |value: &Value| value.as_str().unwrap_or("None").to_owned();
    let state = &timeline["initial_state"];
    let who = &state["identity_role"];
    let mut said = vec![format!(
        "User: {} Role: {} Department: {} Organization: {}",
        text(&who["user_name"]),
        text(&who["authority"]),
        or_none(&who["department"]),
        or_none(&who["organization"])
    )];
    for fact in list(&state["persistent_facts"]) {
        said.push(format!("{}: {}", text(&fact["key"]), text(&fact["value"])));
    }
    said.extend(list(&state["working_set"]).map(|item| text(&item["content"])));
    let environment = state["environment"].as_object().into_iter().flatten();
    said.extend(environment.map(|(key, value)| format!("{key}: {}", text(value))));
    for event in list(&timeline["events"]).take(upto) {
        if event["type"] == "conversation_turn" {
            said.push(format!("{}: {}", text(&event["speaker"]), text(&event["text"])));
        }
        said.extend(list(&event["writes"]).map(|write| format!("{}: {}", text(&write["key"]), text(&write["value"]))));
    }
    said.join("\n")
}

/// The members of a list; none of anything else.
pub fn list(value: &Value) -> impl Iterator<Item = &Value> {
    value.as_array().into_iter().flatten()
}
