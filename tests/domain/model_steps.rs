//! Who acts in the random histories, and how: with what was really sent, and with what was not.

use cscp::domain::command::Outcome;
use cscp::domain::context::BlockedOn;
use cscp::domain::decide::Decision;
use cscp::domain::event::Event;
use cscp::domain::id::{CommandName, ContextId, IdempotencyKey, ItemKind};
use cscp::domain::item::Question;
use cscp::domain::message::{IdentityChange, MessageKind};
use cscp::domain::operation::{
    Answer, AskWhat, AttachPrompt, ChangeSlots, CommandSpec, CredentialKind, Move, Operation, Sweep, Target,
};
use cscp::domain::policy::SafetyClass;
use cscp::domain::time::Timestamp;
use cscp::domain::world::is_live;
use serde_json::json;

use crate::harness::{SECOND, Stage};
use crate::house::Pack;
use crate::messages::{Message, conversation, message_id, message_key_of};
use crate::model::Dice;
use crate::operations::{
    Asked, BLOCK, CLOSE, approve, ask, bind, cancel, moving, op, options, person, result, spec, take_over, target,
    with_key,
};

const CUSTOMERS: [&str; 2] = ["ana", "eve"];
const APPROVERS: [&str; 4] = ["boss", "boss-private", "chief", "ana"];
const PLACES: [&str; 2] = ["conv-1", "conv-2"];
const NAMES: [&str; 6] = ["order.status", "address.update", "order.cancel", "payment.send", "wire.send", "wire.big"];
const TEXTS: [&str; 11] =
    ["yes", "sim", "no", "2", "red order", "yes but later", "where is it", "👍", "sim sim", "wait", "no, cancel it"];
const PACKS: [Pack; 8] = Pack::ALL;

/// What the outside world knows.
#[derive(Debug, Default)]
pub(crate) struct Actors {
    asked: Vec<Asked>,
    contexts: Vec<ContextId>,
    commands: Vec<CommandSpec>,
    prompts: Vec<String>,
    /// Everything delivered so far, for delivering again.
    delivered: Vec<Operation>,
    /// Held back, for delivering late.
    late: Vec<Operation>,
    serial: usize,
}

impl Actors {
    /// Registers who can be registered.
    pub(crate) fn enter(stage: &mut Stage) -> Self {
        stage.put("ana", &["approver"], Some("p-ana"));
        stage.put("boss", &["approver"], Some("p-boss"));
        stage.put("boss-private", &["approver"], Some("p-boss"));
        stage.put("chief", &["approver"], Some("p-chief"));
        Self::default()
    }

    /// What comes next; nothing if only time, rules or the process change.
    pub(crate) fn step(&mut self, stage: &mut Stage, dice: &mut Dice) -> Option<Operation> {
        self.serial += 1;
        match dice.below(100) {
            0..=13 => self.time(stage, dice),
            14 => self.withdraw(stage, dice),
            15 => {
                stage.pack = if dice.once_in(2) { Pack::House } else { *dice.pick(&PACKS)? };
                None
            }
            16 => {
                stage.restart();
                None
            }
            17..=20 => dice.pick(&self.delivered).cloned(),
            21..=23 => {
                let at = dice.below(self.late.len());
                (!self.late.is_empty()).then(|| self.late.swap_remove(at))
            }
            24..=53 => {
                let message = self.message(stage, dice).op();
                if dice.once_in(12) {
                    self.late.push(message);
                    return None;
                }
                Some(message)
            }
            54..=56 => Some(self.outbound(stage, dice)),
            57..=66 => self.ask(stage, dice),
            67..=73 => self.attach(stage, dice),
            74..=88 => self.bind(stage, dice),
            89..=91 => Some(approve(&dice.pick(&self.asked)?.id.clone(), pick(dice, &APPROVERS), !dice.once_in(5))),
            92 => Some(cancel(&dice.pick(&self.asked)?.id.clone())),
            93 => self.report(stage, dice),
            94 => self.take_over(stage, dice),
            95 => Some(moving(dice.pick(&self.contexts)?, pick(dice, &[BLOCK, Move::Unblock, Move::Unblock, CLOSE]))),
            96 => self.slots(stage, dice),
            97 => Some(Operation::Sweep(Sweep { conversation_id: conversation(pick(dice, &PLACES)) })),
            98 => Some(Self::identity(stage, dice)),
            _ => Some(self.register(dice)),
        }
    }

