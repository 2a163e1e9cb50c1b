//! What a client does next: drawn at random, from what all clients know, so that they get in each other's way.

use serde_json::json;

use super::bodies::{self, Line, Manner, Words};
use super::clock::SECOND;
use super::contract::Promise;
use super::record::{Call, Kind, Op, Sense, Spec};
use super::world::{Command, Context, Place, Question, Step, World, keep};

const YES: &[&str] = &["sim", "yes", "sí", "pode confirmar"];
const NO: &[&str] = &["não", "no", "cancela", "não, cancela"];
const WAIT: &[&str] = &["espera", "wait", "um momento"];
const ORDINARY: &[&str] = &["quando chega?", "please send it to my home address", "obrigado"];

impl World {
    /// The requests that a client makes next, all at the same time.
    pub(crate) fn next(&mut self, now: i64) -> Vec<Call> {
        let place = self.place();
        let Some(context) = self.context(place).cloned() else { return vec![self.hello(place, now)] };
        let calls = match self.below(100) {
            0..5 => vec![self.hello(place, now)],
            5..25 => self.ask_about(&context),
            25..70 => self.go_on(now),
            70..80 => self.after_binding(now),
            80..86 => self.again(),
            86..89 => self.reused_id(now),
            89..91 => vec![self.change_slots(&context)],
            91 => vec![self.move_on(&context)],
            92..95 => self.read(),
            _ if self.promises.make(Promise::Execution) => vec![bodies::executions(false, None)],
            _ => vec![self.hello(place, now)],
        };
        if calls.is_empty() { vec![self.hello(place, now)] } else { calls }
    }

    /// Somebody's message that names nothing.
    fn words(&mut self, place: Place, text: &'static str, sense: Sense) -> Words {
        let message_id = self.name("wamid", 2, |world| &mut world.messages);
        let (conversation, actor) = (self.conversation(place), self.actor(place));
        let (kind, text) = ("text", Some(text));
        Words { message_id, conversation, actor, kind, text, button: None, reply_to: None, sense, forwarded: false }
    }

    fn hello(&mut self, place: Place, now: i64) -> Call {
        let text = self.one(ORDINARY).copied().unwrap_or_default();
        bodies::message(self.words(place, text, Sense::Other), now)
    }

    fn line(&self, context: &str, place: Place) -> Line {
        Line { context: context.to_owned(), conversation: self.conversation(place), actor: self.actor(place) }
    }

    fn claimed(&mut self, call: Call) -> Call {
        let claim = self.name("claim", 1, |world| &mut world.claims);
        call.claiming(claim)
    }

    fn manner(&mut self) -> Manner {
        let ttl_seconds = self.percent(25).then_some(1).or_else(|| self.percent(20).then_some(3));
        Manner { supersede: self.percent(30), ttl_seconds }
    }

    /// A question; sometimes the same one in two contexts at once.
    fn ask_about(&mut self, context: &Context) -> Vec<Call> {
        if self.percent(6) {
            let (line, manner) = (self.line(&context.id, context.place), self.manner());
            let call = bodies::choose(line, manner);
            return vec![self.claimed(call)];
        }
        let spec = self.spec();
        let mut calls = vec![self.ask(context, &spec, None)];
        if self.percent(15) {
            let other = self.place();
            if let Some(other) = self.context(other).cloned() {
                calls.push(self.ask(&other, &spec, None));
            }
        }
        calls
    }

    pub(super) fn ask(&mut self, context: &Context, spec: &Spec, kind: Option<Kind>) -> Call {
        let needs_approval = self.rules.approved.contains(&spec.name.as_str());
        let drawn = if needs_approval && self.percent(60) { Kind::Approval } else { Kind::Confirmation };
        let (line, manner) = (self.line(&context.id, context.place), self.manner());
        let call = bodies::ask(kind.unwrap_or(drawn), line, spec, manner);
        self.claimed(call)
    }

