//! Where clients play: the servers, the clock, and one way to make a request until it is answered.

use std::cell::{Cell, RefCell};
use std::collections::BTreeMap;
use std::rc::Rc;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

use futures_util::future::join_all;
use serde_json::Value;
use tokio::time::timeout;

use super::clock::{Clock, NEVER};
use super::facts::Offset;
use super::learning::{Downstream, Follows};
use super::pause::stay_away;
use super::record::{Answer, Call, History, Record};
use super::seen::Seen;
use super::wire::{Request, Server};
use super::world::World;

/// How long the first retry waits; each further one twice as long.
const FIRST_WAIT: Duration = Duration::from_millis(20);
const LONGEST_WAIT: Duration = Duration::from_millis(500);
/// How many requests may follow from one another before a client draws anew.
const FOLLOW_UPS: usize = 6;

/// How long the clients wait.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Patience {
    /// For an answer: after that the request counts as unanswered, and is sent again.
    pub(crate) answer: Duration,
    /// For any answer at all, with all servers tried again and again.
    pub(crate) servers: Duration,
}

/// How often what was answered.
pub(crate) type Counts = BTreeMap<String, u64>;

/// What is shared by everything that happens at one time.
pub(crate) struct Stage {
    pub(crate) servers: Vec<Server>,
    pub(crate) clock: Clock,
    pub(crate) patience: Patience,
    pub(crate) world: RefCell<World>,
    pub(crate) history: RefCell<History>,
    pub(crate) downstream: RefCell<Downstream>,
    pub(crate) offset: RefCell<Offset>,
    pub(crate) counts: RefCell<Counts>,
    /// How many requests were sent.
    pub(crate) sent: Cell<u64>,
    /// How many of them were not answered, or with 503.
    pub(crate) unanswered: Cell<u64>,
    /// Why nobody can go on, if so.
    pub(crate) failed: RefCell<Option<String>>,
    pub(crate) stop: Arc<AtomicBool>,
}

/// No server answered in time; the stage knows why.
#[derive(Debug)]
pub(crate) struct Gone;

impl Stage {
    /// Makes a request until it is answered, and writes down each sending with what came of it.
    pub(crate) async fn call(&self, call: &Rc<Call>, first_server: usize) -> Result<Answer, Gone> {
        let since = self.clock.now();
        let given_up = since + i64::try_from(self.patience.servers.as_micros()).unwrap_or(NEVER / 2);
        let mut wait = FIRST_WAIT;
        for sending in 0.. {
            let server = (first_server + sending) % self.servers.len();
            let (record, why) = self.send(call, server, since).await;
            let answer = record.acknowledged().cloned();
            self.write_down(record);
            if let Some(answer) = answer {
                return Ok(answer);
            }
            if self.clock.now() > given_up {
                let seconds = self.patience.servers.as_secs();
                let what = format!("no server answered a request for {seconds} s: {why}");
                self.failed.borrow_mut().get_or_insert(what);
            }
            if self.failed.borrow().is_some() {
                return Err(Gone);
            }
            stay_away(wait).await;
            wait = (wait * 2).min(LONGEST_WAIT);
        }
        Err(Gone)
    }

    async fn send(&self, call: &Rc<Call>, server: usize, since: i64) -> (Record, String) {
        let Call { method, path, body, claim, revision, .. } = &**call;
        let request = Request { method, claim: claim.as_deref(), revision: *revision, ..Request::post(path, body) };
        let begin = self.clock.now();
        let answered = timeout(self.patience.answer, self.servers[server].call(&request)).await;
        let (answer, why) = match answered {
            Ok(Ok(response)) => {
                let value: Option<Value> = serde_json::from_slice(&response.body).ok();
                let seen: Option<Seen> = value.and_then(|value| serde_json::from_value(value).ok());
                let readable = seen.is_some();
                let (status, replayed) = (response.status, response.replayed);
                let why = format!("the last answer was {status}");
                (Some(Answer { status, replayed, readable, seen: seen.unwrap_or_default() }), why)
            }
            Ok(Err(error)) => (None, error.to_string()),
            Err(_) => (None, "there was no answer in time".to_owned()),
        };
        let (number, call) = (0, Rc::clone(call));
        let mut record = Record { number, call, server, since, begin, end: NEVER, answer };
        if record.acknowledged().is_some() {
            record.end = self.clock.now();
        }
        (record, why)
    }

    fn write_down(&self, mut record: Record) {
        self.sent.set(self.sent.get() + 1);
        record.number = self.sent.get();
        if record.acknowledged().is_none() {
            self.unanswered.set(self.unanswered.get() + 1);
        }
        self.offset.borrow_mut().learn(&record);
        let verdict = record.done().and_then(|seen| seen.verdict.as_ref());
        let told = verdict.map(|verdict| format!(" {} {}", verdict.code, verdict.reason)).unwrap_or_default();
        let status = record.answer.as_ref().map_or(0, |answer| answer.status);
        let line = format!("{} {status}{told} {}", record.call.op.word(), record.refused());
        *self.counts.borrow_mut().entry(line.trim_end().to_owned()).or_default() += 1;
        self.history.borrow_mut().records.push(record);
    }

    /// One client: draws what to do, does it, learns, until there has been enough.
    pub(crate) async fn play(self: Rc<Self>, client: usize, enough: u64) {
        let mut turn = client;
        while self.sent.get() < enough && !self.stop.load(Ordering::Relaxed) && self.failed.borrow().is_none() {
            let mut calls = self.world.borrow_mut().next(self.clock.now());
            for _ in 0..FOLLOW_UPS {
                if calls.is_empty() {
                    break;
                }
                turn += 1;
                calls = self.make(calls, turn).await;
            }
        }
    }

    /// Makes requests at the same time, each at another server, and gives what follows from the answers.
    async fn make(&self, calls: Vec<Call>, turn: usize) -> Vec<Call> {
        let calls: Vec<Rc<Call>> = calls.into_iter().map(Rc::new).collect();
        for call in &calls {
            self.world.borrow_mut().made(call);
        }
        let made = calls.iter().enumerate().map(|(at, call)| async move {
            let answer = self.call(call, turn + at).await.ok()?;
            // Learned at once, as the client does, and not when the slower ones have come back.
            Some(self.learn(call, &answer))
        });
        join_all(made).await.into_iter().flatten().flatten().collect()
    }

    fn learn(&self, call: &Rc<Call>, answer: &Answer) -> Vec<Call> {
        let (mut world, now) = (self.world.borrow_mut(), self.clock.now());
        if !(200..300).contains(&answer.status) {
            world.learn_refusal(call, &answer.seen.code, now);
            return Vec::new();
        }
        let mut downstream = self.downstream.borrow_mut();
        let follows = world.learn(call, &answer.seen, &mut downstream, now);
        let Follows { calls, executed } = follows;
        self.history.borrow_mut().executed.extend(executed);
        calls
    }
}