    /// A little later, much later, or exactly around a deadline.
    fn time(&self, stage: &mut Stage, dice: &mut Dice) -> Option<Operation> {
        let deadline = dice.pick(&self.asked).map(|asked| {
            let item = stage.item(&asked.id);
            match &item.state {
                cscp::domain::item::ItemState::Granted { bind_by, .. } => *bind_by,
                _ => stage.world.effective_deadline(item),
            }
        });
        let ahead = deadline.map(Timestamp::as_micros).filter(|at| *at > stage.now);
        match (dice.below(16), ahead) {
            (0, Some(at)) => stage.now = at - i64::from(dice.once_in(2)),
            (1, _) => stage.now += 400 * SECOND,
            (2, _) if dice.once_in(3) => stage.now += 4_000 * SECOND,
            (3, _) => stage.now += 1,
            (n, _) => stage.now += i64::try_from(n % 6).unwrap() * SECOND + 300_000,
        }
        None
    }

    fn message(&self, stage: &mut Stage, dice: &mut Dice) -> Message {
        let mut message = match dice.below(10) {
            0..=2 if !self.asked.is_empty() => {
                let asked = dice.pick(&self.asked[self.asked.len().saturating_sub(4)..]).unwrap().clone();
                let button = [asked.yes(), asked.yes(), asked.no(), asked.option(1), asked.option(9)];
                stage.tap(dice.pick(&button).unwrap())
            }
            3 if dice.once_in(3) => stage.voice(pick(dice, &TEXTS), [0.2, 0.9, 0.99][dice.below(3)]),
            4 if dice.once_in(3) => {
                let mut message = stage.text(pick(dice, &TEXTS));
                message.0.kind = *dice.pick(&MessageKind::ALL).unwrap();
                // News about a person have a step of their own, or hardly any question would live to be answered.
                if message.0.kind == MessageKind::System {
                    message.0.kind = MessageKind::Edit;
                }
                message
            }
            _ => stage.text(pick(dice, &TEXTS)),
        };
        message = message.of(if dice.once_in(6) { "eve" } else { "ana" });
        message = message.in_conversation(if dice.once_in(6) { "conv-2" } else { "conv-1" });
        let about_approval = self.asked.last().is_some_and(|asked| asked.id.kind() == ItemKind::Approval);
        if about_approval && dice.once_in(2) {
            let asked = self.asked.last().unwrap();
            message.0.kind = MessageKind::Interactive;
            message.0.button_id = Some(if dice.once_in(5) { asked.no() } else { asked.yes() });
            message = message.of(pick(dice, &APPROVERS)).in_conversation("conv-b");
        }
        if dice.once_in(3)
            && let Some(prompt) = dice.pick(&self.prompts[self.prompts.len().saturating_sub(3)..])
        {
            message = message.quoting(prompt);
        }
        let skew = [0, 0, 0, 0, 0, -1, -5, 1][dice.below(8)] * SECOND;
        message.0.sent_at = Timestamp::from_micros((stage.now / SECOND) * SECOND + skew);
        message.0.forwarded = dice.once_in(15);
        message
    }

    fn outbound(&self, stage: &mut Stage, dice: &mut Dice) -> Operation {
        let again = dice.pick(&self.asked).filter(|_| !dice.once_in(3)).map(|asked| asked.id.clone());
        let message = stage.outbound(again.as_ref()).in_conversation(pick(dice, &PLACES));
        if dice.once_in(3) { message.statement().op() } else { message.op() }
    }

    fn command(&mut self, dice: &mut Dice) -> CommandSpec {
        if dice.once_in(3)
            && let Some(known) = dice.pick(&self.commands)
        {
            return known.clone();
        }
        let mut command = spec(&format!("c-{}", self.serial), pick(dice, &NAMES), target());
        if dice.once_in(10) {
            command.target = Target::Asserted("mine".to_owned());
        }
        if dice.once_in(10) {
            command.raised_class = Some(pick(dice, &SafetyClass::ALL));
        }
        self.commands.push(command.clone());
        command
    }

    fn ask(&mut self, stage: &mut Stage, dice: &mut Dice) -> Option<Operation> {
        let context_id = self.context(stage, dice)?;
        let what = match dice.below(6) {
            0 | 1 => options(),
            2 => AskWhat::Approval(self.command(dice)),
            _ => AskWhat::Confirmation(self.command(dice)),
        };
        let mut request = ask(&context_id, what);
        request.supersede = dice.once_in(3);
        request.ttl_seconds = dice.once_in(8).then_some(20);
        Some(Operation::Ask(Box::new(request)))
    }

