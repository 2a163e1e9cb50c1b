//! One client and its conversations.

use std::collections::VecDeque;
use std::time::Instant;

use cscp::domain::time::Clock;
use cscp::system::SystemClock;
use serde_json::{Value, json};

use crate::tally::{Step, Tally};
use crate::wire::{Connection, Request};

/// One message in this many is delivered twice.
const DUPLICATE_EVERY: u64 = 20;
/// Of class S1 in the packs that the server brings along: a bare yes is enough.
const COMMAND: &str = "address.update";
const MICROS: i64 = 1_000_000;

/// A name that no earlier run used, so that a database can be measured twice.
pub(crate) fn run_name() -> String {
    format!("{:x}", SystemClock.now().as_micros())
}

/// A conversation and where its exchange stands.
struct Talk {
    conversation_id: String,
    actor_id: String,
    /// Whether nobody else asks anything there: only then can a bare yes mean one thing.
    alone: bool,
    context_id: String,
    confirmation_id: String,
    /// The name of the present exchange: of its command, its messages, its prompt.
    name: String,
    /// The second in which the prompt was sent.
    prompted: i64,
}

/// A client: plays its conversations in turn, one request at a time.
pub(crate) struct Client {
    prefix: String,
    count: u64,
    /// Conversations that have to say something.
    idle: VecDeque<Talk>,
    /// Conversations that were asked something.
    asked: VecDeque<Talk>,
    tally: Tally,
}

/// What was wrong with an answer, in a word.
type Wrong = String;

impl Client {
    /// The client with this number of so many.
    pub(crate) fn new(run: &str, number: u32, clients: u32, conversations: u32) -> Self {
        let alone = conversations >= clients;
        let first = number % conversations;
        let step = usize::try_from(clients).unwrap_or(usize::MAX);
        let mine = (first..conversations).step_by(step).take(if alone { usize::MAX } else { 1 });
        let talk = |conversation: u32| Talk {
            conversation_id: format!("load-{run}-{conversation}"),
            actor_id: format!("load-{run}-{conversation}-{}", if alone { 0 } else { number }),
            alone,
            context_id: String::new(),
            confirmation_id: String::new(),
            name: String::new(),
            prompted: 0,
        };
        Self {
            prefix: format!("{run}-{number}"),
            count: 0,
            idle: mine.map(talk).collect(),
            asked: VecDeque::new(),
            tally: Tally::default(),
        }
    }

    /// Plays until the time is over. A conversation in which something went wrong begins anew.
    pub(crate) async fn play(&mut self, address: &str, key: &str, until: Instant) -> Tally {
        let mut connection = match Connection::open(address, key).await {
            Ok(connection) => connection,
            Err(error) => {
                self.tally.wrong(Step::Message, &format!("cannot connect: {error}"));
                return std::mem::take(&mut self.tally);
            }
        };
        while Instant::now() < until {
            let ripe = self.asked.front().is_some_and(|talk| second() > talk.prompted);
            let answers = ripe || self.idle.is_empty();
            let next = if answers { self.asked.pop_front() } else { self.idle.pop_front() };
            let Some(mut talk) = next else { break };
            let mut scene = Scene { connection: &mut connection, tally: &mut self.tally, talk: &mut talk };
            let played = if answers {
                scene.answer(ripe).await
            } else {
                self.count += 1;
                scene.talk.name = format!("{}-{}", self.prefix, self.count);
                scene.ask(self.count.is_multiple_of(DUPLICATE_EVERY)).await
            };
            match played {
                Ok(()) if !answers => self.asked.push_back(talk),
                Ok(()) => self.idle.push_back(talk),
                Err((step, what)) => {
                    self.tally.wrong(step, &what);
                    if what.starts_with(BROKEN) {
                        break;
                    }
                    self.idle.push_back(talk);
                }
            }
        }
        std::mem::take(&mut self.tally)
    }
}

const BROKEN: &str = "connection";

fn second() -> i64 {
    SystemClock.now().as_micros() / MICROS
}

struct Scene<'a> {
    connection: &'a mut Connection,
    tally: &'a mut Tally,
    talk: &'a mut Talk,
}

