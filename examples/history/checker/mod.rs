//! Random clients against running servers, every request with its answer, and the rules that all of them together
//! must keep. It knows the servers by their HTTP interface only.

mod acts;
mod bodies;
mod clock;
mod contract;
mod facts;
mod learning;
mod pause;
mod probing;
#[path = "../../load/random.rs"]
mod random;
mod reading;
mod record;
mod rules;
mod seen;
mod stage;
#[path = "../../load/wire.rs"]
mod wire;
mod world;

use std::cell::{Cell, RefCell};
use std::collections::VecDeque;
use std::rc::Rc;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

use tokio::task::LocalSet;

use clock::Clock;
use contract::Promise;
use facts::{Facts, Offset};
use random::Random;
use record::{Call, History, Record};
pub(crate) use rules::{RULES, Violation};
use stage::Stage;
pub(crate) use stage::{Counts, Patience};
use wire::Server;
use world::{Rules, Setting, World};

/// So many acknowledged requests are kept over all rounds, to be looked at once more at the very end.
const KEPT: usize = 20_000;

/// A longer list of executions is not read to its end, and not held against the history.
const PAGES: usize = 250;

/// What is to be played.
#[derive(Debug, Clone)]
pub(crate) struct Plan {
    /// The servers, as `host:port`.
    pub(crate) addresses: Vec<String>,
    /// A key of the kind handler, or of any kind with its scopes; with `approval:decide` decisions are made, too.
    pub(crate) key: String,
    pub(crate) seed: u64,
    /// About so many requests; those that read back at the end come in addition.
    pub(crate) operations: u64,
    /// After so many, everything is read back and judged, and a new round begins with new names.
    pub(crate) round: u64,
    pub(crate) clients: usize,
    pub(crate) conversations: usize,
    pub(crate) patience: Patience,
    /// Set from outside when it has been enough.
    pub(crate) stop: Arc<AtomicBool>,
}

/// What came of it.
#[derive(Debug, Default)]
pub(crate) struct Outcome {
    pub(crate) requests: u64,
    pub(crate) unanswered: u64,
    pub(crate) rounds: u64,
    pub(crate) executed: usize,
    pub(crate) counts: Counts,
    pub(crate) violations: Vec<Violation>,
    /// Newer promises that the servers do not make, in words.
    pub(crate) not_promised: Vec<&'static str>,
}

/// Plays the plan on this thread, and judges it. Fails if the servers cannot be played on at all.
pub(crate) fn run(plan: &Plan, progress: impl FnMut(&Outcome)) -> Result<Outcome, String> {
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build();
    let runtime = runtime.map_err(|error| error.to_string())?;
    LocalSet::new().block_on(&runtime, play(plan, progress))
}

async fn play(plan: &Plan, mut progress: impl FnMut(&Outcome)) -> Result<Outcome, String> {
    let clock = Clock::start();
    let run = format!("h{:x}", clock.now());
    let (rules, promises) = (Rules::default(), contract::Promises::default());
    let mut setting = Setting { run, seed: plan.seed, conversations: plan.conversations, rules, promises };
    let first = stage(plan, clock, World::new(&setting, 0, clock.now()), Offset::default());
    let persons = probing::probe(&first, &mut setting).await?;
    let mut outcome = Outcome { not_promised: setting.promises.missing(), ..Outcome::default() };
    let mut offset = *first.offset.borrow();
    let mut kept = Kept { random: Random::new(plan.seed), seen: 0, records: VecDeque::new() };
    while outcome.requests < plan.operations && !plan.stop.load(Ordering::Relaxed) {
        let world = World::new(&setting, outcome.rounds + 1, clock.now());
        let stage = Rc::new(stage(plan, clock, world, offset));
        stage.history.borrow_mut().persons.clone_from(&persons);
        let enough = plan.round.min(plan.operations - outcome.requests);
        one_round(&stage, plan, enough).await?;
        let history = stage.history.take();
        offset = *stage.offset.borrow();
        let facts = Facts::of(&history, &setting.promises, offset.bounds());
        outcome.violations.extend(rules::check(&facts, |_| true));
        drop(facts);
        outcome.add(&stage, &history);
        kept.take(history);
        progress(&outcome);
    }
    // Once more at the very end, with everything that came after.
    let last = Rc::new(stage(plan, clock, World::new(&setting, u64::MAX, clock.now()), offset));
    last.history.borrow_mut().records.extend(kept.records);
    let calls = reading::read_back(&last.history.borrow());
    read_all(&last, calls, plan.clients).await?;
    let history = last.history.take();
    let facts = Facts::of(&history, &setting.promises, offset.bounds());
    outcome.violations.extend(rules::check(&facts, |rule| rule.of_parts));
    Ok(outcome)
}