    /// Mostly an open context, sometimes any.
    fn context(&self, stage: &Stage, dice: &mut Dice) -> Option<ContextId> {
        let open = stage.world.open_context(&conversation(pick(dice, &PLACES)), &crate::messages::principal("ana"));
        open.filter(|_| !dice.once_in(8)).map(|context| context.context_id.clone()).or_else(|| {
            let customer = crate::messages::principal(pick(dice, &CUSTOMERS));
            let own = stage.world.open_context(&conversation("conv-1"), &customer);
            own.map(|context| context.context_id.clone()).or_else(|| dice.pick(&self.contexts).cloned())
        })
    }

    fn attach(&mut self, stage: &Stage, dice: &mut Dice) -> Option<Operation> {
        // Usually the newest question; sometimes an old one, sometimes with an id that is taken.
        let asked = if dice.once_in(5) { dice.pick(&self.asked)? } else { self.asked.last()? };
        let taken = dice.pick(&self.prompts).cloned().filter(|_| dice.once_in(10));
        let name = taken.unwrap_or_else(|| format!("prompt.{}", self.serial));
        let sent_at = dice.once_in(6).then(|| Timestamp::from_micros(stage.now - 1_500_000));
        let operation = AttachPrompt {
            item_id: asked.id.clone(),
            message_id: message_id(&name),
            channel: crate::messages::channel(),
            message_key: message_key_of(&name),
            sent_at,
        };
        self.prompts.push(name);
        Some(Operation::AttachPrompt(operation))
    }

    fn bind(&mut self, stage: &Stage, dice: &mut Dice) -> Option<Operation> {
        let granted = |item: &&cscp::domain::item::PendingItem| {
            matches!(item.state, cscp::domain::item::ItemState::Granted { .. }) && item.command().is_some()
        };
        let ready = stage.world.items.values().rfind(granted).filter(|_| !dice.once_in(4));
        let (context_id, mut command) = match ready {
            Some(item) => {
                let id = &item.command()?.command_id;
                let known = self.commands.iter().find(|command| command.command_id == *id)?;
                (item.context_id.clone(), known.clone())
            }
            None => (self.context(stage, dice)?, self.command(dice)),
        };
        match dice.below(16) {
            0 => {
                let mut other = target();
                other[["amount", "order_id", "payee", "address_id"][dice.below(4)]] = json!("820000");
                command.target = Target::Clear(other);
            }
            1 => command.name = CommandName::new(pick(dice, &NAMES)).ok()?,
            2 => command.idempotency_key = IdempotencyKey::new(format!("key-c-{}", dice.below(self.serial))).ok()?,
            3 => command.raised_class = Some(pick(dice, &SafetyClass::ALL)),
            _ => {}
        }
        // Some workers do not make a new attempt for each command.
        let attempt = match dice.below(20) {
            0 => "always-the-same".to_owned(),
            number => format!("{}-{}", command.command_id, number / 16),
        };
        let mut request = bind(&context_id, command, &attempt);
        if dice.once_in(3)
            && let Some(Operation::Ingest(message)) = dice.pick(&self.delivered)
        {
            request.message_ids = vec![with_key(&message.message_id, stage.key(message))];
        }
        Some(op(request))
    }

    /// Deletes or edits what somebody wrote, mostly what was written last: delivered already, or not yet.
    fn withdraw(&mut self, stage: &mut Stage, dice: &mut Dice) -> Option<Operation> {
        if dice.once_in(3)
            && let Some(asked) = self.asked.last()
        {
            // A yes that arrives after its own deletion.
            let yes = stage.tap(&asked.yes());
            let deletion = stage.message(MessageKind::Revoke).quoting(yes.0.message_id.as_str());
            self.late.push(yes.op());
            return Some(deletion.op());
        }
        let approved = stage.world.items.values().rev().find_map(|item| match &item.question {
            Question::Approval { approvals, .. } if is_live(&item.state) => approvals.last().cloned(),
            _ => None,
        });
        if let Some((approver, message_id)) = approved.and_then(|given| Some((given.approver_id, given.message_id?)))
            && dice.once_in(2)
        {
            let deletion = stage.message(MessageKind::Revoke).of(approver.as_str()).in_conversation("conv-b");
            return Some(deletion.quoting(message_id.as_str()).op());
        }
        let from = if dice.once_in(4) { &self.late } else { &self.delivered };
        let Some(Operation::Ingest(written)) = dice.pick(&from[from.len().saturating_sub(3)..]) else { return None };
        let kind = if dice.once_in(2) { MessageKind::Revoke } else { MessageKind::Edit };
        let (who, place) = (written.actor_id.as_str().to_owned(), written.conversation_id.as_str().to_owned());
        let mut message = stage.message(kind).of(&who).in_conversation(&place).quoting(written.message_id.as_str());
        message.0.text = (kind == MessageKind::Edit).then(|| pick(dice, &TEXTS).to_owned());
        Some(message.op())
    }

