//! A server without its wire, with a clock that tests move, and one customer who changes an address.

use std::collections::BTreeSet;
use std::sync::{Arc, Mutex};

use cscp::committer::{Committer, Limits};
use cscp::domain::canonical::{Digest, Purpose, keyed};
use cscp::domain::command::Outcome;
use cscp::domain::id::{
    AttemptId, Channel, CommandId, CommandName, ContextId, ConversationId, CorrelationId, Entropy, IdempotencyKey, Ids,
    ItemId, MessageId, PrincipalId, RoleName, TenantId,
};
use cscp::domain::message::{Direction, MessageEvent, MessageKind, message_key};
use cscp::domain::operation::{
    Answer, Ask, AskWhat, AttachPrompt, Bind, ChangeSlots, CommandSpec, CredentialKind, Envelope, Operation,
    PutPrincipal, RecordResult, Target,
};
use cscp::domain::principal::PrincipalKind;
use cscp::domain::prompt::{Button, ButtonAction, ShownPrompt};
use cscp::domain::query::EvidenceQuery;
use cscp::domain::scope::Scope;
use cscp::domain::speaking::SpeaksFor;
use cscp::domain::time::{Clock, Timestamp};
use cscp::http::HttpConfig;
use cscp::service::ooc::{OocAnswer, OocRequest, Query};
use cscp::service::{Caller, NewKey, Service, ServiceError};
use cscp::storage::{Store, Tenant};
use serde_json::{Value, json};

use crate::place::Place;

/// What must never be in an answer to an operator.
pub(crate) const IDEMPOTENCY_KEY: &str = "idem-CANARY-4f1c";
pub(crate) const RAW_TEXT: &str = "please CANARY-move my things";
pub(crate) const TARGET: &str = "address-of-Maria-4711";
pub(crate) const CONVERSATION: &str = "5511988887777@chat";

#[derive(Clone)]
pub(crate) struct TestClock(Arc<Mutex<i64>>);

impl Clock for TestClock {
    fn now(&self) -> Timestamp {
        let mut now = self.0.lock().unwrap();
        *now += 1_000;
        Timestamp::from_micros(*now)
    }
}

struct Counter(u64);

impl Entropy for Counter {
    fn bytes(&mut self) -> [u8; 32] {
        self.0 += 1;
        *keyed(&Digest::from_bytes([1; 32]), Purpose::Nonce, &self.0.to_be_bytes()).as_bytes()
    }
}

pub(crate) struct House {
    pub(crate) service: Service,
    pub(crate) store: Arc<dyn Store>,
    clock: TestClock,
    messages: Mutex<u32>,
    _place: Place,
}

/// A confirmation that was asked.
pub(crate) struct Asked {
    pub(crate) context_id: ContextId,
    pub(crate) item_id: ItemId,
    pub(crate) nonce: String,
    pub(crate) fingerprint: String,
    button: String,
    prompt: MessageId,
}

impl House {
    pub(crate) async fn new() -> Self {
        let place = Place::new().await;
        let clock = TestClock(Arc::new(Mutex::new(1_767_225_600_000_000)));
        let shared: Arc<dyn Clock> = Arc::new(clock.clone());
        let store = place.open(Arc::clone(&shared), 2).await;
        let rules = crate::rules::shipped();
        let (committer, writer) =
            Committer::new(Arc::clone(&store), Arc::clone(&rules), Box::new(Counter(0)), Limits::default());
        tokio::spawn(writer.run());
        let service = Service::new(Arc::clone(&store), committer, rules, shared, Box::new(Counter(1 << 32)));
        Self { service, store, clock, messages: Mutex::new(0), _place: place }
    }

    pub(crate) async fn tenant(&self, id: &str, pack: &str) -> Arc<Tenant> {
        let tenant = Tenant {
            tenant_id: TenantId::new(id).unwrap(),
            environment: "test".to_owned(),
            policy_pack: Some(pack.to_owned()),
            key: Digest::from_bytes([u8::try_from(id.len()).unwrap(); 32]),
            enabled: true,
            created_at: self.clock.now(),
        };
        self.store.create_tenant(&tenant).await.unwrap();
        Arc::new(tenant)
    }

    pub(crate) fn caller(&self, tenant: &Arc<Tenant>, kind: CredentialKind) -> Caller {
        let mut source = Counter(self.clock.0.lock().unwrap().unsigned_abs());
        let key_id = Ids::new(self.clock.now(), &mut source).key();
        let scopes: BTreeSet<Scope> = Scope::defaults(kind).into_iter().chain([Scope::OocRead]).collect();
        Caller {
            tenant: Arc::clone(tenant),
            key_id,
            kind,
            scopes,
            principal_id: None,
            speaks_for: SpeaksFor::usual(kind, None),
        }
    }

