//! A body of every operation that takes one, with every member that the contract knows, at a place where it can be done.

use cscp::committer::Limits;
use cscp::domain::operation::CredentialKind;
use cscp::domain::scope::Scope;
use cscp::http::HttpConfig;
use cscp::packs::PackSource;
use serde_json::{Value, json};

use crate::bundles::sequence;
use crate::client::Client;
use crate::cosignatures::{newest, trusted_witnesses};
use crate::house::{House, ask, fresh, fresh_attempt};
use crate::spaces::{at, written};

const PAYMENT: &str = "payment.send";

/// Whoever may do anything, in the tenants `a` and `s`, and who decides there.
pub(crate) struct Stage {
    pub(crate) house: House,
    basic: Client,
    strong: Client,
    boss: Client,
}

/// A request that can be done as it is.
pub(crate) struct Scene {
    pub(crate) client: Client,
    pub(crate) path: String,
    pub(crate) body: Value,
}

impl Stage {
    pub(crate) async fn new() -> Self {
        let config = HttpConfig { rate_limits: false, ..HttpConfig::default() };
        let house = House::under(&PackSource::Shipped, Limits::default(), config).await;
        house.work();
        let anything = async |tenant| house.client(tenant, CredentialKind::Handler, Some(&Scope::ALL), None).await;
        let (basic, strong) = (anything("a").await, anything("s").await);
        let boss = house.client("s", CredentialKind::Operator, Some(&Scope::ALL), Some("boss")).await;
        Self { house, basic, strong, boss }
    }

    async fn context(&self, client: &Client) -> String {
        let body = json!({"conversation_id": fresh("conv"), "actor_id": "customer"});
        client.post("/v1/contexts", body).await.expect(201).text("/context_id")
    }

    /// Everything that can be said in a message.
    fn messages(&self) -> Vec<Value> {
        let common = json!({
            "message_id": fresh("wamid"), "conversation_id": fresh("conv"), "actor_id": "customer", "sent_at": self.house.now(),
            "direction": "inbound", "kind": "audio", "text": "bom dia", "reply_to": "wamid.other", "forwarded": false,
            "transcript": {"text": "bom dia", "confidence": 0.9}, "locale": "pt-BR", "channel": "whatsapp",
            "correlation_id": "order-1", "extensions": {"x_note": "a"},
        });
        let tapped = with(&common, json!({"kind": "interactive", "button_id": "b", "transcript": null}));
        let news = json!({"type": "user_changed_number", "previous": "1", "current": "2"});
        let system = with(&common, json!({"kind": "system", "system": news, "transcript": null}));
        let sent = json!({
            "kind": "text", "direction": "outbound", "expects_reply": true, "transcript": null,
            "prompt_for": format!("cnf_{}", "0".repeat(32)),
        });
        vec![with(&common, sent), common, tapped, system]
    }

    /// Everything that can be said of a command, and what belongs to one of two ways to say it.
    fn questions(name: &str) -> Vec<Value> {
        let command = fresh("cmd");
        let mut body = ask(&command);
        body["command"]["name"] = json!(name);
        body["command"]["safety_class"] = json!("S2");
        let more = json!({"title": "Pode", "action": "confirm"});
        body["prompt"]["buttons"].as_array_mut().unwrap().push(more);
        let body = with(&body, json!({"supersede": false, "ttl_seconds": 60, "correlation_id": "order-1"}));
        let asserted = with(&body, json!({"target": null, "target_fingerprint": "mine"}));
        vec![body, asserted]
    }

    fn facts() -> Vec<Value> {
        let source = json!({
            "type": "conversation", "identity": "Ana", "authority": "employee", "turn_index": 1, "event_index": 2,
        });
        let fact = json!({
            "id": "F-1", "key": fresh("k"), "value": "v", "source": source, "effective_at": "2025-12-01T10:00:00Z",
            "scope": "task", "scope_id": "t-1", "memory_type": "user", "is_constraint": true, "constraint_type": "budget",
            "restricted_to": ["sales"], "supersedes": "F-0", "reason": "moved", "require_targets": false,
            "depends_on": ["F-2", {"fact": "F-3", "fact_space": "elsewhere"}],
        });
        let late = with(&fact, json!({"effective_at": null, "timestamp": "2025-12-01T10:00:00Z"}));
        vec![fact, late]
    }

    /// Requests of an operation: between them they have every member.
    pub(crate) async fn scenes(&self, operation: &str) -> Vec<Scene> {
        let client = match operation {
            "decideApproval" => self.boss.clone(),
            _ if operation.contains("Approval") => self.strong.clone(),
            _ => self.basic.clone(),
        };
        let (path, bodies) = self.talking(operation).await;
        bodies.into_iter().map(|body| Scene { client: client.clone(), path: path.clone(), body }).collect()
    }

