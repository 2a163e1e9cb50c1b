//! Asking: a question is registered, with all that a later answer will be held against, before it is sent.

use std::borrow::Cow;

use serde_json::{Value, json};

use super::slotting::stored_form;
use super::{Turn, about_item, usable};
use crate::domain::canonical::{Digest, Purpose, keyed};
use crate::domain::command::CommandRecord;
use crate::domain::context::{ContextRecord, OpenItems, State};
use crate::domain::event::Event;
use crate::domain::fingerprint::{fingerprint, material};
use crate::domain::id::ItemKind;
use crate::domain::item::{
    Choice, FingerprintOrigin, ItemState, MAX_OPTIONS, PendingItem, Prompt, ProposedCommand, Question,
    TargetFingerprint, VoidReason,
};
use crate::domain::lexicon::{Naming, Reading, has_hidden, normalise};
use crate::domain::lifecycle::LifecycleEvent;
use crate::domain::operation::{Answer, Ask, AskWhat, CommandSpec, CredentialKind, Target};
use crate::domain::policy::{CommandRules, ImmaterialFields, SafetyClass, SlotStorage};
use crate::domain::prompt::{Button, ButtonAction, PromptError, ShownPrompt, button_id, nonce_digest, nonce_text};
use crate::domain::refusal::Refusal;
use crate::domain::slots::{ACTIVE_TARGET, SlotError, pending_slot};

impl Turn<'_, '_> {
    pub(super) fn ask(&mut self, request: &Ask) -> Result<Answer, Refusal> {
        let context = self.context(&request.context_id)?;
        usable(&context)?;
        if let AskWhat::Disambiguation(options) = &request.what
            && !(1..=MAX_OPTIONS).contains(&options.len())
        {
            return Err(Refusal::LimitExceeded { limit: format!("options: 1 to {MAX_OPTIONS}") });
        }
        let prompt = with_default_buttons(&request.prompt, &request.what);
        prompt.check(matches!(request.what, AskWhat::Disambiguation(_)))?;
        self.check_labels(&prompt, &request.what)?;
        self.refuse_early(request)?;
        let (question, window) = self.question(&request.what, &context)?;
        let place = match &request.what {
            AskWhat::Confirmation(_) => ItemKind::Confirmation,
            AskWhat::Approval(_) => ItemKind::Approval,
            AskWhat::Disambiguation(_) => ItemKind::Disambiguation,
        };
        if let Some(open) = context.open_items().and_then(|open| open.in_place_of(place)).cloned() {
            if !request.supersede {
                return Err(Refusal::QuestionPending { item_id: open });
            }
            if let Some(item) = self.world.items.get(&open).cloned() {
                self.settle(&item, ItemState::voided(self.now, VoidReason::Replaced));
            }
        }
        let nonce = self.ids.secret();
        let item = self.new_item(request, &context, question, window, &prompt, &nonce);
        self.record_asked(&item);
        let button_ids = prompt.buttons.iter().map(|button| button_id(button.action, &nonce)).collect();
        let effective_deadline = self.world.effective_deadline(&item);
        Ok(Answer::Asked { item: Box::new(item), effective_deadline, nonce: nonce_text(&nonce), button_ids })
    }

    /// Refuses a question whose answer could not be bound: the command or its key was bound before, or the command is
    /// being asked for in another context. Said now, it spares the person the answer.
    fn refuse_early(&self, request: &Ask) -> Result<(), Refusal> {
        let (AskWhat::Confirmation(spec) | AskWhat::Approval(spec)) = &request.what else { return Ok(()) };
        if let Some(bound) = self.world.commands.get(&spec.command_id) {
            let execution = bound.execution_state(self.now);
            return Err(Refusal::CommandBound { execution, outcome: bound.outcome() });
        }
        let of_key = |bound: &&CommandRecord| bound.idempotency_key == spec.idempotency_key;
        if let Some(bound) = self.world.commands.values().find(of_key) {
            let execution = bound.execution_state(self.now);
            return Err(Refusal::IdempotencyKeyBound { execution, outcome: bound.outcome() });
        }
        if self.world.was_bound_and_erased(&spec.command_id, &spec.idempotency_key) {
            return Err(Refusal::CommandErased);
        }
        let elsewhere = self.world.items.values().find(|item| {
            let same = item.command().is_some_and(|asked| asked.command_id == spec.command_id);
            same && item.context_id != request.context_id && self.still_counts(item)
        });
        match elsewhere {
            Some(item) => {
                let state = item.state_word().to_owned();
                Err(Refusal::CommandAskedElsewhere { item_id: item.item_id.clone(), state })
            }
            None => Ok(()),
        }
    }

