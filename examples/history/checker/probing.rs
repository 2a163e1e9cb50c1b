//! Before the play: what the servers promise, and what the tenant's rules ask for, found out by asking.

use std::rc::Rc;

use serde_json::{Value, json};

use super::bodies::{self, Line, Manner, Words};
use super::contract::{Promise, Promises};
use super::record::{Answer, Call, Kind, Op, Sense, Spec};
use super::seen::Seen;
use super::stage::Stage;
use super::world::{PEOPLE, Rules, Setting, person, target};

/// Commands that the shipped policy packs know: their names say what they are done to.
const NAMES: &[&str] = &["address.update", "order.cancel", "refund.issue", "payment.send"];
const MANNER: Manner = Manner { supersede: true, ttl_seconds: None };

/// A conversation that only finds out.
struct Probe<'s> {
    stage: &'s Stage,
    run: &'s str,
    number: u32,
}

/// Finds out what there is to play with, and registers the people. Gives the persons behind names, too.
pub(crate) async fn probe(stage: &Stage, setting: &mut Setting) -> Result<Vec<(String, String)>, String> {
    setting.promises = promises(stage).await?;
    let run = setting.run.clone();
    let mut probe = Probe { stage, run: &run, number: 0 };
    let (mut plain, mut approved, mut roles) = (Vec::new(), Vec::new(), Vec::new());
    for name in NAMES {
        match probe.approval(name).await? {
            Some(seen) => {
                approved.push(*name);
                roles.extend([seen.role].into_iter().chain(seen.also_roles));
            }
            None => plain.push(*name),
        }
    }
    roles.sort();
    roles.dedup();
    let mut persons = Vec::new();
    let mut approvers = Vec::new();
    if !roles.is_empty() {
        persons = people(&run);
        for (name, of) in &persons {
            probe.register(name, of, &roles).await?;
        }
        approvers = persons.iter().map(|(name, _)| name.clone()).collect();
        // The requesters stand at the end: they approve their own requests now and then, and must not be able to.
        approvers.truncate(persons.len() - PEOPLE + 1);
    }
    setting.rules = Rules { plain, approved, approvers };
    if probe.whole_target_counts(setting).await? {
        setting.promises.add(Promise::WholeTarget);
    }
    Ok(persons)
}

/// Approvers, two of them one person, one of them a requester's person; and the requesters.
fn people(run: &str) -> Vec<(String, String)> {
    let own = |name: String, of: &str| (name, format!("{run}-{of}"));
    let mut people = vec![
        own(format!("{run}-approver0"), "person-a"),
        own(format!("{run}-approver1"), "person-a"),
        own(format!("{run}-approver2"), "person-b"),
        own(format!("{run}-approver3"), "person-c"),
        own(format!("{run}-approver4"), "person-0"),
    ];
    people.extend((0..PEOPLE).map(|number| own(person(run, number), &format!("person-{number}"))));
    people
}

async fn promises(stage: &Stage) -> Result<Promises, String> {
    let request = super::wire::Request::get("/openapi.yaml");
    let read = stage.servers[0].call(&request).await;
    let read = read.map_err(|error| format!("no description of the interface: {error}"))?;
    if read.status != 200 {
        return Err(format!("no description of the interface: GET /openapi.yaml was answered {}", read.status));
    }
    Ok(Promises::read(&String::from_utf8_lossy(&read.body)))
}

impl Probe<'_> {
    async fn call(&mut self, call: Call) -> Result<Answer, String> {
        let call = Rc::new(call);
        let answer = self.stage.call(&call, 0).await;
        let gone = || self.stage.failed.borrow().clone().unwrap_or_default();
        answer.map_err(|_| gone())
    }

    async fn done(&mut self, call: Call) -> Result<Seen, String> {
        let what = format!("{} {}", call.method, call.path);
        let answer = self.call(call).await?;
        match answer.status {
            200..300 => Ok(answer.seen),
            status => Err(format!("{what} was answered {status} {}", answer.seen.code)),
        }
    }

    fn fresh(&mut self, what: &str) -> String {
        self.number += 1;
        format!("{}-probe-{what}{}", self.run, self.number)
    }

    async fn line(&mut self) -> Result<Line, String> {
        let conversation = self.fresh("c");
        let actor = person(self.run, 0);
        let body = json!({"conversation_id": conversation, "actor_id": actor}).to_string();
        let claim = self.fresh("claim");
        let opened = self.done(Call::post(Op::Other, "/v1/contexts", body).claiming(claim)).await?;
        Ok(Line { context: opened.item.context_id, conversation, actor })
    }

    fn spec(&mut self, name: &str) -> Spec {
        let (command_id, key) = (self.fresh("cmd"), self.fresh("key"));
        Spec { command_id, name: name.to_owned(), key, target: target(name, 1, "home") }
    }

    /// What an approval of this command needs; none if it needs none.
    async fn approval(&mut self, name: &str) -> Result<Option<Seen>, String> {
        let (line, spec, claim) = (self.line().await?, self.spec(name), self.fresh("claim"));
        let answer = self.call(bodies::ask(Kind::Approval, line, &spec, MANNER).claiming(claim)).await?;
        match (answer.status, answer.seen.code.as_str()) {
            (201, _) => self.done(bodies::read_item(answer.seen.item.id())).await.map(Some),
            (_, "approval_not_needed") => Ok(None),
            (status, code) => Err(format!("an approval of {name} was answered {status} {code}")),
        }
    }

    async fn register(&mut self, name: &str, person_id: &str, roles: &[String]) -> Result<(), String> {
        let body: Value = json!({"kind": "person", "roles": roles, "person_id": person_id});
        let put = Call::post(Op::Other, format!("/v1/principals/{name}"), body.to_string());
        self.done(Call { method: "PUT", ..put }).await.map(drop)
    }

    /// Whether a binding is refused that differs in a member of the target which no policy names.
    async fn whole_target_counts(&mut self, setting: &Setting) -> Result<bool, String> {
        let Some(name) = setting.rules.plain.first() else { return Ok(false) };
        let (line, spec, claim) = (self.line().await?, self.spec(name), self.fresh("claim"));
        let asked = bodies::ask(Kind::Confirmation, line.clone(), &spec, MANNER).claiming(claim);
        let asked = self.done(asked).await?;
        let message_id = self.fresh("wamid");
        let Line { context, conversation, actor } = line;
        let button = asked.button_ids.first().map(|button| (button.clone(), asked.item.id().to_owned()));
        let (kind, text, sense) = ("interactive", Some("Sim"), Sense::Yes);
        let (reply_to, forwarded) = (None, false);
        let words = Words { message_id, conversation, actor, kind, text, button, reply_to, sense, forwarded };
        self.done(bodies::message(words, self.stage.clock.now())).await?;
        let changed = Spec { target: spec.target.replace("\"home\"", "\"work\""), ..spec };
        let attempt = uuid::Builder::from_random_bytes(fingerprint(&changed.key)).into_uuid().to_string();
        let answer = self.call(bodies::bind(&context, &attempt, &changed, &[])).await?;
        Ok(answer.seen.code == "target_mismatch")
    }
}

/// Bytes that no other run has: the key has the time in it.
fn fingerprint(key: &str) -> [u8; 16] {
    let mut bytes = [0_u8; 16];
    for (at, byte) in key.bytes().enumerate() {
        bytes[at % 16] = bytes[at % 16].rotate_left(3) ^ byte;
    }
    bytes
}
