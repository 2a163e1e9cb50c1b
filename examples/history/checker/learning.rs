//! What a client learns from an answer, and what it does because of it at once.

use std::collections::HashMap;
use std::rc::Rc;

use super::acts::copy;
use super::clock::moment;
use super::facts::told_to_execute;
use super::record::{Call, Executed, Kind, Op, Said, Spec};
use super::seen::Seen;
use super::world::{Command, Context, PEOPLE, Place, Question, Step, World, keep};

/// What the pretended outside world has done: by idempotency key, which attempts did it.
#[derive(Debug, Default)]
pub(crate) struct Downstream {
    done: HashMap<String, Vec<String>>,
}

impl Downstream {
    fn has(&self, key: &str, attempt: &str) -> bool {
        self.done.get(key).is_some_and(|attempts| attempts.iter().any(|done| done == attempt))
    }

    fn is_untouched(&self, key: &str) -> bool {
        !self.done.contains_key(key)
    }
}

/// What follows from an answer.
#[derive(Debug, Default)]
pub(crate) struct Follows {
    /// Requests that the same client makes now.
    pub(crate) calls: Vec<Call>,
    /// What it did in the outside world.
    pub(crate) executed: Option<Executed>,
}

impl From<Vec<Call>> for Follows {
    fn from(calls: Vec<Call>) -> Self {
        Self { calls, executed: None }
    }
}

impl World {
    /// Takes note of an answer of success.
    pub(crate) fn learn(&mut self, call: &Rc<Call>, seen: &Seen, downstream: &mut Downstream, now: i64) -> Follows {
        self.hear(call, seen);
        match &call.op {
            Op::Say(said) => {
                let mut calls = self.hear_verdict(seen, &said.message_id, now);
                calls.extend(self.binds_all_the_same(said, seen, now));
                calls.into()
            }
            Op::Ask { kind, context, conversation, actor, spec } => {
                if let Some(place) = self.place_of(conversation, actor) {
                    self.was_asked(*kind, context, place, spec.clone(), seen, now);
                }
                Follows::default()
            }
            Op::Attach { item, prompt } => {
                self.comes(item, Step::Shown, now, |question| question.prompt = Some(prompt.clone()));
                Follows::default()
            }
            Op::Decide { approval, .. } => match seen.item.state.as_str() {
                "approved" => self.granted(approval, None, now).into(),
                _ => Follows::default(),
            },
            Op::Bind { attempt, spec, .. } => self.was_bound(call, attempt, spec, seen, downstream),
            Op::TakeOver { command, attempt, replaces } => {
                let orphan = self.orphans.iter().find(|orphan| orphan.spec.command_id == *command).cloned();
                let spec = orphan.map(|orphan| orphan.spec).or_else(|| self.spec_of_bound(command));
                match spec {
                    Some(spec) => self.was_taken_over(call, &spec, attempt, replaces, seen, downstream),
                    None => Follows::default(),
                }
            }
            _ => Follows::default(),
        }
    }

    /// Takes note of a refusal.
    pub(crate) fn learn_refusal(&mut self, call: &Call, code: &str, now: i64) {
        let context = match &call.op {
            Op::Ask { context, .. } | Op::Bind { context, .. } | Op::Slots { context, .. } | Op::Move { context } => {
                Some(context)
            }
            _ => None,
        };
        match (code, context, &call.op) {
            ("context_closed" | "context_expired", Some(context), _) => self.forget(context),
            ("item_voided" | "item_expired" | "already_decided", _, Op::Attach { item, .. }) => {
                self.comes(item, Step::Ended, now, |_| {});
            }
            (
                "confirmation_required" | "confirmation_expired" | "already_bound" | "command_conflict",
                _,
                Op::Bind { spec, .. },
            ) => {
                for question in &mut self.questions {
                    if question.spec.as_ref() == Some(spec) && question.step == Step::Granted {
                        question.step = Step::Ended;
                    }
                }
            }
            _ => {}
        }
    }