    /// Whether an item of another conversation can still lead to a binding. What is due there is not written down yet.
    fn still_counts(&self, item: &PendingItem) -> bool {
        let open_context = self.world.contexts.get(&item.context_id).is_none_or(|context| !context.is_due(self.now));
        open_context
            && match &item.state {
                ItemState::Open => self.now < item.expires_at,
                ItemState::Granted { bind_by, .. } => self.now < *bind_by,
                _ => false,
            }
    }

    /// A label must say what its button does: a typed or quoted label is read by its words.
    fn check_labels(&self, prompt: &ShownPrompt, what: &AskWhat) -> Result<(), Refusal> {
        let says = match what {
            AskWhat::Confirmation(spec) | AskWhat::Approval(spec) => self.rules.policy.says(spec.name.as_str()),
            AskWhat::Disambiguation(_) => Cow::default(),
        };
        let mut titles: Vec<String> = Vec::new();
        for (index, button) in prompt.buttons.iter().enumerate() {
            let title = normalise(&button.title);
            let naming = self.rules.lexicon.read_naming(&button.title, &says);
            let names_only = matches!(naming, Some(Naming::Unclear(_)));
            let reading =
                naming.map_or_else(|| self.rules.lexicon.read(&button.title), |naming| naming.reading().clone());
            let problem = match (button.action, reading) {
                _ if has_hidden(&button.title) => "it has a character that nobody can see, or that reorders the others",
                _ if titles.contains(&title) => "another button has the same title",
                (ButtonAction::Accept, Reading::Negative { .. }) => "it reads as a no, and the button means yes",
                (ButtonAction::Accept, _) if self.rules.lexicon.is_no_label_of_yes(&button.title) => {
                    "it says not, or asks to wait, and the button means yes"
                }
                (ButtonAction::Refuse, _) if names_only && !self.rules.lexicon.is_no_label_of_yes(&button.title) => {
                    "it names the command, and the button means no"
                }
                (ButtonAction::Refuse, Reading::Affirmative { .. }) => "it reads as a yes, and the button means no",
                _ => {
                    titles.push(title);
                    continue;
                }
            };
            let field = format!("/buttons/{index}/title");
            return Err(PromptError { field, problem: problem.to_owned() }.into());
        }
        Ok(())
    }

    fn new_item(
        &mut self,
        request: &Ask,
        context: &ContextRecord,
        question: Question,
        window_seconds: u32,
        prompt: &ShownPrompt,
        nonce: &Digest,
    ) -> PendingItem {
        let window = request.ttl_seconds.map_or(window_seconds, |asked| asked.min(window_seconds));
        let salt = self.ids.secret();
        let (kind, policy) = match &question {
            Question::Confirmation { command } => (ItemKind::Confirmation, command.rules.policy.clone()),
            Question::Approval { command, .. } => (ItemKind::Approval, command.rules.policy.clone()),
            Question::Disambiguation { .. } => (ItemKind::Disambiguation, self.rules.policy.reference().clone()),
        };
        PendingItem {
            item_id: self.ids.item(kind),
            question,
            state: ItemState::Open,
            context_id: context.context_id.clone(),
            conversation_id: context.conversation_id.clone(),
            actor_id: context.actor_id.clone(),
            identity_epoch: self.world.identity_epoch(&context.actor_id),
            asked_at: self.now,
            expires_at: self.now.plus_seconds(window),
            prompts: vec![Prompt { message_id: None, channel: None, sent_at: None, registered_at: self.now }],
            nonce_digest: nonce_digest(nonce),
            prompt_digest: prompt.digest(&salt),
            prompt_salt: salt,
            unrelated_messages: 0,
            stopped: Vec::new(),
            correlation_id: request.correlation_id.clone().or_else(|| context.trace.correlation_id.clone()),
            policy,
        }
    }