    async fn talking(&self, operation: &str) -> (String, Vec<Value>) {
        let slots = json!({"active_intent": "address.update"});
        let prompt = json!({"message_id": fresh("wamid"), "sent_at": self.house.now(), "channel": "whatsapp"});
        let one = |path: &str, body: Value| (path.to_owned(), vec![body]);
        let paged = |path: &str, query: Value| (path.to_owned(), pages(&query));
        match operation {
            "postMessage" => ("/v1/messages".to_owned(), self.messages()),
            "postMessages" => one("/v1/messages/batch", json!({"messages": [self.messages()[1]]})),
            "openContext" => one(
                "/v1/contexts",
                json!({"conversation_id": fresh("conv"), "actor_id": "customer", "message_id": "wamid.1", "slots": slots,
                       "correlation_id": "order-1", "extensions": {"x_note": "a"}}),
            ),
            "queryContexts" => {
                paged("/v1/contexts/query", json!({"conversation_id": "c", "actor_id": "a", "status": "active"}))
            }
            "moveContext" => {
                let path = format!("/v1/contexts/{}/transitions", self.context(&self.basic).await);
                (
                    path,
                    vec![
                        json!({"action": "block", "on": "operator"}),
                        json!({"action": "block", "reason": "external"}),
                    ],
                )
            }
            "askConfirmation" => {
                let path = format!("/v1/contexts/{}/confirmations", self.context(&self.basic).await);
                (path, Self::questions("address.update"))
            }
            "askApproval" => {
                let path = format!("/v1/contexts/{}/approvals", self.context(&self.strong).await);
                (path, Self::questions(PAYMENT))
            }
            "askDisambiguation" => {
                let path = format!("/v1/contexts/{}/disambiguations", self.context(&self.basic).await);
                let option = |at| json!({"title": format!("Pedido {at}"), "target": {"order": at}});
                let options: Vec<Value> = ('A'..='J').map(option).collect();
                let more = json!({"supersede": false, "ttl_seconds": 60, "correlation_id": "order-1"});
                (path, vec![with(&json!({"options": options, "prompt": {"text": "Qual?"}}), more)])
            }
            "attachConfirmationPrompt" | "cancelConfirmation" => {
                let ask = Self::questions("address.update").remove(0);
                self.item(&self.basic, "confirmation", operation, ask, prompt).await
            }
            "attachApprovalPrompt" | "cancelApproval" | "decideApproval" => {
                let ask = Self::questions(PAYMENT).remove(0);
                self.item(&self.strong, "approval", operation, ask, prompt).await
            }
            "attachDisambiguationPrompt" | "cancelDisambiguation" => {
                let options = json!([{"title": "Pedido A", "target": "a"}, {"title": "Pedido B", "target": "b"}]);
                let ask = json!({"options": options, "prompt": {"text": "Qual?"}});
                self.item(&self.basic, "disambiguation", operation, ask, prompt).await
            }
            "queryApprovals" => paged("/v1/approvals/query", json!({"open_only": true, "conversation_id": "c"})),
            "queryCommands" => paged("/v1/commands/query", json!({"execution": "unknown"})),
            "bindCommand" | "takeOverCommand" | "recordResult" => self.commanding(operation).await,
            _ => self.knowing(operation).await,
        }
    }

    /// An item of a kind, and what can be done with it.
    async fn item(
        &self,
        client: &Client,
        kind: &str,
        operation: &str,
        ask: Value,
        prompt: Value,
    ) -> (String, Vec<Value>) {
        let context = self.context(client).await;
        let asked = client.post(&format!("/v1/contexts/{context}/{kind}s"), ask).await.expect(201);
        let item = format!("/v1/{kind}s/{}", asked.text(&format!("/{kind}_id")));
        match operation {
            "decideApproval" => {
                (format!("{item}/decisions"), vec![json!({"decision": "approve", "approver_id": "boss"})])
            }
            _ if operation.starts_with("cancel") => (format!("{item}/cancel"), vec![json!({})]),
            _ => (format!("{item}/prompt-message"), vec![prompt]),
        }
    }