    /// The next step of a question that was asked.
    fn go_on(&mut self, now: i64) -> Vec<Call> {
        let Some(question) = self.question(now) else { return Vec::new() };
        match (question.step, self.below(100)) {
            (Step::Asked, 0..70) => self.show(&question),
            (_, 98..) => {
                let call = bodies::cancel(&question.id);
                vec![self.claimed(call)]
            }
            (Step::Granted, 0..70) | (Step::Ended, 0..25) => self.bind(&question, now),
            (Step::Granted, 70..88) => vec![self.take_back(&question, now)],
            _ => self.answer(&question, now),
        }
    }

    fn show(&mut self, question: &Question) -> Vec<Call> {
        let prompt = self.name("prompt", 4, |world| &mut world.prompts);
        let mut calls = vec![bodies::attach(&question.id, &prompt)];
        if self.percent(12) {
            let at = self.below(self.questions.len());
            calls.extend(self.questions.get(at).map(|other| bodies::attach(&other.id, &prompt)));
        }
        calls
    }

    /// An answer, in one of the ways in which people and networks give them.
    fn answer(&mut self, question: &Question, now: i64) -> Vec<Call> {
        let yes = self.percent(75);
        let mut calls = vec![self.say(question, yes, now)];
        match self.below(100) {
            // The same delivery twice at once.
            0..20 => calls.push(copy(&calls[0])),
            // Two people's worth of answers at once.
            20..32 => calls.push(self.say(question, true, now)),
            32..42 => calls.push(self.say(question, false, now)),
            _ => {}
        }
        // Somebody approves once more, with another message.
        if question.kind == Kind::Approval
            && self.percent(25)
            && let Op::Say(said) = &calls[0].op
        {
            let who = Some(said.actor.clone());
            calls.push(self.say_as(question, yes, who, now));
        }
        if question.kind == Kind::Approval && self.percent(25) {
            let approver = self.rules.approvers.clone();
            if let Some(approver) = self.one(&approver) {
                let call = bodies::decision(&question.id, approver, yes);
                calls.push(self.claimed(call));
            }
        }
        calls
    }

    pub(super) fn say(&mut self, question: &Question, yes: bool, now: i64) -> Call {
        self.say_as(question, yes, None, now)
    }

    fn say_as(&mut self, question: &Question, yes: bool, who: Option<String>, now: i64) -> Call {
        let (words, sense) = if yes { (YES, Sense::Yes) } else { (NO, Sense::No) };
        let text = self.one(words).copied().unwrap_or_default();
        let mut said = self.words(question.place, text, sense);
        self.as_somebody(question, &mut said);
        let waited = question.prompt.is_some() && now - question.since > SECOND;
        match self.below(100) {
            // A bare answer can count only in a later second than its prompt.
            at if at < 4 || (at < 70 && waited && question.kind == Kind::Confirmation) => {}
            0..45 => said.reply_to.clone_from(&question.prompt),
            _ => {
                let button = if yes { &question.yes } else { &question.no };
                said.button = Some((button.clone(), question.id.clone()));
                (said.kind, said.text) = ("interactive", Some(if yes { "Sim" } else { "Não" }));
                if question.kind == Kind::Disambiguation {
                    said.text = Some(if yes { "Casa" } else { "Trabalho" });
                }
                if self.percent(60) {
                    said.reply_to.clone_from(&question.prompt);
                }
            }
        }
        said.forwarded = self.percent(2);
        said.actor = who.unwrap_or(said.actor);
        bodies::message(said, now)
    }

    /// Approvals are answered by approvers; anything is answered by the wrong person at times.
    fn as_somebody(&mut self, question: &Question, said: &mut Words) {
        if question.kind == Kind::Approval {
            let approvers = self.rules.approvers.clone();
            if let Some(approver) = self.one(&approvers).filter(|_| question.kind == Kind::Approval) {
                said.actor.clone_from(approver);
            }
        }
        if self.percent(4) {
            let other = self.place();
            said.actor = self.actor(other);
        }
        if self.percent(4) {
            let other = self.place();
            said.conversation = self.conversation(other);
        }
    }