    fn take_over(&self, stage: &mut Stage, dice: &mut Dice) -> Option<Operation> {
        let bound: Vec<_> = stage.world.commands.values().cloned().collect();
        let bound = dice.pick(&bound)?;
        if dice.once_in(2) {
            // Around the end of the time to report.
            stage.now = stage.now.max(bound.execution.report_by.as_micros() - i64::from(dice.once_in(3)));
        }
        let known = self.commands.iter().find(|command| command.command_id == bound.command_id)?;
        let mut command = known.clone();
        if dice.once_in(8) {
            command.target = Target::Clear(json!({"order_id": "another"}));
        }
        let first = bound.execution.replaced.first().map(|replaced| replaced.attempt_id.clone());
        let replaces = first.filter(|_| dice.once_in(4)).unwrap_or_else(|| bound.attempt_id.clone());
        let attempt = if dice.once_in(4) { bound.attempt_id.to_string() } else { format!("over-{}", self.serial) };
        Some(take_over(command, &attempt, replaces.as_str()))
    }

    fn report(&self, stage: &Stage, dice: &mut Dice) -> Option<Operation> {
        let command = dice.pick(&self.commands)?;
        let outcome = pick(dice, &Outcome::ALL);
        let waiting = dice.once_in(3).then_some(BlockedOn::External);
        let mut report = result(command.command_id.as_str(), outcome, waiting);
        report.close_context = dice.once_in(6);
        let bound = stage.world.commands.get(&command.command_id).filter(|_| dice.once_in(2));
        report.attempt_id = bound.map(|bound| {
            let replaced = bound.execution.replaced.first().map(|replaced| replaced.attempt_id.clone());
            replaced.filter(|_| dice.once_in(2)).unwrap_or_else(|| bound.attempt_id.clone())
        });
        Some(Operation::RecordResult(report))
    }

    fn slots(&self, stage: &Stage, dice: &mut Dice) -> Option<Operation> {
        let context_id = self.context(stage, dice)?;
        let value = json!({"active_target": format!("o-{}", dice.below(3)), "active_intent": "order.cancel"});
        Some(Operation::ChangeSlots(ChangeSlots {
            if_revision: stage.context(&context_id).revision,
            patch: value.as_object()?.clone(),
            context_id,
            credential: if dice.once_in(2) { CredentialKind::Agent } else { CredentialKind::Handler },
        }))
    }

    fn identity(stage: &mut Stage, dice: &mut Dice) -> Operation {
        let change = [IdentityChange::UserChangedNumber, IdentityChange::CustomerIdentityChanged][dice.below(2)];
        let who = if dice.once_in(2) { "ana" } else { pick(dice, &APPROVERS) };
        stage.news(change).of(who).in_conversation(pick(dice, &["conv-1", "conv-b"])).op()
    }

    fn register(&self, dice: &mut Dice) -> Operation {
        let who = pick(dice, &APPROVERS);
        let roles: &[&str] = if dice.once_in(4) { &[] } else { &["approver"] };
        let belongs = pick(dice, &[Some("p-ana"), Some("p-boss"), Some("p-chief"), None]);
        let phone = match dice.below(8) {
            0 => format!("+{}", self.serial),
            1 => "+shared".to_owned(),
            _ => format!("+{who}"),
        };
        Operation::PutPrincipal(person(who, roles, belongs, &phone))
    }

    /// Remembers what the caller would know now.
    pub(crate) fn learn(&mut self, operation: &Operation, decision: &Decision) {
        if matches!(operation, Operation::Ingest(_)) && decision.result.is_ok() {
            self.delivered.push(operation.clone());
        }
        if let Ok(Answer::Asked { item, nonce, .. }) = &decision.result {
            self.asked.push(Asked { id: item.item_id.clone(), nonce: nonce.clone(), prompt: String::new() });
        }
        for recorded in &decision.events {
            if let Event::ContextCreated { context } = &recorded.event {
                self.contexts.push(context.context_id.clone());
            }
        }
    }
}

fn pick<T: Copy>(dice: &mut Dice, from: &[T]) -> T {
    from[dice.below(from.len())]
}