    fn spec_of_bound(&self, command: &str) -> Option<Spec> {
        let command = self.commands.iter().find(|known| known.spec.command_id == command);
        command.map(|command| command.spec.clone())
    }

    /// Every answer that shows a context tells how it stands.
    fn hear(&mut self, call: &Call, seen: &Seen) {
        if let Op::Say(said) = &call.op
            && let Some(context) = &seen.context
            && context.status != "closed"
            && let Some(place) = self.place_of(&said.conversation, &said.actor)
        {
            self.heard_of(place, &context.context_id, context.revision);
        }
        if let (Op::Slots { context, .. } | Op::Move { context }, Some(revision)) = (&call.op, seen.revision) {
            if let Some(known) = self.contexts.iter_mut().find(|known| known.id == *context) {
                known.revision = revision;
            }
            if matches!(call.op, Op::Move { .. }) {
                self.end_questions(context, "", true);
            }
        }
    }

    fn place_of(&self, conversation: &str, actor: &str) -> Option<Place> {
        let conversation = conversation.rsplit_once("-c")?.1.parse().ok()?;
        let person = (0..PEOPLE).find(|person| super::world::person(&self.run, *person) == actor)?;
        Some(Place { conversation, person })
    }

    fn hear_verdict(&mut self, seen: &Seen, message: &str, now: i64) -> Vec<Call> {
        let Some(verdict) = &seen.verdict else { return Vec::new() };
        let Some(item) = verdict.item() else { return Vec::new() };
        match verdict.code.as_str() {
            "confirmed" => return self.granted(item.id(), Some(message), now),
            "approved" if item.state == "approved" => return self.granted(item.id(), None, now),
            "declined" | "rejected" | "expired" | "superseded" | "selected" => {
                self.comes(item.id(), Step::Ended, now, |_| {});
            }
            "already_decided" if item.state == "spent" => self.comes(item.id(), Step::Ended, now, |_| {}),
            _ => {}
        }
        Vec::new()
    }

    /// Somebody who does not know that a yes was taken back tries to bind with it.
    fn binds_all_the_same(&mut self, said: &Said, seen: &Seen, now: i64) -> Vec<Call> {
        let verdict = seen.verdict.as_ref();
        let declined = verdict.filter(|verdict| verdict.code == "declined").and_then(|verdict| verdict.item());
        let undone = said.reply_to.as_ref().filter(|_| said.undoes);
        let about = |question: &&Question| {
            declined.is_some_and(|item| item.id() == question.id)
                || (undone.is_some() && question.yes_message.as_ref() == undone)
        };
        match self.questions.iter().find(about).cloned() {
            Some(question) if self.percent(40) => self.bind(&question, now),
            _ => Vec::new(),
        }
    }

    /// A question was answered with yes. A confirmed command is bound next, at once or later; an approved one is confirmed.
    fn granted(&mut self, item: &str, message: Option<&str>, now: i64) -> Vec<Call> {
        self.comes(item, Step::Granted, now, |question| question.yes_message = message.map(str::to_owned));
        let question = self.questions.iter().find(|question| question.id == item).cloned();
        let Some(question) = question else { return Vec::new() };
        // The same command is asked about elsewhere: with a yes there, too, both can be bound at once.
        if let Some(twin) = self.twin(&question, |step| matches!(step, Step::Asked | Step::Shown))
            && self.percent(70)
        {
            return vec![self.say(&twin, true, now)];
        }
        match (question.kind, question.spec.clone()) {
            (Kind::Confirmation, _) if message.is_some() && self.percent(65) => self.bind(&question, now),
            (Kind::Approval, Some(spec)) if self.percent(80) => {
                let context = Context { place: question.place, id: question.context, revision: 0 };
                vec![self.ask(&context, &spec, Some(Kind::Confirmation))]
            }
            _ => Vec::new(),
        }
    }