    async fn commanding(&self, operation: &str) -> (String, Vec<Value>) {
        let (context, binding) = self.house.confirmed(&self.basic, &fresh("conv")).await;
        let path = format!("/v1/contexts/{context}/commands");
        let pack = format!("pck_{}", "0".repeat(32));
        if operation == "bindCommand" {
            let more = json!({"safety_class": "S1", "channel": "whatsapp", "correlation_id": "o-1"});
            let full = with(&binding, more);
            let digests =
                json!({"target": null, "target_fingerprint": "mine", "envelope": null, "envelope_digest": "mine"});
            // A pack that nobody saved is told before everything else.
            let citing = with(&full, json!({"context_pack_id": pack}));
            return (path, vec![full.clone(), with(&full, digests), citing]);
        }
        self.basic.post(&path, binding.clone()).await.expect(201);
        let command = format!("/v1/commands/{}", binding["command_id"].as_str().unwrap());
        if operation == "recordResult" {
            let result = json!({
                "attempt_id": binding["attempt_id"], "status": "succeeded", "outcome": "succeeded", "summary": "Well.",
                "waiting_on": "external", "close_context": false,
            });
            return (format!("{command}/results"), vec![result]);
        }
        let take = json!({
            "attempt_id": fresh_attempt(), "replaces_attempt_id": binding["attempt_id"], "downstream_checked": true,
            "name": binding["name"], "idempotency_key": binding["idempotency_key"], "target": binding["target"],
            "envelope": binding["envelope"],
        });
        let digests =
            json!({"target": null, "target_fingerprint": "mine", "envelope": null, "envelope_digest": "mine"});
        (format!("{command}/takeovers"), vec![with(&take, digests), take])
    }

    async fn knowing(&self, operation: &str) -> (String, Vec<Value>) {
        let (context, artifact) = (format!("ctx_{}", "0".repeat(32)), format!("art_{}", "0".repeat(32)));
        let (alias, uid) = (json!({"kind": "bsuid", "value": "BR.1"}), format!("fct_{}", "0".repeat(32)));
        let (from, until) = ("2025-12-01T10:00:00Z", "2025-12-02T10:00:00Z");
        let subjects = [json!({"actor_id": "x"}), json!({"alias": alias}), json!({"person_id": "x"})];
        let one = |path: &str, body: Value| (path.to_owned(), vec![body]);
        let paged = |path: &str, query: Value| (path.to_owned(), pages(&query));
        match operation {
            "putPrincipal" => one(
                &format!("/v1/principals/{}", fresh("p")),
                json!({"kind": "person", "roles": ["supervisor"], "person_id": "x", "aliases": [alias], "maturity": "senior",
                       "locale": "pt-BR"}),
            ),
            "queryPrincipals" => paged(
                "/v1/principals/query",
                json!({"principal_id": "x", "person_id": "x", "role": "supervisor", "alias": alias}),
            ),
            "readText" => one(
                "/v1/policies/basic/reading",
                json!({"text": "pode cancelar", "locale": "pt-BR", "command": "order.cancel"}),
            ),
            "queryOoc" => one(
                "/v1/ooc/query",
                json!({"query": "show active context", "conversation_id": "c", "context_id": context, "command_id": "c",
                       "viewer_actor_id": "customer", "locale": "pt-BR"}),
            ),
            "queryEvidence" => paged(
                "/v1/evidence/query",
                json!({"artifact_id": artifact, "command_id": "c", "correlation_id": "o", "conversation_id": "c",
                    "context_id": context, "fact_space": "s", "fact_uid": uid, "type": "x", "from": from, "until": until}),
            ),
            "exportEvidence" => {
                // What waits for its place in the log is told before a checkpoint that there never was.
                sequence(&self.house).await;
                let common = json!({"from": from, "until": until, "payloads": "visible", "consistent_from": 1,
                                    "nonce": "abcdefghijklmnop"});
                let of = [
                    json!({"command_id": "c"}),
                    json!({"context_id": context}),
                    json!({"conversation_id": "c"}),
                    json!({"actor_id": "a"}),
                    json!({"fact_space": "s"}),
                ];
                ("/v1/evidence/export".to_owned(), of.into_iter().map(|of| with(&common, of)).collect())
            }
            "addCosignatures" => {
                sequence(&self.house).await;
                let note = newest(&self.basic).await;
                one("/v1/evidence/cosignatures", json!({"note": trusted_witnesses()[0].cosigned(&note)}))
            }
            "eraseSubject" => {
                let erase = |subject| json!({"subject": subject, "dry_run": true, "reason": "wish"});
                ("/v1/privacy/erasures".to_owned(), subjects.into_iter().map(erase).collect())
            }
            "exportSubject" => {
                let export = |subject| json!({"subject": subject, "cursor": null});
                let mut bodies: Vec<Value> = subjects.into_iter().map(export).collect();
                bodies[0]["cursor"] = json!("x");
                ("/v1/privacy/exports".to_owned(), bodies)
            }
            "placeHold" => {
                let bodies =
                    vec![json!({"actor_id": fresh("x"), "reason": "r"}), json!({"conversation_id": fresh("x")})];
                ("/v1/privacy/holds".to_owned(), bodies)
            }
            "queryMemories" => one("/v1/memories/query", json!({"user_id": "x", "cursor": "x"})),
            _ => self.remembering(operation).await,
        }
    }