impl Outcome {
    fn add(&mut self, stage: &Stage, history: &History) {
        self.rounds += 1;
        self.requests += stage.sent.get();
        self.unanswered += stage.unanswered.get();
        self.executed += history.executed.len();
        for (line, count) in stage.counts.take() {
            *self.counts.entry(line).or_default() += count;
        }
    }
}

fn stage(plan: &Plan, clock: Clock, world: World, offset: Offset) -> Stage {
    Stage {
        servers: plan.addresses.iter().map(|address| Server::new(address, &plan.key)).collect(),
        clock,
        patience: plan.patience,
        world: RefCell::new(world),
        history: RefCell::default(),
        downstream: RefCell::default(),
        offset: RefCell::new(offset),
        counts: RefCell::default(),
        sent: Cell::new(0),
        unanswered: Cell::new(0),
        failed: RefCell::default(),
        stop: Arc::clone(&plan.stop),
    }
}

async fn one_round(stage: &Rc<Stage>, plan: &Plan, enough: u64) -> Result<(), String> {
    let clients: Vec<_> =
        (0..plan.clients).map(|client| tokio::task::spawn_local(Rc::clone(stage).play(client, enough))).collect();
    for client in clients {
        client.await.map_err(|error| format!("a client has failed: {error}"))?;
    }
    let calls = reading::read_back(&stage.history.borrow());
    read_all(stage, calls, plan.clients).await?;
    let listed = stage.world.borrow().promises.make(Promise::Execution);
    if listed { list_executions(stage).await } else { Ok(()) }
}

/// Reads the whole list of executions, page by page.
async fn list_executions(stage: &Rc<Stage>) -> Result<(), String> {
    let mut cursor: Option<String> = None;
    for page in 0..PAGES {
        let call = Rc::new(bodies::executions(true, cursor.as_deref()));
        match stage.call(&call, page).await {
            Ok(answer) => cursor = answer.seen.next_cursor,
            Err(_) => break,
        }
        if cursor.is_none() {
            break;
        }
    }
    match stage.failed.borrow_mut().take() {
        Some(what) => Err(what),
        None => Ok(()),
    }
}

/// Makes these requests, so many at a time.
async fn read_all(stage: &Rc<Stage>, calls: Vec<Rc<Call>>, clients: usize) -> Result<(), String> {
    let calls = Rc::new(RefCell::new(calls));
    let readers: Vec<_> = (0..clients)
        .map(|client| {
            let (stage, calls) = (Rc::clone(stage), Rc::clone(&calls));
            tokio::task::spawn_local(async move {
                let mut turn = client;
                loop {
                    let Some(call) = calls.borrow_mut().pop() else { return };
                    turn += 1;
                    if stage.call(&call, turn).await.is_err() {
                        return;
                    }
                }
            })
        })
        .collect();
    for reader in readers {
        reader.await.map_err(|error| format!("a client has failed: {error}"))?;
    }
    match stage.failed.borrow_mut().take() {
        Some(what) => Err(what),
        None => Ok(()),
    }
}

/// An even sample of what was acknowledged in all rounds.
struct Kept {
    random: Random,
    seen: u64,
    records: VecDeque<Record>,
}

impl Kept {
    fn take(&mut self, history: History) {
        for record in history.records {
            if record.done().is_none() || record.call.reads_back {
                continue;
            }
            self.seen += 1;
            if self.records.len() < KEPT {
                self.records.push_back(record);
                continue;
            }
            let at = usize::try_from(self.random.below(self.seen)).unwrap_or(usize::MAX);
            if let Some(place) = self.records.get_mut(at) {
                *place = record;
            }
        }
    }
}