    /// A question about the same command in another context.
    pub(super) fn twin(&self, of: &Question, at: fn(Step) -> bool) -> Option<Question> {
        let command = &of.spec.as_ref()?.command_id;
        let is_twin = |other: &&Question| {
            let same = other.spec.as_ref().is_some_and(|spec| spec.command_id == *command);
            same && other.kind == of.kind && other.context != of.context && at(other.step)
        };
        self.questions.iter().find(is_twin).cloned()
    }

    fn was_asked(&mut self, kind: Kind, context: &str, place: Place, spec: Option<Spec>, seen: &Seen, now: i64) {
        let id = seen.item.id();
        if self.questions.iter().any(|question| question.id == id) {
            return;
        }
        if kind != Kind::Approval {
            self.end_questions(context, id, false);
        }
        let button = |at: usize| seen.button_ids.get(at).cloned().unwrap_or_default();
        let question = Question {
            id: id.to_owned(),
            kind,
            context: context.to_owned(),
            place,
            spec,
            yes: button(0),
            no: button(1),
            prompt: None,
            yes_message: None,
            step: Step::Asked,
            since: now,
        };
        keep(&mut self.questions, question);
    }

    fn was_bound(
        &mut self,
        call: &Rc<Call>,
        attempt: &str,
        spec: &Spec,
        seen: &Seen,
        downstream: &mut Downstream,
    ) -> Follows {
        let execution = seen.execution.as_ref();
        let report_by = execution.and_then(|execution| moment(&execution.report_by));
        let (spec, attempt) = (spec.clone(), attempt.to_owned());
        let command = Command { spec, attempt, call: Rc::clone(call), report_by };
        if !self.commands.iter().any(|known| known.spec.command_id == command.spec.command_id) {
            keep(&mut self.commands, command.clone());
        }
        self.execute(command, seen, downstream, false)
    }

    fn was_taken_over(
        &mut self,
        call: &Rc<Call>,
        spec: &Spec,
        attempt: &str,
        replaces: &str,
        seen: &Seen,
        downstream: &mut Downstream,
    ) -> Follows {
        self.orphans.retain(|orphan| orphan.attempt != replaces);
        let report_by = seen.execution.as_ref().and_then(|execution| moment(&execution.report_by));
        let (spec, attempt) = (spec.clone(), attempt.to_owned());
        let command = Command { spec, attempt, call: Rc::clone(call), report_by };
        // Who takes over has looked at what the owner did: a living one's work is not done again.
        let done = !downstream.is_untouched(&command.spec.key) && !self.dead.contains(replaces);
        self.execute(command, seen, downstream, done)
    }

    /// A worker that was told to execute does so, reports, or dies on the way.
    fn execute(&mut self, command: Command, seen: &Seen, downstream: &mut Downstream, done: bool) -> Follows {
        let (key, attempt) = (&command.spec.key, &command.attempt);
        if !told_to_execute(seen) || downstream.has(key, attempt) {
            return Follows::default();
        }
        if self.percent(8) {
            self.dies(command);
            return Follows::default();
        }
        let executed = (!done).then(|| Executed {
            key: key.clone(),
            command: command.spec.command_id.clone(),
            attempt: attempt.clone(),
        });
        if executed.is_some() {
            downstream.done.entry(key.clone()).or_default().push(attempt.clone());
        }
        if self.percent(6) {
            self.dies(command);
            return Follows { calls: Vec::new(), executed };
        }
        let report = self.report(&command, false);
        let mut calls = Vec::new();
        if self.percent(10) {
            calls.push(copy(&report));
        }
        calls.push(report);
        Follows { calls, executed }
    }

    fn dies(&mut self, command: Command) {
        self.dead.insert(command.attempt.clone());
        if self.orphans.len() < 64 {
            self.orphans.push(command);
        }
    }
}