    /// The server's wire, and a working key of this caller.
    pub(crate) async fn wire(&self, caller: &Caller) -> (axum::Router, String) {
        let mut source = Counter(self.clock.0.lock().unwrap().unsigned_abs());
        let tenant_id = caller.tenant.tenant_id.clone();
        let (now, scopes) = (self.now(), Some(caller.scopes.clone()));
        let mut ids = Ids::new(now, &mut source);
        let key = NewKey::mint(tenant_id, caller.kind, scopes, None, String::new(), now, &mut ids);
        self.store.create_key(&key.record).await.unwrap();
        (cscp::http::router(self.service.clone(), HttpConfig::default()), key.secret)
    }

    pub(crate) fn wait(&self, seconds: i64) {
        *self.clock.0.lock().unwrap() += seconds * 1_000_000;
    }

    pub(crate) fn now(&self) -> Timestamp {
        self.clock.now()
    }

    pub(crate) async fn execute(&self, caller: &Caller, operation: Operation) -> Result<Answer, ServiceError> {
        self.service.execute(caller, operation, None).await.map(|executed| executed.result)
    }

    fn message_id(&self) -> MessageId {
        let mut count = self.messages.lock().unwrap();
        *count += 1;
        MessageId::new(format!("wamid.{count}")).unwrap()
    }

    pub(crate) fn message(&self, conversation: &str) -> MessageEvent {
        MessageEvent {
            message_id: self.message_id(),
            channel: Channel::new("whatsapp").unwrap(),
            conversation_id: ConversationId::new(conversation).unwrap(),
            actor_id: PrincipalId::new("customer").unwrap(),
            sent_at: self.now(),
            direction: Direction::Inbound,
            kind: MessageKind::Text,
            text: None,
            button_id: None,
            reply_to: None,
            forwarded: false,
            transcript: None,
            system: None,
            expects_reply: false,
            prompt_for: None,
            locale: None,
            correlation_id: None,
            extensions: serde_json::Map::new(),
            body_digest: Digest::from_bytes([3; 32]),
            content_digest: Digest::from_bytes([4; 32]),
            content_salt: Digest::from_bytes([5; 32]),
        }
    }

    pub(crate) async fn says(&self, handler: &Caller, conversation: &str, text: &str) -> Answer {
        let message = MessageEvent { text: Some(text.to_owned()), ..self.message(conversation) };
        self.execute(handler, Operation::Ingest(Box::new(message))).await.unwrap()
    }

    /// A conversation with an open context, an intent and a target.
    pub(crate) async fn talk(&self, handler: &Caller, conversation: &str) -> ContextId {
        let Answer::Turn { context: Some(context), .. } = self.says(handler, conversation, RAW_TEXT).await else {
            panic!("an ordinary message opens a context")
        };
        let patch = json!({"active_intent": "address.update", "active_target": TARGET, "x_note": "about Maria"});
        let Value::Object(patch) = patch else { unreachable!() };
        let change = ChangeSlots {
            context_id: context.context_id.clone(),
            patch,
            if_revision: context.revision,
            credential: CredentialKind::Handler,
        };
        self.execute(handler, Operation::ChangeSlots(change)).await.unwrap();
        context.context_id
    }

    pub(crate) async fn ask(&self, handler: &Caller, context_id: &ContextId, command: &str) -> Asked {
        let prompt = ShownPrompt {
            text: "Move to Rua das Flores?".to_owned(),
            buttons: vec![
                Button { title: "Yes".to_owned(), action: ButtonAction::Accept },
                Button { title: "No".to_owned(), action: ButtonAction::Refuse },
            ],
        };
        let ask = Ask {
            context_id: context_id.clone(),
            what: AskWhat::Confirmation(spec(command, TARGET)),
            prompt,
            supersede: false,
            ttl_seconds: None,
            correlation_id: CorrelationId::new("corr-1").ok(),
        };
        let answer = self.execute(handler, Operation::Ask(Box::new(ask))).await.unwrap();
        let Answer::Asked { item, nonce, button_ids, .. } = answer else { panic!("asked: {answer:?}") };
        let prompt = self.message_id();
        let attach = AttachPrompt {
            item_id: item.item_id.clone(),
            message_id: prompt.clone(),
            channel: Channel::new("whatsapp").unwrap(),
            message_key: Digest::from_bytes([0; 32]),
            sent_at: Some(self.now()),
        };
        self.execute(handler, Operation::AttachPrompt(attach)).await.unwrap();
        self.wait(5);
        let fingerprint = item.command().unwrap().fingerprint.value.clone();
        Asked {
            context_id: context_id.clone(),
            item_id: item.item_id,
            nonce,
            fingerprint,
            button: button_ids[0].clone(),
            prompt,
        }
    }

