//! The routes by which something of a fact space is read or changed, one cell each, for the table in `readers`.

use serde_json::{Value, json};

use crate::spaces::at;

/// What stands in every place of a furnished space where a caller can write.
pub(crate) const MARK: &str = "MARKER-5b1f";

/// A space with something of everything.
pub(crate) struct Furnished {
    pub(crate) space: String,
    /// A fact that was replaced.
    pub(crate) old: String,
    /// The one that stands.
    pub(crate) new: String,
    /// A kept pack that shows it, made for ana.
    pub(crate) pack: String,
}

/// What is asked at one route.
pub(crate) type Asked = (String, Option<Value>);

/// One route.
pub(crate) struct Cell {
    /// Its method and its path in the document.
    pub(crate) operation: &'static str,
    /// Whether whoever may see the space finds the mark in its answer.
    pub(crate) shows: bool,
    /// When it is asked: reads, then changes, then reads again, then removals.
    pub(crate) when: When,
    /// What is asked.
    pub(crate) ask: fn(&Furnished) -> Vec<Asked>,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum When {
    Read,
    Change,
    Remove,
}

const fn cell(operation: &'static str, when: When, shows: bool, ask: fn(&Furnished) -> Vec<Asked>) -> Cell {
    Cell { operation, shows, when, ask }
}

fn of(it: &Furnished, rest: &str, body: Value) -> Vec<Asked> {
    vec![(at(&it.space, rest), if body.is_null() { None } else { Some(body) })]
}

pub(crate) const CELLS: &[Cell] = &[
    cell("GET /v1/fact-spaces/{fact_space}", When::Read, true, |it| of(it, "", Value::Null)),
    cell("GET /v1/fact-spaces/{fact_space}/facts", When::Read, true, |it| {
        [of(it, "/facts", Value::Null), of(it, "/facts?include_invalid=true", Value::Null)].concat()
    }),
    cell("GET /v1/fact-spaces/{fact_space}/facts/{fact_uid}", When::Read, true, |it| {
        let one = |uid: &str| of(it, &format!("/facts/{uid}"), Value::Null);
        [one(&it.old), one(&it.new)].concat()
    }),
    cell("GET /v1/fact-spaces/{fact_space}/facts/{fact_uid}/chain", When::Read, true, |it| {
        of(it, &format!("/facts/{}/chain", it.old), Value::Null)
    }),
    cell("GET /v1/fact-spaces/{fact_space}/current/{key}", When::Read, true, |it| {
        of(it, "/current/vault", Value::Null)
    }),
    cell("GET /v1/fact-spaces/{fact_space}/environment", When::Read, true, |it| of(it, "/environment", Value::Null)),
    cell("GET /v1/fact-spaces/{fact_space}/working-set", When::Read, true, |it| of(it, "/working-set", Value::Null)),
    cell("POST /v1/context-packs", When::Read, true, |it| {
        let pack = |space: &str, more: Value| {
            let mut body = json!({"fact_space": space, "query": "where is the vault?", "token_budget": 2000});
            body.as_object_mut().unwrap().extend(more.as_object().unwrap().clone());
            ("/v1/context-packs".to_owned(), Some(body))
        };
        vec![
            pack(&it.space, json!({})),
            pack(&it.space, json!({"viewer": {"user_id": "bea", "authority": "executive"}})),
            pack(&it.space, json!({"include_superseded": true, "save_frame": true})),
            pack("front", json!({"wider": [it.space]})),
            pack(&it.space, json!({"known_at": "2030-01-01T00:00:00Z"})),
        ]
    }),
    cell("GET /v1/context-packs/{context_pack_id}", When::Read, true, |it| {
        vec![(format!("/v1/context-packs/{}", it.pack), None)]
    }),
    cell("POST /v1/memories/query", When::Read, false, |_| {
        let asked = |body| ("/v1/memories/query".to_owned(), Some(body));
        vec![asked(json!({})), asked(json!({"user_id": "ana"})), asked(json!({"user_id": "bea"}))]
    }),
    cell("POST /v1/fact-spaces/{fact_space}/facts", When::Change, false, |it| {
        of(it, "/facts", json!({"key": "door", "value": "green", "depends_on": ["vault"]}))
    }),
    cell("POST /v1/fact-spaces/{fact_space}/facts/batch", When::Change, false, |it| {
        of(it, "/facts/batch", json!({"facts": [{"key": "window", "value": "blue"}]}))
    }),
    cell("POST /v1/observations", When::Change, false, |it| {
        vec![("/v1/observations".to_owned(), Some(json!({"fact_space": it.space, "text": "actually the door is red"})))]
    }),
    cell("PUT /v1/fact-spaces/{fact_space}/environment/{key}", When::Change, false, |it| {
        // Older than the one in force: the answer is the one in force.
        of(it, "/environment/weather", json!({"value": "rain", "observed_at": "2020-01-01T00:00:00Z"}))
    }),
    cell("PUT /v1/fact-spaces/{fact_space}/working-set/{key}", When::Change, false, |it| {
        of(it, "/working-set/other", json!({"content": "ask for the size", "task_id": "t"}))
    }),
    cell("POST /v1/fact-spaces/{fact_space}/tasks/{task_id}/close", When::Change, false, |it| {
        of(it, "/tasks/t/close", json!({}))
    }),
    cell("POST /v1/fact-spaces/{fact_space}/facts/{fact_uid}/restore", When::Change, false, |it| {
        of(it, &format!("/facts/{}/restore", it.old), json!({"reason": "heard wrong"}))
    }),
    cell("POST /v1/fact-spaces/{fact_space}/facts/{fact_uid}/supersede", When::Change, false, |it| {
        of(it, &format!("/facts/{}/supersede", it.old), json!({"value": "nothing"}))
    }),
    cell("PUT /v1/fact-spaces/{fact_space}/identity", When::Change, false, |it| {
        of(it, "/identity", json!({"user_id": "bea", "authority": "executive", "permissions": ["ana"]}))
    }),
    cell("PUT /v1/fact-spaces/{fact_space}", When::Change, false, |it| of(it, "", json!({}))),
    cell("DELETE /v1/fact-spaces/{fact_space}/environment/{key}", When::Remove, false, |it| {
        of(it, "/environment/weather", Value::Null)
    }),
    cell("DELETE /v1/fact-spaces/{fact_space}/working-set/{key}", When::Remove, false, |it| {
        of(it, "/working-set/step", Value::Null)
    }),
    cell("DELETE /v1/fact-spaces/{fact_space}/facts/{fact_uid}", When::Remove, false, |it| {
        of(it, &format!("/facts/{}", it.new), Value::Null)
    }),
    cell("DELETE /v1/fact-spaces/{fact_space}", When::Remove, false, |it| of(it, "", Value::Null)),
];

/// Where nothing of a fact space is shown, by how paths begin, with the reason.
pub(crate) const NO_FACTS: &[(&str, &str)] = &[
    ("/v1/messages", "conversations"),
    ("/v1/contexts", "conversations; a command cites a pack by its hash"),
    ("/v1/confirmations", "conversations"),
    ("/v1/approvals", "conversations"),
    ("/v1/disambiguations", "conversations"),
    ("/v1/commands", "conversations; a command cites a pack by its hash"),
    ("/v1/principals", "who acts"),
    ("/v1/ooc", "conversations"),
    ("/v1/policies", "policy"),
    ("/v1/evidence/frames", "conversations; a frame cites a pack by its hash"),
    ("/v1/evidence/checkpoint", "hashes"),
    ("/v1/evidence/consistency", "hashes"),
    ("/v1/evidence/cosignatures", "hashes"),
    ("/v1/evidence/artifacts/{artifact_id}/proof", "hashes"),
    ("/v1/privacy", "everything of somebody, for whoever answers for it: no key but one with privacy:erase"),
    ("/log", "hashes"),
    ("/healthz", "nobody's"),
    ("/readyz", "nobody's"),
    ("/openapi", "nobody's"),
    ("/schemas", "nobody's"),
    ("/.well-known", "nobody's"),
];

/// Where the record of a fact space is read.
pub(crate) const RECORD: &[&str] = &[
    "POST /v1/evidence/query",
    "GET /v1/evidence/artifacts/{artifact_id}",
    "POST /v1/evidence/export",
    "GET /v1/evidence/export",
];