    async fn remembering(&self, operation: &str) -> (String, Vec<Value>) {
        let space = fresh("space");
        let (now, name) = ("2025-12-01T10:00:00Z", "x");
        let one = |rest: &str, body: Value| (at(&space, rest), vec![body]);
        match operation {
            "putFactSpace" => {
                let of =
                    |partition| json!({"partition": partition, "wider": ["rules"], "access": {"allow": ["sales"]}});
                let mut bodies = vec![
                    of(json!({"memory": "user", "owner_id": "ana"})),
                    of(json!({"memory": "capability", "organization": "o", "capability": "c"})),
                ];
                bodies[1]["access"] = json!({"callback": "crm"});
                (at(&space, ""), bodies)
            }
            "putIdentity" => one(
                "/identity",
                json!({"user_id": name, "user_name": name, "authority": name, "department": name, "organization": name,
                       "communication_style": name, "permissions": [name]}),
            ),
            "writeFact" => (at(&space, "/facts"), Self::facts()),
            "writeFacts" => {
                let memory = json!({"memory": "capability", "organization": "o", "capability": "c"});
                self.basic.put(&at(&space, ""), json!({"partition": memory})).await.expect(201);
                let learned = json!({"key": "k", "value": "v", "memory_type": "capability", "abstraction": "event"});
                one("/facts/batch", json!({"facts": [learned]}))
            }
            "supersedeFact" | "restoreFact" => {
                let uid = written(&self.basic, &space, "k", "v").await;
                if operation == "restoreFact" {
                    return one(&format!("/facts/{uid}/restore"), json!({"reason": "r"}));
                }
                one(&format!("/facts/{uid}/supersede"), json!({"value": "w", "reason": "r", "authority": "employee"}))
            }
            "putSignal" => {
                let bodies = vec![
                    json!({"value": 1, "observed_at": now, "stale_at": "2026-12-02T10:00:00Z"}),
                    json!({"value": 1, "fresh_seconds": 60}),
                ];
                (at(&space, "/environment/weather"), bodies)
            }
            "putItem" => one(
                "/working-set/draft",
                json!({"item_type": "objective", "content": "c", "priority": 1, "task_id": "t", "promote_as": "k",
                       "created_at": now, "expires_at": "2026-12-02T10:00:00Z"}),
            ),
            "closeTask" => one("/tasks/t/close", json!({"promote": ["k"]})),
            "observe" => {
                let body = json!({"fact_space": space, "speaker": "user", "text": "o endereço mudou", "observed_at": now,
                                  "authority": "employee"});
                ("/v1/observations".to_owned(), vec![body])
            }
            "makeContextPack" => ("/v1/context-packs".to_owned(), vec![pack_of_everything(&space)]),
            other => panic!("no body for {other}: add one to tests/api/stage.rs"),
        }
    }
}

fn pack_of_everything(space: &str) -> Value {
    let now = "2025-12-01T10:00:00Z";
    let signal = json!({"key": "weather", "value": 1, "observed_at": now, "stale_at": "2026-12-02T10:00:00Z"});
    json!({
        "fact_space": space, "wider": ["rules"], "query": "o que vale?", "as_of": now, "known_at": now,
        "viewer": {"user_id": "ana", "authority": "employee", "department": "sales"}, "token_budget": 1000,
        "facts_share": 0.5, "include": ["k"], "exclude": ["l"], "include_superseded": true, "scopes": ["t"],
        "recent_turns": [{"speaker": "user", "text": "oi", "observed_at": now}], "environment": [signal],
        "estimator": "cl100k_base", "save_frame": false,
    })
}

/// A page, asked for by how much and by where: a place that is none is told before everything else.
fn pages(query: &Value) -> Vec<Value> {
    vec![with(query, json!({"limit": 10})), json!({"cursor": "x"})]
}

/// The one with the members of the other, and without those that are null there.
fn with(base: &Value, more: Value) -> Value {
    let mut whole = base.clone();
    let (Value::Object(members), Value::Object(more)) = (&mut whole, more) else { panic!("bodies are objects") };
    for (name, value) in more {
        if value.is_null() {
            members.remove(&name);
        } else {
            members.insert(name, value);
        }
    }
    whole
}