impl Scene<'_> {
    /// Something is said and a confirmation is asked for.
    async fn ask(&mut self, twice: bool) -> Result<(), (Step, Wrong)> {
        let name = self.talk.name.clone();
        let said = self.message(&format!("wamid.{name}"), json!({"text": "please send it to my home address"}));
        let answer = self.post(Step::Message, "/v1/messages", &said, is_verdict("not_an_answer", false)).await?;
        word(&answer, "/context/context_id").clone_into(&mut self.talk.context_id);
        if twice {
            self.post(Step::Duplicate, "/v1/messages", &said, is_verdict("not_an_answer", true)).await?;
        }
        let body = json!({
            "command": {"command_id": name, "name": COMMAND, "idempotency_key": format!("key-{name}")},
            "target": {"address_id": "home"},
            "prompt": {"text": "Deliver to your home address from now on?", "buttons": [
                {"title": "Yes", "action": "confirm"}, {"title": "No", "action": "decline"}]},
        });
        let path = format!("/v1/contexts/{}/confirmations", self.talk.context_id);
        let asked =
            self.post(Step::Ask, &path, &body, |status, asked| status == 201 && word(asked, "/state") == "open");
        let asked = asked.await?;
        word(&asked, "/confirmation_id").clone_into(&mut self.talk.confirmation_id);
        let path = format!("/v1/confirmations/{}/prompt-message", self.talk.confirmation_id);
        let body = json!({"message_id": format!("wamid.out.{name}")});
        self.call(Step::Attach, "PUT", &path, &body, |status, item| status == 200 && word(item, "/state") == "open")
            .await?;
        self.talk.prompted = second();
        Ok(())
    }

    /// The question is answered and what was agreed to is done.
    async fn answer(&mut self, ripe: bool) -> Result<(), (Step, Wrong)> {
        let name = self.talk.name.clone();
        let yes = format!("wamid.yes.{name}");
        let bare = ripe && self.talk.alone;
        let (step, members) = if bare {
            (Step::BareYes, json!({"text": "yes"}))
        } else {
            (Step::QuotedYes, json!({"text": "yes", "reply_to": format!("wamid.out.{name}")}))
        };
        let said = self.message(&yes, members);
        let confirmed = is_verdict("confirmed", false);
        let ours = self.talk.confirmation_id.clone();
        let right = |status: u16, turn: &Value| {
            confirmed(status, turn) && word(turn, "/verdict/confirmation/confirmation_id") == ours
        };
        self.post(step, "/v1/messages", &said, right).await?;
        let body = json!({
            "attempt_id": format!("try-{name}"), "command_id": name, "name": COMMAND,
            "idempotency_key": format!("key-{name}"), "target": {"address_id": "home"},
            "envelope": {"command_id": name, "args": {"address_id": "home"}}, "message_ids": [yes],
        });
        let path = format!("/v1/contexts/{}/commands", self.talk.context_id);
        self.post(Step::Bind, &path, &body, |status, _| status == 201).await?;
        let body = json!({"status": "succeeded", "summary": "address changed"});
        let path = format!("/v1/commands/{name}/results");
        self.post(Step::Result, &path, &body, |status, _| (200..300).contains(&status)).await.map(drop)
    }

    fn message(&self, id: &str, members: Value) -> Value {
        let mut event = json!({
            "message_id": id, "conversation_id": self.talk.conversation_id, "actor_id": self.talk.actor_id,
            "kind": "text", "sent_at": SystemClock.now().to_string(),
        });
        if let (Some(event), Value::Object(members)) = (event.as_object_mut(), members) {
            event.extend(members);
        }
        event
    }

    async fn post(
        &mut self,
        step: Step,
        path: &str,
        body: &Value,
        right: impl Fn(u16, &Value) -> bool,
    ) -> Result<Value, (Step, Wrong)> {
        self.call(step, "POST", path, body, right).await
    }

    /// One request: measured, and its answer checked.
    async fn call(
        &mut self,
        step: Step,
        method: &'static str,
        path: &str,
        body: &Value,
        right: impl Fn(u16, &Value) -> bool,
    ) -> Result<Value, (Step, Wrong)> {
        let claim = format!("{step:?}-{}", self.talk.name);
        let claim = matches!(step, Step::Ask | Step::Result).then_some(claim.as_str());
        let began = Instant::now();
        let request = Request { method, path, body, claim };
        let (status, answer) =
            self.connection.call(&request).await.map_err(|error| (step, format!("{BROKEN} lost: {error}")))?;
        if right(status, &answer) {
            self.tally.right(step, began.elapsed());
            return Ok(answer);
        }
        let codes = ["/code", "/verdict/code", "/verdict/reason", "/state"].map(|pointer| word(&answer, pointer));
        Err((step, format!("{status} {}", codes.join(" ").trim())))
    }
}

fn is_verdict(code: &'static str, duplicate: bool) -> impl Fn(u16, &Value) -> bool {
    move |status, turn| {
        status == 200 && word(turn, "/verdict/code") == code && turn.get("duplicate") == Some(&Value::Bool(duplicate))
    }
}

fn word<'v>(value: &'v Value, pointer: &str) -> &'v str {
    value.pointer(pointer).and_then(Value::as_str).unwrap_or_default()
}