    /// Taps yes; gives the tap's message id.
    pub(crate) async fn tap(&self, handler: &Caller, asked: &Asked, conversation: &str) -> MessageId {
        let message = MessageEvent {
            kind: MessageKind::Interactive,
            button_id: Some(asked.button.clone()),
            reply_to: Some(asked.prompt.clone()),
            ..self.message(conversation)
        };
        let id = message.message_id.clone();
        self.execute(handler, Operation::Ingest(Box::new(message))).await.unwrap();
        id
    }

    pub(crate) async fn bind(
        &self,
        handler: &Caller,
        asked: &Asked,
        command: &str,
        target: &str,
        attempt: &str,
        tap: &MessageId,
    ) -> Result<Answer, ServiceError> {
        let channel = Channel::new("whatsapp").unwrap();
        let bind = Bind {
            context_id: asked.context_id.clone(),
            attempt_id: AttemptId::new(format!("{attempt}-{command}")).unwrap(),
            command: spec(command, target),
            envelope: Envelope::Clear(json!({"move": true})),
            context_pack: None,
            message_ids: vec![(tap.clone(), message_key(&handler.tenant.key, &channel, tap))],
            correlation_id: CorrelationId::new("corr-1").ok(),
        };
        self.execute(handler, Operation::Bind(Box::new(bind))).await
    }

    pub(crate) async fn report(&self, handler: &Caller, command: &str, outcome: Outcome) {
        let result = RecordResult {
            attempt_id: None,
            command_id: CommandId::new(command).unwrap(),
            status: "ENGINE_DONE".to_owned(),
            outcome,
            summary: Some("moved".to_owned()),
            waiting_on: None,
            close_context: false,
        };
        self.execute(handler, Operation::RecordResult(result)).await.unwrap();
    }

    /// A whole story that ends well.
    pub(crate) async fn done(&self, handler: &Caller, conversation: &str, command: &str) -> Asked {
        let context_id = self.talk(handler, conversation).await;
        let asked = self.ask(handler, &context_id, command).await;
        let tap = self.tap(handler, &asked, conversation).await;
        self.bind(handler, &asked, command, TARGET, "attempt-1", &tap).await.unwrap();
        self.report(handler, command, Outcome::Succeeded).await;
        asked
    }

    pub(crate) async fn person(&self, handler: &Caller, id: &str, role: &str, locale: &str) -> PrincipalId {
        let principal_id = PrincipalId::new(id).unwrap();
        let put = PutPrincipal {
            principal_id: principal_id.clone(),
            kind: PrincipalKind::Person,
            roles: vec![RoleName::new(role).unwrap()],
            person_id: None,
            aliases: Vec::new(),
            maturity: None,
            locale: Some(locale.to_owned()),
            if_revision: None,
        };
        self.execute(handler, Operation::PutPrincipal(put)).await.unwrap();
        principal_id
    }

    pub(crate) async fn query(&self, caller: &Caller, query: Query) -> Result<OocAnswer, ServiceError> {
        self.service.ooc(caller, &request(query)).await
    }

    /// What the reader's stream says about the reads of this tenant, oldest first.
    pub(crate) async fn reads(&self, tenant: &Tenant) -> Vec<Value> {
        let query = EvidenceQuery { kind: Some("access.read".to_owned()), limit: 200, ..EvidenceQuery::default() };
        let page = self.store.entries(&tenant.tenant_id, &query).await.unwrap();
        let read = |payload: &str| serde_json::from_str::<Value>(payload).unwrap()["event"]["read"].clone();
        page.items.iter().map(|entry| read(&entry.body.as_ref().unwrap().payload)).collect()
    }
}

pub(crate) fn request(query: Query) -> OocRequest {
    OocRequest {
        query,
        conversation_id: ConversationId::new(CONVERSATION).ok(),
        context_id: None,
        command_id: None,
        viewer_id: None,
        locale: None,
    }
}

fn spec(command: &str, target: &str) -> CommandSpec {
    CommandSpec {
        command_id: CommandId::new(command).unwrap(),
        name: CommandName::new("address.update").unwrap(),
        // One key per command, with the canary in each.
        idempotency_key: IdempotencyKey::new(format!("{IDEMPOTENCY_KEY}-{command}")).unwrap(),
        raised_class: None,
        target: Target::Clear(json!({"address_id": target})),
    }
}

pub(crate) fn json_of<T: serde::Serialize>(value: &T) -> Value {
    serde_json::to_value(value).unwrap()
}