    fn record_asked(&mut self, item: &PendingItem) {
        let slot = pending_slot(item.kind());
        let stored = self.rules.policy.pack().slots.storage_of(slot) == SlotStorage::Stored;
        // Where the requester may be the approver as well, the approval may be put to the requester.
        let elsewhere = matches!(&item.question, Question::Approval { rule, .. } if rule.separate_person);
        let event = Event::ItemAsked { item: item.clone(), slot: stored.then(|| slot_copy(item)), heard: !elsewhere };
        self.record_in(&item.conversation_id, about_item(item), event);
        let Some(context) = self.world.contexts.get(&item.context_id) else { return };
        let (on, to) = match context.open_items() {
            None => (LifecycleEvent::QuestionOpened, OpenItems::one(item.item_id.clone())),
            Some(open) => (LifecycleEvent::QuestionAdded, open.and(item.item_id.clone())),
        };
        let expires_at = context.expires_at;
        let moved = self.try_transit(&item.context_id, on, State::Pending(to), expires_at);
        debug_assert!(moved.is_ok(), "a usable context takes a question in a free place: {moved:?}");
    }

    /// What is asked, and for how long an answer counts, in seconds.
    fn question(&mut self, what: &AskWhat, context: &ContextRecord) -> Result<(Question, u32), Refusal> {
        match what {
            AskWhat::Confirmation(spec) => {
                let command = self.proposed(spec)?;
                let window = command.rules.confirmation_ttl_seconds;
                Ok((Question::Confirmation { command }, window))
            }
            AskWhat::Approval(spec) => {
                let command = self.proposed(spec)?;
                let rule = command.rules.approval.clone().ok_or(Refusal::ApprovalNotNeeded)?;
                let requester = self.world.principals.get(&context.actor_id);
                let requester_person = requester.and_then(|principal| principal.person_id.clone());
                let window = command.rules.approval_ttl_seconds;
                Ok((Question::Approval { command, rule, requester_person, approvals: Vec::new() }, window))
            }
            AskWhat::Disambiguation(options) => {
                let pack = self.rules.policy.pack();
                let (window, bare_answers) = (pack.disambiguation.ttl_seconds, pack.answers.disambiguation_bare);
                let title_key = self.ids.secret();
                let unclear_numbers = unclear_numbers(options);
                let options = self.choices(options, &title_key, context)?;
                Ok((Question::Disambiguation { options, title_key, bare_answers, unclear_numbers }, window))
            }
        }
    }

    /// The command with what policy demands of it and the fingerprint that an answer will be bound to.
    fn proposed(&mut self, spec: &CommandSpec) -> Result<ProposedCommand, Refusal> {
        let rules = self.rules.policy.command(spec.name.as_str(), spec.raised_class);
        let key = self.ids.secret();
        let (value, origin) = fingerprint_of(&key, spec, &rules)?;
        Ok(ProposedCommand {
            command_id: spec.command_id.clone(),
            name: spec.name.clone(),
            idempotency_key: spec.idempotency_key.clone(),
            fingerprint: TargetFingerprint { value, origin, key },
            rules,
        })
    }

    /// Options that can be told apart however they are named.
    fn choices(
        &self,
        options: &[(String, Value)],
        title_key: &Digest,
        context: &ContextRecord,
    ) -> Result<Vec<Choice>, Refusal> {
        let mut others = context.slots.clone();
        others.remove(ACTIVE_TARGET);
        let mut titles: Vec<String> = Vec::new();
        let mut choices = Vec::new();
        for (index, (title, target)) in options.iter().enumerate() {
            let normal = normalise(title);
            let as_number =
                self.rules.lexicon.read_option(title).filter(|number| usize::try_from(*number) != Ok(index + 1));
            if normal.is_empty() || titles.contains(&normal) || as_number.is_some() {
                return Err(Refusal::OptionsAmbiguous);
            }
            let names_something = match target {
                Value::String(text) => !text.is_empty(),
                Value::Object(members) => !members.is_empty(),
                _ => false,
            };
            if !names_something {
                let expected = "a text that is not empty, or an object that is not empty".to_owned();
                return Err(Refusal::Slot { slot: ACTIVE_TARGET.to_owned(), problem: SlotError::Shape { expected } });
            }
            // Kept as the slot will hold it, so that choosing can neither fail nor store more than policy allows.
            let patch = serde_json::Map::from_iter([(ACTIVE_TARGET.to_owned(), target.clone())]);
            let stored = stored_form(self.rules, &self.world.tenant_key, &others, &patch, CredentialKind::Handler)?;
            let target = stored.get(ACTIVE_TARGET).cloned().unwrap_or(Value::Null);
            choices.push(Choice { target, title_digest: title_digest(title_key, &normal) });
            titles.push(normal);
        }
        Ok(choices)
    }
}

