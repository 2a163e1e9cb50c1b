//! The pure core, operation by operation: what a decision, a hash and a reading cost without database and network.
//!
//! `cargo bench --bench core -- --warm-up-time 0.5 --measurement-time 1`

#![expect(clippy::unwrap_used, reason = "a stage that cannot be built is nothing to measure")]

use std::hint::black_box;

use criterion::{BatchSize, Criterion};
use cscp::domain::canonical::{Digest, Purpose, canonical, hash, parse};
use cscp::domain::decide::{Decision, decide};
use cscp::domain::event::{Recorded, StreamKey};
use cscp::domain::id::{
    AttemptId, Channel, CommandId, CommandName, ContextId, ConversationId, Entropy, IdempotencyKey, Ids, ItemId,
    MessageId, PrincipalId, TenantId,
};
use cscp::domain::message::{Direction, MessageEvent, MessageKind};
use cscp::domain::operation::{Answer, Ask, AskWhat, AttachPrompt, Bind, CommandSpec, Envelope, Operation, Target};
use cscp::domain::policy::PolicyScope;
use cscp::domain::prompt::{Button, ButtonAction, ShownPrompt};
use cscp::domain::rulebook::Rulebook;
use cscp::domain::time::Timestamp;
use cscp::domain::world::World;
use cscp::evidence::entry::{ENTRY_VERSION, Payload, StreamHead, append};
use cscp::packs::PackSource;
use serde_json::{Value, json};

const START: i64 = 1_790_000_000_250_000;
const SECOND: i64 = 1_000_000;
/// Of class S1 in the shipped packs: a bare yes is enough.
const COMMAND: &str = "address.update";

/// Bytes that repeat from run to run.
struct Seeded(u64);

impl Entropy for Seeded {
    fn bytes(&mut self) -> [u8; 32] {
        self.0 += 1;
        *hash(Purpose::Nonce, &[&self.0.to_be_bytes()]).as_bytes()
    }
}

/// A world in which one person talks, and the rules over it.
struct Stage {
    rules: Rulebook,
    scope: PolicyScope,
    world: World,
    now: i64,
}

impl Stage {
    fn new() -> Self {
        let tenant = "bench";
        let scope =
            PolicyScope { tenant_id: tenant.to_owned(), environment: "production".to_owned(), attached_pack: None };
        let world = World::new(TenantId::new(tenant).unwrap(), Digest::from_bytes([7; 32]));
        Self { rules: PackSource::Shipped.load().unwrap(), scope, world, now: START }
    }

    fn at(&self) -> Timestamp {
        Timestamp::from_micros(self.now)
    }

    /// Decides in a world of the caller's.
    fn decide_in(&self, world: &mut World, operation: &Operation, entropy: &mut Seeded) -> Decision {
        let now = self.at();
        let rules = self.rules.rules(&self.scope);
        decide(world, operation, &rules, now, &mut Ids::new(now, entropy))
    }

    /// Decides, keeps what it led to, and lets two seconds pass.
    fn step(&mut self, operation: &Operation) -> Decision {
        let mut world = self.world.clone();
        let decision = self.decide_in(&mut world, operation, &mut Seeded(u64::try_from(self.now).unwrap()));
        assert!(decision.result.is_ok(), "{:?}", decision.result);
        self.world = world;
        self.now += 2 * SECOND;
        decision
    }

    fn message(&self, id: &str) -> MessageEvent {
        let digest = hash(Purpose::Request, &[id.as_bytes()]);
        MessageEvent {
            message_id: MessageId::new(id).unwrap(),
            channel: Channel::new("whatsapp").unwrap(),
            conversation_id: ConversationId::new("conv-1").unwrap(),
            actor_id: PrincipalId::new("ana").unwrap(),
            sent_at: self.at(),
            direction: Direction::Inbound,
            kind: MessageKind::Text,
            text: None,
            button_id: None,
            reply_to: None,
            forwarded: false,
            transcript: None,
            system: None,
            expects_reply: true,
            prompt_for: None,
            locale: None,
            correlation_id: None,
            extensions: serde_json::Map::new(),
            body_digest: digest,
            content_digest: digest,
            content_salt: digest,
        }
    }