    /// A yes is taken back: by a no, by waiting, by deleting or editing the message that said it.
    fn take_back(&mut self, question: &Question, now: i64) -> Call {
        let words = if self.percent(30) { WAIT } else { NO };
        let text = self.one(words).copied().unwrap_or_default();
        let mut said = self.words(question.place, text, Sense::No);
        match self.below(100) {
            0..25 => said.reply_to.clone_from(&question.prompt),
            25..50 => {
                said.button = Some((question.no.clone(), question.id.clone()));
                (said.kind, said.text) = ("interactive", Some("Não"));
            }
            50..65 => (said.kind, said.text, said.reply_to) = ("revoke", None, question.yes_message.clone()),
            65..80 => (said.kind, said.reply_to) = ("edit", question.yes_message.clone()),
            _ => {}
        }
        if question.kind == Kind::Approval {
            let approvers = self.rules.approvers.clone();
            if let Some(approver) = self.one(&approvers) {
                said.actor.clone_from(approver);
            }
        }
        bodies::message(said, now)
    }

    /// Workers that want to execute: mostly what was agreed to, often two of them at once.
    pub(super) fn bind(&mut self, question: &Question, now: i64) -> Vec<Call> {
        let Some(agreed) = &question.spec else { return Vec::new() };
        let mut spec = agreed.clone();
        match self.below(100) {
            0..8 => spec = self.changed(&spec),
            8..11 => spec.key.push_str("-other"),
            11..13 => "order.status".clone_into(&mut spec.name),
            _ => {}
        }
        let mut context = question.context.clone();
        if self.percent(3) {
            let at = self.below(self.contexts.len());
            if let Some(other) = self.contexts.get(at) {
                context.clone_from(&other.id);
            }
        }
        let messages: Vec<&String> = question.yes_message.iter().collect();
        let mut calls = Vec::new();
        let workers = if self.percent(40) { 2 } else { 1 };
        for _ in 0..workers {
            let mut attempt = self.attempt(4);
            let at = self.below(self.commands.len());
            if self.percent(5)
                && let Some(other) = self.commands.get(at).filter(|other| !self.dead.contains(&other.attempt))
            {
                attempt.clone_from(&other.attempt);
            }
            calls.push(bodies::bind(&context, &attempt, &spec, &messages));
        }
        let twin = self.twin(question, |step| step == Step::Granted);
        if let Some((twin, spec)) = twin.and_then(|twin| Some((twin.clone(), twin.spec?))) {
            let messages: Vec<&String> = twin.yes_message.iter().collect();
            let attempt = self.attempt(4);
            calls.push(bodies::bind(&twin.context, &attempt, &spec, &messages));
        }
        if self.percent(12) {
            calls.push(self.say(question, false, now));
        }
        calls
    }

    /// What comes after a command was bound: late results, other attempts, take-overs.
    fn after_binding(&mut self, now: i64) -> Vec<Call> {
        if self.promises.make(Promise::Execution) && !self.orphans.is_empty() && self.percent(40) {
            return self.take_overs(now);
        }
        let at = self.below(self.commands.len());
        let Some(command) = self.commands.get(at).cloned() else { return Vec::new() };
        match self.below(100) {
            0..30 if !self.dead.contains(&command.attempt) => vec![copy(&command.call)],
            0..65 => {
                let attempt = self.attempt(10);
                let Op::Bind { context, .. } = &command.call.op else { return Vec::new() };
                vec![bodies::bind(context, &attempt, &command.spec, &[])]
            }
            65..80 => {
                let (attempt, context) = (self.attempt(10), self.place());
                let spec = Spec { command_id: self.fresh("cmd"), ..command.spec.clone() };
                let context = self.context(context).map(|context| context.id.clone()).unwrap_or_default();
                vec![bodies::bind(&context, &attempt, &spec, &[])]
            }
            80..90 if self.promises.make(Promise::Execution) => {
                let attempt = self.uuid();
                vec![bodies::take_over(&command.spec, &attempt, &command.attempt)]
            }
            _ => vec![self.report(&command, true)],
        }
    }