/// Numbers of options that stand in the title of another one: of "3 parcelas" and "2 parcelas" a typed "2" may mean the
/// second option or the one that is called so.
fn unclear_numbers(options: &[(String, Value)]) -> Vec<u32> {
    let mut unclear = Vec::new();
    for (position, (title, _)) in (1_u32..).zip(options) {
        let title = normalise(title);
        let numbers = title.split(|c: char| !c.is_ascii_digit()).filter_map(|digits| digits.parse::<u32>().ok());
        let others =
            numbers.filter(|number| *number != position && usize::try_from(*number).is_ok_and(|n| n <= options.len()));
        unclear.extend(others.filter(|number| *number > 0));
    }
    unclear.sort_unstable();
    unclear.dedup();
    unclear
}

/// Digest of a normalised option title.
pub(super) fn title_digest(key: &Digest, normalised: &str) -> Digest {
    keyed(key, Purpose::Option, normalised.as_bytes())
}

/// The fingerprint of a command under `key`, as policy wants it made.
pub fn fingerprint_of(
    key: &Digest,
    spec: &CommandSpec,
    rules: &CommandRules,
) -> Result<(String, FingerprintOrigin), Refusal> {
    // Whoever agrees agrees to something, and so does whoever changes something.
    let needed = rules.class >= SafetyClass::S1 || rules.confirmation_required || rules.approval.is_some();
    match &spec.target {
        Target::Asserted(_) if rules.class >= SafetyClass::S2 => Err(Refusal::FingerprintNotAccepted),
        Target::Missing if needed => Err(Refusal::TargetRequired { class: rules.class.to_string() }),
        Target::Clear(_) | Target::Asserted(_) | Target::Missing => Ok(recomputed(key, spec, &rules.immaterial_fields)),
    }
}

/// The same without asking what policy wants: for holding a repetition against what was bound.
pub(super) fn recomputed(
    key: &Digest,
    spec: &CommandSpec,
    immaterial: &ImmaterialFields,
) -> (String, FingerprintOrigin) {
    let target = match &spec.target {
        Target::Clear(target) => target,
        Target::Asserted(digest) => return (digest.clone(), FingerprintOrigin::CallerAsserted),
        Target::Missing => &Value::Null,
    };
    let covered = material(target, immaterial);
    (fingerprint(key, &spec.name, &spec.idempotency_key, &covered), FingerprintOrigin::Computed)
}

/// What readers of the slots see of an open question: what RFC VIII.B asks to be stored, and no secret.
#[must_use]
pub fn slot_copy(item: &PendingItem) -> Value {
    let mut copy =
        json!({"item_id": item.item_id.as_str(), "requested_at": item.asked_at, "expires_at": item.expires_at});
    match &item.question {
        Question::Confirmation { command } | Question::Approval { command, .. } => {
            copy["command_id"] = json!(command.command_id);
            copy["command_name"] = json!(command.name);
            copy["idempotency_key"] = json!(command.idempotency_key);
            copy["target_fingerprint"] = json!(command.fingerprint.value);
            copy["safety_class"] = json!(command.rules.class);
        }
        Question::Disambiguation { options, .. } => copy["options"] = json!(options.len()),
    }
    copy
}

/// A prompt without buttons still gets ids, for callers that render their own.
fn with_default_buttons(prompt: &ShownPrompt, what: &AskWhat) -> ShownPrompt {
    let mut prompt = prompt.clone();
    if let AskWhat::Disambiguation(options) = what {
        let rows = (1_u8..).zip(options);
        prompt.buttons = rows
            .map(|(option, (title, _))| Button { title: title.clone(), action: ButtonAction::Choose(option) })
            .collect();
    }
    prompt
}