    fn said(&self, id: &str, text: &str) -> Operation {
        Operation::Ingest(Box::new(MessageEvent { text: Some(text.to_owned()), ..self.message(id) }))
    }

    fn tapped(&self, id: &str, button_id: &str) -> Operation {
        let kind = MessageKind::Interactive;
        Operation::Ingest(Box::new(MessageEvent { kind, button_id: Some(button_id.to_owned()), ..self.message(id) }))
    }
}

fn spec() -> CommandSpec {
    CommandSpec {
        command_id: CommandId::new("cmd-1").unwrap(),
        name: CommandName::new(COMMAND).unwrap(),
        idempotency_key: IdempotencyKey::new("key-1").unwrap(),
        raised_class: None,
        target: Target::Clear(json!({"address_id": "home"})),
    }
}

fn ask(context_id: &ContextId) -> Operation {
    let button = |title: &str, action| Button { title: title.to_owned(), action };
    Operation::Ask(Box::new(Ask {
        context_id: context_id.clone(),
        what: AskWhat::Confirmation(spec()),
        prompt: ShownPrompt {
            text: "Deliver to your home address from now on?".to_owned(),
            buttons: vec![button("Yes", ButtonAction::Accept), button("No", ButtonAction::Refuse)],
        },
        supersede: false,
        ttl_seconds: None,
        correlation_id: None,
    }))
}

fn attach(item_id: ItemId) -> Operation {
    let message_id = MessageId::new("wamid.out").unwrap();
    let channel = Channel::new("whatsapp").unwrap();
    Operation::AttachPrompt(AttachPrompt { item_id, message_id, channel, message_key: Digest::ZERO, sent_at: None })
}

fn bind(context_id: &ContextId) -> Operation {
    Operation::Bind(Box::new(Bind {
        context_id: context_id.clone(),
        attempt_id: AttemptId::new("try-1").unwrap(),
        command: spec(),
        envelope: Envelope::Clear(json!({"command_id": "cmd-1", "args": {"address_id": "home"}})),
        context_pack: None,
        message_ids: Vec::new(),
        correlation_id: None,
    }))
}

/// One decision, each time in a fresh copy of the same world; copying and dropping it are not counted.
fn decision(criterion: &mut Criterion, name: &str, stage: &Stage, operation: &Operation) {
    criterion.bench_function(&format!("decide/{name}"), |bench| {
        let mut entropy = Seeded(1 << 60);
        bench.iter_batched_ref(
            || stage.world.clone(),
            |world| stage.decide_in(world, black_box(operation), &mut entropy),
            BatchSize::SmallInput,
        );
    });
}

/// Plays one exchange and measures each decision where it occurs. Returns the events of all of them.
fn decisions(criterion: &mut Criterion, stage: &mut Stage) -> Vec<Recorded> {
    let mut events = Vec::new();
    let hello = stage.said("wamid.1", "hello there");
    events.extend(stage.step(&hello).events);
    decision(criterion, "duplicate", stage, &hello);
    let ordinary = stage.said("wamid.2", "please send it to my home address");
    decision(criterion, "ordinary message", stage, &ordinary);
    events.extend(stage.step(&ordinary).events);
    let context_id = stage.world.contexts.keys().next().unwrap().clone();
    let question = ask(&context_id);
    decision(criterion, "ask", stage, &question);
    let asked = stage.step(&question);
    let Ok(Answer::Asked { item, button_ids, .. }) = asked.result else { return events };
    events.extend(asked.events);
    events.extend(stage.step(&attach(item.item_id.clone())).events);
    let tap = stage.tapped("wamid.3", &button_ids[0]);
    decision(criterion, "tap confirmed", stage, &tap);
    let yes = stage.said("wamid.4", "yes");
    decision(criterion, "bare yes confirmed", stage, &yes);
    events.extend(stage.step(&yes).events);
    let binding = bind(&context_id);
    decision(criterion, "bind", stage, &binding);
    events.extend(stage.step(&binding).events);
    events
}