    /// Somebody takes a dead owner's command over, in time or too early, sometimes two at once.
    fn take_overs(&mut self, now: i64) -> Vec<Call> {
        let at = self.below(self.orphans.len());
        let Some(command) = self.orphans.get(at).cloned() else { return Vec::new() };
        let due = command.report_by.is_some_and(|by| now > by + SECOND);
        if !due && !self.percent(20) {
            return Vec::new();
        }
        let workers = if self.percent(40) { 2 } else { 1 };
        let attempts: Vec<String> = (0..workers).map(|_| self.uuid()).collect();
        attempts.iter().map(|attempt| bodies::take_over(&command.spec, attempt, &command.attempt)).collect()
    }

    pub(super) fn report(&mut self, command: &Command, late: bool) -> Call {
        let summary = self.fresh(if late { "late" } else { "done" });
        let names_itself = self.promises.make(Promise::Execution) && self.percent(80);
        let attempt = names_itself.then_some(command.attempt.as_str());
        let call = bodies::report(&command.spec.command_id, attempt, summary);
        self.claimed(call)
    }

    /// Something that was sent is sent again.
    fn again(&mut self) -> Vec<Call> {
        let at = self.below(self.calls.len());
        let Some(call) = self.calls.get(at) else { return Vec::new() };
        let dead = matches!(&call.op, Op::Bind { attempt, .. } if self.dead.contains(attempt));
        if dead { Vec::new() } else { vec![copy(call)] }
    }

    /// A message whose id another one had.
    fn reused_id(&mut self, now: i64) -> Vec<Call> {
        let place = self.place();
        let words = if self.percent(50) { YES } else { ORDINARY };
        let text = self.one(words).copied().unwrap_or_default();
        let sense = if YES.contains(&text) { Sense::Yes } else { Sense::Other };
        let mut said = self.words(place, text, sense);
        let at = self.below(self.messages.len());
        if let Some(used) = self.messages.get(at) {
            said.message_id.clone_from(used);
        }
        vec![bodies::message(said, now)]
    }

    fn change_slots(&mut self, context: &Context) -> Call {
        let note = self.fresh("note");
        let patch = if self.percent(15) { json!({"active_target": note}) } else { json!({"active_intent": note}) };
        let call = bodies::slots(&context.id, context.revision, &patch);
        self.claimed(call)
    }

    fn move_on(&mut self, context: &Context) -> Call {
        let action = self
            .one(&["block", "unblock", "unblock", "unblock", "unblock", "unblock", "close"])
            .copied()
            .unwrap_or_default();
        let call = bodies::transition(&context.id, action);
        self.claimed(call)
    }

    fn read(&mut self) -> Vec<Call> {
        let at = self.below(self.questions.len());
        let item = self.questions.get(at).map(|question| bodies::read_item(&question.id));
        let at = self.below(self.commands.len());
        let command = self.commands.get(at).map(|command| bodies::read_command(&command.spec.command_id));
        item.into_iter().chain(command).collect()
    }

    /// A call was made: others may make it again.
    pub(crate) fn made(&mut self, call: &std::rc::Rc<Call>) {
        if call.method != "GET" && !call.reads_back {
            keep(&mut self.calls, std::rc::Rc::clone(call));
        }
    }
}

/// The same request once more.
pub(crate) fn copy(call: &Call) -> Call {
    let Call { op, method, path, body, claim, revision, reads_back } = call;
    Call {
        op: op.clone(),
        method,
        path: path.clone(),
        body: body.clone(),
        claim: claim.clone(),
        revision: *revision,
        reads_back: *reads_back,
    }
}