/// What a decision pays besides deciding: the fold, the hashes, the rules.
fn parts(criterion: &mut Criterion, stage: &Stage, events: &[Recorded]) {
    let at = stage.at();
    let empty = World::new(TenantId::new("bench").unwrap(), Digest::from_bytes([7; 32]));
    criterion.bench_function(&format!("World::apply/{} events of an exchange", events.len()), |bench| {
        let fold = |world: &mut World| events.iter().for_each(|recorded| world.apply(at, &recorded.event));
        bench.iter_batched_ref(|| empty.clone(), fold, BatchSize::SmallInput);
    });
    let rules = stage.rules.rules(&stage.scope);
    let recorded = events.iter().find(|recorded| recorded.event.evidence_type().contains("message")).unwrap();
    let payload = Payload {
        v: ENTRY_VERSION,
        about: recorded.about.clone(),
        policy: rules.policy.reference().clone(),
        event: cscp::evidence::entry::Logged::Core(recorded.event.clone()),
    };
    let bytes = canonical(&payload);
    criterion.bench_function(&format!("canonical/payload of a message, {} bytes", bytes.len()), |bench| {
        bench.iter(|| canonical(black_box(&payload)));
    });
    criterion.bench_function("append/entry of a message", |bench| {
        let mut entropy = Seeded(0);
        let mut ids = Ids::new(at, &mut entropy);
        let tenant_id = TenantId::new("bench").unwrap();
        let mut head = StreamHead::new(ids.stream());
        let policy = rules.policy.reference();
        bench.iter(|| append(&mut head, &tenant_id, black_box(recorded), policy, at, &mut ids));
    });
    criterion.bench_function("policy/view and rules of a command", |bench| {
        bench.iter(|| stage.rules.rules(black_box(&stage.scope)).policy.command(black_box(COMMAND), None));
    });
}

/// About 2.5 kB of the kind of JSON that callers send.
fn document() -> Value {
    let line = |number: u32| {
        json!({
            "sku": format!("sku-{number:05}"), "quantity": number % 7, "price": "1299.90", "gift": number.is_multiple_of(2),
            "note": "leave it with the neighbours, please", "größe": [number, 42.5, null],
        })
    };
    json!({"order_id": "o-4711", "customer": {"name": "Ana", "city": "São Paulo"}, "lines": (0..17).map(line).collect::<Vec<_>>()})
}

fn documents(criterion: &mut Criterion) {
    let document = document();
    let text = document.to_string();
    let size = text.len();
    criterion.bench_function(&format!("canonical/document of {size} bytes"), |bench| {
        bench.iter(|| canonical(black_box(&document)));
    });
    criterion.bench_function(&format!("parse/strict, {size} bytes"), |bench| {
        bench.iter(|| parse(black_box(text.as_bytes())));
    });
    criterion.bench_function(&format!("parse/serde_json, {size} bytes"), |bench| {
        bench.iter(|| serde_json::from_slice::<Value>(black_box(text.as_bytes())));
    });
}

fn readings(criterion: &mut Criterion, stage: &Stage) {
    let rules = stage.rules.rules(&stage.scope);
    let long = "well, I have thought about it for a while and what I would like to know first is when it arrives ";
    let long = long.repeat(10);
    for (name, text) in [("yes", "Yes, please!"), ("968 bytes", long.as_str())] {
        criterion.bench_function(&format!("lexicon/{name}"), |bench| {
            bench.iter(|| rules.lexicon.read(black_box(text)));
        });
    }
}

fn main() {
    let mut criterion = Criterion::default().configure_from_args();
    let mut stage = Stage::new();
    let events = decisions(&mut criterion, &mut stage);
    assert!(matches!(events.last(), Some(Recorded { stream: StreamKey::Conversation(_), .. })));
    parts(&mut criterion, &stage, &events);
    documents(&mut criterion);
    readings(&mut criterion, &stage);
    criterion.final_summary();
}
